"""Activations of functions: the registers and parameters of a call, and where its stack starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.program import FunctionCode

# An instruction's sources, and what it made of them. Arrays are never written in place, so that
# the same arrays give the same result: unoptimised code computes much again and again.
Result = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
Log = Callable[[tuple[int, NDArray[Any]]], None]  # notes a new value and its tick


class Frame:
    """One activation of a function: its registers (one array a slot) and parameters.

    `results` are the last ones of instructions that keep them (`Op.pair`); `logs` note the values
    of the slots that are recorded.
    """

    def __init__(
        self,
        code: FunctionCode,
        local_base: int,
        special: Callable[[str], NDArray[Any]],
        logs: list[Log | None],
        *,
        has_lines: bool,
    ) -> None:
        """`local_base` in bytes, where local variables start; `special` reads special registers."""
        self.code, self.local_base, self.has_lines, self.logs = code, local_base, has_lines, logs
        self.registers: list[NDArray[Any]] = [np.zeros(1, dtype) for dtype in code.dtypes]
        self.parameters: dict[tuple[str, int], NDArray[Any]] = {}
        for slot, value in code.constants:
            self.registers[slot] = value
        self.results: list[Result | None] = [None] * len(code.ops)
        for slot, name in code.specials:
            offset = code.local_offsets.get(name)
            self.registers[slot] = (
                special(name) if offset is None else np.array([local_base + offset], np.int64)
            )


def stack_bytes(code: FunctionCode) -> int:
    """Bytes of the function's objects in local memory."""
    nbytes = {v.name: v.nbytes for v in code.function.variables}
    return max((o + nbytes[name] for name, o in code.local_offsets.items()), default=0)
