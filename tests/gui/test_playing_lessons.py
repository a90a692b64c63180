"""Lessons are played to their end: with right answers, and with wrong ones.

`tests/core/lessons/test_course.py` checks every step in every variant. Here the window is
tested: the fewest lessons that ask in every way, on every page.
"""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from core.lessons.course import course_lesson, load_course
from core.lessons.lesson_expressions import Element
from core.lessons.posing_and_marking import right_answer
from core.links import parse_link
from gui.looks.theme import apply_theme
from gui.scenes.lists_of_moments import Named
from gui.scenes.why_this_number import OfQuestion
from gui.shell.main_window import MainWindow
from gui.shell.session_persistence import Keeper
from gui.views.answer_fields import ChoiceField, ClickField, OrderField, SliderField
from gui.views.ladder_panel import EDITED, NAME

MOST_MS = 120_000


def ways(name):
    """How a lesson asks: each kind of question, on each page, with and without a launch beside."""
    for step in course_lesson(name).steps:
        yield step.kind, step.link.looks.get("page", "step"), step.link.versus is not None


def covering(ways_of):
    """Lessons that together have all ways, taken one by one: the one that adds most."""
    left = {name: set(ways_of(name)) for name in load_course().order}
    while any(left.values()):
        name = max(left, key=lambda name: len(left[name]))
        yield name
        found = left.pop(name)
        left = {other: there - found for other, there in left.items()}


@pytest.fixture
def window(qtbot, qapp, ladder, tmp_path):
    apply_theme(qapp, "light")
    window = MainWindow(ladder)
    window.teaching.path = tmp_path / "progress.json"
    window.resize(1366, 768)
    window.show()
    qtbot.waitExposed(window)
    yield window
    window.close()
    qapp.processEvents()


def begun(window, qtbot, name, at=0):
    window.teaching.begin_lesson(name, at)
    qtbot.waitUntil(lambda: window.teaching.sitting is not None, timeout=MOST_MS)
    return window.teaching


def asked(window, qtbot):
    """Wait for a question and for what it looks at."""
    teaching = window.teaching

    def rung():
        origin = window.session.origin
        return origin.configuration.rung if origin is not None else ""

    def recorded():
        if window.session.page not in ("step", "compare"):
            return True  # such a page needs no record, and a large launch takes long
        return (
            not window.recorder.worker.busy
            and window.moments.awaited is None
            and (teaching.sitting.is_built or rung() == teaching.sitting.posed.link.rung)
        )

    def ready():
        return teaching.sitting.stage == "asked" and not teaching.worker.busy and recorded()

    qtbot.waitUntil(ready, timeout=MOST_MS)
    return teaching.sitting


def put(field, answer):
    """Answer as a learner does: type, choose, click, slide, or move lines over."""
    if isinstance(field, ChoiceField):
        field.group.button(field.choices.index(answer)).click()
    elif isinstance(field, SliderField):
        field.slider.setValue(field.values.index(answer))
    elif isinstance(field, OrderField):
        for line in answer:
            rows = [field.pool.item(row).text() for row in range(field.pool.count())]
            field.pool.setCurrentRow(rows.index(line))
            field.pool.taken.emit()
    elif isinstance(field, ClickField):
        for thing in answer:
            field.click(thing)
    else:
        field.line.setText(str(answer))


def right(sitting):
    """A right answer: of several the first."""
    question, found = sitting.question.step.question, right_answer(sitting.posed)
    if sitting.question.step.kind == "slider" or not getattr(question, "every", True):
        return found[0] if sitting.question.step.kind == "slider" else found[:1]
    return found


def built(sitting):
    """The lines of a kernel that meets its goals, in order."""
    from itertools import permutations

    from core.lessons.posing_and_marking import framed, mark

    order = sitting.question.step.question
    items = [item.said(sitting.posed.here) for item in order.items]
    for count in (len(items), len(items) - 1, len(items) - 2):
        lines = items[:count]
        if framed(order, lines) and mark(sitting.posed, lines).mark == "right":
            return lines
    for lines in permutations(items, len(items)):
        if mark(sitting.posed, list(lines)).mark == "right":
            return list(lines)
    raise AssertionError("no order of the lines meets the goals")


