"""The same matrix product in two other emulators, where they are installed.

numba's CUDA simulator goes into an environment of its own under build/; Oclgrind is Debian's
`oclgrind`, and runs the OpenCL form of the kernel. What is missing is said, and left out.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bench_figures import Figure, Times, rates, timed

from core.ladder import load_ladder
from core.recording.record_launch import record

ROOT = Path(__file__).resolve().parents[1]
PEERS = Path(__file__).parent / "peers"
ENVIRONMENT = ROOT / "build" / "peers"
N, TILE = 64, 16
RUNS = 5


def figures(missing: list[str]) -> Iterator[Figure]:
    """Millions of multiply-adds a second; what cannot be measured is noted in `missing`."""
    workload = load_ladder()["coalesced"].workload(n=N, tile=TILE)
    what = f"coalesced, n = {N}, 16 x 16 threads a block:"
    ours = timed(lambda: record(workload, blocks="all"), RUNS)
    yield rates(f"{what} Tilescope, everything recorded, checkers on", N**3, ours)
    python = simulator(missing)
    if python is not None:
        yield rates(f"{what} numba's CUDA simulator", N**3, numba_times(python))
    oclgrind = shutil.which("oclgrind-kernel")
    if oclgrind is None:
        missing.append("Oclgrind: apt-get install oclgrind")
        return
    checks = ["--data-races", "--uninitialized"]
    for name, options in (("Oclgrind", []), ("Oclgrind, its two checkers on", checks)):
        yield rates(f"{what} {name}", N**3 - TILE**3, oclgrind_times(oclgrind, options))


def simulator(missing: list[str]) -> Path | None:
    """The interpreter of an environment with numba, made at the first use."""
    python = ENVIRONMENT / "bin" / "python"
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        try_it = [str(python), "-c", "import numba"]
        if subprocess.run(try_it, capture_output=True, check=False).returncode:
            install = [str(python), "-m", "pip", "install", "--quiet", "numba"]
            subprocess.run(install, check=True, timeout=600)
        subprocess.run(
            [str(python), str(PEERS / "cudasim_matmul.py"), "4", "1"],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.SubprocessError):
        missing.append(f"numba's CUDA simulator: numba cannot be used in {ENVIRONMENT.name}/")
        return None
    return python


def numba_times(python: Path) -> Times:
    """Seconds of each launch, the first left out: it builds the wrapper."""
    command = [str(python), str(PEERS / "cudasim_matmul.py"), str(N), str(RUNS + 1)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Times(tuple(float(line) for line in done.stdout.split())[1:])


def oclgrind_times(program: str, options: list[str]) -> Times:
    """Seconds beyond those of one 16 x 16 block with n = 16: starting and compiling left out."""
    long = [_oclgrind(program, options, N) for _ in range(RUNS)]
    short = sorted(_oclgrind(program, options, TILE) for _ in range(RUNS))[RUNS // 2]
    return Times(tuple(max(seconds - short, 1e-9) for seconds in long))


def _oclgrind(program: str, options: list[str], n: int) -> float:
    size, last = 4 * n * n, n * n - 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matmul.sim"
        path.write_text(
            f"{PEERS / 'matmul.cl'}\ncoalesced\n{n} {n} 1\n{TILE} {TILE} 1\n"
            f"<size={size} range=0:1:{last} float>\n<size={size} range=0:1:{last} float>\n"
            f"<size={size} fill=0 float dump>\n<size=4 int>\n{n}\n"
        )
        started = time.perf_counter()
        done = subprocess.run([program, *options, path], capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - started
    found = np.array([float(v) for v in re.findall(r"C\[\d+\] = (\S+)", done.stdout)])
    counted = np.arange(n * n, dtype=float).reshape(n, n)
    if not np.allclose(found.reshape(n, n), counted @ counted, rtol=1e-4):
        raise RuntimeError(
            "Oclgrind's product is wrong: the kernel or its input is not what it was"
        )
    return seconds
