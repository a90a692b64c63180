"""A page that replays recorded steps in a browser: one file, which needs nothing but itself.

The pictures are what the window's own views paint, step by step (`gui.exports.svg_device`);
captions, source and values come from the scenes. What steps share is kept once.

A page has chapters. Of a lesson each step is one: a question, first veiled, then with its answer.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from PySide6.QtCore import QSize

from core.cancelling import check
from core.errors import Cancelled, TilescopeError
from core.lessons.course import course_lesson
from core.lessons.launch_cache import Recorder
from core.lessons.lesson import Edit
from core.lessons.posing_and_marking import Posed, answer_text, pose, right_answer
from core.lessons.question_banks import solution_lines
from core.wording import assignments
from gui.exports.exported_views import MEMORY, Stage
from gui.exports.svg_device import Pool, drawn
from gui.looks.theme import RESOURCES, Theme, current_theme
from gui.scenes.configuration import Configuration, Origin
from gui.scenes.moment_links import MATRIX_LOOKS
from gui.scenes.numbers_and_sentences import grouped
from gui.scenes.question_in_views import ANSWER_FIRST
from gui.scenes.session import Session
from gui.scenes.setting_choices import UNITS, Unit
from gui.scenes.shortened_names import common_ends
from gui.scenes.source_pane import highlight, language_of, line_totals, source_caption, totals_text
from gui.scenes.transport_bar import event_caption, phase_label
from gui.scenes.variables_shown import table_rows, variables_caption

VIEWS = ("Matrices", MEMORY)
"""The pictures of a page where nobody says which."""
SIZES = {"Matrices": QSize(660, 560), MEMORY: QSize(640, 330)}
OTHER = QSize(640, 420)
MOST_BYTES = 3_000_000
MOST_STEPS = 2000
FOLDER = RESOURCES / "replay"
FONTS = {
    ("Tilescope Sans", 400): "Inter-Regular.otf",
    ("Tilescope Sans", 600): "Inter-SemiBold.otf",
    ("Tilescope Mono", 400): "JetBrainsMono-Regular.ttf",
    ("Tilescope Mono", 700): "JetBrainsMono-Bold.ttf",
}
Said = Callable[[float], None]


@dataclass(frozen=True)
class Asked:
    """The question of a chapter, each part as plain text."""

    ask: str
    options: tuple[str, ...] = ()
    goals: bool = False
    """Whether the options are what is to be reached, rather than what to choose from."""
    hints: tuple[str, ...] = ()
    answer: str = ""
    why: str = ""


@dataclass(frozen=True)
class Chapter:
    """Steps of one launch: of a session's selected block, in their order.

    Without a session it is a question alone, about a launch too large to be recorded.
    """

    session: Session | None
    steps: Sequence[int]
    title: str
    start: int = 0
    """The step that is shown first."""
    asked: Asked | None = None
    """Its one step is shown twice: as the question veils it, and with the answer."""
    veiled: frozenset[str] = frozenset()


@dataclass
class _Frames:
    """The pictures of one place, each as what differs from the one before it."""

    before: list[int] = field(default_factory=list)
    found: list[list[Any]] = field(default_factory=list)

    def add(self, numbers: list[int]) -> None:
        """Keep how many of the last picture's first and last elements stay, and what is between."""
        head, tail = common_ends(self.before, numbers)
        self.found.append([head, tail, numbers[head : len(numbers) - tail]])
        self.before = numbers


def steps_in(session: Session, first: int | None = None, last: int | None = None) -> range:
    """All steps of the selected block, or those from `first` to `last`, both included.

    Raises TilescopeError where there is one that the block has not, or more than a page holds.
    """
    end = session.n_steps - 1
    if end < 0:
        raise TilescopeError("The launch has no step to show: no block was recorded.")
    low, high = first or 0, end if last is None else last
    if low < 0 or low > high or high > end:
        said = f"{low}..{high}" if last is not None else f"{low}.."
        raise TilescopeError(f"This block has steps 0..{end}: give some of them, not {said}.")
    return range(low, high + 1)


