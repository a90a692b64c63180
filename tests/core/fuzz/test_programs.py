"""Random well-formed PTX programs, thread by thread against a reference in Python.

A case is one program, run by 12 threads that start with registers of their own: integer and float
arithmetic, predicates, branches, loops, switches, calls, conversions, memory and atomics. By
default 250 cases; TILESCOPE_FUZZ=10 runs ten times as many (CONTRIBUTING.md).
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.launch import Dim3
from tests.core.emulator.machines import run_ptx
from tests.core.fuzz.accesses import MEMORY
from tests.core.fuzz.programs import (
    BLOCK,
    GRID,
    NAMES,
    THREADS,
    expected,
    program,
    value_of,
    word_of,
)

RUNS = 10
CASES = 25 * int(os.environ.get("TILESCOPE_FUZZ", "1"))


def check(seed: int) -> None:
    made = program(random.Random(f"program {seed}"))
    words = np.array(made.initial, np.uint64)
    memory = np.zeros(THREADS * MEMORY, np.uint8)
    found, kept = run_ptx(made.text, [words, memory], grid=Dim3(GRID), block=Dim3(BLOCK))
    for thread in range(THREADS):
        want, bytes_ = expected(made, thread)
        for name, before, after, value in zip(
            NAMES, made.initial[thread], found[thread].tolist(), want, strict=True
        ):
            got = word_of(name, value_of(name, after))
            assert got == value, (seed, thread, name, hex(before), hex(got), hex(value), made.text)
        if made.keeps_memory:
            own = kept[thread * MEMORY : (thread + 1) * MEMORY].tobytes()
            assert own == bytes_, (seed, thread, own.hex(), bytes_.hex(), made.text)


@pytest.mark.slow
@pytest.mark.parametrize("run", range(RUNS))
@settings(
    max_examples=CASES, derandomize=True, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(st.integers(0, 2**48))
def test_programs_do_what_the_reference_does(run, seed) -> None:
    check(RUNS * seed + run)
