"""PTX files: a kernel of one, what lies beside the file, and the workload of a launch.

A compiler's PTX names the lines of its source (`.loc`). Where that source is there it is stepped
through, otherwise the PTX itself.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from core.compiler.compile_ptx_and_cubin import plain_name, resolve_entry
from core.compiler.kernel_parameters import MAP_ALIGNMENT, MAP_WORDS, TENSOR_MAP, KernelParameter
from core.control_characters import visible
from core.errors import ArgumentError, TilescopeError
from core.ladder.rung import DEFAULT_SEED
from core.launch import (
    WARP,
    Argument,
    ArrayArgument,
    InlineArgument,
    Member,
    ScalarArgument,
    Workload,
)
from core.ptx.ast import Function, Module, Variable
from core.ptx.parameter_uses import ParameterUse, parameter_uses
from core.ptx.parser import parse, without_unreached
from core.user_files.argument_texts import make_argument
from core.user_files.launch_texts import FileLaunch, LaunchForm
from core.user_files.numba_arrays import NumbaType, numba_arguments, numba_types
from core.user_files.sources_and_headers import read_source, read_text
from core.wording import listing

_MOST_PTX = 64 << 20  # bytes of a PTX file
_MOST_METADATA = 1 << 20
_SOURCES = (".py", ".cu", ".cuh", ".cl", ".c", ".cc", ".cpp", ".h", ".hpp", ".rs", ".jl", ".zig")
"""The ends of names that `.file` may open: a PTX file may be anybody's."""
_FILE = re.compile(r'^[ \t]*\.file[ \t]+\d+[ \t]+"([^"\n]+)"', re.MULTILINE)
_LOC = re.compile(r"^[ \t]*\.loc\b[^\n]*", re.MULTILINE)
_ASSEMBLY = re.compile(r"// begin inline asm\n.*?// end inline asm", re.DOTALL)


