"""Asynchronous copies: `cp.async`, `cp.async.bulk` and its tensor form, `st.async`, `red.async`.

They go from memory to memory past the registers. `cp.async` of each lane is done at once, by a load
from global memory and a store to shared memory: the instructions that wait for it only tell the
observers, which know what is still in flight. Bulk copies, which one thread begins, and remote
stores move their bytes as late as they can (`Copies`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from core import tensor_maps
from core.emulator.address_spaces import Region
from core.emulator.events import (
    AwaitEvent,
    Indices,
    Ints,
    LandEvent,
    Mask,
    Span,
    TransferEvent,
)
from core.emulator.machine_state import Lanes, MachineState
from core.emulator.mbarriers import MBarriers, arrive_after_copies
from core.emulator.memory_unit import Update, update
from core.emulator.operands import OperandDecoder
from core.emulator.program import Kind, Op, Reader
from core.emulator.scheduling import MachinePart
from core.launch import WARP
from core.ptx.arithmetic.operation import refuse, type_of, unsupported
from core.ptx.ast import (
    Address,
    Instruction,
    Negated,
    Operand,
    Register,
    Vector,
    elements,
    immediate,
)
from core.ptx.opcodes import operation_of, update_of
from core.ptx.types import PRED, TYPES, PtxType
from core.tensor_maps import TensorMap

_Land = Callable[[], None]


@dataclass(frozen=True)
class _Copy:
    """A copy that has begun. `land` moves its bytes, None: done; `place` is its mbarrier, or -1."""

    number: int
    pc: int
    lane: int
    agent: Hashable
    nbytes: int
    land: _Land | None
    place: int = -1
    writes: tuple[Span, ...] = ()


_T = TypeVar("_T")


@dataclass
class CommitGroups(Generic[_T]):
    """What a lane or a warp has begun: what is not committed, and the groups, oldest first."""

    open: list[_T] = field(default_factory=list)
    committed: list[list[_T]] = field(default_factory=list)
    read: int = 0  # how many of the oldest have been waited for as far as they read

    def commit(self) -> None:
        """What has begun since the last commit becomes a group, perhaps an empty one."""
        self.committed.append(self.open)
        self.open = []

    def take(self, left: int) -> list[_T]:
        """Takes out what lies in all groups but the `left` latest, which is waited for."""
        done = self.committed[: max(len(self.committed) - left, 0)]
        self.committed = self.committed[len(done) :]
        self.read = max(self.read - len(done), 0)
        return [one for group in done for one in group]

    def take_read(self, left: int) -> list[list[_T]]:
        """All groups but the `left` latest, which stay, and whose reading is waited for now."""
        end = max(len(self.committed) - left, self.read)
        fresh, self.read = self.committed[self.read : end], end
        return fresh


class Copies(MachinePart):
    """The copies of one machine that have begun and not moved their bytes.

    A copy does so as late as it can: when nobody can go on without it, or when its group is waited
    for. So a kernel that does not wait reads what lay there before. The observers hear of a copy
    when it begins (`TransferEvent`), and of everything that lets threads know of its end.
    """

    def __init__(self, state: MachineState) -> None:
        self._mbarriers = state.part(MBarriers)
        super().__init__(state)
        self._flying: list[_Copy] = []  # to mbarriers, oldest first
        self._groups: defaultdict[int, CommitGroups[_Copy]] = defaultdict(CommitGroups)  # by lane
        self._number = 0

    def begin(
        self,
        lanes: Lanes,
        lane: int,
        kind: str,
        reads: tuple[Span, ...],
        writes: tuple[Span, ...],
        land: _Land,
        nbytes: int,
        place: int = -1,
        outside: Ints | None = None,
        *,
        is_multicast: bool = False,
        is_update: bool = False,
    ) -> None:
        """A copy begins: it tells the mbarrier at `place`, or belongs to the lane's next group.

        A fault is told, and nothing begins, where it goes to a block that has ended.
        """
        for span in writes:
            if span.region.space == "shared" and len(span.place):
                first = span.place[:1]
                if self.state.unit.have_ended(first).any():
                    offset = int(first[0]) % self.state.image.shared_stride
                    detail = f"begins a {operation_of(lanes.op.instruction)} to"
                    address = self.state.unit.shared.base + offset
                    lanes.illegal("remote_exit", lane, address, nbytes, detail)
                    return
        if place >= 0 and place not in self._mbarriers.traffic:
            pc, depth = lanes.pc, lanes.group.depth
            self._mbarriers.fault("bad_mbarrier", pc, depth, np.array([lane]), place)
        self._number += 1
        pc = lanes.pc
        agent: Hashable = ("barrier", place) if place >= 0 else ("group", lane)
        copy = _Copy(self._number, pc, lane, agent, nbytes, land, place, writes)
        event = TransferEvent(
            self.state.tick - 1,
            pc,
            self.state.call_site(pc, lanes.group.depth, lane),
            kind,
            np.array([lane]),
            reads,
            writes,
            agent,
            self._number,
            place,
            outside,
            is_multicast,
            is_update=is_update,
        )
        for observer in self.state.observers:
            observer.on_transfer(event)
        if place >= 0:
            self._flying.append(copy)
        else:
            self._groups[lane].open.append(copy)

    def commit(self, lane: int) -> None:
        """What the lane has begun since its last commit becomes a group, perhaps an empty one."""
        self._groups[lane].commit()

    def await_groups(self, lane: int, left: int, *, reads_only: bool) -> None:
        """Waits until at most `left` of the lane's groups are not done, or have not read all."""
        if reads_only:
            copies = []
            for group in self._groups[lane].take_read(left):
                copies += group
                # Their bytes move now, and no later: the sources may change.
                for copy in group:
                    self._land(copy)
                group[:] = [replace(copy, land=None, writes=()) for copy in group]
        else:
            copies = self._groups[lane].take(left)
            for copy in copies:
                self._land(copy)
        if copies:
            last = copies[-1]
            event = AwaitEvent(np.array([lane]), last.agent, last.number, reads_only)
            for observer in self.state.observers:
                observer.on_await(event)

    def _land(self, copy: _Copy) -> None:
        if copy.land is None:
            return
        copy.land()
        self.state.unit.changes += 1
        for span in copy.writes:
            if span.region.space != "shared":
                continue
            pieces = span.place[:, None] + np.arange(span.width)
            event = LandEvent(self.state.tick - 1, copy.number, span.region.data[pieces])
            for observer in self.state.observers:
                observer.on_land(event)

    def unblock(self) -> bool:
        """Nobody can go on: copies land until somebody can, or none is left; whether any did."""
        wanted = self._mbarriers.awaited_places()
        landed = [c for c in self._flying if c.place in wanted] or self._flying
        if not landed:
            return False
        ended: set[int] = set()  # a copy that its phase did not take comes later
        kept = [c for c in self._flying if c not in landed]
        for copy in landed:
            if copy.place in ended:
                kept.append(copy)
                continue
            self._land(copy)
            if copy.place in self._mbarriers.traffic:
                self._mbarriers.expect(copy.place, -copy.nbytes)
                if self._mbarriers.settle(copy.place):
                    ended.add(copy.place)
        self._flying = sorted(kept, key=lambda c: c.number)
        return True

    def finish(self, *, stuck: bool) -> None:
        """What still flies lands."""
        for groups in self._groups.values():
            for group in (*groups.committed, groups.open):
                for copy in group:
                    self._land(copy)
        self._groups.clear()


