"""What settings of the session may be: pages, compared views, units of steps, speeds, sizes."""

from __future__ import annotations

from typing import Literal

Unit = Literal["access", "line", "barrier", "phase"]
UNITS: tuple[Unit, ...] = ("access", "line", "barrier", "phase")
PAGE_KEYS = ("step", "compare", "benchmark", "ceilings", "occupancy", "course")
"""The window's pages, by what links and sessions call them; `gui.shell.pages` makes them."""
COMPARED_VIEWS = ("Matrices", "Memory", "Global", "Shared", "Source", "Counters")
"""Views of a comparison; "Memory" is whichever of the next two the step accesses."""
MIN_SPEED, MAX_SPEED = 0.5, 60.0
TEXT_SIZES = (80, 90, 100, 115, 130, 150, 175, 200)
"""Sizes of text there are, in per cent of the theme's."""