@dataclass(frozen=True)
class PtxFile:
    """A kernel of a PTX file. `source` is the text to step through, called `source_name`.

    `threads` and `shared` (dynamic, in bytes) are what Triton's metadata beside the file says of
    its launch; 0 and None without.
    """

    path: str
    text: str
    module: Module
    kernel: str
    source: str
    source_name: str
    threads: int = 0
    shared: int | None = None

    @property
    def has_source(self) -> bool:
        """Whether another text than the PTX is stepped through."""
        return self.source != self.text

    @property
    def name(self) -> str:
        """The file's name without its folder, as it can be printed."""
        return visible(Path(self.path).name)

    @property
    def function(self) -> Function:
        """The kernel."""
        return self.module.functions[self.kernel]

    @cached_property
    def uses(self) -> tuple[ParameterUse, ...]:
        """What the kernel does with its parameters."""
        return parameter_uses(self.module, self.function)

    @cached_property
    def numba(self) -> tuple[NumbaType, ...]:
        """The types of the Python function's arguments where Numba compiled it, else ()."""
        return numba_types(self.kernel, len(self.function.parameters))

    @cached_property
    def arguments(self) -> tuple[tuple[str, ParameterUse], ...]:
        """What a launch must give, with names: Numba's arrays whole, by their data.

        Pointers and structures that the kernel never uses are left out, and the sizes and strides
        that Triton passes behind a tensor map.
        """
        if not self.numba:
            both = zip(_names(self, self.uses), self.uses, strict=True)
            return tuple((name, use) for name, use in both if not self.is_idle(use))
        data, first = [], 0
        for one in self.numba:
            data.append(self.uses[first + one.data])
            first += one.parameters
        return tuple(zip(_names(self, data), data, strict=True))

    def whole(self, arguments: Sequence[Argument]) -> tuple[Argument, ...]:
        """What the kernel takes, from an argument for each of `arguments`."""
        if self.numba:
            return numba_arguments(self.numba, arguments)
        given = iter(arguments)
        return tuple(_zeros(use) if self.is_idle(use) else next(given) for use in self.uses)

    def is_idle(self, use: ParameterUse) -> bool:
        """Whether it is a pointer or a structure that is never used: Triton's to scratch memory.

        The address alone of a tensor map is used. Numbers are idle only behind one.
        """
        variables = self.function.parameters
        at = next(i for i, v in enumerate(variables) if v.name == use.place[0])
        is_number = _is_number(variables[at])
        before = next((v for v in reversed(variables[:at]) if not _is_number(v)), None)
        behind_map = before is not None and _is_map(before)
        used = use.use != "unused" or use.is_map or _is_map(variables[at])
        return not used and (behind_map or not is_number)

    @cached_property
    def signature(self) -> tuple[KernelParameter, ...]:
        """The same as a form or a command line asks for it."""
        types: Sequence[NumbaType | None] = self.numba or (None,) * len(self.arguments)
        return tuple(
            self._parameter(name, use, kind)
            for (name, use), kind in zip(self.arguments, types, strict=True)
        )

    def _parameter(self, name: str, use: ParameterUse, kind: NumbaType | None) -> KernelParameter:
        variable = next(v for v in self.function.parameters if v.name == use.place[0])
        if kind is not None:
            is_array = kind.axes > 0
            text = f"{kind.dtype}[{', '.join(':' * kind.axes)}]" if is_array else str(kind.dtype)
            return KernelParameter(name, text, kind.dtype, is_array, not use.is_written)
        is_map = use.is_map or _is_map(variable)
        if is_map:
            words = np.dtype(np.uint64)
            found = KernelParameter(name, TENSOR_MAP, words, count=MAP_WORDS)
        elif use.use == "pointer" or variable.is_pointer:
            found = KernelParameter(name, "pointer", None, True, not use.is_written)
        else:
            letter = "f" if use.use == "float" else "u" if variable.type.kind == "u" else "i"
            dtype = np.dtype(f"{letter}{use.nbytes}")
            found = KernelParameter(name, f".{variable.type.name}", dtype)
        if not is_map and variable.nbytes == variable.type.nbytes:
            return found
        return replace(
            found,
            whole=variable.name,
            offset=use.place[1],
            whole_bytes=variable.nbytes,
            whole_align=variable.align,
        )


def _is_number(variable: Variable) -> bool:
    return variable.nbytes == variable.type.nbytes and not variable.is_pointer


def _is_map(variable: Variable) -> bool:
    """Whether a parameter has the size and the alignment of a tensor map."""
    return (variable.nbytes, variable.align) == (8 * MAP_WORDS, MAP_ALIGNMENT)


def _zeros(use: ParameterUse) -> Argument:
    """What an idle parameter gets."""
    name, nbytes = use.place[0], use.nbytes
    if use.element:  # a pointer
        return ScalarArgument(name, np.uint64(0))
    return InlineArgument(name, np.zeros(nbytes, np.uint8), Member(name, 0, nbytes))


def spoken(entry: str, entries: Sequence[str]) -> str:
    """The name of a kernel as its source has it, or as the PTX where several have that."""
    plain = [plain_name(one).rpartition("::")[2] for one in entries]
    mine = plain_name(entry).rpartition("::")[2]
    return mine if plain.count(mine) == 1 else entry


def read_ptx(path: str, kernel: str = "", text: str | None = None) -> PtxFile:
    """A PTX file and its kernel of that name, or the only one; `text` stands in for the file's.

    Raises `TilescopeError` where there is no such kernel, `PtxSyntaxError` for what is no PTX.
    """
    here = Path(path)
    ptx = read_source(here, _MOST_PTX) if text is None else text
    sources = {name: found for name in _FILE.findall(ptx) if (found := _source(here, name))}
    located = _ASSEMBLY.sub(_one_line, ptx) if sources else ptx
    module = parse(located, own_lines=not sources)
    entry = _kernel(module, kernel, visible(here.name))
    launch = _metadata(here, entry)
    named = _file_of(module, entry) if sources else ""
    if named in sources:
        if named != module.files.get(module.source_file):
            module = parse(located := without_unreached(located, entry))
        name = visible(Path(named).name)
        return PtxFile(path, located, module, entry, sources[named], name, *launch)
    if sources:
        module = parse(ptx, own_lines=True)
    return PtxFile(path, ptx, module, entry, ptx, visible(here.name), *launch)


