"""What an arithmetic instruction computes: a NumPy function with the types of its operands.

One small builder an opcode, registered with `@opcode`; the builder reads the instruction's
modifiers and returns an `Operation`. Functions are pure: arrays of one value a lane (or of one
element, when every lane has the same value) in, a new array out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from core.errors import UnsupportedPtx
from core.ptx.ast import Instruction, Operand
from core.ptx.opcodes import opcode_of
from core.ptx.types import TYPES, PtxType

Array = NDArray[Any]


@dataclass(frozen=True)
class Operation:
    """`results = function(*sources)`.

    `sources` are the operands that are read, with the type each is read as; `results` the types of
    what comes back (one array, or a tuple where there are several). `targets` are where that goes;
    None: to the instruction's first operand.
    """

    function: Callable[..., Any]
    sources: tuple[tuple[Operand, PtxType], ...]
    results: tuple[PtxType, ...]
    targets: tuple[Operand, ...] | None = None


Builder = Callable[[Instruction], Operation]
BUILDERS: dict[str, Builder] = {}
TYPED: dict[tuple[str, str], Builder] = {}  # those for one opcode and type


def opcode(*names: str, types: Sequence[str] = ()) -> Callable[[Builder], Builder]:
    """Registers a builder for these opcodes; a second one for the same opcode is a defect.

    With `types` the builder serves only instructions whose last type suffix is one of them.
    """

    def register(builder: Builder) -> Builder:
        for name in names:
            if name in BUILDERS and not types:
                raise ValueError(f"opcode {name!r} has two builders")
            if types:
                TYPED.update({(name, kind): builder for kind in types})
            else:
                BUILDERS[name] = builder
        return builder

    return register


def operation(instruction: Instruction) -> Operation:
    """The operation of an arithmetic `instruction`; `UnsupportedPtx` where there is none."""
    last = next((m for m in reversed(instruction.modifiers) if m in TYPES), "")
    builder = TYPED.get((instruction.opcode, last)) or BUILDERS.get(instruction.opcode)
    if builder is None:
        raise unsupported(instruction)
    row = opcode_of(instruction)
    if row.operands and len(instruction.operands) not in row.operands:
        raise unsupported(instruction, "has the wrong number of operands")
    if instruction.opcode != "mov" and any(k.bits == 128 for k in types_of(instruction)):
        raise unsupported(instruction, "has a type that this instruction cannot have")
    floats = any(kind.kind in "fx" for kind in types_of(instruction))
    if row.types == ("integer" if floats else "float"):
        raise unsupported(instruction, "has a type that this instruction cannot have")
    saturates = "sat" in instruction.modifiers and row.kind == "arithmetic"
    if saturates and not floats and last != "s32":
        raise unsupported(instruction, "saturates a type other than s32")
    try:
        return builder(instruction)
    except (IndexError, KeyError, ValueError) as error:
        raise unsupported(instruction, "lacks an operand, or has a type it cannot have") from error


def unsupported(instruction: Instruction, reason: str = "is not supported") -> UnsupportedPtx:
    """The error for an instruction, or a form of it, that is not executed."""
    return UnsupportedPtx(instruction.ptx_line, instruction.text, reason)


def types_of(instruction: Instruction) -> list[PtxType]:
    """The type suffixes of the instruction, in order."""
    return [TYPES[m] for m in instruction.modifiers if m in TYPES]


def type_of(instruction: Instruction) -> PtxType:
    """The one type suffix of the instruction."""
    found = types_of(instruction)
    if not found:
        raise unsupported(instruction, "has a type that is not supported")
    return found[-1]


def same_type(
    instruction: Instruction, function: Callable[..., Any], kind: PtxType | None = None
) -> Operation:
    """All operands and the result are of the instruction's type (or of `kind`)."""
    kind = kind or type_of(instruction)
    sources = tuple((operand, kind) for operand in instruction.operands[1:])
    return Operation(function, sources, (kind,))


def refuse(instruction: Instruction, *modifiers: str) -> None:
    """`UnsupportedPtx` if the instruction bears one of these modifiers."""
    for modifier in modifiers:
        if modifier in instruction.modifiers:
            raise unsupported(instruction, f"uses .{modifier}, which is not supported")
