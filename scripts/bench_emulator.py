"""Speed and memory of the emulator, without a window."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench_figures import Figure, Times, rates, timed

from core.ladder import load_ladder
from core.recording.count_launch import count
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace

ROOT = Path(__file__).resolve().parents[1]
RUNS = 7
# Rung, parameters, and the least millions of multiply-adds a second that the project asks for:
# everything recorded with the checkers on, and counts only with the checkers off.
LAUNCHES: tuple[tuple[str, dict[str, int], float | None, float | None], ...] = (
    ("coalesced", {"n": 128, "tile": 16}, 10, 40),
    ("tiled", {"n": 128, "tile": 16}, 10, 40),
    ("uncoalesced", {"n": 128, "tile": 16}, None, None),
    ("tiled_bounds", {"n": 127, "tile": 16}, None, None),
    ("aat_shared", {"n": 128, "tile": 32}, None, None),
)
LARGE = ["trace", "tiled", "--n", "8192", "--tile", "32", "--counters-only"]


def throughput() -> Iterator[Figure]:
    """Multiply-adds a second over whole grids, on one core; compiled before."""
    ladder = load_ladder()
    for name, parameters, recorded, counted in LAUNCHES:
        workload = ladder[name].workload(**parameters)
        work = (workload.flops or 0) / 2
        sizes = ", ".join(f"{key} = {value}" for key, value in parameters.items())
        times = timed(partial(record, workload, blocks="all"), RUNS)
        yield rates(f"{name}, {sizes}: everything recorded, checkers on", work, times, recorded)
        times = timed(partial(count, workload, shortcut=False), RUNS)
        yield rates(f"{name}, {sizes}: counts only, every block run", work, times, counted)


def large_launch(runs: int = 5) -> Figure:
    """`tilescope trace tiled --n 8192 --tile 32 --counters-only`, the whole process."""
    command = [sys.executable, "-c", "from core.cli.app import main; main()", *LARGE]
    times = processes(command, runs)
    return Figure(
        f"tilescope {' '.join(LARGE)}",
        times.wall,
        "s",
        5,
        processor=sorted(times.processor)[runs // 2],
    )


def processes(command: list[str], runs: int) -> Times:
    """Runs a command from start to end, once to warm up and then `runs` times."""
    wall, processor = [], []
    for i in range(runs + 1):
        before = _children()
        started = time.perf_counter()
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        if i:
            wall.append(time.perf_counter() - started)
            processor.append(_children() - before)
    return Times(tuple(wall), tuple(processor))


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def large_record() -> Iterator[Figure]:
    """One block of coalesced at N = 4096, recorded in a process of its own."""
    command = [sys.executable, __file__, "--large-record"]
    rows = [
        [float(v) for v in subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split()]
        for _ in range(3)
    ]  # fmt: skip
    recording, memory, size, loading = zip(*rows, strict=True)
    what = "one block of coalesced, n = 4096, tile = 32:"
    yield Figure(f"{what} to record", recording, "s")
    yield Figure(f"{what} most memory of the process", memory, "MB", 500)
    yield Figure(f"{what} saved record", size, "MB", 50)
    yield Figure(f"{what} to load", loading, "s")


def _large_record() -> None:
    workload = load_ladder()["coalesced"].workload(n=4096, tile=32)
    record(load_ladder()["coalesced"].workload(n=32, tile=32), blocks=[0])  # starts NVRTC
    started = time.perf_counter()
    trace = record(workload, blocks=[0], only_recorded=True)
    recording = time.perf_counter() - started
    memory = _most_resident()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.npz"
        save_trace(trace, path)
        size = path.stat().st_size / 1e6
        started = time.perf_counter()
        again = load_trace(path)
        loading = time.perf_counter() - started
    assert again.block(0).n_steps == trace.block(0).n_steps
    sys.stdout.write(f"{recording} {memory} {size} {loading}{os.linesep}")


def _most_resident() -> float:
    """The most memory of this process, in MB; `ru_maxrss` begins with what the parent had."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


if __name__ == "__main__":
    _large_record()
