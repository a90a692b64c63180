"""float32 and float64 arithmetic with `.rz`, `.rm` and `.rp`."""

from __future__ import annotations

import numpy as np

from core.ptx.ast import Instruction
from core.ptx.semantics.double import directed
from core.ptx.semantics.narrow import rounded_operation
from core.ptx.semantics.operation import Array, Operation, same_type, type_of, unsupported
from core.ptx.semantics.rounding import mode_of

_NAMES = ("add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp")


def directed_operation(instruction: Instruction) -> Operation:
    """The instruction's operation in its rounding mode, with `.ftz` and `.sat`."""
    name = instruction.opcode
    if name not in _NAMES:
        raise unsupported(instruction, "has a rounding mode that it cannot have")
    kind = type_of(instruction)
    if kind.bits < 64:
        return rounded_operation(instruction, kind)
    mode = mode_of(instruction)

    def function(*operands: Array) -> Array:
        if name == "rcp":
            return directed("div", mode, np.ones_like(operands[0]), *operands)
        return directed("fma" if name == "mad" else name, mode, *operands)

    return same_type(instruction, function)
