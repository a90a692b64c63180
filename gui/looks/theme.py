"""Colours, type and spacing of the window: light, dark and projector, read from resources/themes.

Meaning before decoration: a view asks for `theme.load` or `theme.conflict`, never for a colour.
Owners (thread, warp, block) take the colours of Okabe and Ito's palette, which readers with any
common colour blindness can tell apart (https://jfly.uni-koeln.de/color/); they are mixed into the
panel, so that the full-strength colours are left to what the current step does.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import qInstallMessageHandler
from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory

from core.launch import WARP

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
DEFAULT = "light"
NORMAL = 100
"""The text size, in per cent, that leaves type and distances as the theme's file gives them."""

SANS = ("Inter", "Segoe UI Variable", "Segoe UI", "SF Pro Text", "Noto Sans", "DejaVu Sans")
MONO = ("JetBrains Mono", "Cascadia Mono", "SF Mono", "Menlo", "Consolas", "DejaVu Sans Mono")

Owner = Literal["thread", "warp", "block"]
Rgba = NDArray[np.uint8]

FEW_THREADS = 16
"""Up to this many threads, each has a colour of its own instead of its warp's."""

_current = (DEFAULT, NORMAL)
_WORN = "tilescope_theme"  # the application's property that names the theme on it, and its size


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


@dataclass(frozen=True)
class Theme:
    """One look of the window."""

    name: str
    title: str
    dark: bool
    surfaces: Surfaces
    meanings: Meanings
    sizes: Sizes
    spacing: Spacing
    categories: tuple[str, ...]
    strength: float
    spread: float
    heat_stops: tuple[str, str, str]
    text_size: int = NORMAL
    """Per cent of the file's sizes of type and distances that these are; corners stay."""

    @property
    def key(self) -> str:
        """Names it with its text size: two that draw alike have the same."""
        return f"{self.name}-{self.text_size}"

    def color(self, name: str, alpha: float = 1.0) -> QColor:
        """A surface or meaning by name, with `alpha` 0..1. Raises AttributeError if unknown."""
        color = QColor(getattr(self.meanings, name, None) or getattr(self.surfaces, name))
        color.setAlphaF(alpha)
        return color

    def tint(self, name: str, strength: float) -> QColor:
        """The named colour mixed into the panel: 0 is the panel, 1 the colour. Opaque."""
        text = getattr(self.meanings, name, None) or getattr(self.surfaces, name)
        return QColor.fromRgb(*mix(self.surfaces.panel, text, strength).tolist())

    def font(self, size: str = "body", *, bold: bool = False) -> QFont:
        """The sans-serif face at one of the theme's sizes, with figures of equal width."""
        return QFont(_font(SANS, getattr(self.sizes, size), bold))

    def mono(self, scale: float = 1.0, *, bold: bool = False) -> QFont:
        """The monospaced face at `scale` times the theme's size."""
        return QFont(_font(MONO, self.sizes.mono * scale, bold))

    def owner_color(self, kind: Owner, index: int, count: int | None = None) -> QColor:
        """The colour of thread, warp or block `index` (of `count`, where the owner has so many)."""
        lut = self.owner_lut(kind, max(count or 0, index + 1))
        return QColor.fromRgb(*(int(c) for c in lut[index][:3]))

    def owner_lut(self, kind: Owner, count: int) -> Rgba:
        """Colours of owners 0..count-1 as uint8[count, 4] (red, green, blue, alpha).

        A warp or block has its category's colour, lighter each time the palette repeats. A thread
        has its warp's colour, weaker from lane 0 to lane 31, so that the direction in which a
        warp runs over a matrix can be seen; in a block of one warp or less that spans few threads,
        each thread has a category of its own.
        """
        return _owner_lut(self, kind, count)

    def heat(self, fraction: float) -> QColor:
        """The colour of a value 0..1 on the heat scale."""
        level = round(min(max(fraction, 0.0), 1.0) * 255)
        return QColor.fromRgb(*(int(c) for c in self.heat_lut[level][:3]))

    @cached_property
    def heat_lut(self) -> Rgba:
        """The heat scale as uint8[256, 4], equal steps of lightness in OKLab from low to high."""
        low, middle, high = (to_oklab(stop) for stop in self.heat_stops)
        t = np.linspace(0.0, 1.0, 256)[:, None]
        lab = np.where(
            t < 0.5, low + (middle - low) * 2 * t, middle + (high - middle) * (2 * t - 1)
        )
        lab[:, 0] = np.linspace(low[0], high[0], 256)
        return np.column_stack([from_oklab(lab), np.full(256, 255, np.uint8)]).astype(np.uint8)


