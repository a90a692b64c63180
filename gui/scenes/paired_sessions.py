"""Two sessions on one clock, with one selection: what is shown on one side follows the other.

`a` is the session that the window's clock drives. `b` shows the same moment of another
launch (`gui.scenes.matching_steps`), the same warp and lane, and the block at the same place of its
grid. Whatever is set on one side, by the clock or by a click into a view, moves both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.links import Element
from core.wording import assignments
from gui.scenes.edited_source import Versions
from gui.scenes.matching_steps import Lockstep, course_of, same_place
from gui.scenes.names_of_elements_and_threads import part_name
from gui.scenes.numbers_and_sentences import plural
from gui.scenes.selection import Hover, exists
from gui.scenes.session import Session
from gui.scenes.transport_bar import step_label

if TYPE_CHECKING:
    from core.trace import Trace


MOMENT = frozenset({"trace", "block", "step"})
SHARED = frozenset({"heat", "close_up", "warp_trail", "counts_by"})
"""Ways to look that both sides share."""
EVERYTHING = MOMENT | SHARED | {"thread", "line", "element"}


class Comparison:
    """Keeps `b` at the moment and selection of `a`, and `a` at those of `b`, while `active`."""

    def __init__(self, a: Session, b: Session) -> None:
        self.a, self.b = a, b
        self._active = False
        self._following = False
        self._locks: dict[str, Lockstep] = {}  # by the side that leads
        a.changed.connect(self._a_changed)
        b.changed.connect(self._b_changed)

    @property
    def active(self) -> bool:
        """Whether the sides follow each other; turning it on brings `b` to where `a` is."""
        return self._active

    @active.setter
    def active(self, active: bool) -> None:
        self._active = active
        if active:
            self._lead("a", EVERYTHING)

    def close(self) -> None:
        """Let go of both sessions."""
        self._active = False
        self.a.changed.disconnect(self._a_changed)
        self.b.changed.disconnect(self._b_changed)

    def _a_changed(self, names: frozenset[str]) -> None:
        self._lead("a", names)

    def _b_changed(self, names: frozenset[str]) -> None:
        if "trace" in names:  # another launch on this side: it joins where the clock stands
            self._lead("a", EVERYTHING)
        else:
            self._lead("b", names)

    def _lead(self, side: str, names: Iterable[str]) -> None:
        """Have the other side follow what changed on this one."""
        if "trace" in names or "block" in names:
            self._locks.clear()
        if not self._active or self._following:
            return
        leader, follower = (self.a, self.b) if side == "a" else (self.b, self.a)
        if leader.block_trace is None or follower.block_trace is None:
            return
        self._following = True
        try:
            self._follow(side, leader, follower, frozenset(names))
        finally:
            self._following = False

    def _follow(self, side: str, leader: Session, follower: Session, names: frozenset[str]) -> None:
        wanted: dict[str, Any] = {}
        if names & {"trace", "block"}:
            block = _counterpart_block(leader, follower)
            if block != follower.block:
                follower.update(block=block)
                self._locks.clear()
        if names & MOMENT:
            wanted["step"] = self._lock(side, leader, follower).counterpart(leader.step)
        if names & {"thread", "trace", "block"}:
            wanted["thread"] = leader.thread
        if "element" in names and _has(follower.trace, leader.element):
            wanted["element"] = leader.element
        if "line" in names and _same_source(leader.trace, follower.trace):
            wanted["line"] = leader.line
        if "hover" in names:
            wanted["hover"] = _counterpart_hover(leader, follower)
        wanted |= {name: getattr(leader, name) for name in SHARED & names}
        if wanted:
            follower.update(**wanted)

    def _lock(self, side: str, leader: Session, follower: Session) -> Lockstep:
        if side not in self._locks:
            assert leader.block_trace is not None
            assert follower.block_trace is not None
            here, there = course_of(leader.block_trace), course_of(follower.block_trace)
            self._locks[side] = Lockstep(here, there)
        return self._locks[side]


def _counterpart_block(leader: Session, follower: Session) -> int:
    """The block of the follower's launch at the same relative place of its grid."""
    assert leader.trace is not None
    assert follower.trace is not None
    here, there = leader.trace.workload.launch.grid, follower.trace.workload.launch.grid
    return same_place(leader.block, (here.x, here.y, here.z), (there.x, there.y, there.z))


