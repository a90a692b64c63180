"""Which PTX instructions do floating-point work, and which a GPU must issue whatever happens."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.ptx.ast import Instruction

_FLOATS = ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2", "f32x2")
_ONE = ("add", "sub", "mul", "div", "sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh")
_TWO = ("fma", "mad")
_MEMORY = ("ld", "ldu", "st", "atom", "red")
_COPIES = {"ca", "cg"}
_TENSOR = ("mma", "wmma", "wgmma", "tcgen05")
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_TYPE = re.compile(r"b?f16|f32|tf32|f64|[su]8|[su]4|s32|e4m3|e5m2")


def operations(instruction: Instruction) -> int:
    """Floating-point operations of one lane: a multiply-add is two, a packed pair twice as many.

    Tensor instructions count 0 here: they work for a warp.
    """
    kind = next((m for m in instruction.modifiers if m in _FLOATS), None)
    if kind is None:
        return 0
    each = 2 if instruction.opcode in _TWO else int(instruction.opcode in _ONE)
    return each * (2 if kind.endswith("x2") else 1)


@dataclass(frozen=True)
class MatrixProduct:
    """What a tensor core's instruction does for a warp: operations, a multiply-add as two.

    `factors` is the PTX type of A and B, "f16" or "tf32"; `floating` whether they are floats.
    """

    flops: int
    factors: str

    @property
    def floating(self) -> bool:
        """Whether the operations are floating-point ones."""
        return "f" in self.factors or self.factors.startswith("e")


def is_tensor(instruction: Instruction) -> bool:
    """Whether it is a tensor core's matrix product."""
    return instruction.opcode in _TENSOR and "mma" in (instruction.opcode, *instruction.modifiers)


def tensor_operations(instruction: Instruction) -> MatrixProduct | None:
    """The matrix product that an instruction does for its warp, None for any other instruction.

    The shape m x n x k and the types of D, A, B and C are among its modifiers (PTX ISA, "Warp Level
    Matrix Instructions"); `wmma.mma` on halves names only D's and C's. A `wgmma` does a quarter of
    its 64 x n x k product for each of four warps.
    """
    if not is_tensor(instruction):
        return None
    shape = next((f for m in instruction.modifiers if (f := _SHAPE.fullmatch(m))), None)
    types = [m for m in instruction.modifiers if _TYPE.fullmatch(m)]
    if shape is None or len(types) < 2:
        return None
    m, n, k = (int(part) for part in shape.groups())
    factors = "f16" if instruction.opcode == "wmma" and len(types) == 2 else types[1]
    warps = 4 if instruction.opcode == "wgmma" else 1
    return MatrixProduct(2 * m * n * k // warps, factors)


def machine_work(instruction: Instruction) -> tuple[str, int] | None:
    """What machine code must have for an instruction: a class of `core.models.machine_code`.

    With it the units that a lane contributes: operations for "fp32", one for any other class. None
    for what the assembler may merge or leave out.
    """
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if is_copy(instruction):
        return ("LDGSTS", 1) if _COPIES & set(modifiers) else None
    if is_tensor(instruction):
        halves = opcode in ("mma", "wmma") and {"f16", "bf16", "tf32"} & set(modifiers)
        return ("HMMA", 1) if halves else None
    if opcode in ("bar", "barrier") and "warp" not in modifiers and "arrive" not in modifiers:
        return ("BAR", 1)
    if opcode in ("ld", "st") and "global" in modifiers:
        return ("LDG" if opcode == "ld" else "STG", 1)
    plain = opcode in ("add", "sub", "mul", "fma", "mad") and "f32" in modifiers
    return ("fp32", operations(instruction)) if plain else None


def is_copy(instruction: Instruction) -> bool:
    """Whether it copies from global to shared memory without passing through registers."""
    return instruction.opcode == "cp" and "async" in instruction.modifiers


def is_certain(instruction: Instruction) -> bool:
    """Whether machine code has an instruction for it in any case.

    Arithmetic on floats, accesses to memory and barriers do; address arithmetic, moves and loop
    control may be merged, hoisted or unrolled away by the assembler.
    """
    if instruction.opcode in _MEMORY:
        return "param" not in {m.split("::")[0] for m in instruction.modifiers}
    is_barrier = instruction.opcode in ("bar", "barrier")
    moves = is_copy(instruction) and bool(_COPIES & set(instruction.modifiers))
    return is_barrier or moves or is_tensor(instruction) or operations(instruction) > 0
