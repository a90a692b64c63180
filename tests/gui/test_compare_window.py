"""The page that compares two launches, in the whole window."""

import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from core.user_files.launch_texts import FileLaunch
from gui.jobs.opening_work import open_job
from gui.looks.theme import current_theme
from gui.scenes.comparisons_to_open import PRESETS, counterpart
from gui.scenes.configuration import Configuration
from gui.scenes.moment_links import configuration_of, window_link
from gui.scenes.numbers_and_sentences import factor
from gui.scenes.saved_state import Saved
from gui.shell.menus import compare_page
from gui.shell.session_persistence import Keeper

MS = 20_000
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


def settled(window, qtbot):
    """Wait until both sides show what was asked for."""
    page = compare_page(window)
    both = window.recorder, page.comparing.recorder

    def quiet():
        a, b = window.session, page.comparing.b
        busy = any(r.worker.busy for r in both) or page.comparing.opener.busy
        return not busy and a.trace is not None and b.trace is not None

    qtbot.waitUntil(quiet, timeout=MS)
    return page


@pytest.fixture
def compared(window, qtbot):
    window.moments.open_link("tiled?n=16&tile=4&vs=tiled&vs.tile=8")
    return settled(window, qtbot)


@pytest.mark.slow
def test_a_link_opens_both_sides_on_one_clock(compared, window, qtbot):
    a, b = window.session, compared.comparing.b
    assert a.page == "compare"
    assert (dict(a.parameters), dict(b.parameters)) == ({"n": 16, "tile": 4}, {"n": 16, "tile": 8})
    assert compared.isVisible()
    assert all(widget.isVisible() for widget in (compared.switch, compared.scrub))
    qtbot.keyClick(window, Qt.Key.Key_End)
    assert b.step == b.n_steps - 1
    qtbot.keyClick(window, Qt.Key.Key_Home)
    qtbot.keyClick(window, Qt.Key.Key_Right, SHIFT)
    qtbot.keyClick(window, Qt.Key.Key_Right, SHIFT)
    qtbot.keyClick(window, Qt.Key.Key_Right, SHIFT)
    assert (a.phase, b.phase) == (2, 1)
    assert b.step == b.block_trace.phases[1].first
    qtbot.keyClick(window, Qt.Key.Key_Down)
    assert a.thread == b.thread == 1
    assert "phase 1 (of 0..1)" in compared.sides[1].head.moment.text()


@pytest.mark.slow
def test_either_time_axis_drags_both(compared, window, qtbot):
    a, b = window.session, compared.comparing.b
    qtbot.mousePress(compared.scrub, Qt.MouseButton.LeftButton, pos=compared.scrub.rect().center())
    qtbot.mouseRelease(compared.scrub, Qt.MouseButton.LeftButton)
    assert b.step == compared.scrub.step_at(compared.scrub.rect().center().x())
    assert a.phase == 2 * b.phase or a.phase == 2 * b.phase + 1


@pytest.mark.slow
def test_the_table_says_what_differs(compared):
    text = compared.verdict.text()
    assert text.startswith("B: ")
    assert "times fewer" in text
    model = compared.differences.model
    shown = {model.data(model.index(r, 0)): r for r in range(model.rowCount())}
    row = shown["Loads: sectors"]
    cells = [model.data(model.index(row, c)) for c in range(model.columnCount())]
    a, b = (int(cell.replace("\u202f", "")) for cell in cells[1:3])
    assert cells[4] == f"÷ {factor(a / b)}  ✓ better"
    found = model.rows[row]
    assert found.shares == (1.0, pytest.approx(found.b / found.a))
    rect = compared.differences.table.visualRect(model.index(row, 5))
    image = compared.differences.table.viewport().grab(rect).toImage()
    better = current_theme().color("ideal").rgb()
    dim = current_theme().color("text_dim").rgb()

    def length(colour, ys):
        rows = [[image.pixel(x, y) == colour for x in range(image.width())] for y in ys]
        return max(map(sum, rows))

    half = image.height() // 2
    a, b = length(dim, range(half)), length(better, range(half, image.height()))
    assert a > 20
    assert b / a == pytest.approx(found.b / found.a, abs=2 / a)
    compared.toggle_grouping()
    assert model.data(model.index(0, 0)) == "A"


