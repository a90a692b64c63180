"""NVRTC, NVIDIA's run-time compiler: one request, and what the library says of it."""

from __future__ import annotations

import importlib.util
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from core.cancelling import is_cancellable
from core.compiler.device_part import HOST_LIBRARIES, compile_part, warnings
from core.compiler.nvrtc_library import Program as Translation
from core.errors import CompileError, Diagnostic, TilescopeError
from core.side_process.client import apart
from core.source.constants import with_defines
from core.source.diagnostics import parse_log
from core.source.host_headers import (
    FIRST,
    HALF_NAMES,
    HELD_BY_NVCC,
    PRE_INCLUDED,
    STAND_INS,
    TORCH,
    pre_included,
    stand_in,
    torch_header,
    with_libraries,
)
from core.source.slicing import Part, Program
from core.source.syntax import Syntax, includes

# Where `#include` finds its files: CUDA's own headers, and stand-ins for those of the host.
#
# NVRTC brings no headers. CUDA's (cuda_fp16.h, mma.h, cooperative_groups.h …) come with a toolkit
# or the PyPI packages nvidia-cuda-runtime, nvidia-cuda-crt and nvidia-cuda-cccl; for the host's see
# `core.source.host_headers`.


_MARKS = ("cuda_fp16.h", "crt/mma.h", "cccl")  # one of each of the three packages
# NVRTC predefines what these declare; without a toolkit they are empty.
_RUNTIME = (
    "cuda_runtime.h",
    "device_launch_parameters.h",
    "cuda_runtime_api.h",
    "driver_types.h",
    "device_functions.h",
    "vector_types.h",
)


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


LARGE = 1 << 14
"""Characters of a source, with its own headers, that may take NVRTC seconds."""
_alone = threading.Lock()  # one compilation at a time in this process
_INT128 = "--device-int128"
_UNMARKED_IS_DEVICE = "--device-as-default-execution-space"
_MUCH_MEMORY = (
    "the compiler needs more memory here than it is given: look for macros or templates that grow "
    "beyond measure"
)


@dataclass(frozen=True)
class Request:
    """What is to be compiled, and to what. Equal requests give equal results."""

    source: str
    source_name: str
    defines: tuple[tuple[str, str], ...]
    options: tuple[str, ...]
    output: Literal["PTX", "CUBIN"]
    kernel: str = ""  # as the source names it, with its template arguments; "" for all of them
    headers: tuple[tuple[str, str], ...] = ()  # of the user's own, by name

    @property
    def all_options(self) -> tuple[str, ...]:
        """With the macros, and what nvcc knows without being told: types and headers."""
        text = "\n".join((self.source, *(text for _, text in self.headers)))
        wide = "__int128" in text and _INT128 not in self.options
        headers = tuple(f"--pre-include={header}" for header in _held_headers(text))
        defines = (f"-D{name}={value}" for name, value in self.defines)
        if FIRST in dict(self.headers):
            headers = (*headers, f"--pre-include={FIRST}")
        return (*self.options, *((_INT128,) if wide else ()), *headers, *defines)


def _held_headers(source: str) -> list[str]:
    """Headers that nvcc always includes and of whose macros the source uses one of its own."""
    return [
        header
        for header, macros in HELD_BY_NVCC.items()
        if any(
            re.search(rf"\b{name}\b", source) and not re.search(rf"#\s*define\s+{name}\b", source)
            for name in macros
            if name in source
        )
    ]


@dataclass(frozen=True)
class Compiled:
    """What NVRTC made. `entry` is the instance's name in it, "" if none was asked for."""

    image: bytes
    diagnostics: tuple[Diagnostic, ...]
    entry: str = ""


