"""Takes the counters of guessed launches of .cu files on a GPU: those of tests/own_launches.py.

    python scripts/count_own_files.py prepare FOLDER    both builds' cubins and launches (no GPU)
    python scripts/count_own_files.py run FOLDER        launch them under ncu: FOLDER/counted.json

The result is tests/data/own_files_h200.json, and a test compares with it. `run` needs PyCUDA and
Nsight Compute (`ncu`, allowed to read counters).
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools

from core.launch import ArrayArgument
from core.rules.counters import METRICS

OPTIONS = {"as_written": ("-G",), "as_compiled": ()}


def prepare(folder: Path) -> None:
    """Writes own_files.pickle: {(launch, build): (cubin, entry, Launch)}."""
    from tests.own_launches import own_launches

    found = {}
    for name, workload in own_launches().items():
        for build, options in OPTIONS.items():
            found[name, build] = (*tools.cubin_of(workload, options), workload.launch)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "own_files.pickle").write_bytes(pickle.dumps(found))
    print(f"{len(found)} launches")


def launch_all(folder: Path) -> None:
    """Launches each once, in order."""
    from core.gpu import driver_session
    from core.gpu.loaded_launch import LoadedKernel

    driver_session.choose_device(0)
    prepared = pickle.loads((folder / "own_files.pickle").read_bytes())
    for image, entry, launch in prepared.values():
        here = driver_session.current()
        arguments = tuple(  # outputs begin as the emulator's do, and not poisoned
            replace(one, role="inout") if isinstance(one, ArrayArgument) else one
            for one in launch.arguments
        )
        kernel = LoadedKernel(here, image, entry, replace(launch, arguments=arguments))
        with here.using(kernel):
            kernel.reset()
            kernel.run()
    driver_session.close()


def measure(folder: Path) -> None:
    """Writes counted.json: {"gpu": …, "rows": {launch: {build: counters}}}."""
    names = list(pickle.loads((folder / "own_files.pickle").read_bytes()))
    me = [sys.executable, __file__, "launch", str(folder)]
    rows = tools.counted(list(METRICS.values()), str(folder / "own_files"), me)
    if len(rows) != len(names):
        raise SystemExit(f"ncu saw {len(rows)} of {len(names)} launches")
    found: dict[str, dict[str, dict[str, int]]] = {}
    for (name, build), row in zip(names, rows, strict=True):
        found.setdefault(name, {})[build] = {
            counter: round(float(row[metric].replace(",", "") or 0))
            for counter, metric in METRICS.items()
        }
    text = json.dumps({**tools.machine(), "rows": found}, indent=1)
    (folder / "counted.json").write_text(f"{text}\n", encoding="utf-8")
    print(f"{len(rows)} launches")


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
    raise SystemExit(main())
