"""What a launch asks of the hardware, counted from the emulation: the numbers under the ceilings.

`WorkProbe` watches the blocks that `core.recording.count_launch.count` runs. It counts what the
counters do not: bytes asked for, distinct 128-byte lines, sectors distinct within a block,
instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.block_record import ChunkRecord
from core.emulator.events import AccessEvent, Ints, Mask, Observer, Span, TransferEvent
from core.emulator.geometry import Geometry, active_rows, warp_rows
from core.emulator.launch_image import Image
from core.emulator.program import FunctionCode
from core.ptx.ast import Instruction
from core.ptx.opcodes import opcode_of, space_of
from core.rules import global_memory, shared_memory
from core.rules.memory_instruction_issue import IssueTable
from core.rules.touched_sectors import SECTOR_BITS, Footprint, Moves, Touched

# Which PTX instructions do floating-point work, and which a GPU must issue whatever happens.


_FLOATS = ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2", "f32x2")
_COPIES = {"ca", "cg"}
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_TYPE = re.compile(r"b?f16|f32|tf32|f64|[su]8|[su]4|s32|e4m3|e5m2")


def operations(instruction: Instruction) -> int:
    """Floating-point operations of one lane: a multiply-add is two, a packed pair twice as many.

    Tensor instructions count 0 here: they work for a warp.
    """
    kind = next((m for m in instruction.modifiers if m in _FLOATS), None)
    if kind is None:
        return 0
    return opcode_of(instruction).flops * (2 if kind.endswith("x2") else 1)


@dataclass(frozen=True)
class MatrixProduct:
    """What a tensor core's instruction does for a warp: operations, a multiply-add as two.

    `factors` is the PTX type of A and B, "f16" or "tf32"; `floating` whether they are floats.
    `by_group`: four warps do it together, and each a quarter of it.
    """

    flops: int
    factors: str
    by_group: bool = False

    @property
    def rate(self) -> str:
        """How fast tensor cores are at it, by name: its factors, with `wgmma` before them."""
        return f"wgmma {self.factors}" if self.by_group else self.factors

    @property
    def floating(self) -> bool:
        """Whether the operations are floating-point ones."""
        return "f" in self.factors or self.factors.startswith("e")


def is_tensor(instruction: Instruction) -> bool:
    """Whether it is a tensor core's matrix product."""
    is_matrix = opcode_of(instruction).kind == "matrix"
    return is_matrix and not {"mma", "mma_async"}.isdisjoint(
        (instruction.opcode, *instruction.modifiers)
    )


