"""The lists of findings and of breakpoints; a click goes to the place."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QListWidgetItem, QStackedLayout

from gui.looks.labels_and_layouts import fill, styled_label
from gui.scenes.breakpoints import BreakRow, break_rows, breaks_caption
from gui.scenes.findings_list import findings_caption, findings_of, go_to
from gui.scenes.session import Session
from gui.views.buttons_and_choices import action_button
from gui.views.captions_and_panels import Scrolled
from gui.views.session_view import CaptionedView
from gui.views.tables import PlaceList, PlaceRow

TIP = "Click to go to its step, thread and line"


class FindingsView(CaptionedView):
    """Shows what the kernel does wrong, a sentence each."""

    WATCHES = frozenset({"trace"})

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.list = PlaceList("Findings")
        fill(self, self.list)
        self.list.itemClicked.connect(self._go)
        self.list.itemActivated.connect(self._go)

    def refresh(self, names: frozenset[str]) -> None:
        self.caption.setText(findings_caption(self.session.trace))
        self.list.show_rows(
            [
                PlaceRow(r.title, r.place, sentence=r.message, fault=True, is_open=r.is_open)
                for r in findings_of(self.session)
            ],
            TIP,
        )

    def restyle(self) -> None:
        self.refresh(self.WATCHES)

    def _go(self, item: QListWidgetItem) -> None:
        row = findings_of(self.session)[self.list.row(item)]
        go_to(self.session, row.finding)


HINT = (
    "Click left of a line's number, or right-click an element, to stop there. F8 runs to the next "
    "stop."
)

BREAKPOINT_TIP = "Click to go to its next stop; Delete, or the cross, takes it away"


class BreakpointsView(CaptionedView):
    """Lists the session's breakpoints; Delete takes the chosen one away."""

    WATCHES = frozenset({"trace", "block", "step", "breakpoints"})
    READ = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.rows: tuple[BreakRow, ...] = ()
        self.list = PlaceList("Breakpoints")
        self.list.removed.connect(self._remove)
        self.list.itemClicked.connect(self._go)
        self.list.itemActivated.connect(self._go)
        self.words = styled_label(HINT, role="dim", wrap=True)
        self.words.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.words.setContentsMargins(12, 2, 12, 0)
        tip = "Take all breakpoints away (Ctrl+Shift+F9)"
        self.clear = action_button("Clear", tip, "Clear all breakpoints")
        self.clear.clicked.connect(self._clear)
        self.controls = (self.clear,)
        self.pages = QStackedLayout(self)
        self.pages.setContentsMargins(0, 0, 0, 0)
        self.hint = Scrolled(self.words, keys=True)
        self.pages.addWidget(self.hint)
        self.pages.addWidget(self.list)

    def refresh(self, names: frozenset[str]) -> None:
        if names != {"step"}:
            self._list()
        session = self.session
        stops, ahead = len(session.break_steps), session.next_break()
        words = breaks_caption(len(session.breakpoints), stops, ahead)
        self.tell(words, veiled=self._asked)

    @property
    def _asked(self) -> bool:
        """Whether a question asks for what the breakpoints count."""
        return self.session.hides("counters") or self.session.hides("transport")

    def _list(self) -> None:
        session = self.session
        self.rows = break_rows(session.trace, session.block_trace, session.breakpoints)
        rows = [
            PlaceRow(r.title, r.code, "?" if self._asked else r.times, removes="Take it away")
            for r in self.rows
        ]
        self.list.show_rows(rows, BREAKPOINT_TIP)
        self.clear.setEnabled(bool(self.rows))
        self.pages.setCurrentWidget(self.list if self.rows else self.hint)

    def restyle(self) -> None:
        self.list.scheduleDelayedItemsLayout()
        super().restyle()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.list.currentRow()
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and 0 <= row < len(self.rows):
            self._remove(row)
        else:
            super().keyPressEvent(event)

    def _remove(self, row: int) -> None:
        self.session.breakpoints -= {self.rows[row].place}

    def _go(self, item: QListWidgetItem) -> None:
        place = self.rows[self.list.row(item)].place
        step = self.session.next_stop(place, around=True)
        chosen: dict[str, object] = {} if step is None else {"step": step}
        key = "line" if place.line is not None else "element"
        self.session.update(playing=0, **{key: getattr(place, key)}, **chosen)

    def _clear(self) -> None:
        self.session.breakpoints = frozenset()