def is_ptx(text: str) -> bool:
    """Whether a text is PTX, which begins with its version."""
    return re.search(r"^[ \t]*\.version\b", text, re.MULTILINE) is not None


def kernels_of(path: str, text: str | None = None) -> tuple[str, ...]:
    """The names of the kernels in a PTX file, in order. Raises TilescopeError where it has none."""
    ptx = read_source(Path(path), _MOST_PTX) if text is None else text
    found = tuple(re.findall(r"^[^/\n]*\.entry\s+([\w$.]+)", ptx, re.MULTILINE))
    if not found:
        raise _no_kernel(visible(Path(path).name))
    return found


def _no_kernel(file: str) -> TilescopeError:
    return TilescopeError(f"{file} has no kernel: a kernel is a function marked .entry.")


def _one_line(assembly: re.Match[str]) -> str:
    """Inline assembly with its first `.loc` alone.

    LLVM may put that of the next statement between two instructions of one.
    """
    first, *others = _LOC.split(assembly[0], maxsplit=1)
    located = _LOC.search(assembly[0])
    return first + located[0] + _LOC.sub("", others[0]) if located else first


def _kernel(module: Module, kernel: str, file: str) -> str:
    entries = [f.name for f in module.functions.values() if f.is_entry]
    if kernel:
        return resolve_entry(entries, kernel, file)
    if len(entries) == 1:
        return entries[0]
    if not entries:
        raise _no_kernel(file)
    names = [spoken(entry, entries) for entry in entries]
    raise TilescopeError(f"{file} has several kernels: choose {listing(names, 'or')}.")


def _file_of(module: Module, entry: str) -> str:
    """The file that a kernel was compiled from, as `.file` names it; "" where nothing says."""
    function = module.functions[entry]
    for instruction in module.instructions[function.first_pc : function.end_pc]:
        if instruction.position.line:
            return module.files.get(instruction.position.file, "")
    return ""


def _source(ptx: Path, name: str) -> str:
    """The text of a file that PTX names: where it says, or beside the PTX; "" for none."""
    named = Path(name)
    if named.suffix.lower() not in _SOURCES or re.match(r"[/\\]{2}", name):
        return ""
    for path in (named, ptx.parent / named.name):
        try:
            if path.is_absolute() or path.parent == ptx.parent:
                return read_text(path)
        except TilescopeError:
            continue
    return ""


def _metadata(ptx: Path, entry: str) -> tuple[int, int | None]:
    """Threads of a block and bytes of dynamic shared memory by Triton's JSON beside the file."""
    try:
        found = json.loads(read_source(ptx.with_suffix(".json"), _MOST_METADATA))
        if found["name"] != entry:
            return 0, None
        return WARP * int(found["num_warps"]), int(found["shared"])
    except (TilescopeError, ValueError, KeyError, TypeError, RecursionError):
        return 0, None  # another program's


# -- names of parameters -----------------------------------------------------------------------


def _names(file: PtxFile, uses: Sequence[ParameterUse]) -> tuple[str, ...]:
    """A name for each: that of the Python function's argument, or of the PTX.

    `k_param_0` is `p0`, and the piece of a structure 8 bytes into it is `p0.at8`.
    """
    python = _python_names(file)
    if file.numba and len(python) == len(uses):
        return python
    order = {variable.name: i for i, variable in enumerate(file.function.parameters)}
    whole = {v.name for v in file.function.parameters if v.nbytes == v.type.nbytes}
    maps = {variable.name for variable in file.function.parameters if _is_map(variable)}
    if maps:  # one argument of Python's is several parameters
        shown = [use.place[0] for use in file.uses if not file.is_idle(use)]
        order = {name: i for i, name in enumerate(shown)} if len(shown) == len(python) else order
        whole |= maps
    found = []
    for use in uses:
        name, offset = use.place
        number = order.get(name, len(python))
        is_last = number >= len(python)
        if python and len(whole) >= len(order) and (maps or _fits(file, python)):
            plain = f"p{number}" if is_last else python[number]
        else:
            plain = _plain(file.kernel, name, number)
        found.append(plain if name in whole else f"{plain}.at{offset}")
    return tuple(found)