def _same_source(one: Trace | None, other: Trace | None) -> bool:
    """Whether two traces are of one text, so that a line of the one is that line of the other."""
    return one is not None and other is not None and one.workload.source == other.workload.source


def _has(trace: Trace | None, element: Element | None) -> bool:
    """Whether an element can be selected in a trace; None, which selects nothing, always can."""
    return element is None or (trace is not None and exists(trace, element))


def _counterpart_hover(leader: Session, follower: Session) -> Hover | None:
    """What the pointer rests on, as far as it is there on the other side too."""
    hover, trace = leader.hover, follower.block_trace
    if hover is None or trace is None:
        return None
    thread = hover.thread
    return Hover(
        thread=thread if thread is not None and thread < trace.n_threads else None,
        element=hover.element if _has(follower.trace, hover.element) else None,
        line=hover.line if _same_source(leader.trace, follower.trace) else None,
        bank=hover.bank,
    )


def moment_text(session: Session) -> str:
    """Where one side stands: "phase 1 (of 0..3), step 22 / 186"."""
    trace = session.block_trace
    if trace is None or not session.n_steps or session.hides("transport"):
        return ""
    step = f"step {step_label(session)}"
    part = part_name(trace, session.step)
    return f"{part}, {step}" if part else step


def launch_text(session: Session) -> str:
    """What one side is a launch of: "n = 32, tile = 8; 16 blocks of 64 threads"."""
    trace = session.trace
    if trace is None or session.hides("form"):
        return ""
    launch = trace.workload.launch
    size = f"{plural(launch.grid.count, 'block')} of {plural(launch.block.count, 'thread')}"
    values = assignments(trace.workload.parameters)
    return f"{values}; {size}" if values else size


def space_of(session: Session) -> str:
    """The memory that the current step accesses, "global" or "shared"; empty for none."""
    trace = session.block_trace
    access = trace.access(session.step) if trace is not None and trace.n_steps else None
    return access.space if access is not None and access.space in ("global", "shared") else ""


def views_shown(chosen: str, room: int) -> tuple[str, ...]:
    """The views of one side: the chosen one, and others up to `room`, in a fixed order."""
    order = ("Matrices", "Memory", "Source", "Counters")
    first = "Memory" if chosen in ("Global", "Shared") else chosen
    wanted = tuple(dict.fromkeys((first, "Memory", "Matrices", "Source", "Counters")))
    return tuple(name for name in order if name in wanted[: max(room, 1)])


@dataclass(frozen=True)
class Naming:
    """What the two sides are called, and which of them stands left."""

    a: str = "A"
    b: str = "B"
    left: Literal["a", "b"] = "a"

    @property
    def versions(self) -> bool:
        """Whether the sides are an older and a newer version of one source."""
        return self.a != "A"

    @property
    def first(self) -> str:
        """The name of the side that stands left."""
        return self.a if self.left == "a" else self.b

    @property
    def second(self) -> str:
        """The name of the side that stands right."""
        return self.b if self.left == "a" else self.a


def older(versions: Versions, a: Session, b: Session) -> Literal["a", "b"] | None:
    """The side that shows the older version; None where they show no two of one kernel's text.

    The text before any edit is older than any other.
    """
    one, two = a.origin, b.origin
    if one is None or two is None or a.trace is None or b.trace is None:
        return None
    key, here, there = one.configuration.key, a.trace.workload, b.trace.workload
    if key != two.configuration.key or here.kernel != there.kernel or here.source == there.source:
        return None
    if (there.source == one.original) != (here.source == two.original):
        return "b" if there.source == one.original else "a"
    later = versions.rank(key, there.source) < versions.rank(key, here.source)
    return "b" if later else "a"


def naming(versions: Versions, a: Session, b: Session) -> Naming:
    """Before and after, the older version left, where two versions are compared; else A and B."""
    named = {"a": Naming("Before", "After"), "b": Naming("After", "Before", "b"), None: Naming()}
    return named[older(versions, a, b)]