def answered(window, qtbot):
    sitting, panel = window.teaching.sitting, window.teaching.panel
    if sitting.is_built:
        window.teaching.show_solution()
    else:
        order = sitting.question.step.kind == "order"
        framed = order and sitting.question.step.question.frame
        put(panel.field, built(sitting) if framed else right(sitting))
        panel.sure.click()
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    return sitting


@pytest.mark.slow
@pytest.mark.parametrize("name", list(covering(ways)))
def test_right_answers_lead_to_the_end_of_a_lesson(window, qtbot, name):
    teaching = begun(window, qtbot, name)
    steps = course_lesson(name).steps
    for place, step in enumerate(steps):
        sitting = asked(window, qtbot)
        assert sitting.at == place
        assert window.session.veiled == step.veil
        assert teaching.panel.why.isHidden()
        answered(window, qtbot)
        assert sitting.reply.verdict.mark == "right", step.name
        assert window.session.veiled == step.keep
        assert window.teaching.panel.why_button.isVisible() != window.session.hides("why")
        assert teaching.panel.why.said() == sitting.reply.verdict.why
        teaching.panel.next.click()
    assert sitting.stage == "ended"
    assert teaching.progress.done([step.name for step in steps])


def wrong(sitting, answer):
    """Another answer than the right one."""
    kind, question = sitting.question.step.kind, sitting.question.step.question
    if kind == "choice":
        return next(choice for choice in sitting.posed.choices if choice != answer)
    if kind == "number":
        return answer * 3 + 7
    if kind == "slider":
        values = range(question.low, question.high + 1, question.every)
        return next((v for v in values if v not in right_answer(sitting.posed)), None)
    if kind == "click":
        return [Element("A", (0, 1))] if isinstance(answer[0], Element) else [max(answer) + 1]
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", list(covering(lambda name: {w[0] for w in ways(name)} - {"edit"})))
def test_wrong_answers_are_told_the_right_one_and_kept(window, qtbot, name):
    teaching = begun(window, qtbot, name)
    missed = 0
    for _ in course_lesson(name).steps:
        sitting = asked(window, qtbot)
        given = wrong(sitting, right_answer(sitting.posed))
        if given is not None:
            put(teaching.panel.field, given)
            teaching.panel.guess.click()
            qtbot.waitUntil(lambda s=sitting: s.stage in ("told", "asked"), timeout=MOST_MS)
            assert sitting.reply.verdict.mark != "right", sitting.question.step.name
            missed += 1
            if sitting.stage == "told":
                assert sitting.reply.verdict.right in teaching.panel.own.said()
        teaching.go(1)
    assert sitting.stage == "ended"
    assert len(teaching.progress.answers) == missed
    assert not any(a.sure for a in teaching.progress.answers)


@pytest.mark.slow
def test_the_clock_stays_in_reach_while_a_number_is_typed(window, qtbot):
    begun(window, qtbot, "1A")
    asked(window, qtbot)
    session, field = window.session, window.teaching.panel.field
    line = field.line
    window.activateWindow()
    qtbot.waitUntil(field.hasFocus)
    step = session.step
    qtbot.keyClick(field, Qt.Key.Key_Right)
    assert session.step > step
    qtbot.keyClick(field, Qt.Key.Key_H)
    assert session.heat
    line.setFocus()  # as a click does: the caret is there
    qtbot.keyClicks(line, "sixth h")
    assert (line.text(), session.heat) == ("sixth h", True)
    line.clear()
    field.setFocus()
    unit = session.unit
    qtbot.keyClicks(field, "2")  # which is a command elsewhere
    qtbot.keyClicks(line, "8")
    assert (line.text(), line.hasFocus(), session.unit) == ("28", True, unit)
    qtbot.keyClick(line, Qt.Key.Key_Left)
    assert session.step == step
    qtbot.keyClick(line, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: window.teaching.sitting.stage == "told", timeout=MOST_MS)
    assert not window.teaching.progress.answers[-1].sure
    qtbot.keyClick(window.teaching.panel.next, Qt.Key.Key_PageDown)
    assert window.teaching.sitting.at == 1


def settled(window):
    return not window.recorder.worker.busy and window.moments.awaited is None


