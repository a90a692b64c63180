"""A request carried out: the part of a file that its kernel needs, compiled by NVRTC or by clang.

`core.source.kernel_slice` chooses the part by names. It is compiled with CUDA's headers, or with
what stands for the host's. Where the compiler stumbles over something in it that is not the kernel
itself, that goes, too; where it misses a name that was left out, it comes back. If a kernel needs
what cannot be compiled, the error says so, in the words of whoever wrote the file.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from core.compiler import clang
from core.compiler.cubin import machine_facts
from core.compiler.nvrtc import CURAND, Translation, architectures, include_folders, version
from core.compiler.nvrtc_or_clang import CompilerName
from core.compiler.requests_and_answers import ARCHITECTURE, Compiled, Request
from core.errors import CompileError, Diagnostic, Severity, TilescopeError
from core.source.constants import with_defines
from core.source.declarations import Syntax
from core.source.host_headers import (
    HALF_NAMES,
    HOST_CLASSES,
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

_UNMARKED_IS_DEVICE = "--device-as-default-execution-space"
_ERROR = re.compile(r"^[ \t]*#[ \t]*error\b[^\n]*", re.MULTILINE)
_QUOTED_SPACE = re.compile(r'("C")(?=__)')  # for NVRTC `"C"__global__` is a literal of one's own
_NOTHING = "__global__ void k() {}"


def warm() -> None:
    """Load NVRTC's library, and all that its first use loads and looks up."""
    options = (f"{ARCHITECTURE}compute_90", "-G")
    compile_here(Request(_NOTHING, "k.cu", (), options, "PTX"))


def compile_here(request: Request) -> Compiled:
    """What the compiler makes of a request, in this process, where nothing can stop it.

    A file for nvcc is compiled without its functions of the host, and as C++20 where what is left
    has words of that.
    """
    program = Program("", {"": request.source, **dict(request.headers)})
    _refuse_what_is_elsewhere(program, request.kernel)
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
        made = _compile_part(
            program, request.kernel, missing, lambda kept, errors: attempt(kept, errors, instance)
        )
        return replace(made, diagnostics=(*made.diagnostics, *_of_missing_headers(missing)))

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
        if not _lacks_a_name(program, error):
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


# The part that is compiled, mended by what the compiler says.


_CompileTexts = Callable[[frozenset[Part], bool], Compiled]
_MOST_ATTEMPTS = 10
_MOST_S = 30.0  # for what is tried after the first failure
_UNKNOWN = re.compile(
    r'(?:identifier|has no member|namespace|not a (?:class|namespace)[^"]*|type|template)'
    r' "(?:\w+::)*(\w+)(?:<[^"]*>)?"|name followed by \"::\" must be a class or namespace name'
)
_UNDEFINED = re.compile(r'identifier "(?:\w+::)*(\w+)" is undefined')
_NO_TEMPLATE = re.compile(r"\b(\w+) is not a template")
_MOST_TYPOS = 2  # words that the compiler does not know: more are no slips of the pen
_MOST_USES = 2  # of such a word, for the same reason
_KNOWN = frozenset(("std", "cuda", "cub", "thrust", "nvcuda", "cooperative_groups"))
_OF_NAMES = re.compile(
    r"undefined|no member|incomplete|no instance|no operator|not a |must be a|unknown|expected"
    r"|no suitable|does not match|argument list"
)
_OF_DEVICE_RUNTIME = re.compile(
    r'"cuda(?:Stream\w*|DeviceSynchronize|Malloc|Free|Launch\w*|GetLastError|Event\w*)" is'
)
_HOST_CLASS = rf"\b(std::(?:{'|'.join(HOST_CLASSES)}))\b"
_OF_HOST_CLASS = re.compile(
    rf"(?:no operator|no instance|no suitable).*?{_HOST_CLASS}|{_HOST_CLASS}.*?has no member"
)
_NO_KERNELS = "{} belongs to the host's library; no kernel can use it"
_OF_INSTANCES = "__nv_name_map"  # NVRTC's name for the expressions that say which are made
_ANOTHER_INSTANCE = "name the instance that the program makes, as --kernel 'name<float, 4>'"
_IN_A_BRANCH = (
    "{} stands in a branch of a conditional that is not taken here: define what it asks for with "
    "-D, or name the folder of the header that does with -I"
)
_OTHERS = "choose others with --kernel 'name<…>' or -D"
_OF_BUILD = "if nvcc compiles it, name what its build defines with -D, and its folders with -I"
_TEXTURES = re.compile(r'"(?:CUtexObject|CUsurfObject|tex[123]D\w*|texture)"|\btexture\b')
_ELSEWHERE = re.compile(r"(?P<file>.+), line (?P<line>\d+): (?P<words>.*)", re.DOTALL)


