"""Explanations put the real values into the rules, and agree with the counts beside them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from core.assembler.machine_accesses import Assembly
from core.explain.explanations import Place, explain_access, explain_total
from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from core.rules.counters import METRICS
from core.trace.access import Access, Array, SharedArray
from tests.core.emulator.machines import trace_of

LADDER = load_ladder()
F32 = np.dtype(np.float32)


def access(space, addresses, width=4, kind="load", shape=(64, 32), active=None) -> Access:
    """One warp's access at line 7 of an array A at address 4096, or `tile` at offset 0."""
    array = (
        Array("A", 4096, shape, F32) if space == "global" else SharedArray("tile", 0, shape, F32)
    )
    mask = np.ones(32, bool) if active is None else np.asarray(active)
    values = np.zeros((32, width // 4) if width > 4 else 32, np.float32)
    return Access(5, kind, space, width, 7, array, np.asarray(addresses, np.int64), mask, values)


def section(explanation, heading):
    return next(s for s in explanation.sections if s.heading.startswith(heading))


LANES = np.arange(32)


@pytest.mark.parametrize(
    ("elements", "answer"),
    [
        (LANES, "4 sectors: the 128 different bytes that the lanes ask for take no fewer."),
        (0 * LANES, "1 sector: the 4 different bytes that the lanes ask for take no fewer."),
        (  # two rows, each broadcast to half of the lanes: A by columns would do with one sector
            LANES // 16 * 32,
            "2 sectors: no more than lanes with bytes of their own would take, so none is in "
            "excess; the 8 different bytes would fit into 1.",
        ),
    ],
)
def test_whether_the_same_bytes_fit_into_fewer_sectors(elements, answer) -> None:
    part = access("global", 4096 + 4 * elements)
    assert part.warp(0).n_sectors == part.warp(0).ideal_sectors
    assert explain_access(part, 0).answer == answer


def test_consecutive_words() -> None:
    found = explain_access(access("global", 4096 + 4 * LANES), 0)
    assert found.title == "Line 7: warp 0 loads A"
    assert section(found, "Sectors").heading == "Sectors = 4"
    assert section(found, "Sectors").lines == (
        "1  0x1000 // 32 = 0x80  lanes 0–7    A[0,0] … A[0,7]    32 of 32 bytes used",
        "2  0x1020 // 32 = 0x81  lanes 8–15   A[0,8] … A[0,15]   32 of 32 bytes used",
        "3  0x1040 // 32 = 0x82  lanes 16–23  A[0,16] … A[0,23]  32 of 32 bytes used",
        "4  0x1060 // 32 = 0x83  lanes 24–31  A[0,24] … A[0,31]  32 of 32 bytes used",
    )
    assert section(found, "Ideal").lines == (
        "min(actual, ceil(active lanes × bytes a lane / 32))",
        "= min(4, ceil(32 × 4 / 32))",
        "= min(4, 4) = 4",
    )
    assert section(found, "Excessive").lines[0] == "4 - 4 = 0"
    assert section(found, "Lines").heading == "Lines = 1"
    assert section(found, "In Nsight").lines == (
        "requests  l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        "sectors   l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    )


def test_a_column_with_idle_lanes() -> None:
    found = explain_access(access("global", 4096 + 128 * LANES, active=LANES < 5, kind="store"), 0)
    assert "here with 5 active lanes of 4 bytes each" in section(found, "Requests").text
    assert section(found, "Sectors = 5").lines[4] == (
        "5  0x1200 // 32 = 0x90  lane 4  A[4,0]  4 of 32 bytes used"
    )
    assert section(found, "Ideal = 1").lines[1:] == (
        "= min(5, ceil(5 × 4 / 32))", "= min(5, 1) = 1"
    )  # fmt: skip
    assert section(found, "Excessive = 4").lines == (
        "5 - 1 = 4",
        "efficiency = ideal / actual = 1 / 5 = 20.0%",
        "bytes used of those fetched = 20 / 160",
    )
    assert METRICS["global_st_sectors"] in found.text


def test_a_broadcast_and_nobody() -> None:
    found = explain_access(access("global", np.full(32, 4100)), 0)
    assert section(found, "Sectors = 1").lines == (
        "1  0x1004 // 32 = 0x80  lanes 0–31  A[0,1]  4 of 32 bytes used",
    )
    idle = explain_access(access("global", 4096 + LANES, active=LANES < 0), 0)
    assert [s.heading for s in idle.sections] == ["Requests = 0"]


def test_a_conflict() -> None:
    """A column of a 32 x 32 tile, upper half: 16 lanes in one bank; with a pad none."""
    found = explain_access(access("shared", 128 * LANES, active=LANES < 16), 0)
    assert section(found, "Banks").lines[:2] == (
        "lane 0   tile[0,0]   (0 / 4) % 32 = 0",
        "lane 1   tile[1,0]   (128 / 4) % 32 = 0",
    )
    words = section(found, "Words")
    assert words.text.endswith("The most in one bank: 16 different words, in 1 bank.")
    assert words.lines[1] == "bank 0  word 32   lane 1"
    assert section(found, "Wavefronts = 16").lines == ("max over the banks = 16",)
    assert section(found, "Conflicts = 15").lines == ("16 - 1 = 15",)
    assert section(found, "Ideal = 1").lines[1] == "= min(16, ceil(16 × 4 / 128))"
    padded = explain_access(access("shared", 132 * LANES, shape=(32, 33)), 0)
    assert section(padded, "Conflicts = 0").lines == ("1 - 1 = 0",)
    assert section(padded, "Words").lines == ()
    assert section(padded, "Banks").lines[31] == "lane 31  tile[31,0]  (4092 / 4) % 32 = 31"


def test_two_banks_with_shared_words() -> None:
    offsets = np.where(LANES % 2, 4, 0) + np.where(LANES < 16, 0, 128)
    found = explain_access(access("shared", offsets), 0)
    assert section(found, "Words").lines == (
        "bank 0  word 0   lanes 0, 2, 4, 6, 8, 10, 12, 14",
        "bank 0  word 32  lanes 16, 18, 20, 22, 24, 26, 28, 30",
        "and so bank 1",
    )
    assert section(found, "Wavefronts").heading == "Wavefronts = 2"


@pytest.mark.parametrize(("width", "words"), [(8, "half"), (16, "quarter")])
def test_wide_accesses_go_in_groups(width: int, words: str) -> None:
    found = explain_access(access("shared", width * LANES, width), 0)
    groups = 32 * width // 128
    assert section(found, "Wavefronts").lines == (" + ".join(["1"] * groups) + f" = {groups}",)
    assert f"each {words} of a warp" in section(found, "Wavefronts").text
    assert section(found, "Conflicts").heading == "Conflicts = 0"


CASES = [
    ("uncoalesced", {"n": 20, "block_x": 8, "block_y": 8}),
    ("tiled_bounds", {"n": 13, "tile": 8}),
    ("aat_shared", {"n": 32, "tile": 16}),
    ("aat_padded", {"n": 32, "tile": 16}),
]


@pytest.mark.parametrize(("rung", "parameters"), CASES)
def test_every_access_of_a_kernel_agrees_with_its_counts(rung, parameters) -> None:
    trace = record(LADDER[rung].workload(**parameters))
    block = trace.block(trace.recorded_blocks[-1])
    tried = 0
    for step in range(block.n_steps):
        made = block.access(step)
        if made is None or made.space not in ("global", "shared"):
            continue
        part = made.warp(0)
        if not part.active.any():
            continue
        tried += 1
        found = explain_access(made, 0)
        if made.space == "global":
            section(found, f"Sectors = {part.n_sectors}")
            assert len(section(found, "Sectors").lines) == part.n_sectors
            section(found, f"Ideal = {part.ideal_sectors}")
        else:
            section(found, f"Wavefronts = {part.wavefronts}")
            assert section(found, "Wavefronts").lines
            section(found, f"Conflicts = {part.conflicts}")
        for line in found.text.splitlines():
            for left, right in re.findall(r"= min\((\d+), \d+\) = (\d+)$", line):
                assert int(right) <= int(left)
    assert tried > 4


def test_the_total_of_a_line() -> None:
    """uncoalesced, one block of 16 x 16 at N = 16: 8 warps, 16 steps; A costs 16 sectors, B 1."""
    trace = record(LADDER["uncoalesced"].workload(n=16, block_x=16, block_y=16))
    block = trace.block(0)
    line = next(line for line, c in trace.counters.by_line.items() if c["global_ld_requests"].value)
    place = Place("global", "ld", line=line)
    found = explain_total(trace.counters.by_line[line], place, block)
    # A: 16 rows of 64 bytes, two lanes each: 16 sectors. B: 2 columns, side by side: 1 sector.
    assert found.title == (f"Line {line}: global loads: 2\u202f176 sectors where 640 would do")
    assert section(found, "Sectors = 2").lines == ("256 requests × 8.5 sectors each on average",)
    assert section(found, "In block 0").lines == (
        "128 × 1 sectors = 128", "128 × 16 sectors = 2\u202f048"
    )  # fmt: skip
    assert section(found, "One of").text.startswith(f"Line {line}: warp 0 loads A, step ")


def test_the_total_of_an_array_with_conflicts_and_the_current_step() -> None:
    trace = record(LADDER["aat_shared"].workload(n=32, tile=16))
    block = trace.block(0)
    counts = trace.counters.by_array["tile_b"]
    steps = [s for s in range(block.n_steps) if (a := block.access(s)) and a.kind == "store"
             and a.array.name == "tile_b"]  # fmt: skip
    found = explain_total(counts, Place("shared", "st", array="tile_b"), block, steps[1], 3)
    assert section(found, "Conflicts").heading == "Conflicts = 448"
    assert section(found, "One of").text == f"Line 25: warp 3 stores tile_b, step {steps[1]}."
    assert section(found, "In block 0").lines == ("16 × 8 wavefronts = 128",)


def test_a_place_that_the_block_never_touched() -> None:
    trace = record(LADDER["vector_add"].workload(n=4, block_x=32))
    found = explain_total({}, Place("shared", "ld"), trace.block(0))
    assert [s.heading for s in found.sections] == ["Wavefronts = 0", "Ideal = 0"]


def test_registers_that_spill_have_no_step() -> None:
    source = """extern "C" __global__ void __launch_bounds__(1024, 2) k(const int* a, int* out) {
    int s[52], x = 0;
    for (int i = 0; i < 52; i++) s[i] = a[(threadIdx.x + i * 67) & 4095];
    for (int i = 0; i < 52; i++) x = (x ^ s[(i * 11) % 52]) * 33 + s[(i * 7 + 3) % 52];
    out[threadIdx.x] = x; }"""
    made = (
        ArrayArgument("a", np.arange(4096, dtype=np.int32)),
        ArrayArgument("out", np.zeros(32, np.int32), "inout"),
    )
    launched = Workload("k", source, "k.cu", "k", Launch(Dim3(1), Dim3(32), made))
    trace = record(launched, kind="as_compiled")
    line = next(n for n, c in trace.counters.by_line.items() if c["local_ld_requests"].value)
    place = Place("local", "ld", line=line)
    found = explain_total(trace.counters.by_line[line], place, trace.block(0))
    assert "No step of this block shows" in section(found, "Registers").text
    moved = trace.counters.totals
    places = sum(moved[f"local_{way}_requests"].value for way in ("ld", "st"))
    assert f"and back in {places} places" in trace.assembly.sentences[0]
    assert trace.assembly.exact
    lost = Assembly(known=True, lines={}, spilled=7, lost=3)
    assert "3 of these" in lost.sentences[0]
    assert not lost.exact


def shared_access(statement: str, kind: str, block: int = 32):
    """The first access of a kind to shared memory that a line of a kernel makes."""
    source = (
        f'extern "C" __global__ void k(float* out)\n{{\n    int t = threadIdx.x;\n{statement}\n}}'
    )
    made = (ArrayArgument("out", np.zeros(64, np.float32), "inout"),)
    trace = record(Workload("k", source, "k.cu", "k", Launch(Dim3(1), Dim3(block), made)))
    shown = trace.block(0)
    found = (shown.access(s) for s in range(shown.n_steps))
    return next(a for a in found if a is not None and (a.space, a.kind) == ("shared", kind))


def test_atomics_share_nothing_and_are_not_said_to() -> None:
    body = "    __shared__ int s[32];\n    s[t] = 0;\n    atomicAdd(&s[t % 4 ? t : 0], 1);\n"
    said = explain_access(shared_access(f"{body}    out[t] = s[t];", "atomic", 16), 0)
    words = {s.heading: s for s in said.sections}
    assert said.answer == (
        "4 wavefronts: bank 0 is updated by 4 lanes, and serves one a wavefront; 1 would do."
    )
    assert "share it" not in words["Words of each bank"].text
    assert "The most in one bank: 4 lanes, in 1 bank." in words["Words of each bank"].text
    assert words["Words of each bank"].lines == ("bank 0  word 0  lanes 0, 4, 8, 12",)
    assert words["Wavefronts = 4"].lines == ("max over the banks = 4",)
    assert "lanes that update it" in words["Wavefronts = 4"].text


def test_conflicts_of_doubles_are_those_of_half_warps() -> None:
    body = "    __shared__ double s[64];\n    s[2 * t] = t;\n    out[t] = s[t];"
    said = explain_access(shared_access(body, "store"), 0)
    words = {s.heading: s for s in said.sections}
    text = words["Words of each bank"].text
    assert "The most in one bank: 2 different words of lanes 0 to 15, in 16 banks." in text
    assert "asked for 2 different words by lanes that go together" in said.answer
    assert words["Wavefronts = 4"].lines == ("2 + 2 = 4",)
    assert words["Conflicts = 2"].lines == ("4 - 2 = 2",)


def test_a_compare_and_swap_takes_two_wavefronts_a_pass() -> None:
    body = "    __shared__ int s[32];\n    s[t] = 0;\n    atomicCAS(&s[t / 4], 0, t);\n"
    access = shared_access(f"{body}    out[t] = s[t];", "atomic")
    part = access.warp(0)
    assert (part.wavefronts, part.conflicts) == (8, 3)
    said = explain_access(access, 0)
    words = {s.heading: s for s in said.sections}
    assert words["Wavefronts = 8"].lines == ("2 × 4 = 8",)
    assert words["Conflicts = 3"].lines == ("4 - 1 = 3",)


def test_an_atomic_that_one_lane_does_for_its_warp_is_explained_as_it_counts() -> None:
    source = """extern "C" __global__ void k(int *in, int *out) {
        __shared__ int sum;
        if (threadIdx.x == 0) sum = 0;
        __syncthreads();
        atomicAdd(&sum, in[threadIdx.x]);
        __syncthreads();
        atomicAdd(out, sum);
    }"""
    made = tuple(
        ArrayArgument(name, np.arange(64, dtype=np.int32), "inout") for name in ("in", "out")
    )
    work = Workload("k", source, "k.cu", "k", Launch(Dim3(1), Dim3(64), made))
    trace = record(work, kind="as_compiled")
    block, totals = trace.block(0), trace.counters.totals
    atomics = [a for s in range(block.n_steps) if (a := block.access(s)) and a.kind == "atomic"]
    shared, out = sorted(atomics, key=lambda one: one.space == "global")
    assert sum(shared.warp(w).wavefronts for w in (0, 1)) == 2
    assert totals["shared_atom_wavefronts"].value == 2
    assert int(out.warp_sectors.sum()) == totals["global_red_sectors"].value == 2
    for one, unit in ((shared, "Wavefronts"), (out, "Sectors")):
        words = {s.heading: s for s in explain_access(one, 1).sections}
        assert f"{unit} = 1" in words
        assert "with 32 active lanes" in words["Requests = 1"].text
        assert words["Requests = 1"].text.endswith("one lane does the atomic for all.")


def test_local_memory_is_explained_as_it_counts() -> None:
    source = """extern "C" __global__ void k(int *out) {
        double a[8];
        for (int i = 0; i < 8; ++i) a[i] = i;
        out[threadIdx.x] = a[out[threadIdx.x] % 8];
    }"""
    made = (ArrayArgument("out", np.arange(64, dtype=np.int32) // 9, "inout"),)
    trace = record(Workload("k", source, "k.cu", "k", Launch(Dim3(1), Dim3(64), made)))
    block, totals = trace.block(0), trace.counters.totals
    there = [a for s in range(block.n_steps) if (a := block.access(s)) and a.space == "local"]
    for way, kind in (("ld", "load"), ("st", "store")):
        sectors = sum(int(a.warp_sectors.sum()) for a in there if a.kind == kind)
        assert sectors == totals[f"local_{way}_sectors"].value > 0
    load = next(a for a in there if a.kind == "load")
    headings = [s.heading for s in explain_access(load, 0).sections]
    assert headings == ["Requests = 2", f"Sectors = {load.warp_sectors[0]}", "In Nsight Compute"]


@pytest.mark.parametrize(
    ("body", "kind", "way"),
    [
        ("atomicAdd(&out[i / 2], 1);", "as_compiled", "red"),
        ("out[32 + i] = atomicAdd(&out[i / 2], 1);", "as_compiled", "atom"),
        ("atomicExch(&out[i / 2], 1);", "as_compiled", "atom"),
        ("atomicAdd(&out[i / 2], 1);", "as_written", "atom"),  # by a generic address
    ],
)
def test_an_atomic_has_the_name_that_its_count_belongs_to(body, kind, way) -> None:
    source = f"__global__ void k(int* out) {{ int i = threadIdx.x; {body} }}"
    trace = trace_of(source, {"out": np.zeros(64, np.int32)}, kind=kind)
    block = trace.block(0)
    (found,) = (a for a in map(block.access, block.access_steps) if a.kind == "atomic")
    assert section(explain_access(found, 0), "In Nsight").lines == tuple(
        f"{what}{' ' * (10 - len(what))}l1tex__t_{what}_pipe_lsu_mem_global_op_{way}.sum"
        for what in ("requests", "sectors")
    )
    counted = {
        way: trace.counters.totals[f"global_{way}_requests"].value for way in ("atom", "red")
    }
    assert [name for name, value in counted.items() if value] == [way]
