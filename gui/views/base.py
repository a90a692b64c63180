"""What the views share: following the session, pointing, captions, panels, an element's menu."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from PySide6.QtCore import QEvent, QPointF, QSize, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetricsF,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QFrame, QLabel, QMenu, QSizePolicy, QToolTip, QWidget, QWidgetAction

from gui.background import close_workers
from gui.looks.style_sheet import named, side_by_side, stacked, styled_label
from gui.looks.theme import current_theme
from gui.scenes.names_and_numbers import index_text, unbroken
from gui.scenes.question_in_views import veil_words
from gui.scenes.session import Session
from gui.scenes.session_values import Breakpoint, Element, Hover
from gui.scenes.step_views import StepView
from gui.scenes.why_this_number import Fetched

MOST_WORDS = 1000  # whose widths a caption remembers


ASKING = frozenset({"veiled", "answered", "lit", "pick_target"})
"""What a question changes of a session: every view follows it."""


class SessionView(QWidget):
    """A widget that draws the session: `refresh` runs when something in `WATCHES` changed.

    A hidden view does no work; it refreshes when it is shown. One that is `READ`, not watched,
    takes turns with others while the clock plays (`gui.scenes.refresh_queue`).
    """

    WATCHES: frozenset[str] = frozenset({"trace", "block", "step", "thread"})
    READ = False

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self._stale: frozenset[str] = self.WATCHES
        session.changed.connect(self._on_session_changed)

    def refresh(self, names: frozenset[str]) -> None:
        """Show the session as it is now; `names` says what changed since the last time."""
        raise NotImplementedError

    def _on_session_changed(self, names: frozenset[str]) -> None:
        stale = names & (self.WATCHES | ASKING)
        if not stale:
            return
        self._stale |= stale
        if self.READ:
            self.session.turns.offer(self, self.catch_up)
        else:
            self.catch_up()

    def catch_up(self, *, hidden: bool = False) -> None:
        """Show what changed since the last time, if this is to be seen, or `hidden` or not."""
        if self._stale and (hidden or self.isVisible()):
            stale, self._stale = self._stale, frozenset()
            self.refresh(stale)

    def miss(self, names: frozenset[str]) -> None:
        """Catch up with these, too, when this is shown: it was brought to date for a picture."""
        self._stale |= names

    def shut_down(self) -> None:
        """Give up what is worked out in other threads for this view, and wait for the end."""
        close_workers(self)

    def unveiled(self, words: str, *, veiled: bool) -> str:
        """What a caption says: the words, or that a question veils what they tell of."""
        return f"{veil_words(self.session)}." if veiled else words

    def say(self, caption: Caption, words: str, drawn: str = "", part: str = "") -> None:
        """Put words about a picture into its caption and its description for screen readers.

        Words that are `drawn` into an empty picture are not said in the caption again. Of a
        `part` that a question veils neither says anything.
        """
        if part and self.session.hides(part):
            words, drawn = f"{veil_words(self.session)}.", ""

        def show() -> None:
            caption.setText(words)
            lit = self.session.lit
            told = [] if lit is None else [lit.words("right"), lit.words("given")]
            self.setAccessibleDescription(". ".join(filter(None, [words or drawn, *told])))

        self.session.turns.offer(caption, show)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.catch_up()

    def restyle(self) -> None:
        """Take up the colours of a new theme; the default repaints.

        Whoever sets the theme calls this, once for each view. Doing it at Qt's own PaletteChange
        would be too early: Qt is going through all widgets then, and crashes if one goes away.
        """
        self.update()


def view_of(row: StepView, session: Session) -> SessionView:
    """The view that a row of the Step page's views names as "module:Class"."""
    module, _, name = row.widget.partition(":")
    view: SessionView = getattr(import_module(module), name)(session)
    return view


