"""The blocks of a small launch run at once, unless one of them sees what another does."""

import numpy as np
import pytest

from tests.core.emulator.machines import trace_of

APART = "out[i] = in[i] + 1; if (i % 2) in[i] = out[i];"  # a block's own elements, again and again
STORES_MEET = "out[threadIdx.x] = blockIdx.x;"
LATER = "out[i] = in[(i + 32) % 96]; in[i] = 7;"  # what the next block has not stored yet
EARLIER = "out[i] = in[(i + 64) % 96]; in[i] = 7;"  # what the block before has stored
IN_ORDER = "out[i] = atomicAdd(&in[0], 1);"
TOLD = 'printf("%d\\n", (int)blockIdx.x); out[i] = 0;'


def run(body: str, **options):
    source = f"""extern "C" __global__ void k(int *in, int *out) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {body}
}}"""
    arguments = {"in": np.arange(96, dtype=np.int32), "out": np.zeros(96, np.int32)}
    return trace_of(source, arguments, grid=3, block=32, **options)


@pytest.mark.parametrize(
    ("body", "at_once"),
    [
        (APART, True),
        (STORES_MEET, False),
        (LATER, False),
        (EARLIER, False),
        (IN_ORDER, False),
        (TOLD, False),
    ],
)
@pytest.mark.parametrize("checks", [True, False])
def test_blocks_run_at_once_where_none_sees_what_another_does(body, at_once, checks) -> None:
    trace = run(body, checks=checks)
    assert (len(trace.records) == 1) == at_once
    first = run(body, checks=checks, blocks=[0])  # the first block alone, and then the others
    np.testing.assert_array_equal(trace.outputs["out"], first.outputs["out"])
    np.testing.assert_array_equal(trace.outputs["in"], first.outputs["in"])
    assert trace.counters == first.counters
    assert trace.printed == first.printed
    said = [[(f.kind, f.block, f.thread, f.count) for f in t.findings] for t in (trace, first)]
    assert said[0] == said[1]


def test_a_large_record_is_of_few_blocks_as_ever() -> None:
    assert len(run(APART, record_bytes=1).recorded_blocks) == 1


def test_a_long_run_goes_block_by_block(monkeypatch) -> None:
    long = "for (int j = 0; j < 50; ++j) out[i] = in[i] + j;"
    assert len(run(long).records) == 1
    monkeypatch.setattr("core.recording.record_launch._AT_ONCE", 100)
    assert len(run(long).records) == 2
