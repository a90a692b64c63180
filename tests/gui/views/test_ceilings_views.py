"""The pages of ceilings and occupancy in the window."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from core.cancelling import is_cancelled
from core.devices.occupancy import Resources
from core.errors import Cancelled
from core.gpu.benchmark_result import reported_device
from core.gpu.result_files import load_recorded
from core.user_files.launch_texts import FileLaunch
from gui.jobs import ceilings_work
from gui.jobs.ceilings_work import key_of
from gui.looks.theme import apply_theme, current_theme
from gui.scenes.configuration import Configuration
from gui.scenes.session import Session
from gui.views.captions_and_panels import Scrolled
from gui.views.ceilings_view import CeilingsView
from gui.views.occupancy_view import OccupancyView
from gui.views.subject_and_device import DeviceBox, SizeBox, Subject, subject_row

WAIT_MS = 60_000


@pytest.fixture
def session() -> Session:
    session = Session()
    session.everything = True
    session.configuration = Configuration("coalesced", {"n": 32, "block_x": 16, "block_y": 16})
    return session


def shown(qtbot, qapp, view):
    apply_theme(qapp, "light")
    view.resize(1100, 720)
    view.show()
    qtbot.waitExposed(view)
    return view


@pytest.fixture
def ceilings(qtbot, qapp, session, ladder):
    view = shown(qtbot, qapp, CeilingsView(session, ladder))
    yield view
    view.shut_down()
    view.close()


@pytest.fixture
def occupancy(qtbot, qapp, session, ladder):
    view = shown(qtbot, qapp, OccupancyView(session, ladder))
    yield view
    view.shut_down()
    view.close()


def counted(qtbot, view):
    qtbot.waitUntil(lambda: view.found is not None, timeout=WAIT_MS)
    return view.found


@pytest.mark.parametrize("size", [100, 175, 200])
def test_large_text_leaves_plots_and_words_their_room(qtbot, qapp, session, ladder, size) -> None:
    """The pages of a window of 1366 x 768 scroll."""
    session.everything = False
    apply_theme(qapp, "light", size)
    ceilings, occupancy = CeilingsView(session, ladder), OccupancyView(session, ladder)
    for view in (ceilings, occupancy):
        qtbot.addWidget(view)
        view.resize(1330, 660)
        view.show()
    counted(qtbot, ceilings)
    qtbot.wait(50)
    control = current_theme().spacing.control
    assert ceilings.plot.height() >= 7 * control
    assert min(plot.height() for plot in occupancy.plots.values()) >= 5 * control
    for words in (ceilings.legend, ceilings.hover, ceilings.against, ceilings.transfers):
        assert words.height() >= words.heightForWidth(words.width()), words.text()
    bars = [scrolled_in(plot).maximum() for plot in (ceilings.plot, occupancy.plots["registers"])]
    assert [most > 0 for most in bars] == [size > 100, size == 200]
    apply_theme(qapp, "light")
    for view in (ceilings, occupancy):
        view.shut_down()


def scrolled_in(part):
    while not isinstance(part := part.parentWidget(), Scrolled):
        pass
    return part.verticalScrollBar()


@pytest.mark.slow
def test_a_launch_is_counted_and_every_ceiling_shown(qtbot, ceilings) -> None:
    found = counted(qtbot, ceilings)
    assert found.counts.workload.parameters["n"] == 4096
    assert found.device.name == "H200"  # where the recorded results come from
    assert {row.name for row in ceilings.list._shown[0]} == set(found.ceilings)
    assert "L1: distinct lines binds" in ceilings.caption.text()
    assert "times the textbook ceiling" in ceilings.against.text()
    qtbot.waitUntil(lambda: len(ceilings.plot._marks) >= 4, timeout=WAIT_MS)
    chosen = [mark for mark in ceilings.plot._marks if mark.chosen]
    assert [mark.run.rung for mark in chosen] == ["coalesced"]
    assert chosen[0].x == pytest.approx(0.25)
    assert chosen[0].run.gflops < found.lowest.gflops


@pytest.mark.slow
def test_a_calculation_is_copied_with_exact_figures(qtbot, qapp, ceilings) -> None:
    counted(qtbot, ceilings)
    row = ceilings.list._shown[0][0]
    label = next(x for x in ceilings.list.findChildren(QLabel) if x.text() == row.formula)
    assert "137.4 GFLOP" in label.text()
    qtbot.keyClick(label, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert qapp.clipboard().text() == row.exact
    assert "137\u202f438\u202f953\u202f472 FLOP" in row.exact
    assert row.exact in label.parent().toolTip()


@pytest.mark.slow
def test_every_measured_run_is_placed_and_said_to_be(qtbot, ceilings, monkeypatch) -> None:
    def job(progress, ladder, runs, known, tell, *, count=True):
        for place, run in enumerate(runs if count else ()):
            if place:  # the first is of another version's rung
                tell(run.key, 1.0 + place)
            while place == 3 and not go.wait(0.01) and not is_cancelled():
                pass

    go = threading.Event()
    monkeypatch.setattr("gui.jobs.ceilings_work._intensities", {})
    monkeypatch.setattr("gui.jobs.ceilings_work.MOMENT_S", 0.0)
    monkeypatch.setattr("gui.jobs.ceilings_work.intensities_job", job)
    ceilings.size_box.setCurrentText("2048")
    counted(qtbot, ceilings)
    many = len({run.key for run in ceilings.runs()})
    assert many > 10
    said = f"Measured runs are being placed: 3 of {many - 1}."  # the chosen launch is counted
    qtbot.waitUntil(lambda: ceilings.hover.text() == said, timeout=10_000)
    said_above = ceilings.caption.text()
    ceilings.size_box.setCurrentText("4096")  # these come before the rest of the others
    counted(qtbot, ceilings)
    more = len({run.key for run in ceilings.runs()})
    go.set()
    qtbot.waitUntil(lambda: len(ceilings.plot._marks) >= more - 1, timeout=10_000)
    qtbot.waitUntil(lambda: "being placed" not in ceilings.hover.text(), timeout=WAIT_MS)
    assert "binds at" in ceilings.caption.text()
    assert "being placed" not in said_above, "it would come and go, and move the plot"


@pytest.mark.slow
def test_recorded_runs_are_placed_while_the_launch_is_counted(qtbot, ceilings, monkeypatch) -> None:
    def job(progress, ladder, wanted, device, key, counts):
        while not is_cancelled():
            time.sleep(0.01)
        raise Cancelled("Stopped.")

    for kept in ("_intensities", "_counted", "_made"):
        monkeypatch.setattr(f"gui.jobs.ceilings_work.{kept}", {})
    monkeypatch.setattr("gui.jobs.ceilings_work.ceilings_job", job)
    ceilings.size_box.setCurrentText("2048")
    keys = {run.key for run in ceilings.runs()}
    assert len(keys) > 10
    qtbot.waitUntil(lambda: ceilings.model.intensities.keys() >= keys, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: len(ceilings.plot._marks) == len(keys), timeout=WAIT_MS)
    assert ceilings.caption.text() == "Counting the launch …"


@pytest.mark.slow
def test_another_device_has_other_ceilings(qtbot, ceilings) -> None:
    h200 = counted(qtbot, ceilings).lowest.gflops
    ceilings.device_box.setCurrentText("GeForce RTX 3090")
    assert "Compiling for GeForce RTX 3090" in ceilings.caption.text()
    assert counted(qtbot, ceilings).device.name == "GeForce RTX 3090"
    assert ceilings.found.lowest.gflops != h200
    textbook = next(r for r in ceilings.list._shown[0] if r.name == "textbook")
    assert textbook.rate == "234.05 GFLOPS"
    assert ceilings.against.text().startswith("Not measured on GeForce RTX 3090.")
    assert ceilings.plot._marks == ()


def live(clock_mhz: float):
    """A GPU as a driver reports it, slower than the table's."""
    report = replace(load_recorded()[0].device, clock_mhz=clock_mhz)
    return reported_device(report)


