"""At 1280 x 800 no sentence, label or button is cut, in any theme, at steps of every kind."""

import contextlib

import pytest
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton

from gui.looks.theme import apply_theme
from gui.shell.main_window import MainWindow
from gui.views.captions_and_panels import Caption

RECORDING_MS = 30_000
TOGETHER = (("Source", "Variables"), ("PTX", "Counters"), ("Phases", "Breakpoints"))
LINKS = ("tiled?n=32&tile=16", "transpose_padded", "tensor_core", "broken_fill_barrier")


def cut(window):
    """What is to be seen and does not fit."""
    for label in window.findChildren(QLabel):
        if not label.isVisible() or not label.text():
            continue
        if isinstance(label, Caption):
            if " ".join(label.shown_lines()) != label.text():
                yield label.text(), label.shown_lines()
        elif label.wordWrap():
            if label.heightForWidth(label.width()) > label.height() + 1:
                yield label.text(), label.size()
        elif label.sizeHint().width() > label.width() + 1:
            yield label.text(), label.size()
    for button in window.findChildren(QPushButton) + window.findChildren(QToolButton):
        text = button.text().replace("&", "")
        if button.isVisible() and button.fontMetrics().horizontalAdvance(text) > button.width():
            yield text, button.size()


def steps_of_interest(block):
    """The first, the last, and the first of each kind of access and of each barrier."""
    found = {"first": 0, "last": block.n_steps - 1}
    for step in range(block.n_steps):
        access = block.access(step)
        if access is not None:
            found.setdefault((access.space, access.kind), step)
            found[access.space] = step
    found["barrier"] = block.seek(0, "barrier", forward=True)
    return sorted(set(found.values()))


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "projector"])
def test_nothing_that_is_to_be_read_is_cut(qtbot, qapp, ladder, theme):
    apply_theme(qapp, theme)
    window = MainWindow(ladder, theme)
    qtbot.addWidget(window)
    window.resize(1280, 800)
    window.show()
    qtbot.waitExposed(window)
    for link in LINKS:
        with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
            window.moments.open_link(link)
        session, page = window.session, window.step_page
        qtbot.waitUntil(lambda: not window.recorder.worker.busy, timeout=RECORDING_MS)
        for step in steps_of_interest(session.block_trace):
            session.step = step
            for names in TOGETHER:
                for name in names:
                    page.front(name)
                qapp.processEvents()
                with contextlib.suppress(qtbot.TimeoutError):  # what is said comes in turns
                    qtbot.waitUntil(lambda: not list(cut(window)))
                assert list(cut(window)) == [], (link, step, names)
