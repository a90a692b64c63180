"""Questions where there is no window: what paper says, and question banks for other systems.

A bank has every step in every variant, its answer computed.

GIFT is Moodle's format for questions as text (docs.moodle.org, "GIFT format"); QTI 2.1 is that of
1EdTech (imsglobal.org/question), a zip file with a manifest; CSV is a plain table. What has to be
built is left out of GIFT and QTI, which cannot run a kernel. Their pictures are drawn by who calls,
as `core` knows no window.
"""

from __future__ import annotations

import base64
import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import ndiff
from html import escape
from xml.etree import ElementTree as Xml

from core.lessons.launch_cache import Recorder
from core.lessons.lesson import Edit, Lesson, Number, Order, Slider
from core.lessons.lesson_expressions import Value
from core.lessons.posing_and_marking import (
    NO_VALUES,
    Posed,
    answer_text,
    pose,
    right_answer,
    slack_of,
)


def source_of(posed: Posed) -> str:
    """The source that a question is about; "" where it veils the source, or is about a page.

    Lines to be put in order would stand there in order.
    """
    looks_at_page = "page" in posed.link.looks
    ordered = isinstance(posed.step.question, Order) and bool(posed.goals)
    return "" if looks_at_page or ordered or "source" in posed.step.veil else posed.source


def numbered(source: str) -> list[tuple[int, str]]:
    """Its lines with their numbers, without the comment at its head, which explains the kernel."""
    lines = [(number, line.rstrip()) for number, line in enumerate(source.splitlines(), 1)]
    at = 0
    while at < len(lines) and (not lines[at][1] or lines[at][1].startswith("//")):
        at += 1
    while lines and not lines[-1][1]:
        lines.pop()
    return lines[at:]


def key_of(posed: Posed) -> tuple[str, str]:
    """The answer, "" of what has to be built, and what follows it: the explanation.

    One that begins with the answer goes on from it.
    """
    right, why = answer_text(posed, right_answer(posed)), posed.why
    rest = why.removeprefix(right)
    if right and rest != why and re.match(r"$|[:.;,]( |$)| [A-Za-z]", rest):
        return right, rest
    return right, f". {why}" if right else why


def solution_lines(posed: Posed) -> list[str]:
    """The lines that a solution of an exercise takes away (-) and adds (+)."""
    question = posed.step.question
    assert isinstance(question, Edit)
    lines = ndiff(_code(posed.source), _code(question.solution))
    return [line for line in lines if line[0] in "+-"]


def _code(source: str) -> list[str]:
    """Its lines, without those of words alone."""
    lines = source.splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("//")]


Draw = Callable[[Posed], bytes]
"""The picture of a question as a PNG file, veiled; empty where there is nothing to see."""
ALT = "The matrices at the step that the question looks at"  # instead of a picture, where none is
IN_TILESCOPE = "Ctrl+L in Tilescope opens"
WIDTH = 560  # of a picture in a page, in its pixels

_EPOCH = (1980, 1, 1, 0, 0, 0)  # a zip file's date, so that the same questions make the same file


@dataclass(frozen=True)
class Question:
    """A question with its answer, as other systems know them.

    `source` are the lines that it is about, numbered. `numbers` are right answers, each within
    `tolerance`; `right` is one of the `choices`.
    """

    name: str
    text: str
    link: str
    kind: str
    right: str
    why: str
    concepts: tuple[str, ...]
    numbers: tuple[float, ...] = ()
    tolerance: float = 0.0
    choices: tuple[str, ...] = ()
    picture: bytes = b""
    source: str = ""


def _nothing(_: Posed) -> bytes:
    return b""


