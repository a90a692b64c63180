"""What findings owe to guesses: where the size or the contents of an array were never said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from core.launch import ScalarArgument
from core.wording import listing

if TYPE_CHECKING:
    from core.trace import Trace
    from core.trace.finding import Finding

_MOST_READ = 200_000  # characters of a source: more take long to read


def caveats(
    trace: Trace, where: Callable[[str], str], given: Callable[[str, str], str]
) -> Mapping[Finding, str]:
    """What to add to the findings that guesses lead to, as sentences.

    `where` names the place at which an array's size is set, `given` writes that an array (its name)
    is given as a text.
    """
    outside = [f for f in trace.findings if f.kind == "out_of_bounds" and not f.is_in_front]
    guessed = _guessed(trace) if outside else frozenset()
    resting = _resting_findings(trace)
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
    resting = _resting_findings(trace)
    if not resting:
        return frozenset()
    from core.explain.data_dependent_addresses import is_left_open

    return frozenset(f for f in resting if is_left_open(trace, f))


def _resting_findings(trace: Trace) -> Mapping[Finding, tuple[str, ...]]:
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
    if work.rung is not None or len(work.source) > _MOST_READ:
        return frozenset()
    scalars = (a for a in work.launch.arguments if isinstance(a, ScalarArgument))
    given = {a.name: str(a.value) for a in scalars}
    shapes = {array.name: array.shape for array in trace.arrays}
    from core.guessing.launch_guess import sizes_guessed  # loads the reading of C++

    return sizes_guessed(work.source, work.source_name, work.kernel, given, shapes)


# What is said of them.


def in_doubt(kind: str) -> str:
    """What a finding is called that other contents of memory may rule out: `perhaps a race`."""
    if kind == "assert":
        return "perhaps a failing assertion"
    is_state = kind in ("out_of_bounds", "misaligned")
    article = "" if is_state else "an " if kind.startswith("i") else "a "
    return f"perhaps {article}{kind.replace('_', ' ')}"


def of_guessed_size(finding: Finding, shape: Sequence[int], where: str) -> str:
    """What to add to a finding outside an array whose size was guessed; `where` it can be set."""
    holds = f", and {finding.needs:,} would hold this" if finding.needs else ""
    return (
        f"The size of {finding.array}, {' x '.join(map(str, shape))}, was guessed, as nothing in "
        f"the file says it{holds}: if the program makes it larger, set it at {where}."
    )


def of_guessed_contents(
    finding: Finding, resting: Mapping[Finding, Sequence[str]], given: Callable[[str], str]
) -> str:
    """What to add to a finding that guesses of arrays lead to, mostly of what they hold.

    `resting` has the arrays of each such finding; `given` says where a text is given for the first.
    """
    names = resting[finding]
    said = listing([*names])
    of_map = finding.kind == "bad_tensor_map" or (
        finding.kind == "hang"  # it follows from a copy that did not begin
        and any(f.kind == "bad_tensor_map" and f.block == finding.block for f in resting)
    )
    if finding.is_in_front and finding.array in names:
        made = given(f"random:float32[256]+{-finding.index[0]}")
        return f"Nothing in the file says if anything lies in front of {said}: if so, give {made}."
    if of_map:
        made = given("tensormap(float16[256,128], box=64x128)")
        return f"Nothing in the file makes the tensor map behind {said}: give it, as {made}."
    return (
        f"The elements of {said}, which lead there, are guesses: the program's own "
        f"may lead elsewhere. Give them in a file, as {given('@FILE.npy')}."
    )
