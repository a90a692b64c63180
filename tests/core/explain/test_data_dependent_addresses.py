"""Where the contents of arrays send a kernel, and what is the kernel's own fault."""

from __future__ import annotations

import numpy as np
import pytest

from core.explain.data_dependent_addresses import is_left_open, resting_on
from core.recording.record_launch import record
from core.user_files.launch_texts import FileLaunch, file_workload

THREADS = 32


def found(body, *, before="", kind="as_written", **texts):
    """(kind, arrays whose contents lead there, left open) of each finding of a small kernel."""
    texts = {"idx": "index:int32[32]", "x": "float32[32]", "out": "zeros:float32[32]", **texts}
    source = (
        f"{before}\n__global__ void k(const int* idx, const float* x, float* out)\n"
        f"{{\n    int i = threadIdx.x;\n{body}\n}}\n"
    )
    launch = FileLaunch("k.cu", "k", "1", str(THREADS), arguments=tuple(texts.items()))
    trace = record(file_workload(source, launch, 5), kind=kind)
    resting = resting_on(trace, frozenset(texts))
    return [
        (f.kind, resting.get(f, ()), f in resting and is_left_open(trace, f))
        for f in trace.findings
    ]


@pytest.mark.parametrize(
    "body",
    [
        "out[i] = x[idx[i] + 20];",
        "int at = idx[i]; at = 3 * at + 1; out[i] = x[at];",
        "for (int j = idx[i]; j < idx[i] + 30; ++j) out[i] += x[j];",
        "for (int j = 0; j < 2 * idx[i]; ++j) out[i] += x[j];",
        "int j = 0; while (true) { out[i] += x[j]; ++j; if (j > 2 * idx[i]) break; }",
        "__shared__ int s[32]; s[i] = idx[i]; __syncthreads(); out[i] = x[s[31 - i] + 20];",
        "int own[4]; for (int j = 0; j < 4; ++j) own[j] = idx[(i + j) % 32];"
        " out[i] = x[own[i % 4] + 20];",
    ],
)
def test_an_access_that_contents_lead_astray_is_left_open(body):
    assert {kind for kind, _, _ in found(body)} == {"out_of_bounds"}
    assert all(names == ("idx",) and is_open for _, names, is_open in found(body))


@pytest.mark.parametrize(
    "body",
    [
        "out[i] = idx[i] + x[i + 1];",
        "if (idx[i] >= 0) out[i] = x[i + 1];",
        "for (int j = 0; j < 40; ++j) out[i] += x[j] * idx[i];",
        "__shared__ int s[32]; s[i] = 2 * i; __syncthreads(); out[i] = x[s[31 - i]] + idx[i];",
        "out[i] = i + 3; __syncthreads(); int at = out[31 - i]; __syncthreads();"
        " out[i] = x[at] + idx[i];",
    ],
)
def test_an_access_whose_place_the_kernel_computes_is_its_own_fault(body):
    assert found(body) == [("out_of_bounds", (), False)]


def test_a_call_through_a_table_in_memory_is_left_open():
    tables = "__device__ float plus(float a) { return a + 1; }\ntypedef float (*F)(float);"
    body = "F f = *(F*)(idx + 2 * (i % 4)); out[i] = f(x[i]);"
    assert found(body, before=tables) == [("bad_call", ("idx",), True)]


def test_a_call_by_the_table_of_an_object_that_lies_nowhere_is_left_open():
    virtual = "struct Shape { virtual __device__ float area(float) const { return 1; } };"
    body = "Shape* shape = *(Shape**)(idx + 2 * (i % 4)); out[i] = shape->area(x[i]);"
    names = {kind: (names, is_open) for kind, names, is_open in found(body, before=virtual)}
    assert set(names) >= {"bad_call"}
    assert set(names.values()) == {(("idx",), True)}


