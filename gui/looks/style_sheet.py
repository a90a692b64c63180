"""The rules that give the window's own parts (panels, tables, transport) their look.

The palette and type come from `gui.looks.theme`; this adds what a QPalette cannot say. Widgets opt
in by object name or by the dynamic property `role`. The window has one sheet with the rules of
every theme and text size; its own name and the property `TEXT_SIZE` say which of them apply
(`gui.commands.theme_applier`).
"""

from __future__ import annotations

import re
from functools import cache

from PySide6.QtWidgets import QWidget

from gui.looks.theme import Theme, load_theme, theme_names
from gui.scenes.setting_choices import TEXT_SIZES

TEXT_SIZE = "textSize"
"""The window's property that says its text size in per cent."""

Blocks = list[tuple[str, list[str]]]
"""Rules of a sheet: selectors, and declarations."""


def window_name(theme: str) -> str:
    """The object name of a window that wears this theme."""
    return f"window-{theme}"


@cache
def stylesheet() -> str:
    """Rules for everything in a window of any `window_name`."""
    return "".join(_within(window_name(name), rules(load_theme(name))) for name in theme_names())


@cache
def size_rules() -> str:
    """Of each theme what other text sizes change, for a window with the property `TEXT_SIZE`."""
    found = ""
    for name in theme_names():
        plain = _blocks(rules(load_theme(name)))
        for size in TEXT_SIZES:
            changes = _changes(plain, _blocks(rules(load_theme(name, size))))
            found += _within(f'{window_name(name)}[{TEXT_SIZE}="{size}"]', changes)
    return found


def _changes(plain: Blocks, sized: Blocks) -> str:
    """The declarations that are others at a text size; empty at the normal one."""
    found = ""
    for (selectors, before), (_, after) in zip(plain, sized, strict=True):
        changed = [new for old, new in zip(before, after, strict=True) if old != new]
        if changed:
            found += f"{selectors.strip()} {{ {'; '.join(changed)} }}\n"
    return found


def _blocks(text: str) -> Blocks:
    parts = (block.split("{") for block in text.split("}")[:-1])
    return [(selectors, body.split(";")) for selectors, body in parts]


def _within(name: str, text: str) -> str:
    """The same rules, for what is in an object of this name."""

    def selectors(found: re.Match[str]) -> str:
        return ", ".join(f"#{name} {one.strip()}" for one in found[1].split(",")) + " {"

    return re.sub(r"([^{}]+){", selectors, text)


