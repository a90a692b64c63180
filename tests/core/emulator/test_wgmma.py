"""`wgmma` against NumPy: small whole numbers, so that every sum is exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3
from core.recording.count_launch import count
from core.recording.record_launch import record
from tests.core.emulator.machines import trace_of, workload
from tests.hopper_forms import DEPTH, IMAGE, NBYTES, Product, product

KINDS = ["as_written", "as_compiled"]


def element_place(row, inner, swizzle, nbytes, transposed, rows):
    """Where an element of a dense tile lies, found piece of 16 bytes by piece.

    A row of the tile in memory is as wide as the swizzle; its pieces are exchanged by the number of
    the row (of pairs and fours of rows, with 64 and 32 bytes).
    """
    wide = max(swizzle, 16)
    each = 16 // nbytes
    if not transposed:
        if not swizzle:  # matrices of 8 rows of 16 bytes, two for each 8 rows
            return row // 8 * 256 + inner // each * 128 + row % 8 * 16 + inner % each * nbytes
        line, piece, rest = row, inner // each, inner % each * nbytes
        before = line // 8 * 8 * wide
    else:
        if not swizzle:
            matrix = row // each + inner // 8 * -(-rows // each)
            return matrix * 128 + inner % 8 * 16 + row % each * nbytes
        across = wide // nbytes
        line, piece, rest = inner, row % across // each, row % each * nbytes
        before = row // across * 16 * wide + line // 8 * 8 * wide
    number = line % 8
    pieces = wide // 16
    turned = piece ^ (number * wide // 128 % pieces)
    return before + number * wide + turned * 16 + rest


def tile(values, swizzle, kind, transposed, room):
    """A matrix (rows, depth) as the bytes of its tile."""
    raw = np.zeros(room, np.uint8)
    nbytes = NBYTES[kind]
    data = encoded(values, kind)
    for row in range(values.shape[0]):
        for inner in range(values.shape[1]):
            at = element_place(row, inner, swizzle, nbytes, transposed, values.shape[0])
            raw[at : at + nbytes] = data[row, inner]
    return raw


def encoded(values, kind):
    """Whole numbers as bytes (…, nbytes)."""
    if kind in ("s8", "u8"):
        return values.astype(np.int8)[..., None].view(np.uint8)
    if kind == "f16":
        return values.astype(np.float16)[..., None].view(np.uint8)
    if kind == "tf32":
        return values.astype(np.float32)[..., None].view(np.uint8)
    if kind == "bf16":
        bits = values.astype(np.float32).view(np.uint32) >> 16
        return bits.astype(np.uint16)[..., None].view(np.uint8)
    mantissa, bias = (3, 7) if kind == "e4m3" else (2, 15)
    size = np.abs(values)
    exponent = np.floor(np.log2(np.maximum(size, 1))).astype(int)
    fraction = ((size / 2.0**exponent - 1) * (1 << mantissa)).astype(int)
    bits = np.where(size == 0, 0, (exponent + bias) << mantissa | fraction)
    return (bits | (values < 0) << 7).astype(np.uint8)[..., None]


def run(p, kind="as_compiled"):
    """Runs a product of whole numbers; what came, and what should."""
    rng = np.random.default_rng(p.n + DEPTH[p.a])
    low = 0 if "u8" in (p.a, p.b) else -3
    a = rng.integers(low, 4, (64, DEPTH[p.a]))
    b = rng.integers(low, 4, (p.n, DEPTH[p.b]))
    c = rng.integers(-50, 50, (64, p.n))
    form = product(p)
    image = np.concatenate(
        [
            tile(a, p.swizzles[0], p.a, p.transposed[0], 8192),
            tile(b, p.swizzles[1], p.b, p.transposed[1], IMAGE - 8192),
        ]
    )
    if not p.shared:
        image = tile(b, p.swizzles[1], p.b, p.transposed[1], IMAGE)
    given = held(c, p.d)
    fragments = held_factor(a, p.a)
    new = {"image": image, "given": given, "fragments": fragments}
    launch = form.workload.launch
    arguments = tuple(
        replace(x, data=new[x.name]) if isinstance(x, ArrayArgument) and x.name in new else x
        for x in launch.arguments
    )
    work = replace(form.workload, launch=replace(launch, arguments=arguments))
    trace = record(work, kind=kind)
    assert trace.findings == ()
    total = p.signs[0] * p.signs[1] * (a @ b.T) * p.times + (c if p.scale else 0)
    return trace.outputs["out"], held(total, p.d)


def held(matrix, kind):
    """D as the registers of the 128 threads: pairs of neighbours, 8 rows apart (PTX ISA)."""
    thread = np.arange(128)[:, None, None, None]
    part = np.arange(matrix.shape[1] // 8)[None, :, None, None]
    half, pair = np.arange(2)[None, None, :, None], np.arange(2)[None, None, None, :]
    row = thread // 32 * 16 + thread % 32 // 4 + 8 * half
    values = matrix[row + 0 * part + 0 * pair, part * 8 + thread % 4 * 2 + pair + 0 * half]
    dtype = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[kind]
    return np.ascontiguousarray(values.astype(dtype)).reshape(-1).view(np.uint32)


def held_factor(matrix, kind):
    """A as registers: 4 of each thread."""
    per = 4 // NBYTES[kind]
    thread = np.arange(128)[:, None, None, None]
    deep, half = np.arange(2)[None, :, None, None], np.arange(2)[None, None, :, None]
    element = np.arange(per)[None, None, None, :]
    row = thread // 32 * 16 + thread % 32 // 4 + 8 * half
    inner = deep * 4 * per + thread % 4 * per + element
    raw = encoded(matrix, kind)[row + 0 * inner, inner + 0 * row]
    return np.ascontiguousarray(raw).reshape(-1).view(np.uint32)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("d", "a", "b", "n"),
    [
        ("f32", "f16", "f16", 24), ("f16", "f16", "f16", 16), ("f32", "bf16", "bf16", 40),
        ("f32", "tf32", "tf32", 8), ("f32", "e4m3", "e5m2", 48), ("f16", "e5m2", "e4m3", 56),
        ("s32", "s8", "s8", 32), ("s32", "u8", "s8", 48), ("s32", "u8", "u8", 24),
    ],
)  # fmt: skip
def test_types(d, a, b, n, kind) -> None:
    for shared in (True, False):
        found, wanted = run(Product(d, a, b, n, shared=shared), kind)
        assert np.array_equal(found, wanted), shared


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [(0, 128), (32, 0), (64, 32), (128, 64)])
def test_swizzles_of_both_majors(first, second) -> None:
    for flip in ((False, True), (True, False)):
        p = Product("f32", "f16", "f16", 136, swizzles=(first, second), transposed=flip)
        found, wanted = run(p)
        assert np.array_equal(found, wanted), flip


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 120])
def test_signs_scale_and_sums_of_several(n) -> None:
    for signs in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
        found, wanted = run(Product("f32", "f16", "f16", n, signs=signs))
        assert np.array_equal(found, wanted), signs
    for more in ({"scale": 0}, {"times": 3}, {"shared": False, "times": 2}):
        found, wanted = run(Product("f32", "bf16", "bf16", n, **more))
        assert np.array_equal(found, wanted), more


CLUSTER = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(2, 2, 1) k(const int* in, int* out) {
  __shared__ int s[32]; __shared__ int sum;
  cg::cluster_group c = cg::this_cluster();
  int t = threadIdx.x; unsigned r = c.block_rank(); int b = blockIdx.x + gridDim.x * blockIdx.y;
  s[t] = in[32 * b + t];
  if (t == 0) sum = 0;
  c.sync();
  int v = c.map_shared_rank(s, (r + 1) % c.num_blocks())[31 - t];
  atomicAdd(c.map_shared_rank(&sum, 0), v);
  c.sync();
  out[32 * b + t] = v + 1000 * r + (r == 0 ? sum : 0);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["lockstep", "random"])
def test_blocks_of_a_cluster_reach_each_other(kind, order) -> None:
    rows = np.random.default_rng(3).integers(0, 100, (4, 6, 32)).astype(np.int32)
    arrays = {"in": rows, "out": np.full((4, 6, 32), -1, np.int32)}
    trace = trace_of(CLUSTER, arrays, grid=Dim3(6, 4), block=32, kind=kind, order=order)
    assert trace.findings == ()
    wanted = np.zeros_like(rows)
    for y in range(4):
        for x in range(6):
            blocks = [rows[y // 2 * 2 + r // 2, x // 2 * 2 + r % 2] for r in range(4)]
            rank = x % 2 + 2 * (y % 2)
            total = sum(int(b.sum()) for b in blocks) if rank == 0 else 0
            wanted[y, x] = blocks[(rank + 1) % 4][::-1] + 1000 * rank + total
    assert np.array_equal(trace.outputs["out"], wanted)


@pytest.mark.slow
def test_a_launch_of_clusters_is_counted_whole() -> None:
    rows = np.zeros((4, 6, 32), np.int32)
    made = workload(CLUSTER, {"in": rows, "out": rows.copy()}, grid=Dim3(6, 4), block=32)
    counted = count(made)
    assert counted.note == "Every block was run: the blocks of a cluster run together."
    assert counted.counters.totals == record(made).counters.totals


def test_each_warpgroup_reads_its_own_rows_of_a():
    """As an H200 counts it: 16 wavefronts for the 64 x 16 of A, 16 for the 16 x 64 of B."""
    work = load_ladder()["tma_pipeline"].workload(m=128, k=64, n=64, tile_m=128)
    totals = record(work, kind="as_compiled").counters.totals
    assert totals["shared_gmma_wavefronts"].value == 2 * 4 * (16 + 16)