@pytest.mark.slow
def test_the_original_of_an_exercise_is_the_text_it_began_with(window, qtbot):
    source = window.step_page.source
    begun(window, qtbot, "1A")
    asked(window, qtbot)
    teaching = begun(window, qtbot, "exercises", at=1)
    sitting = asked(window, qtbot)
    qtbot.waitUntil(lambda: settled(window), timeout=MOST_MS)
    start = sitting.question.step.question.start
    rung = window.recorder.ladder[sitting.posed.link.rung].source
    assert source.edit.toPlainText() == start != rung
    assert not source.original.isEnabled()
    teaching.panel.run.click()
    assert teaching.panel.mistake.text().startswith("This is still the text")
    source.edit.set_text(start.replace("+", "-"))
    teaching.panel.run.click()
    qtbot.waitUntil(lambda: sitting.reply is not None and sitting.stage == "asked", timeout=MOST_MS)
    qtbot.waitUntil(lambda: settled(window), timeout=MOST_MS)
    teaching.panel.look.click()
    qtbot.waitUntil(lambda: settled(window), timeout=MOST_MS)
    assert source.edit.toPlainText() == start.replace("+", "-")
    assert source.original.isEnabled()
    with qtbot.waitSignal(window.recorder.recorded, timeout=MOST_MS):
        source.original.click()
    assert source.edit.toPlainText() == start
    assert window.session.trace.workload.source == start
    assert sitting.reply is None
    source.edit.set_text(start + "// mine\n")  # and not run
    teaching.show_solution()
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    assert source.edit.toPlainText() == sitting.question.step.question.solution
    assert sitting.marks[1] == "near"  # it was shown
    qtbot.waitUntil(lambda: settled(window), timeout=MOST_MS)
    assert not source.draft.stale
    with qtbot.waitSignal(window.recorder.recorded, timeout=MOST_MS):
        teaching.leave()
    window.show_page("step")
    assert source.edit.toPlainText() == window.session.trace.workload.source == rung


@pytest.mark.slow
def test_each_exercise_keeps_its_text_and_the_rung_its_own(window, qtbot):
    source, ladder = window.step_page.source, window.recorder.ladder
    window.recorder.configure("vector_add")
    qtbot.waitUntil(lambda: source.draft.key == "vector_add", timeout=MOST_MS)
    own = ladder["vector_add"].source + "// of the rung\n"
    source.edit.set_text(own)
    assert edited_rungs(window) == ["vector_add"]
    teaching = begun(window, qtbot, "exercises")
    asked(window, qtbot)
    typed = source.edit.toPlainText() + "// of the exercise\n"
    source.edit.set_text(typed)  # and not run
    teaching.go(1)
    asked(window, qtbot)
    assert "// of" not in source.edit.toPlainText()
    assert not source.edit.document().isUndoAvailable()
    teaching.go(-1)
    asked(window, qtbot)
    assert source.edit.toPlainText() == typed
    with qtbot.waitSignal(window.recorder.recorded, timeout=MOST_MS):
        teaching.leave()
    window.show_page("step")
    assert source.edit.toPlainText() == own
    assert window.session.configuration.source is None
    begun(window, qtbot, "exercises")
    asked(window, qtbot)
    assert source.edit.toPlainText() == typed
    saved = Keeper(window, None).saved()
    assert saved.configuration.source is None
    exercise = teaching.sitting.question.step.name
    assert sorted(saved.drafts) == ["vector_add", f"vector_add#{exercise}"]


def edited_rungs(window):
    rows = window.ladder_panel.list
    return [rows.item(i).data(NAME) for i in range(rows.count()) if rows.item(i).data(EDITED)]


@pytest.mark.slow
def test_an_edited_kernel_is_called_so(window, qtbot):
    source = window.step_page.source
    window.recorder.configure("coalesced", {"n": 24})
    qtbot.waitUntil(lambda: source.draft.key == "coalesced", timeout=MOST_MS)
    assert "(edited)" not in window.windowTitle()
    source.edit.set_text(source.edit.toPlainText() + "// edited\n")
    with qtbot.waitSignal(window.recorder.recorded, timeout=MOST_MS):
        window.workbench.run_source()
    assert "(edited)" in window.windowTitle()
    assert edited_rungs(window) == ["coalesced"]
    with qtbot.waitSignal(window.recorder.recorded, timeout=MOST_MS):
        window.workbench.run_original()
    assert "(edited)" not in window.windowTitle()
    assert edited_rungs(window) == []


