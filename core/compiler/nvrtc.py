"""A request carried out by NVRTC, or by clang: its headers, and what the compiler says of it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from core.compiler import clang
from core.compiler.choice import CompilerName
from core.compiler.cubin import machine_facts
from core.compiler.device_part import (
    HOST_LIBRARIES,
    compile_part,
    lacks_a_name,
    refuse_what_is_elsewhere,
    warnings,
)
from core.compiler.nvrtc_library import CURAND, architectures, include_folders, version
from core.compiler.nvrtc_library import Program as Translation
from core.compiler.request import ARCHITECTURE, Compiled, Request
from core.errors import CompileError, Diagnostic, TilescopeError
from core.source.compiler_messages import parse_log
from core.source.constants import with_defines
from core.source.declarations import Syntax
from core.source.host_headers import (
    HALF_NAMES,
    PRE_INCLUDED,
    STAND_INS,
    TORCH,
    pre_included,
    stand_in,
    torch_header,
    with_libraries,
)
from core.source.kernel_slice import Part, Program
from core.source.preprocessor import blanked, includes

# NVRTC predefines what these declare; without a toolkit they are empty.
_RUNTIME = (
    *("cuda_runtime.h", "device_launch_parameters.h", "cuda_runtime_api.h", "driver_types.h"),
    *("device_functions.h", "vector_types.h"),
)


@cache
def stand_ins(compiler: CompilerName = "nvrtc") -> Mapping[str, str]:
    """Headers by name and content, which come before those of `folders_of`."""
    folders = folders_of(compiler)
    if not folders:
        known = {**STAND_INS, **dict.fromkeys(_RUNTIME, "#pragma once\n")}
        return clang.stand_ins(known) if compiler == "clang" else known
    has_libraries = any((folder / "cuda" / "std").is_dir() for folder in folders)
    found = dict(with_libraries() if has_libraries else STAND_INS)
    if any((folder / CURAND).is_file() for folder in folders):
        del found["curand.h"]  # cuRAND's own has the types of its device functions
    return found


def folders_of(compiler: CompilerName) -> tuple[Path, ...]:
    """The folders with CUDA's headers, which clang cannot read."""
    return include_folders() if compiler == "nvrtc" else ()


# Of a `static` kernel: who launches it is left out.
_UNCALLED = re.compile(r'\bfunction ".*" was declared but never referenced$')
_UNMARKED_IS_DEVICE = "--device-as-default-execution-space"
_NAMELESS = re.compile(r"\bnamespace\s*\{")
_READ_ONLY = "--fdevice-syntax-only"
_MUCH_MEMORY = (
    "the compiler needs more memory here than it is given: look for macros or templates that grow "
    "beyond measure"
)
_ERROR = re.compile(r"^[ \t]*#[ \t]*error\b[^\n]*", re.MULTILINE)
_QUOTED_SPACE = re.compile(r'("C")(?=__)')  # for NVRTC `"C"__global__` is a literal of one's own


# NVRTC takes a source for C++17, and crashes at a concept in an instance's head.
_CXX20 = re.compile(
    r"\bconcept\s+\w+\s*=|\brequires\s*[({]|\brequires\s+[\w:]+\s*<|\bconst(?:eval|init)\b"
    r"|\[[^\]\n]*\]\s*<\s*(?:typename|class|int|auto)\b"
    r"|[{,]\s*\.[A-Za-z_]\w*\s*=[^=]"  # `{.x = 1, .y = 2}`
)
_STANDARD = ("--std", "-std")
_NEWER = "--std=c++20"


def _is_newer(text: str) -> bool:
    return _CXX20.search(text) is not None and _CXX20.search(blanked(text)) is not None


