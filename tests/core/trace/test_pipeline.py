"""A block's pipeline is read from its record: stages, fillings, and who waits for which phase."""

from dataclasses import replace

import numpy as np
import pytest

from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace
from core.trace.pipeline import MOST_ACTORS, Pipeline, pipeline

LADDER = load_ladder()


def made(trace, block=0):
    return pipeline(trace.block(block), trace.shared_arrays)


def of_rung(name, kind="as_written", **parameters):
    return record(LADDER[name].workload(**parameters), kind=kind, blocks=[0])


def fills(found, *kinds):
    return [m for m in found.moments if m.kind in kinds]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
def test_a_ring_between_a_producer_and_consumers(kind):
    stages, k = 3, 64 * 7
    found = made(of_rung("warp_specialised", kind, m=64, k=k, n=64, stages=stages))
    assert len(found.stages) == stages
    assert {stage.nbytes for stage in found.stages} == {2 * 64 * 64 * 2}
    assert [actor.role for actor in found.actors] == ["producer", "consumer", "consumer"]
    assert found.actors[0].warps == (4,)
    begun = fills(found, "fill")
    assert [m.stages for m in begun] == [(i % stages,) for i in range(7)]
    assert {(m.how, m.count, m.warps) for m in begun} == {("TMA box", 2, (4,))}
    assert [(m.stages, m.barrier, m.phase) for m in fills(found, "land")] == [
        ((i % stages,), f"full[{i % stages}]", i // stages) for i in range(7)
    ]
    read = fills(found, "read")
    assert [m.stages for m in read] == [(i % stages,) for i in range(7)]
    assert {(m.how, m.count) for m in read} == {("wgmma", 4)}
    # Who fills a stage again waits until it was read; in the first round for nothing.
    held = [m for m in found.moments if m.kind == "pass" and m.warps == (4,)]
    assert [(m.barrier, m.phase) for m in held] == [
        (f"empty[{i % stages}]", i // stages - 1) for i in range(7)
    ]
    assert all(0 <= f.begin < f.ready for f in found.fillings)
    for number, m in enumerate(found.moments):
        if m.kind == "read":
            (holds,) = (found.held(stage, number) for stage in m.stages)
            assert holds.ready < number


def test_steps_ascend_and_are_those_of_the_block():
    trace = of_rung("tma_pipeline", m=64, n=64, k=200)
    found, block = made(trace), trace.block(0)
    assert (found.steps[1:] >= found.steps[:-1]).all()
    assert 0 <= found.steps[0] <= found.steps[-1] < block.n_steps
    for place, moment in enumerate(found.moments):
        if moment.kind == "fill":
            copy = trace.instructions[block.pc[moment.step]]
            assert copy.opcode == "cp"
            assert {"async", "bulk"} <= {*copy.modifiers}
        assert found.moments[found.at(moment.step)].step == moment.step
        assert found.at(moment.step) >= place
    assert found.at(-1) == -1


@pytest.mark.slow
def test_the_same_of_a_saved_trace(tmp_path):
    trace = of_rung("clustered", m=128, k=136, n=64)
    save_trace(trace, tmp_path / "t.npz")
    assert made(load_trace(tmp_path / "t.npz")) == made(trace)


@pytest.mark.slow
def test_blocks_of_a_cluster_fill_each_others_stages():
    trace = record(LADDER["clustered"].workload(m=128, k=72, n=64))
    for block in (0, 1):
        found = made(trace, block)
        origins = {m.origin for m in found.moments if m.kind == "fill"}
        assert origins == {-1, 1 - block}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rung", "parameters", "stages", "how"),
    [
        ("double_buffered", {}, 2, "cp.async"),
        ("tuned", {}, 3, "cp.async"),
        ("tensor_half", {}, 3, "cp.async"),
        ("tiled", {"n": 8, "tile": 4}, 1, "st.shared"),
        ("wgmma", {"m": 64, "n": 64, "k": 136}, 1, "cp.async"),
    ],
)
def test_older_pipelines(rung, parameters, stages, how):
    found = made(of_rung(rung, **parameters))
    assert isinstance(found, Pipeline)
    assert len(found.stages) == stages
    begun = fills(found, "fill")
    assert {m.how for m in begun} == {how}
    numbers = [m.filling for m in begun]
    assert numbers == sorted(numbers)
    assert {m.stages: None for m in begun if m.filling < stages}.keys() == {
        (i,) for i in range(stages)
    }
    assert all(m.stages == (m.filling % stages,) for m in begun)
    if how == "cp.async":  # there only once they are awaited
        assert all(f.ready > f.begin for f in found.fillings if f.ready >= 0)


DOUBLE = """
extern "C" __global__ void doubled(const float* in, float* out, int n)
{
    __shared__ float ring[2][64];
    ring[0][threadIdx.x] = in[threadIdx.x];
    float sum = 0;
    for (int phase = 0; phase < n; phase++) {
        __syncthreads();
        if (phase + 1 < n)
            ring[(phase + 1) % 2][threadIdx.x] = in[(phase + 1) * 64 + threadIdx.x];
        sum += ring[phase % 2][63 - threadIdx.x];
    }
    out[threadIdx.x] = sum;
}
"""


def test_plain_stores_into_two_buffers():
    rng = np.random.default_rng(5)
    arguments = (
        ArrayArgument("in", rng.random(5 * 64, np.float32), "input"),
        ArrayArgument("out", np.zeros(64, np.float32), "output"),
        ScalarArgument("n", np.int32(5)),
    )
    work = Workload("d", DOUBLE, "d.cu", "doubled", Launch(Dim3(1), Dim3(64), arguments))
    found = made(record(work))
    assert [stage.pieces for stage in found.stages] == [((0, 256),), ((256, 512),)]
    assert [m.stages for m in fills(found, "fill")] == [(i % 2,) for i in range(5)]
    assert [m.stages for m in fills(found, "read")] == [(i % 2,) for i in range(5)]


WAITS_FOR_ALL = """extern "C" __global__ void turned(const float *in, float *out, int n)
{
    __shared__ float part[2][32];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = 0; i < n; ++i) {
        unsigned to = (unsigned)__cvta_generic_to_shared(&part[i % 2][t]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + 32 * i + t));
        COMMIT
        asm volatile("cp.async.wait_all;");
        __syncthreads();
        sum += part[i % 2][31 - t];
        __syncthreads();
    }
    out[t] = sum;
}
"""


@pytest.mark.parametrize("commit", ["", 'asm volatile("cp.async.commit_group;");'])
def test_a_wait_for_all_awaits_copies_that_no_group_has_yet(commit):
    rng = np.random.default_rng(6)
    arguments = (
        ArrayArgument("in", rng.random(5 * 32, np.float32), "input"),
        ArrayArgument("out", np.zeros(32, np.float32), "output"),
        ScalarArgument("n", np.int32(5)),
    )
    source = WAITS_FOR_ALL.replace("COMMIT", commit)
    found = made(
        record(Workload("t", source, "t.cu", "turned", Launch(Dim3(1), Dim3(32), arguments)))
    )
    waits = [place for place, m in enumerate(found.moments) if m.kind == "await"]
    assert [filling.ready for filling in found.fillings] == waits
    assert len(waits) == 5


def test_a_read_that_does_not_wait_comes_before_its_filling_is_there():
    work = LADDER["tma_pipeline"].workload(m=64, n=64, k=200)
    wrong = work.source.replace("phase / STAGES % 2", "(phase / STAGES + 1) % 2")
    assert wrong != work.source
    found = made(record(replace(work, source=wrong), kind="as_compiled"))
    early = [
        place
        for place, m in enumerate(found.moments)
        if m.kind == "read" and not 0 <= found.held(m.stages[0], place).ready <= place
    ]
    assert early


@pytest.mark.parametrize(
    ("rung", "words"),
    [("coalesced", "no shared memory"), ("transpose_tiled", "filled only once")],
)
def test_kernels_without_one_say_so(rung, words):
    said = made(of_rung(rung))
    assert isinstance(said, str)
    assert words in said
    assert said.endswith(".")
    assert "\n" not in said


@pytest.mark.slow
def test_there_are_few_rows_of_warps():
    found = made(of_rung("tuned"))
    assert 0 < len(found.actors) <= MOST_ACTORS
    warps = [w for actor in found.actors for w in actor.warps]
    assert len(warps) == len(set(warps))


def test_what_copies_bring_is_seen_in_shared_memory_when_they_land():
    """Undoing the swizzle by the descriptor's rule gives the tile of A, from when it is there."""
    trace = of_rung("tma_pipeline", m=64, n=64, k=136)
    found, block = made(trace), trace.block(0)
    given = next(a.data for a in trace.workload.launch.arrays if a.name == "A")
    (array,) = (a for a in trace.shared_arrays if a.name == "shared")
    lands = [m for m in found.moments if m.kind == "land"]
    assert len(lands) == 3
    for phase, moment in enumerate(lands):
        first = found.stages[moment.stages[0]].pieces[0][0]
        before = block.shared(moment.step - 1)["shared"].written
        after = block.shared(moment.step + 1)["shared"]
        assert after.written[first - array.offset : first - array.offset + 64 * 128].all()
        assert phase > 1 or not before[first - array.offset]
        raw = after.values.view(np.uint8)[first - array.offset :][: 64 * 128].reshape(64, 8, 16)
        rows = np.arange(64)[:, None]
        undone = raw[rows, np.arange(8)[None, :] ^ (rows % 8)].reshape(64, 128).view(np.float16)
        wanted = np.zeros((64, 64), np.float16)
        part = given[:64, phase * 64 : phase * 64 + 64]
        wanted[:, : part.shape[1]] = part
        np.testing.assert_array_equal(undone, wanted)