@pytest.mark.slow
def test_a_gpu_of_this_machine_comes_first(qtbot, ceilings, occupancy) -> None:
    table = counted(qtbot, ceilings).lowest.gflops
    ceilings.device_box.take((live(990.0),))
    assert ceilings.device_box.currentText() == "NVIDIA H200 (this machine)"
    assert counted(qtbot, ceilings).device.boost_mhz == 990.0
    assert ceilings.found.lowest.gflops == pytest.approx(table / 2)
    assert ceilings._run(ceilings.runs()) is not None  # results recorded on the same kind of GPU
    compiled(qtbot, occupancy)
    occupancy.sm_box.take((live(990.0),))
    assert occupancy.sm_box.currentText() == "NVIDIA H200 (this machine)"
    assert occupancy.table.rows.plain_rows[0].boost_mhz == 990.0
    assert occupancy.capability.name == "9.0"


@pytest.mark.slow
def test_a_device_that_was_chosen_stays_when_the_driver_answers(occupancy) -> None:
    occupancy.sm_box.choose("T4")
    occupancy.sm_box.take((live(990.0),))
    assert occupancy.sm_box.currentText() == "T4"
    assert occupancy.sm_box.itemText(0) == "NVIDIA H200 (this machine)"
    assert occupancy.session.device == "T4"


