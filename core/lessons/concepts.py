"""What lessons are about, and what learners believe wrongly: the rows of resources/lessons.

Every step names the concepts that it asks for, wrong answers the misconception that they show.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from core.errors import TilescopeError

LESSONS_FOLDER = Path(__file__).resolve().parents[2] / "resources" / "lessons"
FILE = LESSONS_FOLDER / "concepts.toml"


@dataclass(frozen=True)
class Concept:
    """Something to learn; `line` says it in a sentence."""

    name: str
    title: str
    line: str


@dataclass(frozen=True)
class Concepts:
    """The concepts in the order they are taught, and the misconceptions, by name."""

    concepts: Mapping[str, Concept]
    beliefs: Mapping[str, str]


@cache
def load_concepts() -> Concepts:
    """Reads the table. Raises TilescopeError where it is wrong."""
    try:
        table = tomllib.loads(FILE.read_text(encoding="utf-8"))
        rows = [Concept(**row) for row in table["concept"]]
        beliefs = {row["name"]: row["says"] for row in table["misconception"]}
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise TilescopeError(f"The table of concepts, {FILE}, cannot be read: {error}.") from error
    return Concepts(MappingProxyType({row.name: row for row in rows}), MappingProxyType(beliefs))
