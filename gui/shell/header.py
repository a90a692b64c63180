"""The window's uppermost row: menus, what is shown, the pages, theme and help."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QMenuBar, QToolButton, QWidget

from core.wording import assignments
from gui.looks.labels_and_layouts import side_by_side, stacked, styled_label
from gui.looks.style_sheet import set_style
from gui.scenes.numbers_and_sentences import spaced
from gui.scenes.session import Session
from gui.shell.pages import PAGES
from gui.views.buttons_and_choices import Segmented, icon_button

SPARE = 28  # pixels of margins and gaps at each side
LEAST_TITLE = 9  # digits; of a title that is shortened further nothing could be read


class Header(QWidget):
    """Menu bar, the launch in words, tabs of the pages, and two buttons."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.menu_bar = QMenuBar(nativeMenuBar=False)
        self._title = ""
        self.title = styled_label(plain=True)  # a file's name is in it
        self.title.setObjectName("launchTitle")
        self.facts = QLabel()
        self.facts.setObjectName("launchFacts")
        pages = enumerate(PAGES, start=1)
        self.tabs = Segmented(**{p.key: (p.title, f"{p.title} (Ctrl+{n})") for n, p in pages})
        tip = "Next theme: light, dark, projector"
        self.theme_button = icon_button(tip, "Next theme", icon="theme")
        self.help_button = icon_button("Keyboard shortcuts (F1)", icon="help")
        self._lay_out()
        session.trace_changed.connect(lambda _: self.show_launch())
        session.trouble_changed.connect(lambda _: self.show_launch())
        session.veiled_changed.connect(lambda _: self.show_launch())
        self.show_launch()

    def _lay_out(self) -> None:
        self.wordmark = wordmark = QLabel("Tilescope")
        wordmark.setObjectName("wordmark")
        begin, middle = (wordmark, 6, self.menu_bar, None), (self.title, self.facts, None)
        end = (self.tabs, self.theme_button, self.help_button)
        self._row = side_by_side(None, *begin, *middle, *end, gap=8)
        self._row.setAlignment(self.menu_bar, Qt.AlignmentFlag.AlignVCenter)
        self._second = side_by_side(None)
        stacked(self, self._row, self._second, gap=2, edges=(14, 4, 10, 4))

    def restyle(self) -> None:
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Menus and tabs stay: the rest goes first that stands elsewhere too.

        Before the title goes, the words of menus and tabs move closer together. Where menus and
        tabs have no room beside each other even so, the tabs have a row of their own.
        """
        self._tighten(False)
        metrics = self.title.fontMetrics()
        whole = metrics.horizontalAdvance(self._title) + 2
        least = min(whole, LEAST_TITLE * metrics.horizontalAdvance("0"))
        optional = (self.facts, self.wordmark, self.help_button, self.theme_button)
        need = sum(widget.sizeHint().width() + 8 for widget in optional)
        room = self._room()
        for widget in optional:  # the title is shortened before a button goes
            wanted = whole if widget in (self.facts, self.wordmark) else least
            fits = need + wanted + 8 <= room
            widget.setVisible(fits)
            if not fits:
                need -= widget.sizeHint().width() + 8
        if need + least + 8 > room:
            self._tighten(True)
            room = self._room()
        own = need + least + 8 > room
        self._give_tabs_a_row(own)
        if own:
            room = self._room() + self.tabs.sizeHint().width()
        wide = min(whole, room - need - 8)
        self.title.setVisible(bool(self._title) and wide >= least)
        self.title.setText(metrics.elidedText(self._title, Qt.TextElideMode.ElideRight, wide))
        self.title.setToolTip(self._title if wide < whole else "")

    def _room(self) -> int:
        margins = self.contentsMargins()
        room = self.width() - margins.left() - margins.right() - 2 * SPARE
        return room - self.menu_bar.sizeHint().width() - self.tabs.sizeHint().width()

    def _tighten(self, close: bool) -> None:
        for widget in (self.menu_bar, *self.tabs.findChildren(QToolButton)):
            if bool(widget.property("close")) != close:
                set_style(widget, "close", close)
                widget.updateGeometry()

    def _give_tabs_a_row(self, own: bool) -> None:
        if own == (self._second.indexOf(self.tabs) >= 0):
            return
        if own:
            self._row.removeWidget(self.tabs)
            self._second.addWidget(self.tabs, 0, Qt.AlignmentFlag.AlignRight)
        else:
            self._second.removeWidget(self.tabs)
            self._row.insertWidget(self._row.indexOf(self.theme_button), self.tabs)

    def show_launch(self) -> None:
        trace = self.session.trace
        if trace is None:
            self._title = ""
            self.title.setText("")
            failed = bool(self.session.trouble)
            self.facts.setText("Nothing has run yet" if failed else "Recording the first launch …")
            return
        launch = trace.workload.launch
        self._title = _launch_name(self.session)
        self.title.setText(self._title)
        self.title.setAccessibleName(self._title)
        grid = "?" if self.session.hides("form") else launch.grid
        self.facts.setText(spaced(f"grid {grid}   block {launch.block}"))
        self._fit()


def _launch_name(session: Session) -> str:
    """The launch's name; a broken kernel's says what is wrong with it, so findings veil it."""
    assert session.trace is not None
    if session.hides("findings"):
        return "Kernel in question"
    shown = session.asked_for
    edited = shown is not None and shown.source is not None and not shown.untitled
    return f"{session.trace.workload.title}{' (edited)' if edited else ''}"


def window_title(session: Session) -> str:
    """The window's title: the launch with its parameters."""
    trace = session.trace
    if trace is None:
        return "Tilescope"
    values = assignments(trace.workload.parameters)
    values = f" ({values})" if values else ""
    return f"{_launch_name(session)}{values} – Tilescope"