def rules(theme: Theme) -> str:
    """One theme's rules."""
    s, m, z, p = theme.surfaces, theme.meanings, theme.sizes, theme.spacing
    chosen = theme.tint("accent", 0.16).name()
    hovered = theme.tint("accent", 0.08).name()
    family = ", ".join(f'"{name}"' for name in theme.font().families())
    return f"""
    QLabel, QToolButton, QPushButton, QMenuBar, QMenu, QHeaderView {{ font-family: {family}; }}
    QToolTip {{ color: {s.text}; background: {s.raised}; border: 1px solid {s.border};
        padding: 4px 6px; }}
    QDockWidget {{ color: {s.text_dim}; titlebar-close-icon: none; }}
    QDockWidget::title {{ background: {s.window}; padding: 5px {p.margin}px; }}
    QScrollArea {{ border: none; }}
    #shell {{ background: {s.window}; }}
    #header {{ background: {s.panel}; border-bottom: 1px solid {s.border}; }}
    #transport {{ background: {s.panel}; border-top: 1px solid {s.border}; }}
    #wordmark {{ font-size: {z.body + 3}pt; font-weight: 600; color: {s.text}; }}
    #launchTitle {{ font-size: {z.caption}pt; font-weight: 600; color: {s.text}; }}
    #launchFacts {{ font-size: {z.caption}pt; color: {s.text_dim}; }}

    QFrame[role="panel"] {{ background: {s.panel}; border: 1px solid {s.border};
                            border-radius: {p.radius}px; }}
    QFrame[role="dockTitle"] {{ background: {s.panel}; border: 1px solid {s.border};
        border-bottom: none; border-top-left-radius: {p.radius}px;
        border-top-right-radius: {p.radius}px; }}
    QFrame[role="dockBody"] {{ background: {s.panel}; border: 1px solid {s.border};
        border-top: none; border-bottom-left-radius: {p.radius}px;
        border-bottom-right-radius: {p.radius}px; }}
    QMainWindow::separator {{ background: {s.window}; width: 8px; height: 8px; }}
    QMainWindow::separator:hover {{ background: {s.border}; }}
    StepPage {{ background: {s.window}; }}
    StepPage > QTabBar {{ background: transparent; }}
    StepPage > QTabBar::tab {{ background: transparent; color: {s.text_dim};
        border: 1px solid transparent; border-bottom: none; padding: 4px 11px;
        margin-right: 1px; border-top-left-radius: {p.radius}px;
        border-top-right-radius: {p.radius}px; font-size: {z.heading}pt; }}
    StepPage > QTabBar::tab:hover {{ color: {s.text}; background: {hovered}; }}
    StepPage > QTabBar::tab:selected {{ background: {s.panel}; color: {s.text};
        font-weight: 600; border-color: {s.border}; }}
    QLabel[role="heading"] {{ color: {s.text_dim}; font-size: {z.heading}pt; font-weight: 600; }}
    QLabel[role="caption"] {{ color: {s.text}; font-size: {z.body}pt; }}
    QLabel[role="dim"] {{ color: {s.text_dim}; font-size: {z.body}pt; }}
    QLabel[role="small"] {{ color: {s.text_dim}; font-size: {z.small}pt; }}
    QLabel[role="now"] {{ color: {s.accent}; font-size: {z.small}pt; font-weight: 600; }}
    QLabel[role="error"] {{ color: {m.error}; font-size: {z.body}pt; }}
    QLabel[role="question"] {{ color: {s.text}; font-size: {z.body + 2}pt; font-weight: 600; }}
    QDialog {{ background: {s.panel}; }}
    QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
    QLabel[role="figure"] {{ color: {s.text}; font-size: {z.body}pt; font-weight: 600; }}

    #lessonPanel {{ background: {s.panel}; border: 1px solid {s.border};
        border-radius: {p.radius}px; }}
    QLabel[role="lesson"] {{ color: {s.text_dim}; font-size: {z.heading}pt; font-weight: 600; }}
    QLabel[role="way"] {{ color: {s.text}; font-size: {z.body * 1.7:g}pt; font-weight: 600; }}
    QLabel[role="ask"] {{ color: {s.text}; font-size: {z.body * 1.1:g}pt; }}
    QLabel[role="prose"], QLabel[role="choice"], QLabel[role="goal"] {{ color: {s.text};
        font-size: {z.body}pt; }}
    QLabel[role="goal"] {{ padding: 1px 0; }}
    QLabel[role="goal"][told="right"] {{ color: {m.ideal}; }}
    QLabel[role="choice"] {{ padding: 3px 6px 2px 6px; border-left: 3px solid transparent; }}
    QLabel[role="choice"][told="right"] {{ border-left-color: {m.ideal};
        background: {theme.tint("ideal", 0.12).name()}; }}
    QLabel[role="choice"][told="wrong"] {{ border-left-color: {m.error};
        background: {theme.tint("error", 0.10).name()}; }}
    QLabel[role="choice"][told="other"] {{ color: {s.text_dim}; }}
    QLabel[role="hint"] {{ color: {s.text}; font-size: {z.body}pt; padding: 6px 8px;
        background: {s.raised}; border-radius: {p.radius}px; }}
    QLabel[role="verdict"] {{ color: {s.text}; font-size: {z.body * 1.2:g}pt; font-weight: 600; }}
    QLabel[role="verdict"][told="right"] {{ color: {m.ideal}; }}
    QLabel[role="verdict"][told="near"] {{ color: {m.warning}; }}
    QLabel[role="verdict"][told="wrong"] {{ color: {m.error}; }}
    QListWidget[role="lines"] {{ border: 1px solid {s.border}; border-radius: {p.radius}px; }}
    #momentTitle {{ background: {s.panel}; border-bottom: 1px solid {s.border}; }}
    QLabel[role="moment"] {{ color: {s.text}; font-size: {z.heading * 1.2:g}pt; font-weight: 600; }}
    QLabel[large="true"] {{ font-size: {z.body * 1.4:g}pt; }}
    QLabel[role="moment"][large="true"] {{ font-size: {z.body * 1.7:g}pt; }}
    #message {{ background: {theme.tint("error", 0.10).name()};
                border: 1px solid {theme.tint("error", 0.45).name()};
                border-radius: {p.radius}px; }}
    #message[kind="info"] {{ background: {theme.tint("accent", 0.10).name()};
                             border-color: {theme.tint("accent", 0.45).name()}; }}
    #message QLabel {{ color: {s.text}; font-size: {z.body}pt; }}

    QToolButton {{ border: 1px solid transparent; border-radius: {p.radius}px;
                   padding: 2px; background: transparent; color: {s.text}; }}
    QToolButton:hover {{ background: {hovered}; border-color: {s.border}; }}
    QToolButton:pressed {{ background: {chosen}; }}
    QToolButton:checked {{ background: {chosen}; border-color: {s.accent}; }}
    QToolButton:focus {{ border-color: {s.accent}; }}
    QToolButton[role="action"] {{ border-color: {s.border}; padding: 2px 9px;
        font-size: {z.heading}pt; background: {s.panel}; }}
    QToolButton[role="action"]:hover {{ background: {hovered}; }}
    QToolButton[role="action"]:checked {{ background: {chosen}; color: {s.text};
        font-weight: 600; }}
    QToolButton[role="action"]:focus {{ border-color: {s.accent}; }}
    QToolButton[role="action"]:disabled {{ color: {s.text_faint}; border-color: transparent; }}
    QToolButton[role="segment"] {{ border: 1px solid {s.border}; border-right-width: 0;
        border-radius: 0; padding: 3px 10px; font-size: {z.heading}pt;
        color: {s.text_dim}; background: {s.panel}; }}
    QToolButton[role="segment"][place="first"] {{ border-top-left-radius: {p.radius}px;
        border-bottom-left-radius: {p.radius}px; }}
    QToolButton[role="segment"][place="last"] {{ border-right-width: 1px;
        border-top-right-radius: {p.radius}px; border-bottom-right-radius: {p.radius}px; }}
    #header QToolButton[close="true"] {{ padding: 3px 5px; }}
    QToolButton[role="segment"]:hover {{ background: {hovered}; }}
    QToolButton[role="segment"]:checked {{ background: {chosen}; color: {s.text};
        font-weight: 600; border-color: {s.border}; }}
    QToolButton[role="segment"]:focus {{ color: {s.accent}; }}
    QToolButton[role="segment"]:disabled {{ color: {s.text_faint}; }}

    QPushButton {{ min-height: {p.control - 8}px; padding: 2px 14px; color: {s.text};
        border: 1px solid {s.border}; border-radius: {p.radius}px; background: {s.panel}; }}
    QPushButton:hover {{ background: {hovered}; }}
    QPushButton:pressed, QPushButton:checked {{ background: {chosen}; }}
    QPushButton:focus {{ border-color: {s.accent}; }}
    QPushButton:disabled {{ color: {s.text_faint}; background: {s.raised}; }}
    QPushButton[role="primary"] {{ background: {s.accent}; border-color: {s.accent};
        color: {"#0b1016" if theme.dark else "#ffffff"}; font-weight: 600; }}
    QPushButton[role="primary"]:hover {{ background: {theme.tint("accent", 0.85).name()}; }}
    QPushButton[role="primary"]:disabled {{ background: {s.raised}; border-color: {s.border};
        color: {s.text_faint}; }}

    QRadioButton::indicator {{ width: 11px; height: 11px; border-radius: 6px;
        border: 1px solid {s.text_dim}; background: {s.field}; }}
    QRadioButton::indicator:checked {{ width: 5px; height: 5px; border: 4px solid {s.accent}; }}
    QRadioButton::indicator:focus {{ border-color: {s.accent}; }}
    QRadioButton::indicator:disabled {{ border-color: {s.text_faint}; }}

    QSpinBox[wrong="true"], QComboBox[wrong="true"], QLineEdit[wrong="true"] {{
        color: {m.error}; }}
    QScrollArea, QScrollArea > QWidget > QWidget {{ background: transparent; }}

    QTableView, QListView {{ border: none; background: {s.panel}; color: {s.text};
        outline: none; selection-background-color: {chosen}; selection-color: {s.text};
        alternate-background-color: {s.panel}; }}
    QListView::item {{ border-radius: {p.radius}px; }}
    QListView::item:hover {{ background: {hovered}; }}
    QListView::item:selected {{ background: {chosen}; color: {s.text}; }}
    QHeaderView {{ background: {s.panel}; border: none; }}
    QHeaderView::section {{ background: {s.panel}; color: {s.text_dim}; border: none;
        border-bottom: 1px solid {s.border}; padding: 3px 8px; font-size: {z.small}pt; }}
    QTableView::item {{ padding: 0 8px; border: none; }}
    QTableCornerButton::section {{ background: {s.panel}; border: none; }}

    QPlainTextEdit {{ border: none; background: {s.panel}; color: {s.text};
        selection-background-color: {chosen}; selection-color: {s.text}; }}
    QSplitter::handle {{ background: {s.window}; }}
    QSplitter::handle:hover {{ background: {s.border}; }}

    QSlider::groove:horizontal {{ height: 4px; border-radius: 2px; background: {s.border}; }}
    QSlider::sub-page:horizontal {{ background: {s.accent}; border-radius: 2px; }}
    QSlider::handle:horizontal {{ width: 12px; height: 12px; margin: -4px 0; border-radius: 6px;
        background: {s.panel}; border: 2px solid {s.accent}; }}

    QProgressBar {{ border: none; background: {s.raised}; border-radius: 2px;
        max-height: 4px; min-height: 4px; }}
    QProgressBar::chunk {{ background: {s.accent}; border-radius: 2px; }}

    QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
    QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0; }}
    QScrollBar::handle {{ background: {s.border}; border-radius: 4px; margin: 1px; }}
    QScrollBar::handle:vertical {{ min-height: 24px; }}
    QScrollBar::handle:horizontal {{ min-width: 24px; }}
    QScrollBar::handle:hover {{ background: {s.text_faint}; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}

    QMenuBar, QMenu {{ font-size: {z.body}pt; }}
    QMenuBar {{ background: {s.panel}; color: {s.text}; border: none; }}
    QMenuBar::item {{ padding: 4px 10px; background: transparent; }}
    QMenuBar[close="true"]::item {{ padding: 4px 5px; }}
    QMenuBar::item:selected {{ background: {chosen}; border-radius: {p.radius}px; }}
    QMenu {{ background: {s.panel}; color: {s.text}; border: 1px solid {s.border}; padding: 4px; }}
    QMenu::item {{ padding: 4px 26px 4px 22px; border-radius: {p.radius}px; }}
    QMenu::item:selected {{ background: {chosen}; }}
    QMenu::item:disabled {{ color: {s.text_faint}; }}
    QMenu::separator {{ height: 1px; background: {s.border}; margin: 4px 8px; }}
    """


def set_style(widget: QWidget, name: str, value: object) -> None:
    """Give a widget another value of a property that the style sheet asks for."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
