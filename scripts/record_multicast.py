"""Takes the sectors of boxes copied with and without multicast on a Hopper GPU.

    python scripts/record_multicast.py OUT.json      for tests/data/hopper/multicast_h200.json

The copies are those of tests/multicast_set.py. Needs PyCUDA, NVRTC and Nsight Compute (`ncu`,
allowed to read counters).
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools

from core.compiler import nvrtc_library
from core.rules.counters import METRICS
from tests.multicast_set import boxes, workload

METRIC = METRICS["global_tma_ld_sectors"]
LAUNCH = "launch"


def launch_all() -> None:
    """Launches each once, in order."""
    from core.gpu.loaded import LoadedKernel
    from core.gpu.session import Session

    session = Session(0)
    images: dict[str, tuple[bytes, str]] = {}
    for box in boxes():
        made = workload(box)
        if made.kernel not in images:
            images[made.kernel] = tools.cubin_of(made)
        kernel = LoadedKernel(session, *images[made.kernel], made.launch)
        kernel.reset()
        kernel.run()
        kernel.release()
    session.close()


def main() -> None:
    """Counts all, and writes the file that is named."""
    with tempfile.TemporaryDirectory() as folder:
        report = str(Path(folder) / "multicast")
        rows = tools.counted([METRIC], report, [sys.executable, __file__, LAUNCH])
    names = [box.name for box in boxes()]
    found = {n: round(float(r[METRIC].replace(",", ""))) for n, r in zip(names, rows, strict=True)}
    machine = {**tools.machine(), "nvrtc": nvrtc_library.version()}
    lines = ",\n".join(f'  "{name}": {sectors}' for name, sectors in found.items())
    head = json.dumps(machine, indent=1)[1:-2].strip("\n")
    text = f'{{\n{head},\n "sectors": {{\n{lines}\n }}\n}}\n'
    Path(sys.argv[1]).write_text(text, encoding="utf-8")
    print(f"{len(found)} copies")


if __name__ == "__main__":
    launch_all() if sys.argv[1] == LAUNCH else main()