def _compile_part(
    program: Program,
    kernel: str,
    missing: Mapping[str, int],
    compile_texts: _CompileTexts,
) -> Compiled:
    """What `compile_texts` makes of the declarations that `kernel` needs; of all kernels for "".

    It is told whether the text's own `#error` lines count: they look for the host's compiler and
    system, and are heard where nothing else compiles. `missing` are headers that are not here, with
    their lines. Where the chosen part does not compile, all that a GPU may use is tried. Raises the
    CompileError of the part that the kernel needs, in the words of whoever wrote the file.
    """
    attempt = _Attempt(program, kernel, time.monotonic() + _MOST_S, missing)
    kept = program.needed(program.roots(kernel))
    try:
        return attempt.compiled(kept, compile_texts)
    except CompileError as error:
        whole = program.everything()
        is_of_names = any(_OF_NAMES.search(d.message) for d in error.diagnostics)
        is_of_names = is_of_names and not _lacks_a_name(program, error)
        if whole > kept and is_of_names and time.monotonic() < attempt.until:
            try:
                return replace(attempt, reasons={}).compiled(whole, compile_texts)
            except CompileError:
                pass
        if any("#error" in file.plain.replace(" ", "") for file in program.files.values()):
            error = _by_itself(error, kept, compile_texts)
        raise attempt.explained(error) from None


