"""Pictures of the drawn views against kept ones, for fixed records.

What is compared are means over squares of 4 x 4 pixels, so that the smoothing of letters, which
differs from one machine to the next, weighs little; a mark in another place or colour weighs much.
After a change of the drawing that is meant, look at the new pictures and keep them:
`TILESCOPE_KEEP_PICTURES=1 pytest tests/gui/views/test_kept_pictures.py`.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QImage

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.looks.theme import apply_theme
from gui.scenes.selection import Breakpoint
from gui.scenes.session import Session
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.shared_view import SharedView
from gui.views.transport_bar import ScrubBar
from gui.views.warp_view import WarpView

KEPT = Path(__file__).resolve().parents[2] / "data" / "pictures"
SQUARE = 4  # pixels
FAR = 20  # of 255: a square that differs by more is another colour
MOST_FAR = 0.012  # of all squares
MOST_MEAN = 1.6  # of 255


@pytest.fixture(scope="module")
def traces():
    ladder = load_ladder()
    return {
        "tiled": record(ladder["tiled"].workload(n=8, tile=4), blocks="all"),
        "rect": record(ladder["tiled_rect"].workload(m=6, k=10, n=7, tile=4), blocks="all"),
        "strided": record(ladder["uncoalesced"].workload(n=32, block_x=16, block_y=16), blocks=[0]),
        "naive": record(ladder["uncoalesced"].workload(n=8, block_x=4, block_y=4), blocks=[0]),
        "banks": record(ladder["aat_shared"].workload(n=32, tile=32), blocks="all"),
    }


def accesses(block):
    return [s for s in range(block.n_steps) if block.access(s) is not None]


def nth(count):
    return lambda session: accesses(session.block_trace)[count]


def conflict(session):
    """The first store that meets itself in the banks."""
    block = session.block_trace
    return next(
        s for s in accesses(block)
        if (a := block.access(s)).space == "shared" and a.warp(0).conflicts > 0
    )  # fmt: skip


CASES = {
    # name: view, size, record, step, settings, theme
    "matrices": (MatrixCanvas, (480, 360), "tiled", nth(6), {"thread": 5}, "light"),
    "matrices_guards": (MatrixCanvas, (480, 360), "rect", nth(0), {"block": 3}, "light"),
    "matrices_heat": (MatrixCanvas, (480, 360), "naive", nth(6), {"heat": True}, "light"),
    "matrices_dark": (MatrixCanvas, (480, 360), "tiled", nth(6), {"thread": 5}, "dark"),
    "warp_tiled": (WarpView, (480, 320), "tiled", nth(0), {"thread": 3}, "light"),
    "warp_strided": (WarpView, (480, 320), "strided", nth(0), {}, "light"),
    "shared_filling": (SharedView, (480, 320), "tiled", nth(2), {}, "light"),
    "shared_conflict": (SharedView, (480, 320), "banks", conflict, {}, "light"),
    "scrub_bar": (
        ScrubBar, (640, 36), "tiled", nth(4),
        {"line": 24, "breakpoints": {Breakpoint(line=29)}}, "light",
    ),
}  # fmt: skip


def drawn(qtbot, qapp, traces, name):
    """The view, its session, and a function that gives its picture as means over squares."""
    kind, size, trace, step, settings, theme = CASES[name]
    apply_theme(qapp, theme)
    session = Session()
    session.trace = traces[trace]
    session.update(**settings)
    session.step = step(session)
    view = kind(session)
    qtbot.addWidget(view)
    view.resize(*size)
    view.show()
    view.restyle()

    if isinstance(view, MatrixCanvas):
        qtbot.waitUntil(lambda: not view.sharing.isActive())
    return session, view


def squares(image):
    image = image.convertToFormat(QImage.Format.Format_RGB888)
    height, width = image.height() // SQUARE * SQUARE, image.width() // SQUARE * SQUARE
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    pixels = rows[:height, : width * 3].reshape(
        height // SQUARE, SQUARE, width // SQUARE, SQUARE, 3
    )
    return np.rint(pixels.mean(axis=(1, 3))).astype(np.uint8)


def write(path, means):
    means = np.ascontiguousarray(means)
    height, width, _ = means.shape
    path.parent.mkdir(exist_ok=True)
    QImage(means.data, width, height, width * 3, QImage.Format.Format_RGB888).save(str(path))


def read(path):
    image = QImage(str(path)).convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    return rows[:, : image.width() * 3].reshape(image.height(), image.width(), 3).copy()


def distances(first, second):
    """The share of squares that are another colour, and the mean difference."""
    away = np.abs(first.astype(int) - second.astype(int)).max(axis=2)
    return float((away > FAR).mean()), float(away.mean())


def same(first, second):
    far, mean = distances(first, second)
    return far <= MOST_FAR and mean <= MOST_MEAN


@pytest.mark.parametrize("name", CASES)
def test_pictures_are_those_kept(qtbot, qapp, traces, name):
    session, view = drawn(qtbot, qapp, traces, name)
    now = squares(view.grab().toImage())
    path = KEPT / f"{name}.png"
    if os.environ.get("TILESCOPE_KEEP_PICTURES"):
        write(path, now)
    kept = read(path)
    assert now.shape == kept.shape
    assert same(now, kept), distances(now, kept)
    # the comparison sees what it is there for: another step, or another lane
    places = accesses(session.block_trace)
    session.step = places[min(places.index(session.step) + 1, len(places) - 1)]
    session.thread += 1
    view.repaint()
    assert not same(squares(view.grab().toImage()), kept)


def test_kept_pictures_are_small():
    files = list(KEPT.glob("*.png"))
    assert {f.stem for f in files} == set(CASES)
    assert sum(f.stat().st_size for f in files) < 120_000
