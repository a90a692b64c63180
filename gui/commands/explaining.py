"""Connects the numbers of the window with their explanations, and the PTX with the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QModelIndex, QObject, QPoint, QRect
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QWidget

from gui.commands.window_parts import Window
from gui.scenes.counter_table import CounterRow
from gui.scenes.question_in_views import veil_words
from gui.scenes.session import Session
from gui.scenes.why_an_element_is_loaded import Fetched
from gui.scenes.why_this_number import (
    OnPage,
    Step,
    Topic,
    topic_of_line,
    topic_of_moment,
    topic_of_row,
)
from gui.views.counters_view import CountersView
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.session_view import SessionView
from gui.views.shared_view import SharedView
from gui.views.source_view import SourceView
from gui.views.warp_view import WarpView
from gui.views.why_panel import WhyPanel

FIRST_NUMBER = 2  # column of the counters view
SPACES = {"Warp": "global", "Shared": "shared"}
"""The memory that a view shows, by the view's name."""

Ask = Callable[[Topic], None]


class Views(Protocol):
    """Views of one session whose numbers can be asked about."""

    matrices: MatrixCanvas
    warp: WarpView
    shared: SharedView
    counters: CountersView
    source: SourceView


def connect_numbers(views: Views, session: Session, ask: Ask) -> None:
    """Have every number of the views ask why it is what it is."""

    def row_chosen(index: QModelIndex) -> None:
        if index.column() >= FIRST_NUMBER:
            row_asked(index)

    def row_asked(index: QModelIndex) -> None:
        row = views.counters.model.rows[index.row()]
        if isinstance(row, CounterRow):
            ask(topic_of_row(row))

    def line_chosen(place: int, column: str) -> None:
        line = views.source.draft.origin(place)
        if line is not None:
            ask(topic_of_line(session, line, column))

    views.warp.why_wanted.connect(lambda: ask(Step("global")))
    views.shared.why_wanted.connect(lambda: ask(Step("shared")))
    views.matrices.why_wanted.connect(lambda element: ask(Fetched(*element)))
    views.counters.table.clicked.connect(row_chosen)
    views.counters.table.returned.connect(row_asked)
    views.source.edit.gutter.number_clicked.connect(line_chosen)


class Explaining(QObject):
    """Answers "Why this number?" for one window."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.main, self.session = window, window.session
        self.panel = WhyPanel(window.session, window, above=window.transport)
        self.panel.closed.connect(lambda: window.session.update(question=None))
        self.sessions = [window.session]
        """Those whose explanations Escape puts away."""
        self._beside: QPoint | None = None
        self._told = ""  # that a question has to be answered first
        self._view: QRect | None = None
        window.session.question_changed.connect(self._answer)
        window.session.page_changed.connect(self._leave_page)
        window.session.veiled_changed.connect(self._veil)
        page = window.step_page
        connect_numbers(page, window.session, lambda topic: self.ask(topic, here=True))
        page.ptx.line_wanted.connect(page.source.go_to_next)

    def ask(self, topic: Topic, *, here: bool = False) -> None:
        """Open the explanation of a topic, beside the pointer if it was clicked on."""
        pointer = QCursor.pos()
        self._beside = self.main.mapFromGlobal(pointer) if here else None
        self._view = self._view_at(pointer) if here else self._view_of(topic)
        if self.session.question == topic:
            self._answer(topic)
        self.session.question = topic

    def why(self) -> None:
        """Explain what is looked at, or close the explanation if it is open."""
        page = self.main.pages.current
        if self.session.question is not None:
            self.close()
        elif (found := page.explanation()) is not None:
            self.ask(OnPage(self.session.page, lambda: page.explanation() or found))
        else:
            self.ask(topic_of_moment(self.session, self._memory_in_front()))

    def _memory_in_front(self) -> str:
        """The memory whose view is to be seen, or was chosen of both; empty for neither."""
        if self.session.page == "compare":
            chosen = self.session.compared_view.lower()
            return chosen if chosen in SPACES.values() else ""
        page = self.main.step_page
        seen = [name for name in SPACES if page.in_front(name)]
        if len(seen) == 1:
            return SPACES[seen[0]]
        return SPACES.get(self.session.view, "") if seen else ""

    def close(self) -> None:
        for session in self.sessions:
            session.question = None

    def _leave_page(self, page: str) -> None:
        topic = self.session.question
        if isinstance(topic, OnPage) and topic.page != page:
            self.close()

    def _veil(self, _: object) -> None:
        """An open explanation would answer the question; what was refused is no longer true."""
        self.main.message.take_back(self._told)
        if self.session.hides("why"):
            self.close()

    def _answer(self, topic: Topic | None) -> None:
        if topic is None:
            self.panel.hide()
        elif self.session.hides("why"):
            self.close()
            first = veil_words(self.session)
            self._told = self.main.message.tell(f"{first}: then Why? explains the number.")
        else:
            self.panel.ask(topic, self._beside, self._view or self._view_of(topic))
        self._beside = self._view = None

    def _view_at(self, place: QPoint) -> QRect | None:
        widget = QApplication.widgetAt(place)
        while widget is not None and not isinstance(widget, SessionView):
            widget = widget.parentWidget()
        return self._place_of(widget)

    def _view_of(self, topic: Topic) -> QRect | None:
        """The visible view that shows what is asked about, if there is one."""
        page = self.main.step_page
        if isinstance(topic, Step):
            return self._place_of(page.shared if topic.space == "shared" else page.warp)
        return self._place_of(page.matrices if isinstance(topic, Fetched) else None)

    def _place_of(self, view: QWidget | None) -> QRect | None:
        if view is None or not view.isVisible() or view.window() is not self.main:
            return None
        box = view.rect()
        if self.session.large and isinstance(view, SharedView):  # there is no room beside it
            box = view.explained()
        return box.translated(view.mapTo(self.main, QPoint(0, 0)))
