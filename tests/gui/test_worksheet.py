"""A lesson on paper: questions with pictures, then a page with the key."""

import base64
import re
import zipfile

import pytest
from PySide6.QtGui import QImage, QTextDocument

from core.cli.app import main
from core.lessons.course import course_lesson
from core.lessons.export import questions
from core.lessons.reading import read_lesson
from gui.looks.theme import apply_theme
from gui.worksheet import _pages, pdf_of
from tests.core.lessons.lesson_texts import write_lesson


@pytest.mark.slow
def test_answers_stand_in_the_key_alone(qapp):
    apply_theme(qapp, "projector")
    lesson = course_lesson("4A")
    pages = "".join(_pages([lesson], 0, QTextDocument()))
    questions, _, key = pages.partition(">Key</h1>")
    assert questions.count("<img") >= 8
    for step in lesson.steps:
        assert questions.count(f"<b>{step.name}</b>") == key.count(f"<b>{step.name}</b>") == 1
    assert "<b>4A.3</b>&nbsp; <b>32</b>" in key
    assert "☐ A&nbsp; " in questions
    assert not re.search(r"<b>32</b>", questions)


def test_a_worksheet_is_a_pdf_of_several_pages(qapp, tmp_path):
    file, out = write_lesson(tmp_path), tmp_path / "sheet.pdf"
    assert main(["lesson", "export", str(file), "--pdf", "-o", str(out)]) == 0
    data = out.read_bytes()
    assert data.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", data)) >= 2
    assert len(pdf_of([read_lesson(file)], 1)) > 1000


@pytest.mark.slow
def test_question_banks_have_the_pictures(qapp, tmp_path):
    lesson = course_lesson("4A")
    for kind in ("gift", "qti"):
        assert main(["lesson", "export", "4A", f"--{kind}", "-o", str(tmp_path / kind)]) == 0
    asked = [one for one in questions([lesson]) if one.kind != "edit"]
    text = (tmp_path / "gift").read_text("utf-8")
    found = re.findall(r'image/png;base64,([^"]*)"', re.sub(r"\\\\(.)", r"\1", text))
    assert 8 <= len(found) < len(asked)  # questions about a page have none
    with zipfile.ZipFile(tmp_path / "qti") as archive:
        pictures = [archive.read(name) for name in archive.namelist() if name.endswith(".png")]
        assert [base64.b64decode(one) for one in found] == pictures
        manifest = archive.read("imsmanifest.xml").decode()
        for name in archive.namelist():
            if name.endswith(".png"):
                assert f'href="{name}"' in manifest
                assert f'src="{name}"' in archive.read(name.replace(".png", ".xml")).decode()
    assert all(QImage.fromData(one).width() > 1000 for one in pictures)


def test_a_wrong_file_is_one_sentence(qapp, tmp_path, capsys):
    wrong, out = str(tmp_path / "none.toml"), str(tmp_path / "x.pdf")
    assert main(["lesson", "export", wrong, "--pdf", "-o", out]) == 2
    assert "none.toml" in capsys.readouterr().err
