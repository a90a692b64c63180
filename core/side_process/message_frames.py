"""Frames between two processes of this program, of which one started the other.

A frame is one byte (its kind), eight bytes (the payload's length, big endian) and the payload, a
pickle.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

from core.errors import TilescopeError

CALL = b"C"  # to the started process: (function, args, kwargs)
STOP = b"S"  # to it: finish the running call early with what there is
EVENT = b"E"  # from it: an event of the running call
DONE = b"D"  # from it: the call's result
FAILED = b"F"  # from it: how to make the call's exception, see `failure`

_KINDS = frozenset((CALL, STOP, EVENT, DONE, FAILED))
_HEADER = struct.Struct("!cQ")


class ConnectionLost(Exception):
    """The other end is gone, or what it sent is not a frame."""


def write_frame(stream: BinaryIO, kind: bytes, payload: bytes = b"") -> None:
    """Write and flush one frame; raises ConnectionLost when the other end is gone."""
    try:
        stream.write(_HEADER.pack(kind, len(payload)))
        stream.write(payload)
        stream.flush()
    except (OSError, ValueError) as error:
        raise ConnectionLost(str(error)) from error


def read_frame(stream: BinaryIO) -> tuple[bytes, bytes]:
    """Read one whole frame: (kind, payload); raises ConnectionLost at its end or inside one."""
    kind, length = _HEADER.unpack(_read_exactly(stream, _HEADER.size))
    if kind not in _KINDS:
        raise ConnectionLost("this is not a frame")
    return kind, _read_exactly(stream, length)


def _read_exactly(stream: BinaryIO, count: int) -> bytes:
    try:
        data = stream.read(count)
    except (OSError, ValueError) as error:
        raise ConnectionLost(str(error)) from error
    if data is None or len(data) != count:
        raise ConnectionLost("the stream ended")
    return data


def failure(payload: bytes) -> Exception:
    """The exception that a FAILED frame tells of."""
    kind, args, fields = pickle.loads(payload)
    error: Exception = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


def _packed(error: Exception) -> bytes:
    """The exception with all it holds, or its text alone where that cannot be pickled."""
    try:
        payload = pickle.dumps((type(error), error.args, error.__dict__), protocol=5)
        failure(payload)
    except Exception:  # noqa: BLE001 - whatever fails: the text can be sent
        if isinstance(error, TilescopeError):
            return pickle.dumps((TilescopeError, (str(error),), {}), protocol=5)
        said = f"{type(error).__name__}: {error}"
        return pickle.dumps((RuntimeError, (said,), {}), protocol=5)
    return payload


class Connection:
    """The started process's end of the pipes.

    Frames come in on standard input. They go out on a private copy of standard output: whatever
    else is written there, as by a kernel's printf, goes to standard error. In a thread of its own,
    `hear(kind, payload)` gets each frame, and `ended()` is called when there are no more.
    """

    def __init__(self, hear: Callable[[bytes, bytes], None], ended: Callable[[], None]) -> None:
        private = os.dup(1)
        os.dup2(2, 1)
        self._out: BinaryIO = os.fdopen(private, "wb")
        self._lock = threading.Lock()
        self._hear, self._ended = hear, ended
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, kind: bytes, value: Any) -> None:
        """Pickle and send one value."""
        self._write(kind, pickle.dumps(value, protocol=5))

    def carry_out(self, call: bytes) -> Exception | None:
        """Do what a CALL's payload asks for and send the outcome; the exception if it failed.

        Raises ConnectionLost.
        """
        try:
            function, args, kwargs = pickle.loads(call)
            self.send(DONE, function(*args, **kwargs))
        except ConnectionLost:
            raise
        except Exception as error:  # noqa: BLE001 - every failure goes back to the caller
            if not isinstance(error, TilescopeError):
                error.add_note("In the other process:\n" + traceback.format_exc())
            self._write(FAILED, _packed(error))
            return error
        return None

    def _write(self, kind: bytes, payload: bytes) -> None:
        with self._lock:
            write_frame(self._out, kind, payload)

    def _listen(self) -> None:
        while True:
            try:
                frame = read_frame(sys.stdin.buffer)
            except ConnectionLost:
                break
            self._hear(*frame)
        self._ended()
