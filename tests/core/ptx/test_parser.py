"""The PTX parser: what NVRTC writes, and what people write by hand."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import PtxSyntaxError, TilescopeError
from core.ptx.ast import Address, Group, Immediate, Negated, Pair, Register, Special, Symbol, Vector
from core.ptx.parser import parse
from tests.core.emulator.machines import HEADER, run_ptx
from tests.core.ptx.ptx_texts import MANY, body, module_text, only


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
def test_a_module_with_a_bit_of_everything(kind) -> None:
    module = parse(module_text(kind))
    entry = module.entry("k")
    assert [p.nbytes for p in entry.parameters] == [8, 8, 4, 8]
    assert module.target.startswith("sm_90")
    assert float(module.version) >= 8
    table = module.variables["table"]
    assert np.frombuffer(table.initial, np.float32).tolist() == [1, 2, 3, 4]
    assert table.space == "const"
    assert module.variables["counter"].initial[:4] == (5).to_bytes(4, "little")
    shared = {v.name: v for f in (entry,) for v in f.variables} | dict(module.variables)
    sizes = {v.nbytes for v in shared.values() if v.space == "shared"}
    assert sizes == {0, 256}  # the dynamic array has no size
    recursive = next(f for n, f in module.functions.items() if "twice" in n)
    assert not recursive.is_entry
    assert (len(recursive.parameters), len(recursive.returns)) == (2, 1)
    assert any(v.space == "local" for v in recursive.variables)
    for instruction in module.instructions:
        assert instruction.text.endswith(";")
        assert instruction.text.split(".")[0].split()[-1] != ""
        lines = module.text.splitlines()[instruction.ptx_line - 1]
        assert instruction.opcode in lines


def test_source_positions_are_those_of_the_source() -> None:
    module = parse(module_text())
    lines = MANY.splitlines()
    barrier = next(i for i in module.instructions if i.opcode in ("bar", "barrier"))
    assert "__syncthreads" in lines[barrier.position.line - 1]
    assert barrier.position.file == 1


def test_there_is_no_such_kernel() -> None:
    with pytest.raises(TilescopeError, match=r"no kernel 'other'.*k"):
        parse(module_text()).entry("other")


# -- what people write by hand ----------------------------------------------------------------


def test_registers_need_no_percent_sign() -> None:
    code = """
        .reg .u32 x, y<3>; .reg .u64 where;
        ld.param.u64 where, [p]; mov.u32 x, %tid.x;
        mul.lo.u32 y1, x, x; add.u32 y2, y1, 7;
        mad.wide.u32 where, x, 4, where; st.global.u32 [where], y2;
    """
    (out,) = run_ptx(body(code, ".param .u64 p"), [np.zeros(32, np.uint32)])
    assert out.tolist() == [t * t + 7 for t in range(32)]


def test_several_statements_on_a_line_and_comments() -> None:
    text = body(
        ".reg .b32 %r<3>; mov.u32 %r1, 1; /* a\n comment; } */ add.u32 %r2, // here ;\n %r1, 2;"
    )
    first, second, _ = parse(text).instructions
    assert (first.opcode, second.opcode) == ("mov", "add")
    assert second.operands == (Register("%r2"), Register("%r1"), Immediate(2))
    assert second.ptx_line == first.ptx_line + 1
    assert second.text.startswith("add.u32 %r2,")


def test_scopes_declare_names_again() -> None:
    code = """
        .reg .u32 %tmp, %x; .reg .u64 %p;
        ld.param.u64 %p, [p]; mov.u32 %x, %tid.x;
        mov.u32 %tmp, 1;
        { .reg .u32 %tmp; mov.u32 %tmp, 100;
          { .reg .f32 %tmp; mov.f32 %tmp, 0f40000000; }
          add.u32 %x, %x, %tmp; }
        { .reg .u32 %tmp; mov.u32 %tmp, 1000; add.u32 %x, %x, %tmp; }
        add.u32 %x, %x, %tmp;
        mov.u32 %tmp, %tid.x; mad.wide.u32 %p, %tmp, 4, %p; st.global.u32 [%p], %x;
    """
    (out,) = run_ptx(body(code, ".param .u64 p"), [np.zeros(32, np.uint32)])
    assert out.tolist() == [t + 1101 for t in range(32)]


def test_a_name_of_an_inner_scope_is_gone_outside() -> None:
    with pytest.raises(PtxSyntaxError, match="line 8: %gone is not a register"):
        parse(body("{ .reg .u32 %gone;\n mov.u32 %gone, 1; }\n mov.u32 %gone, 2;"))


def test_operands() -> None:
    declared = ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .f32 %f<5>;"
    r1, r2, d1 = Register("%r1"), Register("%r2"), Register("%d1")
    for text, want in (
        ("mov.b64 %d1, {%r1, %r2};", (d1, Vector((r1, r2)))),
        ("setp.lt.and.s32 %p1|%p2, %r1, -5, !%p3;",
         (Pair(Register("%p1"), Register("%p2")), r1, Immediate(-5), Negated(Register("%p3")))),
        ("mov.u32 %r1, %ntid.y;", (r1, Special("%ntid.y"))),
        ("ld.shared.u32 %r1, [%r2+-16];", (r1, Address(r2, -16))),
        ("ld.shared.u32 %r1, [%r2 - 0x10];", (r1, Address(r2, -16))),
        ("ld.shared.u32 %r1, [buffer+8];", (r1, Address(Symbol("buffer"), 8))),
        ("ld.shared.u32 %r1, [64];", (r1, Address(None, 64))),
        ("mov.u64 %d1, buffer+4;", (d1, Symbol("buffer", 4))),
        ("mov.f32 %f1, 0f3F800000;", (Register("%f1"), Immediate(0x3F800000, 32))),
        ("mov.f64 %d1, 0d3FF0000000000000;", (d1, Immediate(0x3FF0000000000000, 64))),
        ("mov.f32 %f1, -0f3F800000;", (Register("%f1"), Immediate(0xBF800000, 32))),
        ("mov.f32 %f1, 1.5e-3;", (Register("%f1"), Immediate(0.0015))),
        ("mov.u32 %r1, 017;", (r1, Immediate(15))),
        ("mov.u32 %r1, 0xFFu;".replace("u;", "U;"), (r1, Immediate(255))),
        ("mov.u32 %r1, 0b101;", (r1, Immediate(5))),
        ("mov.u32 %r1, WARP_SZ;", (r1, Immediate(32))),
        ("call (%r1), f, (%r2, 3);", (Group((r1,)), Symbol("f"), Group((r2, Immediate(3))))),
        ("shfl.sync.down.b32 _, %r1, %r2, 31, -1;",
         (Symbol("_"), r1, r2, Immediate(31), Immediate(-1))),
    ):  # fmt: skip
        assert only(declared + text).operands == want, text


def test_guards() -> None:
    declared = ".reg .pred %p<2>; .reg .b32 %r<2>;"
    plain, negated = only(f"{declared}@%p1 mov.u32 %r1, 1;"), only(f"{declared}@!%p1 bra L; L:")
    assert (plain.guard, plain.guard_negated) == (Register("%p1"), False)
    assert (negated.guard, negated.guard_negated) == (Register("%p1"), True)


def test_labels_and_branch_tables() -> None:
    module = parse(
        body(
            """
        .reg .u32 %i;
        mov.u32 %i, 1;
        A: add.u32 %i, %i, 1;
        table: .branchtargets A, B;
        @%p bra A;
        B: C: sub.u32 %i, %i, 1;
    """.replace("@%p bra A;", "bra A;")
        )
    )
    assert module.labels["A"] == 1
    assert module.labels["B"] == module.labels["C"] == 3
    assert module.branch_targets["table"] == ("A", "B")


def test_variables_and_initialisers() -> None:
    module = parse(
        HEADER
        + """
        .global .align 16 .b8 bytes[6] = {1, 2, 0xFF, -1};
        .const .u16 pair[2][2] = {{1, 2}, {3, 4}};
        .global .f32 one = 0f3F800000;
        .global .s32 a, b = -2;
        .visible .global .v4 .f32 quad;
        .extern .shared .align 8 .b8 pool[];
        .shared .u64 words[3];
        .global .b8 sized[] = {7, 8, 9};
    """
    )
    v = module.variables
    assert (v["bytes"].initial, v["bytes"].nbytes) == (bytes([1, 2, 255, 255]), 6)
    assert (v["bytes"].align, v["bytes"].nbytes) == (16, 6)
    assert np.frombuffer(v["pair"].initial, np.uint16).tolist() == [1, 2, 3, 4]
    assert np.frombuffer(v["one"].initial, np.float32).tolist() == [1.0]
    assert v["a"].initial is None
    assert v["b"].initial == (-2).to_bytes(4, "little", signed=True)
    assert v["quad"].nbytes == 16
    assert (v["pool"].nbytes, v["pool"].extern, v["pool"].align) == (0, True, 8)
    assert (v["words"].nbytes, v["words"].align) == (24, 8)
    assert v["sized"].nbytes == 3


def test_a_decimal_float_as_an_initialiser() -> None:
    v = parse(HEADER + ".global .f32 x[2] = {1.5, -2.0};").variables["x"]
    assert np.frombuffer(v.initial, np.float32).tolist() == [1.5, -2.0]


@pytest.mark.parametrize("version", ["1.4", "3.2", "6.0", "8.8", "9.5"])
@pytest.mark.parametrize(
    "target", ["sm_20", "sm_90a", "sm_52, debug", "sm_30, texmode_independent"]
)
def test_any_version_and_target(version, target) -> None:
    text = f".version {version}\n.target {target}\n.entry k () {{ ret; }}"
    module = parse(text)
    assert module.version == version
    assert module.target.replace(" ", "") == target.replace(" ", "")


def test_directives_of_a_kernel_that_change_nothing() -> None:
    parameters = ".param .u64 .ptr .global .align 16 a, .param .align 4 .b8 s[12]"
    directives = ".maxntid 256, 1, 1\n.minnctapersm 2\n.maxnreg 32"
    text = f"{HEADER}.visible .entry k({parameters})\n{directives}\n"
    kernel = parse(text + '{\n.pragma "nounroll";\nret;\n}').entry("k")
    assert [p.nbytes for p in kernel.parameters] == [8, 12]
    assert kernel.end_pc - kernel.first_pc == 1


def test_statements_after_a_pragma_on_its_line() -> None:
    assert len(parse(body('.pragma "nounroll"; ret;')).instructions) == 2


def test_a_declared_function_may_be_defined_later() -> None:
    text = (
        HEADER
        + """
        .func (.param .b32 r) f (.param .b32 x);
        .func (.param .b32 r) f (.param .b32 x) { ret; }
        .func (.param .b32 r) f (.param .b32 x);
    """
    )
    function = parse(text).functions["f"]
    assert function.end_pc - function.first_pc == 1
