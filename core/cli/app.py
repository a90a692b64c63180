"""The `tilescope` command: whether a window is meant or which command, and what ends it.

A user's mistake is shown as one sentence. This imports nothing large: whatever takes time is loaded
where Ctrl-C is quiet.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from core.cli import COMMANDS
from core.source.cuda_in_python import SOURCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from types import FrameType

READ_AHEAD = ("core.compiler.compile_slice:warm", "core.guessing.launch_guess")
"""What a process that compiles and reads a user's source loads while nobody asks it anything."""

WINDOW_FILES = (*SOURCES, ".ptx", ".npz", ".txt")
"""Sources, saved traces and lists of moments."""
WINDOW_OPTIONS = ("--fresh", "--lesson", "--theme", "--size", "--set", "--session", "--compiler")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status. Without arguments the window opens."""
    try:
        _fill_closed_streams()
        from core.garbage_collection import seldom_collected

        with quietly_interrupted(), seldom_collected(ends=argv is None):
            arguments = list(sys.argv[1:] if argv is None else argv)
            if opens_window(arguments):
                return open_window(arguments)
            return carry_out(arguments)
    except KeyboardInterrupt:
        return 130


def _fill_closed_streams() -> None:
    """Opens nothing in the place of a stream that a shell closed (`>&-`).

    The next file that is opened would be it otherwise.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115
            os.set_inheritable(nothing.fileno(), True)
            setattr(sys, name, nothing)


def carry_out(arguments: Sequence[str]) -> int:
    """Run a subcommand; returns the exit status. A user's mistake is one sentence."""
    from core.cli.console import FAILED, MISTAKE, show_error, show_unwritten
    from core.errors import TilescopeError

    try:
        with _stoppable(arguments):
            status = run_command(arguments)
        sys.stdout.flush()
        return status
    except TilescopeError as error:
        show_error(error)
    except OSError as error:
        if not show_unwritten(error):
            raise
        return FAILED
    except MemoryError:
        show_error(TilescopeError("There is not enough memory for this: use a smaller size."))
    return MISTAKE


def run_command(arguments: Sequence[str]) -> int:
    """Have typer carry out the command line. Raises TilescopeError for a user's mistake."""
    import importlib

    import typer

    from core.cli.options import program_options, spelt_out

    app = typer.Typer(
        name="tilescope",
        help="How CUDA kernels touch memory, step by step. Without a command, "
        "or with a rung, a link (tiled?n=4&step=12), a .cu file, a saved trace (.npz) or a list "
        "of moments (.txt), the window opens.",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(program_options)
    asked = [name for name in COMMANDS if name in arguments[:1]]
    for name in asked or COMMANDS:  # each loads much: no other than the one that is asked for
        function = name.replace("-", "_")
        command = getattr(importlib.import_module(f".{function}", __package__), function)
        app.command(name)(spelt_out(command))
    _raise_keyboard_interrupt()
    if not os.environ.get("COLUMNS", "80").lstrip("0"):
        del os.environ["COLUMNS"]  # it says "unknown", and not that there is no room
    try:
        app(args=list(arguments), prog_name="tilescope")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    return 0


def _stoppable(arguments: Sequence[str]) -> AbstractContextManager[None]:
    """Has what compiles a user's file end with Ctrl-C: a short one may take minutes."""
    from contextlib import nullcontext

    own = any(argument.endswith(SOURCES) for argument in arguments)
    if not own and arguments[:1] != ["check"]:
        return nullcontext()
    from core.cancelling import cancelled_by
    from core.side_process.client import prepare

    prepare(*READ_AHEAD)  # it loads the compiler while this process loads the emulator
    return cancelled_by(lambda: False)


def opens_window(arguments: Sequence[str]) -> bool:
    """Whether the window is meant: nothing, a link, a rung, a file, or its own options."""
    if not arguments or arguments[0] in WINDOW_OPTIONS:
        return True
    first = arguments[0]
    if first in COMMANDS or first.startswith("-"):
        return False
    if "?" in first or first.endswith(WINDOW_FILES):
        return True
    from core.ladder import load_ladder
    from core.user_files.sources_and_headers import is_saved_trace

    return first in load_ladder() or is_saved_trace(Path(first))


def open_window(arguments: Sequence[str] = ()) -> int:
    """Open the window, as `python -m gui` does; `core` itself never imports `gui`."""
    import runpy

    sys.argv[1:] = arguments
    try:
        runpy.run_module("gui.__main__", run_name="__main__", alter_sys=True)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    return 0


# -- Ctrl-C ---------------------------------------------------------------------------------------


@contextmanager
def quietly_interrupted() -> Iterator[None]:
    """Ctrl-C ends the process at once, until `KeyboardInterrupt` is wanted or the block ends.

    While modules are imported there is nothing to put right, and that exception would be shown
    from their midst. Whoever started this may have it ignore Ctrl-C, or listen to it.
    """
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        _raise_keyboard_interrupt()


def _raise_keyboard_interrupt() -> None:
    """From now on Ctrl-C raises what Python raises, where it ended the process."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(130)  # the status that a shell gives it


if __name__ == "__main__":
    sys.exit(main())
