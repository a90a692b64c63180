"""Kernels whose lanes part and in which some yield, and what an H200 made of them.

In `MASKS` each place `P(i)` notes which lanes run together there. Of `COUNTS` the counters are
compared; they were written after the rules stood. `scripts/record_yields.py` records them on a GPU,
tests/core/emulator/test_warp_divergence.py compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.rules.counters import METRICS as ALL_METRICS

RECORDED = Path(__file__).parent / "data" / "yields_h200.json"
BUILDS = {"as_written": ("-G",), "as_compiled": ("-lineinfo",)}
METRICS = {
    name: metric
    for name, metric in ALL_METRICS.items()
    if name.startswith(("shared_ld", "shared_st"))
    or (name.startswith(("global_ld", "global_st")) and name.endswith(("requests", "sectors")))
}
PLACES = 8
_MASKS_SOURCE = r"""
#define P(i) { unsigned m; asm volatile("activemask.b32 %0;" : "=r"(m) :: "memory"); \
    masks[(i) * 32 + t] = m; }
__device__ __noinline__ int leaf_atomic(int *p) { return atomicAdd(p, 1) + 2; }
__device__ __noinline__ int leaf_cas(int *p)
{
    int old;
    do { old = *(volatile int *)p; } while (atomicCAS(p, old, old + 1) != old);
    return old;
}
extern "C" __global__ void parting(unsigned *masks, int *g, const int *p, const int *q)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = 0;
    tile[t + 32] = 0;
    int v = p[t], w = q[t];
    bool A = v > 3, B = w > 3, C = (v + w) % 3 == 0;
    BODY
    P(7)
    masks[8 * 32 + t] = v + tile[t & 7];
}
"""
_COUNTS_SOURCE = r"""
__device__ __noinline__ int helper_atomic(int v, int *p)
{
    if (v > 2) return atomicAdd(p + (v & 3), 1);
    return v;
}
extern "C" __global__ void parting(int *out, const int *p, const int *q)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = t;
    tile[t + 64] = t + 64;
    __syncthreads();
    int v = p[t];
    BODY
    v += tile[t ^ 1];
    out[t] = v;
}
"""

MASKS: Mapping[str, str] = {
    "all, atom": "v += atomicAdd(&tile[v], 1);P(1)",
    "all, red": "atomicAdd(&tile[v], 1);P(1)",
    "all, global red": "atomicAdd(&g[v], 1); P(1)",
    "if, red": "if (A) {atomicAdd(&tile[v], 1);P(0)} P(1)",
    "if, atom": "if (A) {v += atomicAdd(&tile[v], 1);P(0)} P(1)",
    "if, global red": "if (A) { atomicAdd(&g[v], 1); P(0) } P(1)",
    "if, global atom": "if (A) { v += atomicAdd(&g[v], 1); P(0) } P(1)",
    "two ifs deep": "if (A) { if (B) {atomicAdd(&tile[v], 1);P(0)} P(1) } P(2)",
    "two ifs deep, global": "if (A) { if (B) { v += atomicAdd(&g[v], 1); P(0)} P(1) } P(2)",
    "then arm": "if (A) {atomicAdd(&tile[v], 1);P(0)} else { tile[t] = 3; P(1) } P(2)",
    "else arm": "if (A) { tile[t] = 3; P(0) } else {atomicAdd(&tile[v], 1);P(1)} P(2)",
    "both arms": (
        "if (A) {v += atomicAdd(&tile[v], 1);P(0) } else {atomicAdd(&tile[v], 1);P(1)} P(2)"
    ),
    "then another if": (
        "if (A) {atomicAdd(&tile[v], 1);} P(0) if (B) { tile[t + 32] = 1; P(1) } P(2)"
    ),
    "then an if that yields": (
        "if (A) {atomicAdd(&tile[v], 1);} P(0) if (B) { v += atomicAdd(&tile[v], 1); P(1) } P(2)"
    ),
    "inside an if": (
        "if (C) { if (A) {atomicAdd(&tile[v], 1);} P(0) if (B) { tile[t + 32] = 1; P(1) } "
        "P(2) } P(3)"
    ),
    "loop": "for (int i = 0; i < v; i++) {atomicAdd(&tile[v], 1);} P(0)",
    "loop without": "for (int i = 0; i < v; i++) { tile[t] += i; P(1) } P(0)",
    "loop, own place": "for (int i = 0; i < v; i++) { atomicAdd(&tile[t], i); P(1) } P(0)",
    "if in a loop": "for (int i = 0; i < 4; i++) { if (A) {atomicAdd(&tile[v], 1);} P(0) } P(1)",
    "turns in a loop": (
        "for (int i = 0; i < 4; i++) { if (i == w) {atomicAdd(&tile[v], 1);} P(i) } P(5)"
    ),
    "then syncwarp": "if (A) {atomicAdd(&tile[v], 1);} P(0) __syncwarp(); P(1)",
    "then syncthreads": "if (A) {atomicAdd(&tile[v], 1);} P(0) __syncthreads(); P(1)",
    "then shuffle": "if (A) {atomicAdd(&tile[v], 1);} P(0) v += __shfl_xor_sync(~0u, v, 1); P(1)",
    "then ballot": "if (A) {atomicAdd(&tile[v], 1);} P(0) v += __popc(__ballot_sync(~0u, B)); P(1)",
    "cas": (
        "{ int old; do { old = *(volatile int *)&tile[v & 1]; } while (atomicCAS(&tile[v & "
        "1], old, old + 1) != old); }P(0)"
    ),
    "cas, syncwarp": (
        "{ int old; do { old = *(volatile int *)&tile[v & 1]; } while (atomicCAS(&tile[v & "
        "1], old, old + 1) != old); }P(0) __syncwarp(); P(1)"
    ),
    "cas, syncthreads": (
        "{ int old; do { old = *(volatile int *)&tile[v & 1]; } while (atomicCAS(&tile[v & "
        "1], old, old + 1) != old); }P(0) __syncthreads(); P(1)"
    ),
    "cas, shuffle": (
        "{ int old; do { old = *(volatile int *)&tile[v & 1]; } while (atomicCAS(&tile[v & "
        "1], old, old + 1) != old); }P(0) v += __shfl_xor_sync(~0u, v, 1); P(1)"
    ),
    "cas, if": (
        "{ int old; do { old = *(volatile int *)&tile[v & 1]; } while (atomicCAS(&tile[v & "
        "1], old, old + 1) != old); }P(0) if (B) { tile[t + 32] = 1; P(1) } P(2)"
    ),
    "cas, loop": (
        "{ int old; do { old = *(volatile int *)&tile[v & 1]; } while (atomicCAS(&tile[v & "
        "1], old, old + 1) != old); }P(0) for (int i = 0; i < 3; i++) { tile[t + 32] += i; } "
        "P(2)"
    ),
    "cas, global": (
        "{ int old; do { old = *(volatile int *)&g[v & 1]; } while (atomicCAS(&g[v & 1], "
        "old, old + 1) != old); }P(0)"
    ),
    "cas of floats": (
        "{ int *a = &tile[v & 1]; int old = *a, seen; do { seen = old; old = atomicCAS(a, "
        "seen, __float_as_int(1.5f + __int_as_float(seen))); } while (seen != old); }P(0)"
    ),
    "lock": (
        "{ bool done = false; while (!done) { if (atomicCAS(&tile[40], 0, 1) == 0) { "
        "tile[41]++; __threadfence_block(); atomicExch(&tile[40], 0); done = true; } } }P(0)"
    ),
    "cas in an if": (
        "if (A) {{ int old; do { old = *(volatile int *)&tile[v & 1]; } while "
        "(atomicCAS(&tile[v & 1], old, old + 1) != old); }P(0) } P(1)"
    ),
    "cas two ifs deep": (
        "if (A) { if (B) {{ int old; do { old = *(volatile int *)&tile[v & 1]; } while "
        "(atomicCAS(&tile[v & 1], old, old + 1) != old); }P(0) } P(1) } P(2)"
    ),
    "cas in a loop": (
        "for (int i = 0; i < 3; i++) {{ int *a = &tile[v & 1]; int old = *a, seen; do { seen "
        "= old; old = atomicCAS(a, seen, __float_as_int(1.5f + __int_as_float(seen))); } "
        "while (seen != old); }P(i) } P(4)"
    ),
    "cas or store": (
        "if (A) {{ int *a = &tile[v & 1]; int old = *a, seen; do { seen = old; old = "
        "atomicCAS(a, seen, __float_as_int(1.5f + __int_as_float(seen))); } while (seen != "
        "old); }P(0)} else { tile[t] = 3; P(1) } P(2)"
    ),
    "store or cas": (
        "if (A) { tile[t] = 3; P(0)} else {{ int *a = &tile[v & 1]; int old = *a, seen; do { "
        "seen = old; old = atomicCAS(a, seen, __float_as_int(1.5f + __int_as_float(seen))); "
        "} while (seen != old); } P(1) } P(2)"
    ),
    "call of cas": "v += leaf_cas(&tile[v & 1]); P(0)",
    "call of atom": "v += leaf_atomic(&tile[v]); P(0)",
    "call of atom in an if": "if (A) v += leaf_atomic(&tile[v]); P(0)",
    "call of cas in an if": "if (A) v += leaf_cas(&tile[v & 1]); P(0)",
    "asm red": (
        "if (A) { unsigned a = __cvta_generic_to_shared(&tile[v]); asm "
        'volatile("red.shared.add.u32 [%0], 1;" :: "r"(a) : "memory"); } P(0)'
    ),
    "asm gred": (
        'if (A) { asm volatile("red.global.add.u32 [%0], 1;" :: "l"(g + v) : "memory"); } P(0)'
    ),
    "fence": "if (A) { tile[t] = 1; __threadfence(); tile[t] = 2; } P(0)",
    "fence block": "if (A) { tile[t] = 1; __threadfence_block(); tile[t] = 2; } P(0)",
    "nanosleep": "if (A) { tile[t] = 1; __nanosleep(20); } P(0)",
    "printf": 'if (A && t == 9) { printf(""); } P(0)',
    "clock": "if (A) { v += clock() == 7; tile[t] = v; } P(0)",
    "exch": "if (A) v += atomicExch(&tile[v], 3); P(0)",
    "max": "if (A) atomicMax(&tile[v], 3); P(0)",
    "fadd": "if (A) atomicAdd((float *)&tile[v], 1.0f); P(0)",
    "gfadd": "if (A) atomicAdd((float *)&g[v], 1.0f); P(0)",
    "dadd": "if (A) atomicAdd((double *)&tile[2 * v], 1.0); P(0)",
    "casone": "if (A) v += atomicCAS(&tile[v], 0, 3); P(0)",
    "syncwarp mask": (
        "unsigned m = __ballot_sync(~0u, A); if (A) { tile[t] = 1; __syncwarp(m); v += "
        "tile[t ^ 1]; } P(0)"
    ),
    "shfl mask": "unsigned m = __ballot_sync(~0u, A); if (A) { v += __shfl_sync(m, v, 0); } P(0)",
    "sin": "if (A) { v += (int)sinf((float)v); tile[t] = v; } P(0)",
    "div64": "if (A) { long long x = v + 10; v += (int)(x / (w + 1)); tile[t] = v; } P(0)",
    "div": "if (A) { v += (v + 10) / (w + 1); tile[t] = v; } P(0)",
    "fdiv": "if (A) { v += (int)(v * 10.0f / (w + 1)); tile[t] = v; } P(0)",
    "match": "if (A) { v += __match_any_sync(__activemask(), w) & 3; tile[t] = v;} P(0)",
    "volatile": "if (A) { volatile int *x = tile; v += x[v]; v += x[v & 7]; } P(0)",
    "volatile loop": "{ volatile int *x = tile; while (x[t] < v) x[t] = x[t] + 1; } P(0)",
    "while load": "{ int i = 0; while (g[i + 32] > v) i++; tile[t] = i; } P(0)",
    "ldcg": "if (A) { v += __ldcg(&g[t]); tile[t] = v; } P(0)",
    "ldg": "if (A) { v += __ldg(&q[t]); tile[t] = v; } P(0)",
    "min": "if (A) { v = min(v, w); tile[t] = v; } P(0)",
    "umulhi": "if (A) { v = __umulhi(v, w); tile[t] = v; } P(0)",
    "pow": "if (A) { v += (int)powf((float)v, 0.5f + w); tile[t] = v; } P(0)",
    "atomic or loop": (
        "for (int i = t; i < 32 + v; i += 8) atomicOr(&tile[i & 31], 1 << (i & 7)); P(0)"
    ),
    "ldcv spin": (
        "{ volatile int *x = g; if (t == 3) x[3] = 0; while (x[3] != 0 && x[t + 32] > v) ; } P(0)"
    ),
}
"""By name: what the lanes of one warp do."""

COUNTS: Mapping[str, str] = {
    "hist loop": (
        "for (int i = t; i < 64 + v; i += 32) if (q[i & 63] > 2) atomicAdd(&tile[64 + q[i & "
        "63]], 1);"
    ),
    "hist two": (
        "for (int i = 0; i < 4; i++) { if (v > i) atomicAdd(&tile[64 + i], 1); else "
        "atomicAdd(&tile[72 + i], 1); }"
    ),
    "compact": "if (v > 2) { int k = atomicAdd(&tile[100], 1); out[64 + (k & 31)] = v; }",
    "compact loop": (
        "for (int i = 0; i < 4; i++) if ((v + i) & 1) { int k = atomicAdd(&tile[100], 1); "
        "tile[64 + (k & 15)] = v; }"
    ),
    "bfs": (
        "for (int e = 0; e < q[t]; e++) { int u = (v + e) & 31; if (atomicCAS(&tile[64 + u], "
        "64 + u, e) == 64 + u) out[64 + u] = t; }"
    ),
    "max float": (
        "int *a = &tile[64 + (t & 7)]; int old = *a, seen; do { seen = old; old = "
        "atomicCAS(a, seen, max(seen, v + t)); } while (seen != old);"
    ),
    "max float if": (
        "int *a = &tile[64 + (t & 7)]; if (v > 2) { int old = *a, seen; do { seen = old; old "
        "= atomicCAS(a, seen, max(seen, v + t)); } while (seen != old); }"
    ),
    "hash": (
        "unsigned h = v; while (true) { int o = atomicCAS(&tile[64 + h], 64 + h, -v); if (o "
        "== 64 + h || o == -v) break; h = (h + 1) % 32; } v = h;"
    ),
    "hash then add": (
        "unsigned h = v; while (true) { int o = atomicCAS(&tile[64 + h], 64 + h, -v); if (o "
        "== 64 + h || o == -v) { atomicAdd(&out[64], 1); break; } h = (h + 1) % 32; } v = h;"
    ),
    "min if else": "if (v > q[t]) atomicMin(&tile[64], v); else atomicMax(&tile[65], v);",
    "three ways": (
        "if (v > 5) atomicAdd(&tile[64], 1); else if (v > 3) atomicAdd(&tile[65], 1); else "
        "if (v > 1) tile[t] = 4;"
    ),
    "nested": (
        "if (v > 1) { tile[t] = v; if (q[t] > 2) { atomicAdd(&tile[64], 1); tile[t] += 1; } "
        "v += tile[t]; }"
    ),
    "two ifs": (
        "if (v > 3) atomicAdd(&tile[64], 1); if (q[t] > 3) atomicAdd(&tile[65], 1); if (v + "
        "q[t] > 6) tile[t] = 5;"
    ),
    "sync after": (
        "if (v > 3) atomicAdd(&tile[64], 1); v += tile[t]; __syncthreads(); v += tile[t ^ 2];"
    ),
    "shuffle after": (
        "if (v > 3) atomicAdd(&tile[64], 1); v += tile[t]; v += __shfl_down_sync(~0u, v, 4); "
        "v += tile[t ^ 2];"
    ),
    "sync in loop": (
        "for (int i = 0; i < 3; i++) { if (v > i + 2) atomicAdd(&tile[64], 1); "
        "__syncthreads(); v += tile[t ^ i]; }"
    ),
    "return after": (
        "if (v > 3) { atomicAdd(&tile[64], 1); out[t] = tile[t]; return; } v += tile[t ^ 4];"
    ),
    "ballot leader": (
        "unsigned m = __ballot_sync(~0u, v > 3); if (v > 3) { int lead = __ffs(m) - 1; int "
        "base = 0; if (t % 32 == lead) base = atomicAdd(&tile[64], __popc(m)); base = "
        "__shfl_sync(m, base, lead); tile[t] = base; }"
    ),
    "cas once": "if (v > 3 && atomicCAS(&tile[64 + v], 64 + v, 7) == 64 + v) tile[t] = 3;",
    "volatile wait": (
        "volatile int *x = tile; if (t % 32 == 0) x[64 + t / 32] = 1; while (x[64 + t / 32] "
        "!= 1) ; v += tile[t ^ 8];"
    ),
    "sleep": "if (v > 3) __nanosleep(10); v += tile[t ^ 4];",
    "sleep loop": "for (int i = 0; i < v; i++) { __nanosleep(10); tile[t] += i; }",
    "exch": "if (v > 3) v = atomicExch(&tile[64 + v], t); tile[t] = v;",
    "double add": (
        "unsigned long long *a = (unsigned long long *)&tile[64] + (t & 3), o = *a, e; do { "
        "e = o; o = atomicCAS(a, e, __double_as_longlong(1.0 + __longlong_as_double(e))); } "
        "while (e != o);"
    ),
    "inc loop": (
        "for (int i = 0; i < q[t]; i++) atomicInc((unsigned *)&tile[64 + (v & 3)], 50); v += "
        "tile[t ^ 16];"
    ),
    "call atomic": "if (v > 1) v = helper_atomic(v, &tile[64]);",
    "call twice": (
        "if (v > 1) v = helper_atomic(v, &tile[64]); tile[t] = v; if (q[t] > 1) v = "
        "helper_atomic(v, &tile[80]);"
    ),
    "list": (
        "int i = t & 31; while (i > 0) { atomicAdd(&tile[64 + i], 1); i = q[i] < i ? q[i] : "
        "i / 2; }"
    ),
}
"""By name: what the lanes of two warps do."""


def _values(count: int, pattern: str = "mixed") -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Two arrays that decide which lanes part, by the name of a pattern."""
    lane = np.arange(count) % 32
    some = {"first half": lane < 16, "one lane": lane == 5, "all": lane >= 0, "none": lane < 0}
    if pattern in some:
        p = np.where(some[pattern], 6, 0)
        return p.astype(np.int32), p.astype(np.int32) + np.int32(pattern == "all")
    if pattern == "odd":
        return np.where(lane % 2, 6, 0).astype(np.int32), np.where(lane % 2, 7, 1).astype(np.int32)
    rng = np.random.default_rng(7)
    return rng.integers(0, 8, count).astype(np.int32), rng.integers(0, 8, count).astype(np.int32)


