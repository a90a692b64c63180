"""A session that shows what a link, a rung or a file names, without a window."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from core.errors import ParameterError
from gui.jobs.opening_work import load_job, open_job
from gui.jobs.record_work import Recorded, record_job
from gui.scenes.moment_links import checksum, go_to, names_file, parse_link
from gui.scenes.selection import UNTITLED, Configuration
from gui.scenes.session import Session

if TYPE_CHECKING:
    from core.ladder import Ladder
    from gui.background import Progress
    from gui.scenes.moment_links import Moment

_LOOKS = (
    "heat",
    "close_up",
    "warp_trail",
    "warp_table",
    "counts_by",
    "unit",
    "inputs",
    "order",
    "seed",
)


def opened(text: str, ladder: Ladder, themes: tuple[str, ...], progress: Progress) -> Session:
    """Record what a link (`tiled?n=8&step=12`), a rung, a .cu or .ptx file or a trace names.

    The session stands at the step that the link names, else at the first access. Raises
    TilescopeError for what is none of these, or cannot be recorded.
    """
    if text.endswith(".npz") and "?" not in text:
        return _showing(load_job(progress, text, ladder).recorded)
    if "?" not in text and text not in ladder and names_file(text):
        text = f"{quote(str(Path(text).absolute()))}?"
    moment = parse_link(text, ladder, themes)
    wanted = _configuration(moment, ladder, progress)
    block = moment.first_block or 0
    session = _showing(record_job(progress, ladder, wanted, block, given=moment.given))
    session.update(**asdict(moment.given))
    if missing := go_to(session, moment):
        raise ParameterError(missing)
    return session


def twin(shown: Session) -> Session:
    """A session of its own that shows what another does, at the same place."""
    session = Session()
    session.origin = shown.origin
    session.trace = shown.trace
    session.counted = shown.counted
    session.update(**{name: getattr(shown, name) for name in _LOOKS})
    session.update(block=shown.block)
    session.update(thread=shown.thread, step=shown.step, line=shown.line, element=shown.element)
    return session


def _showing(recorded: Recorded) -> Session:
    session = Session()
    session.origin = recorded.origin
    session.trace = recorded.trace
    return session


def _configuration(moment: Moment, ladder: Ladder, progress: Progress) -> Configuration:
    if moment.own is None:
        parameters = {**ladder[moment.rung].defaults, **moment.parameters}
        return Configuration(moment.rung, parameters, moment.source)
    is_text = moment.own.path == UNTITLED and moment.source is not None
    pasted = checksum(moment.source or "") if is_text else ""
    own = moment.own
    found = open_job(progress, own.path, own, None, moment.source, linked=True)
    return Configuration("", {}, found.edited, found.launch, pasted)
