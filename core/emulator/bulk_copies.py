"""`cp.async.bulk` and its tensor form: copies that one thread begins, and their groups.

`cp.reduce.async.bulk` is a store that updates what it finds, element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import tensor_maps
from core.emulator.events import Indices, Ints, Span
from core.emulator.geometry import WARP
from core.emulator.machine import ActionLanes
from core.emulator.machine_state import Lanes
from core.emulator.memory import Region
from core.emulator.memory_unit import Update, update
from core.emulator.operands import OperandDecoder
from core.emulator.program import Kind, Op, Reader
from core.ptx.arithmetic.operation import refuse, type_of, unsupported
from core.ptx.ast import Address, Instruction, Operand, Vector, immediate
from core.ptx.opcodes import update_of
from core.ptx.types import TYPES, PtxType
from core.tensor_maps import TensorMap

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


Land = Callable[[], None]


@dataclass(frozen=True)
class Reduction:
    """What a copy does to the elements that it finds, of one type."""

    kind: PtxType
    update: Update


# What may be done to elements of a type (PTX ISA, "cp.reduce.async.bulk"): in the shared memory of
# a block of the cluster, and in global memory more. A tensor map's integers do for bits,
# but an H200 stops at `and` of those of 64 bits that have a sign (an illegal instruction).
IN_CLUSTER = {
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


def _reduction(instruction: Instruction, kind: str, space: str) -> Reduction:
    """Of elements of a type; refused where there is none such."""
    name = update_of(instruction)
    more = _GLOBAL.get(name, ()) if space == "global" else ()
    if kind not in (*IN_CLUSTER.get(name, ()), *more):
        raise unsupported(instruction, f"has no reduction of {kind} in {space} memory")
    # Sums of float32 keep subnormals, as those of atomics in shared memory do (seen on an H200).
    return Reduction(TYPES[kind], update(name, TYPES[kind], "shared"))


def _moves(source: _End, target: _End, reduction: Reduction | None = None) -> Land:
    """What moves the elements when the copy lands; those that lie nowhere become zero."""
    kind = np.dtype(f"u{source.width}") if source.width < _CHUNK else np.dtype("V16")
    if reduction is not None:
        kind = reduction.kind.dtype
    aligned = not (source.place[source.place >= 0] % source.width).any()
    if not aligned or (target.place % target.width).any():
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

    def place(self, lanes: Lanes, lane: int, address: int, rank: int | None) -> int:
        """The place of the mbarrier at an address; -1 where there is none."""
        return -1 if self.barrier is None else signalled_place(lanes, lane, address, rank)


def signalled_place(lanes: Lanes, lane: int, address: int, rank: int | None = None) -> int:
    """The place of the mbarrier at an address, in a block of the cluster or where it says."""
    found = lanes.state.unit.shared_bytes(lane, address, 8, rank)
    if found is None:
        raise unsupported(lanes.op.instruction, "names no mbarrier object in shared memory")
    return found[1] // 8


@dataclass(frozen=True)
class BulkCopy:
    """A copy of bytes that lie side by side: `kind` is "load", "store" or "shared"."""

    kind: str
    to: Reader
    source: Reader
    size: Reader
    signal: _Signal
    reduction: Reduction | None = None

    def __call__(self, lanes: ActionLanes) -> bool:
        """Begins each lane's copy."""
        to, source = lanes.read(self.to), lanes.read(self.source)
        size = lanes.read(self.size).astype(np.int64)
        barrier = None if self.signal.barrier is None else lanes.read(self.signal.barrier)
        masks = None if self.signal.blocks is None else lanes.read(self.signal.blocks)
        begun = np.flatnonzero(lanes.active)
        if self.kind == "store" and self.reduction is None:
            begun = _once_a_warp(lanes, begun, (source, to, size))
        for lane in begun.tolist():
            nbytes = int(size[lane])
            ends = int(source[lane]), int(to[lane])
            if not _aligned(lanes, lane, (*ends, nbytes), _CHUNK):
                continue
            blocks = None if masks is None else int(masks[lane]) & 0xFFFF
            told = 0 if barrier is None else int(barrier[lane])
            self._begin(lanes, lane, ends, nbytes, told, blocks)
        return True

    def _begin(
        self,
        lanes: ActionLanes,
        lane: int,
        ends: tuple[int, int],
        nbytes: int,
        told: int,
        blocks: int | None,
    ) -> None:
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
        for rank in ranks(blocks):
            target = end(ends[1], shared=to_shared, rank=rank)
            if source is None or target is None:
                continue
            place = self.signal.place(lanes, lane, told, rank)
            lanes.machine.flight.begin(
                lanes,
                lane,
                self.kind,
                (source.span(),),
                (target.span(),),
                _moves(source, target, self.reduction),
                nbytes,
                place,
                is_multicast=blocks is not None,
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


def ranks(blocks: int | None) -> list[int | None]:
    """The blocks of the cluster that a multicast goes to; None: the one that the address names."""
    if blocks is None:
        return [None]
    return [rank for rank in range(16) if blocks >> rank & 1]


def _aligned(lanes: Lanes, lane: int, values: tuple[int, ...], alignment: int) -> bool:
    """Whether all are multiples of the alignment; a fault is told of the first that is not."""
    wrong = [value for value in values if value % alignment]
    if wrong:
        lanes.illegal("misaligned", lane, wrong[0], alignment)
    return not wrong


@dataclass(frozen=True)
class TensorCopy:
    """A copy of a box of an array that a tensor map describes."""

    loads: bool
    map: Reader
    corner: tuple[Reader, ...]
    shared: Reader
    signal: _Signal
    reduces: bool = False

    def __call__(self, lanes: ActionLanes) -> bool:
        """Begins each lane's copy."""
        maps, shared = lanes.read(self.map), lanes.read(self.shared)
        corner = np.stack([lanes.read(c).astype(np.int64) for c in self.corner], 1)
        barrier = None if self.signal.barrier is None else lanes.read(self.signal.barrier)
        masks = None if self.signal.blocks is None else lanes.read(self.signal.blocks)
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
            blocks = None if masks is None else int(masks[lane]) & 0xFFFF
            told = 0 if barrier is None else int(barrier[lane])
            self._begin(lanes, lane, found, at, address, told, blocks)
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
        self,
        lanes: ActionLanes,
        lane: int,
        what: TensorMap,
        corner: list[int],
        address: int,
        told: int,
        blocks: int | None,
    ) -> None:
        unit = lanes.state.unit
        places, order = what.elements(corner)
        whole = what.extent_in_memory
        array = unit.global_bytes(what.address, whole)
        if array is None:
            lanes.illegal("out_of_bounds", lane, what.address, whole)
            return
        far = _End(array[0], np.where(places >= 0, places + array[1], -1), what.nbytes)
        for rank in ranks(blocks):
            found = unit.shared_bytes(lane, address, what.extent, rank)
            if found is None:
                lanes.illegal("out_of_bounds", lane, address, what.box_bytes)
                continue
            start = address & _OFFSET
            near = tensor_maps.swizzled(start + order, what.swizzle) - start + found[1]
            here = _End(found[0], near, what.nbytes)
            ends = (far, here) if self.loads else (here, far)
            place = self.signal.place(lanes, lane, told, rank)
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
            lanes.machine.flight.begin(
                lanes,
                lane,
                "load" if self.loads else "store",
                (reads,),
                (writes,),
                _moves(*ends) if self.loads else _stores(*ends, reduction),
                what.box_bytes,
                place,
                outside,
                is_multicast=blocks is not None,
                is_update=self.reduces,
            )


