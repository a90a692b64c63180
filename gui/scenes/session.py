"""The shared selection and clock that every view obeys and may set.

Setting a property clamps the value to what the trace holds, and emits only when it changes. One
action may change several properties (a new block changes the step's range): all of them are set
before the first signal goes out, so a listener never sees half a change. The signals of single
settings (``step_changed`` and the like, where somebody listens) carry the new value; ``changed``
follows once, with the names of everything that changed, for views that would otherwise draw twice.

A lesson or a script needs nothing but this: what is recorded (`configuration`), where it is looked
at, what is compared with what, which page and view are in front, and in which theme.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
from psygnal import Signal

from core.ladder.input_arrays import INPUTS, Inputs
from core.ladder.rung import DEFAULT_SEED
from core.launch import WARP
from core.links import MOST, Element
from core.rules.shared_memory import BANKS
from gui.scenes import veils_and_picks
from gui.scenes.breakpoints import (
    OtherBreakpoints,
    Steps,
    break_steps,
    carried_over,
    nearest_stop,
    stops_of,
)
from gui.scenes.configuration import Configuration, Origin
from gui.scenes.edited_source import Versions, line_map
from gui.scenes.matching_steps import Anchor
from gui.scenes.refresh_queue import Turns
from gui.scenes.selection import Breakpoint, Hover, exists
from gui.scenes.setting_choices import COMPARED_VIEWS, MAX_SPEED, MIN_SPEED, TEXT_SIZES, UNITS, Unit

if TYPE_CHECKING:
    from core.emulator.scheduling import WarpOrder
    from core.lessons.lesson import Target
    from core.recording.count_launch import Counted
    from core.trace import BlockTrace, Trace
    from gui.scenes.configuration import Profile
    from gui.scenes.matching_steps import Course
    from gui.scenes.veils_and_picks import Lit, Pick

T = TypeVar("T")


_LAUNCH = attrgetter("source", "kernel", "defines", "parameters", "launch.grid", "launch.block")
"""What two workloads have in common if they are of one launch."""


class Setting(Generic[T]):
    """A property of the session: `fit(session, value)` gives what is kept of a value that is set.

    The session may have a signal `<name>_changed` for it.
    """

    def __init__(self, default: T, fit: Callable[[Any, Any], T] | None = None) -> None:
        self.default = default
        self.fit = fit
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, owner: None, kind: type) -> Setting[T]: ...
    @overload
    def __get__(self, owner: Session, kind: type) -> T: ...
    def __get__(self, owner: Session | None, kind: type) -> T | Setting[T]:
        if owner is None:
            return self
        found: T = owner.values[self.name]
        return found

    def __set__(self, owner: Session, value: T) -> None:
        owner.update(**{self.name: value})


def _one_of(*choices: str) -> Callable[[Any, Any], str]:
    """A `fit` for a setting that has one of a few values; raises ValueError for another."""
    return lambda _, value: _checked(value, choices)


def _checked(value: T, choices: Iterable[str]) -> T:
    """The value, if it is one of the choices. Raises ValueError for another."""
    choices = tuple(choices)
    if value not in choices:
        raise ValueError(f"expected one of {', '.join(filter(None, choices))}, not {value!r}")
    return value


def _speed(_: object, speed: float) -> float:
    return min(max(float(speed), MIN_SPEED), MAX_SPEED)


def _offered(name: str) -> Callable[[Session, str], str]:
    """A `fit` for a setting whose choices the window knows."""

    def fit(session: Session, value: str) -> str:
        choices = session.offered.get(name, ())
        return _checked(value, choices) if choices else value

    return fit


def _counts_by(session: Session, value: str) -> str:
    """A session from a file, or the other side of a comparison, may have no profile."""
    chosen = _one_of("array", "line", "profile")(session, value)
    return "array" if chosen == "profile" and session.profile is None else chosen


def _veils(_: object, names: Iterable[str]) -> frozenset[str]:
    """The names as a set. Raises ValueError for one that is not a veil."""
    from core.lessons.lesson import VEILS

    found = frozenset(names)
    for name in sorted(found):
        if name not in VEILS and not re.fullmatch(r"phases:[0-9]{1,3}", name):
            raise ValueError(f"there is no veil {name!r}: use {', '.join(VEILS)}")
    return found


def _target(_: object, target: Target | None) -> Target | None:
    """The target if there is such a thing to click. Raises ValueError for another."""
    from core.lessons.lesson import TARGETS

    return None if target is None else _checked(target, TARGETS)


def _order(_: object, order: WarpOrder) -> WarpOrder:
    """The order in which warps take turns. Raises ValueError for another."""
    if order == "lockstep":
        return order
    from core.emulator.scheduling import ORDERS

    return _checked(order, ORDERS)


def _up_to(most: int) -> Callable[[object, int | None], int | None]:
    """A `fit` for a setting that counts from 0; raises ValueError for another number."""

    def fit(_: object, value: int | None) -> int | None:
        if value is not None and not 0 <= value <= most:
            raise ValueError(f"expected a whole number from 0 to {most}, not {value!r}")
        return value

    return fit


_whole = _up_to(MOST)


class Session:
    """One selection, one clock, one configuration, one look of the window."""

    changed = Signal(frozenset)
    trace_changed = Signal(object)
    block_changed = Signal(int)
    block_wanted = Signal(int)
    step_changed = Signal(int)
    configuration_changed = Signal(object)
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
    order_changed = Signal(str)
    seed_changed = Signal(int)
    veiled_changed = Signal(frozenset)
    answered_changed = Signal(bool)
    lit_changed = Signal(object)
    picked = Signal(str, object)
    """What the learner clicked while `pick_target` was set: `picked(target, pick)`."""

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
    """The selected array element; None if the launch has no such element."""
    bank: Setting[int | None] = Setting(None, _up_to(BANKS - 1))
    """The selected bank of shared memory, 0..31."""
    sector: Setting[int | None] = Setting(None, _whole)
    """The selected sector of global memory, counted from the start of the array accessed last."""
    hover: Setting[Hover | None] = Setting(None)
    """What the pointer rests on."""
    configuration: Setting[Configuration | None] = Setting(None)
    """The launch asked for; the trace follows when it has been recorded."""
    inputs: Setting[Inputs] = Setting("random", _one_of(*INPUTS))  # type: ignore[arg-type]
    """What the arrays that a rung reads hold; another choice records its launch anew."""
    unit: Setting[Unit] = Setting("access", _one_of(*UNITS))  # type: ignore[arg-type]
    """What one step of the transport moves by."""
    speed: Setting[float] = Setting(4.0, _speed)
    """Units a second while playing."""
    playing: Setting[int] = Setting(0, lambda _, way: (way > 0) - (way < 0))
    """+1 while playing forwards, -1 backwards, 0 paused; the transport moves the clock."""
    breakpoints: Setting[frozenset[Breakpoint]] = Setting(frozenset(), lambda _, b: frozenset(b))
    """Where playing stops; kept for each source while others are looked at."""
    page: Setting[str] = Setting("step", _offered("page"))
    """The window's page, by its key in `gui.shell.pages`."""
    view: Setting[str] = Setting("", _offered("view"))
    """The view brought to the front last, a name of `gui.scenes.step_views`; empty for none."""
    large: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether `view` alone is shown, over the whole page (the first view where it names none)."""
    theme: Setting[str] = Setting("light", _offered("theme"))
    """The window's theme, by name."""
    text_size: Setting[int] = Setting(
        100, lambda _, size: min(TEXT_SIZES, key=lambda one: abs(one - size))
    )
    """How large text is, in per cent of the theme's sizes: the nearest of `TEXT_SIZES`."""
    question: Setting[object | None] = Setting(None)
    """What "Why this number?" explains (a topic of `why_this_number.py`), or None while closed."""
    heat: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether the matrices show how often each element was loaded, instead of the step."""
    close_up: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether the matrices show only what the block works on in this phase."""
    warp_trail: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether the matrices show what the whole warp has read so far, not the thread alone."""
    warp_table: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether the variables are those of the whole warp, lane by lane."""
    profile: Setting[Profile | None] = Setting(None, lambda self, p: self.fit_profile(p))
    """A profile of Nsight Compute beside the shown launch; it goes when another is shown."""
    counts_by: Setting[str] = Setting("array", _counts_by)
    """What the counters are sorted by; "profile", where there is one, shows them beside it."""
    follow_memory: Setting[bool] = Setting(True, lambda _, on: bool(on))
    """Whether the view of the memory that a step accesses comes to the front."""
    versus: Setting[Configuration | None] = Setting(None)
    """The launch that `configuration` is compared with on the page "compare"."""
    compared_view: Setting[str] = Setting("Memory", _one_of(*COMPARED_VIEWS))
    """What both sides of a comparison show first."""
    everything: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether Benchmark, Ceilings and Occupancy show all that they have, not the simple part."""
    order: Setting[WarpOrder] = Setting("lockstep", _order)
    """How the warps of a block take turns; another order records the launch anew."""
    seed: Setting[int] = Setting(DEFAULT_SEED, _whole)  # type: ignore[arg-type]
    """Of the random numbers that a rung's arrays hold; another one records the launch anew."""
    device: Setting[str] = Setting("")
    """The device of Ceilings and Occupancy, by its name; empty for the page's own choice."""
    size: Setting[int | None] = Setting(None, _whole)
    """N of the Ceilings page; 0 for the launch's own, None for the page's choice."""
    ceiling: Setting[str] = Setting("")
    """The ceiling that the Ceilings page selects, by its name; empty for the one that binds."""
    threads: Setting[int | None] = Setting(None, _whole)
    """Threads of a block on the Occupancy page; None for the kernel's own, as for the next two."""
    registers: Setting[int | None] = Setting(None, _whole)
    """Registers of a thread there."""
    shared: Setting[int | None] = Setting(None, _whole)
    """Bytes of shared memory of a block there."""
    veiled: Setting[frozenset[str]] = Setting(frozenset(), _veils)
    """The parts that a question veils: names of `core.lessons.lesson.VEILS`."""
    answered: Setting[bool] = Setting(False, lambda _, on: bool(on))
    """Whether what is veiled is so for a later question: the present one is answered."""
    lit: Setting[Lit | None] = Setting(None)
    """What views light: the right answer beside the learner's own."""
    pick_target: Setting[Target | None] = Setting(None, _target)
    """What a question asks to click; a click on such a thing emits `picked` and does no more."""
    trouble: Setting[str] = Setting("")
    """Why there is no trace, and what to do, in a sentence or two; views show it instead."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {n: s.default for n, s in self.settings().items()}
        self.offered: dict[str, tuple[str, ...]] = {}
        """The pages, views and themes of the window that shows this; none while no window does."""
        self.origin: Origin | None = None
        """Set before the trace by whoever records; None for a trace from elsewhere."""
        self.kept = OtherBreakpoints()
        """The breakpoints of the sources that are not shown."""
        self.turns = Turns(lambda: self.speed if self.playing else 0.0)
        """Where what is read waits while the clock plays; both sides of a comparison share one."""
        self.versions = Versions()
        """Which texts have run, on either side of a comparison."""
        self._trace: Trace | None = None
        self._block: BlockTrace | None = None
        self._stops: tuple[frozenset[Breakpoint], Steps] | None = None
        """Of the breakpoints that were asked about last; None for another block."""
        self._counted: Counted | None = None
        self._counted_for: Configuration | None = None
        self._wanted: int | None = None
        self._anchor = Anchor()
        self._key = ""  # of the shown trace's source

    @classmethod
    @cache
    def settings(cls) -> dict[str, Setting[Any]]:
        """Every setting by name, in the order in which they are announced."""
        return {name: s for name, s in vars(cls).items() if isinstance(s, Setting)}

    # ---- the trace

    @property
    def trace(self) -> Trace | None:
        """The record that is shown. None before the first one arrives."""
        return self._trace

    @trace.setter
    def trace(self, trace: Trace | None) -> None:
        if trace is self._trace:
            return
        old, block, before = self._trace, self._block, dict(self.values)
        left, self._key = self._key, self._key_of(trace)
        twin = self.origin.twin if self.origin is not None else ""
        same = old is not None and trace is not None and left in (self._key, twin or self._key)
        if trace is not None:
            self.versions.note(self._key, trace.workload.source)
        self._trace = trace
        if not self._is_of_launch(self._counted) or self._counted_for != self.asked_for:
            self._counted = None
        if self.values["profile"] is not None and self.fit_profile(self.profile) is None:
            self.values["profile"] = None
            self.values["counts_by"] = _counts_by(self, self.counts_by)
        self.values["hover"] = None
        if same:
            self._carry_lines(left, old, trace)  # type: ignore[arg-type]
        else:
            self._change_source(left if old is not None else None)
        self._open_block(self.values["block"])
        self.values["element"] = self.fit_element(self.values["element"])
        if not same:
            self.values["step"] = self.first_access
        elif block is not None and self._block is not None:
            moment = self._anchor.carry(block, before["step"], self._block)
            self.values["step"] = self.clamp_step(moment)
        self.trace_changed.emit(trace)
        self._announce(before, extra=("trace", "block", "counts"))

    @property
    def asked_for(self) -> Configuration | None:
        """What the shown trace was recorded for, with the arguments of a user's kernel.

        `configuration` may be asked for since. None for a trace from elsewhere.
        """
        return self.origin.configuration if self.origin is not None else None

    @property
    def block_trace(self) -> BlockTrace | None:
        """The record of the selected block."""
        return self._block

    @property
    def counted(self) -> Counted | None:
        """Counts of the whole launch, where the trace is of a part of it and they have arrived.

        Setting counts of another launch than the trace's changes nothing. They last until a trace
        of another launch is set.
        """
        return self._counted

    @counted.setter
    def counted(self, counted: Counted | None) -> None:
        if counted is not self._counted and (counted is None or self._is_of_launch(counted)):
            self._counted, self._counted_for = counted, self.asked_for
            self.tell(frozenset({"counts"}))

    @property
    def counts(self) -> Trace | Counted | None:
        """What holds the counters to show: `counted`, or the trace where there is none."""
        return self._counted or self.trace

    @property
    def counts_complete(self) -> bool:
        """Whether `counts` are of the whole launch."""
        return self._counted is not None or (self.trace is not None and self.trace.complete)

    # ---- the clock

    @property
    def n_steps(self) -> int:
        """Number of steps of the selected block's record, 0 without one."""
        return self._block.n_steps if self._block is not None else 0

    def seek(self, unit: Unit | None = None, forward: bool = True) -> bool:
        """Move by one unit (the session's own when None); False at the end, where nothing moves."""
        if self.block_trace is None or not self.n_steps:
            return False
        before = self.step
        self.step = self.block_trace.seek(before, unit or self.unit, forward=forward)
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
        """The steps of the selected block at which a breakpoint stops, ascending, each once."""
        places = self.breakpoints
        if self._trace is None or self._block is None or not places:
            return np.empty(0, np.intp)
        if self._stops is None or self._stops[0] != places:
            self._stops = (places, break_steps(self._trace, self._block, places))
        return self._stops[1]

    def next_break(self, forward: bool = True) -> int | None:
        """The nearest step after (or before) this one at which a breakpoint stops, or None."""
        return nearest_stop(self.break_steps, self.step, forward=forward)

    def next_stop(
        self, place: Breakpoint, *, forward: bool = True, around: bool = False
    ) -> int | None:
        """The nearest step at which one breakpoint would stop, set or not; `around` the end."""
        if self.trace is None or self.block_trace is None:
            return None
        stops = stops_of(self.trace, self.block_trace, place)
        return nearest_stop(stops, self.step, forward=forward, around=around)

    def run_to_break(self, forward: bool = True) -> bool:
        """Go to the next breakpoint; False where there is none, and nothing moves."""
        found = self.next_break(forward)
        self.update(playing=0, **({} if found is None else {"step": found}))
        return found is not None

    def play_on(self) -> None:
        """Move by one unit in the direction of play; stop at a breakpoint and at the end."""
        forward, block = self.playing > 0, self.block_trace
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

    # ---- a question

    def hides(self, part: str) -> bool:
        """Whether a part is veiled, or would give away one that is."""
        return bool(self.veiled) and veils_and_picks.hides(
            veils_and_picks.covered(self.veiled), part
        )

    def hides_phase(self, phase: int) -> bool:
        """Whether a column of the phase table is veiled: the step's own too where it tells."""
        told = phase == self.phase and self.hides("matrices.loaded")
        return told or self.hides(f"phases:{phase}")

    def selected_pick(self) -> Pick | None:
        """What is selected of the kind that the question asks for; None for nothing."""
        if self.pick_target is None:
            return None
        found = getattr(self, self.pick_target)
        return None if found is None else veils_and_picks.pick_of(found)

    def pick(self, target: Target, pick: Pick | Element) -> bool:
        """Answer with something that was clicked, where the question asks for such a thing.

        False where it does not: the click then does what it does without a question.
        """
        if self.pick_target != target:
            return False
        self.picked.emit(target, veils_and_picks.pick_of(pick))
        return True

    # ---- the selection

    @property
    def warp(self) -> int:
        """The selected thread's warp. Setting it keeps the lane where the warp has it."""
        return self.thread // WARP

    @warp.setter
    def warp(self, warp: int) -> None:
        last = self.block_trace.n_warps - 1 if self.block_trace is not None else 0
        self.thread = min(max(warp, 0), last) * WARP + self.lane

    @property
    def lane(self) -> int:
        """The selected thread's lane, 0..31."""
        return self.thread % WARP

    @lane.setter
    def lane(self, lane: int) -> None:
        self.thread = self.warp * WARP + min(max(lane, 0), WARP - 1)

    @property
    def current_line(self) -> int | None:
        """The source line of the current step, None where there is none."""
        if self.block_trace is None or not self.n_steps:
            return None
        line = int(self.block_trace.line[self.step])
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
        """The step of the block's first access to memory, where a new launch begins.

        A bulk copy is one, too: no lane of a kernel that loads by them may load anything itself.
        """
        block = self._block
        if block is None or not self.n_steps or block.access(0) is not None:
            return 0
        copies = [at for at, begun in block.operations if begun.kind != "product"]
        return self.clamp_step(min([block.seek(0, "access", forward=True), *copies[:1]]))

    @property
    def phase(self) -> int:
        """The current step's phase, -1 outside any."""
        if self.block_trace is None or not self.n_steps:
            return -1
        return int(self.block_trace.phase[self.step])

    @property
    def parameters(self) -> Mapping[str, int]:
        """The workload parameters of the trace that is shown."""
        return self.trace.workload.parameters if self.trace is not None else {}

    def anchored(self) -> tuple[Course, int] | None:
        """The moment that a new record of the same source will be shown at; None without one."""
        if self.block_trace is None:
            return None
        return self._anchor.held(self.block_trace, self.step)

    def update(self, **values: Any) -> None:
        """Set several properties as one change: ``update(block=1, thread=5, step=12)``.

        Raises AttributeError for a name that is not a property that can be set, ValueError for a
        wrong value; then nothing is changed.
        """
        unknown = set(values) - set(self.values)
        if unknown:
            raise AttributeError(f"a session has no {', '.join(sorted(unknown))} to set")
        before = dict(self.values)
        try:
            self._put(values)
        except ValueError:
            self.values, self._wanted = before, None
            self._open_block(self.values["block"])
            raise
        self._announce(before)
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            self.block_wanted.emit(wanted)

    def _put(self, values: dict[str, Any]) -> None:
        """Keep values that fit, without a signal; the block first: it says what steps there are."""
        block = values.pop("block", None)
        if block is not None and self.trace is not None:
            block = max(0, min(int(block), self.trace.workload.launch.grid.count - 1))
            if block in self.trace.recorded_blocks:
                self._open_block(block)
                self._wanted = None
            else:
                self._wanted = block
        known = self.settings()
        for name, value in values.items():
            fit = known[name].fit
            self.values[name] = fit(self, value) if fit is not None else value

    def _announce(self, before: Mapping[str, Any], extra: tuple[str, ...] = ()) -> None:
        """Emit what differs from `before`; `extra` are further names for `changed`."""
        names = {n for n, value in self.values.items() if value != before[n]} | set(extra)
        for name in self.values:  # a fixed order: the block before the step before the thread
            if name in names and hasattr(type(self), signal := f"{name}_changed"):
                getattr(self, signal).emit(self.values[name])
        if names:
            self.tell(frozenset(names))

    def tell(self, names: frozenset[str]) -> None:
        """Emit `changed`; in a frame of play, what is read takes turns."""
        with self.turns.change(names):
            self.changed.emit(names)

    def breakpoints_of_all(self) -> dict[str, frozenset[Breakpoint]]:
        """The breakpoints of every source by its key, the shown one's with them."""
        shown = {self._key: self.breakpoints} if self.trace is not None else {}
        return {key: places for key, places in (self.kept.of | shown).items() if places}

    # ---- inside

    def fit_element(self, element: Element | None) -> Element | None:
        """The element if the shown launch has it; any before there is a launch."""
        if element is None or self._trace is None or exists(self._trace, element):
            return element
        return None

    def fit_profile(self, profile: Profile | None) -> Profile | None:
        """The profile if it is of the shown launch."""
        return profile if self._is_of_launch(profile) else None

    def clamp_step(self, step: int) -> int:
        """The recorded step nearest to a number."""
        return max(0, min(int(step), self.n_steps - 1))

    def clamp_thread(self, thread: int) -> int:
        """The nearest thread of the block."""
        count = self._block.n_threads if self._block is not None else 1
        return max(0, min(int(thread), count - 1))

    def _is_of_launch(self, counted: Counted | Profile | None) -> bool:
        """Whether counts, or a profile's, are of the launch that was recorded."""
        if counted is None or self._trace is None:
            return False
        return bool(_LAUNCH(counted.workload) == _LAUNCH(self._trace.workload))

    def _open_block(self, block: int) -> None:
        """Open the recorded block nearest to one of the grid."""
        values, self._stops, self._block, nearest = self.values, None, None, 0
        if self._trace is not None:
            blocks = self._trace.recorded_blocks
            nearest = int(min(blocks, key=lambda known: (abs(known - block), known)))
            self._block = self._trace.block(nearest)
        values["block"] = nearest
        values["step"] = self.clamp_step(values["step"])
        values["thread"] = self.clamp_thread(values["thread"])

    def _change_source(self, left: str | None) -> None:
        """Nothing of the selection belongs to another kernel; its own breakpoints come back."""
        if left is not None:
            self.kept.leave(left, self.breakpoints)
        kept = self.kept.arrive(self._key)
        self.values.update(block=0, thread=0, line=None, element=None, breakpoints=kept)
        self.values.update(bank=None, sector=None)

    def _key_of(self, trace: Trace | None) -> str:
        """Names a new trace's source: the key of what was asked for, if that is known."""
        if trace is None:
            return ""
        return source_key(trace) if self.origin is None else self.origin.configuration.key

    def _carry_lines(self, left: str, old: Trace, trace: Trace) -> None:
        """Selected line and breakpoints move with the text when it was edited.

        A twin gets those at lines that both have, and the other keeps its own for when it comes
        back.
        """
        another = left != self._key
        if not another and old.workload.source == trace.workload.source:
            return
        places = line_map(old.workload.source, trace.workload.source, heirs=not another)
        if another:
            self.kept.leave(left, self.breakpoints)
        self.values["line"] = places.get(self.values["line"])
        self.values["breakpoints"] = carried_over(self.breakpoints, places)
        if another:
            self.kept.lend(left, places)
            self.values["breakpoints"] |= self.kept.arrive(self._key)
        else:
            self.kept.edit(places)


def source_key(trace: Trace) -> str:
    """Names a trace's source, whatever its parameters and edits."""
    return trace.workload.rung or trace.workload.source_name
