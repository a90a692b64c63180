"""File > Export the steps: another process makes the file; the window says how it goes."""

import time
from importlib.metadata import version

import pytest
from PySide6.QtWidgets import QFileDialog, QMenu

from core.lessons.course import course_lesson
from core.lessons.lesson_files import read_lesson
from gui.commands import exporting
from gui.commands.exporting import file_name
from tests.core.lessons.lesson_texts import write_lesson

pytestmark = pytest.mark.slow


@pytest.fixture
def recorded(window, qtbot):
    with qtbot.waitSignal(window.recorder.recorded, timeout=60_000):
        window.recorder.configure("tiled", {"n": 6, "tile": 3})
    window.session.update(step=20, thread=4)
    return window


def test_the_page_is_what_the_window_shows(recorded, qtbot, tmp_path):
    command, out = recorded.commands.exporting, tmp_path / "mine é.html"
    command.export(out)
    assert command.busy
    assert "Writing mine é.html" in recorded.message.sentence
    qtbot.waitUntil(lambda: not command.busy, timeout=120_000)
    assert recorded.message.sentence == f"Saved {out}"
    text = out.read_text("utf-8")
    assert "n = 6, tile = 3" in text
    assert "block 0, thread 4" in text
    assert '"start":20' in text


def test_it_can_be_given_up(recorded, qtbot, tmp_path):
    command, out = recorded.commands.exporting, tmp_path / "x.html"
    command.export(out)
    command.cancel()
    assert not command.busy
    assert "x.html was not written" in recorded.message.sentence
    assert list(tmp_path.iterdir()) == []


def test_it_can_be_given_up_while_it_says_something(recorded, qtbot, tmp_path):
    command = recorded.commands.exporting
    command.export(tmp_path / "x.html")
    assert command._process.waitForReadyRead(60_000)
    time.sleep(0.5)  # more is said meanwhile, which is read as the process ends
    command.cancel()
    assert not command.busy
    assert "x.html was not written" in recorded.message.sentence


def test_a_film_given_up_leaves_nothing(recorded, qtbot, tmp_path, monkeypatch):
    pytest.importorskip("imageio_ffmpeg")
    monkeypatch.setattr(exporting, "LONGEST_MS", 60_000)  # a busy machine is slow to end it
    command = recorded.commands.exporting
    command.export(tmp_path / "x.mp4")
    qtbot.waitUntil(lambda: any(tmp_path.iterdir()), timeout=60_000)  # it has begun
    command.cancel()
    qtbot.waitUntil(lambda: not any(tmp_path.iterdir()), timeout=60_000)


def test_what_goes_wrong_is_said(recorded, qtbot, tmp_path, monkeypatch):
    command = recorded.commands.exporting
    command.export(tmp_path / "no" / "x.html")
    assert "x.html could not be written" in recorded.message.sentence
    command.export(tmp_path / "x.doc")
    qtbot.waitUntil(lambda: not command.busy, timeout=120_000)
    assert "neither a page nor a film" in recorded.message.sentence
    monkeypatch.setattr(exporting.sys, "executable", str(tmp_path / "nothing"))
    command.export(tmp_path / "x.html")
    qtbot.waitUntil(lambda: not command.busy, timeout=10_000)
    assert "could not be started" in recorded.message.sentence


def test_the_files_name_says_kernel_and_step(recorded):
    assert file_name(recorded.session) == "tiled-step-20"


def test_the_report_of_the_launch_is_written(recorded, qtbot, tmp_path, monkeypatch):
    command, out = recorded.commands.exporting, tmp_path / "r.md"
    monkeypatch.setattr(
        QFileDialog,
        "getSaveFileName",
        lambda *given: (str(out.with_suffix("")), "Report, Markdown (*.md)"),
    )
    command.ask_and_report()
    qtbot.waitUntil(lambda: recorded.message.sentence == f"Saved {out}", timeout=60_000)
    text = out.read_text("utf-8")
    assert "No fault was found" in text
    assert "| parameters | n = 6, tile = 3 |" in text
    asked, answers = [], iter([(str(out.with_suffix("")), "Report, Markdown (*.md)"), ("", "")])
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda *given: asked.append(given[2]) or next(answers)
    )
    recorded.message.clear()
    command.ask_and_report()
    assert asked == ["tiled.html", str(out)], "a file that is there is asked for by its whole name"
    assert not command.worker.busy
    pdf = tmp_path / "r.pdf"
    command.report(pdf)
    qtbot.waitUntil(lambda: recorded.message.sentence == f"Saved {pdf}", timeout=60_000)
    assert pdf.read_bytes().startswith(b"%PDF")
    command.report(tmp_path / "r.docx")
    qtbot.waitUntil(lambda: "end its name with" in recorded.message.sentence, timeout=60_000)
    assert not (tmp_path / "r.docx").exists()
    recorded.session.update(veiled={"counters"})
    out.unlink()
    command.report(out)
    assert "a report may show what is veiled" in recorded.message.sentence
    assert not out.exists()


def test_questions_of_lessons_are_exported(recorded, qtbot, tmp_path, monkeypatch):
    asked = []

    def chosen(_, title, names, first, action):
        asked.append((names, names[first]))
        return names[first]

    monkeypatch.setattr(exporting, "ask_choice", chosen)
    files = iter([("q", "Table of questions (*.csv)"), ("own.gift", "anything")])

    def file(*_):
        name, kind = next(files)
        return str(tmp_path / name), kind

    monkeypatch.setattr(QFileDialog, "getSaveFileName", file)
    command = recorded.commands.exporting
    command.ask_and_export_lessons(course_lesson("4B"))
    assert "Writing q.csv …" in recorded.message.sentence
    qtbot.waitUntil(lambda: not command.busy, timeout=120_000)
    assert (tmp_path / "q.csv").read_text("utf-8").count("4B.1/") >= 1
    own = read_lesson(write_lesson(tmp_path))
    command.ask_and_export_lessons(own)
    qtbot.waitUntil(lambda: not command.busy, timeout=120_000)
    assert recorded.message.sentence == f"Saved {tmp_path / 'own.gift'}"
    assert "::own-1.1::" in (tmp_path / "own.gift").read_text("utf-8")
    assert [now for _, now in asked] == ["4B", "own-1"]
    assert asked[0][0][:2] == ["All lessons", "1A"]


def test_the_version_is_in_the_help_menu(recorded):
    menu = next(m for m in recorded.header.menu_bar.findChildren(QMenu) if m.title() == "&Help")
    say = next(action for action in menu.actions() if action.text() == "About Tilescope")
    say.trigger()
    assert recorded.message.sentence.startswith(f"Tilescope {version('tilescope')}, Python 3.")