@pytest.mark.slow
def test_a_run_is_chosen_in_the_plot_and_left_again(qtbot, ceilings) -> None:
    counted(qtbot, ceilings)
    run = next(r for r in ceilings.runs() if r.rung == "tiled" and r.parameters["tile"] == 16)
    ceilings.plot.run_chosen.emit(run)
    qtbot.waitUntil(
        lambda: ceilings.found is not None and ceilings.found.binding == "data_stage",
        timeout=WAIT_MS,
    )
    assert "Tiled" in ceilings.subject.text()
    assert ceilings.back.isVisible()
    ceilings.back.click()
    assert counted(qtbot, ceilings).binding == "l1"
    assert not ceilings.back.isVisible()


@pytest.mark.slow
def test_a_ceiling_is_chosen_in_the_list_and_the_plot(qtbot, ceilings) -> None:
    counted(qtbot, ceilings)
    ceilings.list.ceiling_chosen.emit("issue")
    assert (ceilings.list.chosen, ceilings.plot.chosen) == ("issue", "issue")
    ceilings.plot.ceiling_chosen.emit("issue")
    assert ceilings.list.chosen == ""


@pytest.mark.slow
def test_the_pointer_names_ceilings_and_runs(qtbot, ceilings) -> None:
    import math

    from PySide6.QtCore import QPointF

    counted(qtbot, ceilings)
    qtbot.waitUntil(lambda: len(ceilings.plot._marks) >= 1, timeout=WAIT_MS)
    plot = ceilings.plot
    row = next(r for r in plot._rows if r.name == "issue")
    view = plot.box
    on_ceiling = view.mapViewToScene(QPointF(math.log10(0.12), math.log10(row.gflops)))
    plot._on_move(on_ceiling)
    assert ceilings.hover.text().startswith("Issue slots: 132 SMs")
    mark = plot._marks[0]
    plot._on_move(view.mapViewToScene(QPointF(math.log10(mark.x), math.log10(mark.run.gflops))))
    assert "recorded on NVIDIA H200" in ceilings.hover.text()