def tensor_operations(instruction: Instruction) -> MatrixProduct | None:
    """The matrix product that an instruction does for its warp, None for any other instruction.

    The shape m x n x k and the types of D, A, B and C are among its modifiers (PTX ISA, "Warp Level
    Matrix Instructions"); `wmma.mma` on halves names only D's and C's.
    """
    if not is_tensor(instruction):
        return None
    shape = next((f for m in instruction.modifiers if (f := _SHAPE.fullmatch(m))), None)
    types = [m for m in instruction.modifiers if _TYPE.fullmatch(m)]
    if shape is None or len(types) < 2:
        return None
    m, n, k = (int(part) for part in shape.groups())
    factors = "f16" if instruction.opcode == "wmma" and len(types) == 2 else types[1]
    if instruction.opcode == "wgmma":  # D's type, A's and B's
        return MatrixProduct(2 * m * n * k // 4, factors, by_group=True)
    return MatrixProduct(2 * m * n * k, factors)


def machine_work(instruction: Instruction) -> tuple[str, int] | None:
    """What machine code must have for an instruction: a class of `core.models.machine_code_bounds`.

    With it the units that a lane contributes: operations for "fp32", one for any other class. None
    for what the assembler may merge or leave out.
    """
    row, modifiers = opcode_of(instruction), set(instruction.modifiers)
    if row.kind == "copy":
        return ("LDGSTS", 1) if _COPIES & modifiers else None
    if instruction.opcode == "wgmma":
        return None
    if product := tensor_operations(instruction):
        return ("HMMA", 1) if product.factors in ("f16", "bf16", "tf32") else None
    if row.kind == "barrier" and not {"warp", "arrive"} & modifiers:
        return ("BAR", 1)
    if row.kind in ("load", "store") and "global" in modifiers:
        return ("LDG" if row.kind == "load" else "STG", 1)
    plain = row.kind == "arithmetic" and row.flops and "f32" in modifiers
    return ("fp32", operations(instruction)) if plain else None


def is_certain(instruction: Instruction) -> bool:
    """Whether machine code has an instruction for it in any case.

    Arithmetic on floats, accesses to memory and barriers do; address arithmetic, moves and loop
    control may be merged, hoisted or unrolled away by the assembler.
    """
    row = opcode_of(instruction)
    if row.is_memory:
        return space_of(instruction) != "param"
    moves = row.kind == "copy" and bool(_COPIES & set(instruction.modifiers))
    return row.kind == "barrier" or moves or is_tensor(instruction) or operations(instruction) > 0


@dataclass(frozen=True)
class Work:
    """Sums over a launch. Those of blocks of one kind are those of its first block.

    `loaded_bytes`, `stored_bytes`: what lanes asked of global memory. `load_sectors`,
    `store_sectors`: 32-byte sectors by array, each request's own. `lines`: distinct 128-byte lines
    of each global request, summed. `wavefronts`: of shared memory. `l2_sectors`: sectors that a
    block loads, each once, and every sector stored. `instructions`: warp instructions that no
    assembler can do without. `flops`: floating-point operations, a multiply-add as two, those of
    tensor cores among them; `tensor` are the latter alone, by the type of the factors. `needs` is
    what machine code must do for all lanes together, by the classes of `machine_work`.
    """

    loaded_bytes: int = 0
    stored_bytes: int = 0
    loads: int = 0
    lines: int = 0
    wavefronts: int = 0
    l2_sectors: int = 0
    instructions: int = 0
    flops: int = 0
    tensor: Mapping[str, int] = field(default_factory=dict)
    needs: Mapping[str, int] = field(default_factory=dict)
    load_sectors: Mapping[str, int] = field(default_factory=dict)
    store_sectors: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: Work, times: int) -> Work:
        """This and `times` the other."""
        numbers = {name: getattr(self, name) + times * getattr(other, name) for name in SUMS}
        return Work(
            **numbers,
            tensor=_sum(self.tensor, other.tensor, times),
            needs=_sum(self.needs, other.needs, times),
            load_sectors=_sum(self.load_sectors, other.load_sectors, times),
            store_sectors=_sum(self.store_sectors, other.store_sectors, times),
        )


@dataclass(frozen=True)
class Asked:
    """What lanes ask of global memory, as in `Work`; `load_sectors` by array."""

    loaded_bytes: int
    stored_bytes: int
    loads: int
    load_sectors: Mapping[str, int]

    @classmethod
    def of(cls, work: Work) -> Asked:
        """That part of a launch's work."""
        return cls(work.loaded_bytes, work.stored_bytes, work.loads, work.load_sectors)


SUMS = (
    *("loaded_bytes", "stored_bytes", "loads", "lines", "wavefronts", "l2_sectors"),
    *("instructions", "flops"),
)


def _sum(one: Mapping[str, int], other: Mapping[str, int], times: int) -> dict[str, int]:
    return {n: one.get(n, 0) + times * other.get(n, 0) for n in {**one, **other}}


