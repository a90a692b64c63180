"""Every veil covers something, says nothing, and lifts again."""

import contextlib
import importlib

import numpy as np
import pytest
from PySide6.QtWidgets import QAbstractItemView, QApplication, QWidget

from core.ladder import all_kernels
from core.lessons.lesson import VEILS
from gui.looks.theme import apply_theme
from gui.pictures import image_of, pdf_of
from gui.scenes.question_in_views import ANSWER_FIRST, ASKED_LATER
from gui.scenes.veils_and_picks import LEFT_OUT, TELLS
from gui.scenes.why_this_number import Step
from gui.shell.main_window import MainWindow

RECORDING_MS = 60_000
TILED = "tiled?n=32&tile=16&at=load:A"
PLACES = {
    "matrices.loaded": ("Matrices", TILED),
    "matrices.owners": ("Matrices", TILED),
    "matrices.heat": ("Matrices", f"{TILED}@phase1&heat=1"),
    "matrices.values": ("Matrices", "tiled?n=4&tile=2&at=end"),
    "matrices.hatched": ("Matrices", "tiled_bounds?n=3&tile=2&at=load:A@phase1"),
    "warp": ("Warp", TILED),
    "warp.figures": ("Warp", TILED),
    "warp.sectors": ("Warp", TILED),
    "warp.heading": ("Warp", TILED),
    "shared": ("Shared", "tiled?n=32&tile=16&at=load:tile_a"),
    "shared.figures": ("Shared", "aat_shared?n=32&tile=32&at=store:tile_b"),
    "shared.banks": ("Shared", "tiled?n=32&tile=16&at=load:tile_a"),
    "shared.writers": ("Shared", "tiled?n=32&tile=16&at=load:tile_a"),
    "phases": ("Phases", "tiled?n=4&tile=2"),
    "pipeline": ("Pipeline", "tiled?n=4&tile=2"),
    "variables": ("Variables", TILED),
    "counters": ("Counters", TILED),
    "findings": ("Findings", "broken_fill_barrier?n=8&tile=4"),
    "gutter": ("Source", TILED),
    "source": ("Source", TILED),
    "transport": ("transport", TILED),
    "form": ("form", TILED),
    "compare": ("compare", "tiled?n=8&tile=4&vs=tiled&vs.tile=2"),
    "ceilings": ("ceilings", "tiled?n=64&tile=16&page=ceilings&size=64"),
    "occupancy": ("occupancy", "tiled?n=64&tile=16&page=occupancy"),
    "occupancy.next": ("occupancy", "tiled?n=64&tile=16&page=occupancy"),
    "occupancy.matters": ("occupancy", "tiled?n=64&tile=16&page=occupancy"),
    "benchmark": ("benchmark", "tiled?n=64&tile=16&page=benchmark"),
}
OTHERS = ("compare", "ceilings", "occupancy", "benchmark")
TOLD = {
    "matrices.loaded": ("threads load A",),
    "matrices.heat": ("So far the block",),
    "matrices.values": ("Block (0, 0)",),
    "warp": ("sectors where", "sectors, none"),
    "warp.figures": ("sectors where", "sectors, none"),
    "warp.sectors": ("sectors where", "sectors, none"),
    "shared": ("no bank", "no conflict"),
    "shared.figures": ("32-way",),
    "shared.banks": ("no bank", "no conflict"),
    "phases": ("A[0,0] -> ",),
    "pipeline": ("filled by st.shared",),
    "variables": ("blockIdx", "row"),
    "counters": ("tile_a",),
    "findings": ("Race", "race"),
    "gutter": ("sectors",),
    "source": ("sectors",),
    "transport": ("of 0..1",),
    "form": ("4 blocks",),
    "ceilings": ("GFLOPS",),
    "occupancy": ("of its warps",),
    "occupancy.next": ("Next step down",),
    "occupancy.matters": ("hides latency",),
    "compare": ("the same right result",),
}
"""What the part says without a veil, in one of these ways."""


@pytest.fixture
def window(qtbot, qapp):
    apply_theme(qapp, "light")
    window = MainWindow(all_kernels())
    window.resize(1366, 768)
    window.show()
    qtbot.waitExposed(window)
    yield window
    window.close()
    qapp.processEvents()


