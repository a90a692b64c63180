"""Steps by name: `load:A@phase1`, `line:24#2`. A name stays right where a number would shift.

    load:A            the first load of A by the block
    load:A#2          the second one
    load:A@phase1     the first in phase 1
    line:24@phase1#2  the second time that line 24 begins in phase 1
    barrier, exit     the first barrier, the first exit
    end               the last step

What is accessed is an array's name, a `__constant__` variable's, or a memory: `store:shared`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.errors import ParameterError
from core.trace.steps import EventKind
from core.wording import listing

if TYPE_CHECKING:
    from core.trace.block import BlockTrace

_NAME = re.compile(
    r"(?P<what>load|store|atomic|line|barrier|exit|end)(?::(?P<of>\w+))?"
    r"(?:@phase(?P<phase>[0-9]{1,6}))?(?:#(?P<nth>[0-9]{1,6}))?"
)
_SPACES = ("global", "shared", "const", "local")
EXAMPLE = "load:A@phase1"
MOST_NAMED = 200  # accesses that are looked through for the names that there are


def check_name(name: str) -> re.Match[str]:
    """The parts of a step's name. Raises ParameterError where it is none."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ParameterError(f"`{name[:60]}` names no step: write {EXAMPLE} or line:24#2.")
    what, of = found["what"], found["of"]
    needs = what in ("load", "store", "atomic", "line")
    if needs != (of is not None) or (what == "line" and not of.isdecimal()):
        wanted = {"line": "line:24"}.get(what, f"{what}:A" if needs else what)
        raise ParameterError(f"`{name[:60]}` names no step: write it as {wanted}.")
    if found["nth"] is not None and int(found["nth"]) < 1:
        raise ParameterError(f"`{name[:60]}` names no step: the first is #1.")
    return found


def step_named(block: BlockTrace, name: str) -> int:
    """The step of a block that a name means. Raises ParameterError where there is none."""
    found = check_name(name)
    if found["what"] == "end":
        return block.n_steps - 1
    phase = None if found["phase"] is None else int(found["phase"])
    steps = _steps(block, found["what"], found["of"], phase)
    nth = int(found["nth"] or 1)
    if len(steps) < nth:
        there = f"there are {len(steps)}" if len(steps) else _instead(block, phase)
        raise ParameterError(f"Block {block.block} has no step `{name}`: {there}.")
    return int(steps[nth - 1])


def _instead(block: BlockTrace, phase: int | None) -> str:
    """The names of the accesses that there are, in that phase where one was named."""
    last = int(block.phase.max(initial=-1))
    if phase is not None and phase > last:
        return f"the last phase is {last}" if last >= 0 else "the block has no phases"
    steps = block.access_steps
    if phase is not None:
        steps = steps[block.phase[steps] == phase]
    named = {}
    for step in steps[:MOST_NAMED].tolist():
        access = block.access(step)
        if access is not None:
            named[f"{access.kind}:{access.target}"] = step
    where = "" if phase is None else f" in phase {phase}"
    return f"what it accesses{where} is {listing(list(named))}" if named else "it accesses nothing"


def _steps(block: BlockTrace, what: str, of: str | None, phase: int | None) -> NDArray[np.intp]:
    """All steps that a name could mean, ascending."""
    steps: NDArray[np.intp] = np.flatnonzero(block.kind == EventKind[what.upper()])
    if phase is not None:
        steps = steps[block.phase[steps] == phase]
    if what == "line":
        of_line: NDArray[np.intp] = steps[block.line[steps] == int(of or 0)]
        return of_line
    if of is None:
        return steps
    return np.array([step for step in steps if _is_of(block, int(step), of)], np.intp)


def _is_of(block: BlockTrace, step: int, of: str) -> bool:
    access = block.access(step)
    return access is not None and of in ((access.space,) if of in _SPACES else (access.target,))
