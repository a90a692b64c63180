"""Work spread over processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from core.errors import TilescopeError
from core.many.processes import spread


def double(value: int) -> tuple[int, int]:
    time.sleep(0.02 * (value % 3))
    return 2 * value, os.getpid()


def fail(value: int) -> int:
    raise TilescopeError(f"{value} is refused.")


def die(value: int) -> int:
    os._exit(7)


def test_every_task_is_done_once_in_several_processes() -> None:
    found = dict(spread(double, range(12), 3))
    assert {place: value for place, (value, _) in found.items()} == {n: 2 * n for n in range(12)}
    pids = {pid for _, pid in found.values()}
    assert os.getpid() not in pids


def test_one_job_works_here() -> None:
    assert {pid for _, (_, pid) in spread(double, [4, 5], 1)} == {os.getpid()}
    assert list(spread(double, [], 3)) == []


@pytest.mark.parametrize(("work", "sentence"), [(fail, "is refused"), (die, "was ended")])
def test_failures_are_sentences_and_nothing_stays(work, sentence) -> None:
    with pytest.raises(TilescopeError, match=sentence):
        list(spread(work, range(4), 2))
    for child in multiprocessing.active_children():
        child.join(5)
    assert not multiprocessing.active_children()


def test_who_leaves_early_ends_the_processes() -> None:
    for _ in spread(double, range(500), 2):
        break
    for child in multiprocessing.active_children():
        child.join(5)
    assert not multiprocessing.active_children()
