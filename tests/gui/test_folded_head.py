"""The comment at a kernel's head explains what a question asks: it is folded away meanwhile."""

import pytest

from core.ladder import load_ladder
from gui.looks.theme import apply_theme
from gui.views.code_edit import CodeEdit

LINES = load_ladder()["coalesced"].source


@pytest.mark.parametrize("scrolled", [0, 4, 10**6])
def test_the_head_goes_and_comes_and_the_text_stays(qtbot, qapp, scrolled):
    apply_theme(qapp, "light")
    edit = CodeEdit()
    qtbot.addWidget(edit)
    edit.resize(400, 200)
    edit.show()
    edit.setPlainText(LINES)
    edit.verticalScrollBar().setValue(scrolled)
    longest, before = edit.verticalScrollBar().maximum(), edit.firstVisibleBlock()
    head = next(i for i, line in enumerate(LINES.splitlines()) if line.startswith('extern "C"'))
    edit.fold_head(away=True)
    qapp.processEvents()
    first = edit.firstVisibleBlock()
    assert first.isVisible()
    assert first.blockNumber() == max(head, before.blockNumber())  # what is read stays in sight
    assert edit.verticalScrollBar().maximum() == longest - head
    assert edit.toPlainText() == LINES
    edit.grab()  # every line that is painted is there
    edit.fold_head(away=False)
    qapp.processEvents()
    assert edit.document().firstBlock().isVisible()
    assert edit.verticalScrollBar().maximum() == longest
