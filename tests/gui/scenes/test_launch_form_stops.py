"""Where a parameter's slider stops."""

import itertools

import pytest

from core.errors import ParameterError
from gui.scenes.launch_edits import candidates, moved, place_of, reach_text, spread, stops


def fits(rung, **values):
    try:
        rung.check(**values)
    except ParameterError:
        return False
    return True


def test_every_stop_of_every_rung_can_be_launched(ladder):
    for rung in ladder.values():
        wide = []
        for parameter in rung.parameters:
            found = stops(rung, parameter.name, rung.defaults)
            assert parameter.default in found
            assert list(found) == sorted(set(found))
            for value in found:
                rung.check(**{**rung.defaults, parameter.name: value})
            if len(found) > 1:
                wide.append(parameter.name)
        assert {"n", "m"} & set(wide), f"{rung.name}: no size can be dragged"
        assert len(wide) >= 2, f"{rung.name}: only {wide} can be dragged"


def test_a_tile_divides_n_where_the_kernel_needs_it(ladder):
    tiled = ladder["tiled"]
    assert stops(tiled, "tile", {"n": 12, "tile": 4}) == (1, 2, 3, 4, 6, 12)
    assert stops(tiled, "n", {"n": 12, "tile": 3})[:4] == (3, 6, 9, 12)
    assert stops(ladder["tiled_bounds"], "tile", {"n": 12, "tile": 4}) == tuple(range(1, 33))


def test_a_value_that_cannot_be_launched_stays_where_it_is(ladder):
    assert not fits(ladder["tiled"], n=10, tile=4)
    found = stops(ladder["tiled"], "n", {"n": 10, "tile": 4})
    assert [n for n in found if n <= 12] == [4, 8, 10, 12]


def test_padding_has_every_value_up_to_the_banks(ladder):
    pad = next(p for p in ladder["aat_padded"].parameters if p.name == "pad")
    assert candidates(pad) == tuple(range(33))


def test_an_offset_has_every_value_and_a_block_powers_of_two(ladder):
    copy = {p.name: p for p in ladder["copy_offset"].parameters}
    assert candidates(copy["offset"]) == tuple(range(33))
    assert candidates(copy["block_x"]) == (32, 64, 128, 256, 512, 1024)


@pytest.mark.parametrize(("low", "high"), [(1, 4096), (1, 20), (5, 32), (3, 100), (40, 1000)])
def test_stops_are_dense_where_small_and_of_equal_ratio_where_large(low, high):
    found = spread(low, high)
    assert (found[0] >= low, found[-1]) == (True, high)
    assert all(a < b for a, b in itertools.pairwise(found))
    assert set(range(low, min(high, 32) + 1)) <= set(found)
    for a, b in itertools.pairwise(found):
        assert b - a <= max(a / 8, 1)
    assert {64, 128, 1024} & set(range(low, high + 1)) <= set(found)


def test_places_and_moves():
    among = (2, 4, 8, 16)
    assert [place_of(v, among) for v in (1, 2, 5, 16, 99)] == [0, 0, 1, 3, 3]
    assert [moved(v, 1, among) for v in (1, 4, 5, 16, 99)] == [2, 8, 8, 16, 16]
    assert [moved(v, -1, among) for v in (1, 4, 5, 99)] == [2, 2, 4, 16]
    assert moved(2, 3, among) == 16
    assert moved(7, 1, ()) == 7


def test_the_reach_in_words():
    assert reach_text((4,)) == "only 4"
    assert reach_text((2, 4, 8)) == "2, 4 or 8"
    assert reach_text(range(1, 33)) == "1 to 32"
    assert reach_text((4, 8, 12, 16, 20, 24, 28)) == "4 to 28 in 7 stops"
