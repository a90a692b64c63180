"""Starts the window, and closes it when a signal asks for that.

Compiling and recording begin after the first paint, in the background.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, get_args

from PySide6.QtCore import QSize, QSocketNotifier, Qt, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from core.compiler import nvrtc_or_clang
from core.errors import ParameterError, TilescopeError

if TYPE_CHECKING:
    from core.ladder import Ladder
    from core.links import Link
    from gui.shell.main_window import MainWindow

DEFAULT_RUNG = "tiled"
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
"""Those at which the window closes as its own button has it do: Ctrl-C in the terminal is one."""
SHOWN_MS = 300
"""How long after the first record its picture is shown, even on a slow machine."""
FIRST = 180, 56
"""The size of a first window, in digits and lines."""
NO_SET = (
    "--set is for kernels of the ladder: a file's launch is given as mine.cu?gridDim=8&arg.n=64."
)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The window's own options."""
    parser = argparse.ArgumentParser(prog="tilescope", description="Open the Tilescope window.")
    parser.add_argument(
        "rung",
        nargs="?",
        help="kernel to begin with: a rung, a .cu file, or a link to a moment of either, such as "
        "'tiled?n=4&step=12' or 'mine.cu?gridDim=8&step=12'; "
        "without it, what was shown last",
    )
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="a parameter, such as n=64"
    )
    parser.add_argument("--theme", help="light, dark or projector")
    parser.add_argument(
        "--lesson",
        metavar="NAME",
        help="a lesson of the course, such as 1A, a lesson file, a folder",
    )
    parser.add_argument("--fresh", action="store_true", help="start without the last session")
    parser.add_argument("--session", metavar="FILE", help="where the session is kept")
    parser.add_argument("--no-tour", action="store_true", help="begin the first start at a kernel")
    parser.add_argument(
        "--size", metavar="WxH", type=window_size, help="size of the window, such as 1280x800"
    )
    parser.add_argument(
        "--compiler", choices=get_args(nvrtc_or_clang.CompilerName), help=nvrtc_or_clang.HELP
    )
    options = parser.parse_args(argv)
    if options.compiler:
        os.environ[nvrtc_or_clang.CHOICE] = options.compiler
    return options


def window_size(text: str) -> tuple[int, int]:
    """`1280x800` as width and height. Raises what argparse shows with the option's name."""
    match = re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text, re.ASCII)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not WIDTHxHEIGHT, such as 1280x800")
    return int(match[1]), int(match[2])


def read_no_sources() -> None:
    """Keep PySide from reading the source of every module that is imported after it.

    It looks for its own name there, to know which modules `from __feature__ import …` may concern.
    Nothing here uses that, and the reading is a seventh of what importing the window costs, and
    15 MB of text that Python keeps. All modules get what those that name PySide get.
    """
    feature = sys.modules.get("PySide6.support.feature")
    if feature is not None:
        vars(feature)["_mod_uses_pyside"] = lambda _module: True


def main(argv: Sequence[str] | None = None) -> int:
    """Open the window and run until it is closed; returns the exit status."""
    options = parse(sys.argv[1:] if argv is None else argv)
    gc.disable()  # until `keep_pauses_short`: what a start loads stays
    try:
        return _opened(options)
    finally:
        gc.enable()


def _opened(options: argparse.Namespace) -> int:
    read_no_sources()
    from core.cli.app import READ_AHEAD
    from core.cli.named_launch import parse_settings
    from core.garbage_collection import keep_pauses_short, leave_out
    from core.ladder import all_kernels
    from core.side_process.client import end_kept, prepare
    from gui.background import AfterFirstPaint
    from gui.looks.theme import apply_theme, theme_names
    from gui.scenes.saved_state import default_path, find, said_aside
    from gui.shell.main_window import MainWindow
    from gui.shell.pages import read_ahead
    from gui.shell.session_persistence import Keeper, text_size_of, theme_of

    if options.theme is not None and options.theme not in theme_names():
        sys.stderr.write(f"There is no theme {options.theme!r}: {', '.join(theme_names())}.\n")
        return 2
    try:
        ladder = all_kernels()
        start = parse_start(options.rung, parse_settings(options.set), ladder)
    except TilescopeError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    app = QApplication.instance() or _open_display()
    assert isinstance(app, QApplication)
    terminator = Terminator(app)
    app.setApplicationName("Tilescope")
    path = Path(options.session) if options.session else default_path()
    found = find(path)
    kept = found.saved
    saved = None if options.fresh else kept
    theme = theme_of(saved, options.theme)
    text_size = text_size_of(saved, app.primaryScreen())
    apply_theme(app, theme, text_size)
    window = MainWindow(ladder, theme, text_size)
    keep_pauses_short()
    once = Qt.ConnectionType.SingleShotConnection
    window.recorder.recorded.connect(leave_out, once)  # what the first launch has imported
    window.recorder.recorded.connect(lambda: QTimer.singleShot(SHOWN_MS, read_ahead), once)
    window.pages.came.connect(leave_out)
    keeper = Keeper(window, path if found.usable else None)
    if saved is not None:
        keeper.restore_window(saved, geometry=not options.size)
    greeted = kept is not None and kept.toured  # even with --fresh
    window.teaching.greeted = greeted or bool(found.sentence)
    asked_for = start is not None or options.lesson is not None or options.no_tour
    greets = not (asked_for or window.teaching.greeted)
    if options.size:
        window.resize(*options.size)
    elif saved is None or not saved.geometry:
        fit_screen(window)
    if greets:
        window.show_page("course")
    window.show()

    def begin() -> None:
        prepare(*READ_AHEAD)  # loads the compiler while this one loads the emulator
        told = said_aside(saved.aside) if saved is not None else ""
        window.moments.say_with_launch(found.sentence or told)
        if options.lesson is not None:
            window.recorder.configure(DEFAULT_RUNG)
            window.teaching.open_named(options.lesson)
        elif isinstance(start, Path):
            window.workbench.open_file(str(start))
        elif start is not None:
            window.moments.open_moment(start)
        elif saved is not None:
            keeper.restore_session(saved, DEFAULT_RUNG)
        else:
            window.recorder.configure(DEFAULT_RUNG)
        if greets:
            greet(window)

    AfterFirstPaint(window, begin)
    status = app.exec()
    terminator.stop()
    end_kept()
    return 128 + terminator.got if terminator.got else status


