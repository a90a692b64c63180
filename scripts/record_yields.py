"""Takes what an H200 makes of lanes that yield: tests/data/yields_h200.json.

    python scripts/record_yields.py cubins FOLDER    compile the kernels (needs NVRTC, no GPU)
    python scripts/record_yields.py run FOLDER       launch them, those of `COUNTS` under ncu
    python scripts/record_yields.py write FOLDER     put what was found into the tests' data

`run` needs PyCUDA and Nsight Compute (`ncu`, allowed to read counters). The launches are those of
tests/yielding_set.py.
"""

from __future__ import annotations

import json
import pickle
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools

from core.compiler import nvrtc
from tests import yielding_set

CUBINS, FOUND, LAUNCH = "cubins.pickle", "found.json", "launch"
Cubins = dict[tuple[str, str], tuple[bytes, str]]


def cubins(folder: Path) -> None:
    """Compiles each kernel in both builds."""
    made: Cubins = {}
    for _, name, build, workload in yielding_set.launches():
        key = workload.source, build
        if key not in made:
            made[key] = tools.cubin_of(workload, yielding_set.BUILDS[build])
        print(name, build, end="\r")
    (folder / CUBINS).write_bytes(pickle.dumps((nvrtc.version(), made)))


def launch(folder: Path, of: str) -> dict[str, str]:
    """Launches a set; what lanes ran together, by the launch's name."""
    _, made = pickle.loads((folder / CUBINS).read_bytes())  # we wrote it
    found = {}
    with tools.device() as cuda:
        launcher = tools.Launcher(cuda)
        for kind, name, build, workload in yielding_set.launches():
            if kind == of:
                results = launcher.run(made[workload.source, build], workload)
                if of == "masks":
                    found[f"{name}, {build}"] = yielding_set.together(results["masks"])
    return found


def run(folder: Path) -> None:
    """Launches both sets on this machine's GPU."""
    metrics = yielding_set.METRICS
    with tempfile.TemporaryDirectory() as reports:
        again = [sys.executable, __file__, LAUNCH, str(folder)]
        rows = tools.counted([*metrics.values()], str(Path(reports) / "counts"), again)
    counted = [one for one in yielding_set.launches() if one[0] == "counts"]
    counts = {
        f"{name}, {build}": {
            n: round(float(row[m].replace(",", "") or 0)) for n, m in metrics.items()
        }
        for (_, name, build, _), row in zip(counted, rows, strict=True)
    }
    nvrtc, _ = pickle.loads((folder / CUBINS).read_bytes())
    found = {**tools.machine(), "nvrtc": nvrtc, "masks": launch(folder, "masks"), "counts": counts}
    (folder / FOUND).write_text(json.dumps(found), encoding="utf-8")
    print(len(found["masks"]), len(counts))


def write(folder: Path) -> None:
    """One row a line."""
    found = json.loads((folder / FOUND).read_text("utf-8"))
    head = {name: value for name, value in found.items() if isinstance(value, str)}
    parts = [json.dumps(head, indent=1)[:-2]]
    for of in ("masks", "counts"):
        rows = (f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in found[of].items())
        parts.append(f' "{of}": {{\n' + ",\n".join(rows) + "\n }")
    yielding_set.RECORDED.write_text(",\n".join(parts) + "\n}\n", encoding="utf-8")


def main() -> None:
    """Does what the command line names."""
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == LAUNCH:
        launch(folder, "counts")
    else:
        {"cubins": cubins, "run": run, "write": write}[what](folder)


if __name__ == "__main__":
    main()
