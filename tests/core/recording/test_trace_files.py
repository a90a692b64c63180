"""A trace read back from disk steps as the one that was saved."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import find_entry
from core.dataclasses_as_json import plain
from core.emulator.events import Span
from core.errors import TilescopeError
from core.guessing.launch_guess import guess_launch
from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from core.recording.trace_files import VERSION, layout_header, load_trace, save_trace
from core.trace import Trace
from core.user_files.launch_texts import file_workload
from tests.hopper_forms import Sum, far_stores, summed

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
from core.recording.record_launch import record

workload = load_ladder()["coalesced"].workload(n=4096, tile=32)
trace = record(workload, blocks=[0], only_recorded=True)
status = Path("/proc/self/status").read_text()  # getrusage's would be its parent's, if greater
sys.stdout.write(next(l for l in status.splitlines() if l.startswith("VmHWM")).split()[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_recording_a_block_of_a_large_launch_takes_little_memory() -> None:
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-c", MEMORY]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 500e6


@pytest.mark.slow
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
    rewritten(path, version=2)
    with pytest.raises(TilescopeError, match=r"version 2 of the format.*record it again"):
        load_trace(path)


@pytest.mark.parametrize("part", ["buffers", "code"])
def test_a_file_whose_record_means_something_else_is_refused(part: str, tmp_path: Path) -> None:
    """A later program may put buffers elsewhere."""
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
    with pytest.raises(TilescopeError, match="another layout of memory or code: record it again"):
        load_trace(path)


HEAP = """
extern "C" __global__ void heaps(int* out)
{
    int* p = (int*)malloc(8);
    p[1] = threadIdx.x;
    out[threadIdx.x] = p[1] * 3;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rung", "kind", "parameters"),
    [
        ("wgmma", "as_compiled", {"m": 64, "k": 72, "n": 72}),
        ("warp_specialised", "as_compiled", {"m": 72, "k": 200, "n": 64}),
        ("clustered", "as_written", {"m": 128, "k": 72, "n": 64}),
    ],
)
def test_asynchronous_operations_are_read_back(
    rung: str, kind: Any, parameters: dict[str, int], tmp_path: Path
) -> None:
    trace = record(LADDER[rung].workload(**parameters), kind=kind)
    again = saved(trace, tmp_path)
    assert again.counters == trace.counters
    assert again.image.cluster == trace.image.cluster
    assert sum(len(r.transfers) for r in trace.records) > 3
    assert any(r.landings for r in trace.records) == (rung != "wgmma")
    assert any(r.phases for r in trace.records) == (rung != "wgmma")
    for mine, other in zip(trace.records, again.records, strict=True):
        assert other.geometry.cluster == mine.geometry.cluster
        for one, two in zip(mine.transfers, other.transfers, strict=True):
            assert_same(one, two)
        for one, two in zip(mine.phases, other.phases, strict=True):
            assert_same(one, two)
        for one, two in zip(mine.landings, other.landings, strict=True):
            assert_same(one, two)
    for block in trace.recorded_blocks[:2]:
        one, two = trace.block(block), again.block(block)
        np.testing.assert_array_equal(one.kind, two.kind)
        for name, state in one.shared(one.n_steps - 1).items():
            there = two.shared(two.n_steps - 1)[name]
            np.testing.assert_array_equal(state.values, there.values)


def test_reductions_and_remote_stores_are_read_back(tmp_path: Path) -> None:
    for which, updates in (
        (summed(Sum("add", "u32", 48, blocks=2, in_cluster=True)), True),
        (far_stores(0), False),
    ):
        trace = record(which.workload, kind="as_compiled")
        (mine,), (other,) = trace.records, saved(trace, tmp_path).records
        assert mine.transfers
        for one, two in zip(mine.transfers, other.transfers, strict=True):
            assert_same(one, two)
            assert two.is_update is updates


def assert_same(one: Any, two: Any) -> None:
    """The fields of two events, and of the spans in them, are equal."""
    assert type(one) is type(two)
    for field in fields(one):
        mine, other = getattr(one, field.name), getattr(two, field.name)
        if isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine, other)
            assert mine.dtype == other.dtype
        elif field.name == "region":
            assert (mine.name, mine.space, mine.base) == (other.name, other.space, other.base)
        elif isinstance(mine, tuple) and mine and isinstance(mine[0], Span):
            for a, b in zip(mine, other, strict=True):
                assert_same(a, b)
        else:
            assert mine == other


