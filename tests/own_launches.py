"""Launches of .cu files as they are guessed, without a word: files as people bring them.

Every kernel of tests/core/user_files/files whose guessed launch has no fault.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from core.errors import TilescopeError
from core.guessing.launch_guess import guess_launch
from core.launch import Workload
from core.source.template_instances import kernel_names
from core.user_files.launch_texts import file_workload
from core.user_files.sources_and_headers import read_source

FOLDER = Path(__file__).parent / "core" / "user_files" / "files"
COUNTED = Path(__file__).parent / "data" / "own_files_h200.json"
LEFT_OUT = {"faulty", "heap", "together"}  # faults; a heap; blocks that wait for each other


def own_launches() -> dict[str, Workload]:
    """By "file: kernel", in the order of the files."""
    files = [path for path in sorted(FOLDER.glob("*.cu")) if path.stem not in LEFT_OUT]
    names = [f"{path.stem}: {k}" for path in files for k in kernel_names(read_source(path))]
    return {name: found for name in names if (found := own_launch(name)) is not None}


@cache
def own_launch(name: str) -> Workload | None:
    """The launch of one "file: kernel" as it is guessed; None where it cannot be."""
    stem, _, kernel = name.partition(": ")
    source = read_source(FOLDER / f"{stem}.cu")
    try:
        launch = guess_launch(source, f"{stem}.cu", kernel)
        return file_workload(source, launch)
    except TilescopeError:
        return None