@pytest.mark.slow
def test_a_narrow_comparison_leaves_buttons_to_the_menu(compared, window):
    for theme in ("light", "projector"):
        window.session.update(theme=theme)
        assert compared.minimumSizeHint().width() <= 1000
        for width in (1500, 760, 520):
            compared.resize(width, 700)
            shown = [b for b in (compared.next, compared.swap, compared.copy) if b.isVisible()]
            assert len(shown) == 3 or width < 1500
            need = sum(b.sizeHint().width() for b in (compared.examples, compared.views, *shown))
            assert need <= width or not shown
    assert not compared.copy.isVisible(), "it goes first"


@pytest.mark.slow
def test_leaving_the_page_lets_go_of_the_other_side(compared, window):
    a, b = window.session, compared.comparing.b
    window.show_page("step")
    before = b.step
    a.last()
    assert b.step == before
    assert not compared.scrub.isVisible()
    assert not compared.switch.isVisible()
    assert window.ladder_panel.isVisible()
    window.show_page("compare")
    assert b.step == b.n_steps - 1


@pytest.mark.slow
def test_the_left_column_configures_either_side(compared, window, qtbot):
    compared.configure_other()
    form = compared.comparing.column.form
    assert form.isVisible()
    assert not window.form.isVisible()
    slider = form.sliders["tile"]
    slider.setValue(slider.stops.index(16))
    settled(window, qtbot)
    assert dict(compared.comparing.b.parameters) == {"n": 16, "tile": 16}
    assert dict(window.session.parameters) == {"n": 16, "tile": 4}
    assert window.session.versus == Configuration("tiled", {"n": 16, "tile": 16})
    compared.comparing.column.ladder_panel.choose_next(-1)
    settled(window, qtbot)
    assert compared.comparing.b.trace.workload.rung == "coalesced"
    assert compared.comparing.b.parameters["n"] == 16, "A's N comes with it"
    compared.configure_other()
    assert window.form.isVisible()


@pytest.mark.slow
def test_what_cannot_be_launched_is_said_at_the_form_of_b(compared, window, qtbot):
    before = compared.comparing.b.trace
    with qtbot.waitSignal(compared.comparing.recorder.failed, timeout=MS):
        compared.comparing.column.form.editors["n"].setValue(17)
    assert "multiple of the tile" in compared.comparing.column.form.error.text()
    assert window.message.sentence.startswith("B: ")
    assert not window.form.error.text()
    assert compared.comparing.b.trace is before


@pytest.mark.slow
def test_swap_and_copy(compared, window, qtbot):
    a, b = window.session, compared.comparing.b
    qtbot.keyClick(window, Qt.Key.Key_X, CTRL | SHIFT)
    settled(window, qtbot)
    assert (a.parameters["tile"], b.parameters["tile"]) == (8, 4)
    qtbot.keyClick(window, Qt.Key.Key_D, CTRL | SHIFT)
    settled(window, qtbot)
    assert (a.parameters["tile"], b.parameters["tile"]) == (8, 8)
    assert (a.step, a.thread) == (b.step, b.thread)
    qtbot.keyClick(window, Qt.Key.Key_D, CTRL)
    settled(window, qtbot)
    assert b.parameters["tile"] == 16


def test_the_first_comparison_is_found_by_itself(window, qtbot):
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.recorder.configure("aat_padded", {"n": 32, "tile": 8})
    qtbot.keyClick(window, Qt.Key.Key_2, CTRL)
    page = settled(window, qtbot)
    assert page.comparing.b.parameters["pad"] == 0


@pytest.mark.slow
def test_a_file_of_one_s_own_is_compared_with_another_launch_of_it(window, qtbot, tmp_path):
    path = tmp_path / "scale.cu"
    path.write_text(
        'extern "C" __global__ void scale(const float *A, float *C, int stride)\n'
        "{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    C[i] = 2.0f * A[i * stride % 64];\n}\n"
    )
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.workbench.open_file(str(path))
    page = settled(window, qtbot)
    assert page.comparing.b.trace.workload.kernel == "scale"
    file = page.comparing.column.form.file
    with qtbot.waitSignal(page.comparing.recorder.recorded, timeout=MS):
        field = file.fields["arg:stride"]
        field.setText("8")
        field.textEdited.emit("8")
    settled(window, qtbot)
    first, second = (s.origin.configuration.own for s in (window.session, page.comparing.b))
    assert dict(second.arguments)["stride"] == "8"
    assert dict(first.arguments)["stride"] != "8"


