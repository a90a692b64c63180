"""The fields that take answers, by keys."""

import pytest
from PySide6.QtCore import Qt

from gui.looks.theme import apply_theme
from gui.views.answer_fields import ChoiceField

DOWN, UP = Qt.Key.Key_Down, Qt.Key.Key_Up


@pytest.fixture
def choices(qtbot, qapp):
    apply_theme(qapp, "light")
    field = ChoiceField(("one", "two", "three"))
    qtbot.addWidget(field)
    field.show()
    field.begin()
    return field


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        ((), None),
        ((DOWN,), "one"),
        ((UP,), "three"),
        ((DOWN, DOWN), "two"),
        ((DOWN, DOWN, DOWN, DOWN), "one"),
        ((Qt.Key.Key_B, DOWN), "three"),
        ((Qt.Key.Key_C, UP), "two"),
    ],
)
def test_arrows_choose_from_the_first_on(choices, qtbot, keys, chosen):
    for key in keys:
        button = choices.group.checkedButton() or choices.group.button(0)
        qtbot.keyClick(button, key)
    assert choices.answer() == chosen
