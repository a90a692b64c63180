"""Keeps the session between two starts: restored when the window opens, saved when it closes.

The list of moments, which nobody could type again, is saved whenever it changes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QByteArray, QLockFile, QObject, QTimer
from PySide6.QtGui import QScreen

from core.links import Link
from gui.looks.theme import NORMAL, theme_names
from gui.scenes.configuration import Configuration
from gui.scenes.saved_state import LOOKS, Saved, save, selection
from gui.scenes.setting_choices import TEXT_SIZES
from gui.shell.main_window import MainWindow
from gui.shell.pages import PAGES

LOCKED_MS = 3000  # how long another window's writing is waited for


class Keeper(QObject):
    """Saves one window's session in a file; None for one that is kept nowhere."""

    def __init__(self, window: MainWindow, path: Path | None) -> None:
        super().__init__(window)
        self.main = window
        self.path = path
        self._base: Saved | None = None  # what this window and the file last had in common
        if path is not None:
            window.teaching.path = path.with_name("progress.json")
        window.closing.connect(self.save)
        window.lecture.changed.connect(self.save)

    def save(self) -> None:
        if self.path is None:
            return
        lock = QLockFile(f"{self.path}.lock")
        lock.tryLock(LOCKED_MS)  # where that fails, as in a folder that is closed, save says why
        saved = self.saved()
        save(saved, self.path, self._base)
        self._base = saved
        lock.unlock()

    def saved(self) -> Saved:
        main = self.main
        kept = selection(main.session)
        awaited = main.moments.awaited
        if awaited is not None:  # closed before what was asked for could be shown
            places = {name: getattr(awaited, name) for name in ("block", "step", "thread")}
            kept |= {name: place for name, place in places.items() if place is not None}
            kept["configuration"] = main.session.configuration
        draft, wanted = main.step_page.source.draft, kept["configuration"]
        if draft.of_exercise and wanted is not None and wanted.key == draft.key:
            kept["configuration"] = replace(wanted, source=None)  # its text is among the drafts
        return Saved(
            **kept,
            theme=main.session.theme,
            text_size=self._text_size(),
            page=main.tabs.value,
            toured=main.teaching.greeted,
            geometry=bytes(main.saveGeometry().toBase64().data()).decode(),
            layout=main.step_page.save_layout(),
            left=main.left_column.kept(main.enlarging.left),
            breakpoints=main.session.breakpoints_of_all(),
            looks={name: getattr(main.session, name) for name in LOOKS},
            drafts=draft.kept(),
            launches=dict(main.workbench.launches),
            texts=dict(main.workbench.texts),
            moments=main.lecture.moments,
            moment=main.lecture.at,
        )

    def _text_size(self) -> int:
        """The text size if somebody has chosen it, 0 while it is the first guess."""
        size = self.main.session.text_size
        return 0 if size == text_size_of(None, self.main.screen()) else size

    def restore_window(self, saved: Saved, *, geometry: bool = True) -> None:
        """Take up the place and layout of the window, and what was typed; before it is shown."""
        main = self.main
        self._base = saved
        main.teaching.greeted = saved.toured
        main.lecture.restore(saved.moments, saved.moment)
        main.step_page.source.draft.restore(saved.drafts)
        main.workbench.launches.update(saved.launches)
        main.workbench.texts.update(saved.texts)
        if geometry and saved.geometry:
            main.restoreGeometry(QByteArray.fromBase64(saved.geometry.encode()))
        main.session.kept.of.update(saved.breakpoints)
        main.session.update(**saved.looks)
        if geometry:
            QTimer.singleShot(0, main, lambda: self._restore_layout(saved))

    def restore_session(self, saved: Saved, instead: str) -> None:
        """Record what was shown and look there; the rung `instead` where there is none."""
        main = self.main
        versus = saved.versus if _is_known(saved.versus, main) else None
        main.session.update(unit=saved.unit, speed=saved.speed, versus=versus)
        if saved.configuration is None:
            main.recorder.configure(instead)
        else:
            places = Link(block=saved.block, step=saved.step, thread=saved.thread, exact=False)
            main.moments.restore(saved.configuration, places, instead)
        if saved.page in (page.key for page in PAGES):
            main.look_at_page(saved.page)

    def _restore_layout(self, saved: Saved) -> None:
        if saved.left > 0:
            self.main.left_column.take(saved.left)
        self.main.left_column.restore(saved.left)
        self.main.step_page.restore_layout(saved.layout)


def _is_known(kept: Configuration | None, main: MainWindow) -> bool:
    return kept is not None and (kept.own is not None or kept.rung in main.recorder.ladder)


def text_size_of(saved: Saved | None, screen: QScreen) -> int:
    """The text size to start with, in per cent: the one chosen before, or one that is readable.

    Text that is 13 of 1,080 lines high can be read; on a screen of more it is to have at least
    three quarters of that share of the height. What Qt or the system scales already (device
    independent pixels, fonts of more than 96 dots an inch) is not scaled again.
    """
    if saved is not None and saved.text_size in TEXT_SIZES:
        return saved.text_size
    lines = screen.size().height() * 96 / screen.logicalDotsPerInchY()
    wanted = NORMAL * max(0.75 * lines / 1080, 1.0)
    return max(size for size in TEXT_SIZES if size <= wanted)


def theme_of(saved: Saved | None, wanted: str | None) -> str:
    """The theme to start with: the one asked for, the saved one, or light."""
    saved_theme = saved.theme if saved is not None and saved.theme in theme_names() else "light"
    return wanted or saved_theme
