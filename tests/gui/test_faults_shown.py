"""An access out of bounds looks like a fault, and never like a bounds check that works."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from core.explain.explanations import explain_access
from core.guessing import launch_guess
from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from gui.scenes import findings_list
from gui.scenes.arrays_as_grids import grids_of
from gui.scenes.illegal_accesses import faults_in_words
from gui.scenes.masked_off_threads import guards_of, zero_filled
from gui.scenes.matrices import matrix_scene
from gui.scenes.prefetch import look_ahead
from gui.scenes.room_beyond_arrays import Reach, reaches_of
from gui.scenes.shared_arrays_and_banks import shared_scene
from gui.scenes.transport_bar import event_caption, timeline_of
from gui.scenes.warp_lanes import warp_scene, why_empty

STEP = 31  # block (0, 0) of the broken kernel loads rows 2 and 3 of B, which has 3


@cache
def broken():
    return record(load_ladder()["broken_bounds"].workload(n=3, tile=2), blocks="all")


@cache
def run(body: str, threads: int = 4, blocks: int = 1, n: int = 8):
    data = np.arange(1, n + 1, dtype=np.float32)
    made = tuple(ArrayArgument(name, data, "inout") for name in "xy")
    source = f'extern "C" __global__ void k(float* x, float* y)\n{{\n{body}\n}}\n'
    launch = Launch(Dim3(blocks), Dim3(threads), made)
    return record(Workload("k", source, "k.cu", "k", launch), blocks="all")


def at_fault(trace, block: int = 0) -> int:
    return int(trace.block(block).illegal_steps[0])


def session(trace, step: int, thread: int = 0, block: int = 0):
    record = trace.block(block)
    return SimpleNamespace(block_trace=record, step=step, thread=thread, n_steps=record.n_steps)


def test_matrices_mark_the_faults_and_no_guard():
    trace = broken()
    block, guards, grids = trace.block(0), guards_of(trace), grids_of(trace)
    reaches = reaches_of(trace)
    scene = matrix_scene(block, grids, STEP, 2, guards)
    marks = scene.marks[1]
    assert [v.tolist() for v in marks.faults] == [[3, 3], [0, 1]]
    assert not len(marks.outside[0])
    assert not marks.filled
    assert not zero_filled(block, block.access(STEP))
    assert "2 threads load B[9] and B[10], outside B (9 elements): a fault" in scene.caption
    assert "2 threads load B[2, 0..1]" in scene.caption
    assert "masked off" not in scene.caption
    for grid in grids:
        assert not reaches.masked(grid)
        assert reaches.faults(grid).down == 2  # of 12 elements from flat index 9 on, 3 a row
        assert reaches.roomy(grid).overhang[0] == 2


def test_a_guard_is_still_a_guard():
    trace = record(load_ladder()["tiled_rect"].workload(m=5, k=7, n=6, tile=4), blocks="all")
    for grid in grids_of(trace):
        assert not reaches_of(trace).faults(grid)
        assert reaches_of(trace).masked(grid)
    trace = run(
        "    int i = threadIdx.x;\n    if (i < 3) y[i] = x[i + 6];"
    )  # a fault behind a guard
    scene = matrix_scene(trace.block(0), grids_of(trace), at_fault(trace), 0, guards_of(trace))
    assert "1 thread loads x[8], outside x (8 elements): a fault" in scene.caption
    assert "1 thread masked off" in scene.caption


def test_the_warp_view_names_what_each_lane_wanted():
    scene = warp_scene(broken().block(0), STEP, 0)
    assert np.flatnonzero(scene.faulty).tolist() == [2, 3]
    assert scene.names[2:4] == ("B[9]", "B[10]")
    expected = "loads B[9], outside B (9 elements): a fault; the emulator gives 0"
    assert scene.faults[1:3] == ("", expected)
    assert scene.caption.startswith("2 lanes load B[9] and B[10], outside B (9 elements): a fault;")
    store = warp_scene(broken().block(2), int(broken().block(2).illegal_steps[-1]), 0)
    assert store.faults[2] == "stores to C[9], outside C (9 elements): a fault; nothing is stored"


def test_a_warp_that_is_all_at_fault():
    trace = run("    y[threadIdx.x] = x[8 + threadIdx.x];")
    scene = warp_scene(trace.block(0), at_fault(trace), 0)
    assert scene.caption == "Warp 0: 4 lanes load x[8..11], outside x (8 elements): a fault."
    assert (scene.sectors, scene.lines) == (0, ())
    assert event_caption(session(trace, at_fault(trace))) == (
        "4 threads are at fault at line 3; thread 0 loads x[8]."
    )


def test_shared_memory_and_misaligned_addresses_in_words():
    trace = run(
        "    __shared__ float s[8];\n    s[threadIdx.x * 4] = x[threadIdx.x];\n    y[0] = s[0];"
    )
    scene = shared_scene(trace, trace.block(0), at_fault(trace), 0)
    assert scene.banks.active == 2
    assert "2 lanes store to s[8] and s[12], outside s (8 elements): a fault" in scene.caption
    trace = run("    double* p = (double*)(x + threadIdx.x);\n    *p = 2.5;")
    access = trace.block(0).access(at_fault(trace))
    assert faults_in_words(access, [1, 3]) == (
        "2 threads store 8 bytes at x[1] and x[3], at no multiple of 8: a fault"
    )


def test_an_address_in_no_array_is_told():
    trace = run("    float* p = 0;\n    y[threadIdx.x] = *p;")
    scene = matrix_scene(trace.block(0), grids_of(trace), at_fault(trace), 0, guards_of(trace))
    assert "4 threads load address 0x0, in no array: a fault." in scene.caption
    assert warp_scene(trace.block(0), at_fault(trace), 0) is None
    said = why_empty(trace.block(0), at_fault(trace), 0)
    assert said == "Warp 0: 4 lanes load address 0x0, in no array: a fault."
    assert why_empty(trace.block(0), 0, 0) == "No access to global memory yet."


def test_the_scrub_bar_and_why_say_so():
    trace = broken()
    timeline = timeline_of(trace, trace.block(3))
    assert set(trace.block(3).illegal_steps.tolist()) <= set(np.asarray(timeline.faults).tolist())
    said = explain_access(trace.block(0).access(STEP), 0)
    section = next(s for s in said.sections if s.heading == "At fault = 2")
    assert ["lane 2" in section.lines[0], "B[9]" in section.lines[0]] == [True, True]
    all_wrong = run("    y[threadIdx.x] = x[8 + threadIdx.x];")
    headings = [
        s.heading
        for s in explain_access(all_wrong.block(0).access(at_fault(all_wrong)), 0).sections
    ]
    assert headings == ["Requests = 0", "At fault = 4"]


@pytest.mark.parametrize("count", [0, 3])
def test_the_mark_is_seen_on_any_ground(qapp, count):
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QImage, QPainter

    from gui.looks.theme import load_theme
    from gui.views.drawing_tools import crossed_out

    image = QImage(60, 20, QImage.Format.Format_RGB32)
    image.fill(0xFFFFFF)
    blank = image.copy()
    painter = QPainter(image)
    crossed_out(painter, load_theme("light"), [QRectF(20 * i, 0, 20, 20) for i in range(count)])
    painter.end()
    assert (image != blank) == bool(count)
    if count:  # the cross meets in the middle and is darker than the ground of the cell
        assert image.pixelColor(10, 10).lightness() < image.pixelColor(10, 4).lightness()


def test_room_is_left_where_only_a_block_between_goes_too_far():
    trace = run("    if (blockIdx.x == 1) y[threadIdx.x] = x[threadIdx.x + 7];", blocks=3)
    (x, _) = grids_of(trace)
    assert reaches_of(trace).faults(x) == Reach(down=1)
    scene = matrix_scene(trace.block(1), (x,), at_fault(trace, 1), 0, guards_of(trace))
    assert [v.tolist() for v in scene.marks[0].faults] == [[1, 1, 1], [0, 1, 2]]


@pytest.mark.parametrize("size", [(900, 600), (420, 330)])
def test_the_legend_has_the_mark_in_any_room(qtbot, size, monkeypatch):
    from gui.scenes.session import Session
    from gui.views import drawing_tools
    from gui.views.matrix_canvas import MatrixCanvas

    drawn = []
    monkeypatch.setattr(
        drawing_tools._KeyPen,
        "draw",
        lambda self, key, left, top, row: drawn.append((key.words, key.crossed)),
    )
    session = Session()
    view = MatrixCanvas(session)
    qtbot.addWidget(view)
    view.resize(*size)
    view.show()
    qtbot.waitExposed(view)
    for trace, marked in ((broken(), True), (run("    y[threadIdx.x] = x[threadIdx.x];"), False)):
        session.trace = trace
        drawn.clear()
        view.grab()
        assert any(crossed for _, crossed in drawn) == marked


def test_a_source_is_read_once_and_not_on_the_ui_thread(monkeypatch):
    asked = []

    def read(*given):
        asked.append(given[4].keys())
        return frozenset()

    monkeypatch.setattr(launch_guess, "sizes_guessed", read)
    trace = run("x[threadIdx.x + 100] = y[threadIdx.x + 200];\nx[threadIdx.x + 300] = 1;")
    look_ahead(trace, 0)
    assert asked == [{"x", "y"}]
    rows = findings_list.finding_rows(trace)
    assert len(rows) == len(trace.findings) >= 3
    assert len(asked) == 1


def test_findings_that_contents_lead_to_come_last_and_are_in_doubt():
    trace = run("x[(int)y[threadIdx.x] * 9] = 1; y[threadIdx.x + 8] = 1;")
    rows = findings_list.finding_rows(trace)
    assert [(row.title, row.is_open) for row in rows] == [
        ("Out of bounds", False),
        ("Perhaps out of bounds", True),
    ]
    assert "The elements of y, which lead there, are guesses" in spaces(rows[1].message)
    assert "are guesses" not in spaces(rows[0].message)
    assert findings_list.findings_caption(trace).startswith("1 fault and perhaps 1 more. Click one")
    launch = trace.workload.launch
    own = tuple(replace(array, is_own=True) for array in launch.arguments)
    given = record(replace(trace.workload, launch=replace(launch, arguments=own)), blocks="all")
    assert not any(row.is_open for row in findings_list.finding_rows(given))
    assert findings_list.findings_caption(given).startswith("2 faults. Click one")


def spaces(text: str) -> str:
    return " ".join(text.split())
