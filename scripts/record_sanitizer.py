"""Runs compute-sanitizer over the faulty kernels, their clean twins and the broken rungs.

    python scripts/record_sanitizer.py cubins FOLDER    compile everything (needs NVRTC, no GPU)
    python scripts/record_sanitizer.py run FOLDER       memcheck, racecheck, initcheck, synccheck
    python scripts/record_sanitizer.py write FOLDER     tests/core/faults/sanitizer_DATE.json

`run` needs PyCUDA and compute-sanitizer. Kernels go in batches, one process a batch; what a kernel
kills or hangs goes on without it. Kernels that may hang have a process each, and the last turn.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools

from core.compiler import nvrtc
from core.ladder import load_ladder
from core.launch import Workload
from tests.core.faults.cases import CASES, workload

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
MAY_HANG = {"deadlock", "livelock", "divergent_barrier", "divergent_warp"}
BATCH_S, ALONE_S = 120, 8
WORKERS = 12


def subjects() -> dict[str, Workload]:
    """What is run, by name: kernels of tests/core/faults, rungs as `rung NAME`."""
    found: dict[str, Workload] = {
        case.kernel: workload(case)  # type: ignore[no-untyped-call]
        for case in CASES
    }
    rungs = (rung for rung in load_ladder().values() if rung.group == "broken")
    return found | {f"rung {rung.name}": rung.workload() for rung in rungs}


def batches() -> Iterator[tuple[str, list[str]]]:
    """Names of batches and what they run; those of one kernel that may hang come last."""
    alone = [c.kernel for c in CASES if MAY_HANG & {kind for kind, _, _ in c.expected}]
    for file in dict.fromkeys(case.file for case in CASES):
        for clean in (False, True):
            some = [c.kernel for c in CASES if c.file == file and bool(c.expected) is not clean]
            yield f"{Path(file).stem}-{'ok' if clean else 'faulty'}", _without(some, alone)
    yield "rungs", [name for name in subjects() if name.startswith("rung ")]
    for name in alone:
        yield name, [name]


def _without(names: Iterable[str], others: Sequence[str]) -> list[str]:
    return [name for name in names if name not in others]


def compile_all(folder: Path) -> None:
    """Writes sanitizer.pickle: a cubin and its kernel for each subject, as written."""
    images = {name: tools.cubin_of(work, ("-G",)) for name, work in subjects().items()}
    folder.mkdir(parents=True, exist_ok=True)
    content = {"nvrtc": nvrtc.version(), "images": images}
    (folder / "sanitizer.pickle").write_bytes(pickle.dumps(content))
    print(f"{len(images)} kernels by NVRTC {content['nvrtc']}")


def launch_all(folder: Path, done: Path, names: Sequence[str]) -> None:
    """Launches some subjects; appends to `done` each that finished or failed, but ended nothing."""
    images = pickle.loads((folder / "sanitizer.pickle").read_bytes())["images"]
    works = subjects()
    with tools.device() as cuda:
        for name in names:
            image, entry = images[name]
            function = cuda.module_from_buffer(image).get_function(entry)
            # Without poison, initcheck sees what is not written; memcheck sees what lies beyond the
            # buffers, which have the arrays' exact sizes.
            tools.start(cuda, function, works[name], poison=False)
            try:
                cuda.Context.synchronize()
            except cuda.Error as error:
                print(f"{name}: {error}", flush=True)
                cuda.Context.synchronize()  # fails again if the context is lost
            with done.open("a", encoding="utf-8") as file:
                file.write(f"{name}\n")


def measure(folder: Path) -> None:
    """Runs all tools over all batches; leaves logs and sanitizer.json."""
    usage = tools.run(["compute-sanitizer", "--help"])
    (folder / "sanitizer-help.txt").write_text(usage, encoding="utf-8")
    jobs = [(tool, name, names) for name, names in batches() for tool in TOOLS if names]
    few = [job for job in jobs if len(job[2]) == 1]
    many = [job for job in jobs if len(job[2]) > 1]
    content = pickle.loads((folder / "sanitizer.pickle").read_bytes())
    found = {**tools.machine(), "nvrtc": content["nvrtc"]}
    del found["ncu"]
    version = tools.first_line(
        ["compute-sanitizer", "--version"], lambda line: line.startswith("Version")
    )
    found["compute-sanitizer"] = version
    died: list[list[str]] = []
    with ThreadPoolExecutor(WORKERS) as pool:
        for part, limit in ((many, BATCH_S), (few, ALONE_S)):
            ends = pool.map(lambda job, limit=limit: _batch(folder, usage, job, limit), part)
            died += [end for found_ends in ends for end in found_ends]
    (folder / "sanitizer.json").write_text(json.dumps({**found, "died": died}), "utf-8")
    print(f"{len(jobs)} batches; {len(died)} launches did not return")


def _batch(
    folder: Path, usage: str, job: tuple[str, str, list[str]], limit: float
) -> list[list[str]]:
    """Runs a batch, and again without what ended it; [tool, kernel, how] of each of those."""
    tool, batch, left = job
    died = []
    for attempt in range(len(left)):
        label = re.sub(r"\W", "_", batch)
        log = folder / f"log-{tool}-{label}-{attempt}.txt"
        done = log.with_suffix(".done")
        done.write_text("")
        command = [
            "compute-sanitizer", "--tool", tool, "--print-limit", "10000",
            "--show-backtrace", "device",
            *_options(tool, usage), "--log-file", str(log),
            sys.executable, __file__, "launch", str(folder), "--done", str(done), "--names", *left,
        ]  # fmt: skip
        how = _end(command, limit)
        finished = done.read_text("utf-8").splitlines()
        left = left[len(finished) :]
        if not left:
            break
        died.append([tool, left[0], how])
        left = left[1:]
        if not left:
            break
    return died


def _options(tool: str, usage: str) -> list[str]:
    found = ["--destroy-on-device-error", "kernel"] if tool == "memcheck" else []
    if tool == "initcheck" and "--initcheck-address-space" in usage:
        found += ["--initcheck-address-space", "all"]
    return found


def _end(command: Sequence[str], limit: float) -> str:
    """How a command ended: its last words, or that it was stopped after `limit` seconds."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            import os
            import signal

            os.killpg(process.pid, signal.SIGKILL)  # its own group: the tool and its child
            process.communicate()
            return f"stopped after {limit:g} s"
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else f"ended with {process.returncode}"