def page_of(
    chapters: Sequence[Chapter], views: Sequence[str], title: str, said: Said = lambda _: None
) -> str:
    """The page of some chapters. Raises Cancelled, and TilescopeError where it would be too large.

    `said` is told how much of it is done, 0 to 1. It paints, so it runs in the UI thread.
    """
    total = sum(max(len(chapter.steps), 1) for chapter in chapters)
    if total > MOST_STEPS:
        raise TilescopeError(
            f"A page holds {grouped(MOST_STEPS)} steps, and these are {grouped(total)}: choose "
            "some of them, such as --steps 0..200."
        )
    pool, words, done = Pool(), Pool(), 0

    def tell() -> None:
        nonlocal done
        done += 1
        said(done / total)
        check()

    data = [_chapter(chapter, views, pool, words, tell) for chapter in chapters]
    content = {"title": title, "chapters": data, "words": words.texts, "shapes": pool.texts}
    text = _filled(title, content, pool)
    size = len(text.encode())
    if size > MOST_BYTES:
        raise TilescopeError(
            f"The page would have {size / 1e6:.1f} MB, and {MOST_BYTES / 1e6:.0f} MB is the most: "
            "export fewer steps (--steps 0..100), fewer views (--views), or a smaller launch."
        )
    return text


def _chapter(
    chapter: Chapter, views: Sequence[str], pool: Pool, words: Pool, tell: Callable[[], None]
) -> dict[str, Any]:
    session, asked = chapter.session, chapter.asked
    found: dict[str, Any] = {
        "title": chapter.title,
        "launch": "",
        "places": [],
        "frames": [],
        "steps": [],
        "stops": {unit: [] for unit in UNITS},
        "last": 0,
        "start": 0,
        "source": [],
        "asked": None if asked is None else vars(asked),
    }
    if session is None:  # nothing but its question
        tell()
        said = dict.fromkeys(("phase", "event", "source", "who"), words.number(""))
        moment = {"views": [], "step": 0, "line": 0, "values": [], "totals": True, **said}
        return found | {"steps": [moment]}
    places = [(name, SIZES.get(name, OTHER)) for name in views]
    stage, frames, seen = Stage(session, places), [_Frames() for _ in places], []
    try:
        for number, step in enumerate(chapter.steps):
            session.update(veiled=chapter.veiled if asked and not number else ())
            shown = {one.name: one for one in stage.at(step)}
            pictures = []
            for frame, (name, _) in zip(frames, places, strict=True):
                one = shown.get(name)
                frame.add(drawn(one.widget, pool) if one is not None else [])
                heads = (one.title, one.caption) if one is not None else ("", "")
                pictures.append([words.number(text) for text in heads])
            seen.append({"views": pictures, **_moment(session, words)})
            tell()
    finally:
        stage.close()
    return found | {
        "launch": _launch(session),
        "places": [[size.width(), size.height()] for _, size in places],
        "frames": [frame.found for frame in frames],
        "steps": seen,
        "stops": {unit: _stops(session, unit, chapter.steps) for unit in UNITS},
        "last": session.n_steps - 1,
        "start": max(0, sum(step < chapter.start for step in chapter.steps)),
        "source": list(_lines(session)),
    }


def _moment(session: Session, words: Pool) -> dict[str, Any]:
    rows = () if session.hides("variables") else table_rows(session)
    values = [[words.number(r.name), words.number(r.value), int(r.changed)] for r in rows]
    return {
        "step": session.step,
        "line": session.current_line or 0,
        "phase": words.number(_unless(session, "transport", phase_label)),
        "event": words.number(_unless(session, "transport.caption", event_caption)),
        "source": words.number(_unless(session, "gutter", source_caption)),
        "who": words.number(
            _unless(session, "variables", lambda one: variables_caption(one, table_rows(one)))
        ),
        "totals": not session.hides("gutter"),
        "values": values,
    }


def _unless(session: Session, part: str, say: Callable[[Session], str]) -> str:
    """A sentence, or where a question veils what it is about, that it does."""
    return ANSWER_FIRST if session.hides(part) else say(session)


def _stops(session: Session, unit: Unit, steps: Sequence[int]) -> list[int]:
    """The places in `steps` at which the clock stops when it moves by a unit."""
    block, step = session.block_trace, -1
    where = {number: place for place, number in enumerate(steps)}
    found: list[int] = []
    while block is not None and step < block.n_steps - 1:
        step = block.seek(step, unit, forward=True)
        if step in where:
            found.append(where[step])
    return found


def _launch(session: Session) -> str:
    trace = session.trace
    assert trace is not None
    workload, launch = trace.workload, trace.workload.launch
    given = assignments(workload.parameters)
    sizes = f"grid {_dims(launch.grid)}, block {_dims(launch.block)}"
    place = f"block {session.block}, thread {session.thread}"
    return "; ".join(filter(None, (given, sizes, place)))


def _dims(size: Any) -> str:
    found = [size.x, size.y, size.z]
    while len(found) > 1 and found[-1] == 1:
        found.pop()
    return " × ".join(map(str, found))


