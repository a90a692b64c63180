"""What stands in the heading of the matrices: which picture of them, and how much of each."""

from __future__ import annotations

from PySide6.QtWidgets import QToolButton

from gui.scenes.session import Session
from gui.views.action_button import action_button
from gui.views.segmented import Segmented


def mode_choice(session: Session) -> Segmented:
    """What the step does, or how often elements have been loaded."""
    mode = Segmented(
        {"step": "This step", "loads": "Times loaded"},
        {
            "step": "What this step loads and stores, and who owns the result",
            "loads": "How often the block has loaded each element from global memory so far",
        },
    )
    mode.shorten({"step": "Step", "loads": "Loads"})
    mode.bind(session, "heat", {"step": False, "loads": True})
    return mode


def extent_choice(session: Session) -> Segmented:
    """The whole of each matrix, or the block's part."""
    extent = Segmented(
        {"whole": "Whole", "block": "Block"},
        {
            "whole": "Every matrix as a whole",
            "block": "Only what the block works on: its part of C and the k of this phase",
        },
    )
    extent.bind(session, "close_up", {"whole": False, "block": True})
    return extent


def fit_button() -> QToolButton:
    """The button that shows everything."""
    return action_button("Fit", "Show the whole of every matrix (0)", "Fit the matrices")
