"""Pictures as files, written by workers: whole, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QImage

from core.cancelling import check
from core.files import replacing

SUFFIXES = (".png", ".pdf")


@dataclass(frozen=True)
class Picture:
    """What was painted: an image, or the bytes of a PDF. Another thread writes the file."""

    content: QImage | bytes

    def encoded(self) -> bytes:
        """The file's bytes: an image becomes PNG. Raises Cancelled."""
        check()
        found = self.content if isinstance(self.content, bytes) else png(self.content)
        check()
        return found


_QUALITY = 80  # half the time of Qt's usual compression, and a tenth more bytes


def png(image: QImage) -> bytes:
    """An image as a PNG file."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, "PNG", _QUALITY):  # type: ignore[call-overload]
        raise MemoryError
    return bytes(buffer.data().data())


def write_picture(picture: Picture, path: Path) -> Path:
    """Write a picture; what was at `path` stays until all of the new file is there.

    Raises Cancelled, and TilescopeError with what to do where the file cannot be written.
    """
    with replacing(path) as file:
        file.write(picture.encoded())
    return path