@cache
def _font(families: tuple[str, ...], size: float, bold: bool) -> QFont:
    font = QFont(list(families))
    font.setPointSizeF(size)
    font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    if hasattr(QFont, "Tag"):
        font.setFeature(QFont.Tag("tnum"), 1)
        font.setFeature(QFont.Tag("calt"), 0)  # it makes 0x40 into 0×40 and ++ into one sign
    font.setStyleStrategy(QFont.StyleStrategy.PreferAntialias)
    return font


@cache
def _owner_lut(theme: Theme, kind: Owner, count: int) -> Rgba:
    panel = to_oklab(theme.surfaces.panel)
    bases = np.array([to_oklab(c) for c in theme.categories])
    owners = np.arange(count)
    strength = np.full(count, theme.strength)
    hue = owners
    if kind == "thread" and count > FEW_THREADS:
        hue = owners // WARP
        strength = strength * (1.0 - (owners % WARP) / (WARP - 1) * theme.spread * 1.6)
    repeat = hue // len(bases)
    strength = strength * np.where(repeat % 2 == 0, 1.0, 0.62) * (0.94 ** (repeat // 2))
    lab = panel + (bases[hue % len(bases)] - panel) * strength[:, None]
    lut = np.full((count, 4), 255, np.uint8)
    lut[:, :3] = from_oklab(lab)
    lut.flags.writeable = False
    return lut


def theme_names() -> tuple[str, ...]:
    """The themes there are: light first, then dark, then others by name."""
    found = {path.stem for path in (RESOURCES / "themes").glob("*.toml")}
    first = [name for name in ("light", "dark") if name in found]
    return (*first, *sorted(found - set(first)))


def load_theme(name: str, text_size: int = NORMAL) -> Theme:
    """Read a theme by name, with its type and distances at `text_size` per cent.

    It is read once. Raises KeyError with the names there are if it is unknown.
    """
    return _load(name, text_size)  # a cache of this would keep both ways to say 100


@cache
def _load(name: str, text_size: int) -> Theme:
    if text_size != NORMAL:
        return _sized(load_theme(name), text_size)
    path = RESOURCES / "themes" / f"{name}.toml"
    if name not in theme_names():
        raise KeyError(f"there is no theme {name!r}; there are {', '.join(theme_names())}")
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    owners, heat = data["owners"], data["heat"]
    return Theme(
        name=name,
        title=data["title"],
        dark=data["dark"],
        surfaces=Surfaces(**data["surfaces"]),
        meanings=Meanings(**data["meanings"]),
        sizes=Sizes(**data["sizes"]),
        spacing=Spacing(**data["spacing"]),
        categories=tuple(owners["categories"]),
        strength=owners["strength"],
        spread=owners["spread"],
        heat_stops=(heat["low"], heat["middle"], heat["high"]),
    )


def _sized(theme: Theme, text_size: int) -> Theme:
    by = text_size / NORMAL
    sizes = Sizes(**{name: round(points * by, 2) for name, points in vars(theme.sizes).items()})
    distances = {name: round(pixels * by) for name, pixels in vars(theme.spacing).items()}
    spacing = Spacing(**{**distances, "radius": theme.spacing.radius})
    return replace(theme, sizes=sizes, spacing=spacing, text_size=text_size)


def current_theme() -> Theme:
    """The theme last applied (light before that). Views ask for it each time they paint."""
    return load_theme(*_current)


def apply_theme(app: QApplication, name: str, text_size: int = NORMAL) -> Theme:
    """Give the whole application a theme; every widget gets a PaletteChange event and repaints.

    The style is set once, and a theme that is on already is left alone: each of these polishes
    every widget anew. So would a style sheet of the application, at several times the cost: the
    window has one (`gui.looks.style_sheet`).
    """
    global _current
    theme = load_theme(name, text_size)
    _current = name, text_size
    worn = app.property(_WORN)
    if worn == theme.key:
        return theme
    app.setProperty(_WORN, theme.key)
    if worn is None:
        load_fonts()
        app.setStyle(QStyleFactory.create("Fusion"))
    app.setFont(theme.font())
    app.setPalette(palette(theme))
    return theme


@contextmanager
def bare_application(theme: str) -> Iterator[QApplication]:
    """Qt without a screen, in a theme; its remarks go to stderr, less one about hints of sizes."""

    def hear(kind: object, context: object, text: str) -> None:
        if "propagateSizeHints" not in text:  # the offscreen platform ignores them
            sys.stderr.write(f"{text}\n")

    before = qInstallMessageHandler(hear)
    app = QApplication.instance() or QApplication(["tilescope"])
    assert isinstance(app, QApplication)
    apply_theme(app, theme)
    try:
        yield app
    finally:
        app.processEvents()
        qInstallMessageHandler(before)


@cache
def load_fonts() -> tuple[str, ...]:
    """Register the bundled faces once; returns the families. Needs a QGuiApplication."""
    families: list[str] = []
    for path in sorted((RESOURCES / "fonts").glob("*.[ot]tf")):
        families += QFontDatabase.applicationFontFamilies(
            QFontDatabase.addApplicationFont(str(path))
        )
    return tuple(dict.fromkeys(families))


def palette(theme: Theme) -> QPalette:
    """The theme as a QPalette, disabled colours included."""
    role, group, color = QPalette.ColorRole, QPalette.ColorGroup, theme.color
    result = QPalette()
    for key, name in {
        role.Window: "window",
        role.WindowText: "text",
        role.Base: "field",
        role.AlternateBase: "raised",
        role.Text: "text",
        role.Button: "raised",
        role.ButtonText: "text",
        role.ToolTipBase: "raised",
        role.ToolTipText: "text",
        role.PlaceholderText: "text_faint",
        role.Highlight: "accent",
        role.Link: "accent",
        role.Mid: "border",
        role.Dark: "border",
        role.Light: "raised",
    }.items():
        result.setColor(key, color(name))
    result.setColor(role.HighlightedText, QColor("#0b1016" if theme.dark else "#ffffff"))
    for key in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(group.Disabled, key, color("text_faint"))
    result.setColor(group.Disabled, role.Highlight, color("border"))
    return result


# -- colour arithmetic in OKLab, where equal distances look equal (Björn Ottosson, 2020) ----------
#
# Source of the matrices: https://bottosson.github.io/posts/oklab/ (public domain).

_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_INVERSE_LMS = np.linalg.inv(_LMS)
_INVERSE_LAB = np.linalg.inv(_LAB)


def parse(text: str) -> NDArray[np.float64]:
    """`#rrggbb` as float64[3] in 0..255."""
    return np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)


def to_oklab(color: str | NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert sRGB (`#rrggbb`, or float[..., 3] in 0..255) to OKLab: float64[..., 3]."""
    rgb = (parse(color) if isinstance(color, str) else np.asarray(color, np.float64)) / 255.0
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(linear @ _LMS.T) @ _LAB.T)


def from_oklab(lab: NDArray[np.float64]) -> NDArray[np.uint8]:
    """OKLab float[..., 3] to sRGB uint8[..., 3]; what lies outside sRGB is clipped."""
    linear = np.clip((lab @ _INVERSE_LAB.T) ** 3 @ _INVERSE_LMS.T, 0.0, 1.0)
    rgb = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.asarray(np.rint(rgb * 255), dtype=np.uint8)


@cache
def mix(first: str, second: str, amount: float) -> NDArray[np.uint8]:
    """The colour `amount` (0..1) of the way from first to second, in OKLab, as uint8[3]."""
    a, b = to_oklab(first), to_oklab(second)
    mixed = from_oklab(a + (b - a) * amount)
    mixed.flags.writeable = False
    return mixed
