"""What parameters a rung accepts, and with which its blocks have fewer threads."""

from __future__ import annotations

from random import Random

import pytest

from core.errors import ParameterError
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


VALUES = (-1, 0, 1, 2, 3, 5, 8, 16, 31, 32, 33, 64, 65, 100, 1024, 1025, 4096, 65535, 10**6, 2**31)


@pytest.mark.parametrize("name", LADDER.names)
def test_accepts_as_check_does(name: str) -> None:
    rung, random, seen = LADDER[name], Random(name), {True: 0, False: 0}
    for _ in range(300):
        usual = random.random() < 0.5
        values = {
            p.name: p.default if usual and random.random() < 0.7 else random.choice(VALUES)
            for p in rung.parameters
        }
        try:
            rung.check(**values)
            fits = True
        except ParameterError:
            fits = False
        assert rung.accepts(**values) == fits, values
        seen[fits] += 1
    assert min(seen.values()) > 5  # or this tests half of it


def test_unknown_names_are_not_accepted() -> None:
    assert not LADDER["tiled"].accepts(n=64, width=3)
