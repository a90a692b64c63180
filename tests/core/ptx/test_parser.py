"""The PTX parser: what NVRTC writes, and what people write by hand.

Text that is not PTX, and damaged PTX, end in a clear error, never in an exception or a hang.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.emulator.launch_image import Image
from core.errors import PtxSyntaxError, TilescopeError, UnsupportedPtx
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument
from core.ptx.ast import Address, Group, Immediate, Negated, Pair, Register, Special, Symbol, Vector
from core.ptx.lexer import without_sections
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
    assert (v["pool"].nbytes, v["pool"].align) == (0, 8)
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


PLAIN_NAMES = """
.version 3.2
.target sm_30        // an old target
.address_size 64
.global .align 4 .f32 table[4] = {1.0, -2.5, 0f40400000, 4e0};
/* no .visible,
   no percent signs */
.entry k (.param .u64 out, .param .u64 in)
{
    .reg .u64 base, from; .reg .u32 tid, lane<3>, $odd, _under; .reg .f32 x, y; .reg .pred p, q;
    ld.param.u64 base, [out]; ld.param.u64 from, [in];
    mov.u32 tid, %tid.x; mov.u32 lane2, WARP_SZ; mov.u32 $odd, 0x1F; mov.u32 _under, 017;
    mad.wide.u32 base, tid, 4, base;
    mad.wide.u32 from, tid, 4, from;
    ld.global.f32 x, [from];
    setp.gt.and.f32 p|q, x, 0f00000000, 1;
    { .reg .f32 x; mov.f32 x, 0f41200000; @q mad.f32 y, x, x, x; }
    @p ld.global.f32 y, [table+4];
    @!p bra $L_1;
    add.f32 y, y, x;
$L_1:
    cvt.rn.f32.u32 x, lane2; add.f32 y, y, x;
    cvt.rn.f32.u32 x, $odd; add.f32 y, y, x;
    cvt.rn.f32.u32 x, _under; sub.f32 y, y, x;
    st.global.f32 [base], y;
    exit;
}
"""
BEFORE_VOLTA = """
.version 4.3
.target sm_35
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 4 out, .param .u64 in)
{
    .reg .b64 %rd<4>; .reg .b32 r<8>; .reg .pred p<2>; .reg .v4 .u32 v; .reg .u16 h;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 r0, %tid.x; mul.wide.u32 %rd3, r0, 16; add.u64 %rd2, %rd2, %rd3;
    ld.global.v4.u32 v, [%rd2];
    add.u32 r1, v.x, v.w; sub.u32 r2, v.y, v.b;
    shfl.down.b32 r3|p0, r1, 0b1, 0x1f;
    setp.ne.u32 p1, r2, 0; vote.ballot.b32 r4, p1;
    popc.b32 r4, r4; xor.b32 r5, r3, r4;
    cvt.u16.u32 h, r5; mul.wide.u16 r6, h, 3;
    mul.wide.u32 %rd3, r0, 4; add.u64 %rd1, %rd1, %rd3;
    st.global.u32 [%rd1+0], r6;
}
"""


def test_registers_of_any_name_and_numbers_of_any_kind() -> None:
    data = np.linspace(-2, 3, 40).astype(np.float32)
    out, _ = run_ptx(PLAIN_NAMES, [np.zeros(40, np.float32), data], block=Dim3(40))
    want = np.where(data > 0, -2.5 + data.astype(np.float64), 110) + 32 + 31 - 15
    assert np.abs(out - want).max() < 1e-5


def test_shuffles_and_votes_without_sync_and_vector_registers() -> None:
    data = np.random.default_rng(4).integers(0, 3, (32, 4), np.uint32)
    out, _ = run_ptx(BEFORE_VOLTA, [np.zeros(32, np.uint32), data.reshape(-1)])
    total = data[:, 0] + data[:, 3]
    down = np.append(total[1:], total[31])
    votes = np.count_nonzero(data[:, 1] != data[:, 2])
    assert out.tolist() == (((down ^ votes) & 0xFFFF) * 3).tolist()


@pytest.mark.parametrize("version", ["1.4", "2.0", "5.0", "7.8", "9.5", "12.0"])
def test_any_version_is_read(version) -> None:
    text = PLAIN_NAMES.replace(".version 3.2", f".version {version}")
    out, _ = run_ptx(text, [np.zeros(4, np.float32), np.ones(4, np.float32)], block=Dim3(4))
    assert out.tolist() == [46.5] * 4


def test_pointers_of_32_bits_are_refused_by_name() -> None:
    text = """.version 3.2\n.target sm_30\n.address_size 32
