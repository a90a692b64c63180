"""What a thread's values are made of: expressions over the elements that it loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.trace.arrays import label


@dataclass(frozen=True, eq=False, slots=True)
class Load:
    """An element loaded at `step`; `index` is empty where the array is not known."""

    array: str
    index: tuple[int, ...]
    space: str
    step: int
    value: Any
    fault: str = ""
    """What an illegal access comes to, in words; its index is a flat one."""
    fields: tuple[str, ...] = ()
    """Of the array, where it is one of structures."""

    @property
    def name(self) -> str:
        """The element as the source writes it: `A[0,4]`, `A[9] (fault: 0)`."""
        name = label(self.array, self.index, self.fields) if self.index else self.array
        return f"{name} ({self.fault})" if self.fault else name


@dataclass(frozen=True, eq=False, slots=True)
class Constant:
    """A number written in the program."""

    value: float


@dataclass(frozen=True, eq=False, slots=True)
class Named:
    """Something with a name of its own: an argument of the kernel, another element."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Unknown:
    """A value that comes from no load: an index, a thread's number."""


@dataclass(frozen=True, eq=False, slots=True)
class Sum:
    """`base + term` (or minus), added at `step`."""

    base: Node
    term: Node
    minus: bool
    step: int


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """`left * right`."""

    left: Node
    right: Node


@dataclass(frozen=True, eq=False, slots=True)
class Apply:
    """Any other operation, by its PTX name."""

    name: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """One of several values; which of them the record does not say."""

    parts: tuple[Node, ...]


Node = Load | Constant | Named | Unknown | Sum | Product | Apply | Choice
UNKNOWN = Unknown()


@dataclass(frozen=True, slots=True)
class Store:
    """A value written to an element of global or shared memory at `step`.

    `update` is the operation of an atomic, empty for a plain store; `value` what was written.
    """

    target: Load
    node: Node
    step: int
    update: str = ""


@dataclass(frozen=True)
class Flow:
    """What one thread moved: its loads and stores in order, and sums that it never stored."""

    loads: tuple[Load, ...]
    stores: tuple[Store, ...]
    unstored: tuple[Sum, ...]


def chosen(node: Node, stored: Any) -> Node:
    """Of a choice, the part whose value is the one that was stored, if only one has it."""
    if not isinstance(node, Choice):
        return node
    fits = [p for p in node.parts if not isinstance(p, Load | Constant) or p.value == stored]
    return chosen(fits[0], stored) if len(fits) == 1 else node


def children(node: Node) -> list[Node]:
    """The nodes that a node is made of."""
    if isinstance(node, Sum):
        return [node.base, node.term]
    if isinstance(node, Product):
        return [node.left, node.right]
    return list(node.parts) if isinstance(node, Apply | Choice) else []


def first_parts(loads: Sequence[Load]) -> list[int]:
    """The places of the first register of each element: two may hold one of eight bytes."""
    before = (None, *(load.index for load in loads))
    return [i for i, load in enumerate(loads) if not load.index or load.index != before[i]]


def loads_in(node: Node) -> set[int]:
    """The identities (`id`) of all loads that go into a node."""
    pending: list[Node] = [node]
    seen: set[int] = set()
    found: set[int] = set()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Load):
            found.add(id(part))
        pending += children(part)
    return found
