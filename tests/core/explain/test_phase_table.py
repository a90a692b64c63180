"""The phase table says what a kernel does, whichever kernel it is."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from core.cancelling import cancelled_by
from core.errors import Cancelled, TilescopeError
from core.explain.phase_table import as_latex, as_markdown, as_text, phase_table
from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.record_launch import record
from tests.core.emulator.machines import trace_of

LADDER = load_ladder()
BOTH = pytest.mark.parametrize("kind", ["as_written", "as_compiled"])


def table_of(rung: str, block: int = 0, kind: str = "as_written", **parameters: int):
    trace = record(LADDER[rung].workload(**parameters), kind=kind)
    return phase_table(trace, trace.block(block))


def texts(table) -> list[list[list[str]]]:
    return [[[entry.text for entry in cell] for cell in row.cells] for row in table.rows]


def compiled(source: str, arrays: dict[str, tuple[int, ...]], scalars=(), block=4, **options):
    """The table of a kernel `k` whose arrays are float32, the last of them the output."""
    rng = np.random.default_rng(3)
    last = list(arrays)[-1]
    made = tuple(
        ArrayArgument(n, rng.random(s, np.float32), "inout" if n == last else "input")
        for n, s in arrays.items()
    )
    launch = Launch(Dim3(1), Dim3(block), (*made, *(ScalarArgument(n, v) for n, v in scalars)))
    text = f'extern "C" __global__ {source}'
    if "__device__" in source:
        text = source
    trace = record(Workload("k", text, "k.cu", "k", launch), **options)
    return phase_table(trace, trace.block(0))


def test_coalesced_is_the_first_table() -> None:
    """N = 4, 2 x 2 blocks, block (0, 0): every thread walks its row of A and column of B."""
    table = table_of("coalesced", n=4, block_x=2, block_y=2)
    assert [c.title for c in table.columns] == ["Phase 0", "Phase 1", "Phase 2", "Phase 3", "After"]
    assert [(r.thread, r.name) for r in table.rows] == [
        (0, "(0, 0)"), (1, "(1, 0)"), (2, "(0, 1)"), (3, "(1, 1)")
    ]  # fmt: skip
    for row, cells in zip(table.rows, texts(table), strict=True):
        j, i = row.thread % 2, row.thread // 2
        for k in range(4):
            a, b = f"A[{i},{k}]", f"B[{k},{j}]"
            assert cells[k] == [f"load {a}", f"load {b}", f"C[{i},{j}] += {a}*{b}"]
        assert cells[4] == [f"store C[{i},{j}]"]


@BOTH
def test_tiled_is_the_second_table_with_the_true_shared_indices(kind: str) -> None:
    table = table_of("tiled", kind=kind, n=4, tile=2)
    assert [c.title for c in table.columns] == ["Phase 0", "Phase 1", "After"]
    for row, cells in zip(table.rows, texts(table), strict=True):
        j, i = row.thread % 2, row.thread // 2
        for phase in range(2):
            assert cells[phase] == [
                f"A[{i},{2 * phase + j}] -> tile_a[{i},{j}]",
                f"B[{2 * phase + i},{j}] -> tile_b[{i},{j}]",
                f"C[{i},{j}] += tile_a[{i},0]*tile_b[0,{j}] + tile_a[{i},1]*tile_b[1,{j}]",
            ]
        assert cells[2] == [f"store C[{i},{j}]"]


def test_another_block_of_the_tiled_kernel() -> None:
    table = table_of("tiled", block=1, n=4, tile=2)
    assert table.title == "Tiled, n = 4, tile = 2, block (1, 0)"
    assert texts(table)[2][1] == [
        "A[1,2] -> tile_a[1,0]",
        "B[3,2] -> tile_b[1,0]",
        "C[1,2] += tile_a[1,0]*tile_b[0,0] + tile_a[1,1]*tile_b[1,0]",
    ]


@BOTH
def test_guards_fill_with_zero_and_outside_threads_store_nothing(kind: str) -> None:
    table = table_of("tiled_bounds", block=3, kind=kind, n=3, tile=2)
    assert texts(table)[1] == [
        [
            "A[2,1] -> tile_a[0,1]",
            "0 -> tile_b[0,1]",
            "(not stored) += tile_a[0,0]*tile_b[0,1] + tile_a[0,1]*tile_b[1,1]",
        ],
        [
            "0 -> tile_a[0,1]",
            "0 -> tile_b[0,1]",
            "(not stored) += tile_a[0,0]*tile_b[0,1] + tile_a[0,1]*tile_b[1,1]",
        ],
        [],
    ]


def test_uncoalesced_swaps_the_threads() -> None:
    table = table_of("uncoalesced", n=4, block_x=2, block_y=2)
    assert texts(table)[1][0] == ["load A[1,0]", "load B[0,0]", "C[1,0] += A[1,0]*B[0,0]"]


def test_without_a_loop_there_is_one_column() -> None:
    table = table_of("vector_add", block=1, n=6, block_x=4)
    assert [c.title for c in table.columns] == ["Whole kernel"]
    assert texts(table) == [
        [["load A[4]", "load B[4]", "C[4] = A[4] + B[4]"]],
        [["load A[5]", "load B[5]", "C[5] = A[5] + B[5]"]],
        [[]],
        [[]],
    ]


@BOTH
def test_entries_know_their_step_and_columns_their_span(kind: str) -> None:
    trace = record(LADDER["tiled"].workload(n=4, tile=2), kind=kind)
    block = trace.block(0)
    table = phase_table(trace, block)
    for place, column in enumerate(table.columns):
        for step in range(column.first, column.last + 1):
            assert table.column_at(step, int(block.phase[step])) == place
        for row in table.rows:
            for entry in row.cells[place]:
                assert column.first <= entry.step <= column.last
                if entry.kind in ("copy", "store"):
                    access = block.access(entry.step)
                    assert access.kind == "store"
                    assert access.active[row.thread]
    assert table.column_at(0, -1) == -1


ALPHA_BETA = """void k(const float* A, const float* C0, float* C, float alpha, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += A[i] * A[threadIdx.x];
    C[threadIdx.x] = alpha * sum - C0[threadIdx.x];
}"""


def test_a_sum_that_goes_into_another_expression_has_a_name_of_its_own() -> None:
    scalars = [("alpha", np.float32(2)), ("n", np.int32(2))]
    table = compiled(ALPHA_BETA, {"A": (4,), "C0": (4,), "C": (4,)}, scalars)
    assert texts(table)[3] == [
        ["load A[0]", "load A[3]", "sum += A[0]*A[3]"],
        ["load A[1]", "load A[3]", "sum += A[1]*A[3]"],
        ["load C0[3]", "C[3] = alpha*sum - C0[3]"],
    ]


REGISTER_TILE = """__device__ float twice(float x) { return x + x; }
extern "C" __global__ void k(const float* A, float* C, int n) {
    float held[2] = {0.0f, 0.0f};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2; j++) held[j] += A[2 * i + j] * A[threadIdx.x];
    for (int j = 0; j < 2; j++) C[2 * threadIdx.x + j] = held[j];
}"""


def test_sums_in_local_memory() -> None:
    table = compiled(REGISTER_TILE, {"A": (8,), "C": (8,)}, [("n", np.int32(2))])
    cells = texts(table)[1]
    assert cells[0][-2:] == ["C[2] += A[0]*A[1]", "C[3] += A[1]*A[1]"] or set(cells[0]) >= {
        "C[2] += A[0]*A[1]", "C[3] += A[1]*A[1]"
    }  # fmt: skip
    assert "C[3] += A[3]*A[1]" in cells[1]


PREFETCH = """void k(const float* A, float* C, int n) {
    __shared__ float s[4];
    float ahead = A[threadIdx.x], sum = 0.0f;
    for (int i = 0; i < n; i++) {
        s[threadIdx.x] = ahead;
        __syncthreads();
        if (i + 1 < n) ahead = A[4 * (i + 1) + threadIdx.x];
        sum += s[3 - threadIdx.x];
        __syncthreads();
    }
    C[threadIdx.x] += sum;
}"""


def test_a_value_that_is_loaded_one_phase_before_it_is_stored() -> None:
    table = compiled(PREFETCH, {"A": (8,), "C": (4,)}, [("n", np.int32(2))])
    assert [c.title for c in table.columns] == ["Before", "Phase 0", "Phase 1", "After"]
    assert texts(table)[1] == [
        ["load A[1]"],
        ["A[1] -> s[1]", "load A[5]", "sum += s[2]"],
        ["A[5] -> s[1]", "sum += s[2]"],
        ["load C[1]", "C[1] += sum"],
    ]


CALL = """__device__ __noinline__ float scaled(float x, float by) { return x * by; }
extern "C" __global__ void k(const float* A, float* C, float by) {
    C[threadIdx.x] = scaled(A[threadIdx.x], by);
}"""


def test_values_pass_through_functions() -> None:
    table = compiled(CALL, {"A": (4,), "C": (4,)}, [("by", np.float32(3))])
    assert texts(table)[2] == [["load A[2]", "C[2] = A[2]*by"]]


REDUCE = """void k(const float* A, float* C) {
    __shared__ float s[4];
    s[threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    for (int half = 2; half > 0; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(C, s[0]);
}"""


def test_a_reduction_in_shared_memory_and_an_atomic() -> None:
    table = compiled(REDUCE, {"A": (4,), "C": (1,)})
    found = texts(table)
    assert found[0] == [
        ["A[0] -> s[0]"], ["s[0] += s[2]"], ["s[0] += s[1]"], ["atomic add C[0], s[0]"]
    ]  # fmt: skip
    assert found[1] == [["A[1] -> s[1]"], ["s[1] += s[3]"], [], []]


def test_a_phase_without_a_step_has_no_column() -> None:
    """The first round of a warp's reduction only shuffles: the block's phases begin with 1."""
    source = """void k(const float* a, float* c) {
        float s = a[threadIdx.x];
        for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
        c[threadIdx.x] = s;
    }"""
    table = compiled(source, {"a": (32,), "c": (32,)}, block=32)
    numbers = [column.phase for column in table.columns if column.phase >= 0]
    assert numbers == [1, 2, 3, 4]
    assert [column.title for column in table.columns][-2:] == ["Phase 4", "After"]
    spans = [(column.first, column.last) for column in table.columns]
    assert all(one[1] < other[0] for one, other in pairwise(spans))


def test_long_sums_are_cut_for_display_only() -> None:
    table = table_of("tiled", n=6, tile=6)
    entry = table.rows[7].cells[0][-1]
    assert entry.text.count("*") == 6
    assert entry.short == "C[1,1] += tile_a[1,0]*tile_b[0,1] + … + tile_a[1,5]*tile_b[5,1]"


def test_what_is_too_large_says_so() -> None:
    with pytest.raises(TilescopeError, match="has 256; choose a block of at most 64 threads"):
        table_of("tiled", n=16, tile=16)
    with pytest.raises(TilescopeError, match="has 33; choose sizes with at most 32 phases"):
        table_of("coalesced", n=33, block_x=2, block_y=2)


def test_can_be_cancelled() -> None:
    trace = record(LADDER["tiled"].workload(n=4, tile=2))
    with cancelled_by(lambda: True), pytest.raises(Cancelled):
        phase_table(trace, trace.block(0))


def test_exports() -> None:
    table = table_of("tiled", n=2, tile=2)
    assert as_text(table) == ("Tiled, n = 2, tile = 2, block (0, 0)\n\n" + "\n".join(TEXT) + "\n")
    lines = as_markdown(table).splitlines()
    assert lines[2] == "| Thread (x, y) | Phase 0 | After |"
    assert lines[4] == (
        "| (0, 0) | `A[0,0] -> tile_a[0,0]`<br>`B[0,0] -> tile_b[0,0]`<br>"
        "`C[0,0] += tile_a[0,0]*tile_b[0,0] + tile_a[0,1]*tile_b[1,0]` | `store C[0,0]` |"
    )
    latex = as_latex(table)
    assert r"\texttt{A[0,1] $\rightarrow$ tile\_a[0,1]}" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 9
    assert latex.count("{") == latex.count("}")
    odd = as_latex(replace(table, title=r"k<float, 8> & 50 % of #3 ~ ^ \ | `a_1`"))
    assert (
        r"\caption{k\textless{}float, 8\textgreater{} \& 50 \% of \#3 \textasciitilde{} "
        r"\textasciicircum{} \textbackslash{} \textbar{} \textasciigrave{}a\_1\textasciigrave{}}"
    ) in odd


RULE = "-" * 14 + "+-" + "-" * 60 + "+-" + "-" * 12
TEXT = [
    "Thread (x, y) | Phase 0" + " " * 53 + "| After",
    RULE,
    "(0, 0)        | A[0,0] -> tile_a[0,0]" + " " * 39 + "| store C[0,0]",
    "              | B[0,0] -> tile_b[0,0]" + " " * 39 + "|",
    "              | C[0,0] += tile_a[0,0]*tile_b[0,0] + tile_a[0,1]*tile_b[1,0] |",
    RULE,
    "(1, 0)        | A[0,1] -> tile_a[0,1]" + " " * 39 + "| store C[0,1]",
    "              | B[0,1] -> tile_b[0,1]" + " " * 39 + "|",
    "              | C[0,1] += tile_a[0,0]*tile_b[0,1] + tile_a[0,1]*tile_b[1,1] |",
    RULE,
    "(0, 1)        | A[1,0] -> tile_a[1,0]" + " " * 39 + "| store C[1,0]",
    "              | B[1,0] -> tile_b[1,0]" + " " * 39 + "|",
    "              | C[1,0] += tile_a[1,0]*tile_b[0,0] + tile_a[1,1]*tile_b[1,0] |",
    RULE,
    "(1, 1)        | A[1,1] -> tile_a[1,1]" + " " * 39 + "| store C[1,1]",
    "              | B[1,1] -> tile_b[1,1]" + " " * 39 + "|",
    "              | C[1,1] += tile_a[1,0]*tile_b[0,1] + tile_a[1,1]*tile_b[1,1] |",
]


WIDE = """
__global__ void k(const double2* A, double2* B, float2* C)
{
    __shared__ double2 s[4];
    int t = threadIdx.x;
    double2 v = A[t];
    s[t] = make_double2(v.x, v.y);
    __syncthreads();
    B[t] = s[3 - t];
    C[t] = make_float2(v.y, v.x);
}
"""


def test_numbers_of_eight_bytes_in_two_registers_each_and_vectors_that_are_returned() -> None:
    """NVRTC copies a double2 as four words, and has functions return both numbers at once."""
    pairs = {name: np.zeros((4, 2)) for name in "AB"}
    pairs["A"][:] = np.random.default_rng(3).random((4, 2))
    arguments = {**pairs, "C": np.zeros((4, 2), np.float32)}
    trace = trace_of(WIDE, arguments, block=4)
    row = phase_table(trace, trace.block(0)).rows[3]
    (cell,) = row.cells
    said = {entry.text for entry in cell}
    assert {"A[3].x -> s[3,0]", "A[3].y -> s[3,1]"} <= said
    assert {"s[0,0] -> B[3].x", "s[0,1] -> B[3].y"} <= said
    assert len([text for text in said if "B[" in text]) == 2, "once for each number"
    assert {"A[3].y -> C[3].x", "A[3].x -> C[3].y"} <= said
