"""Sheets of Help: the keyboard shortcuts, made from the menus, and the words of the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QKeySequence,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QDialog, QFrame, QLineEdit, QScrollArea, QTextEdit, QWidget

from gui.looks.labels_and_layouts import fill, named, side_by_side, stacked, styled_label
from gui.looks.theme import current_theme
from gui.shell.menus import Command
from gui.views.glossary_words import WordDrawing, known_words

Lines = Sequence[tuple[str, str]]

MOUSE: Lines = (
    ("Wheel", "Zoom a matrix about the pointer"),
    ("Drag", "Move a matrix; drag a heading to move its view"),
    ("Click", "Select an element, a thread, a warp or a line"),
    ("Click a number", "Why this number?"),
    ("Right click an element", "Stop when it is touched"),
    ("Click a line's number", "Set or clear a breakpoint"),
    ("Double click a line", "Go to its next step"),
    ("+  −  0", "Zoom in or out, or show all, with the keyboard in a matrix"),
)
LESSON: Lines = (
    ("Return", "Answer, being sure; then the next question"),
    ("Shift+Return", "Answer by a guess"),
    ("A … H", "Choose an answer"),
    ("PgDown … PgUp", "The next question, the one before"),
)
ROOM: Lines = (
    ("PgDown", "Reveal the answer, then go on"),
    ("A … H", "A vote for an answer; with Shift one less"),
    ("V", "A second vote beside the first"),
)
COLUMNS, SCALES = (3, 2), (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6)  # the first that fit
TITLE_BAR = 36  # pixels that the system may put above a dialog
FRAME = QSize(4, 4)  # of the area around the columns
EDGE, BETWEEN, KEY_GAP = 26, 32, 14  # pixels
GAP, LINE_GAP, PART_GAP = 4, 3, 6


class CheatSheet(QDialog):
    """Every command that has a key, menu by menu, keys of lessons, and what the mouse does."""

    def __init__(self, menus: Mapping[str, Sequence[Command]], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.setObjectName("shell")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        parts = [(name.replace("&", ""), _keys(some)) for name, some in menus.items()]
        parts += [("In a lesson", LESSON), ("Before a room", ROOM), ("Mouse", MOUSE)]
        room = parent.screen().availableSize() - QSize(0, TITLE_BAR)
        count, scale = _fitting(parts, room - FRAME)
        sheet = QWidget(self)
        sheet.setObjectName("shell")
        made = [Column(some, scale) for some in columns(parts, count)]
        row = side_by_side(sheet, *made, gap=BETWEEN, edges=(EDGE, EDGE - 6, EDGE, EDGE - 10))
        for column in made:
            row.setAlignment(column, Qt.AlignmentFlag.AlignTop)
        area = named(QScrollArea(widgetResizable=True), "Keyboard shortcuts")
        fill(self, area)
        area.setWidget(sheet)
        self.resize((sheet.sizeHint() + FRAME).boundedTo(room))
        self.open()


class Column(QTextEdit):
    """Parts below each other, each a heading and its lines: keys, and what they do.

    Keys end and texts begin below each other within a part. It can be copied and read out, and
    leaves the keyboard to what scrolls it.
    """

    def __init__(self, parts: Sequence[tuple[str, Lines]], scale: float) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QTextEdit.LineWrapMode.NoWrap)
        for way in (self.setHorizontalScrollBarPolicy, self.setVerticalScrollBarPolicy):
            way(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAutoFillBackground(False)
        self.setAccessibleName(", ".join(title for title, _ in parts))
        document = self.document()
        document.setUndoRedoEnabled(False)
        document.setDocumentMargin(0)
        document.setDefaultFont(_type(scale))
        self._write(parts, scale)
        self.setFixedSize(document.size().toSize() + QSize(2, 0))

    def _write(self, parts: Sequence[tuple[str, Lines]], scale: float) -> None:
        theme, bold = current_theme(), _metrics(scale, bold=True)
        heading, key, what = QTextCharFormat(), QTextCharFormat(), QTextCharFormat()
        for style, color in ((heading, "text_dim"), (key, "text"), (what, "text")):
            style.setForeground(theme.color(color))
        for style in (heading, key):
            style.setFontWeight(QFont.Weight.DemiBold)
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        for place, (title, lines) in enumerate(parts):
            above = QTextBlockFormat()
            above.setTopMargin(PART_GAP + GAP if place else 0)
            above.setBottomMargin(GAP)
            if place:
                cursor.insertBlock(above)
            else:
                cursor.setBlockFormat(above)
            cursor.insertText(title, heading)
            end = max(bold.horizontalAdvance(keys) for keys, _ in lines)
            kinds = QTextOption.TabType
            line = QTextBlockFormat()
            line.setBottomMargin(LINE_GAP)
            line.setTabPositions(
                [
                    QTextOption.Tab(end, kinds.RightTab),
                    QTextOption.Tab(end + KEY_GAP, kinds.LeftTab),
                ]
            )
            for keys, text in lines:
                cursor.insertBlock(line)
                cursor.insertText(f"\t{keys}", key)
                cursor.insertText(f"\t{text}", what)
        cursor.endEditBlock()


def _keys(commands: Sequence[Command]) -> Lines:
    """The first key of each command; those of one row share a line, from the first to the last."""
    found: list[tuple[str, str]] = []
    for name, some in groupby((c for c in commands if c.keys), key=lambda c: c.row or c.text):
        keys = [_native(command.keys[0]) for command in some]
        text = keys[0] if len(keys) == 1 else f"{keys[0]} … {keys[-1]}"
        found.append((text, name.rstrip("…")))
    return tuple(found)


def _native(key: str) -> str:
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)


def _fitting(parts: Sequence[tuple[str, Lines]], room: QSize) -> tuple[int, float]:
    """How many columns, in type of what scale, so that all of it is seen; else the smallest."""
    for scale in SCALES:
        for count in COLUMNS:
            size = _size(columns(parts, count), scale)
            if size.width() <= room.width() and size.height() <= room.height():
                return count, scale
    return COLUMNS[0], SCALES[-1]


def _size(dealt: Sequence[Sequence[tuple[str, Lines]]], scale: float) -> QSize:
    """What columns take up in type of a scale."""
    plain, bold = (_metrics(scale, bold=strong) for strong in (False, True))
    line = max(plain.lineSpacing(), bold.lineSpacing())
    widths, heights = [], []
    for column in dealt:
        lines = [both for _, some in column for both in some]
        keys = max((bold.horizontalAdvance(key) for key, _ in lines), default=0)
        texts = max((plain.horizontalAdvance(text) for _, text in lines), default=0)
        widths.append(keys + KEY_GAP + texts + 4)
        heights.append(
            sum(line + GAP + len(some) * (line + LINE_GAP) + PART_GAP + GAP for _, some in column)
        )
    wide = sum(widths) + BETWEEN * (len(widths) - 1) + 2 * EDGE
    return QSize(wide, max(heights, default=0) + 2 * EDGE - 16)


def _metrics(scale: float, *, bold: bool) -> QFontMetrics:
    return QFontMetrics(_type(scale, bold=bold))


def _type(scale: float, *, bold: bool = False) -> QFont:
    font = current_theme().font(bold=bold)
    font.setPointSizeF(font.pointSizeF() * scale)
    return font


def columns(parts: Sequence[tuple[str, Lines]], count: int) -> list[list[tuple[str, Lines]]]:
    """Deal parts out to columns of about the same height, the longest parts first."""
    dealt: list[list[tuple[str, Lines]]] = [[] for _ in range(count)]
    heights = [0] * count
    for title, lines in sorted(parts, key=lambda part: -len(part[1])):
        if not lines:
            continue
        place = heights.index(min(heights))
        dealt[place].append((title, lines))
        heights[place] += len(lines) + 2
    return dealt


SIZE = (760, 620)


class GlossarySheet(QDialog):
    """Every word of resources/glossary.toml, in the order of the alphabet."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Glossary")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        field = QLineEdit(placeholderText="Find a word", clearButtonEnabled=True)
        self.search = named(field, "Find a word")
        self.search.textChanged.connect(self._filter)
        self.rows: list[tuple[str, QWidget]] = []
        for term in sorted(known_words().terms, key=lambda one: one.term.lower()):
            row, drawing = QWidget(), WordDrawing(term.drawing)
            words = [
                styled_label(term.term, role="figure", plain=True),
                styled_label(term.line, role="prose", wrap=True, plain=True),
            ]
            if term.see:
                see = f"See {', '.join(term.see)}."
                words.append(styled_label(see, role="dim", wrap=True, plain=True))
            line = side_by_side(row, drawing, (stacked(None, *words, gap=2), 1), gap=18)
            line.setAlignment(drawing, Qt.AlignmentFlag.AlignTop)
            row.setAccessibleName(f"{term.term}: {term.line}")
            self.rows.append((" ".join((*term.forms, term.line)).lower(), row))
        body = QWidget()
        stacked(body, *(row for _, row in self.rows), None, gap=14, edges=(18, 6, 18, 12))
        area = named(QScrollArea(widgetResizable=True), "Glossary")
        area.setWidget(body)
        top = side_by_side(None, self.search, edges=(18, 0, 18, 0))
        stacked(self, top, (area, 1), edges=(0, 12, 0, 0))
        self.resize(*SIZE)
        self.search.setFocus()
        self.open()

    def _filter(self, text: str) -> None:
        wanted = text.strip().lower()
        for words, row in self.rows:
            row.setVisible(wanted in words)
