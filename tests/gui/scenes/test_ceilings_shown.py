"""What the ceilings and occupancy pages say and draw, without a window."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from core.devices.device_table import find_capability, load_devices
from core.devices.occupancy import Resources, occupancy
from core.errors import TilescopeError
from core.gpu.result_files import load_recorded
from core.models.ceiling_counts import measure, measure_rung
from core.models.ceilings import Ceilings, ceilings
from core.user_files.launch_texts import FileLaunch
from gui.jobs.ceilings_work import choose_device, first_order_job, full_size_job, sized
from gui.scenes import ceilings_shown as scene
from gui.scenes import occupancy_shown as sm
from gui.scenes import roofline
from gui.scenes.configuration import Configuration

H200 = load_devices().find("H200")
SEED, _ = find_capability("Textbook SM")


@pytest.fixture(scope="module")
def coalesced(ladder) -> Ceilings:
    parameters = {"n": 4096, "block_x": 32, "block_y": 32}
    return ceilings(measure_rung(ladder["coalesced"], parameters), H200)


@pytest.fixture(scope="module")
def runs():
    return scene.runs_at(load_recorded(), 4096, H200, recorded=True)


def test_rows_are_the_ceilings_the_lowest_first(coalesced) -> None:
    rows = scene.rows(coalesced)
    assert [r.gflops for r in rows] == sorted(r.gflops for r in rows)
    assert {r.name for r in rows} == set(coalesced.ceilings)
    states = {r.name: r.state for r in rows}
    assert (states["l1"], states["textbook"], states["issue"]) == ("binding", "textbook", "above")
    l1 = next(r for r in rows if r.name == "l1")
    assert (l1.note, l1.rate) == ("binds", "8\u202f303.7 GFLOPS")
    assert "132 SMs × 1.98 GHz × 137\u202f438\u202f953\u202f472 FLOP" in l1.exact
    assert "132 SMs × 1.98 GHz × 137.4 GFLOP / " in l1.formula
    textbook = next(r for r in rows if r.name == "textbook")
    assert "= 0.25 FLOP/B; × 4\u202f814 GB/s = " in textbook.formula
    assert "Counted as compiled." in l1.remark
    said = "With block 32 × 32, L1: distinct lines binds at 8\u202f303.7 GFLOPS"
    assert scene.headline(coalesced).startswith(said)


KERNEL = """__global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }\n"""
HOST = """int main() { int n = 1 << 16; float* x; cudaMalloc(&x, n * sizeof(float));
    twice<<<(n + 255) / 256, 256>>>(x, n); }"""


@pytest.mark.parametrize(
    ("host", "typed", "grid", "n"),
    [(HOST, "256", "256", "65536"), (HOST, "128", "512", "65536"), ("", "64", "16384", "1048576")],
)
def test_a_file_is_counted_at_its_programs_sizes_or_at_large_ones(host, typed, grid, n) -> None:
    shown = FileLaunch("k.cu", "twice", "2", typed, arguments=(("x", "random:float32[64]"),))
    large = full_size_job(print, Configuration("", {}, KERNEL + host, shown)).own
    assert (large.grid, large.block, dict(large.arguments)["n"]) == (grid, typed, n)


def test_a_file_that_says_no_size_is_told_of() -> None:
    text = "__global__ void one(int* x) { x[threadIdx.x] += 1; }"
    shown = Configuration("", {}, text, FileLaunch("k.cu", "one", "1", "32"))
    with pytest.raises(TilescopeError, match="Nothing in the file says how large"):
        full_size_job(print, shown)


def test_a_launch_of_few_blocks_is_said_to_be_small(ladder, coalesced) -> None:
    small = {"n": 64, "block_x": 32, "block_y": 32}
    said = scene.headline(ceilings(measure_rung(ladder["coalesced"], small), H200))
    assert said.endswith("of the FP32 peak. A small launch: 4 blocks for 132 SMs.")
    assert scene.headline(coalesced).endswith("of the FP32 peak.")


def test_a_ceiling_above_the_fp32_peak_is_told_in_times_it_and_within_the_frame(ladder) -> None:
    parameters = {"m": 2048, "k": 2048, "n": 2048}
    found = ceilings(measure_rung(ladder["tma_pipeline"], parameters), H200)
    times = found.lowest.gflops / H200.peak_gflops
    assert times > 8
    assert f" GFLOPS, {times:.1f} times the FP32 peak." in scene.headline(found)
    assert roofline.roofline(found, H200, ()).top > 2 * found.lowest.gflops


def test_why_a_run_beats_the_textbook(coalesced, runs) -> None:
    run = scene.run_of(runs, "coalesced", {"n": 4096, "block_x": 32, "block_y": 32})
    assert run is not None
    said = scene.measured(coalesced, run)
    assert "recorded on NVIDIA H200" in said
    assert "% of the binding ceiling" in said
    assert "5.0 times the textbook ceiling of 1\u202f203.5 GFLOPS" in said
    assert "549.8 GB" in said
    assert "the same 134.2 MB again and again" in said
    assert "99.98\u202f% of the bytes asked for" in said
    slow = scene.run_of(runs, "uncoalesced", {"n": 4096, "block_x": 32, "block_y": 32})
    assert "times the textbook" not in scene.measured(coalesced, slow)
    assert scene.unmeasured(coalesced).startswith("Not measured on H200. The textbook ceiling")
    said = scene.transfers(coalesced.counts)
    assert said.endswith("= 1; if each were loaded only once: 4\u202f096.")
    assert "137.4 GFLOP / 137.4 G elements" in said
    assert scene.exact_transfers(coalesced.counts).startswith("137\u202f438\u202f953\u202f472 FLOP")


def test_runs_are_those_of_the_device_and_the_size(runs) -> None:
    assert len(runs) >= 17
    assert {run.parameters["n"] for run in runs} == {4096}
    other = load_devices().find("RTX 3090")
    assert scene.runs_at(load_recorded(), 4096, other, recorded=True) == ()
    assert scene.same_gpu("NVIDIA H200", H200)
    assert not scene.same_gpu("NVIDIA H100 80GB HBM3", H200)


def test_marks_and_chains(ladder, runs) -> None:
    known = {run.key: 0.25 for run in runs if run.rung != "tiled"}
    chosen = scene.run_of(runs, "coalesced", {"n": 4096, "block_x": 16, "block_y": 16})
    marks = roofline.marks(runs, known, chosen)
    assert {m.run.rung for m in marks} == {run.rung for run in runs} - {"tiled"}
    assert [m.run for m in marks if m.chosen] == [chosen]
    product, transposed, *_ = roofline.chains(marks, ladder)
    assert [m.run.rung for m in product] == [
        "uncoalesced", "coalesced", "tiled_bounds", "tiled_rect",
    ]  # fmt: skip
    assert product[1].run == chosen  # not the fastest of its rung
    assert product[0].run.gflops == max(r.gflops for r in runs if r.rung == "uncoalesced")
    assert [m.run.rung for m in transposed] == ["aat_strided", "aat_shared", "aat_padded"]
    texts = [label.text for label in roofline.labels((*product, *transposed), (0.3, 0.05))]
    assert any(text.startswith("Uncoalesced") for text in texts)
    assert len(texts) < 7  # neighbours share a label


def test_spread_is_the_nearest_that_keeps_apart() -> None:
    chance = random.Random(5)
    for _ in range(300):
        places = sorted(chance.uniform(0, 9) for _ in range(chance.randint(1, 9)))
        found = roofline.spread(places, 1.0)
        assert all(b - a >= 1 - 1e-9 for a, b in pairwise(found))
        assert sum(found) == pytest.approx(sum(places))
    assert roofline.spread([1.0, 5.0, 9.0], 1.0) == (1.0, 5.0, 9.0)


def test_the_plot_holds_what_it_shows(coalesced, runs) -> None:
    marks = roofline.marks(runs, {run.key: 4.0 for run in runs}, None)
    frame = roofline.roofline(coalesced, H200, marks)
    assert frame.x == 0.25
    assert frame.left < 0.25 < 4.0 < frame.right
    assert frame.bottom < min(run.gflops for run in runs)
    assert frame.peak < frame.top < 8 * 2.2 * frame.peak
    assert frame.ridge == pytest.approx(H200.ridge)
    assert roofline.roofline(None, H200, ()).x is None


def test_a_launch_at_another_size(ladder) -> None:
    own = Configuration("tiled_rect", {"m": 32, "k": 48, "n": 16, "tile": 16})
    wanted = sized(ladder, own, 1024)
    assert wanted.parameters == {"m": 1024, "k": 1024, "n": 1024, "tile": 16}
    assert sized(ladder, own, None) == own
    assert choose_device(["NVIDIA H200"]) == "H200"
    assert choose_device(["Voodoo"]) == "GeForce RTX 3090"


# ---- occupancy


def test_the_present_value_is_said_in_its_unit() -> None:
    capability, _ = find_capability("9.0")
    sizes = (32, 1152, 20480)
    found = [sm.curve_of(capability, Resources(256, 32, s), "shared_bytes") for s in sizes]
    said = {size: curve.now_text for size, curve in zip(sizes, found, strict=True)}
    assert said[32] == "32 B: 100\u202f%"
    assert said[1152] == f"1.125 KiB: {found[1].now_y:.4g}\u202f%"
    assert said[20480].startswith("20 KiB: ")
    assert sm.curve_of(capability, Resources(4, 32, 32), "block_threads").now_text == "4: 50\u202f%"


def test_curves_are_the_models() -> None:
    capability, resources = find_capability("8.6")[0], Resources(192, 40, 9000)
    for axis in sm.TITLES:
        curve = sm.curve_of(capability, resources, axis)
        over = sm.values(capability, axis)
        place = len(over) // 3
        changed = sm.moved(capability, resources, axis, curve.x[place])
        assert getattr(changed, axis) == over[place]
        assert curve.y[place] == pytest.approx(100 * occupancy(capability, changed).occupancy)
        assert curve.now_y == pytest.approx(100 * occupancy(capability, resources).occupancy)
    far = sm.moved(capability, resources, "block_threads", 9e9)
    assert far.block_threads == 1024


def test_the_third_seeds_cliff() -> None:
    """10 registers: 6 blocks, 1,536 threads; 12: 5 blocks, 1,280; 128 threads: 8 slots."""
    titles = {e.resources: e.title for e in sm.EXAMPLES}
    before = occupancy(SEED, Resources(256, 10))
    assert "before: 10 registers" in titles[before.resources]
    assert "6 blocks, 1\u202f536 threads, 100.0\u202f%" in sm.sentence(before, "Textbook SM")
    assert "11 registers a thread leave 5 blocks, 1\u202f280 threads, 17\u202f%" in sm.cliff(before)
    after = occupancy(SEED, Resources(256, 12))
    registers = next(bar for bar in sm.bars(after) if bar.title == "Registers")
    assert registers.text == "5 × 3\u202f072 = 15\u202f360 of 16\u202f384"
    assert registers.limits
    slots = occupancy(SEED, Resources(128, 10))
    assert (slots.blocks, slots.threads, slots.limited_by) == (8, 1024, ("blocks",))
    assert all(e.sm == "Textbook SM" for e in sm.EXAMPLES)
    assert sm.cliff(occupancy(SEED, Resources(2048))) == ""


def test_the_fifth_seeds_counts(ladder) -> None:
    """Tile 16, 1024 x 1024: 256 threads, 4,096 blocks; a phase: 512 loads, 8,192 operations."""
    wanted = Configuration("tiled", {"n": 1024, "tile": 16})
    found = first_order_job(lambda part: None, ladder, wanted)
    assert found.phases == 64
    figures = [one.figure for one in sm.first_order(found.counts, found.phases)]
    assert figures == ["256", "4\u202f096", "64", "512", "8\u202f192", "16"]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "tile", "phases"), [(1536, 12, 128), (10_000, 32, 313)])
def test_phases_of_any_size_and_tile(ladder, n, tile, phases) -> None:
    rung = "tiled_bounds" if n % tile else "tiled"
    wanted = Configuration(rung, {"n": n, "tile": tile})
    found = first_order_job(lambda part: None, ladder, wanted)
    assert found.phases == phases
    tiles = 2 * n * -(-n // tile) * n
    assert found.counts.transfers == tiles  # each element once for every block that needs it


def test_uneven_phases_are_not_averaged(ladder) -> None:
    counts = measure(ladder["coalesced"].blank_workload(n=20, block_x=4, block_y=4))
    texts = [one.text for one in sm.first_order(counts, 7)]
    assert not any("phase" in text for text in texts)
    assert "elements loaded from global memory by a block" in texts


def test_names_stand_where_the_roof_does_not_run() -> None:
    # A roof through (0.1, 100), (1, 1000), then flat at 1,000,000; the launch is at 1 FLOP/B.
    frame = roofline.Roofline(1.0, 0.01, 1000.0, 10.0, 1e7, 1000.0, 1e6)
    size, gap = (1.2, 0.1), 0.1
    assert roofline.at_left(frame, 2.9, size, gap, ())  # y = 794: the roof is at the name's right
    assert not roofline.at_left(frame, 1.5, size, gap, ())  # y = 32: the roof runs through it
    point = (0.5, 1.4, 0.6, 1.6)  # where the name would stand at the right
    assert roofline.at_left(frame, 1.5, size, gap, [point])
    assert not roofline.at_left(frame, 1.5, size, gap, [(0.5, 2.4, 0.6, 2.6)])
    # What is under the names of ceilings stays there; one in their midst goes below them.
    names = [(0.0, 1.0, 2.0, 2.0), (0.0, 2.0, 2.0, 3.0)]
    assert roofline.below((1.0, 0.0, 3.0, 0.9), names) == (1.0, 0.0, 3.0, 0.9)
    assert roofline.below((1.0, 1.75, 3.0, 2.5), names) == (1.0, 0.25, 3.0, 1.0)
    # A name that is wider than the ceiling does not cover the launch's own line.
    assert not roofline.at_left(frame, 2.9, (2.5, 0.1), gap, ())


def test_a_run_whose_clock_fell_is_under_no_ceiling(coalesced, runs) -> None:
    run = scene.run_of(runs, "coalesced", {"n": 4096, "block_x": 16, "block_y": 16})
    fell = replace(run, fell="SM clock fell to 1,590 of 1,980 MHz")
    said = scene.measured(coalesced, fell)
    assert "1\u202f590 of 1\u202f980 MHz" in said
    assert "compared with no ceiling" in said
    assert "% of the binding ceiling" not in said
    assert "% of the binding ceiling" in scene.measured(coalesced, run)


def test_a_run_stands_under_the_ceiling_at_the_clock_of_its_launches(coalesced, runs) -> None:
    run = scene.run_of(runs, "coalesced", {"n": 4096, "block_x": 16, "block_y": 16})
    slow = replace(run, mhz=coalesced.device.boost_mhz / 2)
    share = f"{run.gflops / coalesced.lowest.gflops:.1%}".replace("%", "\u202f%")
    assert f"{share} of the binding ceiling." in scene.measured(coalesced, run)
    said = scene.measured(coalesced, replace(slow, gflops=run.gflops / 2))
    assert f"{share} of the binding ceiling at the 990 MHz that the SMs ran at." in said


def test_a_point_names_its_launch_and_only_its_own_ceilings_are_drawn(ladder, coalesced, runs):
    known = {run.key: 0.25 for run in runs}
    own = dict(coalesced.counts.workload.parameters)
    assert (own["block_x"], own["block_y"]) == (32, 32)
    chosen = scene.run_of(runs, "coalesced", own)
    marks = roofline.simple(roofline.marks(runs, known, chosen), ladder, "coalesced")
    names = [mark.run.rung for mark in marks]
    assert names == ["uncoalesced", "coalesced", "tiled", "tiled_bounds"]
    assert [mark.run for mark in marks if mark.chosen] == [chosen]
    for label in roofline.labels(marks, (0.0, 0.0)):
        assert "block" in label.text
        assert label.chosen == label.text.startswith("Coalesced, block 32 × 32")
    signs = [key.sign for key in scene.legend(measured=True, chains=False, fell=False, few=True)]
    assert signs == ["●", "○"]
    none = scene.legend(measured=False, chains=True, fell=True, few=False)
    assert "●" not in [key.sign for key in none]
    assert len(none) == 4
    other = [run for run in runs if run.rung == "coalesced"]
    best = max(run.gflops for run in other)
    assert f"{round(best):,}".replace(",", "\u202f") in scene.unmeasured(coalesced, other)
    assert scene.unmeasured(coalesced, (), other).startswith("Not measured on H200 at this N. ")
    assert scene.unmeasured(coalesced, other, other).startswith("Not measured on H200. Measured ")
    assert {row.name for row in scene.simple(scene.rows(coalesced))} == {"l1", "textbook", "fp32"}


def test_names_of_points_meet_nothing_and_stay_in_the_plot() -> None:
    chance = random.Random(11)
    for _ in range(200):
        taken: list[roofline.Box] = []
        for _ in range(6):
            at = chance.uniform(0, 4), chance.uniform(1, 4)
            size = chance.uniform(0.4, 1.5), 0.2
            box = roofline.beside(at, size, (0.1, 0.05), 5.0, taken, -0.3)
            assert box[0] >= -0.3
            assert box[2] <= 5.0
            inner = (box[0], box[1] + 1e-9, box[2], box[3] - 1e-9)  # they may touch
            assert not any(roofline._meet(inner, one) for one in taken)
            taken.append(box)


def test_why_occupancy_matters_is_told_by_what_was_measured(ladder) -> None:
    told = sm.counter_example(load_recorded(), ladder)
    results = [r for r in load_recorded() if r.rung == "tuned" and r.parameters["n"] == 4096]
    fast = max(results, key=lambda r: r.gflops)
    held = sm.held_by(fast)
    assert held.occupancy < 0.5  # low, and yet the fastest
    assert f"{held.warps} of {held.capability.warps} warps" in told
    assert f"{round(fast.gflops):,}".replace(",", "\u202f") in told
    assert "(100\u202f%)" in told
    assert sm.counter_example((), ladder) == ""
    capability, needs = find_capability("9.0")[0], Resources(256, 40, 9000)
    found = occupancy(capability, needs)
    step = sm.cliff(found)
    said = sm.explanation(found, "H200", step, told)
    assert f"= {found.blocks}" in said.text
    assert "limits" in said.text
    assert told in said.text
    assert sm.WHY_IT_MATTERS in said.text
    assert "Next step down" in said.text
    veiled = sm.explanation(found, "H200", "", None)
    assert "limits" in veiled.text
    assert sm.WHY_IT_MATTERS not in veiled.text
    assert "Next step down" not in veiled.text
    assert "wavefront" not in said.text
