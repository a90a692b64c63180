"""`st.async` and `red.async`: a lane's store or update in a cluster, of which an mbarrier hears.

They end as bulk copies do: as late as they can, and with bytes that the mbarrier waits for.
"""

from __future__ import annotations

from functools import partial
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


def store(
    kind: PtxType,
    to: Reader,
    given: tuple[Reader, ...],
    barrier: Reader,
    change: Update | None,
    lanes: ActionLanes,
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
            lanes.machine.flight.begin(
                lanes,
                lane,
                "shared",
                (),
                (Span(region, first + np.arange(0, nbytes, width), width),),
                partial(_land, kind, region, first, values[lane], change),
                nbytes,
                signalled_place(lanes, lane, int(told[lane])),
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
    if name and kind.name not in IN_CLUSTER.get(name, ()):
        raise unsupported(instruction, f"has no reduction of {kind.name}")
    return decoder.action(
        instruction,
        partial(
            store,
            kind,
            decoder.address(instruction, where, "shared"),
            tuple(decoder.table.read(instruction, v, kind) for v in elements(what)),
            decoder.address(instruction, barrier, "shared"),
            update(name, kind, "shared") if name else None,
        ),
    )
