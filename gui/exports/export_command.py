"""What `tilescope export` does: it records what is named, draws it, and writes the file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from core.atomic_files import must_be_writable, replace_file
from core.cli.console import progress_bar
from core.errors import ParameterError
from core.ladder import load_ladder
from core.lessons.course import load_course
from core.links import names_file
from core.user_files.sources_and_headers import is_saved_trace
from gui.exports import film, replay_page
from gui.exports.exported_views import MEMORY, chosen
from gui.exports.replay_page import lesson_chapters
from gui.jobs.opening_work import load_job, open_job
from gui.jobs.record_work import Recorded, record_job
from gui.looks.theme import bare_application, theme_names
from gui.scenes.configuration import Configuration
from gui.scenes.moment_links import conditions_of, configuration_of, go_to, window_link
from gui.scenes.numbers_and_sentences import plural
from gui.scenes.session import Session

if TYPE_CHECKING:
    from core.ladder import Ladder
    from core.links import Link
    from gui.background import Progress

PAGE = (".html", ".htm")
FILM = ("Matrices", MEMORY, "Source")
"""The views of a film where nobody says which."""


def export(
    what: str,
    out: Path,
    *,
    first: int | None,
    last: int | None,
    views: Sequence[str],
    theme: str,
    size: tuple[int, int],
    speed: float,
    captions: bool,
    percent: bool = False,
) -> None:
    """Export what a link names to a file, as its ending says. Raises TilescopeError."""
    if theme not in theme_names():
        raise ParameterError(f"There is no theme {theme}: use {', '.join(theme_names())}.")
    is_page, suffix = out.suffix.lower() in PAGE, out.suffix.lower()
    if suffix and not is_page and suffix not in film.KINDS:
        endings = f"{PAGE[0]}, {', '.join(film.KINDS)}"
        raise ParameterError(
            f"{out.name} is neither a page nor a film: end its name with {endings}, or with / for "
            "a folder of pictures."
        )
    order = load_course().order
    lesson = next((name for name in order if name.lower() == what.lower()), None)
    if lesson is not None and not is_page:
        raise ParameterError(f"A lesson is exported as a page: end {out.name} with {PAGE[0]}.")
    places = chosen(views or (replay_page.VIEWS if is_page else FILM))
    if suffix:
        must_be_writable(out)
    with bare_application(theme):
        if lesson is not None:
            with _percent() if percent else progress_bar("Drawing") as said:
                title, chapters = lesson_chapters(lesson)
                replace_file(out, replay_page.page_of(chapters, places, title, said))
            made = plural(len(chapters), "question")
            sys.stdout.write(f"Wrote {out}: {made}, {_weight(out)}.\n")
            return
        with progress_bar("Recording") as said:
            session = opened(what, load_ladder(), theme_names(), said)
        steps: Sequence[int] = replay_page.steps_in(session, first, last)
        title = _title_of(session)
        with _percent() if percent else progress_bar("Drawing") as said:
            if is_page:
                chapter = replay_page.Chapter(session, steps, title, session.step)
                replace_file(out, replay_page.page_of([chapter], places, title, said))
            else:
                film.write_film(
                    session, steps, out, names=places, title=title, size=size, speed=speed,
                    captions=captions, said=said,
                )  # fmt: skip
    made = f", {_weight(out)}" if suffix else ""
    sys.stdout.write(f"Wrote {out}: {plural(len(steps), 'step')}{made}.\n")


@contextmanager
def _percent() -> Iterator[Callable[[float], None]]:
    """Says how far it is in lines of its own."""

    def say(done: float) -> None:
        sys.stdout.write(f"{done:.0%}\n".replace("%", " %"))
        sys.stdout.flush()

    yield say


def _title_of(session: Session) -> str:
    """What a launch is called: its rung's title, or its kernel and file."""
    trace = session.trace
    if trace is None:
        return "Tilescope"
    workload, ladder = trace.workload, load_ladder()
    if workload.rung is not None and workload.rung in ladder:
        return ladder[workload.rung].title
    return f"{workload.kernel} in {workload.source_name}"


def _weight(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


# -- what is named, recorded -----------------------------------------------------------------------


def opened(text: str, ladder: Ladder, themes: tuple[str, ...], progress: Progress) -> Session:
    """Record what a link (`tiled?n=8&step=12`), a rung, a .cu or .ptx file or a trace names.

    The session stands at the step that the link names, else at the first access. Raises
    TilescopeError for what is none of these, or cannot be recorded.
    """
    if "?" not in text and is_saved_trace(Path(text)):
        loaded = load_job(progress, text, ladder)
        session = _showing(loaded.recorded)
        if loaded.inputs is not None:
            session.inputs, session.seed = loaded.inputs, loaded.seed
        return session
    if "?" not in text and text not in ladder and names_file(text):
        text = f"{quote(str(Path(text).absolute()))}?"
    link = window_link(text, ladder, themes)
    wanted, given = _configuration(link, progress), conditions_of(link)
    session = _showing(record_job(progress, ladder, wanted, link.block, given=given))
    session.update(**asdict(given))
    if missing := go_to(session, link):
        raise ParameterError(missing)
    return session


def _showing(recorded: Recorded) -> Session:
    session = Session()
    session.origin = recorded.origin
    session.trace = recorded.trace
    return session


def _configuration(link: Link, progress: Progress) -> Configuration:
    wanted = configuration_of(link)
    if wanted.own is None:
        return wanted
    own = wanted.own
    found = open_job(progress, own.path, own, None, link.source, linked=True)
    return replace(wanted, source=found.edited, own=found.launch)