def compile_here(request: Request) -> Compiled:
    """What NVRTC makes of a request, in this process, where nothing can stop it.

    A file for nvcc is compiled without its functions of the host, and as C++20 where what is left
    has words of that.
    """
    program = Program("", {"": request.source, **dict(request.headers)})
    refuse_what_is_elsewhere(program, request.kernel)
    missing = _missing_headers(program, request.compiler)
    included = _included(program)
    optional = {h: word for word, names in _OPTIONAL.items() for h in included if names.match(h)}
    in_macros = frozenset[str]().union(*program.macros.values())
    has_cub = any(header.startswith("cub/") for header in included)  # it includes some of these

    def attempt(kept: frozenset[Part], errors: bool, instance: str) -> Compiled:
        words = in_macros.union(*(program.words(part) for part in kept))
        used = {header for header, word in optional.items() if has_cub or word in words}
        unused = optional.keys() - used
        texts = {
            name: _QUOTED_SPACE.sub(r"\1 ", text if errors or not name else _ERROR.sub("", text))
            for name, text in program.texts(kept).items()
        }
        has_plain = program.has_plain_constexpr(kept) or any(map(_UNMARKED.match, used))
        plain = (_UNMARKED_IS_DEVICE,) if has_plain else ()
        part = replace(
            request,
            source=texts.pop(""),
            options=(*request.options, *plain),
            headers=(*texts.items(), *((name, "") for name in (*missing, *unused))),
        )
        return _compile_text(part, instance, is_doubtful=bool(missing))

    def compiled(instance: str) -> Compiled:
        made = compile_part(
            program, request.kernel, missing, lambda kept, errors: attempt(kept, errors, instance)
        )
        return replace(made, diagnostics=(*made.diagnostics, *warnings(missing)))

    one_of_several = program.overload(request.kernel)
    try:
        if one_of_several:
            return compiled(one_of_several)
    except CompileError:  # they may stand in branches of a conditional, only one of which counts
        pass
    of_the_whole: CompileError | None = None
    if any("__CUDACC_RTC__" in file.source for file in program.files.values()):
        try:  # a library's parts are many, macros hide their ends, and each attempt takes seconds
            return _as_it_stands(request, program, missing, _UNMARKED_IS_DEVICE)
        except CompileError as error:
            of_the_whole = error
    try:
        return compiled(program.qualified(request.kernel) if "<" in request.kernel else "")
    except CompileError as error:
        if not lacks_a_name(program, error):
            with contextlib.suppress(CompileError):
                return _as_it_stands(request, program, missing)
        if clash := _clash(request, error.diagnostics):
            raise CompileError(clash) from None
        if of_the_whole and len(of_the_whole.diagnostics) < len(error.diagnostics):
            error = of_the_whole
        first = _summary(error.diagnostics, request.source_name, error)
        raise CompileError(first, error.diagnostics) from None


def _as_it_stands(
    request: Request, program: Program, missing: Mapping[str, int], *options: str
) -> Compiled:
    """What NVRTC makes of the whole text: macros may hide from the parser where a function ends.

    A library that asks for NVRTC, such as CUTLASS, leaves its device functions unmarked
    (`_UNMARKED_IS_DEVICE`). Elsewhere an unmarked function belongs to the host, as with nvcc.
    """
    headers = (*request.headers, *((name, "") for name in missing))
    instance = program.qualified(request.kernel) if "<" in request.kernel else ""
    whole = replace(request, headers=headers, options=(*request.options, *options))
    return _compile_text(whole, instance)


def _missing_headers(program: Program, compiler: CompilerName) -> dict[str, int]:
    """Headers that are nowhere, and those that serve the host only; empty ones stand for them."""
    found: dict[str, int] = {}
    for name, file in program.files.items():
        for header, _ in includes(file.source):
            is_here = header in program.files or is_known(header, compiler)
            is_hosts = header.startswith(HOST_LIBRARIES) and not _FOR_BOTH.match(header)
            if header not in program.files and (is_hosts or not is_here):
                found.setdefault(header, _line_of(file, header) if name == program.main else 0)
    return found


