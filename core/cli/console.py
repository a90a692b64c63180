"""Where the commands print, what they show while they work, and how they say what went wrong."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from core.control_characters import visible
from core.errors import CompileError, Diagnostic, TilescopeError
from core.launch import Workload

FOUND = 1  # exit status where a kernel has faults, or counts exceed what is expected
FAILED = 1  # where what is printed cannot be written
MISTAKE = 2  # after a user's mistake
_FILE_WIDTH = 120
_NOT_WRITTEN = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.EBADF)
_MOST_DIAGNOSTICS = 5
_TAB = 4
_STYLES = {"error": "bold red", "warning": "bold yellow", "remark": "bold cyan"}


class Terminal(Console):
    """A console whose texts cannot command the terminal; its own colours do. `:x:` is no emoji."""

    def __init__(self, **options: Any) -> None:
        super().__init__(emoji=False, **options)

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The pieces of what is printed, without what would act unseen."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(visible(piece.text), piece.style)

    def say(self, text: str | Text, style: str | None = None) -> None:
        """Print a sentence in one line, however long; its numbers have no colours of their own."""
        self.print(text, soft_wrap=True, highlight=False, style=style)


def standard_console() -> Terminal:
    """Standard output; wide enough for the source where it is a file or a pipe."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return Terminal()
    return Terminal(width=_FILE_WIDTH)


def print_json(data: Any) -> None:
    """Print plain data as a result that programs read."""
    typer.echo(json.dumps(data, indent=1, allow_nan=False))


def tell(text: str) -> None:
    """A line on standard error, beside the result."""
    typer.echo(text, err=True)


def plain_table(*headings: str, title: str | None = None) -> Table:
    """A table without frames; a heading with `>` before it is of a column of numbers."""
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    for heading in headings:
        right = heading.startswith(">")
        name = heading.removeprefix(">")
        table.add_column(name, justify="right" if right else "left", no_wrap=right)
    return table


@contextmanager
def compile_errors(workload: Workload) -> Iterator[None]:
    """Shows a compile error at its line and ends the command."""
    try:
        yield
    except CompileError as error:
        show_error(error, workload.source)
        raise typer.Exit(MISTAKE) from None


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], None]]:
    """A bar on standard error where that is a terminal; nothing elsewhere."""
    console = Terminal(stderr=True)
    if not console.is_terminal:
        yield lambda done: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda done: bar.update(task, completed=done)


# -- a user's mistake on standard error, one sentence; a compiler's messages have their place ------


def show_error(error: TilescopeError, source: str | None = None) -> None:
    """Print the error's sentence in red; the compiler's messages follow, in `source` if given."""
    console = Terminal(stderr=True, highlight=False)
    console.print(Text.assemble(("error: ", "bold red"), (str(error), "red")), soft_wrap=True)
    if isinstance(error, CompileError):
        show_diagnostics(error.diagnostics, source, console)


def show_unwritten(error: OSError) -> bool:
    """Says that standard output cannot be written, if that is what the error is about."""
    if error.filename is not None or error.errno not in _NOT_WRITTEN:
        return False
    with Path(os.devnull).open("w") as nothing:  # what is left would fail again when Python ends
        os.dup2(nothing.fileno(), sys.stdout.fileno())
    show_error(TilescopeError(f"The output cannot be written: {error.strerror}."))
    return True


def show_diagnostics(
    diagnostics: tuple[Diagnostic, ...], source: str | None, console: Console
) -> None:
    """The first few messages of the compiler, each under the line that it is about."""
    lines = (source or "").splitlines()
    for diagnostic in diagnostics[:_MOST_DIAGNOSTICS]:
        for text in _shown(diagnostic, lines):
            console.print(text, soft_wrap=True)
    if len(diagnostics) > _MOST_DIAGNOSTICS:
        console.print(f"… and {len(diagnostics) - _MOST_DIAGNOSTICS} more messages")


def _shown(diagnostic: Diagnostic, lines: list[str]) -> list[Text]:
    style = _STYLES[diagnostic.severity]
    message = Text.assemble((f"{diagnostic.severity}: ", style), diagnostic.message)
    if not 1 <= diagnostic.line <= len(lines):
        return [message]
    code = lines[diagnostic.line - 1]
    gutter = f"{diagnostic.line:>5} | "
    shown = [Text.assemble((gutter, "dim"), code.expandtabs(_TAB))]
    if diagnostic.column is not None:
        before = len(code[: diagnostic.column - 1].expandtabs(_TAB))
        shown.append(
            Text.assemble((" " * (len(gutter) - 2) + "| ", "dim"), " " * before, ("^", style))
        )
    message.pad_left(len(gutter))
    return [*shown, message]