@pytest.mark.slow
def test_what_is_chosen_for_b_while_a_file_is_read_stays(
    compared, window, qtbot, tmp_path, monkeypatch
):
    path = tmp_path / "late.cu"
    path.write_text('extern "C" __global__ void late(float *a) { a[threadIdx.x] = 1.0f; }')
    read = threading.Event()

    def late(*args, **options):
        assert read.wait(MS / 1000)
        return open_job(*args, **options)

    monkeypatch.setattr("gui.commands.second_launch.open_job", late)
    before = window.session.versus
    window.session.versus = Configuration("", {}, None, FileLaunch(str(path), ""))
    window.session.versus = before
    read.set()
    settled(window, qtbot)
    assert window.session.versus == compared.comparing.b.origin.configuration == before


@pytest.mark.slow
def test_a_broken_kernel_on_side_b_is_a_sentence(window, qtbot, tmp_path):
    window.moments.open_link("tiled?n=16&tile=4&vs=tiled")
    page = settled(window, qtbot)
    edited = Configuration("tiled", {"n": 16, "tile": 4}, "__global__ void tiled( {")
    with qtbot.waitSignal(page.comparing.recorder.failed, timeout=MS):
        window.session.versus = edited
    assert window.message.sentence.startswith("B: ")
    assert page.comparing.b.trace is not None


RACY = """// Sums the numbers of each block.
#define TILE 64
{notes}
extern "C" __global__ void block_sums(const float *x, float *sums, int n)
{{
    __shared__ float part[TILE];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0.0f;
    for (int half = TILE / 2; half > 0; half /= 2) {{
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }}
    if (t == 0)
        sums[blockIdx.x] = part[0];
}}
""".format(notes="\n".join(["//"] * 60))
LOOP = "    for (int half"


def edit(window, qtbot, old, new):
    """Put a change into the source and run it."""
    text = window.step_page.source.draft.text
    assert old in text
    window.step_page.source.edit.setPlainText(text.replace(old, new))
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.workbench.run_source()


@pytest.mark.slow
def test_a_repair_stands_right_of_what_it_repairs(window, qtbot, tmp_path):
    path = tmp_path / "sums.cu"
    path.write_text(RACY)
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.workbench.open_file(str(path))
    assert "Race" in window.message.sentence
    page = settled(window, qtbot)
    page.comparing.copy_to_b()
    settled(window, qtbot)
    assert page.switch.button("a").text() == "Configure A"
    window.show_page("step")
    edit(window, qtbot, LOOP, f"    __syncthreads();\n{LOOP}")
    assert window.message.sentence.startswith("Race on part gone; the result is ")
    settled(window, qtbot)
    mine, theirs = page.sides
    assert page._pair.indexOf(theirs) < page._pair.indexOf(mine)
    assert [side.head.badge.text() for side in (theirs, mine)] == ["Before", "After"]
    assert [letter.text() for letter in page.letters] == ["After", "Before"]
    assert page.switch.button("b").text() == "Before"
    menu = next(m for m in window.findChildren(QMenu) if m.title().replace("&", "") == "Compare")
    menu.aboutToShow.emit()
    said = [action.text() for action in menu.actions()]
    assert page.copy.text() in said
    assert f"Swap {page.comparing.naming.first} and {page.comparing.naming.second}" in said
    assert page.verdict.text().endswith("no findings. The race on part is gone.")
    assert page.verdict.text().startswith("After: as many global sectors")
    heads = [page.differences.model.head(column) for column in range(5)]
    assert heads[1:3] == ["Before", "After"]
    # the changed line is marked and in sight
    assert window.session.compared_view == "Source"
    added = RACY.split("\n").index(next(x for x in RACY.split("\n") if LOOP in x)) + 1
    assert mine.source.edit.gutter.changes.lines == {added}
    assert theirs.source.edit.gutter.changes.gaps == {added}
    marks = [m.cursor.block().text() for m in mine.source.edit.marks]
    assert "    __syncthreads();" in marks

    def seen(side):
        edit = side.source.edit
        rect = edit.block_rect(edit.document().findBlockByNumber(added - 1))
        return rect.top() >= 0 and rect.bottom() <= edit.viewport().height()

    qtbot.waitUntil(lambda: seen(mine) and seen(theirs), timeout=MS)
    # a figure of the left column is that of the older version
    place = next(i for i, r in enumerate(page.differences.model.rows) if getattr(r, "topic", None))
    page.differences.table.clicked.emit(page.differences.model.index(place, 1))
    assert page.comparing.b.question is not None
    assert page.why.title.text().startswith("Before: ")
    # and back: other launches are A and B again
    page.comparing.copy_to_b()
    settled(window, qtbot)
    qtbot.waitUntil(lambda: mine.head.badge.text() == "A", timeout=MS)
    assert page._pair.indexOf(mine) < page._pair.indexOf(theirs)
    assert not mine.source.edit.gutter.changes.lines
    assert page.verdict.text().startswith("B: ")


