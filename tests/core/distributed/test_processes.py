"""Work spread over processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time

import pytest

from core.distributed.processes import spread
from core.errors import TilescopeError


def double(value: int) -> tuple[int, int]:
    time.sleep(0.02 * (value % 3))
    return 2 * value, os.getpid()


def fail(value: int) -> int:
    raise TilescopeError(f"{value} is refused.")


def die(value: int) -> int:
    os._exit(7)


def end(value: int) -> int:
    raise EOFError(f"no more than {value}")


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
    assert not multiprocessing.active_children()


def test_who_leaves_early_ends_the_processes() -> None:
    for _ in spread(double, range(500), 2):
        break
    assert not multiprocessing.active_children()


def test_who_leaves_a_large_answer_unread_does_not_wait_for_it() -> None:
    """Nor does Python at its end: a pool of the standard library's waited for the rest for ever."""
    work = (
        "from core.distributed.processes import spread\nnext(spread(bytes, [1, 10**8, 10**8], 2))"
    )
    subprocess.run([sys.executable, "-c", work], check=True, timeout=120)


def test_what_a_function_raises_keeps_its_kind_and_its_lines() -> None:
    with pytest.raises(EOFError) as raised:
        list(spread(end, range(4), 2))
    assert "in end" in "".join(raised.value.__notes__)
