"""Question banks: every variant, its answer computed, in formats that other programs read.

And what paper needs beside a question: its source, and a key that says nothing twice.
"""

import csv
import io
import re
import zipfile
from xml.etree import ElementTree as Xml

import pytest

from core.lessons.course import course_lesson
from core.lessons.launch_cache import Recorder
from core.lessons.lesson import Lesson
from core.lessons.lesson_files import read_lesson
from core.lessons.posing_and_marking import pose
from core.lessons.question_banks import (
    COLUMNS,
    as_csv,
    as_gift,
    as_qti,
    key_of,
    numbered,
    questions,
    solution_lines,
    source_of,
)
from tests.core.lessons.lesson_texts import GOOD, write_lesson

_QTI = "{http://www.imsglobal.org/xsd/imsqti_v2p1}"


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    return course_lesson("4B")


@pytest.fixture(scope="module")
def bank(lesson):
    return list(questions([lesson]))


def unescaped(text):
    return re.sub(r"\\([~=#{}:\\])", r"\1", text.replace("\\n", "\n"))


def test_there_is_a_question_for_every_variant(lesson, bank):
    assert len(bank) == sum(1 + len(step.sets) for step in lesson.steps)
    assert len({one.name for one in bank}) == len(bank)
    first = bank[0]
    assert (first.numbers, first.tolerance) == ((8.0,), 0.0)
    assert bank[1].numbers != first.numbers or bank[1].text != first.text


def test_csv_is_read_back(lesson, bank):
    rows = list(csv.DictReader(io.StringIO(as_csv([lesson]))))
    assert tuple(rows[0]) == COLUMNS
    assert [row["answer"] for row in rows] == [one.right for one in bank]
    assert [row["link"] for row in rows] == [one.link for one in bank]


def test_gift_has_one_right_answer_each(lesson, bank):
    text = as_gift([lesson])
    form = re.compile(r"^::(.*?)::\[plain\](.*?)(?<!\\)\{(.*?)(?<!\\)\}$", re.MULTILINE | re.DOTALL)
    found = form.findall(text)
    assert [unescaped(name) for name, _, _ in found] == [one.name for one in bank]
    for (_, asked, answers), one in zip(found, bank, strict=True):
        assert one.text in unescaped(asked)
        right = [line for line in answers.split("\n") if line.startswith("=")]
        if one.choices:
            assert [unescaped(line[1:]) for line in right] == [one.right]
            assert answers.count("\n~") == len(one.choices) - 1
        else:
            assert len(right) == len(one.numbers)


@pytest.mark.slow
def test_qti_is_a_package_of_valid_items(lesson, bank):
    data = as_qti([lesson])
    assert data == as_qti([lesson])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [n for n in archive.namelist() if n != "imsmanifest.xml"]
        manifest = archive.read("imsmanifest.xml").decode()
        assert all(f'href="{name}"' in manifest for name in names)
        assert len(names) == len(bank)
        for name, one in zip(names, bank, strict=True):
            root = Xml.fromstring(archive.read(name))
            assert root.get("title") == one.name
            value = root.findtext(f"{_QTI}responseDeclaration/{_QTI}correctResponse/{_QTI}value")
            if one.choices:
                said = {c.get("identifier"): c.text for c in root.iter(f"{_QTI}simpleChoice")}
                assert set(said.values()) == set(one.choices)
                assert said[value] == one.right
            else:
                assert float(value) == one.numbers[0]


def test_marks_of_the_formats_in_a_text_stay_text(tmp_path):
    odd = r"= ~ # : {{1}} <b> & \\ 'x'"
    text = GOOD.replace("Stride {stride}:", f"{odd} {{stride}}").replace(
        'say = "A[0,0]"', 'say = "=1+2"'
    )
    lesson = read_lesson(write_lesson(tmp_path, text))
    shown = "= ~ # : {1} <b> & \\ 'x' 2"
    assert shown in unescaped(as_gift([lesson]))
    rows = list(csv.DictReader(io.StringIO(as_csv([lesson]))))
    assert rows[0]["question"].startswith("'= ~")
    with zipfile.ZipFile(io.BytesIO(as_qti([lesson]))) as archive:
        root = Xml.fromstring(archive.read("q0001.xml"))
    assert shown in "".join(root.itertext())


def posed(name):
    lesson = course_lesson(name.split(".")[0])
    return pose(lesson, lesson[name], Recorder(lesson.ladder), in_window=False)


@pytest.mark.parametrize(
    ("name", "right", "rest"),
    [
        ("1A.1", "8", ": k runs from 0 to 7"),
        ("1A.2", "8", " times, once by every thread"),
        ("1A.3", "C[1,3]", ". y chooses the row"),
        ("1A.4", "C[3,1]", ". Only two lines"),
        ("1A.9", "12.5 %", ". 4 of every 32 bytes"),
        ("1A.15", "", "Exchanging x and y"),
    ],
)
def test_an_explanation_goes_on_from_its_answer(name, right, rest):
    found, why = key_of(posed(name))
    assert found == right
    assert why.startswith(rest)


def test_a_source_is_printed_unless_the_question_veils_it_or_is_about_a_page():
    source = source_of(posed("1A.4"))
    assert "uncoalesced" in source
    lines = numbered(source)
    assert lines[0] == (11, source.splitlines()[10])
    assert lines[0][1].startswith('extern "C"')
    assert lines[-1][1] == "}"
    for name in ("1A.13", "1B.10", "2A.4"):  # veiled; lines to be put in order; a page
        assert source_of(posed(name)) == ""


def test_a_solution_is_told_by_the_lines_that_it_changes():
    lines = [line.split(maxsplit=1) for line in solution_lines(posed("1A.15"))]
    assert [mark for mark, _ in lines] == ["-", "-", "+", "+"]
    assert {text.split()[1] for _, text in lines} == {"row", "col"}
    assert numbered("\n// a\n\n  x;\n\n") == [(4, "  x;")]
