"""Launches of .cu files as they are guessed, without a word: files as people bring them.

Every kernel of tests/core/launching/files whose guessed launch has no fault.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from core.compiler.kernel_signature import kernel_names
from core.errors import TilescopeError
from core.launch import Workload
from core.launching.file_launch import file_workload
from core.launching.guess import guess_launch
from core.launching.user_files import read_source

FOLDER = Path(__file__).parent / "core" / "launching" / "files"
COUNTED = Path(__file__).parent / "data" / "own_files_h200.json"
LEFT_OUT = {"faulty", "heap", "together"}  # faults; a heap; blocks that wait for each other


AS_COUNTED = {"lists: turned<float, 64>": {"n": "256"}}  # other numbers are guessed today


@cache
def own_launches() -> dict[str, Workload]:
    """By "file: kernel", in the order of the files."""
    found = {}
    for path in sorted(FOLDER.glob("*.cu")):
        if path.stem in LEFT_OUT:
            continue
        source = read_source(path)
        for kernel in kernel_names(source):
            try:
                name = f"{path.stem}: {kernel}"
                launch = guess_launch(source, path.name, kernel, AS_COUNTED.get(name, {}))
                found[name] = file_workload(source, launch)
            except TilescopeError:
                continue
    return found
