"""What the machine tells its observers. Arrays cover every lane of the machine.

A *lane* here is a thread's place in the machine: the threads of the blocks that run together, block
by block, in order of their linear threadIdx. `mask` says which lanes take part; None means all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.emulator.memory import Region

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class AccessEvent:
    """One memory instruction, executed for all the lanes of a group at once.

    `address` is int64 of shape (lanes,), or (1,) where all lanes have the same. In shared and local
    memory it is the generic address. `values` has one array for each element of a vector access.
    """

    tick: int
    pc: int
    kind: str  # "load", "store", "atomic"
    region: Region
    width: int  # bytes a lane, the whole vector
    address: NDArray[np.int64]
    mask: Mask | None
    values: tuple[NDArray[Any], ...]


@dataclass(frozen=True, slots=True)
class BarrierEvent:
    """Lanes arrive at a barrier; `released` are the blocks (places in the machine) let through."""

    tick: int
    pc: int
    mask: Mask | None
    released: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class FaultEvent:
    """Lanes did something a GPU would stop the kernel for; their access has no effect."""

    tick: int
    pc: int
    kind: str  # "out_of_bounds", "misaligned", "assert", "trap"
    lanes: NDArray[np.intp]
    address: NDArray[np.int64]
    width: int
    region: Region | None  # the one that was probably meant
    detail: str = ""


class Observer(Protocol):
    """Hears of everything that the machine does to memory; the machine knows nothing of it."""

    def on_access(self, event: AccessEvent) -> None:
        """A load, store or atomic was done."""

    def on_barrier(self, event: BarrierEvent) -> None:
        """Lanes arrived at a barrier."""

    def on_fault(self, event: FaultEvent) -> None:
        """Lanes did something illegal."""
