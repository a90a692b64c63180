"""Makes docs/scale.md: how time and memory grow, with sizes and with machines. Nothing is typed.

    python scripts/scale_page.py            measure (minutes; the machine should be quiet) and write
    python scripts/scale_page.py --page     write the page anew from docs/scale.json
    python scripts/scale_page.py --check    only say whether it is up to date (status 1: not)

It needs the packages distributed and simpy (the extra dev). Each measurement of one size runs in a
process of its own, whose processor time and peak memory are taken; what would take longer than
MOST_S by the growth so far is left out, and the page says so.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import numpy as np

DATA, PAGE = ROOT / "docs" / "scale.json", ROOT / "docs" / "scale.md"
SIZES = (64, 128, 256, 512, 1024, 4096, 16384)
RUNG, TILE = "tiled", 16
MOST_S = 15.0  # of processor time for one size
FITTED = 4  # sizes, the largest ones, from which an exponent is taken
KINDS = {
    "trace": "`trace --all`: every block runs and is recorded",
    "block": "Step through: one block runs and is recorded",
    "count": "counts of the whole launch alone, as compiled",
    "scan": "`scan`: counts, occupancy and ceilings of one launch",
}
SWEPT = 24  # points of the sweep over workers
NOTHINGS = 1000  # tasks without work, for the overhead
HELD = 4000  # tasks that a scheduler holds, for its memory
MOST_WORKERS = 8
GOALS = {"efficiency": 0.85, "overhead_ms": 20.0, "bytes": 1024.0}
POINTS, GPUS = 10_000, 100
Row = dict[str, Any]


# ---- one measurement, in a process of its own


def measure_one(kind: str, n: int) -> Row:
    """Processor seconds and peak memory (MB) of one launch's work, imports not among them."""
    work = _work(kind, n)
    _work(kind, SIZES[0])()  # what is loaded once is loaded
    before, began = _peak_mb(), time.process_time()
    work()
    seconds = time.process_time() - began
    return {"kind": kind, "n": n, "seconds": seconds, "mb": _peak_mb() - before}


def _work(kind: str, n: int) -> Any:
    from core.ladder import load_ladder
    from core.recording.count_launch import count
    from core.recording.record_launch import record

    if kind == "scan":
        from core.tuning.parameter_search import scan_point

        task = point_task(n)
        return lambda: scan_point(task)
    workload = load_ladder()[RUNG].blank_workload(n=n, tile=TILE)
    if kind == "trace":
        return lambda: record(workload)
    if kind == "block":
        return lambda: record(workload, blocks=[0], only_recorded=True)
    return lambda: count(workload, kind="as_compiled")


def point_task(n: int) -> Any:
    """A launch to scan, as a task of a worker."""
    from core.gpu.sweep_plan import RungKernel, make_plan
    from core.ladder import load_ladder
    from core.tuning.parameter_search import Task

    plan = make_plan([RungKernel(load_ladder()[RUNG])], {"n": (n,), "tile": (TILE,)})
    return Task(plan.points[0], "H200")


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def grown() -> list[Row]:
    """Every kind at every size that is worth waiting for."""
    rows: list[Row] = []
    for kind in KINDS:
        mine: list[Row] = []
        for n in SIZES:
            expected = predicted(mine, n)
            if expected is not None and expected > MOST_S:
                rows.append({"kind": kind, "n": n, "expected": expected})
                continue
            done = subprocess.run(
                [sys.executable, __file__, "--one", kind, str(n)],
                capture_output=True, text=True, check=True, timeout=600,
            )  # fmt: skip
            mine.append(json.loads(done.stdout.splitlines()[-1]))
            print(f"{kind} at {n}: {mine[-1]['seconds']:.2f} s", flush=True)
        rows += mine
    return rows


