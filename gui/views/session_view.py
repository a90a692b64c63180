"""A view that follows the session, one in which things are pointed at, and an element's menu."""

from __future__ import annotations

from importlib import import_module

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QContextMenuEvent, QMouseEvent, QPainter, QShowEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget, QWidgetAction

from core.launch import WARP
from core.links import Element
from gui.background import close_workers
from gui.looks.labels_and_layouts import named, styled_label
from gui.looks.theme import current_theme
from gui.scenes.names_of_elements_and_threads import index_text
from gui.scenes.question_in_views import veil_words
from gui.scenes.selection import Breakpoint, Hover
from gui.scenes.session import Session
from gui.scenes.step_views import StepView
from gui.scenes.why_an_element_is_loaded import Fetched
from gui.views.captions_and_panels import Caption

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

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.catch_up()

    def restyle(self) -> None:
        """Take up the colours of a new theme; the default repaints.

        Whoever sets the theme calls this, once for each view. Doing it at Qt's own PaletteChange
        would be too early: Qt is going through all widgets then, and crashes if one goes away.
        """
        self.update()


class CaptionedView(SessionView):
    """A view with a sentence over it, which says that a question veils what it would tell of."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.caption = Caption()

    def tell(self, words: str, *, veiled: bool) -> None:
        """Put words into the caption."""
        self.caption.setText(f"{veil_words(self.session)}." if veiled else words)

    def say(self, words: str, drawn: str = "", part: str = "") -> None:
        """Put words about a picture into its caption and its description for screen readers.

        Words that are `drawn` into an empty picture are not said in the caption again. Of a
        `part` that a question veils neither says anything.
        """
        veiled = bool(part) and self.session.hides(part)

        def show() -> None:
            self.tell(words, veiled=veiled)
            lit = self.session.lit
            told = [] if lit is None else [lit.words("right"), lit.words("given")]
            said = self.caption.text() or drawn
            self.setAccessibleDescription(". ".join(filter(None, [said, *told])))

        self.session.turns.offer(self.caption, show)


def view_of(row: StepView, session: Session) -> SessionView:
    """The view that a row of the Step page's views names as "module:Class"."""
    module, _, name = row.widget.partition(":")
    view: SessionView = getattr(import_module(module), name)(session)
    return view


class PointedView(CaptionedView):
    """A drawn view whose parts tell the session what is pointed at; elements have their menu."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def whole(self) -> QRectF:
        """Where a veil over all of the view lies."""
        return QRectF(self.rect()).adjusted(4, 4, -4, -4)

    def inner(self) -> QRectF:
        """Where the picture lies."""
        space = current_theme().spacing
        return QRectF(self.rect()).adjusted(space.margin, 4, -space.margin, -space.gap)

    def painter(self) -> QPainter:
        """A painter of the view, on its ground."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), current_theme().color("panel"))
        return painter

    def hover_at(self, point: QPointF) -> Hover | None:
        """What lies under a pixel of the view, None for nothing."""
        raise NotImplementedError

    def picked_thread(self, hover: Hover) -> bool:
        """Answer with the lane or thread that was clicked, if a question asks for such a thing."""
        if hover.thread is None:
            return False
        pick = self.session.pick
        return pick("lane", hover.thread % WARP) or pick("thread", hover.thread)

    def point_at(self, point: QPointF) -> None:
        self.session.hover = self.hover_at(point)

    def menu_at(self, point: QPointF) -> QMenu | None:
        hover = self.hover_at(point)
        if hover is None or hover.element is None:
            return None
        return _element_menu(self.session, hover.element, self)

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


def _element_menu(session: Session, element: Element, parent: QWidget) -> QMenu:
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
