"""A machine that runs one block and follows how its values depend on which block it is.

For exact counts of a huge grid it is enough to run one block of each kind, if nothing that a block
does depends on data, and its addresses move with blockIdx by steps that leave the counts alone.
Each register carries a *dependence*: None (every block has this value), `Affine` (the value moves
by a fixed step per lane for each step of blockIdx, or by what a table says of each block), a `Mark`
(it cannot be followed) or, where lanes that went different ways left it in different states,
`_Mixed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.async_copies import copy, tell_groups
from core.emulator.calls import Calls, register_slots
from core.emulator.events import AccessEvent, Ints, Mask, Observer
from core.emulator.machine import Machine
from core.emulator.machine_state import Frame, Group, Lanes, MachineState
from core.emulator.program import Call, MemoryAccess, Op, ParameterAccess
from core.emulator.tensor_cores import (
    load_fragment,
    load_matrix,
    move_matrix,
    product,
    store_fragment,
    store_matrix,
)
from core.ptx.ast import Address, Function, Immediate, Negated, Operand, Register, Symbol, elements
from core.ptx.ast import Group as Operands
from core.ptx.types import PRED, TYPES, PtxType


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
        return _tidy(Affine(self.x * factor, self.y * factor, self.z * factor, table))

    def shift(self, step: NDArray[np.int64]) -> NDArray[np.int64]:
        """How far a step (3,) in blockIdx moves the value, the table left out."""
        moved: NDArray[np.int64] = self.x * step[0] + self.y * step[1] + self.z * step[2]
        return moved

    @property
    def axes(self) -> tuple[bool, bool, bool]:
        """Which of the coefficients are not zero."""
        return bool(self.x.any()), bool(self.y.any()), bool(self.z.any())


@dataclass(frozen=True)
class _Mixed:
    """A dependence that differs from lane to lane: `marks` int8 (lanes,), a place in `_MARKS`."""

    affine: Affine
    marks: NDArray[np.int8]


Dependence = Affine | Mark | _Mixed | None
_MARKS: tuple[Mark | None, ...] = (None, Mark.UNKNOWN, Mark.DATA)
_ZERO = np.zeros(1, np.int64)
_ONE = np.ones(1, np.int64)
_NO_STEP = Affine(_ZERO, _ZERO, _ZERO)


def _merged(before: Dependence, new: Dependence, mask: NDArray[np.bool_]) -> Dependence:
    """The dependence of a register that only the lanes of `mask` wrote."""
    (old_steps, old_marks), (new_steps, new_marks) = _parts(before), _parts(new)
    steps = _where(mask, new_steps, old_steps, new_steps.table)
    if old_steps.table is not new_steps.table:  # only one table fits here: that of these lanes
        old_marks = np.maximum(old_marks, _MARKS.index(Mark.UNKNOWN))
    marks = np.where(mask, new_marks, old_marks).astype(np.int8)
    return _Mixed(steps, marks) if marks.any() else _tidy(steps)


def _where(
    condition: NDArray[Any], one: Affine, other: Affine, table: NDArray[np.int64] | None
) -> Affine:
    pairs = ((one.x, other.x), (one.y, other.y), (one.z, other.z))
    x, y, z = (np.where(condition, a, b) for a, b in pairs)
    return Affine(x, y, z, table)


def _of_lanes(dependence: Dependence, mask: NDArray[np.bool_] | None) -> Affine | Mark | None:
    """The dependence as the lanes of `mask` (None: all) see it."""
    if not isinstance(dependence, _Mixed):
        return dependence
    worst = int((dependence.marks if mask is None else dependence.marks[mask]).max())
    return _MARKS[worst] if worst else _tidy(dependence.affine)


def _parts(dependence: Dependence) -> tuple[Affine, NDArray[np.int8]]:
    if isinstance(dependence, _Mixed):
        return dependence.affine, dependence.marks
    if isinstance(dependence, Affine):
        return dependence, np.zeros(1, np.int8)
    return _NO_STEP, np.array([_MARKS.index(dependence)], np.int8)


def _varies(dependence: Affine | None) -> bool:
    """Whether an address moves by other steps in some lanes than in others."""
    if dependence is None:
        return False
    return any(bool((c != c[0]).any()) for c in (dependence.x, dependence.y, dependence.z))


def _special_dependence(name: str) -> Dependence:
    """The dependence of a special register."""
    axis = {"%ctaid.x": 0, "%ctaid.y": 1, "%ctaid.z": 2}.get(name)
    if axis is not None:
        unit = [_ZERO, _ZERO, _ZERO]
        unit[axis] = _ONE
        return Affine(*unit)
    if name.startswith(("%clock", "%globaltimer", "%smid")):
        return Mark.DATA
    return None


def _plus(a: Dependence, b: Dependence, sign: int = 1) -> Dependence:
    """The dependence of a + b (or, with `sign` -1, of a - b)."""
    mark = _mark(a, b)
    if mark is not None:
        return mark
    left = a if isinstance(a, Affine) else _NO_STEP
    right = b if isinstance(b, Affine) else _NO_STEP
    table = left.table
    if right.table is not None:
        table = sign * right.table if table is None else table + sign * right.table
    return _tidy(
        Affine(left.x + sign * right.x, left.y + sign * right.y, left.z + sign * right.z, table)
    )


def _times(a: Dependence, va: NDArray[Any], b: Dependence, vb: NDArray[Any]) -> Dependence:
    """The dependence of a * b, of which `va` and `vb` are the values."""
    mark = _mark(a, b)
    if mark is not None:
        return mark
    if isinstance(a, Affine) and isinstance(b, Affine):
        return Mark.UNKNOWN
    if isinstance(a, Affine):
        return a.scaled(vb.astype(np.int64))
    if isinstance(b, Affine):
        return _times(b, vb, a, va)
    return None


def _tidy(value: Affine) -> Affine | None:
    """None where every coefficient has become zero."""
    return value if value.table is not None or any(value.axes) else None


def _mark(*dependences: Dependence) -> Mark | None:
    marks = [d for d in dependences if isinstance(d, Mark)]
    if Mark.DATA in marks:
        return Mark.DATA
    return marks[0] if marks else None


def _transfer(
    op: Op, read: Callable[[int], tuple[NDArray[Any], Dependence]], in_range: _InRange
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
        return _plus(dependences[0], dependences[1], -1 if opcode == "sub" else 1)
    if opcode == "neg" and isinstance(dependences[0], Affine):
        return dependences[0].scaled(np.array([-1]))
    if opcode in ("mul", "mad") and "hi" not in modifiers and "sat" not in modifiers:
        if "wide" in modifiers and not all(
            in_range(v, d, kind)
            for v, d in zip(values[:2], dependences[:2], strict=True)
            if isinstance(d, Affine)
        ):
            return Mark.UNKNOWN
        product = _times(dependences[0], values[0], dependences[1], values[1])
        return _plus(product, dependences[2]) if opcode == "mad" else product
    if opcode == "shl" and dependences[1] is None and isinstance(dependences[0], Affine):
        return dependences[0].scaled(1 << _amount(instruction.operands[2], values[1]))
    if opcode == "selp" and dependences[2] is None:
        return _select(values[2], dependences[0], dependences[1])
    return Mark.UNKNOWN


_InRange = Callable[[NDArray[Any], Affine, PtxType], bool]


def _amount(operand: object, value: NDArray[Any]) -> NDArray[np.int64]:
    if isinstance(operand, Immediate):
        return np.array([operand.value], np.int64)
    return value.astype(np.int64) & 63


def _convert(
    kinds: list[PtxType], value: NDArray[Any], dependence: Dependence, in_range: _InRange
) -> Dependence:
    to, source = kinds[0], kinds[-1]
    if to.is_float or source.is_float:
        return Mark.UNKNOWN
    widens = to.bits > source.bits
    if widens and isinstance(dependence, Affine) and not in_range(value, dependence, source):
        return Mark.UNKNOWN
    return dependence


def _select(condition: NDArray[Any], a: Dependence, b: Dependence) -> Dependence:
    """The dependence of `a` in the lanes where the condition holds, of `b` in the others."""
    left = a if isinstance(a, Affine) else _NO_STEP
    right = b if isinstance(b, Affine) else _NO_STEP
    table = left.table
    if left.table is not right.table:
        if not (condition == condition[0]).all():
            return Mark.UNKNOWN
        table = left.table if condition[0] else right.table
    return _tidy(_where(condition, left, right, table))


# What an instruction gives in many blocks at once, where its operands follow from blockIdx.


_MOST_VALUES = 1 << 23  # lanes times different blocks that one instruction is worked out for


@dataclass(frozen=True)
class _Blocks:
    """The blocks that are compared: `steps` int64 (n, 3) in blockIdx from the one that runs.

    `which` bool (n,) are those among them that still do the same.
    """

    steps: NDArray[np.int64]
    which: NDArray[np.bool_]


class _OverBlocks:
    """The operands of an instruction in every block that differs in them.

    Values are int64 (lanes, m): the lanes that take part, or a single one where all are alike, by
    the m different blocks; `inverse` says which of these each of the blocks `which` is.
    """

    def __init__(
        self,
        op: Op,
        registers: list[NDArray[Any]],
        affine: Mapping[int, Affine],
        blocks: _Blocks,
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


# The registers of a machine that runs one block.


class DependsOnData(Exception):
    """One block cannot represent others; the text says where and why."""


class _Dependences:
    """Follows how the registers of a machine that runs a single block depend on blockIdx.

    Whenever a comparison depends on blockIdx, the blocks for which it would come out otherwise are
    taken from `equivalent`.
    """

    def __init__(self, state: MachineState, candidates: Ints, origin: Ints) -> None:
        """`candidates` (n, 3) are the blockIdx to compare with; `origin` is this block's."""
        self.state = state
        self._steps = candidates - origin
        self.equivalent: Mask = np.ones(len(candidates), bool)
        self._narrowed()
        self._deps: dict[int, list[Dependence]] = {}
        self._compared: dict[tuple[int, ...], tuple[list[Any], Mask]] = {}

    def _narrow(self, same: Mask) -> None:
        """Keeps of the equivalent blocks those of `same`."""
        if not same[self.equivalent].all():
            self.equivalent &= same
            self._narrowed()

    def _narrowed(self) -> None:
        steps = self._steps[self.equivalent]
        self._corners = _corners_of(steps)
        self._varying = [bool(axis.any()) for axis in steps.T]

    def of(self, frame: Frame) -> list[Dependence]:
        """The dependence of each slot of a frame."""
        found = self._deps.get(id(frame))
        if found is None:
            found = [None] * len(frame.registers)
            for slot, name in frame.code.specials:
                if name.startswith("%"):
                    found[slot] = _special_dependence(name)
            self._deps[id(frame)] = found
        return found

    def seen_by(self, dependence: Dependence, mask: Mask | None) -> Affine | Mark | None:
        """The dependence as the lanes of a mask see it, among blocks that are still equivalent."""
        found = _of_lanes(dependence, mask)
        if not isinstance(found, Affine):
            return found
        table = found.table
        if table is not None and not table[self.equivalent].any():
            table = None
        still = all(v or not a for v, a in zip(self._varying, found.axes, strict=True))
        if table is found.table and still:
            return found
        parts = (found.x, found.y, found.z)
        x, y, z = (c if v else _ZERO for c, v in zip(parts, self._varying, strict=True))
        return _tidy(Affine(x, y, z, table))

    def refuse(self, op: Op, what: str, mark: Mark) -> DependsOnData:
        """The error of an instruction that needs what cannot be followed."""
        line = self.state.image.source_line(op.instruction.pc)
        where = f" of line {line}" if line else ""  # 0: the compiler's own
        return DependsOnData(f"{what}{where} depends on {mark.value}")

    def check_guard(self, group: Group, op: Op, deps: list[Dependence]) -> None:
        """Raises `DependsOnData` where the instruction's guard cannot be followed."""
        if op.guard >= 0:
            mark = _of_lanes(deps[op.guard], group.mask)
            if isinstance(mark, Mark):
                raise self.refuse(op, "the condition", mark)

    @staticmethod
    def put(deps: list[Dependence], op: Op, new: Dependence, mask: Mask | None) -> None:
        """Gives the destinations of an instruction, for the lanes of `mask`, a new dependence."""
        for slot in op.destinations:
            if slot >= 0:
                deps[slot] = new if mask is None else _merged(deps[slot], new, mask)

    def put_part(
        self, frame: Frame, slot: int, new: Dependence, nbytes: int, keep: Mask | None
    ) -> None:
        """Gives a register the dependence of `nbytes`; of what it extends only that it has one."""
        if slot < 0:
            return
        deps = self.of(frame)
        if new is not None and frame.registers[slot].dtype.itemsize != nbytes:
            new = Mark.UNKNOWN
        deps[slot] = new if keep is None else _merged(deps[slot], new, keep)

    def result(self, frame: Frame, group: Group, op: Op, deps: list[Dependence]) -> Dependence:
        """The dependence of what an instruction computes."""
        self.check_guard(group, op, deps)
        seen = {slot: self.seen_by(deps[slot], group.mask) for slot in op.sources}
        if all(dependence is None for dependence in seen.values()):
            return None
        if op.instruction.opcode in ("setp", "set"):
            return self._compare(frame, group, op, seen)
        found = _transfer(op, lambda i: self._operand(frame, op, i, seen), self._in_range)
        if found is Mark.UNKNOWN:
            return self._regrouped(frame, group, op, seen)
        return found

    def _operand(
        self, frame: Frame, op: Op, index: int, deps: dict[int, Affine | Mark | None]
    ) -> tuple[NDArray[Any], Affine | Mark | None]:
        """The value of a source operand, as its instruction reads it, and its dependence."""
        operand = op.instruction.operands[index + 1]
        named = [TYPES[m] for m in op.instruction.modifiers if m in TYPES]
        kind = named[-1] if named else TYPES["b64"]  # of an address: isspacep names no type
        if isinstance(operand, Immediate):  # an unsigned factor may be printed as a negative one
            return np.array([operand.value]).astype(kind.dtype), None
        if isinstance(operand, Register):
            slot = frame.code.slots[operand.name]
            if op.instruction.opcode == "selp" and index == 2:
                kind = PRED
            return _as_kind(frame.registers[slot], kind), deps.get(slot)
        slots = [s for s, n in frame.code.specials if n == getattr(operand, "name", "")]
        if slots:
            return frame.registers[slots[0]], deps.get(slots[0])
        return np.zeros(1, np.int64), None

    def _in_range(self, value: NDArray[Any], dependence: Affine, kind: PtxType) -> bool:
        """Whether the value stays within its type for every block that is still equivalent."""
        low, high = _range_of(kind)
        exact = value.astype(np.int64)
        least = most = 0
        if dependence.table is not None:
            moves = dependence.table[self.equivalent]
            least, most = int(moves.min()), int(moves.max())
        for corner in self._corners:
            moved = exact + dependence.shift(corner)
            if int(moved.min()) + least < low or int(moved.max()) + most > high:
                return False
        return True

    def _compare(
        self, frame: Frame, group: Group, op: Op, deps: dict[int, Affine | Mark | None]
    ) -> Dependence:
        """Keeps the blocks in which the comparison has the same results."""
        for dependence in deps.values():
            if isinstance(dependence, Mark):
                return dependence
        arrays = [frame.registers[slot] for slot in op.sources]
        key = (op.instruction.pc, id(group.mask), *(id(a) for a in arrays))
        known = self._compared.get(key)
        if known is None:
            over = self._over_blocks(frame, group, op, deps)
            if over is None:
                return Mark.UNKNOWN
            same = self._where(
                over, [a == b for a, b in zip(over.results(), over.here(), strict=True)]
            )
            self._compared[key] = ([*arrays, group.mask], same)  # kept alive: ids stay theirs
        else:
            same = known[1]
        self._narrow(same)
        return None

    def _over_blocks(
        self, frame: Frame, group: Group, op: Op, deps: dict[int, Affine | Mark | None]
    ) -> _OverBlocks | None:
        affine = {slot: d for slot, d in deps.items() if isinstance(d, Affine)}
        blocks = _Blocks(self._steps, self.equivalent)
        over = _OverBlocks(op, frame.registers, affine, blocks, group.mask)
        return None if over.is_too_much else over

    def _where(self, over: _OverBlocks, alike: list[Mask]) -> Mask:
        """The equivalent blocks for which all lanes of `alike` (lanes, m) say yes."""
        same = self.equivalent.copy()
        same[same] = np.all([a.all(axis=0) for a in alike], axis=0)[over.inverse]
        return same

    def _regrouped(
        self, frame: Frame, group: Group, op: Op, deps: dict[int, Affine | Mark | None]
    ) -> Dependence:
        """The dependence of a result that is worked out block by block.

        It can be followed where all lanes move alike; of a minimum or maximum, which may hold some
        lanes fast, also where the same lanes take the same operand.
        """
        kinds = [TYPES[m] for m in op.instruction.modifiers if m in TYPES]
        marked = any(isinstance(d, Mark) for d in deps.values())
        if marked or len(op.destinations) != 1 or any(kind.is_float for kind in kinds):
            return Mark.UNKNOWN
        over = self._over_blocks(frame, group, op, deps)
        if over is None:
            return Mark.UNKNOWN
        (results,), (here,) = over.results(), over.here()
        moved = results.astype(np.int64) - here.astype(np.int64)
        if (moved == moved[0]).all():
            if not moved[0].any():
                return None
            table = np.zeros(len(self._steps), np.int64)
            table[self.equivalent] = moved[0][over.inverse]
            return Affine(_ZERO, _ZERO, _ZERO, table)
        if op.instruction.opcode in ("min", "max"):
            return self._bounded(frame, group, op, deps)
        return Mark.UNKNOWN

    def _bounded(
        self, frame: Frame, group: Group, op: Op, deps: dict[int, Affine | Mark | None]
    ) -> Dependence:
        """Keeps the blocks in which each lane's minimum or maximum is the same operand."""
        over = self._over_blocks(frame, group, op, deps)
        operand = op.instruction.operands[1]
        if over is None or not isinstance(operand, Register):
            return Mark.UNKNOWN
        slot = frame.code.slots[operand.name]
        (results,), (here,) = over.results(), over.here()
        own = _as_kind(over.operand(slot).astype(frame.registers[slot].dtype), _kind(op))
        before = _as_kind(frame.registers[slot], _kind(op))
        first = here[:, 0] == over.of_lanes(before)
        self._narrow(self._where(over, [(results == own) == first[:, None]]))
        values = [self._operand(frame, op, i, deps) for i in range(2)]
        condition = over.to_lanes(first, max(value.size for value, _ in values))
        a, b = (self.seen_by(dependence, group.mask) for _, dependence in values)
        return _select(condition, a, b)


