"""Starts the window. Compiling and recording begin after the first paint, in the background."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

DEFAULT_RUNG = "tiled"


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The window's own options."""
    parser = argparse.ArgumentParser(prog="tilescope", description="Open the Tilescope window.")
    parser.add_argument("rung", nargs="?", default=DEFAULT_RUNG, help="kernel to begin with")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="a parameter, such as n=64"
    )
    parser.add_argument("--theme", default="light", help="light, dark or projector")
    parser.add_argument("--size", metavar="WxH", help="size of the window, such as 1280x800")
    parser.add_argument(
        "--report", metavar="FILE", help="keep a JSON file of what is shown (for tests)"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Open the window and run until it is closed; returns the exit status."""
    options = parse(sys.argv[1:] if argv is None else argv)
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from core.errors import TilescopeError
    from core.ladder import load_ladder
    from gui.main_window import MainWindow
    from gui.theme import apply_theme, theme_names

    if options.theme not in theme_names():
        sys.stderr.write(f"There is no theme {options.theme!r}: {', '.join(theme_names())}.\n")
        return 2
    app = QApplication.instance() or QApplication(["tilescope"])
    assert isinstance(app, QApplication)
    app.setApplicationName("Tilescope")
    apply_theme(app, options.theme)
    try:
        ladder = load_ladder()
        ladder[options.rung]
        parameters = parse_parameters(options.set)
    except TilescopeError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    window = MainWindow(ladder, options.theme)
    if options.size:
        window.resize(*(int(part) for part in options.size.split("x")))
    if options.report:
        from gui.report import keep_report

        keep_report(window, options.report)
    window.show()
    QTimer.singleShot(0, lambda: window.recorder.configure(options.rung, parameters))
    return app.exec()


def parse_parameters(texts: Sequence[str]) -> dict[str, int]:
    """`["n=64", "tile=8"]` as a mapping. Raises ParameterError for anything else."""
    from core.errors import ParameterError

    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not value.lstrip("-").isdigit():
            raise ParameterError(f"--set wants NAME=NUMBER, such as n=64, not {text!r}.")
        found[name] = int(value)
    return found
