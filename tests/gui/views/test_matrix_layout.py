"""Arrays that form no product lie where their cells are largest."""

import numpy as np
import pytest

from core.trace.access import Array
from gui.scenes.arrays_as_grids import Grid
from gui.views.matrix_layout import Margins, MatrixLayout, arranged

MARGINS = Margins(40, 30, 20, 25, 36)


def grid(name, rows, columns, place):
    array = Array(name, 0, (rows, columns), np.dtype(np.float32), "input")
    return Grid(array, name, rows, columns, place, extent=(rows, columns))


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
def test_below_or_beside_each_other(shapes, size, beside):
    grids = tuple(grid(f"X{i}", *shape, (i, 0)) for i, shape in enumerate(shapes))
    found = arranged(grids, MARGINS, *size)
    places = [(0, i) if beside else (i, 0) for i in range(len(grids))]
    assert [g.place for g in found] == places
    layout, view = MatrixLayout(found, MARGINS), MatrixLayout(found, MARGINS).fit(*size)
    assert view.scale >= 0.99 * MatrixLayout(grids, MARGINS).fit(*size).scale
    boxes = [layout.box(g, view) for g in found]
    assert not any(a.intersects(b) for a in boxes for b in boxes if a is not b)
    assert arranged(found, MARGINS, *size) == found


def test_a_product_stays_as_it_is():
    grids = (grid("A", 9, 2, (1, 0)), grid("B", 2, 9, (0, 1)), grid("C", 9, 9, (1, 1)))
    assert arranged(grids, MARGINS, 900, 100) is grids
