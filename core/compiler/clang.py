"""CUDA C to PTX with clang, as PyPI's package ziglang has it: not NVIDIA's compiler.

It serves where there is no NVRTC (macOS), and whoever asks for it. It makes PTX only, of what
`resources/cuda_for_clang.h` has words for. `Translation` has the face of
`core.compiler.nvrtc_library.Program`, so that both compile the same parts of a file.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from core.cancelling import check
from core.errors import TilescopeError
from core.source.host_headers import FOLDER

WORDS = Path(__file__).resolve().parents[2] / "resources" / "cuda_for_clang.h"
_PATIENCE_S = 0.02  # how often it is asked whether the compilation is still wanted
_MISSING = 'clang is not here: install it with `pip install "tilescope[clang]"`.'
# NVRTC's default; -Xclang: the driver knows no CUDA whose PTX is that new.
_ALWAYS = (
    *("clang", "-target", "x86_64-unknown-linux-gnu", "-x", "cuda", "--cuda-device-only"),
    *("-nocudainc", "-nocudalib", "-nostdinc", "-std=c++17", "-S", "-include", str(WORDS)),
    *("-Xclang", "-target-feature", "-Xclang", "+ptx88", "-fno-color-diagnostics"),
    *("-Wno-unknown-cuda-version", "-Wno-unknown-pragmas", "-Wno-pass-failed"),
)
_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "-G": ("-O0", "-g", "-ffp-contract=off"),  # NVRTC fuses nothing in that build
        "-lineinfo": ("-O3", "-gline-directives-only"),
        "--use_fast_math": ("-ffast-math", "-fgpu-flush-denormals-to-zero"),
        "-use_fast_math": ("-ffast-math", "-fgpu-flush-denormals-to-zero"),
        "--fmad=false": ("-ffp-contract=off",),
        "-fmad=false": ("-ffp-contract=off",),
    }
)
_INCLUDE = re.compile(r"(#[ \t]*include[ \t]*|__has_include\s*\(\s*)[<\"]([^>\"\n]+)[>\"]")
_MESSAGE = re.compile(r"(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?P<rest>.*)")
_FILE = re.compile(r'^(\s*\.file\s+\d+ )"(?:[^"\n]*[/\\])?([^"/\\\n]*)"', re.MULTILINE)
# In NVRTC's words, which `core.compiler.device_part` reads.
_SAYINGS = (
    (r"use of undeclared identifier '(\w+)'.*", r'identifier "\1" is undefined'),
    (r"unknown type name '(\w+)'.*", r'identifier "\1" is undefined'),
    (r"no template named '(\w+)'.*", r'identifier "\1" is undefined'),
    (r"no member named '(\w+)' in '(.*)'.*", r'"\2" has no member "\1"'),
    (r"'([^']+)' file not found", r'cannot open source file "\1"'),
)
_INSTANCE = "tilescope_instance"


def executable() -> Path | None:
    """The program of the package ziglang; None where it is not installed."""
    spec = importlib.util.find_spec("ziglang")
    for folder in spec.submodule_search_locations or () if spec else ():
        program = Path(folder) / ("zig.exe" if sys.platform == "win32" else "zig")
        if program.is_file():
            return program
    return None


@cache
def version() -> str:
    """What the compiler calls itself, such as "clang 22.1.8"; raises TilescopeError without it."""
    said = subprocess.run(
        [program(), "clang", "--version"], capture_output=True, text=True, check=False
    ).stdout
    found = re.match(r"clang version ([\d.]+)", said)
    return f"clang {found[1]}" if found else "clang"


def stand_ins(known: Mapping[str, str]) -> Mapping[str, str]:
    """Stand-ins for headers, less what of the host's mathematics has no word here."""
    words = set(re.findall(r"\w+", WORDS.read_text("utf-8")))
    # CUDA_ONE(sqrt) declares sqrtf, too
    words |= {f"{name}f" for name in words}
    cmath = re.sub(r"using ::(\w+);", lambda m: m[0] if m[1] in words else "", known["cmath"])
    return {**known, "cmath": cmath, "cuda_fp16.h": (FOLDER / "clang_halves.h").read_text("utf-8")}


