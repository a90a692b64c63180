"""Products and sums are fused as ptxas 13.0 fused them (its machine code for sm_90, 2026-11-21)."""

import pytest

from core.assembler.fused_multiply_add import contracted
from core.ptx.parser import parse

# Code, and what the machine code computed of it: fma(a, b, c), a minus where it negates.
PATTERNS = [
    ("mul m0,x0,x1; mul m1,x2,x3; sub o0,m0,m1;", ["m1=x2*x3", "o0=x0*x1+-m1"]),
    ("mul m0,x0,x1; mul m1,x2,x3; sub o0,m1,m0;", ["m0=x0*x1", "o0=x2*x3+-m0"]),
    ("mul m0,x0,x1; mul m1,x2,x3; add o0,m0,m1;", ["m1=x2*x3", "o0=x0*x1+m1"]),
    ("mul m0,x0,x1; mul m1,x2,x3; add o0,m1,m0;", ["m0=x0*x1", "o0=x2*x3+m0"]),
    ("mul m0,x0,x1; add o0,x4,m0;", ["o0=x0*x1+x4"]),
    ("mul m0,x0,x1; sub o0,x4,m0;", ["o0=-x0*x1+x4"]),
    ("mul m0,x0,x1; sub o0,m0,x4;", ["o0=x0*x1+-x4"]),
    ("mul m0,x0,x1; add o0,m0,x4; add o1,m0,x5;", ["o0=x0*x1+x4", "o1=x0*x1+x5"]),
    ("mul m0,x0,x1; add o0,m0,x4; mul o1,m0,x5;", ["m0=x0*x1", "o0=m0+x4", "o1=m0*x5"]),
    ("mul m0,x0,x1; add o0,m0,x4; st m0;", ["m0=x0*x1", "o0=m0+x4"]),
    ("mul m0,x0,x1; mul m1,x2,x3; sub o0,m0,m1; st m1;", ["m1=x2*x3", "o0=x0*x1+-m1"]),
    ("mul m0,x0,x1; mul m1,x2,x3; sub o0,m0,m1; st m0;", ["m0=x0*x1", "o0=-x2*x3+m0"]),
    ("mul m0,x0,x1; add o0,m0,m0;", ["m0=x0*x1", "o0=m0+m0"]),
    ("mul.rn m0,x0,x1; add o0,m0,x4;", ["m0=x0*x1", "o0=m0+x4"]),
    ("mul m0,x0,x1; add.rn o0,m0,x4;", ["m0=x0*x1", "o0=m0+x4"]),
    ("mul m0,x0,x1; add o0,m0,x4; mul m1,o0,x2; add o1,m1,x5;", ["o0=x0*x1+x4", "o1=o0*x2+x5"]),
    (
        "mul m0,x0,x1; mul m1,x2,x3; sub o0,m0,m1; sub o1,x4,m1;",
        ["m1=x2*x3", "o0=x0*x1+-m1", "o1=x4-m1"],
    ),
    (
        "mul m0,x0,x1; mul m1,x2,x3; add o1,m1,x4; add o0,m0,m1;",
        ["m1=x2*x3", "o1=m1+x4", "o0=x0*x1+m1"],
    ),
    (
        "mul m0,x0,x1; mul m1,x2,x3; sub o0,m0,m1; add o1,m1,m0;",
        ["m1=x2*x3", "o0=x0*x1+-m1", "o1=x0*x1+m1"],
    ),
    (
        "mul m0,x0,x0; mul m1,x1,x1; add o0,m0,m1; mul m2,x2,x2; add o1,o0,m2;",
        ["m1=x1*x1", "o0=x0*x0+m1", "o1=x2*x2+o0"],
    ),
    ("mul m0,x0,x1; setp p,x4; @p bra E; add o0,m0,x4; E:", ["m0=x0*x1", "o0=m0+x4"]),
    (
        "mul m0,x0,x1; add o0,m0,x4; setp p,x4; @p bra E; add o1,m0,x5; E:",
        ["m0=x0*x1", "o0=m0+x4", "o1=m0+x5"],
    ),
    ("mul m0,x0,x1; setp p,x4; @p add o0,m0,x4;", ["@p o0=x0*x1+x4"]),
    ("mul m0,x0,x1; bar; add o0,m0,x4;", ["o0=x0*x1+x4"]),
    ("L: mul m0,x0,o0; add o0,o0,m0; setp p,o0; @p bra L;", ["o0=x0*o0+o0"]),
    ("mul.ftz m0,x0,x1; add.ftz o0,m0,x4;", ["o0=x0*x1+x4"]),
    ("mul.ftz m0,x0,x1; add o0,m0,x4;", ["m0=x0*x1", "o0=m0+x4"]),
    ("mul m0,x0,x1; add.ftz o0,m0,x4;", ["m0=x0*x1", "o0=m0+x4"]),
    ("mul m0,x0,x1; add.sat o0,m0,x4;", ["o0=x0*x1+x4"]),
    ("mul.sat m0,x0,x1; add o0,m0,x4;", ["m0=x0*x1", "o0=m0+x4"]),
]
# What ptxas does here was not looked at: the product may be needed in the next turn of the loop.
CAREFUL = [
    ("L: add o0,m0,x4; mul m0,x0,x1; add o1,m0,x5; setp p,o1; @p bra L;", 3),
    ("mul m0,x0,x1; add x0,x2,x3; add o0,m0,x4; add o1,m0,x5;", 4),
]


