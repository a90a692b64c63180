"""Which parameters a call passes on the stack, as the machine code of such functions does."""

from __future__ import annotations

import pytest

from core.assembler.call_stack import passing
from core.ptx.parser import parse

# Parameters in words (a long: 2, aligned; a list: a structure of words), words of the result, and
# the places of those that the machine code of NVRTC 13.5 loads from the stack (`LDL`).
CASES = [
    ([1] * 12, 1, []),
    ([1] * 13, 1, [12]),
    ([2] * 6, 1, []),
    ([2] * 7, 1, [6]),
    ([1, *[2] * 6], 1, [6]),
    ([2] * 5 + [1] * 3, 1, [7]),
    ([1] * 11 + [2, 1], 1, [11]),
    ([1, 2] * 4, 1, []),
    ([[10], 1, 1, 1, 1], 1, [3, 4]),
    ([[10], [10], 1, 1, 1], 1, [1, 4]),
    ([[13]], 1, [0]),
    ([[12]], 13, [0]),
    ([[8], 1, 1, 1], 24, []),
    ([[8], 1, 1, 1, 1, 1, 1], 24, [4, 5, 6]),
]


def _ptx(parameters, result) -> str:
    declared, loads = [], []
    for place, words in enumerate(parameters):
        size = words[0] if isinstance(words, list) else words
        kind = (
            f".align 4 .b8 p{place}[{4 * size}]"
            if isinstance(words, list)
            else f".b{32 * size} p{place}"
        )
        declared.append(f".param {kind}")
        loads.append(f"ld.param.b32 %r1, [p{place}];")
    return f"""
.version 8.0
.target sm_90
.address_size 64
.func (.param .align 4 .b8 r[{4 * result}]) f({", ".join(declared)})
{{
.reg .b32 %r<2>;
{" ".join(loads)}
st.param.b32 [r], %r1;
ret;
}}
.entry k()
{{
.reg .b32 %r<2>;
{{
.param .align 4 .b8 out[{4 * result}];
call (out), f, ({", ".join(f"q{n}" for n in range(len(parameters)))});
ld.param.b32 %r1, [out];
}}
ret;
}}
"""


@pytest.mark.parametrize(("parameters", "result", "on_stack"), CASES)
def test_what_finds_no_register_goes_on_the_stack(parameters, result, on_stack) -> None:
    module = passing(parse(_ptx(parameters, result)))
    function = module.functions["f"]
    code = module.instructions[function.first_pc : function.end_pc]
    loads = [one for one in code if one.opcode == "ld"]
    assert [n for n, one in enumerate(loads) if one.on_stack] == on_stack
    large = result > 12
    returned = [one for one in module.instructions if one.opcode in ("st", "ld")]
    assert returned[len(loads)].on_stack == returned[-1].on_stack == large
