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
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.launching.file_launch import file_workload
from core.launching.launch_guess import guess_launch
from core.recording import record
from core.storage import VERSION, load_trace, save_trace
from core.storage.layout import layout_header
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


def rewritten(path: Path, **changes: object) -> None:
    """Changes the header of a saved trace."""
    with np.load(path) as file:
        columns = {name: file[name] for name in file.files}
    header = {**json.loads(columns.pop("header").tobytes()), **changes}
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **columns)


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    save_trace(record(LADDER["vector_add"].workload(n=40, block_x=32)), path)
    rewritten(path, version=VERSION + 1, workload={"from": "the future"})
    wanted = f"version {VERSION + 1} of the format; this program reads version {VERSION}: open it"
    with pytest.raises(TilescopeError, match=f"{wanted} with a newer Tilescope"):
        load_trace(path)
    rewritten(path, version=1)
    with pytest.raises(TilescopeError, match=r"version 1 of the format.*record it again"):
        load_trace(path)


def as_version_2(trace: Trace, path: Path) -> None:
    save_trace(trace, path)
    with np.load(path) as file:
        columns = {name: file[name] for name in file.files}
    header = json.loads(columns.pop("header").tobytes())
    del header["layout"], header["workload"]["symbols"], header["build"]["instances"]
    header["version"] = 2
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **columns)


def test_version_2_is_read_where_its_buffers_are_seen_to_lie_as_here(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    workload = LADDER["tiled_bounds"].workload(n=6, tile=4)
    trace = record(workload)
    as_version_2(trace, path)
    assert_same_block(trace, load_trace(path), 0)
    compiled = record(workload, kind="as_compiled")
    as_version_2(compiled, path)
    with pytest.raises(TilescopeError, match=r"version 2 of the format.*record it again"):
        load_trace(path)
    save_trace(compiled, path)
    assert load_trace(path).counters == compiled.counters


def test_version_2_is_refused_where_buffers_lay_elsewhere(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "t.npz"
    with monkeypatch.context() as before:
        before.setattr("core.emulator.memory._SLAB", 256)
        as_version_2(record(LADDER["vector_add"].workload(n=40, block_x=32)), path)
    with pytest.raises(TilescopeError, match=r"version 2 of the format.*record it again"):
        load_trace(path)


@pytest.mark.parametrize("part", ["buffers", "code"])
def test_a_file_whose_record_means_something_else_is_refused(part: str, tmp_path: Path) -> None:
    """As version 2's, whose buffers a later program put elsewhere."""
    path = tmp_path / "t.npz"
    trace = record(LADDER["vector_add"].workload(n=40, block_x=32))
    save_trace(trace, path)
    layout = layout_header(trace.image)
    rewritten(path, layout=layout)
    assert load_trace(path).counters == trace.counters
    if part == "buffers":
        layout["buffers"][1][1] += 256
    else:
        layout["code"][0] += 1
    rewritten(path, layout=layout)
    with pytest.raises(TilescopeError, match="lays out memory or code otherwise: record it again"):
        load_trace(path)


HEAP = """
extern "C" __global__ void heaps(int* out)
{
    int* p = (int*)malloc(8);
    p[1] = threadIdx.x;
    out[threadIdx.x] = p[1] * 3;
}
"""


def test_a_trace_with_a_heap_is_read_back(tmp_path: Path) -> None:
    out = ArrayArgument("out", np.full(32, -1, np.int32), "output")
    launch = Launch(Dim3(1), Dim3(32), (out,))
    trace = record(Workload("heaps", HEAP, "heaps.cu", "heaps", launch))
    again = saved(trace, tmp_path)
    np.testing.assert_array_equal(again.outputs["out"], 3 * np.arange(32))
    assert_same_block(trace, again, 0)


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
