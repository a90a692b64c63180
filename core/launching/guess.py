"""What is shown first of a user's source: a launch, its kernels, what the launched one takes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from core.compiler.kernel_signature import (
    SignatureParameter,
    kernel_names,
    read_signature,
    type_sizes,
)
from core.compiler.undefined import undefined_macros
from core.errors import ArgumentError, TilescopeError
from core.ladder.limits import MAX_BLOCK, MAX_SHARED_BYTES, MAX_THREADS_PER_BLOCK
from core.ladder.rules import listing
from core.launching.file_launch import (
    FileLaunch,
    at_its_kernels,
    headers_of,
    join_defines,
    split_defines,
)
from core.launching.host_values import HostProgram, HostValues, pointer_name
from core.launching.user_files import BAD_HEADER, promised
from core.source.constants import evaluate, knobs, with_defines
from core.source.constants import read_source as read_constants
from core.source.expressions import Number
from core.source.host_code import without_host_code
from core.source.kernel_text import (
    HostLaunch,
    KernelText,
    closing,
    host_launches,
    kernels,
    split_at_commas,
    split_instance,
    without_comments,
)
from core.source.shared_declarations import SharedDeclaration, shared_arrays

# What the indices of an array say of its shape: `bias[col]`, `A[row * N + k]`.


_LOCAL = re.compile(
    r"\b(?:const\s+)?(?:unsigned\s+int|unsigned|int|size_t|long\s+long|long|auto)\s+"
    r"(\w+\s*=[^;]*);"
)
_INDEX = re.compile(r"\b(threadIdx|blockIdx|blockDim|gridDim)\s*\.\s*([xyz])\b")
_STRAIGHT = re.compile(r"[\w\s+*()-]+")


def only_axis(name: str, body: str) -> int | None:
    """The dimension whose index an array is used with, always and alone: 0 for `bias[col]`.

    None where it is used with more than a variable made of one dimension's indices.
    """
    plain = _INDEX.sub(r"\1_\2", body)
    variables, found = _locals(plain), set()
    for index in _indices(name, plain):
        whole = _whole(index, variables) if re.fullmatch(r"\s*\w+\s*", index) else None
        axes = {m[1] for m in re.finditer(r"\b(?:thread|block)Idx_([xyz])\b", whole or "")}
        if len(axes) != 1 or not _STRAIGHT.fullmatch(whole or ""):
            return None
        found |= axes
    return "xyz".index(found.pop()) if len(found) == 1 else None


def strides(name: str, text: str, numbers: Collection[str]) -> tuple[str, str] | None:
    """The numbers that are rows and columns of a matrix: ("M", "N") for `c[row * N + col]`.

    Columns are what a row's index is multiplied by, rows what it is compared with ("" if nothing).
    None where the indices do not agree about the columns.
    """
    plain = re.sub(r"\s+", "", text)
    variables = _locals(_INDEX.sub(r"\1_\2", text))
    found: dict[str, str] = {}
    for index in _indices(name, text):
        whole = re.sub(r"\s+", "", index)
        value = variables.get(whole)
        for term in _terms(re.sub(r"\s+", "", value) if value else whole, "+"):
            factors = _terms(term, "*")
            columns = [f for f in factors if f in numbers]
            if len(factors) == 2 and len(columns) == 1:
                row = factors[1 - factors.index(columns[0])]
                rows = found.get(columns[0], "") or _bound_of(_bare(row), plain, numbers)
                found[columns[0]] = rows
    if len(found) != 1:
        return None
    ((columns_name, rows_name),) = found.items()
    return rows_name, columns_name


def _terms(expression: str, mark: str) -> list[str]:
    """What stands between the marks outside all brackets, without brackets around it."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(expression):
        depth += (letter in "([") - (letter in ")]")
        if letter == mark and depth == 0:
            parts.append(expression[start:at])
            start = at + 1
    return [_bare(part) for part in (*parts, expression[start:])]


def _bare(expression: str) -> str:
    """An expression without brackets around the whole of it."""
    while expression[:1] == "(" and closing(expression, 1) == len(expression) - 1:
        expression = expression[1:-1]
    return expression


def _bound_of(expression: str, plain: str, numbers: Collection[str]) -> str:
    """The number that an expression is compared with in a text without spaces; "" if none."""
    found = re.search(rf"(?<![\w.+*-]){re.escape(expression)}\)*<=?\(*(\w+)\b(?![*/+-])", plain)
    return found[1] if found and found[1] in numbers else ""


def _indices(name: str, text: str) -> Iterator[str]:
    for found in re.finditer(rf"(?<![\w.>]){re.escape(name)}\s*\[", text):
        yield text[found.end() : closing(text, found.end(), "[]")]


def _locals(text: str) -> dict[str, str]:
    """Variables that are given a value once, where they are declared."""
    found = {}
    for declared in _LOCAL.finditer(text):
        for one in split_at_commas(declared[1]):
            name, _, value = one.partition("=")
            plain = re.escape(name.strip())
            changes = rf"\b{plain}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\b{plain}\s*(?:\+\+|--)|"
            if len(re.findall(rf"(?:{changes}(?:\+\+|--)\s*{plain}\b)", text)) == 1:
                found[name.strip()] = value.strip()
    return found


def _whole(index: str, variables: Mapping[str, str]) -> str | None:
    """An index with its variables' values put in; None where they lead round in a circle."""
    for _ in range(8):
        replaced = re.sub(
            r"[A-Za-z_]\w*",
            lambda m: f"({variables[m[0]]})" if m[0] in variables else m[0],
            index,
        )
        if replaced == index:
            return index
        index = replaced
    return None


# Which dimension of the grid a kernel's number is the extent of: the N of `if (row < N)`.


_DECLARED = re.compile(r"\b(\w+)\s*=(?!=)([^;{}]*?)(?=[;{}]|,\s*\w+\s*=(?!=)|$)")
_GLOBAL_INDEX = re.compile(r"\b(?:threadIdx|blockIdx)\s*\.\s*([xyz])\b")
_STEPS = 3  # by = blockIdx.y; row = by * TILE + ty; row2 = row + 8


def bounded_axes(name: str, text: str, dimensions: int) -> tuple[int, ...]:
    """The dimensions (0 is x) whose indices a kernel's body compares with `name`, in order.

    Empty where it compares none, or where only an expression of `name` bounds them.
    """
    axes = _axes_of_variables(text)
    word = re.escape(name)
    end = r"(?!\s*[*/+\-.\w])"
    first = r"(?:(?:^|[(&|!,;=?:])\s*|\+\s*(?=threadIdx))([\w.]+)"  # not the i of `2 * i < n`
    compared = re.findall(rf"{first}\s*(?:<=?|>=)\s*{word}\b{end}", text)
    compared += re.findall(rf"[(&|!,;=?:]\s*{word}\s*>=?\s*([\w.]+){end}", text)
    found = set()
    for one in compared:
        direct = _GLOBAL_INDEX.search(one)
        axis = "xyz".index(direct[1]) if direct else axes.get(one)
        if axis is not None and axis < dimensions:
            found.add(axis)
    return tuple(sorted(found))


def _axes_of_variables(text: str) -> dict[str, int]:
    """The one dimension that a variable's value comes from, where it is one."""
    axes: dict[str, int] = {}
    for _ in range(_STEPS):
        for name, value in _DECLARED.findall(text):
            used = {"xyz".index(letter) for letter in _GLOBAL_INDEX.findall(value)}
            used |= {axes[word] for word in re.findall(r"(?<![\w.])\w+", value) if word in axes}
            if len(used) == 1 and name not in axes:
                axes[name] = used.pop()
    return axes


# How a kernel that nobody launches is laid out: its dimensions, its block, its macros.
#
# Read off the indices that it uses, its shared arrays and its names.


LENGTHS = {1: 256, 2: 32, 3: 16}  # extent of an array along each of its dimensions
BLOCKS = {1: (64,), 2: (16, 16), 3: (8, 8, 4)}
_MOST_THREADS = 1024
_MOST_STATIC = 48 << 10  # bytes of shared arrays of fixed size
_NOT_MACROS = re.compile(
    r"NULL|NAN|INFINITY|TRUE|FALSE|EOF|M_\w+|\w+_(MAX|MIN|EPSILON|DIG)|CUDART_\w+|CUDA\w*|__\w+"
)


