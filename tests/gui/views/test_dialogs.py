"""The window's questions: a mistake is said below the field, and nothing closes."""

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QSpinBox

from gui.views.dialogs import Question, ask_choice, ask_number, ask_text


def answering(act):
    """Have `act(question)` be done as soon as a question is shown."""

    def look():
        question = QApplication.activeModalWidget()
        if isinstance(question, Question):
            act(question)
        else:
            QTimer.singleShot(5, look)

    QTimer.singleShot(0, look)


def test_a_mistake_is_said_below_the_field(window, qtbot):
    said = []

    def type_in(question):
        field = question.findChild(QLineEdit)
        assert field.hasFocus() or not question.isActiveWindow()
        assert not question.answer.isEnabled()
        qtbot.keyClicks(field, "A[99,0]")
        qtbot.keyClick(field, Qt.Key.Key_Return)
        said.append((question.isVisible(), question.error.text()))
        field.setText("A[1, 2]")
        said.append(question.error.isVisible())
        qtbot.keyClick(field, Qt.Key.Key_Return)

    answering(type_in)
    check = {"A[99,0]": "There is no such element.", "A[1, 2]": ""}.__getitem__
    assert ask_text(window, "Select an element", "Such as A[0,2]", check=check) == "A[1, 2]"
    assert said == [(True, "There is no such element."), False]


@pytest.mark.slow
@pytest.mark.parametrize(("key", "found"), [(Qt.Key.Key_Return, 7), (Qt.Key.Key_Escape, None)])
def test_a_number_is_given_or_not(window, qtbot, key, found):
    def type_in(question):
        box = question.findChild(QSpinBox)
        box.selectAll()
        qtbot.keyClicks(box, "7")
        qtbot.keyClick(box, key)

    answering(type_in)
    assert ask_number(window, "Go to step", "1 to 9", 3, 9) == found


def test_one_of_a_few(window, qtbot):
    def pick(question):
        box = question.findChild(QComboBox)
        assert box.currentText() == "Matrices"
        box.setCurrentText("Source")
        question.answer.click()

    answering(pick)
    assert ask_choice(window, "Export a view", ["Source", "Matrices"], 1) == "Source"


def test_every_question_says_its_mistake_before_it_closes(window, qtbot):
    with qtbot.waitSignal(window.recorder.recorded, timeout=20_000):
        window.recorder.configure("tiled", {"n": 8, "tile": 4})
    assert "no element" in window.stopping.mistake_of("Q[0,0]")
    assert window.stopping.mistake_of("A[0,7]") == ""
    assert "n is `x`" in window.moments.mistake_of("tiled?n=x")
    assert window.moments.mistake_of("tiled?n=8") == ""
