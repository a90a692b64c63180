"""The benchmark page's work off the UI thread: binding ceilings, and a file to sweep."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from core.cancelling import check, within
from core.errors import TilescopeError
from gui.background import Progress, Worker

if TYPE_CHECKING:
    from core.ladder import Ladder
    from core.own_files.file_launch import FileLaunch
    from gui.scenes.benchmark import CeilingKey, Measured

REGISTER_TILES = 30  # the first rung whose threads compute more than one element
COUNTING_S = 60.0
"""Counting a launch is given up after so long: a block of register tiles takes its time."""

log = logging.getLogger(__name__)


class CeilingCounter(QObject):
    """The binding ceilings known so far. `changed()` for each that is counted, and at the end."""

    changed = Signal()
    _counted = Signal(object, object)

    def __init__(self, ladder: Ladder, parent: QObject) -> None:
        super().__init__(parent)
        self._ladder = ladder
        self.known: dict[CeilingKey, tuple[str, float] | None] = {}
        self._tried: set[CeilingKey | None] = set()  # each once: what fails would fail again
        self._worker = Worker(self, "ceilings of results")
        self._counted.connect(self._on_counted)
        self._worker.idle.connect(self.changed)

    @property
    def busy(self) -> bool:
        """Whether something is being counted."""
        return self._worker.busy

    def want(self, measured: Sequence[Measured]) -> None:
        """Count those that are missing, quick ones first, unless it is at work already."""
        each = {m.ceiling_key: m for m in measured}
        missing = [m for key, m in each.items() if key is not None and key not in self._tried]
        if missing and not self.busy:
            self._tried.update(m.ceiling_key for m in missing)
            missing.sort(key=self._effort)
            self._worker.submit(ceilings_job, self._ladder, missing, self._counted.emit)

    @property
    def left(self) -> int:
        """How many are still to be counted."""
        return len(self._tried) - len(self.known) if self.busy else 0

    def _effort(self, measured: Measured) -> tuple[bool, int]:
        """Register tiles last: a thread of theirs does the work of dozens."""
        rung = self._ladder.get(measured.result.rung or "")
        return rung is not None and rung.number >= REGISTER_TILES, measured.n or 0

    def _on_counted(self, key: CeilingKey, ceiling: tuple[str, float] | None) -> None:
        self.known[key] = ceiling
        self.changed.emit()


def ceilings_job(
    progress: Progress,
    ladder: Ladder,
    wanted: Sequence[Measured],
    tell: Callable[[object, object], None],
) -> None:
    """The work of counting results' launches; `tell(key, (name, GFLOPS))` comes for each.

    What cannot be counted gives None in place of the pair.
    """
    from core.gpu.benchmark_result import achieved

    for place, measured in enumerate(wanted):
        try:
            with within(COUNTING_S, f"It was not counted within {COUNTING_S:.0f} s."):
                lowest = achieved(measured.result, ladder).ceilings.lowest
        except (TilescopeError, KeyError) as error:  # too long, or another version's rung
            check()
            log.info("no ceiling of %s: %s", measured.result.title, error)
            tell(measured.ceiling_key, None)
        else:
            tell(measured.ceiling_key, (lowest.name, lowest.gflops))
        progress((place + 1) / len(wanted))


def file_job(_: Progress, path: Path) -> tuple[str, str, FileLaunch]:
    """The work of reading a file to sweep; gives its name, its source and a launch to begin with.

    The launch has `{n}` and `{tile}` where they can be made out. Raises TilescopeError.
    """
    from core.guessing.first_launch import guess_launch
    from core.own_files.sources_and_headers import read_source
    from gui.scenes.benchmark import templated

    source = read_source(path)
    return path.name, source, templated(guess_launch(source, str(path)))
