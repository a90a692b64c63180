"""Writes the report of a recorded launch, off the UI thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import TilescopeError

if TYPE_CHECKING:
    from core.recording.count_launch import Counted
    from core.trace import Trace
    from gui.background.work import Progress


def report_job(
    _: Progress,
    trace: Trace,
    counted: Counted | None,
    path: Path,
    pdf_of: Callable[[str, str], bytes],
) -> Path:
    """Write it as the path's ending says, .html, .md or .pdf; returns the path.

    `pdf_of` makes a PDF of HTML and a title. Raises TilescopeError for another ending, and where
    it cannot be written.
    """
    from core.files import replace_file
    from core.report.content import report_of
    from core.report.writing import as_html, as_markdown

    suffix = path.suffix.lower()
    if suffix not in (".html", ".md", ".pdf"):
        raise TilescopeError(f"{path.name} is no report: end its name with .html, .md or .pdf.")
    made = report_of(trace, counted)
    if suffix == ".md":
        return replace_file(path, as_markdown(made))
    html = as_html(made)
    return replace_file(path, pdf_of(html, made.title) if suffix == ".pdf" else html)
