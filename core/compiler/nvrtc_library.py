"""The library libnvrtc, called through ctypes: a dozen functions need no package of bindings.

Signatures are those of NVIDIA's nvrtc.h ("NVRTC" documentation, "User Interface").
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from core.errors import TilescopeError

_MISSING = (
    "NVRTC, the CUDA compiler, cannot be loaded ({reason}): install it with "
    "`pip install nvidia-cuda-nvrtc cuda-pathfinder`."
)


@cache
def library() -> ctypes.CDLL:
    """The library; raises TilescopeError where it is missing.

    That of the PyPI package nvidia-cuda-nvrtc is found by its place, which takes no time; any other
    by cuda.pathfinder, whose import takes a tenth of what a small kernel's whole trace does.
    """
    try:
        found = ctypes.CDLL(str(_packaged() or _elsewhere()))
    except (ImportError, RuntimeError, OSError) as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise TilescopeError(_MISSING.format(reason=reason)) from error
    found.nvrtcGetErrorString.restype = ctypes.c_char_p
    return found


def _packaged() -> Path | None:
    """The newest library of the PyPI packages, on Linux."""
    package = importlib.util.find_spec("nvidia") if sys.platform == "linux" else None
    for root in package.submodule_search_locations or () if package else ():
        newest_first = sorted(Path(root).glob("cu[0-9]*"), reverse=True)
        for folder in (*newest_first, Path(root, "cuda_nvrtc")):  # the last is CUDA 12's
            for file in (folder / "lib").glob("libnvrtc.so*"):
                return file
    return None


def _elsewhere() -> str:
    from cuda import pathfinder

    return str(pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path)


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


class Program:
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

    def __enter__(self) -> Program:
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
