"""Which PTX instructions do floating-point work, and which a GPU must issue whatever happens."""

from __future__ import annotations

from core.ptx.ast import Instruction

_FLOATS = ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2", "f32x2")
_ONE = ("add", "sub", "mul", "div", "sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh")
_TWO = ("fma", "mad")
_MEMORY = ("ld", "ldu", "st", "atom", "red")
_TENSOR = ("mma", "wmma", "wgmma", "tcgen05")


def operations(instruction: Instruction) -> int:
    """Floating-point operations of one lane: a multiply-add is two, a packed pair twice as many.

    Tensor instructions count 0 here: they work for a warp.
    """
    kind = next((m for m in instruction.modifiers if m in _FLOATS), None)
    if kind is None:
        return 0
    each = 2 if instruction.opcode in _TWO else int(instruction.opcode in _ONE)
    return each * (2 if kind.endswith("x2") else 1)


def is_tensor(instruction: Instruction) -> bool:
    """Whether it is a tensor core's matrix product."""
    return instruction.opcode in _TENSOR and "mma" in (instruction.opcode, *instruction.modifiers)


def is_certain(instruction: Instruction) -> bool:
    """Whether machine code has an instruction for it in any case.

    Arithmetic on floats, accesses to memory and barriers do; address arithmetic, moves and loop
    control may be merged, hoisted or unrolled away by the assembler.
    """
    if instruction.opcode in _MEMORY:
        return "param" not in {m.split("::")[0] for m in instruction.modifiers}
    is_barrier = instruction.opcode in ("bar", "barrier")
    return is_barrier or is_tensor(instruction) or operations(instruction) > 0
