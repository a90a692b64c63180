"""Conditionals of the preprocessor whose branches are no whole statements.

    #ifdef WIDE                             Scan()
        if (n > 4) {                        #ifdef WIDE
    #else                                       : lane(threadIdx.x)
        if (n > 2) {                        #else
    #endif                                      : lane(threadIdx.x % 32)
                                            #endif
                                                , mask(0) {}

Whoever reads the text without the preprocessor sees two braces, two ends of one call, or two pieces
of one declaration, where the compiler sees one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from core.source.lexical import DIRECTIVE, Span, blank

_CONDITIONAL = re.compile(r"\s*#\s*(if|el|endif)")
_WHOLE = ("", ";", "{", "}", ":")  # what statements, labels and bodies end with


@dataclass
class _Group:
    """The branches of a conditional: the brackets that each leaves open, and the text in it.

    `open` counts braces and `round` round ones. `last` are the characters that the branches end
    with, "" for one without text.
    """

    open: list[int] = field(default_factory=lambda: [0])
    round: list[int] = field(default_factory=lambda: [0])
    last: list[str] = field(default_factory=lambda: [""])
    pieces: list[list[Span]] = field(default_factory=lambda: [[]])
    directives: list[Span] = field(default_factory=list)

    @property
    def is_alternative(self) -> bool:
        """Whether what stands around goes with one branch alone."""
        if len(self.open) > 1 and any(
            each[0] != 0 and len(set(each)) == 1 for each in (self.open, self.round)
        ):
            return True
        return not any(self.open) and self.last[0] not in _WHOLE


def with_one_branch(text: str) -> str:
    """A text without comments, with spaces in place of all branches but the first of such ones.

    Their own directives go, too, as a parser takes each branch for something whole; what they
    #define stays, and every character keeps its place.
    """
    if "#" not in text:
        return text
    pieces, at = [], 0
    for start, end in sorted(_hidden(text)):
        if start >= at:
            pieces += [text[at:start], blank(text[start:end])]
            at = end
    return "".join([*pieces, text[at:]])


def _hidden(text: str) -> Iterator[Span]:
    groups, at = [_Group()], 0
    for directive in DIRECTIVE.finditer(text):
        _add(groups[-1], text, (at, directive.start()))
        at = directive.end()
        word = _CONDITIONAL.match(directive[0])
        if word is None:
            continue
        if word[1] == "if":
            groups.append(_Group(directives=[directive.span()]))
        elif len(groups) == 1:  # of a file that is cut off
            continue
        elif word[1] == "el":
            groups[-1].open.append(0)
            groups[-1].round.append(0)
            groups[-1].last.append("")
            groups[-1].pieces.append([])
            groups[-1].directives.append(directive.span())
        else:
            done = groups.pop()
            done.directives.append(directive.span())
            if done.is_alternative:
                yield from done.directives
                yield from (piece for branch in done.pieces[1:] for piece in branch)
            is_one = done.is_alternative
            groups[-1].open[-1] += done.open[0] if is_one else sum(done.open)
            groups[-1].round[-1] += done.round[0] if is_one else sum(done.round)
            groups[-1].pieces[-1] += [piece for branch in done.pieces for piece in branch]
            groups[-1].pieces[-1] += done.directives


def _add(group: _Group, text: str, piece: Span) -> None:
    inside = text[slice(*piece)]
    group.open[-1] += inside.count("{") - inside.count("}")
    group.round[-1] += inside.count("(") - inside.count(")")
    group.last[-1] = inside.rstrip()[-1:] or group.last[-1]
    group.pieces[-1].append(piece)
