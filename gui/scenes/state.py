"""Everything of a session that can be set and is announced. No Qt here."""

from __future__ import annotations

from collections.abc import Callable

from psygnal import Signal

from core.ladder.buffers import INPUTS, Inputs
from gui.scenes.selection import (
    COMPARED_VIEWS,
    MAX_SPEED,
    MIN_SPEED,
    TEXT_SIZES,
    UNITS,
    Breakpoint,
    Configuration,
    Element,
    Hover,
    Unit,
)
from gui.scenes.settings import Setting, Settings, one_of


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
    """The window's page, by its key in `gui.pages`."""
    view: Setting[str] = Setting("", _offered("view"))
    """The view brought to the front last, by its name in `gui.step_page`; empty for none."""
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
