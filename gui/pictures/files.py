"""Pictures written to files by workers: whole, or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from PySide6.QtGui import QImage

from core.cancelling import check
from core.errors import TilescopeError
from gui.pictures.drawing import Drawing
from gui.pictures.png import encode
from gui.pictures.svg import document

SUFFIXES = (".png", ".svg")
Progress = Callable[[float], None]
_FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)
_GONE = (errno.ENOENT, errno.ENOTDIR)


@dataclass(frozen=True)
class Picture:
    """What was painted, with what to call it. Another thread makes the file of it."""

    name: str
    content: QImage | Drawing

    def encoded(self, progress: Progress) -> bytes:
        """The file's bytes: of an image PNG, of a drawing SVG. Raises Cancelled."""
        if isinstance(self.content, QImage):
            ratio = self.content.devicePixelRatio()
            return encode(self.content, ratio, progress)
        title = f"Tilescope: {self.name}"
        return document(self.content.marks, self.content.size, title, progress)


def write_picture(picture: Picture, path: Path, progress: Progress) -> Path:
    """Write a picture; what was at `path` stays until all of the new file is there.

    Raises Cancelled, and TilescopeError with what to do where the file cannot be written.
    """
    try:
        _try(path)
        return replace_file(path, picture.encoded(progress))
    except OSError as error:
        raise TilescopeError(_sentence(path, error)) from None


def replace_file(path: Path, data: bytes) -> Path:
    """Put data into a file beside `path` and that in its place. Raises OSError, Cancelled."""
    target = path.resolve()  # the file that a link leads to, not the link
    draft = target.with_name(f".{target.name[:40]}-{uuid4().hex[:12]}.part")
    try:
        with draft.open("xb") as file:
            file.write(data)
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o777)
        check()
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return path


def _try(path: Path) -> None:
    """Raises what is wrong with a place, before anything is worked out for it."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "", str(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "", str(path.parent))
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise PermissionError(errno.EACCES, "", str(path))


def _sentence(path: Path, error: OSError) -> str:
    said = f"{path.name} could not be written: "
    if error.errno in _FULL:
        return said + "the disk is full. Make room, or choose another folder."
    if error.errno == errno.EISDIR:
        return said + "a folder has that name. Choose another."
    if error.errno in _CLOSED:
        return said + f"{path.parent} may not be written to. Choose another folder."
    if error.errno in _GONE:
        return said + f"there is no folder {path.parent}. Choose another, or make it."
    return said + f"{error.strerror or error}."