def _fits(file: PtxFile, python: Sequence[str]) -> bool:
    """Whether only unused pointers follow a function's arguments: Triton's to scratch memory."""
    added = file.uses[len(python) :]
    return len(python) <= len(file.uses) and all(use.use == "unused" for use in added)


def _plain(kernel: str, name: str, number: int) -> str:
    generated = re.fullmatch(re.escape(kernel) + r"_param_(\d+)", name)
    plain = re.sub(r"\W", "_", name.lstrip("%"))
    return f"p{generated[1]}" if generated else plain or f"p{number}"


def _python_names(file: PtxFile) -> tuple[str, ...]:
    """The arguments of the Python function that a kernel was compiled from, but for constants."""
    if not file.source_name.endswith(".py"):
        return ()
    wanted = plain_name(file.kernel).rpartition("::")[2]
    try:
        tree = ast.parse(file.source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == wanted:
            return tuple(
                argument.arg
                for argument in node.args.args
                if "constexpr" not in ast.dump(argument.annotation or ast.Constant(None))
            )
    return ()


# -- the workload ------------------------------------------------------------------------------


def ptx_workload(file: PtxFile, launch: FileLaunch, seed: int = DEFAULT_SEED) -> Workload:
    """The workload of a complete launch. Raises FieldErrors with every mistake that there is."""
    kinds = dict(zip((parameter.name for parameter in file.signature), file.numba, strict=False))
    form = LaunchForm(launch)
    arguments = form.arguments(file.signature, seed, partial(_argument, kinds))
    return Workload(
        title=visible(f"{file.name}: {plain_name(file.kernel)}"),
        source=file.source,
        source_name=file.source_name,
        kernel=file.kernel,
        launch=form.launch(file.whole(arguments)),
        ptx=file.text,
    )


def _argument(
    kinds: Mapping[str, NumbaType],
    parameter: KernelParameter,
    text: str,
    generator: np.random.Generator,
    room: int,
) -> Argument:
    """One argument from its text; `kinds` are the types of Numba's parameters by name."""
    made = make_argument(parameter_for(parameter, text), text, generator, room)
    axes = made.data.ndim if isinstance(made, ArrayArgument) else 0
    check_axes(parameter, kinds.get(parameter.name), axes)
    return made


def check_axes(parameter: KernelParameter, kind: NumbaType | None, axes: int) -> None:
    """Raises ArgumentError where an array of Numba's is given another number of axes."""
    if kind is not None and kind.axes != axes:
        example = f"{kind.dtype}[{','.join(['64'] * kind.axes)}]"
        raise ArgumentError(
            f"{parameter.name} is {parameter.type}: give it as many sizes, such as "
            f"{parameter.name}={example}."
        )


def parameter_for(parameter: KernelParameter, text: str) -> KernelParameter:
    """The parameter as a text takes it: a buffer or `null` makes 64 bits a pointer."""
    is_address = "[" in text or text.strip().startswith("@") or text.strip().lower() == "null"
    whole = parameter.is_pointer or parameter.is_tensor_map
    if whole or not is_address or parameter.dtype is None:
        return parameter
    if parameter.dtype.itemsize != np.dtype(np.uint64).itemsize or parameter.dtype.kind == "f":
        return parameter
    return replace(parameter, type="pointer", dtype=None, is_pointer=True, is_const=False)
