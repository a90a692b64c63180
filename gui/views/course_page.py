"""The course: three ways to begin, the lessons as a path, and what is learnt and what is shaky."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QEnterEvent,
    QFontMetrics,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QFrame,
    QLabel,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from gui.looks.labels_and_layouts import empty, fill, named, side_by_side, stacked, styled_label
from gui.looks.theme import current_theme
from gui.scenes.course_shown import EXERCISES, WAYS, CourseShown, LessonRow
from gui.views.buttons_and_choices import RETURN, push_button
from gui.views.captions_and_panels import Scrolled
from gui.views.drawing_tools import LEFT, text
from gui.views.page_stack import PageWidget

if TYPE_CHECKING:
    from gui.scenes.course_shown import ConceptRow

WIDEST = 132  # digits: lines of a wider page would be too long to follow
NARROW = 104  # digits: on a narrower page the parts stand below each other
STATES = {"learnt": ("●", "learnt"), "shaky": ("◐", "shaky"), "new": ("○", "not asked yet")}


class CoursePage(PageWidget, QWidget):
    """It shows and says what is wanted.

    `lesson_wanted(name, step)`; `test_wanted("before" or "after")`; `export_wanted("json" or
    "csv")`; `came` when it is to be seen, and what it shows may be old. The other buttons are for
    others to listen to: `ways["look"].button`, `ways["bring"].button`, `review`, `open_file`.
    """

    lesson_wanted = Signal(str, int)
    test_wanted = Signal(str)
    export_wanted = Signal(str)
    came = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Course")
        self.shown: CourseShown | None = None
        self.ways = {key: WayCard(title, text) for key, title, text in WAYS}
        self.ways["learn"].button.setText("Begin")
        self.ways["look"].button.setText("Look at a kernel")
        self.ways["bring"].button.setText("Open a kernel…")
        self.ways["learn"].button.setProperty("role", "primary")
        self.ways["learn"].button.clicked.connect(self._learn)
        self.rows: list[LessonButton] = []
        self._make_side()
        self._lay_out()

    def _make_side(self) -> None:
        self.review = push_button("Review")
        self.before = push_button("Test before the course")
        self.before.clicked.connect(lambda: self.test_wanted.emit("before"))
        self.after = push_button("Test after the course")
        self.after.clicked.connect(lambda: self.test_wanted.emit("after"))
        self.before_score, self.after_score = (styled_label(role="dim") for _ in range(2))
        self.review_line = styled_label(role="dim", wrap=True)
        self.concepts = stacked(None, gap=3)
        self.concepts_title = styled_label("What is learnt, what is shaky", role="heading")
        own = "A lesson file of your own, or your lecturer's"
        self.open_file = push_button("Open a lesson…", own)
        answers = "All answers for a teacher: without a name, without times of day"
        self.export_json = push_button("Progress as JSON…", answers)
        self.export_csv = named(push_button("as CSV…", answers), "Progress as CSV…")
        self.export_json.clicked.connect(lambda: self.export_wanted.emit("json"))
        self.export_csv.clicked.connect(lambda: self.export_wanted.emit("csv"))

    def _lay_out(self) -> None:
        self._top = side_by_side(None, *((card, 1) for card in self.ways.values()), gap=16)
        self.waiting = styled_label("Reading the lessons …", role="dim")
        self.path = stacked(None, self.waiting, gap=0)
        heading = styled_label("The lessons", role="heading")
        left = stacked(None, heading, self.path, None, gap=6)
        left.setAlignment(heading, Qt.AlignmentFlag.AlignTop)
        self.side = QWidget()
        self.side.hide()  # until it is known what stands there
        again = styled_label("Again, and tested", role="heading")
        tests = (self.before, self.before_score, self.after, self.after_score)
        concepts = (8, self.concepts_title, self.concepts)
        exports = side_by_side(None, (self.export_json, 2), (self.export_csv, 1))
        files = (8, styled_label("Files", role="heading"), self.open_file, exports)
        review = (again, self.review, self.review_line)
        stacked(self.side, *review, *tests, *concepts, *files, None, gap=6)
        self._below = side_by_side(None, (left, 5), (self.side, 3), gap=36)
        self.sheet = QWidget()
        stacked(self.sheet, self._top, self._below, None, gap=14, edges=(24, 10, 24, 10))
        body = QWidget()
        side_by_side(body, None, (self.sheet, 100), None)
        self.area = Scrolled(body)
        fill(self, self.area)
        self._fit()

    # ---- what is shown

    def show_course(self, shown: CourseShown) -> None:
        self.shown = shown
        self.path.removeWidget(self.waiting)
        self.waiting.hide()
        self.side.show()
        learn = self.ways["learn"]
        row = shown.next
        exercises = row.name == EXERCISES
        name = "the exercises" if exercises else f"lesson {row.name}"
        learn.button.setText(f"{'Go on with' if row.begun else 'Begin'} {name}")
        learn.about.setText(row.title if exercises else f"{row.name}: {row.title}")
        while len(self.rows) < len(shown.lessons):
            button = LessonButton()
            button.clicked.connect(lambda _=False, b=button: self._choose(b))
            self.rows.append(button)
            self.path.addWidget(button)
        for place, (button, one) in enumerate(zip(self.rows, shown.lessons, strict=True)):
            button.show_row(one, place == 0, place + 1 == len(shown.lessons))
        self.review.setVisible(shown.can_review)
        self.review_line.setVisible(shown.can_review)
        self.review.setProperty("role", "primary" if shown.review_due else "")
        self.review.setText("Review: five questions")
        due = "One is due: other numbers, what is shaky first."
        self.review_line.setText(due if shown.review_due else "Whenever you like, other numbers.")
        for label, (known, asked) in (
            (self.before_score, shown.before),
            (self.after_score, shown.after),
        ):
            none = f"{shown.tested} questions, without help; nothing is explained."
            label.setText(f"{known} of {asked} known." if asked else none)
        self._show_concepts(shown)
        for export in (self.export_json, self.export_csv):
            export.setEnabled(shown.begun)

    def _show_concepts(self, shown: CourseShown) -> None:
        empty(self.concepts)
        seen = [row for row in shown.concepts if row.state != "new"]
        self.concepts_title.setVisible(bool(seen))
        for row in sorted(seen, key=lambda row: row.state == "learnt"):
            self.concepts.addWidget(_concept_label(row))

    def _choose(self, button: LessonButton) -> None:
        if button.row is not None:
            self.lesson_wanted.emit(button.row.name, button.row.at)

    def _learn(self) -> None:
        row = self.shown.next if self.shown is not None else None
        self.lesson_wanted.emit(row.name if row else "1A", row.at if row else 0)

    # ---- as a page

    def main_view(self) -> QWidget:
        """Return begins to learn."""
        return self.ways["learn"].button

    def restyle(self) -> None:
        self._fit()
        if self.shown is not None:
            self._show_concepts(self.shown)
        for button in self.rows:
            button.updateGeometry()
            button.update()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.came.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        digit = QFontMetrics(current_theme().font()).horizontalAdvance("0")
        self.sheet.setMaximumWidth(WIDEST * digit)
        narrow = self.width() < NARROW * digit
        way = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        self._below.setDirection(way)
        self._top.setDirection(way)


def _concept_label(row: ConceptRow) -> QLabel:
    mark, word = STATES[row.state]
    label = styled_label(f"{mark}  {row.title}", role="prose", plain=True)
    held = "".join(f"\nStill held, perhaps: {belief}" for belief in row.beliefs)
    label.setToolTip(f"{row.line}\n{row.right} of {row.asked} known at once: {word}.{held}")
    label.setAccessibleName(f"{row.title}: {word}")
    return label


class WayCard(QFrame):
    """One way to begin: a heading, a sentence, a button, and a line about it."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self.setProperty("role", "panel")
        self.button = QPushButton()
        self.button.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.button.setAutoDefault(True)  # Return presses it, as Space does
        self.about = styled_label(role="dim", wrap=True, plain=True)
        heading = styled_label(title, role="way")
        words = styled_label(text, role="prose", wrap=True)
        self.button.setAccessibleDescription(text)
        rows = (heading, words, self.about, None, self.button)
        stacked(self, *rows, gap=8, edges=(20, 12, 20, 14))


