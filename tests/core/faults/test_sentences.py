"""What findings say: each sentence names what is wrong, and a cure that cures it."""

from __future__ import annotations

import re

from core.recording.record_launch import record
from tests.core.faults.cases import CASES, FOLDER, run, workload


def said(name: str) -> list[str]:
    """What is found in a kernel of this folder."""
    (case,) = (case for case in CASES if case.kernel == name)
    return [finding.message for finding in run(case).findings]


def test_a_copy_beyond_an_array_says_how_many_bytes_it_needs():
    (message,) = said("copy_beyond_array")
    assert "its copy needs 256 bytes from a[32] on, where 128 bytes are left." in message


def test_a_box_beyond_shared_memory_says_how_many_bytes_it_needs():
    (message,) = said("box_beyond_shared_memory")
    assert "its copy needs 1,024 bytes from tile[192] on, where 256 bytes are left." in message


def test_a_warp_of_which_one_lane_waits_multiplies_when_that_has_come():
    (message,) = said("product_where_one_thread_waits")
    assert "thread (32,0) of block (0,0) begins a matrix product that reads a[0]" in message


def test_a_race_in_the_memory_of_another_block_wants_a_barrier_of_the_cluster():
    (message,) = said("remote_read_without_barrier")
    assert (
        "reads s[0] with no barrier of their cluster after thread (0,0) of block (0,0)" in message
    )
    assert "a cluster.sync() (barrier.cluster, not .relaxed) between them is missing." in message
    assert "atomic" not in message


def test_a_race_of_two_blocks_in_global_memory_wants_both_to_be_atomic():
    (message,) = said("overlapping_tiles")
    assert "nothing orders two blocks; make both accesses atomic" in message


def test_a_plain_access_beside_an_atomic_is_named_and_the_atomic_is_called_one():
    (message,) = said("read_beside_atomics")
    assert "atomically updates it (line 297); the read is not atomic, and a __sync" in message
    assert "several blocks" not in message
    message = " ".join(said("plain_against_atomic"))
    assert "nothing orders two blocks; the read is not atomic: read it in a later" in message
    assert "make both accesses atomic" not in message
    (message,) = said("atomic_before_clear")
    assert "atomically updates bins" in message
    assert "; the write is not atomic, and a __syncthreads() between them" in message


def test_an_update_by_two_threads_wants_to_be_atomic_where_a_barrier_could_not_help():
    (case,) = (case for case in CASES if case.kernel == "reduction")
    source = (
        (FOLDER / case.file).read_text("utf-8").replace("s[t] += s[t + stride];", "s[t % 4]++;")
    )
    for order in ("lockstep", "warp_by_warp"):
        said_now = [f.message for f in record(workload(case, source), order=order).findings]
        assert any("; make the update atomic, with atomicAdd() or its like" in m for m in said_now)
    assert not any("atomic" in message for message in said("reduction"))


def test_a_volatile_load_that_a_fence_is_missing_for_wants_that_fence():
    (message,) = said("counted_sums")
    assert "reads sums[0], which thread (0,0) of block (0,0) stores" in message
    assert "; a __threadfence() between the two stores is missing." in message


def test_a_copy_that_another_thread_has_waited_for_wants_that_to_be_told():
    (message,) = said("reuse_without_barrier")
    wanted = "thread (0,0) has waited for it, and a __syncthreads() after that wait is missing."
    assert wanted in message
    (message,) = said("copied_flag_without_fence")
    assert "thread (0,0) of block (0,0) has waited for it, and must then execute " in message
    assert "__threadfence() and set a flag" in message


def test_a_copy_that_nobody_has_waited_for_wants_a_wait():
    for name in ("reuse_before_group_wait", "wait_without_commit"):
        (message,) = said(name)
        assert "; cp.async.bulk.wait_group must come before." in message
    (message,) = said("wait_for_all_but_one")
    assert "; wgmma.wait_group must come before." in message


def test_a_descriptor_whose_rows_overlap_says_how_far_apart_they_are():
    (message,) = said("rows_overlap")
    assert "a descriptor of A whose parts overlap" in message
    assert "its stride offset 512, and with a 128-byte swizzle eight rows take 1,024" in message
    (message,) = said("tile_beyond_shared")
    assert message.endswith("multiplies by a descriptor of A that leads beyond shared memory.")


def test_counts_of_one_barrier_that_differ_are_named():
    (message,) = said("counts_differ")
    assert "thread (64,0) of block (0,0) comes to barrier 1 with a count of 64 threads" in message
    assert "to which thread (0,0) came in line " in message
    assert message.endswith(
        "with 128; give all that meet there the same count. (128 threads like it.)"
    )


def test_an_mbarrier_that_others_cannot_know_of_yet_wants_the_barrier_that_is_missing():
    (message,) = said("init_without_barrier")
    assert "uses the mbarrier at bar[0] with no barrier after thread (0,0) (line " in message
    assert ") initialises it; a __syncthreads() between them is missing." in message
    for name in ("arrival_before_the_cluster_meets", "relaxed_meeting_without_init_fence"):
        (message,) = said(name)
        assert "of block (1,0) initialises it; a cluster.sync() (barrier.cluster; after " in message
        assert ".relaxed, fence.mbarrier_init too) between them is missing." in message
    (message,) = said("initialised_again_while_others_wait")
    assert "initialises the mbarrier at full[0] again with no barrier after thread (1,0)" in message


def test_what_has_written_over_an_mbarrier_is_named():
    (message,) = said("tile_over_a_barrier")
    assert "uses the mbarrier at s[240], over which the bulk copy of line " in message
    assert "has written; give it memory that nothing else writes to." in message
    first, _ = said("threads_write_over_a_barrier")
    assert "over which thread (61,0) (line " in first


def test_a_test_of_an_mbarrier_that_nobody_looks_at_wants_to_be_repeated():
    (message,) = said("one_try_and_no_loop")
    assert re.search(
        r"\(the mbarrier.try_wait in line \d+ must be repeated until it holds\)", message
    )


def test_a_product_after_writes_of_its_variables_wants_a_fence_behind_them():
    (message,) = said("no_fence_after_scaling")
    assert "begins a matrix product that uses d[0], which line " in message
    assert "has written since the last wgmma.fence; another wgmma.fence between" in message


def test_writes_of_global_memory_want_a_proxy_fence_of_global_memory():
    (message,) = said("narrow_fence_for_global_writes")
    assert "a fence.proxy.async.global of the writing threads is missing." in message


def test_registers_that_no_warpgroup_gives_up_are_counted():
    (message,) = said("more_registers_than_there_are")
    assert "for 248 registers a thread: with them the block's warps have 66,560" in message
    assert "it has at most 64,512, 168 for each thread of its launch" in message
    (message,) = said("registers_of_one_warp")
    assert "thread (0,0) of block (0,0) executes setmaxnreg, and thread (32,0)" in message


def test_without_bounds_of_the_block_registers_do_not_change():
    (case,) = (case for case in CASES if case.kernel == "more_registers_than_there_are")
    source = (FOLDER / case.file).read_text("utf-8").replace("__launch_bounds__(384, 1)", "")
    assert record(workload(case, source)).findings == ()
