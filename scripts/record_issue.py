"""Takes the counters that machine code's counts are compared with: tests/data/issue_h200.json.

    python scripts/record_issue.py cubins FOLDER     compile every launch (needs NVRTC, no GPU)
    python scripts/record_issue.py run FOLDER        launch them under ncu (needs PyCUDA and ncu)
    python scripts/record_issue.py write FOLDER      put what was found into the tests' data

One machine may compile, another measure.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools

from core.compiler import nvrtc
from core.ladder import load_ladder

DATA = ROOT / "tests" / "data" / "issue_h200.json"
SURE = {
    "executed": "smsp__inst_executed.sum",
    "issued": "smsp__inst_issued.sum",
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "clocks": "sm__cycles_elapsed.max",
    "registers": "launch__registers_per_thread",
}
PIPES = ("alu", "fma", "fmaheavy", "fmalite", "fp16", "lsu", "uniform", "xu", "adu", "cbu")
STALLS = ("barrier", "dispatch_stall", "lg_throttle", "long_scoreboard", "math_pipe_throttle",
          "mio_throttle", "no_instruction", "not_selected", "selected", "short_scoreboard",
          "wait")  # fmt: skip
PERHAPS = {
    **{f"pipe_{pipe}": f"sm__inst_executed_pipe_{pipe}.sum" for pipe in PIPES},
    "pipe_tensor": "sm__inst_executed_pipe_tensor.sum",
    "writeback": "l1tex__lsu_writeback_active.sum",
    **{
        f"stall_{name}": f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio"
        for name in STALLS
    },
}
_LARGE = {"m": 2048, "n": 2048, "k": 2048}
_SMALL = {"m": 512, "n": 512, "k": 512}


@dataclass(frozen=True)
class IssueLaunch:
    """A launch of a rung."""

    rung: str
    parameters: dict[str, int]

    @property
    def workload(self) -> Any:
        """With arrays of zeros."""
        return load_ladder()[self.rung].blank_workload(**self.parameters)


def launches() -> tuple[IssueLaunch, ...]:
    """Every product of the ladder at two sizes; tiles and blocks of other widths at one."""
    found = []
    for rung in load_ladder().values():
        names = {p.name for p in rung.parameters}
        if rung.flops is None or rung.group == "broken":
            continue
        found += [_launch(rung, {**rung.tuned_for(**sizes), **sizes}) for sizes in (_SMALL, _LARGE)]
        for tile in (8, 32):
            other = {"tile": tile, "block_x": tile, "block_y": tile}
            chosen = {
                **rung.tuned_for(**_SMALL),
                **_SMALL,
                **{k: v for k, v in other.items() if k in names},
            }
            if names & set(other) and _launch(rung, chosen) not in found:
                found.append(_launch(rung, chosen))
    return tuple(found)


def _launch(rung: Any, wanted: dict[str, int]) -> IssueLaunch:
    names = {p.name for p in rung.parameters}
    return IssueLaunch(rung.name, {k: v for k, v in wanted.items() if k in names})


def compile_all(folder: Path) -> None:
    """Writes issue.pickle: the cubins and the compiler's version."""
    images = [tools.cubin_of(launch.workload) for launch in launches()]
    folder.mkdir(parents=True, exist_ok=True)
    content = {"nvrtc": nvrtc.version(), "images": images, "launches": launches()}
    (folder / "issue.pickle").write_bytes(pickle.dumps(content))
    print(f"{len(images)} launches by NVRTC {content['nvrtc']}")


def launch_all(folder: Path) -> None:
    """Launches everything in order, once."""
    content = pickle.loads((folder / "issue.pickle").read_bytes())
    with tools.device() as cuda:
        launcher = tools.Launcher(cuda)
        for launch, image in zip(content["launches"], content["images"], strict=True):
            launcher.run(image, launch.workload, keep=False)


def measure(folder: Path) -> None:
    """Everything that needs the GPU; writes issue.json."""
    content = pickle.loads((folder / "issue.pickle").read_bytes())
    command = [sys.executable, __file__, "launch", str(folder)]
    table = tools.counted(list(SURE.values()), str(folder / "issue"), command)
    rows = [
        {"rung": launch.rung, "parameters": launch.parameters, **_numbers(row, SURE)}
        for launch, row in zip(content["launches"], table, strict=True)
    ]
    found = {**tools.machine(), "nvrtc": content["nvrtc"], "metrics": {**SURE, **PERHAPS}}
    (folder / "issue.json").write_text(json.dumps({**found, "rows": rows}), encoding="utf-8")
    more = tools.counted(list(PERHAPS.values()), str(folder / "issue-more"), command)
    for row, extra in zip(rows, more, strict=True):
        row.update(_numbers(extra, PERHAPS))
    (folder / "issue.json").write_text(json.dumps({**found, "rows": rows}), encoding="utf-8")
    print(f"{len(rows)} rows")


def _numbers(row: dict[str, str], metrics: dict[str, str]) -> dict[str, float]:
    found = {}
    for name, metric in metrics.items():
        if row.get(metric) not in (None, "", "n/a"):
            value = float(row[metric].replace(",", ""))
            found[name] = int(value) if value.is_integer() else round(value, 4)
    return found


def write(folder: Path) -> None:
    """Makes issue.json a file of the tests' data."""
    found = json.loads((folder / "issue.json").read_text(encoding="utf-8"))
    rows = ",\n  ".join(json.dumps(row) for row in found.pop("rows"))
    head = json.dumps(found, indent=1)[:-2]
    DATA.write_text(f'{head},\n "rows": [\n  {rows}\n ]\n}}\n', encoding="utf-8")
    print(f"Wrote {DATA.relative_to(ROOT)}.")


def main() -> None:
    """Reads the command line and does one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("cubins", "run", "launch", "write"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    steps = {"cubins": compile_all, "run": measure, "launch": launch_all, "write": write}
    steps[options.step](options.folder)


if __name__ == "__main__":
    main()
