"""`mbarrier` with bytes, `cp.async.bulk` and `cp.async.bulk.tensor`, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import LaunchError, TilescopeError
from core.launch import ArrayArgument, Dim3, Launch, Member, ScalarArgument, Workload
from core.recording.record_launch import record
from core.tensor_maps import TensorMap, swizzled
from tests.core.emulator.machines import trace_of
from tests.hopper_forms import SumBox, summed_box

HEAD = r"""
typedef unsigned u32; typedef unsigned long long u64;
struct alignas(64) TensorMap { u64 words[16]; };
__device__ u32 at(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void init(u64* b, u32 n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n)); }
__device__ void expect(u64* b, u32 n) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(b)), "r"(n)); }
__device__ void wait(u64* b, u32 parity) {
  asm volatile("{\n.reg .pred q;\nagain:\n"
    "mbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1;\n@q bra done;\nbra again;\ndone:\n}"
    :: "r"(at(b)), "r"(parity) : "memory"); }
"""
RING = (
    HEAD
    + r"""
extern "C" __global__ void k(const float* in, float* out, int n) {
  __shared__ __align__(128) float tile[3][128];
  __shared__ u64 full[3], empty[3];
  int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 3; s++) { init(&full[s], 1); init(&empty[s], 128); }
  __syncthreads();
  if (t == 128) {
    for (int i = 0; i < n; i++) {
      wait(&empty[i % 3], (i / 3 & 1) ^ 1);
      expect(&full[i % 3], 512);
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1], %2, [%3];" :: "r"(at(tile[i % 3])), "l"(in + 128 * i), "r"(512),
        "r"(at(&full[i % 3])) : "memory");
    }
  } else if (t < 128) {
    for (int i = 0; i < n; i++) {
      wait(&full[i % 3], i / 3 & 1);
      out[128 * i + t] = tile[i % 3][127 - t];
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(&empty[i % 3])));
    }
  }
}
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("order", ["lockstep", "warp_by_warp", "random"])
def test_a_ring_of_stages(kind, order) -> None:
    rows = np.random.default_rng(1).random((11, 128), np.float32)
    arrays = {"in": rows, "out": np.full((11, 128), np.nan, np.float32), "n": np.int32(11)}
    trace = trace_of(RING, arrays, block=160, kind=kind, order=order)
    assert trace.findings == ()
    assert np.array_equal(trace.outputs["out"], rows[:, ::-1])


def copy_box(shape, dtype, box, corner, swizzle, steps=(), *, stores=False):
    """A box loaded to shared memory, whose bytes come back; or stored from there."""
    rank = len(shape)
    generator = np.random.default_rng(7)
    data = generator.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8)
    data = data.view(dtype).reshape(shape)
    what = TensorMap.of_array(shape, data.itemsize, box, swizzle, steps)
    names = ", ".join(f"int x{i}" for i in range(rank))
    registers = ", ".join(f"%{i + 2}" for i in range(rank))
    values = ", ".join(f'"r"(x{i})' for i in range(rank))
    if stores:
        work = f"""
  for (int i = t; i < {what.extent}; i += 64) tile[i] = bytes[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {{
    asm volatile("cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group "
      "[%0, {{{registers}}}], [%1];" :: "l"(&map), "r"(at(tile)), {values} : "memory");
    asm volatile("cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;" ::: "memory");
  }}"""
    else:
        work = f"""
  for (int i = t; i < {what.extent}; i += 64) tile[i] = bytes[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {{
    init(&full, 1);
    expect(&full, {what.box_bytes});
    asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {{{registers}}}], [%{rank + 2}];"
      :: "r"(at(tile)), "l"(&map), {values}, "r"(at(&full)) : "memory");
  }}
  __syncthreads();
  wait(&full, 0);
  for (int i = t; i < {what.extent}; i += 64) bytes[i] = tile[i];"""
    source = (
        HEAD
        + f"""
extern "C" __global__ void k(const __grid_constant__ TensorMap map, char* bytes, {names}) {{
  extern __shared__ __align__(1024) char tile[];
  __shared__ u64 full;
  int t = threadIdx.x;{work}
}}"""
    )
    given = generator.integers(0, 256, what.extent, np.uint8)
    arguments = (
        ArrayArgument("map", data, "inout", Member("map", 0, 128, 64), map=what),
        ArrayArgument("bytes", given, "inout"),
        *(ScalarArgument(f"x{i}", np.int32(c)) for i, c in enumerate(corner)),
    )
    launch = Launch(Dim3(1), Dim3(64), arguments, what.extent)
    trace = record(Workload("k", source, "k.cu", "k", launch), kind="as_compiled")
    assert trace.findings == ()
    return data, given, what, trace.outputs


