"""A lesson before a room: forward reveals and goes on, letters are votes, nothing is kept."""

import pytest
from PySide6.QtCore import Qt

from gui.views.presenter_bar import Votes

MOST_MS = 60_000


@pytest.fixture
def presented(window, qtbot, tmp_path):
    teaching, presenting = window.teaching, window.commands.presenting
    teaching.path = tmp_path / "progress.json"
    teaching.begin_lesson("1A", 4)
    asked(window, qtbot)
    presenting.toggle()
    qtbot.waitUntil(lambda: presenting._found is not None, timeout=MOST_MS)
    return presenting


def asked(window, qtbot):
    def ready():
        sitting = window.teaching.sitting
        return sitting is not None and sitting.stage == "asked" and not window.teaching.worker.busy

    qtbot.waitUntil(ready, timeout=MOST_MS)


@pytest.mark.slow
def test_forward_reveals_then_goes_on(presented, window, qtbot):
    teaching, bar = window.teaching, presented.bar
    sitting = teaching.sitting
    choice = sitting.at
    assert bar.isVisible()
    assert not window.lesson_panel.isVisible()
    assert bar.place.text() == f"{choice + 1}/{len(sitting.questions)}"
    assert bar.answer.isHidden()
    assert window.session.veiled
    window.commands.turn(1)
    assert window.session.veiled == sitting.question.step.keep
    assert bar.why.isVisible()
    window.commands.turn(1)
    qtbot.waitUntil(lambda: sitting.at == choice + 1, timeout=MOST_MS)
    window.commands.turn(-1)
    assert sitting.at == choice
    presented.toggle()
    assert not bar.isVisible()
    assert window.lesson_panel.isVisible()
    assert teaching.progress.answers == ()


@pytest.mark.slow
def test_what_is_presented_before_the_course_is_read_is_the_lesson_that_was_asked_for(
    window, qtbot, tmp_path
):
    teaching, presenting = window.teaching, window.commands.presenting
    teaching.path = tmp_path / "progress.json"
    teaching.open_named("1B")
    presenting.toggle()
    asked(window, qtbot)
    assert teaching.sitting.title.startswith("1B")
    assert presenting.bar.isVisible()
    assert window.left.isHidden()
    assert window.lesson_panel.isHidden()
    presenting.toggle()
    assert window.left.isHidden()
    assert window.lesson_panel.isVisible()


@pytest.mark.slow
def test_the_room_reads_larger_type_and_no_left_column(presented, window, qtbot, qapp):
    bar, body = presented.bar, window.form.font().pointSizeF()
    presented.move(1)
    qapp.processEvents()
    assert bar.ask.fontInfo().pointSizeF() > 1.5 * body
    for label in (*bar._rows[0], bar.why):
        assert label.fontInfo().pointSizeF() > 1.3 * body
    assert window.left.isHidden()
    window.show_page("ceilings")
    window.show_page("step")
    assert window.left.isHidden()
    presented.toggle()
    window.teaching.leave()
    window.show_page("step")
    assert window.left.isVisible()


@pytest.mark.slow
def test_a_low_window_keeps_its_views_beside_what_is_presented(presented, window, qapp):
    window.resize(1100, 620)
    presented.move(1)
    qapp.processEvents()
    bar = presented.bar
    assert bar.height() <= 0.4 * window.height()
    for label in (bar.ask, bar.why, *bar._rows[0]):
        assert label.height() >= label.heightForWidth(label.width())


@pytest.mark.slow
def test_what_was_revealed_is_asked_again_when_presenting_ends(presented, window, qtbot):
    sitting, panel = window.teaching.sitting, window.lesson_panel
    at, veiled = sitting.at, window.session.veiled
    presented.move(1)
    assert window.session.veiled != veiled
    presented.toggle()
    asked(window, qtbot)
    assert (sitting.at, window.session.veiled) == (at, veiled)
    assert panel.field is not None
    assert panel.sure.isVisible()


@pytest.mark.slow
def test_forward_that_comes_early_skips_no_question(presented, window, qtbot):
    sitting = window.teaching.sitting
    presented.move(1)  # reveals
    presented.move(1)  # goes on
    at = sitting.at
    assert sitting.stage == "opening"
    presented.move(1)
    presented.move(1)
    assert sitting.at == at
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    assert sitting.at == at
    assert presented.bar.why.isVisible()


@pytest.mark.slow
def test_letters_are_votes_first_and_second(presented, window, qtbot):
    teaching, bar = window.teaching, presented.bar
    while teaching.sitting.question.step.kind != "choice":
        teaching.go(1)
        asked(window, qtbot)
    step = window.session.step
    qtbot.keyClicks(bar, "aaab")
    qtbot.keyClick(bar, Qt.Key.Key_B, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(bar, "cv")
    qtbot.keyClicks(bar, "cca")
    votes = presented._votes()
    assert [votes.of(place) for place in range(3)] == [(3, 1), (0, 0), (1, 2)]
    assert [count.said().partition("  ")[0] for _, count in bar._rows[:3]] == [
        "3 → 1",
        "0 → 0",
        "1 → 2",
    ]
    assert window.session.step == step


@pytest.mark.slow
def test_notes_have_a_window_of_their_own(presented, window):
    presented.toggle_notes()
    assert presented.notes.isVisible()
    notes = presented.notes
    assert notes.answer.said() == f"The answer: {presented._found.text}"
    assert notes.why.said() == presented._found.why
    assert notes.next.said().startswith("Next: ")
    assert "{" not in notes.next.said(), "its figures are worked out"
    assert not presented.bar.why.isVisible()
    presented.toggle_notes()
    assert not presented.notes.isVisible()


def test_a_bar_of_many_votes_is_no_longer_than_there_is_room():
    votes = Votes()
    votes.add(0, 400)
    votes.add(1, 100)
    assert votes.text(0).count("▮") == 24
    assert votes.text(1).count("▮") == 6
    votes.add(2, -1)
    assert votes.of(2) == (0, 0)
