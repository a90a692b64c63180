"""Connects the numbers of the window with their explanations, and the PTX with the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QObject, QPoint
from PySide6.QtGui import QCursor

from gui.scenes.counters import CounterRow
from gui.scenes.why import Step, Topic, topic_of_line, topic_of_row, topic_of_step
from gui.views.why_panel import WhyPanel

if TYPE_CHECKING:
    from gui.main_window import MainWindow

FIRST_NUMBER = 2  # column of the counters view


class Explaining(QObject):
    """Answers "Why this number?" for one window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.window_, self.session = window, window.session
        self.panel = WhyPanel(window.session, window, above=window.transport)
        self.panel.closed.connect(self._closed)
        self._beside: QPoint | None = None
        window.session.question_changed.connect(self._answer)
        window.warp.why_wanted.connect(lambda: self.ask(Step("global"), here=True))
        window.shared.why_wanted.connect(lambda: self.ask(Step("shared"), here=True))
        window.counters.table.clicked.connect(self._counter_clicked)
        window.source.edit.gutter.number_clicked.connect(self._gutter_clicked)
        window.ptx.line_wanted.connect(window.source.go_to_next)

    def ask(self, topic: Topic, *, here: bool = False) -> None:
        """Open the explanation of a topic, beside the pointer if it was clicked on."""
        self._beside = self._pointer() if here else None
        if self.session.question == topic:
            self.panel.ask(topic, self._beside)
        self.session.question = topic

    def why(self) -> None:
        """Explain the current step's access; close the explanation if it is open."""
        if self.session.question is not None:
            self.close()
        else:
            self.ask(topic_of_step(self.session))

    def close(self) -> None:
        """Put the explanation away."""
        self.session.question = None

    def _answer(self, topic: Topic | None) -> None:
        if topic is None:
            self.panel.hide()
        else:
            self.panel.ask(topic, self._beside)
        self._beside = None

    def _closed(self) -> None:
        self.session.question = None

    def _pointer(self) -> QPoint:
        return self.window_.mapFromGlobal(QCursor.pos())

    def _counter_clicked(self, index: QModelIndex) -> None:
        row = self.window_.counters.model.rows[index.row()]
        if isinstance(row, CounterRow) and index.column() >= FIRST_NUMBER:
            self.ask(topic_of_row(row), here=True)

    def _gutter_clicked(self, place: int, column: str) -> None:
        line = self.window_.source.line_of(place)
        if line is not None:
            self.ask(topic_of_line(self.session, line, column), here=True)