def program() -> Path:
    """As `executable`; raises TilescopeError without it."""
    found = executable()
    if found is None:
        raise TilescopeError(_MISSING)
    return found


class Translation:
    """A source with its headers, compiled at most once."""

    def __init__(self, source: str, name: str, headers: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tilescope-")
        # Headers may be called "../x.h": in the folder they have numbers.
        self._names = {f"header{i}.h": header for i, header in enumerate(headers)}
        self._numbers = {header: number for number, header in self._names.items()}
        self._main = "source.cu"
        self._names[self._main] = name
        texts = dict(zip(self._names, (*headers.values(), source), strict=True))
        for number, text in texts.items():
            self._at(number).write_text(_INCLUDE.sub(self._numbered, text), "utf-8", newline="\n")
        self._log = ""

    def __enter__(self) -> Translation:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def _at(self, name: str) -> Path:
        return Path(self._folder.name, name)

    def _numbered(self, match: re.Match[str]) -> str:
        return f'{match[1]}"{self._numbers.get(match[2], match[2])}"'

    def compile(self, options: Sequence[str], instance: str = "") -> str:
        """Compiles, and the kernel template's `instance` with it; "" or what failed."""
        if instance:
            with self._at(self._main).open("a", encoding="utf-8") as file:
                file.write(f"\n__device__ auto {_INSTANCE} = &{instance};\n")
        command = [
            str(program()),
            *_ALWAYS,
            *self._translated(options),
            self._main,
            "-o",
            "made.ptx",
        ]
        with (
            self._at("log").open("wb") as log,
            subprocess.Popen(
                command, cwd=self._folder.name, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            ) as process,
        ):
            try:
                while process.poll() is None:
                    check()
                    try:
                        process.wait(_PATIENCE_S)
                    except subprocess.TimeoutExpired:
                        continue
            except BaseException:
                process.kill()
                raise
        said = self._at("log").read_text("utf-8", "replace")
        self._log = "\n".join(self._lines(said))
        return f"{version()} refuses it" if process.returncode else ""

    def _translated(self, options: Sequence[str]) -> Iterator[str]:
        for option in options:
            name, _, value = option.partition("=")
            if name == "--gpu-architecture":
                yield f"--cuda-gpu-arch={value.replace('compute_', 'sm_')}"
            elif name == "--pre-include":
                yield from ("-include", self._numbers.get(value, value))
            elif name == "--std":
                yield f"-std={value}"
            elif option.startswith(("-D", "-std=")):
                yield option
            else:  # what is not among these is NVRTC's alone, such as its folders of headers
                yield from _OPTIONS.get(option, ())

    def _lines(self, said: str) -> Iterator[str]:
        """The log as NVRTC would write it: file(line): error: what, and a mark at the column."""
        for line in said.splitlines():
            found = _MESSAGE.match(line)
            if not found or not found["rest"].startswith(("error:", "fatal error:", "warning:")):
                continue
            severity, _, message = found["rest"].removeprefix("fatal ").partition(": ")
            for pattern, words in _SAYINGS:
                message = re.sub(pattern, words, message)
            name = self._names.get(Path(found["file"]).name, found["file"])
            yield f"{name}({found['line']}): {severity}: {message}"
            yield f"  .\n  {' ' * (int(found['column']) - 1)}^\n"

    def read(self, what: str) -> bytes:
        """The log, or what was made."""
        if what == "ProgramLog":
            return self._log.encode()
        from core.compiler.variables_in_registers import (
            promoted,  # what it imports, few requests need
        )

        ptx = _FILE.sub(self._named, self._at("made.ptx").read_text("utf-8"))
        return promoted(ptx).encode()

    def _named(self, match: re.Match[str]) -> str:
        return f'{match[1]}"{self._names.get(match[2], match[2])}"'

    def lowered_name(self, instance: str) -> str:
        """The name in PTX of an instance that was compiled."""
        ptx = self._at("made.ptx").read_text("utf-8")
        found = re.search(rf"{_INSTANCE} = ([\w$.]+);", ptx)
        return found[1] if found else ""
