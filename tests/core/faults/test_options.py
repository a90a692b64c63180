"""Switching the checks off, other orders of the warps, the optimised build, and broken rungs."""

from dataclasses import replace

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import find_entry
from core.emulator.scheduling import ORDERS, Schedule
from core.errors import ParameterError
from core.ladder import load_ladder
from core.ptx.parser import without_unreached
from core.recording.record_launch import record
from tests.core.faults.cases import CASES, build_for, places, run, workload

LADDER = load_ladder()
BROKEN = [rung for rung in LADDER.values() if rung.group == "broken"]
CLEAN = [case for case in CASES if not case.expected]
OTHERS = [order for order in ORDERS if order != "lockstep"]


def case_of(kernel):
    return next(case for case in CASES if case.kernel == kernel)


def error_of(trace):
    (truth,) = trace.workload.expected().values()
    return float(np.max(np.abs(trace.outputs["C"].astype(np.float64) - truth)))


def same_outputs(one, other):
    return all(
        np.array_equal(data, other.outputs[name], equal_nan=data.dtype.kind == "f")
        for name, data in one.outputs.items()
    )


@pytest.mark.slow
def test_without_checks_only_what_a_gpu_would_stop_for_is_found():
    assert run(case_of("reverse"), checks=False).findings == ()
    assert run(case_of("shared_never_written"), checks=False).findings == ()
    for kernel in ("past_end_store", "barrier_in_branch", "nobody_sets", "trapped"):
        assert run(case_of(kernel), checks=False).findings
    assert run(case_of("reverse")).checked
    assert not run(case_of("reverse"), checks=False).checked


@pytest.mark.slow
def test_checks_change_no_result():
    for kernel in ("reverse", "past_end_store", "barrier_in_branch", "scan", "last_block"):
        case = case_of(kernel)
        assert same_outputs(run(case), run(case, checks=False))


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted({case.file for case in CLEAN}))
def test_no_false_alarm_in_the_optimised_build(file):
    for case in CLEAN:
        if case.file == file:
            build = build_for(case, "as_compiled")
            # Of all kernels of the file the assembler's work would be followed anew each time.
            alone = without_unreached(build.ptx, find_entry(build, case.kernel))
            trace = record(workload(case), build=replace(build, ptx=alone))
            assert trace.findings == (), case.kernel


ORDERED = ["reduction_ok", "double_buffer_ok", "last_block_by_all_ok", "fence_then_barrier_ok",
           "message_back_ok", "locked_ok", "grid_barrier_ok", "shuffle_orders_ok", "scan_ok",
           "syncwarps_of_two_branches_ok", "lock_free_flag_ok"]  # fmt: skip


IN_ORDERS = [
    pytest.param(
        kernel,
        order,
        id=f"{kernel}-{order}",
        marks=[] if (row + column) % len(OTHERS) == 0 else [pytest.mark.slow],
    )
    for row, kernel in enumerate(ORDERED)
    for column, order in enumerate(OTHERS)
]


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "order"), IN_ORDERS)
def test_a_clean_kernel_gives_the_same_in_every_order(kernel, order):
    case = case_of(kernel)
    trace = run(case, order=order, seed=4)
    assert trace.findings == ()
    assert same_outputs(trace, run(case))


PIPELINES = [case for case in CASES if case.file == "pipelines.cu"]


@pytest.mark.parametrize(
    ("case", "order"),
    [
        pytest.param(
            case,
            order,
            id=f"{case.kernel}-{order}",
            marks=[] if (row + column) % len(OTHERS) == 0 else [pytest.mark.slow],
        )
        for row, case in enumerate(PIPELINES)
        for column, order in enumerate(OTHERS)  # in lockstep they are run with all cases
    ],
)
def test_producers_and_consumers_are_judged_alike_in_every_order(case, order):
    assert places(run(case, order=order, seed=2)) == case.expected


HOPPER = [case for case in CASES if case.file == "warpgroups.cu"]


@pytest.mark.slow
@pytest.mark.parametrize("case", HOPPER, ids=lambda c: c.kernel)
def test_products_are_judged_alike_in_every_order(case):
    for order in OTHERS:  # one after the other: the kernel is read once
        assert places(run(case, order=order, seed=1)) == case.expected, order


# A plain race is found at one of its two ends, which depends on the order.
COPIES = [
    case
    for case in CASES
    if case.file in ("async_copies.cu", "library_copies.cu")
    if "race" not in {kind for kind, _, _ in case.expected}
]


def test_there_are_enough_copies():
    assert sum(bool(case.expected) for case in COPIES) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("case", COPIES, ids=lambda c: c.kernel)
