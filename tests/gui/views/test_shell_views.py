"""The shell's own views, each on a fixed trace."""

import pytest
from PySide6.QtCore import QAbstractListModel, QPoint, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QStyleOptionViewItem, QWidget

from core.recording.record_launch import record
from gui.looks.theme import apply_theme
from gui.scenes.selection import Breakpoint
from gui.views.captions_and_panels import Caption
from gui.views.counters_view import RatioBar
from gui.views.ladder_panel import LadderPanel
from gui.views.launch_form import ConfigurationForm, SelectionForm
from gui.views.message_bar import MessageBar
from gui.views.source_view import SourceView
from gui.views.tables import PlainCells
from gui.views.transport_bar import ScrubBar, TransportBar
from gui.views.variables_view import VariablesView


@pytest.fixture(autouse=True)
def theme(qapp):
    return apply_theme(qapp, "light")


def shown(qtbot, view, width=900, height=300):
    qtbot.addWidget(view)
    view.resize(width, height)
    view.show()
    qtbot.waitExposed(view)
    return view


def click(qtbot, widget, x, y):
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton, pos=QPoint(round(x), round(y)))


def is_painted(widget):
    image = widget.grab().toImage()
    colors = {
        image.pixelColor(x, y).rgb()
        for x in range(0, image.width(), 3)
        for y in range(0, image.height(), 3)
    }
    return len(colors) > 3


def test_transport_buttons_move_the_clock(session, qtbot):
    bar = shown(qtbot, TransportBar(session), 1200, 90)
    session.first()
    bar.buttons["forward"].click()
    assert session.block_trace.access(session.step) is not None
    at = session.step
    bar.buttons["forward"].click()
    bar.buttons["back"].click()
    assert session.step == at
    bar.buttons["last"].click()
    assert session.step == session.n_steps - 1
    assert not bar.buttons["forward"].isEnabled()
    bar.buttons["first"].click()
    assert session.step == 0
    assert not bar.buttons["back"].isEnabled()
    assert is_painted(bar)


@pytest.mark.parametrize("direction", [1, -1])
def test_playing_runs_to_the_end_and_stops(session, qtbot, direction):
    bar = shown(qtbot, TransportBar(session), 1200, 90)
    session.update(speed=60.0, unit="phase")
    session.first() if direction > 0 else session.last()
    visited = []
    session.step_changed.connect(visited.append)
    bar.buttons["play" if direction > 0 else "play_back"].click()
    assert session.playing == direction
    qtbot.waitUntil(lambda: session.playing == 0)
    assert visited == sorted(visited, reverse=direction < 0)
    assert session.step == (session.n_steps - 1 if direction > 0 else 0)
    assert not bar._timer.isActive()


def test_units_and_speed_are_those_of_the_session(session, qtbot):
    bar = shown(qtbot, TransportBar(session), 1200, 90)
    click(qtbot, bar.units.button("barrier"), 5, 5)
    assert session.unit == "barrier"
    session.unit = "line"
    assert bar.units.value == "line"
    session.speed = 12.0
    assert bar.speed_label.text() == "12 steps/s"
    bar.resize(2400, 90)
    assert bar.units_label.isVisible()
    assert bar.units_label.geometry().right() < bar.units.geometry().left()
    bar.speed.setValue(0)
    assert session.speed == 0.5


def test_scrub_bar_goes_where_it_is_clicked_and_dragged(session, qtbot):
    scrub = shown(qtbot, TransportBar(session), 1200, 90).scrub
    for step in (0, 40, session.n_steps - 1):
        click(qtbot, scrub, scrub.x_of(step), 10)
        assert session.step == step
    qtbot.mousePress(scrub, Qt.MouseButton.LeftButton, pos=QPoint(300, 10))
    seen = []
    session.step_changed.connect(seen.append)
    for x in range(300, 700, 20):
        qtbot.mouseMove(scrub, QPoint(x, 10))
        QApplication.processEvents()
    qtbot.mouseRelease(scrub, Qt.MouseButton.LeftButton, pos=QPoint(700, 10))
    assert seen == sorted(seen)
    assert session.step >= scrub.step_at(680)


