"""Blocks of fewer threads, for pictures that have a row a thread."""

import pytest

from core.ladder import load_ladder
from core.ladder.rung import smaller_block

LADDER = load_ladder()


@pytest.mark.parametrize(
    ("name", "parameters", "most", "expected"),
    [
        ("uncoalesced", {"block_x": 32, "block_y": 4}, 64, (8, 8, 1)),
        ("uncoalesced", {"block_x": 64, "block_y": 2}, 64, (8, 8, 1)),
        ("aat_shared", {"tile": 32}, 64, (8, 8, 1)),
        ("coalesced", {"block_x": 16, "block_y": 16}, 4, (2, 2, 1)),
        ("tiled", {"n": 48, "tile": 16}, 100, (8, 8, 1)),
    ],
)
def test_the_largest_and_squarest_that_is_small_enough(name, parameters, most, expected):
    rung = LADDER[name]
    block, changed = smaller_block(rung, parameters, most)
    assert (block.x, block.y, block.z) == expected
    now = rung.check(**parameters)
    assert {k for k in now if changed[k] != now[k]} <= {"block_x", "block_y", "tile"}
    made = rung.blank_workload(**changed).launch.block
    assert (made.x, made.y, made.z) == expected


def test_every_rung_with_large_blocks_has_one_or_none_that_works():
    for rung in LADDER.values():
        found = smaller_block(rung, {}, 16)
        if found is None:
            continue
        block, changed = found
        assert block.count <= 16
        assert rung.blank_workload(**changed).launch.block.count == block.count


def test_a_small_block_stays():
    assert smaller_block(LADDER["tiled"], {"n": 8, "tile": 4}, 64) is None
