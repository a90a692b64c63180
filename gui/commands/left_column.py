"""The left column, which hides where the window is narrow, and the lesson that takes its place."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QSizePolicy, QSplitter, QToolButton, QWidget

from gui.scenes.session import Session
from gui.views.lesson_panel import LessonPanel
from gui.views.view_docks import units

LEAST, USUAL, MOST = 22, 31, 60  # widths of the column, in digits
ROOM = 126  # digits: in a narrower window the views need the left column's room
HANDLE = 16  # pixels


class LeftColumn(QObject):
    """Shows the column by the room there is until somebody shows or hides it.

    While it is hidden, a narrow button at its place brings it back.
    """

    def __init__(self, window: QWidget, body: QSplitter, left: QWidget, session: Session) -> None:
        """`body` is the window's splitter, and `left` the column, which stands first in it."""
        super().__init__(window)
        self._window, self._body, self._left, self._session = window, body, left, session
        self.lesson_panel = LessonPanel()
        self.by_hand = False
        self._given_up = False  # to the panel of lessons
        self._was_shown = True
        self._width = 0
        self._fits = False
        """Whether it has its usual width, or somebody's."""
        self.button = button = QToolButton()
        button.setText("›")
        button.setProperty("role", "action")
        button.setFixedWidth(HANDLE)
        button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setToolTip("Show the kernels and the configuration (Ctrl+B)")
        button.setAccessibleName("Show the left column")
        button.clicked.connect(self.toggle)
        button.hide()
        body.insertWidget(1, self.lesson_panel)
        body.splitterMoved.connect(self._on_dragged)
        window.installEventFilter(self)
        left.installEventFilter(self)
        session.large_changed.connect(lambda _: QTimer.singleShot(0, self, self._back))

    def kept(self, width: int) -> int:
        """The width to be kept for the next start: 0 if somebody hid it, -1 for want of room."""
        return width or (0 if self.by_hand else -1)

    def restore(self, width: int) -> None:
        self.by_hand = width == 0
        self._fits = self._fits or width > 0
        if self.by_hand:
            self._left.hide()
        else:
            self.follow()

    @property
    def width(self) -> int:
        """Pixels with which the column comes back: those it had, or its usual ones."""
        return self._width or min(USUAL * units()[0], self._window.width() // 5)

    def toggle(self) -> None:
        """Show or hide the column; from now on it stays so."""
        self.by_hand = True
        self._left.setVisible(self._left.isHidden())

    def make_room(self, on: bool) -> None:
        """Stay hidden while a lesson is shown in its place, unless it is asked for."""
        if on == self._given_up:
            return
        self._given_up = on
        if on:
            self._was_shown = not self._left.isHidden()
            self._width = self._body.sizes()[0] or self._width
            self._left.hide()
        elif self.by_hand:
            self._left.setVisible(self._was_shown)
        else:
            self.follow()
        self._offer()

    def show_lesson(self, on: bool) -> None:
        """Show the panel of lessons in place of the column, or that again."""
        panel, body = self.lesson_panel, self._body
        if on != panel.isHidden():
            return
        panel.setVisible(on)
        self.make_room(on)
        if on:
            wide = min(LessonPanel.usual_width(), body.width() // 3)
            # The hidden column's own width: with 0 it would come back at its least.
            body.setSizes([self.width, wide, max(body.width() - wide, 1)])

    def restyle(self) -> None:
        digit, _ = units()
        self._left.setMinimumWidth(LEAST * digit)
        self._left.setMaximumWidth(MOST * digit)
        self._fits = False
        if not self._left.isHidden():
            self._take_width()
        self.follow()

    def _take_width(self) -> None:
        """The usual width for the type, or as much of it as the window has room for."""
        usual = USUAL * units()[0]
        left = min(usual, self._window.width() // 5)
        self._fits = left == usual
        self.take(left)

    def take(self, width: int) -> None:
        """Have a width in pixels; the page gives or gets the rest, and a lesson keeps its own."""
        body = self._body
        between = body.sizes()[1:-1]
        rest = body.width() - body.handleWidth() - width - sum(between)
        body.setSizes([width, *between, max(rest, 1)])

    def _on_dragged(self) -> None:
        self._fits = True

    def follow(self) -> None:
        """Show or hide the column by the window's width; after a change of size or of type."""
        if self.by_hand or self._session.large or self._given_up:
            return
        wide = self._window.width() >= ROOM * units()[0]
        if wide == self._left.isHidden():
            self._left.setVisible(wide)
        if wide and not self._fits:  # there was less room when its type was chosen
            self._take_width()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the window's size; offer the button while the column is hidden."""
        kind = event.type()
        if watched is self._window and kind == QEvent.Type.Resize:
            self.follow()
        elif watched is not self._window and kind in (QEvent.Type.Hide, QEvent.Type.Show):
            self._offer()
        return super().eventFilter(watched, event)

    def _back(self) -> None:
        """After one view alone: the room may be another."""
        self.follow()
        self._offer()

    def _offer(self) -> None:
        hidden = self._left.isHidden() and not self._session.large
        self.button.setVisible(hidden and not self._given_up)
