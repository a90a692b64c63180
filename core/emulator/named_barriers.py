"""`bar` and `barrier`, those too with a count or in a register, that only announce or vote.

A barrier lets a block's waiting threads go on when as many threads as its count says have come to
it, or, without a count, all its living ones.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.clusters import cluster_barrier
from core.emulator.geometry import WARP
from core.emulator.machine import ActionLanes
from core.emulator.operands import OperandDecoder
from core.emulator.program import Kind, Op, Reader
from core.errors import TilescopeError
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Instruction, Operand, immediate
from core.ptx.types import PRED, TYPES, PtxType

BARRIERS = 16  # of a block


def arrive_or_wait(
    number: Reader, count: Reader | None, waits: bool, predicate: Reader | None, lanes: ActionLanes
) -> bool:
    """`bar` and `barrier` in any form but the plain one; True if the lanes go on at once."""
    numbers, active = lanes.read(number), lanes.active
    counts = None if count is None else lanes.read(count)
    must_exist(lanes.op.instruction, numbers[active], None if counts is None else counts[active])
    votes = active if predicate is None else lanes.read(predicate) & active
    lanes.machine.barriers.named.come(lanes, numbers, counts, votes, waits=waits)
    return not waits


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


def barrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `bar` and `barrier`: of a cluster, a warp, a whole block, or some warps of it."""
    modifiers, operands = set(instruction.modifiers), instruction.operands
    if "cluster" in modifiers:
        return cluster_barrier(decoder, instruction)
    if "warp" in modifiers:
        return Op(Kind.SYNC, instruction, payload=decoder.members(instruction))
    number = immediate(operands[0])
    if len(operands) == 1 and number is not None and not {"red", "arrive"} & modifiers:
        must_exist(instruction, np.array([number]))
        return Op(Kind.BARRIER, instruction, payload=number)
    return _named_barrier(decoder, instruction)


def _named_barrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
    table = decoder.table
    modifiers = instruction.modifiers
    operands = list(instruction.operands)
    predicate: Reader | None = None
    into: tuple[Operand, ...] = ()
    types: tuple[PtxType, ...] = ()
    if "red" in modifiers:
        reduction = next(m for m in ("popc", "and", "or") if m in modifiers)
        into, types = (operands.pop(0),), (TYPES["u32"] if reduction == "popc" else PRED,)
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
    action = partial(arrive_or_wait, number, count, "arrive" not in modifiers, predicate)
    return decoder.action(instruction, action, into, types)
