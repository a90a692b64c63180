"""Loops over shared memory are unrolled as ptxas 13.0 did it (its machine code for sm_90)."""

import numpy as np
import pytest

from core.assembler.unrolling import unrolled
from core.assembler.wide_shared_loads import wide_loads
from core.emulator.geometry import Geometry
from core.emulator.launch_image import Image
from core.emulator.machine import Limits, Machine
from core.launch import ArrayArgument, Dim3, Launch
from core.ptx.parser import parse

# Loads and further instructions in a turn, turns: loads of 4, 8 and 16 bytes in the machine code.
MACHINE_CODE = [
    (1, 0, 2, (0, 1, 0)), (1, 0, 3, (0, 0, 1)), (1, 0, 8, (0, 0, 2)), (1, 0, 9, (1, 0, 2)),
    (1, 0, 33, (1, 0, 8)), (1, 0, 64, (0, 0, 16)), (2, 0, 3, (0, 1, 1)), (2, 0, 9, (0, 1, 4)),
    (2, 0, 48, (0, 0, 24)), (4, 0, 16, (0, 0, 16)), (4, 0, 64, (0, 0, 64)), (1, 10, 3, (0, 0, 1)),
    (1, 10, 9, (1, 0, 2)), (1, 10, 33, (1, 0, 8)), (1, 10, 64, (0, 0, 16)), (1, 30, 4, (0, 0, 1)),
    (1, 30, 16, (0, 0, 4)), (8, 0, 3, (0, 0, 6)), (8, 0, 33, (0, 0, 66)), (8, 60, 4, (0, 0, 8)),
    (8, 60, 8, (0, 0, 2)), (8, 60, 33, (0, 0, 2)), (1, 100, 3, (0, 0, 1)), (1, 100, 4, (1, 0, 0)),
    (1, 100, 64, (1, 0, 0)),
]  # fmt: skip


def kernel(loads, extra, turns, compare="ne", after=""):
    """Sums squares of shared words; ptxas was given this text."""
    body = "".join(
        f"ld.shared.f32 %f2,[%r1+{4 * k}]; fma.rn.f32 %f1,%f2,%f2,%f1;\n" for k in range(loads)
    )
    body += "fma.rn.f32 %f1,%f1,%f1,0f3F800000;\n" * extra
    return f""".version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{{
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f32 %f<9>;
.shared .align 16 .b8 s[40000];
mov.u32 %r3, s; mov.u32 %r4, %tid.x; shl.b32 %r5, %r4, 9; add.s32 %r7, %r3, %r5;
mov.u32 %r6, 3; mov.u32 %r2, 0; mov.f32 %f1, 0f00000000; cvt.rn.f32.u32 %f3, %r5;
st.shared.f32 [%r7], %f3; st.shared.f32 [%r7+40], %f3; bar.sync 0; mov.u32 %r1, %r7;
L:

{body}
add.s32 %r1, %r1, {4 * loads}; add.s32 %r2, %r2, 1;
setp.{compare}.s32 %p1, %r2, {turns}; @%p1 bra L;
{after}
ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd1, %rd1; mul.wide.u32 %rd2, %r5, 1;
add.s64 %rd1, %rd1, %rd2; st.global.f32 [%rd1], %f1; st.global.u32 [%rd1+4], %r6; ret;
}}"""


def loads_by_width(module):
    wide = wide_loads(module)
    joined = {pc for load in wide.values() for pc in load.others}
    widths = [
        wide[i.pc].width if i.pc in wide else 4
        for i in module.instructions
        if i.opcode == "ld" and "shared" in i.modifiers and i.pc not in joined
    ]
    return tuple(widths.count(width) for width in (4, 8, 16))


@pytest.mark.parametrize(("loads", "extra", "turns", "wanted"), MACHINE_CODE)
def test_loads_are_those_of_the_machine_code(loads, extra, turns, wanted):
    module = unrolled(parse(kernel(loads, extra, turns)))
    assert loads_by_width(module) == wanted


def result(module):
    out = np.full(1024, np.nan, np.float32)
    launch = Launch(Dim3(1), Dim3(8), (ArrayArgument("p", out, "output"),))
    image = Image(module, "k", launch)
    Machine(
        image, Geometry(launch.grid, launch.block, np.arange(1)), (), None, Limits(), None
    ).run()
    return image.buffers["p"].data[: out.nbytes].tobytes()


@pytest.mark.parametrize("compare", ["ne", "lt"])
@pytest.mark.parametrize(
    ("loads", "extra", "turns"), [(1, 0, 9), (2, 3, 7), (5, 0, 12), (3, 40, 8)]
)
def test_results_stay_the_same(loads, extra, turns, compare):
    uses = "add.s32 %r6, %r2, %r1; st.shared.u32 [%r1], %r6;"
    before = parse(kernel(loads, extra, turns, compare, uses))
    after = unrolled(before)
    assert len(after.instructions) > len(before.instructions)
    assert result(after) == result(before)


@pytest.mark.parametrize(
    ("change", "to"),
    [
        ("", ""),
        ("L:\n\n", 'L:\n.pragma "nounroll";\n'),
        ("mov.u32 %r2, 0;", "mov.u32 %r2, %ntid.x;"),
        ("add.s32 %r2, %r2, 1;", "add.s32 %r2, %r2, %r5;"),
        ("mov.u32 %r1, %r7;", "mov.u32 %r1, %r7; setp.eq.s32 %p2, %r5, 0; @%p2 bra L;"),
        ("add.s32 %r1, %r1, 4;", "add.s32 %r1, %r1, 4; bar.sync 0;"),
        ("add.s32 %r1, %r1, 4;", "st.shared.f32 [%r1], %f1; add.s32 %r1, %r1, 4;"),
        (".shared.f32 %f2", ".volatile.shared.f32 %f2"),
    ],
)
def test_only_what_the_assembler_may_unroll(change, to):
    text = kernel(1, 0, 8)
    assert change in text
    module = parse(text.replace(change, to, 1) if change else text)
    assert (unrolled(module) is module) == bool(change)
