"""A lesson on paper: questions with pictures, then a page with the key."""

import re

from PySide6.QtGui import QTextDocument

from core.lessons.course import course_lesson
from core.lessons.reading import read_lesson
from gui.looks.theme import apply_theme
from gui.worksheet import _pages, main, pdf_of
from tests.core.lessons.lesson_texts import write_lesson


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
    assert main([str(file), "--out", str(out)]) == 0
    data = out.read_bytes()
    assert data.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", data)) >= 2
    assert len(pdf_of([read_lesson(file)], 1)) > 1000


def test_a_wrong_file_is_one_sentence(qapp, tmp_path, capsys):
    assert main([str(tmp_path / "none.toml"), "--out", str(tmp_path / "x.pdf")]) == 2
    assert "none.toml" in capsys.readouterr().err
