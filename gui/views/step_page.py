"""The page to step through a launch: every view in a dock, laid out by size or by the user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QDockWidget, QToolButton, QWidget

from gui.scenes.session import Session
from gui.scenes.step_views import VIEWS
from gui.views.buttons_and_choices import action_button
from gui.views.counters_view import CountersView
from gui.views.dock_area import DockArea, Layout, ViewDock, layout_for, units
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.page_stack import PageWidget
from gui.views.phase_table_view import PhaseView
from gui.views.ptx_view import PtxView
from gui.views.session_view import SessionView, view_of
from gui.views.shared_view import SharedView
from gui.views.source_view import SourceView
from gui.views.warp_view import WarpView

View = TypeVar("View", bound=SessionView)


class StepPage(PageWidget, DockArea):
    """The views in their docks.

    Until the user moves one of them the layout follows the page's size; after that it is theirs,
    until `reset_layout`. `session.view` names the view to bring to the front.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._before, self._before_trace = "", session.trace  # when a view was made large
        self._in_sight = False
        self._rows = {row.name: row for row in VIEWS}
        self.views = {name: view_of(row, session) for name, row in self._rows.items()}
        self.matrices, self.warp = self.view(MatrixCanvas), self.view(WarpView)
        self.shared, self.source = self.view(SharedView), self.view(SourceView)
        self.ptx, self.phases = self.view(PtxView), self.view(PhaseView)
        self.counters = self.view(CountersView)
        self.take(self._make_docks())
        session.offered["view"] = ("", *self.docks)
        for dock in self.docks.values():
            dock.visibilityChanged.connect(lambda on, dock=dock: self._on_visible(dock, on))
        session.view_changed.connect(self._bring)
        session.changed.connect(self._on_changed)
        session.breakpoints_changed.connect(lambda _: self._count_tabs())
        session.step_changed.connect(self._on_step)
        self.arrange(layout_for(self.size(), *units()))

    def _make_docks(self) -> Iterator[ViewDock]:
        self._follow = []
        for name, view in self.views.items():
            row, controls = self._rows[name], tuple(getattr(view, "controls", ()))
            if row.group == "memory":
                self._follow.append(_follow_button(self.session))
                controls = (self._follow[-1], *controls)
            caption = getattr(view, "caption", None)
            yield ViewDock(name, row.title, view, tab=row.tab, caption=caption, controls=controls)

    def view(self, kind: type[View]) -> View:
        return next(view for view in self.views.values() if isinstance(view, kind))

    def main_view(self) -> QWidget:
        """What has the keyboard when the page is opened: the picture, or what is in its place."""
        return self.matrices if self.matrices.isVisibleTo(self) else self

    def shut_down(self) -> None:
        for view in self.views.values():
            view.shut_down()
        for dock in self.docks.values():
            if dock.isFloating():
                dock.hide()

    # ---- which views are there, and in front

    def shown_first(self) -> str:
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
        DockArea.restyle(self)

    def arrange(self, layout: Layout) -> None:
        """Lay the views out; the memory that the step accesses stays in front of the other."""
        super().arrange(layout)
        QTimer.singleShot(0, self, lambda: self._on_step(self.session.step))

    def front(self, name: str) -> None:
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
        self._before, self._before_trace = self.session.view, self.session.trace
        self.large.show(self.session.view or next(iter(self.docks)))

    def show_all(self) -> None:
        """Show all views as they were; in front the session's, if that is another one by now."""
        self.large.put_back()
        if self._before_trace is not self.session.trace:
            self.show_what_there_is()
        self.follow_size()
        if self.session.view != self._before:
            self._bring(self.session.view)

    def _shown(self) -> list[bool]:
        return [not dock.isHidden() for dock in self.docks.values()]

    def put_back(self) -> None:
        self.session.large = False
        super().put_back()

    def has_something(self, name: str) -> bool:
        if name == "Findings" and self.session.hides("findings"):
            return False
        return self._rows[name].has_something(self.session.trace)

    def show_what_there_is(self) -> None:
        """Views that have nothing to show for this kernel are put away."""
        if self.large.name:
            return
        shown = {name: self.has_something(name) and name not in self._closed for name in self._rows}
        if all(wanted != self.docks[name].isHidden() for name, wanted in shown.items()):
            return
        with self.arranging():
            for name, wanted in shown.items():
                dock = self.docks[name]
                if wanted == dock.isHidden():
                    beside = self.tabifiedDockWidgets(dock)
                    before: list[QDockWidget] = [d for d in beside if self.in_front(d.objectName())]
                    if not wanted and not before:
                        before = [d for d in self.docks.values() if d in beside]
                    dock.setVisible(wanted)
                    if before:
                        before[0].raise_()

    def _count_tabs(self) -> None:
        for name, row in self._rows.items():
            count = row.count(self.session) if row.count is not None else 0
            if row.count is not None:
                title = f"{row.mark}{row.title} {count}" if count else row.title
                self.docks[name].setWindowTitle(title)

    def _on_changed(self, names: frozenset[str]) -> None:
        if names & {"trace", "veiled"}:  # to show and hide docks has Qt lay out the page
            self.session.turns.offer(self, self._on_trace)

    def _on_trace(self) -> None:
        self._count_tabs()
        shown = self._shown()
        self.show_what_there_is()
        if shown != self._shown() and not self.arranged and self._layout is not None:
            self.share_out(self._layout)
        self._on_step(self.session.step)  # a view that was put away can be in front only now

    def _on_step(self, step: int) -> None:
        told = "warp.heading" in self.session.veiled  # a question asks which memory it is
        if not self.session.follow_memory or told:
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
        if not (on and self._in_sight) or self._busy or self.large.name:
            return
        if self.tabifiedDockWidgets(dock):
            self.session.view = dock.name

    def showEvent(self, event: QShowEvent) -> None:
        """All views appear with the page: only those that do so later were brought to the front."""
        super().showEvent(event)
        QTimer.singleShot(0, self, lambda: setattr(self, "_in_sight", self.isVisible()))

    def hideEvent(self, event: QHideEvent) -> None:
        """Views that appear with the page are not brought to the front."""
        self._in_sight = False
        super().hideEvent(event)


def _follow_button(session: Session) -> QToolButton:
    """Checked while the view of the memory that the step accesses comes to the front."""
    tip = "Bring the memory that the step accesses to the front (Ctrl+M)"
    button = action_button("Follow step", tip, "Follow the step's memory")
    button.setCheckable(True)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setChecked(session.follow_memory)
    button.clicked.connect(lambda on: session.update(follow_memory=on))
    session.follow_memory_changed.connect(button.setChecked, check_nargs=False)
    return button