def _included(program: Program) -> frozenset[str]:
    """The headers that the program's texts include and do not hold."""
    found = (header for file in program.files.values() for header, _ in includes(file.source))
    return frozenset(found) - program.files.keys()


def _line_of(file: Syntax, header: str) -> int:
    place = re.search(rf"#[ \t]*include[ \t]*[<\"]{re.escape(header)}[>\"]", file.source)
    return file.line(place.start()) if place else 0


@cache
def is_known(header: str, compiler: CompilerName = "nvrtc") -> bool:
    """Whether CUDA has a header of that name, or a stand-in for the host's is here."""
    if header in stand_ins(compiler) or stand_in(header, has_halves=False) is not None:
        return True
    return any((f / header).is_file() for f in folders_of(compiler))


# Of a library of the host's: what NVRTC 13.0 takes, and kernels use.
_FOR_BOTH = re.compile(
    r"thrust/(?:(?:iterator|type_traits|random)/|detail/(?:config|raw_pointer_cast|type_traits)\.h"
    r"|(?:tuple|pair|functional|distance|advance|random|version)\.h)"
)
# Headers that a kernel needs only if it names their namespace: NVRTC takes a second for some.
_OPTIONAL = {
    "thrust": _FOR_BOTH,
    "cooperative_groups": re.compile(r"cooperative_groups(?:\.h|/)"),
    "cuda": re.compile(r"cuda/(?!std/c)"),  # <cuda/std/cstdint> declares plain names too
}
_UNMARKED = re.compile(r"thrust/random\b")  # of these some functions say nothing of the GPU

_NOTHING = "__global__ void k() {}"


def warm() -> None:
    """Load NVRTC's library, and all that its first use loads and looks up."""
    options = (f"{ARCHITECTURE}compute_90", "-G")
    compile_here(Request(_NOTHING, "k.cu", (), options, "PTX"))


# `#line 500` would have messages and findings name lines that the file does not have.
_OTHER_LINES = re.compile(r"^[ \t]*#[ \t]*(?:line\b|\d)[^\n]*", re.MULTILINE)


# Cooperative groups include libcu++, which takes a second and more. Their own words serve as well,
# to the instruction, but for what forwards its arguments: unoptimised, libcu++ makes calls of that.
_GROUPS_ALONE = "-D_CG_LIMIT_INCLUDED_DEPENDENCIES"
_GROUPS = re.compile(r"[<\"]cooperative_groups\b")
_OF_LIBCUXX = re.compile(r"\bcuda\s*::|\bnamespace\s+cuda\b|=\s*cuda\s*;")
_FORWARDS = re.compile(r"\b(?:shfl|invoke_one)|cooperative_groups/(?:reduce|scan)\.h")


