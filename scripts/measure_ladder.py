"""Measures the ladder on a GPU: speed beside cuBLAS, hardware counters, compute-sanitizer.

    python scripts/record_rungs.py cubins FOLDER    compile every small launch (NVRTC, no GPU)
    python scripts/measure_ladder.py run FOLDER     measure (PyCUDA, cuBLAS, ncu, compute-sanitizer)
    python scripts/measure_ladder.py write FOLDER   resources/ladder_GPU.json, the tests' counters
    python scripts/measure_ladder.py time FOLDER    the speeds alone, in 80 s on an H200

The speeds are of each rung with its `tuned` parameters, at the sizes below. Everything of one size
and arithmetic is timed in rounds, one after the other, cuBLAS among them, so that temperature is
the same for all; each launch is timed by itself, after the L2 cache has been flushed, and the SM
clock is read after each. Tensor cores draw so much power that the clock falls: they are timed after
the rest, and every row follows a pause. The small
launches are those of tests/core/ladder/test_rungs.py. docs/ladder.md is made of this by
scripts/ladder_page.py.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
from ladder_tools import HOPPER, SIZE, rungs, tuned

from core.compiler import nvrtc
from core.ladder import load_ladder
from core.launch import Workload
from core.rules.counters import METRICS
from tests.rung_set import BUILDS, rung_launches

if TYPE_CHECKING:
    from core.gpu.driver_session import Session
    from core.gpu.loaded_launch import Launchable

SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
FAST = ("warp_tiled", "tuned", "tensor_core", "tensor_tuned", "tensor_half", *HOPPER)
ANY_SHAPE = ("tiled_bounds", "tile_2d", "tuned")
ROUNDS, LAUNCHES = 4, 6
PAUSE_S = 0.2  # before each row of a round: the clock recovers from the row before
SLOW_MS = 20.0  # from here on one launch a round is enough
# Beyond METRICS: whatever of these the chip has.
FURTHER = (
    r"l1tex__data_(pipe_lsu_wavefronts|bank_conflicts_pipe_lsu)_mem_shared(_op_\w+)?",
    r"l1tex__t_(requests|sectors)_pipe_lsu_mem_global_op_ldgsts\w*",
    r"smsp__(sass_)?inst_executed_op_(ldgsts|ldsm)\w*",
)


def points() -> Iterator[tuple[int, str]]:
    """Sizes and rungs."""
    yield from ((SIZE, rung.name) for rung in rungs())
    yield from ((size, name) for size in (4095, 4097) for name in ANY_SHAPE)
    yield from ((1024, name) for name in FAST)
    yield from ((8192, name) for name in FAST)


def time_all(folder: Path) -> None:
    """Writes speeds.json: every point of `points`, and cuBLAS beside it."""
    from core.gpu.driver_session import Session

    session = Session(0)
    found: dict[str, Any] = {**tools.machine(), "nvrtc": nvrtc.version(), "rows": []}
    found["clock_mhz"] = session.report.clock_mhz
    wanted = list(points())
    for size in dict.fromkeys(size for size, _ in wanted):
        names = [name for at, name in wanted if at == size]
        found["rows"] += _time_size(session, size, names)
        (folder / "speeds.json").write_text(json.dumps(found), encoding="utf-8")
    (folder / "speeds.json").write_text(json.dumps(found), encoding="utf-8")
    session.close()


def _time_size(session: Session, size: int, names: list[str]) -> list[dict[str, Any]]:
    """One size: all are checked against float64, then take turns."""
    from core.gpu.benchmark_run import build_for
    from core.gpu.loaded_launch import CublasProduct, LoadedKernel
    from core.gpu.result_check import check

    ladder = load_ladder()
    rows: list[dict[str, Any]] = []
    ready: list[Launchable] = []
    works: list[Workload] = []
    for name in names:
        rung = ladder[name]
        work = rung.workload(**tuned(rung, size))
        built = build_for(work, session.report.compute_capability)
        loaded = LoadedKernel(session, built.cubin, built.entry, work.launch)
        rows.append({"rung": name, "size": size, "parameters": dict(work.parameters)})
        rows[-1] |= {"registers": loaded.registers, "local_bytes": loaded.local_bytes}
        works.append(work)
        ready.append(loaded)
    products = {w.arithmetic: w for w in works if w.layout and w.layout.left != w.layout.top}
    for arithmetic, work in products.items():
        rows.append({"rung": f"cublas {arithmetic}", "size": size, "parameters": {}})
        works.append(work)
        ready.append(CublasProduct(session, work.launch, arithmetic))
    for row, work, kernel in zip(rows, works, ready, strict=True):
        kernel.reset()
        kernel.run()
        if not row["rung"].startswith("cublas"):
            outcome = check(work, kernel.outputs())
            row["right"] = bool(outcome) and all(one.ok for one in outcome)
            row["error"] = max(one.max_error or 0.0 for one in outcome)
        row["ms"], row["sm_mhz"] = [], []
        kernel.time(flush=True)
    for arithmetic in products:
        alike = [i for i, work in enumerate(works) if work.arithmetic == arithmetic]
        for _ in range(ROUNDS):
            for i in alike:
                _time_round(session, ready[i], rows[i])
    for row, work, kernel in zip(rows, works, ready, strict=True):
        assert work.flops is not None
        row["gflops"] = work.flops / median(row["ms"]) / 1e6
        said = f"{row['gflops']:,.0f} GFLOPS, SM at {min(row['sm_mhz']):.0f} MHz or more"
        print(f"{size} {row['rung']}: {said}", row.get("right"), flush=True)
        kernel.release()
    return rows


def _time_round(session: Session, kernel: Launchable, row: dict[str, Any]) -> None:
    """A few launches of a row, after a pause; the SM clock is read after each."""
    time.sleep(PAUSE_S)
    for launch in range(LAUNCHES):
        if launch and row["ms"][-1] > SLOW_MS:
            break
        row["ms"].append(kernel.time(flush=True))
        row["sm_mhz"].append(session.sensors.sm_mhz())


def launch_all(folder: Path, build: str) -> None:
    """Launches every small launch in one build, in order.

    Outputs stay as they were allocated, so that a sanitizer sees what was never written.
    """
    images = pickle.loads((folder / "rungs.pickle").read_bytes())["images"]
    from core.gpu.driver_session import Session

    session = Session(0)
    for name, work in rung_launches().items():
        tools.launched(session, images[name, build], work.launch, poison=False)
    session.close()
    print(f"launched {len(rung_launches())}", flush=True)


def sanitize(folder: Path) -> None:
    """Writes sanitizer.json: for each tool what it says of all launches, as compiled."""

    def one(tool: str) -> tuple[str, dict[str, Any]]:
        extra = ["--racecheck-report", "all"] if tool == "racecheck" else []
        command = [
            "compute-sanitizer",
            "--tool",
            tool,
            *extra,
            *_me("launch", folder, "as_compiled"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        text = done.stdout + done.stderr
        (folder / f"sanitizer-{tool}.txt").write_text(text, encoding="utf-8")
        launched = re.search(r"launched (\d+)", text)
        summary = re.findall(r"========= (?:ERROR SUMMARY|RACECHECK SUMMARY): (.*)", text)
        return tool, {"launches": int(launched[1]) if launched else 0, "summary": summary}

    with ThreadPoolExecutor(len(SANITIZERS)) as pool:
        found = dict(pool.map(one, SANITIZERS))
    (folder / "sanitizer.json").write_text(json.dumps(found), encoding="utf-8")
    print(found, flush=True)


def count(folder: Path) -> None:
    """Writes counters.json: Nsight Compute's counters of every launch, in both builds."""
    listed = tools.run(["ncu", "--query-metrics"])
    names = re.findall(r"^(\w+__\w+)", listed, re.MULTILINE)
    further = [f"{n}.sum" for n in names if any(re.fullmatch(p, n) for p in FURTHER)]
    metrics = list(dict.fromkeys([*METRICS.values(), *further]))
    found: dict[str, Any] = {**tools.machine(), "rows": []}
    for build in BUILDS:
        rows = tools.counted(metrics, str(folder / build), _me("launch", folder, build))
        for name, row in zip(rung_launches(), rows, strict=True):
            texts = {m: row[m].replace(",", "") for m in metrics if m in row}
            values = {m: int(float(text)) for m, text in texts.items() if text[:1].isdigit()}
            found["rows"].append({"launch": name, "build": build, "counters": values})
    (folder / "counters.json").write_text(json.dumps(found), encoding="utf-8")
    print(f"counted {len(found['rows'])} launches", flush=True)