# -- reading the logs ------------------------------------------------------------------------------

_PLACE = re.compile(r"in (?:\S*/)?(\w+\.cu):(\d+)")
_START = re.compile(
    r"========= (?:Error: |Warning: )?(?=\S)(?!COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK)"
)


def records(text: str) -> Iterator[list[str]]:
    """The records of a log: a title and what is indented below it."""
    found: list[str] = []
    for line in text.splitlines():
        if _START.match(line):
            if found:
                yield found
            found = [_START.sub("", line)]
        elif found and line.startswith("=========   "):
            found.append(line.removeprefix("=========").strip())
    if found:
        yield found


def read(folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """By subject and tool: titles with the source lines that they name, and how often."""
    kernels = {_kernel(name, work): name for name, work in subjects().items()}
    by_length = sorted(kernels, key=len, reverse=True)
    names = re.compile(r"(?<![\w.])(" + "|".join(by_length) + r")(?=\(|\+0x)")
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for log in sorted(folder.glob("log-*.txt")):
        tool = log.name.split("-")[1]
        for record in records(log.read_text("utf-8", errors="replace")):
            whole = " ".join(record)
            named = names.findall(whole)
            if not named:
                continue
            lines = sorted({int(line) for _, line in _PLACE.findall(whole)})
            key = f"{_title(record[0])} @ {','.join(map(str, lines))}"
            counts = found.setdefault(kernels[named[-1]], {}).setdefault(tool, {})
            counts[key] = counts.get(key, 0) + 1
    return found


def _kernel(name: str, work: Workload) -> str:
    return work.kernel


def _title(text: str) -> str:
    """A record's first line without what differs from launch to launch."""
    text = re.sub(r" (?:at )?\S*\+0x[0-9a-f]+(?: in \S+:\d+)?", "", text)
    text = re.sub(r"\[\d+ hazards?\]", "", text)
    text = re.sub(r"0x[0-9a-f]+", "", text)
    return re.sub(r"\s+", " ", text).strip().rstrip(".")


def write(folder: Path) -> Path:
    """Puts what was found into the tests' data; returns its path."""
    found = json.loads((folder / "sanitizer.json").read_text(encoding="utf-8"))
    path = ROOT / "tests" / "core" / "faults" / f"sanitizer_{found['date']}.json"
    died: dict[str, dict[str, str]] = {}
    for tool, name, how in found.pop("died"):
        died.setdefault(name, {})[tool] = how.rpartition("failed: ")[2]
    ran = list(pickle.loads((folder / "sanitizer.pickle").read_bytes())["images"])
    content = {**found, "ran": ran, "ended_by": died, "found": read(folder)}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"{len(content['found'])} kernels with records in {path.relative_to(ROOT)}")
    return path


def main() -> None:
    """Reads the command line and does one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("cubins", "run", "launch", "write"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--done", type=Path)
    options = parser.parse_args()
    if options.step == "cubins":
        compile_all(options.folder)
    elif options.step == "run":
        measure(options.folder)
    elif options.step == "launch":
        launch_all(options.folder, options.done, options.names)
    else:
        write(options.folder)


if __name__ == "__main__":
    main()