def questions(
    lessons: Sequence[Lesson], seed: int = 0, draw: Draw = _nothing
) -> Iterator[Question]:
    """Every step in every variant. Raises TilescopeError where one cannot be worked out."""
    for lesson in lessons:
        recorder = Recorder(lesson.ladder)
        for step in lesson.steps:
            for place, values in enumerate((NO_VALUES, *step.sets)):
                posed = pose(lesson, step, recorder, values, seed, in_window=False)
                right = right_answer(posed)
                name = f"{step.name}/{place}" if place else step.name
                numbers, tolerance = _numbers(posed, right)
                yield Question(
                    name,
                    "\n".join([posed.ask, *(f"- {item}" for item in posed.items)]),
                    str(posed.link),
                    step.kind,
                    answer_text(posed, right),
                    posed.why,
                    step.concepts,
                    numbers,
                    tolerance,
                    posed.choices,
                    draw(posed),
                    "\n".join(f"{n:>3}  {line}".rstrip() for n, line in numbered(source_of(posed))),
                )


def _numbers(posed: Posed, right: Value) -> tuple[tuple[float, ...], float]:
    question = posed.step.question
    if isinstance(question, Number) and isinstance(right, int | float):
        return (float(right),), slack_of(question, right)
    if isinstance(question, Slider) and isinstance(right, list):
        return tuple(float(one) for one in right), 0.0
    return (), 0.0


# -- GIFT ------------------------------------------------------------------------------------------


def as_gift(lessons: Sequence[Lesson], seed: int = 0, draw: Draw = _nothing) -> str:
    """Questions of GIFT: numbers, choices and short answers; a picture stands in its question."""
    parts = []
    for one in questions(lessons, seed, draw):
        if one.kind == "edit" or not one.right:
            continue
        link = f"{IN_TILESCOPE} {one.link}"
        form, text = "plain", "\n".join(filter(None, (one.text, one.source, link)))
        if one.picture:
            data = base64.b64encode(one.picture).decode()
            form = "html"
            text, source = (escape(part).replace("\n", "<br>") for part in (one.text, one.source))
            text += (f"<pre>{source}</pre>" if source else "<br>") + (
                f'{escape(link)}<br><img src="data:image/png;base64,{data}"'
                f' width="{WIDTH}" alt="{ALT}">'
            )
        parts.append(
            f"// {', '.join(one.concepts)}\n"
            f"::{_gift(one.name)}::[{form}]{_gift(text)}{{{_gift_answers(one)}\n"
            f"####{_gift(one.why)}\n}}\n"
        )
    return "\n".join(parts)


def _gift_answers(one: Question) -> str:
    if one.numbers:
        return "#" + "".join(f"\n=%100%{_plain(n)}:{_plain(one.tolerance)}" for n in one.numbers)
    if one.choices:
        return "".join(f"\n{'=' if c == one.right else '~'}{_gift(c)}" for c in one.choices)
    return f"\n={_gift(one.right)}"


def _gift(text: str) -> str:
    for mark in ("\\", "~", "=", "#", "{", "}", ":"):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", "\\n")


def _plain(number: float) -> str:
    return f"{number:.12g}"


# -- CSV -------------------------------------------------------------------------------------------

COLUMNS = (
    *("name", "kind", "concepts", "link", "question", "source"),
    *("choices", "answer", "tolerance", "why"),
)


def as_csv(lessons: Sequence[Lesson], seed: int = 0) -> str:
    """One row a question; choices are on lines of their own."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for one in questions(lessons, seed):
        cells = [
            *(one.name, one.kind, " ".join(one.concepts), one.link, one.text, one.source),
            *("\n".join(one.choices), one.right, _plain(one.tolerance), one.why),
        ]
        writer.writerow([_harmless(cell) for cell in cells])
    return text.getvalue()


def _harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


# -- QTI 2.1 ---------------------------------------------------------------------------------------

_QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
_PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
_TEMPLATES = "http://www.imsglobal.org/question/qti_v2p1/rptemplates"


def as_qti(lessons: Sequence[Lesson], seed: int = 0, draw: Draw = _nothing) -> bytes:
    """A content package: an item for each question, its picture, and the manifest of them all."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        pictured: dict[str, bool] = {}
        for one in questions(lessons, seed, draw):
            if one.kind == "edit" or not one.right:
                continue
            name = f"q{len(pictured) + 1:04d}"
            pictured[name] = bool(one.picture)
            _write(archive, f"{name}.xml", _xml(_item(name, one)))
            if one.picture:
                _write(archive, f"{name}.png", one.picture)
        _write(archive, "imsmanifest.xml", _xml(_manifest(pictured)))
    return packed.getvalue()


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)