def test_version_3_lacks_what_kernels_of_hopper_need(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    trace = record(LADDER["tiled_bounds"].workload(n=6, tile=4))
    save_trace(trace, path)
    rewritten(path, version=3)
    assert_same_block(trace, load_trace(path), 0)
    save_trace(record(LADDER["wgmma"].workload(m=64, k=72, n=72), kind="as_compiled"), path)
    rewritten(path, version=3)
    with pytest.raises(TilescopeError, match=r"version 3 of the format.*record it again"):
        load_trace(path)


def test_accesses_that_tell_less_are_read(tmp_path: Path) -> None:
    """A trace of an earlier program: of an access it has the first five fields."""
    path = tmp_path / "t.npz"
    trace = record(LADDER["tiled_bounds"].workload(n=6, tile=4), kind="as_compiled")
    save_trace(trace, path)
    build = plain(trace.build)
    build["accesses"] = {
        kernel: [astuple(access)[:5] for access in accesses]
        for kernel, accesses in trace.build.accesses.items()
    }
    assert any(build["accesses"].values())
    rewritten(path, build=build)
    assert_same_block(trace, load_trace(path), 0)


def test_a_trace_with_a_heap_is_read_back(tmp_path: Path) -> None:
    out = ArrayArgument("out", np.full(32, -1, np.int32), "output")
    launch = Launch(Dim3(1), Dim3(32), (out,))
    trace = record(Workload("heaps", HEAP, "heaps.cu", "heaps", launch))
    again = saved(trace, tmp_path)
    np.testing.assert_array_equal(again.outputs["out"], 3 * np.arange(32))
    assert_same_block(trace, again, 0)


def test_places_where_lanes_meet_that_tell_less_are_read(tmp_path: Path) -> None:
    """A trace of an earlier program: of such a place it has the line alone."""
    path = tmp_path / "t.npz"
    trace = record(LADDER["tiled_bounds"].workload(n=6, tile=4))
    save_trace(trace, path)
    targets, met = trace.build.ways
    assert met
    rewritten(path, build={**plain(trace.build), "ways": (targets, [line for line, _ in met])})
    assert_same_block(trace, load_trace(path), 0)


def test_a_record_that_does_not_tell_of_guards_is_read(tmp_path: Path) -> None:
    """A trace of an earlier program."""
    path = tmp_path / "t.npz"
    trace = record(LADDER["tiled_bounds"].workload(n=6, tile=4), kind="as_compiled")
    save_trace(trace, path)
    records = header_of(path)["records"]
    for one in records:
        del one["guarded"]
    rewritten(path, records=records)
    assert_same_block(trace, load_trace(path), 0)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    trace = record(LADDER["vector_add"].workload(n=4, block_x=4))
    with pytest.raises(TilescopeError, match="could not be written"):
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


def damaged(whole: bytes, number: int, rng: random.Random) -> bytes:
    """A few bits flipped, or the end left out, or a stretch of bytes put elsewhere."""
    data = bytearray(whole)
    if number % 4 == 3:
        return bytes(data[: rng.randrange(len(data))])
    if number % 4 == 2:
        at, to = rng.randrange(len(data)), rng.randrange(len(data))
        piece = data[at : at + rng.randrange(1, 200)]
        data[to : to + len(piece)] = piece
    for _ in range(1 + number % 4):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def load_or_say(path: Path) -> tuple[Trace | None, str]:
    try:
        return load_trace(path), ""
    except TilescopeError as error:
        return None, str(error)


def test_damaged_files_are_refused_with_one_sentence(tmp_path: Path) -> None:
    """Or read as they were, where the damage is in what nobody reads."""
    trace = record(LADDER["vector_add"].workload(n=40, block_x=32))
    path = tmp_path / "t.npz"
    save_trace(trace, path)
    whole = path.read_bytes()
    rng = random.Random(9)
    refused = 0
    for number in range(400):
        path.write_bytes(damaged(whole, number, rng))
        again, said = load_or_say(path)
        refused += again is None
        assert re.fullmatch(rf"{re.escape(str(path))} [^\n]+\.", said) or again is not None
        if again is not None:
            assert again.counters == trace.counters
            assert_same_block(trace, again, 0)
    assert refused > 300


def header_of(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return json.loads(file["header"].tobytes())


def places(plain: object) -> Iterator[tuple[Any, Any]]:
    """Every container in nested data, with each of its keys."""
    if isinstance(plain, dict | list):
        for key in plain if isinstance(plain, dict) else range(len(plain)):
            yield plain, key
            yield from places(plain[key])


@pytest.mark.slow
def test_headers_that_say_something_else_are_refused_with_one_sentence(tmp_path: Path) -> None:
    """Whole files, made by another hand: any value of the header replaced by another one."""
    trace = record(LADDER["tiled"].workload(n=4, tile=2))
    path = tmp_path / "t.npz"
    rng = random.Random(10)
    refused = 0
    save_trace(trace, path)
    whole = path.read_bytes()
    for _ in range(300):
        path.write_bytes(whole)
        header = header_of(path)
        place, key = rng.choice(list(places(header)))
        place[key] = rng.choice([None, -1, 2**40, 10**30, "x", [], {}, [[]], True, 0.5, "f8"])
        rewritten(path, **header)
        again, said = load_or_say(path)
        refused += again is None
        assert re.fullmatch(r"[^\n]+\.", said) or again is not None
    assert refused > 80  # over seeds it is 109 and varies by 8


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("core.recording.trace_files.MOST_UNPACKED", 100 << 20)
    path = tmp_path / "t.npz"
    save_trace(record(LADDER["vector_add"].workload(n=40, block_x=32)), path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for number in range(9):
            archive.writestr(f"more_{number}.npy", bytes(12 << 20))
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    with pytest.raises(TilescopeError, match="more memory than a record may have"):
        load_trace(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 20
    save_trace(record(LADDER["vector_add"].workload(n=40, block_x=32)), path)
    header = header_of(path)
    header["workload"]["arguments"][0] |= {"shape": [10**12], "data": -1}
    rewritten(path, **header)
    with pytest.raises(TilescopeError, match="more memory than a record may have"):
        load_trace(path)
    text = json.dumps({**header, "findings": 0})
    text = text.replace('"findings": 0', '"findings": ' + "[" * 99_999)
    np.savez(path, header=np.frombuffer(text.encode(), np.uint8))
    with pytest.raises(TilescopeError, match="is damaged"):
        load_trace(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
def test_a_pipe_is_no_trace(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.npz")
    with pytest.raises(TilescopeError, match="a pipe or a device"):
        load_trace(tmp_path / "t.npz")
    with pytest.raises(TilescopeError, match="a folder"):
        load_trace(tmp_path)
