"""Docks that are moved in several events, and painted when all of them are in their places.

Each call that moves a dock has Qt lay out the whole page: thirty of them take 40 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gui.background.pieces import Pieces, Steps, whole
from gui.background.still import Still

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


class Moving(QObject):
    """Does one work at a time on a page's docks; the page's window is not painted meanwhile.

    `ended()` after the last event of a work.
    """

    ended = Signal()

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        self._area = area
        self._still = Still(self)
        self._pieces = Pieces(self)
        self._pieces.done.connect(self._still.release)
        self._pieces.done.connect(self.ended)
        self._inside = False

    @property
    def busy(self) -> bool:
        """Whether docks are on their way."""
        return self._pieces.busy

    def start(self, work: Steps) -> None:
        """Begin a work, in place of what is under way; on a page that is not seen all at once."""
        if self._area.isVisible():
            self._still.hold([self._area.window()])
            self._pieces.start(self._marked(work))
        else:
            self.stop()
            whole(work)

    def finish(self) -> None:
        """Do at once what is left; called by the work itself it does nothing."""
        if self.busy and not self._inside:
            self._pieces.finish()
            laid_out(self._area)

    def stop(self) -> None:
        """Leave what is left undone."""
        self._pieces.stop()
        self._still.release()

    def _marked(self, work: Steps) -> Steps:
        try:
            while True:
                self._inside = True
                try:
                    given = next(work)
                except StopIteration:
                    return
                finally:
                    self._inside = False
                yield given
        finally:
            work.close()


def laid_out(area: QWidget) -> None:
    """Have docks lie where they belong: else Qt lays out their page in an event of its own."""
    layout = area.layout()
    if layout is not None:
        layout.activate()
