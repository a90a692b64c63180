"""Findings: what a kernel does wrong, each as a sentence with thread, line and element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "out_of_bounds": "an access that lies in no array, or beyond its end",
        "misaligned": "an address that is not a multiple of the access's width",
        "use_after_free": "an access to memory after `free`",
        "bad_free": "a second `free`, or a `free` of a pointer that `malloc` did not return",
        "race": "two threads access the same bytes, one writes, and nothing orders them",
        "uninitialised": "a read of memory before any write to it",
        "divergent_barrier": "threads of a block that do not all come to the same barrier",
        "divergent_warp": "a warp instruction waits for lanes that never come",
        "inactive_lane": "a shuffle from a lane that takes no part in it",
        "deadlock": "threads that wait at a barrier for ever",
        "livelock": "threads that loop for ever: nothing that could end the loop changes",
        "not_awaited": "an access to what an asynchronous copy or matrix product still uses",
        "proxy_fence": "an asynchronous operation reads what threads wrote, without a proxy fence",
        "no_wgmma_fence": "a matrix product with no wgmma.fence after writes of its registers",
        "bad_descriptor": "a matrix descriptor that is not aligned, or not laid out as the tile is",
        "bad_rank": "an address in a block that the cluster does not have",
        "remote_exit": "an access to the shared memory of a block that has ended",
        "hang": "threads that wait for a phase of an mbarrier that never ends",
        "bad_mbarrier": "an mbarrier not initialised before, or overwritten, or with more arrivals",
        "bad_tensor_map": "a tensor map that is none, or has other dimensions than the copy",
        "beyond_map": "a store of a box that begins before the array of its tensor map",
        "assert": "an assertion that fails",
        "trap": "a trap, which stops the kernel",
        "bad_call": "a call of an address without a function",
    }
)

FOR_EVER = frozenset({"deadlock", "livelock", "hang"})
"""Kinds of findings whose threads never go on: the launch hangs."""


@dataclass(frozen=True)
class Finding:
    """One fault, named at its first occurrence.

    `kind` is one of `KINDS`. `thread` is linear in its block; `step` the step of the block's trace
    at which to look, -1 if it is not recorded. `index` is of the element of `array` (which is ""
    where none is known); `count` is how many accesses of this instruction were found at fault.
    `needs` is how many elements `array` would hold all of them with, 0 where none would do.
    """

    kind: str
    message: str
    block: int
    thread: int
    line: int
    tick: int
    array: str = ""
    index: tuple[int, ...] = ()
    count: int = 1
    step: int = -1
    needs: int = 0

    @property
    def is_in_front(self) -> bool:
        """Whether an access lies in front of what a pointer in a structure points to.

        Such a pointer often points into a larger array.
        """
        is_negative = bool(self.index) and self.index[0] < 0
        return self.kind == "out_of_bounds" and is_negative and "." in self.array
