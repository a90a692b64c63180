"""The library libnvrtc, called through ctypes: a dozen functions need no package of bindings.

Signatures are those of NVIDIA's nvrtc.h ("NVRTC" documentation, "User Interface").
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from core.errors import TilescopeError

_MISSING = (
    "NVRTC, the CUDA compiler, cannot be loaded ({reason}): install it with "
    '`pip install nvidia-cuda-nvrtc cuda-pathfinder`; `pip install "tilescope[clang]"` brings '
    "another compiler, not NVIDIA's."
)
_NOT_FOR_MACOS = (
    "There is no NVRTC for macOS, so only kernels of the ladder and of lessons run here, as they "
    'are and at the sizes offered: `pip install "tilescope[clang]"` brings another compiler, not '
    "NVIDIA's. Or open its PTX."
)


@cache
def library() -> ctypes.CDLL:
    """The library; raises TilescopeError where it is missing.

    That of the PyPI package nvidia-cuda-nvrtc is found by its place, which takes no time; any other
    by cuda.pathfinder, whose import takes a tenth of what a small kernel's whole trace does.
    """
    try:
        found = ctypes.CDLL(str(library_path()))
    except OSError as error:
        raise _missing(error) from error
    found.nvrtcGetErrorString.restype = ctypes.c_char_p
    return found


def library_path() -> Path:
    """Where the library is; raises TilescopeError where it is missing."""
    try:
        return _packaged() or _elsewhere()
    except (ImportError, RuntimeError, OSError) as error:
        raise _missing(error) from error


def _missing(error: Exception) -> TilescopeError:
    if sys.platform == "darwin":
        return TilescopeError(_NOT_FOR_MACOS)
    reason = str(error).strip().split("\n")[0] or type(error).__name__
    return TilescopeError(_MISSING.format(reason=reason))


def _packaged() -> Path | None:
    """The newest library of the PyPI packages, on Linux."""
    package = importlib.util.find_spec("nvidia") if sys.platform == "linux" else None
    for root in package.submodule_search_locations or () if package else ():
        newest_first = sorted(Path(root).glob("cu[0-9]*"), reverse=True)
        for folder in (*newest_first, Path(root, "cuda_nvrtc")):  # the last is CUDA 12's
            for file in (folder / "lib").glob("libnvrtc.so*"):
                return file
    return None


def _elsewhere() -> Path:
    from cuda import pathfinder

    return Path(str(pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path))


# NVRTC brings no headers. CUDA's (cuda_fp16.h, mma.h, cooperative_groups.h …) come with a toolkit
# or the PyPI packages nvidia-cuda-runtime, nvidia-cuda-crt and nvidia-cuda-cccl; for the host's see
# `core.source.host_headers`. cuRAND's (nvidia-curand) compile as they are.


_MARKS = ("cuda_fp16.h", "crt/mma.h", "cccl")  # one of each of the three packages
CURAND = "curand_kernel.h"


@cache
def include_folders() -> tuple[Path, ...]:
    """The folders with CUDA's headers, or none: the place that has most of them.

    PyPI packages come before a toolkit that has as much. Where that place lacks cuRAND's headers
    the first one that has them comes last.
    """
    folders = [f for f in _candidates() if (f / _MARKS[0]).is_file()]
    if not folders:
        return ()
    best = max(folders, key=lambda f: sum((f / mark).exists() for mark in _MARKS))
    random = [f for f in (best, *_candidates()) if (f / CURAND).is_file()][:1]
    cccl = best / "cccl"
    return tuple(dict.fromkeys((best, *((cccl,) if cccl.is_dir() else ()), *random)))


def _candidates() -> Iterator[Path]:
    package = importlib.util.find_spec("nvidia")
    for root in package.submodule_search_locations or () if package else ():
        yield from sorted(Path(root).glob("cu[0-9]*/include"), reverse=True)
        for part in ("cuda_runtime", "curand"):  # the layout of CUDA 12's packages
            yield Path(root) / part / "include"
    for name in ("CUDA_PATH", "CUDA_HOME"):
        if name in os.environ:
            yield Path(os.environ[name]) / "include"
    yield Path("/usr/local/cuda/include")


def version() -> str:
    """The compiler's version, such as "13.0"; raises TilescopeError where it is missing."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return f"{major.value}.{minor.value}"


def architectures() -> list[int]:
    """The architectures that it compiles for, 90 for compute capability 9.0."""
    count = ctypes.c_int()
    _check(library().nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    found = (ctypes.c_int * count.value)()
    _check(library().nvrtcGetSupportedArchs(found))
    return list(found)


class Translation:
    """A source with its headers, compiled at most once. A context: it is destroyed at the end."""

    def __init__(self, source: str, name: str, headers: Mapping[str, str]) -> None:
        self._program = ctypes.c_void_p()
        texts, names = _strings(list(headers.values())), _strings(list(headers))
        _check(
            library().nvrtcCreateProgram(
                ctypes.byref(self._program),
                source.encode(),
                name.encode(),
                len(headers),
                texts,
                names,
            )
        )

    def __enter__(self) -> Translation:
        return self

    def __exit__(self, *_: object) -> None:
        library().nvrtcDestroyProgram(ctypes.byref(self._program))

    def compile(self, options: Sequence[str], instance: str = "") -> str:
        """Compiles, and the kernel template's `instance` with it; "" or the name of the failure."""
        if instance:
            library().nvrtcAddNameExpression(self._program, instance.encode())
        status = library().nvrtcCompileProgram(self._program, len(options), _strings(options))
        return _failure(status)

    def read(self, what: Literal["ProgramLog", "PTX", "CUBIN"]) -> bytes:
        """The log, or what was made."""
        size = ctypes.c_size_t()
        _check(getattr(library(), f"nvrtcGet{what}Size")(self._program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        _check(getattr(library(), f"nvrtcGet{what}")(self._program, buffer))
        return buffer.raw

    def lowered_name(self, instance: str) -> str:
        """The name in PTX of an instance that was compiled."""
        name = ctypes.c_char_p()
        found = library().nvrtcGetLoweredName(self._program, instance.encode(), ctypes.byref(name))
        _check(found)
        return (name.value or b"").decode()


def _strings(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


def _failure(status: int) -> str:
    """The name of a status, such as "NVRTC_ERROR_COMPILATION"; "" for success."""
    return library().nvrtcGetErrorString(status).decode() if status else ""


def _check(status: int) -> None:
    if status:
        raise TilescopeError(f"NVRTC failed: {_failure(status)}.")
