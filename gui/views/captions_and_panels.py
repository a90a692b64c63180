"""What frames a view: its caption, its panel, and areas that scroll or lie at an edge."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QToolTip,
    QWidget,
)

from gui.looks.labels_and_layouts import GAP, MARGIN, side_by_side, stacked, styled_label
from gui.looks.theme import current_theme
from gui.scenes.numbers_and_sentences import unbroken


class Scrolled(QScrollArea):
    """Shows a widget as wide as there is room, and scrolls.

    Its parts have the keyboard, or it has itself, so that `keys` scroll it.
    """

    def __init__(self, body: QWidget | None = None, *, keys: bool = False) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if not keys:
            self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        if body is not None:
            self.setWidget(body)

    def replace(self, body: QWidget) -> None:
        """Show another widget, scrolled as far as the one before."""
        at, before = self.verticalScrollBar().value(), self.takeWidget()
        if before is not None:
            before.deleteLater()  # a part of it may have been clicked just now
        self.setWidget(body)
        self.verticalScrollBar().setValue(at)


class AtLowerEdge(QFrame):
    """Lies over the lower edge of an area, as high as its layout needs; looks as messages do."""

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        self._area = area
        self.setObjectName("message")
        area.installEventFilter(self)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self.place()
        return False

    def place(self) -> None:
        """Take the room that the text needs now, over whatever lies there."""
        layout = self.layout()
        if self.isHidden() or layout is None:
            return
        wide, most = self._area.width(), self._area.height()
        need = max(layout.totalHeightForWidth(wide), layout.totalMinimumSize().height())
        high = min(need, most)
        self.setGeometry(0, most - high, wide, high)
        self.raise_()


class Fields(Scrolled):
    """The rows of fields: as high as they are, and scrolled where there is no room for that."""

    LEAST = 2  # rows that are always in sight

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._grid: QGridLayout | None = None

    def take(self, body: QWidget | None, grid: QGridLayout | None = None) -> None:
        """Show the rows of a grid in place of those there are, which go away; or nothing."""
        self._grid = grid
        typed_in = QApplication.focusWidget()
        if typed_in is not None and self.isAncestorOf(typed_in):
            typed_in.clearFocus()  # or Qt hands it to whatever stands in front of this
        if (shown := self.takeWidget()) is not None:
            shown.deleteLater()
        if body is not None:
            self.setWidget(body)

    def sizeHint(self) -> QSize:
        return QSize(120, self._height())

    def minimumSizeHint(self) -> QSize:
        least = self.LEAST * round(1.6 * current_theme().spacing.control)
        return QSize(80, min(least, self._height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def _height(self) -> int:
        """What the rows need beside a scroll bar, so that there is room enough to do without."""
        if self._grid is None:
            return 0
        bar = self.verticalScrollBar().sizeHint().width()
        room = max(self.width() - bar, 80)
        return max(self._grid.totalHeightForWidth(room), self._grid.totalSizeHint().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)


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
        self._least = 1

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

    def may_take(self, lines: int, least: int = 1) -> None:
        """Take as many lines at most, and at `least` that many also where the sentence is short."""
        self._most, self._least = lines, least
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
        digit = QFontMetricsF(self.font()).horizontalAdvance("0")
        narrow = self.width() < self.NARROW * digit * 1.25
        return max(min(2 if narrow else 1, most), self._least, len(self._wrap(most)))

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
        # In fractions of a pixel: whole ones add up to a line that is cut at the edge.
        advance = QFontMetricsF(self.font()).horizontalAdvance
        used, space = 0.0, advance(" ")
        for count, word in enumerate(words):
            used += advance(word)
            if used > width:
                return count
            used += space
        return len(words)


def place_caption(caption: QLabel, row: QHBoxLayout, below: QBoxLayout, *, beside: bool) -> None:
    """Put a caption first into the row of the controls, or else into the layout below."""
    if beside:
        below.removeWidget(caption)
        row.insertWidget(0, caption, 1000)
    else:
        row.removeWidget(caption)
        below.addWidget(caption)


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
        self.heading = styled_label(title, role="heading")
        self.row = side_by_side(None, self.heading, None, *controls, gap=GAP)
        upper = (self.row,) if caption is None else (self.row, caption)
        edges = (MARGIN, GAP - 2, GAP, GAP - 4)
        self._head, self._caption = stacked(None, *upper, gap=2, edges=edges), caption
        inner = stacked(None, body, edges=(0, 0, 0, 0) if flush else (MARGIN, 0, MARGIN, GAP))
        stacked(self, self._head, (inner, 1), gap=0, edges=(1, 1, 1, 1))

    def show_heading(self, shown: bool) -> None:
        """Whether it says its name; else the caption takes that place, beside the controls."""
        if shown is not self.heading.isHidden():
            return
        self.heading.setVisible(shown)
        if self._caption is not None:
            place_caption(self._caption, self.row, self._head, beside=not shown)
