"""A list of named moments, as a plain text of links: what a lecture goes through. No Qt here.

    # The stride: 32 sectors
    uncoalesced?n=64&step=39

A line that begins with `#` names the link below it; empty lines mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import ParameterError, TilescopeError

MOST_BYTES = 1 << 20  # of a file that is read


@dataclass(frozen=True)
class Named:
    """One moment: its link, and what it is called."""

    name: str
    link: str


def text_of(moments: Sequence[Named]) -> str:
    """The list as it stands in a file."""
    return "".join(f"# {moment.name}\n{moment.link}\n\n" for moment in moments)


def moments_in(text: str, check: Callable[[str], object]) -> tuple[Named, ...]:
    """The moments of a file's text; a link without a name is called by itself.

    `check(link)` raises ParameterError for what is no link. Raises ParameterError with the line.
    """
    found, name = [], ""
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if line.startswith("#"):
            name = line[1:].strip()
        elif line:
            try:
                check(line)
            except ParameterError as error:
                raise ParameterError(f"Line {number} is no moment. {error}") from error
            found.append(Named(name or line, line))
            name = ""
    if not found:
        raise ParameterError("There is no moment in the file: put a link on each line.")
    return tuple(found)


def read(path: Path, check: Callable[[str], object]) -> tuple[Named, ...]:
    """The moments of a file. Raises TilescopeError."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise TilescopeError(f"{path.name} is no list of moments: it has more than 1 MiB.")
        return moments_in(path.read_text(encoding="utf-8"), check)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise TilescopeError(f"{path.name} cannot be read: {why}.") from error


def write(path: Path, moments: Sequence[Named]) -> None:
    """Put a list into a file. Raises TilescopeError."""
    try:
        path.write_text(text_of(moments), encoding="utf-8")
    except OSError as error:
        raise TilescopeError(f"{path.name} cannot be written: {error.strerror}.") from error
