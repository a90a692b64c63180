"""Video instructions: scalar (`vadd` …) and packed (`vadd2`, `vadd4` …).

Operands are bytes, halves or words of registers, extended to more than 33 bits; the result may be
saturated, and joined with a third operand (PTX ISA, "Video Instructions").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.ptx.arithmetic.comparison import ORDERED
from core.ptx.arithmetic.integer import bit_field
from core.ptx.arithmetic.operation import Array, Operation, opcode, types_of, unsupported
from core.ptx.ast import Instruction, Operand, Selected
from core.ptx.types import TYPES, PtxType

_U32 = TYPES["u32"]
_PLACES = {"b0": (0, 8), "b1": (8, 8), "b2": (16, 8), "b3": (24, 8), "h0": (0, 16), "h1": (16, 16)}
_NAMES = ("add", "sub", "absdiff", "min", "max", "shl", "shr", "set", "avrg")


def _field(operand: Operand, kind: PtxType) -> tuple[Operand, Callable[[Array], Array]]:
    """The register an operand is in, and how its value is taken out, as int64."""
    first, bits = (0, 32) if not isinstance(operand, Selected) else _PLACES[operand.part]
    register = operand.operand if isinstance(operand, Selected) else operand
    return register, lambda word: bit_field(word, first, bits, kind.is_signed)


def _saturated(value: Array, bits: int, signed: bool) -> Array:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return np.clip(value, low, high)


def _shift(instruction: Instruction, a: Array, b: Array, left: bool) -> Array:
    n = b & 31 if "wrap" in instruction.modifiers else np.minimum(b & 0xFFFFFFFF, 32)
    return np.asarray(a << n if left else a >> n)


def _core(instruction: Instruction, name: str) -> Callable[[Array, Array], Array]:
    functions: dict[str, Callable[[Array, Array], Array]] = {
        "add": np.add,
        "sub": np.subtract,
        "absdiff": lambda a, b: np.abs(a - b),
        "min": np.minimum,
        "max": np.maximum,
        "avrg": lambda a, b: (a + b + 1) >> 1,
        "shl": lambda a, b: _shift(instruction, a, b, left=True),
        "shr": lambda a, b: _shift(instruction, a, b, left=False),
    }
    if name == "set":
        compare = next(ORDERED[m] for m in instruction.modifiers if m in ORDERED)
        return lambda a, b: compare(a, b).astype(np.int64)
    return functions[name]


def _second(instruction: Instruction) -> str:
    """The operation that joins the result with the third operand."""
    return next((m for m in instruction.modifiers if m in ("add", "min", "max")), "")


@opcode(*(f"v{name}" for name in _NAMES if name != "avrg"))
def scalar_video(instruction: Instruction) -> Operation:
    """One operation on parts of registers."""
    kinds = types_of(instruction)
    name = instruction.opcode[1:]
    result = TYPES["u32"] if name == "set" else kinds[0]
    a_kind, b_kind = (kinds if name == "set" else kinds[1:])[:2]
    destination, a, b, *c = instruction.operands
    if isinstance(destination, Selected):
        raise unsupported(instruction, "writes a part of a register, which is not supported")
    core, join = _core(instruction, name), _second(instruction)
    (a_word, take_a), (b_word, take_b) = _field(a, a_kind), _field(b, b_kind)

    def function(x: Array, y: Array, *z: Array) -> Array:
        value = core(take_a(x), take_b(y))
        if "sat" in instruction.modifiers:
            value = _saturated(value, 32, result.is_signed)
        if z:
            third = bit_field(z[0], 0, 32, result.is_signed)
            value = bit_field(value, 0, 32, result.is_signed)
            value = {"add": np.add, "min": np.minimum, "max": np.maximum}[join](value, third)
        return value.astype(result.dtype)

    sources = ((a_word, _U32), (b_word, _U32), *((o, _U32) for o in c))
    return Operation(function, sources, (result,))


@opcode("vmad")
def video_mad(instruction: Instruction) -> Operation:
    """a*b+c on parts of registers, shifted right by 7 or 15 if asked for."""
    kinds = types_of(instruction)
    result, a_kind, b_kind = kinds[:3]
    _, a, b, c = instruction.operands
    (a_word, take_a), (b_word, take_b) = _field(a, a_kind), _field(b, b_kind)
    if isinstance(c, Selected) or "po" in instruction.modifiers:
        raise unsupported(instruction, "in this form is not supported")
    shift = next((int(m[3:]) for m in instruction.modifiers if m in ("shr7", "shr15")), 0)

    def function(x: Array, y: Array, z: Array) -> Array:
        value = take_a(x) * take_b(y) + bit_field(z, 0, 32, result.is_signed)
        value = value >> shift
        if "sat" in instruction.modifiers:
            value = _saturated(value, 32, result.is_signed)
        return value.astype(result.dtype)

    return Operation(function, ((a_word, _U32), (b_word, _U32), (c, _U32)), (result,))


@opcode(*(f"v{name}{lanes}" for name in _NAMES for lanes in (2, 4) if name[:2] != "sh"))
def packed_video(instruction: Instruction) -> Operation:
    """The operation on two halves or four bytes; `.add` sums them up and adds c."""
    lanes = int(instruction.opcode[-1])
    name = instruction.opcode[1:-1]
    kinds = types_of(instruction)
    result = TYPES["u32"] if name == "set" else kinds[0]
    a_kind, b_kind = (kinds if name == "set" else kinds[1:])[:2]
    _, a, b, c = instruction.operands
    if any(isinstance(o, Selected) for o in (a, b, c)) or any(
        m.startswith("mask") for m in instruction.modifiers
    ):
        raise unsupported(instruction, "selects lanes, which is not supported")
    bits = 32 // lanes
    core = _core(instruction, name)
    accumulate = "add" in instruction.modifiers

    def function(x: Array, y: Array, z: Array) -> Array:
        total = z.astype(np.int64) if accumulate else np.zeros(1, np.int64)
        for lane in range(lanes):
            value = core(
                bit_field(x, lane * bits, bits, a_kind.is_signed),
                bit_field(y, lane * bits, bits, b_kind.is_signed),
            )
            if "sat" in instruction.modifiers:
                value = _saturated(value, bits, result.is_signed)
            if accumulate:
                total = total + value
            else:
                total = total | ((value & ((1 << bits) - 1)) << (lane * bits))
        return total.astype(np.uint32).view(result.dtype)

    return Operation(function, ((a, _U32), (b, _U32), (c, _U32)), (result,))
