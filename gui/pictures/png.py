"""Images as PNG, a few rows at a time, so that it can be told how far it is and given up."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QImage

from core.cancelling import check

STRIPE = 1 << 18  # bytes that are compressed at once: a few milliseconds
LEVEL = 6  # of zlib's 9
PIXELS_PER_METRE = 3780  # 96 to the inch
_RGB, _RGBA, _UP = 2, 6, 2  # the format's numbers for kinds of colour, and for a filter


def pixels_of(image: QImage) -> NDArray[np.uint8]:
    """uint8[height, width, 3], or [..., 4] with alpha last where the image has any."""
    alpha = image.hasAlphaChannel()
    kind = QImage.Format.Format_RGBA8888 if alpha else QImage.Format.Format_RGB888
    image = image.convertToFormat(kind)
    high, wide, channels = image.height(), image.width(), 4 if alpha else 3
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(high, image.bytesPerLine())
    return rows[:, : wide * channels].reshape(high, wide, channels).copy()  # the image goes


def encode(
    image: QImage, ratio: float = 1.0, progress: Callable[[float], None] = lambda fraction: None
) -> bytes:
    """An image as a PNG file that says how many of its pixels stand for one of the window.

    The format: W3C, PNG (third edition). Raises Cancelled where the work of this thread is.
    """
    wide, high = image.width(), image.height()
    kind = _RGBA if image.hasAlphaChannel() else _RGB
    density = round(PIXELS_PER_METRE * ratio)
    parts = [b"\x89PNG\r\n\x1a\n"]
    parts += _chunk(b"IHDR", struct.pack(">IIBBBBB", wide, high, 8, kind, 0, 0, 0))
    parts += _chunk(b"pHYs", struct.pack(">IIB", density, density, 1))
    deflate = zlib.compressobj(LEVEL)
    for stripe, done in _stripes(image):
        check()
        parts += _chunk(b"IDAT", deflate.compress(stripe))
        progress(done)
    parts += _chunk(b"IDAT", deflate.flush())
    parts += _chunk(b"IEND", b"")
    return b"".join(parts)


def data_link(image: QImage) -> str:
    """An image as a link that holds it."""
    return "data:image/png;base64," + base64.b64encode(encode(image)).decode()


def _stripes(image: QImage) -> Iterator[tuple[bytes, float]]:
    """Some rows each, less the rows above them as the filter "up" has it, and the share done."""
    rows = max(STRIPE // (4 * image.width()), 1)
    above = None
    for first in range(0, image.height(), rows):
        part = pixels_of(image.copy(0, first, image.width(), min(rows, image.height() - first)))
        part = part.reshape(len(part), -1)
        above = np.zeros_like(part[:1]) if above is None else above
        filtered = np.empty((part.shape[0], part.shape[1] + 1), np.uint8)
        filtered[:, 0] = _UP
        filtered[:, 1:] = part - np.concatenate((above, part[:-1]))
        above = part[-1:]
        yield filtered.tobytes(), (first + len(part)) / image.height()


def _chunk(name: bytes, data: bytes) -> list[bytes]:
    """A chunk of the file; none for data that zlib still holds back."""
    if not data and name == b"IDAT":
        return []
    return [struct.pack(">I", len(data)), name, data, struct.pack(">I", zlib.crc32(name + data))]