def where_in_shared(what):
    """Where each byte of a box lies in shared memory: a swizzle pads its rows."""
    wide = what.counts[0] * what.nbytes
    number = np.arange(what.box_bytes)
    pitch = what.swizzle or wide
    return swizzled(number // wide * pitch + number % wide, what.swizzle)


def box_of(data, what, corner):
    """The indices of the box's elements, outermost dimension first, and which lie inside."""
    axes = []
    steps = (1, *what.steps[1:])
    for first, count, step in zip(corner, what.counts, steps, strict=True):
        axes.append(first + step * np.arange(count))
    index = np.meshgrid(*reversed(axes), indexing="ij")
    inside = np.ones(index[0].shape, bool)
    for one, size in zip(index, data.shape, strict=True):
        inside &= (one >= 0) & (one < size)
    return index, inside


BOXES = [
    ((96,), "uint8", (48,), (64,), 0, ()),
    ((40, 24), "float32", (8, 20), (4, 30), 0, ()),
    ((40, 24), "float32", (8, 20), (-4, 5), 32, ()),
    ((70, 64), "uint16", (32, 40), (16, -7), 64, ()),
    ((70, 72), "uint16", (64, 33), (8, 40), 128, ()),
    ((50, 160), "uint8", (128, 20), (48, 3), 128, ()),
    ((50, 80), "uint8", (80, 16), (16, 3), 128, ()),
    ((5, 30, 16), "float64", (4, 9, 3), (2, 20, 3), 32, ()),
    ((3, 5, 9, 32), "uint16", (16, 4, 3, 2), (16, 7, -1, 1), 0, ()),
    ((3, 4, 5, 6, 8), "float32", (8, 3, 2, 3, 2), (0, 2, 4, 2, 1), 32, ()),
    ((64, 64), "float32", (8, 30), (8, 6), 32, (1, 3)),
    ((9, 64, 32), "uint16", (32, 16, 8), (0, 50, 2), 64, (1, 2, 4)),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", BOXES)
def test_boxes_are_loaded(case) -> None:
    data, _, what, outputs = copy_box(*case)
    index, inside = box_of(data, what, case[3])
    clipped = tuple(np.clip(i, 0, n - 1) for i, n in zip(index, data.shape, strict=True))
    wanted = np.where(inside, data[clipped], 0).astype(data.dtype)
    at = where_in_shared(what)
    assert np.array_equal(outputs["bytes"][at], wanted.reshape(-1).view(np.uint8))


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in BOXES if min(case[3]) >= 0])
def test_boxes_are_stored(case) -> None:
    data, given, what, outputs = copy_box(*case, stores=True)
    index, inside = box_of(data, what, case[3])
    raw = given[where_in_shared(what)]
    values = raw.view(data.dtype).reshape(inside.shape)
    wanted = data.copy()
    wanted[tuple(i[inside] for i in index)] = values[inside]
    assert outputs["map"].tobytes() == wanted.tobytes()


def test_the_swizzle_of_128_bytes_row_by_row() -> None:
    """Row r of eight holds its piece c at c ^ r (PTX ISA, the figure of the 128-byte mode)."""
    pieces = swizzled(np.arange(0, 1024, 16), 128).reshape(8, 8)
    assert np.array_equal(
        pieces, 128 * np.arange(8)[:, None] + 16 * (np.arange(8) ^ np.arange(8)[:, None])
    )


