"""Comments, strings and directives of a text of CUDA C++, and spaces in place of such."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

Span = tuple[int, int]
"""First character and the one behind the last."""
RAW_STRING = r'\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)"'
"""A pattern, for re.DOTALL: R"mark(…)mark", in which quotes and comments mean nothing."""
BLANKED = re.compile(
    rf'//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/|{RAW_STRING}|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\[^\n])'",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)
"""A directive of the preprocessor with the lines that go on with it."""
_DISABLED = re.compile(r"\s*#\s*if\s+0\b")
_CONDITIONAL = re.compile(r"\s*#\s*(if\w*|else|elif\w*|endif)\b")


@lru_cache(maxsize=8)
def blanked(source: str) -> str:
    """The source with spaces in place of comments, strings and characters; all else stays put."""
    return BLANKED.sub(_blank, source)


def blank(text: str) -> str:
    """As many spaces as a text has characters, its line ends kept."""
    return "\n".join([" " * len(line) for line in text.split("\n")])


def blanked_at(text: str, spans: Iterable[Sequence[int]]) -> str:
    """A text with spaces in place of some characters: (start, end), in order."""
    pieces, at = [], 0
    for start, end in spans:
        pieces += [text[at:start], blank(text[start:end])]
        at = end
    return "".join([*pieces, text[at:]])


def disabled(text: str) -> Iterator[tuple[Span, Span]]:
    """The directives around what is never compiled: `#if 0`, and its `#else` or `#endif`.

    Where nothing ends it the second one is an empty span at the text's end.
    """
    begins, depth = (0, 0), 0
    for found in DIRECTIVE.finditer(text):
        word = _CONDITIONAL.match(found[0])
        if not depth and _DISABLED.match(found[0]):
            begins, depth = found.span(), 1
        elif depth and word:
            depth += word[1].startswith("if") - (word[1] == "endif")
            if not depth or (depth == 1 and word[1].startswith("el")):
                yield begins, found.span()
                depth = 0
    if depth:
        yield begins, (len(text), len(text))


def _blank(match: re.Match[str]) -> str:
    return blank(match[0])
