"""The menu of an array's element, the same in every view that draws one."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QMenu, QWidget, QWidgetAction

from gui.scenes.breakpoints import exists, next_touch
from gui.scenes.selection import Breakpoint, Element
from gui.scenes.session import Session
from gui.scenes.text import index_text
from gui.scenes.why_element import Fetched


def element_menu(session: Session, element: Element, parent: QWidget) -> QMenu:
    """Its name, and what can be done: stop where it is touched, go to touches, explain, select."""
    menu = QMenu(parent)
    menu.setAccessibleName(index_text(*element))
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
    if session.trace is not None and element[0] in [array.name for array in session.trace.arrays]:
        menu.addAction("Why loaded so often?").triggered.connect(
            lambda: session.update(element=element, question=Fetched(*element))
        )
    menu.addAction("Select").triggered.connect(lambda: session.update(element=element))
    return menu


def _title(text: str, menu: QMenu) -> QWidgetAction:
    """Whose menu it is: a section's text is not drawn by every style."""
    label = QLabel(text)
    label.setProperty("role", "figure")
    label.setContentsMargins(22, 4, 26, 4)
    action = QWidgetAction(menu)
    action.setText(text)
    action.setDefaultWidget(label)
    action.setEnabled(False)
    return action


def go_to_touch(session: Session, element: Element, *, forward: bool = True) -> bool:
    """Select an element and go to the step that touches it next (or last); False where none is."""
    found = None
    if session.trace is not None and exists(session.trace, element):
        found = next_touch(session, element, forward=forward)
    session.update(playing=0, element=element, **({} if found is None else {"step": found}))
    return found is not None
