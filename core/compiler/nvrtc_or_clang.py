"""Which compiler is asked first: NVRTC, or clang for those who want it."""

from __future__ import annotations

import os
from typing import Literal

CHOICE = "TILESCOPE_COMPILER"  # the environment variable that chooses; side processes read it, too
CompilerName = Literal["nvrtc", "clang"]
HELP = (
    "nvrtc, or clang, which is not NVIDIA's compiler (the extra clang brings it); usually "
    "NVRTC, and clang where there is no NVRTC."
)


def chosen() -> CompilerName:
    """The compiler that is asked first."""
    return "clang" if os.environ.get(CHOICE) == "clang" else "nvrtc"
