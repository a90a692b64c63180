"""Clocks, which count instructions: a fiction that never goes back.

The machine has no notion of time. `%clock`, `%clock64` and `%globaltimer` (as nanoseconds) give the
number of instructions that the blocks which run together have issued.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from core.emulator.lanes import Lanes
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op
from core.ptx.arithmetic.operation import type_of
from core.ptx.ast import Instruction, Special


def tell_clock(shift: int, bits: int, lanes: Lanes) -> bool:
    """`mov` from a clock register; `shift` is 32 for its upper half."""
    now = (lanes.state.tick >> shift) & ((1 << bits) - 1)
    lanes.write(np.array([now], f"u{bits // 8}"))
    return True


def read_clock(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes a `mov` from a clock register."""
    kind = type_of(instruction)
    source = instruction.operands[1]
    assert isinstance(source, Special)
    action = partial(tell_clock, 32 if source.name.endswith("_hi") else 0, kind.bits)
    return decoder.action(instruction, action, (instruction.operands[0],), (kind,))
