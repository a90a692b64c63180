"""Takes the outputs of every rung on a GPU, as hashes: tests/data/rungs/GPU_DATE.json.

    python scripts/record_rungs.py cubins FOLDER    compile every launch (needs NVRTC, no GPU)
    python scripts/record_rungs.py run FOLDER       launch them (needs PyCUDA)
    python scripts/record_rungs.py write FOLDER     put what was found into the tests' data

The launches are those of tests/core/ladder/test_rungs.py. One machine may compile, another run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools

from core.compiler import nvrtc
from core.gpu.driver_session import Session
from tests.rung_set import BUILDS, FOLDER, rung_launches

OPTIONS: dict[str, tuple[str, ...]] = {"as_written": ("-G",), "as_compiled": ()}


def compile_all(folder: Path) -> None:
    """Writes rungs.pickle: {(launch, build): (cubin, entry)}."""
    images = {
        (name, build): tools.cubin_of(workload, OPTIONS[build])
        for name, workload in rung_launches().items()
        for build in BUILDS
    }
    folder.mkdir(parents=True, exist_ok=True)
    content = {"nvrtc": nvrtc.version(), "images": images}
    (folder / "rungs.pickle").write_bytes(pickle.dumps(content))
    print(f"{len(images)} launches by NVRTC {content['nvrtc']}")


def launch_all(folder: Path) -> None:
    """Writes rungs.json: the SHA-256 of every output."""
    content = pickle.loads((folder / "rungs.pickle").read_bytes())
    found = {**tools.machine(), "nvrtc": content["nvrtc"], "rows": {}}
    del found["ncu"]
    session = Session(0)
    for name, workload in rung_launches().items():
        for build in BUILDS:
            outputs = tools.launched(session, content["images"][name, build], workload.launch)
            hashes = {k: hashlib.sha256(v.tobytes()).hexdigest() for k, v in outputs.items()}
            found["rows"].setdefault(name, {})[build] = hashes
    session.close()
    (folder / "rungs.json").write_text(json.dumps(found), encoding="utf-8")
    print(f"{len(found['rows'])} launches in {len(BUILDS)} builds")


def write(folder: Path) -> None:
    """Makes rungs.json a file of the tests' data."""
    found = json.loads((folder / "rungs.json").read_text(encoding="utf-8"))
    chip = re.sub(r"\W+", "-", found["gpu"].lower().removeprefix("nvidia ")).strip("-")
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{chip}_{found['date']}.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"Wrote {path.relative_to(ROOT)}.")


def main() -> None:
    """Reads the command line and does one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("cubins", "run", "write"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    {"cubins": compile_all, "run": launch_all, "write": write}[options.step](options.folder)


if __name__ == "__main__":
    main()