PATTERNS = ("mixed", "first half", "one lane", "all", "none", "odd")


def launches() -> Iterator[tuple[str, str, str, Workload]]:
    """Each launch: the set ("masks" or "counts"), its name, its build, and the workload."""
    for name, body in MASKS.items():
        p, q = _values(32)
        arguments = (
            ArrayArgument("masks", np.zeros(9 * 32, np.uint32), "inout"),
            ArrayArgument("g", np.arange(64, dtype=np.int32)[::-1].copy(), "inout"),
            ArrayArgument("p", p, "input"),
            ArrayArgument("q", q, "input"),
        )
        for build in BUILDS:
            yield "masks", name, build, _workload(_MASKS_SOURCE, body, 32, arguments)
    for name, body in COUNTS.items():
        for build in BUILDS:
            for pattern in PATTERNS:
                p, q = _values(64, pattern)
                arguments = (
                    ArrayArgument("out", np.zeros(128, np.int32), "inout"),
                    ArrayArgument("p", p, "input"),
                    ArrayArgument("q", q, "input"),
                )
                made = _workload(_COUNTS_SOURCE, body, 64, arguments)
                yield "counts", f"{name}, {pattern}", build, made


def _workload(
    source: str, body: str, threads: int, arguments: tuple[ArrayArgument, ...]
) -> Workload:
    return Workload(
        title="lanes that part",
        source=source.replace("BODY", body),
        source_name="parting.cu",
        kernel="parting",
        launch=Launch(Dim3(1), Dim3(threads), arguments),
        architecture="compute_90",
    )


def together(masks: NDArray[Any]) -> str:
    """Which lanes ran together at each place, in short: "1: 0000ffff ffff0000"."""
    rows = np.asarray(masks)[: PLACES * 32].reshape(PLACES, 32)
    noted = (
        (place, sorted({f"{m:08x}x{np.count_nonzero(row == m)}" for m in row[row > 0].tolist()}))
        for place, row in enumerate(rows)
    )
    return "; ".join(f"{place}: {' '.join(found)}" for place, found in noted if found)