def test_scrub_bar_keeps_its_picture_while_stepping(session, qtbot, monkeypatch):
    painted, paint = [], ScrubBar._paint_static
    monkeypatch.setattr(
        ScrubBar, "_paint_static", lambda *given: (painted.append(1), paint(*given))
    )
    scrub = shown(qtbot, TransportBar(session), 1200, 90).scrub
    scrub.grab()
    assert painted
    painted.clear()
    session.step = 50
    scrub.grab()
    assert not painted
    session.line = 17
    scrub.grab()
    assert painted == [1]


def test_source_follows_the_step_and_selects_lines(session, qtbot):
    view = shown(qtbot, SourceView(session), 800, 200)
    session.last()
    current = session.current_line
    assert view.edit.gutter.current == current
    rect = view.edit.block_rect(view.edit.document().findBlockByNumber(current - 1))
    assert rect.top() >= 0
    assert rect.bottom() <= view.edit.viewport().height()
    click(qtbot, view.edit.viewport(), 60, rect.center().y())
    assert session.line == current
    click(qtbot, view.edit.viewport(), 60, rect.center().y())
    assert session.line is None
    click(qtbot, view.edit.gutter, 5, rect.center().y())
    assert session.breakpoints == {Breakpoint(line=current)}
    assert view.edit.gutter.breaks == {current}
    click(qtbot, view.edit.gutter, 5, rect.center().y())
    assert not session.breakpoints
    assert session.line is None
    view.go_to_next(17)
    assert session.current_line == 17
    assert view.edit.isReadOnly()
    assert is_painted(view)


def test_variables_mark_what_changed_and_show_the_warp(session, qtbot):
    view = shown(qtbot, VariablesView(session), 500, 260)
    session.update(step=40, thread=37)
    values = {row.name: row.value for row in view.model.rows}
    assert values["row"] == "4"
    view.scope.button("warp").click()
    assert view.model.columnCount() == 34
    index = view.model.index(0, 2 + 9)
    view.table.clicked.emit(index)
    assert session.thread == 32 + 9
    assert is_painted(view)


class Cells(QAbstractListModel):
    """One column of given values, as they are."""

    def __init__(self, values):
        super().__init__()
        self.values = values

    def rowCount(self, parent=None):
        return len(self.values)

    def data(self, index, role=Qt.ItemDataRole.DisplayRole):
        return self.values[index.row()] if role == Qt.ItemDataRole.DisplayRole else None


@pytest.mark.parametrize("value", [0, 0.0, False])
def test_a_cell_whose_value_is_nought_is_written(qtbot, value):
    pictures = []
    for shown_value in (value, str(value), None):
        model, image = Cells([shown_value]), QImage(90, 24, QImage.Format.Format_RGB32)
        image.fill(0xFFFFFFFF)
        option, painter = QStyleOptionViewItem(), QPainter(image)
        option.rect = image.rect()
        PlainCells().paint(painter, option, model.index(0))
        painter.end()
        pictures.append(image)
    written, as_text, empty = pictures
    assert written == as_text
    assert written != empty


def test_counters_by_line_select_the_line(session, qtbot):
    from gui.views.counters_view import CountersView

    view = shown(qtbot, CountersView(session), 640, 300)
    places = [r if isinstance(r, str) else r.place for r in view.model.rows]
    assert places[:4] == ["Global memory, 32-byte sectors", "A", "B", "C"]
    assert not view.table.isColumnHidden(2)
    view.grouping.button("line").click()
    row = next(i for i, r in enumerate(view.model.rows) if getattr(r, "line", None) == 13)
    view.table.clicked.emit(view.model.index(row, 0))
    assert session.line == 13
    session.line = 20
    assert view.table.selectionModel().selectedRows()[0].row() == next(
        i for i, r in enumerate(view.model.rows) if getattr(r, "line", None) == 20
    )
    assert isinstance(view.table.itemDelegateForColumn(5), RatioBar)
    view.resize(300, 300)
    qtbot.waitUntil(lambda: view.table.isColumnHidden(2))


