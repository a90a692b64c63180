"""Values of the session: what can be selected, pointed at, asked for and stopped at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from core.ladder.input_arrays import Inputs
from core.ladder.rung import DEFAULT_SEED
from core.links import Element
from core.own_files.launch_texts import UNTITLED

if TYPE_CHECKING:
    from core.emulator.scheduling import WarpOrder
    from core.launch import Workload
    from core.nsight import Comparison
    from core.own_files.launch_texts import FileLaunch
    from core.trace import Trace

Unit = Literal["access", "line", "barrier", "phase"]
UNITS: tuple[Unit, ...] = ("access", "line", "barrier", "phase")
PAGE_KEYS = ("step", "compare", "benchmark", "ceilings", "occupancy", "course")
"""The window's pages, by what links and sessions call them; `gui.shell.pages` makes them."""
COMPARED_VIEWS = ("Matrices", "Memory", "Global", "Shared", "Source", "Counters")
"""Views of a comparison; "Memory" is whichever of the next two the step accesses."""
MIN_SPEED, MAX_SPEED = 0.5, 60.0
TEXT_SIZES = (80, 90, 100, 115, 130, 150, 175, 200)
"""Sizes of text there are, in per cent of the theme's."""


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
    pasted: str = ""
    """A sum over a text that is in no file, as it was pasted: it tells such texts apart."""

    @property
    def key(self) -> str:
        """Names the source, whatever its parameters and edits."""
        if self.own is None:
            return self.rung
        return f"{self.own.path}#{self.pasted}" if self.pasted else self.own.path

    @property
    def untitled(self) -> bool:
        """Whether its text is in no file, so that `source` is all there is of it."""
        return self.own is not None and self.own.path == UNTITLED


ORDER_TITLES: Mapping[WarpOrder, tuple[str, str]] = MappingProxyType(
    {
        "lockstep": ("Together", "All warps advance together; a race hardly shows in the result"),
        "round_robin": ("In turns", "Each warp makes one access, then the next warp does"),
        "warp_by_warp": ("One after another", "A warp goes on until it waits or ends"),
        "random": ("At random", "Warps take turns at random; the seed says which"),
    }
)
"""Orders in which the warps of a block may advance, and what they mean."""


@dataclass(frozen=True)
class Conditions:
    """What else a record depends on: settings of the session by these names."""

    inputs: Inputs = "random"
    order: WarpOrder = "lockstep"
    seed: int = DEFAULT_SEED


@dataclass(frozen=True)
class Origin:
    """Where the shown trace comes from: what was asked for, and the source before any edit."""

    configuration: Configuration
    original: str
    twin: str = ""
    """The rung that does the same with the other mapping; coming from it the place is kept."""


@dataclass(frozen=True, eq=False)
class Profile:
    """The shown launch, `workload`, compared with a profile by Nsight Compute, named `file`."""

    comparison: Comparison
    workload: Workload
    file: str


@dataclass(frozen=True)
class Breakpoint:
    """Where to stop: at a line of the compiled source, or where an array's element is touched."""

    line: int | None = None
    element: Element | None = None

    def __post_init__(self) -> None:
        if (self.line is None) == (self.element is None):
            raise ValueError("a breakpoint is at a line or at an element")


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
