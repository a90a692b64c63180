"""The menu of a view as a whole: its picture, and which views there are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QMenu

from gui.pictures.gallery import WINDOW

if TYPE_CHECKING:
    from gui.commands.export import Exporter


class PictureMenu(QObject):
    """Opens where nothing pointed at has a menu of its own: headings, captions, empty places."""

    def __init__(self, exporter: Exporter) -> None:
        super().__init__(exporter)
        self._exporter, self._window = exporter, exporter.main
        self._window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take what comes to the window from whatever lies in it."""
        if not isinstance(event, QContextMenuEvent):
            return False
        menu = self.menu_for(self._exporter.gallery.at(self._window.childAt(event.pos())))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())
        return True

    def menu_for(self, name: str) -> QMenu:
        """The menu of a view, by its name."""
        menu, title = QMenu(self._window), "the window" if name == WINDOW else f"“{name}”"
        menu.addAction(f"Copy a picture of {title}", partial(self._exporter.copy, name))
        menu.addAction(f"Export {title}…", partial(self._exporter.export, name))
        page = self._window.step_page
        if self._window.pages.currentWidget() is page:
            views = menu.addMenu("Views")
            views.addActions([dock.toggleViewAction() for dock in page.docks.values()])
        return menu