def _open_display() -> QApplication:
    """Qt's application. Where there is no display it ends the process, and says what works there.

    Qt itself would abort: it asks for what it calls a core dump.
    """
    said: list[str] = []

    def hear(kind: QtMsgType, context: object, text: str) -> None:
        if kind == QtMsgType.QtFatalMsg:
            sys.stderr.write(f"{_no_display(said)}\n")
            sys.stderr.flush()
            os._exit(2)
        said.append(text)

    before = qInstallMessageHandler(hear)
    app = QApplication(["tilescope"])
    qInstallMessageHandler(before)
    if said:
        sys.stderr.write("".join(f"{text}\n" for text in said))
    return app


def _no_display(said: Sequence[str]) -> str:
    """Why no window can be opened, from what Qt says of it, and what can be done without one."""
    names = ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY", "DISPLAY")
    shown = next(filter(None, map(os.environ.get, names)), "")
    qt = f" ({said[0].strip().rstrip('.')})" if said else ""
    why = f"Qt cannot use `{shown}`{qt}" if shown else "there is no display"
    return (
        f"The window cannot be opened: {why}; `tilescope trace tiled` counts without one, and "
        "`python -m gui.headless out` saves pictures of the window."
    )


def fit_screen(window: MainWindow) -> None:
    """Have a first window as large as its type needs, and no larger than the screen has room.

    Where it would be larger, it takes all of that.
    """
    from gui.views.view_docks import units

    digit, line = units()
    wanted = QSize(FIRST[0] * digit, FIRST[1] * line)
    free = window.screen().availableGeometry().size()
    window.resize(wanted.boundedTo(free))
    if wanted.width() >= free.width() or wanted.height() >= free.height():
        window.setWindowState(Qt.WindowState.WindowMaximized)  # its frame has to fit as well


def greet(window: MainWindow) -> None:
    """Begin at the page that offers to learn, to look, and to bring one's own; once."""
    window.show_page("course")
    window.teaching.greeted = True


def parse_start(text: str | None, parameters: dict[str, int], ladder: Ladder) -> Link | Path | None:
    """What the command line asks for: a moment, a file, or None for what was shown last.

    Raises ParameterError for a link or a name that leads nowhere.
    """
    from core.links import Link, names_file
    from gui.looks.theme import theme_names
    from gui.scenes.moment_links import window_link

    if text is not None and "?" in text:
        link = window_link(text, ladder, theme_names())
        if link.own is not None and parameters:
            raise ParameterError(NO_SET)
        return replace(link, parameters={**link.parameters, **parameters})
    if text is None and not parameters:
        return None
    if text is not None and text not in ladder and names_file(text):
        if parameters:
            raise ParameterError(NO_SET)
        return Path(text)
    rung = ladder[DEFAULT_RUNG if text is None else text]
    return Link(rung.name, {**rung.defaults, **parameters}, exact=False)


class Terminator:
    """Closes all windows at the first of `SIGNALS`; at a second one the process ends at once.

    Python's own handler would raise KeyboardInterrupt in whatever event was running, and Qt's loop
    runs no handler before the next event: the signal's number arrives as a byte at a socket that
    Qt listens to. One that is ignored here, as SIGHUP under nohup, stays so.
    """

    def __init__(self, app: QApplication) -> None:
        self.got = 0
        """The number of the signal that closed the windows, 0 while there was none."""
        self._read, self._write = socket.socketpair()
        for end in (self._read, self._write):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._read.fileno(), QSocketNotifier.Type.Read, app)
        self._notifier.activated.connect(self._close)
        self._wakeup_before = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        self._before = {
            number: signal.signal(number, _note)
            for number in SIGNALS
            if signal.getsignal(number) is not signal.SIG_IGN
        }

    def _close(self) -> None:
        numbers = [number for number in self._read.recv(64) if number in self._before]
        if not numbers:
            return
        self.got = numbers[0]
        for number in self._before:
            signal.signal(number, signal.SIG_DFL)
        QApplication.closeAllWindows()

    def stop(self) -> None:
        """Leave the signals to whoever had them before."""
        self._notifier.setEnabled(False)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        self._read.close()
        self._write.close()


def _note(number: int, frame: FrameType | None) -> None:
    """Nothing: the byte at the socket says it."""
