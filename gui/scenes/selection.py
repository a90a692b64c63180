"""What can be selected, pointed at and stopped at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.links import Element

if TYPE_CHECKING:
    from core.trace import Trace


@dataclass(frozen=True)
class Hover:
    """What the pointer rests on, in any view; a field that does not apply is None."""

    thread: int | None = None
    element: Element | None = None
    line: int | None = None
    sector: int | None = None
    """First byte address of a 32-byte sector of global memory."""
    bank: int | None = None
    """Shared memory bank, 0..31."""


@dataclass(frozen=True)
class Breakpoint:
    """Where to stop: at a line of the compiled source, or where an array's element is touched."""

    line: int | None = None
    element: Element | None = None

    def __post_init__(self) -> None:
        if (self.line is None) == (self.element is None):
            raise ValueError("a breakpoint is at a line or at an element")


def shapes(trace: Trace) -> dict[str, tuple[int, ...]]:
    """The shape of every global and shared array of a launch, by name."""
    found = {a.name: a.shape for a in trace.arrays}
    return found | {a.name: a.shape for a in trace.shared_arrays}


def exists(trace: Trace, element: Element) -> bool:
    """Whether a launch has an element."""
    name, index = element
    shape = shapes(trace).get(name, ())
    return len(shape) == len(index) > 0 and all(
        0 <= i < extent for i, extent in zip(index, shape, strict=True)
    )
