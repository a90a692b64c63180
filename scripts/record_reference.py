"""Takes the reference set's counters and outputs on a GPU: tests/data/reference/GPU_DATE.json.

    python scripts/record_reference.py cubins FOLDER     compile every launch (needs NVRTC, no GPU)
    python scripts/record_reference.py run FOLDER        launch them: hashes, and counters under ncu
    python scripts/record_reference.py write FOLDER      join what was found into the reference set

`run` needs PyCUDA and Nsight Compute (`ncu`, allowed to read counters) and reads nothing but FOLDER
and the reference set; so one machine may compile, another measure. It starts one ncu for each build
and suite, leaves the card's clocks as they are, and can be repeated.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import pickle
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
import numpy as np

from core.compiler import nvrtc
from core.launch import ArrayArgument
from core.rules.counters import METRICS
from tests.reference_set import ReferenceLaunch, load_launches

Build = Literal["as_written", "as_compiled"]
BUILDS: tuple[Build, ...] = ("as_written", "as_compiled")
OPTIONS: dict[Build, tuple[str, ...]] = {"as_written": ("-G",), "as_compiled": ("-lineinfo",)}
SUITES = ("kernels", "wide", "atomics")
# Beyond METRICS: whatever of these the chip has, by regular expression of the metric's base name.
FURTHER = {
    "kernels": (
        r"l1tex__t_(requests|sectors)_pipe_lsu_mem_global_op_(atom|red)",
        r"l1tex__t_(requests|sectors)_pipe_lsu_mem_local_op_(ld|st)",
        r"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit",
        r"l1tex__data_(pipe_lsu_wavefronts|bank_conflicts_pipe_lsu)_mem_shared(_op_(atom|red))?",
        r"smsp__(sass_)?inst_executed_op_(shared|generic|global)_(atom|red)(_dot_(alu|cas))?",
        r"smsp__(sass_)?inst_executed_op_(shared|generic|global|local)_(ld|st)",
        r"smsp__sass_inst_executed_op_(global|shared|generic)_(atom|red)\w*",
    ),
    "wide": (r"l1tex__data_(pipe_lsu_wavefronts|bank_conflicts_pipe_lsu)_mem_shared",),
    "atomics": (
        r"l1tex__t_(requests|sectors)_pipe_lsu_mem_global_op_(atom|red)",
        r"l1tex__data_(pipe_lsu_wavefronts|bank_conflicts_pipe_lsu)_mem_shared_op_(atom|red)",
        r"smsp__sass_inst_executed_op_(global|shared)_(atom|red)",
    ),
}
SOURCE_METRICS = ("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal")
GLOBAL_SOURCE_METRICS = (
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
    "memory_l1_tag_requests_global",
)


def compile_all(folder: Path) -> None:
    """Writes cubins.pickle: {(launch, build): (cubin, entry)} and the compiler's version."""
    images: dict[tuple[str, str], tuple[bytes, str]] = {}
    for launch in load_launches():
        for build in BUILDS:
            images[launch.name, build] = tools.cubin_of(launch.workload, OPTIONS[build])
    version = nvrtc.version()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cubins.pickle").write_bytes(pickle.dumps({"nvrtc": version, "images": images}))
    print(f"{len(images)} cubins by NVRTC {version}")


def launch_all(folder: Path, build: Build, suite: str, out: Path | None) -> None:
    """Launches a suite in order, once each; with `out`, writes the outputs' hashes there."""
    import pycuda.driver as cuda

    images = pickle.loads((folder / "cubins.pickle").read_bytes())["images"]
    cuda.init()
    context = cuda.Device(0).make_context()
    rows = []
    try:
        modules: dict[bytes, Any] = {}
        for launch in _suite(suite):
            image, entry = images[launch.name, build]
            if image not in modules:
                modules[image] = cuda.module_from_buffer(image)
            found = _launch(cuda, modules[image].get_function(entry), launch)
            rows.append({"launch": launch.name, "build": build, "outputs": found})
    finally:
        context.pop()
    if out is not None:
        out.write_text(json.dumps(rows), encoding="utf-8")
    print(f"{build}, {suite}: {len(rows)} launches", flush=True)


def _suite(suite: str) -> list[ReferenceLaunch]:
    return [launch for launch in load_launches() if launch.suite == suite]


