"""The button that opens "Why this number?" from a view's heading."""

from __future__ import annotations

from PySide6.QtWidgets import QToolButton

from gui.views.action_button import action_button


def why_button() -> QToolButton:
    """A button for the heading of a view with numbers."""
    tip = "Explain the numbers of this step: lanes, addresses and formulas (W)"
    return action_button("Why?", tip, "Why these numbers?")
