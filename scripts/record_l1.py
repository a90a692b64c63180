"""Takes the counters that the L1 estimate is compared with: tests/data/l1/GPU_DATE.json.

    python scripts/record_l1.py cubins FOLDER     compile every launch (needs NVRTC, no GPU)
    python scripts/record_l1.py run FOLDER        launch them under ncu (needs PyCUDA and ncu)
    python scripts/record_l1.py write FOLDER      put what was found into the tests' data

Every launch is measured twice, by two runs of ncu, so that the record says how far the counters
themselves scatter. One machine may compile, another measure.
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

from core.compiler import nvrtc
from tests.l1_set import BUILDS, FOLDER, L1Launch, load_l1_launches, placements

OPTIONS: dict[str, tuple[str, ...]] = {"as_written": ("-G",), "as_compiled": ()}
_LD = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld"
METRICS = {
    "sectors": f"{_LD}.sum",
    "hits": f"{_LD}_lookup_hit.sum",
    "least_hits": f"{_LD}_lookup_hit.min",  # of an SM
    "most_hits": f"{_LD}_lookup_hit.max",
    "misses": f"{_LD}_lookup_miss.sum",
    "requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "store_hits": "l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit.sum",
    "local_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "shared_config": "launch__shared_mem_config_size",  # bytes: the carve-out
    "registers": "launch__registers_per_thread",
}
TIMES = 2


def compile_all(folder: Path) -> None:
    """Writes l1.pickle: {(launch, build): (cubin, entry)}, the placements' and the version."""
    images = {
        (launch.name, build): tools.cubin_of(launch.workload, OPTIONS[build])
        for launch in load_l1_launches()
        for build in launch.builds
    }
    places = [tools.cubin_of(workload) for workload in placements()]
    content = {"nvrtc": nvrtc.version(), "images": images, "placements": places}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "l1.pickle").write_bytes(pickle.dumps(content))
    print(f"{len(images)} launches by NVRTC {content['nvrtc']}")


def order(build: str) -> list[L1Launch]:
    """The launches that a build is measured of."""
    return [launch for launch in load_l1_launches() if build in launch.builds]


def launch_all(folder: Path, build: str) -> None:
    """Launches everything of a build in order, once."""
    images = pickle.loads((folder / "l1.pickle").read_bytes())["images"]
    with tools.device() as cuda:
        launcher = tools.Launcher(cuda)
        for launch in order(build):
            launcher.run(images[launch.name, build], launch.workload, keep=False)


def measure(folder: Path) -> None:
    """Everything that needs the GPU; writes l1.json."""
    content = pickle.loads((folder / "l1.pickle").read_bytes())
    found: dict[str, Any] = {**tools.machine(), "nvrtc": content["nvrtc"]}
    with tools.device() as cuda:
        launcher = tools.Launcher(cuda)
        found["placements"] = [
            launcher.run(image, workload)["sm"].tolist()
            for image, workload in zip(content["placements"], placements(), strict=True)
        ]
    rows: dict[tuple[str, str], list[dict[str, int]]] = {}
    for time in range(TIMES):
        for build in BUILDS:
            command = [sys.executable, __file__, "launch", str(folder), "--build", build]
            report = str(folder / f"l1-{build}-{time}")
            table = tools.counted(list(METRICS.values()), report, command)
            if len(table) != len(order(build)):
                raise SystemExit(f"{build}: ncu saw {len(table)} of {len(order(build))}")
            for launch, row in zip(order(build), table, strict=True):
                rows.setdefault((launch.name, build), []).append(_numbers(row))
    found["rows"] = [
        {"launch": name, "build": build, **_joined(times)} for (name, build), times in rows.items()
    ]
    (folder / "l1.json").write_text(json.dumps(found), encoding="utf-8")
    print(f"{len(rows)} rows")


def _numbers(row: dict[str, str]) -> dict[str, int]:
    return {
        name: int(float(row[metric].replace(",", "")))
        for name, metric in METRICS.items()
        if row.get(metric) not in (None, "", "n/a")
    }


def _joined(times: list[dict[str, int]]) -> dict[str, Any]:
    """The first run's counters, and what the further ones had in place of its hits."""
    return {**times[0], "hits_again": [time["hits"] for time in times[1:]]}


def write(folder: Path) -> Path:
    """Makes l1.json a file of the tests' data; returns its path."""
    found = json.loads((folder / "l1.json").read_text(encoding="utf-8"))
    chip = re.sub(r"\W+", "-", found["gpu"].lower().removeprefix("nvidia ")).strip("-")
    path = FOLDER / f"{chip}_{found['date']}.json"
    rows = ",\n  ".join(json.dumps(row) for row in found.pop("rows"))
    places = ",\n  ".join(json.dumps(one) for one in found.pop("placements"))
    head = json.dumps(found, indent=1)[:-2]
    text = f'{head},\n "placements": [\n  {places}\n ],\n "rows": [\n  {rows}\n ]\n}}\n'
    path.write_text(text, encoding="utf-8")
    print(f"Wrote {path.relative_to(ROOT)}.")
    return path


def main() -> None:
    """Reads the command line and does one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("cubins", "run", "launch", "write"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", choices=BUILDS, default="as_written")
    options = parser.parse_args()
    if options.step == "cubins":
        compile_all(options.folder)
    elif options.step == "run":
        measure(options.folder)
    elif options.step == "launch":
        launch_all(options.folder, options.build)
    else:
        write(options.folder)


if __name__ == "__main__":
    main()
