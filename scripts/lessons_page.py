"""Fills docs/lessons.md from `core/lessons`: the words of expressions, the veils, the concepts.

With --check: exit status 1 if the page is out of date.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import pages

from core.lessons.lesson import VEILS, load_concepts
from core.lessons.lesson_expressions import FUNCTIONS
from core.lessons.vocabulary import VOCABULARY


def words() -> str:
    """The vocabulary, a table for each group."""
    parts = []
    for group, rows in itertools.groupby(VOCABULARY.values(), key=lambda word: word.group):
        parts += [f"**{group}**\n", "| word | gives | what |", "| --- | --- | --- |"]
        for word in rows:
            meaning = " ".join(word.meaning.split())
            parts.append(f"| `{word.call}` | {word.gives} | {meaning} |")
        parts.append("")
    parts += ["**Without a launch**\n", "| word | what |", "| --- | --- |"]
    parts += [f"| `{name}` | {meaning} |" for name, (_, _, meaning) in FUNCTIONS.items()]
    return "\n".join(parts)


def veils() -> str:
    """What a question can veil."""
    rows = [f"| `{name}` | {meaning} |" for name, meaning in VEILS.items()]
    return "\n".join(["| veil | what it covers |", "| --- | --- |", *rows])


def concepts() -> str:
    """The concepts and the misconceptions."""
    known = load_concepts()
    rows = [f"| `{one.name}` | {one.title} | {one.line} |" for one in known.concepts.values()]
    beliefs = [f"| `{name}` | {says} |" for name, says in known.beliefs.items()]
    return "\n".join(
        [
            *("| concept | title | in a sentence |", "| --- | --- | --- |", *rows),
            *("", "| misconception | as it is held |", "| --- | --- |", *beliefs),
        ]
    )


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    parts = {"words": words(), "veils": veils(), "concepts": concepts()}
    return pages.fill(ROOT / "docs" / "lessons.md", "lessons_page.py", parts, check=check)


if __name__ == "__main__":
    sys.exit(main())