def define_items(defines: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Macros and their values, in an order of their own."""
    return tuple(sorted((name, str(value)) for name, value in defines.items()))


def compile_request(request: Request) -> Compiled:
    """Compile; a file for nvcc, with functions of the host in it, without those.

    A job that may be cancelled has it done in another process, and so has who brings a large
    source: NVRTC can be stopped in no other way, and a few lines may keep it for minutes.
    """
    _must_be_text(request)
    size = len(request.source) + sum(len(text) for _, text in request.headers)
    if size > LARGE or is_cancellable():
        return apart(compile_here, request)
    with _alone:
        return compile_here(request)


def _must_be_text(request: Request) -> None:
    """Half a character of UTF-16, as a damaged link may have it, is nothing for a compiler."""
    texts = {
        "the source": request.source,
        "its name": request.source_name,
        "the kernel's name": request.kernel,
        **{f"-D {name}": value for name, value in request.defines},
        **dict(request.headers),
    }
    for what, text in texts.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TilescopeError(
                f"{what[0].upper()}{what[1:]} is not text in UTF-8 (character {error.start + 1:,}):"
                " write it anew."
            ) from None


_ERROR = re.compile(r"^[ \t]*#[ \t]*error\b[^\n]*", re.MULTILINE)
_QUOTED_SPACE = re.compile(r'("C")(?=__)')  # for NVRTC `"C"__global__` is a literal of one's own


def compile_here(request: Request) -> Compiled:
    """`compile_request` in this process, which cannot be stopped."""
    program = Program("", {"": request.source, **dict(request.headers)})
    missing = _missing_headers(program)

    def attempt(kept: frozenset[Part], errors: bool) -> Compiled:
        texts = {
            name: _QUOTED_SPACE.sub(r"\1 ", text if errors or not name else _ERROR.sub("", text))
            for name, text in program.texts(kept).items()
        }
        plain = (_UNMARKED_IS_DEVICE,) if program.has_plain_constexpr(kept) else ()
        return _compile_text(
            replace(
                request,
                source=texts.pop(""),
                options=(*request.options, *plain),
                headers=(*texts.items(), *((name, "") for name in missing)),
            ),
            program.qualified(request.kernel) if "<" in request.kernel else "",
        )

    try:
        made = compile_part(program, request.kernel, missing, attempt)
        return replace(made, diagnostics=(*made.diagnostics, *warnings(missing)))
    except CompileError as error:
        if whole := _as_it_stands(request, program, missing):
            return whole
        first = _summary(error.diagnostics, request.source_name, error)
        raise CompileError(first, error.diagnostics) from None


def _as_it_stands(
    request: Request, program: Program, missing: Mapping[str, int]
) -> Compiled | None:
    """What NVRTC makes of the whole text: macros may hide from the parser where a function ends."""
    headers = (*request.headers, *((name, "") for name in missing))
    instance = program.qualified(request.kernel) if "<" in request.kernel else ""
    try:
        return _compile_text(replace(request, headers=headers), instance)
    except CompileError:
        return None


def _missing_headers(program: Program) -> dict[str, int]:
    """Headers that are nowhere, and those that serve the host only; empty ones stand for them."""
    found: dict[str, int] = {}
    for name, file in program.files.items():
        for header, _ in includes(file.source):
            known = header in program.files or is_known(header)
            if header not in program.files and (header.startswith(HOST_LIBRARIES) or not known):
                found.setdefault(header, _line_of(file, header) if name == program.main else 0)
    return found


def _line_of(file: Syntax, header: str) -> int:
    place = re.search(rf"#[ \t]*include[ \t]*[<\"]{re.escape(header)}[>\"]", file.source)
    return file.line(place.start()) if place else 0


@cache
def is_known(header: str) -> bool:
    """Whether CUDA has a header of that name, or a stand-in for the host's is here."""
    if header in stand_ins() or stand_in(header, has_halves=False) is not None:
        return True
    return any((f / header).is_file() for f in include_folders())


def warm() -> None:
    """Load NVRTC's library, and all that its first use loads and looks up."""
    options = ("--gpu-architecture=compute_90", "-G")
    compile_here(Request("__global__ void k() {}", "k.cu", (), options, "PTX"))


# `#line 500` would have messages and findings name lines that the file does not have.
_OTHER_LINES = re.compile(r"^[ \t]*#[ \t]*(?:line\b|\d)[^\n]*", re.MULTILINE)


def _compile_text(request: Request, instance: str = "") -> Compiled:
    """`instance` is the full name of a template's instance that is to be made."""
    defines = dict(request.defines)
    source = _OTHER_LINES.sub("", with_defines(request.source, defines))
    own = {name: with_defines(text, defines) for name, text in request.headers}
    text = "\n".join((request.source, *own.values()))
    headers = {**stand_ins(), **_by_pattern(text), **own}
    options = list(request.all_options)
    if names := pre_included(text, is_debug="-G" in request.options):
        headers[PRE_INCLUDED] = names
        options.insert(0, f"--pre-include={PRE_INCLUDED}")
    options += [f"--include-path={folder}" for folder in include_folders()]
    with Translation(source, request.source_name, headers) as program:
        failure = program.compile(options, instance)
        log = program.read("ProgramLog").decode(errors="replace").rstrip("\0")
        diagnostics = parse_log(log, request.source_name)
        if failure:
            raise CompileError(_unlocated(log, request) or failure, diagnostics)
        entry = program.lowered_name(instance) if instance else ""
        return Compiled(program.read(request.output), diagnostics, entry)


def _by_pattern(text: str) -> dict[str, str]:
    """Stand-ins for the headers that a text includes and that go by a pattern."""
    has_halves = HALF_NAMES.search(text) is not None
    found = {name: stand_in(name, has_halves=has_halves) for name, _ in includes(text)}
    return {
        TORCH: torch_header(has_halves=has_halves),
        **{name: content for name, content in found.items() if content is not None},
    }


def _unlocated(log: str, request: Request) -> str:
    """What the compiler says of a failure that it gives no place for."""
    words = [line.strip() for line in log.splitlines() if re.match(r"\s*Error:", line)]
    if not words:
        return ""
    said = words[0].partition(":")[2].strip()
    if "-G" in request.options:
        return f"NVRTC says `{said}` of the build as written (-G): trace it as compiled"
    return f"NVRTC says `{said}`"


def _summary(diagnostics: Sequence[Diagnostic], source_name: str, error: CompileError) -> str:
    errors = [d for d in diagnostics if d.severity == "error"]
    # Of several messages on a line the one that names what is missing says most.
    line = errors[0].line if errors else 0
    errors.sort(key=lambda d: (d.line != line, "is undefined" not in d.message))
    if not errors:
        return f"{source_name} does not compile: {str(error).rstrip('.')}."
    first = errors[0]
    if first.message.startswith("out of memory"):
        first = replace(first, message=_MUCH_MEMORY)
    place = f"{source_name}:{first.line}" if first.line else source_name
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{place}: {first.message.rstrip('.')}{more}."