class PointedView(SessionView):
    """A drawn view whose parts tell the session what is pointed at; elements have their menu."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session)
        self.caption = Caption()
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def hover_at(self, point: QPointF) -> Hover | None:
        """What lies under a pixel of the view, None for nothing."""
        raise NotImplementedError

    def point_at(self, point: QPointF) -> None:
        self.session.hover = self.hover_at(point)

    def menu_at(self, point: QPointF) -> QMenu | None:
        hover = self.hover_at(point)
        if hover is None or hover.element is None:
            return None
        return element_menu(self.session, hover.element, self)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.point_at(event.position())

    def leaveEvent(self, event: QEvent) -> None:
        self.session.hover = None
        super().leaveEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the element that is pointed at, else leave it to the window."""
        menu = self.menu_at(QPointF(event.pos()))
        event.setAccepted(menu is not None)
        if menu is not None:
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(event.globalPos())


class Caption(QLabel):
    """One sentence. A narrow caption keeps room for two lines, so that it does not jump.

    It takes more where a sentence needs them, and keeps them while its width stays. What does not
    fit even so ends in an ellipsis, and the tooltip has it whole.
    """

    NARROW = 46  # times the width of a digit
    MOST = 4  # lines; one beside buttons, in their middle, has one unless it `may_take` more

    def __init__(self, text: str = "", role: str = "caption") -> None:
        super().__init__()
        self._text = text
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._lines = 1
        self._most: int | None = None
        self._widths: dict[str, float] = {}
        """Of words in the caption's font: captions of steps are made of the same ones."""

    def text(self) -> str:
        return self._text

    def setText(self, text: str) -> None:
        """Show a sentence; screen readers get it whole.

        QLabel's own setText would lay out the whole window again, at every step of the clock.
        """
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self._take(max(self._lines, self._wanted()))
            self.update()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self._text, self)
            return True
        return super().event(event)

    def sizeHint(self) -> QSize:
        return QSize(0, self._lines * self.fontMetrics().lineSpacing())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Take a second line when narrow, and more where the sentence needs them."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._take(self._wanted())

    def may_take(self, lines: int) -> None:
        self._most = lines
        self._take(self._wanted())

    def most_lines(self) -> int:
        if self._most is not None:
            return self._most
        return self.MOST if self.alignment() & Qt.AlignmentFlag.AlignTop else 1

    def _wanted(self) -> int:
        """How many lines the sentence needs here, and a narrow caption has in any case."""
        most = self.most_lines()
        if most == 1 or self.width() <= 0:
            return 1
        narrow = self.width() < self.NARROW * self._advance("0") * 1.25
        return max(min(2 if narrow else 1, most), len(self._wrap(most)))

    def _take(self, lines: int) -> None:
        if lines != self._lines:
            self._lines = lines
            self.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:
        lines, painter = self.shown_lines(), QPainter(self)
        painter.setPen(self.palette().windowText().color())
        spacing, box = self.fontMetrics().lineSpacing(), self.contentsRect()
        top = box.top()
        if self._lines == 1 or self.alignment() & Qt.AlignmentFlag.AlignVCenter:
            top += (box.height() - len(lines) * spacing) // 2
        across = self.alignment() & Qt.AlignmentFlag.AlignHorizontal_Mask
        flags = int(Qt.AlignmentFlag.AlignTop | across)
        for i, line in enumerate(lines):
            painter.drawText(box.left(), top + i * spacing, box.width(), spacing, flags, line)

    def shown_lines(self) -> list[str]:
        return self._wrap(self._lines)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._widths.clear()
            self._take(self._wanted())

    def _wrap(self, most: int) -> list[str]:
        width, words = self.contentsRect().width(), unbroken(self.text()).split(" ")
        elided = self.fontMetrics().elidedText
        lines: list[str] = []
        while words:
            count = self._fitting(words, width)
            if not count and "\u00a0" in words[0]:  # an index that is wider than a line
                words[:1] = words[0].split("\u00a0")
                continue
            if count < len(words) and (len(lines) + 1 == most or not count):
                rest = elided(" ".join(words), Qt.TextElideMode.ElideRight, width)
                return [*lines, rest.replace("\u00a0", " ")]
            lines.append(" ".join(words[:count]).replace("\u00a0", " "))
            words = words[count:]
        return lines

    def _fitting(self, words: list[str], width: int) -> int:
        """How many of the words stand beside each other in a width."""
        used, space = 0.0, self._advance(" ")
        for count, word in enumerate(words):
            used += self._advance(word)
            if used > width:
                return count
            used += space
        return len(words)

    def _advance(self, word: str) -> float:
        """In fractions of a pixel: whole ones add up to a line that is cut at the edge."""
        if len(self._widths) > MOST_WORDS:
            self._widths.clear()
        if word not in self._widths:
            self._widths[word] = QFontMetricsF(self.font()).horizontalAdvance(word)
        return self._widths[word]