@pytest.mark.slow
def test_a_copy_by_a_map_whose_maker_is_unknown_is_left_open_and_so_is_its_hang():
    source = """
#include <cuda.h>
#include <cuda/barrier>
namespace cde = cuda::device::experimental;
using barrier = cuda::barrier<cuda::thread_scope_block>;
__global__ void k(CUtensorMap *map, float *out) {
    __shared__ alignas(128) float tile[64];
    __shared__ barrier full;
    if (threadIdx.x == 0) init(&full, blockDim.x);
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_global_to_shared(tile, map, 0, 0, full);
        token = cuda::device::barrier_arrive_tx(full, 1, sizeof(tile));
    } else {
        token = full.arrive();
    }
    full.wait(std::move(token));
    out[threadIdx.x] = tile[threadIdx.x];
}
"""
    texts = (("map", "index:uint64[1,16]"), ("out", "zeros:float32[32]"))
    launch = FileLaunch("k.cu", "k", "1", "32", arguments=texts)
    trace = record(file_workload(source, launch, 5))
    assert [f.kind for f in trace.findings] == ["bad_tensor_map", "hang"]
    resting = resting_on(trace, frozenset(["map"]))
    assert all(resting[f] == ("map",) and is_left_open(trace, f) for f in trace.findings)
    assert not resting_on(trace, frozenset(["out"]))


def test_writes_to_one_place_are_left_open_unless_threads_read_there():
    spread = dict(idx="random:int32[32]")
    assert found("out[idx[i] & 7] = i;", **spread) == [("race", ("idx",), True)]
    assert found("out[idx[i] & 7] += 1;", **spread)[0] == ("race", ("idx",), False)
    assert found("out[i / 2] = idx[i];", **spread) == [("race", (), False)]


def test_contents_that_are_given_lead_to_faults(tmp_path):
    np.save(tmp_path / "idx.npy", np.arange(32, dtype=np.int32) + 9)
    launch = FileLaunch(
        "k.cu",
        "k",
        "1",
        "32",
        arguments=(
            ("idx", f"@{tmp_path / 'idx.npy'}"),
            ("x", "float32[32]"),
            ("out", "float32[32]"),
        ),
    )
    source = (
        "__global__ void k(const int* idx, const float* x, float* out)"
        "{ out[threadIdx.x] = x[idx[threadIdx.x]]; }"
    )
    trace = record(file_workload(source, launch, 5))
    arrays = trace.workload.launch.arrays
    assert [array.name for array in arrays if array.is_own] == ["idx"]
    assert len(trace.findings) == 1
    assert not resting_on(trace, frozenset(a.name for a in arrays if not a.is_own))


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("assert(idx[i] < 20); out[i] = 1;", ("idx",)),
        ("int at = 2 * idx[i] + 1; assert(at <= i); out[i] = at;", ("idx",)),
        (
            "__shared__ int s[32]; s[i] = idx[i]; __syncthreads(); assert(s[31 - i] < 20);",
            ("idx",),
        ),
        ("assert(i < 20); out[i] = idx[i];", ()),
        ("out[i] = x[idx[i]]; assert(2 * i < 40);", ()),
        ("if (idx[i] < 40) assert(i % 2 == 0);", ()),
    ],
)
def test_an_assertion_of_contents_is_left_open(body, names):
    assert found(body, before="#include <cassert>") == [("assert", names, bool(names))]


@pytest.mark.parametrize(
    ("body", "is_open"),
    [
        ("int at = idx[i] / 2; out[at] = x[i]; out[at] += 1;", True),  # each has its own places
        ("int at = idx[i] / 2; out[at] = x[i]; out[at + 1] += 1;", False),
        ("out[idx[i] / 2] += x[i];", False),  # a histogram
        ("out[idx[i] / 2] += x[idx[31 - i]];", True),  # a table of pairs, from and to
        ("out[idx[i] / 2] += x[idx[i]] + out[idx[31 - i] / 2];", False),
    ],
)
def test_what_a_thread_adds_to_what_it_stored_is_left_open(body, is_open):
    texts = {"idx": "permutation:int32[32]", "out": "zeros:float32[40]"}
    races = [left for kind, _, left in found(body, **texts) if kind == "race"]
    assert races
    assert all(races) == is_open


WAITING = """
__global__ void k(const int* on, volatile int* ready, int* lock, float* out)
{
    __shared__ float s[64];
    int i = threadIdx.x;
    BODY
}
"""


