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

from core.source.comments_and_strings import DIRECTIVE, Span, blank

_CONDITIONAL = re.compile(r"\s*#\s*(if|el|endif)")
_WHOLE = ("", ";", "{", "}", ":")  # what statements, labels and bodies end with


@dataclass
class _Branch:
    """The brackets that a branch leaves open, its last character ("" without text), its pieces."""

    open: int = 0  # braces
    round: int = 0
    last: str = ""
    pieces: list[Span] = field(default_factory=list)


@dataclass
class _Group:
    """The branches of a conditional, and its directives."""

    branches: list[_Branch] = field(default_factory=lambda: [_Branch()])
    directives: list[Span] = field(default_factory=list)

    @property
    def is_alternative(self) -> bool:
        """Whether what stands around goes with one branch alone."""
        opens, rounds = {b.open for b in self.branches}, {b.round for b in self.branches}
        if len(self.branches) > 1 and any(len(e) == 1 and e != {0} for e in (opens, rounds)):
            return True
        return opens == {0} and self.branches[0].last not in _WHOLE


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
        _add(groups[-1].branches[-1], text, (at, directive.start()))
        at = directive.end()
        word = _CONDITIONAL.match(directive[0])
        if word is None:
            continue
        if word[1] == "if":
            groups.append(_Group(directives=[directive.span()]))
        elif len(groups) == 1:  # of a file that is cut off
            continue
        elif word[1] == "el":
            groups[-1].branches.append(_Branch())
            groups[-1].directives.append(directive.span())
        else:
            done = groups.pop()
            done.directives.append(directive.span())
            is_one = done.is_alternative
            if is_one:
                yield from done.directives
                yield from (piece for branch in done.branches[1:] for piece in branch.pieces)
            outer = groups[-1].branches[-1]
            for branch in done.branches[:1] if is_one else done.branches:
                outer.open += branch.open
                outer.round += branch.round
            outer.pieces += [piece for branch in done.branches for piece in branch.pieces]
            outer.pieces += done.directives


def _add(branch: _Branch, text: str, piece: Span) -> None:
    inside = text[slice(*piece)]
    branch.open += inside.count("{") - inside.count("}")
    branch.round += inside.count("(") - inside.count(")")
    branch.last = inside.rstrip()[-1:] or branch.last
    branch.pieces.append(piece)
