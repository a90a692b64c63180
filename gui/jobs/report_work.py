"""Writes the report of a recorded launch, off the UI thread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.runs.counting import Counted
    from core.trace import Trace
    from gui.background.work import Progress


def report_job(_: Progress, trace: Trace, counted: Counted | None, path: Path) -> Path:
    """Write it, as Markdown where the path ends so, else as HTML; returns the path.

    Raises TilescopeError where it cannot be written.
    """
    from core.files import replace_file
    from core.report.content import report_of
    from core.report.writing import as_html, as_markdown

    made = report_of(trace, counted)
    return replace_file(path, as_markdown(made) if path.suffix == ".md" else as_html(made))
