"""Takes the counters of what blocks of a cluster do with each other, on a Hopper GPU.

    python scripts/record_cluster.py multicast OUT.json   tests/data/hopper/multicast_h200.json
    python scripts/record_cluster.py reaching OUT.json    tests/data/hopper/reaching_h200.json

Boxes and rows that are copied, with and without multicast, are those of tests/multicast_set.py;
accesses by the cluster's addresses those of tests/reaching_set.py. Needs PyCUDA, NVRTC and Nsight
Compute (`ncu`, allowed to read counters).
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools

from core.compiler import nvrtc
from core.launch import Workload
from core.rules.counters import METRICS
from tests import multicast_set, reaching_set

SECTORS = {name: METRICS[f"global_tma_{name}_sectors"] for name in ("ld", "st")}
LAUNCH = "launch"


def launches(of: str) -> tuple[Mapping[str, str], list[tuple[str, Workload, Sequence[str]]]]:
    """The metrics of a set by name, and its launches: name, workload, the compiler's options."""
    if of == "multicast":
        return SECTORS, [
            (copy.name, multicast_set.workload(copy), ()) for copy in multicast_set.copies()
        ]
    found = reaching_set.reaches()
    return reaching_set.METRICS, [
        (one.name, reaching_set.workload(one), reaching_set.BUILDS[one.build]) for one in found
    ]


def launch_all(of: str) -> None:
    """Launches each once, in order."""
    from core.gpu.driver_session import Session
    from core.gpu.loaded_launch import LoadedKernel

    session = Session(0)
    images: dict[Any, tuple[bytes, str]] = {}
    for _, made, options in launches(of)[1]:
        key = made.kernel, options
        if key not in images:
            images[key] = tools.cubin_of(made, options)
        kernel = LoadedKernel(session, *images[key], made.launch)
        kernel.reset()
        kernel.run()
        kernel.release()
    session.close()


def main() -> None:
    """Counts all of a set, and writes the file that is named."""
    of, out = sys.argv[1:]
    metrics, made = launches(of)
    with tempfile.TemporaryDirectory() as folder:
        report, again = str(Path(folder) / of), [sys.executable, __file__, of, LAUNCH]
        rows = tools.counted([*metrics.values()], report, again)
    lines = list[str]()
    for (name, *_), row in zip(made, rows, strict=True):
        texts = {n: row[metric].replace(",", "") or "0" for n, metric in metrics.items()}
        found = {name: round(float(text)) for name, text in texts.items()}
        value = sum(found.values()) if metrics is SECTORS else found
        lines.append(f"  {json.dumps(name)}: {json.dumps(value)}")
    machine = {**tools.machine(), "nvrtc": nvrtc.version()}
    head = json.dumps(machine, indent=1)[1:-2].strip("\n")
    key = "sectors" if metrics is SECTORS else "counts"
    rows_of = ",\n".join(lines)
    Path(out).write_text(f'{{\n{head},\n "{key}": {{\n{rows_of}\n }}\n}}\n', encoding="utf-8")
    print(f"{len(lines)} launches")


if __name__ == "__main__":
    launch_all(sys.argv[1]) if sys.argv[2] == LAUNCH else main()