def _stores(source: _End, target: _End, reduction: Reduction | None) -> Land:
    """As `_moves`, of the elements that lie inside the map."""
    there = target.place >= 0
    return _moves(
        _End(source.region, source.place[there], source.width),
        _End(target.region, target.place[there], target.width),
        reduction,
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


def commit(lanes: ActionLanes) -> bool:
    """`cp.async.bulk.commit_group`: closes each lane's group."""
    for lane in np.flatnonzero(lanes.active).tolist():
        lanes.machine.flight.commit(lane)
    return True


def await_groups(left: int, reads_only: bool, lanes: ActionLanes) -> bool:
    """`cp.async.bulk.wait_group`: until at most `left` of a lane's groups are not done.

    With `.read`, `reads_only`, until they have read their sources; their writes are then not yet
    visible to the lane (PTX ISA, "cp.async.bulk.wait_group").
    """
    for lane in np.flatnonzero(lanes.active).tolist():
        lanes.machine.flight.await_groups(lane, left, reads_only=reads_only)
    return True


def bulk_copy(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `cp.async.bulk` and `cp.reduce.async.bulk` in all their forms."""
    modifiers, operands = instruction.modifiers, list(instruction.operands)
    refuse(instruction, "cp_mask")
    if any(m.startswith(("im2col", "tile::")) for m in modifiers):
        raise unsupported(instruction, "copies no plain tile")
    if "commit_group" in modifiers:
        return decoder.action(instruction, commit)
    if "wait_group" in modifiers:
        left = immediate(operands[0]) if operands else None
        if left is None:
            raise unsupported(instruction, "does not say how many groups")
        return decoder.action(instruction, partial(await_groups, left, "read" in modifiers))
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
            TensorCopy(
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
        BulkCopy(
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
