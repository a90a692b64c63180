"""The shared selection and clock that every view obeys and may set.

Setting a property clamps the value to what the trace holds, and emits only when it changes. One
action may change several properties (a new block changes the step's range): all of them are set
before the first signal goes out, so a listener never sees half a change. The single signals
(``step_changed`` and the like) carry the new value; ``changed`` follows once, with the names of
everything that changed, for views that would otherwise draw twice.

A lesson or a script needs nothing but this: what is recorded (`configuration`), where it is looked
at, what is compared with what, which page and view are in front, and in which theme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from psygnal import Signal

from core.ladder.buffers import INPUTS, Inputs
from gui.scenes.correspondence import Anchor
from gui.scenes.draft import line_heirs, line_map
from gui.scenes.refresh_queue import Turns
from gui.scenes.selection import (
    COMPARED_VIEWS,
    MAX_SPEED,
    MIN_SPEED,
    TEXT_SIZES,
    UNITS,
    WARP_SIZE,
    Breakpoint,
    Configuration,
    Element,
    Hover,
    Origin,
    Unit,
)
from gui.scenes.settings import Setting, Settings, one_of
from gui.scenes.text import grouped, index_text, plural
from gui.scenes.versions import Versions

if TYPE_CHECKING:
    from core.runs.counting import Counted
    from core.trace import BlockTrace, Trace
    from gui.scenes.correspondence import Course


# Breakpoints: the steps at which they stop, and how they are listed.


Steps = NDArray[np.intp]


def break_steps(trace: Trace, block: BlockTrace, places: Iterable[Breakpoint]) -> Steps:
    """The steps of a block at which any of the breakpoints stops, ascending, each once."""
    found = [stops_of(trace, block, place) for place in places]
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.intp)


def stops_of(trace: Trace, block: BlockTrace, place: Breakpoint) -> Steps:
    """The steps at which one breakpoint stops: each time a line begins, each touch of an element.

    Empty where the block never comes there, or the launch has no such element.
    """
    if place.line is not None:
        return line_starts(block, place.line)
    assert place.element is not None
    if not exists(trace, place.element):
        return np.empty(0, np.intp)
    name, index = place.element
    return block.touches(name, int(np.ravel_multi_index(index, shapes(trace)[name])))


def line_starts(block: BlockTrace, line: int) -> Steps:
    """The steps at which threads come to a line: its first step, and each after another line's."""
    from core.trace import EventKind

    here = np.asarray(block.line) == line
    fresh = np.asarray(block.kind) == EventKind.LINE
    before = np.concatenate([[False], here[:-1]])
    return np.flatnonzero(here & (fresh | ~before))


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


def carried_over(places: Iterable[Breakpoint], lines: Mapping[int, int]) -> frozenset[Breakpoint]:
    """Breakpoints in another text: those at lines go where their lines went, or away with them."""
    kept = set()
    for place in places:
        if place.line is None:
            kept.add(place)
        elif place.line in lines:
            kept.add(Breakpoint(line=lines[place.line]))
    return frozenset(kept)


class Kept:
    """The breakpoints of sources that are not shown, in `of` by their keys.

    Those that went along to a source's twin are the same ones there: what is taken away there is
    taken away.
    """

    def __init__(self) -> None:
        self.of: dict[str, frozenset[Breakpoint]] = {}
        self._lender = ""
        self._lent: dict[Breakpoint, Breakpoint] = {}  # the lender's, with what it is in the twin

    def leave(self, key: str, shown: frozenset[Breakpoint]) -> None:
        """Another source will be shown: keep those of this one."""
        if self._lender:
            gone = {mine for mine, there in self._lent.items() if there not in shown}
            self.of[self._lender] = self.of.get(self._lender, frozenset()) - gone
        self._lender, self._lent = "", {}
        self.of[key] = shown

    def arrive(self, key: str) -> frozenset[Breakpoint]:
        """Those of a source that is shown again."""
        return self.of.pop(key, frozenset())

    def lend(self, key: str, lines: Mapping[int, int]) -> None:
        """The source that was left last lends its own to its twin, in which `lines` stand."""
        images = {mine: carried_over((mine,), lines) for mine in self.of[key]}
        self._lender = key
        self._lent = {mine: next(iter(there)) for mine, there in images.items() if there}

    def edit(self, lines: Mapping[int, int]) -> None:
        """The shown text was edited; what is lost with its line there, its lender keeps."""
        images = {mine: carried_over((there,), lines) for mine, there in self._lent.items()}
        self._lent = {mine: next(iter(there)) for mine, there in images.items() if there}


