"""Takes the counters of scattered atomics and copies on a GPU: tests/data/scattered/GPU_DATE.json.

    python scripts/record_scattered.py cubins FOLDER    compile the kernels (needs NVRTC, no GPU)
    python scripts/record_scattered.py run FOLDER       launch them under ncu
    python scripts/record_scattered.py write FOLDER     put what was found into the tests' data

`run` needs PyCUDA and Nsight Compute (`ncu`, allowed to read counters). The launches are those of
tests/scattered_set.py. Cells begin 512 bytes after a multiple of 2 MiB, where cudaMalloc puts a
second small array; which lines get in each other's way depends on it.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
import numpy as np

from core.compiler import nvrtc
from tests.scattered_set import (
    FOLDER,
    HIGHEST_BIT,
    LANES,
    Scattered,
    scattered_launches,
    workload,
)

BUILDS: dict[str, tuple[str, ...]] = {"as_compiled": ("-lineinfo",), "as_written": ("-G",)}
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
SUITES = {  # what is counted: name in the record, metric
    "atomics": {
        f"{kind}_{what}": GLOBAL.format(metric, kind)
        for kind in ("red", "atom")
        for what, metric in (("sectors", "sectors"), ("passes", "output_wavefronts"))
    },
    "copies": {
        "sectors": GLOBAL.format("sectors", "ld"),
        "requests": GLOBAL.format("requests", "ld"),
        "copies": "smsp__sass_inst_executed_op_ldgsts.sum",
    },
}
OWN_LOADS = 3  # of the copying kernel: four sectors each, which are none of the copy's
FIRST_CELL = 512


def launches_of(suite: str, build: str) -> list[Scattered]:
    """What is launched; as written every fourth only, since nothing there should differ."""
    found = [x for x in scattered_launches() if x.is_copy == (suite == "copies")]
    return found[::4] if build == "as_written" else found


def compile_all(folder: Path) -> None:
    """Writes scattered.pickle: {(operation, build): (cubin, entry)}."""
    first = {launch.operation: launch for launch in scattered_launches()}
    images = {
        (operation, build): tools.cubin_of(workload(launch), options)
        for operation, launch in first.items()
        for build, options in BUILDS.items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    content = {"nvrtc": nvrtc.version(), "images": images}
    (folder / "scattered.pickle").write_bytes(pickle.dumps(content))
    print(f"{len(images)} kernels by NVRTC {content['nvrtc']}")


def launch_all(folder: Path, suite: str, build: str) -> None:
    """Launches a suite in order, once each."""
    images = pickle.loads((folder / "scattered.pickle").read_bytes())["images"]
    with tools.device() as cuda:
        functions = {}
        large = cuda.mem_alloc((1 << HIGHEST_BIT + 1) + (4 << 20))
        cells = (int(large) + (2 << 20) - 1) // (2 << 20) * (2 << 20) + FIRST_CELL
        out = cuda.mem_alloc(4096)
        for launch in launches_of(suite, build):
            image, entry = images[launch.operation, build]
            if launch.operation not in functions:
                module = cuda.module_from_buffer(image)
                functions[launch.operation] = (module, module.get_function(entry))
            places = [launch.places]
            if launch.target is not None and launch.given is not None:
                places = [x.astype(np.int32) for x in (launch.places, launch.target, launch.given)]
            given = [cuda.to_device(x) for x in places]
            function = functions[launch.operation][1]
            function(*given, np.uintp(cells), out, grid=(1, 1, 1), block=(LANES, 1, 1))
            cuda.Context.synchronize()


def measure(folder: Path) -> None:
    """Writes counted.json, suite by suite and build by build."""
    rows_of: dict[str, dict[str, dict[str, int]]] = {}
    found = {**tools.machine(), "rows": rows_of}
    for suite, metrics in SUITES.items():
        for build in BUILDS:
            names = [launch.name for launch in launches_of(suite, build)]
            me = [sys.executable, __file__, "launch", str(folder), suite, build]
            rows = tools.counted(list(metrics.values()), str(folder / f"{suite}-{build}"), me)
            if len(rows) != len(names):
                raise SystemExit(f"{suite}, {build}: ncu saw {len(rows)} of {len(names)} launches")
            for name, row in zip(names, rows, strict=True):
                counters = {k: int(float(row[m].replace(",", ""))) for k, m in metrics.items()}
                rows_of.setdefault(name, {})[build] = counters
            (folder / "counted.json").write_text(json.dumps(found), encoding="utf-8")
            print(f"{suite}, {build}: {len(rows)} launches", flush=True)


def write(folder: Path) -> None:
    """Makes counted.json a file of the tests' data."""
    found = json.loads((folder / "counted.json").read_text(encoding="utf-8"))
    nvrtc = pickle.loads((folder / "scattered.pickle").read_bytes())["nvrtc"]
    rows = {name: {b: _own(c) for b, c in builds.items()} for name, builds in found["rows"].items()}
    chip = re.sub(r"\W+", "-", found["gpu"].lower().removeprefix("nvidia ")).strip("-")
    path = FOLDER / f"{chip}_{found['date']}.json"
    head = json.dumps({**found, "nvrtc": nvrtc, "rows": None}, indent=1)
    lines = ",\n  ".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    path.write_text(head.replace("null", f"{{\n  {lines}\n }}") + "\n", encoding="utf-8")
    print(f"{len(rows)} rows in {path.relative_to(ROOT)}")


def _own(counters: dict[str, int]) -> dict[str, int]:
    """The counters of the access alone, those that are zero left out."""
    found = dict(counters)
    if "copies" in found:
        found["requests"] -= OWN_LOADS
        found["sectors"] -= OWN_LOADS * LANES * 4 // 32
    return {name: value for name, value in found.items() if value}


def main() -> None:
    """Reads the command line and does one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("cubins", "run", "launch", "write"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("suite", nargs="?", choices=SUITES)
    parser.add_argument("build", nargs="?", choices=BUILDS)
    options = parser.parse_args()
    if options.step == "launch":
        launch_all(options.folder, options.suite, options.build)
    else:
        {"cubins": compile_all, "run": measure, "write": write}[options.step](options.folder)


if __name__ == "__main__":
    main()
