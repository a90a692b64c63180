"""Frames of the window while the pointer is at work: zooming, dragging, pointing."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence

from bench_figures import Figure
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget
from window_stage import FRAME_MS, LARGE, SIZE, Frame, Launch, change, frame, named, settle

from gui.shell.main_window import MainWindow
from gui.views.matrix_canvas import MatrixCanvas

NOTCH = 120  # of a wheel, in eighths of a degree
READABLE = 40.0  # pixels a cell: values are written well before
EVERY = 9  # notches between two drags
MOVES = 40  # of one drag, or of pointing
SIZES = (SIZE, (3840, 2160))
LARGEST: tuple[Launch, ...] = (
    ("coalesced", {"n": 4096, "block_x": 32, "block_y": 32}),
    ("tiled", {"n": 4096, "tile": 32}),
)


def moves(app: QApplication, window: MainWindow) -> Iterator[Figure]:
    """Zooming and dragging the largest matrices in both of their modes, then pointing."""
    for size in SIZES:
        window.resize(*size)
        for launch in LARGEST:
            change(app, window, launch)
            window.session.step = 2 * window.session.n_steps // 3
            settle(app, 2.0)
            turns = [_there_and_back(app, window, heat=heat) for heat in (False, True)]
            where = f"{size[0]} x {size[1]}: {named(launch)}"
            for name, index in (("zooming by the wheel", 0), ("dragging", 1)):
                runs = [turn[index] for turn in turns]
                yield share(f"a frame of {name}, 19 of 20 under, {where}", runs)
    window.resize(*SIZE)
    window.session.heat = False
    window.step_page.matrices.fit()
    change(app, window, LARGE)
    window.session.step = window.session.n_steps // 3
    settle(app)
    for name, view in (
        ("matrices", window.step_page.matrices),
        ("warp and its memory", window.step_page.warp),
    ):
        runs = [_point(app, view) for _ in range(3)]
        yield share(f"a frame of pointing at the {name}, 19 of 20 under: {named(LARGE)}", runs)


def share(what: str, runs: Sequence[Sequence[Frame]], goal: float = FRAME_MS) -> Figure:
    """The 95th percentile of each run's frames."""
    walls, spent = zip(*(map(_most, zip(*run, strict=True)) for run in runs), strict=True)
    return Figure(what, walls, "ms", goal, processor=statistics.median(spent))


def _most(times: Sequence[float]) -> float:
    return sorted(times)[int(0.95 * len(times))]


def _there_and_back(
    app: QApplication, window: MainWindow, *, heat: bool
) -> tuple[list[Frame], list[Frame]]:
    """From the whole of the matrices down to values in cells, and back; drags on the way."""
    canvas = window.step_page.matrices
    window.session.heat = heat
    canvas.fit()
    settle(app)
    at = _place_of_interest(canvas)
    zooms, drags, notches = [], [], 0
    while canvas._view.scale < READABLE:
        zooms.append(frame(app, lambda: wheel(canvas, at, NOTCH)))
        notches += 1
        if notches % EVERY == 0:
            drags += _drag(app, canvas)
    drags += _drag(app, canvas)
    zooms += [frame(app, lambda: wheel(canvas, at, -NOTCH)) for _ in range(notches)]
    return zooms, drags


def _place_of_interest(canvas: MatrixCanvas) -> QPointF:
    """Where the block's part of A begins."""
    assert canvas._layout is not None
    assert canvas.scene is not None
    grid, marks = canvas.grids[0], canvas.scene.marks[0]
    rows, columns = grid.cells(marks.lit if len(marks.lit) else marks.trail)
    cell = (int(rows[0]), int(columns[0]), 1, 1)
    return canvas._layout.rect(grid, canvas._view, cell).center()


def _drag(app: QApplication, view: QWidget) -> list[Frame]:
    """A drag from the middle of a view, away and back."""
    kinds, at = QEvent.Type, QPointF(view.rect().center())
    mouse(view, kinds.MouseButtonPress, at)
    frames = []
    for i in range(MOVES):
        at += QPointF(7, 5) * (1 if i < MOVES // 2 else -1)
        frames.append(frame(app, _mouse_at(view, at)))
    mouse(view, kinds.MouseButtonRelease, at)
    app.processEvents()
    return frames


def _mouse_at(view: QWidget, at: QPointF) -> Callable[[], None]:
    place = QPointF(at)
    return lambda: mouse(view, QEvent.Type.MouseMove, place)


def _point(app: QApplication, view: QWidget) -> list[Frame]:
    """The pointer goes across a view from corner to corner, with no button held."""
    corner = QPointF(view.width(), view.height())

    def at(place: QPointF) -> Callable[[], None]:
        return lambda: mouse(view, QEvent.Type.MouseMove, place, held=Qt.MouseButton.NoButton)

    return [frame(app, at(corner * (i + 0.5) / MOVES)) for i in range(MOVES)]


def mouse(
    view: QWidget, kind: QEvent.Type, at: QPointF, held: Qt.MouseButton = Qt.MouseButton.LeftButton
) -> None:
    """Send a view what the left button does at a place."""
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    away = QPointF(view.mapToGlobal(at))
    button = none if kind == QEvent.Type.MouseMove else left
    now = none if kind == QEvent.Type.MouseButtonRelease else held
    event = QMouseEvent(kind, at, away, button, now, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(view, event)


def wheel(view: QWidget, at: QPointF, notch: int) -> None:
    """Turn the wheel over a view."""
    away = QPointF(view.mapToGlobal(at))
    event = QWheelEvent(
        at, away, QPoint(), QPoint(0, notch), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view, event)
