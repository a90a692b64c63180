"""The shared selection and clock that every view obeys and may set. No Qt here.

Setting a property clamps the value to what the trace holds, and emits only when it changes. One
action may change several properties (a new block changes the step's range): all of them are set
before the first signal goes out, so a listener never sees half a change. The single signals
(``step_changed`` and the like) carry the new value; ``changed`` follows once, with the names of
everything that changed, for views that would otherwise draw twice.

A lesson or a script needs nothing but this: what is recorded (`configuration`), where it is looked
at, what is compared with what, which page and view are in front, and in which theme.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gui.scenes.breakpoints import Kept, carried_over, exists
from gui.scenes.clock import Clock
from gui.scenes.correspondence import Anchor
from gui.scenes.editing import line_map
from gui.scenes.selection import WARP_SIZE, Breakpoint, Configuration, Element, Origin
from gui.scenes.turns import Turns

if TYPE_CHECKING:
    from core.counting import Counted
    from core.trace import BlockTrace, Trace
    from gui.scenes.correspondence import Course


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
            b.source, b.kernel, b.defines, b.parameters, b.launch.grid, b.launch.block
        )  # fmt: skip

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

        A twin gets those of the other by their lines, which keeps its own for when it comes back.
        """
        another = left != self._key
        if not another and old.workload.source == trace.workload.source:
            return
        places = line_map(old.workload.source, trace.workload.source)
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
