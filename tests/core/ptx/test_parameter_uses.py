"""What a kernel does with its parameters, from its PTX alone."""

from __future__ import annotations

import pytest

from core.ptx.parameter_uses import parameter_uses
from core.ptx.parser import parse
from tests.core.emulator.machines import HEADER
from tests.foreign_set import FOREIGN

DECLARATIONS = """
  .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>;
  ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u32 %r0, [n];
  mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; cvta.to.global.u64 %d3, %d0;
"""


def uses(body: str) -> dict[str, str]:
    text = (
        f"{HEADER}.extern .shared .align 8 .b8 tile[];\n"
        f".entry k(.param .u64 a, .param .u64 b, .param .u32 n) {{{DECLARATIONS}{body} ret;}}"
    )
    module = parse(text)
    return {
        use.place[0]: " ".join(
            word
            for word in (
                use.use, use.element, "read" * use.is_read, "written" * use.is_written,
                "index" * use.holds_index, "compared" * use.is_compared,
            )
            if word
        )
        for use in parameter_uses(module, module.functions["k"])
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "name", "wanted"),
    [
        ("add.s64 %d4, %d3, %d2; ld.global.f32 %f1, [%d4];", "a", "pointer float32 read"),
        ("add.s64 %d4, %d2, %d3; st.global.u8 [%d4+8], %r1;", "a", "pointer uint8 written"),
        ("atom.global.add.f64 %d5, [%d3], %d6;", "a", "pointer float64 read written"),
        ("red.global.cas.b32 [%d3], %r2, %r3;", "a", "pointer int32 read written"),
        # what it was loaded for tells the type of bits
        ("ld.global.b32 %r2, [%d3]; add.f32 %f1, %r2, %r2;", "a", "pointer float32 read"),
        ("ld.global.b32 %r2, [%d3]; mov.b32 %r3, %r2; sub.s32 %r4, %r3, 1;", "a",
         "pointer int32 read"),
        ("ld.global.b16 %h1, [%d3]; mov.b32 %r2, {%h1, %h2}; add.bf16x2 %r3, %r2, %r2;", "a",
         "pointer bfloat16 read"),
        ("cvt.rn.f16.f32 %h1, %f1; st.global.b16 [%d3], %h1;", "a", "pointer float16 written"),
        # a zero that stands for any type does not join what it is copied to
        ("mov.b32 %r5, 0; mov.b32 %r2, %r5; mov.b32 %r6, %r5; add.s32 %r6, %r6, 1;"
         "ld.global.b32 %r2, [%d3]; mul.f32 %f1, %r2, 2.0;", "a", "pointer float32 read"),
        ("ld.global.u32 %r2, [%d3]; mad.wide.u32 %d4, %r2, 4, %d1; st.global.f32 [%d4], %f1;", "a",
         "pointer uint32 read index"),
        # an address that goes through shared memory is still one
        ("st.shared.b64 [tile], %d3; ld.shared.b64 %d4, [tile]; st.global.f32 [%d4], %f1;", "a",
         "pointer float32 written"),
        # of a sum of two parameters, the one that is also a number is none
        ("add.s64 %d4, %d0, %d1; ld.global.u8 %r2, [%d4]; setp.lt.s64 %p1, %d2, %d1;", "b",
         "integer compared"),
        ("setp.ge.s32 %p1, %r1, %r0;", "n", "integer compared"),
        ("mul.lo.s32 %r2, %r0, %r1;", "n", "integer"),
        ("add.f32 %f1, %r0, %f2;", "n", "float"),
        ("", "n", "unused"),
        ("", "b", "unused"),
    ],
)  # fmt: skip
def test_uses(body, name, wanted) -> None:
    assert uses(body)[name] == wanted


def test_a_structure_is_its_pieces() -> None:
    text = (
        f"{HEADER}.entry k(.param .align 8 .b8 s[32], .param .b8 t[6]) {{\n"
        ".reg .b64 %d<4>; .reg .b32 %r<4>; ld.param.v2.u64 {%d0, %d1}, [s+8];\n"
        "ld.param.u32 %r0, [s]; st.global.u32 [%d0], %r0; ret; }"
    )
    module = parse(text)
    found = parameter_uses(module, module.functions["k"])
    assert [(u.place, u.nbytes, u.use) for u in found] == [
        (("s", 0), 4, "integer"), (("s", 8), 8, "pointer"), (("s", 16), 8, "unused"),
        (("t", 0), 6, "unused"),
    ]  # fmt: skip


def test_a_structure_that_is_read_through_its_address() -> None:
    """As NVRTC reads those of CUTLASS: registers hold addresses, and tensor maps are pieces."""
    text = (
        f"{HEADER}.entry k(.param .align 64 .b8 s[320]) {{\n"
        ".reg .b64 %d<9>; .reg .b32 %r<4>; mov.b64 %d0, s; add.s64 %d1, %d0, 256;\n"
        "ld.param.u64 %d2, [%d1+-248]; ld.param.u32 %r0, [%d1+8]; st.global.u32 [%d2], %r0;\n"
        "add.s64 %d3, %d0, 64; cvta.param.u64 %d4, %d3; prefetch.tensormap [%d4];\n"
        "add.s64 %d5, %d0, %d2; ld.param.u32 %r1, [%d5]; ret; }"
    )
    module = parse(text)
    found = parameter_uses(module, module.functions["k"])
    assert [(u.place, u.nbytes, u.use, u.is_map) for u in found] == [
        (("s", 8), 8, "pointer", False),
        (("s", 64), 128, "unused", True),
        (("s", 264), 4, "integer", False),
    ]


TRITON = [one for one in FOREIGN if one.maker == "triton"]


# A tensor map is used by its address alone, and Triton spreads its sizes over further parameters.
BY_POINTER = [one for one in TRITON if not any(t.startswith("tensordesc") for t in one.types)]


@pytest.mark.slow
@pytest.mark.parametrize("one", BY_POINTER, ids=[one.name for one in BY_POINTER])
def test_pointers_of_triton_are_those_of_its_signature(one) -> None:
    module = parse(one.path.read_text())
    (function,) = (f for f in module.functions.values() if f.is_entry)
    found = [use.use for use in parameter_uses(module, function)]
    wanted = ["pointer" if t[0] == "*" else "float" if t[0] == "f" else "integer"
              for t in one.types]  # fmt: skip
    assert found[: len(wanted)] == wanted
    assert set(found[len(wanted) :]) == {"unused"}