def shown_at(window, qtbot, name):
    """Open the place of a veil and give the widget that it is about."""
    view, link = PLACES[name]
    session, launch = window.session, link.partition("&at")[0]
    if launch == window.property("launch"):  # its record is there
        assert window.moments.open_link(link)
        qtbot.waitUntil(lambda: window.moments.awaited is None and not window.recorder.worker.busy)
    else:
        with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
            assert window.moments.open_link(link)
        window.setProperty("launch", launch)
    if view in window.step_page.views:
        session.follow_memory = False
        window.step_page.front(view)
        found = window.step_page.docks[view]
    elif view == "transport":
        found = window.transport
    elif view == "form":
        found = window.form
    else:
        found = window.pages.make(view)
        wait_for_page(window, qtbot, view, found)
    if view == "Counters":
        qtbot.waitUntil(lambda: bool(window.step_page.counters.model.rows), timeout=RECORDING_MS)
    if view == "Phases":
        qtbot.waitUntil(lambda: window.step_page.phases.table is not None, timeout=RECORDING_MS)
    if view == "Pipeline":
        made = window.step_page.views["Pipeline"]
        qtbot.waitUntil(lambda: made.made is not None, timeout=RECORDING_MS)
    QApplication.processEvents()
    return found


def wait_for_page(window, qtbot, key, page):
    if key == "ceilings":
        qtbot.waitUntil(lambda: page.found is not None, timeout=RECORDING_MS)
        qtbot.waitUntil(lambda: not page.model.placing, timeout=RECORDING_MS)
    elif key == "benchmark":
        qtbot.waitUntil(lambda: "Looking" not in page.caption.text(), timeout=RECORDING_MS)
    elif key == "occupancy":
        qtbot.waitUntil(lambda: page._compiled is not None, timeout=RECORDING_MS)
    elif key == "compare":
        qtbot.waitUntil(lambda: page.comparing.b.trace is not None, timeout=RECORDING_MS)


def heard(widget):
    """All that a screen reader, a tooltip or a copy could tell of what is to be seen."""
    told = []
    for one in (widget, *widget.findChildren(QWidget)):
        if not one.isVisible():
            continue
        told += [one.accessibleName(), one.accessibleDescription(), one.toolTip()]
        if hasattr(one, "text"):
            with contextlib.suppress(TypeError):  # of a model it takes arguments
                told.append(str(one.text()))
        if isinstance(one, QAbstractItemView) and one.model() is not None:
            model = one.model()
            columns = model.columnCount() if hasattr(one, "horizontalHeader") else 1
            for row in range(min(model.rowCount(), 40)):
                for column in range(columns):
                    index = model.index(row, column)
                    told += [str(model.data(index, role)) for role in (0, 3, 11)]
    return [words for words in told if words]


def says(told, *ways):
    return [words for words in told if any(way in words for way in ways)]


def test_the_places_are_those_of_all_veils():
    assert PLACES.keys() == VEILS.keys() == TELLS.keys()
    assert sorted(name for names in PAGES.values() for name in names) == sorted(VEILS)


PAGES = {
    page: [
        name for name, (place, _) in PLACES.items() if (place if place in OTHERS else "") == page
    ]
    for page in ("", *OTHERS)
}
"""The veils of each page, "" for the step page: one window is enough for them."""


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_veil_covers_its_part_and_lifts_again(window, qtbot, page):
    for name in PAGES[page]:
        covers_and_lifts(window, qtbot, name)
        window.session.question = None


def covers_and_lifts(window, qtbot, name):
    part = shown_at(window, qtbot, name)
    before, told = image_of(part, 1.0), heard(part)
    ways = TOLD.get(name, ())
    assert not ways or says(told, *ways), told
    window.session.update(veiled={name})
    QApplication.processEvents()
    during, silent = image_of(part, 1.0), heard(part)
    assert during != before, name
    assert not says(silent, *ways), silent
    if name != "findings":  # which have no view at all then
        assert says(silent, ANSWER_FIRST) or name in ("shared.writers", "occupancy.next")
    window.session.question = Step("global")
    assert (window.session.question is None) == (name not in LEFT_OUT)
    assert window.explaining.panel.isVisible() == (name in LEFT_OUT)
    window.session.question = None
    window.session.update(veiled=())
    window.message.clear()
    if name == "findings":
        window.step_page.front("Findings")
    QApplication.processEvents()
    assert heard(part) == told, name
    window.session.question = Step("global")
    assert window.session.question is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["warp", "shared", "counters", "matrices.loaded"])
