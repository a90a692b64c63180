"""CUDA C to PTX and machine code with NVRTC, NVIDIA's run-time compiler; no GPU or toolkit needed.

Two builds matter. *As written* is `-G` (device debug): the PTX keeps the source's order, one load
or store for each one in the source, with line numbers and DWARF. *As compiled* is what NVRTC makes
by default, optimised.
"""

from __future__ import annotations

import io
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType, ModuleType
from typing import Any, Literal, TypeVar

from core.cuda.diagnostics import Diagnostic, parse_log
from core.cuda.headers import include_folders, stand_ins
from core.cuda.host_code import has_plain_constexpr
from core.cuda.instances import qualified
from core.cuda.kernel_text import kernels
from core.cuda.nvcc_files import without_the_host
from core.errors import CompileError, TilescopeError

__all__ = ["Build", "BuildKind", "Diagnostic", "compile_cubin", "compile_ptx", "cubin_entries",
           "find_entry", "parse_log", "plain_name", "resolve_entry"]  # fmt: skip

BuildKind = Literal["as_written", "as_compiled"]

DEFAULT_ARCHITECTURE = "compute_90"

_KIND_OPTIONS: Mapping[BuildKind, tuple[str, ...]] = {
    "as_written": ("-G",),
    "as_compiled": ("-lineinfo",),
}
_INT128 = "--device-int128"
_UNMARKED_IS_DEVICE = "--device-as-default-execution-space"
_NO_DEFINES: Mapping[str, str] = MappingProxyType({})
_MISSING_NVRTC = (
    "NVRTC, the CUDA compiler, cannot be loaded ({reason}): install it with "
    "`pip install nvidia-cuda-nvrtc cuda-bindings`."
)


@dataclass(frozen=True)
class Build:
    """The PTX of one source, and what it was made from. `entries` are its kernels' PTX names."""

    kind: BuildKind
    source: str
    source_name: str
    defines: Mapping[str, str]
    options: tuple[str, ...]
    architecture: str
    ptx: str
    diagnostics: tuple[Diagnostic, ...]
    entries: tuple[str, ...]


def compile_ptx(
    source: str,
    *,
    source_name: str = "kernel.cu",
    defines: Mapping[str, str] = _NO_DEFINES,
    kind: BuildKind = "as_written",
    architecture: str = DEFAULT_ARCHITECTURE,
    extra_options: Sequence[str] = (),
    kernel: str = "",
) -> Build:
    """Compile CUDA C to PTX. `architecture` is a virtual one, such as "compute_90".

    Of a `kernel` that is a template the instance is made that its name says: `axpy<float>`.
    `extra_options` go to NVRTC as they are (`--use_fast_math`). Raises CompileError where the
    source is wrong and TilescopeError where NVRTC is missing. Equal requests get the same Build
    from a small cache. Safe to call from any thread.
    """
    options = (f"--gpu-architecture={architecture}", *_KIND_OPTIONS[kind], *extra_options)
    instance = kernel if "<" in kernel else ""
    request = _Request(source, source_name, _define_items(defines), options, "PTX", instance)

    def build() -> Build:
        image, diagnostics = _compile(request)
        ptx = image.decode().rstrip("\0")
        return Build(
            kind=kind,
            source=source,
            source_name=source_name,
            defines=MappingProxyType(dict(request.defines)),
            options=request.all_options,
            architecture=architecture,
            ptx=ptx,
            diagnostics=diagnostics,
            entries=tuple(re.findall(r"\.entry\s+([\w$.]+)", ptx)),
        )

    return _builds.get(request, build)


def compile_cubin(
    source: str,
    *,
    source_name: str = "kernel.cu",
    defines: Mapping[str, str] = _NO_DEFINES,
    compute_capability: tuple[int, int] = (9, 0),
    extra_options: Sequence[str] = (),
    kernel: str = "",
) -> bytes:
    """Compile CUDA C to an optimised cubin (machine code) for one compute capability.

    `cubin_entries` lists its kernels. Raises as `compile_ptx` does; a kernel that asks for too much
    shared memory is refused here, by the assembler.
    """
    major, minor = compute_capability
    options = (f"--gpu-architecture=sm_{major}{minor}", *extra_options)
    instance = kernel if "<" in kernel else ""
    request = _Request(source, source_name, _define_items(defines), options, "CUBIN", instance)
    return _cubins.get(request, lambda: _compile(request)[0])


def cubin_entries(image: bytes) -> tuple[str, ...]:
    """Names of the kernels in a cubin: each has a bank of constants for its parameters."""
    from elftools.elf.elffile import ELFFile

    prefix = ".nv.constant0."
    names = (section.name for section in ELFFile(io.BytesIO(image)).iter_sections())
    return tuple(name.removeprefix(prefix) for name in names if name.startswith(prefix))


def find_entry(build: Build, name: str) -> str:
    """The PTX name of kernel `name` in a build; see `resolve_entry`."""
    return resolve_entry(build.entries, name, build.source_name)


