"""The panel that answers "Why this number?": over the window, where it covers least."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QMouseEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QSizeGrip,
    QTextBrowser,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.analysis.explain_total import Place
from core.analysis.explanation import Explanation
from gui.scenes.session import Session
from gui.scenes.why import Topic, as_html, explain
from gui.style import set_icon
from gui.theme import current_theme
from gui.views.base import SessionView

WIDTH, HEIGHT = 104, 26  # digits and lines of text
ANEW = {"trace", "block", "counts"}  # what changes a total
SHARE = 0.72  # of the window's width, at most: what is explained has to be seen beside it
MARGIN = 12  # pixels between the panel and the window's edge


class WhyPanel(SessionView):
    """Explains a topic, and follows the step while it is one of the step's."""

    WATCHES = frozenset({"trace", "block", "step", "thread", "counts"})
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
        self.frame = QFrame(self)
        self.frame.setProperty("role", "panel")
        self.title = QLabel()
        self.title.setProperty("role", "figure")
        self.title.setWordWrap(True)
        self.copy = QToolButton()
        self.copy.setText("Copy")
        self.copy.setProperty("role", "action")
        self.copy.setToolTip("Copy the explanation as text")
        self.copy.setAccessibleName("Copy the explanation")
        self.close_button = QToolButton()
        self.close_button.setToolTip("Close (Esc)")
        self.close_button.setAccessibleName("Close the explanation")
        self.body = QTextBrowser()
        self.body.setFrameShape(QFrame.Shape.NoFrame)
        self.body.setOpenLinks(False)
        self.body.setLineWrapMode(QTextBrowser.LineWrapMode.WidgetWidth)
        self.body.setAccessibleName("Explanation")
        self._lay_out()
        self.copy.clicked.connect(self.copy_text)
        self.close_button.clicked.connect(self.closed)
        self.setAccessibleName("Why this number?")
        self.setCursor(Qt.CursorShape.SizeAllCursor)
        self.body.setCursor(Qt.CursorShape.IBeamCursor)
        self.hide()
        self.restyle()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(14, 10, 8, 4)
        head.addWidget(self.title, 1)
        head.addWidget(self.copy, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(QSizeGrip(self), 0, Qt.AlignmentFlag.AlignBottom)
        inner = QVBoxLayout(self.frame)
        inner.setContentsMargins(1, 1, 1, 1)
        inner.setSpacing(0)
        inner.addLayout(head)
        inner.addWidget(self.body, 1)
        inner.addLayout(foot)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.frame)

    def ask(self, topic: Topic, beside: QPoint | None = None) -> None:
        """Explain a topic; `beside` is where the number stands, in the parent's coordinates."""
        fresh = topic != self.topic or not self.isVisible()
        self.topic = topic
        if beside is not None or not self.isVisible():
            self._place(beside)
        self.refresh(self.WATCHES)
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
        bar = self.body.verticalScrollBar()
        place = bar.value()
        self.body.setHtml(as_html(found, current_theme().mono().family()))
        bar.setValue(place)

    def restyle(self) -> None:
        """Take up the theme's type and colours."""
        theme = current_theme()
        set_icon(self.close_button, "close")
        self.body.setFont(theme.font())
        self.body.document().setDefaultStyleSheet(
            f"h4 {{ color: {theme.color('text').name()}; margin: 8px 0 2px 0; }}"
            f"p {{ color: {theme.color('text_dim').name()}; margin: 0 0 3px 0; }}"
            f"pre {{ color: {theme.color('text').name()}; margin: 0 0 2px 10px; "
            f"font-size: {theme.mono(0.92).pointSizeF():.1f}pt; }}"
        )
        self.body.document().setDocumentMargin(14)
        self.explanation = Explanation("", ())
        if self.isVisible():
            self.refresh(self.WATCHES)

    def copy_text(self) -> None:
        """Put the explanation on the clipboard."""
        QGuiApplication.clipboard().setText(self.explanation.text)

    # ---- where it stands

    def sizeHint(self) -> QSize:
        """Wide enough for a line of addresses."""
        metrics = self.fontMetrics()
        return QSize(WIDTH * metrics.horizontalAdvance("0"), HEIGHT * metrics.lineSpacing())

    def _place(self, beside: QPoint | None) -> None:
        """Beside the number, on the side with more room, inside the parent."""
        parent = self.parentWidget()
        assert parent is not None
        room = parent.rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        if self._above is not None and self._above.isVisible():
            room.setBottom(self._above.mapTo(parent, QPoint(0, -MARGIN)).y())
        wanted = self.sizeHint()
        most = round(SHARE * room.width())
        size = QSize(min(wanted.width(), most), min(wanted.height(), room.height()))
        point = beside if beside is not None else room.center()
        right = point.x() < room.center().x()
        x = point.x() + 24 if right else point.x() - 24 - size.width()
        x = min(max(x, room.left()), room.right() - size.width())
        y = min(max(point.y() - size.height() // 3, room.top()), room.bottom() - size.height())
        self.setGeometry(x, y, size.width(), size.height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take hold of the panel by its title."""
        self._grabbed = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move with the pointer."""
        if self._grabbed is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self.move(self.pos() + (event.position() - self._grabbed).toPoint())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go."""
        self._grabbed = None