def test_a_pdf_of_a_veiled_view_has_none_of_its_words(window, qtbot, name):
    part = shown_at(window, qtbot, name)
    open_size = len(pdf_of(part, "open"))
    window.session.update(veiled={name})
    QApplication.processEvents()
    assert len(pdf_of(part, "open")) < open_size


def test_one_column_of_the_phase_table(window, qtbot):
    shown_at(window, qtbot, "phases")
    view = window.step_page.phases
    texts = [[view.model.data(view.model.index(0, c), 3) for c in range(view.model.columnCount())]]
    window.session.update(veiled={"phases:1"})
    texts.append(
        [view.model.data(view.model.index(0, c), 3) for c in range(view.model.columnCount())]
    )
    phases = [column.phase for column in view.table.columns]
    for phase, before, now in zip(phases, *texts, strict=True):
        assert now == (ANSWER_FIRST if phase == 1 else before)
    QApplication.clipboard().setText("nothing")
    view.copy_as("Text")
    assert QApplication.clipboard().text() == "nothing"


@pytest.mark.slow
def test_hovering_another_view_tells_nothing_of_a_veiled_one(window, qtbot):
    from gui.scenes.selection import Hover

    shown_at(window, qtbot, "matrices.loaded")
    session, matrices = window.session, window.step_page.matrices
    session.update(veiled={"matrices.loaded", "matrices.owners"})
    qtbot.wait(300)  # the caption is shorter now
    plain = image_of(matrices, 1.0)
    session.hover = Hover(thread=7)
    QApplication.processEvents()
    assert image_of(matrices, 1.0) == plain


@pytest.mark.slow
def test_no_picture_is_made_of_a_page_that_may_show_what_is_veiled(window, qtbot, tmp_path):
    shown_at(window, qtbot, "occupancy")
    pictures = window.commands.pictures
    names = [n for n, place in pictures.gallery.places().items() if place.page == "occupancy"]
    assert names
    window.session.update(veiled={"occupancy"})
    for name in names:
        pictures.save(name, tmp_path / f"{name}.png")
        assert ANSWER_FIRST in window.message.sentence
    assert not list(tmp_path.iterdir())


def test_why_says_whether_this_question_or_a_later_one_is_in_its_way(window, qtbot):
    shown_at(window, qtbot, "warp")
    window.session.update(veiled={"warp.figures"}, answered=False)
    window.explaining.why()
    assert window.message.sentence.startswith(ANSWER_FIRST)
    window.session.answered = True
    window.explaining.why()
    assert window.message.sentence.startswith(ASKED_LATER)


def test_no_page_or_film_is_made_while_something_is_veiled(window, qtbot, tmp_path, monkeypatch):
    shown_at(window, qtbot, "warp")
    command, session = window.commands.exporting, window.session
    asked = []
    monkeypatch.setattr(
        "gui.views.dialogs.QFileDialog.getSaveFileName",
        lambda *a: asked.append(a) or ("", ""),
    )
    session.update(veiled={"warp.figures"})
    command.ask_and_export()
    assert window.message.sentence.startswith(f"{ANSWER_FIRST}: a page or film")
    window.message.clear()
    for ending in ("html", "gif", "mp4"):
        command.export(tmp_path / f"steps.{ending}")
        assert window.message.sentence.startswith(ANSWER_FIRST)
        assert not command.busy
    assert not asked
    session.update(veiled=())
    command.ask_and_export()
    assert asked
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_no_file_of_veiled_results_is_saved(window, qtbot, monkeypatch):
    page = shown_at(window, qtbot, "benchmark")
    asked = []
    monkeypatch.setattr(page.files, "ask_and_save", lambda *a: asked.append(a))
    window.session.update(veiled={"benchmark"})
    page.results.save_button.click()
    assert not asked
    assert window.message.sentence.startswith(ANSWER_FIRST)
    window.session.update(veiled=())
    page.results.save_button.click()
    assert asked


