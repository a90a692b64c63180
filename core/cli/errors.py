"""A user's mistake on standard error: one sentence, and for a compiler's message the place."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from core.cuda.compiler import Diagnostic
from core.errors import CompileError, TilescopeError

MISTAKE = 2  # exit status after a user's mistake
_MOST_DIAGNOSTICS = 5
_TAB = 4
_STYLES = {"error": "bold red", "warning": "bold yellow", "remark": "bold cyan"}


def show_error(error: TilescopeError, source: str | None = None) -> None:
    """Print the error's sentence in red; the compiler's messages follow, in `source` if given."""
    console = Console(stderr=True, highlight=False)
    console.print(Text.assemble(("error: ", "bold red"), (str(error), "red")), soft_wrap=True)
    if isinstance(error, CompileError):
        show_diagnostics(error.diagnostics, source, console)


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