def _me(step: str, folder: Path, build: str) -> list[str]:
    return [sys.executable, __file__, step, str(folder), "--build", build]


def run(folder: Path) -> None:
    """Everything that needs the GPU; the speeds first, while nothing else runs."""
    for step in (time_all, sanitize, count):
        try:
            step(folder)
        except (Exception, SystemExit) as error:  # noqa: BLE001, the other steps are worth having
            print(f"{step.__name__}: {error!r}", flush=True)


def write(folder: Path) -> None:
    """Makes what was found part of the project: speeds and counters, or one of them."""
    contents: dict[Path, dict[str, Any]] = {}
    if (counters := folder / "counters.json").exists():
        found = json.loads(counters.read_text(encoding="utf-8"))
        contents[ROOT / "tests" / "data" / "rungs" / f"counters_{_chip(found)}.json"] = found
    if (measured := folder / "speeds.json").exists():
        speeds = json.loads(measured.read_text(encoding="utf-8"))
        speeds["rows"] = [_rounded(row) for row in speeds["rows"]]
        page = ROOT / "resources" / f"ladder_{_chip(speeds)}.json"
        if (sanitizer := folder / "sanitizer.json").exists():
            speeds["sanitizer"] = json.loads(sanitizer.read_text(encoding="utf-8"))
        else:  # the speeds alone were measured anew
            speeds["sanitizer"] = json.loads(page.read_text(encoding="utf-8"))["sanitizer"]
        contents[page] = speeds
    for path, content in contents.items():
        rows = ",\n".join(json.dumps(row) for row in content.pop("rows"))
        head = json.dumps(content, indent=1).removesuffix("\n}")
        path.write_text(f'{head},\n "rows": [\n{rows}\n]\n}}\n', encoding="utf-8")
        print(f"Wrote {path.relative_to(ROOT)}.")


def _chip(found: Mapping[str, Any]) -> str:
    return re.sub(r"\W+", "_", found["gpu"].lower().removeprefix("nvidia ")).strip("_")


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = {"ms": [round(ms, 4) for ms in row["ms"]], "gflops": round(row["gflops"], 1)}
    return {**row, **kept, "sm_mhz": [round(mhz) for mhz in row["sm_mhz"]]}


def main() -> None:
    """Reads the command line and does one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = {"run": run, "write": write, "time": time_all, "sanitize": sanitize, "count": count}
    parser.add_argument("step", choices=(*steps, "launch"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", choices=BUILDS, default="as_compiled")
    options = parser.parse_args()
    if options.step == "launch":
        launch_all(options.folder, options.build)
    else:
        steps[options.step](options.folder)


if __name__ == "__main__":
    main()
