"""Work spread over processes of this machine, each result as it comes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from core.errors import TilescopeError

T = TypeVar("T")
R = TypeVar("R")
Spreading = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[tuple[int, Any]]]
"""Gives each task's place and what a function makes of it, as they are done."""

_MOST_JOBS = 8
_TASKS_EACH = 4  # fewer take less time than a process takes to start


def usual_jobs(tasks: int) -> int:
    """How many processes so many tasks are worth, where nobody says."""
    return max(1, min(_MOST_JOBS, os.cpu_count() or 1, tasks // _TASKS_EACH))


def spread(function: Callable[[T], R], tasks: Sequence[T], jobs: int) -> Iterator[tuple[int, R]]:
    """Each task's place and what `function` gives for it, in the order in which they are done.

    With one job, or one task, the work is done in this process. The function is one of a module;
    tasks and results can be pickled. Whoever leaves early, with Ctrl-C too, ends the processes.
    Raises what the function raises, and TilescopeError where a process dies.
    """
    jobs = min(jobs, len(tasks))
    if jobs <= 1:
        for place, task in enumerate(tasks):
            yield place, function(task)
        return
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    pool = ProcessPoolExecutor(jobs, context, _leave_interrupts_to_the_parent)
    before = {child.pid for child in multiprocessing.active_children()}
    try:
        futures = {pool.submit(function, task): place for place, task in enumerate(tasks)}
        for future in as_completed(futures):
            yield futures[future], future.result()
        pool.shutdown()
    except BrokenProcessPool:
        raise TilescopeError(
            "A process that did part of the work was ended, most likely because memory ran out: "
            "use fewer --jobs or smaller sizes."
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            if child.pid not in before:
                child.terminate()


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