@pytest.mark.slow
def test_a_comparison_tells_neither_where_it_differs_nor_its_size(window, qtbot):
    page = shown_at(window, qtbot, "compare")
    session, side = window.session, page.comparing
    form = side.column.form
    assert "16 blocks of 4 threads" in form.facts.text()
    session.update(veiled={"compare", "form"})
    assert form.facts.text() == ""
    step = session.step
    side.differing.go()
    assert window.message.sentence.startswith(f"{ANSWER_FIRST}: the next difference")
    qtbot.wait(100)
    assert session.step == step
    session.update(veiled=())
    assert "16 blocks of 4 threads" in form.facts.text()
    side.differing.go()
    qtbot.waitUntil(lambda: session.step != step, timeout=RECORDING_MS)


@pytest.mark.slow
def test_whether_a_block_touches_an_element_is_not_told(window, qtbot):
    shown_at(window, qtbot, "matrices.loaded")
    session, stopping = window.session, window.commands.stopping
    session.element = "A", (31, 31)  # of another block's rows
    stopping.go_to_touch(forward=True)
    assert "does not touch" in window.message.sentence
    session.update(veiled={"matrices.loaded"})
    stopping.go_to_touch(forward=True)
    assert window.message.sentence.startswith(ANSWER_FIRST)


@pytest.mark.slow
def test_what_a_kernel_prints_is_not_told(window, qtbot):
    shown_at(window, qtbot, "variables")
    source = window.session.trace.workload.source
    line = source.index("{", source.index("__global__")) + 1
    printing = f'{source[:line]} printf("here %d\\n", 7); {source[line:]}'
    for veiled in ((), {"variables"}):
        window.session.update(veiled=veiled)
        window.message.clear()
        with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
            window.recorder.run_source(printing + "\n" * bool(veiled))
        QApplication.processEvents()
        assert ("The kernel prints" in window.message.sentence) != bool(veiled)


def test_a_replay_of_a_veiled_clock_tells_no_phase(window, qtbot):
    from gui.exports import replay_page

    shown_at(window, qtbot, "transport")
    pool = replay_page.Pool()
    told = replay_page._moment(window.session, pool)
    window.session.update(veiled={"transport"})
    assert replay_page._moment(window.session, pool)["phase"] == pool.number(ANSWER_FIRST)
    assert told["phase"] != pool.number(ANSWER_FIRST)


def test_no_view_tells_the_number_of_phases_while_the_clock_is_veiled(window, qtbot):
    shown_at(window, qtbot, "transport")
    assert len(says(heard(window), "of 0..1")) > 1
    window.session.update(veiled={"transport"})
    QApplication.processEvents()
    assert not says(heard(window), "of 0..1")


def test_a_veiled_result_is_neither_drawn_nor_read_out_at_its_store(window, qtbot, monkeypatch):
    shown_at(window, qtbot, "matrices.values")
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.moments.open_link("broken_inner_barrier?n=4&tile=2&inputs=small&at=store:C@phase0")
    written = []
    for module in ("matrix_drawing", "warp_view"):
        name = "value_text"
        kept = getattr(importlib.import_module(f"gui.views.{module}"), name)
        monkeypatch.setattr(
            f"gui.views.{module}.{name}",
            lambda v, *a, kept=kept: written.append(float(v)) or kept(v, *a),
        )
    result = window.session.block_trace.access(window.session.step).values
    sums = {value for value in np.ravel(result).tolist() if value > 9}  # inputs are at most 9
    for veiled in ((), {"matrices.values"}):
        window.session.update(veiled=veiled)
        written.clear()
        for view in ("Matrices", "Warp"):
            image_of(window.step_page.views[view], 1.0)
        assert not np.isnan(written).any()
        assert bool(set(written) & sums) != bool(veiled)


def test_a_veil_that_stays_after_the_answer_says_so(window, qtbot):
    """The part is veiled before and after: only the words change, and they are painted anew."""
    from gui.views.question_in_views import Veil

    window.show_page("ceilings")
    window.session.update(veiled=frozenset({"ceilings"}), answered=False)
    (veil, *_) = [v for v in window.findChildren(Veil) if v.isVisible() and v.part == "ceilings"]
    before = veil.grab().toImage()
    assert veil.accessibleName() == "Veiled. Answer first"
    window.session.update(answered=True)
    assert veil.accessibleName() == "Veiled. Asked later"
    assert veil.grab().toImage() != before