@pytest.mark.slow
def test_an_edited_launch_is_compared_with_its_original(window, qtbot):
    window.moments.open_link("tiled?n=16&tile=4")
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        pass
    text = window.step_page.source.draft.text
    edit(window, qtbot, "A[row * N + phase * TILE_WIDTH + tx]", "A[phase * TILE_WIDTH + tx]")
    page = settled(window, qtbot)
    qtbot.keyClick(window, Qt.Key.Key_D, CTRL)
    settled(window, qtbot)
    assert page.comparing.b.trace.workload.source == text
    assert page.sides[0].head.badge.text() == "After"
    assert "a wrong result instead of the right one" in page.verdict.text()
    page.comparing.a.compared_view = "Source"
    new, old = (side.source.edit for side in page.sides)
    place = text[: text.index("A[row * N + phase")].count("\n") + 1
    assert new.gutter.changes.lines == old.gutter.changes.lines == {place}
    assert (new.gutter.sign, old.gutter.sign) == ("+", "−")
    for theme in ("dark", "light"):
        window.session.update(theme=theme)
        assert "row * N + " in [mark.cursor.selectedText() for mark in old.marks]


@pytest.mark.slow
def test_a_repaired_rung_is_compared_with_the_reference(window, qtbot):
    window.moments.open_link("tiled?n=16&tile=8")
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        pass
    sums = "            value += tile_a[ty][k] * tile_b[k][tx];\n"
    edit(window, qtbot, f"{sums}        __syncthreads();\n", sums)
    assert window.message.sentence.startswith("Race")
    edit(window, qtbot, sums, f"{sums}        __syncthreads();\n")
    assert "gone, result right: C equals the reference" in window.message.sentence
    edit(window, qtbot, f"{sums}        __syncthreads();\n", sums)
    wrong = sums.replace("+=", "-=")
    edit(window, qtbot, sums, f"{wrong}        __syncthreads();\n")
    assert "gone, but result wrong: C differs from the reference by up" in window.message.sentence
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.recorder.configure("tiled", {"n": 16, "tile": 4})
    assert not window.message.sentence, "another launch of it repairs nothing"


def test_views_of_both_sides_change_together(compared, window, qtbot):
    for _ in range(6):
        qtbot.keyClick(window, Qt.Key.Key_V)
    assert window.session.compared_view == "Memory"
    qtbot.keyClick(window, Qt.Key.Key_1, Qt.KeyboardModifier.AltModifier)
    assert window.session.compared_view == "Matrices"
    assert window.session.page == "compare"
    assert all(side.matrices.isVisible() for side in compared.sides)
    window.session.compared_view = "Memory"
    assert all(side.warp.isVisible() for side in compared.sides)
    window.session.seek("access")  # from the load of A to the store of its tile
    assert all(side.shared.isVisible() for side in compared.sides)
    window.session.compared_view = "Global"
    assert all(side.warp.isVisible() for side in compared.sides)
    window.session.heat = True
    assert compared.comparing.b.heat


@pytest.mark.slow
def test_higher_windows_show_more_views(compared, window, qtbot):
    def shown():
        return sum(panel.isVisible() for panel in compared.sides[0].panels.values())

    assert shown() == 1
    window.resize(1600, 1700)
    qtbot.waitUntil(lambda: shown() >= 2, timeout=2000)


@pytest.mark.slow
def test_matrices_have_the_height_to_themselves_until_it_is_shared_by_hand(compared, window, qtbot):
    window.resize(1920, 1058)
    side = compared.sides[0]
    window.session.compared_view = "Source"
    qtbot.waitUntil(lambda: side.source.height() > 0.8 * side.splitter.height() > 0)
    lower = side.splitter.height()
    window.session.compared_view = "Matrices"
    qtbot.waitUntil(lambda: side.matrices.height() > 0.8 * side.splitter.height())
    assert side.splitter.height() > 1.1 * lower
    compared.splitter.setSizes([1000, 1000])
    compared.splitter.splitterMoved.emit(0, 1)
    shared = compared.splitter.sizes()
    window.session.compared_view = "Memory"
    assert compared.splitter.sizes() == shared


