"""The panel that answers "Why this number?": over the window, where it covers least."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRect, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QFontMetrics, QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QFrame, QMainWindow, QSizeGrip, QTextBrowser, QWidget

from core.explain.explanations import Explanation, Place
from gui.looks.labels_and_layouts import fill, named, side_by_side, stacked, styled_label
from gui.looks.theme import current_theme
from gui.scenes.explanation_as_html import FOLDED, as_html, heading_of
from gui.scenes.session import Session
from gui.scenes.why_this_number import Topic, explain
from gui.views.buttons_and_choices import action_button, icon_button
from gui.views.session_view import SessionView

WIDTH, HEIGHT = 104, 26  # digits and lines of text, at most
LEAST_WIDTH = 52  # digits
ANEW = {"trace", "block", "counts"}  # what changes a total
SHARE = 0.72  # of the window's width, at most: what is explained has to be seen beside it
MARGIN = 12  # pixels between the panel and the window's edge
BESIDE = 10  # and between it and the number's view
TEXT_EDGE = 14  # around the text
FRAME = 40  # the panel's height without its title and text
BUTTONS = 120  # beside the title


class WhyPanel(SessionView):
    """Explains a topic, and follows the step while it is one of the step's."""

    WATCHES = frozenset({"trace", "block", "step", "thread", "counts", "explained"})
    READ = True
    closed = Signal()

    def __init__(self, session: Session, parent: QWidget, above: QWidget | None = None) -> None:
        """It stands inside the parent, and above the widget `above` while that is shown."""
        super().__init__(session, parent)
        self._above = above
        self.topic: Topic | None = None
        self.side = ""
        """Stands before the title: whose number it is, where two launches are compared."""
        self.explanation = Explanation("", ())
        self._grabbed: QPointF | None = None
        self._unfolded: set[str] = set()
        """Headings of lists that are shown whole."""
        self.frame = QFrame(self)
        self.frame.setProperty("role", "panel")
        self.title = styled_label(role="figure", wrap=True)
        self.copy = action_button("Copy", "Copy the explanation as text", "Copy the explanation")
        self.close_button = icon_button("Close (Esc)", "Close the explanation", icon="close")
        self.body = named(QTextBrowser(openLinks=False), "Explanation")
        self.body.setFrameShape(QFrame.Shape.NoFrame)
        self.body.anchorClicked.connect(self._unfold)
        self._lay_out()
        self.copy.clicked.connect(self.copy_text)
        self.close_button.clicked.connect(self.closed)
        self.setAccessibleName("Why this number?")
        self.setCursor(Qt.CursorShape.SizeAllCursor)
        self.body.setCursor(Qt.CursorShape.IBeamCursor)
        self.hide()
        self.restyle()

    def _lay_out(self) -> None:
        buttons = (self.copy, self.close_button)
        head = side_by_side(None, (self.title, 1), *buttons, edges=(14, 10, 8, 4))
        for button in buttons:
            head.setAlignment(button, Qt.AlignmentFlag.AlignTop)
        foot = side_by_side(None, None, grip := QSizeGrip(self))
        foot.setAlignment(grip, Qt.AlignmentFlag.AlignBottom)
        stacked(self.frame, head, (self.body, 1), foot, gap=0, edges=(1, 1, 1, 1))
        fill(self, self.frame)

    def ask(self, topic: Topic, beside: QPoint | None = None, view: QRect | None = None) -> None:
        """Explain a topic; `beside` is where the number stands, in the parent's coordinates.

        `view` is what is to be seen meanwhile: the view that has the number.
        """
        fresh = topic != self.topic or not self.isVisible()
        self.topic = topic
        if fresh:
            self._unfolded.clear()
        self.refresh(self.WATCHES)
        if beside is not None or not self.isVisible():
            self._place(beside, view)
        self.show()
        self.raise_()
        if fresh:
            self.body.verticalScrollBar().setValue(0)

    def refresh(self, names: frozenset[str]) -> None:
        """Explain anew; the text keeps its place while the step moves. A total stays as it is."""
        if self.topic is None or (isinstance(self.topic, Place) and not names & ANEW):
            return
        found = explain(self.session, self.topic)
        if found == self.explanation and self.body.toPlainText():
            return
        self.explanation = found
        self.title.setText(f"{self.side}{found.title}")
        self._show_text()

    def _show_text(self) -> None:
        bar = self.body.verticalScrollBar()
        place = bar.value()
        mono = current_theme().mono().family()
        self.body.setHtml(as_html(self.explanation, mono, self._unfolded))
        bar.setValue(place)

    def _unfold(self, link: QUrl) -> None:
        self._unfolded.add(link.toString())
        self._show_text()
        room, size = self._room(), self._wanted(self.width())
        self.resize(self.width(), min(max(size.height(), self.height()), room.bottom() - self.y()))

    def restyle(self) -> None:
        theme = current_theme()
        self.body.setFont(theme.font())
        self.body.document().setDefaultStyleSheet(
            f"h4 {{ color: {theme.color('text').name()}; margin: 8px 0 2px 0; font-weight: 600; }}"
            f"a {{ color: {theme.color('accent').name()}; text-decoration: none; }}"
            f".answer {{ color: {theme.color('text').name()}; margin: 0 0 6px 0; "
            f"font-weight: 600; }} .more {{ margin: 0 0 4px 10px; }}"
            f"p {{ color: {theme.color('text_dim').name()}; margin: 0 0 3px 0; }}"
            f"pre {{ color: {theme.color('text').name()}; margin: 0 0 2px 10px; "
            f"font-size: {theme.mono(0.92).pointSizeF():.1f}pt; }}"
        )
        self.body.document().setDocumentMargin(TEXT_EDGE)
        self.explanation = Explanation("", ())
        if self.isVisible():
            self.refresh(self.WATCHES)

    def copy_text(self) -> None:
        QGuiApplication.clipboard().setText(self.explanation.text)

    # ---- where it stands

    def _wanted(self, width: int = 0) -> QSize:
        """As wide as the longest line of figures (or `width`), as high as all of it then is."""
        metrics, document = self.fontMetrics(), self.body.document()
        if not width:
            digit = metrics.horizontalAdvance("0")
            least, most = LEAST_WIDTH * digit, WIDTH * digit
            figures = QFontMetrics(current_theme().mono(0.92))
            lines = [
                line
                for section in self.explanation.sections
                for line in section.lines[
                    : None if heading_of(section) in self._unfolded else FOLDED
                ]
            ]
            wide = max((figures.horizontalAdvance(line) for line in lines), default=0)
            bar = self.body.verticalScrollBar().sizeHint().width()
            width = min(max(wide + 2 * TEXT_EDGE + 10 + bar + 4, least), most)
        document.setTextWidth(width - self.body.verticalScrollBar().sizeHint().width() - 4)
        high = round(document.size().height()) + 2
        head = self.title.heightForWidth(width - BUTTONS)
        return QSize(width, high + max(head, current_theme().spacing.control) + FRAME)

    def _room(self) -> QRect:
        parent = self.parentWidget()
        assert parent is not None
        room = parent.rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        if self._above is not None and self._above.isVisible():
            room.setBottom(self._above.mapTo(parent, QPoint(0, -MARGIN)).y())
        header = parent.menuWidget() if isinstance(parent, QMainWindow) else None
        if header is not None:
            room.setTop(header.height() + MARGIN // 2)
        return room

    def _place(self, beside: QPoint | None, view: QRect | None) -> None:
        """Beside the number's view, or else the number, on the side with more room."""
        room = self._room()
        most = QSize(
            round(SHARE * room.width()),
            min(HEIGHT * self.fontMetrics().lineSpacing(), room.height()),
        )
        size = self._wanted().boundedTo(most)
        if size.width() == most.width():
            size = self._wanted(size.width()).boundedTo(most)
        point = beside if beside is not None else (view or room).center()
        keep = view if view is not None else QRect(point, QSize(1, 1))
        left, right = keep.left() - BESIDE - size.width(), keep.right() + BESIDE
        fits = [x for x in (right, left) if room.left() <= x <= room.right() - size.width()]
        more = right if room.right() - keep.right() > keep.left() - room.left() else left
        x = min(max(fits[0] if fits else more, room.left()), room.right() - size.width())
        y = min(max(point.y() - size.height() // 3, room.top()), room.bottom() - size.height())
        self.setGeometry(x, y, size.width(), size.height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._grabbed = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grabbed is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self.move(self.pos() + (event.position() - self._grabbed).toPoint())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._grabbed = None
