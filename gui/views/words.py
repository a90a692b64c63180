"""The glossary as the window uses it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from core.lessons.glossary import load_glossary

if TYPE_CHECKING:
    from core.lessons.glossary import Glossary


@cache
def known_words() -> Glossary:
    """The words of resources/glossary.toml."""
    return load_glossary()
