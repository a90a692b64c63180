"""`bar` and `barrier` with a count or in a register, that only announce (`arrive`) or vote (`red`).

A barrier lets a block's waiting threads go on when as many threads as its count says have come to
it, or, without a count, all its living ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.groups import WARP
from core.emulator.lanes import Lanes, action_op
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.errors import TilescopeError
from core.ptx.arithmetic.operation import immediate, unsupported
from core.ptx.ast import Instruction
from core.ptx.types import PRED, TYPES

BARRIERS = 16  # of a block


@dataclass(frozen=True)
class ArriveOrWait:
    """`bar` and `barrier` in any form but the plain one."""

    number: Reader
    count: Reader | None
    waits: bool
    reduction: str
    predicate: Reader | None
    writers: tuple[Callable[..., Any], ...]

    def run(self, lanes: Lanes) -> bool:
        """Arrives; True if the lanes go on at once."""
        numbers, active = lanes.read(self.number), lanes.active
        count = None if self.count is None else lanes.read(self.count)
        must_exist(lanes.op.instruction, numbers[active], None if count is None else count[active])
        votes = active if self.predicate is None else lanes.read(self.predicate) & active
        lanes.machine.come(lanes, numbers, count, votes, waits=self.waits)
        return not self.waits


def must_exist(
    instruction: Instruction, numbers: NDArray[Any], counts: NDArray[Any] | None = None
) -> None:
    """Raises `TilescopeError` for a barrier that no block has, or a count of half a warp.

    PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier".
    """
    where = f"Line {instruction.position.line}: `{instruction.text.strip()}`"
    wrong = numbers[(numbers < 0) | (numbers >= BARRIERS)]
    if wrong.size:
        raise TilescopeError(
            f"{where} names barrier {int(wrong[0])}: a block has barriers 0 to {BARRIERS - 1}."
        )
    if counts is None:
        return
    odd = counts[(counts % WARP != 0) | ((counts == 0) & ("arrive" in instruction.modifiers))]
    if odd.size:
        raise TilescopeError(
            f"{where} counts {int(odd[0])} threads: a barrier counts whole warps, so give a "
            f"multiple of {WARP}."
        )


def named_barrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes any form of `bar` and `barrier` but `bar.sync` of everybody."""
    table = decoder.table
    modifiers = instruction.modifiers
    operands = list(instruction.operands)
    reduction, predicate = "", None
    slots: tuple[int, ...] = ()
    writers: tuple[Callable[..., Any], ...] = ()
    if "red" in modifiers:
        reduction = next(m for m in ("popc", "and", "or") if m in modifiers)
        kind = TYPES["u32"] if reduction == "popc" else PRED
        slots, writers = decoder.plain_writers(instruction, (operands.pop(0),), (kind,))
        predicate = table.read(instruction, operands.pop(), PRED)
    if not 1 <= len(operands) <= 2 or ("arrive" in modifiers and len(operands) != 2):
        raise unsupported(instruction, "has the wrong number of operands")
    given = [immediate(operand) for operand in operands]
    constant = [None if value is None else np.array([value]) for value in given]
    if constant[0] is not None or constant[-1] is not None:
        known = constant[1] if len(constant) == 2 else None
        must_exist(instruction, constant[0] if constant[0] is not None else np.zeros(1), known)
    count = table.read(instruction, operands[1], TYPES["u32"]) if len(operands) == 2 else None
    number = table.read(instruction, operands[0], TYPES["u32"])
    action = ArriveOrWait(number, count, "arrive" not in modifiers, reduction, predicate, writers)
    return action_op(instruction, action, slots)