@dataclass
class _Attempt:
    """What of a program is compiled, and what was left out for which error."""

    program: Program
    kernel: str
    until: float  # when nothing more is tried
    missing: Mapping[str, int]  # headers that are not here, and their lines (0: in another header)
    reasons: dict[str, CompileError] = field(default_factory=dict)  # by what was left out

    def compiled(self, kept: frozenset[Part], compile_texts: _CompileTexts) -> Compiled:
        roots = frozenset(self.program.roots(self.kernel))
        dropped: set[Part] = set()
        for _ in range(_MOST_ATTEMPTS):
            try:
                return compile_texts(kept, False)
            except CompileError as error:
                last = error
                if time.monotonic() > self.until:
                    break
                more = self._missed(error, kept, dropped)
                less = frozenset(self._broken(error, kept - roots)) if not more else frozenset()
                if not more and not less:
                    break
                for part in less:
                    for name in part.item.names:
                        self.reasons.setdefault(name, error)
                dropped |= less
                kept = (kept | more) - less
        raise last

    def _missed(
        self, error: CompileError, kept: frozenset[Part], dropped: set[Part]
    ) -> frozenset[Part]:
        """What declares the names that the compiler does not know."""
        found: set[Part] = set()
        for diagnostic in error.diagnostics:
            unknown = _UNKNOWN.search(diagnostic.message)
            for part in self.program.by_name.get((unknown and unknown[1]) or "", ()):
                if part not in kept and part not in dropped:
                    found.add(part)
        return self.program.needed(found) - kept - dropped if found else frozenset()

    def _broken(self, error: CompileError, kept: frozenset[Part]) -> Iterator[Part]:
        """Declarations with an error in them."""
        for diagnostic in error.diagnostics:
            if diagnostic.severity == "error":
                file, line, _ = _place(diagnostic, self.program.main)
                yield from (p for p in self.program.parts_at(file, line) if p in kept)

    def explained(self, error: CompileError) -> CompileError:
        """Says of what a kernel uses and only the host has how to give it to the GPU."""
        hosts = self.program.host_lines()
        found: list[Diagnostic] = []
        slips = self._slips_of_the_pen(error)
        for diagnostic in error.diagnostics:
            unknown = _UNKNOWN.search(diagnostic.message)
            name = (unknown[1] or "") if unknown else ""
            if "without appropriate operator()" in diagnostic.message:
                name = "operator"
            if name in self.reasons:  # what was wrong with it in the first place
                return replace(self, reasons={}).explained(self.reasons[name])
            file, line, words = _place(diagnostic, self.program.main)
            if _TEXTURES.search(words) or self._is_texture(name):
                said = (
                    "the kernel reads a texture reference, which CUDA has no more since 12: "
                    "give it a parameter of type cudaTextureObject_t instead"
                )
            elif name and name in hosts:
                where, at = hosts[name]
                there = f"{where}, line {at}" if where != self.program.main else f"line {at}"
                said = (
                    f"{name} ({there}) belongs to the host: "
                    "write __device__ before it, so that a kernel can use it"
                )
            elif "device-side kernel launch" in words or _OF_DEVICE_RUNTIME.search(words):
                said = (
                    "a kernel launches another one (dynamic parallelism), which cannot be followed "
                    "here: trace the kernels one by one, each by a launch of its own"
                )
            elif "qualified name is not allowed" in words and line:
                said = self._of_the_hosts_library(file, line) or diagnostic.message
            elif used := _OF_HOST_CLASS.search(words):
                said = _NO_KERNELS.format(used[1] or used[2])
            elif file == _OF_INSTANCES and self._is_nowhere(words):
                said = _IN_A_BRANCH.format(name)
            elif file == _OF_INSTANCES:
                said = f"{self.kernel} cannot be made here ({words}): {_ANOTHER_INSTANCE}"
            elif words.startswith("static assertion failed"):
                said = f"{diagnostic.message}: the source refuses these sizes or types: {_OTHERS}"
            elif unknown and self.missing:
                said = f"{diagnostic.message}; {_left_out(self.missing)}"
            elif undeclared := self._undeclared(file, line, words, slips):
                said = (
                    f"{diagnostic.message}; no file that is read declares {undeclared}: name the "
                    "header that does with --include, or its folder with -I, or trace the file "
                    "that includes this one"
                )
            elif diagnostic.severity == "error" and len(self.program.files) > 1:  # part of a build
                said = f"{diagnostic.message}; {_OF_BUILD}"
            else:
                said = diagnostic.message
            found.append(replace(diagnostic, message=said))
        return CompileError(str(error), tuple(found))

    def _slips_of_the_pen(self, error: CompileError) -> frozenset[str]:
        """Words that the compiler does not know and for which there is no header: few, seldom used.

        One that is used often was declared somewhere, but no header declares a single letter.
        """
        unknown = {m[1] for d in error.diagnostics if (m := _UNDEFINED.search(d.message))}
        letters = frozenset(word for word in unknown if len(word) == 1)
        if len(unknown - letters) > _MOST_TYPOS:
            return letters
        texts = [syntax.source for syntax in self.program.files.values()]

        def uses(word: str) -> int:
            return sum(len(re.findall(rf"\b{word}\b", text)) for text in texts)

        return letters | {word for word in unknown if uses(word) <= _MOST_USES}

    def _undeclared(self, file: str, line: int, words: str, slips: Collection[str]) -> str:
        """The name that a message is about and that no file declares, "" if there is none."""
        if "name followed by" in words:
            syntax = self.program.files.get(file)
            lines = syntax.source.split("\n") if syntax else []
            text = lines[line - 1] if 0 < line <= len(lines) else ""
            formal = re.compile(r"\b(?:typename|class)\s+(\w+)")
            formals = set(formal.findall(syntax.source)) if syntax else set()
            names = [n for n in re.findall(r"\b([A-Za-z_]\w*)\s*::", text) if n not in formals]
        else:
            found = _NO_TEMPLATE.search(words) or _UNDEFINED.search(words)
            names = [found[1]] if found and found[1] not in slips else []
        return next((n for n in names if n not in _KNOWN and n not in self.program.by_name), "")

    def _is_nowhere(self, words: str) -> bool:
        """Whether the compiler does not know the template whose instance is to be made."""
        undefined = _UNDEFINED.search(words)
        return undefined is not None and undefined[1] == self.kernel.partition("<")[0]

    def _is_texture(self, name: str) -> bool:
        """Whether a name is that of a `texture<float, 2>`."""
        return any(
            name in part.item.names and re.search(r"\btexture\s*<", self.program.text(part))
            for part in self.program.parts
        )

    def _of_the_hosts_library(self, file: str, line: int) -> str:
        syntax = self.program.files.get(file)
        text = syntax.source.split("\n")[line - 1] if syntax else ""
        name = re.search(r"\bstd::\w+", text)
        return _NO_KERNELS.format(name[0]) if name else ""


