"""`st.async` and `red.async`: a lane's store or update in a cluster, of which an mbarrier hears.

They end as bulk copies do: as late as they can, and with bytes that the mbarrier waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.bulk_copies import IN_CLUSTER, signalled_place
from core.emulator.events import Span
from core.emulator.machine import ActionLanes
from core.emulator.memory import Region
from core.emulator.memory_unit import Update, update
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.ptx.arithmetic.operation import type_of, unsupported
from core.ptx.ast import Address, Instruction, elements
from core.ptx.opcodes import update_of
from core.ptx.types import PtxType


@dataclass(frozen=True)
class RemoteStore:
    """What each lane stores side by side, or what it updates one element with."""

    kind: PtxType
    to: Reader
    values: tuple[Reader, ...]
    barrier: Reader
    update: Update | None

    def __call__(self, lanes: ActionLanes) -> bool:
        """Begins each lane's store."""
        to, told = lanes.read(self.to), lanes.read(self.barrier)
        values = np.stack([lanes.read(v) for v in self.values], 1)
        width = self.kind.nbytes
        nbytes = width * len(self.values)
        for lane in np.flatnonzero(lanes.active).tolist():
            address = int(to[lane])
            found = lanes.state.unit.shared_bytes(lane, address, nbytes)
            if address % nbytes:
                lanes.illegal("misaligned", lane, address, nbytes)
            elif found is None:
                lanes.illegal("out_of_bounds", lane, address, nbytes)
            else:
                region, first = found
                lanes.machine.flight.begin(
                    lanes,
                    lane,
                    "shared",
                    (),
                    (Span(region, first + np.arange(0, nbytes, width), width),),
                    self._land(region, first, values[lane]),
                    nbytes,
                    signalled_place(lanes, lane, int(told[lane])),
                    is_update=self.update is not None,
                )
        return True

    def _land(self, region: Region, first: int, given: NDArray[Any]) -> Callable[[], None]:
        """What puts a lane's values there."""
        start = first // self.kind.nbytes
        part = slice(start, start + len(given))

        def land() -> None:
            view = region.writable(self.kind.dtype)
            view[part] = given if self.update is None else self.update(view[part], given)

        return land


def remote_store(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes both."""
    where, what, barrier = instruction.operands
    if not isinstance(where, Address) or not isinstance(barrier, Address):
        raise unsupported(instruction, "needs an address and an mbarrier")
    kind, name = type_of(instruction), update_of(instruction)
    if name and kind.name not in IN_CLUSTER.get(name, ()):
        raise unsupported(instruction, f"has no reduction of {kind.name}")
    return decoder.action(
        instruction,
        RemoteStore(
            kind,
            decoder.address(instruction, where, "shared"),
            tuple(decoder.table.read(instruction, v, kind) for v in elements(what)),
            decoder.address(instruction, barrier, "shared"),
            update(name, kind, "shared") if name else None,
        ),
    )
