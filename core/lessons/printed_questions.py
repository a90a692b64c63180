"""What a question needs where there is no window: the source that it asks about, and its key."""

from __future__ import annotations

import re
from difflib import ndiff

from core.lessons.lesson import Edit, Order
from core.lessons.marking import answer_text
from core.lessons.posing import Posed, right_answer


def source_of(posed: Posed) -> str:
    """The source that a question is about; "" where it veils the source, or is about a page.

    Lines to be put in order would stand there in order.
    """
    looks_at_page = "page" in posed.link.looks
    ordered = isinstance(posed.step.question, Order) and bool(posed.goals)
    return "" if looks_at_page or ordered or "source" in posed.step.veil else posed.source


def numbered(source: str) -> list[tuple[int, str]]:
    """Its lines with their numbers, without the comment at its head, which explains the kernel."""
    lines = [(number, line.rstrip()) for number, line in enumerate(source.splitlines(), 1)]
    at = 0
    while at < len(lines) and (not lines[at][1] or lines[at][1].startswith("//")):
        at += 1
    while lines and not lines[-1][1]:
        lines.pop()
    return lines[at:]


def key_of(posed: Posed) -> tuple[str, str]:
    """The answer, "" of what has to be built, and what follows it: the explanation.

    One that begins with the answer goes on from it.
    """
    right, why = answer_text(posed, right_answer(posed)), posed.why
    rest = why.removeprefix(right)
    if right and rest != why and re.match(r"$|[:.;,]( |$)| [A-Za-z]", rest):
        return right, rest
    return right, f". {why}" if right else why


def solution_lines(posed: Posed) -> list[str]:
    """The lines that a solution of an exercise takes away (-) and adds (+)."""
    question = posed.step.question
    assert isinstance(question, Edit)
    lines = ndiff(_code(posed.source), _code(question.solution))
    return [line for line in lines if line[0] in "+-"]


def _code(source: str) -> list[str]:
    """Its lines, without those of words alone."""
    lines = source.splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("//")]
