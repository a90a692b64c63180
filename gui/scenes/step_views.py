"""The views of the Step page, one row each. To add one, write its widget and put its row here.

Its dock with its tab, its place in every layout, its name in links and sessions, its shortcut and
its picture follow from the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gui.scenes.findings_list import finding_rows, findings_of

if TYPE_CHECKING:
    from core.trace import Trace
    from gui.scenes.session import Session


Group = Literal["matrices", "memory", "code", "figures", "lists"]
"""Views of one group stand behind each other where there is no room for more of them."""


@dataclass(frozen=True)
class StepView:
    """One view: `name` is what links and sessions call it, `title` stands over it.

    `widget` is its class, as "module:Class"; it is made with the session alone. `has_something`
    says whether it has anything to show for a trace, without which its dock is put away.
    """

    name: str
    title: str
    group: Group
    widget: str
    key: str = ""
    """A key that brings it to the front, besides Alt with the number of its place."""
    tab: str = ""
    """What its tab says; the title where empty."""
    has_something: Callable[[Trace | None], bool] = lambda trace: True
    count: Callable[[Session], int] | None = None
    """How many entries it lists, which its tab tells."""
    mark: str = ""
    """What stands before a tab that tells of entries."""


VIEWS = (
    StepView("Matrices", "Matrices", "matrices", "gui.views.matrix_canvas:MatrixCanvas"),
    StepView(
        "Warp",
        "Warp and global memory",
        "memory",
        "gui.views.warp_view:WarpView",
        tab="Global memory",
    ),
    StepView(
        "Shared",
        "Shared memory",
        "memory",
        "gui.views.shared_view:SharedView",
        has_something=lambda trace: trace is None or bool(trace.shared_arrays),
    ),
    StepView("Source", "Source", "code", "gui.views.source_view:SourceView", key="F5"),
    StepView("PTX", "PTX", "code", "gui.views.ptx_view:PtxView", key="F6"),
    StepView(
        "Phases",
        "Phase table",
        "code",
        "gui.views.phase_table_view:PhaseView",
        key="F7",
        tab="Phases",
    ),
    StepView("Variables", "Variables", "figures", "gui.views.variables_view:VariablesView"),
    StepView("Counters", "Counters", "figures", "gui.views.counters_view:CountersView"),
    StepView(
        "Breakpoints",
        "Breakpoints",
        "lists",
        "gui.views.findings_and_breakpoints:BreakpointsView",
        count=lambda session: len(session.breakpoints),
    ),
    StepView(
        "Findings",
        "Findings",
        "lists",
        "gui.views.findings_and_breakpoints:FindingsView",
        has_something=lambda trace: bool(finding_rows(trace)),
        count=lambda session: len(findings_of(session)),
        mark="▲ ",
    ),
    StepView(
        "Pipeline",
        "Pipeline of shared memory",
        "code",
        "gui.views.pipeline_view:PipelineView",
        key="Shift+F7",
        tab="Pipeline",
        has_something=lambda trace: trace is None or bool(trace.shared_arrays),
    ),
)
"""The first one is in front where none is named."""

VIEW_NAMES = tuple(view.name for view in VIEWS)


def names_in(*groups: Group) -> tuple[str, ...]:
    """The names of the views of these groups, group by group."""
    return tuple(view.name for group in groups for view in VIEWS if view.group == group)
