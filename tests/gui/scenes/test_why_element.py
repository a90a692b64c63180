"""Why an element has been loaded so often: every load in the record, and what the product needs."""

import numpy as np
import pytest

from core.ladder import load_ladder
from core.recording.record_launch import record
from core.user_files.launch_texts import FileLaunch, file_workload
from gui.scenes.session import Session
from gui.scenes.why_an_element_is_loaded import Fetched, explain_fetches
from gui.scenes.why_this_number import explain, topic_of_moment

LADDER = load_ladder()


@pytest.fixture(scope="module", params=["uncoalesced", "tiled_rect", "vectorised"])
def trace(request):
    sizes = {
        "uncoalesced": {"n": 11, "block_x": 8, "block_y": 4},
        "tiled_rect": {"m": 5, "k": 7, "n": 6, "tile": 4},
        "vectorised": {},
    }
    return record(LADDER[request.param].workload(**sizes[request.param]), blocks=[0])


def counted(block, array, flat, step):
    """Lanes that load an element up to a step, from the accesses' addresses alone."""
    found = []
    address = array.base + flat * array.dtype.itemsize
    for at in block.access_steps[block.access_steps <= step]:
        access = block.access(int(at))
        if access.space == "global" and access.kind == "load":
            first = access.addresses
            hit = access.active & (first <= address) & (address < first + access.width)
            found += [(int(at), int(thread)) for thread in np.flatnonzero(hit)]
    return found


@pytest.mark.slow
def test_every_load_is_listed_and_added_up(trace):
    block, rng = trace.block(0), np.random.default_rng(3)
    array = trace.arrays[0]
    for _ in range(4):
        flat = int(rng.integers(np.prod(array.shape)))
        step = int(rng.integers(block.n_steps))
        loads = counted(block, array, flat, step)
        found = explain_fetches(trace, block, Fetched(array.name, array.index(flat)), step)
        listed = found.sections[0]
        assert listed.heading == f"Times loaded = {len(loads)}"
        requests = {(at, thread // 32) for at, thread in loads}
        rows = [line for line in listed.lines if line.startswith("step")]
        assert len(rows) == min(len(requests), 24)
        assert sum(int(row.rpartition("+ ")[2]) for row in rows) == len(loads)
        for at, warp in requests:
            assert any(f"step {at} " in row and f"warp {warp} " in row for row in rows)
        address = array.base + flat * 4
        assert f"= 0x{address:x}" in found.text


def test_a_tile_serves_what_each_thread_fetched_for_itself():
    words = {}
    for name, sizes in (
        ("coalesced", {"n": 8, "block_x": 4, "block_y": 4}),
        ("tiled", {"n": 8, "tile": 4}),
    ):
        trace = record(LADDER[name].workload(**sizes), blocks=[0])
        block = trace.block(0)
        words[name] = explain_fetches(trace, block, Fetched("B", (6, 2)), block.n_steps - 1).text
    assert "4 elements in column 2 of C" in words["coalesced"]
    assert "4 uses / 4 loads = 1 for each load" in words["coalesced"]
    assert "Each of them has its own load of it." in words["coalesced"]
    assert "share one fetch of it: 4 loads in 1 request." in words["coalesced"]  # one warp's lanes
    assert "share one fetch" not in words["tiled"]
    assert "4 uses / 1 load = 4 for each load" in words["tiled"]
    assert "from there 4 times so far" in words["tiled"]


PASSES = """
__global__ void passes(const float* A, const float* B, float* C, int N) {
    int i = threadIdx.x;
    for (int pass = 0; pass < 4; ++pass) {
        int j = COLUMNS * (4 * threadIdx.y + pass);
        float s = 0.0f, t = 0.0f;
        for (int k = 0; k < N; ++k) {
            float a = A[i * N + k];
            s += a * B[k * N + j];
            if (COLUMNS == 2) t += a * B[k * N + j + 1];
        }
        C[i * N + j] = s;
        if (COLUMNS == 2) C[i * N + j + 1] = t;
    }
}
"""


@pytest.mark.parametrize(
    ("columns", "reason"), [(1, "its own load of it"), (2, "serves several of them")]
)
def test_the_reason_is_the_whole_blocks_and_not_that_of_its_part(columns, reason):
    """Threads that load an element in each of four passes, for one or two columns of C."""
    n = 8 * columns
    shapes = {"A": f"float32[12,{n}]", "B": f"float32[{n},{n}]", "C": f"float32[12,{n}]"}
    texts = (*shapes.items(), ("N", str(n)))
    asked = FileLaunch("passes.cu", "passes", "1", "12,2", "0", f"COLUMNS={columns}", texts)
    trace = record(file_workload(PASSES, asked))
    block, array, rng = trace.block(0), trace.arrays[0], np.random.default_rng(8)
    for _ in range(3):
        index = (int(rng.integers(12)), int(rng.integers(n)))
        every = counted(block, array, index[0] * n + index[1], block.n_steps)
        steps = sorted({step for step, _ in every})
        assert (len(every), len(steps)) == (8, 4)
        for step in (*steps, block.n_steps - 1):
            so_far = sum(at <= step for at, _ in every)
            found = explain_fetches(trace, block, Fetched("A", index), step)
            why = next(s for s in found.sections if s.heading == "Why that many")
            assert reason in why.text
            assert why.lines[0] == f"{n} uses / 8 loads = {n // 8} for each load"
            assert why.lines[1:] == ((f"so far {so_far} of 8 loads",) if so_far < 8 else ())
            assert f"computes {n} elements in row {index[0]} of C" in why.text


def test_what_is_in_shared_memory_and_not_read_yet_is_not_said_to_serve():
    trace = record(LADDER["tiled_rect"].workload(m=9, k=7, n=10, tile=8), blocks=[0])
    block, array = trace.block(0), trace.arrays[0]
    first, last = counted(block, array, 2 * 7 + 3, block.n_steps)[0][0], block.n_steps - 1
    texts = [explain_fetches(trace, block, Fetched("A", (2, 3)), at).text for at in (first, last)]
    assert "it is put into shared memory; no lane has loaded it from there yet." in texts[0]
    assert "lanes have loaded it from there 8 times so far" in texts[1]
    assert all("8 uses / 1 load = 8 for each load" in text for text in texts)


@pytest.mark.slow
def test_the_question_follows_the_step_and_survives_another_launch(trace):
    session = Session()
    session.trace = trace
    name = trace.arrays[0].name
    session.update(element=(name, tuple(s - 1 for s in trace.arrays[0].shape)))
    assert topic_of_moment(session) != Fetched(*session.element)
    session.heat = True
    topic = topic_of_moment(session)
    assert topic == Fetched(*session.element)
    session.step = 0
    assert "No lane of this block has loaded it" in explain(session, topic).text
    session.step = session.n_steps - 1
    assert f"up to step {session.step}" in explain(session, topic).title
    gone = Fetched(name, tuple(s + 9 for s in trace.arrays[0].shape))
    assert "no such element" in explain(session, gone).title
