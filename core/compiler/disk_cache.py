"""A folder that keeps what takes long to make, from one run to the next.

An entry is written whole or not at all, and carries its own hash. It is no more than a saving: one
that is damaged, or that cannot be read or written, is as if it were not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from pathlib import Path
from uuid import uuid4

FOLDER = "TILESCOPE_CACHE"
"""The environment variable with the folder; where it is empty nothing is kept."""
MOST_BYTES = 64 << 20
"""What the folder may hold; above it the entries that nobody used for longest go, down to half."""
_IS_LINUX = sys.platform == "linux"
_DIGEST = hashlib.sha256().digest_size


def folder() -> Path | None:
    """Where entries lie, None where none are to be kept."""
    if (asked := os.environ.get(FOLDER)) is not None:
        return Path(asked) if asked else None
    if _IS_LINUX:  # platformdirs says the same, and its import takes 20 ms
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
        return Path(home, "tilescope", "compiled") if Path(home).is_absolute() else None
    import platformdirs

    return platformdirs.user_cache_path("tilescope", appauthor=False) / "compiled"


def find(key: str) -> bytes | None:
    """What was kept under a key, or None."""
    place = folder()
    if place is None:
        return None
    entry = place / _name(key)
    try:
        data = entry.read_bytes()
        content = data[_DIGEST:]
        if hashlib.sha256(content).digest() != data[:_DIGEST]:
            return None
        os.utime(entry)
    except OSError:
        return None
    return content


def keep(key: str, content: bytes) -> None:
    """Have `find` return these bytes for a key."""
    place = folder()
    if place is None:
        return
    draft = place / f"{uuid4().hex}.part"
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            draft.write_bytes(hashlib.sha256(content).digest() + content)
            draft.replace(place / _name(key))
        finally:
            draft.unlink(missing_ok=True)
        _make_room(place, _DIGEST + len(content))


_written: dict[Path, int] = {}  # bytes since this process looked how much a folder holds


def _make_room(place: Path, more: int) -> None:
    """Deletes what is oldest, if the folder holds too much.

    A process looks at its first entry, then each time it has written a sixteenth of the limit.
    """
    if _written.setdefault(place, MOST_BYTES) + more < MOST_BYTES // 16:
        _written[place] += more
        return
    _written[place] = 0
    with os.scandir(place) as found:
        files = sorted((f.stat().st_mtime, f.stat().st_size, f.path) for f in found)
    held = sum(size for _, size, _ in files)
    if held <= MOST_BYTES:
        return
    for _, size, path in files:
        if held <= MOST_BYTES // 2:
            return
        Path(path).unlink(missing_ok=True)
        held -= size


def _name(key: str) -> str:
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
