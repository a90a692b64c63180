"""`tilescope lesson export`: a worksheet to be printed, with its key, and banks of questions.

Each question has the matrices as the window shows them, veiled as they are there, where it looks at
a step. Works without a display.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QUrl
from PySide6.QtGui import QFont, QImage, QPageSize, QPdfWriter, QTextDocument

from core.files import replace_file
from core.lessons.answers import LETTERS
from core.lessons.export import as_gift, as_qti
from core.lessons.lesson import Lesson
from core.lessons.marking import answer_text
from core.lessons.posing import Posed, pose, right_answer
from core.lessons.situation import Recorder
from gui.looks.theme import bare_application, current_theme
from gui.pictures.files import png
from gui.pictures.painted import image_of
from gui.scenes.link import go_to, parse_link
from gui.scenes.prose import rich
from gui.scenes.session import Session
from gui.views.matrix_canvas import MatrixCanvas

PICTURE = 720, 440  # pixels of the window
SHOWN = 430  # of the page
STYLE = """
h1 { font-size: 17pt; } h2 { font-size: 13pt; }
p { font-size: 10pt; } .small { font-size: 8.5pt; color: #555; }
code { font-family: 'JetBrains Mono', monospace; font-size: 9pt; }
"""


def export(lessons: Sequence[Lesson], kind: str, seed: int, out: Path) -> None:
    """Write a file of a kind: "pdf", "gift" or "qti". `seed`: of the order of choices.

    Raises TilescopeError where a step cannot be worked out, or the file not written.
    """
    with bare_application("projector"):  # black on white
        if kind == "pdf":
            data: str | bytes = pdf_of(lessons, seed)
        elif kind == "gift":
            data = as_gift(lessons, seed, png_of)
        else:
            data = as_qti(lessons, seed, png_of)
    replace_file(out, data)


def pdf_of(lessons: Sequence[Lesson], seed: int) -> bytes:
    """The worksheet as a PDF file. Raises TilescopeError where a step cannot be worked out."""
    document = QTextDocument()
    font = QFont(current_theme().font())
    font.setPointSizeF(10)
    document.setDefaultFont(font)
    document.setDefaultStyleSheet(STYLE)
    document.setHtml("".join(_pages(lessons, seed, document)))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setTitle(", ".join(lesson.title for lesson in lessons))
    writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    writer.setPageMargins(QMarginsF())  # the document has its own
    document.print_(writer)
    return bytes(buffer.data().data())


def _pages(lessons: Sequence[Lesson], seed: int, document: QTextDocument) -> Iterator[str]:
    """The worksheet as HTML: questions, and on a page of its own the key."""
    key: list[str] = []
    for place, lesson in enumerate(lessons):
        recorder = Recorder(lesson.ladder)
        brk = ' style="page-break-before: always"' if place else ""
        yield f"<h1{brk}>{escape(lesson.name)}&nbsp;&nbsp;{escape(lesson.title)}</h1>"
        yield f"<p>{_code(lesson.aim)}</p><p class='small'>Name: ______________________________</p>"
        key.append(f"<h2>{escape(lesson.name)}</h2>")
        for step in lesson.steps:
            posed = pose(lesson, step, recorder, seed=seed, in_window=False)
            picture = picture_of(posed)
            if picture is not None:
                url = QUrl(f"picture:{step.name}")
                kind = QTextDocument.ResourceType.ImageResource
                document.addResource(kind.value, url, picture)
            yield _question(posed, picture is not None)
            right = answer_text(posed, right_answer(posed))
            letter = f"{LETTERS[posed.choices.index(right)]}: " if right in posed.choices else ""
            key.append(
                f"<p><b>{escape(step.name)}</b>&nbsp; {letter}<b>{_code(right or 'built')}</b>. "
                f"{_code(posed.why)}</p>"
            )
    yield '<h1 style="page-break-before: always">Key</h1>'
    yield from key


def _question(posed: Posed, pictured: bool) -> str:
    step = posed.step
    parts = [f"<p><b>{escape(step.name)}</b>&nbsp; {_code(posed.ask)}"]
    parts += [f"<br>☐ {LETTERS[i]}&nbsp; {_code(said)}" for i, said in enumerate(posed.choices)]
    parts += [f"<br>___ &nbsp;{_code(item)}" for item in posed.items]
    parts += [f"<br>☐ {_code(goal)}" for goal in posed.goals]
    if step.kind in ("number", "click", "slider"):
        unit = getattr(step.question, "unit", "")
        parts.append(f"<br>Answer: ______________ {escape(unit)}")
    parts.append("</p>")
    if pictured:
        parts.append(f'<p><img src="picture:{step.name}" width="{SHOWN}"></p>')
    link = escape(str(posed.link))
    return "".join([*parts, f"<p class='small'>{link}</p>"])


def _code(text: str) -> str:
    return rich(text, mono="JetBrains Mono", accent="#000000")


def picture_of(posed: Posed) -> QImage | None:
    """The matrices at the step that a question looks at, veiled; None where it is about a page."""
    link = posed.link
    if "page" in link.looks or link.versus is not None or posed.goals:
        return None
    session = Session()
    session.trace = posed.here.trace
    go_to(session, parse_link(str(link), posed.here.recorder.ladder, ()))
    session.update(veiled=posed.step.veil)
    canvas = MatrixCanvas(session)
    canvas.resize(*PICTURE)
    canvas.catch_up(hidden=True)
    image = image_of(canvas, 2.0)
    canvas.deleteLater()
    return image


def png_of(posed: Posed) -> bytes:
    """The picture as a PNG file; empty where there is none."""
    picture = picture_of(posed)
    return b"" if picture is None else png(picture)
