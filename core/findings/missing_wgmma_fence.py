"""Variables written after the last `wgmma.fence`, which a matrix product then takes from registers.

The fence must stand between a write of a register and the product that uses it; only products of
one shape may follow each other without one (PTX ISA, "wgmma.fence"). The optimiser moves writes
across the fence as it likes, and ptxas mends that; but unoptimised code keeps the kernel's order,
with arrays in a thread's own memory. So what is watched here are stores to that memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import AccessEvent, Mask, TransferEvent
from core.ptx.ast import Module, Register, elements
from core.ptx.dataflow import Makers

_NEVER = np.zeros(1, np.int64)
_NEW = -2


class Unready:
    """What the lanes of one machine have written since they last passed a `wgmma.fence`."""

    def __init__(self, module: Module, lanes: int) -> None:
        self.is_needed = "wgmma.mma_async" in module.text
        self._module = module
        self._fences = np.zeros(lanes, np.int64)  # serial of each lane's last one
        self._written: dict[int, NDArray[np.int64]] = {}  # serials, by place in a thread's memory
        self._from_elsewhere: set[int] = set()  # pcs of loads of shared and global memory
        self._makers: dict[str, Makers] = {}  # by function
        self._sources: dict[int, list[int]] = {}  # by store: see `_traced`

    def fence(self, mask: Mask | None, serial: int) -> None:
        """Lanes pass a `wgmma.fence`."""
        self._fences[slice(None) if mask is None else mask] = serial

    def loaded(self, event: AccessEvent) -> None:
        """A load, from the threads' own memory or from elsewhere."""
        if event.region.space != "local":
            self._from_elsewhere.add(event.pc)

    def stored(self, event: AccessEvent, serial: int) -> None:
        """A store to the threads' own memory."""
        new = self._are_new(event.pc)
        if not self._written and not any(new):
            return
        first = event.address - event.region.base
        size = event.width // len(new)
        active = np.ones(len(self._fences), bool) if event.mask is None else event.mask
        one = bool((first == first[0]).all())  # the same place in all threads, as a rule
        places = first[:1].tolist() if one else np.unique(first[active]).tolist()
        for number, is_new in enumerate(new):
            for place in places:
                key = place + number * size
                old = self._written.get(key, _NEVER)
                if is_new or old is not _NEVER:
                    here = active if one else active & (first == place)
                    serials = np.where(here, serial if is_new else 0, old)
                    self._written[key] = serials
                    if not is_new and not serials.any():
                        del self._written[key]

    def _are_new(self, pc: int) -> list[bool]:
        """Of each element of a store, whether its value is no copy, nor the sum of a product."""
        sources = self._sources.get(pc)
        if sources is None:
            sources = self._sources[pc] = self._traced(pc)
        return [load == _NEW or load in self._from_elsewhere for load in sources]

    def _traced(self, pc: int) -> list[int]:
        """The pc of the load that each stored element comes from; `_NEW`: of none; -1: unknown."""
        function = self._module.function_at(pc)
        makers = self._makers.get(function.name)
        if makers is None:
            own = self._module.instructions[function.first_pc : function.end_pc]
            makers = self._makers[function.name] = Makers(own)
        found = []
        for value in elements(self._module.instructions[pc].operands[1]):
            if not isinstance(value, Register):
                found.append(_NEW)
                continue
            made = None if value.name in makers.sums else makers.maker(value.name)
            found.append(-1 if made is None else made[0].pc if made[0].opcode == "ld" else _NEW)
        return found

    def used(self, event: TransferEvent) -> Iterator[tuple[int, int, int]]:
        """A product begins: a lane, the place of a value, and the serial of its write.

        The first is enough. Of lanes that have passed no fence at all the emulator tells.
        """
        for place in event.homes:
            written = self._written.get(place)
            if written is not None:
                fences = self._fences[event.lanes]
                late = (written[event.lanes] > fences) & (fences > 0)
                if late.any():
                    lane = int(event.lanes[late.argmax()])
                    yield lane, place, int(written[lane])
                    return
