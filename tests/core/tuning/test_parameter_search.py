"""Which candidates are timed, and in which order."""

from __future__ import annotations

import itertools
import sys

import pytest

from core.errors import TilescopeError
from core.gpu.benchmark_job import RungSubject
from core.gpu.sweep_plan import Point
from core.tuning.kernel_tuner_files import Entry
from core.tuning.parameter_search import Candidate, chosen_order


def candidates(count_a: int, count_b: int) -> list[Candidate]:
    found = []
    for a, b in itertools.product(range(count_a), range(count_b)):
        values = {"a": a, "b": b}
        found.append(Candidate(Point(RungSubject("tiled", values), "x", values), values))
    return found


def valley(one: Candidate) -> Entry:
    """Fastest at a = 7, b = 2; a = 3 cannot be launched."""
    a, b = one.values["a"], one.values["b"]
    if a == 3:
        return Entry(one.values, None, failure="refused")
    return Entry(one.values, 1.0 + (a - 7) ** 2 + 3 * (b - 2) ** 2)


def test_few_are_timed_all_in_the_order_of_the_scan() -> None:
    there = candidates(3, 2)
    assert [one for one, _ in chosen_order(there, 6, valley)] == there


@pytest.mark.filterwarnings("default")
def test_a_search_times_none_twice_and_begins_with_the_best_of_the_scan() -> None:
    pytest.importorskip("optuna")
    there = candidates(12, 9)
    for seed in (1, 2):
        found = list(chosen_order(there, 40, valley, seed=seed))
        keys = [tuple(one.values.values()) for one, _ in found]
        assert len(set(keys)) == len(keys) == 40
        assert [one for one, _ in found[:5]] == there[:5]
        assert all(one in there for one, _ in found)
        best = min(entry.time_ms for _, entry in found if entry.time_ms is not None)
        assert best <= 8.0  # of 1 to 137; the median is above 20


@pytest.mark.filterwarnings("default")
def test_a_search_takes_candidates_only() -> None:
    pytest.importorskip("optuna")
    there = [one for one in candidates(9, 9) if (one.values["a"] + one.values["b"]) % 3 == 0]
    found = list(chosen_order(there, len(there) - 1, valley, seed=3))
    assert len(found) == len(there) - 1
    assert all(one in there for one, _ in found)


def test_a_search_needs_optuna_and_says_so(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(TilescopeError, match=r"pip install optuna.*--trials 6"):
        list(chosen_order(candidates(3, 2), 5, valley))
