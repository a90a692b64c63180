"""`wgmma`: matrix products of four warps, with factors in shared memory.

D = A B + D of 64 x N: warp w of the four has rows 16 w to 16 w + 15, held like the results of
`mma.sync`. A lies in registers, likewise, or in shared memory, as B does, where a 64-bit descriptor
says how (PTX ISA, "Asynchronous warpgroup-level matrix instructions", "Matrix descriptor"). The
result is in their registers at once; until somebody waits for it, `Products` has an eye on them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.address_spaces import LOCAL_WINDOW
from core.emulator.async_copies import CommitGroups
from core.emulator.barriers import Barriers
from core.emulator.events import AwaitEvent, Mask, Read, Span, TransferEvent
from core.emulator.geometry import WARPGROUP, lanes_of_rows, warp_rows
from core.emulator.machine_state import Frame, Group, Lanes, MachineState
from core.emulator.operands import OperandDecoder
from core.emulator.program import Kind, Op, ParameterAccess, Reader
from core.emulator.scheduling import RunQueue
from core.emulator.tensor_cores import (
    ELEMENTS,
    KEPT_OF_SMALL,
    Element,
    Shape,
    floats,
    gather,
    gather_result,
    integers,
    may_multiply,
    scatter_result,
    shape_of,
)
from core.emulator.warp_primitives import WarpSync
from core.launch import WARP
from core.ptx.arithmetic.operation import refuse, unsupported
from core.ptx.ast import (
    Address,
    Instruction,
    Operand,
    Register,
    Vector,
    elements,
    immediate,
    registers,
)
from core.ptx.dataflow import Makers, results
from core.ptx.dataflow import sources as sources_of
from core.ptx.opcodes import opcode_of
from core.ptx.types import PRED, TYPES
from core.tensor_maps import swizzled

_ROWS = 16  # of a warp
_CHUNK = 16  # bytes of a row of a core matrix
_MODES = (0, 128, 64, 32)  # swizzles, as bits 62 and 63 of a descriptor name them


@dataclass(frozen=True)
class _Descriptor:
    """A factor in shared memory: all in bytes, `start` from where the block's memory begins."""

    start: int
    leading: int
    stride: int
    base: int  # which of the eight rows of the swizzle's pattern it begins at
    swizzle: int

    @classmethod
    def of(cls, raw: int) -> _Descriptor:
        """From its 64 bits."""
        start, leading, stride = (((raw >> at) & 0x3FFF) << 4 for at in (0, 16, 32))
        return cls(start, leading, stride, raw >> 49 & 7, _MODES[raw >> 62 & 3])

    @property
    def is_aligned(self) -> bool:
        """Whether it begins where the swizzle's pattern does."""
        return not self.swizzle or self.start >> 7 & (self.swizzle // _CHUNK - 1) == self.base

    def overlaps(self, rows: int, depth: int, nbytes: int, *, transposed: bool) -> bool:
        """Whether two elements lie in one place: its offsets are less than what they step over.

        PTX ISA, "Matrix descriptor": the stride offset leads from eight rows to the next eight.
        """
        shape = rows, depth, nbytes
        return _overlap(*shape, self.leading, self.stride, self.swizzle, transposed)

    def places(self, rows: int, depth: int, nbytes: int, *, transposed: bool) -> NDArray[np.int64]:
        """Where the elements lie, of `nbytes` each: int64 (rows, depth).

        Rows are A's rows or B's columns. Not transposed, the elements of a row lie side by side;
        transposed, those of a column. The layouts are those that CUTLASS calls canonical.
        """
        offsets = _offsets(rows, depth, nbytes, self.leading, self.stride, self.swizzle, transposed)
        start = self.start - (self.base << 7)
        return swizzled(start + offsets, self.swizzle) + (self.base << 7)


@cache
def _offsets(
    rows: int, depth: int, nbytes: int, leading: int, stride: int, swizzle: int, transposed: bool
) -> NDArray[np.int64]:
    row, inner = np.meshgrid(np.arange(rows), np.arange(depth), indexing="ij")
    wide = max(swizzle, _CHUNK)
    if not transposed:
        piece, rest = inner * nbytes // _CHUNK, inner * nbytes % _CHUNK
        across = piece * (_CHUNK if swizzle else leading)
        return row % 8 * wide + row // 8 * stride + across + rest
    each = wide // nbytes  # elements of a column that lie side by side
    far, along = (leading, stride) if swizzle else (stride, leading)
    return row % each * nbytes + row // each * far + inner % 8 * wide + inner // 8 * along


@cache
def _overlap(
    rows: int, depth: int, nbytes: int, leading: int, stride: int, swizzle: int, transposed: bool
) -> bool:
    offsets = _offsets(rows, depth, nbytes, leading, stride, swizzle, transposed)
    return len(np.unique(offsets)) < offsets.size


@dataclass(frozen=True)
class _Factor:
    """A or B: registers, or a descriptor; `negated` and `transposed` as the instruction says."""

    element: Element
    registers: tuple[Reader, ...]
    descriptor: Reader | None
    negated: bool
    transposed: bool


@dataclass(frozen=True)
class _WarpgroupMultiply:
    """`wgmma.mma_async`."""

    shape: Shape  # of the whole: m is 64
    result: Element
    a: _Factor
    b: _Factor
    scale: Reader  # whether the old content of D is added
    saturate: bool
    d: tuple[Reader, ...]
    sources: tuple[int, ...]  # slots of A's registers

    def __call__(self, lanes: Lanes) -> bool:
        """Multiplies as soon as the four warps of a warpgroup have come."""
        together = _met(lanes)
        if together is None:
            return False
        self._multiply(together)
        if together is lanes:
            return True
        lanes.state.part(Barriers).set_apart(lanes.pc + 1, lanes.group.depth, together.active)
        return False

    def _multiply(self, lanes: Lanes) -> None:
        """Multiplies, warp by warp."""
        products = lanes.state.part(Products)
        active = warp_rows(lanes.active, lanes.geometry, 0)
        warps = np.flatnonzero(active.any(axis=1))
        partly = warps[~active[warps].all(axis=1)]
        if len(partly):
            products.incomplete(lanes, partly)
        used: list[tuple[Read, ...]] = []
        left, spans = self._factor(lanes, self.a, warps, _ROWS)
        used.append(spans)
        right, spans = self._factor(lanes, self.b, warps, self.shape.n)
        used.append(spans)
        part = Shape(_ROWS, self.shape.n, self.shape.k)
        before = gather_result([lanes.rows(r)[warps] for r in self.d], self.result, part)
        adds = lanes.rows(self.scale)[warps, _first(lanes, warps)].astype(bool)
        before = np.where(adds[:, None, None], before, 0)
        if self.result.name == "s32":
            total = integers(left, right, before, saturate=self.saturate)
        else:
            kept = {"kept": KEPT_OF_SMALL} if self.a.element.bits == 8 else {}
            total = floats(left, right, before, self.result.name, self.shape.k, **kept)
        found = scatter_result(total, self.result, part)
        lanes.write(*(self._all(lanes, warps, r) for r in found))
        products.begin(lanes, self.sources, warps, tuple(used), adds=bool(adds.any()))

    def _all(self, lanes: Lanes, warps: NDArray[np.intp], rows: NDArray[Any]) -> NDArray[Any]:
        """A result of some warps as one value a lane."""
        geometry = lanes.geometry
        whole = np.zeros((len(geometry.blocks) * geometry.warps, 32), rows.dtype)
        whole[warps] = rows
        return lanes.lanes_of(whole)

    def _factor(
        self, lanes: Lanes, factor: _Factor, warps: NDArray[np.intp], rows: int
    ) -> tuple[NDArray[Any], tuple[Read, ...]]:
        """The values that the warps multiply, (warps, rows, depth), and what they read."""
        depth, element = self.shape.k, factor.element
        spans: tuple[Read, ...] = ()
        if factor.descriptor is None:
            registers = [lanes.rows(r)[warps] for r in factor.registers]
            values = gather(registers, element, _ROWS, depth)
        else:
            raw, spans = self._read(lanes, factor, warps, rows)
            values = element.values(raw)
        return (-values if factor.negated else values), spans

    def _read(
        self, lanes: Lanes, factor: _Factor, warps: NDArray[np.intp], rows: int
    ) -> tuple[NDArray[np.uint8], tuple[Read, ...]]:
        """The bytes of a factor for each warp, and where they lie."""
        assert factor.descriptor is not None
        geometry, depth = lanes.geometry, self.shape.k
        nbytes = factor.element.bits // 8
        descriptors = lanes.rows(factor.descriptor)[warps, _first(lanes, warps)]
        region = lanes.state.unit.shared
        assert region.lane_offset is not None
        found = np.zeros((len(warps), rows, depth, nbytes), np.uint8)
        spans: dict[tuple[int, int, int], Span] = {}
        readers: dict[tuple[int, int, int], set[int]] = {}
        bases = warp_rows(region.lane_offset, geometry, 0)[warps, 0].tolist()
        raws = descriptors.view(np.uint64).tolist()
        for i, (warp, raw, base) in enumerate(zip(warps.tolist(), raws, bases, strict=True)):
            what = _Descriptor.of(raw)
            of_a = factor is self.a
            part = warp % geometry.warps % WARPGROUP if of_a else 0
            shape = WARPGROUP * rows if of_a else rows, depth, nbytes
            whole = what.places(*shape, transposed=factor.transposed)
            places = whole[part * rows : (part + 1) * rows]
            key = raw, base, part
            readers.setdefault(key, set()).add(warp)
            if key not in spans:
                block, number = divmod(warp, geometry.warps)
                first, name = block * geometry.threads + number * WARP, "A" if of_a else "B"
                if int(places.min()) < 0 or int(places.max()) + nbytes > region.nbytes:
                    lanes.fault("bad_descriptor", first, name)
                elif what.overlaps(*shape, transposed=factor.transposed):
                    offsets = f"{what.leading}|{what.stride}|{what.swizzle}"
                    lanes.fault("bad_descriptor", first, f"{name}|{offsets}")
                spans[key] = Span(
                    region,
                    base + np.unique(np.clip(places, 0, region.nbytes - nbytes) // _CHUNK) * _CHUNK,
                    _CHUNK,
                    what.swizzle,
                    is_within=not what.is_aligned,
                )
            inside = np.clip(places, 0, max(region.nbytes - nbytes, 0))
            kind = np.dtype(f"u{nbytes}")
            data = region.view(kind)[(base + inside) // nbytes]
            found[i] = data[..., None].view(np.uint8)
        return found, tuple((span, frozenset(readers[key])) for key, span in spans.items())


def _first(lanes: Lanes, warps: NDArray[np.intp]) -> NDArray[np.intp]:
    """The first lane of each warp that takes part: what others hold in a register says nothing."""
    taking_part: NDArray[np.intp] = warp_rows(lanes.active, lanes.geometry, 0)[warps].argmax(axis=1)
    return taking_part


def _fence(lanes: Lanes) -> bool:
    """`wgmma.fence`: registers that a product uses are ready."""
    lanes.state.part(Products).fence(lanes.mask)
    lanes.state.part(WarpSync).tell("product", lanes.pc, lanes.mask)
    return True


def _commit(lanes: Lanes) -> bool:
    """`wgmma.commit_group`: closes each warp's group."""
    lanes.state.part(Products).commit(lanes.active)
    return True


def _wait(left: int, lanes: Lanes) -> bool:
    """`wgmma.wait_group`: until at most `left` of a warp's groups are not done."""
    lanes.state.part(Products).wait(lanes.active, left)
    return True


# Decoding.

_DEPTHS = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}
_TRANSPOSABLE = ("f16", "bf16")


def wgmma(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes the family."""
    refuse(instruction, "sp", "b1")
    modifiers = instruction.modifiers
    what = modifiers[0]
    if what == "fence":
        return decoder.action(instruction, _fence)
    if what == "commit_group":
        return decoder.action(instruction, _commit)
    if what == "wait_group":
        left = immediate(instruction.operands[0])
        if left is None:
            raise unsupported(instruction, "does not say how many groups")
        return decoder.action(instruction, partial(_wait, left))
    if what != "mma_async":
        raise unsupported(instruction)
    return _multiply(decoder, instruction)


def _multiply(decoder: OperandDecoder, instruction: Instruction) -> Op:
    shape = shape_of(instruction.modifiers)
    names = [m for m in instruction.modifiers if m in ELEMENTS]
    if shape is None or len(names) != 3 or not _known(shape, names):
        raise unsupported(instruction, "has a shape or types that are not supported")
    d_type, a_type, b_type = (ELEMENTS[name] for name in names)
    d_operand, a_operand, b_operand, scale, *more = instruction.operands
    d = elements(d_operand)
    if len(d) != shape.n // (2 * d_type.in_register):
        raise unsupported(instruction, f"has {len(d)} registers of D, which its shape does not")
    signs, transposes = _options(
        instruction, more, a_type, in_registers=isinstance(a_operand, Vector)
    )
    kind = TYPES[d_type.register]

    def factor(operand: Operand, element: Element, negated: bool, transposed: bool) -> _Factor:
        if isinstance(operand, Vector):
            word = TYPES[element.register]
            readers = tuple(decoder.table.read(instruction, o, word) for o in operand.elements)
            return _Factor(element, readers, None, negated, transposed)
        where = decoder.table.read(instruction, operand, TYPES["b64"])
        return _Factor(element, (), where, negated, transposed)

    a = factor(a_operand, a_type, signs[0], transposes[0])
    if a.registers and len(a.registers) != 4:
        raise unsupported(instruction, "needs 4 registers of A")
    action = _WarpgroupMultiply(
        shape,
        d_type,
        a,
        factor(b_operand, b_type, signs[1], transposes[1]),
        decoder.table.read(instruction, scale, PRED),
        "satfinite" in instruction.modifiers,
        tuple(decoder.table.read(instruction, o, kind) for o in d),
        decoder.table.slots_of(elements(a_operand)) if a.registers else (),
    )
    return decoder.action(instruction, action, d, (kind,) * len(d))


def _known(shape: Shape, names: list[str]) -> bool:
    d, a, b = names
    if a not in _DEPTHS or not may_multiply(d, a, b):
        return False
    wide = a not in ("s8", "u8") or shape.n in (8, 24) or shape.n % 16 == 0
    return shape.m == 64 and shape.k == _DEPTHS[a] and shape.n in range(8, 257, 8) and wide


def _options(
    instruction: Instruction, more: list[Operand], element: Element, *, in_registers: bool
) -> tuple[tuple[bool, bool], tuple[bool, bool]]:
    """Which factors are negated, and which transposed: (A, B) each."""
    values = [immediate(operand) for operand in more]
    if element.name in ("s8", "u8"):
        wanted = 0
    elif element.name in _TRANSPOSABLE:
        wanted = 3 if in_registers else 4
    else:
        wanted = 2
    if len(values) != wanted or None in values:
        raise unsupported(instruction, "has the wrong number of operands")
    if not wanted:
        return (False, False), (False, False)
    signs, transposes = values[:2], values[2:]
    if len(transposes) < 2:  # what lies in registers, or has other elements, is never transposed
        transposes = [0, *(transposes or [0])]
    return (signs[0] == -1, signs[1] == -1), (transposes[0] == 1, transposes[1] == 1)


# Warps that begin together.
#
# All threads of a warpgroup "must execute the same" instruction (PTX ISA, "wgmma.mma_async"), and
# the machine code makes them arrive (WARPGROUP.ARRIVE). So when one warp has waited for the
# product, the parts of the others are done as well; a kernel may let one thread of a warpgroup say
# so. No memory is ordered by the meeting alone.


def _met(lanes: Lanes) -> Lanes | None:
    """The lanes that begin their product now, with those that waited here; None if there are none.

    The others are held until the missing warps come, and a fault is told where they never do. If
    the result is another than `lanes`, the caller has to place its lanes.
    """
    state = lanes.state
    mates = _held_for(lanes)
    here = np.any([lanes.active, *mates], axis=0) if mates else lanes.active
    is_forced = lanes.group.forced
    come = _some_lanes if is_forced or lanes.op.guard >= 0 else _all_lanes
    lacking = _lacking(here, come, lanes)
    if is_forced and lacking.any():
        missing = np.flatnonzero(_of_warpgroups(lacking, lanes) & ~here)
        stuck, since = np.flatnonzero(lacking), lanes.group.since
        lanes.fault("divergent_warp", stuck, "warpgroup", others=missing, tick=since)
        lacking = np.zeros_like(lacking)
    lanes.group.forced = False
    if not mates and not lacking.any():
        return lanes
    state.exclusive = False
    if lacking.any():
        since = state.tick - 1
        held = Group(lanes.pc, lanes.group.depth, lacking, lanes.group.warp, since)
        state.part(RunQueue).held.append(held)
    unguarded = lanes.active if lanes.group.mask is None else lanes.group.mask
    unguarded = unguarded & ~lanes.active
    if unguarded.any():
        state.part(Barriers).set_apart(lanes.pc + 1, lanes.group.depth, unguarded)
    ready = here & ~lacking
    if not ready.any():
        return None
    group = Group(lanes.pc, lanes.group.depth, ready)
    return replace(lanes, group=group, mask=ready)


def _held_for(lanes: Lanes) -> list[Mask]:
    """Takes the lanes out that were held here and belong to the warpgroups of these."""
    queue = lanes.state.part(RunQueue)
    found = []
    wanted: Mask | None = None
    for group in [g for g in queue.held if g.pc == lanes.pc and g.depth == lanes.group.depth]:
        assert group.mask is not None
        wanted = _of_warpgroups(lanes.active, lanes) if wanted is None else wanted
        mine = group.mask & wanted
        if not mine.any():
            continue
        queue.held.remove(group)
        found.append(mine)
        if (group.mask & ~mine).any():
            queue.held.append(replace(group, mask=group.mask & ~mine, _lanes=None))
    return found


def _some_lanes(mask: Mask, lanes: Lanes) -> Mask:
    """Which warps have lanes in the mask: bool (blocks, warpgroups of a block, 4).

    Warps that a block does not have are absent.
    """
    geometry = lanes.geometry
    warps = warp_rows(mask, geometry, 0).any(axis=1).reshape(len(geometry.blocks), -1)
    short = -geometry.warps % WARPGROUP
    return np.pad(warps, ((0, 0), (0, short))).reshape(len(geometry.blocks), -1, WARPGROUP)


def _all_lanes(mask: Mask, lanes: Lanes) -> Mask:
    """Which warps have lanes in the mask and none beside it but such as have left the kernel."""
    beside = lanes.state.alive & ~mask
    return _some_lanes(mask, lanes) & ~_some_lanes(beside, lanes)


def _lanes_in(groups: Mask, lanes: Lanes) -> Mask:
    """The lanes of whole warpgroups: `groups` is bool (blocks, warpgroups of a block)."""
    geometry = lanes.geometry
    warps = np.repeat(groups, WARPGROUP, axis=1)[:, : geometry.warps]
    return lanes_of_rows(np.repeat(warps.reshape(-1, 1), WARP, axis=1), geometry)


def _of_warpgroups(mask: Mask, lanes: Lanes) -> Mask:
    """All lanes of the warpgroups that have lanes in the mask."""
    some: Mask = np.logical_or.reduce(_some_lanes(mask, lanes), axis=2)
    return _lanes_in(some, lanes)


def _lacking(mask: Mask, come: Callable[[Mask, Lanes], Mask], lanes: Lanes) -> Mask:
    """The lanes of the mask some warp of whose warpgroup has not come."""
    whole: Mask = np.logical_and.reduce(come(mask, lanes), axis=2)
    return mask & _lanes_in(~whole, lanes)


# Products that nobody has waited for yet, and the registers they use.
#
# Their results are there at once, so that unoptimised code, which copies registers about, gives
# what it gives on a GPU, whose assembler waits wherever it has to. An instruction that only copies
# such a register (a move, a store to and a load from a thread's own memory, or what passes it to a
# function and back) is not a fault; the copy is watched in turn.


_Numbers = NDArray[np.int64]  # of a product, one a lane; 0: of none
_Place = tuple[int, int] | int | tuple[int, str, int]
"""A slot of a frame, a place in a thread's own memory, or a parameter of a frame, by offset."""


@dataclass(frozen=True)
class _Uses:
    """The slots that an instruction reads (not for addresses) and writes."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    copies: bool


class Products:
    """The products of one machine that nobody has waited for; a `Watcher` while there are any."""

    def __init__(self, state: MachineState) -> None:
        self.state = state
        self._tick = -1  # of the instruction that is looked at; -1 is now
        self._number = 0
        self._pcs: list[int] = [-1]  # of each product
        self._warps: defaultdict[int, CommitGroups[tuple[Hashable, int]]] = defaultdict(
            CommitGroups
        )
        self._done: _Numbers = np.zeros(state.count, np.int64)  # waited for, up to here
        self._latest: _Numbers = np.zeros(state.count, np.int64)
        self._fenced = np.zeros(state.count, bool)
        self._results: dict[_Place, _Numbers] = {}  # of the latest product whose result is there
        self._factors: dict[_Place, _Numbers] = {}
        self._uses: dict[int, _Uses] = {}
        self._makers: dict[int, Makers] = {}  # by function
        # By product, and whether it adds: the loads of its registers, and which element each is.
        self._loads: dict[tuple[int, bool], list[tuple[Op, int]]] = {}

    # -- what instructions do -----------------------------------------------------------------

    def fence(self, mask: Mask | None) -> None:
        """Registers are ready for the products of these lanes."""
        self._fenced[slice(None) if mask is None else mask] = True

    def begin(
        self,
        lanes: Lanes,
        sources: tuple[int, ...],
        warps: NDArray[np.intp],
        spans: tuple[tuple[Read, ...], ...],
        *,
        adds: bool,
    ) -> None:
        """A product of some warps begins; `sources` are the slots of a factor in registers.

        `adds`: it uses what its result's registers held before.
        """
        pc, depth, active = lanes.pc, lanes.group.depth, lanes.active
        unready = np.flatnonzero(active & ~self._fenced)
        if len(unready):
            lanes.fault("no_wgmma_fence", unready)
            self._fenced[unready] = True
        frame = lanes.frame
        self._check(frame, sources, active, pc, depth, "reads")
        self._number += 1
        self._pcs.append(pc)
        number = np.where(active, self._number, 0)
        self._latest = np.maximum(self._latest, number)
        made: dict[int, _Numbers] = {}
        for into, used in ((self._results, lanes.op.destinations), (self._factors, sources)):
            for slot in used:
                old = into.get((id(frame), slot))
                if id(old) not in made:
                    made[id(old)] = number if old is None else np.where(active, number, old)
                into[id(frame), slot] = made[id(old)]
        self.state.watcher = self
        self._tell(lanes, warps, spans, self._homes(lanes, adds=adds))

    def _homes(self, lanes: Lanes, *, adds: bool) -> tuple[int, ...]:
        """Where in the threads' own memory the registers that a product uses were loaded from."""
        code, instruction = lanes.frame.code, lanes.op.instruction
        loads = self._loads.get((instruction.pc, adds))
        if loads is None:
            makers = self._makers.get(id(code))
            if makers is None:
                makers = self._makers[id(code)] = Makers([op.instruction for op in code.ops])
            d, a = instruction.operands[:2]
            used = ((d,) if adds else ()) + ((a,) if isinstance(a, Vector) else ())
            made = [m for name in registers(*used) if (m := makers.maker(name)) is not None]
            loads = self._loads[instruction.pc, adds] = [
                (code.ops[load.pc - code.first_pc], list(registers(load.operands[0])).index(name))
                for load, name in made
                if load.opcode == "ld" and "param" not in load.modifiers
            ]
        lane = int(lanes.active.argmax())
        found = []
        for op, number in loads:
            address = op.payload.address(lanes.frame.registers)
            place = int(address[lane if address.size > 1 else 0]) - LOCAL_WINDOW
            if 0 <= place < LOCAL_WINDOW:
                found.append(place + number * op.payload.type.nbytes)
        return tuple(found)

    def _tell(
        self,
        lanes: Lanes,
        warps: NDArray[np.intp],
        spans: tuple[tuple[Read, ...], ...],
        homes: tuple[int, ...],
    ) -> None:
        """Tells the observers; the warps of a warpgroup that go together are one agent."""
        geometry, pc = self.state.geometry, lanes.pc
        group = warps // geometry.warps * geometry.warps + warps % geometry.warps // 4 * 4
        site = self.state.call_site(pc, lanes.group.depth, int(np.argmax(lanes.active)))
        for first in np.unique(group).tolist():
            mine = warps[group == first]
            block = first // geometry.warps
            agent: Hashable = ("product", *mine.tolist())
            reads = tuple(
                span
                for several in spans
                for span, readers in several
                if len(span.place) and not readers.isdisjoint(mine.tolist())
            )
            issuers = (mine % geometry.warps) * 32 + block * geometry.threads
            event = TransferEvent(
                self.state.tick - 1,
                pc,
                site,
                "product",
                issuers,
                reads,
                (),
                agent,
                self._number,
                homes=homes,
            )
            for observer in self.state.observers:
                observer.on_transfer(event)
            for warp in mine.tolist():
                self._warps[warp].open.append((agent, self._number))

    def _warps_of(self, active: Mask) -> list[int]:
        rows = warp_rows(active, self.state.geometry, 0)
        return [int(w) for w in np.flatnonzero(rows.any(axis=1))]

    def commit(self, active: Mask) -> None:
        """What the warps have begun since their last commit becomes a group, perhaps empty."""
        for number in self._warps_of(active):
            self._warps[number].commit()

    def wait(self, active: Mask, left: int) -> None:
        """Waits until at most `left` groups of each warp are not done."""
        rows = warp_rows(np.arange(self.state.count), self.state.geometry, -1)
        last: dict[tuple[Hashable, int], list[int]] = {}
        for number in self._warps_of(active):
            products = self._warps[number].take(left)
            if products:
                lanes = rows[number][rows[number] >= 0]
                self._done[lanes] = products[-1][1]
                last.setdefault(products[-1], []).extend(lanes.tolist())
        for (agent, product), waiting in last.items():
            event = AwaitEvent(np.array(waiting), agent, product)
            for observer in self.state.observers:
                observer.on_await(event)
        if (self._done >= self._latest).all():
            self.state.watcher = None
            self._results.clear()
            self._factors.clear()

    # -- faults -----------------------------------------------------------------------------

    def incomplete(self, lanes: Lanes, warps: NDArray[np.intp]) -> None:
        """Some lanes of these warps do not take part in a product."""
        present = lanes.active
        whole = np.zeros((len(warp_rows(present, self.state.geometry, 0)), 32), bool)
        whole[warps] = True
        of_warps = lanes_of_rows(whole, self.state.geometry)
        missing = np.flatnonzero(~present & of_warps)
        lanes.fault("divergent_warp", np.flatnonzero(present & of_warps), others=missing)

    def _open_in(self, numbers: _Numbers | None, active: Mask) -> Mask | None:
        """The lanes whose register a product, not waited for, uses."""
        if numbers is None:
            return None
        found: Mask = (numbers > self._done) & active
        return found if found.any() else None

    def _check(
        self, frame: Frame, slots: tuple[int, ...], active: Mask, pc: int, depth: int, verb: str
    ) -> None:
        for slot in slots:
            numbers = self._results.get((id(frame), slot))
            bad = self._open_in(numbers, active)
            if bad is not None and numbers is not None:
                self._fault(bad, numbers, pc, depth, f"{verb}|writes")
                return

    def _fault(self, bad: Mask, numbers: _Numbers, pc: int, depth: int, detail: str) -> None:
        lanes = np.flatnonzero(bad)
        others, other_pc = lanes[:1], self._pcs[int(numbers[lanes[0]])]
        self.state.fault("not_awaited", pc, depth, lanes, others, other_pc, detail, tick=self._tick)

    # -- watching -----------------------------------------------------------------------------

    def watch(self, frame: Frame, group: Group, op: Op, tick: int) -> None:
        """Looks at an instruction, before it is executed at `tick`, while products are open."""
        uses = self._uses.get(op.instruction.pc)
        if uses is None:
            uses = self._uses[op.instruction.pc] = _uses(frame, op)
        slots = {(id(frame), slot) for slot in (*uses.reads, *uses.writes)}
        if slots.isdisjoint(self._results) and slots.isdisjoint(self._factors):
            has_copies = any(isinstance(place, int) for place in self._results)
            if op.kind is not Kind.MEMORY or not has_copies:
                return
        active = np.ones(self.state.count, bool) if group.mask is None else group.mask
        pc, depth = op.instruction.pc, group.depth
        self._tick = tick
        if op.kind is Kind.MEMORY:
            self._memory(frame, op, uses, active, pc, depth)
        elif uses.copies:
            self._copy(frame, uses, active)
        else:
            self._check(frame, uses.reads, active, pc, depth, "reads")
            self._overwritten(frame, uses, active, pc, depth)
        self._tick = -1

    def _overwritten(self, frame: Frame, uses: _Uses, active: Mask, pc: int, depth: int) -> None:
        self._check(frame, uses.writes, active, pc, depth, "overwrites")
        for slot in uses.writes:
            numbers = self._factors.get((id(frame), slot))
            bad = self._open_in(numbers, active)
            if bad is not None and numbers is not None:
                self._fault(bad, numbers, pc, depth, "overwrites|reads")
            self._set((id(frame), slot), None, active)

    def _set(self, key: _Place, numbers: _Numbers | None, active: Mask) -> None:
        """Some lanes' place holds the results that `numbers` says, or nothing that is watched."""
        into = self._results
        old = into.get(key)
        if old is None and numbers is None:
            return
        new = np.where(active, 0 if numbers is None else numbers, 0 if old is None else old)
        if new.any():
            into[key] = new
        else:
            into.pop(key, None)

    def _copy(self, frame: Frame, uses: _Uses, active: Mask) -> None:
        numbers = self._results.get((id(frame), uses.reads[0])) if uses.reads else None
        for slot in uses.writes:
            self._set((id(frame), slot), numbers, active)

    def _memory(self, frame: Frame, op: Op, uses: _Uses, active: Mask, pc: int, depth: int) -> None:
        access = op.payload
        address = access.address(frame.registers)
        first = int(address[0] if address.size == 1 else address[int(active.argmax())])
        local = LOCAL_WINDOW <= first < 2 * LOCAL_WINDOW
        if access.kind in ("load", "store") and local:
            is_store = access.kind == "store"
            for i, slot in enumerate(uses.reads if is_store else uses.writes):
                register, place = (id(frame), slot), first + i * access.type.nbytes
                source, to = (register, place) if is_store else (place, register)
                self._set(to, self._results.get(source), active)
        else:
            self._check(frame, uses.reads, active, pc, depth, "reads")
            self._overwritten(frame, uses, active, pc, depth)

    def parameter(self, frame: Frame, group: Group, op: Op) -> None:
        """Looks at an `ld.param` or `st.param` while products are open: both only copy."""
        access: ParameterAccess = op.payload
        active = np.ones(self.state.count, bool) if group.mask is None else group.mask
        name, first = access.key
        part = elements(op.instruction.operands[0 if access.is_load else 1])
        for i, operand in enumerate(part):
            place = id(frame), name, first + i * access.types.nbytes
            slot = frame.code.slots.get(operand.name) if isinstance(operand, Register) else None
            register = None if slot is None else (id(frame), slot)
            if not access.is_load:
                self._set(place, None if register is None else self._results.get(register), active)
            elif register is not None:
                self._set(register, self._results.get(place), active)

    def passed(
        self, source: Frame, source_name: str, to: Frame, to_name: str, mask: Mask | None
    ) -> None:
        """A parameter goes from one frame to another, as a call or its end passes it."""
        active = np.ones(self.state.count, bool) if mask is None else mask
        parameters = [k for k in self._results if isinstance(k, tuple) and len(k) == 3]
        for key in parameters:
            if key[:2] == (id(to), to_name):
                self._set(key, None, active)
        for frame, name, offset in parameters:
            if (frame, name) == (id(source), source_name):
                held = self._results[frame, name, offset]
                self._set((id(to), to_name, offset), held, active)


def _uses(frame: Frame, op: Op) -> _Uses:
    """What an instruction reads and writes, by slots."""
    slots, instruction = frame.code.slots, op.instruction
    values = [o for o in sources_of(instruction) if not isinstance(o, Address)]
    read = tuple(slots[name] for name in registers(*values) if name in slots)
    plain = instruction.opcode == "mov" and len(values) == 1 and isinstance(values[0], Register)
    if opcode_of(instruction).kind == "load":
        written = tuple(slots[n] for n in registers(instruction.operands[0]) if n in slots)
    else:
        written = tuple(slots[name] for name in results(instruction) if name in slots)
    return _Uses(read, written, plain)
