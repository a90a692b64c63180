"""What threads know of each other's accesses, and the serials that say which came first.

A stamp is `serial << 32 | thread`; the thread counts through the grid (`hazard_order.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Stamps = NDArray[np.int64]
LOW = np.int64(0xFFFFFFFF)


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Serials up to which accesses are known, of single threads and of whole blocks.

    All arrays int64; the keys ascend.
    """

    threads: NDArray[np.int64]
    thread_serials: NDArray[np.int64]
    blocks: NDArray[np.int64]
    block_serials: NDArray[np.int64]

    def covers(self, serials: Stamps, threads: Stamps, blocks: Stamps) -> NDArray[np.bool_]:
        """Which accesses, by their serial, thread and block, are among them."""
        result: NDArray[np.bool_] = serials < _look_up(self.threads, self.thread_serials, threads)
        result |= serials < _look_up(self.blocks, self.block_serials, blocks)
        return result


def _look_up(keys: Stamps, values: Stamps, wanted: Stamps) -> Stamps:
    """The value of each wanted key, 0 where there is none."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0)


def latest(keys: list[Stamps], serials: list[Stamps]) -> tuple[Stamps, Stamps]:
    """The keys in ascending order, each with its highest serial."""
    key, serial = np.concatenate(keys), np.concatenate(serials)
    order = np.lexsort((serial, key))
    key, serial = key[order], serial[order]
    last = np.ones(len(key), bool)
    last[:-1] = key[1:] != key[:-1]
    return key[last], serial[last]


def merged(parts: Iterable[Knowledge]) -> Knowledge:
    """What any of them knows."""
    unique = list({id(p): p for p in parts}.values())
    if len(unique) == 1:
        return unique[0]
    return Knowledge(
        *latest([p.threads for p in unique], [p.thread_serials for p in unique]),
        *latest([p.blocks for p in unique], [p.block_serials for p in unique]),
    )


@dataclass
class Timeline:
    """What outlives one machine: the serial, and what was published at which place."""

    published: dict[tuple[str, int], Knowledge] = field(default_factory=dict)
    sites: list[int] = field(default_factory=lambda: [-1, -1])  # pc of each serial's access

    @property
    def serial(self) -> int:
        """The serial of the latest access or synchronisation."""
        return len(self.sites) - 1

    def next(self, pc: int = -1) -> int:
        """A new serial; `pc` is where an access comes from."""
        self.sites.append(pc)
        return len(self.sites) - 1