def _lines(session: Session) -> Iterator[list[str]]:
    """Of each line of the source: its text as HTML, its totals in short, and in a sentence."""
    trace = session.trace
    assert trace is not None
    source = trace.workload.source
    totals = line_totals(session.counts or trace)
    coloured = highlight(source, language_of(trace.workload.source_name, source))
    for number, line in enumerate(source.split("\n"), start=1):
        html, at = "", 0
        for span in coloured[number - 1] if number <= len(coloured) else ():
            words = line[span.start : span.start + span.length]
            html += f'{escape(line[at : span.start])}<i class="{span.category}">{escape(words)}</i>'
            at = span.start + span.length
        found = totals.get(number, {})
        short = " ".join(
            f'<b class="{"waste" if total.wasteful else "good"}">{total.text}</b>'
            for total in found.values()
        )
        yield [html + escape(line[at:]), short, totals_text(found)]


def _filled(title: str, content: dict[str, Any], pool: Pool) -> str:
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    # "</script>" would end the data, "<!--" may hide its end: neither is in a string any more.
    data = data.replace("</", "<\\/").replace("<!--", "\\u003c!--")
    texts = {name: (FOLDER / name).read_text("utf-8") for name in ("page.css", "page.js")}
    parts = {
        "title": escape(title),
        "style": f"{_fonts()}\n{_palette(current_theme())}\n{texts['page.css']}\n{pool.css()}",
        "defs": pool.defs(),
        "data": data,
        "script": texts["page.js"],
    }
    page = (FOLDER / "page.html").read_text("utf-8")
    for name, text in parts.items():  # the data last but one: they may hold a mark's text
        head, mark, tail = page.partition(f"<!--{name}-->")
        assert mark
        page = head + text + tail
    return page


def _fonts() -> str:
    faces = []
    for (family, weight), file in FONTS.items():
        data = base64.b64encode((RESOURCES / "fonts" / file).read_bytes()).decode()
        kind = "opentype" if file.endswith(".otf") else "truetype"
        faces.append(
            f'@font-face{{font-family:"{family}";font-weight:{weight};'
            f'src:url("data:font/{file[-3:]};base64,{data}") format("{kind}")}}'
        )
    return "\n".join(faces)


def _palette(theme: Theme) -> str:
    named = {**vars(theme.surfaces), **vars(theme.meanings)}
    colours = "".join(f"--{name.replace('_', '-')}:{text};" for name, text in named.items())
    return f":root{{color-scheme:{'dark' if theme.dark else 'light'};{colours}}}"


# -- a lesson as chapters --------------------------------------------------------------------------


def lesson_chapters(name: str) -> tuple[str, list[Chapter]]:
    """The title of a lesson of the course, and a chapter for each of its steps.

    Raises TilescopeError where a step cannot be recorded.
    """
    lesson = course_lesson(name)
    recorder = Recorder(lesson.ladder)
    found = []
    for step in lesson.steps:
        posed = pose(lesson, step, recorder, in_window=False)
        here = posed.here
        asked = Asked(
            posed.ask,
            options=posed.choices or posed.items or posed.goals,
            goals=not (posed.choices or posed.items),
            hints=posed.hints,
            answer=_answer(posed),
            why=posed.why,
        )
        title = f"{step.name}  {lesson.title}"
        try:
            session = _session(posed)
        except Cancelled:
            raise
        except TilescopeError:  # too large to be recorded: the question is about its counts
            found.append(Chapter(None, [], title, asked=asked))
            continue
        steps = [here.step, here.step]
        found.append(Chapter(session, steps, title, asked=asked, veiled=step.veil))
    return f"{lesson.name}  {lesson.title}", found


def _answer(posed: Posed) -> str:
    """What is shown as the answer; of an exercise the lines that a solution has of its own."""
    question = posed.step.question
    if not isinstance(question, Edit):
        return f"Answer: {answer_text(posed, right_answer(posed))}"
    lines = (f"`{line}`" for line in solution_lines(posed))
    return "\n".join(["One solution changes these lines:", *lines])


def _session(posed: Posed) -> Session:
    link, trace = posed.link, posed.here.trace
    session = Session()
    source = posed.here.recorder.ladder[link.rung].source
    session.origin = Origin(Configuration(link.rung, link.parameters), source)
    session.trace = trace
    session.update(**{name: link.looks[name] for name in MATRIX_LOOKS if name in link.looks})
    session.update(block=link.block, thread=link.thread)
    return session