class IssueRecord(ChunkRecord):
    """Instead of a record: how many warps, and lanes, ran each instruction."""

    def __init__(self, geometry: Geometry, instructions: int) -> None:
        super().__init__(geometry)
        self._warps = np.zeros(instructions + 1, np.int64)
        self._lanes = np.zeros(instructions + 1, np.int64)
        self._masks: dict[int, tuple[Mask, int, int]] = {}
        self._alike = True

    def segment(self, tick: int, first: int, end: int, mask: Mask | None, depth: int) -> None:
        """Counts a straight stretch of code."""
        if end <= first:
            return
        warps, lanes = self._who(mask)
        for sums, count in ((self._warps, warps), (self._lanes, lanes)):
            sums[first] += count
            sums[end] -= count

    def _who(self, mask: Mask | None) -> tuple[int, int]:
        if mask is None:
            return self.geometry.warps * len(self.geometry.blocks), self.geometry.lanes
        known = self._masks.get(id(mask))
        if known is None:
            rows = warp_rows(mask, self.geometry, False)
            lanes = rows.sum(axis=1).reshape(len(self.geometry.blocks), -1)
            self._alike = self._alike and bool((lanes == lanes[0]).all())
            counts = (int(np.count_nonzero(lanes)), int(lanes.sum()))
            known = self._masks[id(mask)] = (mask, *counts)  # kept alive: its id stays its own
        return known[1:]

    def barrier(self, event: object) -> None:
        """Barriers are instructions like others."""

    def logs(
        self, code: FunctionCode, depth: int
    ) -> list[Callable[[tuple[int, NDArray[Any]]], None] | None]:
        """Values are not kept."""
        return [None] * len(code.dtypes)

    @property
    def warps(self) -> Ints:
        """By pc: how often a warp issued it."""
        return np.cumsum(self._warps)

    @property
    def lanes(self) -> Ints:
        """By pc: how often a lane executed it."""
        return np.cumsum(self._lanes)

    @property
    def by_block(self) -> Ints | None:
        """By pc: how often a lane of each block executed it; None where blocks are not alike."""
        return self.lanes // len(self.geometry.blocks) if self._alike else None


def _sectors_of(span: Span) -> Ints:
    """The sectors of a span, each once, counted from the start of its array."""
    steps = np.arange(0, span.width + (1 << SECTOR_BITS) - 1, 1 << SECTOR_BITS)
    last = span.place + span.width - 1
    found = np.minimum(span.place[:, None] + steps, last[:, None]) >> SECTOR_BITS
    return np.unique(found)