@dataclass(frozen=True)
class BreakRow:
    """One breakpoint as it is listed: where it stands, the line's code, how often it stops."""

    place: Breakpoint
    title: str
    code: str
    times: str


def break_rows(
    trace: Trace | None, block: BlockTrace | None, places: Iterable[Breakpoint]
) -> tuple[BreakRow, ...]:
    """The breakpoints in the order of lines, then of elements."""
    rows = []
    lines = trace.workload.source.splitlines() if trace is not None else []
    for place in sorted(places, key=_order):
        count = 0 if trace is None or block is None else len(stops_of(trace, block, place))
        times = plural(count, "stop") if count else "no stop in this block"
        there = place.line is not None and 0 < place.line <= len(lines)
        code = lines[place.line - 1].strip() if there and place.line is not None else ""
        rows.append(BreakRow(place, break_title(place), code, times))
    return tuple(rows)


def break_title(place: Breakpoint) -> str:
    """A breakpoint in words: `Line 24`, `A[0, 2] touched`."""
    if place.line is not None:
        return f"Line {place.line}"
    assert place.element is not None
    return f"{index_text(*place.element)} touched"


def _order(place: Breakpoint) -> tuple[bool, int, tuple[str, tuple[int, ...]]]:
    return place.line is None, place.line or 0, place.element or ("", ())


def breaks_caption(session: Session) -> str:
    """One sentence: how many breakpoints there are, and where the next one stops."""
    count = len(session.breakpoints)
    if not count:
        return "No breakpoints."
    stops = len(session.break_steps)
    who = f"{plural(count, 'breakpoint')}, {plural(stops, 'stop')} in this block"
    ahead = session.next_break()
    return f"{who}." if ahead is None else f"{who}; the next is at step {grouped(ahead + 1)}."


def next_stop(session: Session, place: Breakpoint) -> int | None:
    """The next step at which one breakpoint stops, the first of them after the last; or None."""
    trace, block = session.trace, session.block_trace
    if trace is None or block is None:
        return None
    return _beyond(stops_of(trace, block, place), session.step, forward=True, around=True)


def next_touch(session: Session, element: Element, *, forward: bool = True) -> int | None:
    """The nearest step after (or before) this one that touches an element, or None."""
    trace, block = session.trace, session.block_trace
    if trace is None or block is None:
        return None
    stops = stops_of(trace, block, Breakpoint(element=element))
    return _beyond(stops, session.step, forward=forward, around=False)


def _beyond(stops: Steps, step: int, *, forward: bool, around: bool) -> int | None:
    if forward:
        place = int(np.searchsorted(stops, step, "right"))
    else:
        place = int(np.searchsorted(stops, step, "left")) - 1
    if around and len(stops):
        place %= len(stops)
    return int(stops[place]) if 0 <= place < len(stops) else None


# Everything of a session that can be set and is announced.


def _speed(_: object, speed: float) -> float:
    return min(max(float(speed), MIN_SPEED), MAX_SPEED)


def _offered(name: str) -> Callable[[State, str], str]:
    """A `fit` for a setting whose choices the window knows."""

    def fit(state: State, value: str) -> str:
        choices = state.offered.get(name, ())
        if choices and value not in choices:
            raise ValueError(f"expected one of {', '.join(filter(None, choices))}, not {value!r}")
        return value

    return fit


def _nearest(value: float, choices: tuple[int, ...]) -> int:
    return min(choices, key=lambda choice: abs(choice - value))


def _direction(_: object, value: int) -> int:
    return (value > 0) - (value < 0)


