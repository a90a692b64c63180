"""The subcommands of `tilescope`, put together."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Annotated

import typer

from core.cli import COMMANDS
from core.cli.interrupting import raise_keyboard_interrupt
from core.cli.options import spelt_out


def run(arguments: Sequence[str]) -> int:
    """Carry out the command line. Raises TilescopeError for a user's mistake."""
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
    app.callback(invoke_without_command=True)(_options)
    asked = [name for name in COMMANDS if name in arguments[:1]]
    for name in asked or COMMANDS:  # each loads much: no other than the one that is asked for
        function = name.replace("-", "_")
        command = getattr(importlib.import_module(f".{function}", __package__), function)
        app.command(name)(spelt_out(command))
    raise_keyboard_interrupt()
    if not os.environ.get("COLUMNS", "80").lstrip("0"):
        del os.environ["COLUMNS"]  # it says "unknown", and not that there is no room
    try:
        app(args=list(arguments), prog_name="tilescope")
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
