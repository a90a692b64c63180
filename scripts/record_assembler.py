"""Takes the counters of kernels that ptxas changes on a GPU: tests/data/assembler/GPU_DATE.json.

    python scripts/record_assembler.py cubins FOLDER    compile the kernels (needs NVRTC, no GPU)
    python scripts/record_assembler.py run FOLDER       launch them, under ncu and without
    python scripts/record_assembler.py write FOLDER     put what was found into the tests' data

`run` needs PyCUDA and Nsight Compute (`ncu`, allowed to read counters), and its Python module
`ncu_report`, which tells how often each machine instruction was executed. The launches are those of
tests/data/assembler.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools

from core.compiler import nvrtc
from core.rules.counters import METRICS
from tests.reference_set import load_launches

FOLDER = ROOT / "tests" / "data" / "assembler"
BUILDS: dict[str, tuple[str, ...]] = {"as_compiled": ("-lineinfo",), "as_written": ("-G",)}
EXECUTED = ("inst_executed", "thread_inst_executed_true")  # of each machine instruction
ACCESSES = re.compile(r"\b(LDG|STG|LD|ST|LDS|STS|ATOMS|ATOMG|ATOM|RED|REDG|LDL|STL)\b")


def compile_all(folder: Path) -> None:
    """Writes assembler.pickle: {(launch, build): (cubin, entry)}."""
    images = {
        (launch.name, build): tools.cubin_of(launch.workload, options)
        for launch in load_launches(FOLDER)
        for build, options in BUILDS.items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    content = {"nvrtc": nvrtc.version(), "images": images}
    (folder / "assembler.pickle").write_bytes(pickle.dumps(content))
    print(f"{len(images)} cubins by NVRTC {content['nvrtc']}")


def launch_all(folder: Path, build: str, *, keep: bool) -> None:
    """Launches every kernel in order, once each; with `keep` the outputs' hashes are written."""
    images = pickle.loads((folder / "assembler.pickle").read_bytes())["images"]
    found = {}
    with tools.device() as cuda:
        launcher = tools.Launcher(cuda)
        for launch in load_launches(FOLDER):
            outputs = launcher.run(images[launch.name, build], launch.workload, keep=keep)
            found[launch.name] = {
                name: hashlib.sha256(data.tobytes()).hexdigest() for name, data in outputs.items()
            }
    if keep:
        (folder / f"hashes-{build}.json").write_text(json.dumps(found), encoding="utf-8")


def measure(folder: Path) -> None:
    """Writes counted.json: counters, outputs and machine instructions of each launch and build."""
    names = [launch.name for launch in load_launches(FOLDER)]
    rows: list[dict[str, Any]] = []
    for build in BUILDS:
        me = [sys.executable, __file__, "launch", str(folder), build]
        tools.run([*me, "--keep"])
        hashes = json.loads((folder / f"hashes-{build}.json").read_text(encoding="utf-8"))
        report = folder / build
        counted = tools.counted([*METRICS.values(), *EXECUTED], str(report), me)
        if len(counted) != len(names):
            raise SystemExit(f"{build}: ncu saw {len(counted)} of {len(names)} launches")
        code = _code(f"{report}.ncu-rep") if build == "as_compiled" else [None] * len(names)
        for name, row, instructions in zip(names, counted, code, strict=True):
            counters = {k: int(float(row[m].replace(",", ""))) for k, m in METRICS.items()}
            found = {"launch": name, "build": build, "counters": counters, "outputs": hashes[name]}
            rows.append(found if instructions is None else {**found, "code": instructions})
        print(f"{build}: {len(counted)} launches", flush=True)
    whole = {**tools.machine(), "rows": rows}
    (folder / "counted.json").write_text(json.dumps(whole), encoding="utf-8")


def _code(report: str) -> list[list[tuple[int, str, int, int]]]:
    """Of each launch the machine code's accesses: address, text, warps and threads that did it."""
    import ncu_report

    found = []
    for action in ncu_report.load_report(report).range_by_idx(0):
        by_pc = [_instances(action.metric_by_name(name)) for name in EXECUTED]
        first = min(by_pc[0])
        texts = {pc: action.sass_by_pc(pc) for pc in sorted(by_pc[0])}
        found.append(
            [(pc - first, text, *(counts.get(pc, 0) for counts in by_pc))
             for pc, text in texts.items() if ACCESSES.search(text)]
        )  # fmt: skip
    return found


def _instances(metric: Any) -> dict[int, int]:
    """A metric's value by address of the machine instruction."""
    places = metric.correlation_ids()
    return {places.as_uint64(i): int(metric.as_uint64(i)) for i in range(metric.num_instances())}


def write(folder: Path) -> None:
    """Makes counted.json a file of the tests' data."""
    found = json.loads((folder / "counted.json").read_text(encoding="utf-8"))
    nvrtc = pickle.loads((folder / "assembler.pickle").read_bytes())["nvrtc"]
    chip = re.sub(r"\W+", "-", found["gpu"].lower().removeprefix("nvidia ")).strip("-")
    path = FOLDER / f"{chip}_{found['date']}.json"
    rows = found.pop("rows")
    head = json.dumps({**found, "nvrtc": nvrtc}, indent=1)[:-2]
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    path.write_text(f'{head},\n "rows": [\n  {lines}\n ]\n}}\n', encoding="utf-8")
    print(f"{len(rows)} rows in {path.relative_to(ROOT)}")


def main() -> None:
    """Reads the command line and does one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("cubins", "run", "launch", "write"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("build", nargs="?", choices=BUILDS)
    parser.add_argument("--keep", action="store_true", help="write the outputs' hashes (launch)")
    options = parser.parse_args()
    if options.step == "launch":
        launch_all(options.folder, options.build, keep=options.keep)
    else:
        {"cubins": compile_all, "run": measure, "write": write}[options.step](options.folder)


if __name__ == "__main__":
    main()
