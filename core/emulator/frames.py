"""Activations of functions: the registers and parameters of a call, and where its stack starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.image import Image
from core.emulator.program import FunctionCode, Kind, Op

if TYPE_CHECKING:
    from core.emulator.state import MachineState


# An instruction's sources, and what it made of them. Arrays are never written in place, so that
# the same arrays give the same result: unoptimised code computes much again and again.
Result = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


class Frame:
    """One activation of a function: its registers (one array a slot) and parameters.

    `pairs` are the slots of the one or two sources of each instruction whose last result is kept in
    `results`, or None.
    """

    def __init__(
        self, code: FunctionCode, machine: MachineState, depth: int, local_base: int
    ) -> None:
        self.code = code
        self.local_base = local_base
        self.has_lines = has_lines(code, machine.image)
        self.registers: list[NDArray[Any]] = [np.zeros(1, dtype) for dtype in code.dtypes]
        self.parameters: dict[tuple[str, int], NDArray[Any]] = {}
        for slot, value in code.constants:
            self.registers[slot] = value
        self.pairs = [_pair(op) for op in code.ops]
        self.results: list[Result | None] = [None] * len(code.ops)
        for slot, name in code.specials:
            offset = code.local_offsets.get(name)
            self.registers[slot] = (
                machine.special(name)
                if offset is None
                else np.array([local_base + offset], np.int64)
            )
        if machine.record is not None:
            machine.record.stack_bases[(code.function.name, depth)] = local_base
        self.logs: list[Callable[[tuple[int, NDArray[Any]]], None] | None] = (
            machine.record.logs(code, depth) if machine.record else [None] * len(code.dtypes)
        )


def has_lines(code: FunctionCode, image: Image) -> bool:
    """Whether any instruction of the function comes from a line of the user's source."""
    function = code.function
    instructions = image.module.instructions[function.first_pc : function.end_pc]
    source = image.module.source_file
    return any(i.position.file == source and i.position.line > 0 for i in instructions)


def stack_bytes(code: FunctionCode) -> int:
    """Bytes of the function's objects in local memory."""
    nbytes = {v.name: v.nbytes for v in code.function.variables}
    return max((o + nbytes[name] for name, o in code.local_offsets.items()), default=0)


def _pair(op: Op) -> tuple[int, int] | None:
    if op.kind is not Kind.COMPUTE or op.instruction.opcode == "mov":
        return None
    return (op.sources[0], op.sources[-1]) if len(op.sources) in (1, 2) else None