def _xml(root: Xml.Element) -> bytes:
    found: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return found


def _item(name: str, one: Question) -> Xml.Element:
    item = Xml.Element(
        "assessmentItem",
        {
            "xmlns": _QTI,
            "identifier": name,
            "title": one.name,
            "adaptive": "false",
            "timeDependent": "false",
        },
    )
    is_choice = bool(one.choices)
    kind = "identifier" if is_choice else "float" if one.numbers else "string"
    response = _below(item, "responseDeclaration", identifier="RESPONSE", cardinality="single")
    response.set("baseType", kind)
    correct = _below(response, "correctResponse")
    marks = {text: f"c{place}" for place, text in enumerate(one.choices)}
    answer = marks[one.right] if is_choice else _plain(one.numbers[0]) if one.numbers else one.right
    _below(correct, "value").text = answer
    _below(item, "outcomeDeclaration", identifier="SCORE", cardinality="single", baseType="float")
    body = _below(item, "itemBody")
    for line in one.text.split("\n"):
        _below(body, "p").text = line
    if one.source:
        _below(body, "pre").text = one.source
    _below(body, "p").text = f"{IN_TILESCOPE} {one.link}"
    if one.picture:
        _below(_below(body, "p"), "img", src=f"{name}.png", alt=ALT, width=str(WIDTH))
    if is_choice:
        asked = _below(body, "choiceInteraction", responseIdentifier="RESPONSE", shuffle="true")
        asked.set("maxChoices", "1")
        for text, mark in marks.items():
            _below(asked, "simpleChoice", identifier=mark).text = text
    else:
        _below(_below(body, "p"), "textEntryInteraction", responseIdentifier="RESPONSE")
    if one.numbers:
        _add_numeric_marking(item, one)
    else:
        _below(item, "responseProcessing", template=f"{_TEMPLATES}/match_correct")
    return item


def _add_numeric_marking(item: Xml.Element, one: Question) -> None:
    """Any of the numbers, within the tolerance, scores 1."""
    condition = _below(_below(item, "responseProcessing"), "responseCondition")
    any_of = _below(_below(condition, "responseIf"), "or")
    for number in one.numbers:
        slack = _plain(one.tolerance)
        equal = _below(any_of, "equal", toleranceMode="absolute", tolerance=f"{slack} {slack}")
        _below(equal, "variable", identifier="RESPONSE")
        _below(equal, "baseValue", baseType="float").text = _plain(number)
    score = _below(condition[0], "setOutcomeValue", identifier="SCORE")
    _below(score, "baseValue", baseType="float").text = "1"


def _manifest(pictured: Mapping[str, bool]) -> Xml.Element:
    root = Xml.Element("manifest", {"xmlns": _PACKAGE, "identifier": "tilescope"})
    metadata = _below(root, "metadata")
    _below(metadata, "schema").text = "QTIv2.1 Package"
    _below(metadata, "schemaversion").text = "1.0.0"
    _below(root, "organizations")
    resources = _below(root, "resources")
    for name, has_picture in pictured.items():
        one = _below(resources, "resource", identifier=name, type="imsqti_item_xmlv2p1")
        one.set("href", f"{name}.xml")
        for ending in ("xml", "png")[: 1 + has_picture]:
            _below(one, "file", href=f"{name}.{ending}")
    return root


def _below(parent: Xml.Element, name: str, **attributes: str) -> Xml.Element:
    return Xml.SubElement(parent, name, attributes)
