"""Files of a user's, written whole or not at all: what was there stays until all of the new is."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from core.cancelling import check
from core.errors import TilescopeError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)
_GONE = (errno.ENOENT, errno.ENOTDIR)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Within, a file beside `path` is written; at the end it takes the place of what was there.

    What is not a plain file, such as a pipe or /dev/stdout, is written to itself. Raises
    TilescopeError with what to do where the file cannot be written, and Cancelled.
    """
    try:
        must_be_writable(path)
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        target = path.resolve()  # the file that a link leads to, not the link
        draft = target.with_name(f".{target.name[:40]}-{uuid4().hex[:12]}.part")
        try:
            with draft.open("xb") as file:
                yield file
            if target.exists():
                draft.chmod(target.stat().st_mode & 0o777)
            check()
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise TilescopeError(_sentence(path, error)) from error


def replace_file(path: Path, data: bytes | str) -> Path:
    """Write bytes, or a text in UTF-8, as `replacing` does."""
    with replacing(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return path


def must_be_writable(path: Path) -> None:
    """Raises TilescopeError with what to do, before anything is worked out for a place."""
    wrong = None
    if path.is_dir():
        wrong = errno.EISDIR
    elif not path.parent.is_dir():
        wrong = errno.ENOENT
    elif path.exists() and not path.is_file():
        return
    elif not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        wrong = errno.EACCES
    if wrong is not None:
        raise TilescopeError(_sentence(path, OSError(wrong, os.strerror(wrong))))


def _sentence(path: Path, error: OSError) -> str:
    said = f"{path.name} could not be written: "
    if error.errno in _FULL:
        return said + "the disk is full. Make room, or choose another folder."
    if error.errno == errno.EISDIR:
        return said + "a folder has that name. Choose another."
    if error.errno in _CLOSED:
        return said + f"{path.parent} may not be written to. Choose another folder."
    if error.errno in _GONE and path.parent.is_dir():  # such as /proc
        return said + f"no file can be made in {path.parent}. Choose another folder."
    if error.errno in _GONE:
        return said + f"there is no folder {path.parent}. Choose another, or make it."
    if error.errno is None:  # NumPy's own: fewer bytes went out than were given
        return said + "not all of it fitted. Make room on the disk, or choose another folder."
    return said + f"{error.strerror}."
