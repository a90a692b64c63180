"""A list of named moments, as a plain text of links: what a lecture goes through.

    # The stride: 32 sectors
    uncoalesced?n=64&step=39

A line that begins with `#` names the link below it; empty lines mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.atomic_files import replace_file
from core.errors import ParameterError, TilescopeError
from core.user_files.sources_and_headers import read_plain

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

    `check(link)` raises ParameterError for what is not a link. Raises ParameterError with the line.
    """
    found, name = [], ""
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if line.startswith("#"):
            name = line[1:].strip()
        elif line:
            try:
                check(line)
            except ParameterError as error:
                raise ParameterError(f"Line {number} is not a moment. {error}") from error
            found.append(Named(name or line, line))
            name = ""
    if not found:
        raise ParameterError("There is no moment in the file: put a link on each line.")
    return tuple(found)


def read(path: Path, check: Callable[[str], object]) -> tuple[Named, ...]:
    """The moments of a file. Raises TilescopeError."""
    try:
        text = read_plain(path, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TilescopeError(f"{path} cannot be read: it is not text.") from None
    return moments_in(text, check)


def write(path: Path, moments: Sequence[Named]) -> None:
    """Put a list into a file. Raises TilescopeError."""
    replace_file(path, text_of(moments))
