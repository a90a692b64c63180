"""The shared selection and clock that every view obeys and may set. No Qt here.

Setting a property clamps the value to what the trace holds, and emits only when it changes. One
action may change several properties (a new block changes the step's range): all of them are set
before the first signal goes out, so a listener never sees half a change. The single signals
(``step_changed`` and the like) carry the new value; ``changed`` follows once, with the names of
everything that changed, for views that would otherwise draw twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from psygnal import Signal

if TYPE_CHECKING:
    from core.counting import Counted
    from core.file_launch import FileLaunch
    from core.trace import BlockTrace, Trace

WARP_SIZE = 32

Unit = Literal["access", "line", "barrier", "phase"]
UNITS: tuple[Unit, ...] = ("access", "line", "barrier", "phase")
MIN_SPEED, MAX_SPEED = 0.5, 60.0

Element = tuple[str, tuple[int, ...]]
"""An array's name and an index into it: ``("A", (0, 2))``."""


@dataclass(frozen=True)
class Hover:
    """What the pointer rests on, in any view; a field that does not apply is None."""

    thread: int | None = None
    element: Element | None = None
    line: int | None = None
    sector: int | None = None
    """First byte address of a 32-byte sector of global memory."""
    bank: int | None = None
    """Shared memory bank, 0..31."""


@dataclass(frozen=True)
class Configuration:
    """What to record: a rung of the ladder with its parameters, or a launch of a user's kernel."""

    rung: str
    parameters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    source: str | None = None
    """The text to compile where it was edited; None for the rung's or the file's own."""
    own: FileLaunch | None = None
    """A launch of a kernel in a user's file; `rung` is empty then."""

    @property
    def key(self) -> str:
        """Names the source, whatever its parameters and edits."""
        return self.own.path if self.own is not None else self.rung


@dataclass(frozen=True)
class Origin:
    """Where the shown trace comes from: what was asked for, and the source before any edit."""

    configuration: Configuration
    original: str


def _clamp_speed(speed: float) -> float:
    return min(max(float(speed), MIN_SPEED), MAX_SPEED)


def _direction(value: int) -> int:
    return (value > 0) - (value < 0)


