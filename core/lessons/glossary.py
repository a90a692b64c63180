"""The field's words, read from resources/glossary.toml: one row a word."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.errors import TilescopeError

FILE = Path(__file__).resolve().parents[2] / "resources" / "glossary.toml"
DRAWINGS = (
    *("grid", "warp", "sectors", "line", "coalesced", "stride", "broadcast", "memories", "banks"),
    *("conflict", "padding", "tile", "phases", "barrier", "atomic", "matrix", "roofline"),
    *("occupancy", "builds", "ladder"),
)
"""The small pictures that stand beside words."""


@dataclass(frozen=True)
class Term:
    """A word: its other forms, one sentence, the name of its picture, and other terms.

    `pattern` is a regular expression of what is this word as well, and wins over other words.
    """

    term: str
    line: str
    drawing: str
    also: tuple[str, ...] = ()
    see: tuple[str, ...] = ()
    pattern: str = ""

    @property
    def forms(self) -> tuple[str, ...]:
        """All ways to write it."""
        return (self.term, *self.also)


@dataclass(frozen=True)
class Glossary:
    """The terms in the order of the file."""

    terms: tuple[Term, ...]

    @cached_property
    def by_form(self) -> Mapping[str, Term]:
        """The term of every form, in lower case."""
        return MappingProxyType({form.lower(): t for t in self.terms for form in t.forms})

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        forms = sorted(self.by_form, key=len, reverse=True)  # `bank conflict` before `bank`
        own = [f"(?P<t{at}>{t.pattern})" for at, t in enumerate(self.terms) if t.pattern]
        every = "|".join([*own, *map(re.escape, forms)])
        return re.compile(rf"(?<!\w)(?:{every})(?!\w)", re.IGNORECASE)

    def find(self, text: str) -> Iterator[tuple[int, int, Term]]:
        """The terms in a text, each with where it begins and ends; of two the longer form."""
        for found in self._pattern.finditer(text):
            own = found.lastgroup
            term = self.by_form[found[0].lower()] if own is None else self.terms[int(own[1:])]
            yield found.start(), found.end(), term


def load_glossary(file: Path = FILE) -> Glossary:
    """Reads the words. Raises TilescopeError, naming the row, where one is wrong."""
    try:
        rows = tomllib.loads(file.read_text(encoding="utf-8"))["word"]
        terms = [_term(row) for row in rows]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise TilescopeError(f"The glossary, {file}, cannot be read: {error}.") from error
    seen: set[str] = set()
    names = {term.term for term in terms}
    for one in terms:
        if one.drawing not in DRAWINGS:
            raise TilescopeError(f"glossary.toml, {one.term}: there is no drawing {one.drawing}.")
        if strange := [other for other in one.see if other not in names]:
            raise TilescopeError(f"glossary.toml, {one.term}: there is no word {strange[0]}.")
        for form in one.forms:
            if form.lower() in seen:
                raise TilescopeError(f"glossary.toml has {form} twice.")
            seen.add(form.lower())
    return Glossary(tuple(terms))


def _term(row: Mapping[str, Any]) -> Term:
    lists = {name: tuple(row.get(name, ())) for name in ("also", "see")}
    return Term(**{**row, **lists})
