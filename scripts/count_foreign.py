"""Takes the counters of Triton's and Numba's kernels on a GPU: those of tests/foreign_set.py.

    python scripts/count_foreign.py prepare FOLDER    the launches as Tilescope makes them (no GPU)
    python scripts/count_foreign.py run FOLDER        launch them under ncu: FOLDER/counted.json

The result stands in tests/data/foreign (`tests.foreign_runs.COUNTED`), and a test compares with it.
`run` needs PyCUDA and Nsight Compute (`ncu`, allowed to read counters). The driver assembles the
PTX. To one that is older than a file's `.version` a lower one is told: these kernels use nothing
that is newer.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
import numpy as np

from core.launch import Workload
from core.rules.counters import METRICS
from tests.foreign_set import FOREIGN, wide

VERSIONS = ("", "9.0", "8.8", "8.5", "8.0")  # "": as the file says


def prepare(folder: Path) -> None:
    """Writes foreign.pickle: {name: (PTX, its kernel, Launch)}."""
    from tests.foreign_runs import workload_of

    found = {}
    for one in FOREIGN:
        workload = workload_of(one)
        found[one.name] = (workload.ptx, workload.kernel, workload.launch)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "foreign.pickle").write_bytes(pickle.dumps(found))
    print(f"{len(found)} launches")


def launch_all(folder: Path) -> None:
    """Launches each once, in order, and writes errors.json: of outputs, against NumPy."""
    prepared = pickle.loads((folder / "foreign.pickle").read_bytes())
    errors: dict[str, float] = {}
    with tools.device() as cuda:
        for one in FOREIGN:
            text, entry, launch = prepared[one.name]
            function = _module(cuda, text).get_function(entry)
            buffers = tools.start(cuda, function, Workload("", "", "", entry, launch))
            cuda.Context.synchronize()
            before = {array.name: array.data for array in launch.arrays}
            worst = np.float64(0)
            for name, truth in one.truth(before).items():
                found = np.empty_like(before[name])
                cuda.memcpy_dtoh(found, buffers[name])
                wanted = np.asarray(truth, np.float64)
                error = np.abs(wide(found).reshape(wanted.shape) - wanted).max()
                worst = np.maximum(worst, error / np.abs(wanted).max())
            errors[one.name] = float(worst)
            for buffer in buffers.values():
                buffer.free()
    (folder / "errors.json").write_text(json.dumps(errors), encoding="utf-8")


def _module(cuda: Any, text: str) -> Any:
    """The PTX, assembled by the driver, without its debug sections and the lines they explain."""
    code = re.split(r"(?m)^\s*\.section\b", text)[0].replace(", debug", "", 1)
    text, refused = re.sub(r"(?m)^[ \t]*\.loc\b.*$", "", code), ""
    for version in VERSIONS:
        ptx = re.sub(r"(?m)^\.version .*$", f".version {version}", text) if version else text
        try:
            return cuda.module_from_buffer(ptx.encode())
        except cuda.Error as error:
            if "version" not in str(error).lower() and "ptx" not in str(error).lower():
                raise
            refused = f"{version or 'as it is'}: {error}"
    raise SystemExit(f"The driver takes none of these versions of PTX. The last, {refused}")


def measure(folder: Path) -> None:
    """Writes counted.json: {"gpu": …, "rows": {launch: counters}, "errors": {launch: error}}."""
    me = [sys.executable, __file__, "launch", str(folder)]
    rows = tools.counted(list(METRICS.values()), str(folder / "foreign"), me)
    if len(rows) != len(FOREIGN):
        raise SystemExit(f"ncu saw {len(rows)} of {len(FOREIGN)} launches")
    found = {
        **tools.machine(),
        "rows": {
            one.name: {name: _number(row[metric]) for name, metric in METRICS.items()}
            for one, row in zip(FOREIGN, rows, strict=True)
        },
        "errors": json.loads((folder / "errors.json").read_text(encoding="utf-8")),
    }
    (folder / "counted.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    wrong = [one.name for one in FOREIGN if not found["errors"][one.name] <= one.tolerance]
    print(f"{len(rows)} launches on {found['gpu']}; wrong values: {', '.join(wrong) or 'none'}")


def _number(text: str) -> int:
    return round(float(text.replace(",", "") or 0))


def main() -> int:
    """Do one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("prepare", "run", "launch"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    {"prepare": prepare, "run": measure, "launch": launch_all}[options.step](options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
