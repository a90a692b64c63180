"""Damaged PTX ends in a clear error, or runs: never another exception, never a hang.

A case is one damaged text with a seed of its own: parsed, made an image (all its functions
decoded), and run for a small budget of instructions; every fourth goes through
`core.recording.record_launch.record`, with its checkers and findings. By default 1,600 cases;
TILESCOPE_FUZZ=10 runs ten times as many, with further seeds (CONTRIBUTING.md).
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from core.emulator.geometry import Geometry
from core.emulator.launch_image import Image
from core.emulator.machine import Limits, Machine
from core.errors import PtxSyntaxError, TilescopeError, UnsupportedPtx
from core.ptx.parser import parse
from core.recording.record_launch import record
from tests.core.fuzz.mutations import mutated
from tests.core.fuzz.texts import NAMES, Text, as_build, text_with_debug_information, texts

resource = pytest.importorskip("resource", reason="limits of time and memory are POSIX's")
TIMES = int(os.environ.get("TILESCOPE_FUZZ", "1"))
RUNS = 8 * TIMES
CASES = 200  # in each run
SECONDS = 5.0  # of processor time; a case takes some milliseconds
MEMORY = 4 << 30  # address space that a case may take beside what is in use
STATM = Path("/proc/self/statm")
BUDGET = Limits(instructions=500)


class Hang(BaseException):
    """Not an `Exception`, so that nothing swallows it."""


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Raises `Hang` where a case takes too long."""

    def ring(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.fixture(autouse=True, scope="module")
def limited_memory() -> Iterator[None]:
    """An array of absurd size fails at once instead of taking the machine with it."""
    if not STATM.exists():
        yield
        return
    used = int(STATM.read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def execute(text: Text, ptx: str, whole: bool) -> None:
    if whole:
        workload, build = as_build(text, ptx)
        record(workload, build=build, limits=BUDGET)
        return
    image = Image(parse(ptx), "k", text.launch)
    for function in image.module.functions.values():
        if function.end_pc > function.first_pc:
            image.code(function)
    Machine(image, Geometry(text.launch.grid, text.launch.block, np.arange(1)), limits=BUDGET).run()


def case(text: Text, ptx: str, whole: bool, name: str) -> str:
    """Runs one case; "ran", or the class of its error."""
    try:
        with watched():
            execute(text, ptx, whole)
    except TilescopeError as error:
        assert len(str(error)) > 10  # noqa: PT017
        if isinstance(error, PtxSyntaxError | UnsupportedPtx):
            assert 1 <= error.line <= ptx.count("\n") + 1, (name, ptx)  # noqa: PT017
        return type(error).__name__
    except (Exception, Hang) as error:
        raise AssertionError(f"case {name}: {type(error).__name__}: {error}\n{ptx}") from error
    return "ran"


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_undamaged_texts_run(number) -> None:
    text = texts()[number]
    assert text.name == NAMES[number]
    assert case(text, text.ptx, True, text.name) == "ran"


@pytest.mark.slow
@pytest.mark.parametrize("run", range(RUNS))
def test_damaged_text_ends_in_a_clear_error(run) -> None:
    ends: dict[str, int] = {}
    for number in range(CASES):
        rng = random.Random(f"damage {run} {number}")
        text = rng.choice(texts())
        name = f"{run}.{number} ({text.name})"
        end = case(text, mutated(text.ptx, rng), number % 4 == 0, name)
        ends[end] = ends.get(end, 0) + 1
    assert {"ran", "PtxSyntaxError", "UnsupportedPtx"} <= ends.keys(), ends  # no kind starved


@pytest.mark.slow
def test_damaged_debug_information() -> None:
    text = text_with_debug_information()
    for number in range(50 * TIMES):
        rng = random.Random(f"debug {number}")
        case(text, mutated(text.ptx, rng), True, f"debug {number}")