.entry k(.param .u32 out) { .reg .u32 a; ld.param.u32 a, [out]; st.global.u32 [a], 7; ret; }"""
    with pytest.raises(TilescopeError, match=r"line 3: `.address_size 32` is not supported: use"):
        run_ptx(text, [np.zeros(4, np.float32)])


BAD = [
    ("mov.u32 %r1 %%, 1;", 5), ("\nmov.u32 %nope, 1;", 6), ("`", 5), ("\n\n.reg .b32 %r<;", 7),
    ("mov.u32 5x;", 5),
    ("\n.reg .b32 %r1; ld.global.u32 %r1, [%r1;", 6), ("@5 ret;", 5),
    (".reg .b32 %a; mov.u32 %a, {1, 2;", 5),
]  # fmt: skip


@pytest.mark.parametrize(("code", "line"), BAD)
def test_malformed_statements_name_their_line(code, line) -> None:
    with pytest.raises(PtxSyntaxError, match=f"PTX line {line}: ") as caught:
        parse(f"{HEADER}.visible .entry k() {{\n{code}\nret;\n}}\n")
    assert caught.value.line == line


def test_text_that_ends_too_early() -> None:
    with pytest.raises(PtxSyntaxError, match=r"PTX line 6: .*closing } is missing"):
        parse(f"{HEADER}.visible .entry k() {{\nret;\n")
    with pytest.raises(PtxSyntaxError, match="middle of a statement"):
        parse(f"{HEADER}.visible .entry k() {{ .reg .b32 %r1; mov.u32 %r1,")
    assert parse("").functions == {}


@pytest.mark.parametrize("text", [".alias f, g;", ".visible .entry k() { .strange 5; ret; }"])
def test_unknown_directives(text) -> None:
    with pytest.raises(UnsupportedPtx, match="PTX line 4: "):
        parse(HEADER + text)


@pytest.mark.parametrize(
    "text",
    [
        '.file 0x "a.cu"', ".global .v2x .u32 x;",
        ".global .align 16. .b8 x[4];", ".global .u32 x[1.5];", '.file 1. "a"',
            ".visible .entry k() { .loc 1 26. 0 ret; }", ".visible .entry k() { .loc 1 2 5. ret; }",
            ".visible .entry k() { .reg .b32 %r<1.5>; ret; }",
    ],
)  # fmt: skip
def test_numbers_of_the_wrong_kind(text) -> None:
    with pytest.raises((PtxSyntaxError, UnsupportedPtx), match="PTX line 4: "):
        parse(HEADER + text)


@pytest.mark.parametrize(
    "text",
    [
        "call;", "bar.sync;",
        "bra;", "bra %r1;", "bra 5;", "ld.global.u32 %r1;", "st.global.u32;",
            "st.global.u32 [%d1];", "cvta.to.global.u64 %d1;", "atom.global.add.u32;",
            "atom.global.add.u32 %r1, %r2, %r3;", "atom.global.add.u32 %r1, [%d1];",
            "shfl.sync.idx.b32 %r1, %r1;", "vote.sync.any.pred %p1;",
            "mov.b64 {%r1, %r2, %r3}, %d1;", "isspacep.global %p1;", "activemask.b32;",
            "mov.b64 %d1, {};",
    ],
)  # fmt: skip
def test_instructions_that_lack_operands(text) -> None:
    code = f".reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %d<3>;\n{text}"
    with pytest.raises((UnsupportedPtx, PtxSyntaxError), match="PTX line 7: "):
        run_ptx(body(code), [])


def test_a_register_count_beyond_reason() -> None:
    with pytest.raises((PtxSyntaxError, UnsupportedPtx)):
        parse(body(".reg .b32 %r<300000>;"))


TOKEN = re.compile(r"\s+|[\w$%.]+|.")


@cache
def pieces(whole_tokens: bool) -> list[str]:
    text = re.sub(r"\n+", "\n", without_sections(module_text()))
    return TOKEN.findall(text) if whole_tokens else list(text)


@cache
def replacements(whole_tokens: bool) -> list[str]:
    extra = [] if whole_tokens else [chr(c) for c in range(32, 127)] + ["\0", "é", "\n", "٣"]
    return sorted(set(pieces(whole_tokens)) | set(extra))


def launch() -> Launch:
    return Launch(
        Dim3(1), Dim3(64),
        (ArrayArgument("out", np.zeros(64, np.float32), "output"),
         ArrayArgument("in", np.ones(256, np.float32)), ScalarArgument("n", np.int32(0)),
         ScalarArgument("d", np.float64(3))),
        256,
    )  # fmt: skip


EDITS = st.lists(
    st.tuples(st.sampled_from(["delete", "double", "replace", "swap"]), st.floats(0, 0.9999),
              st.floats(0, 0.9999)),
    min_size=1, max_size=3,
)  # fmt: skip


def mutated(whole_tokens: bool, edits) -> str:
    parts, words = list(pieces(whole_tokens)), replacements(whole_tokens)
    for what, where, which in edits:
        i = int(where * len(parts))
        if what == "delete":
            del parts[i]
        elif what == "double":
            parts.insert(i, parts[i])
        elif what == "replace":
            parts[i] = words[int(which * len(words))]
        else:
            j = int(which * len(parts))
            parts[i], parts[j] = parts[j], parts[i]
    return "".join(parts)


@pytest.mark.slow
@pytest.mark.parametrize("whole_tokens", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_mutated_text_ends_in_a_clear_error(whole_tokens) -> None:
    @settings(max_examples=200, deadline=None, derandomize=True, database=None)
    @given(EDITS)
    def run(edits) -> None:
        text = mutated(whole_tokens, edits)
        try:
            image = Image(parse(text), "k", launch())
            for function in image.module.functions.values():
                if function.end_pc > function.first_pc:
                    image.code(function)
        except (PtxSyntaxError, UnsupportedPtx) as error:
            assert 1 <= error.line <= text.count("\n") + 1  # noqa: PT017
        except TilescopeError as error:
            assert "kernel" in str(error)  # noqa: PT017  (its name or its parameters changed)

    run()
