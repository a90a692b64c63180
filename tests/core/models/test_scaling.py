"""Counts of a large launch from three small ones equal those of the launch itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.ladder import load_ladder
from core.models.counts import Counts, measure
from core.models.scaling import along, measure_at, measure_rung

LADDER = load_ladder()


def both(rung: str, size: int, **parameters: int) -> tuple[Counts, Counts]:
    one = LADDER[rung]
    sizes = {p.name: size for p in one.parameters if p.name in ("m", "n", "k")}
    given = sizes | parameters
    return measure_rung(one, given), measure(one.blank_workload(**given))


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
def test_small_sizes_foretell_a_large_one(rung: str, parameters: dict[str, int]) -> None:
    scaled, full = both(rung, 576, **parameters)
    assert "Counted at N = 64, 128 and 192" in scaled.note
    assert full.note == ""
    assert scaled.work == full.work
    for name in ("loaded_bytes", "stored_bytes", "loads", "load_sectors", "store_sectors"):
        assert getattr(scaled.written, name) == getattr(full.written, name), name
    assert (scaled.read_sectors, scaled.written_sectors) == (
        full.read_sectors,
        full.written_sectors,
    )
    assert scaled.uniform == full.uniform
    assert scaled.workload.launch.grid == full.workload.launch.grid


DROPS = """
extern "C" __global__ void coalesced(const float* A, const float* B, float* C, int N)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float value = 0.0f, unused = 0.0f;
    for (int k = 0; k < N; k++) {
        value += A[row * N + k] * B[k * N + col];
        unused += A[row * N + k / 2];
    }
    C[row * N + col] = value;
}
"""


def test_loads_that_the_compiler_drops_are_counted_as_written() -> None:
    rung, parameters = LADDER["coalesced"], {"n": 576, "block_x": 32, "block_y": 8}
    scaled = measure_rung(rung, parameters, source=DROPS)
    full = measure(replace(rung.blank_workload(**parameters), source=DROPS))
    assert "Counted at" in scaled.note
    assert scaled.written.loads == full.written.loads == 3 * 576**3
    assert scaled.work.loads == full.work.loads == 2 * 576**3


def test_blocks_that_a_small_size_does_not_fill() -> None:
    parameters = {"n": 2048, "block_x": 256}
    scaled = measure_rung(LADDER["vector_add"], parameters)
    assert "Counted at N = 256" in scaled.note
    assert scaled.work == measure(LADDER["vector_add"].blank_workload(**parameters)).work


@pytest.mark.parametrize(
    ("rung", "size", "parameters"),
    [
        ("coalesced", 528, {"block_x": 16, "block_y": 16}),  # not a multiple of 64
        ("coalesced", 192, {"block_x": 16, "block_y": 16}),  # small
        ("coalesced", 576, {"block_x": 48, "block_y": 3}),  # blocks hang over the edge at 64
    ],
)
def test_others_are_counted_at_their_own_size(rung, size, parameters) -> None:
    scaled, full = both(rung, size, **parameters)
    assert "Counted at" not in scaled.note
    assert scaled.work == full.work


def test_sizes_that_differ_are_counted_as_they_are() -> None:
    rung = LADDER["tiled_rect"]
    counts = measure_rung(rung, {"m": 64, "k": 512, "n": 96, "tile": 16})
    assert counts.note == ""
    assert counts.flops == 2 * 64 * 512 * 96


def test_what_does_not_grow_evenly_is_noticed() -> None:
    """A kernel whose loop runs over n squared: three points that lie on no line."""
    rung = LADDER["coalesced"]
    source = rung.source.replace("k < N;", "k < N * N / 1024;").replace("[row * N + k]", "[k % N]")
    source = source.replace("[k * N + col]", "[k % N * N + col]")

    def make(n: int):
        from dataclasses import replace

        one = rung.blank_workload(n=n, block_x=16, block_y=16)
        return replace(one, source=source, flops=None)

    counts = measure_at(make, 512)
    assert "Counted at" not in counts.note


def test_figures_along_a_line() -> None:
    assert along(4096, lambda n: 3 + n // 16) == 3 + 256
    assert along(100, lambda n: n * n) == 10_000
