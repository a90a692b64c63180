"""What the transport bar shows: phases as bands, accesses and barriers as marks, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.trace import EventKind
from core.trace.finding import FOR_EVER
from core.wording import listing
from gui.scenes.bulk_copies import operations_at
from gui.scenes.elements_of_accesses import deed
from gui.scenes.illegal_accesses import at_fault, faulty_name
from gui.scenes.names_of_elements_and_threads import FILL, element_name, fills, part_name
from gui.scenes.numbers_and_sentences import grouped, plural
from gui.scenes.operations_in_words import operations_words

if TYPE_CHECKING:
    from core.trace import Access, BlockTrace, Trace
    from gui.scenes.session import Session

MARKS = ("load", "store", "barrier")


@dataclass(frozen=True)
class Band:
    """One phase's share of the time axis: steps `first` to `last`, both included, and its name."""

    index: int
    first: int
    last: int
    name: str


class Timeline:
    """One block's record laid out on an axis of steps."""

    def __init__(self, trace: BlockTrace, faults: Iterable[int] = ()) -> None:
        """`faults` are the steps at which something is found to be wrong."""
        self.faults = np.array(sorted({s for s in faults if s >= 0}), np.intp)
        self.n_steps = trace.n_steps
        self.bands = tuple(
            Band(p.index, p.first, p.last, FILL if fills(trace, p.index) else f"phase {p.index}")
            for p in trace.phases
        )
        self.ahead = self.bands[0].first if trace.filling.before else 0
        """How many steps fill tiles before the first phase."""
        self._line = np.asarray(trace.line)
        kinds, accesses = np.asarray(trace.kind), np.asarray(trace.access_steps)
        loads = kinds[accesses] == EventKind.LOAD
        # Copies from memory and products, which read copies; then copies to memory.
        begun = {
            out: np.array([s for s, e in trace.operations if (e.kind == "store") == out], np.intp)
            for out in (False, True)
        }
        self._steps = {
            "load": np.union1d(accesses[loads], begun[False]),
            "store": np.union1d(accesses[~loads], begun[True]),  # and atomics
            "barrier": np.flatnonzero(kinds == EventKind.BARRIER),
        }

    def steps(self, mark: str) -> NDArray[np.intp]:
        """Steps that carry a mark ("load", "store" or "barrier"), ascending."""
        return self._steps[mark]

    def line_steps(self, line: int | None) -> NDArray[np.intp]:
        """Steps at a source line, ascending; none for None."""
        return np.flatnonzero(self._line == (-1 if line is None else line))

    def columns(self, steps: NDArray[np.intp], width: int) -> NDArray[np.intp]:
        """Distinct pixel columns, 0..width-1, of the given steps on an axis `width` pixels wide."""
        if self.n_steps < 1 or width < 1:
            return np.empty(0, np.intp)
        return np.unique(((steps + 0.5) / self.n_steps * width).astype(np.intp))

    def position(self, step: float, width: float) -> float:
        """Where the middle of a step lies on an axis `width` wide."""
        return (step + 0.5) / self.n_steps * width if self.n_steps else 0.0

    def step_at(self, x: float, width: float) -> int:
        """The step at a position of the axis; positions outside give the first or last step."""
        if width <= 0 or self.n_steps < 1:
            return 0
        return int(min(max(x / width * self.n_steps, 0), self.n_steps - 1))


def timeline_of(trace: Trace, block: BlockTrace) -> Timeline:
    """The timeline of a trace's block with what was found in it."""
    found = {f.step for f in trace.findings if f.block == block.block}
    return Timeline(block, found | set(block.illegal_steps.tolist()))


def step_label(session: Session) -> str:
    """Where the clock stands, counted from 0 as in links, and the last step: "38 / 88"."""
    if not session.n_steps:
        return "–"
    return f"{grouped(session.step)} / {grouped(session.n_steps - 1)}"


def step_words(trace: BlockTrace, step: int) -> str:
    """A step of the scrub bar in a few words: "step 22, line 29: 16 threads load tile_b"."""
    words = f"step {grouped(step)}, line {int(trace.line[step])}"
    kinds = {event.kind for event in operations_at(trace, step)}
    if kinds:
        return f"{words}: {'wgmma' if 'product' in kinds else 'bulk copy'}"
    access = trace.access(step)
    if access is not None:
        lanes = int(np.count_nonzero(access.active | access.faulty))
        return f"{words}: {plural(lanes, 'thread')} {deed(access, lanes)} {access.target}"
    return f"{words}: barrier" if trace.kind[step] == EventKind.BARRIER else words


def phase_label(session: Session) -> str:
    """The current phase, or what the step comes before or after: "phase 0 of 2"."""
    trace = session.block_trace
    return part_name(trace, session.step) if trace is not None and trace.n_steps else ""


def event_caption(session: Session) -> str:
    """One sentence that says what happens at the current step; before it, where a launch hangs."""
    trace = session.block_trace
    if trace is None or not trace.n_steps:
        return "Nothing has been recorded yet."
    return " ".join(filter(None, (_hang_sentence(session, trace), _event(session, trace))))


def _hang_sentence(session: Session, trace: BlockTrace) -> str:
    """That the launch hangs, at the last step of a block whose threads do; else empty."""
    if session.step < trace.n_steps - 1 or session.trace is None or session.hides("findings"):
        return ""
    lines = {
        found.line
        for found in session.trace.findings
        if found.kind in FOR_EVER and found.block == trace.block
    }
    if not lines:
        return ""
    where = f"line{'s' * (len(lines) > 1)} {listing([str(line) for line in sorted(lines)])}"
    return f"The launch hangs here: threads never get past {where}."


def _event(session: Session, trace: BlockTrace) -> str:
    step = session.step
    active = int(np.count_nonzero(trace.active(step)))
    line = int(trace.line[step])
    who = "All threads" if active == trace.n_threads > 1 else plural(active, "thread")
    several = active != 1
    if operations_at(trace, step) and session.trace is not None:
        begun = operations_words(trace, step, session.trace.arrays)
        if begun:
            return f"{begun[0].upper()}{begun[1:]} at line {line}."
    access = trace.access(step)
    if access is not None:
        return _access_sentence(session, access, who, several)
    kind = trace.kind[step]
    if kind == EventKind.BARRIER:
        return f"{who} wait{'' if several else 's'} at the barrier of line {line}."
    if kind == EventKind.EXIT:
        return f"{who} leave{'' if several else 's'} the kernel."
    return f"{who} {'are' if several else 'is'} at line {line}."


def _access_sentence(session: Session, access: Access, who: str, several: bool) -> str:
    one = deed(access, 1)
    sentence = f"{who} {deed(access) if several else one} {access.target} at line {access.line}"
    wrong = len(at_fault(access))
    if wrong:
        served = np.count_nonzero(access.active)
        blame = f"{plural(wrong, 'thread')} {'are' if wrong > 1 else 'is'} at fault"
        sentence = f"{blame}; {sentence}" if served else f"{blame} at line {access.line}"
    thread = session.thread
    index = access.element(thread)
    if access.array is not None and index is not None:
        element = element_name(access.array, int(access.elements[thread]))
        sentence += f"; thread {thread} {one} {element}"
    elif access.faulty[thread]:
        sentence += f"; thread {thread} {one} {faulty_name(access, thread)}"
    return sentence + "."
