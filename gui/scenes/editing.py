"""What has been typed into the source pane, against what was compiled and what was there first.

No Qt here. Nothing typed is thrown away: the text of a kernel that is left for another is kept, and
comes back with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NEVER = "\0"  # in place of a compiled text where there is none: no line of any text is its
_IDENTITY: Mapping[int, int] = MappingProxyType({})


def line_map(compiled: str, text: str) -> Mapping[int, int]:
    """Lines of `compiled` (from 1) that stand unchanged in `text`, with their places there.

    The lines before the first difference and after the last one; those between have no place.
    """
    old, new = compiled.split("\n"), text.split("\n")
    shorter = min(len(old), len(new))
    before = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - before
    after = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    found = {line: line for line in range(1, before + 1)}
    shift = len(new) - len(old)
    found.update({line: line + shift for line in range(len(old) - after + 1, len(old) + 1)})
    return MappingProxyType(found)


class Draft:
    """The text of one source at a time, and the texts of those left behind.

    `key` names the source (a rung, or a file's path). `original` is the text before any edit,
    `compiled` the one that the shown trace was made from, `text` what the editor holds.
    """

    def __init__(self) -> None:
        self.key = ""
        self.original = ""
        self.compiled = ""
        self._text = ""
        self._kept: dict[str, str] = {}
        self._places = _IDENTITY
        self._back = _IDENTITY

    @property
    def text(self) -> str:
        """What the editor holds."""
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        self._text = text
        self._map()

    @property
    def stale(self) -> bool:
        """The trace was made from another text than the one that is shown."""
        return self._text != self.compiled

    @property
    def edited(self) -> bool:
        """The text is not the original."""
        return self._text != self.original

    def load(self, key: str, original: str, compiled: str) -> str:
        """A trace has arrived; returns the text that the editor has to show with it.

        What was typed meanwhile into the same source stays. Another source gets the text that it
        was left with, if that was edited.
        """
        if key == self.key:
            text = self._text if self.stale else compiled
        else:
            self._keep()
            text = self._kept.pop(key, compiled)
        self.key, self.original, self.compiled = key, original, compiled
        self.text = text
        return text

    def open(self, key: str, original: str, text: str) -> str:
        """A source of which there is no trace, as it does not compile; returns the text to show."""
        self._keep()
        text = self._kept.pop(key, text)
        self.key, self.original, self.compiled = key, original, NEVER
        self.text = text
        return text

    def kept(self) -> dict[str, str]:
        """Every edited text by key, the shown one with them."""
        self._keep()
        return dict(self._kept)

    def restore(self, kept: Mapping[str, str]) -> None:
        """Take up texts kept earlier; they appear when their sources do."""
        self._kept.update(kept)

    def forget(self, text: str) -> None:
        """Drop a text that was kept for other sources: it has become one of its own."""
        self._kept = {key: kept for key, kept in self._kept.items() if kept != text}

    def drop(self, key: str) -> None:
        """Drop the text that was kept for a source: it is typed anew."""
        self._kept.pop(key, None)

    def place(self, line: int | None) -> int | None:
        """Where a line of the compiled text stands in the shown one, None where it was changed."""
        return self._places.get(line) if self.stale and line is not None else line

    def origin(self, line: int) -> int | None:
        """The line of the compiled text that stands at `line` of the shown one."""
        return self._back.get(line) if self.stale else line

    def _keep(self) -> None:
        if self.key and self.edited:
            self._kept[self.key] = self._text
        else:
            self._kept.pop(self.key, None)

    def _map(self) -> None:
        if self.stale:
            self._places = line_map(self.compiled, self._text)
            self._back = MappingProxyType({new: old for old, new in self._places.items()})
        else:
            self._places = self._back = _IDENTITY