def test_asynchronous_copies_are_judged_alike_in_every_order(case):
    for order in OTHERS:
        assert places(run(case, order=order, seed=2)) == case.expected, order


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted({case.file for case in COPIES}))
def test_asynchronous_copies_are_judged_alike_in_the_optimised_build(file):
    for case in COPIES:
        if case.file == file and case.expected:
            build = build_for(case, "as_compiled")
            alone = without_unreached(build.ptx, find_entry(build, case.kernel))
            trace = record(workload(case), build=replace(build, ptx=alone))
            assert places(trace) == case.expected, case.kernel


@pytest.mark.parametrize("rung", BROKEN, ids=lambda r: r.name)
class TestBrokenRungs:
    def test_the_faults_are_those_that_the_registry_names(self, rung):
        kinds = {finding.kind for finding in record(rung.workload()).findings}
        assert kinds == set(rung.faults)

    def test_a_race_changes_the_answer_with_the_order(self, rung):
        orders = [record(rung.workload(), order=order, seed=3) for order in OTHERS]
        lockstep = record(rung.workload())
        if rung.faults == ("race",):
            assert error_of(lockstep) < 1e-5
            assert not all(error_of(trace) < 1e-2 for trace in orders)
        else:
            assert all(same_outputs(trace, lockstep) for trace in orders)


def test_another_seed_is_another_order():
    answers = {
        record(LADDER["broken_reuse_barrier"].workload(), order="random", seed=seed)
        .outputs["C"]
        .tobytes()
        for seed in range(6)
    }
    again = {
        record(LADDER["broken_reuse_barrier"].workload(), order="random", seed=0)
        .outputs["C"]
        .tobytes()
        for _ in range(2)
    }
    assert len(answers) > 2
    assert len(again) == 1


def test_one_phase_needs_no_second_barrier():
    assert record(LADDER["broken_reuse_barrier"].workload(n=8, tile=8)).findings == ()


def test_the_barrier_in_the_inner_loop_costs_stores_and_barriers():
    right = record(LADDER["tiled"].workload(n=16, tile=8))
    wrong = record(LADDER["broken_inner_barrier"].workload(n=16, tile=8))
    stores = [t.counters.totals["global_st_requests"].value for t in (right, wrong)]
    assert stores[1] == 2 * stores[0]
    assert np.array_equal(right.outputs["C"], wrong.outputs["C"])


def test_no_bounds_guard_hurts_only_where_the_tile_does_not_divide():
    assert record(LADDER["broken_bounds"].workload(n=4, tile=2)).findings == ()
    trace = record(LADDER["broken_bounds"].workload())
    assert {f.array for f in trace.findings if f.kind == "out_of_bounds"} == {"A", "B", "C"}
    assert not error_of(trace) < 0.1


def test_unknown_order_is_refused():
    with pytest.raises(ParameterError, match="lockstep, round_robin, warp_by_warp, random"):
        record(LADDER["tiled"].workload(), order="backwards")


def test_turns():
    ready = [0, 1, 4]
    assert [Schedule("warp_by_warp", 0).turn(ready) for _ in range(3)] == [(0, 0)] * 3
    robin = Schedule("round_robin", 0)
    assert [robin.turn(ready) for _ in range(4)] == [(0, 1), (1, 1), (4, 1), (0, 1)]
    chance = Schedule("random", 5)
    assert {chance.turn(ready)[0] for _ in range(40)} == set(ready)


def test_a_deadlock_keeps_the_trace_up_to_there():
    trace = run(case_of("different_numbers"))
    assert trace.outputs["y"].tolist() == [1] * 128
    assert trace.recorded_blocks == (0, 1)
    assert trace.block(0).n_steps > 4
    assert {f.block for f in trace.findings} == {0}
    assert [f.count for f in trace.findings] == [64, 64]


def test_after_a_fault_the_others_go_on():
    trace = run(case_of("trapped"))
    assert trace.outputs["y"][9] == 77
    for array in trace.outputs.values():
        assert np.array_equal(np.delete(array, 9), np.delete(trace.outputs["x"], 9))
    stored = run(case_of("past_end_store")).outputs["y"]
    assert np.array_equal(stored, np.arange(50, dtype=np.float32))


def test_only_recorded_blocks_have_a_step():
    case = case_of("past_end_store")
    (first,) = run(case, blocks=[0]).findings
    assert (first.block, first.step) == (1, -1)
    (second,) = run(case, blocks=[1]).findings
    assert (second.block, second.index) == (1, (50,))
    assert second.step > 0
