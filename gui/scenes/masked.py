"""Which threads take no part in an access, and what they store in its place. No Qt here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.trace import EventKind
from gui.scenes.guard_lines import Bools
from gui.scenes.history import Ints
from gui.scenes.parts import parts_of

if TYPE_CHECKING:
    from core.trace import Access, BlockTrace

LOOKED_AT = 64  # stores after a load among which the one of its values is looked for


def served(block: BlockTrace, access: Access) -> Ints:
    """The threads that take part in an access, ascending."""
    n = block.n_threads
    part = np.asarray(access.active)[:n] & (np.asarray(access.elements)[:n] >= 0)
    return np.flatnonzero(part)


def stored_after(block: BlockTrace, load: Access) -> Access | None:
    """The store to shared memory that follows a load before the next barrier and copies it.

    Every thread that loaded stores what it got (the first element of several), and those of the
    others that store there a zero. None where there is no such store.
    """
    if load.kind != "load" or load.array is None:
        return None
    mine = served(block, load)
    values = parts_of(load, load.array.dtype)[0].values[mine]
    kinds = np.asarray(block.kind[load.step + 1 :])
    barriers = np.flatnonzero(kinds == EventKind.BARRIER)
    end = int(barriers[0]) if len(barriers) else len(kinds)
    for ahead in np.flatnonzero(kinds[:end] == EventKind.STORE)[:LOOKED_AT]:
        store = block.access(load.step + 1 + int(ahead))
        if store is None or store.space != "shared" or store.array is None:
            continue
        part = parts_of(store, store.array.dtype)[0]
        masked = np.ones(block.n_threads, bool)
        masked[mine] = False
        masked &= part.elements[: block.n_threads] >= 0
        copied = (part.elements[mine] >= 0).all() and np.array_equal(part.values[mine], values)
        if copied and not part.values[: block.n_threads][masked].any():
            return store
    return None


def zero_filled(block_trace: BlockTrace, access: Access) -> bool:
    """Whether the threads masked off in a load store zero to shared memory in its place.

    That is what follows before the next barrier: one store for all of them, and every value zero.
    """
    masked = idle(block_trace, access)
    if access.kind != "load" or not masked.any():
        return False
    kinds = np.asarray(block_trace.kind[access.step + 1 :])
    barriers = np.flatnonzero(kinds == EventKind.BARRIER)
    end = int(barriers[0]) if len(barriers) else len(kinds)
    for ahead in np.flatnonzero(kinds[:end] == EventKind.STORE):
        store = block_trace.access(access.step + 1 + int(ahead))
        if store is None or store.space != "shared":
            continue
        if np.asarray(store.active)[: block_trace.n_threads][masked].all():
            return not np.asarray(store.values)[: block_trace.n_threads][masked].any()
    return False


def idle(block: BlockTrace, access: Access) -> Bools:
    """The threads that take no part in an access: neither served nor at fault."""
    n = block.n_threads
    return ~np.asarray(access.active)[:n] & ~np.asarray(access.faulty)[:n]
