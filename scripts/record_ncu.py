"""Profiles launches with Nsight Compute as a user would: files for `tilescope compare-ncu`.

    python scripts/record_ncu.py run FOLDER

Needs an NVIDIA GPU, CuPy and `ncu`, allowed to read counters. For each build it writes the report,
the CSV of its pages raw and details, in ncu's own units, and what `ncu --csv` prints by itself;
`launches.json` says which launch each ID is. tests/data/ncu holds what an H100 gave.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import numpy as np

from core.ladder import load_ladder
from core.launch import ArrayArgument, Workload
from core.rules.counters import METRICS

# M, N and K differ where a rung has them.
LAUNCHES: tuple[tuple[str, dict[str, int]], ...] = (
    ("copy_stride", {"n": 4096, "stride": 5, "block_x": 128}),
    ("transpose_naive", {"m": 96, "n": 160, "tile": 16}),
    ("uncoalesced", {"n": 96, "block_x": 16, "block_y": 16}),
    ("coalesced", {"n": 128, "block_x": 32, "block_y": 8}),
    ("tiled", {"n": 128, "tile": 16}),
    ("tiled", {"n": 96, "tile": 8}),
    ("tiled_rect", {"m": 70, "k": 90, "n": 50, "tile": 16}),
    ("aat_shared", {"n": 128, "tile": 32}),
    ("tile_2d", {"m": 64, "k": 48, "n": 96}),
)
OPTIONS = {"as_written": ("-G",), "as_compiled": ("-lineinfo",)}
SECTIONS = ("LaunchStats", "Occupancy", "SourceCounters", "MemoryWorkloadAnalysis_Tables")


def launches() -> list[Workload]:
    """The launches in their order."""
    ladder = load_ladder()
    return [ladder[rung].workload(**given) for rung, given in LAUNCHES]


def launch_all(build: str) -> None:
    """Compiles and launches each once; raises where a result is wrong."""
    import cupy

    for workload in launches():
        defines = [f"-D{name}={value}" for name, value in workload.defines.items()]
        module = cupy.RawModule(
            code=workload.source, options=(*OPTIONS[build], *defines), backend="nvrtc"
        )
        function = module.get_function(workload.kernel)
        config = workload.launch
        if config.shared_bytes > 48 << 10:
            function.max_dynamic_shared_size_bytes = config.shared_bytes
        buffers: dict[str, Any] = {a.name: cupy.asarray(a.data) for a in config.arrays}
        values = [
            buffers[a.name] if isinstance(a, ArrayArgument) else a.value for a in config.arguments
        ]
        grid, block = config.grid, config.block
        function(
            (grid.x, grid.y, grid.z),
            (block.x, block.y, block.z),
            values,
            shared_mem=config.shared_bytes,
        )
        cupy.cuda.Device().synchronize()
        for name, truth in (workload.expected or dict)().items():
            error = float(np.max(np.abs(cupy.asnumpy(buffers[name]) - truth)))
            if not error <= 1e-3:
                raise SystemExit(f"{workload.rung}, {build}: {name} is wrong by {error}")


def profile(folder: Path) -> None:
    """Everything that needs the GPU."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"rung": w.rung, "kernel": w.kernel, "parameters": dict(w.parameters)} for w in launches()
    ]
    (folder / "launches.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    names = "|".join(sorted({str(row["kernel"]) for row in rows}))
    common = ["--clock-control", "none", "-k", f"regex:^({names})$"]
    metrics = ["--metrics", ",".join(METRICS.values())]
    for name in SECTIONS:
        metrics += ["--section", name]
    for build in OPTIONS:
        me = [sys.executable, __file__, "launch", str(folder), "--build", build]
        report = folder / build
        run(["ncu", *common, *metrics, "--import-source", "yes", "-f", "-o", str(report), *me])
        for page in ("raw", "details", "source"):
            text = run(["ncu", "--import", f"{report}.ncu-rep", "--page", page, "--csv"])
            (folder / f"{build}-{page}.csv").write_text(text, encoding="utf-8")
        printed = run(["ncu", *common, *metrics[:2], "--csv", *me])
        (folder / f"{build}-printed.csv").write_text(printed, encoding="utf-8")
    version = run(["ncu", "--version"]).strip().splitlines()[-1]
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "-i", "0"]
    about = f"{version}\n{run(query).strip()}\n{date.today().isoformat()}\n"
    (folder / "version.txt").write_text(about, encoding="utf-8")


def run(command: list[str]) -> str:
    """What a command prints; ends the program where it fails, saying how."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)[:300]}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def main() -> None:
    """Reads the command line and does one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("run", "launch"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", choices=tuple(OPTIONS), default="as_written")
    options = parser.parse_args()
    if options.step == "run":
        profile(options.folder)
    else:
        launch_all(options.build)


if __name__ == "__main__":
    main()
