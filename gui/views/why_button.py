"""The button that opens "Why this number?" from a view's heading."""

from __future__ import annotations

from PySide6.QtWidgets import QToolButton


def why_button() -> QToolButton:
    """A button for the heading of a view with numbers."""
    button = QToolButton()
    button.setText("Why?")
    button.setProperty("role", "action")
    button.setToolTip("Explain the numbers of this step: lanes, addresses and formulas (W)")
    button.setAccessibleName("Why these numbers?")
    return button
