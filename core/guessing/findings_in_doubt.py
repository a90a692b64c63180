"""What findings owe to guesses: where the size or the contents of an array were never said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from core.launch import ScalarArgument
from core.trace.finding import is_in_front, of_guessed_contents, of_guessed_size

if TYPE_CHECKING:
    from core.trace import Trace
    from core.trace.finding import Finding

MOST_READ = 200_000  # characters of a source: more take long to read


def caveats(
    trace: Trace, where: Callable[[str], str], given: Callable[[str, str], str]
) -> Mapping[Finding, str]:
    """What to add to the findings that guesses lead to, as sentences.

    `where` names the place at which an array's size is set, `given` writes that an array (its name)
    is given as a text.
    """
    outside = [f for f in trace.findings if f.kind == "out_of_bounds" and not is_in_front(f)]
    guessed = _guessed(trace) if outside else frozenset()
    resting = resting_findings(trace)
    found = {}
    for finding in trace.findings:
        said = []
        if finding in outside and finding.array in guessed:
            shape = next(a.shape for a in trace.arrays if a.name == finding.array)
            said.append(of_guessed_size(finding, shape, where(finding.array)))
        if names := resting.get(finding):
            said.append(of_guessed_contents(finding, resting, partial(given, names[0])))
        if said:
            found[finding] = " ".join(said)
    return found


def left_open(trace: Trace) -> frozenset[Finding]:
    """The findings that other contents of memory than were guessed may rule out."""
    resting = resting_findings(trace)
    if not resting:
        return frozenset()
    from core.explain.data_dependent_addresses import is_left_open

    return frozenset(f for f in resting if is_left_open(trace, f))


def resting_findings(trace: Trace) -> Mapping[Finding, tuple[str, ...]]:
    """The findings that arrays' contents lead to, where nobody gave them, and which arrays'."""
    launch = trace.workload.launch
    if trace.workload.rung is not None or not trace.findings:
        return {}
    from core.explain.data_dependent_addresses import (
        resting_on,  # follows values: it is not needed to begin
    )

    own = {a.name for a in launch.arrays if a.is_own}
    names = {a.name for a in (*launch.arguments, *launch.symbols)}
    return resting_on(trace, frozenset(names - own))


def _guessed(trace: Trace) -> frozenset[str]:
    """The arrays whose size nothing says."""
    work = trace.workload
    if work.rung is not None or len(work.source) > MOST_READ:
        return frozenset()
    scalars = (a for a in work.launch.arguments if isinstance(a, ScalarArgument))
    given = {a.name: str(a.value) for a in scalars}
    shapes = {array.name: array.shape for array in trace.arrays}
    from core.guessing.first_launch import sizes_guessed  # loads the reading of C++

    return sizes_guessed(work.source, work.source_name, work.kernel, given, shapes)