@pytest.mark.parametrize("height", [150, 161, 234, 407])
def test_the_ladder_shows_no_row_in_part(qtbot, ladder, height):
    panel = shown(qtbot, LadderPanel(ladder[name] for name in ladder.names), 240, height)
    rows = panel.list
    for wanted in (0, 20, rows.count() - 1):
        rows.setCurrentRow(wanted)
        rows.scrollToItem(rows.item(wanted))
        row = rows.visualItemRect(rows.item(wanted)).height()
        top = rows.indexAt(rows.viewport().rect().topLeft())
        assert rows.visualRect(top).top() == 0
        assert rows.viewport().height() % row == 0
        assert rows.viewport().height() >= 2 * row


def test_ladder_tells_which_rung_the_user_picks(ladder, qtbot):
    panel = shown(qtbot, LadderPanel(ladder[name] for name in ladder.names), 240, 400)
    picked = []
    panel.chosen.connect(picked.append)
    panel.select("tiled")
    assert picked == []
    assert panel.summary.text() == ladder["tiled"].summary
    panel.choose_next(1)
    assert picked == [ladder.names[ladder.names.index("tiled") + 1]]
    assert is_painted(panel)


def test_form_waits_for_the_last_edit(ladder, qtbot):
    form = shown(qtbot, ConfigurationForm(), 260, 200)
    form.show_rung(ladder["tiled"])
    heard = []
    form.changed.connect(heard.append)
    for n in (16, 24, 32):
        form.editors["n"].setValue(n)
    assert heard == []
    qtbot.waitUntil(lambda: bool(heard))
    assert [h["n"] for h in heard] == [32]
    form.restore_defaults()
    qtbot.waitUntil(lambda: len(heard) == 2)
    assert heard[1] == {p.name: p.default for p in ladder["tiled"].parameters}


@pytest.mark.parametrize("typed", ["", "--5", "n²", "5²", "9" * 5000])
def test_what_is_no_number_is_out_of_range(ladder, qtbot, typed):
    form = shown(qtbot, ConfigurationForm(), 260, 200)
    form.show_rung(ladder["tiled"], {"n": 16, "tile": 8})
    form.editors["tile"].setEditText(typed)
    assert form.values() == {"n": 16, "tile": 0}


def test_a_line_of_a_caption_ends_within_no_index(qtbot):
    words = "Block (0, 0): 256 threads load A[0..15, 0..15]; value holds 0.00 for C[0, 0] so far."
    caption = Caption(words)
    qtbot.addWidget(caption)
    caption.may_take(9)
    caption.show()
    seen = set()
    for width in range(160, 700, 3):
        caption.resize(width, 200)
        lines = caption.shown_lines()
        assert " ".join(lines) == words
        assert all(line.count("[") == line.count("]") for line in lines), lines
        assert all(line.count("(") == line.count(")") for line in lines), lines
        seen.add(len(lines))
    assert seen >= {1, 2, 3}


def test_form_shows_what_is_wrong_and_keeps_the_values(ladder, qtbot):
    form = shown(qtbot, ConfigurationForm(), 260, 200)
    form.show_rung(ladder["tiled"], {"n": 16, "tile": 8})
    form.show_error("tile = 64 is too large: use 1 to 32.")
    assert form.error.isVisible()
    assert form.editors["tile"].property("wrong")
    assert not form.editors["n"].property("wrong")
    assert form.values() == {"n": 16, "tile": 8}
    form.show_error("")
    assert not form.error.isVisible()


