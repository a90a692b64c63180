"""What the machine writes down about the blocks that run together; `core.trace` reads it.

Arrays are kept by reference: the machine never writes into one, so recording a value costs nothing
but the memory it already has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.address_spaces import Region, zeros
from core.emulator.events import (
    AccessEvent,
    BarrierEvent,
    CopiesEvent,
    FaultEvent,
    LandEvent,
    Mask,
    Observer,
    PhaseEvent,
    TransferEvent,
)
from core.emulator.geometry import Geometry
from core.emulator.program import FunctionCode

Log = list[tuple[int, NDArray[Any]]]
_NOWHERE = Region("", "global", 0, 0, zeros(0))  # the region of an address that is near no array


@dataclass
class ChunkRecord(Observer):
    """The record of one machine, in order of time (`tick`: instructions issued so far).

    Segments are straight stretches of code that a group ran through: `ticks[i]` is when, `firsts`
    and `ends` which instructions, `masks` who (None: every lane), `depths` how many calls deep.
    `transfers` are the asynchronous operations, as they began, `landings` what they
    brought to shared memory and when, `phases` what happened to mbarriers.
    `faults` are the illegal accesses of lanes, by the place in `accesses` of what the other lanes
    of the instruction did; where no other lane accessed memory, that place holds an access without
    lanes. `values` holds, for each function, depth and register, every value it was given;
    `stack_bases` where on a thread's stack the function's local variables start, in bytes.
    `guarded` has, by tick, the lanes that executed an instruction whose guard kept others from it,
    but for arithmetic and jumps.
    """

    geometry: Geometry
    ticks: list[int] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    masks: list[Mask | None] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    accesses: list[AccessEvent] = field(default_factory=list)
    faults: dict[int, list[FaultEvent]] = field(default_factory=dict)
    barriers: list[BarrierEvent] = field(default_factory=list)
    transfers: list[TransferEvent] = field(default_factory=list)
    phases: list[PhaseEvent] = field(default_factory=list)
    landings: list[LandEvent] = field(default_factory=list)
    values: dict[tuple[str, int], dict[int, Log]] = field(default_factory=dict)
    stack_bases: dict[tuple[str, int], int] = field(default_factory=dict)
    guarded: dict[int, Mask] = field(default_factory=dict)

    def segment(self, tick: int, first: int, end: int, mask: Mask | None, depth: int) -> None:
        """Notes a straight stretch of code."""
        if end > first:
            self.ticks.append(tick)
            self.firsts.append(first)
            self.ends.append(end)
            self.masks.append(mask)
            self.depths.append(depth)

    def barrier(self, event: BarrierEvent) -> None:
        """Notes an arrival at a barrier."""
        self.barriers.append(event)

    def logs(
        self, code: FunctionCode, depth: int
    ) -> list[Callable[[tuple[int, NDArray[Any]]], None] | None]:
        """For each slot of the function, where its new values are noted, or None."""
        logs = self.values.setdefault((code.function.name, depth), {})
        found: list[Callable[[tuple[int, NDArray[Any]]], None] | None] = [None] * len(code.dtypes)
        for slot in code.watched:
            found[slot] = logs.setdefault(slot, []).append
        return found

    # -- observer ---------------------------------------------------------------------------

    def on_access(self, event: AccessEvent) -> None:
        """Notes a memory access."""
        self.accesses.append(event.compact())

    def on_transfer(self, event: TransferEvent) -> None:
        """Notes that an asynchronous operation begins."""
        self.transfers.append(event)

    def on_land(self, event: LandEvent) -> None:
        """Notes what an asynchronous operation has brought."""
        self.landings.append(event)

    def on_phase(self, event: PhaseEvent) -> None:
        """Notes what happens to mbarriers."""
        if event.kind not in ("init", "inval"):
            self.phases.append(event)

    def on_copies(self, event: CopiesEvent) -> None:
        """Notes which mbarriers track copies, as a phase event of kind "track"."""
        if event.kind == "track" and event.places is not None:
            told = PhaseEvent("track", event.places, event.lanes, event.tick, event.pc)
            self.phases.append(told)

    def on_fault(self, event: FaultEvent) -> None:
        """Notes an illegal access, which comes after the legal ones of its instruction."""
        if not event.access:
            return
        last = self.accesses[-1] if self.accesses else None
        if last is None or (last.tick, last.kind) != (event.tick, event.access):
            nobody = np.zeros(self.geometry.lanes, bool)
            region = event.region or _NOWHERE
            self.accesses.append(
                AccessEvent(
                    event.tick,
                    event.pc,
                    event.access,
                    region,
                    event.width,
                    np.array([region.base], np.int64),
                    nobody,
                    event.values,
                    event.site,
                )
            )
        self.faults.setdefault(len(self.accesses) - 1, []).append(event)

    def entries(self) -> int:
        """How many accesses, values and stretches of code are noted."""
        values = sum(len(log) for logs in self.values.values() for log in logs.values())
        asynchronous = len(self.transfers) + len(self.phases)
        return len(self.accesses) + len(self.ticks) + len(self.guarded) + asynchronous + values

    def nbytes(self) -> int:
        """Roughly the memory that the record holds on to."""
        unique: dict[int, int] = {}
        for event in self.accesses:
            for array in (event.base, *event.values):
                unique[id(array)] = array.nbytes
        for transfer in self.transfers:
            for span in (*transfer.reads, *transfer.writes):
                for part in (span.place, span.row, span.number):
                    if part is not None:
                        unique[id(part)] = part.nbytes
        for landing in self.landings:
            unique[id(landing.data)] = landing.data.nbytes
        for phase in self.phases:
            unique[id(phase.lanes)] = phase.lanes.nbytes + phase.places.nbytes
        for mask in self.guarded.values():
            unique[id(mask)] = mask.nbytes
        for logs in self.values.values():
            for log in logs.values():
                for _, array in log:
                    unique[id(array)] = array.nbytes
        return sum(unique.values())
