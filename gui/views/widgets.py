"""Widgets that views are made of: buttons, switches, sliders with stops, captions, panels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QButtonGroup,
    QComboBox,
    QFrame,
    QGridLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QSpinBox,
    QToolButton,
    QToolTip,
    QWidget,
)

from gui.looks.icons import set_icon
from gui.looks.labels_and_layouts import named, side_by_side, stacked, styled_label
from gui.looks.style_sheet import set_style
from gui.looks.theme import current_theme
from gui.scenes.launch_form import moved, place_of, reach_text
from gui.scenes.numbers_and_sentences import unbroken
from gui.scenes.session import Session

RETURN = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


def keeps_key(event: QEvent, own: Callable[[QKeyEvent], bool]) -> bool:
    """Keep a widget's `own` keys from the window's shortcuts; whether this is one of them."""
    override = event.type() == QEvent.Type.ShortcutOverride
    kept = override and isinstance(event, QKeyEvent) and own(event)
    if kept:
        event.accept()
    return kept


def icon_button(tip: str, name: str = "", *, icon: str = "", size: int = 18) -> QToolButton:
    """A button for an icon; screen readers hear `name`, or the tip without its key."""
    button = named(QToolButton(), name or tip.partition(" (")[0], tip)
    if icon:
        set_icon(button, icon, size=size)
    return button


def push_button(text: str, tip: str = "", *, primary: bool = False) -> QPushButton:
    """A button that says `text`; `primary`: it is what one comes for."""
    button = QPushButton(text)
    button.setToolTip(tip)
    if primary:
        button.setProperty("role", "primary")
    return button


def action_button(text: str, tip: str, name: str = "") -> QToolButton:
    """A button as headings have them; screen readers hear `name`, or `text` where there is none."""
    button = named(QToolButton(), name or text, tip)
    button.setText(text)
    button.setProperty("role", "action")
    return button


def why_button() -> QToolButton:
    """Opens "Why this number?" from the heading of a view with numbers."""
    tip = "Explain the numbers of this step: lanes, addresses and formulas (W)"
    return action_button("Why?", tip, "Why these numbers?")


class Segmented(QWidget):
    """Choose one of a few named values; `chosen(key)` is emitted when the user picks another."""

    chosen = Signal(str)

    def __init__(self, **options: tuple[str, str]) -> None:
        """`options`: by its key, what stands on a button, and what is said of it."""
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        layout = side_by_side(self, gap=0)
        self._group = QButtonGroup(self)
        self._keys = list(options)
        for place, (label, tip) in enumerate(options.values()):
            button = named(QToolButton(), label, tip)
            button.setText(label)
            button.setCheckable(True)
            button.setProperty("role", "segment")
            ends = {0: "first", len(options) - 1: "last"}
            button.setProperty("place", ends.get(place, "middle"))  # whose corners are round
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self._group.addButton(button, place)
            layout.addWidget(button)
        self._group.button(0).setChecked(True)
        self._group.idClicked.connect(lambda place: self.chosen.emit(self._keys[place]))

    def name(self, key: str, label: str) -> None:
        self.button(key).setText(label)

    def offer(self, key: str, on: bool) -> None:
        """Show or hide a choice; those at the ends have round corners."""
        self.button(key).setVisible(on)
        shown = [b for b in map(self.button, self._keys) if not b.isHidden()]
        for button in shown:
            ends = {shown[0]: "first", shown[-1]: "last"}
            set_style(button, "place", ends.get(button, "middle"))

    @property
    def value(self) -> str:
        return self._keys[self._group.checkedId()]

    @value.setter
    def value(self, key: str) -> None:
        self._group.button(self._keys.index(key)).setChecked(True)

    def button(self, key: str) -> QToolButton:
        found = self._group.button(self._keys.index(key))
        assert isinstance(found, QToolButton)
        return found

    def bind(self, session: Session, name: str, values: Mapping[str, object]) -> None:
        """Have a setting of the session follow the choice, and the choice the setting."""
        keys = {value: key for key, value in values.items()}

        def choose(key: str) -> None:
            session.update(**{name: values[key]})

        def follow(value: object) -> None:
            self.value = keys[value]

        self.chosen.connect(choose)
        getattr(session, f"{name}_changed").connect(follow)
        follow(getattr(session, name))


def fitting_choice(name: str, tip: str) -> QComboBox:
    """A box as wide as what it offers, also where its type is another when it is shown."""
    return named(QComboBox(sizeAdjustPolicy=QComboBox.SizeAdjustPolicy.AdjustToContents), name, tip)


def offer(box: QComboBox, items: Sequence[tuple[str, object]], chosen: object) -> None:
    """Offer texts that stand for data, if others are there, and choose by data, or the first."""
    there = [(box.itemText(i), box.itemData(i)) for i in range(box.count())]
    if there != list(items):
        box.clear()
        for text, data in items:
            box.addItem(text, data)
    keys = [data for _, data in items]
    box.setCurrentIndex(keys.index(chosen) if chosen in keys else 0)


HANDLE = 16  # pixels, as in the style sheet: 12 and the border on both sides


class StopSlider(QSlider):
    """A slider over a row of values; `dragged(value)` when the user moves it to another."""

    dragged = Signal(int)

    def __init__(self, label: str) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.stops: tuple[int, ...] = (0,)
        self._label = label
        self.setAccessibleName(f"{label}, slider")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # the field beside it has the keyboard
        self.valueChanged.connect(lambda place: self.dragged.emit(self.stops[place]))

    def show_stops(self, stops: tuple[int, ...], value: int) -> None:
        """Offer other values, with the handle at one of them; without a signal."""
        with QSignalBlocker(self):
            self.stops = stops
            self.setRange(0, len(stops) - 1)
            self.setPageStep(max(len(stops) // 8, 1))
            self.setValue(place_of(value, stops))
        self.setEnabled(len(stops) > 1)
        self.setToolTip(f"Drag: {reach_text(stops)}")

    def show_value(self, value: int) -> None:
        with QSignalBlocker(self):
            self.setValue(place_of(value, self.stops))

    def sizeHint(self) -> QSize:
        """Low, so that a row with a slider stays one row."""
        return QSize(80, max(current_theme().spacing.control // 2, 14))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self.setValue(self._place_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.isSliderDown():
            self.setValue(self._place_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(False)

    def _place_at(self, x: float) -> int:
        """The stop nearest to a position; the first and last lie half a handle from the ends."""
        room = max(self.width() - HANDLE, 1)
        share = min(max((x - HANDLE / 2) / room, 0.0), 1.0)
        return round(share * self.maximum())


class StopSpin(QSpinBox):
    """A field whose arrows go from stop to stop; any number may be typed."""

    def __init__(self) -> None:
        super().__init__()
        self.stops: tuple[int, ...] = ()
        self.setStepType(QAbstractSpinBox.StepType.DefaultStepType)

    def stepBy(self, steps: int) -> None:
        if self.stops:
            self.setValue(moved(self.value(), steps, self.stops))
        else:
            super().stepBy(steps)


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
            body.installEventFilter(self)

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


MOST_WORDS = 1000  # whose widths a caption remembers


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


def name_choices(root: QWidget) -> None:
    """Give each choice in a widget that no label belongs to a hidden one, with its name.

    On Linux Qt tells screen readers a choice's value for its name: they say the label instead.
    """
    labelled = [label.buddy() for label in root.findChildren(QLabel)]
    for box in root.findChildren(QComboBox):
        if not any(box is buddy for buddy in labelled) and box.parentWidget() is not None:
            label = QLabel(box.accessibleName(), box.parentWidget())
            label.hide()
            label.setBuddy(box)
