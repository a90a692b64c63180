"""Where `#include` finds its files: CUDA's own headers, and stand-ins for those of the host.

NVRTC brings no headers. CUDA's (cuda_fp16.h, mma.h, cooperative_groups.h …) come with a toolkit or
the PyPI packages nvidia-cuda-runtime, nvidia-cuda-crt and nvidia-cuda-cccl; for the host's see
`core.cuda.host_headers`.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from core.cuda.host_headers import STAND_INS, with_libraries

_MARKS = ("cuda_fp16.h", "crt/mma.h", "cccl")  # one of each of the three packages
# NVRTC predefines what these declare; without a toolkit they are empty.
_RUNTIME = ("cuda_runtime.h", "device_launch_parameters.h", "cuda_runtime_api.h",
            "driver_types.h", "device_functions.h", "vector_types.h")  # fmt: skip


@cache
def include_folders() -> tuple[Path, ...]:
    """The folders with CUDA's headers, or none: the place that has most of them.

    PyPI packages come before a toolkit that has as much.
    """
    folders = [f for f in _candidates() if (f / _MARKS[0]).is_file()]
    if not folders:
        return ()
    best = max(folders, key=lambda f: sum((f / mark).exists() for mark in _MARKS))
    cccl = best / "cccl"
    return (best, cccl) if cccl.is_dir() else (best,)


@cache
def stand_ins() -> Mapping[str, str]:
    """Headers by name and content, which come before those of `include_folders`."""
    folders = include_folders()
    if not folders:
        return {**STAND_INS, **dict.fromkeys(_RUNTIME, "#pragma once\n")}
    has_libraries = any((folder / "cuda" / "std").is_dir() for folder in folders)
    return with_libraries() if has_libraries else STAND_INS


def _candidates() -> Iterator[Path]:
    package = importlib.util.find_spec("nvidia")
    for root in package.submodule_search_locations or () if package else ():
        yield from sorted(Path(root).glob("cu[0-9]*/include"), reverse=True)
        yield Path(root) / "cuda_runtime" / "include"  # the layout of CUDA 12's packages
    for name in ("CUDA_PATH", "CUDA_HOME"):
        if name in os.environ:
            yield Path(os.environ[name]) / "include"
    yield Path("/usr/local/cuda/include")
