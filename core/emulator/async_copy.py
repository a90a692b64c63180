"""`cp.async`: a copy from global to shared memory that does not pass through registers.

The emulator copies at once, by a load from global memory and a store to shared memory. So the
instructions that wait for a copy only tell the observers, which know what is still in flight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.bulk_copies import bulk_copy
from core.emulator.events import Ints, Mask
from core.emulator.lanes import Lanes
from core.emulator.mbarriers import arrive_after_copies
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.ptx.arithmetic.operation import immediate, unsupported
from core.ptx.ast import Address, Instruction, Negated, Register
from core.ptx.types import PRED, TYPES

_WORD, _BYTE = TYPES["b32"], TYPES["u8"]


@dataclass(frozen=True)
class AsyncCopy:
    """`size` bytes a lane; of them `given` (None: all) are copied, the others set to zero."""

    size: int
    to: Reader
    source: Reader
    given: Reader | None
    ignore: Reader | None

    def __call__(self, lanes: Lanes) -> bool:
        """Copies."""
        source, to = lanes.read(self.source), lanes.read(self.to)
        given = np.full(lanes.count, self.size)
        if self.given is not None:
            given = np.minimum(lanes.read(self.given).astype(np.int64), self.size)
        if self.ignore is not None:
            given = np.where(lanes.read(self.ignore), 0, given)
        words = lanes.access("load", _WORD, source, count=self.size // 4, only=given == self.size)
        whole = [np.where(given == self.size, w, 0).astype(np.int32) for w in words]
        partly = (given > 0) & (given < self.size) & lanes.active
        if partly.any():
            whole = self._bytes(lanes, source, given, partly, whole)
        lanes.access("store", _WORD, to, tuple(whole), count=self.size // 4)
        return True

    def _bytes(
        self, lanes: Lanes, source: Ints, given: Ints, partly: Mask, words: list[NDArray[Any]]
    ) -> list[NDArray[Any]]:
        """Lanes that copy less than the whole, byte by byte."""
        raw = np.stack(words, 1).view(np.uint8)
        for i in range(int(given[partly].max())):
            here = partly & (given > i)
            (value,) = lanes.access("load", _BYTE, source + i, only=here)
            raw[:, i] = np.where(here, value, raw[:, i])
        return [np.ascontiguousarray(w) for w in raw.view(np.int32).T]


@dataclass(frozen=True)
class CopyGroups:
    """`cp.async.commit_group`, `wait_group` of all groups but the `left` latest, and `wait_all`."""

    commits: bool
    left: int | None = None  # None: it does not wait

    def __call__(self, lanes: Lanes) -> bool:
        """Tells of it: nobody has to wait."""
        if self.commits:
            lanes.tell_copies("commit")
        if self.left is not None:
            lanes.tell_copies("wait", self.left)
        return True


def _groups(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """`wait_all` is a commit and a wait for all groups (PTX ISA, "cp.async.wait_all")."""
    modifiers = instruction.modifiers
    if "wait_group" not in modifiers:
        groups = CopyGroups(commits=True, left=0 if "wait_all" in modifiers else None)
        return decoder.action(instruction, groups)
    left = immediate(instruction.operands[0]) if instruction.operands else None
    if left is None:
        raise unsupported(instruction, "does not say how many groups")
    return decoder.action(instruction, CopyGroups(commits=False, left=left))


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
    action = AsyncCopy(
        nbytes,
        decoder.address(instruction, to, "shared"),
        decoder.address(instruction, source, "global"),
        given,
        ignore,
    )
    return decoder.action(instruction, action)