def test_selection_form_and_session_follow_each_other(session, qtbot):
    form = shown(qtbot, SelectionForm(session), 240, 60)
    session.update(block=3, thread=41)
    assert [form._boxes[n].value() for n in ("block", "warp", "lane")] == [3, 1, 9]
    form._boxes["lane"].setValue(2)
    assert session.thread == 34


def test_message_bar_goes_to_the_line(qtbot):
    bar = MessageBar(shown(qtbot, QWidget(), 600, 200))
    went = []
    bar.show_message('identifier "x" is undefined', label="Go", action=lambda: went.append(7))
    assert bar.sentence == 'identifier "x" is undefined'
    bar.go.click()
    assert went == [7]
    bar.close_button.click()
    assert bar.sentence == ""


def test_what_went_wrong_comes_back_when_what_was_told_over_it_goes(qtbot):
    bar = MessageBar(shown(qtbot, QWidget(), 600, 200))
    went = []
    bar.show_message("A race on tile_a.", label="Show", action=lambda: went.append(1))
    bar.tell("There is no breakpoint.")
    told = bar.tell("No breakpoint stops after this step.")
    bar.take_back(told)
    assert (bar.sentence, bar.property("kind")) == ("A race on tile_a.", "error")
    bar.go.click()
    assert went == [1]
    bar.tell("There is no breakpoint.")
    bar.pass_by()
    assert bar.sentence == "A race on tile_a."
    bar.pass_by()
    assert bar.sentence == "A race on tile_a.", "what went wrong stays"
    bar.tell("There is no breakpoint.")
    bar.clear()
    bar.tell("Saved.")
    bar.pass_by()
    assert bar.sentence == ""


def test_a_message_says_what_it_quotes_letter_by_letter_and_stays_short(qtbot):
    bar = MessageBar(shown(qtbot, QWidget(), 600, 200))
    bar.show_message("no kernel: `<img src='file:///x.png'>`")
    assert bar.text.textFormat() == Qt.TextFormat.PlainText
    bar.show_message("The link sets `" + "x" * 9000 + "`, which tiled has not.")
    assert 500 < len(bar.sentence) < 700
    assert bar.sentence.startswith("The link sets “x")
    assert bar.sentence.endswith("x”, which tiled has not.")


def test_phases_are_numbered_as_often_as_there_is_room(qtbot, session):
    from types import SimpleNamespace

    from gui.views.transport_bar import ScrubBar

    bar = ScrubBar(session)
    qtbot.addWidget(bar)
    metrics = bar.fontMetrics()
    need = metrics.horizontalAdvance("99") + 6
    for width, every in ((need, 1), (need / 2, 2), (need / 3, 5), (need / 9, 10), (need / 11, 20)):
        bands = [SimpleNamespace(index=i, first=10 * i, last=10 * i + 9) for i in range(100)]
        assert bar._named(SimpleNamespace(bands=bands), width / 10, metrics) == every
    assert bar._named(SimpleNamespace(bands=[]), 1.0, metrics) == 1


def test_a_name_that_makes_way_for_the_handle_lies_over_no_other(qtbot, session, ladder):
    from gui.views.transport_bar import HANDLE, ScrubBar

    tuned = ladder["tuned"].workload(k=24)
    session.trace = record(tuned, blocks=[0], only_recorded=True)
    session.step = session.n_steps - 1
    bar = shown(qtbot, ScrubBar(session), 1300, 36)
    bar.grab()
    places = {name: area.toAlignedRect() for area, name, _ in bar._named_bands}
    ahead, area = places["fill ahead"], places["phase 0"]
    alone = bar.grab(area).toImage()
    steps = range(session.block_trace.phases[0].first)
    struck = [s for s in steps if ahead.left() < bar.x_of(s) < area.left() - HANDLE]
    assert struck
    for step in struck[:: max(1, len(struck) // 20)]:
        session.step = step
        bar.grab()
        assert bar.grab(area).toImage() == alone, step
