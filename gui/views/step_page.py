"""The page to step through a launch: every view in a dock, laid out by size or by the user."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QDockWidget, QWidget

from gui.docks.dock_area import DockArea, Layout, ViewDock, layout_for, units
from gui.scenes.findings import finding_rows
from gui.scenes.session import Session
from gui.views.counters_view import CountersView
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.page_parts import PageWidget
from gui.views.phase_view import PhaseView
from gui.views.places_views import BreakpointsView, FindingsView
from gui.views.ptx_view import PtxView
from gui.views.shared_view import SharedView
from gui.views.source_view import SourceView
from gui.views.variables_view import VariablesView
from gui.views.warp_view import WarpView
from gui.views.widgets import FollowButton


class StepPage(PageWidget, DockArea):
    """The views in their docks.

    Until the user moves one of them the layout follows the page's size; after that it is theirs,
    until `reset_layout`. `session.view` names the view to bring to the front.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._before, self._before_trace = "", session.trace  # when a view was made large
        self._make_views()
        self.take(self._make_docks())
        session.offered["view"] = ("", *self.docks)
        for dock in self.docks.values():
            dock.visibilityChanged.connect(lambda on, dock=dock: self._on_visible(dock, on))
        session.view_changed.connect(self._bring)
        session.changed.connect(self._on_changed)
        session.breakpoints_changed.connect(lambda _: self._count_tabs())
        session.step_changed.connect(self._on_step)
        self.arrange(layout_for(self.size(), *units()))

    def _make_views(self) -> None:
        session = self.session
        self.matrices = MatrixCanvas(session)
        self.warp = WarpView(session)
        self.shared = SharedView(session)
        self.source = SourceView(session)
        self.ptx = PtxView(session)
        self.phases = PhaseView(session)
        self.variables = VariablesView(session)
        self.counters = CountersView(session)
        self.breakpoints = BreakpointsView(session)
        self.findings = FindingsView(session)

    def _make_docks(self) -> Iterator[ViewDock]:
        def dock(name: str, title: str, view: QWidget, tab: str = "") -> ViewDock:
            controls = tuple(getattr(view, "controls", ()))
            caption = getattr(view, "caption", None)
            return ViewDock(name, title, view, tab=tab, caption=caption, controls=controls)

        self._follow = [FollowButton(self.session) for _ in range(2)]
        for button, view in zip(self._follow, (self.warp, self.shared), strict=True):
            view.controls = (button, *view.controls)  # type: ignore[attr-defined]
        yield dock("Matrices", "Matrices", self.matrices)
        yield dock("Warp", "Warp and global memory", self.warp, "Global memory")
        yield dock("Shared", "Shared memory", self.shared)
        yield dock("Source", "Source", self.source)
        yield dock("PTX", "PTX", self.ptx)
        yield dock("Phases", "Phase table", self.phases)
        yield dock("Variables", "Variables", self.variables)
        yield dock("Counters", "Counters", self.counters)
        yield dock("Breakpoints", "Breakpoints", self.breakpoints)
        yield dock("Findings", "Findings", self.findings)

    def main_view(self) -> QWidget:
        """What has the keyboard when the page is opened: the picture, or what is in its place."""
        return self.matrices if self.matrices.isVisibleTo(self) else self

    def shut_down(self) -> None:
        """Stop what runs in the background, and put away what floats."""
        self.phases.shut_down()
        for dock in self.docks.values():
            if dock.isFloating():
                dock.hide()

    # ---- which views are there, and in front

    def shown_first(self) -> str:
        """The view that the session names."""
        return self.session.view

    def name_tabs(self) -> None:
        """Offer to follow the step where the two kinds of memory share a place."""
        super().name_tabs()
        together = self.docks["Shared"] in self.tabifiedDockWidgets(self.docks["Warp"])
        offered = together and not self.docks["Shared"].isHidden()
        if self.large.name:
            offered = self.large.share_a_place("Warp", "Shared")
        for button in self._follow:
            button.setVisible(offered)

    def restyle(self) -> None:
        """Lay the docks out for a theme's type."""
        DockArea.restyle(self)

    def arrange(self, layout: Layout) -> None:
        """Lay the views out; the memory that the step accesses stays in front of the other."""
        super().arrange(layout)
        QTimer.singleShot(0, self, lambda: self._on_step(self.session.step))

    def front(self, name: str) -> None:
        """Bring a view to the front, even one that was closed."""
        self.session.view = name
        self._bring(name)

    def _bring(self, name: str) -> None:
        dock = self.docks.get(name)
        if dock is None:
            return
        if self.large.name:
            self.large.show(name)
            return
        with self.arranging():
            self._closed.discard(name)
            dock.show()
            dock.raise_()

    def show_large(self) -> None:
        """Show the session's view alone."""
        self._before, self._before_trace = self.session.view, self.session.trace
        self.large.show(self.session.view or next(iter(self.docks)))

    def show_all(self) -> None:
        """Show all views as they were; in front the session's, if that is another one by now."""
        same = self.large.put_back()
        shown = self._shown()
        if self._before_trace is not self.session.trace:
            self.show_what_there_is()
        if not (same and shown == self._shown()):
            self.follow_size()
        if self.session.view != self._before:
            self._bring(self.session.view)

    def _shown(self) -> list[bool]:
        return [not dock.isHidden() for dock in self.docks.values()]

    def put_back(self) -> None:
        """Show all views again, where one was large, and say so to the session."""
        self.session.large = False
        super().put_back()

    def has_something(self, name: str) -> bool:
        """Findings where there are any, shared memory where the kernel has it."""
        trace = self.session.trace
        if name == "Findings":
            return bool(finding_rows(trace))
        return name != "Shared" or trace is None or bool(trace.shared_arrays)

    def show_what_there_is(self) -> None:
        """Views that have nothing to show for this kernel are put away."""
        if self.large.name:
            return
        shown = {
            name: self.has_something(name) and name not in self._closed
            for name in ("Shared", "Findings")
        }
        if all(wanted != self.docks[name].isHidden() for name, wanted in shown.items()):
            return
        with self.arranging():
            for name, wanted in shown.items():
                dock = self.docks[name]
                if wanted == dock.isHidden():
                    beside = self.tabifiedDockWidgets(dock)
                    before: list[QDockWidget] = [d for d in beside if self.in_front(d.objectName())]
                    if not wanted and not before:
                        before = [d for d in beside if d.objectName() == self.first_of(beside)]
                    dock.setVisible(wanted)
                    if before:
                        before[0].raise_()

    def _count_tabs(self) -> None:
        """Say on the tabs of lists how much is in them."""
        found, stops = len(finding_rows(self.session.trace)), len(self.session.breakpoints)
        self.docks["Findings"].setWindowTitle(f"▲ Findings {found}" if found else "Findings")
        self.docks["Breakpoints"].setWindowTitle(f"Breakpoints {stops}" if stops else "Breakpoints")

    def _on_changed(self, names: frozenset[str]) -> None:
        if "trace" in names:  # to show and hide docks has Qt lay out the page
            self.session.turns.offer(self, self._on_trace)

    def _on_trace(self) -> None:
        self._count_tabs()
        shown = self._shown()
        self.show_what_there_is()
        if shown != self._shown() and not self.arranged and self._layout is not None:
            self.share_out(self._layout)

    def _on_step(self, step: int) -> None:
        """Bring the memory that is accessed to the front, where the two share a place."""
        if not self.session.follow_memory:
            return
        block = self.session.block_trace
        access = block.access(step) if block is not None and block.n_steps else None
        if access is None:
            return
        name = "Shared" if access.space == "shared" else "Warp"
        other = self.docks["Warp" if name == "Shared" else "Shared"]
        dock = self.docks[name]
        if self.large.name == other.name and self.large.share_a_place("Warp", "Shared"):
            self.large.show(name)
        elif (
            not dock.isHidden()
            and other in self.tabifiedDockWidgets(dock)
            and not self._third_in_front(dock, other)
        ):
            with self.arranging():
                dock.raise_()

    def _third_in_front(self, *memories: QDockWidget) -> bool:
        """Whether what is looked at, in the place of both memories, is neither of them."""
        others = (d for d in self.tabifiedDockWidgets(memories[0]) if d not in memories)
        # Qt moves covered docks out of sight at once, and tells of it later.
        return any(not d.isHidden() and self.rect().intersects(d.geometry()) for d in others)

    def _on_visible(self, dock: ViewDock, on: bool) -> None:
        if on and not self._busy and not self.large.name and self.tabifiedDockWidgets(dock):
            self.session.view = dock.name
