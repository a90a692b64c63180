"""A JSON file that says what the window shows, for tests that drive it from outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gui.main_window import MainWindow


def state(window: MainWindow) -> dict[str, Any]:
    """What is selected and shown now."""
    session = window.session
    return {
        "rung": session.trace.workload.rung if session.trace else None,
        "parameters": dict(session.parameters),
        "step": session.step,
        "n_steps": session.n_steps,
        "block": session.block,
        "thread": session.thread,
        "current_line": session.current_line,
        "line": session.line,
        "unit": session.unit,
        "playing": session.playing,
        "theme": window.theme_name,
        "page": window.tabs.value,
        "error": window.form.error.text() or window.message.sentence,
        "caption": window.transport.caption.text(),
    }


def keep_report(window: MainWindow, path: str) -> None:
    """Write `state` to `path` whenever something in the session changes, whole or not at all."""
    target = Path(path)
    draft = target.with_suffix(".part")

    def write(_: object = None) -> None:
        draft.write_text(json.dumps(state(window)), encoding="utf-8")
        draft.replace(target)

    window.session.changed.connect(write, check_nargs=False)
    window.recorder.failed.connect(write)
    window.tabs.chosen.connect(write)
    window.report_writer = write  # type: ignore[attr-defined]  # psygnal holds it weakly
