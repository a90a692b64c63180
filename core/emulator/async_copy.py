"""`cp.async`: a copy from global to shared memory that does not pass through registers.

The emulator copies at once, by a load from global memory and a store to shared memory. So the
instructions that wait for a copy only tell the observers, which know what is still in flight.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.bulk_copies import bulk_copy
from core.emulator.events import Ints, Mask
from core.emulator.machine_state import Lanes
from core.emulator.mbarriers import arrive_after_copies
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Address, Instruction, Negated, Register, immediate
from core.ptx.types import PRED, TYPES

_WORD, _BYTE = TYPES["b32"], TYPES["u8"]


def copy(
    size: int, to: Reader, source: Reader, given: Reader | None, ignore: Reader | None, lanes: Lanes
) -> bool:
    """`size` bytes a lane; of them `given` (None: all) are copied, the others set to zero."""
    addresses, targets = lanes.read(source), lanes.read(to)
    nbytes = np.full(lanes.count, size)
    if given is not None:
        nbytes = np.minimum(lanes.read(given).astype(np.int64), size)
    if ignore is not None:
        nbytes = np.where(lanes.read(ignore), 0, nbytes)
    words = lanes.access("load", _WORD, addresses, count=size // 4, only=nbytes == size)
    whole = [np.where(nbytes == size, w, 0).astype(np.int32) for w in words]
    partly = (nbytes > 0) & (nbytes < size) & lanes.active
    if partly.any():
        whole = _by_bytes(lanes, addresses, nbytes, partly, whole)
    lanes.access("store", _WORD, targets, tuple(whole), count=size // 4)
    return True


def _by_bytes(
    lanes: Lanes, source: Ints, given: Ints, partly: Mask, words: list[NDArray[Any]]
) -> list[NDArray[Any]]:
    """Lanes that copy less than the whole, byte by byte."""
    raw = np.stack(words, 1).view(np.uint8)
    for i in range(int(given[partly].max())):
        here = partly & (given > i)
        (value,) = lanes.access("load", _BYTE, source + i, only=here)
        raw[:, i] = np.where(here, value, raw[:, i])
    return [np.ascontiguousarray(w) for w in raw.view(np.int32).T]


def tell_groups(commits: bool, left: int | None, lanes: Lanes) -> bool:
    """`cp.async.commit_group`, `wait_group` of all groups but the `left` latest, and `wait_all`.

    Nobody has to wait. `left` None: it is no wait.
    """
    if commits:
        lanes.tell_copies("commit")
    if left is not None:
        lanes.tell_copies("wait", left)
    return True


def _groups(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """`wait_all` is a commit and a wait for all groups (PTX ISA, "cp.async.wait_all")."""
    modifiers = instruction.modifiers
    if "wait_group" not in modifiers:
        groups = partial(tell_groups, True, 0 if "wait_all" in modifiers else None)
        return decoder.action(instruction, groups)
    left = immediate(instruction.operands[0]) if instruction.operands else None
    if left is None:
        raise unsupported(instruction, "does not say how many groups")
    return decoder.action(instruction, partial(tell_groups, False, left))


def async_copy(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `cp.async` and its groups."""
    modifiers = instruction.modifiers
    if "mbarrier" in modifiers:
        return arrive_after_copies(decoder, instruction)
    if "bulk" in modifiers:
        return bulk_copy(decoder, instruction)
    if {"commit_group", "wait_group", "wait_all"} & set(modifiers):
        return _groups(decoder, instruction)
    if not {"ca", "cg"} & set(modifiers):
        raise unsupported(instruction)
    to, source, size, *rest = instruction.operands
    nbytes = immediate(size)
    if not isinstance(to, Address) or not isinstance(source, Address) or nbytes not in (4, 8, 16):
        raise unsupported(instruction, "is not a copy of 4, 8 or 16 bytes")
    if any("cache_hint" in m for m in modifiers):
        rest = rest[:-1]
    given = ignore = None
    if rest:
        operand = rest[0]
        inner = operand.operand if isinstance(operand, Negated) else operand
        predicate = isinstance(inner, Register) and decoder.function.registers[inner.name] is PRED
        if predicate:
            ignore = decoder.table.read(instruction, operand, PRED)
        else:
            given = decoder.table.read(instruction, operand, TYPES["u32"])
    action = partial(
        copy,
        nbytes,
        decoder.address(instruction, to, "shared"),
        decoder.address(instruction, source, "global"),
        given,
        ignore,
    )
    return decoder.action(instruction, action)
