"""The application, whose file also says how the open question is answered, by keys and by mouse.

The right answer is the window's own: computed from the record. Points are pixels of the window.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QPoint, QPointF
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QWidget

from gui.shell.main_window import MainWindow
from gui.views.answer_fields import ChoiceField, ClickField, OrderField, SliderField
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.question_in_views import PickPad
from tests.gui import reported_app
from tests.gui.test_playing_lessons import built, right

Acts = list[tuple[str, Any]]
"""("key", name), ("type", text), ("paste", text) or ("click", (x, y))."""
SCAN = 4  # pixels between the points at which an element is looked for


def at(window: MainWindow, widget: QWidget, point: QPointF | None = None) -> list[int]:
    """A point of a widget, its middle if none, in the window."""
    inside = QPointF(widget.rect().center()) if point is None else point
    found = widget.mapTo(window, inside.toPoint())
    return [found.x(), found.y()]


def by_keys(window: MainWindow) -> Acts:
    """What to press, the field in focus."""
    sitting, field = window.teaching.sitting, window.teaching.panel.field
    if sitting.is_built:
        solution = sitting.question.step.question.solution
        return [("key", "ctrl+e"), ("key", "ctrl+a"), ("paste", solution), ("key", "ctrl+Return")]
    answer = wanted(window)
    if isinstance(field, ChoiceField):
        return [("key", "abcdefgh"[field.choices.index(answer)])]
    if isinstance(field, SliderField):
        by = field.values.index(answer) - field.slider.value()
        return [("key", "Right" if by > 0 else "Left")] * abs(by) or [
            ("key", "Right"),
            ("key", "Left"),
        ]
    if isinstance(field, OrderField):
        rows = [field.pool.item(row).text() for row in range(field.pool.count())]
        acts: Acts = []
        for line in answer[field.own.count() :]:
            place = rows.index(line)
            acts += [("key", "Home"), *[("key", "Down")] * place, ("key", "Return")]
            rows.pop(place)
        return [*acts, *[("key", "Tab")] * bool(rows)]  # to one's own order, where Return answers
    if isinstance(field, ClickField):
        return [("type", ", ".join(field._name(one) for one in answer))]
    return [("type", str(answer))]


def wanted(window: MainWindow) -> Any:
    """The right answer, worked out once a question: its expression may ask for so many launches."""
    sitting = window.teaching.sitting
    if sitting.posed is not _known[0]:
        question = sitting.question.step.question
        is_framed = sitting.question.step.kind == "order" and question.frame
        _known[:] = sitting.posed, built(sitting) if is_framed else right(sitting)
    return _known[1]


_known: list[Any] = [None, None]  # what was posed, and its answer


def by_mouse(window: MainWindow) -> Acts:
    """What to click; what no pixel stands for is typed."""
    field = window.teaching.panel.field
    if window.teaching.sitting.is_built:
        return by_keys(window)
    answer = wanted(window)
    if isinstance(field, ChoiceField):
        return [("click", at(window, field.group.button(field.choices.index(answer))))]
    if isinstance(field, OrderField):  # a line goes over where it is clicked; then all lie anew
        line = answer[field.own.count()] if field.own.count() < len(answer) else None
        rows = [field.pool.item(row).text() for row in range(field.pool.count())]
        if line is None:
            return []
        box = field.pool.visualItemRect(field.pool.item(rows.index(line)))
        return [("click", at(window, field.pool.viewport(), QPointF(box.center())))]
    if isinstance(field, ClickField):
        acts: Acts = []
        for thing in answer:
            point = next(places(window, field.target, thing), None)
            acts.append(("type", field._name(thing)) if point is None else ("click", point))
        return acts
    return by_keys(window)


def places(window: MainWindow, target: str, thing: Any) -> Iterator[list[int]]:
    """Where a thing can be clicked."""
    for pad in window.findChildren(PickPad):
        if pad.isVisible() and (box := pad.cells().get(thing)) is not None:
            yield at(window, pad, box.center())
    for canvas in window.findChildren(MatrixCanvas):
        if not canvas.isVisible() or target not in ("element", "thread"):
            continue
        for y in range(2, canvas.height(), SCAN):
            for x in range(2, canvas.width(), SCAN):
                found = canvas.element_at(QPointF(x, y))
                if found is None:
                    continue
                name = canvas._name(*found)
                if str(thing) in (
                    f"{name[0]}[{','.join(map(str, name[1]))}]",
                    str(canvas.owner_of(*found)),
                ):
                    yield at(window, canvas, QPointF(x, y))
    source = window.step_page.source.edit
    if target == "line" and source.isVisible():
        block = source.document().findBlockByNumber(thing - 1)
        if block.isValid():
            point = source.cursorRect(QTextCursor(block)).center() + QPoint(4, 0)
            yield at(window, source.viewport(), QPointF(point))


def state(window: MainWindow) -> dict[str, Any]:
    """The report of `reported_app`, and what the lesson asks."""
    found = reported_app.state(window)
    teaching = window.teaching
    sitting, panel = teaching.sitting, teaching.panel
    if sitting is None or panel is None:
        return found
    lesson: dict[str, Any] = {"at": sitting.at, "stage": sitting.stage}
    if sitting.stage != "ended" and panel.field is not None:
        asked = sitting.stage == "asked" and not teaching.worker.busy
        asked = asked and not window.recorder.worker.busy and window.moments.awaited is None
        lesson |= {
            "kind": sitting.question.step.kind,
            "asked": asked,
            "built": sitting.is_built,
            "mark": sitting.reply.verdict.mark if sitting.is_told and sitting.reply else "",
            "field": at(window, panel.field),
            "sure": at(window, panel.sure) if panel.sure.isVisible() else None,
            "next": at(window, panel.next) if panel.next.isVisible() else None,
            "keys": by_keys(window) if asked else [],
            "mouse": by_mouse(window) if asked else [],
        }
    return found | {"lesson": lesson}


if __name__ == "__main__":
    sys.exit(reported_app.main(state))
