"""What the commands show while they work, and where they fail to compile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from core.errors import CompileError

if TYPE_CHECKING:
    from core.launch import Workload


@contextmanager
def compile_errors(workload: Workload) -> Iterator[None]:
    """Shows a compile error at its line and ends the command."""
    try:
        yield
    except CompileError as error:
        from core.cli.errors import MISTAKE, show_error

        show_error(error, workload.source)
        raise typer.Exit(MISTAKE) from None


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], None]]:
    """A bar on standard error where that is a terminal; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda done: bar.update(task, completed=done)