@pytest.mark.slow
def test_each_text_that_is_run_is_marked(window, qtbot):
    teaching = begun(window, qtbot, "exercises", at=1)
    sitting, source = asked(window, qtbot), window.step_page.source
    exercise = sitting.question.step.question

    def run(text):
        source.edit.set_text(text)
        with qtbot.waitSignal(window.recorder.recorded, timeout=MOST_MS):
            teaching.bench.run_source()

    other = parse_link("tiled?n=4&tile=2&step=12", window.recorder.ladder)
    window.recorder.arrived.connect(lambda: setattr(window.moments, "awaited", other))
    run(exercise.start.replace("+", "-"))  # while the window waits for something else
    assert sitting.stage == "marking"
    window.moments.awaited = None
    run(exercise.solution)  # before that was marked
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    assert sitting.reply.answer == exercise.solution


@pytest.mark.slow
def test_no_progress_is_told_of_a_text_that_nobody_ran(window, qtbot):
    teaching = begun(window, qtbot, "exercises", at=1)
    sitting, source = asked(window, qtbot), window.step_page.source
    qtbot.waitUntil(lambda: settled(window), timeout=MOST_MS)
    panel = teaching.panel

    def ticked():
        return [row.said()[0] for row in panel.field.rows].count("✓")

    assert panel.verdict.isHidden(), "the text that it begins with"
    assert ticked() == 0
    start = source.edit.toPlainText()
    source.edit.set_text(start + "// mine\n")
    teaching.bench.run_source()
    qtbot.waitUntil(lambda: sitting.reply is not None and sitting.stage == "asked", timeout=MOST_MS)
    assert panel.verdict.text() == "1 of 2 goals are met."
    assert ticked() == 1
    source.edit.set_text(start.replace("C[i]", "D[i]"))
    with qtbot.waitSignal(window.recorder.failed, timeout=MOST_MS):
        teaching.bench.run_source()
    assert panel.verdict.isHidden()
    assert ticked() == 0


@pytest.mark.slow
def test_what_is_to_be_found_out_is_not_announced(window, qtbot):
    teaching = begun(window, qtbot, "exercises", at=1)
    sitting, session = asked(window, qtbot), window.session
    qtbot.waitUntil(lambda: settled(window), timeout=MOST_MS)
    assert session.trace.findings
    assert not window.message.isVisible()
    assert window.step_page.docks["Findings"].isHidden()
    assert not any("finding" in hint.lower() for hint in sitting.posed.hints)
    teaching.show_solution()
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    assert not session.veiled


@pytest.mark.slow
def test_the_page_shows_the_answer_of_a_slider_that_sets_it(window, qtbot):
    teaching = begun(window, qtbot, "3A", at=6)
    sitting = asked(window, qtbot)
    (wanted, *_) = right_answer(sitting.posed)
    teaching.panel.field.slider.setValue(teaching.panel.field.values.index(wanted))
    teaching.panel.sure.click()
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    qtbot.waitUntil(lambda: window.session.registers == wanted, timeout=MOST_MS)


@pytest.mark.slow
def test_return_presses_the_button_that_has_the_keyboard(window, qtbot):
    teaching = begun(window, qtbot, "1A", at=len(course_lesson("1A").steps) - 1)
    sitting, panel = asked(window, qtbot), teaching.panel
    put(panel.field, wrong(sitting, right_answer(sitting.posed)))
    panel.guess.setFocus()
    qtbot.keyClick(panel.guess, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: sitting.reply is not None, timeout=MOST_MS)
    assert not sitting.reply.sure
    teaching.go(1)
    assert sitting.stage == "ended"

    def focused():
        button = panel.focusWidget()
        return button.text() if isinstance(button, QPushButton) else ""

    qtbot.waitUntil(lambda: focused() == "First open question: 1", timeout=MOST_MS)
    sitting.marks |= dict.fromkeys(range(sitting.at), "right")
    teaching.go_to(len(sitting.questions))
    qtbot.waitUntil(lambda: focused().startswith("Lesson"), timeout=MOST_MS)
    assert panel.look.isHidden()
    assert panel.on.isHidden()
    first = panel.focusWidget()
    assert first.text() == "Lesson 1B"
    qtbot.keyClick(first, Qt.Key.Key_Return)
    assert asked(window, qtbot).question.lesson.name == "1B"


