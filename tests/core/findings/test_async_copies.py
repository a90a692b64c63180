"""`cp.async` in flight: random programs against a model, and what findings say."""

from __future__ import annotations

import random

import numpy as np
import pytest

from core.emulator.scheduling import ORDERS
from core.trace import Trace
from tests.core.emulator.machines import line_of, trace_of

HEAD = r"""
#define COPY(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" \
    :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory")
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")
#define WAIT_ALL asm volatile("cp.async.wait_all;" ::: "memory")
"""
THREADS, SLOTS = 64, 10


def run(body: str, **options) -> Trace:
    source = (
        f'{HEAD}extern "C" __global__ void k(const float* in, float* out) {{\n'
        f"  __shared__ float s[{SLOTS}][{THREADS}]; int t = threadIdx.x; float sum = 0;\n"
        f"{body}\n  out[t] = sum;\n}}\n"
    )
    data = np.random.default_rng(3).random(SLOTS * THREADS, np.float32)
    arguments = {"in": data, "out": np.zeros(THREADS, np.float32)}
    return trace_of(source, arguments, block=THREADS, **options)


def program(seed: int) -> tuple[str, set[tuple[str, int]]]:
    """A random body, and what is wrong with it: kinds, and its lines from 0 on.

    Each copy has a slot of its own; a thread reads its own element, or one of the other warp.
    """
    dice = random.Random(seed)
    lines: list[str] = []
    wrong: set[tuple[str, int]] = set()
    group_of: dict[int, int] = {}  # by slot
    issued: dict[int, int] = {}  # when
    ended: dict[int, int] = {}  # when it was waited for
    committed, barrier, free = 0, -1, list(range(SLOTS))
    for now in range(48):
        what = dice.choice(["copy", "commit", "wait", "all", "sync", "own", "own", "far", "far"])
        if what == "copy" and free:
            slot = free.pop()
            group_of[slot], issued[slot] = committed, now
            lines.append(f"  COPY(&s[{slot}][t], in + {slot * THREADS} + t);")
        elif what in ("wait", "all"):
            left = dice.choice([0, 1, 1, 2]) if what == "wait" else 0
            committed += what == "all"
            for slot, group in group_of.items():
                if group < committed - left:
                    ended.setdefault(slot, now)
            lines.append(f"  WAIT({left});" if what == "wait" else "  WAIT_ALL;")
        elif what in ("own", "far") and issued:
            slot = dice.choice([*issued])
            at = "t" if what == "own" else "t ^ 32"
            end = ended.get(slot, now)
            if slot not in ended or (what == "far" and end > barrier):
                is_race = what == "far" and issued[slot] > barrier
                wrong.add(("race" if is_race else "not_awaited", now))
            lines.append(f"  sum += s[{slot}][{at}];")
        elif what == "sync":
            barrier = now
            lines.append("  __syncthreads();")
        else:
            committed += 1
            lines.append("  COMMIT;")
    return "\n".join(lines), wrong


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed > 1 else []) for seed in range(16)]
)
def test_random_programs_are_judged_as_by_the_model(seed):
    body, wrong = program(seed)
    assert wrong
    trace = run(body)
    first = line_of(trace.workload.source, "__shared__") + 1
    assert {(f.kind, f.line - first) for f in trace.findings} == wrong


def test_without_checks_nothing_is_in_flight():
    body, wrong = program(0)
    assert wrong
    assert run(body, checks=False).findings == ()


@pytest.mark.slow
@pytest.mark.parametrize("order", [order for order in ORDERS if order != "lockstep"])
def test_what_is_in_flight_does_not_depend_on_the_order_of_the_warps(order):
    for seed in range(16):
        body, wrong = program(seed)
        if all(kind == "not_awaited" for kind, _ in wrong):
            trace = run(body, order=order, seed=5)
            first = line_of(trace.workload.source, "__shared__") + 1
            assert {(f.kind, f.line - first) for f in trace.findings} == wrong, seed


def said(body: str) -> str:
    (finding,) = run(body).findings
    return finding.message


def test_the_wait_that_lets_a_group_be_pending_is_named():
    two = "COPY(&s[0][t], in + t); COMMIT;\nCOPY(&s[1][t], in + 64 + t); COMMIT;\n"
    message = said(two + "WAIT(1);\nsum = s[1][t];")
    assert message.startswith("Line 12: thread (0,0) of block (0,0) reads s[1,0] while its ")
    assert "asynchronous copy of line 10 may still write it; the cp.async.wait_group 1 " in message
    assert "in line 11 leaves the newest group in flight, which is this one: use 0, or" in message
    message = said(two + "WAIT(2);\nsum = s[0][t];")
    assert "the 2 newest groups in flight, of which this is number 2: use 1, or" in message


def test_a_copy_that_nobody_waits_for_wants_a_wait():
    message = said("COPY(&s[0][t], in + t); COMMIT; COMMIT;\nsum = s[0][t];")
    assert "it has not waited since (2 groups are pending): cp.async.wait_group 1 must" in message
    message = said("COPY(&s[0][t], in + t);\nsum = s[0][t];")
    assert "not waited since: cp.async.commit_group and cp.async.wait_group 0 must" in message
    message = said("COPY(&s[0][t], in + t); COMMIT;\n__syncthreads(); sum = s[0][63 - t];")
    assert "while thread (63,0)'s asynchronous copy of line 9 may still write it; thread" in message
    assert "cp.async.wait_group 0, and then a __syncthreads(), must come before." in message


def test_a_wait_for_no_group_wants_a_commit():
    message = said("COPY(&s[0][t], in + t);\nWAIT(0);\nsum = s[0][t];")
    assert "the cp.async.wait_group 0 in line 10 does not wait for it, because it was in" in message
    assert "cp.async.commit_group must come before that wait." in message


def test_what_only_its_thread_has_waited_for_wants_a_barrier():
    message = said("COPY(&s[0][t], in + t);\n__syncthreads();\nWAIT_ALL;\nsum = s[0][63 - t];")
    assert "thread (63,0) waits for it in line 11, and a __syncthreads() after that" in message
    message = said("COPY(&s[0][t], in + t);\nWAIT_ALL;\nsum = s[0][63 - t];")
    assert "no barrier after thread (63,0) waits for its copy of it (line 10); a " in message
    assert "__syncthreads() after that wait is missing." in message


def test_the_same_bytes_twice_are_no_fault():
    body = "COPY(&s[0][t % 32], in + t % 32); COMMIT;\nCOPY(&s[0][t % 32], in + t % 32); COMMIT;\n"
    assert run(body + "WAIT(0);\n__syncthreads();\nsum = s[0][t / 2];").findings == ()


def test_copies_that_nobody_waits_for_are_forgotten_when_others_replace_them():
    body = "#pragma unroll 1\nfor (int i = 0; i < 600; i++) { COPY(&s[0][t], in + t); COMMIT; }\n"
    assert run(body + "WAIT(0);\nsum = s[0][t];").findings == ()
    message = said(body + "WAIT(1);\nsum = s[0][t];")
    assert "leaves the newest group in flight" in message