class Panel(QFrame):
    """A framed view: heading, controls to its right, a caption below, and the body."""

    def __init__(
        self,
        title: str,
        body: QWidget,
        *,
        caption: QLabel | None = None,
        controls: Sequence[QWidget] = (),
        flush: bool = False,
    ) -> None:
        super().__init__()
        self.setProperty("role", "panel")
        self.body = body
        space = current_theme().spacing
        self.heading = styled_label(title, role="heading")
        self.row = side_by_side(None, self.heading, None, *controls, gap=space.gap)
        upper = (self.row,) if caption is None else (self.row, caption)
        edges = (space.margin, space.gap - 2, space.gap, space.gap - 4)
        self._head, self._caption = stacked(None, *upper, gap=2, edges=edges), caption
        edge, below = (0, 0) if flush else (space.margin, space.gap)
        inner = stacked(None, body, edges=(edge, 0, edge, below))
        stacked(self, self._head, (inner, 1), gap=0, edges=(1, 1, 1, 1))

    def show_heading(self, shown: bool) -> None:
        """Whether it says its name; else the caption takes that place, beside the controls."""
        if shown is not self.heading.isHidden():
            return
        self.heading.setVisible(shown)
        if self._caption is None:
            return
        if shown:
            self.row.removeWidget(self._caption)
            self._head.addWidget(self._caption)
        else:
            self._head.removeWidget(self._caption)
            self.row.insertWidget(0, self._caption, 1000)


def element_menu(session: Session, element: Element, parent: QWidget) -> QMenu:
    """Its name, and what can be done: stop where it is touched, go to touches, explain, select."""
    menu = named(QMenu(parent), index_text(*element))
    place = Breakpoint(element=element)
    menu.addAction(_title(index_text(*element), menu))
    menu.addSeparator()
    stop = menu.addAction("Stop when it is touched\tShift+F9")
    stop.setCheckable(True)
    stop.setChecked(place in session.breakpoints)
    stop.triggered.connect(lambda: session.toggle_breakpoint(place))
    menu.addSeparator()
    menu.addAction("Next touch\tT").triggered.connect(lambda: go_to_touch(session, element))
    menu.addAction("Previous touch\tShift+T").triggered.connect(
        lambda: go_to_touch(session, element, forward=False)
    )
    menu.addSeparator()
    arrays = session.trace.arrays if session.trace is not None else ()
    if not session.hides("why") and element[0] in [array.name for array in arrays]:
        menu.addAction("Why loaded so often?").triggered.connect(
            lambda: session.update(element=element, question=Fetched(*element))
        )
    menu.addAction("Select").triggered.connect(lambda: session.update(element=element))
    return menu


def _title(text: str, menu: QMenu) -> QWidgetAction:
    """Whose menu it is: a section's text is not drawn by every style."""
    label = styled_label(text, role="figure")
    label.setContentsMargins(22, 4, 26, 4)
    action = QWidgetAction(menu)
    action.setText(text)
    action.setDefaultWidget(label)
    action.setEnabled(False)
    return action


def go_to_touch(session: Session, element: Element, *, forward: bool = True) -> bool:
    """Select an element and go to the step that touches it next (or last); False where none is."""
    found = session.next_stop(Breakpoint(element=element), forward=forward)
    session.update(playing=0, element=element, **({} if found is None else {"step": found}))
    return found is not None
