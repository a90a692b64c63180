"""Findings: what a kernel does wrong, each as a sentence with thread, line and element."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One fault, named at its first occurrence.

    `kind` is "out_of_bounds", "misaligned", "race", "uninitialised" or "assert". `thread` is linear
    in its block; `step` the step of the block's trace at which to look, -1 if it is not recorded.
    `index` is of the element of `array` (which is "" where none is known); `count` is how many
    accesses of this instruction were found at fault.
    """

    kind: str
    message: str
    block: int
    thread: int
    line: int
    tick: int
    array: str = ""
    index: tuple[int, ...] = ()
    count: int = 1
    step: int = -1