def _by_itself(
    error: CompileError, kept: frozenset[Part], compile_texts: _CompileTexts
) -> CompileError:
    """The error with the text's own `#error`, if there is one, before it."""
    try:
        compile_texts(kept, True)
    except CompileError as own:
        said = [d for d in own.diagnostics if re.match(r"(?:.*: )?#error", d.message)]
        if said:
            return CompileError(str(own), (*said, *error.diagnostics))
    return error


def _place(diagnostic: Diagnostic, main: str) -> tuple[str, int, str]:
    """The file and line of a message, and its words without them."""
    if not diagnostic.line and (there := _ELSEWHERE.fullmatch(diagnostic.message)):
        return there["file"], int(there["line"]), there["words"]
    return main, diagnostic.line, diagnostic.message


def _lacks_a_name(program: Program, error: CompileError) -> bool:
    """Whether the compiler misses a name that no text of the program declares.

    More of the program cannot help then: a build gives such names with -D, or another file does.
    """
    said = (_place(d, "")[2] for d in error.diagnostics if d.severity == "error")
    names = {found[1] for words in said if (found := _UNDEFINED.match(words))}
    return any(not program.may_declare(name) for name in names)


def _left_out(missing: Mapping[str, int]) -> str:
    name, line = next(iter(missing.items()))
    more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    where = f", included in line {line}," if line else ", which another header includes,"
    if random := next((n for n in missing if n.startswith("curand")), None):
        return f"{random} is not here: install cuRAND's headers (pip install nvidia-curand)"
    if name.startswith(_HOST_LIBRARIES):
        return (
            f"{name}{more}{where} serves the host only: "
            "a kernel here can use CUB's blocks and warps, and cuda::std"
        )
    return (
        f"{name}{more}{where} is not here: put what the kernel needs of it into the file, "
        "or name its folder with -I"
    )


_UNSIZED = re.compile(  # `extern __device__ double table[];`
    r"\s*extern\b(?=[^;={}]*__(?:device|constant)__)[^;={}]*?(\w+)\s*\[\s*\]\s*;?\s*$"
)


def _refuse_what_is_elsewhere(program: Program, kernel: str) -> None:
    """Raises CompileError where the kernel reads an array whose size another file says.

    The compiler gives such an array one element.
    """
    unsized = {
        part: found[1]
        for part in program.parts
        if part.item.kind == "variable" and (found := _UNSIZED.match(program.text(part)))
    }
    sized = {n for p in program.parts if p not in unsized for n in p.item.names}
    kept = program.needed(program.roots(kernel)) if set(unsized.values()) - sized else frozenset()
    for part, name in unsized.items():
        if part in kept and name not in sized:
            line = program.files[part.file].line(part.item.start)
            place = f"{part.file}, line {line}: " if part.file != program.main else ""
            said = (
                f"{place}{name} is only declared here, and a kernel reads it: "
                "name the file that defines it with --include"
            )
            raise CompileError(said, (Diagnostic("error", 0 if place else line, None, said),))