class LessonButton(QAbstractButton):
    """A lesson of the path: how much of it is right as a ring, its title, and a line below."""

    def __init__(self) -> None:
        super().__init__()
        self.row: LessonRow | None = None
        self._first, self._last, self._over = False, False, False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_row(self, row: LessonRow, first: bool, last: bool) -> None:
        self.row, self._first, self._last = row, first, last
        named(self, f"Lesson {row.name}: {row.title}, {row.says}", row.aim)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, round(2.3 * QFontMetrics(current_theme().font()).lineSpacing()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Return begins the lesson, as Space does."""
        if event.key() in RETURN:
            self.click()
        else:
            super().keyPressEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        self._over = True
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._over = False
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        row, theme = self.row, current_theme()
        if row is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._over or self.hasFocus():
            painter.setPen(QPen(theme.color("accent"), 1) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(theme.tint("accent", 0.08))
            box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
            painter.drawRoundedRect(box, theme.spacing.radius, theme.spacing.radius)
        high = float(self.height())
        size = 0.52 * high
        middle = QPointF(10 + size / 2, high / 2)
        painter.setPen(QPen(theme.color("border"), 2))
        if not self._first:
            painter.drawLine(QPointF(middle.x(), 0), QPointF(middle.x(), middle.y() - size / 2))
        if not self._last:
            painter.drawLine(QPointF(middle.x(), middle.y() + size / 2), QPointF(middle.x(), high))
        self._paint_ring(painter, QRectF(middle.x() - size / 2, middle.y() - size / 2, size, size))
        left = middle.x() + size / 2 + 14
        body, small = theme.font(bold=row.next), theme.font("small")
        line = QFontMetrics(body).lineSpacing()
        below = QFontMetrics(small).lineSpacing()
        top = (high - line - below) / 2
        wide = self.width() - left - 10
        title = row.title if row.name == "exercises" else f"{row.name}   {row.title}"
        area = QRectF(left, top, wide, line)
        text(painter, area, title, theme.color("text"), body, LEFT)
        area = QRectF(left, top + line, wide, below)
        text(painter, area, row.says, theme.color("text_dim"), small, LEFT)

    def _paint_ring(self, painter: QPainter, box: QRectF) -> None:
        row, theme = self.row, current_theme()
        assert row is not None
        inner = box.adjusted(2, 2, -2, -2)
        painter.setBrush(theme.color("ideal") if row.done else theme.color("panel"))
        painter.setPen(QPen(theme.color("accent" if row.next else "border"), 2.5))
        painter.drawEllipse(inner)
        if row.begun:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(
                QPen(theme.color("ideal"), 3.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
            )
            painter.drawArc(inner, 90 * 16, -round(360 * 16 * row.right / row.count))
        if row.done:
            painter.setPen(QPen(theme.color("panel"), 2.2))
            x, y, w = box.center().x(), box.center().y(), box.width() * 0.18
            painter.drawPolyline(
                [QPointF(x - w, y), QPointF(x - 0.2 * w, y + 0.8 * w), QPointF(x + w, y - 0.8 * w)]
            )