@pytest.mark.slow
def test_a_draft_of_moments_does_not_end_the_marking(window, qtbot, tmp_path, monkeypatch):
    teaching, file = begun(window, qtbot, "1A"), tmp_path / "mine.toml"
    sitting = asked(window, qtbot)
    place = "gui.commands.lesson_teaching.QFileDialog.getSaveFileName"
    monkeypatch.setattr(place, lambda *_: (str(file), ""))
    put(teaching.panel.field, right(sitting))
    teaching.panel._commit(True)
    assert sitting.stage == "marking"
    teaching.make_of_moments([Named("First", "tiled?n=4&tile=2&step=12")])
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    assert sitting.marks == {0: "right"}
    qtbot.waitUntil(lambda: "A lesson of 1 step" in window.message.sentence, timeout=MOST_MS)
    assert file.exists()


@pytest.mark.slow
def test_an_exercise_that_does_not_compile_shows_its_text_and_its_errors(window, qtbot):
    steps = course_lesson("exercises").steps
    place = next(i for i, step in enumerate(steps) if step.question.start.count("d_A"))
    teaching = begun(window, qtbot, "exercises", at=place)
    qtbot.waitUntil(lambda: teaching.sitting.stage == "asked", timeout=MOST_MS)
    source, sitting = window.step_page.source, teaching.sitting
    qtbot.waitUntil(lambda: "is undefined" in window.message.sentence, timeout=MOST_MS)
    start = sitting.question.step.question.start
    assert source.edit.toPlainText() == start
    assert source.edit.errors
    assert window.session.trace is None
    source.edit.set_text(start + "// still not right\n")
    source.original.click()
    assert source.edit.toPlainText() == start
    source.edit.set_text(start.replace("d_", ""))
    teaching.panel.run.click()
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    assert sitting.reply.verdict.mark == "right"


@pytest.mark.slow
def test_what_a_later_question_asks_for_stays_veiled_after_the_answer(window, qtbot):
    steps = course_lesson("4A").steps
    at = next(n for n, step in enumerate(steps) if "shared.banks" in step.keep)
    teaching = begun(window, qtbot, "4A", at)
    asked(window, qtbot)
    answered(window, qtbot)
    pad = window.step_page.shared.pad
    assert window.session.hides("shared.banks")
    assert pad.isVisible()  # what is right is seen on the cells
    caption = window.step_page.shared.caption
    qtbot.waitUntil(lambda: caption.text() == "Asked later.", timeout=MOST_MS)
    assert window.session.lit.right == (0,)
    place = pad.cells()[7].center().toPoint()
    qtbot.mouseClick(pad, Qt.MouseButton.LeftButton, pos=place)
    assert teaching.sitting.stage == "told"
    assert len(teaching.progress.answers) == 1
    teaching.panel.next.click()
    asked(window, qtbot)
    qtbot.waitUntil(lambda: caption.text() == "Answer first.", timeout=MOST_MS)
    answered(window, qtbot)
    assert not window.session.veiled
    assert not pad.isVisible()


def test_why_explains_the_question_and_only_once_it_is_answered(window, qtbot):
    teaching, explaining = begun(window, qtbot, "1A"), window.explaining
    asked(window, qtbot)
    assert not teaching.panel.why_button.isVisible()
    teaching.why()
    assert window.session.question is None
    answered(window, qtbot)
    window.session.last()  # wherever the views are meanwhile
    teaching.panel.why_button.click()
    qtbot.waitUntil(lambda: window.session.question is not None, timeout=MOST_MS)
    assert isinstance(window.session.question, OfQuestion)
    assert explaining.panel.isVisible()
    assert explaining.panel.explanation.sections[0].heading == "Phases = 8"
    window.session.first()
    assert explaining.panel.explanation.sections[0].heading == "Phases = 8"
    teaching.panel.why_button.click()
    assert window.session.question is None
    teaching.go(1)
    asked(window, qtbot)
    assert not explaining.panel.isVisible()


def test_why_explains_what_is_looked_at_where_the_answer_has_no_figures(window, qtbot):
    teaching = begun(window, qtbot, "1B", at=9)
    asked(window, qtbot)
    answered(window, qtbot)
    qtbot.waitUntil(lambda: not window.recorder.worker.busy, timeout=MOST_MS)
    teaching.panel.why_button.click()
    qtbot.waitUntil(lambda: window.session.question is not None, timeout=MOST_MS)
    assert not isinstance(window.session.question, OfQuestion)
    assert window.explaining.panel.explanation.sections
