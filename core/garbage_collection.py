"""Keeps Python's garbage collector from going through millions of new objects again and again.

A full collection goes through all objects, and no other thread of Python's runs meanwhile: after
a text of ten megabytes was parsed that is a second, and while it is parsed it happens many times.
What parsers make has no cycles: it goes when nobody holds it, without being collected.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_MANY = 200_000  # objects, which a collection takes some 10 ms to go through
_THRESHOLDS = 700, 4, 25  # with Python's 700, 10, 10 the middle generation takes up to 5 ms
_SWITCH_S = 0.0005  # a thread that computes would keep Python's lock from another for 5 ms
_lock = threading.Lock()
_users = 0
_was_enabled = False


@contextmanager
def uncollected() -> Iterator[None]:
    """Within, no garbage is collected, in any thread; what many objects it made are left out after.

    For work that makes no cycles, or few. Many objects that are there at its end are out of the
    collector's sight from then on, and so is what garbage there is among them at that moment.
    """
    global _users, _was_enabled
    with _lock:
        if not _users:
            _was_enabled = gc.isenabled()
            gc.disable()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                if gc.get_count()[0] > _MANY:
                    gc.freeze()
                if _was_enabled:
                    gc.enable()


@contextmanager
def seldom_collected(*, ends: bool) -> Iterator[None]:
    """Within, garbage is collected after many new objects, not after each 700 of them.

    For a process that loads modules and ends soon: a seventh of its time went to collections.
    If the process `ends` after that, nothing is collected at its end, which took another seventh.
    """
    before = gc.get_threshold()
    gc.set_threshold(_MANY, *before[1:])
    try:
        yield
    finally:
        if ends:
            gc.freeze()
        gc.set_threshold(*before)


def keep_pauses_short() -> None:
    """Have neither collections nor other threads hold up a frame; for a process with a window."""
    gc.enable()
    gc.set_threshold(*_THRESHOLDS)
    sys.setswitchinterval(_SWITCH_S)
    leave_out()


def leave_out() -> None:
    """Take all that there is out of the collector's sight, as modules and widgets that stay.

    To go through those of a window takes 50 to 100 ms. Garbage of this moment is kept as well.
    """
    gc.freeze()
