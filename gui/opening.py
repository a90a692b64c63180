"""Reads a user's file and finds a launch for it, off the UI thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gui.work import Job

if TYPE_CHECKING:
    from core.cuda.signature import SignatureParameter
    from core.launching.file_launch import FileLaunch


@dataclass(frozen=True)
class Opened:
    """A file's kernels and a launch of one of them; `edited` is the text if not the file's own."""

    launch: FileLaunch
    kernels: tuple[str, ...]
    signature: tuple[SignatureParameter, ...]
    edited: str | None


def open_job(
    path: str,
    known: FileLaunch | None,
    kernel: str | None,
    text: str | None = None,
    is_edit: bool = True,
) -> Job:
    """The work of opening `path`; gives an `Opened`, or raises TilescopeError.

    `known` is a launch to go on from, `kernel` one to guess anew. `text` stands in for the file's,
    and is an edit of it unless `is_edit` is False.
    """

    def job(progress: Any, cancelled: Any) -> Any:
        from pathlib import Path

        from core.cuda.signature import kernel_names, read_signature
        from core.launching.arguments import read_source
        from core.launching.file_launch import split_defines
        from core.launching.launch_guess import guess_launch, refit

        source = text if text is not None else read_source(Path(path))
        launch = refit(source, known) if known is not None else guess_launch(source, path, kernel)
        signature = read_signature(source, launch.kernel, split_defines(launch.defines))
        edited = source if text is not None and is_edit else None
        return Opened(launch, kernel_names(source), signature, edited)

    return job
