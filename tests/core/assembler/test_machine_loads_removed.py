"""What the optimiser takes away of a stack is said."""

import json

import pytest

from core.assembler.assembled_module import module_of
from core.assembler.machine_loads import removed_faults
from core.cli.app import main
from core.compiler.builds import compile_ptx, find_entry
from core.emulator.budget import STACK_BYTES

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
