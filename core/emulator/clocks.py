"""Clocks, which count instructions: a fiction that never goes back.

The machine has no notion of time. `%clock`, `%clock64` and `%globaltimer` (as nanoseconds) give the
number of instructions that the blocks which run together have issued.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.emulator.lanes import Lanes
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op
from core.ptx.arithmetic.operation import type_of
from core.ptx.ast import Instruction, Special


@dataclass(frozen=True)
class ReadClock:
    """`mov` from a clock register."""

    shift: int  # 32 for the upper half
    bits: int

    def __call__(self, lanes: Lanes) -> bool:
        """Reads the clock."""
        now = (lanes.state.tick >> self.shift) & ((1 << self.bits) - 1)
        lanes.write(np.array([now], f"u{self.bits // 8}"))
        return True


def read_clock(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes a `mov` from a clock register."""
    kind = type_of(instruction)
    source = instruction.operands[1]
    assert isinstance(source, Special)
    action = ReadClock(32 if source.name.endswith("_hi") else 0, kind.bits)
    return decoder.action(instruction, action, (instruction.operands[0],), (kind,))
