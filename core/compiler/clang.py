"""CUDA C to PTX with clang, as PyPI's package ziglang has it: not NVIDIA's compiler.

It serves where there is no NVRTC (macOS), and whoever asks for it. It makes PTX only, of what
`resources/cuda_for_clang.h` has words for. `Translation` has the face of
`core.compiler.nvrtc.Translation`, so that both compile the same parts of a file.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from core.cancelling import check
from core.errors import TilescopeError
from core.source.host_headers import FOLDER

if TYPE_CHECKING:
    from core.ptx.debug.variables import VariableInfo


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
# In NVRTC's words, which `core.compiler.compile_slice` reads.
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


def program() -> Path:
    """As `executable`; raises TilescopeError without it."""
    found = executable()
    if found is None:
        raise TilescopeError(_MISSING)
    return found


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

        ptx = _FILE.sub(self._named, self._at("made.ptx").read_text("utf-8"))
        return _variables_in_registers(ptx).encode()

    def _named(self, match: re.Match[str]) -> str:
        return f'{match[1]}"{self._names.get(match[2], match[2])}"'

    def lowered_name(self, instance: str) -> str:
        """The name in PTX of an instance that was compiled."""
        ptx = self._at("made.ptx").read_text("utf-8")
        found = re.search(rf"{_INSTANCE} = ([\w$.]+);", ptx)
        return found[1] if found else ""


# Variables in registers.
#
# Unoptimised clang keeps each variable in the function's stack (`[%SP+28]`): a load or store of
# local memory at every use, which the source does not have. NVRTC's -G has them in registers. So a
# slot whose address goes nowhere becomes a register, and the DWARF names it instead of the place.


_BEGIN = re.compile(r"\s*mov\.[bu]64\s+%SPL, (__local_depot\d+);")
_DIRECT = re.compile(
    r"(?P<before>\s*(?:@!?%p\d+ )?)(?P<op>ld|st)(?:\.volatile)?(?:\.local)?\.(?P<type>[busf])"
    r"(?P<bits>\d+)\s+(?:(?P<to>%\w+), )?\[%SPL?(?:\+(?P<offset>\d+))?\](?:, (?P<value>[^;]+))?;"
)
_TAKEN = re.compile(r"%SPL?(?:, |\+)?(?P<offset>\d+)?")
_DECLARED = re.compile(r"\s*\.reg \.b64\s+%SPL;")
_PLACE = re.compile(
    r"\.b8 6(?P<class>\s+// DW_AT_address_class\n)"
    r"\.b8 (?P<length>\d+)(?P<comment>\s+// DW_AT_location\n)"
    r"\.b8 3\n\.b64 (?P<depot>__local_depot\d+)\n(?P<more>\.b8 35\n(?:\.b8 \d+\n)+)?"
)
_COMMENT = re.compile(r"^(\.b\d+ [^/\n]*?)[ \t]*//.*$", re.MULTILINE)
_WIDTHS = {"%rd": 64, "%rs": 16, "%r": 32}


def _variables_in_registers(ptx: str) -> str:
    """PTX text of clang -O0 with its scalar variables in registers; other text as it is."""
    end = ptx.find("\t.section")
    if "%SPL" not in ptx or end < 0:
        return ptx
    from core.ptx.debug.variables import debug_info  # few requests need what it imports
    from core.ptx.parser import parse

    plain = ptx[:end] + _COMMENT.sub(r"\1", ptx[end:])
    lines = ptx[:end].split("\n")
    stacks = {depot: _stack(lines[first:last]) for depot, first, last in _functions(lines)}
    variables: dict[str, list[VariableInfo]] = defaultdict(list)
    for function in debug_info(parse(plain)).functions.values():
        for variable in function.variables:
            for at in variable.locations:
                if at.symbol in stacks:
                    variables[at.symbol].append(variable)
    slots = {depot: stack.slots(variables[depot]) for depot, stack in stacks.items()}
    for depot, first, last in _functions(lines):
        lines[first:last] = [_rewritten(line, slots[depot]) for line in lines[first:last]]
        declared = next(i for i in range(first, 0, -1) if _DECLARED.match(lines[i]))
        lines[declared] += "".join(
            f" .reg .b{max(bits, 16)} %v{place};" for place, bits in sorted(slots[depot].items())
        )

    def described(match: re.Match[str]) -> str:
        more = [int(byte) for byte in re.findall(r"\.b8 (\d+)", match["more"] or "")][1:]
        place = sum((byte & 0x7F) << 7 * i for i, byte in enumerate(more))
        if place not in slots.get(match["depot"], {}):
            return match[0]
        operand = _padded(f"%v{place}", int(match["length"]) - 1)
        data = "".join(f".b8 {byte}\n" for byte in (0x90, *operand))  # DW_OP_regx
        return f".b8 2{match['class']}.b8 {match['length']}{match['comment']}{data}"

    return "\n".join(lines) + _COMMENT.sub(r"\1", _PLACE.sub(described, ptx[end:]))


def _functions(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Each stack's name, and the lines that may use it."""
    begins = [(i, m[1]) for i, line in enumerate(lines) if (m := _BEGIN.match(line))]
    ends = [i for i, _ in begins[1:]] + [len(lines)]
    for (first, depot), last in zip(begins, ends, strict=True):
        yield depot, first, last


