"""`tilescope lesson export`: a worksheet to be printed, with its key, and banks of questions.

Each question has the matrices as the window shows them, veiled as they are there, where it looks at
a step. Works without a display.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from PySide6.QtGui import QImage

from core.atomic_files import replace_file
from core.lessons.launch_cache import Recorder
from core.lessons.lesson import Click, Edit, Lesson, Number, Order, Slider
from core.lessons.posing_and_marking import Posed, pose, things_of
from core.lessons.question_banks import as_gift, as_qti, key_of, numbered, solution_lines, source_of
from core.lessons.typed_answers import LETTERS
from gui.exports.pdf_pages import Piece, Sheet
from gui.looks.theme import bare_application
from gui.pictures import image_of, png
from gui.scenes.moment_links import go_to
from gui.scenes.session import Session
from gui.views.glossary_words import rich
from gui.views.matrix_canvas import MatrixCanvas

PICTURE = 720, 440  # pixels of the window
LINES = 8  # of a source, that stand on one page
RULES = 4  # to write on
LINKS = (
    "The grey line below a question is the place that it looks at: in Tilescope Ctrl+L opens it, "
    'in a terminal `tilescope "LINE"`.'
)


def export(lessons: Sequence[Lesson], kind: str, seed: int, out: Path) -> None:
    """Write a file of a kind: "pdf", "gift" or "qti". `seed`: of the order of choices.

    Raises TilescopeError where a step cannot be worked out, or the file not written.
    """
    with bare_application("projector"):  # black on white
        if kind == "pdf":
            data: str | bytes = pdf_of(lessons, seed)
        elif kind == "gift":
            data = as_gift(lessons, seed, _png_of)
        else:
            data = as_qti(lessons, seed, _png_of)
    replace_file(out, data)


def pdf_of(lessons: Sequence[Lesson], seed: int) -> bytes:
    """The worksheet as a PDF file. Raises TilescopeError where a step cannot be worked out."""
    sheet = Sheet(", ".join(lesson.heading for lesson in lessons), foot=lessons[0].heading)
    for piece in pieces(lessons, seed):
        sheet.add(piece)
    return sheet.data()


def pieces(lessons: Sequence[Lesson], seed: int) -> Iterator[Piece]:
    """The worksheet from top to bottom: questions, and on a page of its own the key."""
    key: list[Piece] = []
    for place, lesson in enumerate(lessons):
        recorder = Recorder(lesson.ladder)
        posed = [pose(lesson, step, recorder, seed=seed, in_window=False) for step in lesson.steps]
        heading = escape(lesson.heading).replace("  ", "&nbsp;&nbsp;")
        yield Piece(
            f"<h1>{heading}</h1>"
            f"<p>{_code(lesson.aim)}</p><p class='name'>Name: ______________________________</p>"
            f"<p class='small'>{_code(LINKS)}</p>",
            new_page=place > 0,
            foot=lesson.heading,
        )
        # A kernel whose lines a question asks for is printed for no other one.
        asked = {one.source for one in posed if "source" in one.step.veil}
        printed = dict.fromkeys(asked - {one.source for one in posed if one.goals}, "")
        above = f"<h2>{heading}</h2>"
        for one in posed:
            source = source_of(one)
            if source and source not in printed:
                printed[source] = one.step.name
                yield from _listing(f"The source of {one.link.rung}", numbered(source))
            yield Piece(_question(one, printed.get(source, "")), picture_of(one))
            key += _key(one, above)
            above = ""
    foot = "Key" if len(lessons) > 1 else ""
    yield Piece("<h1>Key</h1>", new_page=True, foot=foot)
    yield from key


def _listing(title: str, lines: Sequence[tuple[int, str]]) -> Iterator[Piece]:
    """Numbered lines; a page may end between some of them."""
    ends = [*range(LINES, len(lines) - LINES // 2, LINES), len(lines)]
    for at, end in zip([0, *ends], ends, strict=False):
        shown = "\n".join(f"{number:>4}  {escape(line)}" for number, line in lines[at:end])
        head = "" if at else f"<p class='head'>{_code(title)}</p>"
        yield Piece(f"{head}<pre>{shown}</pre>", close=at > 0)


def _question(posed: Posed, printed: str) -> str:
    """`printed` is the step at which its source stands."""
    step, question = posed.step, posed.step.question
    parts = [f"<p><b>{escape(step.name)}</b>&nbsp; {_code(posed.ask)}"]
    parts += [f"<br>☐ {LETTERS[i]}&nbsp; {_code(said)}" for i, said in enumerate(posed.choices)]
    if posed.items:
        parts.append("<br>Number what you choose, from 1 on, in your order:")
    parts += [f"<br>____ &nbsp;{_code(item)}" for item in posed.items]
    if posed.goals:
        parts.append("<br>It is right when all of this holds:")
    parts += [f"<br>&nbsp;&nbsp;– {_code(goal)}" for goal in posed.goals]
    if isinstance(question, Edit):
        where = f" (before {escape(printed)})" if printed not in ("", step.name) else " above"
        parts.append(f"<br>Correct the source{where}, or write the lines that you change:")
        parts += ["</p><p class='rule'>" + "_" * 80] * RULES
    unit = ""
    if isinstance(question, Number):
        unit = question.unit
    elif isinstance(question, Click):
        unit = f"({question.target}{'s' * (not things_of(posed).single)})"
    elif isinstance(question, Slider):
        unit = f"({question.label}: {question.low} to {question.high})"
    if isinstance(question, Number | Click | Slider):
        parts.append(f"<br>Answer: ______________ {escape(unit)}")
    return "".join([*parts, f"<br><span class='small'>{escape(str(posed.link))}</span></p>"])


def _key(posed: Posed, heading: str) -> Iterator[Piece]:
    """The answer of a question, below a heading that stands on the same page."""
    right, why = key_of(posed)
    name = f"<b>{escape(posed.step.name)}</b>&nbsp; "
    question = posed.step.question
    if isinstance(question, Edit):
        above = f"{heading}<p>{name}{_code(why)} One solution changes these lines:</p>"
        lines = [f"  {escape(line)}" for line in solution_lines(posed)]
        for at in range(0, max(len(lines), 1), LINES):
            shown = "\n".join(lines[at : at + LINES])
            yield Piece(f"{'' if at else above}<pre>{shown}</pre>", close=at > 0)
        return
    if isinstance(question, Order) and not right:  # lines of a kernel
        order = "\n".join(escape(item.said(posed.here)) for item in question.items)
        yield Piece(f"{heading}<p>{name}{_code(why)} One right order:</p><pre>{order}</pre>")
        return
    letter = f"{LETTERS[posed.choices.index(right)]}: " if right in posed.choices else ""
    yield Piece(f"{heading}<p>{name}{letter}<b>{_code(right)}</b>{_code(why)}</p>")


def _code(text: str) -> str:
    return rich(text, mono="JetBrains Mono", accent="#000000")


def picture_of(posed: Posed) -> QImage | None:
    """The matrices at the step that a question looks at, veiled; None where it is about a page."""
    link = posed.link
    if "page" in link.looks or link.versus is not None or posed.goals:
        return None
    session = Session()
    session.trace = posed.here.trace
    go_to(session, link)
    session.update(veiled=posed.step.veil)
    canvas = MatrixCanvas(session)
    canvas.resize(*PICTURE)
    canvas.catch_up(hidden=True)
    image = image_of(canvas, 2.0)
    canvas.deleteLater()
    return image


def _png_of(posed: Posed) -> bytes:
    """The picture as a PNG file; empty where there is none."""
    picture = picture_of(posed)
    return b"" if picture is None else png(picture)