class Session:
    """One selection, one clock, one configuration."""

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
    changed = Signal(frozenset)

    def __init__(self) -> None:
        self._trace: Trace | None = None
        self._block_trace: BlockTrace | None = None
        self.origin: Origin | None = None
        """Set before the trace by whoever records; None for a trace from elsewhere."""
        self._counted: Counted | None = None
        self._values: dict[str, Any] = {
            "block": 0,
            "step": 0,
            "thread": 0,
            "line": None,
            "element": None,
            "hover": None,
            "configuration": None,
            "unit": "access",
            "speed": 4.0,
            "playing": 0,
        }

    # ---- the trace

    @property
    def trace(self) -> Trace | None:
        """The record that is shown. None before the first one arrives."""
        return self._trace

    @trace.setter
    def trace(self, trace: Trace | None) -> None:
        if trace is self._trace:
            return
        same_rung = (
            self._trace is not None
            and trace is not None
            and trace.workload.rung == self._trace.workload.rung
            and trace.workload.source_name == self._trace.workload.source_name
        )
        before = dict(self._values)
        self._trace = trace
        if not self._is_of_the_trace(self._counted):
            self._counted = None
        self._values["hover"] = None
        if not same_rung:
            self._values.update(block=0, thread=0, line=None, element=None)
        self._open_block(self._values["block"])
        if trace is not None and not self._element_exists(self._values["element"]):
            self._values["element"] = None
        if not same_rung:
            self._values["step"] = self._first_access()
        self.trace_changed.emit(trace)
        self._emit_changes(before, extra=("trace", "block", "counts"))

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
            self._counted = counted
            self.changed.emit(frozenset({"counts"}))

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
    def block(self) -> int:
        """Linear index of the selected block; always one that was recorded.

        Asking for another block of the grid emits `block_wanted`, for whoever records, and changes
        nothing until a trace that holds it arrives.
        """
        return int(self._values["block"])

    @block.setter
    def block(self, block: int) -> None:
        self.update(block=block)

    @property
    def step(self) -> int:
        """The event shown, 0..n_steps-1; the state shown is the one after it."""
        return int(self._values["step"])

    @step.setter
    def step(self, step: int) -> None:
        self._set("step", self._clamp_step(step))

    @property
    def n_steps(self) -> int:
        """Number of steps of the selected block's record, 0 without one."""
        return self._block_trace.n_steps if self._block_trace is not None else 0

    @property
    def thread(self) -> int:
        """Linear index of the selected thread in its block."""
        return int(self._values["thread"])

    @thread.setter
    def thread(self, thread: int) -> None:
        self._set("thread", self._clamp_thread(thread))

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
    def line(self) -> int | None:
        """The source line that the user selected (not the one being executed)."""
        return self._values["line"]

    @line.setter
    def line(self, line: int | None) -> None:
        self._set("line", line)

    @property
    def current_line(self) -> int | None:
        """The source line of the current step, None where there is none."""
        if self._block_trace is None or not self.n_steps:
            return None
        line = int(self._block_trace.line[self.step])
        return line if line > 0 else None

    @property
    def phase(self) -> int:
        """The current step's phase, -1 outside any."""
        if self._block_trace is None or not self.n_steps:
            return -1
        return int(self._block_trace.phase[self.step])

    @property
    def element(self) -> Element | None:
        """The selected array element."""
        return self._values["element"]

    @element.setter
    def element(self, element: Element | None) -> None:
        self._set("element", element)

    @property
    def hover(self) -> Hover | None:
        """What the pointer rests on."""
        return self._values["hover"]

    @hover.setter
    def hover(self, hover: Hover | None) -> None:
        self._set("hover", hover)

    # ---- what to record

    @property
    def configuration(self) -> Configuration | None:
        """The rung and parameters asked for; the trace follows when it has been recorded."""
        return self._values["configuration"]

    @configuration.setter
    def configuration(self, configuration: Configuration | None) -> None:
        self._set("configuration", configuration)

    @property
    def parameters(self) -> Mapping[str, int]:
        """The workload parameters of the trace that is shown."""
        return self._trace.workload.parameters if self._trace is not None else {}

    # ---- the clock

    @property
    def unit(self) -> Unit:
        """What one step of the transport moves by."""
        return self._values["unit"]

    @unit.setter
    def unit(self, unit: Unit) -> None:
        if unit not in UNITS:
            raise ValueError(f"a step's unit is one of {', '.join(UNITS)}, not {unit!r}")
        self._set("unit", unit)

    @property
    def speed(self) -> float:
        """Units a second while playing."""
        return float(self._values["speed"])

    @speed.setter
    def speed(self, speed: float) -> None:
        self._set("speed", _clamp_speed(speed))

    @property
    def playing(self) -> int:
        """+1 while playing forwards, -1 backwards, 0 paused; the transport moves the clock."""
        return int(self._values["playing"])

    @playing.setter
    def playing(self, direction: int) -> None:
        self._set("playing", _direction(direction))

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

    def update(self, **values: Any) -> None:
        """Set several properties as one change: ``update(block=1, thread=5, step=12)``.

        Raises AttributeError for a name that is not a property that can be set.
        """
        unknown = set(values) - set(self._values)
        if unknown:
            raise AttributeError(f"a session has no {', '.join(sorted(unknown))} to set")
        before = dict(self._values)
        wanted = self._choose_block(values.pop("block")) if "block" in values else None
        clamps: dict[str, Callable[[Any], Any]] = {
            "step": self._clamp_step,
            "thread": self._clamp_thread,
            "speed": _clamp_speed,
            "playing": _direction,
        }
        for name, value in values.items():
            self._values[name] = clamps[name](value) if name in clamps else value
        self._emit_changes(before)
        if wanted is not None:
            self.block_wanted.emit(wanted)

    # ---- inside

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

    def _set(self, name: str, value: Any) -> None:
        before = dict(self._values)
        self._values[name] = value
        self._emit_changes(before)

    def _emit_changes(self, before: Mapping[str, Any], extra: tuple[str, ...] = ()) -> None:
        names = {n for n, value in self._values.items() if value != before[n]} | set(extra)
        for name in self._values:  # a fixed order: the block before the step before the thread
            if name in names:
                getattr(self, f"{name}_changed").emit(self._values[name])
        if names:
            self.changed.emit(frozenset(names))

    def _open_block(self, block: int) -> None:
        if self._trace is None:
            self._block_trace = None
            self._values.update(block=0, step=0, thread=0)
            return
        recorded = self._trace.recorded_blocks
        block = min(recorded, key=lambda known: (abs(known - block), known))
        self._block_trace = self._trace.block(block)
        self._values["block"] = int(block)
        self._values["step"] = self._clamp_step(self._values["step"])
        self._values["thread"] = self._clamp_thread(self._values["thread"])

    def _first_access(self) -> int:
        trace = self._block_trace
        if trace is None or not trace.n_steps or trace.access(0) is not None:
            return 0
        return self._clamp_step(trace.seek(0, "access", forward=True))

    def _clamp_step(self, step: int) -> int:
        return max(0, min(int(step), self.n_steps - 1))

    def _clamp_thread(self, thread: int) -> int:
        count = self._block_trace.n_threads if self._block_trace is not None else 1
        return max(0, min(int(thread), count - 1))

    def _element_exists(self, element: Element | None) -> bool:
        if element is None or self._trace is None:
            return False
        name, index = element
        shapes = {a.name: a.shape for a in self._trace.arrays}
        shapes.update({a.name: a.shape for a in self._trace.shared_arrays})
        shape = shapes.get(name, ())
        return len(shape) == len(index) > 0 and all(
            0 <= i < extent for i, extent in zip(index, shape, strict=True)
        )
