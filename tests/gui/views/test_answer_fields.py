"""The fields that take answers, by keys."""

import pytest
from PySide6.QtCore import Qt

from gui.looks.style_sheet import rules
from gui.looks.theme import apply_theme
from gui.views.answer_fields import ChoiceField, OrderField
from gui.views.glossary_words import ProseLabel

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


def test_every_line_of_an_order_is_seen(qtbot, qapp):
    """Long lines are wrapped, and the lists are as high as that makes them."""
    apply_theme(qapp, "light")
    lines = [f"tile[ty][tx] = {name}[row * N + phase * TILE_WIDTH + tx];" for name in "ABCDE"]
    field = OrderField(lines, code=True)
    qtbot.addWidget(field)
    field.setFixedWidth(260)
    field.show()
    field.begin()
    for _ in lines:
        qtbot.keyClick(field.pool, Qt.Key.Key_Return)
        for shown in (field.pool, field.own):
            seen = [shown.visualItemRect(shown.item(row)) for row in range(shown.count())]
            assert all(shown.viewport().rect().contains(rect) for rect in seen)
    assert field.answer() == lines
    qtbot.keyClick(field.own, Qt.Key.Key_Home)
    assert field.own.currentRow() == 0
    qtbot.keyClick(field.own, Qt.Key.Key_Return)  # the panel's, which answers
    assert field.answer() == lines
    qtbot.keyClick(field.own, Qt.Key.Key_Delete)
    assert field.answer() == lines[1:]


def inked_rows(label):
    """From the first row of pixels with a letter in it to the last."""
    image = label.grab().toImage()
    ground = image.pixelColor(image.width() - 1, image.height() // 2)
    inside = range(8, image.width() - 8)
    found = [
        y for y in range(image.height()) if any(image.pixelColor(x, y) != ground for x in inside)
    ]
    return found[-1] - found[0] + 1


@pytest.mark.parametrize("role", ["choice", "goal", "hint"])
def test_a_padded_label_has_no_empty_line(qtbot, qapp, role):
    """It is as high as the lines that its words take at its width."""
    theme = apply_theme(qapp, "light")
    label = ProseLabel(role, "At most 4 sectors a request to A, B and C")
    qtbot.addWidget(label)
    label.setStyleSheet(rules(theme))
    label.show()
    label.setWordWrap(False)
    whole = label.sizeHint()
    label.setWordWrap(True)
    seen = set()
    for width in range(whole.width() - 14, whole.width() + 4):
        high = label.heightForWidth(width)
        label.resize(width, high)
        wrapped = inked_rows(label) > 1.2 * label.fontMetrics().height()
        assert wrapped == (high > whole.height()), width
        seen.add(wrapped)
    assert seen == {False, True}
