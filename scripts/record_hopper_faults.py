"""Runs Hopper's faulty kernels and their clean twins on a GPU, in both builds.

    python scripts/record_hopper_faults.py DATE      tests/core/faults/hopper_h200_DATE.json

Each family of tests/core/faults/hopper_family.py has a process for its faulty kernels and one for
its twins. A kernel that does not end is killed with its process, and what comes after it goes on in
another. The record has, for each kernel and build, a digest of its outputs, "hangs", or the error.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

from tests.core.faults.hopper_family import families, outputs_digest

BUILDS = {"as_written": ("-G",), "as_compiled": ()}
WORKERS = 12
PATIENCE_S = 4  # of a kernel that takes milliseconds
LONGEST_S = 120  # to begin: imports, and a compilation beside eleven others


def child(family: str, variant: str, build: str, first: int) -> None:
    """Run the kernels from `first` on; two lines each: that it begins, and how it went."""
    import gpu_tools as tools

    from core.gpu.driver_session import Session

    session = Session(0)
    for member in families()[family][first:]:
        made = member.workload(faulty=variant == "faulty")
        cubin = tools.cubin_of(made, BUILDS[build])
        print("begins", flush=True)
        try:
            came = outputs_digest(tools.launched(session, cubin, made.launch))
        except Exception as error:  # noqa: BLE001 - of any kind: the context is lost with it
            print(f"error {type(error).__name__}: {error}".splitlines()[0], flush=True)
            return
        print(came, flush=True)


def outcomes(family: str, variant: str, build: str) -> dict[str, str]:
    """How each kernel of a family went, by its name."""
    names = [member.name for member in families()[family]]
    found: dict[str, str] = {}
    while len(found) < len(names):
        command = [sys.executable, __file__, "--child", family, variant, build, str(len(found))]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True).start()
        while len(found) < len(names):
            began = _next(lines, LONGEST_S)
            if began != "begins":
                break
            came = _next(lines, PATIENCE_S)
            found[names[len(found)]] = came or "hangs"
            if not came or came.startswith("error"):
                break
        else:
            process.wait()
            break
        process.kill()
        process.wait()
        if began != "begins":
            raise SystemExit(f"{family}, {variant}, {build} does not begin")
    return found


def _pump(stream: Iterable[str], lines: queue.Queue[str]) -> None:
    for line in stream:
        lines.put(line.strip())
    lines.put("")


def _next(lines: queue.Queue[str], patience: float) -> str:
    try:
        return lines.get(timeout=patience)
    except queue.Empty:
        return ""


def main(date: str) -> None:
    """Run everything, and write the record."""
    asked = [(f, v, b) for f in families() for v in ("faulty", "twin") for b in BUILDS]
    with ThreadPoolExecutor(WORKERS) as pool:
        came = list(pool.map(lambda one: outcomes(*one), asked))
    found: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    for (family, variant, build), rows in zip(asked, came, strict=True):
        found.setdefault(family, {}).setdefault(variant, {})[build] = rows
    record = {"machine": _machine(), "date": date, "families": found}
    path = ROOT / "tests" / "core" / "faults" / f"hopper_h200_{date}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _machine() -> str:
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        child(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
    else:
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("date", help="of the record, as 2026-11-27")
        main(parser.parse_args().date)
