"""`tilescope lesson`: exit codes, and what it prints."""

import io
import sys
from dataclasses import replace

import pytest

from core.cli.app import main
from core.lessons.course import course_lesson
from core.lessons.launch_cache import Recorder
from core.lessons.lesson_files import read_lesson
from core.lessons.posing_and_marking import pose
from tests.core.lessons.lesson_texts import GOOD, KERNEL, write_lesson


def test_check_says_how_it_went(tmp_path, capsys):
    write_lesson(tmp_path)
    assert main(["lesson", "check", str(tmp_path)]) == 0
    assert "own-1: 3 steps, 5 variants, all well." in capsys.readouterr().out
    (tmp_path / "own.toml").write_text(GOOD.replace("element(0) == A[0,2]", "element(0) == A[0,3]"))
    assert main(["lesson", "check", str(tmp_path / "own.toml")]) == 1
    printed = capsys.readouterr()
    assert "own.toml, own-1.2: None of the choices holds" in printed.err
    assert "1 wrong" in printed.out
    (tmp_path / "own.toml").write_text(GOOD.replace('at = "load:A"', 'at = "load:Q"', 1))
    assert main(["lesson", "check", str(tmp_path / "own.toml")]) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "has no step `load:Q`: what it accesses is load:A and store:C." in told
    assert told.count("load:Q") == 1
    assert "(The same in 2 other variants.)" in told
    (tmp_path / "own.toml").write_text(GOOD.replace("tiled?n=4", "tild?n=4"))
    assert main(["lesson", "check", str(tmp_path / "own.toml")]) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "names no kernel of the ladder: `tild`; use tiled." in told
    assert "vector_add" not in told
    one = GOOD[: GOOD.index('[[step]]\nlink = "tiled')].replace("vary =", "# vary =")
    (tmp_path / "own.toml").write_text(one)
    assert main(["lesson", "check", str(tmp_path / "own.toml")]) == 0
    assert "own-1: 1 step, 1 variant, all well." in capsys.readouterr().out
    (tmp_path / "own.toml").write_text("id = 3")
    assert main(["lesson", "check", str(tmp_path)]) == 1
    assert "own.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "nothing"],
        ["check", "nothing.toml"],
        ["export", "4B"],
        ["export", "4B", "--qti"],
        ["9Z"],
        ["gone.toml"],
        [],
    ],
)
def test_misuse_is_two_or_a_wrong_lesson_one(arguments, capsys):
    status = main(["lesson", *arguments])
    assert status == (1 if arguments[-1:] == ["nothing.toml"] else 2)
    assert capsys.readouterr().err


def test_a_folder_without_lessons(tmp_path, capsys):
    assert main(["lesson", "check", str(tmp_path)]) == 2
    assert "There is no lesson in" in capsys.readouterr().err


def test_the_course_is_listed(capsys):
    assert main(["lesson", "list"]) == 0
    out = capsys.readouterr().out
    assert "1A  Neighbours" in out
    assert "exercises  Exercises" in out


def test_a_lesson_is_played(tmp_path, monkeypatch, capsys):
    file = write_lesson(tmp_path)
    (tmp_path / "mine.cu").write_text(KERNEL)
    lesson = read_lesson(file)
    choices = pose(lesson, lesson.steps[1], Recorder(lesson.ladder)).choices
    letter = "AB"[choices.index("A[0,2]")]
    other = "BA"["AB".index(letter)]
    files = [str(tmp_path / "start.cu"), str(tmp_path / "mine.cu")]
    said = ["?", "?", "x", "4", "8", other, letter, *files]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(said) + "\n"))
    assert main(["lesson", "play", str(file)]) == 0
    out = capsys.readouterr().out
    for words in (
        "256 bytes.",
        "There is no other hint.",
        "`x` is not a number",
        "That is what neighbours would",
        "Right. 8 of them.",
        "That was phase 0.",
        "[ ] C is 2 A",
        "[x] C is 2 A",
        "Right. Done.",
    ):
        assert words in out


def test_who_gives_up_after_a_wrong_answer_is_told_the_right_one(tmp_path, monkeypatch, capsys):
    file = write_lesson(tmp_path)
    said = ["5", "", "", str(tmp_path / "start.cu"), ""]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(said) + "\n"))
    assert main(["lesson", "play", str(file)]) == 0
    out = capsys.readouterr().out
    assert "The answer: 8 of them." in out
    assert "A[0,2]." not in out  # passed over without an answer: it stays open
    assert out.rstrip().endswith(": Done.")


def test_a_bank_is_written_without_pictures_where_there_is_no_window(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    file, out = write_lesson(tmp_path), tmp_path / "bank.gift"
    assert main(["lesson", "export", str(file), "--gift", "-o", str(out)]) == 0
    assert out.read_text().count("::own-1.") == 4
    assert f"Wrote {out}: 1 lesson, 3 questions." in capsys.readouterr().out.replace("\n", "")
    assert main(["lesson", "export", str(file), "--gift", "--pdf", "-o", str(out)]) == 2
    assert "One file has one format: leave out --pdf." in capsys.readouterr().err
    assert main(["lesson", "export", str(file), "--csv"]) == 0
    assert capsys.readouterr().out.startswith("name,kind")


def test_what_cannot_be_meant_is_refused_and_asked_again(tmp_path, monkeypatch, capsys):
    lesson = course_lesson("1A")
    step = lesson["1A.3"]  # which element of C a thread computes
    monkeypatch.setattr("core.cli.lesson._chosen", lambda names: [replace(lesson, steps=(step,))])
    said = ["D[1,3]", "C[99,99]", "C[1,3] C[3,1]", "c[1, 3]"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(said) + "\n"))
    assert main(["lesson", "play", "1A"]) == 0
    out = capsys.readouterr().out
    assert out.count("element: ") == len(said)
    for words in (
        "The launch has no array D: type one of A, B and C.",
        "There is no C[99,99]: the last element is C[7,7].",
        "one element is asked for",
        "Right. ",
    ):
        assert words in " ".join(out.split())
