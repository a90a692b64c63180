"""The benchmark page: live plots, buttons, results, files. With a fake GPU."""

import itertools
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QCheckBox, QComboBox, QPushButton, QToolButton

from core.errors import GpuUnavailable
from core.gpu.events_and_failures import WorkerFailure
from core.gpu.result_files import read_results
from gui.background import close_workers
from gui.looks.theme import apply_theme, current_theme
from gui.scenes.configuration import Configuration
from gui.scenes.session import Session
from gui.views.benchmark_plot import LaunchPlot, place
from gui.views.benchmark_view import BenchmarkView, FileDialog
from gui.views.captions_and_panels import Caption
from gui.views.subject_and_device import ScrolledPage
from tests.core.gpu.fake_gpu import FakeGpu


class NoGpu(FakeGpu):
    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_exception(GpuUnavailable("This machine has no NVIDIA driver."))
        return future


@pytest.fixture
def gpu():
    return FakeGpu()


@pytest.fixture
def page(qtbot, ladder, gpu, tmp_path):
    session = Session()
    session.configuration = Configuration("tiled", {"n": 16, "tile": 4})
    view = BenchmarkView(session, ladder, lambda number: gpu, tmp_path / "kept")
    qtbot.addWidget(view)
    view.resize(1000, 760)
    view.show()
    qtbot.waitUntil(lambda: bool(view.model.devices))
    view.strip.sizes.setText("32, 64")
    view.strip.tiles.setText("8, 16")
    view.strip.changed.emit()
    yield view
    view.shut_down()


def finish(qtbot, page):
    qtbot.waitUntil(lambda: not page.model.running)


