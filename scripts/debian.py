"""Debian packages: installed where that is allowed, otherwise named in one line to type."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def may_install() -> bool:
    """Whether this user may install packages without being asked for anything."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(packages: list[str], purpose: str) -> bool:
    """Install `packages`; where that is not possible, print the line that would. True if done."""
    if not packages:
        return True
    names = " ".join(sorted(packages))
    if not may_install():
        print(f"{purpose} needs system packages that are missing here. Please run:", flush=True)
        print(f"    sudo apt-get install {names}", flush=True)
        return False
    print(f"Installing {names} ({purpose}) ...", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "-qq", "update"],
        ["apt-get", "-qq", "install", "-y", "--no-install-recommends", *sorted(packages)],
    ):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0 and "install" in command:
            print(done.stdout + done.stderr, file=sys.stderr)
            print(f"apt-get could not install {names}.", file=sys.stderr)
            return False
    return True