class State(Settings):
    """One selection, one clock, one configuration, one look of the window."""

    trace_changed = Signal(object)
    block_changed = Signal(int)
    block_wanted = Signal(int)
    step_changed = Signal(int)
    thread_changed = Signal(int)
    line_changed = Signal(object)
    element_changed = Signal(object)
    hover_changed = Signal(object)
    configuration_changed = Signal(object)
    unit_changed = Signal(str)
    speed_changed = Signal(float)
    playing_changed = Signal(int)
    breakpoints_changed = Signal(frozenset)
    page_changed = Signal(str)
    view_changed = Signal(str)
    large_changed = Signal(bool)
    theme_changed = Signal(str)
    inputs_changed = Signal(str)
    text_size_changed = Signal(int)
    question_changed = Signal(object)
    heat_changed = Signal(bool)
    close_up_changed = Signal(bool)
    warp_trail_changed = Signal(bool)
    warp_table_changed = Signal(bool)
    counts_by_changed = Signal(str)
    follow_memory_changed = Signal(bool)
    versus_changed = Signal(object)
    compared_view_changed = Signal(str)
    trouble_changed = Signal(str)
    everything_changed = Signal(bool)

    block: Setting[int] = Setting(0)
    """Linear index of the selected block; always one that was recorded.

    Asking for another block of the grid emits `block_wanted`, for whoever records, and changes
    nothing until a trace that holds it arrives.
    """
    step: Setting[int] = Setting(0, lambda self, step: self.clamp_step(step))
    """The event shown, 0..n_steps-1; the state shown is the one after it."""
    thread: Setting[int] = Setting(0, lambda self, thread: self.clamp_thread(thread))
    """Linear index of the selected thread in its block."""
    line: Setting[int | None] = Setting(None)
    """The source line that the user selected (not the one being executed)."""
    element: Setting[Element | None] = Setting(None, lambda self, e: self.fit_element(e))
    """The selected array element; None for one that the launch has not."""
    hover: Setting[Hover | None] = Setting(None)
    """What the pointer rests on."""
    configuration: Setting[Configuration | None] = Setting(None)
    """The launch asked for; the trace follows when it has been recorded."""
    inputs: Setting[Inputs] = Setting("random", one_of(*INPUTS))  # type: ignore[arg-type]
    """What the arrays that a rung reads hold; another choice records its launch anew."""
    unit: Setting[Unit] = Setting("access", one_of(*UNITS))  # type: ignore[arg-type]
    """What one step of the transport moves by."""
    speed: Setting[float] = Setting(4.0, _speed)
    """Units a second while playing."""
    playing: Setting[int] = Setting(0, _direction)
    """+1 while playing forwards, -1 backwards, 0 paused; the transport moves the clock."""
    breakpoints: Setting[frozenset[Breakpoint]] = Setting(frozenset(), lambda _, b: frozenset(b))
    """Where playing stops; kept for each source while others are looked at."""
    page: Setting[str] = Setting("step", _offered("page"))
    """The window's page, by its key in `gui.shell.pages`."""
    view: Setting[str] = Setting("", _offered("view"))
    """The view brought to the front last, by its name in `gui.views.step_page`; empty for none."""
    large: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether `view` alone is shown, over the whole page (the first view where it names none)."""
    theme: Setting[str] = Setting("light", _offered("theme"))
    """The window's theme, by name."""
    text_size: Setting[int] = Setting(100, lambda _, size: _nearest(size, TEXT_SIZES))
    """How large text is, in per cent of the theme's sizes: the nearest of `TEXT_SIZES`."""
    question: Setting[object | None] = Setting(None)
    """What "Why this number?" explains: a topic of `gui.scenes.why`, or None while closed."""
    heat: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether the matrices show how often each element was loaded, instead of the step."""
    close_up: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether the matrices show only what the block works on in this phase."""
    warp_trail: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether the matrices show what the whole warp has read so far, not the thread alone."""
    warp_table: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether the variables are those of the whole warp, lane by lane."""
    counts_by: Setting[str] = Setting("array", one_of("array", "line"))
    """What the counters are sorted by."""
    follow_memory: Setting[bool] = Setting(True, lambda _, on: bool(on))
    """Whether the view of the memory that a step accesses comes to the front."""
    versus: Setting[Configuration | None] = Setting(None)
    """The launch that `configuration` is compared with on the page "compare"."""
    compared_view: Setting[str] = Setting("Memory", one_of(*COMPARED_VIEWS))
    """What both sides of a comparison show first."""
    everything: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether Benchmark, Ceilings and Occupancy show all that they have, not the simple part."""
    trouble: Setting[str] = Setting("")
    """Why there is no trace, and what to do, in a sentence or two; said in place of pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.offered: dict[str, tuple[str, ...]] = {}
        """The pages, views and themes of the window that shows this; none while no window does."""

    def fit_element(self, element: Element | None) -> Element | None:
        """The element if there is such a one."""
        raise NotImplementedError

    def clamp_step(self, step: int) -> int:
        """The nearest step that there is."""
        raise NotImplementedError

    def clamp_thread(self, thread: int) -> int:
        """The nearest thread that there is."""
        raise NotImplementedError


