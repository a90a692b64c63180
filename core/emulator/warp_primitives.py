"""What the lanes of a warp do together: shuffles, votes, matches, reductions and `__syncwarp`.

`WarpSync` holds lanes until those that their member mask names have come. The functions of the
instructions get the register values as rows of a warp, shape (warps, 32), and the mask of the lanes
that take part, and return rows (PTX ISA, "shfl.sync", "vote.sync", "activemask").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.barriers import Barriers
from core.emulator.control_flow import may_end_apart
from core.emulator.events import Mask, SyncEvent
from core.emulator.geometry import Geometry, lanes_of_rows, warp_rows
from core.emulator.machine_state import Frame, Group, MachineState
from core.emulator.operands import OperandDecoder
from core.emulator.program import Kind, Op
from core.emulator.scheduling import RunQueue
from core.launch import WARP
from core.ptx.arithmetic.operation import Array, Operation, type_of, unsupported
from core.ptx.ast import Instruction, Operand, Pair
from core.ptx.opcodes import opcode_of
from core.ptx.types import PRED, TYPES, PtxType


class WarpSync:
    """Holds lanes until the lanes that their member mask names have come."""

    def __init__(self, state: MachineState) -> None:
        self.state = state
        self.queue, self.barriers = state.part(RunQueue), state.part(Barriers)
        self.on_exchange: Callable[[Frame, Op], None] | None = None  # told of every exchange

    def cross_lane(self, frame: Frame, group: Group, op: Op, pc: int, mask: Mask | None) -> bool:
        """A shuffle or vote; False if only some of the lanes go on."""
        members = op.payload[2]
        if members is None or op.guard >= 0:
            self._exchange(frame, group, op, mask)
            return True
        whole = self._gather(group, pc)
        self._check_members(members(frame.registers), whole, pc)
        ready = self._those_ready(members(frame.registers), whole, pc)
        if ready is not None:
            if not ready.any():
                return False
            self._exchange(frame, Group(pc, group.depth, ready), op, ready)
            self.tell("warp", pc, ready, members(frame.registers))
            self.barriers.place(pc + 1, group.depth, ready)
            return False
        self._exchange(frame, whole, op, whole.mask)
        self.tell("warp", pc, whole.mask, members(frame.registers))
        if whole is group:
            return True
        assert whole.mask is not None
        self.barriers.place(pc + 1, group.depth, whole.mask)
        return False

    def _check_members(self, members: NDArray[Any], group: Group, pc: int) -> None:
        """A lane must be named by its own member mask (PTX ISA, "shfl.sync")."""
        words = members.view(np.uint32)
        if words.size == 1 and words[0] == 0xFFFFFFFF:
            return
        mask = np.ones(self.state.count, bool) if group.mask is None else group.mask
        outside = _strangers(words, mask, self.state.geometry)
        if outside.any():
            lanes = np.flatnonzero(outside)
            self.state.fault("inactive_lane", pc, group.depth, lanes, detail="not a member")

    def _gather(self, group: Group, pc: int) -> Group:
        """The group with those that are held at the same instruction."""
        mates = [
            h
            for h in self.queue.held
            if h.pc == pc and h.depth == group.depth and h.warp == group.warp
        ]
        if not mates or group.mask is None:
            return group
        mask = group.mask
        for mate in mates:
            self.queue.held.remove(mate)
            assert mate.mask is not None
            mask = mask | mate.mask
        first = next((m for m in (group, *mates) if m.expected is not None), group)
        whole = Group(pc, group.depth, mask, group.warp, forced=group.forced)
        whole.expected, whole.places = first.expected, first.places
        return whole

    def _those_ready(
        self, members: NDArray[Any], group: Group, pc: int, also: Mask | None = None
    ) -> Mask | None:
        """None if all may go on; else the lanes that may, while the others are held.

        `also` are lanes that wait in another place and count as present.
        """
        if group.mask is None:
            return None
        members = members.view(np.uint32)
        present = group.mask if also is None else group.mask | also
        expected = self.state.alive.copy() if group.expected is None else group.expected
        lack = _lacking(members, present, expected, self.state.geometry) & group.mask
        if not lack.any():
            return None
        missing = _missing_lanes(members, group.mask, expected, self.state.geometry)
        if group.forced:
            if not self._left_for_good(group, pc, missing):
                lanes, others = np.flatnonzero(lack), np.flatnonzero(missing)
                self.state.fault("divergent_warp", pc, group.depth, lanes, others, tick=group.since)
            group.forced, group.expected = False, None
            return None
        self.state.exclusive = False
        places = self._places_of(missing) if group.expected is None else group.places
        held = Group(pc, group.depth, lack, group.warp, self.state.tick - 1)
        held.expected, held.places = expected, places
        self.queue.held.append(held)
        return group.mask & ~lack

    def _places_of(self, lanes: Mask) -> frozenset[int] | None:
        """Where in the kernel's own code these lanes stand; None where some wait at a barrier."""
        found, left = set(), lanes.copy()
        parked = (group for group, _ in self.queue.parked)
        for group in (*self.queue.groups, *self.queue.held, *parked):
            here = left if group.mask is None else left & group.mask
            if here.any():
                found.add(self.state.place_of(group.pc, group.depth, int(here.argmax()), 0))
                left = left & ~here
        return None if left.any() else frozenset(found)

    def _left_for_good(self, group: Group, pc: int, missing: Mask) -> bool:
        """Whether a vote waited for lanes that have exited, without meeting it or what follows it.

        `vote.sync`, `match.sync` and `redux.sync` wait for "all non-exited threads" (PTX ISA).
        Lanes that meet the others again behind the instruction ought to have executed it, as far as
        the code is as written: the optimiser merges the ends of ways that have nothing in common.
        """
        if not opcode_of(self.state.op_at(pc).instruction).awaits_living:
            return False
        if group.places is None or (missing & self.state.alive).any():
            return False
        if "debug" not in self.state.image.module.target:
            return True
        here = self.state.place_of(pc, group.depth, int(group.lanes(self.state.count)[0]), 0)
        code = self.state.image.code_at(here)
        return all(may_end_apart(code, here, place) for place in group.places)

    def sync_warp(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """`__syncwarp`: lanes at different ones may meet."""
        mates = [h for h in self.queue.held if self.state.op_at(h.pc).kind is Kind.SYNC]
        masks = [mate.mask for mate in mates if mate.mask is not None]
        also: Mask | None = np.any(masks, axis=0) if masks else None
        members = op.payload(frame.registers)
        self._check_members(members, group, pc)
        ready = self._those_ready(members, group, pc, also)
        gone = np.ones(self.state.count, bool) if group.mask is None else group.mask
        if ready is not None:
            gone = ready
        met = False
        for mate in mates:
            assert mate.mask is not None
            words = (
                self.state.op_at(mate.pc).payload(self.state.frame(mate).registers).view(np.uint32)
            )
            present = mate.mask | (also if also is not None else mate.mask) | gone
            expected = self.state.alive if mate.expected is None else mate.expected
            lack = _lacking(words, present, expected, self.state.geometry) & mate.mask
            free = mate.mask & ~lack
            if free.any():
                self.queue.held.remove(mate)
                if lack.any():
                    self.queue.held.append(replace(mate, mask=lack, expected=expected, _lanes=None))
                self.barriers.place(mate.pc + 1, mate.depth, free)
                gone = gone | free
                met = True
                self.state.exclusive = False
        if gone.any():
            self.tell("warp", pc, None if group.mask is None else gone, members)
        if ready is None and not met:
            return True
        if ready is None or ready.any():
            self.barriers.place(pc + 1, group.depth, group.mask if ready is None else ready)
        return False

    def tell(
        self, kind: str, pc: int, mask: Mask | None, members: NDArray[Any] | None = None
    ) -> None:
        """Tells which lanes met: those with the same member mask."""
        masks = [mask]
        if members is not None and members.size > 1:
            words = members.view(np.uint32)
            here = np.ones(self.state.count, bool) if mask is None else mask
            several = np.unique(words[here])
            masks = [here & (words == word) for word in several] if len(several) > 1 else [mask]
        for one in masks:
            if kind == "warp":
                self.queue.parties.join(one)
            for observer in self.state.observers:
                observer.on_sync(SyncEvent(self.state.tick - 1, pc, kind, one))

    def _exchange(self, frame: Frame, group: Group, op: Op, mask: Mask | None) -> None:
        function, sources, _ = op.payload
        active = np.ones(self.state.count, bool) if mask is None else mask
        rows = [warp_rows(active, self.state.geometry, 0)]
        for read in sources:
            value = read(frame.registers)
            if value.size == 1:
                value = np.repeat(value, self.state.count)
            rows.append(warp_rows(value, self.state.geometry, 0))
        if op.instruction.opcode == "shfl" and not rows[0].all():
            lonely = _reading_nobody(function, active, rows[1:], self.state.geometry)
            if lonely.any():
                self.state.fault(
                    "inactive_lane", op.instruction.pc, group.depth, np.flatnonzero(lonely)
                )
        result = function(*rows)
        results = result if isinstance(result, tuple) else (result,)
        keep = None if op.guard < 0 and self.state.exclusive else mask
        for slot, write, value in zip(op.destinations, op.writers, results, strict=True):
            self.state.write(frame, slot, write(lanes_of_rows(value, self.state.geometry)), keep)
        if self.on_exchange is not None:
            self.on_exchange(frame, op)


# Member masks: lanes that are missing, and lanes that read from a lane that takes no part.


Members = NDArray[np.uint32]


def _lane_words(mask: Mask, geometry: Geometry) -> Members:
    """For each warp the lanes of `mask` as bits of a word, lane 0 lowest; uint32 (warps, 1)."""
    rows = warp_rows(mask, geometry, 0)
    return np.packbits(rows, axis=1, bitorder="little").view(np.uint32)


def _member_rows(members: Members, geometry: Geometry) -> Members:
    """Member masks as rows of a warp; a single mask is that of all lanes."""
    if members.size == 1:
        return members.reshape(1, 1)
    return warp_rows(members, geometry, 0)


def _lacking(members: Members, present: Mask, alive: Mask, geometry: Geometry) -> Mask:
    """The lanes of `present` whose member mask names a living lane that is not present."""
    wanted = _member_rows(members, geometry) & _lane_words(alive, geometry)
    missing = (wanted & ~_lane_words(present, geometry)) != 0
    rows = warp_rows(present, geometry, 0)
    return lanes_of_rows(np.broadcast_to(missing, rows.shape) & rows, geometry)


def _missing_lanes(members: Members, present: Mask, alive: Mask, geometry: Geometry) -> Mask:
    """The living lanes that the member masks of `present` name and that are not present."""
    rows = warp_rows(present, geometry, 0)
    wanted = np.where(rows, _member_rows(members, geometry), np.uint32(0))
    words = np.bitwise_or.reduce(wanted, axis=1)[:, None]
    named = (words >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    result: Mask = lanes_of_rows(named.astype(bool), geometry) & alive & ~present
    return result


def _strangers(members: Members, present: Mask, geometry: Geometry) -> Mask:
    """The lanes of `present` that their own member mask does not name."""
    rows = warp_rows(present, geometry, 0)
    own = np.uint32(1) << np.arange(32, dtype=np.uint32)
    outside = (_member_rows(members, geometry) & own) == 0
    return lanes_of_rows(rows & outside, geometry)


def _reading_nobody(
    shuffle: Callable[..., Any], active: Mask, operands: list[NDArray[Any]], geometry: Geometry
) -> Mask:
    """The lanes whose shuffle reads from a lane that takes no part, found by shuffling flags.

    `operands` are the instruction's sources as rows: value, lane or distance, and limits.
    """
    rows = warp_rows(active, geometry, 0)
    result = shuffle(rows, rows.astype(np.uint32), *operands[1:])
    flags = result[0] if isinstance(result, tuple) else result
    return lanes_of_rows(rows & (flags == 0), geometry)


# What the instructions compute.


Rows = NDArray[Any]
_U32, _B32 = TYPES["u32"], TYPES["b32"]
_LANES = np.arange(WARP, dtype=np.int64)


def _cross_lane(instruction: Instruction) -> Operation:
    """The operation; its function takes `(active, *sources)` as rows of 32 lanes."""
    builders: dict[str, Callable[[Instruction], Operation]] = {
        "shfl": _shuffle,
        "vote": _vote,
        "activemask": lambda _: Operation(_mask_bits, (), (_U32,)),
        "redux": _reduce,
        "match": _match,
        "elect": _elect,
    }
    if opcode_of(instruction).must_sync and "sync" not in instruction.modifiers:
        raise unsupported(instruction, "needs .sync")
    return builders[instruction.opcode](instruction)


def _mask_bits(rows: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Each row of 32 booleans as the bits of a word, lane 0 lowest, repeated for every lane."""
    words = np.packbits(rows, axis=1, bitorder="little").view(np.uint32)
    return np.repeat(words, 32, axis=1)


def _shuffle(instruction: Instruction) -> Operation:
    """Lane i reads the value of a lane computed from i, b and the segment in c."""
    mode = next((m for m in instruction.modifiers if m in ("up", "down", "bfly", "idx")), "")
    if not mode:
        raise unsupported(instruction, "does not say which lane is read")
    _, a, b, c, *_ = instruction.operands
    two = isinstance(instruction.operands[0], Pair)

    def function(_: Rows, value: Array, lane_b: Array, clamp: Array) -> Any:
        segment = (clamp >> 8).astype(np.int64) & 31
        limit = clamp.astype(np.int64) & 31
        move = lane_b.astype(np.int64) & 31
        lowest = _LANES & segment
        highest = lowest | (limit & ~segment)
        if mode == "up":
            source = _LANES - move
            inside = source >= highest
        elif mode == "down":
            source = _LANES + move
            inside = source <= highest
        elif mode == "bfly":
            source = _LANES ^ move
            inside = source <= highest
        else:
            source = lowest | (move & ~segment)
            inside = source <= highest
        chosen = np.where(inside, source, _LANES) & 31
        result = np.take_along_axis(value, chosen, axis=1)
        return (result, inside) if two else result

    sources = ((a, _B32), (b, _U32), (c, _U32))
    return Operation(function, sources, (_B32, PRED) if two else (_B32,))


def _vote(instruction: Instruction) -> Operation:
    """all, any, uni and ballot over the participating lanes."""
    mode = next((m for m in instruction.modifiers if m in ("all", "any", "uni", "ballot")), "")
    if not mode:
        raise unsupported(instruction, "does not say what is voted on")

    def function(active: Rows, predicate: Array, *members: Array) -> Array:
        true = _among(_mask_bits(predicate & active), members)
        if mode == "ballot":
            return true
        false = _among(_mask_bits(~predicate & active), members)
        truths = {"all": false == 0, "any": true != 0, "uni": (true == 0) | (false == 0)}
        return np.asarray(truths[mode])

    result = _U32 if mode == "ballot" else PRED
    source = ((instruction.operands[1], PRED),)
    return Operation(function, (*source, *_member_mask(instruction)), (result,))


def _member_mask(instruction: Instruction) -> tuple[tuple[Operand, PtxType], ...]:
    """The member mask as a source, where the instruction has one.

    Lanes with different masks execute it side by side and see only those of their own.
    """
    return ((instruction.operands[-1], _U32),) if "sync" in instruction.modifiers else ()


def _among(words: Array, members: tuple[Array, ...]) -> Array:
    """The bits of `words` that the member mask names."""
    return words & members[0] if members else words


def _reduce(instruction: Instruction) -> Operation:
    """`redux.sync`: a reduction over the participating lanes."""
    kind = type_of(instruction)
    ufuncs = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
    name = next((m for m in instruction.modifiers if m in ufuncs), "")
    if not name or kind.is_float:
        raise unsupported(instruction)
    ufunc = ufuncs[name]

    def function(active: Rows, value: Array, members: Array) -> Array:
        result = np.zeros_like(value)
        for row in np.flatnonzero(active.any(axis=1)):
            for mask in np.unique(members[row][active[row]]):
                inside = active[row] & ((mask >> _LANES.astype(np.uint32)) & np.uint32(1) == 1)
                total = ufunc.reduce(value[row][inside], dtype=value.dtype)
                result[row][active[row] & (members[row] == mask)] = total
        return result

    source = ((instruction.operands[1], kind),)
    return Operation(function, (*source, *_member_mask(instruction)), (kind,))


def _match(instruction: Instruction) -> Operation:
    """`match.sync`: which lanes have the same value; `.all`: whether all have."""
    kind = TYPES[f"b{type_of(instruction).bits}"]
    two = isinstance(instruction.operands[0], Pair)

    def any_of(active: Rows, value: Array, members: Array) -> Array:
        same = (value[:, :, None] == value[:, None, :]) & active[:, None, :]
        words = np.packbits(same, axis=2, bitorder="little").view(np.uint32)
        return words[:, :, 0] & members

    def all_of(active: Rows, value: Array, members: Array) -> Any:
        same = any_of(active, value, members)
        present = _mask_bits(active) & members
        alike = same == present
        words = np.where(alike, present, np.uint32(0))
        return (words, alike) if two else words

    source = ((instruction.operands[1], kind), *_member_mask(instruction))
    if "all" in instruction.modifiers:
        return Operation(all_of, source, (_U32, PRED) if two else (_U32,))
    return Operation(any_of, source, (_U32,))


def _elect(instruction: Instruction) -> Operation:
    """`elect.sync`: the lowest lane that takes part is chosen."""

    def function(active: Rows, members: Array) -> Any:
        present = _mask_bits(active) & members
        lowest = present & (~present + np.uint32(1))
        leader = np.bitwise_count(lowest - np.uint32(1)).astype(np.uint32)
        return leader, (leader == _LANES) & active

    if not isinstance(instruction.operands[0], Pair):
        raise unsupported(instruction, "needs a predicate for its result")
    return Operation(function, _member_mask(instruction), (_U32, PRED))


def exchange(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """`shfl`, `vote`, `match`, `redux`, `elect` and `activemask`."""
    found = _cross_lane(instruction)
    sources = tuple(decoder.table.read(instruction, o, kind) for o, kind in found.sources)
    first = instruction.operands[0]
    into = (first.first, first.second) if isinstance(first, Pair) else (first,)
    members = decoder.members(instruction) if "sync" in instruction.modifiers else None
    payload = (found.function, sources, members)
    return decoder.op(Kind.CROSS_LANE, instruction, payload, into, found.results)