def _stack(lines: Sequence[str]) -> _Stack:
    found = _Stack()
    for line in lines[1:]:
        code = line.partition("//")[0]
        if "%SP" not in code or code.split()[0].startswith((".reg", "cvta.local")):
            continue
        if direct := _DIRECT.match(code):
            found.widths[int(direct["offset"] or 0)].add(int(direct["bits"]))
        else:
            for taken in _TAKEN.finditer(code):
                found.taken.add(int(taken["offset"] or 0))
    return found


@dataclass
class _Stack:
    """What is done with one function's stack."""

    widths: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """The bits of the loads and stores of each place, by its offset."""
    taken: set[int] = field(default_factory=set)  # places whose address goes elsewhere

    def slots(self, variables: Sequence[VariableInfo]) -> dict[int, int]:
        """The places that can be registers, and their bits."""
        extents = {
            (at.stack_offset or 0, (at.stack_offset or 0) + v.type.nbytes): v.type.dtype is not None
            for v in variables
            for at in v.locations
        }
        kept = [e for e, is_number in extents.items() if not is_number]
        named = sorted(extents)
        for place in self.taken:
            inside = [e for e in named if e[0] <= place < e[1]]
            before = max((end for _, end in named if end <= place), default=0)
            after = min((first for first, _ in named if first > place), default=1 << 62)
            kept += inside or [(before, after)]
        found: dict[int, int] = {}
        for place, widths in self.widths.items():
            end = place + max(widths) // 8
            is_kept = any(place < e[1] and e[0] < end for e in kept)
            overlaps = any(
                other != place and other < end and place < other + max(bits) // 8
                for other, bits in self.widths.items()
            )
            if len(widths) == 1 and not is_kept and not overlaps:
                found[place] = max(widths)
        return found


def _rewritten(line: str, slots: dict[int, int]) -> str:
    direct = _DIRECT.match(line)
    if not direct or int(direct["offset"] or 0) not in slots:
        return line
    bits, register = int(direct["bits"]), f"%v{direct['offset'] or 0}"
    if direct["op"] == "ld":
        wide = _WIDTHS[direct["to"].rstrip("0123456789")]
        sign = "s" if direct["type"] == "s" else "u"
        move = f"mov.b{bits}" if wide == bits else f"cvt.{sign}{wide}.{sign}{bits}"
        return f"{direct['before']}{move} \t{direct['to']}, {register};"
    value = direct["value"].strip()
    wide = _WIDTHS.get(value.rstrip("0123456789"), max(bits, 16))
    move = f"mov.b{wide}" if wide == max(bits, 16) else f"cvt.u{max(bits, 16)}.u{wide}"
    return f"{direct['before']}{move} \t{register}, {value};"


def _padded(name: str, length: int) -> list[int]:
    """A register's name as ULEB128 of its ASCII codes, in that many bytes."""
    value = int.from_bytes(name.encode(), "big")
    found = [value >> 7 * i & 0x7F for i in range(length)]
    return [byte | 0x80 for byte in found[:-1]] + found[-1:]
