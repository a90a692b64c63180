"""What a theme's file says: its colours by name, its sizes of type, its distances."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Surfaces:
    """What things are drawn on and written with, as `#rrggbb`."""

    window: str
    panel: str
    raised: str
    field: str
    border: str
    grid: str
    text: str
    text_dim: str
    text_faint: str
    accent: str
    current_line: str


@dataclass(frozen=True)
class Meanings:
    """One colour for each thing that a step can do or an element can be, as `#rrggbb`."""

    load: str
    store: str
    used: str
    waste: str
    conflict: str
    ideal: str
    selected: str
    hover: str
    inactive: str
    barrier: str
    guard: str
    warning: str
    error: str


@dataclass(frozen=True)
class Sizes:
    """Type sizes in points."""

    body: float
    small: float
    caption: float
    heading: float
    mono: float


@dataclass(frozen=True)
class Spacing:
    """Distances in device-independent pixels."""

    gap: int
    margin: int
    radius: int
    control: int
