"""Expressions of `core.analysis.value_nodes` as text, and sums taken apart into their terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.analysis.value_nodes import (
    Apply,
    Choice,
    Constant,
    Load,
    Named,
    Node,
    Product,
    Sum,
)

DEEPEST = 6  # levels of brackets before an expression is cut off
NEAR = 8  # steps within which a sum inside a sum counts as part of the same expression
OTHER = "…"  # a value that comes from no load, or lies too deep


@dataclass(frozen=True)
class Term:
    """What a sum had added to it, or taken from it, at a step."""

    node: Node
    minus: bool
    step: int


def chain(node: Sum, names: Mapping[int, str]) -> tuple[Node, tuple[Term, ...]]:
    """What a sum began with, and its terms in the order in which they were added.

    Sums that have a name (by identity) are not taken apart.
    """
    groups: list[list[Term]] = []
    base: Node = node
    while isinstance(base, Sum) and (base is node or id(base) not in names):
        groups.append(_terms(base, names))
        base = base.base
    if isinstance(base, Sum):
        base = Named(names[id(base)])
    return base, tuple(term for group in reversed(groups) for term in group)


def _terms(link: Sum, names: Mapping[int, str]) -> list[Term]:
    """The last term of a sum; if it is a sum itself, added at the same time, its terms."""
    if not isinstance(link.term, Sum) or id(link.term) in names:
        return [Term(link.term, link.minus, link.step)]
    base, terms = chain(link.term, names)
    if any(t.step < link.step - NEAR for t in terms):  # added up earlier: it gets a name
        return [Term(link.term, link.minus, link.step)]
    first = [] if is_zero(base) else [Term(base, link.minus, link.step)]
    return first + [Term(t.node, t.minus != link.minus, t.step) for t in terms]


def is_zero(node: Node) -> bool:
    """Whether it is the number 0."""
    return isinstance(node, Constant) and node.value == 0


def text_of(node: Node, names: Mapping[int, str], depth: int = 0) -> str:
    """An expression as the source might write it; empty for the 0 that a sum begins with."""
    if id(node) in names:
        return names[id(node)]
    if is_zero(node) and not depth:
        return ""
    if depth > DEEPEST:
        return OTHER
    if isinstance(node, Load):
        return node.name
    if isinstance(node, Constant):
        return f"{node.value:.9g}"
    if isinstance(node, Named):
        return node.name
    return _composed(node, names, depth + 1)


def _composed(node: Node, names: Mapping[int, str], depth: int) -> str:
    if isinstance(node, Product):
        return f"{_factor(node.left, names, depth)}*{_factor(node.right, names, depth)}"
    if isinstance(node, Sum):
        base, terms = chain(node, names)
        words = [] if is_zero(base) else [text_of(base, names, depth)]
        for term in terms:
            sign = "-" if term.minus else "+"
            words += [sign, text_of(term.node, names, depth)] if words or term.minus else [
                text_of(term.node, names, depth)]  # fmt: skip
        return " ".join(words)
    if isinstance(node, Choice):
        return " or ".join(f"({text_of(part, names, depth)})" for part in node.parts)
    if isinstance(node, Apply):
        return f"{node.name}({', '.join(text_of(part, names, depth) for part in node.parts)})"
    return OTHER


def _factor(node: Node, names: Mapping[int, str], depth: int) -> str:
    text = text_of(node, names, depth)
    wraps = isinstance(node, Sum | Choice) and id(node) not in names
    return f"({text})" if wraps else text
