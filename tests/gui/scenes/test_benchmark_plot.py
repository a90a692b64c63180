"""The benchmark page without Qt: what is planned, plotted, listed and said."""

from dataclasses import replace

import numpy as np
import pytest

from core.errors import TilescopeError
from core.gpu.benchmark_result import Readings, with_samples
from core.gpu.result_files import load_recorded
from core.gpu.sweep import Failure
from core.gpu.sweep_plan import FileKernel
from core.user_files.launch_texts import FileLaunch
from core.wording import clock
from gui.scenes.benchmark_plot import Request, curves, far_apart, plot_sentence, values_of
from gui.scenes.benchmark_results import (
    RECORDED,
    Measured,
    best_row,
    families,
    family_of,
    machine_sentence,
    machines,
    neighbours,
    parameters_text,
    rates_of,
    row_of,
    rows_of,
    table_sentence,
)
from gui.scenes.benchmark_sentences import counting_sentence, measured_sentence
from gui.scenes.benchmark_setup import CUBLAS, Setup, choices, plan_of, plan_sentence, templated
from gui.scenes.configuration import Configuration
from tests.core.gpu.test_benchmark_result import RESULT

CONFIGURED = Configuration("tiled", {"n": 16, "tile": 4})


def one(title, n, tile, ms, rung=None, origin="measured here", **changes):
    """A result of 2 n^3 operations with times around `ms`."""
    samples = tuple(ms * f for f in np.linspace(0.9, 1.1, 21))
    result = replace(
        RESULT, title=title, rung=rung or title.lower(), parameters={"n": n, "tile": tile},
        flops=2 * n**3, bytes_once=12 * n * n, **changes,
    )  # fmt: skip
    return Measured(with_samples(result, samples, "stable", Readings(1980.0)), origin)


SWEEP = (
    one("Slow", 512, 8, 4.0), one("Slow", 512, 16, 2.0), one("Slow", 1024, 16, 16.0),
    one("Fast", 512, 16, 1.0), one("Fast", 1024, 16, 4.0), one("Fast", 1024, 8, 5.0),
)  # fmt: skip


def points(found, key):
    curve = next(c for c in found if c.key == key)
    return {p.x: p for p in curve.points}


# ---- the plan


def test_the_configured_kernel_over_sizes_and_tiles(ladder):
    plan = plan_of(ladder, CONFIGURED, Setup())
    assert len(plan.points) == 12
    assert {p.parameters["tile"] for p in plan.points} == {8, 16, 32}
    assert plan_sentence(plan) == "1 kernel, 12 launches."


def test_empty_fields_mean_as_configured(ladder):
    plan = plan_of(ladder, CONFIGURED, Setup(sizes="", tiles="", tuned=False))
    assert [dict(p.parameters) for p in plan.points] == [{"n": 16, "tile": 4}]
    assert plan_sentence(plan) == "Tiled, n = 16, tile = 4."


def test_tuned_blocks_where_no_tile_is_given(ladder):
    tuned = ladder["tiled"].tuned_for(n=512)["tile"]
    plan = plan_of(ladder, CONFIGURED, Setup(sizes="512", tiles=""))
    assert [dict(p.parameters) for p in plan.points] == [{"n": 512, "tile": tuned}]
    plan = plan_of(ladder, CONFIGURED, Setup(sizes="512", tiles="8"))
    assert plan.points[0].parameters["tile"] == 8


def test_a_kernel_chosen_twice_is_measured_once_and_an_edit_besides(ladder):
    setup = Setup(frozenset(("configured", "tiled", CUBLAS)), "512", "16")
    assert [p.title for p in plan_of(ladder, CONFIGURED, setup).points] == ["Tiled", "cuBLAS SGEMM"]
    edited = Configuration("tiled", {"n": 16, "tile": 4}, source="// mine\n" + "x")
    assert len(plan_of(ladder, edited, setup).points) == 3


def test_what_cannot_be_launched_is_counted(ladder):
    plan = plan_of(ladder, CONFIGURED, Setup(sizes="500, 512", tiles="16, 64"))
    assert plan_sentence(plan).endswith("; 3 combinations cannot be launched.")
    with pytest.raises(TilescopeError, match="not a list of values for N"):
        plan_of(ladder, CONFIGURED, Setup(sizes="many"))
    with pytest.raises(TilescopeError, match="at least one kernel"):
        plan_of(ladder, CONFIGURED, Setup(frozenset()))


def test_choices_begin_with_the_configured_kernel_and_end_with_files(ladder):
    own = FileKernel("", FileLaunch("/a/mine.cu", "k", "1", "32"))
    found = choices(ladder, CONFIGURED, Setup(files=(own,)))
    assert next(iter(found.values())) == "Configured: Tiled"
    assert list(found)[-1] == "file:0"
    assert not any(name.startswith("broken") for name in found)


