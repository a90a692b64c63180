"""Views as they stand at a step, painted and never shown: for pages and films of recorded steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QWidget

from core.errors import ParameterError
from gui.scenes.session import Session
from gui.scenes.step_views import VIEWS
from gui.views.captions_and_panels import Caption
from gui.views.session_view import SessionView, view_of

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
