"""What an instruction gives in many blocks at once, where its operands follow from blockIdx."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import AccessEvent, Mask
from core.emulator.program import Op
from core.ptx.ast import Immediate
from core.ptx.types import TYPES, PtxType

# How a register depends on which block runs.
#
# For exact counts of a huge grid it is enough to run one block of each kind, if nothing that a
# block does depends on data, and its addresses move with blockIdx by steps that leave the counts
# alone. Each register carries a *dependence*: None (every block has this value), `Affine` (the
# value moves by a fixed step per lane for each step of blockIdx, or by what a table says of each
# block), one of the two marks below, or, where lanes that went different ways left it in different
# states,
# `Mixed`.


class Mark(Enum):
    """A dependence that cannot be followed."""

    DATA = "a value loaded from memory"
    UNKNOWN = "a value that is not a fixed step from block to block"


@dataclass(frozen=True, eq=False)
class Affine:
    """value(block) = value(this block) + x dx + y dy + z dz + table[block].

    (dx, dy, dz) is the step in blockIdx; the coefficients are int64 of shape (1,) or (lanes,).
    `table` int64 (blocks,) is how far the value lies from this block's in each of the blocks that
    are compared, the same in all lanes: what quotients and remainders of blockIdx give. None: 0.
    """

    x: NDArray[np.int64]
    y: NDArray[np.int64]
    z: NDArray[np.int64]
    table: NDArray[np.int64] | None = None

    def scaled(self, factor: NDArray[np.int64]) -> Affine | Mark | None:
        """The dependence of this value times a factor that no block changes."""
        table = self.table
        if table is not None:
            if not (factor == factor[0]).all():
                return Mark.UNKNOWN
            table = table * factor[0]
        return tidy(Affine(self.x * factor, self.y * factor, self.z * factor, table))

    def shift(self, step: NDArray[np.int64]) -> NDArray[np.int64]:
        """How far a step (3,) in blockIdx moves the value, the table left out."""
        moved: NDArray[np.int64] = self.x * step[0] + self.y * step[1] + self.z * step[2]
        return moved

    @property
    def axes(self) -> tuple[bool, bool, bool]:
        """Which of the coefficients are not zero."""
        return bool(self.x.any()), bool(self.y.any()), bool(self.z.any())


@dataclass(frozen=True)
class Mixed:
    """A dependence that differs from lane to lane: `marks` int8 (lanes,), an index into `MARKS`."""

    affine: Affine
    marks: NDArray[np.int8]


Dependence = Affine | Mark | Mixed | None
MARKS: tuple[Mark | None, ...] = (None, Mark.UNKNOWN, Mark.DATA)
ZERO = np.zeros(1, np.int64)
ONE = np.ones(1, np.int64)
_NO_STEP = Affine(ZERO, ZERO, ZERO)


def merged(before: Dependence, new: Dependence, mask: NDArray[np.bool_]) -> Dependence:
    """The dependence of a register that only the lanes of `mask` wrote."""
    (old_steps, old_marks), (new_steps, new_marks) = _parts(before), _parts(new)
    steps = _where(mask, new_steps, old_steps, new_steps.table)
    if old_steps.table is not new_steps.table:  # only one table fits here: that of these lanes
        old_marks = np.maximum(old_marks, MARKS.index(Mark.UNKNOWN))
    marks = np.where(mask, new_marks, old_marks).astype(np.int8)
    return Mixed(steps, marks) if marks.any() else tidy(steps)


def _where(
    condition: NDArray[Any], one: Affine, other: Affine, table: NDArray[np.int64] | None
) -> Affine:
    pairs = ((one.x, other.x), (one.y, other.y), (one.z, other.z))
    x, y, z = (np.where(condition, a, b) for a, b in pairs)
    return Affine(x, y, z, table)


def of_lanes(dependence: Dependence, mask: NDArray[np.bool_] | None) -> Affine | Mark | None:
    """The dependence as the lanes of `mask` (None: all) see it."""
    if not isinstance(dependence, Mixed):
        return dependence
    worst = int((dependence.marks if mask is None else dependence.marks[mask]).max())
    return MARKS[worst] if worst else tidy(dependence.affine)


def _parts(dependence: Dependence) -> tuple[Affine, NDArray[np.int8]]:
    if isinstance(dependence, Mixed):
        return dependence.affine, dependence.marks
    if isinstance(dependence, Affine):
        return dependence, np.zeros(1, np.int8)
    return _NO_STEP, np.array([MARKS.index(dependence)], np.int8)


def special_dependence(name: str) -> Dependence:
    """The dependence of a special register."""
    axis = {"%ctaid.x": 0, "%ctaid.y": 1, "%ctaid.z": 2}.get(name)
    if axis is not None:
        unit = [ZERO, ZERO, ZERO]
        unit[axis] = ONE
        return Affine(*unit)
    if name.startswith(("%clock", "%globaltimer", "%smid")):
        return Mark.DATA
    return None


def plus(a: Dependence, b: Dependence, sign: int = 1) -> Dependence:
    """The dependence of a + b (or, with `sign` -1, of a - b)."""
    mark = _mark(a, b)
    if mark is not None:
        return mark
    left = a if isinstance(a, Affine) else _NO_STEP
    right = b if isinstance(b, Affine) else _NO_STEP
    table = left.table
    if right.table is not None:
        table = sign * right.table if table is None else table + sign * right.table
    return tidy(
        Affine(left.x + sign * right.x, left.y + sign * right.y, left.z + sign * right.z, table)
    )


def times(a: Dependence, va: NDArray[Any], b: Dependence, vb: NDArray[Any]) -> Dependence:
    """The dependence of a * b, of which `va` and `vb` are the values."""
    mark = _mark(a, b)
    if mark is not None:
        return mark
    if isinstance(a, Affine) and isinstance(b, Affine):
        return Mark.UNKNOWN
    if isinstance(a, Affine):
        return a.scaled(vb.astype(np.int64))
    if isinstance(b, Affine):
        return times(b, vb, a, va)
    return None


def tidy(value: Affine) -> Affine | None:
    """None where every coefficient has become zero."""
    return value if value.table is not None or any(value.axes) else None


def _mark(*dependences: Dependence) -> Mark | None:
    marks = [d for d in dependences if isinstance(d, Mark)]
    if Mark.DATA in marks:
        return Mark.DATA
    return marks[0] if marks else None


def transfer(
    op: Op, read: Callable[[int], tuple[NDArray[Any], Dependence]], in_range: InRange
) -> Dependence:
    """The dependence of an integer instruction's result.

    `read(i)` gives source operand i (0 the first after the destination) as value and dependence;
    `in_range` says whether a value stays within a type for every block.
    """
    instruction = op.instruction
    opcode, modifiers = instruction.opcode, instruction.modifiers
    kinds = [TYPES[m] for m in modifiers if m in TYPES]
    count = len(instruction.operands) - 1
    operands = [read(i) for i in range(count)]
    values = [value for value, _ in operands]
    dependences = [dependence for _, dependence in operands]
    mark = _mark(*dependences)
    if mark is not None:
        return mark
    if not kinds or kinds[-1].is_float:
        return Mark.UNKNOWN
    kind = kinds[-1]
    if opcode in ("mov", "cvta"):
        return dependences[0]
    if opcode == "cvt":
        return _convert(kinds, values[0], dependences[0], in_range)
    if opcode in ("add", "sub") and "sat" not in modifiers and "cc" not in modifiers:
        return plus(dependences[0], dependences[1], -1 if opcode == "sub" else 1)
    if opcode == "neg" and isinstance(dependences[0], Affine):
        return dependences[0].scaled(np.array([-1]))
    if opcode in ("mul", "mad") and "hi" not in modifiers and "sat" not in modifiers:
        if "wide" in modifiers and not all(
            in_range(v, d, kind)
            for v, d in zip(values[:2], dependences[:2], strict=True)
            if isinstance(d, Affine)
        ):
            return Mark.UNKNOWN
        product = times(dependences[0], values[0], dependences[1], values[1])
        return plus(product, dependences[2]) if opcode == "mad" else product
    if opcode == "shl" and dependences[1] is None and isinstance(dependences[0], Affine):
        return dependences[0].scaled(1 << _amount(instruction.operands[2], values[1]))
    if opcode == "selp" and dependences[2] is None:
        return select(values[2], dependences[0], dependences[1])
    return Mark.UNKNOWN


InRange = Callable[[NDArray[Any], Affine, PtxType], bool]


def _amount(operand: object, value: NDArray[Any]) -> NDArray[np.int64]:
    if isinstance(operand, Immediate):
        return np.array([operand.value], np.int64)
    return value.astype(np.int64) & 63


def _convert(
    kinds: list[PtxType], value: NDArray[Any], dependence: Dependence, in_range: InRange
) -> Dependence:
    to, source = kinds[0], kinds[-1]
    if to.is_float or source.is_float:
        return Mark.UNKNOWN
    widens = to.bits > source.bits
    if widens and isinstance(dependence, Affine) and not in_range(value, dependence, source):
        return Mark.UNKNOWN
    return dependence


def select(condition: NDArray[Any], a: Dependence, b: Dependence) -> Dependence:
    """The dependence of `a` in the lanes where the condition holds, of `b` in the others."""
    left = a if isinstance(a, Affine) else _NO_STEP
    right = b if isinstance(b, Affine) else _NO_STEP
    table = left.table
    if left.table is not right.table:
        if not (condition == condition[0]).all():
            return Mark.UNKNOWN
        table = left.table if condition[0] else right.table
    return tidy(_where(condition, left, right, table))


# How what lies in local memory depends on which block runs.
#
# A debug build keeps in local memory what is passed by reference and arrays with an index; where
# all threads use the same place of their stacks, what was stored there is followed like a register.


class LocalDependences:
    """The dependence of every element that was stored in local memory."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[int, Dependence]] = {}  # address: (bytes, dependence)

    def forget(self) -> None:
        """Forgets the dependences of everything on the stack."""
        self._places.clear()

    def store(self, event: AccessEvent, stored: list[Dependence], mask: Mask | None) -> None:
        """Elements of a store by the lanes of `mask` (None: all), one dependence each."""
        first = place_of(event)
        if first is None:
            self.forget()
            return
        size = event.width // len(stored)
        for i, dependence in enumerate(stored):
            place = first + i * size
            before = self._at(place, size)
            self._clear(place, size)
            new = dependence if mask is None else merged(before, dependence, mask)
            self._places[place] = size, new

    def load(self, event: AccessEvent, count: int) -> list[Dependence]:
        """The dependence of each of `count` elements that were loaded."""
        first, size = place_of(event), event.width // count
        if first is None:
            return [Mark.DATA] * count
        return [self._at(first + i * size, size) for i in range(count)]

    def _at(self, place: int, size: int) -> Dependence:
        nbytes, dependence = self._places.get(place, (0, Mark.DATA))
        return dependence if nbytes == size else Mark.DATA

    def _clear(self, place: int, size: int) -> None:
        """Takes out what a store of `size` bytes, at most 16, overlaps."""
        for other in range(place - 15, place + size):
            if other in self._places and other + self._places[other][0] > place:
                del self._places[other]


