"""Colouring of long texts a few milliseconds at a time, so that the window goes on meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QSignalBlocker, QTimer
from PySide6.QtGui import QSyntaxHighlighter, QTextDocument

BUDGET_S = 0.002  # of colouring in one go
WAITS = -1  # Qt's own, of a line that was never coloured
PAUSE_MS = 2  # between two goes, for all else


class PatientHighlighter(QSyntaxHighlighter):
    """Calls `colour` for each line, in order; a long text's later lines are coloured later.

    Qt goes on from a line to the next while states change, so that a line that waits has a state of
    its own.
    """

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._end: float | None = None  # of this go
        self._rest: int | None = None  # the first line that waits
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._go_on)

    @property
    def busy(self) -> bool:
        """Whether it has not come to the end, as of other work that is done piece by piece."""
        return self.waiting

    @property
    def waiting(self) -> bool:
        """Whether there are lines that have no colours yet."""
        return self._rest is not None

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Within, the whole text is replaced, and no line is asked for; then all are coloured.

        Qt would ask for each line at once: 0.1 s for the 36,000 of a megabyte.
        """
        with QSignalBlocker(self.document()):
            yield
        self._rest = 0
        self._go_on()

    def colour(self, text: str) -> None:
        """Colour the current line."""
        raise NotImplementedError

    def highlightBlock(self, text: str) -> None:
        """Colour a line, or leave it for later."""
        now = time.perf_counter()
        if self._end is None:
            self._end = now + BUDGET_S
            self._timer.start(PAUSE_MS)
        number = self.currentBlock().blockNumber()
        if now > self._end:
            self._rest = number if self._rest is None else min(number, self._rest)
            self.setCurrentBlockState(WAITS)
            return
        self.colour(text)

    def _go_on(self) -> None:
        self._end = None
        if self._rest is None:
            return
        block = self.document().findBlockByNumber(self._rest)
        self._rest = None
        if block.isValid():
            self.rehighlightBlock(block)
