"""What waits for the first paint begins after it, and once."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget

from gui.background import AfterFirstPaint


class Painted(QWidget):
    def __init__(self, told: list[str]) -> None:
        super().__init__()
        self.told = told

    def paintEvent(self, _) -> None:
        self.told.append("painted")


@pytest.mark.slow
def test_it_begins_after_the_first_paint_and_once(qtbot):
    told: list[str] = []
    window = Painted(told)
    qtbot.addWidget(window)
    AfterFirstPaint(window, lambda: told.append("begun"))
    window.show()
    qtbot.waitUntil(lambda: "begun" in told)
    assert told.index("painted") < told.index("begun")
    window.update()
    qtbot.wait(1200)  # past the time for windows that are not painted
    assert told.count("begun") == 1


@pytest.mark.slow
def test_a_window_that_is_not_painted_begins_too(qtbot):
    told: list[str] = []
    window = Painted(told)
    qtbot.addWidget(window)
    AfterFirstPaint(window, lambda: told.append("begun"))
    qtbot.waitUntil(lambda: told == ["begun"], timeout=5000)
