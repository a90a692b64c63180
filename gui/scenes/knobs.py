"""What can be dragged of a launch of a user's own kernel: constants, macros, whole numbers.

No Qt here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from core.cuda.source_knobs import Knob, knobs, with_value
from core.launch import ScalarArgument
from core.launching.file_launch import FileLaunch, split_defines
from gui.scenes.following import follow, renumbered
from gui.scenes.selection import Configuration
from gui.scenes.stops import spread

if TYPE_CHECKING:
    from core.launch import Workload

Kind = Literal["constant", "define", "argument"]
_OF_BLOCKS = re.compile(r"tile|block|width|size|dim|warp|thread", re.IGNORECASE)
MOST = 8  # rows; a source with more constants than this has few that matter


@dataclass(frozen=True)
class KnobRow:
    """One number: where it comes from, its value, and the values that it is dragged along."""

    kind: Kind
    name: str
    value: int
    stops: tuple[int, ...]
    tip: str
    switch: bool = False
    """Whether it is on (1) or off (0), and nothing else."""


def knob_rows(workload: Workload, launch: FileLaunch) -> tuple[KnobRow, ...]:
    """The rows of a launch: macros given to the compiler, constants of the source, arguments.

    Of an argument and a constant with one name, as `main` often has it, the constant is dragged:
    the argument follows, and the arrays whose sizes were guessed from it.
    """
    found = []
    defines = split_defines(launch.defines)
    for name, text in defines.items():
        if text.isdecimal():
            found.append(_row("define", name, int(text), f"-D{name}"))
    found += [_constant(knob) for knob in knobs(workload.source) if knob.name not in defines]
    named = {row.name for row in found}
    found += [
        _row("argument", argument.name, int(argument.value), "An argument of the kernel")
        for argument in workload.launch.arguments
        if isinstance(argument, ScalarArgument)
        and argument.value.dtype.kind in "iu"
        and argument.name not in named
    ]
    return tuple(found[:MOST])


def _constant(knob: Knob) -> KnobRow:
    where = f"Line {knob.line} of the source"
    if knob.switch:
        return KnobRow(
            "constant", knob.name, knob.value, (0, 1), f"{where}: a click edits it", True
        )
    return _row("constant", knob.name, knob.value, f"{where}: dragging edits it")


def _row(kind: Kind, name: str, value: int, tip: str) -> KnobRow:
    sizes = kind != "argument"
    least = 2 if _OF_BLOCKS.search(name) else 4
    return KnobRow(kind, name, value, knob_stops(value, sizes=sizes, least=least), tip)


def knob_stops(value: int, *, sizes: bool = True, least: int = 4) -> tuple[int, ...]:
    """Numbers up to four times the value; of `sizes` that are powers of two only such.

    Below `least` a number may be anything, such as a padding.
    """
    if sizes and value >= least and value & (value - 1) == 0:
        top = max(64, 4 * value)
        return tuple(1 << power for power in range(top.bit_length()))
    low = min(0, 4 * value)
    return tuple(sorted({*spread(low, max(16, 4 * value)), value}))


def turned(shown: Configuration, text: str, kind: Kind, name: str, value: int) -> Configuration:
    """The configuration with one number changed; `text` is the source as it is shown now.

    Grid, block and sizes follow as long as they are those that would be guessed.
    """
    assert shown.own is not None
    launch = shown.own
    if kind == "argument":
        arguments = tuple((n, str(value) if n == name else t) for n, t in launch.arguments)
        return replace(shown, own=renumbered(launch, replace(launch, arguments=arguments), text))
    if kind == "define":
        words = {**split_defines(launch.defines), name: str(value)}
        defines = " ".join(f"{n}={v}" for n, v in words.items())
        return replace(shown, own=replace(launch, defines=defines))
    changed = with_value(text, name, value)
    return replace(shown, source=changed, own=follow(launch, text, changed))