def test_a_launch_becomes_a_template():
    launch = FileLaunch(
        "m.cu", "k", "8,8", "16,16", "0", "TILE_WIDTH=16 N_ARRAYS=2",
        (("A", "float32[128,128]"), ("B", "zeros:float32[128,128]"), ("N", "128"), ("K", "1280")),
    )  # fmt: skip
    made = templated(launch)
    assert made.grid == "{ceil_div(n, tile)},{ceil_div(n, tile)}"
    assert made.block == "{tile},{tile}"
    assert made.defines == "TILE_WIDTH={tile} N_ARRAYS=2"
    assert dict(made.arguments) == {
        "A": "float32[{n},{n}]", "B": "zeros:float32[{n},{n}]", "N": "{n}", "K": "1280",
    }  # fmt: skip


# ---- the plot


def test_rate_over_size_at_the_fastest_tile():
    found = curves(SWEEP, Request(), {})
    assert [c.title for c in found] == ["Slow", "Fast"]
    slow = points(found, "slow")
    assert slow[512].y == pytest.approx(2 * 512**3 / 2.0 / 1e6)
    assert slow[512].low == pytest.approx(2 * 512**3 / (2.0 * 1.09) / 1e6)
    assert slow[512].high == pytest.approx(2 * 512**3 / (2.0 * 0.91) / 1e6)
    assert points(found, "fast")[1024].measured is SWEEP[4]


def test_held_at_a_tile_and_over_the_tile():
    held = curves(SWEEP, Request(hold=8), {})
    assert points(held, "slow").keys() == {512}
    over = curves(SWEEP, Request(over="tile"), {})  # at the largest N
    assert points(over, "fast").keys() == {8, 16}
    assert points(over, "slow").keys() == {16}
    small = curves(SWEEP, Request(over="tile", hold=512), {})
    assert points(small, "slow").keys() == {8, 16}


def test_speed_up_against_a_baseline():
    found = curves(SWEEP, Request("speedup"), {})
    assert [p.y for p in points(found, "slow").values()] == pytest.approx([1.0, 1.0])
    assert points(found, "fast")[512].y == pytest.approx(2.0)
    assert points(found, "fast")[1024].y == pytest.approx(4.0)
    other = curves(SWEEP, Request("speedup", baseline="fast"), {})
    assert points(other, "slow")[1024].y == pytest.approx(0.25)
    tiles = curves(SWEEP, Request("speedup", over="tile", baseline="fast"), {})
    assert points(tiles, "fast")[8].y == pytest.approx(1.0)  # against itself at that tile
    assert points(tiles, "slow")[16].y == pytest.approx(0.25)


def test_bandwidth_and_share_of_the_ceiling():
    found = curves(SWEEP, Request("bandwidth"), {})
    assert points(found, "fast")[1024].y == pytest.approx(12 * 1024**2 / 4e-3 / 1e9)
    assert curves(SWEEP, Request("share"), {}) == ()
    key = SWEEP[3].ceiling_key
    (only,) = curves(SWEEP, Request("share"), {key: ("l1", 2 * SWEEP[3].result.gflops)})
    assert [(p.x, p.y) for p in only.points] == [(512, pytest.approx(50.0))]
    assert curves(SWEEP, Request("share"), {key: None}) == ()


def test_the_latest_of_equal_launches_counts_and_wrong_ones_do_not():
    again = one("Slow", 1024, 16, 8.0)
    found = points(curves((*SWEEP, again), Request(), {}), "slow")
    assert found[1024].measured is again
    wrong = one("Wrong", 512, 16, 1.0, checks=(replace(RESULT.checks[0], ok=False),))
    assert "wrong" not in {c.key for c in curves((*SWEEP, wrong), Request(), {})}


def test_sentences_of_the_plot():
    request = Request("speedup", hold=16, baseline="fast")
    assert plot_sentence(SWEEP, request, curves(SWEEP, request, {})) == (
        "Speed-up against Fast over N, tile 16; bars hold 90 % of the launches."
    )
    assert "being counted" in plot_sentence(SWEEP, Request("share"), ())
    assert "Nothing has been measured" in plot_sentence((), Request(), ())
    assert values_of(SWEEP, "tile") == (8, 16)


def test_machines_are_told_apart_with_their_versions():
    recorded = [Measured(r, RECORDED) for r in load_recorded()[:3]]
    every = [*recorded, *SWEEP, one("Slow", 512, 8, 1.0, origin="lab.csv")]
    assert machines(every) == (
        "Test GPU, measured here",
        "NVIDIA H200, recorded 2026-11-21",
        "Test GPU, 2026-11-21, from lab.csv",
    )
    said = machine_sentence(recorded)
    assert "recorded 2026-11-21" in said
    assert recorded[0].result.device.driver in said
    assert f"NVRTC {recorded[0].result.nvrtc}" in said
    assert "L2 flushed before each launch" in said