@dataclass(frozen=True)
class Shape:
    """How a kernel is laid out: dimensions of its grid, elements along each, a block's extents.

    `apart` are the elements from one block to the next where that is not the block's extent: a
    block of 32 x 8 threads may go over a tile of 32 x 32.
    """

    dimensions: int
    length: int
    block: tuple[int, ...]
    one_block: bool
    apart: tuple[int, ...] = ()


def dimensions_of(text: str) -> int:
    """The dimensions of the grid whose indices a kernel's body uses, 1 to 3."""
    for dimensions, axis in ((3, "z"), (2, "y")):
        if re.search(rf"\b(threadIdx|blockIdx)\s*\.\s*{axis}\b", text):
            return dimensions
    return 1


def guess_defines(names: Mapping[str, bool], dimensions: int) -> dict[str, str]:
    """Values of names that nothing defines, as TILE_WIDTH; each with whether it is a type."""
    return {
        name: "float" if is_type else str(_guess_define(name, dimensions))
        for name, is_type in names.items()
        if not _NOT_MACROS.fullmatch(name)
    }


def _guess_define(name: str, dimensions: int) -> int:
    if "PAD" in name or "RADIUS" in name:
        return 1
    if re.search(r"TILE|BLOCK|THREAD|WIDTH|DIM|^BS$|^TS$", name):
        return BLOCKS[dimensions][0]
    return LENGTHS[dimensions] if re.search(r"SIZE|COUNT|LEN|^N", name) else 4


def declarations(
    source: str, kernel: str, defines: Mapping[str, str]
) -> tuple[SharedDeclaration, ...]:
    """The shared arrays that a kernel declares, or that stand outside all functions."""
    plain = split_instance(kernel)[0].rpartition("::")[2]
    return tuple(d for d in shared_arrays(source, defines) if d.function in ("", plain))


def shape_of(
    text: str,
    dimensions: int,
    declared: tuple[SharedDeclaration, ...],
    value: Callable[[str], int | None],
    given: tuple[int, ...] = (),
) -> Shape:
    """How a kernel with that body and those shared arrays may be laid out, in a `given` block.

    `value` gives what a constant's name stands for.
    """
    apart = _apart(text, dimensions, value)
    block = (
        given
        or (apart and _in_tile(apart, text, value))
        or _block_of(declared, dimensions)
        or _named_block(text, dimensions)
        or BLOCKS[dimensions]
    )
    block = (*block, 1, 1)[:dimensions]
    one_block = not re.search(r"\b(blockIdx|this_grid|grid_group)\b", text)
    length = block[0] if one_block else max(LENGTHS[dimensions], 2 * max((*block, *apart)))
    return Shape(dimensions, length, block, one_block, apart)


def _apart(text: str, dimensions: int, value: Callable[[str], int | None]) -> tuple[int, ...]:
    """How far blocks lie apart in `blockIdx.x * TILE + threadIdx.x`; () where nothing says."""
    plain = _INDEX.sub(r"\1_\2", text)
    for name, whole in _locals(plain).items():
        if re.fullmatch(r"(blockIdx|threadIdx)_[xyz]", whole):
            plain = re.sub(rf"\b{name}\b", whole, plain)
    found = []
    for axis in "xyz"[:dimensions]:
        block, thread = f"blockIdx_{axis}", f"threadIdx_{axis}"
        apart = re.search(
            rf"\b(?:{block}\s*\*\s*(\w+)|(\w+)\s*\*\s*{block})\s*\+\s*{thread}", plain
        )
        extent = value(apart[1] or apart[2]) if apart else None
        if extent is None or extent < 1:
            return ()
        found.append(extent)
    return tuple(found)


def _in_tile(
    tile: tuple[int, ...], text: str, value: Callable[[str], int | None]
) -> tuple[int, ...]:
    """The block that goes over a tile: as large, or as high as the steps of a loop (`y += ROWS`).

    () where that is no block.
    """
    block = list(tile)
    for step in re.findall(r"\+=\s*(\w+)\s*\)", text) if len(tile) > 1 else ():
        rows = value(step)
        if rows and 0 < rows < block[1] and block[1] % rows == 0:
            block[1] = rows
    return tuple(block) if 1 < math.prod(block) <= _MOST_THREADS else ()


def _block_of(declared: tuple[SharedDeclaration, ...], dimensions: int) -> tuple[int, ...] | None:
    """A shared array is often as large as the block, with a column or a border more."""
    for declaration in declared:
        dims = declaration.dims
        if dims is None or declaration.is_extern or len(dims) != dimensions:
            continue
        if dimensions == 1 and 1 < dims[0] <= _MOST_THREADS:
            whole = dims[0] // 32 * 32
            return (whole or dims[0],)
        if dimensions == 2:
            width = dims[0] if dims[1] == dims[0] + 1 else dims[1]
            if 1 < width * dims[0] <= _MOST_THREADS:
                return (width, dims[0])
    return None


def _named_block(text: str, dimensions: int) -> tuple[int, ...] | None:
    named = re.search(r"\b\w*(?:TILE|BLOCK|THREADS)\w*\s*=?\s*(\d+)", text)
    if named is None or dimensions > 2 or not 1 < int(named[1]) ** dimensions <= _MOST_THREADS:
        return None
    return (int(named[1]),) * dimensions


def dynamic_bytes(declared: tuple[SharedDeclaration, ...], threads: int) -> int:
    """Bytes of dynamic shared memory: an element for each thread of a block."""
    sizes = [d.dtype.itemsize if d.dtype is not None else 4 for d in declared if d.is_extern]
    return threads * max(sizes, default=0)


# A launch of a kernel as its own file's host code makes it, in small.
#
# `main` says how a kernel is meant to be launched. Sizes are halved together until the launch is a
# size to look at; what follows from them follows.


_THREADS = {1: 256, 2: 1024, 3: 1024}  # to look at, by the dimensions of the block
_BLOCKS_AT_LEAST = 4
_AS_IT_IS = 4  # times as many blocks stay where no size can be halved
_ELEMENTS = 1 << 17
_ELEMENTS_OF_ONE = 1 << 12  # where the grid stays as it is
_SMALL = 1 << 12  # a size that can be followed
_LEAST = 32  # a smaller number is no size to halve
_MOST_HALVINGS = 24
_REPEATS = re.compile(
    r"(num_?|n_?|max_?)?(iter(ation)?s?|steps|samples|rounds|repeats?|trials|tries|per_?thread"
    r"|samples_?per_?thread)",
    re.IGNORECASE,
)
_FEW_REPEATS = 16
_OWN_ARRAY = re.compile(  # `__shared__ float a[2][TILE], b[TILE]`, up to its initialiser
    r"(?:^|[;{}])\s*((?!return\b|else\b|case\b)[A-Za-z_][\w:<>, ]*[\s*]\w+\s*\[[^;={}]*)"
)
_LOCAL_CONSTANT = re.compile(r"\b(?:const|constexpr)\b[^;={}()]*?(\w+)\s*=([^;{}]*);")
_TEMPLATE_ARGUMENTS = re.compile(r"\w<([^<>;(){}&|?]*)>")
_Size = tuple[int, int, int]


@dataclass(frozen=True)
class HostGuess:
    """Grid and block (x, y, z), bytes of dynamic shared memory, and what else is known.

    `scalars` are numbers by parameter, `nbytes` sizes of buffers, `nulls` pointers to nothing.
    `said` are the buffers whose allocation the text shows; others are taken to be as large. Of the
    buffers in `written` the host sets no more than so many bytes. `constants` are those of kernel
    and host that are smaller here than in the source.
    """

    grid: _Size | None
    block: _Size
    shared: int
    scalars: Mapping[str, Number]
    nbytes: Mapping[str, int]
    nulls: frozenset[str]
    said: frozenset[str] = frozenset()
    written: Mapping[str, int] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Given:
    """What is given of a launch: numbers and bytes of arrays by parameter, grid and block."""

    numbers: Mapping[str, Number] = field(default_factory=dict)
    nbytes: Mapping[str, int] = field(default_factory=dict)
    grid: _Size | None = None
    block: _Size | None = None


