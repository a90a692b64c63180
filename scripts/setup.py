"""Prepares .venv: `make setup`. Quick when nothing changed. Uses only the standard library.

    python3 scripts/setup.py [--retry-gpu]

What was set up is remembered in .venv by a hash of everything that it depends on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import debian
import gpu_extra

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "tilescope-setup.json"
LEAST_PYTHON = (3, 11)


def main() -> int:
    """Make or update the environment; 0 when it is ready."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--retry-gpu", action="store_true", help="try to build PyCUDA once more")
    options = parser.parse_args()
    if sys.version_info < LEAST_PYTHON:
        print(f"Tilescope needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
        return 1
    state = _read_state()
    if state.get("packages") != _fingerprint() or not _works():
        if not _install_packages():
            return 1
        state = {"packages": _fingerprint()}
        _write_state(state)
    _set_up_gpu(state, retry=options.retry_gpu)
    return 0


def _install_packages() -> bool:
    started = time.monotonic()
    print("Setting up .venv (a minute or two the first time) ...", flush=True)
    if not _works() and not _make_venv():
        return False
    done = pip("install", "--editable", f"{ROOT}[dev]")
    if done.returncode != 0:
        print("pip could not install what Tilescope needs; see above.", file=sys.stderr)
        return False
    print(f"Ready after {time.monotonic() - started:.0f} s.", flush=True)
    return True


def _make_venv() -> bool:
    if find_spec("ensurepip") is None:  # Debian keeps it in a package of its own
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        if not debian.install([package], "Making a virtual environment"):
            return False
    # A new process: this one may have looked for ensurepip before it was installed.
    done = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=False)
    return done.returncode == 0


def _set_up_gpu(state: dict[str, str], *, retry: bool) -> None:
    if not gpu_extra.has_driver():
        return
    wanted = gpu_extra.fingerprint()
    if state.get("gpu") == wanted and not retry:
        return
    outcome = gpu_extra.install(PYTHON, VENV / "pycuda-build")
    print(outcome, flush=True)
    _write_state({**state, "gpu": wanted})


def pip(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the environment's pip without its chatter."""
    quiet = ["-qq", "--disable-pip-version-check", "--no-input"]
    return subprocess.run([str(PYTHON), "-m", "pip", *arguments, *quiet], cwd=ROOT, check=False)


def _works() -> bool:
    """Whether .venv's Python runs, is new enough and has pip."""
    if not PYTHON.exists():
        return False
    check = f"import sys, pip; sys.exit(sys.version_info < {LEAST_PYTHON})"
    done = subprocess.run([str(PYTHON), "-c", check], capture_output=True, check=False)
    return done.returncode == 0


def _fingerprint() -> str:
    """Changes when the packages asked for, the place of the checkout or the Python does."""
    parts = [
        (ROOT / "pyproject.toml").read_bytes(),
        str(ROOT).encode(),
        str(PYTHON.resolve()).encode(),
    ]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _read_state() -> dict[str, str]:
    try:
        state = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _write_state(state: dict[str, str]) -> None:
    STAMP.write_text(json.dumps(state), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
