"""A trace read back from disk steps as the one that was saved."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.cuda.compiler import find_entry
from core.errors import TilescopeError
from core.ladder import load_ladder
from core.launching.file_launch import file_workload
from core.launching.launch_guess import guess_launch
from core.recording import record
from core.storage import VERSION, load_trace, save_trace
from core.trace import Trace

LADDER = load_ladder()


def saved(trace: Trace, folder: Path) -> Trace:
    path = folder / "trace.npz"
    save_trace(trace, path)
    return load_trace(path)


def assert_same_block(a: Trace, b: Trace, block: int) -> None:
    one, other = a.block(block), b.block(block)
    for name in ("kind", "line", "phase", "pc"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    thread = one.n_threads - 1
    for step in range(one.n_steps):
        np.testing.assert_array_equal(one.active(step), other.active(step))
        assert one.variables(step, thread) == other.variables(step, thread)
        first, second = one.access(step), other.access(step)
        assert (first is None) == (second is None)
        if first is not None and second is not None:
            np.testing.assert_array_equal(first.addresses, second.addresses)
            np.testing.assert_array_equal(first.values, second.values)
            assert first.array == second.array
        for key, state in one.shared(step).items():
            np.testing.assert_array_equal(state.values, other.shared(step)[key].values)
            np.testing.assert_array_equal(state.last_writer, other.shared(step)[key].last_writer)


@pytest.mark.parametrize(
    ("rung", "parameters"),
    [
        ("tiled_bounds", {"n": 6, "tile": 4}),
        ("coalesced", {"n": 5, "block_x": 3, "block_y": 2}),
        ("aat_padded", {"n": 8, "tile": 4}),
        ("broken_bounds", {}),
    ],
)
def test_it_steps_identically(rung: str, parameters: dict[str, int], tmp_path: Path) -> None:
    trace = record(LADDER[rung].workload(**parameters))
    again = saved(trace, tmp_path)
    assert again.counters == trace.counters
    assert again.findings == trace.findings
    assert again.recorded_blocks == trace.recorded_blocks
    assert again.note == trace.note
    for name, data in trace.outputs.items():
        np.testing.assert_array_equal(again.outputs[name], data)
    for block in trace.recorded_blocks:
        assert_same_block(trace, again, block)


MEMORY = """
import sys
from pathlib import Path
from core.ladder import load_ladder
from core.recording import record

workload = load_ladder()["coalesced"].workload(n=4096, tile=32)
trace = record(workload, blocks=[0], only_recorded=True)
status = Path("/proc/self/status").read_text()  # getrusage's would be its parent's, if greater
sys.stdout.write(next(l for l in status.splitlines() if l.startswith("VmHWM")).split()[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_recording_a_block_of_a_large_launch_takes_little_memory() -> None:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", MEMORY]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 500e6


def test_a_large_record_is_small_on_disk(tmp_path: Path) -> None:
    workload = LADDER["coalesced"].workload(n=4096, tile=32)
    trace = record(workload, blocks=[0], only_recorded=True)
    again = saved(trace, tmp_path)
    assert (tmp_path / "trace.npz").stat().st_size < 50e6
    one, other = trace.block(0), again.block(0)
    assert one.n_steps == other.n_steps > 4096 * 2
    np.testing.assert_array_equal(one.line, other.line)
    for step in [*range(40), *range(4000, one.n_steps, 997), one.n_steps - 1]:
        first, second = one.access(step), other.access(step)
        assert (first is None) == (second is None)
        if first is not None and second is not None:
            np.testing.assert_array_equal(first.addresses, second.addresses)
            np.testing.assert_array_equal(first.values, second.values)
        assert one.variables(step, 77) == other.variables(step, 77)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    with pytest.raises(TilescopeError, match="There is no file"):
        load_trace(path)
    path.write_bytes(b"not a zip file at all")
    with pytest.raises(TilescopeError, match="not a trace"):
        load_trace(path)
    np.savez(path, header=np.frombuffer(b"[1, 2]", np.uint8))
    with pytest.raises(TilescopeError, match="not a trace"):
        load_trace(path)
    header = json.dumps({"format": "tilescope trace", "version": VERSION + 1}).encode()
    np.savez(path, header=np.frombuffer(header, np.uint8))
    with pytest.raises(TilescopeError, match="record it again"):
        load_trace(path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    trace = record(LADDER["vector_add"].workload(n=4, block_x=4))
    with pytest.raises(TilescopeError, match="cannot be written"):
        save_trace(trace, tmp_path / "none" / "t.npz")


def test_the_instance_that_was_traced_is_found_again(tmp_path):
    source = """
    template <typename T> __global__ void axpy(T a, const T *x, T *y, int n)
    { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }
    template __global__ void axpy<float>(float, const float *, float *, int);
    template __global__ void axpy<double>(double, const double *, double *, int);
    """
    for kind in ("float", "double"):
        launch = guess_launch(source, "axpy.cu", f"axpy<{kind}>")
        trace = record(file_workload(source, launch))
        path = tmp_path / f"{kind}.npz"
        save_trace(trace, path)
        again = load_trace(path)
        assert_same_block(again, trace, 3)
        assert f"axpyI{kind[0]}E" in find_entry(again.build, again.workload.kernel)
        x, y = (array.data for array in trace.workload.launch.arrays)
        value = trace.workload.launch.arguments[0].value
        expected = y.astype(np.float64)
        expected[:250] += float(value) * x[:250]
        assert trace.outputs["y"].dtype == {"float": "float32", "double": "float64"}[kind]
        assert not (~(np.abs(trace.outputs["y"] - expected) <= 1e-6)).any()
