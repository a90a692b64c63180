"""The rule for reading registers, against streams of FFMA that an H200 ran."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import pytest

from core.compiler.cubin import Factor, MachineInstruction
from core.models.machine_code import nothing_kept, read_clocks, reads

DATA = Path(__file__).resolve().parents[2] / "data"
FOUND = json.loads((DATA / "registers_h200.json").read_text())
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
@pytest.mark.parametrize("row", FOUND["rows"], ids=lambda row: row["stream"])
def test_no_stream_is_faster_than_the_rule_says(row) -> None:
    stream = stream_of(row["factors"])
    times = FOUND["body"] // len(stream)
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
