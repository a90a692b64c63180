"""Traces on disk: one compressed .npz with a JSON header, and every array once."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

from core.errors import TilescopeError
from core.storage.header import trace_header
from core.storage.layout import is_laid_out_as, seems_to_fit
from core.storage.pool import Arrays, Pool
from core.storage.rebuild import trace_of
from core.trace import Trace

FORMAT = "tilescope trace"
VERSION = 3
"""3 says where buffers lay and what the code was; 2 did not, and is read where that can be seen."""
_BEFORE = 2
_AGAIN = "record it again"


def save_trace(trace: Trace, path: Path) -> None:
    """Writes a trace. Raises `TilescopeError` where the file cannot be written."""
    pool = Pool()
    header = {"format": FORMAT, "version": VERSION, **trace_header(trace, pool)}
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    try:
        with path.open("wb") as file:
            np.savez_compressed(file, header=text, **pool.columns())  # type: ignore[arg-type]
    except OSError as error:
        raise TilescopeError(f"{path} cannot be written: {error.strerror}.") from None


def load_trace(path: Path) -> Trace:
    """Reads a trace back; it steps as the one that was saved.

    Raises `TilescopeError` for a file that is missing, is no trace, or is of another version.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            columns = {name: file[name] for name in file.files}
        header = json.loads(columns.pop("header").tobytes())
        if header["format"] != FORMAT:
            raise KeyError(FORMAT)
    except FileNotFoundError:
        raise TilescopeError(f"There is no file {path}.") from None
    except (OSError, TypeError, ValueError, KeyError, AttributeError, zipfile.BadZipFile):
        raise TilescopeError(f"{path} is not a trace saved by Tilescope.") from None
    version = header.get("version")
    if version not in (_BEFORE, VERSION):
        newer = isinstance(version, int) and version > VERSION
        raise _other_version(path, version, "open it with a newer Tilescope" if newer else _AGAIN)
    trace = trace_of(header, Arrays(columns))
    if version == _BEFORE and not seems_to_fit(trace):
        raise _other_version(path, version, _AGAIN)
    if version == VERSION and not is_laid_out_as(header["layout"], trace.image):
        raise TilescopeError(
            f"{path} was saved by a Tilescope that lays out memory or code otherwise: {_AGAIN}."
        )
    return trace


def _other_version(path: Path, version: object, what_to_do: str) -> TilescopeError:
    return TilescopeError(
        f"{path} was saved in version {version} of the format; this program reads version "
        f"{VERSION}: {what_to_do}."
    )
