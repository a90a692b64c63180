"""docs/ptx.md says what is executed and what is not; both halves are checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.emulator.decode import executed_opcodes
from core.errors import TilescopeError
from tests.core.emulator.machines import HEADER, run_ptx

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "ptx.md").read_text(encoding="utf-8")
DECLARATIONS = """.visible .entry k()
{
    .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>;
    .reg .b64 %d<9>; .reg .f64 %g<9>;
"""
LEFT_OUT = re.findall(r"^\| `(.+?;)` \|", PAGE, re.MULTILINE)


def test_the_opcodes_are_the_programs() -> None:
    listed = PAGE.partition("these opcodes:")[2].partition("Special registers")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == executed_opcodes()


def test_the_table_is_there() -> None:
    assert len(LEFT_OUT) >= 15


@pytest.mark.parametrize("text", LEFT_OUT)
def test_what_is_left_out_is_refused(text) -> None:
    with pytest.raises(TilescopeError) as caught:
        run_ptx(f"{HEADER}{DECLARATIONS}    {text}\n    ret;\n}}\n", [])
    assert "PTX line 8" in str(caught.value)
