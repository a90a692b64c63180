"""A lesson on paper: questions with pictures, then a page with the key."""

import base64
import io
import re
import zipfile
from dataclasses import replace

import pytest
from pypdf import PdfReader
from PySide6.QtGui import QImage

from core.cli.app import main
from core.lessons.course import course_lesson
from core.lessons.lesson_files import read_lesson
from core.lessons.question_banks import questions
from gui.exports.worksheet import pdf_of, pieces
from gui.looks.theme import apply_theme
from tests.core.lessons.lesson_texts import write_lesson


@pytest.mark.slow
def test_answers_stand_in_the_key_alone(qapp):
    apply_theme(qapp, "projector")
    lesson = course_lesson("4A")
    found = list(pieces([lesson], 0))
    assert sum(piece.picture is not None for piece in found) >= 8
    questions, _, key = "".join(piece.html for piece in found).partition(">Key</h1>")
    for step in lesson.steps:
        assert questions.count(f"<b>{step.name}</b>") == key.count(f"<b>{step.name}</b>") == 1
    assert "<b>4A.3</b>&nbsp; <b>32</b>" in key
    assert "☐ A&nbsp; " in questions
    assert not re.search(r"<b>32</b>", questions)


@pytest.mark.slow
def test_a_worksheet_is_read_alone_copied_and_searched(qapp):
    """Each picture is on its question's page, the source is there, and digits are digits."""
    apply_theme(qapp, "projector")
    lesson, bare = course_lesson("1A"), {"1A.11", "1A.12", "1A.15"}
    pages = PdfReader(io.BytesIO(pdf_of([lesson], 0))).pages
    texts = ["".join(page.extract_text().split()) for page in pages]
    pictured = 0
    key = next(n for n, text in enumerate(texts) if text.startswith("1A") and "Key1A" in text)
    for page, text in zip(pages[:key], texts, strict=False):
        images = len(page["/Resources"].get("/XObject", {}))
        asked = set(re.findall(r"(?<!before)1A\.\d+", text))
        assert images == len(asked - bare), text
        pictured += images
    assert pictured == len(lesson.steps) - len(bare)
    whole = "".join(texts)
    for words in (
        "value += A[row * N + k] * B[k * N + col];",
        "kernel's loop, does this block of threads make for N = 8?",
        "coalesced?n=8&block_x=8&block_y=2&at=load:A@phase0",
        "Ctrl+L opens it",
        "– A: at most 1 sector a request",
        "Correct the source (before 1A.4)",
        "(stride, elements: 1 to 32)",
        "One solution changes these lines:",
        "+     int row = blockIdx.y * blockDim.y + threadIdx.y;",
        "8: k runs from 0 to 7",
    ):
        assert "".join(words.split()) in whole, words
    for words in ("Click", "Space plays", "key H", "built", "8. 8: k", "☐ No findings"):
        assert "".join(words.split()) not in whole, words
    assert whole.count("Thesourceofcoalesced") == 1
    assert "copy_stride(" not in whole, "a question asks for its text"


def test_a_worksheet_is_a_pdf_of_several_pages(qapp, tmp_path):
    file, out = write_lesson(tmp_path), tmp_path / "sheet.pdf"
    assert main(["lesson", "export", str(file), "--pdf", "-o", str(out)]) == 0
    data = out.read_bytes()
    assert data.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", data)) >= 2
    assert len(pdf_of([read_lesson(file)], 1)) > 1000


def test_a_page_says_whose_it_is_at_its_foot(qapp, tmp_path):
    """Its own lesson alone, however many lessons the worksheet has."""
    lesson = read_lesson(write_lesson(tmp_path))
    lessons = [replace(lesson, name=name, title=f"Title {name}") for name in ("L1", "L2")]
    lessons.append(replace(lesson, name="more", title="More of them"))
    apply_theme(qapp, "projector")
    pages = PdfReader(io.BytesIO(pdf_of(lessons, 1))).pages
    feet = [" ".join(page.extract_text().strip().splitlines()[0].split()) for page in pages]
    assert all(foot.endswith(f", page {place}") for place, foot in enumerate(feet, 1))
    whose = dict.fromkeys(foot.rpartition(",")[0] for foot in feet)
    assert list(whose) == ["L1 Title L1", "L2 Title L2", "More of them", "Key"]


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


def test_the_name_of_a_lesson_in_the_key_stands_above_an_answer(qapp, tmp_path):
    apply_theme(qapp, "projector")
    named = [p for p in pieces([read_lesson(write_lesson(tmp_path))], 0) if "<h2>" in p.html]
    assert [piece.html.rpartition("</h2>")[2] != "" for piece in named] == [True]
