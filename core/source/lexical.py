"""Comments, strings and directives of a text of CUDA C++, and spaces in place of such."""

from __future__ import annotations

import re
from functools import lru_cache

RAW_STRING = r'\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)"'
"""A pattern, for re.DOTALL: R"mark(…)mark", in which quotes and comments mean nothing."""
BLANKED = re.compile(
    rf'//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/|{RAW_STRING}|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\[^\n])'",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)
"""A directive of the preprocessor with the lines that go on with it."""


@lru_cache(maxsize=8)
def blanked(source: str) -> str:
    """The source with spaces in place of comments, strings and characters; all else stays put."""
    return BLANKED.sub(_blank, source)


def blank(text: str) -> str:
    """As many spaces as a text has characters, its line ends kept."""
    return "\n".join([" " * len(line) for line in text.split("\n")])


def _blank(match: re.Match[str]) -> str:
    return blank(match[0])