# `cp.async`: each lane copies 4, 8 or 16 bytes from global to shared memory.


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
        return _bulk_copy(decoder, instruction)
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


# `cp.async.bulk`, and `cp.reduce.async.bulk`: a store that updates each element that it finds.


_CHUNK = 16  # bytes that plain copies are made of
_OFFSET = (1 << 24) - 1  # of an address in the shared memory of a block
_TENSOR_ALIGNMENT = 128  # bytes: where a box begins in shared memory
_U8 = np.dtype(np.uint8)


@dataclass(frozen=True)
class _End:
    """One end of a copy: bytes of a region, element by element (-1: none, as outside a map)."""

    region: Region
    place: Ints
    width: int

    def span(self, swizzle: int = -1) -> Span:
        """The pieces that are there."""
        return Span(self.region, self.place[self.place >= 0], self.width, swizzle)


@dataclass(frozen=True)
class _Reduction:
    """What a copy does to the elements that it finds, of one type."""

    kind: PtxType
    update: Update


# What may be done to elements of a type (PTX ISA, "cp.reduce.async.bulk"): in the shared memory of
# a block of the cluster, and in global memory more. A tensor map's integers do for bits,
# but an H200 stops at `and` of those of 64 bits that have a sign (an illegal instruction).
_IN_CLUSTER = {
    "add": ("u32", "s32", "u64"),
    **dict.fromkeys(("min", "max"), ("u32", "s32")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor"), ("b32",)),
}
_GLOBAL = {
    "add": ("f16", "bf16", "f32", "f64"),
    **dict.fromkeys(("min", "max"), ("u64", "s64", "f16", "bf16")),
    **dict.fromkeys(("and", "or", "xor"), ("b64", "u32", "s32", "u64")),
}


def _reduction(instruction: Instruction, kind: str, space: str) -> _Reduction:
    """Of elements of a type; refused where there is none such."""
    name = update_of(instruction)
    more = _GLOBAL.get(name, ()) if space == "global" else ()
    if kind not in (*_IN_CLUSTER.get(name, ()), *more):
        raise unsupported(instruction, f"has no reduction of {kind} in {space} memory")
    # Sums of float32 keep subnormals, as those of atomics in shared memory do (seen on an H200).
    return _Reduction(TYPES[kind], update(name, TYPES[kind], "shared"))


def _moves(source: _End, target: _End, reduction: _Reduction | None = None) -> _Land:
    """What moves the elements when the copy lands; those that lie nowhere become zero."""
    kind = np.dtype(f"u{source.width}") if source.width < _CHUNK else np.dtype("V16")
    if reduction is not None:
        kind = reduction.kind.dtype
    for end in (source, target):
        if (end.place[end.place >= 0] % end.width).any():
            raise AssertionError("elements of copies are aligned")
    there = (source.place >= 0) & (target.place >= 0)
    inside = source.place[there] // source.width, target.place[there] // target.width
    outside = target.place[(source.place < 0) & (target.place >= 0)] // target.width

    def land() -> None:
        data = source.region.view(kind)[inside[0]]
        view = target.region.writable(kind)
        view[inside[1]] = data if reduction is None else reduction.update(view[inside[1]], data)
        if len(outside):
            view[outside] = np.zeros(1, kind)

    return land


@dataclass(frozen=True)
class _Signal:
    """How the end of a copy is told: an mbarrier, perhaps of several blocks, or a group."""

    barrier: Reader | None
    blocks: Reader | None  # a bit for each block of the cluster

    def ranks(self, lanes: Lanes, lane: int) -> list[int | None]:
        """The blocks of the cluster that a lane's copy goes to; None: the one its address names."""
        if self.blocks is None:
            return [None]
        wanted = int(lanes.read(self.blocks)[lane])
        return [rank for rank in range(16) if wanted >> rank & 1]

    def place(self, lanes: Lanes, lane: int, rank: int | None) -> int:
        """The place of a lane's mbarrier, in the block of that rank; -1 where there is none."""
        if self.barrier is None:
            return -1
        return _signalled_place(lanes, lane, int(lanes.read(self.barrier)[lane]), rank)


def _signalled_place(lanes: Lanes, lane: int, address: int, rank: int | None = None) -> int:
    """The place of the mbarrier at an address, in a block of the cluster or where it says."""
    found = lanes.state.unit.shared_bytes(lane, address, 8, rank)
    if found is None:
        raise unsupported(lanes.op.instruction, "names no mbarrier object in shared memory")
    return found[1] // 8


@dataclass(frozen=True)
class _BulkCopy:
    """A copy of bytes that lie side by side: `kind` is "load", "store" or "shared"."""

    kind: str
    to: Reader
    source: Reader
    size: Reader
    signal: _Signal
    reduction: _Reduction | None = None

    def __call__(self, lanes: Lanes) -> bool:
        """Begins each lane's copy."""
        to, source = lanes.read(self.to), lanes.read(self.source)
        size = lanes.read(self.size).astype(np.int64)
        begun = np.flatnonzero(lanes.active)
        if self.kind == "store" and self.reduction is None:
            begun = _once_a_warp(lanes, begun, (source, to, size))
        for lane in begun.tolist():
            nbytes = int(size[lane])
            ends = int(source[lane]), int(to[lane])
            if not _aligned(lanes, lane, (*ends, nbytes), _CHUNK):
                continue
            self._begin(lanes, lane, ends, nbytes)
        return True

    def _begin(self, lanes: Lanes, lane: int, ends: tuple[int, int], nbytes: int) -> None:
        unit = lanes.state.unit
        from_shared, to_shared = self.kind != "load", self.kind != "store"
        width = _CHUNK if self.reduction is None else self.reduction.kind.nbytes
        pieces = np.arange(0, nbytes, width, dtype=np.int64)

        def end(address: int, *, shared: bool, rank: int | None) -> _End | None:
            found = (
                unit.shared_bytes(lane, address, nbytes, rank)
                if shared
                else unit.global_bytes(address, nbytes)
            )
            if found is None:
                lanes.illegal("out_of_bounds", lane, address, nbytes)
                return None
            return _End(found[0], found[1] + pieces, width)

        source = end(ends[0], shared=from_shared, rank=None)
        for rank in self.signal.ranks(lanes, lane):
            target = end(ends[1], shared=to_shared, rank=rank)
            if source is None or target is None:
                continue
            place = self.signal.place(lanes, lane, rank)
            lanes.state.part(Copies).begin(
                lanes,
                lane,
                self.kind,
                (source.span(),),
                (target.span(),),
                _moves(source, target, self.reduction),
                nbytes,
                place,
                is_multicast=self.signal.blocks is not None,
                is_update=self.reduction is not None,
            )


def _once_a_warp(lanes: Lanes, begun: Indices, operands: Sequence[NDArray[Any]]) -> Indices:
    """Of the lanes of a warp that store the same bytes to the same place, the first.

    The machine code of such a store loops over the operands that a warp's lanes have; that of a
    copy that an mbarrier counts, or that reduces, loops over the lanes (UTMASTG, UBLKCP, UTMAREDG
    and UBLKRED as NVRTC 13.0 and 13.5 make them). CUTLASS has a whole warp store each tile, which
    an H200 counts once.
    """
    if len(begun) < 2:
        return begun
    geometry = lanes.geometry
    threads = geometry.block.count
    warp = begun // threads * geometry.warps + begun % threads // WARP
    keys = np.stack([warp, *(o.astype(np.int64)[begun] for o in operands)], 1)
    _, first = np.unique(keys, axis=0, return_index=True)
    return begun[np.sort(first)]


def _aligned(lanes: Lanes, lane: int, values: tuple[int, ...], alignment: int) -> bool:
    """Whether all are multiples of the alignment; a fault is told of the first that is not."""
    wrong = [value for value in values if value % alignment]
    if wrong:
        lanes.illegal("misaligned", lane, wrong[0], alignment)
    return not wrong


@dataclass(frozen=True)
class _TensorCopy:
    """A copy of a box of an array that a tensor map describes."""

    loads: bool
    map: Reader
    corner: tuple[Reader, ...]
    shared: Reader
    signal: _Signal
    reduces: bool = False

    def __call__(self, lanes: Lanes) -> bool:
        """Begins each lane's copy."""
        maps, shared = lanes.read(self.map), lanes.read(self.shared)
        corner = np.stack([lanes.read(c).astype(np.int64) for c in self.corner], 1)
        begun = np.flatnonzero(lanes.active)
        if not self.loads and not self.reduces:
            begun = _once_a_warp(lanes, begun, (maps, shared, *corner.T))
        for lane in begun.tolist():
            found = _map_at(lanes, lane, int(maps[lane]), len(self.corner))
            address = int(shared[lane])
            if found is None or not _aligned(lanes, lane, (address,), _TENSOR_ALIGNMENT):
                continue
            at = corner[lane].tolist()
            if not self._may_begin_at(lanes, lane, found, at):
                continue
            self._begin(lanes, lane, found, at, address)
        return True

    def _may_begin_at(self, lanes: Lanes, lane: int, what: TensorMap, corner: list[int]) -> bool:
        """Whether the box may lie there; an H200 stops at others with an illegal instruction."""
        first = corner[0] * what.nbytes
        if first % _CHUNK:
            lanes.illegal("misaligned", lane, what.address + first, _CHUNK)
            return False
        if self.loads or min(corner) >= 0:
            return True
        text = ", ".join(map(str, corner))
        lanes.fault("beyond_map", lane, text)
        return False

    def _begin(
        self, lanes: Lanes, lane: int, what: TensorMap, corner: list[int], address: int
    ) -> None:
        unit = lanes.state.unit
        places, order = what.elements(corner)
        whole = what.extent_in_memory
        array = unit.global_bytes(what.address, whole)
        if array is None:
            lanes.illegal("out_of_bounds", lane, what.address, whole)
            return
        far = _End(array[0], np.where(places >= 0, places + array[1], -1), what.nbytes)
        for rank in self.signal.ranks(lanes, lane):
            found = unit.shared_bytes(lane, address, what.extent, rank)
            if found is None:
                lanes.illegal("out_of_bounds", lane, address, what.box_bytes)
                continue
            start = address & _OFFSET
            near = tensor_maps.swizzled(start + order, what.swizzle) - start + found[1]
            here = _End(found[0], near, what.nbytes)
            ends = (far, here) if self.loads else (here, far)
            place = self.signal.place(lanes, lane, rank)
            reduction = None
            if self.reduces:
                reduction = _reduction(lanes.op.instruction, what.kind, "global")
            row = np.arange(len(places)) // what.counts[0]
            outside = np.bincount(row[places < 0], minlength=int(row[-1]) + 1) * what.nbytes
            there = np.flatnonzero(places >= 0)
            number = there if self.loads else None
            reads = Span(far.region, far.place[there], what.nbytes, -1, row[there], number)
            writes = here.span(what.swizzle)
            if not self.loads:
                reads, writes = Span(found[0], near[places >= 0], what.nbytes, what.swizzle), reads
            lanes.state.part(Copies).begin(
                lanes,
                lane,
                "load" if self.loads else "store",
                (reads,),
                (writes,),
                _moves(*ends, reduction),
                what.box_bytes,
                place,
                outside,
                is_multicast=self.signal.blocks is not None,
                is_update=self.reduces,
            )


def _map_at(lanes: Lanes, lane: int, address: int, rank: int) -> TensorMap | None:
    """The map at an address; a fault is told where there is none of so many dimensions."""
    found = lanes.state.unit.global_bytes(address, tensor_maps.BYTES)
    if found is not None and address % tensor_maps.ALIGNMENT == 0:
        region, first = found
        raw = region.view(_U8)[first : first + tensor_maps.BYTES].tobytes()
        decoded = TensorMap.decoded(raw)
        if decoded is not None and len(decoded.sizes) == rank:
            return decoded
    lanes.illegal("bad_tensor_map", lane, address, tensor_maps.BYTES, f"{address:#x}|{rank}")
    return None


def _commit_bulk_group(lanes: Lanes) -> bool:
    """`cp.async.bulk.commit_group`: closes each lane's group."""
    for lane in np.flatnonzero(lanes.active).tolist():
        lanes.state.part(Copies).commit(lane)
    return True


def _await_bulk_groups(left: int, reads_only: bool, lanes: Lanes) -> bool:
    """`cp.async.bulk.wait_group`: until at most `left` of a lane's groups are not done.

    With `.read`, `reads_only`, until they have read their sources; their writes are then not yet
    visible to the lane (PTX ISA, "cp.async.bulk.wait_group").
    """
    for lane in np.flatnonzero(lanes.active).tolist():
        lanes.state.part(Copies).await_groups(lane, left, reads_only=reads_only)
    return True


def _bulk_copy(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `cp.async.bulk` and `cp.reduce.async.bulk` in all their forms."""
    modifiers, operands = instruction.modifiers, list(instruction.operands)
    refuse(instruction, "cp_mask")
    if any(m.startswith(("im2col", "tile::")) for m in modifiers):
        raise unsupported(instruction, "copies no plain tile")
    if "commit_group" in modifiers:
        return decoder.action(instruction, _commit_bulk_group)
    if "wait_group" in modifiers:
        left = immediate(operands[0]) if operands else None
        if left is None:
            raise unsupported(instruction, "does not say how many groups")
        return decoder.action(instruction, partial(_await_bulk_groups, left, "read" in modifiers))
    if "prefetch" in modifiers:
        return Op(Kind.NOTHING, instruction)
    if any("cache_hint" in m for m in modifiers):
        operands.pop()
    spaces = [m.partition("::")[0] for m in modifiers if m.partition("::")[0] in _SPACES]
    if len(spaces) != 2:
        raise unsupported(instruction, "does not say from where to where")
    tensor = "tensor" in modifiers
    to, source = operands[:2]
    rest = operands[2:] if tensor else operands[3:]
    if not isinstance(to, Address) or not isinstance(source, Address):
        raise unsupported(instruction, "has no address")
    signal = _signal(decoder, instruction, rest)
    reduces = "reduce" in modifiers
    if reduces and spaces[1] != "shared":
        raise unsupported(instruction, "does not reduce what lies in shared memory")
    if tensor:
        loads = spaces[0] == "shared"
        near, far = (to, source) if loads else (source, to)
        listed = [
            e for c in far.coordinates for e in (c.elements if isinstance(c, Vector) else [c])
        ]
        corner = tuple(decoder.table.read(instruction, c, TYPES["s32"]) for c in listed)
        if f"{len(corner)}d" not in modifiers:
            raise unsupported(instruction, "has the wrong number of coordinates")
        return decoder.action(
            instruction,
            _TensorCopy(
                loads,
                decoder.address(instruction, far, ""),
                corner,
                decoder.address(instruction, near, "shared"),
                signal,
                reduces,
            ),
        )
    kind = {"global": "load"}.get(spaces[1], "store" if spaces[0] == "global" else "shared")
    return decoder.action(
        instruction,
        _BulkCopy(
            kind,
            decoder.address(instruction, to, spaces[0]),
            decoder.address(instruction, source, spaces[1]),
            decoder.table.read(instruction, operands[2], TYPES["u32"]),
            signal,
            _reduction(instruction, type_of(instruction).name, spaces[0]) if reduces else None,
        ),
    )


_SPACES = ("shared", "global")


def _signal(decoder: OperandDecoder, instruction: Instruction, rest: list[Operand]) -> _Signal:
    """The mbarrier and the blocks that an instruction names after its addresses."""
    modifiers = instruction.modifiers
    if "bulk_group" in modifiers:
        return _Signal(None, None)
    if not rest or not isinstance(rest[0], Address):
        raise unsupported(instruction, "names no mbarrier")
    barrier = decoder.address(instruction, rest[0], "shared")
    blocks = None
    if any(m.startswith("multicast") for m in modifiers):
        blocks = decoder.table.read(instruction, rest[1], TYPES["u16"])
    return _Signal(barrier, blocks)


# `st.async` and `red.async`: a lane's store or update in a cluster, of which an mbarrier hears.
#
# They end as bulk copies do: as late as they can, and with bytes that the mbarrier waits for.


def _begin_remote_stores(
    kind: PtxType,
    to: Reader,
    given: tuple[Reader, ...],
    barrier: Reader,
    change: Update | None,
    lanes: Lanes,
) -> bool:
    """What each lane stores side by side, or what it updates one element with."""
    addresses, told = lanes.read(to), lanes.read(barrier)
    values = np.stack([lanes.read(v) for v in given], 1)
    width = kind.nbytes
    nbytes = width * len(given)
    for lane in np.flatnonzero(lanes.active).tolist():
        address = int(addresses[lane])
        found = lanes.state.unit.shared_bytes(lane, address, nbytes)
        if address % nbytes:
            lanes.illegal("misaligned", lane, address, nbytes)
        elif found is None:
            lanes.illegal("out_of_bounds", lane, address, nbytes)
        else:
            region, first = found
            lanes.state.part(Copies).begin(
                lanes,
                lane,
                "shared",
                (),
                (Span(region, first + np.arange(0, nbytes, width), width),),
                partial(_land, kind, region, first, values[lane], change),
                nbytes,
                _signalled_place(lanes, lane, int(told[lane])),
                is_update=change is not None,
            )
    return True


def _land(
    kind: PtxType, region: Region, first: int, given: NDArray[Any], change: Update | None
) -> None:
    """Puts a lane's values there."""
    start = first // kind.nbytes
    part = slice(start, start + len(given))
    view = region.writable(kind.dtype)
    view[part] = given if change is None else change(view[part], given)


def remote_store(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes both."""
    where, what, barrier = instruction.operands
    if not isinstance(where, Address) or not isinstance(barrier, Address):
        raise unsupported(instruction, "needs an address and an mbarrier")
    kind, name = type_of(instruction), update_of(instruction)
    if name and kind.name not in _IN_CLUSTER.get(name, ()):
        raise unsupported(instruction, f"has no reduction of {kind.name}")
    return decoder.action(
        instruction,
        partial(
            _begin_remote_stores,
            kind,
            decoder.address(instruction, where, "shared"),
            tuple(decoder.table.read(instruction, v, kind) for v in elements(what)),
            decoder.address(instruction, barrier, "shared"),
            update(name, kind, "shared") if name else None,
        ),
    )
