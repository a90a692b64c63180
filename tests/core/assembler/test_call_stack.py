"""Which parameters a call passes on the stack, as the machine code of such functions does.

What the optimiser takes away of a stack is said.
"""

from __future__ import annotations

import json

import pytest

from core.assembler.assembled_module import module_of
from core.assembler.call_stack import passing, removed_faults
from core.cli.app import main
from core.compiler.compile_ptx_and_cubin import compile_ptx, find_entry
from core.emulator.budget import STACK_BYTES
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


ENDLESS = """
__device__ int down(int n) { return down(n + 1) + 1; }
extern "C" __global__ void k(int *y) { int t = threadIdx.x; y[t] = t; if (t > 5000) down(t); }
"""
KEPT = """
__device__ __noinline__ int tree(int n) { return n < 2 ? n : tree(n - 1) + 3 * tree(n / 2); }
extern "C" __global__ void k(int *y) { y[threadIdx.x] = tree(threadIdx.x); }
"""
LARGE = """
extern "C" __global__ void k(int *y)
{ int big[1 << 20]; big[threadIdx.x] = 5; y[threadIdx.x] = big[threadIdx.x]; }
"""
SMALL = LARGE.replace("1 << 20", "1 << 10")


def removed(source):
    modules = []
    for kind in ("as_written", "as_compiled"):
        build = compile_ptx(source, kind=kind)
        modules.append(module_of(build, find_entry(build, "k")))
    return removed_faults(*modules, "k", most_stack=STACK_BYTES)


def test_recursion_that_the_optimiser_has_removed():
    (sentence,) = removed(ENDLESS)
    assert sentence.startswith("As written down calls itself (line 2); the optimiser has removed")
    assert removed(KEPT) == ()


def test_a_stack_that_the_optimiser_has_removed():
    (sentence,) = removed(LARGE)
    assert sentence.startswith("As written a thread's stack is 4,194,304 bytes, more than the 524,")
    assert removed(SMALL) == ()


@pytest.mark.parametrize(("source", "said"), [(LARGE, 1), (SMALL, 0)])
def test_the_command_line_says_it(source, said, tmp_path, capsys):
    path = tmp_path / "k.cu"
    path.write_text(source, encoding="utf-8")
    launch = ["--grid", "1", "--block", "32", "--arg", "y=zeros:int32[32]"]
    command = ["trace", str(path), *launch, "--build", "as_compiled"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["only_as_written"]) == said
    assert found["machine_code"] == {"known": True, "exact": True, "differences": {}}
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert ("shows only in the build as written" in shown) == bool(said)
    assert "Loads and stores equal the machine code's, line by line." in shown
