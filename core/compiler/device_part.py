"""Compiles the part of a program that a kernel needs, and mends that part by what NVRTC says.

`core.source.kernel_slice` chooses the part by names. Where the compiler stumbles over something in
it that is not the kernel itself, that goes, too; where it misses a name that was left out, it comes
back. If a kernel needs what cannot be compiled, the error says so.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from core.errors import CompileError, Diagnostic
from core.source.host_headers import HOST_CLASSES
from core.source.kernel_slice import Part, Program

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
_UNSIZED = re.compile(  # `extern __device__ double table[];`
    r"\s*extern\b(?=[^;={}]*__(?:device|constant)__)[^;={}]*?(\w+)\s*\[\s*\]\s*;?\s*$"
)
HOST_LIBRARIES = ("thrust/",)  # they launch kernels of their own
_T = TypeVar("_T")


@dataclass
class _Attempt:
    """What of a program is compiled, and what was left out for which error."""

    program: Program
    kernel: str
    until: float  # when nothing more is tried
    missing: Mapping[str, int]  # headers that are not here, and their lines (0: in another header)
    reasons: dict[str, CompileError] = field(default_factory=dict)  # by what was left out

    def compiled(
        self, kept: frozenset[Part], compile_texts: Callable[[frozenset[Part], bool], _T]
    ) -> _T:
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


def compile_part(
    program: Program,
    kernel: str,
    missing: Mapping[str, int],
    compile_texts: Callable[[frozenset[Part], bool], _T],
) -> _T:
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
        is_of_names = is_of_names and not lacks_a_name(program, error)
        if whole > kept and is_of_names and time.monotonic() < attempt.until:
            try:
                return replace(attempt, reasons={}).compiled(whole, compile_texts)
            except CompileError:
                pass
        if any("#error" in file.plain.replace(" ", "") for file in program.files.values()):
            error = _by_itself(error, kept, compile_texts)
        raise attempt.explained(error) from None


def refuse_what_is_elsewhere(program: Program, kernel: str) -> None:
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


def lacks_a_name(program: Program, error: CompileError) -> bool:
    """Whether the compiler misses a name that no text of the program declares.

    More of the program cannot help then: a build gives such names with -D, or another file does.
    """
    said = (_place(d, "")[2] for d in error.diagnostics if d.severity == "error")
    names = {found[1] for words in said if (found := _UNDEFINED.match(words))}
    return any(not program.may_declare(name) for name in names)


def _by_itself(
    error: CompileError, kept: frozenset[Part], compile_texts: Callable[[frozenset[Part], bool], _T]
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


def warnings(missing: Mapping[str, int]) -> tuple[Diagnostic, ...]:
    """A warning for each header of the source that is not here."""
    return tuple(
        Diagnostic("warning", line, None, f"{name} is not here; no kernel needs it")
        for name, line in missing.items()
        if line and not name.startswith(HOST_LIBRARIES)
    )


def _left_out(missing: Mapping[str, int]) -> str:
    name, line = next(iter(missing.items()))
    more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    where = f", included in line {line}," if line else ", which another header includes,"
    if random := next((n for n in missing if n.startswith("curand")), None):
        return f"{random} is not here: install cuRAND's headers (pip install nvidia-curand)"
    if name.startswith(HOST_LIBRARIES):
        return (
            f"{name}{more}{where} serves the host only: "
            "a kernel here can use CUB's blocks and warps, and cuda::std"
        )
    return (
        f"{name}{more}{where} is not here: put what the kernel needs of it into the file, "
        "or name its folder with -I"
    )