def _compile_text(
    request: Request, instance: str = "", *, is_doubtful: bool = False, may_be_alone: bool = True
) -> Compiled:
    """`instance` is the full name of a template's instance that is to be made.

    The text `is_doubtful` where headers are missing that it includes. Where it fails with groups
    that do without libcu++, they get that.
    """
    texts = (request.source, *(text for _, text in request.headers))
    is_told = any(option.startswith(_STANDARD) for option in request.options)
    if not is_told and any(map(_is_newer, texts)):
        request = replace(request, options=(*request.options, _NEWER))
    if instance and (is_doubtful or any(_NAMELESS.search(text) for text in texts)):
        # NVRTC 13 crashes at an instance whose head it cannot read: it says what is wrong before
        _compile_text(replace(request, options=(*request.options, _READ_ONLY)))
    defines = dict(request.defines)
    source = _OTHER_LINES.sub("", with_defines(request.source, defines))
    own = {name: with_defines(text, defines) for name, text in request.headers}
    text = "\n".join((request.source, *own.values()))
    headers = {**stand_ins(request.compiler), **_by_pattern(text), **own}
    options = list(request.all_options)
    has_runtime = request.compiler == "nvrtc"
    if names := pre_included(text, is_debug="-G" in request.options, has_runtime=has_runtime):
        headers[PRE_INCLUDED] = names
        options.insert(0, f"--pre-include={PRE_INCLUDED}")
    if is_alone := may_be_alone and has_runtime and _are_alone(text, "-G" in request.options):
        options.append(_GROUPS_ALONE)
    options += [f"--include-path={folder}" for folder in folders_of(request.compiler)]
    translation = clang.Translation if request.compiler == "clang" else Translation
    with translation(source, request.source_name, headers) as program:
        failure = program.compile(options, instance)
        log = program.read("ProgramLog").decode(errors="replace").rstrip("\0")
        said = parse_log(log, request.source_name)
        diagnostics = tuple(one for one in said if not _UNCALLED.search(one.message))
        if failure and is_alone:
            return _compile_text(request, instance, is_doubtful=is_doubtful, may_be_alone=False)
        if failure and has_runtime and "--gpu-architecture" in log:
            raise TilescopeError(_unknown_target(request))
        if failure:
            raise CompileError(_unlocated(log, request) or failure, diagnostics)
        if _READ_ONLY in request.options:
            return Compiled(b"", diagnostics)
        entry = program.lowered_name(instance) if instance else ""
        by = clang.version() if request.compiler == "clang" else ""
        is_real = request.options[0].startswith(f"{ARCHITECTURE}sm_") and not by
        made = Compiled(program.read(request.output), diagnostics, entry, by)
        if not is_real or request.output != "PTX":
            return made
        entries = re.findall(r"\.entry\s+([\w$.]+)", made.image.decode())
        optimised = "-lineinfo" in request.options
        machine = machine_facts(program.read("CUBIN"), entries, optimised=optimised)
        return replace(made, machine=machine)


def _are_alone(text: str, is_debug: bool) -> bool:
    """Whether a text has cooperative groups that are the same without libcu++."""
    is_plain = _OF_LIBCUXX.search(text) is None and not (is_debug and _FORWARDS.search(text))
    return is_plain and _GROUPS.search(text) is not None


def _by_pattern(text: str) -> dict[str, str]:
    """Stand-ins for the headers that a text includes and that go by a pattern."""
    has_halves = HALF_NAMES.search(text) is not None
    found = {name: stand_in(name, has_halves=has_halves) for name, _ in includes(text)}
    return {
        TORCH: torch_header(has_halves=has_halves),
        **{name: content for name, content in found.items() if content is not None},
    }


def _unknown_target(request: Request) -> str:
    known = ", ".join(f"sm_{one}" for one in architectures())
    asked = request.options[0].removeprefix(ARCHITECTURE).replace("compute_", "sm_")
    return f"NVRTC {version()} does not compile for {asked}: choose one of {known}."


def _unlocated(log: str, request: Request) -> str:
    """What the compiler says of a failure that it gives no place for."""
    words = [line.strip() for line in log.splitlines() if re.match(r"\s*Error:", line)]
    if not words:
        return ""
    said = words[0].partition(":")[2].strip()
    if "-G" in request.options:
        return f"NVRTC says `{said}` of the build as written (-G): trace it as compiled"
    return f"NVRTC says `{said}`"


_OWN_HEADER = "__nv_nvrtc_builtin_header.h"
_MOST_DEFINES = 16


def _clash(request: Request, diagnostics: Sequence[Diagnostic]) -> str:
    """Which macro breaks the compiler's own header, where one of the first ones does; else ""."""
    if not any(_OWN_HEADER in found.message for found in diagnostics):
        return ""
    for name, value in request.defines[:_MOST_DEFINES]:
        alone = Request(_NOTHING, "nothing.cu", ((name, value),), request.options, "PTX")
        try:
            _compile_text(alone)
        except CompileError:
            return (
                f"-D {name} also replaces `{name}` in the compiler's own headers: rename it, in the"
                f" source as well, say to {name}_OF_MINE."
            )
    return ""


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