@pytest.mark.slow
def test_a_users_file_has_ceilings(qtbot, ceilings, session, tmp_path) -> None:
    path = tmp_path / "scale.cu"
    path.write_text(
        "__global__ void scale(float* x, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2.5f; }"
    )
    own = FileLaunch(str(path), "scale", "8", "64", "0", "", (("x", "float32[512]"), ("n", "512")))
    session.configuration = Configuration("", {}, None, own)
    qtbot.waitUntil(
        lambda: ceilings.found is not None and ceilings.found.counts.flops == 512, timeout=WAIT_MS
    )
    assert "8 / 132 blocks" in ceilings.found.ceilings["l1"].formula
    assert ceilings.found.ceilings["dram"].gflops == pytest.approx(512 / 4096 * 4814)
    assert not ceilings.size_box.isVisible()
    assert ceilings.subject.text() == "scale.cu: scale, grid 8, block 64"


@pytest.mark.slow
def test_a_file_that_changed_on_disk_is_counted_anew(
    qtbot, ceilings, occupancy, session, tmp_path
) -> None:
    path, header = tmp_path / "sum.cu", tmp_path / "times.h"
    text = (
        '#include "times.h"\n__global__ void sum(float* x) {{ float s = 0;'
        " for (int i = 0; i < TIMES; i++) s += x[i * {step} + threadIdx.x];"
        " x[threadIdx.x] = s; }}"
    )
    np.save(tmp_path / "x.npy", np.zeros(512, np.float32))
    own = FileLaunch(str(path), "sum", "1", "32", "0", "", (("x", f"@{tmp_path / 'x.npy'}"),))
    wanted = Configuration("", {}, None, own)
    keys = set()
    for step, times in ((1, 2), (1, 3), (2, 3)):
        path.write_text(text.format(step=step))
        header.write_text(f"#define TIMES {times}\n")
        session.configuration = None
        session.configuration = wanted
        sectors = len({(i * step + t) // 8 for i in range(times) for t in range(32)})
        qtbot.waitUntil(
            lambda t=times, s=sectors: (
                ceilings.found is not None
                and ceilings.found.counts.flops == t * 32
                and ceilings.found.counts.read_sectors == {"x": s}
            ),
            timeout=WAIT_MS,
        )
        keys.add(key_of(wanted))
    np.save(tmp_path / "x.npy", np.zeros(600, np.float32))
    keys.add(key_of(wanted))
    assert len(keys) == 4
    assert key_of(wanted) in keys  # nothing has changed since
    path.unlink()
    assert key_of(wanted) not in keys  # no mistake here: the work says that it is gone


@pytest.mark.slow
def test_what_cannot_be_counted_is_told(qtbot, ceilings, session) -> None:
    session.configuration = Configuration("copy_offset", {"n": 256, "offset": 1, "block_x": 32})
    qtbot.waitUntil(lambda: "no floating-point work" in ceilings.caption.text(), timeout=WAIT_MS)
    wrong = "__global__ void coalesced(float* x) { nothing; }"
    session.configuration = Configuration("coalesced", {"n": 32, "block_x": 8, "block_y": 4}, wrong)
    qtbot.waitUntil(lambda: "does not compile" in ceilings.caption.text(), timeout=WAIT_MS)
    assert ceilings.found is None


@pytest.mark.slow
def test_themes(qapp, qtbot, ceilings, occupancy) -> None:
    for name in ("dark", "projector", "light"):
        apply_theme(qapp, name)
        for view in (ceilings, occupancy):
            view.restyle()
            assert not view.grab().isNull()


# ---- occupancy


def compiled(qtbot, view):
    qtbot.waitUntil(lambda: view._compiled is not None, timeout=WAIT_MS)
    return view._compiled


def test_registers_come_from_the_cubin(qtbot, occupancy) -> None:
    found = compiled(qtbot, occupancy)
    assert found.resources.block_threads == 256
    assert found.resources.registers > 10
    assert occupancy.resources == found.resources
    assert "H200 (compute capability 9.0): an SM holds" in occupancy.caption.text()
    assert occupancy.fields["registers"].value() == found.resources.registers


def test_a_kernel_that_is_gone_back_to_is_not_overtaken(qtbot, occupancy, session, monkeypatch):
    found, go_on, make = compiled(qtbot, occupancy), threading.Event(), ceilings_work.resources_job

    def late(*args):
        assert go_on.wait(WAIT_MS / 1000)
        return make(*args)

    monkeypatch.setattr(ceilings_work, "resources_job", late)
    first = session.configuration
    session.configuration = Configuration("tiled", {"n": 32, "tile": 8})
    qtbot.waitUntil(lambda: occupancy._compiler.busy, timeout=WAIT_MS)
    session.configuration = first
    qtbot.waitUntil(lambda: "Compiling" not in occupancy.caption.text(), timeout=WAIT_MS)
    go_on.set()
    qtbot.waitUntil(lambda: not occupancy._compiler.busy, timeout=WAIT_MS)
    assert occupancy.resources == found.resources


@pytest.mark.slow
def test_a_dragged_line_is_a_what_if(qtbot, occupancy) -> None:
    found = compiled(qtbot, occupancy)
    occupancy.plots["registers"].dragged.emit(130.2)
    qtbot.waitUntil(lambda: occupancy.fields["registers"].value() == 130, timeout=WAIT_MS)
    assert occupancy.resources.registers == 130
    assert occupancy.plots["registers"]._curve.now == 130
    assert occupancy.reset.isEnabled()
    occupancy.fields["block_threads"].setValue(96)
    assert occupancy.resources.block_threads == 96
    occupancy.reset.click()
    qtbot.waitUntil(lambda: occupancy.resources == found.resources, timeout=WAIT_MS)


@pytest.mark.slow
def test_the_worked_example(qtbot, occupancy) -> None:
    compiled(qtbot, occupancy)
    occupancy.example_box.setCurrentIndex(2)
    assert occupancy.resources == Resources(256, 12)
    assert "Textbook SM: an SM holds 5 blocks, 1\u202f280 threads" in occupancy.caption.text()
    occupancy.example_box.setCurrentIndex(0)
    qtbot.waitUntil(lambda: occupancy.resources.registers > 12, timeout=WAIT_MS)
    assert occupancy.capability.major  # a real SM again


@pytest.mark.slow
def test_a_device_is_chosen_in_the_table(qtbot, occupancy) -> None:
    compiled(qtbot, occupancy)
    names = [device.name for device in occupancy.table.rows.plain_rows]
    occupancy.table.selectRow(names.index("T4"))
    qtbot.waitUntil(lambda: occupancy._compiled.capability == "7.5", timeout=WAIT_MS)
    assert occupancy.sm_box.currentText() == "T4"
    occupancy.sm_box.setCurrentText("GeForce 8800 GTX")
    qtbot.waitUntil(lambda: "no code for so old a GPU" in occupancy.limits.text(), timeout=WAIT_MS)


@pytest.mark.slow
def test_first_order_counts(qtbot, occupancy) -> None:
    qtbot.waitUntil(lambda: "as written" in occupancy.first.caption.text(), timeout=WAIT_MS)
    assert "n = 1\u202f024" in occupancy.first.caption.text()
    assert len(occupancy.first.findChildren(QLabel)) >= 8


def test_what_a_page_is_about_has_room_beside_its_choices(qtbot, qapp) -> None:
    apply_theme(qapp, "light")
    row, subject = QWidget(), Subject()
    size, device = SizeBox(512, "Size", "N"), DeviceBox("Device", "Whose figures", "H200")
    qtbot.addWidget(row)
    row.setLayout(subject_row(subject, (size.label, size, device)))
    device.offer()
    subject.setText("Tiled: n = 4096, tile = 16")
    row.resize(400, 80)
    row.show()
    qtbot.waitExposed(row)
    assert row.width() == 400
    word = subject.fontMetrics().horizontalAdvance("Tiled: n =")
    assert subject.width() >= word
    assert device.width() >= device.fontMetrics().horizontalAdvance("H200") + 20