def place_of(event: AccessEvent) -> int | None:
    """The address that all lanes of an access have, or None if they differ."""
    address = event.address
    if address.size > 1 and event.mask is not None:
        address = address[event.mask]
    first = int(address[0])
    return first if address.size == 1 or bool((address == first).all()) else None


# Helpers of the tracking machine: values, types, and how far they move between blocks.


def as_kind(value: NDArray[Any], kind: PtxType) -> NDArray[Any]:
    """A register's value as an instruction of another type of that size reads it."""
    return value.view(kind.dtype) if value.dtype.itemsize == kind.dtype.itemsize else value


def varies(dependence: Affine | None) -> bool:
    """Whether an address moves by other steps in some lanes than in others."""
    if dependence is None:
        return False
    return any(bool((c != c[0]).any()) for c in (dependence.x, dependence.y, dependence.z))


def range_of(kind: PtxType) -> tuple[int, int]:
    """The least and the greatest value of a type, bits taken as signed."""
    if kind.kind in ("s", "b"):
        return -(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1
    return 0, min((1 << kind.bits) - 1, (1 << 63) - 1)


def corners_of(steps: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The corners of the box that the steps lie in: an affine value is extreme at one of them."""
    low, high = steps.min(axis=0), steps.max(axis=0)
    return [
        np.array([x, y, z])
        for x in {low[0], high[0]}
        for y in {low[1], high[1]}
        for z in {low[2], high[2]}
    ]


_MOST_VALUES = 1 << 23  # lanes times different blocks that one instruction is worked out for


@dataclass(frozen=True)
class Blocks:
    """The blocks that are compared: `steps` int64 (n, 3) in blockIdx from the one that runs.

    `which` bool (n,) are those among them that still do the same.
    """

    steps: NDArray[np.int64]
    which: NDArray[np.bool_]


class OverBlocks:
    """The operands of an instruction in every block that differs in them.

    Values are int64 (lanes, m): the lanes that take part, or a single one where all are alike, by
    the m different blocks; `inverse` says which of these each of the blocks `which` is.
    """

    def __init__(
        self,
        op: Op,
        registers: list[NDArray[Any]],
        affine: Mapping[int, Affine],
        blocks: Blocks,
        mask: Mask | None,
    ) -> None:
        self._op, self._registers, self._affine = op, registers, affine
        tables = list(
            {id(d.table): d.table for d in affine.values() if d.table is not None}.values()
        )
        axes = np.flatnonzero(np.any([d.axes for d in affine.values()], axis=0))
        which = blocks.which
        columns = [blocks.steps[which][:, axes], *(table[which, None] for table in tables)]
        rows, inverse = np.unique(np.concatenate(columns, axis=1), axis=0, return_inverse=True)
        self.inverse = inverse.reshape(-1)
        self._steps = np.zeros((len(rows), 3), np.int64)
        self._steps[:, axes] = rows[:, : len(axes)]
        self._tables = {id(t): rows[:, len(axes) + i] for i, t in enumerate(tables)}
        self._lanes = self._chosen(mask)

    @property
    def is_too_much(self) -> bool:
        """Whether working it out would take too long."""
        lanes = 1 if self._lanes is None else len(self._lanes)
        return lanes * len(self._steps) > _MOST_VALUES

    def _chosen(self, mask: Mask | None) -> NDArray[np.intp] | None:
        """The lanes to look at; None where nothing has more than one value."""
        arrays = [self._registers[slot] for slot in self._op.sources]
        arrays += [c for d in self._affine.values() for c in (d.x, d.y, d.z)]
        wide = [a for a in arrays if a.size > 1]
        if not wide:
            return None
        lanes = np.arange(wide[0].size) if mask is None else np.flatnonzero(mask)
        if all((a[lanes] == a[lanes[0]]).all() for a in wide):
            return lanes[:1]
        return lanes

    def of_lanes(self, values: NDArray[Any]) -> NDArray[Any]:
        """A register's values in the lanes that are looked at."""
        return values if values.size == 1 or self._lanes is None else values[self._lanes]

    def to_lanes(self, values: NDArray[Any], size: int) -> NDArray[Any]:
        """The other way: values of these lanes as those of `size` lanes, the first's elsewhere."""
        if self._lanes is None or len(values) == 1:
            return values[:1]
        found = np.full(size, values[0])
        found[self._lanes] = values
        return found

    def operand(self, slot: int) -> NDArray[np.int64]:
        """A source register's values."""
        values: NDArray[Any] = self.of_lanes(self._registers[slot]).astype(np.int64)[:, None]
        dependence = self._affine.get(slot)
        if dependence is None:
            return np.repeat(values, len(self._steps), axis=1)
        for coefficient, steps in zip(
            (dependence.x, dependence.y, dependence.z), self._steps.T, strict=True
        ):
            values = values + self.of_lanes(coefficient)[:, None] * steps
        if dependence.table is not None:
            values = values + self._tables[id(dependence.table)]
        return values

    def results(self) -> tuple[NDArray[Any], ...]:
        """What the instruction gives: one array for each destination."""
        shape = (1 if self._lanes is None else len(self._lanes), len(self._steps))
        registers = list(self._registers)
        for slot in self._op.sources:
            given = np.broadcast_to(self.operand(slot), shape).reshape(-1)
            registers[slot] = given.astype(self._registers[slot].dtype)
        return self._computed(registers, shape)

    def here(self) -> tuple[NDArray[Any], ...]:
        """The same in the block that runs, each of shape (lanes, 1)."""
        registers = list(self._registers)
        for slot in self._op.sources:
            registers[slot] = self.of_lanes(self._registers[slot])
        return self._computed(registers, (1 if self._lanes is None else len(self._lanes), 1))

    def _computed(
        self, registers: list[NDArray[Any]], shape: tuple[int, int]
    ) -> tuple[NDArray[Any], ...]:
        assert self._op.compute is not None
        found = self._op.compute(registers)
        several = found if isinstance(found, tuple) else (found,)
        return tuple(np.broadcast_to(one, shape[0] * shape[1]).reshape(shape) for one in several)
