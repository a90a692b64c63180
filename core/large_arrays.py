"""Arrays that may be large: refused where there is no memory for them, freed without a pause.

Freeing one of NumPy's keeps Python's lock until the system has its pages back, half a second for
4 GB where pages are small. Here a large one lies in a mapping of its own, which is given back
without the lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import TilescopeError

LARGE_BYTES = 32 << 20


def zeroed(dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """A one-dimensional array of zeros, which takes memory where something is written to it.

    Raises TilescopeError where this process may not have so much.
    """
    if dtype.itemsize * count < LARGE_BYTES:
        return np.zeros(count, dtype)
    return np.frombuffer(_mapping(dtype.itemsize * count), dtype)


def unset(dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """A one-dimensional array whose elements are still to be set.

    Raises TilescopeError where there is no memory for it.
    """
    if dtype.itemsize * count < LARGE_BYTES:
        return np.empty(count, dtype)
    must_fit(dtype.itemsize * count)
    return np.frombuffer(_mapping(dtype.itemsize * count), dtype)


def must_fit(nbytes: int) -> None:
    """Raises TilescopeError where so much is not free."""
    free = available_bytes() if nbytes >= LARGE_BYTES else None
    if free is not None and nbytes > free:
        raise _short(nbytes, f" and {free / 1e9:.1f} GB are free")


def _mapping(nbytes: int) -> mmap.mmap:
    try:
        if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
            return mmap.mmap(-1, nbytes)
        mapped = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise _short(nbytes, ", which this process may not have") from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # as NumPy does; a system may have none
            mapped.madvise(mmap.MADV_HUGEPAGE)
    return mapped


def _short(nbytes: int, but: str) -> TilescopeError:
    return TilescopeError(
        f"An array of the launch needs {nbytes / 1e9:.1f} GB of memory{but}: make it smaller, or "
        "close other programs."
    )


def available_bytes() -> int | None:
    """Memory that programs can have without others losing theirs; None where that is unknown."""
    if sys.platform == "win32":
        return _available_on_windows()
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    return None


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API (sysinfoapi.h)."""

    _fields_ = [
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("total_physical", ctypes.c_uint64),
        ("available_physical", ctypes.c_uint64),
        ("rest", ctypes.c_uint64 * 5),
    ]


def _available_on_windows() -> int | None:
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    kernel: Any = getattr(ctypes, "windll").kernel32  # noqa: B009 - not there on other systems
    found = kernel.GlobalMemoryStatusEx(ctypes.byref(status))
    return int(status.available_physical) if found else None
