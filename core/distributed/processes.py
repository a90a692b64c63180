"""Work spread over processes of this machine, each result as it comes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar, cast

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
    waiting = iter(enumerate(tasks))
    busy: dict[Connection, int] = {}  # each process's pipe, and the place of its task
    processes = []
    try:
        for place, task in islice(waiting, jobs):
            pipe, end = context.Pipe()
            processes.append(context.Process(target=_work, args=(function, end), daemon=True))
            processes[-1].start()
            end.close()  # so that the pipe ends where the process does
            with _its_death_told():
                pipe.send(task)
            busy[pipe] = place
        while busy:
            for pipe in cast(list[Connection], wait(list(busy))):
                place = busy.pop(pipe)
                with _its_death_told():
                    failure, found = pipe.recv()
                    for following, task in islice(waiting, 1):
                        pipe.send(task)
                        busy[pipe] = following
                if failure is not None:
                    raise failure
                yield place, found
    finally:
        for process in processes:
            process.kill()
            process.join()


@contextmanager
def _its_death_told() -> Iterator[None]:
    try:
        yield
    except (EOFError, ConnectionError):
        raise TilescopeError(
            "A process that did part of the work was ended, most likely because memory ran out: "
            "use fewer --jobs or smaller sizes."
        ) from None


def _work(function: Callable[[T], R], pipe: Connection) -> None:
    """In a process of its own: answers each task until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    with suppress(EOFError, ConnectionError):
        while True:
            task = pipe.recv()
            try:
                pipe.send((None, function(task)))
            except Exception as failure:  # noqa: BLE001 - the parent raises it
                failure.add_note(traceback.format_exc())
                pipe.send((failure, None))
