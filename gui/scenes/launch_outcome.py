"""What a launch computed, against the reference and against another launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from core.gpu.result_check import Check, check
from core.wording import listing
from gui.scenes.cached_per_object import once_for_each
from gui.scenes.numbers_and_sentences import capital

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.trace import Trace


def repaired_text(gone: Sequence[str], before: Outcome | None, after: Outcome | None) -> str:
    """What has come of an edit after which nothing is at fault any more.

    "Race on tile_a gone, result right: C equals the reference to within rounding."
    """
    right = after.right if after is not None else None
    joint = {None: "; ", True: ", "}.get(right, ", but ")
    return f"{capital(listing(gone))} gone{joint}{reference_text(after, before)}."


@dataclass(frozen=True)
class Outcome:
    """What a whole launch was given and what it gave, as sums over the arrays by their names.

    `checks` compare what it gave with the reference; they are empty where there is none.
    """

    given: Mapping[str, str]
    gave: Mapping[str, str]
    checks: tuple[Check, ...]

    @property
    def right(self) -> bool | None:
        """Whether the result is that of the reference; None without one."""
        return all(check.ok for check in self.checks) if self.checks else None


@once_for_each
def outcome(trace: Trace) -> Outcome | None:
    """The outcome of a launch; None where blocks were left out, so that there is no result."""
    if not trace.complete:
        return None
    arrays = trace.workload.launch.arrays
    gave = {a.name: _sum(trace.outputs[a.name]) for a in arrays if a.role != "input"}
    given = {a.name: _sum(a.data) for a in arrays}
    return Outcome(given, gave, check(trace.workload, trace.outputs))


def _sum(data: NDArray[Any]) -> str:
    words = f"{data.dtype} {data.shape} ".encode()
    return blake2b(words + np.ascontiguousarray(data).tobytes(), digest_size=16).hexdigest()


def reference_text(found: Outcome | None, before: Outcome | None) -> str:
    """How the result stands to the reference, as the end of a sentence: "result right: …".

    Without a reference it is that of the run `before`, or another.
    """
    if found is None:
        return "only a part of the launch ran, so Tilescope compares no result"
    if found.right is None:
        as_before = "the same as" if result_text(before, found).startswith("the same") else "not as"
        return f"the result is {as_before} before, and there is no reference to compare it with"
    names = [c.array for c in found.checks if c.ok == found.right]
    s = "s" if len(names) == 1 else ""
    if found.right:
        return f"result right: {listing(names)} equal{s} the reference to within rounding"
    errors = [c.max_error for c in found.checks if not c.ok and c.max_error is not None]
    by = f" by up to {max(errors):.3g}" if errors else ""
    return f"result wrong: {listing(names)} differ{s} from the reference{by}"


def result_text(before: Outcome | None, after: Outcome | None) -> str:
    """The result of one launch against another's: "the same result"; empty if that says nothing."""
    if before is None or after is None:
        return ""
    alike = before.given == after.given and before.gave == after.gave
    if alike and before.gave:
        kind = {None: "", True: "right "}.get(after.right, "wrong ")
        return f"the same {kind}result"
    if after.right is not None and before.right is not None:
        if after.right:
            return "the right result" if before.right else "the right result instead of a wrong one"
        return "a wrong result instead of the right one" if before.right else "a wrong result"
    if before.given != after.given or before.gave.keys() != after.gave.keys():
        return ""
    names = [name for name in after.gave if after.gave[name] != before.gave[name]]
    return f"another result in {listing(names)}"