def _kind(op: Op) -> PtxType:
    return [TYPES[m] for m in op.instruction.modifiers if m in TYPES][-1]


def _as_kind(value: NDArray[Any], kind: PtxType) -> NDArray[Any]:
    """A register's value as an instruction of another type of that size reads it."""
    return value.view(kind.dtype) if value.dtype.itemsize == kind.dtype.itemsize else value


def _range_of(kind: PtxType) -> tuple[int, int]:
    """The least and the greatest value of a type, bits taken as signed."""
    if kind.kind in ("s", "b"):
        return -(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1
    return 0, min((1 << kind.bits) - 1, (1 << 63) - 1)


def _corners_of(steps: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The corners of the box that the steps lie in: an affine value is extreme at one of them."""
    low, high = steps.min(axis=0), steps.max(axis=0)
    return [
        np.array([x, y, z])
        for x in {low[0], high[0]}
        for y in {low[1], high[1]}
        for z in {low[2], high[2]}
    ]


# How what lies in local memory depends on which block runs.
#
# A debug build keeps in local memory what is passed by reference and arrays with an index; where
# all threads use the same place of their stacks, what was stored there is followed like a register.


class _LocalDependences:
    """The dependence of every element that was stored in local memory."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[int, Dependence]] = {}  # address: (bytes, dependence)

    def forget(self) -> None:
        """Forgets the dependences of everything on the stack."""
        self._places.clear()

    def store(self, event: AccessEvent, stored: list[Dependence], mask: Mask | None) -> None:
        """Elements of a store by the lanes of `mask` (None: all), one dependence each."""
        first = _place_of(event)
        if first is None:
            self.forget()
            return
        size = event.width // len(stored)
        for i, dependence in enumerate(stored):
            place = first + i * size
            before = self._at(place, size)
            self._clear(place, size)
            new = dependence if mask is None else _merged(before, dependence, mask)
            self._places[place] = size, new

    def load(self, event: AccessEvent, count: int) -> list[Dependence]:
        """The dependence of each of `count` elements that were loaded."""
        first, size = _place_of(event), event.width // count
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


def _place_of(event: AccessEvent) -> int | None:
    """The address that all lanes of an access have, or None if they differ."""
    address = event.address
    if address.size > 1 and event.mask is not None:
        address = address[event.mask]
    first = int(address[0])
    return first if address.size == 1 or bool((address == first).all()) else None


# The machine, and its calls.


_Key = tuple[str, int]  # variable and byte offset, as in `Frame.parameters`


class _AffineCalls(Calls):
    """Every piece of a parameter has a dependence, which goes from frame to frame as it does."""

    def __init__(self, state: MachineState, follows: _Dependences) -> None:
        super().__init__(state)
        self._follows = follows
        self._passed_deps: dict[int, dict[_Key, Dependence]] = {}  # by frame

    def _of_frame(self, frame: Frame) -> dict[_Key, Dependence]:
        return self._passed_deps.setdefault(id(frame), {})  # frames live as long as the machine

    def parameter(self, frame: Frame, group: Group, op: Op) -> None:
        """Follows what a parameter is given or gives."""
        deps = self._follows.of(frame)
        self._follows.check_guard(group, op, deps)
        mask, any_left = self.state.effective(frame, group, op)
        if not any_left:
            return
        keep = None if op.guard < 0 and self.state.exclusive else mask
        access: ParameterAccess = op.payload
        (name, offset), size = access.key, access.types.nbytes
        keys = [(name, offset + i * size) for i in range(max(len(op.destinations), 1))]
        loaded = [self._piece(frame, key, size) for key in keys]
        super().parameter(frame, group, op)
        for slot, new in zip(op.destinations, loaded, strict=False):
            self._follows.put_part(frame, slot, new, size, keep)
        if not access.is_load:
            passed = self._of_frame(frame)
            for i, value in enumerate(elements(op.instruction.operands[1])):
                key, new = (name, offset + i * size), _stored(frame, deps, value, access.types)
                passed[key] = new if keep is None else _merged(passed.get(key), new, keep)

    def _piece(self, frame: Frame, key: _Key, nbytes: int) -> Dependence:
        """The dependence of `nbytes` of a parameter; of several pieces only whether there is one.

        What was not written in this frame comes from the launch.
        """
        passed = self._of_frame(frame)
        value = frame.parameters.get(key)
        if value is not None and value.itemsize == nbytes:
            return passed.get(key)
        name, first = key
        for (other, offset), part in frame.parameters.items():
            overlaps = other == name and first - part.itemsize < offset < first + nbytes
            if overlaps and passed.get((other, offset)) is not None:
                return Mark.UNKNOWN
        return None

    # -- calls and returns --------------------------------------------------------------------

    def call(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """Follows arguments that are registers or constants."""
        deps, call = self._follows.of(frame), op.payload
        groups = [o for o in op.instruction.operands if isinstance(o, Operands)]
        given = [
            element
            for operand in (groups[-1].elements if groups else ())
            if not isinstance(operand, Symbol)
            for element in elements(operand)
        ]
        for (key, _), value in zip(call.values, given, strict=True):
            slot = frame.code.slots[value.name] if isinstance(value, Register) else None
            self._of_frame(frame)[key] = None if slot is None else deps[slot]
        return super().call(frame, group, op, pc)

    def call_pointer(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """Raises `DependsOnData`: the address may differ from block to block."""
        line = self.state.image.source_line(pc)
        raise DependsOnData(f"line {line} calls a function by its address")

    def enter(self, frame: Frame, group: Group, op: Op, pc: int, function: Function) -> bool:
        """Raises `DependsOnData` for `malloc`, which gives each block memory of its own."""
        call: Call = op.payload
        if function.first_pc == function.end_pc:  # the driver's: malloc gives each block its own
            for name in call.results:
                self._of_frame(frame)[name, 0] = Mark.UNKNOWN
        return super().enter(frame, group, op, pc, function)

    def copy_parameter(
        self, source: Frame, source_name: str, to: Frame, to_name: str, mask: Mask | None
    ) -> None:
        """Follows what one frame gives to another."""
        given, taken = self._of_frame(source), self._of_frame(to)
        for key, slot in register_slots(source, source_name):  # a result that is a register
            given[key] = self._follows.of(source)[slot]
        for name, offset in list(source.parameters):
            if name == source_name:
                new, there = given.get((name, offset)), (to_name, offset)
                taken[there] = new if mask is None else _merged(taken.get(there), new, mask)
        super().copy_parameter(source, source_name, to, to_name, mask)
        for key, slot in register_slots(to, to_name):  # a parameter that is one
            self._set_register(to, key, slot, mask)

    def set_results(self, frame: Frame, call: Call, mask: Mask | None) -> None:
        """Follows results that go to registers."""
        super().set_results(frame, call, mask)
        for key, slot in call.targets:
            self._set_register(frame, key, slot, mask)

    def _set_register(self, frame: Frame, key: _Key, slot: int, mask: Mask | None) -> None:
        """The dependence of a register that holds a parameter, or an element of one."""
        value: NDArray[Any] | None = frame.parameters.get(key)
        size = frame.registers[slot].dtype.itemsize if value is None else value.itemsize
        self._follows.put_part(frame, slot, self._of_frame(frame).get(key), size, mask)


def _stored(frame: Frame, deps: list[Dependence], value: Operand, kind: PtxType) -> Dependence:
    """The dependence of a stored value; of a narrow one only that it has none is known."""
    if isinstance(value, Immediate):
        return None
    if not isinstance(value, Register):
        return Mark.UNKNOWN
    dependence = deps[frame.code.slots[value.name]]
    return dependence if dependence is None or kind.nbytes >= 4 else Mark.UNKNOWN


# Actions of which the addresses are followed; what they give is data.
_FOLLOWED = (
    copy,
    tell_groups,
    load_matrix,
    store_matrix,
    move_matrix,
    load_fragment,
    store_fragment,
    product,
)


class AffineMachine(Machine):
    """Runs a single block and finds out which other blocks do just the same.

    The blocks left in `equivalent` at the end do exactly what this block does, at addresses that
    move as `on_address` was told.
    """

    def follow(
        self, candidates: Ints, origin: Ints, on_address: Callable[[AccessEvent, Dependence], None]
    ) -> None:
        """Says which blocks to compare with; `origin` is this block's blockIdx."""
        self._follows = _Dependences(self.state, candidates, origin)
        self.calls = _AffineCalls(self.state, self._follows)
        self.warps.on_exchange = self._exchanged
        self.on_address = on_address
        self._seen: list[AccessEvent] = []
        self._local = _LocalDependences()
        self.state.observers = (*self.state.observers, _Catch(self._seen))
        self.unit.observers = self.state.observers

    @property
    def equivalent(self) -> Mask:
        """Of the candidates, those that have done the same so far."""
        return self._follows.equivalent

    def compute(self, frame: Frame, group: Group, ops: list[Op]) -> None:
        """Follows arithmetic."""
        state, follows = self.state, self._follows
        deps, registers = follows.of(frame), frame.registers
        whole = state.exclusive or group.mask is None
        for op in ops:
            plain = whole and op.guard < 0 and len(op.destinations) == 1
            if plain and all(deps[slot] is None for slot in op.sources):
                assert op.compute is not None
                registers[op.destinations[0]] = op.compute(registers)
                deps[op.destinations[0]] = None
                state.tick += 1
                continue
            new = follows.result(frame, group, op, deps)
            mask, any_left = state.effective(frame, group, op)
            if whole and op.guard < 0:
                mask = None
            super().compute(frame, group, [op])
            if any_left:
                follows.put(deps, op, new, mask)

    def memory(self, frame: Frame, group: Group, op: Op) -> None:
        """Tells of the addresses, and follows what stays on the stack."""
        deps = self._follows.of(frame)
        self._follows.check_guard(group, op, deps)
        mask, any_left = self.state.effective(frame, group, op)
        if not any_left:
            return
        address = next(o for o in op.instruction.operands if isinstance(o, Address))
        dependence = self._address(frame, group, op, address)
        self._seen.clear()
        super().memory(frame, group, op)
        for event in self._seen:
            self.on_address(event, dependence)
        keep = None if self.state.exclusive and op.guard < 0 else mask
        self._follows.put(deps, op, Mark.DATA, keep)
        if any(event.region.space == "local" for event in self._seen):
            self._local_memory(frame, op, dependence, mask, keep)

    def _address(self, frame: Frame, group: Group, op: Op, address: Address) -> Affine | None:
        """The dependence of an address operand."""
        if not isinstance(address.base, Register):
            return None
        slot = frame.code.slots[address.base.name]
        dependence = self._follows.seen_by(self._follows.of(frame)[slot], group.mask)
        if isinstance(dependence, Mark):
            raise self._follows.refuse(op, "an address", dependence)
        return dependence

    def _local_memory(
        self, frame: Frame, op: Op, address: Dependence, mask: Mask | None, keep: Mask | None
    ) -> None:
        """Follows what a load or store moves between registers and a place of every stack.

        `mask` are the lanes that do so; `keep` those whose registers change (None: no other lane
        needs them; what lies on the stacks, lanes that wait in a calling function may).
        """
        deps = self._follows.of(frame)
        access: MemoryAccess = op.payload
        if len(self._seen) > 1 or address is not None or access.kind == "atomic":
            self._local.forget()
        elif access.kind == "store":
            values = elements(op.instruction.operands[1])
            stored = [_stored(frame, deps, value, access.type) for value in values]
            self._local.store(self._seen[0], stored, mask)
        else:
            loaded = self._local.load(self._seen[0], access.count)
            for slot, dependence in zip(op.destinations, loaded, strict=True):
                self._follows.put_part(frame, slot, dependence, access.type.nbytes, keep)

    def branch(self, frame: Frame, group: Group, op: Op, pc: int) -> int:
        """Raises `DependsOnData` where the condition cannot be followed."""
        self._follows.check_guard(group, op, self._follows.of(frame))
        return super().branch(frame, group, op, pc)

    def other(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """Raises `DependsOnData` where the guard cannot be followed."""
        self._follows.check_guard(group, op, self._follows.of(frame))
        return super().other(frame, group, op, pc)

    def _exchanged(self, frame: Frame, op: Op) -> None:
        self._follows.put(self._follows.of(frame), op, Mark.UNKNOWN, None)

    def action(self, lanes: Lanes) -> bool:
        """Tells of the addresses; raises `DependsOnData` for what is not `_FOLLOWED`."""
        frame, group, op = lanes.frame, lanes.group, lanes.op
        what = getattr(op.payload, "func", None)
        if what not in _FOLLOWED:
            raise self._not_followed(op)
        deps = self._follows.of(frame)
        self._follows.check_guard(group, op, deps)
        addresses = [
            self._address(frame, group, op, operand)
            for operand in op.instruction.operands
            if isinstance(operand, Address)
        ]
        if addresses:  # a size to copy or a distance between rows stands alone
            for operand in op.instruction.operands:
                inner = operand.operand if isinstance(operand, Negated) else operand
                if isinstance(inner, Register):
                    dependence = deps[frame.code.slots[inner.name]]
                    self._need_same(op, self._follows.seen_by(dependence, group.mask))
        if what is not copy:
            for address in addresses:  # whose lanes name rows for others
                self._need_same(op, address if _varies(address) else None)
        self._seen.clear()
        went_on = super().action(lanes)
        for event in self._seen:
            self.on_address(event, addresses[-1 if event.region.space == "global" else 0])
        self._follows.put(deps, op, Mark.DATA, None if self.state.exclusive else group.mask)
        return went_on

    def indexed_branch(self, lanes: Lanes) -> None:
        """Raises `DependsOnData`."""
        raise self._not_followed(lanes.op)

    def _not_followed(self, op: Op) -> DependsOnData:
        line = self.state.image.source_line(op.instruction.pc)
        where = f" of line {line}" if line else ""
        return DependsOnData(f"`{op.instruction.opcode}`{where} is not followed")

    def _need_same(self, op: Op, dependence: Affine | Mark | None) -> None:
        if dependence is not None:
            mark = dependence if isinstance(dependence, Mark) else Mark.UNKNOWN
            raise self._follows.refuse(op, "an operand", mark)


class _Catch(Observer):
    """Hands the events of the access that is being done to the tracker."""

    def __init__(self, events: list[AccessEvent]) -> None:
        self._events = events

    def on_access(self, event: AccessEvent) -> None:
        self._events.append(event)

    def on_fault(self, event: object) -> None:
        raise DependsOnData("the kernel makes an illegal access")
