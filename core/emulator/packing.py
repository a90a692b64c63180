"""`mov.b64 d, {lo, hi}` and `mov.b64 {lo, hi}, a`: the first element is the lowest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.ptx.ast import Instruction, Operand, Vector
from core.ptx.semantics.operation import Operation, type_of, unsupported
from core.ptx.types import PtxType, bits_of


def packs(instruction: Instruction) -> bool:
    """Whether a `mov` puts a register together, or takes it apart."""
    return any(isinstance(o, Vector) for o in instruction.operands)


def pack(instruction: Instruction) -> Operation:
    """The operation of a `mov` with a vector operand."""
    kind = type_of(instruction)
    destination, source = instruction.operands
    if isinstance(source, Vector):
        return _together(instruction, kind, source.elements)
    assert isinstance(destination, Vector)
    return _apart(instruction, kind, source, len(destination.elements))


def _part(instruction: Instruction, kind: PtxType, count: int) -> PtxType:
    if not count or kind.nbytes % count:
        raise unsupported(instruction, "does not split into equal parts")
    return bits_of(kind.nbytes // count)


def _together(instruction: Instruction, kind: PtxType, elements: tuple[Operand, ...]) -> Operation:
    part = _part(instruction, kind, len(elements))
    unsigned = np.dtype(f"u{kind.nbytes}")

    def together(*parts: NDArray[Any]) -> NDArray[Any]:
        total = np.zeros(1, unsigned)
        for i, value in enumerate(parts):
            bits = value.view(f"u{part.nbytes}").astype(unsigned)
            total = total | (bits << unsigned.type(i * part.bits))
        return total.view(kind.dtype)

    return Operation(together, tuple((e, part) for e in elements), (kind,))


def _apart(instruction: Instruction, kind: PtxType, source: Operand, count: int) -> Operation:
    part = _part(instruction, kind, count)

    def apart(value: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        raw = value.view(f"u{kind.nbytes}")
        return tuple(
            (raw >> raw.dtype.type(i * part.bits)).astype(f"u{part.nbytes}").view(part.dtype)
            for i in range(count)
        )

    if count == 1:
        return Operation(lambda value: value, ((source, kind),), (kind,))
    return Operation(apart, ((source, kind),), (part,) * count)
