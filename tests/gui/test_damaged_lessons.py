"""Damaged lessons in the window: each opens and is played, or is a sentence, and all goes on."""

import random

import pytest

from core.emulator.machine import Limits
from core.lessons import launch_cache
from core.lessons.lesson_expressions import LessonError
from core.lessons.lesson_files import read_lesson
from gui.looks.theme import apply_theme
from gui.shell.main_window import MainWindow
from tests.core.lessons.lesson_texts import GOOD, KERNEL, LADDER, write_lesson
from tests.core.lessons.test_fuzz import mutated

MOST_MS = 60_000
KEPT = 30  # lessons that a window plays; the first of these always run


@pytest.fixture
def window(qtbot, qapp, ladder, tmp_path):
    apply_theme(qapp, "light")
    window = MainWindow(ladder)
    window.teaching.path = tmp_path / "progress.json"
    window.resize(1100, 700)
    window.show()
    qtbot.waitExposed(window)
    yield window
    window.close()
    qapp.processEvents()


def damaged(folder, seed):
    """The file of a damaged lesson, and whether it can still be read."""
    chance = random.Random(seed)
    texts = [GOOD, LADDER, KERNEL]
    which = chance.choice([0, 0, 0, 0, 0, 0, 1, 1, 2])
    texts[which] = mutated(chance, texts[which])
    file = write_lesson(folder, *(t.encode("utf-8", "replace").decode() for t in texts))
    try:
        read_lesson(file)
    except LessonError:
        return file, False
    return file, True


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(start, marks=pytest.mark.release if start else pytest.mark.slow)
        for start in range(0, 1000, KEPT)
    ],
)
def test_a_damaged_lesson_does_not_harm_the_window(window, qtbot, tmp_path, monkeypatch, first):
    monkeypatch.setattr(launch_cache, "LIMITS", Limits(instructions=20_000, seconds=None))
    monkeypatch.setattr(launch_cache, "MOST_THREADS", 1 << 12)
    teaching = window.teaching

    def still():
        return not teaching.worker.busy and not window.recorder.worker.busy

    for seed in range(first, min(first + KEPT, 1000)):
        file, is_read = damaged(tmp_path / str(seed), seed)
        before = teaching.sitting
        window.message.clear()
        teaching.open_path(file)
        qtbot.waitUntil(still, timeout=MOST_MS)
        if not is_read:
            assert teaching.sitting is before, seed
            assert window.message.isVisible(), seed
            continue
        qtbot.waitUntil(lambda was=before: teaching.sitting is not was, timeout=MOST_MS)
        for _ in teaching.sitting.questions:
            qtbot.waitUntil(still, timeout=MOST_MS)
            teaching.hint()
            teaching.go(1)
        qtbot.waitUntil(still, timeout=MOST_MS)
        assert teaching.sitting.stage == "ended", seed
    teaching.leave()
    teaching.begin_lesson("1A")  # all goes on
    qtbot.waitUntil(lambda: teaching.sitting.title.startswith("1A"), timeout=MOST_MS)
