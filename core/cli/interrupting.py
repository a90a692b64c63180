"""Ctrl-C while a program is being loaded: it ends, and says nothing."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def quietly_interrupted() -> Iterator[None]:
    """Ctrl-C ends the process at once, until `KeyboardInterrupt` is wanted or the block ends.

    While modules are imported there is nothing to put right, and that exception would be shown
    from their midst. Whoever started this may have it ignore Ctrl-C, or listen to it.
    """
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        raise_keyboard_interrupt()


def raise_keyboard_interrupt() -> None:
    """From now on Ctrl-C raises what Python raises, where it ended the process."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(130)  # the status that a shell gives it
