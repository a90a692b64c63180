"""Frames between the application and its GPU worker process.

A frame is one byte (its kind), eight bytes (the payload's length, big endian) and the payload, a
pickle. Both ends are this program on this machine, started by one another.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

CALL = b"C"  # to the worker: (function, args, kwargs)
STOP = b"S"  # to the worker: finish the running job early with what it has
EVENT = b"E"  # from the worker: an event of the running job
DONE = b"D"  # from the worker: the job's result
FAILED = b"F"  # from the worker: the job's exception

_KINDS = frozenset((CALL, STOP, EVENT, DONE, FAILED))
_HEADER = struct.Struct("!cQ")


class ConnectionLost(Exception):
    """The other end is gone, or what it sent is no frame."""


def write_frame(stream: BinaryIO, kind: bytes, payload: bytes = b"") -> None:
    """Writes and flushes one frame; raises ConnectionLost when the other end is gone."""
    try:
        stream.write(_HEADER.pack(kind, len(payload)))
        stream.write(payload)
        stream.flush()
    except (OSError, ValueError) as error:
        raise ConnectionLost(str(error)) from error


def read_frame(stream: BinaryIO) -> tuple[bytes, bytes]:
    """Reads one whole frame: (kind, payload); raises ConnectionLost at its end or inside one."""
    kind, length = _HEADER.unpack(_read_exactly(stream, _HEADER.size))
    if kind not in _KINDS:
        raise ConnectionLost("this is no frame")
    return kind, _read_exactly(stream, length)


def _read_exactly(stream: BinaryIO, count: int) -> bytes:
    try:
        data = stream.read(count)
    except (OSError, ValueError) as error:
        raise ConnectionLost(str(error)) from error
    if data is None or len(data) != count:
        raise ConnectionLost("the stream ended")
    return data