@pytest.mark.slow
def test_a_comparison_is_kept_between_two_starts(compared, window, qtbot, tmp_path):
    window.session.compared_view = "Matrices"
    saved = Keeper(window, tmp_path / "session.json").saved()
    assert (saved.page, saved.versus) == ("compare", Configuration("tiled", {"n": 16, "tile": 8}))
    keeper = Keeper(window, tmp_path / "session.json")
    keeper.save()
    from gui.scenes.saved_state import load

    assert load(tmp_path / "session.json") == saved
    unknown = Saved(configuration=saved.configuration, versus=Configuration("gone", {}))
    keeper.restore_session(unknown, "tiled")
    assert window.session.versus is None


@pytest.mark.slow
def test_the_copied_link_leads_back(compared, window, qapp, ladder):
    window.session.step = 40
    window.moments.copy_link()
    moment = window_link(qapp.clipboard().text(), ladder, ("light",))
    assert configuration_of(moment.versus) == window.session.versus
    assert moment.step == 40
    window.show_page("step")
    window.moments.copy_link()
    assert window_link(qapp.clipboard().text(), ladder, ("light",)).versus is None


@pytest.mark.slow
def test_pictures_of_the_comparison_can_be_saved(compared, window, qtbot, tmp_path):
    names = set(window.pictures.views())
    assert {"Compare page", "Differences", "A: Global memory", "B: Global memory"} <= names
    assert "Matrices" not in names
    for name in ("Compare page", "B: Global memory"):
        path = tmp_path / f"{name[0]}.pdf"
        with qtbot.waitSignal(window.pictures.writer.finished, timeout=MS):
            window.pictures.save(name, path)
        assert path.stat().st_size > 2000


@pytest.mark.slow
def test_every_example_opens_with_something_to_see(window, qtbot):
    page = compare_page(window)
    for preset in PRESETS:
        page.comparing.show_preset(preset)
        settled(window, qtbot)
        assert window.session.compared_view == preset.view
        assert any(r.winner for r in page.differences.model.rows if not isinstance(r, str))
        window.session.last()
        assert page.comparing.b.step == page.comparing.b.n_steps - 1
        window.grab()


def test_closing_while_both_sides_record(window, qtbot):
    """The fixture closes it, and no thread may be left."""
    window.moments.open_link("tiled?n=512&tile=16&vs=tiled&vs.tile=8")
    assert window.recorder.worker.busy
    assert compare_page(window).comparing.recorder.worker.busy


def test_counterparts_teach_what_the_rung_is_about(ladder):
    def pair(rung, **values):
        shown = Configuration(rung, {**ladder[rung].defaults, **values})
        found = counterpart(shown, ladder)
        ladder[found.rung].check(**found.parameters)
        return found

    assert pair("uncoalesced", n=48) == Configuration(
        "coalesced", {"n": 48, "block_x": 32, "block_y": 4}
    )
    assert pair("coalesced").rung == "uncoalesced"
    assert pair("aat_padded", pad=0).parameters["pad"] == 1
    assert pair("aat_padded", pad=4).parameters["pad"] == 0
    assert pair("tiled", n=32, tile=8).parameters["tile"] == 16
    assert pair("tiled", n=8, tile=8).parameters["tile"] == 4
    assert pair("copy_offset").parameters["offset"] == 0
    assert pair("copy_stride", stride=1).parameters["stride"] == 2
    for rung in ladder.values():
        found = pair(rung.name)
        assert found != Configuration(rung.name, dict(rung.defaults))


@pytest.mark.slow
def test_numbers_of_either_side_are_explained(compared, window, qtbot):
    a, b, table = window.session, compared.comparing.b, compared.differences
    place = next(i for i, r in enumerate(table.model.rows) if getattr(r, "topic", None))
    topic = table.model.rows[place].topic
    table.table.clicked.emit(table.model.index(place, 1))
    assert (a.question, b.question) == (topic, None)
    table.table.clicked.emit(table.model.index(place, 2))
    assert b.question == topic
    assert compared.why.isVisible()
    a.compared_view = "Counters"
    counts = compared.sides[1].counters
    row = next(i for i, r in enumerate(counts.model.rows) if not isinstance(r, str))
    counts.table.clicked.emit(counts.model.index(row, 3))
    assert b.question != topic
    assert counts.model.rows[row].place in compared.why.title.text()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not compared.why.isVisible()
    window.show_page("step")
    assert b.question is None