def host_guess(
    source: str,
    kernel: str,
    signature: Sequence[SignatureParameter],
    defines: Mapping[str, str],
    type_sizes: Mapping[str, int],
    given: Given,
) -> HostGuess | None:
    """What the file's first launch of `kernel` says; None where there is none, or it says nothing.

    None, too, where nothing that is given makes its block one that CUDA allows. `type_sizes` are
    bytes of the source's own types.
    """
    launch = _launch_of(source, kernel)
    if launch is None or len(launch.configuration) < 2:
        return None
    plain = split_instance(kernel)[0].rpartition("::")[2]
    declared = next((k for k in kernels(source) if k.name == plain), None)
    kept = set(re.findall(r"\w+", declared.body)) if declared else set()
    program = HostProgram(source, type_sizes, defines, kept)
    return _Small(program, launch, signature, declared, kernel, given).guess()


def _launch_of(source: str, kernel: str) -> HostLaunch | None:
    base, given = split_instance(kernel)
    plain = base.rpartition("::")[2]
    launches = host_launches(source)
    found = [x for x in launches if x.name.rpartition("::")[2] == plain]
    exact = [x for x in found if x.template and x.template == given]
    return next(iter(exact or found), None) or _through_a_pointer(source, plain, launches)


def _through_a_pointer(
    source: str, kernel: str, launches: Sequence[HostLaunch]
) -> HostLaunch | None:
    """A launch by a variable, of as many arguments, in a source that assigns the kernel's name."""
    there = {k.name: k for k in kernels(source)}
    assigned = rf"[=,{{(]\s*&?\s*{re.escape(kernel)}\s*(?:<[^;<>]*>\s*)?[;,}})]"
    if kernel not in there or not re.search(assigned, without_comments(source)):
        return None
    count = len(there[kernel].parameters)
    others = (x for x in launches if x.name not in there and len(x.arguments) == count)
    return next(others, None)


