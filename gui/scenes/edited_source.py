"""What has been typed into the source pane, against what was compiled and what was there first.

Nothing typed is thrown away: the text of a kernel that is left for another is kept,
and comes back with it. `Versions` has the texts of each source in the order in which they ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from types import MappingProxyType

from gui.scenes.shortened_names import common_ends

NEVER = "\0"  # in place of a compiled text where there is none: no line of any text is its
LOOKED_AT = 200  # characters of a line, to say how alike two are
ALIKE = 0.5  # at least: what two lines that were one have in common
MOST_COMPARED = 2000  # lines of a changed part, and pairs of lines in it


@lru_cache(8)
def line_map(compiled: str, text: str, *, heirs: bool = False) -> Mapping[int, int]:
    """Lines of `compiled` (from 1) that stand unchanged in `text`, with their places there.

    With `heirs` also each line that was changed, with the one that it became; one that was deleted
    has none.
    """
    old, new = compiled.split("\n"), text.split("\n")
    found: dict[int, int] = {}
    for same, before, after in _parts(old, new):
        if same:
            found.update(zip(before, after, strict=True))
        elif after and heirs:
            found.update(_most_alike(old, new, before, after))
    return MappingProxyType(found)


@lru_cache(8)
def _origins(compiled: str, text: str) -> Mapping[int, int]:
    """`line_map` the other way round."""
    return {new: old for old, new in line_map(compiled, text).items()}


def _parts(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, range, range]]:
    """Two texts part by part: whether it is the same in both, and its lines (from 1) in each."""
    start, tail = common_ends(old, new)
    yield True, range(1, start + 1), range(1, start + 1)
    a, b = old[start : len(old) - tail], new[start : len(new) - tail]
    if len(a) + len(b) <= MOST_COMPARED:
        for kind, a0, a1, b0, b1 in SequenceMatcher(None, a, b).get_opcodes():
            first = start + 1
            yield kind == "equal", range(first + a0, first + a1), range(first + b0, first + b1)
    else:
        yield False, range(start + 1, start + 1 + len(a)), range(start + 1, start + 1 + len(b))
    yield (True, range(len(old) - tail + 1, len(old) + 1), range(len(new) - tail + 1, len(new) + 1))


def _most_alike(
    old: Sequence[str], new: Sequence[str], before: range, after: range
) -> Iterator[tuple[int, int]]:
    """Each line of a changed part with the most alike one, else with the one at its place."""
    alike = SequenceMatcher(None)
    for at, line in enumerate(before):
        here = best = after[min(at, len(after) - 1)]
        if len(before) * len(after) <= MOST_COMPARED:
            ratios = {}
            alike.set_seq2(old[line - 1].strip()[:LOOKED_AT])
            for place in after:
                alike.set_seq1(new[place - 1].strip()[:LOOKED_AT])
                ratios[place] = alike.ratio()
            best = max(after, key=lambda place: (ratios[place], -abs(place - here)))
            best = best if ratios[best] > ALIKE else here
        yield line, best


@dataclass(frozen=True)
class Exercise:
    """A text to be written in a source: what it is kept under, and what it begins with."""

    key: str
    name: str
    first: str


class Draft:
    """The text of one source at a time, and the texts of those left behind.

    `key` names the source (a rung, or a file's path), `name` what its text is kept under.
    `original` is the text before any edit, `compiled` the one that the shown trace was made from,
    `text` what the editor holds.

    While an exercise is on (`begin`, `end`) its source has a text of the exercise's own, kept under
    a name of its own, and never mixed with what is typed into that source otherwise. `first` is the
    text to go back to: an exercise's, else the original.
    """

    def __init__(self) -> None:
        self.key = ""
        self.name = ""
        self.original = ""
        self.first = ""
        self.compiled = ""
        self.text = ""
        self._kept: dict[str, str] = {}
        self._begun: Exercise | None = None

    @property
    def stale(self) -> bool:
        """The trace was made from another text than the one that is shown."""
        return self.text != self.compiled

    @property
    def edited(self) -> bool:
        """The text is not the original."""
        return self.text != self.original

    @property
    def of_exercise(self) -> bool:
        """The text is an exercise's, not the source's own."""
        return self.name != self.key

    def begin(self, key: str, exercise: str, first: str) -> str | None:
        """An exercise begins in a source; returns what the editor has to show if it shows that.

        That is the text with which the exercise was left, or its first one.
        """
        self._begun = Exercise(key, f"{key}#{exercise}", first)
        if key != self.key or self.name == self._begun.name:
            return None
        self.text = self._take_up(key, self.original, first)
        return self.text

    def end(self) -> None:
        """The exercise is over; its text stays in the editor until a trace or a source arrives."""
        self._begun = None

    def load(self, key: str, original: str, compiled: str) -> str:
        """A trace has arrived; returns the text that the editor has to show with it.

        What was typed meanwhile into the same source stays. Another source gets the text that it
        was left with, if that was edited.
        """
        name, first = self._named(key, original)
        if self.name == name:
            self.original, self.first = original, first
            text = self.text if self.stale else compiled
        else:
            text = self._take_up(key, original, compiled)
        self.compiled, self.text = compiled, text
        return text

    def open(self, key: str, original: str, text: str) -> str:
        """Open a source that does not compile and has no trace; returns the text to show."""
        text = self._take_up(key, original, text)
        self.compiled, self.text = NEVER, text
        return text

    def kept(self) -> dict[str, str]:
        """Every edited text by key, an exercise's by its own name; the shown one with them."""
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

    def drop_exercise(self, key: str, exercise: str) -> bool:
        """Have an exercise begin with its first text; whether another one of it is shown."""
        self.drop(f"{key}#{exercise}")
        return self.name == f"{key}#{exercise}"

    def place(self, line: int | None) -> int | None:
        """Where a line of the compiled text stands in the shown one, None where it was changed."""
        if line is None or not self.stale:
            return line
        return line_map(self.compiled, self.text).get(line)

    def origin(self, line: int) -> int | None:
        """The line of the compiled text that stands at `line` of the shown one."""
        return _origins(self.compiled, self.text).get(line) if self.stale else line

    def heir(self, line: int | None) -> int | None:
        """As `place`, and of a line that was changed the one that it became."""
        return self._heirs().get(line) if self.stale and line is not None else line

    def ancestor(self, place: int) -> int | None:
        """The line of the compiled text that `place` was, changed or not; None for a new one."""
        if not self.stale:
            return place
        return next((old for old, new in self._heirs().items() if new == place), None)

    def saved(self) -> None:
        """The text is in its file: it no longer counts as an edit."""
        self.original = self.first = self.text

    def _heirs(self) -> Mapping[int, int]:
        never = self.compiled == NEVER
        return {} if never else line_map(self.compiled, self.text, heirs=True)

    def _named(self, key: str, original: str) -> tuple[str, str]:
        """What a source's text is kept under, and the text to go back to."""
        begun = self._begun
        if begun is not None and begun.key == key:
            return begun.name, begun.first
        return key, original

    def _take_up(self, key: str, original: str, text: str) -> str:
        """Keep this text; the one that another source or exercise was left with, or `text`."""
        self._keep()
        self.key, self.original = key, original
        self.name, self.first = self._named(key, original)
        return self._kept.pop(self.name, text)

    def _keep(self) -> None:
        if self.name and self.text != self.first:
            self._kept[self.name] = self.text
        else:
            self._kept.pop(self.name, None)


class Versions:
    """Which texts of each source have run, in the order in which they first did."""

    def __init__(self) -> None:
        self._order: dict[tuple[str, int], int] = {}
        self.texts: dict[str, tuple[str, str]] = {}  # by source: the one before, and the last

    def note(self, key: str, text: str) -> None:
        """A text of the source named `key` has run."""
        self._order.setdefault((key, hash(text)), len(self._order))
        _, last = self.texts.get(key, ("", ""))
        if text != last:
            self.texts[key] = last, text

    def before(self, key: str, text: str) -> str | None:
        """The text of a source that ran last before `text`; None where none did."""
        one, last = self.texts.get(key, ("", ""))
        found = one if last == text else last
        return found or None

    def rank(self, key: str, text: str) -> int:
        """When a text first ran among all of them: a smaller number is an earlier text."""
        return self._order.get((key, hash(text)), 0)
