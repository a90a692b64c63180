"""NVRTC, NVIDIA's run-time compiler: one request, and what the library says of it."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Literal

from core.apart import apart
from core.cancelling import is_cancellable
from core.cuda.diagnostics import Diagnostic, parse_log
from core.cuda.headers import include_folders, stand_ins
from core.cuda.host_code import has_plain_constexpr
from core.cuda.host_headers import HELD_BY_NVCC, PRE_INCLUDED, pre_included
from core.cuda.instances import qualified
from core.cuda.kernel_text import kernels
from core.cuda.nvcc_files import without_the_host
from core.errors import CompileError, TilescopeError

LARGE = 1 << 14
"""Characters of a source, with its own headers, that may take NVRTC seconds."""
_alone = threading.Lock()  # one compilation at a time in this process
_INT128 = "--device-int128"
_UNMARKED_IS_DEVICE = "--device-as-default-execution-space"
_MISSING_NVRTC = (
    "NVRTC, the CUDA compiler, cannot be loaded ({reason}): install it with "
    "`pip install nvidia-cuda-nvrtc cuda-bindings`."
)


@dataclass(frozen=True)
class Request:
    """What is to be compiled, and to what. Equal requests give equal results."""

    source: str
    source_name: str
    defines: tuple[tuple[str, str], ...]
    options: tuple[str, ...]
    output: Literal["PTX", "CUBIN"]
    instance: str = ""  # of a kernel that is a template
    headers: tuple[tuple[str, str], ...] = ()  # of the user's own, by name

    @property
    def all_options(self) -> tuple[str, ...]:
        """With the macros, and what nvcc knows without being told: types and headers."""
        wide = "__int128" in self.source and _INT128 not in self.options
        headers = (f"--pre-include={header}" for header in _held_headers(self.source))
        defines = (f"-D{name}={value}" for name, value in self.defines)
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


def nvrtc_version() -> str:
    """The compiler's version, such as "13.0"; raises TilescopeError where it is missing."""
    _, major, minor = load_nvrtc().nvrtcVersion()
    return f"{major}.{minor}"


def load_nvrtc() -> ModuleType:
    """The library's bindings; raises TilescopeError where it is missing."""
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()  # loads the library itself
    except (ImportError, RuntimeError, OSError) as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise TilescopeError(_MISSING_NVRTC.format(reason=reason)) from error
    return nvrtc  # type: ignore[no-any-return]


def compile_request(request: Request) -> Compiled:
    """Compile; a file for nvcc, with functions of the host in it, without those.

    A job that may be cancelled has it done in another process, and so has who brings a large
    source: NVRTC can be stopped in no other way, and a few lines may keep it for minutes.
    """
    size = len(request.source) + sum(len(text) for _, text in request.headers)
    if size > LARGE or is_cancellable():
        return apart(compile_here, request)
    with _alone:
        return compile_here(request)


def compile_here(request: Request) -> Compiled:
    """`compile_request` in this process, which cannot be stopped."""
    options = request.options
    if has_plain_constexpr(request.source):
        options = (*options, _UNMARKED_IS_DEVICE)

    def attempt(text: str) -> Compiled:
        return _compile_text(replace(request, source=text, options=options))

    try:
        made, warnings = without_the_host(request.source, attempt)
        return replace(made, diagnostics=(*made.diagnostics, *warnings))
    except CompileError as error:
        first = _summary(error.diagnostics, request.source_name, error)
        raise CompileError(first, error.diagnostics) from None


def _compile_text(request: Request) -> Compiled:
    nvrtc = load_nvrtc()
    source = request.source.encode()
    headers = {**stand_ins(), **dict(request.headers)}
    options = list(request.all_options)
    if names := pre_included(request.source, is_debug="-G" in request.options):
        headers[PRE_INCLUDED] = names
        options.append(f"--pre-include={PRE_INCLUDED}")
    status, program = nvrtc.nvrtcCreateProgram(
        source,
        request.source_name.encode(),
        len(headers),
        [text.encode() for text in headers.values()],
        [name.encode() for name in headers],
    )
    _check(nvrtc, status)
    try:
        folders = [f"--include-path={folder}" for folder in include_folders()]
        expression = b""
        if request.instance:
            name = qualified(request.source, kernels(request.source), request.instance)
            expression = name.encode()
            nvrtc.nvrtcAddNameExpression(program, expression)
        words = [option.encode() for option in (*options, *folders)]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(words), words)
        log = _read(nvrtc, program, "ProgramLog").decode(errors="replace").rstrip("\0")
        diagnostics = parse_log(log, request.source_name)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CompileError(_unlocated(log, request) or status.name, diagnostics)
        image, entry = _read(nvrtc, program, request.output), b""
        if expression:
            status, entry = nvrtc.nvrtcGetLoweredName(program, expression)
            _check(nvrtc, status)
        return Compiled(image, diagnostics, entry.decode())
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _read(nvrtc: ModuleType, program: Any, what: str) -> bytes:
    status, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
    _check(nvrtc, status)
    buffer = bytearray(size)  # NVRTC writes into it
    (status,) = getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    _check(nvrtc, status)
    return bytes(buffer)


def _check(nvrtc: ModuleType, status: Any) -> None:
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise TilescopeError(f"NVRTC failed: {status.name}.")


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
    if not errors:
        return f"{source_name} does not compile: {str(error).rstrip('.')}."
    first = errors[0]
    place = f"{source_name}:{first.line}" if first.line else source_name
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{place}: {first.message.rstrip('.')}{more}."
