"""A button with a word on it, as the headings of views and pages have them."""

from __future__ import annotations

from PySide6.QtWidgets import QToolButton


def action_button(text: str, tip: str, name: str = "") -> QToolButton:
    """A button that says `text`; screen readers hear `name`, or the text where there is none."""
    button = QToolButton()
    button.setText(text)
    button.setProperty("role", "action")
    button.setToolTip(tip)
    button.setAccessibleName(name or text)
    return button
