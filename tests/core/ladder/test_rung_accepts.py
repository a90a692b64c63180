"""`Rung.accepts` says what `Rung.check` does, for parameters good and bad."""

from __future__ import annotations

from random import Random

import pytest

from core.errors import ParameterError
from core.ladder import load_ladder

LADDER = load_ladder()
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