def _launch(cuda: Any, function: Any, launch: ReferenceLaunch) -> dict[str, str]:
    """One launch; SHA-256 of each output, or its bytes where bits are not defined."""
    config = launch.workload.launch
    buffers = {}
    values: list[Any] = []
    for argument in config.arguments:
        if isinstance(argument, ArrayArgument):
            buffers[argument.name] = cuda.to_device(argument.data)
            values.append(np.uintp(int(buffers[argument.name])))
        else:
            values.append(argument.value)
    grid, block = config.grid, config.block
    function(
        *values,
        grid=(grid.x, grid.y, grid.z),
        block=(block.x, block.y, block.z),
        shared=config.shared_bytes,
    )
    cuda.Context.synchronize()
    found = {}
    for array in launch.outputs:
        host = np.empty_like(array.data)
        cuda.memcpy_dtoh(host, buffers[array.name])
        found[array.name] = (
            hashlib.sha256(host.tobytes()).hexdigest()
            if launch.approximate is None
            else host.tobytes().hex()
        )
    for buffer in buffers.values():
        buffer.free()
    return found


def measure(folder: Path, suites: Sequence[str] = SUITES) -> None:
    """Everything that needs the GPU: hashes, then ncu for each suite and build."""
    names = _available_metrics()
    machine = tools.machine()
    (folder / "machine.json").write_text(json.dumps(machine), encoding="utf-8")
    (folder / "metrics.txt").write_text("\n".join(sorted(names)), encoding="utf-8")
    for suite in suites:
        for build in BUILDS:
            me = [sys.executable, __file__, "launch", str(folder), "--build", build]
            out = folder / f"hashes-{suite}-{build}.json"
            tools.run([*me, "--suite", suite, "--out", str(out)])
            metrics = ",".join(_metrics(suite, names))
            report = folder / f"{suite}-{build}"
            counting = ["ncu", "--clock-control", "none", "--metrics", metrics, "-f"]
            tools.run([*counting, "-o", str(report), *me, "--suite", suite])
            reading = ["ncu", "--import", f"{report}.ncu-rep", "--page", "raw", "--csv"]
            text = tools.run([*reading, "--print-units", "base"])
            (folder / f"{suite}-{build}.csv").write_text(text, encoding="utf-8")


def _available_metrics() -> frozenset[str]:
    listed = tools.run(["ncu", "--query-metrics"])
    return frozenset(re.findall(r"^(\w+__\w+)", listed, re.MULTILINE))


def _metrics(suite: str, available: Iterable[str]) -> list[str]:
    wanted = [re.compile(pattern) for pattern in FURTHER[suite]]
    found = [f"{n}.sum" for n in sorted(available) if any(p.fullmatch(n) for p in wanted)]
    source = SOURCE_METRICS + GLOBAL_SOURCE_METRICS if suite == "kernels" else SOURCE_METRICS
    return list(dict.fromkeys([*METRICS.values(), *found, *source]))


def write(folder: Path) -> Path:
    """Joins what `run` left in `folder` into one file of the reference set; returns its path."""
    machine = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    nvrtc = pickle.loads((folder / "cubins.pickle").read_bytes())["nvrtc"]
    rows = []
    for suite in SUITES:
        for build in BUILDS:
            hashes = json.loads((folder / f"hashes-{suite}-{build}.json").read_text("utf-8"))
            with (folder / f"{suite}-{build}.csv").open(encoding="utf-8", newline="") as file:
                counted = list(csv.DictReader(file))[1:]  # the first row holds the units
            if len(counted) != len(hashes):
                raise SystemExit(f"{suite}, {build}: ncu saw {len(counted)} of {len(hashes)}")
            rows += [_row(h, c) for h, c in zip(hashes, counted, strict=True)]
    chip = re.sub(r"\W+", "-", machine["gpu"].lower().removeprefix("nvidia ")).strip("-")
    path = ROOT / "tests" / "data" / "reference" / f"{chip}_{machine['date']}.json"
    head = json.dumps({**machine, "nvrtc": nvrtc}, indent=1)[:-2]
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    path.write_text(f'{head},\n "rows": [\n  {lines}\n ]\n}}\n', encoding="utf-8")
    print(f"{len(rows)} rows in {path.relative_to(ROOT)}")
    return path


def _row(hashed: dict[str, Any], counted: dict[str, str]) -> dict[str, Any]:
    short = {metric: name for name, metric in METRICS.items()}
    counters = {
        short.get(metric, metric.removesuffix(".sum")): int(float(value.replace(",", "")))
        for metric, value in counted.items()
        if re.match(r"(l1tex|smsp)__\w+\.sum$|memory_", metric) and value and value != "n/a"
    }
    return {**hashed, "counters": counters}


def main() -> None:
    """Reads the command line and does one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("cubins", "run", "launch", "write"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", choices=BUILDS, default="as_written")
    parser.add_argument("--suite", choices=SUITES, help="this one only (run, launch)")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.step == "cubins":
        compile_all(options.folder)
    elif options.step == "run":
        measure(options.folder, [options.suite] if options.suite else SUITES)
    elif options.step == "launch":
        launch_all(options.folder, options.build, options.suite or "kernels", options.out)
    else:
        write(options.folder)


if __name__ == "__main__":
    main()
