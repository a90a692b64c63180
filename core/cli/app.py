"""The `tilescope` command: its subcommands, and how a user's mistake is shown."""

from __future__ import annotations

import importlib
import runpy
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer

# Each is a module in core.cli with a function of its name.
COMMANDS = ("trace", "bench", "ceilings", "occupancy", "devices")

WINDOW_OPTIONS = ("--fresh", "--theme", "--size", "--set", "--session")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status. Without arguments the window opens."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if opens_window(arguments):
        return open_window(arguments)
    from core.cli.errors import MISTAKE, show_error
    from core.errors import TilescopeError

    try:
        with _stoppable(arguments):
            return run(arguments)
    except TilescopeError as error:
        show_error(error)
    except MemoryError:
        show_error(TilescopeError("There is not enough memory for this: use a smaller size."))
    return MISTAKE


def _stoppable(arguments: Sequence[str]) -> AbstractContextManager[None]:
    """Has what compiles a user's file end with Ctrl-C: a short one may take minutes."""
    from core.apart import prepare
    from core.cancelling import cancelled_by

    if not any(argument.endswith((".cu", ".cuh")) for argument in arguments):
        return nullcontext()
    prepare()  # it loads the compiler while this process loads the emulator
    return cancelled_by(lambda: False)


def run(arguments: Sequence[str]) -> int:
    """Carry out the command line. Raises TilescopeError for a user's mistake."""
    app = typer.Typer(
        name="tilescope",
        help="How CUDA kernels touch memory, step by step. Without a command, "
        "or with a rung, a link (tiled?n=4&step=12) or a .cu file, the window opens.",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_options)
    for name in COMMANDS:
        app.command(name)(getattr(importlib.import_module(f"core.cli.{name}"), name))
    try:
        app(args=list(arguments), prog_name="tilescope")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    return 0


def opens_window(arguments: Sequence[str]) -> bool:
    """Whether the window is meant: nothing, a link, a rung, a source file, or its own options."""
    if not arguments or arguments[0] in WINDOW_OPTIONS:
        return True
    first = arguments[0]
    if first in COMMANDS or first.startswith("-"):
        return False
    if "?" in first or first.endswith((".cu", ".cuh")):
        return True
    from core.ladder import load_ladder

    return first in load_ladder()


def open_window(arguments: Sequence[str] = ()) -> int:
    """Open the window, as `python -m gui` does; `core` itself never imports `gui`."""
    sys.argv[1:] = arguments
    try:
        runpy.run_module("gui", run_name="__main__", alter_sys=True)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    return 0


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True)
    ] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"tilescope {installed('tilescope')}")
        raise typer.Exit