@pytest.mark.parametrize(
    "kind", ["as_written", pytest.param("as_compiled", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Each waits for the one that its contents name: in a circle, or for one that is not there.
        ("while (ready[on[i]] == 0) { } ready[i] = 1;", {"livelock": ("on",)}),
        ("while (ready[64 + on[i]] == 0) { }", {"livelock": ("on",), "out_of_bounds": ("on",)}),
        ("if (i < 9) while (ready[on[i]] == 0) { } out[i] = __shfl_sync(~0u, i, 3);",
         {"livelock": ("on",), "divergent_warp": ("on",), "inactive_lane": ("on",)}),
        ("if (i < 9) while (ready[on[i]] == 0) { } s[i] = i; __syncthreads(); out[i] = s[63 - i];",
         {"livelock": ("on",), "deadlock": ("on",)}),
        ("while (atomicCAS(lock + on[i] % 8, 0, 1) != 0) { }", {"livelock": ("on",)}),
        ("while (atomicCAS((int*)on, 0, 1) != 0) { } *(volatile int*)on = 0;",
         {"livelock": ("on",)}),  # a lock that is not free at first
        # The kernel's own faults.
        ("while (ready[i] == 0) { } out[i] = on[i];", {"livelock": ()}),
        ("while (atomicCAS(lock, 0, 1) != 0) { } out[0] += on[i];", {"livelock": ()}),
        ("if (i < 9) while (ready[0] == 0) { } out[i] = __shfl_sync(~0u, on[i], 3);",
         {"livelock": (), "divergent_warp": (), "inactive_lane": ()}),
        ("if (i < 40) while (ready[on[i]] == 0) { } else if (i < 50)"
         " out[i] = __shfl_sync(~0u, i, 50);",
         {"livelock": ("on",), "divergent_warp": ("on",), "inactive_lane": ("on",)}),
        ("if (i < 32) while (ready[on[i]] == 0) { } else if (i < 50)"
         " out[i] = __shfl_sync(0x3ffffu, i, 20);",
         {"livelock": ("on",), "inactive_lane": ()}),
    ],
)  # fmt: skip
def test_waiting_for_ever_is_left_open_where_contents_say_for_whom(body, expected, kind):
    texts = {
        "on": "index:int32[64]",
        "ready": "zeros:int32[64]",
        "lock": "zeros:int32[8]",
        "out": "zeros:float32[64]",
    }
    launch = FileLaunch("k.cu", "k", "1", "64", arguments=tuple(texts.items()))
    trace = record(file_workload(WAITING.replace("BODY", body), launch, 5), kind=kind)
    resting = resting_on(trace, frozenset(texts))
    assert {f.kind: resting.get(f, ()) for f in trace.findings} == expected
    assert all(is_left_open(trace, f) for f in resting)


def test_a_race_for_an_element_that_nobody_reads_is_left_open_in_a_table_that_is_read():
    """Keys are claimed by an atomic; two threads with one key then write its value."""
    insert = (
        "int at = idx[i] % 4; atomicCAS((int*)out + 2 * at, 0, idx[i] + 1); out[2 * at + 1] = i;"
    )
    table = {"out": "zeros:float32[8]"}
    assert found(insert, **table) == [("race", ("idx",), True)]
    read = f"{insert} if (out[2 * at + 1] > 40) out[2 * at + 1] = 0;"
    races = [is_open for kind, _, is_open in found(read, **table) if kind == "race"]
    assert races
    assert not any(races)


def test_what_lies_in_front_of_a_pointer_in_a_structure_is_left_open():
    source = """
struct Offsets { const int* data; int n; };
__global__ void k(Offsets offsets, const int* plain, int* out) {
    int i = threadIdx.x;
    out[i] = offsets.data[i] - offsets.data[i - 1] + plain[i - 1];
}
"""
    texts = (
        ("offsets.data", "random:int32[32]"),
        ("offsets.n", "32"),
        ("plain", "random:int32[32]"),
        ("out", "zeros:int32[32]"),
    )
    trace = record(file_workload(source, FileLaunch("k.cu", "k", "1", "32", arguments=texts), 5))
    resting = resting_on(trace, frozenset(name for name, _ in texts))
    found = {f.array: (f.index, resting.get(f, ())) for f in trace.findings}
    assert found == {"offsets.data": ((-1,), ("offsets.data",)), "plain": ((-1,), ())}


REMOTE = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2) count(const int* values, int* out)
{
    __shared__ int bins[32];
    cg::cluster_group all = cg::this_cluster();
    bins[threadIdx.x] = 0;
    BARRIER;
    int bin = values[threadIdx.x] & 63;
    atomicAdd(all.map_shared_rank(bins, bin / 32) + bin % 32, 1);
    all.sync();
    out[blockIdx.x * 32 + threadIdx.x] = bins[threadIdx.x];
}
"""


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
def test_atomics_in_the_memory_of_another_block_race_whatever_leads_there(kind):
    texts = {"values": "random:int32[32]", "out": "zeros:int32[64]"}
    launch = FileLaunch("c.cu", "count", "2", "32", arguments=tuple(texts.items()))
    for barrier, kinds in (("__syncthreads()", ["race"]), ("all.sync()", [])):
        source = REMOTE.replace("BARRIER", barrier)
        trace = record(file_workload(source, launch, 5), kind=kind)
        assert [f.kind for f in trace.findings] == kinds
        resting = resting_on(trace, frozenset(["values"]))
        assert not any(f in resting and is_left_open(trace, f) for f in trace.findings)


def test_a_map_that_is_passed_and_not_reached_is_a_fault_whatever_it_describes():
    source = """