# Headers.


_HOST_LIBRARIES = ("thrust/",)  # they launch kernels of their own
# NVRTC predefines what these declare; without a toolkit they are empty.
_RUNTIME = (
    *("cuda_runtime.h", "device_launch_parameters.h", "cuda_runtime_api.h", "driver_types.h"),
    *("device_functions.h", "vector_types.h"),
)
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


@cache
def stand_ins(compiler: CompilerName = "nvrtc") -> Mapping[str, str]:
    """Headers by name and content, which come before those of `_folders_of`."""
    folders = _folders_of(compiler)
    if not folders:
        known = {**STAND_INS, **dict.fromkeys(_RUNTIME, "#pragma once\n")}
        return clang.stand_ins(known) if compiler == "clang" else known
    has_libraries = any((folder / "cuda" / "std").is_dir() for folder in folders)
    found = dict(with_libraries() if has_libraries else STAND_INS)
    if any((folder / CURAND).is_file() for folder in folders):
        del found["curand.h"]  # cuRAND's own has the types of its device functions
    return found


def _folders_of(compiler: CompilerName) -> tuple[Path, ...]:
    """The folders with CUDA's headers, which clang cannot read."""
    return include_folders() if compiler == "nvrtc" else ()


@cache
def is_known(header: str, compiler: CompilerName = "nvrtc") -> bool:
    """Whether CUDA has a header of that name, or a stand-in for the host's is here."""
    if header in stand_ins(compiler) or stand_in(header, has_halves=False) is not None:
        return True
    return any((f / header).is_file() for f in _folders_of(compiler))


def _by_pattern(text: str) -> dict[str, str]:
    """Stand-ins for the headers that a text includes and that go by a pattern."""
    has_halves = HALF_NAMES.search(text) is not None
    found = {name: stand_in(name, has_halves=has_halves) for name, _ in includes(text)}
    return {
        TORCH: torch_header(has_halves=has_halves),
        **{name: content for name, content in found.items() if content is not None},
    }


def _missing_headers(program: Program, compiler: CompilerName) -> dict[str, int]:
    """Headers that are nowhere, and those that serve the host only; empty ones stand for them."""
    found: dict[str, int] = {}
    for name, file in program.files.items():
        for header, _ in includes(file.source):
            is_here = header in program.files or is_known(header, compiler)
            is_hosts = header.startswith(_HOST_LIBRARIES) and not _FOR_BOTH.match(header)
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


def _of_missing_headers(missing: Mapping[str, int]) -> tuple[Diagnostic, ...]:
    """A warning for each header of the source that is not here."""
    return tuple(
        Diagnostic("warning", line, None, f"{name} is not here; no kernel needs it")
        for name, line in missing.items()
        if line and not name.startswith(_HOST_LIBRARIES)
    )


# One text, compiled once.


# Of a `static` kernel: who launches it is left out.
_UNCALLED = re.compile(r'\bfunction ".*" was declared but never referenced$')
_NAMELESS = re.compile(r"\bnamespace\s*\{")
_READ_ONLY = "--fdevice-syntax-only"
# NVRTC takes a source for C++17, and crashes at a concept in an instance's head.
_CXX20 = re.compile(
    r"\bconcept\s+\w+\s*=|\brequires\s*[({]|\brequires\s+[\w:]+\s*<|\bconst(?:eval|init)\b"
    r"|\[[^\]\n]*\]\s*<\s*(?:typename|class|int|auto)\b"
    r"|[{,]\s*\.[A-Za-z_]\w*\s*=[^=]"  # `{.x = 1, .y = 2}`
)
_STANDARD = ("--std", "-std")
_NEWER = "--std=c++20"
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
    options += [f"--include-path={folder}" for folder in _folders_of(request.compiler)]
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


