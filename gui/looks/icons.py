"""The signs on buttons: qtawesome's icons of Phosphor, in colours of the theme."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import PySide6
from PySide6 import QtCore, QtGui, QtWidgets
from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QAbstractButton

from gui.looks.theme import current_theme

ICONS = {
    "first": "ph.skip-back-fill",
    "back": "ph.rewind-fill",
    "play_back": "ph.play-fill",
    "pause": "ph.pause-fill",
    "play": "ph.play-fill",
    "forward": "ph.fast-forward-fill",
    "last": "ph.skip-forward-fill",
    "theme": "ph.circle-half-fill",
    "help": "ph.question",
    "close": "ph.x",
    "error": "ph.warning-circle-fill",
    "info": "ph.info-fill",
    "run": "ph.lightning-fill",
    "stop": "ph.stop-fill",
    "reset": "ph.arrow-counter-clockwise",
    "enlarge": "ph.arrows-out-simple",
    "put_back": "ph.arrows-in-simple",
}


@cache
def _glyphs() -> Any:
    """qtawesome's icons, of Phosphor alone: it would read ten more fonts.

    It imports Qt by way of qtpy, which takes in every name that Qt has: a tenth of the start. So
    PySide6 stands in for that.
    """
    parts: dict[str, ModuleType] = {"QtCore": QtCore, "QtGui": QtGui, "QtWidgets": QtWidgets}
    qtpy = ModuleType("qtpy")
    vars(qtpy).update(parts, PYSIDE_VERSION=PySide6.__version__)
    stand_ins = {"qtpy": qtpy} | {f"qtpy.{name}": part for name, part in parts.items()}
    before = {name: sys.modules.get(name) for name in stand_ins}
    sys.modules.update(stand_ins)
    try:
        from qtawesome import iconic_font
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    fonts = Path(iconic_font.__file__).with_name("fonts")
    files = (next(fonts.glob(f"phosphor*{ending}")).name for ending in (".ttf", ".json"))
    return iconic_font.IconicFont(("ph", *files))


@cache
def _icon(name: str, color: str, disabled: str) -> QIcon:
    options = {"hflip": True} if name == "play_back" else {}
    return _glyphs().icon(ICONS[name], color=color, color_disabled=disabled, **options)


def set_icon(button: QAbstractButton, name: str, role: str = "text_dim", size: int = 18) -> None:
    """Give a button one of ICONS in a colour of the theme; `size` is that of 10 pt type."""
    button.setProperty("sign", [name, role, size])
    dress_icon(button)


def dress_icon(button: QAbstractButton) -> None:
    """Draw the icon that a button has been given, if any, as the current theme has it."""
    sign = button.property("sign")
    if sign is None:
        return
    name, role, size = sign
    theme = current_theme()
    size = round(size * theme.sizes.body / 10)
    color, disabled = (theme.color(r).name() for r in (role, "border"))
    button.setIcon(_icon(name, color, disabled))
    button.setIconSize(QSize(size, size))
