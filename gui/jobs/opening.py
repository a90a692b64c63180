"""Reads a user's file and finds a launch for it, off the UI thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.errors import TilescopeError

if TYPE_CHECKING:
    from core.cuda.signature import SignatureParameter
    from core.launching.file_launch import FileLaunch
    from gui.frames.work import Job
    from gui.scenes.selection import Configuration

NO_NUMBER = "{} is no longer a number in the source: run the edited text first."


@dataclass(frozen=True)
class Opened:
    """A file's kernels and a launch of one of them; `edited` is the text if not the file's own.

    `block` is the one to look at first, None for the one that is looked at; `pasted` is as in a
    `Configuration`.
    """

    launch: FileLaunch
    kernels: tuple[str, ...]
    signature: tuple[SignatureParameter, ...]
    edited: str | None
    block: int | None = None
    pasted: str = ""


def open_job(
    path: str,
    known: FileLaunch | None,
    kernel: str | None,
    text: str | None = None,
    is_edit: bool = True,
    linked: bool = False,
    block: int | None = None,
    pasted: str = "",
) -> Job:
    """The work of opening `path`; gives an `Opened`, or raises TilescopeError.

    `known` is a launch to go on from, `kernel` one to guess anew. `text` stands in for the file's,
    and is an edit of it unless `is_edit` is False. `linked` says that `known` is a link's: what it
    leaves empty is guessed, and what the source has not is an error. `block` and `pasted` go
    along.
    """

    def job(progress: Any, cancelled: Any) -> Any:
        from pathlib import Path

        from core.apart import apart
        from core.launching.opening import launch_of
        from core.launching.plain_files import must_be_short_enough, read_source
        from core.launching.reading import LARGE

        source = text if text is not None else read_source(Path(path))
        must_be_short_enough(source, "The text")
        asked = (source, path, known, kernel, linked)
        found = apart(launch_of, *asked) if len(source) > LARGE else launch_of(*asked)
        edited = source if text is not None and is_edit else None
        return Opened(*found, edited, block, pasted)

    return job


def turn_job(shown: Configuration, text: str, name: str, value: int) -> Job:
    """The work of setting a constant in a large text; gives the `Configuration` with it.

    Raises TilescopeError where it is no longer there.
    """

    def job(progress: Any, cancelled: Any) -> Any:
        from core.apart import apart
        from gui.scenes.knobs import turned

        try:
            return apart(turned, shown, text, "constant", name, value)
        except KeyError:
            raise TilescopeError(NO_NUMBER.format(name)) from None

    return job
