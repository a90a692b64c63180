"""Two launches side by side on one clock, and what differs between them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gui.commands.comparing import Comparing
from gui.commands.explaining import connect_numbers
from gui.frames.pieces import PAUSE, Steps, whole
from gui.scenes.why import Topic
from gui.views.base import Panel, SessionView
from gui.views.compare_bar import CompareBar
from gui.views.compare_side import CompareSide
from gui.views.difference_view import DifferenceView
from gui.views.page_parts import panels_in, share
from gui.views.page_widget import PageWidget
from gui.views.scrub_bar import ScrubBar
from gui.views.segmented import Segmented
from gui.views.why_panel import WhyPanel

if TYPE_CHECKING:
    from gui.main_window import MainWindow

LINES = 19  # of text: the least height of one view
SIDES = {"a": "Configure A", "b": "Configure B"}


class ComparePage(PageWidget, QWidget):
    """A and B beside each other. While it is shown, the left column has a switch between them."""

    modest = False  # the left column and the transport bar follow it

    def __init__(self, window: MainWindow, *, now: bool = True) -> None:
        super().__init__()
        self.main = window
        self.comparing = Comparing(window)
        self._built = False
        if now:
            whole(self.building())

    def building(self) -> Steps:
        """Make the page, piece by piece; it is whole after the last."""
        a, b = self.comparing.a, self.comparing.b
        yield from self.comparing.building()
        self._make_frame()
        self.sides = CompareSide(a, "a", self._pair), CompareSide(b, "b", self._pair)
        yield PAUSE
        for side in self.sides:
            yield from side.building()
            yield PAUSE
        self.differences = DifferenceView(a, b)
        yield PAUSE
        self.why = WhyPanel(b, self.main, above=self.main.transport)
        yield PAUSE
        yield from self._laying_out()
        self._make_left()
        yield PAUSE
        self._make_second_bar()
        yield PAUSE
        self._connect()
        yield PAUSE
        self._built = True
        yield from self.restyling()
        yield from self.comparing.preparing()

    def _make_frame(self) -> None:
        self._page = QVBoxLayout(self)
        self._page.setContentsMargins(0, 0, 0, 0)
        self._page.setSpacing(8)
        self.splitter = panels_in(Qt.Orientation.Vertical)
        self._page.addWidget(self.splitter, 1)
        self._pair = panels_in(Qt.Orientation.Horizontal)
        self.splitter.addWidget(self._pair)

    def _laying_out(self) -> Steps:
        self.bar = bar = CompareBar()
        self.views, self.examples = bar.views, bar.examples
        self.swap, self.copy, self.next = bar.swap, bar.copy, bar.next
        yield PAUSE
        self._page.insertWidget(0, bar)
        yield PAUSE
        caption = self.differences.caption
        caption.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        caption.may_take(2)
        table = Panel("", self.differences, controls=self.differences.controls, flush=True)
        table.row.insertWidget(0, caption, 100)  # in place of a heading, where every line counts
        table.heading.hide()
        yield PAUSE
        self.splitter.addWidget(table)
        yield PAUSE
        for splitter, shares in ((self._pair, (1, 1)), (self.splitter, (68, 32))):
            share(splitter, shares, (1000 * shares[0], 1000 * shares[1]))
        yield PAUSE

    def _make_left(self) -> None:
        """In the left column: which side its forms are for, and the forms of B."""
        self.switch = Segmented(SIDES, {"a": "The launch of side A", "b": "The launch of side B"})
        self.switch.hide()
        column = self.comparing.column
        column.hide()
        layout = self.main.left.layout()
        assert isinstance(layout, QVBoxLayout)
        items = [layout.itemAt(place) for place in (0, 1)]
        self._own = [w for item in items if item is not None and (w := item.widget()) is not None]
        layout.insertWidget(0, self.switch)
        layout.insertWidget(1, column, 1)

    def _make_second_bar(self) -> None:
        """Below the window's time axis, which is A's, the one of B; both can be dragged."""
        self.scrub = ScrubBar(self.comparing.b)
        self.scrub.setAccessibleName("Time axis of B")
        self.scrub.hide()
        layout = self.main.transport.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.addWidget(self.scrub)
        self.letters = [QLabel("A", self.main.transport.scrub), QLabel("B", self.scrub)]
        for letter in self.letters:
            letter.setProperty("role", "small")
            letter.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            letter.move(0, 0)
            letter.hide()

    def _connect(self) -> None:
        session = self.comparing.a
        self.bar.preset_chosen.connect(self.comparing.show_preset)
        self.swap.clicked.connect(self.comparing.swap)
        self.copy.clicked.connect(self.comparing.copy_to_b)
        self.next.clicked.connect(lambda _: self.comparing.differing.go())
        session.page_changed.connect(self._on_page)
        self.views.chosen.connect(lambda name: session.update(compared_view=name))
        self.switch.chosen.connect(lambda _: self._show_forms())
        session.compared_view_changed.connect(lambda _: self._show_views())
        self.why.closed.connect(lambda: self.comparing.b.update(question=None))
        self.main.explaining.sessions.append(self.comparing.b)
        self.comparing.b.question_changed.connect(self._answer_b)
        first, second = self.sides
        explaining = self.main.explaining
        ask_a = partial(explaining.ask, here=True)
        connect_numbers(first, session, ask_a)
        connect_numbers(second, self.comparing.b, ask_b := self._ask_b)
        self.differences.why_wanted.connect(
            lambda side, topic: ask_a(topic) if side == "a" else ask_b(topic)
        )

    def _ask_b(self, topic: Topic) -> None:
        self.comparing.b.question = topic

    def _answer_b(self, topic: Topic | None) -> None:
        if topic is None:
            self.why.hide()
        else:
            self.why.ask(topic, self._middle())

    def _middle(self) -> QPoint:
        """Where an explanation of B leaves B in sight: over A."""
        side = self.sides[1]
        return side.mapTo(self.main, side.rect().topLeft())

    def main_view(self) -> QWidget:
        """What has the keyboard when the page is opened: a picture of A."""
        first = self.sides[0]
        views = (first.matrices, first.warp, first.shared)
        return next((view for view in views if view.isVisibleTo(first)), self)

    def shut_down(self) -> None:
        """Stop what runs for B."""
        self.comparing.close()

    # ---- what is shown

    def catching_up(self) -> Steps:
        """Bring to date what will be seen, view by view, before the page is shown."""
        for view in self.findChildren(SessionView):
            if view.isVisibleTo(self) and view.session.trace is not None:
                view.catch_up(hidden=True)
                yield PAUSE
        yield from self.comparing.preparing()
        yield from self._activating(True)

    def showEvent(self, event: QShowEvent) -> None:
        """Start the common clock."""
        super().showEvent(event)
        if not event.spontaneous():
            if not self.comparing.active:
                self._set_active(True)
            self._show_views()

    def hideEvent(self, event: QHideEvent) -> None:
        """Leave the window's own session alone again."""
        super().hideEvent(event)
        if self._built and not event.spontaneous():  # a window may close while it is made
            self._set_active(False)

    def _on_page(self, key: str) -> None:
        """Another page was asked for before this one was shown."""
        if key != "compare" and self.comparing.active and not self.isVisible():
            self._set_active(False)

    def _set_active(self, active: bool) -> None:
        whole(self._activating(active))

    def _activating(self, active: bool) -> Steps:
        self.comparing.active = active
        yield PAUSE
        for widget in (self.switch, self.scrub, *self.letters):
            widget.setVisible(active)
            yield PAUSE
        self.main.explaining.panel.side, self.why.side = ("A: ", "B: ") if active else ("", "")
        self.main.explaining.close()
        self._show_forms()

    def toggle_grouping(self) -> None:
        """Differences by array instead of totals, or the other way round."""
        grouping = self.differences.grouping
        grouping.value = "total" if grouping.value == "array" else "array"
        self.differences.refresh()

    def configure_other(self) -> None:
        """Turn the left column to the other side's forms."""
        self.switch.value = "b" if self.switch.value == "a" else "a"
        self._show_forms()

    def _show_forms(self) -> None:
        other = self.comparing.active and self.switch.value == "b"
        self.comparing.column.setVisible(other)
        for widget in self._own:
            widget.setVisible(not other)

    def _show_views(self) -> None:
        chosen = self.comparing.a.compared_view
        self.views.value = chosen
        line = self.fontMetrics().lineSpacing()
        room = max(self.sides[0].splitter.height() // (LINES * line), 1)
        for side in self.sides:
            side.show_views(chosen, room)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show as many views as fit."""
        super().resizeEvent(event)
        if self._built:  # Qt tells a hidden page of its size when the window is painted for a file
            self.bar.fit(self.width())
            self._show_views()

    def restyling(self) -> Steps:
        """Take up the theme's colours and sizes, piece by piece."""
        for side in self.sides:
            side.restyle()
            yield
        self.differences.restyle()
        self.bar.fit(self.width())
        yield
        self.comparing.column.restyle()
        yield
        self._show_views()
        yield

    def pictures(self) -> dict[str, QWidget]:
        """What can be saved by itself, by name."""
        found: dict[str, QWidget] = {"Differences": self.differences}
        for side in self.sides:
            found |= side.pictures()
        return found
