"""Arrays that form no product lie where their cells are largest."""

import numpy as np
import pytest

from core.trace.access import Array
from gui.looks.theme import apply_theme
from gui.scenes.arrays_as_grids import Grid
from gui.views.matrix_layout import Margins, MatrixLayout, arranged, title_widths

MARGINS = Margins(40, 30, 20, 25, 36)


def grid(name, rows, columns, place):
    array = Array(name, 0, (rows, columns), np.dtype(np.float32), "input")
    return Grid(array, name, rows, columns, place, extent=(rows, columns))


def vector(name, count, place):
    array = Array(name, 0, (count,), np.dtype(np.float32), "input")
    return Grid(array, name, -(-count // 32), 32, place, extent=(-(-count // 32), 32))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shapes", "size", "beside"),
    [
        (((64, 32), (32, 64)), (570, 300), True),
        (((64, 32), (32, 64)), (300, 600), False),
        (((4, 32), (4, 32), (4, 32)), (570, 300), False),
        (((96, 8), (96, 8)), (570, 300), True),
        (((64, 64),), (570, 300), False),
    ],
)
def test_below_or_beside_each_other(qapp, shapes, size, beside):
    grids = tuple(grid(f"X{i}", *shape, (i, 0)) for i, shape in enumerate(shapes))
    found = arranged(grids, MARGINS, *size)
    places = [(0, i) if beside else (i, 0) for i in range(len(grids))]
    assert [g.place for g in found] == places
    layout, view = MatrixLayout(found, MARGINS), MatrixLayout(found, MARGINS).fit(*size)
    assert view.scale >= 0.99 * MatrixLayout(grids, MARGINS).fit(*size).scale
    boxes = [layout.box(g, view) for g in found]
    assert not any(a.intersects(b) for a in boxes for b in boxes if a is not b)
    assert arranged(found, MARGINS, *size) == found


@pytest.mark.parametrize("text", [100, 150, 200])
@pytest.mark.parametrize("width", [320, 410, 640, 900])
def test_no_title_is_written_over_the_next(qapp, text, width):
    theme = apply_theme(qapp, "light", text)
    grids = tuple(vector(name, 100, (i, 0)) for i, name in enumerate(["A", "B", "scaled_sums"]))
    found = arranged(grids, MARGINS, width, 170)
    layout = MatrixLayout(found, MARGINS)
    view = layout.fit(width, 170)
    lefts = [layout.box(g, view).left() for g in found]
    ends = [left + sum(title_widths(g, theme)) for left, g in zip(lefts, found, strict=True)]
    beside = found[0].place[0] == found[1].place[0]
    assert beside or width < 900
    if beside:
        assert all(end < left for end, left in zip(ends, [*lefts[1:], width], strict=True))
    apply_theme(qapp, "light")


def test_a_product_stays_as_it_is(qapp):
    grids = (grid("A", 9, 2, (1, 0)), grid("B", 2, 9, (0, 1)), grid("C", 9, 9, (1, 1)))
    assert arranged(grids, MARGINS, 900, 100) is grids