def _is_newer(text: str) -> bool:
    return _CXX20.search(text) is not None and _CXX20.search(blanked(text)) is not None


def _are_alone(text: str, is_debug: bool) -> bool:
    """Whether a text has cooperative groups that are the same without libcu++."""
    is_plain = _OF_LIBCUXX.search(text) is None and not (is_debug and _FORWARDS.search(text))
    return is_plain and _GROUPS.search(text) is not None


# What the compiler says.


_LOCATED = re.compile(
    r"^(?P<file>.*)\((?P<line>\d+)\): (?:catastrophic )?"
    r"(?P<severity>error|warning|remark)(?: #[\w-]+)?: (?P<message>.*)$"
)
_UNLOCATED = re.compile(
    r"^(?:nvrtc|ptxas|nvvm)\s*:?\s*(?P<severity>error|fatal|warning|info)\s*:\s*(?P<message>.*)$"
)
_AT_END = re.compile(r"^At end of source: (?:catastrophic )?error(?: #[\w-]+)?: (?P<message>.*)$")
_OPENED = re.compile(
    r"^(?P<file>.*)\((?P<line>\d+)\): note(?: #[\w-]+)?: to match this \"(?P<what>.)\""
)
_SEVERITY: Mapping[str, Severity] = {
    "error": "error",
    "fatal": "error",
    "warning": "warning",
    "remark": "remark",
    "info": "remark",
}
_TYPES = re.compile(r"\s+((?:operand|argument) types are: .*)")
_ECHO_INDENT = 2  # NVRTC echoes the source line, indented by two, with a caret below it
_OWN_HEADER = "__nv_nvrtc_builtin_header.h"
_MOST_DEFINES = 16
_MUCH_MEMORY = (
    "the compiler needs more memory here than it is given: look for macros or templates that grow "
    "beyond measure"
)


def parse_log(log: str, source_name: str) -> tuple[Diagnostic, ...]:
    """The messages in an NVRTC log, in order.

    A message about another file than `source_name` (a header) gets line 0 and says where it is.
    """
    found: list[Diagnostic] = []
    lines = log.splitlines()
    for number, text in enumerate(lines):
        if match := _LOCATED.match(text):
            one = _located(match, _caret_column(lines[number + 1 : number + 4]), source_name)
            types = _TYPES.fullmatch(lines[number + 1]) if number + 1 < len(lines) else None
            more = f" ({types[1].strip()})" if types else ""
            found.append(replace(one, message=one.message + more))
        elif match := _AT_END.match(text):
            found.append(_at_end(match["message"].strip(), lines[number + 1 :], source_name))
        elif match := _UNLOCATED.match(text):
            severity = _SEVERITY[match["severity"]]
            found.append(Diagnostic(severity, 0, None, match["message"].strip()))
    return tuple(found)


def _located(match: re.Match[str], column: int | None, source_name: str) -> Diagnostic:
    line, message = int(match["line"]), match["message"].strip()
    severity = _SEVERITY[match["severity"]]
    if match["file"] == source_name:
        return Diagnostic(severity, line, column, message)
    return Diagnostic(severity, 0, None, f"{match['file']}, line {line}: {message}")


def _at_end(message: str, following: Sequence[str], source_name: str) -> Diagnostic:
    """What is missing at the end of the source, where what it would close was opened."""
    opened = _OPENED.match(following[0]) if following else None
    if opened is None or opened["file"] != source_name:
        return Diagnostic("error", 0, None, f"{message} at the end of the source")
    message = f'{message} at the end of the source, to match this "{opened["what"]}"'
    return Diagnostic("error", int(opened["line"]), _caret_column(following[1:4]), message)


def _caret_column(following: Sequence[str]) -> int | None:
    for text in following:
        if not text.strip() or _LOCATED.match(text):
            return None
        if text.strip() == "^":
            return text.index("^") - _ECHO_INDENT + 1
    return None


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