def ptx(code, kind):
    lines = []
    for statement in code.split(";"):
        text = statement.strip()
        while ":" in text:
            label, _, text = text.partition(":")
            lines.append(f"{label.strip()}:")
            text = text.strip()
        if text.startswith("@"):
            guard, _, text = text.partition(" ")
            lines.append(f"@%{guard[1:]}")
        name, _, operands = text.partition(" ")
        registers = ", ".join(f"%{one}" for one in operands.split(","))
        if name == "bar":
            lines.append("bar.sync 0;")
        elif name == "bra":
            lines.append(f"bra {operands};")
        elif name == "st":
            lines.append(f"st.global.{kind} [%rd1], {registers};")
        elif name == "setp":
            registers = registers.replace("%p, ", "")
            lines.append(f"setp.gt.{kind} %p, {operands.split(',')[-1].join(('%', ''))}, %x5;")
        elif name:
            lines.append(f"{name}.{kind} {registers};")
    names = ", ".join(f"%{n}{i}" for n in "xmo" for i in range(6))
    return (
        ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
        f".reg .pred %p;\n.reg .b64 %rd1;\n.reg .{kind} {names};\n" + "\n".join(lines) + "\nret;\n}"
    )


def computed(module):
    found, negative = [], {}
    for i in module.instructions:
        if i.opcode == "neg":
            negative[i.operands[0].name] = "-" + i.operands[1].name[1:]
        elif i.opcode in ("mul", "add", "sub", "fma"):
            result, *sources = [negative.get(o.name, o.name[1:]) for o in i.operands]
            sign = {"mul": "{}*{}", "add": "{}+{}", "sub": "{}-{}", "fma": "{}*{}+{}"}[i.opcode]
            guard = "" if i.guard is None else f"@{i.guard.name[1:]} "
            found.append(f"{guard}{result}={sign.format(*sources)}")
    return found


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(("code", "machine_code"), PATTERNS)
def test_fused_as_the_assembler_does(code, machine_code, kind):
    if kind == "f64" and (".ftz" in code or ".sat" in code):
        pytest.skip("only f32 has it")
    assert computed(contracted(parse(ptx(code, kind)))) == machine_code


@pytest.mark.parametrize(("code", "operations"), CAREFUL)
def test_left_alone_where_in_doubt(code, operations):
    assert len(computed(contracted(parse(ptx(code, "f32"))))) == operations


def test_labels_and_functions_move_along():
    code = "mul m0,x0,x1; add o0,m0,x4; L: mul m1,x0,o0; add o0,o0,m1; setp p,o0; @p bra L;"
    module = contracted(parse(ptx(code, "f32")))
    assert [i.pc for i in module.instructions] == list(range(len(module.instructions)))
    assert [i.opcode for i in module.instructions] == ["fma", "fma", "setp", "bra", "ret"]
    assert module.instructions[module.labels["L"]].operands[1].name == "%x0"
    assert module.labels["L"] == 1
    assert module.functions["k"].end_pc == 5