#include <cuda.h>
__global__ void k(PASSED CUtensorMap map, float *out) {
    __shared__ alignas(128) float tile[64];
    __shared__ unsigned long long full;
    unsigned to = __cvta_generic_to_shared(tile), bar = __cvta_generic_to_shared(&full);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(bar));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%2, %2}], [%3];"
                     :: "r"(to), "l"(&map), "r"(0), "r"(bar) : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred q; again: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], 0;"
                 " @!q bra again; }" :: "r"(bar) : "memory");
    out[threadIdx.x] = tile[threadIdx.x];
}
"""
    texts = (("map", "tensormap(float32[16,16], box=8x8)"), ("out", "zeros:float32[32]"))
    launch = FileLaunch("k.cu", "k", "1", "32", arguments=texts)
    passed = {"const": ["bad_tensor_map", "hang"], "const __grid_constant__": []}
    for how, kinds in passed.items():
        trace = record(file_workload(source.replace("PASSED", how), launch, 5))
        assert [f.kind for f in trace.findings] == kinds
        assert not resting_on(trace, frozenset(["map"]))


COPIES = """
#define AT(p) (unsigned)__cvta_generic_to_shared(p)
#define COPY(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" \\
    :: "r"(AT(to)), "l"(from) : "memory"); \\
    asm volatile("cp.async.wait_all;" ::: "memory"); __syncthreads()
#define BULK(to, from) if (i == 0) { \\
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(AT(&full)) : "memory"); \\
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" :: "r"(AT(&full))); \\
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" \\
        " [%0], [%1], 128, [%2];" :: "r"(AT(to)), "l"(from), "r"(AT(&full)) : "memory"); } \\
    __syncthreads(); \\
    asm volatile("{ .reg .pred q; again: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], 0;" \\
        " @!q bra again; }" :: "r"(AT(&full)) : "memory")
"""
SHARED = "__shared__ alignas(128) int t[32]; __shared__ unsigned long long full; "


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("COPY(t + i, x + idx[i] + 20); out[i] = t[i];", {"out_of_bounds"}),
        ("COPY(t + i, idx + i); out[i] = x[t[31 - i] + 20];", {"out_of_bounds"}),
        ("BULK(t, x + 4 * idx[3] + 32); out[i] = t[i];", {"out_of_bounds", "hang"}),
        ("BULK(t, idx); out[i] = x[t[i] + 20];", {"out_of_bounds"}),
    ],
)
def test_a_copy_leads_back_to_the_contents_that_it_is_made_by(body, kinds, kind):
    results = found(SHARED + body, before=COPIES, kind=kind)
    assert {kind for kind, _, _ in results} == kinds
    assert all(names == ("idx",) and is_open for _, names, is_open in results), results


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("COPY(t + i, x + i + 20); out[i] = t[i] + idx[i];", {"out_of_bounds"}),
        ("BULK(t, x + 4); out[i] = t[i] + idx[i];", {"out_of_bounds", "hang"}),
        ("BULK(t, idx); out[i] = x[i + 20] + t[i];", {"out_of_bounds"}),
    ],
)
def test_a_copy_from_where_the_kernel_computes_is_its_own_fault(body, kinds, kind):
    results = found(SHARED + body, before=COPIES, kind=kind)
    assert {kind for kind, _, _ in results} == kinds
    assert not any(names or is_open for _, names, is_open in results), results