class WorkPart(Observer):
    """Watches one machine."""

    def __init__(self, image: Image, geometry: Geometry, issues: IssueTable) -> None:
        self._image, self._geometry, self._issues = image, geometry, issues
        self.record = IssueRecord(geometry, len(image.module.instructions))
        self._sums = dict.fromkeys(SUMS, 0)
        self._sectors: dict[str, dict[str, int]] = {"load": {}, "store": {}}
        self.touched = Touched(geometry)

    # -- events -----------------------------------------------------------------------------

    def on_access(
        self,
        event: AccessEvent,
        *,
        footprint: bool = True,
        lines: bool = True,
        moves: Moves = (0, 0, 0),
    ) -> None:
        """Counts an access; `lines` and `footprint` may be counted apart, at other addresses.

        Where one block stands for many, `moves` says how its address changes from block to block:
        what moves differently is not the same data, even if it is in this block.
        """
        if event.region.space == "global":
            address = np.broadcast_to(event.address, self._geometry.lanes)
            if lines:
                self._global(event, address)
            if footprint:
                self.touched.add(event, address, moves)
        elif event.region.space == "shared":
            self._shared(event)

    def on_transfer(self, event: TransferEvent) -> None:
        """Counts a matrix product's reads of shared memory, or what a bulk copy moves.

        A copy asks the L2 cache by itself: no line of L1 is looked at, and no lane loads.
        """
        if event.kind == "product":
            self._sums["wavefronts"] += sum(
                shared_memory.product_wavefronts(len(span.place), span.width)
                for span in event.reads
            )
            return
        for kind, spans in (("load", event.reads), ("store", event.writes)):
            for span in spans:
                if span.region.space == "global":
                    self._sums["loaded_bytes" if kind == "load" else "stored_bytes"] += (
                        len(span.place) * span.width
                    )
                    sectors = _sectors_of(span)
                    by_array = self._sectors[kind]
                    by_array[span.region.name] = by_array.get(span.region.name, 0) + len(sectors)
                    self._sums["l2_sectors"] += len(sectors)
                    for way in ("load", "store") if event.is_update else (kind,):
                        self.touched.add_sectors(span.region, way, sectors)

    def _global(self, event: AccessEvent, address: Ints) -> None:
        if event.pc in self._issues.joined:
            self._sums["instructions"] -= self._busy_warps(event)
            return
        rows = warp_rows(address, self._geometry, 0)
        active = active_rows(event.mask, self._geometry)
        lanes = int(np.count_nonzero(active))
        is_load = event.kind == "load"
        sums = self._sums
        sums["loaded_bytes" if is_load else "stored_bytes"] += lanes * event.width
        sums["loads"] += lanes * is_load
        if opcode_of(self._image.module.instructions[event.pc]).kind != "copy":
            # 128 bytes go to a warp at a time: so many lines at least.
            least = -(-active.sum(axis=1) * event.width // global_memory.LINE)
            sums["lines"] += int(np.maximum(global_memory.lines(rows, active), least).sum())
        sectors = int(global_memory.sectors(rows, active).sum())
        by_array = self._sectors["load" if is_load else "store"]
        by_array[event.region.name] = by_array.get(event.region.name, 0) + sectors
        if not is_load:
            sums["l2_sectors"] += sectors

    def _shared(self, event: AccessEvent) -> None:
        if event.pc in self._issues.joined:
            self._sums["instructions"] -= self._busy_warps(event)
            return
        address = np.broadcast_to(event.address, self._geometry.lanes) - event.region.base
        wide = self._issues.wide.get(event.pc)
        if wide is None:
            self._wavefronts(event, address, event.width)
        else:
            self._wavefronts(event, address + wide.shift, wide.width)

    def _wavefronts(self, event: AccessEvent, offset: Ints, width: int) -> None:
        rows, active = warp_rows(offset, self._geometry, 0), active_rows(event.mask, self._geometry)
        sharing = "merged" if event.kind == "load" else "grouped"
        taken = shared_memory.wavefronts(rows, active, width, sharing)  # type: ignore[arg-type]
        self._sums["wavefronts"] += int(taken.sum())

    def _busy_warps(self, event: AccessEvent) -> int:
        return int(active_rows(event.mask, self._geometry).any(axis=1).sum())

    # -- the end ----------------------------------------------------------------------------

    def work(self) -> Work:
        """The sums of this machine's blocks."""
        sums = dict(self._sums)
        sums["l2_sectors"] += sum(g.blocks for g in self.touched.groups() if g.kind == "load")
        warps, lanes = self.record.warps, self.record.lanes
        tensor: dict[str, int] = {}
        needs: dict[str, int] = {}
        for instruction in self._image.module.instructions:
            if not warps[instruction.pc]:
                continue
            sums["instructions"] += int(warps[instruction.pc]) * is_certain(instruction)
            each = operations(instruction)
            sums["flops"] += each * int(lanes[instruction.pc])
            if does := machine_work(instruction):
                name, units = does
                needs[name] = needs.get(name, 0) + units * int(lanes[instruction.pc])
            if product := tensor_operations(instruction):
                done = product.flops * int(warps[instruction.pc])
                tensor[product.rate] = tensor.get(product.rate, 0) + done
                sums["flops"] += done * product.floating
        loads, stores = self._sectors["load"], self._sectors["store"]
        return Work(**sums, tensor=tensor, needs=needs, load_sectors=loads, store_sectors=stores)


class WorkProbe:
    """Watches a whole count.

    Shared loads of optimised code count as the wide loads that the assembler makes of them.
    """

    def __init__(self) -> None:
        self.total, self.footprint = Work(), Footprint()
        self._issues: IssueTable | None = None

    def restart(self) -> None:
        """Forgets everything: the count begins anew."""
        self.total, self.footprint = Work(), Footprint()

    def part(self, image: Image, geometry: Geometry) -> WorkPart:
        """A watcher for one machine."""
        if self._issues is None or self._issues.module is not image.module:
            self._issues = IssueTable(image.module)
        return WorkPart(image, geometry, self._issues)

    def add(self, part: WorkPart, times: int, steps: Ints | None = None) -> None:
        """A machine is done; as many blocks are like its one, so many steps (x, y, z) away."""
        self.total = self.total.plus(part.work(), times)
        for group in part.touched.groups():
            self.footprint.mark(group, steps)
