"""Counts of a large launch from a few small ones equal those of the launch itself.

The recorded runs' FLOP/B that come with the program are those that counting gives now.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from core.errors import ParameterError
from core.gpu.result_files import load_recorded
from core.ladder import Rung, load_ladder
from core.launch import Workload
from core.models.ceiling_counts import (
    Counts,
    along,
    known_intensity,
    measure,
    measure_at,
    measure_rung,
)
from core.rules.flops_and_traffic import Asked

LADDER = load_ladder()
STEPS = 64, 128, 256  # of `core.models.ceiling_counts`
SMALL = 32  # floats in a whole line: with steps of so many a launch of 256 is a large one


def sizes_of(name: str) -> list[str]:
    return [p.name for p in LADDER[name].parameters if p.name in ("m", "n", "k")]


def both(
    rung: str, size: int, steps: tuple[int, ...] = STEPS, **parameters: int
) -> tuple[Counts, Counts]:
    one = LADDER[rung]
    given = dict.fromkeys(sizes_of(rung), size) | parameters
    return measure_rung(one, given, steps=steps), measure(one.blank_workload(**given))


@pytest.fixture
def any_size(monkeypatch):
    """Have launches of any size counted at smaller ones, which else is done for large ones."""
    for least in ("_LEAST", "_LEAST_EDGE"):
        monkeypatch.setattr(f"core.models.ceiling_counts.{least}", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rung", "parameters"),
    [
        ("uncoalesced", {"block_x": 16, "block_y": 8}),
        ("coalesced", {"block_x": 32, "block_y": 32}),
        ("tiled", {"tile": 32}),
        ("tiled_rect", {"tile": 16}),
        ("aat_shared", {"tile": 16}),
        ("aat_padded", {"tile": 32, "pad": 1}),
        ("tile_1d", {}),
    ],
)
def test_small_sizes_foretell_a_large_one(rung, parameters, any_size) -> None:
    scaled, full = both(rung, 256, **parameters)
    assert "Counted at N = 64, 128 and 192" in scaled.note
    assert full.note == ""
    assert scaled.work == full.work
    assert scaled.written == full.written
    assert (scaled.read_sectors, scaled.written_sectors) == (
        full.read_sectors,
        full.written_sectors,
    )
    assert scaled.uniform == full.uniform
    assert scaled.workload.launch.grid == full.workload.launch.grid


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rung", "size", "parameters"),
    [
        ("tiled_bounds", 236, {"tile": 32}),  # the last tile of each row overhangs
        ("tiled_bounds", 237, {"tile": 8}),
        ("tiled", 240, {"tile": 16}),
        ("coalesced", 233, {"block_x": 32, "block_y": 8}),
        ("uncoalesced", 226, {"block_x": 16, "block_y": 16}),
        ("aat_shared", 208, {"tile": 16}),
        ("transpose_naive", 219, {}),
    ],
)
def test_small_sizes_with_the_same_edge_foretell_a_large_one(
    rung, size, parameters, any_size
) -> None:
    scaled, full = both(rung, size, (SMALL,), **parameters)
    assert scaled.note.startswith(f"Counted at N = {SMALL + size % SMALL}, ")
    assert_same(scaled, full)


@pytest.mark.slow
def test_a_launch_that_is_large_is_counted_at_small_sizes() -> None:
    scaled, full = both("tiled_bounds", 1037, tile=32)
    assert scaled.note.startswith("Counted at N = 77, 141, 205, 269 and 333, ")
    assert_same(scaled, full)


def assert_same(scaled: Counts, full: Counts) -> None:
    assert "cubic" in scaled.note
    for name in ("work", "written", "read_sectors", "written_sectors", "counters", "uniform"):
        assert getattr(scaled, name) == getattr(full, name), name


def of_another_size(rung: Rung) -> Workload:
    """A launch of another size than the smallest: fewer turns of its loop, or twice as large."""
    names = sizes_of(rung.name)
    for size in STEPS:
        for sizes in ({"k": size // 2}, {"k": 2 * size}) if "k" in names else ({"n": 2 * size},):
            with suppress(ParameterError):  # a tile that is wider
                return rung.blank_workload(**{**dict.fromkeys(names, size), **sizes})
    raise AssertionError(rung.name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in LADDER.names if sizes_of(n)])
def test_both_builds_of_every_rung_ask_alike(name: str) -> None:
    """What lets the smallest size stand for the source as written: it is so at another one, too."""
    counts = measure(of_another_size(LADDER[name]))
    assert counts.written == Asked.of(counts.work)
    assert counts.written.loaded_bytes > 0


GUARDED = """
extern "C" __global__ void coalesced(const float* A, const float* B, float* C, int N)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float value = 0.0f, unused = 0.0f;
    for (int k = 0; k < N; k++) {
        value += A[row * N + k] * B[k * N + col];
        if (k >= FIRST) unused += A[row * N + k / 2];
        if (k >= FIRST) value += B[k * N];
    }
    C[row * N + col] = value;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", [0, 128, 200]
)  # from the start, at a small size, beyond all three
def test_an_edited_source_is_counted_at_its_own_size(first: int) -> None:
    """What no small size shows: loads from some k on, one of which the compiler drops."""
    rung, parameters = LADDER["coalesced"], {"n": 576, "block_x": 32, "block_y": 8}
    counts = measure_rung(rung, parameters, source=GUARDED.replace("FIRST", str(first)))
    assert counts.note == ""
    assert counts.written.loads == (2 * 576 + 2 * (576 - first)) * 576**2
    assert counts.work.loads == (2 * 576 + 1 * (576 - first)) * 576**2
    assert counts.intensity == counts.flops / (4 * counts.written.loads)