def exponent(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """The slope of log time over log n through the largest sizes; None for too few."""
    last = sorted((r for r in rows if r.get("seconds")), key=lambda r: r["n"])[-FITTED:]
    if len(last) < 3:
        return None
    logs = np.log([[r["n"], r["seconds"]] for r in last])
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def predicted(rows: Sequence[Mapping[str, Any]], n: int) -> float | None:
    """Seconds at a larger size, by the growth between the last two; None before there are two."""
    if len(rows) < 2:
        return None
    (a, b) = rows[-2:]
    slope = math.log(max(b["seconds"] / a["seconds"], 1.0)) / math.log(b["n"] / a["n"])
    return float(b["seconds"] * (n / b["n"]) ** slope)


# ---- over workers of this machine


def spread_times(workers: int) -> Row:
    """Wall seconds of the sweep and of tasks without work, on so many local workers."""
    from core.distributed.cluster import opened
    from core.tuning.parameter_search import scan_point

    tasks = [point_task(n) for n in swept_sizes()]
    with opened("local", "EMULATOR", jobs=workers) as cluster:
        while cluster._workers().fit < workers:
            time.sleep(0.1)
        _all(cluster, scan_point, [point_task(64)] * 4 * workers)  # each has loaded what it needs
        sweep = _all(cluster, scan_point, tasks)
        empty = _all(cluster, abs, range(NOTHINGS))  # as good as nothing
    return {"workers": workers, "seconds": sweep, "overhead_ms": 1e3 * empty / NOTHINGS}


def swept_sizes() -> list[int]:
    """Sizes of the sweep's points, which differ, so that no cache has any of them."""
    return [1024 + TILE * place for place in range(SWEPT)]


def _all(cluster: Any, function: Any, tasks: Sequence[Any]) -> float:
    began = time.perf_counter()
    for future in as_completed([cluster.submit(function, task) for task in tasks]):
        future.result()
    return time.perf_counter() - began


def alone_s() -> float:
    """Wall seconds of the sweep in this process."""
    from core.tuning.parameter_search import scan_point

    scan_point(point_task(64))
    began = time.perf_counter()
    for n in swept_sizes():
        scan_point(point_task(n))
    return time.perf_counter() - began


@contextmanager
def scheduler() -> Iterator[tuple[str, int]]:
    """A scheduler in a process of its own: its address and process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, *command, "--no-dashboard", "--no-show", "--dashboard-address", ":0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"tcp://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait(20)


def held_bytes() -> float:
    """Memory of the scheduler for each point that waits: points of a scan, one worker busy."""
    from core.distributed.cluster import Cluster
    from core.tuning.parameter_search import scan_point

    worker = "import sys; from core.cli.app import main; sys.exit(main())"
    with scheduler() as (address, pid):
        time.sleep(3)
        process = subprocess.Popen(
            [sys.executable, "-c", worker, "worker", address, "--emulate", "1"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with Cluster(address, "EMULATOR") as cluster:
                _all(cluster, scan_point, [point_task(64)] * 8)
                cluster.submit(time.sleep, 300)  # the one worker has its hands full
                time.sleep(2)
                before = _resident(pid)
                task = point_task(1024)
                for _ in range(HELD):
                    cluster.submit(scan_point, task)
                after = _settled(pid)
                cluster.kill()
            return (after - before) / HELD
        finally:
            process.terminate()
            process.wait(20)


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _settled(pid: int) -> int:
    """The memory of a process once it grows no more."""
    last, still = _resident(pid), 0
    while still < 6:
        time.sleep(0.5)
        now = _resident(pid)
        still = still + 1 if abs(now - last) < 1 << 16 else 0
        last = now
    return last


# ---- the simulation


def simulation(overhead_s: float) -> Row:
    """10,000 points on 100 GPUs with and without stragglers and failures."""
    from scale_simulation import Assumptions, simulated

    from core.gpu.result_files import load_recorded

    times = tuple(
        sum(result.samples_ms) / 1e3 for result in load_recorded() if len(result.samples_ms) > 1
    )
    assumed = Assumptions(
        points=POINTS,
        gpus=GPUS,
        times=tuple(t + STARTING_S for t in times),
        straggling=0.02,
        slower=10.0,
        between_failures=1800.0,
        away=60.0,
    )
    cases = []
    for stragglers in (False, True):
        for failures in (False, True):
            found = simulated(assumed, overhead_s, stragglers=stragglers, failures=failures)
            free = simulated(assumed, 0.0, stragglers=stragglers, failures=failures)
            cases.append(
                {
                    "stragglers": stragglers,
                    "failures": failures,
                    "least": found.least(GPUS),
                    "without_scheduler": free.took,
                    **asdict(found),
                }
            )
    chosen = {k: v for k, v in asdict(assumed).items() if k != "times"}
    return {"assumed": {**chosen, "median_s": float(np.median(assumed.times))}, "cases": cases}


STARTING_S = 1.0  # assumed for compiling and checking a point, before its launches are timed


# ---- all of it, and the page


def measured() -> Row:
    """Everything that the page says."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    began, load = time.perf_counter(), os.getloadavg()[0]
    rows = grown()
    counts = [1]
    while counts[-1] * 2 <= min(MOST_WORKERS, os.cpu_count() or 1):
        counts.append(counts[-1] * 2)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILESCOPE_CLUSTER_FOLDER"] = folder
        alone = alone_s()
        spread = [spread_times(workers) for workers in counts]
        memory = held_bytes()
    print(f"workers: {spread}; {memory:.0f} bytes a point", flush=True)
    overhead = spread[0]["overhead_ms"] / 1e3
    return {
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
            "date": datetime.now(UTC).date().isoformat(),
            "load_before": load,
            "load_after": os.getloadavg()[0],
            "took_s": time.perf_counter() - began,
        },
        "grown": rows,
        "swept": SWEPT,
        "alone_s": alone,
        "spread": spread,
        "bytes": memory,
        "simulation": simulation(overhead),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((li.partition(":")[2].strip() for li in lines if "model name" in li), "unknown")


def page(data: Mapping[str, Any]) -> str:
    """docs/scale.md."""
    machine = data["machine"]
    return "\n".join(
        [
            "# How the cost grows",
            "",
            "`python scripts/scale_page.py` measures and writes this page.",
            "",
            f"Measured on {machine['date']}: {machine['processor']}, {machine['cores']} cores, "
            f"{machine['system']}, Python {machine['python']}. The load average was "
            f"{machine['load_before']:.2f} before and {machine['load_after']:.2f} after; the "
            f"measurement took {machine['took_s']:.0f} s and keeps up to {machine['cores']} cores "
            "busy itself. Times of one process are processor times, which other programs disturb "
            "little; those over workers are wall-clock times, which other programs lengthen.",
            "",
            *_growth(data["grown"]),
            *_workers(data),
            *_simulation(data["simulation"]),
        ]
    )


def _growth(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "## Over n"
    yield ""
    yield (
        f"One launch of `{RUNG}` with n x n matrices and tiles of {TILE}: processor seconds, and "
        "the memory by which the process grew, in MB. The exponent is the slope of log time over "
        f"log n through the largest {FITTED} sizes that were measured."
    )
    yield ""
    kinds = list(KINDS)
    yield "| n | " + " | ".join(f"{kind}, s | MB" for kind in kinds) + " |"
    yield "|---:|" + "---:|---:|" * len(kinds)
    at = {(row["kind"], row["n"]): row for row in rows}
    for n in sorted({row["n"] for row in rows}):
        cells = (_growth_cell(at.get((kind, n), {})) for kind in kinds)
        yield f"| {n:,} | " + " | ".join(cells) + " |"
    slopes = {kind: exponent([r for r in rows if r["kind"] == kind]) for kind in kinds}
    texts = ("–" if s is None else f"n^{s:.2f}" for s in slopes.values())
    yield "| grows as | " + " | ".join(f"**{text}** | " for text in texts) + "|"
    yield ""
    for kind, what in KINDS.items():
        yield f"- **{kind}**: {what}."
    yield ""
    yield (
        "~ marks what was not run: it would have taken that long by the growth between the two "
        f"sizes before, more than {MOST_S:.0f} s."
    )
    yield ""


def _growth_cell(row: Mapping[str, Any]) -> str:
    if "seconds" in row:
        return f"{row['seconds']:.2f} | {row['mb']:.0f}"
    return f"~{_duration(row['expected'])} |" if "expected" in row else " |"


def _duration(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"


def _workers(data: Mapping[str, Any]) -> Iterator[str]:
    spread = data["spread"]
    first = spread[0]["seconds"]
    yield "## Over workers of one machine"
    yield ""
    yield (
        f"A sweep of {data['swept']} launches that are scanned, through a scheduler and workers on "
        "the loop-back (`--cluster local`); one process without either took "
        f"{data['alone_s']:.1f} s. Efficiency is the time of one worker over that of k workers "
        "and over k. Overhead is the "
        f"wall-clock time of a task that does nothing, of {NOTHINGS:,}."
    )
    yield ""
    yield "| workers | s | efficiency | overhead of a point, ms |"
    yield "|---:|---:|---:|---:|"
    for row in spread:
        share = first / row["seconds"] / row["workers"]
        yield (
            f"| {row['workers']} | {row['seconds']:.1f} | {share:.0%} | {row['overhead_ms']:.1f} |"
        )
    yield ""
    last = spread[-1]
    share = first / last["seconds"] / last["workers"]
    yield (
        f"While {HELD:,} points waited, the scheduler's memory grew by {data['bytes']:,.0f} bytes "
        "a point. Most wait with the client: the scheduler gets as many as its workers can begin "
        "soon."
    )
    yield ""
    yield "| goal | measured | |"
    yield "|---|---:|---|"
    yield _goal(
        f"efficiency of {last['workers']} workers of at least {GOALS['efficiency']:.0%}",
        f"{share:.0%}",
        met=share >= GOALS["efficiency"],
    )
    worst = max(row["overhead_ms"] for row in spread)
    yield _goal(
        f"overhead of a point below {GOALS['overhead_ms']:.0f} ms",
        f"{worst:.1f} ms",
        met=worst < GOALS["overhead_ms"],
    )
    yield _goal(
        f"memory of the scheduler below {GOALS['bytes']:,.0f} bytes a point",
        f"{data['bytes']:,.0f}",
        met=data["bytes"] < GOALS["bytes"],
    )
    yield ""


def _goal(what: str, value: str, *, met: bool) -> str:
    return f"| {what} | {value} | {'met' if met else '**not met**'} |"


def _simulation(found: Mapping[str, Any]) -> Iterator[str]:
    assumed = found["assumed"]
    yield f"## {assumed['points']:,} points on {assumed['gpus']} GPUs, simulated"
    yield ""
    yield (
        "SimPy follows every point (`scripts/scale_simulation.py`). Measured: the scheduler's time "
        "for a point (above, one worker), and the time of a point's launches, drawn from the "
        f"recorded results. Assumed: {STARTING_S:.0f} s to compile and check a point "
        f"(median {assumed['median_s']:.2f} s in all); {assumed['straggling']:.0%} of the points "
        f"take {assumed['slower']:.0f} times as long; a GPU fails every "
        f"{_duration(assumed['between_failures'])} on average, loses its point and is away for "
        f"{_duration(assumed['away'])}. The bound is the work spread evenly."
    )
    yield ""
    yield (
        "| stragglers | failures | bound, s | took, s | with a scheduler that takes no time, s | "
        "the scheduler adds | points measured again | work lost, s |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for case in found["cases"]:
        adds = case["took"] / case["without_scheduler"] - 1
        yield (
            f"| {_yes(case['stragglers'])} | {_yes(case['failures'])} | {case['least']:.1f} | "
            f"{case['took']:.1f} | {case['without_scheduler']:.1f} | {adds:.1%} | "
            f"{case['repeated']:,} | {case['lost']:.1f} |"
        )
    yield ""


def _yes(on: bool) -> str:
    return "yes" if on else "no"


def main() -> int:
    """Measures, or writes the page alone; the status is 1 where --check finds it stale."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", action="store_true", help="from what was measured before")
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure_one(options.one[0], int(options.one[1]))))
        return 0
    if not options.page and not options.check:
        DATA.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    text = page(json.loads(DATA.read_text(encoding="utf-8")))
    if options.check:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} is written.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