# The clock of a session: stepping, playing, and breakpoints that stop it.


class Clock(State):
    """Moves `step` through the selected block's record."""

    def __init__(self) -> None:
        super().__init__()
        self._trace: Trace | None = None
        self._block_trace: BlockTrace | None = None
        self._stops: tuple[frozenset[Breakpoint], Steps] | None = None
        """Of the breakpoints that were asked about last; None for another block."""

    @property
    def n_steps(self) -> int:
        """Number of steps of the selected block's record, 0 without one."""
        return self._block_trace.n_steps if self._block_trace is not None else 0

    def seek(self, unit: Unit | None = None, forward: bool = True) -> bool:
        """Move by one unit (the session's own when None); False at the end, where nothing moves."""
        if self._block_trace is None or not self.n_steps:
            return False
        before = self.step
        self.step = self._block_trace.seek(before, unit or self.unit, forward=forward)
        return self.step != before

    def first(self) -> None:
        """Go to the first step."""
        self.step = 0

    def last(self) -> None:
        """Go to the last step."""
        self.step = self.n_steps - 1

    def toggle_breakpoint(self, place: Breakpoint) -> None:
        """Set a breakpoint, or take it away."""
        self.breakpoints = self.breakpoints ^ {place}

    @property
    def break_steps(self) -> Steps:
        """The steps of the selected block at which a breakpoint stops, ascending."""
        trace, block = self._trace, self._block_trace
        if trace is None or block is None or not self.breakpoints:
            return np.empty(0, np.intp)
        if self._stops is None or self._stops[0] != self.breakpoints:
            self._stops = (self.breakpoints, break_steps(trace, block, self.breakpoints))
        return self._stops[1]

    def next_break(self, forward: bool = True) -> int | None:
        """The nearest step after (or before) this one at which a breakpoint stops, or None."""
        stops = self.break_steps
        if forward:
            place = int(np.searchsorted(stops, self.step, "right"))
        else:
            place = int(np.searchsorted(stops, self.step, "left")) - 1
        return int(stops[place]) if 0 <= place < len(stops) else None

    def run_to_break(self, forward: bool = True) -> bool:
        """Go to the next breakpoint; False where there is none, and nothing moves."""
        found = self.next_break(forward)
        self.update(playing=0, **({} if found is None else {"step": found}))
        return found is not None

    def play_on(self) -> None:
        """Move by one unit in the direction of play; stop at a breakpoint and at the end."""
        forward, block = self.playing > 0, self._block_trace
        if block is None or not self.n_steps:
            self.playing = 0
            return
        ahead, stop = block.seek(self.step, self.unit, forward=forward), self.next_break(forward)
        if stop is not None and (stop <= ahead if forward else stop >= ahead):
            self.update(playing=0, step=stop)
        elif ahead == self.step:
            self.playing = 0
        else:
            self.step = ahead