class _Small:
    def __init__(
        self,
        program: HostProgram,
        launch: HostLaunch,
        signature: Sequence[SignatureParameter],
        kernel: KernelText | None,
        instance: str,
        given: Given,
    ) -> None:
        self.program, self.launch, self.given = program, launch, given
        self._made_of = program, launch, signature, kernel, instance
        self.template = [p.name for p in kernel.template] if kernel else []
        self.instance = split_instance(instance)[1]
        self.parameters = [p for p in signature if not p.is_symbol]
        self.numbers = given.numbers
        self._unknown: dict[str, Number] = {}  # what the function is given, where that must be less
        device = kernel.body if kernel else ""
        constants = program.constants(launch)
        names = {re.findall(r"\w+", p)[-1:][0] for p in (kernel.parameters if kernel else ()) if p}
        self.constants = constants.keys() & set(re.findall(r"\w+", device)) - names
        self.tiles = _tiles(device, constants)
        self.fixed = {
            **dict(program.conditions(launch)),
            **dict(self._variables_of_block()),
            **dict(self._variables_of_instance()),
            **dict(self._variables_of(given.numbers)),
        }

    def guess(self) -> HostGuess | None:
        values = self._before({})
        own = self._legal_block(values)
        block = self.given.block or own
        if own is None or block is None:
            return None
        if not self.given.block and (meant := self._instance_block(own)):
            again = replace(self.given, block=(meant, 1, 1))
            return _Small(*self._made_of, again).guess()  # as in `case 512: reduce<512>`
        given: dict[str, Number] = {}
        for number in (1024, 1 << 14):  # of what the function is given, if fewer make no grid
            if self._size(0, values) is not None:
                break
            values = self._before({"*": number})
        free = self._free_roots(values, own)
        if self.given.grid or self.given.nbytes:
            values = self._scaled(values, free)
        else:
            for _ in range(_MOST_HALVINGS):
                chosen = self._to_halve(values, block, free)
                if not chosen:
                    break
                given = {**{n: values.numbers[n] for n in free}, **self._halved(chosen, values)}
                values = self._before(given)
        if not self.given.grid and not self.given.nbytes:
            values = self._filled(values)
        grid = self._size(0, values)
        if grid is not None and not self.given.grid and own != block:
            grid = _as_many_threads(grid, own, block)
        if not self.numbers and not self.given.grid and not self.given.nbytes:
            grid = self._cut(grid, block)
        shared = self._shared(values) * _count(block) // _count(own)
        return HostGuess(
            self.given.grid or grid,
            block,
            min(shared, MAX_SHARED_BYTES),
            self._scalars(values),
            self._nbytes(values),
            self._nulls(),
            frozenset(self._allocated(values)),
            dict(self._partly_written(values)),
            {
                n: int(v)
                for n, v in values.numbers.items()
                if n in self.constants and n in given and v != values.roots.get(n)
            },
        )

    def _filled(self, values: HostValues) -> HostValues:
        """The values with which what the function is given fills the last block of its axis.

        The host divides it by a tile and rounds up; a kernel without a check needs whole tiles.
        """
        for name in sorted(values.formals - self.fixed.keys()):
            others = {n: v for n, v in values.numbers.items() if n in values.formals}
            now = int(others[name])
            for times in (1, 2, 4, 8):
                here, more = (
                    self._before({**others, name: now * times + further}) for further in (0, 1)
                )
                if self._size(0, here) != self._size(0, more):
                    values = here
                    break
        return values

    def _legal_block(self, values: HostValues) -> _Size | None:
        """The host's block; one that CUDA refuses gets smaller where what it rests on is free."""
        block = self._size(1, values)
        while block is not None and not is_legal_block(block):
            formals = [n for n in values.formals if int(values.numbers.get(n, 0)) > 1]
            smaller = None
            for name in formals:
                other = self._before({**self._unknown, name: int(values.numbers[name]) // 2})
                size = self._size(1, other)
                if size is not None and _count(size) < _count(block):
                    self._unknown[name] = int(values.numbers[name]) // 2
                    smaller, values = size, other
                    break
            block = smaller
        return block

    def _scaled(self, values: HostValues, free: Sequence[str]) -> HostValues:
        """The values with which the grid, or an array, is as large as it is given."""

        def distance(found: HostValues) -> float:
            grid = self._size(0, found) or (1, 1, 1)
            pairs = [*zip(grid, self.given.grid, strict=True)] if self.given.grid else []
            allocated = self._allocated(found)
            pairs += [(allocated.get(n, wanted), wanted) for n, wanted in self.given.nbytes.items()]
            return sum(abs(math.log2(max(is_, 1) / max(wanted, 1))) for is_, wanted in pairs)

        best, least = values, distance(values)
        for names in ([name] for name in free):
            value = values.numbers[names[0]]
            same = [n for n in free if values.numbers[n] == value and n not in values.formals]
            for together in (names, same):
                for power in (-4.0, -2.0, -1.0, 1.0, 2.0, 4.0):
                    ratio = 2 ** (distance(best) / power)
                    if not together or not math.isfinite(ratio) or ratio > 1 << 20:
                        continue
                    changed = {n: max(1, round(best.numbers[n] * ratio)) for n in together}
                    other = self._before({n: best.numbers[n] for n in free} | changed)
                    if distance(other) < least:
                        best, least = other, distance(other)
        return best

    def _variables_of(self, numbers: Mapping[str, Number]) -> Iterator[tuple[str, Number]]:
        """The host's variables that parameters get, with what is given for these."""
        texts = self._by_parameter()
        for parameter in self.parameters:
            whole = parameter.whole or parameter.name
            if parameter.name in numbers and whole in texts:
                text = texts[whole].replace("->", ".") + parameter.name.removeprefix(whole)
                if re.fullmatch(r"[A-Za-z_][\w.]*", text):
                    yield text, numbers[parameter.name]

    def _variables_of_block(self) -> Iterator[tuple[str, Number]]:
        """The host's variables that a given block is made of."""
        if self.given.block is None:
            return
        text = self.launch.configuration[1].strip()
        parts = [text, *self.program.made_of(self.launch, text)]
        for name, extent in zip(parts[1:], self.given.block, strict=False):
            if re.fullmatch(r"[A-Za-z_]\w*", name) and parts[1:].count(name) == 1:
                yield name, extent
        if re.fullmatch(r"[A-Za-z_]\w*", text):
            yield text, self.given.block[0]
            for axis, extent in zip("xyz", self.given.block, strict=True):
                yield f"{text}.{axis}", extent

    def _variables_of_instance(self) -> Iterator[tuple[str, Number]]:
        """The host's variables that the launch's template arguments are, as the instance has it."""
        for name, text in zip(self.launch.template, self.instance, strict=False):
            if re.fullmatch(r"[A-Za-z_]\w*", name) and text.isdecimal():
                yield name, int(text)

    def _before(self, given: Mapping[str, Number]) -> HostValues:
        return self.program.before(self.launch, {**self._unknown, **given}, self.fixed)

    def _instance_block(self, block: _Size) -> int:
        """The block that an instance is made for where the host's variable says another."""
        for formal, text in zip(self.template, self.instance, strict=False):
            is_block = re.fullmatch(r"(n?threads|block_?(size|dim)?(_?x)?)", formal, re.IGNORECASE)
            if is_block and text.isdecimal() and block[1:] == (1, 1) and 0 < int(text) <= 1024:
                return int(text) if int(text) != block[0] else 0
        return 0

    def _halved(self, names: Sequence[str], values: HostValues) -> dict[str, Number]:
        return {name: int(values.numbers[name]) // 2 for name in names}

    def _to_halve(self, values: HostValues, block: _Size, free: Sequence[str]) -> list[str]:
        """The sizes to halve next; what has one value stays together, as M = N = K does."""
        large = {n: values.numbers[n] for n in free if values.numbers[n] >= _LEAST}
        grid = self._size(0, values)
        chosen: list[str] = []
        steers = False  # whether sizes that may be halved decide about the grid
        if grid is not None:
            chosen = [n for n in large if self._size(0, self._with_half(n, values, free)) != grid]
            steers = bool(chosen)
            if _count(grid) <= _blocks(block):
                chosen = []
        elements = max(self._nbytes(values).values(), default=0) // 4
        scalars = [v for v in self._scalars(values).values() if isinstance(v, int)]
        most = _ELEMENTS if steers else _ELEMENTS_OF_ONE
        if not chosen and (elements > most or (not steers and max(scalars, default=0) > most)):
            nbytes = self._nbytes(values)
            free_ones = {
                n: v
                for n, v in large.items()
                if n not in self.constants
                or self._nbytes(self._with_half(n, values, free)) != nbytes
            }
            top = max(free_ones.values(), default=0)
            chosen = [n for n, v in free_ones.items() if v == top]
        same = {large[n] for n in chosen if n not in values.formals}
        alone = values.formals | self.constants  # the kernel may use another of the same value
        return [n for n, v in large.items() if n in chosen or (v in same and n not in alone)]

    def _with_half(self, name: str, values: HostValues, free: Sequence[str]) -> HostValues:
        given = {n: values.numbers[n] for n in free} | self._halved([name], values)
        return self._before(given)

    def _free_roots(self, values: HostValues, block: _Size) -> list[str]:
        """The variables that set sizes, but neither the block nor its shared memory."""
        free = []
        shared = self._shared(values)
        for name, number in values.roots.items():
            is_size = isinstance(number, int) and number >= _LEAST and name not in self.fixed
            if not is_size or _REPEATS.fullmatch(name) or name in self.tiles:
                continue
            other = self._before({name: int(number) // 2})
            if self._size(1, other) == block and self._shared(other) == shared:
                free.append(name)
        return free

    def _size(self, position: int, values: HostValues) -> _Size | None:
        return self.program.size3(self.launch.configuration[position], values.numbers)

    def _shared(self, values: HostValues) -> int:
        if len(self.launch.configuration) < 3:
            return 0
        return int(self.program.value(self.launch.configuration[2], values.numbers) or 0)

    def _cut(self, grid: _Size | None, block: _Size) -> _Size | None:
        """The grid, or the part of it that is a size to look at."""
        if grid is None:
            return None
        sizes = list(grid)
        while sizes[0] * sizes[1] * sizes[2] > _AS_IT_IS * _blocks(block):
            largest = max(range(3), key=lambda axis: sizes[axis])
            sizes[largest] = -(-sizes[largest] // 2)
        return sizes[0], sizes[1], sizes[2]

    def _by_parameter(self) -> Mapping[str, str]:
        """The expression that each parameter gets, by the parameter's own name."""
        wholes = list(dict.fromkeys(p.whole or p.name for p in self.parameters))
        return dict(zip(wholes, self.launch.arguments, strict=False))

    def _scalars(self, values: HostValues) -> dict[str, Number]:
        texts, found = self._by_parameter(), {}
        for parameter in self.parameters:
            whole = parameter.whole or parameter.name
            if parameter.is_array or whole not in texts:
                continue
            text = texts[whole] + parameter.name.removeprefix(whole)
            value = self.program.value(text, values.numbers)
            if value is None:
                continue
            if _REPEATS.fullmatch(parameter.name.replace("-", "_")):
                value = min(value, _FEW_REPEATS)
            found[parameter.name] = value
        return {**found, **self.numbers}

    def _allocated(self, values: HostValues) -> dict[str, int]:
        """Bytes of the arrays whose allocation the text shows."""
        texts, found = self._by_parameter(), {}
        for parameter in self.parameters:
            whole = parameter.whole or parameter.name
            if parameter.is_pointer and whole in texts:
                name = re.sub(r"\([^()]*\*\s*\)|&", "", texts[whole]).strip()
                name += parameter.name.removeprefix(whole)
                nbytes = values.bytes_at.get(name)
                if nbytes and nbytes > 0:
                    found[parameter.name] = nbytes
        return found

    def _nbytes(self, values: HostValues) -> dict[str, int]:
        found = self._allocated(values)
        kinds: dict[str, int] = {}
        for parameter in self.parameters:
            kind = str(parameter.dtype)
            kinds[kind] = max(kinds.get(kind, 0), found.get(parameter.name, 0))
        for parameter in self.parameters:  # what the text does not show is as large as the others
            if parameter.is_pointer and kinds[str(parameter.dtype)]:
                found.setdefault(parameter.name, kinds[str(parameter.dtype)])
        return found

    def _partly_written(self, values: HostValues) -> Iterator[tuple[str, int]]:
        """The buffers whose front alone is set, by `cudaMemset`, with its bytes."""
        texts = self._by_parameter()
        for name, allocated in self._allocated(values).items():
            pointer = pointer_name(texts.get(name, ""))
            nbytes = self.program.only_set(self.launch, pointer, values.numbers)
            if nbytes is not None and 0 <= nbytes < allocated:
                yield name, nbytes

    def _nulls(self) -> frozenset[str]:
        """Pointers that are null beside others that are not: the kernel can do without them."""
        texts = self._by_parameter()
        pointers = [p.name for p in self.parameters if p.is_pointer and p.name in texts]
        nulls = {n for n in pointers if texts[n] in ("nullptr", "NULL", "0")}
        return frozenset(nulls if len(nulls) < len(pointers) else ())


def _tiles(body: str, constants: Mapping[str, str]) -> frozenset[str]:
    """The constants that a kernel's own arrays and template arguments are made of.

    With another value it is another kernel: threads and tiles fit no more.
    """
    meanings = {**constants, **dict(_LOCAL_CONSTANT.findall(body))}
    texts = [m[1] for m in _OWN_ARRAY.finditer(body)] + _TEMPLATE_ARGUMENTS.findall(body)
    found: set[str] = set()
    while texts:
        names = meanings.keys() & set(re.findall(r"[A-Za-z_]\w*", texts.pop())) - found
        found |= names
        texts += [meanings[name] for name in names]
    return frozenset(found & constants.keys())


def is_legal_block(block: Sequence[int]) -> bool:
    """Whether CUDA allows a block of these extents."""
    x, y, z = [*block, 1, 1][:3]
    most = MAX_BLOCK
    return x <= most.x and y <= most.y and z <= most.z and x * y * z <= MAX_THREADS_PER_BLOCK


def _as_many_threads(grid: _Size, old: _Size, new: _Size) -> _Size:
    """The grid of another block's threads; where blocks do not come by threads it stays."""
    x, y, z = (-(-g * a // b) for g, a, b in zip(grid, old, new, strict=True))
    return x, y, z


def _count(size: _Size) -> int:
    return size[0] * size[1] * size[2]


def _blocks(block: _Size) -> int:
    """How many blocks of a size to look at there may be."""
    dimensions = 3 if block[2] > 1 else 2 if block[1] > 1 else 1
    return max(_BLOCKS_AT_LEAST, _THREADS[dimensions] // _count(block))


# First guesses at a kernel's arguments: what a person would type to try it.
#
# Random inputs, zeros where the kernel only writes, a matrix where rows and columns are named, and
# numbers in order where a kernel takes an element for an index.


_ZERO = re.compile(
    r"\w*(offset|shift|start|begin|first|base|origin|axis|seed|rank|phase|pass|bit|depth|level)\w*"
    r"|[a-z]*_?(idx|index)",
    re.IGNORECASE,
)
_ONE = re.compile(
    r"\w*stride\w*|\w*step|inc[xy]?|\w*radius\w*|pad(ding)?|pitch_extra", re.IGNORECASE
)
_FEW = re.compile(
    r"\w*(iter(ation)?s?|steps|rounds|repeats?|times|samples|tries|per(_?(thread|row|block))?)",
    re.IGNORECASE,
)
_LOOP = ("i", "j", "k", "t", "s", "it")  # a step of a loop of the host's, beside a size
_ROWS = ("rows", "height", "h", "m", "ny", "num_rows", "nrows", "imageh", "n_rows", "rowcount")
_COLUMNS = ("cols", "columns", "width", "w", "n", "nx", "num_cols", "ncols", "imagew", "n_cols")
_ORDERED = re.compile(  # starts of rows, and nodes that lead to themselves at first
    r"\w*(ptr|offsets?|row_?starts?|parents?|next|roots?|frontier\w*)\d*", re.IGNORECASE
)
_INDICES = re.compile(
    r"\w*(index|indices|idx|perm|map|edges?|neighbou?rs?|adj|col_?(ind|idx)\w*|links?)\d*",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(\w*?)_?(end|stop|last)", re.IGNORECASE)
_STARTS = re.compile(r"(\w*?)_?(start|begin|first)", re.IGNORECASE)
_PITCHES = re.compile(r"\w*(pitch|stride)\w*|ld[abc]?", re.IGNORECASE)
_GUARDED = r"\bif\s*\([^;{{}}]*(?:[<>]=?\s*{0}\b|\b{0}\s*[<>])"
_LIMIT = r"\bif\s*\([^;{{}}]*[<>]=?\s*{0}\b"  # as in `i >= params.n`
_UNEVEN = 6  # elements that a guarded kernel's last block goes without
_VALUE = 2.0


@dataclass(frozen=True)
class Extents:
    """How a kernel is laid out: elements along each dimension of its grid, x first."""

    lengths: tuple[int, ...]
    host: HostGuess | None = None
    scalars: Mapping[str, int] = field(default_factory=dict)
    text: str = ""  # the kernel's body
    has_start: bool = False
    has_end: bool = False

    @property
    def length(self) -> int:
        """Elements along x."""
        return self.lengths[0]


def guess_scalar(parameter: SignatureParameter, extents: Extents, has_size: bool) -> str:
    """A scalar's text. `has_size` says that another parameter is a size."""
    name = parameter.name.rpartition(".")[2]
    known = extents.host.scalars.get(parameter.name) if extents.host else None
    kind = parameter.dtype.kind if parameter.dtype is not None else "i"
    if known is not None:
        return _number(known, kind)
    if kind == "f":
        return str(_VALUE)
    if kind == "b":
        return "1"
    if parameter.type.startswith("enum "):
        return "0"
    if (
        parameter.is_symbol
        and parameter.dtype is not None
        and not re.search(_LIMIT.format(re.escape(parameter.name)), extents.text)
    ):
        return "4" if re.search(r"len|size|count|^n", name, re.IGNORECASE) else "1"
    if _ENDS.fullmatch(name) and extents.has_start:
        return str(extents.length - 1)
    if _STARTS.fullmatch(name) and extents.has_end:
        return "1"  # a border stays out
    for pattern, value in ((_FEW, 4), (_ZERO, 0), (_ONE, 1)):
        if pattern.fullmatch(name):
            whole = _PITCHES.fullmatch(name) and "." in parameter.name  # a matrix's own
            return str(extents.length if whole else value)
    if name in _LOOP and has_size:
        return "0"
    if name.lower() in _ROWS and len(extents.lengths) > 1:
        return str(extents.lengths[1])
    if (
        len(extents.lengths) == 1
        and extents.host is None
        and _is_guard(parameter.name, extents.text)
    ):
        return str(max(extents.length - _UNEVEN, 1))
    top = 127 if parameter.dtype is not None and parameter.dtype.itemsize == 1 else 1 << 31
    return str(min(extents.length, top))


def _is_guard(name: str, text: str) -> bool:
    """Whether threads from this number on stay idle."""
    return bool(re.search(_GUARDED.format(re.escape(name)), text))


def with_names(extents: Extents, parameters: Sequence[SignatureParameter], text: str) -> Extents:
    """The extents with what the parameters' names and the kernel's body tell."""
    names = [p.name.rpartition(".")[2] for p in parameters]
    return replace(
        extents,
        text=text,
        has_start=any(_STARTS.fullmatch(name) for name in names),
        has_end=any(_ENDS.fullmatch(name) for name in names),
    )


def is_size(parameter: SignatureParameter) -> bool:
    """Whether a scalar is a whole number that may be a size."""
    name = parameter.name.rpartition(".")[2]
    return (
        not parameter.is_array
        and not parameter.is_symbol
        and parameter.dtype is not None
        and parameter.dtype.kind in "iu"
        and name not in _LOOP
        and not any(p.fullmatch(name) for p in (_FEW, _ZERO, _ONE, _ENDS))
        and not parameter.type.startswith("enum ")
    )


def named_axis(name: str) -> int | None:
    """The dimension that a name speaks of in two: 1 of rows, 0 of columns."""
    last = name.rpartition(".")[2].lower()
    return 1 if last in _ROWS else 0 if last in _COLUMNS else None


def guess_array(parameter: SignatureParameter, text: str, extents: Extents) -> str:
    """An array's text; `text` is the kernel's body."""
    if extents.host is not None and parameter.name in extents.host.nulls:
        return "null"
    dtype = _dtype(parameter)
    if parameter.is_symbol or not parameter.is_pointer:
        return f"random:{dtype}[{parameter.count}]"
    shape = _shape(parameter, text, extents)
    sizes = ",".join(map(str, shape))
    front = extents.host.written.get(parameter.name) if extents.host is not None else None
    if front is not None and parameter.dtype is not None:
        return f"zeros:{dtype}[{sizes}]:{front // parameter.dtype.itemsize}"
    return f"{_fill(parameter, text)}:{dtype}[{sizes}]"


def _dtype(parameter: SignatureParameter) -> str:
    if "bfloat16" in parameter.type:
        return "bfloat16"
    return parameter.dtype.name if parameter.dtype is not None else "float32"


def _fill(parameter: SignatureParameter, text: str) -> str:
    last = parameter.name.rpartition(".")[2]
    is_read = parameter.is_const or "." in parameter.name or _is_read(last, text)
    if not is_read:
        return "zeros"
    is_whole = parameter.dtype is not None and parameter.dtype.kind in "iu"
    if is_whole and parameter.dtype is not None and parameter.dtype.itemsize > 1:
        if _ORDERED.fullmatch(last):
            return "range"
        if _INDICES.fullmatch(last) or re.search(rf"\[\s*{re.escape(last)}\s*\[", text):
            return "index"
    return "random"


def _shape(parameter: SignatureParameter, text: str, extents: Extents) -> list[int]:
    shape = _elements(parameter, text, extents)
    last = parameter.name.rpartition(".")[2]
    is_index = parameter.dtype is not None and parameter.dtype.kind in "iu"
    if len(shape) == 1 and is_index and _ORDERED.fullmatch(last):
        shape[0] += _is_read_behind(last, text)  # as `ptr[row + 1]` of the last row
    return [*shape, parameter.lanes] if parameter.lanes > 1 else shape


def _is_read_behind(name: str, text: str) -> bool:
    """Whether an index ends in `+ 1`."""
    found = re.finditer(rf"\b{re.escape(name)}\s*\[", text)
    return any(
        re.search(r"[^\W\d]\w*[\])]*\s*\+\s*1\s*$", text[m.end() : closing(text, m.end(), "[]")])
        for m in found
    )


def _elements(parameter: SignatureParameter, text: str, extents: Extents) -> list[int]:
    size = parameter.dtype.itemsize if parameter.dtype is not None else 4
    nbytes = extents.host.nbytes.get(parameter.name) if extents.host else None
    product = _matrix(parameter.name, text, extents)
    if nbytes:
        count = max(1, nbytes // (size * parameter.lanes))
        for shape in (product, _rows_and_columns(extents.scalars)):
            if shape and math.prod(shape) == count:
                return shape
        sizes = [v for v in extents.scalars.values() if v > 1]
        if len(sizes) == 3 and math.prod(sizes) == count and len(extents.lengths) == 3:
            return list(reversed(sizes))
        if math.prod(extents.lengths) == count:
            return list(reversed(extents.lengths))
        root = math.isqrt(count)
        return [root, root] if len(extents.lengths) > 1 and root * root == count else [count]
    if product:
        return product
    if extents.host is not None and (shape := _rows_and_columns(extents.scalars)):
        return shape
    axis = only_axis(parameter.name.rpartition(".")[2], text) if extents.host is None else None
    if axis is not None and axis < len(extents.lengths) > 1:
        return [extents.lengths[axis]]  # `bias[col]` beside a matrix
    lengths = list(reversed(extents.lengths))
    guards = [v for n, v in extents.scalars.items() if _is_guard(n, extents.text)]
    if len(lengths) == 1 and len(guards) == 1 and 0 < lengths[0] - guards[0] < _UNEVEN + 1:
        lengths = guards
    elif len(lengths) == 1 and len(extents.scalars) == 1:  # a loop may go further than the grid
        lengths = [max(lengths[0], *extents.scalars.values())]
    if len(lengths) == 1 and parameter.lanes == 1:
        last = parameter.name.rpartition(".")[2]
        plain = re.sub(r"\bblock(Idx|Dim)\.\w", "()", text)
        if re.search(rf"\b{re.escape(last)}\s*\[[^\]]*[A-Za-z_]\w*\s*\*\s*[A-Za-z_]\w*", plain):
            return [*lengths, *lengths]  # `A[row * N + k]` means a matrix
    return lengths


def _matrix(name: str, text: str, extents: Extents) -> list[int] | None:
    """Rows and columns of a matrix by the kernel's numbers; None for no matrix."""
    scalars = extents.scalars
    sizes = [n for n, value in scalars.items() if value > 0]
    names = _product_names(name, sizes) or strides(name.rpartition(".")[2], text, sizes)
    if names is None or "." in names[1]:
        return None
    rows = scalars[names[0]] if names[0] else extents.lengths[1:2]
    if not rows and len(sizes) == 1:
        rows = scalars[names[1]]
    if not rows:
        return None
    return [rows if isinstance(rows, int) else max(rows[0], 1), scalars[names[1]]]


def _product_names(name: str, scalars: Collection[str]) -> tuple[str, str] | None:
    """The names of rows and columns of A, B or C where there are M, N and K."""
    sizes = {n.lower(): n for n in scalars}
    dims = {"a": "mk", "b": "kn", "c": "mn"}.get(name.lower().removeprefix("d_"))
    if dims is None or not all(axis in sizes for axis in "mnk"):
        return None
    return sizes[dims[0]], sizes[dims[1]]


def _rows_and_columns(scalars: Mapping[str, int]) -> list[int] | None:
    lowered = {name.rpartition(".")[2].lower(): value for name, value in scalars.items()}
    rows = [lowered[name] for name in _ROWS if name in lowered]
    columns = [lowered[name] for name in _COLUMNS if name in lowered]
    pitches = [value for name, value in lowered.items() if _PITCHES.fullmatch(name)]
    if rows and columns:
        return [rows[0], max([columns[0], *pitches])]
    sizes = [value for name, value in scalars.items() if "." not in name and value > 1]
    return sizes if len(sizes) == 2 and len(lowered) == 2 else None  # (N, C): rows of C


def _number(value: float, kind: str) -> str:
    if kind == "f":
        return repr(float(value))
    return str(int(bool(value)) if kind == "b" else int(value))


def _is_read(name: str, text: str) -> bool:
    """Whether the kernel reads what it was given: an element outside a plain store or a sum."""
    for found in re.finditer(rf"\b{re.escape(name)}\s*\[", text):
        depth, at = 1, found.end()
        while at < len(text) and depth:
            depth += {"[": 1, "]": -1}.get(text[at], 0)
            at += 1
        before = text[: found.start()].rstrip()[-12:]
        after = text[at : at + 4].lstrip()
        stored = re.match(r"(=(?!=)|\+=|-=|\+\+)", after)
        if not stored and not re.search(r"atomic\w*\(\s*&$|\(&$", before):
            return True
    read = rf"([=(,;{{}}+-]|return)\s*\*\s*{re.escape(name)}\s*[;)+*/-]"  # as in `sum += *name;`
    passed = rf"[(,=]\s*(?:&\s*)?{re.escape(name)}\s*(?:[,;)]|\+(?!\+))"  # to a function, a pointer
    return bool(
        re.search(read, text) or re.search(passed, re.sub(r"atomic\w*\s*\([^;]*", "", text))
    )


# First guesses at a launch of a kernel that nobody has described, from its source alone.
#
# They are what a person would try: a small size, one thread for an element, random inputs, zeros
# where the kernel only writes. A form shows them, to be corrected.


_NO_LAUNCH: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Guess:
    """A launch, and what of it is a guess that nothing in the source, or nobody, says.

    `open` are the arguments that may as well be otherwise. `tied` are the arrays among them that
    follow from numbers of the kernel: one that reaches a little further has a fault. `is_ragged`
    says that threads lie beyond a size that is given, so that any that reaches further has.
    `shared_open`: nobody says how large dynamic shared memory is.
    """

    launch: FileLaunch
    open: frozenset[str] = frozenset()
    tied: frozenset[str] = frozenset()
    is_ragged: bool = False
    shared_open: bool = False


def guess_launch(
    source: str,
    path: str,
    kernel: str | None = None,
    given: Mapping[str, str] = _NO_LAUNCH,
    given_defines: Mapping[str, str] = _NO_LAUNCH,
) -> FileLaunch:
    """The launch of `guessed`, in a grid and a block of its own."""
    asked = FileLaunch(
        path, kernel or "", "", "", "", join_defines(given_defines), tuple(given.items())
    )
    return guessed(source, asked).launch


def guessed(source: str, asked: FileLaunch) -> Guess:
    """A launch to begin with; of the first kernel if none is named.

    What is `asked` stays: numbers, arrays, macros, grid and block each decide about the others.
    Macros that the source has no meaning for are added. Where the source launches the kernel itself
    its sizes are taken, halved until they are small.
    Raises TilescopeError where the source has no kernel, and ArgumentError where the kernel's
    parameters cannot be read.
    """
    given, given_defines = dict(asked.arguments), split_defines(asked.defines)
    source = with_defines(source, given_defines)
    headers = headers_of(source, asked)
    before = with_defines("\n".join(headers.values()), given_defines)
    names = kernel_names(source, before)
    if not names:
        raise TilescopeError(f"{asked.name} has no kernel: mark a function __global__.")
    name = instance_of(asked.kernel, names) if asked.kernel else names[0]
    device = without_comments(without_host_code(source))
    text = _body(source, name) or device
    dimensions = dimensions_of(text)
    grid_given, block_given = _sizes(asked.grid), _sizes(asked.block)
    undefined = undefined_macros(source, name, headers, given_defines, asked.name)
    shape, defines = _laid_out(
        source,
        name,
        guess_defines(undefined, dimensions),
        text,
        given_defines,
        dimensions,
        block_given,
    )
    declared = declarations(source, name, defines)
    signature = read_signature(source, name, defines, headers, asked.name)
    whole = f"{before}\n{source}" if before else source
    shapes = {p.name: s for p in signature if (s := _shape_given(p, given.get(p.name, "")))}
    numbers = _numbers_of_shapes(shapes, signature, text) | _numbers(signature, given)
    host = host_guess(
        whole,
        name,
        signature,
        defines,
        type_sizes(source, name, defines, headers, asked.name),
        Given(numbers, _bytes_given(signature, shapes), _three(grid_given), _three(block_given)),
    )
    if host is not None and host.constants:
        smaller_ones = {name: str(value) for name, value in host.constants.items()}
        both = join_defines({**given_defines, **smaller_ones})
        return guessed(source, replace(asked, defines=both))
    block = _trimmed(host.block, dimensions) if host else shape.block
    if grid_given and host is None:
        steps = shape.apart or block
        numbers = _numbers_of_grid(grid_given, steps, signature, text) | numbers
    lengths = _lengths(shape, signature, text, numbers)
    steps = (*shape.apart, *block[len(shape.apart) :])
    grid = [1 if shape.one_block else -(-n // b) for n, b in zip(lengths, steps, strict=False)]
    ragged = any(length % step for length, step in zip(lengths, steps, strict=False))
    if host is not None and host.grid is not None:
        grid = list(_trimmed(host.grid, dimensions))
    grid = list(grid_given) or grid
    if host is not None or grid_given:
        pairs = itertools.zip_longest(steps, grid, fillvalue=1)
        lengths = tuple(step * count for step, count in pairs)
    extents = with_names(Extents(lengths, host), signature, text)
    plain = host is None and not grid_given
    usual = replace(extents, lengths=(shape.length,) * dimensions) if plain else extents
    shared = min(dynamic_bytes(declared, math.prod(block)), MAX_SHARED_BYTES)
    arguments = dict(_arguments(signature, text, extents, usual, numbers))
    launch = FileLaunch(
        path=asked.path,
        kernel=name,
        grid=",".join(map(str, grid)),
        block=",".join(map(str, block)),
        shared=str(host.shared if host and host.shared else shared),
        defines=join_defines(defines),
        arguments=tuple((n, given.get(n, guess)) for n, guess in arguments.items()),
        folders=asked.folders,
        included=asked.included,
        architecture=asked.architecture,
    )
    known = set(host.said) | {*host.scalars} if host else set()
    guesses = frozenset(arguments) - known - set(given) - {p.name for p in signature if p.is_symbol}
    tied = guesses if any(is_size(p) for p in signature) else frozenset()
    return Guess(
        launch,
        guesses,
        tied,
        is_ragged=ragged and bool(numbers) and host is None,
        shared_open=any(d.is_extern for d in declared)
        and not (asked.shared or (host is not None and host.shared)),
    )


def _laid_out(
    source: str,
    name: str,
    guesses: dict[str, str],
    text: str,
    given: Mapping[str, str],
    dimensions: int,
    block: tuple[int, ...],
) -> tuple[Shape, Mapping[str, str]]:
    """The layout of a kernel, and its macros: smaller ones where shared memory would not do."""
    plain = split_instance(name)[0].rpartition("::")[2]
    declared = next((k for k in kernels(source) if k.name == plain), None)
    bound = (
        dict(zip([p.name for p in declared.template], split_instance(name)[1], strict=False))
        if declared
        else {}
    )
    while True:
        defines = {**guesses, **given}
        arrays = declarations(source, name, {**defines, **bound})
        large = [
            m for m in guesses if m not in given and guesses[m].isdecimal() and int(guesses[m]) > 1
        ]
        if _static_bytes(arrays) <= _MOST_STATIC or not large:
            break
        top = max(large, key=lambda macro: int(guesses[macro]))
        guesses[top] = str(int(guesses[top]) // 2)
    constants = read_constants(source, {**defines, **bound})

    def value(word: str) -> int | None:
        return evaluate(constants.expanded(word), constants.constants_in(""))

    return shape_of(text, dimensions, arrays, value, block), defines


def _static_bytes(declared: tuple[SharedDeclaration, ...]) -> int:
    """Bytes of the shared arrays of fixed size, as far as these are known."""
    return sum(
        math.prod(d.dims) * (d.dtype.itemsize if d.dtype is not None else 4) * d.lanes
        for d in declared
        if d.dims is not None and not d.is_extern
    )


def _sizes(text: str) -> tuple[int, ...]:
    """A grid or block as it is typed, x first; () where nothing, or none, is."""
    parts = re.split(r"[,x]", text.strip())
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(r"\s*0*[1-9]\d{0,9}\s*", p) for p in parts):
        return ()
    return tuple(int(part) for part in parts)


def _three(size: Sequence[int]) -> _Size | None:
    """A grid or block in three dimensions; None for ()."""
    x, y, z = [*size, 1, 1, 1][:3]
    return (x, y, z) if size else None


def _shape_given(parameter: SignatureParameter, text: str) -> tuple[int, ...]:
    """The shape of an array that is given, in elements of the parameter's type; () for none."""
    if text.startswith("@"):
        try:
            with Path(text[1:]).open("rb") as file:
                shape = promised(file)[0]
        except (OSError, *BAD_HEADER):
            return ()
    else:
        found = re.fullmatch(r"(?:\w+:)?\w+\[([\d,\s]{1,99})\]", text.strip())
        parts = found[1].split(",") if found and parameter.is_pointer else []
        shape = tuple(int(part) for part in parts if part.strip().isdecimal())
        if len(shape) != len(parts):
            return ()
    return shape[:-1] if parameter.lanes > 1 and len(shape) > 1 else shape


def _bytes_given(
    signature: Sequence[SignatureParameter], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, int]:
    return {
        p.name: math.prod(shapes[p.name]) * p.lanes * p.dtype.itemsize
        for p in signature
        if p.name in shapes and p.dtype is not None
    }


def _numbers_of_shapes(
    shapes: Mapping[str, tuple[int, ...]], signature: Sequence[SignatureParameter], text: str
) -> dict[str, Number]:
    """What the arrays that are given say of the kernel's sizes."""
    sizes = [p.name for p in signature if is_size(p)]
    found: dict[str, Number] = {}
    for name, shape in shapes.items():
        pair = strides(name, text, sizes) or ("", "")
        names = _product_names(name, sizes) or pair
        if len(shape) == len(names) == 2 and any(names):
            found |= {n: extent for n, extent in zip(names, shape, strict=True) if n}
        elif len(sizes) == 1:
            found[sizes[0]] = shape[-1] if len(shape) > 1 else _side(shape[0], pair[1])
    return found


def _side(count: int, columns: str) -> int:
    """The size that a flat array of a square matrix has, or the array's own."""
    root = math.isqrt(count)
    return root if columns and root * root == count else count


def _numbers_of_grid(
    grid: Sequence[int], block: Sequence[int], signature: Sequence[SignatureParameter], text: str
) -> dict[str, Number]:
    """The sizes that a grid which is given covers."""
    found: dict[str, Number] = {}
    for parameter in signature:
        axes = bounded_axes(parameter.name, text, len(grid)) if is_size(parameter) else ()
        if len(axes) == 1:
            extent = grid[axes[0]] * (block[axes[0]] if axes[0] < len(block) else 1)
            guarded = len(grid) == len(block) == 1 and extent > 2 * _UNEVEN
            found[parameter.name] = extent - _UNEVEN if guarded else extent
    return found


def size_is_guessed(
    source: str, path: str, kernel: str, given: Mapping[str, str], name: str, shape: Sequence[int]
) -> bool:
    """Whether an array is as large as it would be guessed, and nothing in the source says so.

    Where the source launches kernels itself, what it allocates counts as said.
    """
    if "<<<" in source or "cudaLaunchKernel" in source:
        return False
    try:
        guess = dict(guess_launch(source, path, kernel, given).arguments)
    except TilescopeError:
        return False
    return guess.get(name, "").endswith(f"[{','.join(map(str, shape))}]")


def instance_of(kernel: str, names: Sequence[str]) -> str:
    """The name among a source's kernels that `kernel` means; `axpy` means `axpy<float>`.

    An instance that the source does not have stays what it is, as long as the kernel is there.
    """
    if kernel in names or "<" in kernel:
        return kernel
    plain = kernel.rpartition("::")[2]
    return next((name for name in names if name.partition("<")[0] == plain), kernel)


def _body(source: str, kernel: str) -> str:
    """The kernel's body, if it is its own indices that it looks at."""
    plain = split_instance(kernel)[0].rpartition("::")[2]
    body = next((k.body for k in kernels(source) if k.name == plain), "")
    return body if "threadIdx" in body else ""


def _numbers(
    signature: Sequence[SignatureParameter], given: Mapping[str, str]
) -> dict[str, Number]:
    """The scalars that are given, as far as their texts are numbers."""
    found: dict[str, Number] = {}
    for parameter in signature:
        text = given.get(parameter.name, "").strip()
        if parameter.is_array or parameter.dtype is None:
            continue
        if parameter.dtype.kind in "iu" and re.fullmatch(r"-?[0-9]{1,18}", text):
            found[parameter.name] = int(text)
        elif parameter.dtype.kind == "f" and re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]*)?", text):
            found[parameter.name] = float(text)
    return found


def _lengths(
    shape: Shape,
    signature: Sequence[SignatureParameter],
    text: str,
    numbers: Mapping[str, Number],
) -> tuple[int, ...]:
    """Elements along each dimension: those of the numbers that are given, or the usual ones."""
    lengths = [shape.length] * shape.dimensions
    sizes = [p.name for p in signature if is_size(p)]
    for name, number in numbers.items():
        if name not in sizes or number < 1:
            continue
        axes: Sequence[int] = bounded_axes(name, text, shape.dimensions)
        if not axes and sizes == [name]:
            axes = range(shape.dimensions)
        elif not axes and (by_name := named_axis(name)) is not None:
            axes = [by_name] if by_name < shape.dimensions > 1 else []
        for axis in axes:
            lengths[axis] = int(number)
    return tuple(lengths)


def _trimmed(size: tuple[int, ...], dimensions: int) -> tuple[int, ...]:
    """As many extents as the kernel has dimensions, and those beyond that are not 1."""
    used = max([dimensions, *(axis + 1 for axis, extent in enumerate(size) if extent > 1)])
    return size[:used]


def _arguments(
    signature: Sequence[SignatureParameter],
    text: str,
    extents: Extents,
    usual: Extents,
    numbers: Mapping[str, Number],
) -> Iterator[tuple[str, str]]:
    """Each parameter's text; `usual` is what numbers that are not given are guessed from."""
    scalars: dict[str, str] = {}
    for parameter in signature:
        if parameter.name in numbers:
            scalars[parameter.name] = str(numbers[parameter.name])
        elif not parameter.is_array:
            has_size = any(is_size(p) for p in signature if p is not parameter)
            scalars[parameter.name] = guess_scalar(parameter, usual, has_size)
    sizes = {p.name: int(scalars[p.name]) for p in signature if is_size(p) and p.name in scalars}
    known = replace(extents, scalars=sizes)
    for parameter in signature:
        if parameter.name in scalars:
            yield parameter.name, scalars[parameter.name]
        else:
            yield parameter.name, guess_array(parameter, text, known)


def refit(source: str, launch: FileLaunch) -> FileLaunch:
    """A launch for an edited source: what still applies is kept, the rest is guessed.

    Raises as `guess_launch`.
    """
    names = kernel_names(source, _texts(source, launch))
    there = {name.partition("<")[0] for name in names}
    kernel = launch.kernel if launch.kernel.partition("<")[0] in there else None
    defines = split_defines(launch.defines) if kernel else _NO_LAUNCH
    blank = replace(launch, kernel=kernel or "", grid="", block="", shared="", arguments=())
    guess = guessed(source, replace(blank, defines=join_defines(defines))).launch
    signature = read_signature(
        source,
        guess.kernel,
        split_defines(guess.defines),
        headers_of(source, launch),
        launch.name,
    )
    known = dict(launch.arguments)
    arguments = []
    for parameter, (name, text) in zip(signature, guess.arguments, strict=True):
        old = known.get(name)
        keep = old is not None and _fits(parameter, old)
        arguments.append((name, old if keep and old is not None else text))
    if kernel is None:
        return replace(guess, arguments=tuple(arguments))
    return replace(launch, arguments=tuple(arguments))


def complete(source: str, asked: FileLaunch) -> FileLaunch:
    """The launch of `completed`."""
    return completed(source, asked).launch


def completed(source: str, asked: FileLaunch) -> Guess:
    """The launch asked for, with what it leaves empty guessed.

    Raises as `guess_launch`, and ArgumentError for a kernel or a parameter that the source has not.
    """
    defines = split_defines(asked.defines)
    names = kernel_names(with_defines(source, defines), _texts(source, asked))
    kernel = instance_of(asked.kernel, names)
    if kernel and kernel.partition("<")[0].rpartition("::")[2] not in {
        name.partition("<")[0] for name in names
    }:
        raise ArgumentError(
            f"{asked.name} has no kernel {asked.kernel}: it has {listing([*names])}."
        )
    guess = guessed(source, asked)
    there = [name for name, _ in guess.launch.arguments]
    for name, _ in asked.arguments:
        if name not in there:
            raise ArgumentError(
                f"{guess.launch.kernel} has no parameter {name}: it has {listing(there)}."
            )
    texts = {
        field: getattr(asked, field) or getattr(guess.launch, field)
        for field in ("grid", "block", "shared")
    }
    if split_defines(asked.defines) == split_defines(guess.launch.defines):
        texts["defines"] = asked.defines  # as it was typed
    return replace(guess, launch=replace(guess.launch, **texts))


def smaller(source: str, launch: FileLaunch) -> Iterator[str]:
    """Options with which the launch is guessed anew with less to do: at most a quarter of a number.

    A number counts if the grid, or a loop of the kernel, follows it, and the block does not.
    """
    defines = split_defines(launch.defines)
    text = with_defines(source, defines)
    body = _body(text, launch.kernel)
    looped = " ".join(re.findall(r"\b(?:for|while)\s*\(([^{}]*?)[{\n]", body))
    scalars = [(n, int(t)) for n, t in launch.arguments if re.fullmatch(r"\d{2,9}", t)]
    candidates = [(f"--arg {n}=", n, value) for n, value in scalars]
    candidates += [(f"-D {knob.name}=", knob.name, knob.value) for knob in knobs(text)]
    for option, name, value in candidates:
        less = min(value // 4, _SMALL)
        if less < _LEAST:
            continue
        asked = FileLaunch(launch.path, launch.kernel, "", "", "", launch.defines)
        if option.startswith("-D"):
            asked = replace(asked, defines=join_defines({**defines, name: str(less)}))
        else:
            asked = replace(asked, arguments=((name, str(less)),))
        try:
            found = guessed(source, asked).launch
        except TilescopeError:
            continue
        follows = found.grid != launch.grid or re.search(rf"\b{re.escape(name)}\b", looped)
        if found.block == launch.block and follows:
            yield f"{option}{less}"


def _fits(parameter: SignatureParameter, text: str) -> bool:
    if parameter.is_pointer and text.strip() == "null":
        return True
    if not parameter.is_array:
        return "[" not in text and not text.startswith("@")
    named = re.search(r"(\w+)\[", text)
    return text.startswith("@") or (
        named is not None and (parameter.dtype is None or named[1] == parameter.dtype.name)
    )


def launch_of(
    source: str, path: str, known: FileLaunch | None, kernel: str | None, is_linked: bool
) -> tuple[FileLaunch, tuple[str, ...], tuple[SignatureParameter, ...]]:
    """A launch of a source, its kernels' names, and the signature of the launched one.

    `known` is a launch to go on from, whose gaps are guessed if `is_linked`; without it one of
    `kernel` is guessed, or of the first. Raises TilescopeError.
    """
    if known is None:
        asked = FileLaunch(path, kernel or "", "", "", "")
        source, asked = at_its_kernels(source, asked)
        launch = guessed(source, asked).launch
    else:
        launch = complete(source, known) if is_linked else refit(source, known)
    signature = read_signature(
        source,
        launch.kernel,
        split_defines(launch.defines),
        headers_of(source, launch),
        launch.name,
    )
    return launch, kernel_names(source, _texts(source, launch)), signature


def _texts(source: str, launch: FileLaunch) -> str:
    return "\n".join(headers_of(source, launch).values())
