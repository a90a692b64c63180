"""A kernel that stores two arrays: each has owners of its own."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter

from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.record_launch import record
from gui.looks.theme import current_theme
from gui.scenes.arrays_as_grids import grids_of, owned_by
from gui.scenes.matrices import matrix_scene
from gui.scenes.session import Session
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.matrix_drawing import MatrixGround

N = 80
SOURCE = """
__global__ void two(const float* A, float* P, float* Q, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        P[i] = A[i];
        Q[n - 1 - i] = 2 * A[i];
    }
}
"""


@pytest.fixture(scope="module")
def trace():
    data = np.random.default_rng(4).random(N).astype(np.float32)
    made = (
        ArrayArgument("A", data),
        ArrayArgument("P", np.zeros(N, np.float32), "output"),
        ArrayArgument("Q", np.zeros(N, np.float32), "output"),
        ScalarArgument("n", np.int32(N)),
    )
    launch = Launch(Dim3(2), Dim3(40), made)
    return record(Workload("two", SOURCE, "two.cu", "two", launch), blocks="all")


@pytest.fixture
def canvas(qtbot, trace):
    session = Session()
    view = MatrixCanvas(session)
    qtbot.addWidget(view)
    view.resize(900, 500)
    session.trace = trace
    view.show()
    qtbot.waitExposed(view)
    return view


def cell(canvas, name, flat):
    """The middle of an element on the screen."""
    grid = next(g for g in grids_of(canvas.session.trace) if g.array.name == name)
    rows, columns = grid.cells(np.array([flat]))
    shown = next(g for g in canvas.grids if g.array.name == name)
    rect = canvas._layout.rect(shown, canvas._view, (int(rows[0]), int(columns[0]), 1, 1))
    return QPointF(rect.center())


def test_each_array_has_its_own_owners(trace):
    _, p, q = grids_of(trace)
    assert (p.result, q.result) == (True, True)
    assert owned_by(trace, p, 0).thread_of(5) == 5
    assert owned_by(trace, q, 0).thread_of(N - 1 - 5) == 5
    scene = matrix_scene(trace.block(0), grids_of(trace), 0, 7)
    assert [own.tolist() for own in scene.owns] == [[], [7], [N - 1 - 7]]
    assert scene.own.tolist() == [7]


def test_pointing_and_clicking_name_the_thread_that_stores(canvas, qtbot):
    session = canvas.session
    for name, flat, thread in (("P", 5, 5), ("Q", N - 1 - 6, 6), ("P", 12, 12)):
        canvas.point_at(cell(canvas, name, flat))
        assert session.hover.thread == thread
        canvas.click_at(cell(canvas, name, flat))
        assert (session.thread, session.element) == (thread, (name, (flat,)))
    canvas.point_at(cell(canvas, "Q", 3))
    assert session.hover.thread is None, "another block's"
    qtbot.waitUntil(lambda: not canvas.sharing.isActive())
    canvas.click_at(cell(canvas, "Q", 3))
    assert (session.block, session.thread) == (1, N - 1 - 3 - 40)
    canvas.grab()


def test_the_picture_of_the_second_is_not_that_of_the_first(canvas, qtbot):
    """Thread 20 of block 0 stores P[20] and Q[59]."""
    image = canvas.grab().toImage()
    first, last = (
        [image.pixelColor(cell(canvas, name, flat).toPoint()).name() for flat in (20, N - 21)]
        for name in ("P", "Q")
    )
    assert first[0] == last[1] != first[1] == last[0]


def legend(canvas):
    """The words of the legend that name owners."""
    area = QRectF(canvas.rect())
    ground = MatrixGround(
        QPainter(), current_theme(), canvas._layout, canvas._view, area, canvas.session
    )
    return [key.words for key in ground._key() if key.words.startswith("Owner")]


def launched(source, *arguments):
    return record(
        Workload("k", source, "k.cu", "k", Launch(Dim3(1), Dim3(32), arguments)), blocks="all"
    )


def test_the_legend_names_the_array_that_is_stored(canvas):
    assert legend(canvas) == ["Owner, a colour a warp"]
    bins = ArrayArgument("bins", np.zeros(32, np.float32), "output")
    source = "__global__ void k(float* bins) { bins[threadIdx.x] = 1; }"
    canvas.session.trace = launched(source, bins)
    assert legend(canvas) == ["Owner in bins, a colour a warp"]
    read = ArrayArgument("A", np.ones(32, np.float32))
    source = "__global__ void k(const float* A) { float v = A[threadIdx.x]; if (v > 2) __trap(); }"
    canvas.session.trace = launched(source, read)
    assert legend(canvas) == [], "nothing is stored"


def test_a_kernel_without_arrays_is_not_said_to_have_no_steps(canvas, monkeypatch):
    said = []
    monkeypatch.setattr(
        "gui.views.matrix_canvas.nothing", lambda painter, box, words, theme: said.append(words)
    )
    source = "__global__ void k() { }"
    canvas.session.trace = launched(source)
    assert canvas.session.block_trace.n_steps > 0
    canvas.grab()
    assert said[-1] == "No array lies in global memory."
