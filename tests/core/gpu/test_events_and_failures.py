import pickle

import pytest

from core.gpu.events_and_failures import from_driver, from_exit, timed_out


@pytest.mark.parametrize(
    ("text", "kind", "fatal"),
    [
        ("cuMemAlloc failed: out of memory", "out_of_memory", False),
        (
            "cuCtxSynchronize failed: an illegal memory access was encountered",
            "illegal_access",
            True,
        ),
        ("cuCtxSynchronize failed: misaligned address", "kernel_fault", True),
        ("cuEventSynchronize failed: unspecified launch failure", "kernel_fault", True),
        (
            "cuCtxSynchronize failed: the launch timed out and was terminated",
            "timed_out",
            True,
        ),
        ("cuLaunchKernel failed: too many resources requested for launch", "launch_refused", False),
        ("cuLaunchKernel failed: invalid argument", "launch_refused", False),
        ("cuInit failed: unknown error", "driver", False),
    ],
)
def test_driver_errors(text, kind, fatal):
    failure = from_driver(text)
    assert (failure.kind, failure.fatal) == (kind, fatal)
    assert str(failure).endswith(".")
    again = pickle.loads(pickle.dumps(failure))
    assert (str(again), again.kind, again.fatal) == (str(failure), kind, fatal)


def test_exits_and_time_outs_are_sentences():
    assert "SIGKILL" in str(from_exit(-9, "timing", ""))
    assert "out of memory" in str(from_exit(-9, "timing", ""))
    assert "signal 99" in str(from_exit(-99, "timing", ""))
    assert "exit status 3" in str(from_exit(3, "compiling", "a\nlast\n"))
    assert str(from_exit(3, "compiling", "a\nlast\n")).endswith("last")
    assert "30 s while warming up" in str(timed_out(30, "warming up"))