# ---- the table


def test_rows_by_rate_with_failures_on_top():
    cut = Measured(SWEEP[0].result, failure=Failure("worker_died", "It was killed."))
    rows = rows_of([*SWEEP[1:], cut], ())
    assert [row.gflops for row in rows] == sorted((r.gflops for r in rows), reverse=True)
    assert rows[row_of(rows, cut)].trouble == "worker died"
    assert "It was killed." in rows[row_of(rows, cut)].notes
    assert rows[best_row(rows, "slow")].measured is SWEEP[1]
    assert best_row(rows, "nosuch") is None
    assert table_sentence(rows, SWEEP).startswith("6 measured here; bars")


def test_words():
    assert clock(65.4) == "1 min 5 s"
    assert counting_sentence(0) == ""
    assert counting_sentence(1) == "1 ceiling is still being counted."
    assert counting_sentence(7) == "7 ceilings are still being counted."
    assert rates_of([1.0, 2.0], 2_000_000) == [2.0, 1.0]
    assert rates_of([1.0, 2.0], None) == [1.0, 2.0]
    said = measured_sentence(SWEEP[0])
    assert "Slow (n = 512, tile = 8), measured here on Test GPU: 21 launches" in said
    assert "SM 1\u202f980 MHz" in said


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"n": 4096, "tile": 16}, "n = 4\u202f096, tile = 16"),
        ({"m": 64, "k": 64, "n": 64, "tile_m": 8, "tile_n": 4}, "n = 64, tile 8 × 4"),
        ({"m": 3, "k": 5, "n": 7}, "m × n × k = 3 × 7 × 5"),
        ({"n": 9, "block_x": 32, "block_y": 4, "pad": 1}, "n = 9, block 32 × 4, pad = 1"),
        ({"n": 9, "block_x": 32}, "n = 9, block = 32"),
    ],
)
def test_parameters_in_short(parameters, text):
    assert parameters_text(parameters) == text


def test_kinds_of_kernels_stand_apart(ladder):
    arithmetics = {r.name: r.arithmetic for r in ladder.values() if r.layout is not None}
    rows = [Measured(r, RECORDED) for r in load_recorded()]
    assert families(rows, arithmetics) == ("float32", "tf32", "float16", "other", "all")
    by_title = {m.result.title: family_of(m, arithmetics) for m in rows}
    assert by_title["Tiled"] == by_title["cuBLAS SGEMM"] == "float32"
    assert by_title["Transpose, tiled"] == by_title["Vector addition"] == "other"
    assert {t for t, family in by_title.items() if family == "tf32"} == {
        rung.title
        for rung in ladder.values()
        if rung.arithmetic == "tf32" and rung.title in by_title  # the recorded ones
    }
    assert families(SWEEP, {"slow": "float32", "fast": "float32"}) == ("float32",)


def test_values_far_apart_ask_for_logarithms():
    assert not far_apart(curves(SWEEP, Request(), {}))
    assert not far_apart(())
    quick = one("Quick", 512, 8, 0.01)
    assert far_apart(curves((*SWEEP, quick), Request(), {}))


def test_a_rate_whose_clock_fell_is_shown_and_compared_with_nothing():
    fell = one("Hot", 512, 16, 1.0)
    low = replace(fell.result.readings, lowest_sm_mhz=1590.0)
    fell = replace(fell, result=replace(fell.result, readings=low))
    every = (*SWEEP, fell)
    assert set(points(curves(every, Request(), {}), "hot")) == {512}
    assert "1\u202f590 of 1\u202f980 MHz" in points(curves(every, Request(), {}), "hot")[512].text
    compared = curves(every, Request("speedup", baseline="slow"), {})
    assert {curve.key for curve in compared} == {"slow", "fast"}
    against = curves(every, Request("speedup", baseline="hot"), {})
    assert not [c for c in against if c.key == "hot"]
    assert not points_at(against, 512)
    row = next(r for r in rows_of(every, ()) if r.title == "Hot")
    assert row.rate_text.endswith(" ↓")
    assert "compared with nothing" in row.notes
    assert "SM clock fell to 1\u202f590 of 1\u202f980 MHz" in measured_sentence(fell)


def points_at(found, n):
    return [p for curve in found for p in curve.points if p.x == n]


def test_neighbours_are_the_one_before_and_those_after():
    order = ("a", "b", "c", "d", "e")
    assert neighbours(order, "c", 2) == ("b", "c", "d")
    assert neighbours(order, "a", 2) == ("a", "b", "c")
    assert neighbours(order, "e", 3) == ("b", "c", "d", "e")
    assert neighbours(order, "z", 2) == ("a", "b", "c")
    assert neighbours((), "z", 2) == ()