def coloured(widget):
    """How many pixels of the widget have a hue."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    data = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1, 4)[..., :3]
    return int(np.count_nonzero(np.ptp(data.astype(int), axis=2) > 60))


def test_without_a_gpu_the_recorded_results_are_shown(qtbot, ladder):
    session = Session()
    session.configuration = Configuration("tiled", {"n": 16, "tile": 16})
    view = BenchmarkView(session, ladder, lambda number: NoGpu())
    qtbot.addWidget(view)
    view.resize(1000, 760)
    view.show()
    qtbot.waitUntil(lambda: "no NVIDIA driver" in view.caption.text())
    assert not view.strip.run_button.isEnabled()
    assert "NVIDIA H200, recorded" in view.results.caption.text()
    assert "driver" in view.results.caption.text()
    assert view.shown.text().startswith("Tiled (")
    assert coloured(view.curves.plot) > 200
    assert view.launches.values
    session.configuration = Configuration("broken_fill_barrier", {"n": 16, "tile": 4})
    qtbot.waitUntil(lambda: not view.launches.values)
    said = view.shown.text()
    assert said.startswith("Broken: no first barrier has no timed launch among the results of NV")
    assert said.endswith("Run it on a GPU, choose another machine, or import results of it.")
    session.configuration = Configuration("transpose_naive", {"n": 16})  # without a rate
    qtbot.waitUntil(lambda: bool(view.launches.values))
    view.shut_down()


def test_a_sweep_is_plotted_while_it_runs(qtbot, page, gpu):
    assert page.strip.plan.text() == "1 kernel, 4 launches."
    gpu.hold.clear()
    page.strip.run_button.click()
    qtbot.waitUntil(lambda: page.shown.text().endswith("running."))
    qtbot.waitUntil(lambda: len(page.launches.values) == 20)
    assert "GFLOPS" in page.launches.text.toPlainText()
    assert coloured(page.launches) > 100
    assert page.strip.stop_button.isVisible()
    assert not page.strip.run_button.isVisible()
    assert not page.strip.sizes.isEnabled()
    gpu.hold.set()
    finish(qtbot, page)
    assert len(page.results.rows) == 4
    assert page.strip.run_button.isVisible()
    (curve,) = page.curves.plot.curves
    assert [p.x for p in curve.points] == [32, 64]
    assert "running" not in page.shown.text()
    assert page.measured == tuple(m.result for m in page.results.measured)


def choose(page, title):
    page.strip.gpus.setCurrentIndex(page.strip.gpus.findText(title, Qt.MatchFlag.MatchContains))
    page.strip.gpus.activated.emit(page.strip.gpus.currentIndex())


def test_a_cluster_is_chosen_and_what_is_wrong_with_it_is_said(qtbot, page, monkeypatch):
    from contextlib import contextmanager

    from core.distributed import cluster as cluster_module
    from core.errors import TilescopeError
    from core.gpu.sweep import Lane

    @contextmanager
    def lanes(address, tell, *, patience_s):
        if "wrong" in address:
            raise TilescopeError(f"There is no scheduler at {address}.")
        yield [Lane("cluster 0", FakeGpu()), Lane("cluster 1", FakeGpu())]

    monkeypatch.setattr(cluster_module, "gpu_lanes", lanes)
    assert page.strip.gpus.currentText() == "GPU 0: Fake GPU"
    assert not page.strip.address.isVisible()
    choose(page, "recorded")
    assert not page.strip.run_button.isEnabled()
    assert page.results.machine.currentText() == page.strip.gpus.currentText()
    choose(page, "Cluster at an address")
    assert page.strip.address.isVisible()
    assert not page.strip.run_button.isEnabled()
    qtbot.keyClicks(page.strip.address, "wrong:7")
    page.strip.run_button.click()
    finish(qtbot, page)
    assert page.trouble.text() == "There is no scheduler at tcp://wrong:7."
    assert page.trouble.isVisible()
    assert page.strip.run_button.isEnabled()
    page.strip.address.setText("ftp://x:1")
    page.strip.run_button.click()
    assert "not an address of a scheduler" in page.strip.plan.text()
    page.strip.address.setText("there:8786")
    page.strip.run_button.click()
    finish(qtbot, page)
    assert len(page.results.rows) == 4
    assert not page.trouble.isVisible()
    assert page.strip.gpus.findText("tcp://there:8786") >= 0
    assert "running" not in page.shown.text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_is_a_sentence_in_an_export_and_where_sweeps_are_kept(
    qtbot, page, tmp_path, monkeypatch
):
    from core.gpu.result_files import Journal

    class Full(Journal):
        def __init__(self, path):
            super().__init__(Path("/dev/full"))

    monkeypatch.setattr("gui.scenes.benchmark_sweep.Journal", Full)
    page.strip.run_button.click()
    finish(qtbot, page)
    assert len(page.results.rows) == 4
    assert page.trouble.text().startswith("Results are not kept beyond this session")
    assert "No space left on device" in page.trouble.text()
    table = tmp_path / "r.csv"
    table.symlink_to("/dev/full")
    with qtbot.waitSignal(page.files.said, timeout=60_000) as told:
        page.files.save(table, page.results.measured)
    assert told.args[0].startswith("r.csv could not be written: the disk is full.")
    assert told.args[1] is False


def test_a_killed_worker_leaves_no_sign_of_running(qtbot, page, gpu):
    died = WorkerFailure("The GPU worker process was killed (SIGKILL).", "worker_died", fatal=True)
    gpu.faults, gpu.cut = (lambda job: died), 9
    page.strip.run_button.click()
    finish(qtbot, page)
    assert "running" not in page.shown.text()
    assert "cut off: worker died" in page.shown.text()
    assert page.caption.text() == "4 launches failed (worker died). All else is below."
    assert "SIGKILL" in page.trouble.text()
    assert page.trouble.isVisible()
    assert len(page.launches.values) == 9
    assert page.strip.run_button.isEnabled()


def test_points_that_gave_nothing_stand_in_the_table(qtbot, page, gpu):
    hang = WorkerFailure("No sign from the GPU for 30 s.", "timed_out", fatal=True)
    gpu.faults = lambda job: hang if job.subject.parameters["n"] == 64 else None
    page.strip.run_button.click()
    finish(qtbot, page)
    assert [row.rate_text for row in page.results.rows[:2]] == ["hang, cut off"] * 2
    page.results.table.selectRow(0)
    assert "No sign from the GPU" in page.shown.text()


def test_pause_and_stop(qtbot, page, gpu):
    gpu.hold.clear()
    page.strip.run_button.click()
    qtbot.waitUntil(lambda: page.shown.text().endswith("running."))
    page.strip.pause_button.click()
    assert page.strip.pause_button.text() == "Resume"
    gpu.hold.set()
    qtbot.waitUntil(lambda: len(page.results.measured) == 1)
    qtbot.waitUntil(lambda: "paused" in page.caption.text())
    page.strip.stop_button.click()
    finish(qtbot, page)
    assert page.caption.text() == "3 launches not measured. All else is below."


def test_a_mistake_in_a_field_is_said_at_once(qtbot, page):
    page.strip.sizes.clear()
    qtbot.keyClicks(page.strip.sizes, "12x")
    assert "not a list of values for N" in page.strip.plan.text()
    assert not page.strip.run_button.isEnabled()
    page.strip.sizes.clear()
    qtbot.keyClicks(page.strip.sizes, "64..128")
    assert page.strip.plan.text() == "1 kernel, 4 launches."
    assert page.strip.run_button.isEnabled()


def test_kernels_are_ticked_in_a_list(qtbot, page):
    kernels = page.strip.kernels
    page.strip.kernels_button.click()
    for row in range(kernels.list.count()):
        if kernels.list.item(row).data(Qt.ItemDataRole.UserRole) in ("coalesced", "cublas"):
            kernels.list.item(row).setCheckState(Qt.CheckState.Checked)
    assert page.strip.kernels_button.text() == "3 kernels ▾"
    assert page.strip.plan.text() == "3 kernels, 10 launches."
    kernels.hide()


@pytest.mark.slow
def test_plots_of_other_quantities(qtbot, page):
    page.strip.run_button.click()
    finish(qtbot, page)
    page.curves.quantity.button("speedup").click()
    assert page.curves.baseline.isVisible()
    (curve,) = page.curves.plot.curves
    assert [p.y for p in curve.points] == pytest.approx([1.0, 1.0])
    page.curves.over.button("tile").click()
    (curve,) = page.curves.plot.curves
    assert [p.x for p in curve.points] == [8, 16]
    assert "N = 64" in page.curves.caption.text()
    page.curves.quantity.button("bandwidth").click()
    assert page.curves.plot.curves
    page.curves.quantity.button("share").click()
    qtbot.waitUntil(lambda: bool(page.curves.plot.curves), timeout=20000)
    assert "ceiling that binds" in page.curves.caption.text()


def test_a_clicked_point_shows_its_launches(qtbot, page):
    page.strip.run_button.click()
    finish(qtbot, page)
    point = page.curves.plot.curves[0].points[0]
    page.curves.plot.chosen.emit(point.measured)
    assert page.picked is point.measured
    assert "n = 32" in page.shown.text()
    place = page.results.table.currentIndex().row()
    assert page.results.rows[place].measured is point.measured


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".json", ".md", ".png", ".pdf"])
def test_results_and_plots_are_saved(qtbot, page, tmp_path, ending):
    page.strip.run_button.click()
    finish(qtbot, page)
    with qtbot.waitSignal(page.files.said) as told:
        page.files.save(tmp_path / f"out{ending}", page.results.measured)
    assert told.args[1], told.args[0]
    if ending in (".png", ".pdf", ".md"):
        kind = ".png" if ending == ".md" else ending
        for name in ("launches", "sweep"):
            assert (tmp_path / f"out-{name}{kind}").stat().st_size > 2000
    else:
        assert len(read_results(tmp_path / f"out{ending}")) == 4
    if ending == ".md":
        assert "![Sweep](out-sweep.png)" in (tmp_path / "out.md").read_text()


def test_files_saved_one_after_the_other_are_all_written(qtbot, page, tmp_path):
    page.strip.run_button.click()
    finish(qtbot, page)
    paths = [tmp_path / f"{n}.md" for n in range(3)]
    for path in paths:
        page.files.save(path, page.results.measured)
    close_workers(page.files)
    assert all(path.exists() for path in paths)


def test_results_that_arrive_with_the_end_are_shown(qtbot, page):
    """A short sweep, or a busy machine: nothing is read until all of it is over."""
    qtbot.waitUntil(lambda: page.results.machine.currentText().startswith("NVIDIA H200"))
    page.strip.run_button.click()
    page._timer.stop()
    page.model._sweep.wait(20.0)
    page.model.drain()
    finish(qtbot, page)
    assert page.results.machine.currentText().startswith("Fake GPU")


def test_results_from_another_machine(qtbot, page, tmp_path):
    page.strip.run_button.click()
    finish(qtbot, page)
    with qtbot.waitSignal(page.files.said):
        page.files.save(tmp_path / "lab.csv", page.results.measured)
    with qtbot.waitSignal(page.said) as told:
        page.files.read(tmp_path / "lab.csv")
    assert told.args == ["4 results taken from lab.csv.", True]
    assert page.results.machine.currentText() == "Fake GPU, 2026-11-21, from lab.csv"
    assert len(page.results.rows) == 4
    (tmp_path / "no.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty.json").write_text('{"results": []}')
    for name, complaint in (
        ("no.csv", "table of benchmark results"),
        ("empty.json", "holds no results"),
    ):
        with qtbot.waitSignal(page.said) as told:
            page.files.read(tmp_path / name)
        sentence, ok = told.args
        assert complaint in sentence
        assert not ok


@pytest.mark.slow
def test_a_file_is_taken_into_the_sweep(qtbot, page, ladder, tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text(ladder["tiled"].source)
    page.add_file(path)
    qtbot.waitUntil(lambda: page.findChild(FileDialog) is not None)
    dialog = page.findChild(FileDialog)
    dialog.fields["expected"].setText("C = A @ nothing")
    dialog.take()
    assert dialog.kernel is None
    assert dialog.error.text()
    dialog.fields["expected"].setText("C = A @ B")
    dialog.fields["flops"].setText("2*n*n*n")
    assert dialog.error.text()
    dialog.take()
    assert page.strip.plan.text() == "2 kernels, 8 launches."


def test_a_file_without_a_kernel_is_refused_in_a_sentence(qtbot, page, tmp_path):
    path = tmp_path / "none.cu"
    path.write_text("int main() { return 0; }\n")
    with qtbot.waitSignal(page.said) as told:
        page.add_file(path)
    assert told.args == ["none.cu has no kernel: mark a function __global__.", False]
    assert page.findChild(FileDialog) is None


def test_every_theme(qtbot, page):
    from PySide6.QtWidgets import QApplication

    from gui.looks.theme import apply_theme, theme_names

    page.strip.run_button.click()
    finish(qtbot, page)
    for name in (*theme_names(), "light"):
        apply_theme(QApplication.instance(), name)
        page.restyle()
        assert coloured(page.curves.plot) > 50


def test_curves_far_apart_are_drawn_by_logarithms(qtbot, ladder):
    session = Session()
    session.everything = True
    view = BenchmarkView(session, ladder, lambda number: NoGpu())
    qtbot.addWidget(view)
    view.resize(1000, 760)
    view.show()
    panel = view.results
    assert [panel.family.itemData(i) for i in range(panel.family.count())] == [
        "float32", "tf32", "float16", "other", "all",
    ]  # fmt: skip
    assert {m.result.title for m in panel.measured} >= {"Tiled", "cuBLAS SGEMM"}
    plot = view.curves.plot
    low, high = plot.plot.viewRange()[1]
    lowest = min(p.low for c in plot.curves for p in c.points)
    highest = max(p.high for c in plot.curves for p in c.points)
    assert 10**low == pytest.approx(lowest, rel=0.3)
    assert 1.2 * highest < 10**high < 2 * highest  # with room for the name of a curve
    other = panel.family.findData("other")
    panel.family.setCurrentIndex(other)
    panel.family.activated.emit(other)
    view.curves.quantity.button("bandwidth").click()
    titles = {c.title for c in plot.curves}
    assert "Transpose, tiled" in titles
    assert "Tiled" not in titles
    view.shut_down()


def test_the_chosen_kernel_stands_out_and_no_two_lines_are_alike(qtbot, ladder):
    session = Session()
    session.everything = True
    session.configuration = Configuration("tiled", {"n": 16, "tile": 16})
    view = BenchmarkView(session, ladder, lambda number: NoGpu())
    qtbot.addWidget(view)
    view.resize(1000, 760)
    view.show()
    plot = view.curves.plot
    every = view.results.family.findData("all")
    view.results.family.setCurrentIndex(every)
    view.results.family.activated.emit(every)
    pens = {curve.key: plot.pen(curve) for curve in plot.curves}
    assert len(pens) >= 20
    assert len({(pen.color().name(), pen.style()) for pen in pens.values()}) == len(pens)
    assert pens["cuBLAS:cublasSgemm"].style() == Qt.PenStyle.DashLine
    view._pick(next(p for c in plot.curves if c.key == "tiled" for p in c.points).measured)
    tiled = next(c for c in plot.curves if c.key == "tiled")
    widths = {c.key: plot._lines[c.key].line.opts["pen"].widthF() for c in plot.curves}
    assert [key for key, width in widths.items() if width == 3] == ["tiled"]
    assert plot._end.toPlainText() == tiled.end_text("gflops")
    assert plot._end.toPlainText().startswith("Tiled  ")
    plot.key.pointed.emit([c.key for c in plot.curves].index("tuned"))
    assert plot._lines["tuned"].line.opts["pen"].widthF() == 3
    assert plot._lines["tiled"].line.opts["pen"].widthF() < 2
    plot.key.pointed.emit(-1)
    assert plot._lines["tiled"].line.opts["pen"].widthF() == 3
    view.shut_down()


@pytest.mark.parametrize("width", [900, 420, 260])
def test_the_median_is_said_in_as_many_words_as_there_is_room_for(qtbot, width):
    plot = LaunchPlot()
    qtbot.addWidget(plot)
    plot.resize(width, 300)
    plot.show()
    qtbot.waitExposed(plot)
    plot.show_values([9293.0, 9301.0, 9312.0], "GFLOPS")
    box = plot.box
    qtbot.waitUntil(lambda: 0 < box.width() < width)
    said = plot.text.toPlainText()
    assert "9\u202f301 GFLOPS" in said
    plot.grab()  # only then does the text know its place
    assert plot.text.textItem.sceneBoundingRect().left() >= box.sceneBoundingRect().left()
    assert ("(" in said) == (width > 260)


def test_simple_shows_the_kernel_its_neighbours_and_the_library(qtbot, ladder):
    session = Session()
    session.configuration = Configuration("tiled", {"n": 16, "tile": 16})
    view = BenchmarkView(session, ladder, lambda number: NoGpu())
    qtbot.addWidget(view)
    view.resize(1000, 760)
    view.show()
    plot, table = view.curves.plot, view.results.table
    few = {"coalesced", "tiled", "tiled_bounds", "cuBLAS:cublasSgemm"}
    assert {curve.key for curve in plot.curves} == few
    rows = view.results.rows
    assert {row.measured.result.series for row in rows} == few
    for series in few:
        sizes = [r.measured.n for r in rows if r.measured.result.series == series]
        assert len(sizes) == len(set(sizes)) > 3  # the fastest at each N, and no other
    assert table.isColumnHidden(3)
    heads = [view.results.model.head(column) for column in range(4)]
    assert heads[3] == "Effective GB/s"
    assert "each once" in view.results.model.head_tip(3)
    session.configuration = Configuration("tensor_half", {})
    qtbot.waitUntil(lambda: "tensor_half" in {curve.key for curve in plot.curves})
    session.everything = True
    qtbot.waitUntil(lambda: not table.isColumnHidden(3))
    view.shut_down()


@pytest.mark.parametrize("high", [620, 760, 900])
def test_no_other_curve_runs_through_what_is_written_at_an_end(qtbot, ladder, high):
    session = Session()
    session.configuration = Configuration("coalesced", dict(ladder["coalesced"].defaults))
    view = BenchmarkView(session, ladder, lambda number: NoGpu())
    qtbot.addWidget(view)
    view.resize(1100, high)
    view.show()
    plot = view.curves.plot
    qtbot.waitUntil(lambda: plot._end is not None and plot.plot.box.width() > 200)
    words = plot._end.mapRectToScene(plot._end.boundingRect()).adjusted(5, 5, -5, -5)
    assert words.width() > 60
    for curve in plot.curves:
        at = [QPointF(place(point.x), plot._up(point.y)) for point in curve.points]
        points = [plot.plot.box.mapViewToScene(point) for point in at]
        seen = np.linspace(max(words.left(), points[0].x()), min(words.right(), points[-1].x()))
        down = np.interp(seen, [point.x() for point in points], [point.y() for point in points])
        assert not ((down > words.top()) & (down < words.bottom())).any(), curve.key


def test_every_curve_is_named_beside_its_end(qtbot, ladder):
    session = Session()
    session.everything = True
    session.configuration = Configuration("tiled", {"n": 16, "tile": 16})
    view = BenchmarkView(session, ladder, lambda number: NoGpu())
    qtbot.addWidget(view)
    view.resize(1300, 900)
    view.show()
    key = view.curves.plot.key
    qtbot.waitUntil(lambda: len(key.rows) > 12 and len({row.end for row in key.rows}) > 8)
    middles = key.middles()
    by_end = [m for _, m in sorted(zip([r.end for r in key.rows], middles, strict=True))]
    assert by_end == sorted(middles)  # names stand in the order in which the curves end
    assert min(b - a for a, b in itertools.pairwise(by_end)) >= key._step - 0.01
    assert by_end[0] >= 0
    assert by_end[-1] <= key.height()
    looks = [(r.pen.color().name(), r.symbol, r.hollow, r.pen.style()) for r in key.rows]
    assert len(set(looks)) == len(looks)
    assert len({look[:3] for look in looks}) == len(looks)  # the symbol alone tells them apart
    view.shut_down()


def test_nothing_says_running_after_a_gpu_that_was_given_up(qtbot, page, gpu):
    gone = GpuUnavailable("The NVIDIA driver refused: it is gone.")
    gpu.hold.clear()
    page.strip.run_button.click()
    qtbot.waitUntil(lambda: page.shown.text().endswith("running."))
    gpu.faults = lambda job: gone
    gpu.hold.set()
    finish(qtbot, page)
    qtbot.waitUntil(lambda: "running" not in page.shown.text())
    assert "given up" in page.caption.text()


@pytest.mark.parametrize("size", [175, 200])
def test_large_text_is_whole_on_a_small_screen(qtbot, qapp, ladder, size):
    """The page of a window of 1366 x 768 scrolls."""
    apply_theme(qapp, "light", size)
    session = Session()
    session.configuration = Configuration("tiled", {"n": 16, "tile": 16})
    view = BenchmarkView(session, ladder, lambda number: NoGpu())
    qtbot.addWidget(view)
    view.resize(1330, 660)
    view.show()
    qtbot.waitUntil(lambda: "no NVIDIA driver" in view.caption.text())
    qtbot.wait(20)
    for kind in (Caption, QToolButton, QPushButton, QComboBox, QCheckBox):
        for part in view.findChildren(kind):
            if part.isVisible() and part.window() is view:
                assert part.height() >= part.minimumSizeHint().height(), part
    line = current_theme().spacing.control
    assert min(view.launches.height(), view.curves.plot.height()) >= 5 * line
    assert view.results.table.height() >= 4 * line
    bar = view.findChild(ScrolledPage).verticalScrollBar()
    assert bar.maximum() > 0
    view.resize(1330, 1600)
    qtbot.waitUntil(lambda: bar.maximum() == 0)
    view.shut_down()
    apply_theme(qapp, "light")
