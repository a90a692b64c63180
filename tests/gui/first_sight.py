"""The application, whose report says besides what a person can see of it at first glance.

The real window on a real display, started as `python -m tests.gui.first_sight`: what it would say
of itself is asked of the widgets there, since nobody can read elided text off pixels.
"""

from __future__ import annotations

import sys

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QLabel, QPushButton, QTabBar, QToolButton

from gui.looks.theme import current_theme
from gui.views.captions_and_panels import Caption
from gui.views.code_edit import STYLES
from tests.gui.reported_app import main, state


def cut(window):
    """The texts that are to be seen and do not fit."""
    found = []
    for label in window.findChildren(QLabel):
        if not label.isVisible() or not label.text():
            continue
        if isinstance(label, Caption):
            fits = " ".join(label.shown_lines()) == label.text()
        elif label.wordWrap():
            fits = label.heightForWidth(label.width()) <= label.height() + 1
        else:
            fits = label.sizeHint().width() <= label.width() + 1
        if not fits:
            found.append(label.text())
    for button in window.findChildren(QPushButton) + window.findChildren(QToolButton):
        text = button.text().replace("&", "")
        if button.isVisible() and button.fontMetrics().horizontalAdvance(text) > button.width():
            found.append(text)
    for bar in window.findChildren(QTabBar):
        if bar.isVisible():
            for tab in range(bar.count()):
                text = bar.tabText(tab).replace("&", "")
                if bar.fontMetrics().horizontalAdvance(text) > bar.tabRect(tab).width():
                    found.append(text)
    return found


def place(widget):
    """(x, y, width, height) on the screen, None of what is not shown."""
    if not widget.isVisible():
        return None
    corner = widget.mapToGlobal(QPoint(0, 0))
    return corner.x(), corner.y(), widget.width(), widget.height()


def sight(window):
    labels = window.pages.current.findChildren(QLabel)
    theme = current_theme()
    return {
        "cut": cut(window),
        "said": [label.text() for label in labels if label.isVisible() and label.text()],
        "transport": place(window.transport),
        "source": place(window.step_page.source.edit),
        "words": {kind: theme.color(name).getRgb()[:3] for kind, (name, _) in STYLES.items()},
        "busy": window.recorder.worker.busy,
    }


def report(window):
    return {**state(window), "sight": sight(window)}


if __name__ == "__main__":
    sys.exit(main(report))
