"""The least that machine code can need, against what Nsight Compute counted on an H200.

The rule for reading registers stands against streams of FFMA that an H200 ran.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from core.compiler.cubin import Factor, MachineInstruction
from core.errors import TilescopeError
from core.ladder import load_ladder
from core.models.ceiling_counts import measure, measure_rung
from core.models.machine_code_bounds import (
    BasicBlock,
    basic_blocks,
    least,
    machine_needs,
    nothing_kept,
    read_clocks,
    reads,
)

LADDER = load_ladder()
DATA = Path(__file__).resolve().parents[2] / "data"
FOUND = json.loads((DATA / "issue_h200.json").read_text())
QUICK = ("coalesced", "uncoalesced", "tiled", "tiled_bounds", "tiled_rect", "aat_strided",
         "aat_shared", "aat_padded")  # fmt: skip


def length(block: BasicBlock) -> int:
    return len(block.code)


def one_of_each():
    """A small launch of each quick rung, and one large one."""
    rows = [r for r in FOUND["rows"] if r["rung"] in QUICK]
    small = {r["rung"]: r for r in rows if r["parameters"]["n"] == 512}
    large = next(r for r in rows if r["rung"] == "tiled" and r["parameters"]["n"] == 2048)
    return [*small.values(), large]


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    one_of_each(),
    ids=lambda row: f"{row['rung']}-{'-'.join(map(str, row['parameters'].values()))}",
)
def test_executed_instructions_are_close_above(row) -> None:
    counts = measure_rung(LADDER[row["rung"]], row["parameters"], written=False)
    needs = machine_needs(counts, (9, 0))
    assert needs is not None
    assert 0.97 * row["executed"] < needs.instructions <= row["executed"]
    assert counts.work.instructions < needs.instructions
    assert needs.clocks <= 132 * 4 * row["clocks"]


def test_a_register_tile_without_emulating_it() -> None:
    """Its work is known: a multiply-add for each element and step."""
    row = next(
        r for r in FOUND["rows"] if r["rung"] == "vectorised" and r["parameters"]["n"] > 1000
    )
    workload = LADDER["vectorised"].blank_workload(**row["parameters"])
    small = measure_rung(LADDER["coalesced"], {"n": 512}, written=False)
    work = replace(small.work, needs={"fp32": 2 * 2048**3})
    needs = machine_needs(replace(small, workload=workload, work=work), (9, 0))
    assert needs is not None
    assert 0.99 * row["executed"] < needs.instructions <= row["executed"]
    assert 1.1 * needs.instructions < needs.clocks <= 132 * 4 * row["clocks"]


def test_warps_that_are_not_full() -> None:
    row = next(
        r for r in FOUND["rows"] if r["rung"] == "vector_add" and r["parameters"]["block_x"] == 8
    )
    counts = measure_rung(LADDER["vector_add"], row["parameters"], written=False)
    needs = machine_needs(counts, (9, 0))
    assert needs is not None
    assert needs.instructions == row["executed"]


def test_a_source_with_headers_of_its_own_needs_what_the_whole_text_does() -> None:
    counts = measure(LADDER["coalesced"].blank_workload(n=32), written=False)
    whole = counts.workload
    split = replace(whole, source='#include "own.h"\n', headers={"own.h": whole.source})
    needs = machine_needs(replace(counts, workload=split), (9, 0))
    assert needs is not None
    assert needs == machine_needs(counts, (9, 0))


def test_nothing_is_said_where_nothing_is_known() -> None:
    counts = measure(LADDER["coalesced"].blank_workload(n=32), written=False)
    assert machine_needs(counts, (7, 0)) is None
    assert machine_needs(counts, (8, 6)).clocks is None
    assert machine_needs(replace(counts, build="as_written"), (9, 0)) is None
    broken = replace(counts.workload, source="not C++ at all")
    assert machine_needs(replace(counts, workload=broken), (9, 0)) is None


def instruction(address: int, name: str = "", target: int | None = None, *, guarded: bool = False):
    return MachineInstruction(16 * address, name, guarded, None if target is None else 16 * target)


LOOP = (  # 0; 1 2 3 the loop by four, 4 5 its rest one by one, 6 the end
    instruction(0),
    instruction(1, "LDG"), instruction(2, "LDG"), instruction(3, "BRA", 1, guarded=True),
    instruction(4, "LDG"), instruction(5, "BRA", 4, guarded=True),
    instruction(6, "STG"), instruction(7, "EXIT"),
)  # fmt: skip


def test_blocks_of_a_loop() -> None:
    blocks = basic_blocks(LOOP)
    assert [len(block.code) for block in blocks] == [1, 3, 2, 2]
    assert [block.next for block in blocks] == [(1,), (2, 1), (3, 2), ()]
    assert [block.leaves for block in blocks] == [False, False, False, True]
    assert [dict(block.does) for block in blocks] == [{}, {"LDG": 2}, {"LDG": 1}, {"STG": 1}]


def test_the_cheapest_way_through() -> None:
    blocks = basic_blocks(LOOP)
    assert least(blocks, length, {}) == pytest.approx(1 + 3 + 2 + 2)
    # 101 loads: the rest's one, and 50 passes of the loop that does two
    assert least(blocks, length, {"LDG": 101}) == pytest.approx(1 + 3 * 50 + 2 + 2)
    assert least(blocks, length, {"STG": 2}) is None
    assert least(blocks, length, {"HMMA": 1}) is None


def test_a_computed_jump_is_refused() -> None:
    with pytest.raises(TilescopeError, match="computed address"):
        basic_blocks((instruction(0, "BRX"), instruction(1, "EXIT")))


BANKS_FOUND = json.loads((DATA / "registers_h200.json").read_text())
_ZERO = 255
_NOISE = 1.002  # a loop's branch and the clock's own reading


def stream_of(packed: str) -> list[MachineInstruction]:
    raw = zlib.decompress(base64.b64decode(packed))
    return [ffma(*raw[at : at + 4]) for at in range(0, len(raw), 4)]


def ffma(a: int, b: int, c: int, kept: int = 0) -> MachineInstruction:
    factors = tuple(
        None if register == _ZERO else Factor(register, bool(kept >> place & 1))
        for place, register in enumerate((a, b, c))
    )
    return MachineInstruction(0, "FFMA", False, None, factors)


@pytest.mark.slow
@pytest.mark.parametrize("row", BANKS_FOUND["rows"], ids=lambda row: row["stream"])
def test_no_stream_is_faster_than_the_rule_says(row) -> None:
    stream = stream_of(row["factors"])
    times = BANKS_FOUND["body"] // len(stream)
    told = read_clocks(stream * times) / (len(stream) * times)
    measured = min(row["clocks"].values())
    assert 1 <= told <= measured * _NOISE
    if row["stream"].startswith("rung"):  # what the ceilings rest on
        assert told > 0.94 * measured


def test_what_decides() -> None:
    def each(*code: MachineInstruction) -> float:
        return read_clocks(code * 300) / (300 * len(code))

    assert each(ffma(2, 4, 6)) == pytest.approx(3, abs=0.01)
    assert each(ffma(2, 3, 6)) == pytest.approx(2, abs=0.01)
    assert each(ffma(2, 3, 6), ffma(5, 8, 7)) == pytest.approx(1.5, abs=0.01)
    assert each(ffma(2, 3, 6, kept=1)) == pytest.approx(1, abs=0.01)
    assert each(ffma(_ZERO, 3, 6)) == pytest.approx(1, abs=0.01)
    other = MachineInstruction(0, "LDS", False)
    assert read_clocks([other] * 7) == 7


def test_reads_of_one_instruction() -> None:
    kept = nothing_kept()
    assert reads(ffma(2, 3, 5, kept=0b010).factors, kept) == (1, 2)
    assert reads(ffma(4, 3, 4).factors, kept) == (1, 0)
    assert reads(ffma(3, 2, 7).factors, kept) == (1, 2), "kept in another place"
