"""Sentences of lessons as rich text: code in the fixed pitch, words of the glossary as links."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.lessons.glossary import Glossary

WORD = "word:"
"""Begins the target of a link that stands for a word of the glossary."""
_CODE = re.compile(r"`([^`]+)`")


def rich(text: str, *, mono: str, accent: str, glossary: Glossary | None = None) -> str:
    """HTML of a sentence that has code between backticks.

    mono: the family of code; accent: the colour of words of the glossary. A word is linked at its
    first place alone.
    """
    parts, seen = _CODE.split(text), set[str]()
    found = []
    for place, part in enumerate(parts):
        if place % 2:
            found.append(f"<code style=\"font-family:'{mono}'\">{escape(part)}</code>")
        else:
            found.append(_linked(part, accent, glossary, seen))
    # Qt makes a breaking space of every space of HTML but this one
    return "".join(found).replace("\n", "<br>").replace("\u202f", "\u00a0")


def _linked(text: str, accent: str, glossary: Glossary | None, seen: set[str]) -> str:
    if glossary is None:
        return escape(text)
    found, at = [], 0
    for begin, end, term in glossary.find(text):
        if term.term in seen:
            continue
        seen.add(term.term)
        style = f"color:{accent}; text-decoration:none"
        link = f'<a href="{WORD}{escape(term.term)}" style="{style}">{escape(text[begin:end])}</a>'
        found += [escape(text[at:begin]), link]
        at = end
    return "".join([*found, escape(text[at:])])


def plain(text: str) -> str:
    """The sentence for screen readers."""
    return _CODE.sub(r"\1", text)
