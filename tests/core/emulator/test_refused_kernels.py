"""Kernels and launches that a GPU refuses: one sentence, in both builds; their clean twins run."""

import numpy as np
import pytest

from core.errors import CompileError, LaunchError, TilescopeError
from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record

KINDS = ("as_written", "as_compiled")
LADDER = load_ladder()


def run(body, kind, block=(96,), attributes="", before=""):
    source = f'{before}\nextern "C" __global__ void {attributes} k(int* y)\n{{\n{body}\n}}\n'
    size = 8 * int(np.prod(block))
    launch = Launch(Dim3(1), Dim3(*block), (ArrayArgument("y", np.zeros(size, np.int32), "inout"),))
    return record(Workload("k", source, "k.cu", "k", launch), kind=kind)


OWN = "int t = threadIdx.x + blockDim.x * threadIdx.y; y[t] = t;"


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_larger_than_its_launch_bounds(kind):
    with pytest.raises(LaunchError, match=r"^A block of 96 x 1 has 96 threads; k allows 64 by its "
                       r"__launch_bounds__ \(\.maxntid\), and a GPU refuses more"):  # fmt: skip
        run(OWN, kind, attributes="__launch_bounds__(64)")
    trace = run(OWN, kind, attributes="__launch_bounds__(96)")
    assert trace.outputs["y"][:96].tolist() == list(range(96))
    assert run(OWN, kind, (8, 12), "__launch_bounds__(96, 2)").findings == ()


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_that_is_not_the_one_wanted(kind):
    wanted = "__block_size__((32, 2, 1))"
    with pytest.raises(LaunchError, match=r"^A block is 64 x 1; k wants 32 x 2 exactly"):
        run(OWN, kind, (64,), wanted)
    trace = run(OWN, kind, (32, 2), wanted)
    assert trace.outputs["y"][:64].tolist() == list(range(64))


@pytest.mark.parametrize("kind", KINDS)
def test_a_rung_beyond_its_launch_bounds(kind):
    workload = LADDER["vectorised"].workload(n=128)
    launch = workload.launch
    larger = Launch(launch.grid, Dim3(1024), launch.arguments, launch.shared_bytes)
    wrong = Workload("w", workload.source, "w.cu", workload.kernel, larger, workload.defines)
    with pytest.raises(LaunchError, match="by its __launch_bounds__"):
        record(wrong, kind=kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "bar.sync 99",
            r"^Line 4: `bar.sync 99;` names barrier 99: a block has .* 0 to 15\.$",
        ),
        ("bar.sync -1", "names barrier -1"),
        ("bar.arrive 16, 64", "names barrier 16"),
        ("bar.sync 1, 33", r"^Line 4: `bar.sync 1, 33;` counts 33 threads: .* multiple of 32\.$"),
        ("bar.arrive 1, 0", "counts 0 threads"),
    ],
)
def test_a_barrier_that_no_block_has(text, said, kind):
    with pytest.raises(TilescopeError, match=said):
        run(f'asm volatile("{text};"); {OWN}', kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_barrier_in_a_register(kind):
    body = 'int b = y[threadIdx.x] + {}; asm volatile("bar.sync %0, %1;" :: "r"(b), "r"(b * {}));'
    with pytest.raises(TilescopeError, match="names barrier 17"):
        run(body.format(17, 32) + OWN, kind, (64,))
    with pytest.raises(TilescopeError, match="counts 66 threads"):
        run(body.format(3, 22) + OWN, kind, (64,))
    assert run(body.format(2, 32) + OWN, kind, (64,)).findings == ()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["bar.sync 15", "bar.sync 1, 96", "barrier.sync 2, 96"])
def test_barriers_that_there_are(text, kind):
    assert run(f'asm volatile("{text};"); {OWN}', kind).findings == ()


@pytest.mark.parametrize("kind", KINDS)
def test_inline_assembly_that_leaves_its_function(kind):
    body = 'y[0] = 1;\nasm volatile("ret; } .visible .entry other() { ");'
    with pytest.raises(
        CompileError, match=r"^k\.cu:5: inline assembly closes the function"
    ) as found:
        run(body + OWN, kind)
    assert [d.line for d in found.value.diagnostics] == [5]
    inside = 'asm volatile("{ .reg .b32 t; mov.b32 t, 1; { } }");'
    assert run(inside + OWN, kind).findings == ()
    apart = 'asm volatile("{ .reg .b32 t;"); asm volatile("mov.b32 t, 1; }");'
    assert run(apart + OWN, kind).findings == ()


VECTORS = {
    "constants": ("*(int4*)(y + 4 * t + {}) = make_int4(1, 2, 3, 4);", 4),
    "moved": ("int4 v = *(int4*)(y + 4 * t + {}); v.x = 9; *(int4*)(y + 4 * t) = v;", 4),
    "shared": ("__shared__ int s[512]; *(int4*)(s + 4 * t + {}) = make_int4(t, 2, 3, 4);"
               "__syncthreads(); y[t] = s[4 * t + 4];", 4),
    "halves": ("*(int2*)(y + 2 * t + {}) = make_int2(t, t);", 2),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_at_an_odd_element_is_misaligned_as_compiled(name):
    text, words = VECTORS[name]
    body = "int t = threadIdx.x; " + text
    wrong = run(body.format(1), "as_compiled", (64,))
    assert {f.kind for f in wrong.findings} >= {"misaligned"}
    assert "race" not in {f.kind for f in wrong.findings}
    assert f"accesses {4 * words} bytes" in wrong.findings[0].message
    clean = run(body.format(words), "as_compiled", (32,))
    assert "misaligned" not in {f.kind for f in clean.findings}


def test_neighbours_that_overlap_are_misaligned_as_compiled_and_a_race_as_written():
    """`-G` stores the members of a `make_int4` one by one, and each of them is aligned."""
    body = "int t = threadIdx.x; *(int4*)(y + t) = make_int4(t, t, t, t);"
    assert {f.kind for f in run(body, "as_compiled", (64,)).findings} == {"misaligned"}
    assert {f.kind for f in run(body, "as_written", (64,)).findings} == {"race"}
    assert run(body.replace("y + t", "y"), "as_compiled", (1,)).findings == ()
