"""A session without a window, which shows what a link, a rung or a file names, and views of it.

The views have sizes of one's own; they are painted and never shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QWidget

from core.errors import ParameterError
from gui.jobs.opening_work import load_job, open_job
from gui.jobs.record_work import Recorded, record_job
from gui.scenes.moment_links import checksum, go_to, names_file, parse_link
from gui.scenes.session import Session
from gui.scenes.session_values import UNTITLED, Configuration
from gui.scenes.step_views import VIEWS
from gui.views.base import Caption, SessionView, view_of

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


MEMORY = "Memory"
"""Stands for whichever of the two views of memory the step accesses."""
GLOBAL = "Warp"
CHOICES = (MEMORY, *(row.name for row in VIEWS))


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The views of these names, each once. Raises ParameterError for one that there is not."""
    for name in names:
        if name not in CHOICES:
            raise ParameterError(f"There is no view {name}: use {', '.join(CHOICES)}.")
    return tuple(dict.fromkeys(names))


def memory_of(session: Session) -> str:
    """The view of the memory that was accessed last, at this step or before it."""
    block = session.block_trace
    if block is None:
        return GLOBAL
    so_far = block.access_steps[block.access_steps <= session.step]
    access = block.access(int(so_far[-1])) if len(so_far) else None
    return "Shared" if access is not None and access.space == "shared" else GLOBAL


def caption_of(view: SessionView) -> Caption | None:
    """The sentence over a view, where it has one."""
    caption = getattr(view, "caption", None)
    return caption if isinstance(caption, Caption) else None


def let_go(views: Iterable[SessionView]) -> None:
    """Stop what views work out elsewhere, and close them."""
    for view in views:
        view.shut_down()
        view.close()
        view.deleteLater()


@dataclass(frozen=True)
class Shown:
    """A view as it stands at one step."""

    name: str
    title: str
    caption: str
    widget: QWidget


class Stage:
    """The views of some places, each place with a size in pixels; a place may change its view."""

    def __init__(self, session: Session, places: Sequence[tuple[str, QSize]]) -> None:
        self.session = session
        self._places = tuple(places)
        self._views: dict[tuple[int, str], SessionView] = {}
        self._rows = {row.name: row for row in VIEWS}

    def at(self, step: int) -> list[Shown]:
        """Go to a step; what each place shows there. A place without anything to show is absent."""
        self.session.step = step
        self.session.turns.finish()
        found = []
        for number, (name, _) in enumerate(self._places):
            row = self._rows[memory_of(self.session) if name == MEMORY else name]
            if row.has_something(self.session.trace):
                view = self._view(number, row.name)
                caption = caption_of(view)
                said = caption.text() if caption is not None else ""
                found.append(Shown(name, row.title, said, view))
        return found

    def close(self) -> None:
        """Let the views go."""
        let_go(self._views.values())
        self._views.clear()

    def _view(self, place: int, name: str) -> SessionView:
        view = self._views.get((place, name))
        if view is None:
            view = view_of(self._rows[name], self.session)
            view.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
            view.resize(self._places[place][1])
            view.show()  # or it works out nothing, and its children have no places
            self._views[place, name] = view
        view.catch_up()
        self.session.turns.finish()
        return view