@pytest.mark.slow
def test_the_source_as_it_stands_is_no_edit() -> None:
    rung, parameters = LADDER["coalesced"], {"n": 576, "block_x": 32, "block_y": 8}
    one, other = measure_rung(rung, parameters, source=rung.source), measure_rung(rung, parameters)
    assert "Counted at" in one.note
    assert (one.work, one.written) == (other.work, other.written)


@pytest.mark.slow
def test_builds_that_ask_for_different_bytes_are_both_followed(monkeypatch) -> None:
    """A load that the compiler drops, in a source that is promised to grow evenly."""
    rung, parameters = LADDER["coalesced"], {"block_x": 32, "block_y": 8}
    source = GUARDED.replace("FIRST", "0")
    asked = []

    def make(n: int):
        return replace(rung.blank_workload(n=n, **parameters), source=source)

    def told(workload, **options):
        asked.append((workload.parameters["n"], options.get("build"), options.get("written")))
        return measure(workload, **options)

    monkeypatch.setattr("core.models.ceiling_counts.measure", told)
    scaled, full = measure_at(make, 576), measure(make(576))
    assert "Counted at" in scaled.note
    assert (scaled.written, scaled.work) == (full.written, full.work)
    assert scaled.written.loads == 4 * 576**3
    assert {n for n, build, _ in asked if build == "as_written"} == {128, 192}  # 64 came with both


def test_blocks_that_a_small_size_does_not_fill() -> None:
    parameters = {"n": 2048, "block_x": 256}
    scaled = measure_rung(LADDER["vector_add"], parameters)
    assert "Counted at N = 256" in scaled.note
    assert scaled.work == measure(LADDER["vector_add"].blank_workload(**parameters)).work


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rung", "size", "parameters"),
    [
        ("coalesced", 528, {"block_x": 16, "block_y": 16}),  # no multiple of 64, and small
        ("coalesced", 192, {"block_x": 16, "block_y": 16}),  # small
        ("coalesced", 576, {"block_x": 48, "block_y": 3}),  # blocks hang over the edge at 64
    ],
)
def test_others_are_counted_at_their_own_size(rung, size, parameters) -> None:
    scaled, full = both(rung, size, **parameters)
    assert "Counted at" not in scaled.note
    assert scaled.work == full.work


@pytest.mark.slow
def test_sizes_that_differ_are_counted_as_they_are() -> None:
    rung = LADDER["tiled_rect"]
    counts = measure_rung(rung, {"m": 64, "k": 512, "n": 96, "tile": 16})
    assert counts.note == ""
    assert counts.flops == 2 * 64 * 512 * 96


@pytest.mark.slow
def test_what_does_not_grow_evenly_is_noticed() -> None:
    """A kernel whose loop runs over n squared: three points that lie on no line."""
    rung = LADDER["coalesced"]
    source = rung.source.replace("k < N;", "k < N * N / 1024;").replace("[row * N + k]", "[k % N]")
    source = source.replace("[k * N + col]", "[k % N * N + col]")

    def make(n: int):
        one = rung.blank_workload(n=n, block_x=16, block_y=16)
        return replace(one, source=source, flops=None)

    counts = measure_at(make, 512)
    assert "Counted at" not in counts.note


def test_figures_along_a_line() -> None:
    assert along(4096, lambda n: 3 + n // 16) == 3 + 256
    assert along(100, lambda n: n * n) == 10_000
    asked = []
    assert along(10_000, lambda n: asked.append(n) or -(-n // 48), 48, 16) == 209
    assert max(asked) < 1200


def test_every_recorded_run_was_counted_with_its_present_source():
    ladder = load_ladder()
    wanted = [r for r in load_recorded() if r.rung is not None and r.gflops]
    assert len(wanted) > 100
    missing = [
        (r.rung, dict(r.parameters))
        for r in wanted
        if known_intensity(ladder[r.rung], r.parameters) is None
    ]
    assert not missing, "run scripts/count_recorded.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("uncoalesced", {"n": 256, "block_x": 8, "block_y": 8}),
        ("tiled_rect", {"m": 4096, "k": 4096, "n": 4096, "tile": 16}),
        ("aat_padded", {"n": 1024, "tile": 32, "pad": 1}),
    ],
)
def test_it_is_what_counting_gives(name, parameters):
    rung = load_ladder()[name]
    found = known_intensity(rung, parameters)
    assert found == measure_rung(rung, parameters, written=False).intensity


def test_nothing_is_known_of_another_launch_or_source():
    rung = load_ladder()["tiled"]
    assert known_intensity(rung, {"n": 4096, "tile": 16}) == 4.0
    assert known_intensity(rung, {"n": 4080, "tile": 16}) is None
    edited = replace(rung, source=rung.source.replace("phase++", "phase += 1"))
    assert known_intensity(edited, {"n": 4096, "tile": 16}) is None
