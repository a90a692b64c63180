"""`tilescope report`: one launch as a document."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from core.atomic_files import must_be_writable
from core.cli.console import compile_errors, progress_bar
from core.cli.named_launch import SEED, named_launch
from core.cli.options import Compiler, Sizes
from core.cli.trace import TracedFile
from core.devices.device_table import load_devices
from core.errors import ParameterError
from core.trace import Trace
from core.user_files.sources_and_headers import is_saved_trace

ENDINGS = (".html", ".htm", ".md", ".pdf")


def report(
    what: Annotated[
        str,
        typer.Argument(metavar="FILE|RUNG", help="A .cu or .ptx file, a saved trace, or a rung."),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="x.html, x.md or x.pdf.")],
    *,
    sizes: Sizes,
    launch: TracedFile,
    compiler: Compiler = None,
    device: Annotated[str, typer.Option(help="Whose ceilings; none for none.")] = "NVIDIA H200",
) -> None:
    """Write a report: launch, counters, findings, ceilings and recorded times."""
    from core.report import report_of, write_report

    if out.suffix.lower() not in ENDINGS:
        raise ParameterError(f"{out.name} is not a report: end its name with .html, .md or .pdf.")
    chosen = None if device == "none" else load_devices().find(device)
    must_be_writable(out)
    with progress_bar("Recording"):
        trace = _trace(what, sizes.given(), launch.launch())
    made = report_of(trace, None, chosen)
    write_report(made, out, _pdf)
    typer.echo(f"Wrote {out}: {made.verdict}")


def _pdf(html: str, title: str) -> bytes:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    made: bytes = importlib.import_module("gui.exports.pdf_pages").report_pdf(html, title)
    return made


def _trace(what: str, sizes: dict[str, int], launch: Mapping[str, Any]) -> Trace:
    from core.recording.record_launch import record
    from core.recording.trace_files import load_trace

    path = Path(what)
    if is_saved_trace(path):
        if given := [*sizes, *(name for name, value in launch.items() if value)]:
            raise ParameterError(f"{path.name} is a recorded launch: leave out {given[0]}.")
        return load_trace(path)
    workload = named_launch(what, sizes, launch, SEED).workload
    with compile_errors(workload):
        return record(workload)