class Session(Clock):
    """One selection, one clock, one configuration, one look of the window."""

    def __init__(self) -> None:
        super().__init__()
        self.origin: Origin | None = None
        """Set before the trace by whoever records; None for a trace from elsewhere."""
        self._counted: Counted | None = None
        self._counted_for: Configuration | None = None
        self._wanted: int | None = None
        self._anchor = Anchor()
        self._key = ""  # of the shown trace's source
        self.kept = Kept()
        """The breakpoints of the sources that are not shown."""
        self.turns = Turns(lambda: self.speed if self.playing else 0.0)
        """Where what is read waits while the clock plays; both sides of a comparison share one."""
        self.versions = Versions()
        """Which texts have run, on either side of a comparison."""

    # ---- the trace

    @property
    def trace(self) -> Trace | None:
        """The record that is shown. None before the first one arrives."""
        return self._trace

    @trace.setter
    def trace(self, trace: Trace | None) -> None:
        if trace is self._trace:
            return
        old, block, before = self._trace, self._block_trace, dict(self.values)
        left, self._key = self._key, self._key_of(trace)
        same = old is not None and trace is not None and self._continues(left)
        if trace is not None:
            self.versions.note(self._key, trace.workload.source)
        self._trace = trace
        if not self._is_of_the_trace(self._counted) or self._counted_for != self._asked_for:
            self._counted = None
        self.values["hover"] = None
        if same:
            self._carry_lines(left, old, trace)  # type: ignore[arg-type]
        else:
            self._change_source(left if old is not None else None)
        self._open_block(self.values["block"])
        if trace is not None and not self._element_exists(self.values["element"]):
            self.values["element"] = None
        if not same:
            self.values["step"] = self.first_access
        elif block is not None and self._block_trace is not None:
            moment = self._anchor.carry(block, before["step"], self._block_trace)
            self.values["step"] = self.clamp_step(moment)
        self.trace_changed.emit(trace)
        self.announce(before, extra=("trace", "block", "counts"))

    @property
    def block_trace(self) -> BlockTrace | None:
        """The record of the selected block."""
        return self._block_trace

    @property
    def counted(self) -> Counted | None:
        """Counts of the whole launch, where the trace is of a part of it and they have arrived.

        Setting counts of another launch than the trace's changes nothing. They last until a trace
        of another launch is set.
        """
        return self._counted

    @counted.setter
    def counted(self, counted: Counted | None) -> None:
        if counted is not self._counted and (counted is None or self._is_of_the_trace(counted)):
            self._counted, self._counted_for = counted, self._asked_for
            self.tell(frozenset({"counts"}))

    @property
    def counts(self) -> Trace | Counted | None:
        """What holds the counters to show: `counted`, or the trace where there is none."""
        return self._counted or self._trace

    @property
    def counts_complete(self) -> bool:
        """Whether `counts` are of the whole launch."""
        return self._counted is not None or (self._trace is not None and self._trace.complete)

    # ---- the selection

    @property
    def warp(self) -> int:
        """The selected thread's warp. Setting it keeps the lane where the warp has it."""
        return self.thread // WARP_SIZE

    @warp.setter
    def warp(self, warp: int) -> None:
        last = self._block_trace.n_warps - 1 if self._block_trace is not None else 0
        self.thread = min(max(warp, 0), last) * WARP_SIZE + self.lane

    @property
    def lane(self) -> int:
        """The selected thread's lane, 0..31."""
        return self.thread % WARP_SIZE

    @lane.setter
    def lane(self, lane: int) -> None:
        self.thread = self.warp * WARP_SIZE + min(max(lane, 0), WARP_SIZE - 1)

    @property
    def current_line(self) -> int | None:
        """The source line of the current step, None where there is none."""
        if self._block_trace is None or not self.n_steps:
            return None
        line = int(self._block_trace.line[self.step])
        return line if line > 0 else None

    @property
    def pointed_line(self) -> int | None:
        """The line of the compiled source that the pointer rests on, in whichever view."""
        return self.hover.line if self.hover is not None else None

    @property
    def pointed_thread(self) -> int | None:
        """The linear thread of the block that the pointer rests on, in whichever view."""
        return self.hover.thread if self.hover is not None else None

    @property
    def first_access(self) -> int:
        """The step of the block's first access to memory, where a new launch begins."""
        trace = self._block_trace
        if trace is None or not trace.n_steps or trace.access(0) is not None:
            return 0
        return self.clamp_step(trace.seek(0, "access", forward=True))

    @property
    def phase(self) -> int:
        """The current step's phase, -1 outside any."""
        if self._block_trace is None or not self.n_steps:
            return -1
        return int(self._block_trace.phase[self.step])

    @property
    def parameters(self) -> Mapping[str, int]:
        """The workload parameters of the trace that is shown."""
        return self._trace.workload.parameters if self._trace is not None else {}

    def anchored(self) -> tuple[Course, int] | None:
        """The moment that a new record of the same source will be shown at; None without one."""
        if self._block_trace is None:
            return None
        return self._anchor.held(self._block_trace, self.step)

    def update(self, **values: Any) -> None:
        """Set several properties as one change: ``update(block=1, thread=5, step=12)``.

        Raises AttributeError for a name that is not a property that can be set, ValueError for a
        wrong value.
        """
        try:
            super().update(**values)
        except ValueError:
            self._wanted = None
            self._open_block(self.values["block"])
            raise
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            self.block_wanted.emit(wanted)

    def put(self, values: dict[str, Any]) -> None:
        """Keep values without a signal; the block first, which says what steps there are."""
        if "block" in values:
            self._wanted = self._choose_block(values.pop("block"))
        super().put(values)

    def tell(self, names: frozenset[str]) -> None:
        """Emit `changed`; in a frame of play, what is read takes turns."""
        with self.turns.change(names):
            super().tell(names)

    def breakpoints_of_all(self) -> dict[str, frozenset[Breakpoint]]:
        """The breakpoints of every source by its key, the shown one's with them."""
        shown = {self._key: self.breakpoints} if self._trace is not None else {}
        return {key: places for key, places in (self.kept.of | shown).items() if places}

    # ---- inside

    def fit_element(self, element: Element | None) -> Element | None:
        """The element if the shown launch has it; any before there is a launch."""
        return element if self._trace is None or self._element_exists(element) else None

    def clamp_step(self, step: int) -> int:
        """The nearest step that there is."""
        return max(0, min(int(step), self.n_steps - 1))

    def clamp_thread(self, thread: int) -> int:
        """The nearest thread that there is."""
        count = self._block_trace.n_threads if self._block_trace is not None else 1
        return max(0, min(int(thread), count - 1))

    @property
    def _asked_for(self) -> Configuration | None:
        """What the shown trace was recorded for: it has the arguments of a user's kernel."""
        return self.origin.configuration if self.origin is not None else None

    def _is_of_the_trace(self, counted: Counted | None) -> bool:
        if counted is None or self._trace is None:
            return False
        a, b = counted.workload, self._trace.workload
        return (a.source, a.kernel, a.defines, a.parameters, a.launch.grid, a.launch.block) == (
            b.source,
            b.kernel,
            b.defines,
            b.parameters,
            b.launch.grid,
            b.launch.block,
        )

    def _choose_block(self, block: int) -> int | None:
        """Open a recorded block; otherwise return the block of the grid that should be recorded."""
        if self._trace is None:
            return None
        block = max(0, min(int(block), self._trace.workload.launch.grid.count - 1))
        if block not in self._trace.recorded_blocks:
            return block
        self._open_block(block)
        return None

    def _open_block(self, block: int) -> None:
        self._stops = None
        if self._trace is None:
            self._block_trace = None
            self.values.update(block=0, step=0, thread=0)
            return
        recorded = self._trace.recorded_blocks
        block = min(recorded, key=lambda known: (abs(known - block), known))
        self._block_trace = self._trace.block(block)
        self.values["block"] = int(block)
        self.values["step"] = self.clamp_step(self.values["step"])
        self.values["thread"] = self.clamp_thread(self.values["thread"])

    def _change_source(self, left: str | None) -> None:
        """Nothing of the selection belongs to another kernel; its own breakpoints come back."""
        if left is not None:
            self.kept.leave(left, self.breakpoints)
        kept = self.kept.arrive(self._key)
        self.values.update(block=0, thread=0, line=None, element=None, breakpoints=kept)

    def _key_of(self, trace: Trace | None) -> str:
        """Names a new trace's source: the key of what was asked for, if that is known."""
        if trace is None:
            return ""
        return source_key(trace) if self.origin is None else self.origin.configuration.key

    def _continues(self, left: str) -> bool:
        """Whether the trace is of the same source as the one before, or of its twin."""
        twin = self.origin.twin if self.origin is not None else ""
        return left in (self._key, twin or self._key)

    def _carry_lines(self, left: str, old: Trace, trace: Trace) -> None:
        """Selected line and breakpoints move with the text when it was edited.

        A twin gets those at lines that both have, and the other keeps its own for when it comes
        back.
        """
        another = left != self._key
        if not another and old.workload.source == trace.workload.source:
            return
        places = (line_map if another else line_heirs)(old.workload.source, trace.workload.source)
        if another:
            self.kept.leave(left, self.breakpoints)
        self.values["line"] = places.get(self.values["line"])
        self.values["breakpoints"] = carried_over(self.breakpoints, places)
        if another:
            self.kept.lend(left, places)
            self.values["breakpoints"] |= self.kept.arrive(self._key)
        else:
            self.kept.edit(places)

    def _element_exists(self, element: Element | None) -> bool:
        return element is not None and self._trace is not None and exists(self._trace, element)


def source_key(trace: Trace) -> str:
    """Names a trace's source, whatever its parameters and edits."""
    return trace.workload.rung or trace.workload.source_name