def resolve_entry(entries: Sequence[str], name: str, source_name: str = "the source") -> str:
    """Which of `entries` (plain or mangled C++ names) is the kernel called `name`.

    Accepts the exact name, the name as written (`foo` for `_Z3fooPf`, `foo<float>` where there is
    one instance), or a qualified one (`ns::foo`). Raises TilescopeError, listing the kernels there
    are, when none or several fit.
    """
    if name in entries:
        return name
    plain = name.partition("<")[0].strip()
    found = [e for e in entries if plain in (plain_name(e), plain_name(e).rpartition("::")[2])]
    if len(found) == 1:
        return found[0]
    if found:
        raise TilescopeError(
            f"{source_name} has {len(found)} kernels called {name}: "
            f"say which by its full name, one of {', '.join(found)}."
        )
    if not entries:
        raise TilescopeError(
            f"{source_name} has no kernel: a kernel is a function marked __global__ "
            "(a template needs an instance)."
        )
    there = ", ".join(plain_name(e) for e in entries)
    raise TilescopeError(f"{source_name} has no kernel called {name}; it has: {there}.")


def plain_name(entry: str) -> str:
    """The name of a function as its source spells it: `ns::foo` for `_ZN2ns3fooEPf`.

    Template arguments and parameters are left out. A name that is not mangled is returned as it is.
    Itanium C++ ABI, 5.1 (name mangling).
    """
    match = re.match(r"_Z(N?)[KVr]*", entry)
    if not match or not (rest := entry[match.end() :])[:1].isdigit():
        return entry
    parts: list[str] = []
    while length := re.match(r"\d+", rest):
        end = length.end() + int(length.group())
        parts.append(rest[length.end() : end])
        rest = rest[end:]
        if not match.group(1):
            break
    return "::".join(part for part in parts if not part.startswith("_GLOBAL__N_"))


# --- NVRTC -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Request:
    source: str
    source_name: str
    defines: tuple[tuple[str, str], ...]
    options: tuple[str, ...]
    output: Literal["PTX", "CUBIN"]
    instance: str = ""  # of a kernel that is a template

    @property
    def all_options(self) -> tuple[str, ...]:
        """With the macros, and the types that nvcc knows without being told."""
        wide = "__int128" in self.source and _INT128 not in self.options
        defines = (f"-D{name}={value}" for name, value in self.defines)
        return (*self.options, *((_INT128,) if wide else ()), *defines)


def _define_items(defines: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value)) for name, value in defines.items()))


def nvrtc_version() -> str:
    """The compiler's version, such as "13.0"; raises TilescopeError where it is missing."""
    _, major, minor = _load_nvrtc().nvrtcVersion()
    return f"{major}.{minor}"


def _load_nvrtc() -> ModuleType:
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()  # loads the library itself
    except (ImportError, RuntimeError, OSError) as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise TilescopeError(_MISSING_NVRTC.format(reason=reason)) from error
    return nvrtc  # type: ignore[no-any-return]


def _compile(request: _Request) -> tuple[bytes, tuple[Diagnostic, ...]]:
    """Compile; a file for nvcc, with functions of the host in it, without those."""
    options = request.options
    if has_plain_constexpr(request.source):
        options = (*options, _UNMARKED_IS_DEVICE)

    def attempt(text: str) -> tuple[bytes, tuple[Diagnostic, ...]]:
        return _compile_text(replace(request, source=text, options=options))

    try:
        (image, diagnostics), warnings = without_the_host(request.source, attempt)
        return image, (*diagnostics, *warnings)
    except CompileError as error:
        first = _summary(error.diagnostics, request.source_name, error)
        raise CompileError(first, error.diagnostics) from None


def _compile_text(request: _Request) -> tuple[bytes, tuple[Diagnostic, ...]]:
    nvrtc = _load_nvrtc()
    source = request.source.encode()
    headers = stand_ins()
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
        options = [option.encode() for option in (*request.all_options, *folders)]
        if request.instance:
            expression = qualified(request.source, kernels(request.source), request.instance)
            nvrtc.nvrtcAddNameExpression(program, expression.encode())
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        log = _read(nvrtc, program, "ProgramLog").decode(errors="replace").rstrip("\0")
        diagnostics = parse_log(log, request.source_name)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CompileError(_unlocated(log, request) or status.name, diagnostics)
        return _read(nvrtc, program, request.output), diagnostics
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


def _unlocated(log: str, request: _Request) -> str:
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


# --- cache -------------------------------------------------------------------------------------

_T = TypeVar("_T")


class _Cache:
    """Keeps the most recently used results; one compilation at a time, whatever the thread."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: OrderedDict[_Request, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _Request, make: Callable[[], _T]) -> _T:
        with self._lock:
            if key not in self._items:
                self._items[key] = make()
                while len(self._items) > self._capacity:
                    self._items.popitem(last=False)
            self._items.move_to_end(key)
            result: _T = self._items[key]
            return result


_builds = _Cache(32)
_cubins = _Cache(32)
