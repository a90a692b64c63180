"""`python -m gui.headless out/`: the window's work where there is no display.

Opens the window on Qt's offscreen platform, records the tiled kernel in its default configuration,
steps through all of it, prints the transaction table, and saves pictures of the window.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from core.errors import TilescopeError
from gui.shell.app import window_size

if TYPE_CHECKING:
    from gui.shell.main_window import MainWindow

TIMEOUT_S = 120.0


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Where to, and of what."""
    parser = argparse.ArgumentParser(prog="python -m gui.headless", description=__doc__)
    parser.add_argument("folder", nargs="?", default="out", help="where the pictures go")
    parser.add_argument("--rung", default="tiled", help="the kernel")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[])
    parser.add_argument("--theme", default="light", help="light, dark or projector")
    parser.add_argument("--size", metavar="WxH", type=window_size, default=(1600, 1000))
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0 when the launch was recorded and the pictures written."""
    options = parse(sys.argv[1:] if argv is None else argv)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from core.cli.named_launch import parse_settings
    from core.cli.trace import show_trace
    from core.ladder import load_ladder
    from gui.looks.theme import bare_application, theme_names
    from gui.shell.main_window import MainWindow

    if options.theme not in theme_names():
        sys.stderr.write(f"There is no theme {options.theme!r}: {', '.join(theme_names())}.\n")
        return 2
    with bare_application(options.theme) as app:
        window = MainWindow(load_ladder(), options.theme)
        window.resize(*options.size)
        window.show()
        try:
            record(window, app, options.rung, parse_settings(options.set))
            assert window.session.trace is not None
            show_trace(window.session.trace)
            step_through(window, app)
            folder = Path(options.folder)
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise TilescopeError(f"{folder} cannot be made: choose another folder.") from error
            for path in save_pictures(window, app, folder):
                say(f"Wrote {path}")
        except (TilescopeError, OSError) as error:
            sys.stderr.write(f"{error}\n")
            return 2
        finally:
            window.close()
    return 0


def record(window: MainWindow, app: QApplication, rung: str, parameters: dict[str, int]) -> None:
    """Configure the window and wait until the trace is shown; raises what recording raises."""
    failures: list[TilescopeError] = []
    shown: list[bool] = []
    window.recorder.failed.connect(failures.append)
    window.recorder.recorded.connect(lambda: shown.append(True))
    window.recorder.configure(rung, parameters)
    end = time.monotonic() + TIMEOUT_S
    while not shown and not failures:
        if time.monotonic() > end:
            raise TilescopeError(f"Recording {rung} took longer than {TIMEOUT_S:.0f} seconds.")
        app.processEvents()
        time.sleep(0.002)
    if failures:
        raise failures[0]


def step_through(window: MainWindow, app: QApplication) -> None:
    """Walk every access forwards, then back to the first, drawing each; says how long it took."""
    session = window.session
    session.unit = "access"
    session.first()
    count, began = 0, time.perf_counter()
    for forward in (True, False):
        while session.seek(forward=forward):
            window.grab()
            app.processEvents()
            count += 1
    each = (time.perf_counter() - began) / max(count, 1) * 1e3
    say(f"Stepped {count} times by access, forwards and back, {each:.1f} ms a step with paint.")


def moments(window: MainWindow) -> Iterator[tuple[str, int]]:
    """Steps worth a picture: the first load, a store to shared memory, mid-way, the last store."""
    trace = window.session.block_trace
    if trace is None:
        return
    accesses = [(s, a) for s in range(trace.n_steps) if (a := trace.access(s)) is not None]
    found: dict[str, int] = {}
    for step, access in accesses:
        found.setdefault(f"{access.space}-{access.kind}", step)
    if len(trace.phases) > 1:
        second = trace.phases[1].first
        found["second-phase"] = next((s for s, _ in accesses if s >= second), second)
    if accesses:
        found["last-access"] = accesses[-1][0]
    yield from found.items()


def save_pictures(window: MainWindow, app: QApplication, folder: Path) -> Iterator[Path]:
    """Save the window at each of the moments; gives the files. Raises TilescopeError."""
    from gui.pictures import Picture, write_picture

    for number, (name, step) in enumerate(moments(window), start=1):
        window.session.step = step
        app.processEvents()
        path = folder / f"{number:02d}-{name}.png"
        yield write_picture(Picture(window.grab().toImage()), path)


def say(text: str) -> None:
    """Write a line for the user."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
