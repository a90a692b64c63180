"""Prepares .venv: `make setup`. Quick when nothing changed. Uses only the standard library.

    python3 scripts/setup.py [--retry-gpu]

What was set up is remembered in .venv by a hash of everything that it depends on. While packages
are installed nothing is remembered: what was ended in the midst of it is made anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "tilescope-setup.json"
LOCK = ROOT / "scripts" / "requirements.lock"
LEAST_PYTHON = (3, 11)
NO_NETWORK = (
    "The packages could not be fetched: there is no connection to the package index. Look at the "
    "network (or the proxy), and run make setup again."
)
OFFLINE = re.compile(r"connection broken|NewConnection|Max retries|timed out|name resolution|Proxy")


def main() -> int:
    """Make or update the environment; 0 when it is ready."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--retry-gpu", action="store_true", help="try to build PyCUDA once more")
    options = parser.parse_args()
    if sys.version_info < LEAST_PYTHON:
        version = sys.version.split()[0]
        print(f"Tilescope needs Python 3.11 or newer; this is {version}.", file=sys.stderr)
        return 1
    state = _read_state()
    if state.get("packages") != _fingerprint() or not _works():
        if not _install_packages(state):
            return 1
        state = {"packages": _fingerprint()}
        _write_state(state)
    _set_up_gpu(state, retry=options.retry_gpu)
    return 0


def _install_packages(state: dict[str, str]) -> bool:
    """Install what the lock names into the environment that `state` remembers, or a new one."""
    started = time.monotonic()
    print("Setting up .venv (a minute or two the first time) ...", flush=True)
    if not state or not _works():
        state = {}
        if not _make_venv():
            print("The virtual environment .venv could not be made; see above.", file=sys.stderr)
            return False
    STAMP.unlink(missing_ok=True)
    # The second finds all there, and takes what the lock lacks if pyproject.toml has changed since.
    steps = (
        ("--require-hashes", "--requirement", str(LOCK)),
        ("--no-build-isolation", "--editable", f"{ROOT}[dev]"),
    )
    for step in steps:
        said = pip("install", *step)
        if OFFLINE.search(said):
            print(NO_NETWORK, file=sys.stderr)
            _write_state(state)  # what there was is whole
        elif said:
            print(
                f"{said}\npip could not install what Tilescope needs; see above.", file=sys.stderr
            )
        if said:
            return False
    print(f"Ready after {time.monotonic() - started:.0f} s.", flush=True)
    return True


def _make_venv() -> bool:
    if find_spec("ensurepip") is None:  # Debian keeps it in a package of its own
        import debian

        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        if not debian.install([package], "Making a virtual environment"):
            return False
    # A new process: this one may have looked for ensurepip before it was installed.
    done = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=False)
    return done.returncode == 0


def _set_up_gpu(state: dict[str, str], *, retry: bool) -> None:
    import gpu_extra  # needs a newer Python than the sentence about an old one

    if not gpu_extra.has_driver():
        return
    wanted = gpu_extra.fingerprint()
    if state.get("gpu") == wanted and not retry:
        return
    outcome = gpu_extra.install(PYTHON, VENV / "pycuda-build")
    print(outcome, flush=True)
    _write_state({**state, "gpu": wanted})


def pip(*arguments: str) -> str:
    """Run the environment's pip without its chatter; what it said where it failed, else ""."""
    quiet = ["-q", "--disable-pip-version-check", "--no-input"]
    command = [str(PYTHON), "-m", "pip", *arguments, *quiet]
    done = subprocess.run(
        command, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode == 0:
        return ""
    return done.stdout.strip() or f"pip ended with {done.returncode}."


def _works() -> bool:
    """Whether .venv's Python runs and is new enough."""
    if not PYTHON.exists():
        return False
    check = f"import sys; sys.exit(sys.version_info < {LEAST_PYTHON})"
    done = subprocess.run([str(PYTHON), "-c", check], capture_output=True, check=False)
    return done.returncode == 0


def _fingerprint() -> str:
    """Changes when the packages asked for, the place of the checkout or the Python does."""
    parts = [
        (ROOT / "pyproject.toml").read_bytes(),
        LOCK.read_bytes(),
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
    if state:
        STAMP.write_text(json.dumps(state), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