@pytest.mark.parametrize(
    ("shape", "box", "swizzle", "said"),
    [
        ((64, 64), (64, 300), 0, "each side can be 1 to 256"),
        ((64, 64), (64, 8), 64, "has a box whose rows have 128 bytes, more than its swizzle of 64"),
        ((64, 64), (7, 8), 0, "rows have 14 bytes: take a multiple of 16"),
        ((64, 63), (8, 8), 0, "strides of 126 bytes"),
        ((64, 64), (8,), 0, "the box 8 for an array of 2"),
        ((2,) * 6, (8,) * 6, 0, "has 6 dimensions"),
    ],
)
def test_maps_that_the_driver_refuses(shape, box, swizzle, said) -> None:
    with pytest.raises(LaunchError, match=said):
        TensorMap.of_array(shape, 2, box, swizzle)


def test_a_map_and_its_bytes() -> None:
    made = TensorMap.of_array((7, 6, 48), 4, (16, 3, 2), 64, (1, 2, 1)).at(1 << 46)
    assert len(made.encoded()) == 128
    assert TensorMap.decoded(made.encoded()) == made
    assert TensorMap.decoded(bytes(128)) is None
    assert made.kind == "u32"
    halves = TensorMap.of_array((64, 64), 2, (16, 3), kind="bf16")
    assert TensorMap.decoded(halves.encoded()) == halves
    old = bytearray(made.encoded())
    old[19] = 0  # before maps had kinds
    assert TensorMap.decoded(bytes(old)) == made


@pytest.mark.parametrize(("name", "kind"), [("xor", "s64"), ("min", "f32"), ("add", "u16")])
def test_what_cannot_be_reduced_is_refused(name, kind) -> None:
    form = summed_box(SumBox(name, kind, (16, 16), (16, 2), (0, 0)))
    with pytest.raises(TilescopeError, match=f"{name}.*has no reduction of {kind} in global"):
        record(form.workload, kind="as_compiled")


# Lanes of a warp store a row of shared memory again and again, from two stages.
STORED = (
    HEAD
    + r"""
extern "C" __global__ void k(float* out) {
  __shared__ __align__(128) float tile[2][64];
  int t = threadIdx.x;
  for (int i = 0; i < 4; i++) {
    tile[i % 2][t] = t + 100 * i;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    MEET;
    if (t < LANES) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;"
        :: "l"(out + 64 * (i * STRIDE + t % STRIDE)), "r"(at(tile[i % 2])) : "memory");
      asm volatile("cp.async.bulk.commit_group;");
      WAIT;
    }
    MEET;
  }
  asm volatile("cp.async.bulk.wait_group 0;");
}
"""
)
COUNTED = 'asm volatile("bar.sync 1, 64;" ::: "memory")'
READ = 'asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory")'


@pytest.mark.parametrize("meet", ["__syncthreads()", COUNTED])
@pytest.mark.parametrize(
    ("lanes", "stride", "wait", "kinds"),
    [
        (1, 1, READ, set()),
        (32, 32, READ, set()),  # each lane its own row
        (32, 1, READ, set()),  # all the same bytes to the same row
        (1, 1, "", {"not_awaited"}),
        (32, 32, "", {"not_awaited"}),
        (32, 16, READ, set()),  # two lanes a row
    ],
)
def test_stages_that_are_stored_and_filled_again(meet, lanes, stride, wait, kinds) -> None:
    defines = {"LANES": str(lanes), "STRIDE": str(stride), "MEET": meet, "WAIT": wait}
    out = np.zeros((4 * stride, 64), np.float32)
    trace = trace_of(STORED, {"out": out}, block=64, defines=defines)
    assert {finding.kind for finding in trace.findings} == kinds
    wanted = np.arange(64, dtype=np.float32) + 100 * np.arange(4, dtype=np.float32)[:, None]
    assert np.array_equal(trace.outputs["out"], np.repeat(wanted, stride, axis=0)) or kinds


def test_lanes_that_store_other_bytes_to_one_place_race() -> None:
    source = STORED.replace("tile[i % 2])) : ", "tile[0] + t / 16 * 32)) : ")
    defines = {"LANES": "32", "STRIDE": "1", "MEET": "__syncthreads()", "WAIT": READ}
    source = source.replace("[%1], 256;", "[%1], 128;")
    trace = trace_of(source, {"out": np.zeros((4, 64), np.float32)}, block=64, defines=defines)
    assert "not_awaited" in {finding.kind for finding in trace.findings}
