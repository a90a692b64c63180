"""First guesses at a kernel's arguments: what a person would type to try it.

Random inputs, zeros where the kernel only writes, a matrix where rows and columns are named, and
numbers in order where a kernel takes an element for an index. Of a texture what kernels fetch says
its dimensions and texels, and what the host writes into a `cudaTextureDesc` how it is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.compiler.kernel_parameters import EMPTY, SURFACE, KernelParameter
from core.host_program.scaled_down_launch import HostGuess
from core.host_program.variables_and_memory import RADIUS, TENSOR_EXTENT, WINDOW
from core.launch import POINTER_BYTES
from core.source.c_numbers import NUMBERS
from core.source.index_expressions import is_row_pitch, only_axis, only_bound, strides
from core.source.preprocessor import closing

_ZERO = re.compile(
    r"\w*(offset|shift|start|begin|first|base|origin|axis|seed|rank|phase|pass|bit|depth|level)\w*"
    r"|[a-z]*_?(idx|index)",
    re.IGNORECASE,
)
_ONE = re.compile(
    r"\w*stride\w*|\w*step|inc[xy]?|\w*radius\w*|(?-i:\w+Rad)|pad(ding)?|pitch_extra", re.IGNORECASE
)
_FEW = re.compile(
    r"\w*(iter(ation)?s?|steps|rounds|repeats?|times|samples|tries|per(_?(thread|row|block))?"
    r"|batch(_?(size|count|es))?)|\w*walk\w*",
    re.IGNORECASE,
)
_LOOP = ("i", "j", "k", "t", "s", "it")  # a step of a loop of the host's, beside a size
_ROWS = ("rows", "height", "h", "m", "ny", "num_rows", "nrows", "imageh", "n_rows", "rowcount")
_COLUMNS = ("cols", "columns", "width", "w", "n", "nx", "num_cols", "ncols", "imagew", "n_cols")
_ORDERED = re.compile(  # starts of rows, and nodes that lead to themselves at first
    r"\w*(ptrs?|offs(ets?)?|row_?starts?|parents?|next|roots?|frontier\w*)\d*", re.IGNORECASE
)
_INDICES = re.compile(
    r"\w*(index|indices|idx|perm|map|edges?|neighbou?rs?|adj|col_?(ind|idx)\w*|links?)\d*",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(\w*?)_?(end|stop|last)|[ijkxyz]_?max", re.IGNORECASE)
_STARTS = re.compile(r"(\w*?)_?(start|begin|first)|[ijkxyz]_?min", re.IGNORECASE)
_PITCHES = re.compile(r"\w*(pitch|stride)\w*|ld[abc]?", re.IGNORECASE)
_GUARDED = r"\bif\s*\([^;{{}}]*(?:[<>]=?\s*{0}\b|\b{0}\s*[<>])"
_LIMIT = r"\bif\s*\([^;{{}}]*[<>]=?\s*{0}\b"  # as in `i >= params.n`
_AROUND = r"\bfor\s*\([^;{{}}]*=\s*-\s*{0}\s*;"  # `for (int i = -r; …`: of a window around a place
_ENDS_LOOP = r"\bfor\s*\([^;{{}}]*;[^;{{}}]*<=?\s*{0}\s*[;&|]"
_FEW_ROUNDS = 4
UNEVEN = 6  # elements that a guarded kernel's last block goes without
_SORTED = re.compile(
    r"\w*(co_?rank|binary_?search|(lower|upper)_?bound|merge_?path)\w*\s*\(", re.IGNORECASE
)
_LOCK = r"\batomicCAS\s*\(\s*(?:\w+\s*(?:\.|->)\s*)*{}\s*,\s*0\s*,\s*1\s*\)"
_BYTES = re.compile(
    r"\(\s*(?:const\s+)?(?:unsigned\s+)?(?:char|u?int8_t|uchar)(?:\s+const)?\s*\*\s*\)"
)
_VALUE = 2.0
_ACCESSOR = (_SIZES, _STRIDES) = ("sizes_", "strides_")  # members of a PackedTensorAccessor
_PIXEL_BYTES = 16  # at most
_MOST_ELEMENTS = 1 << 30  # of an array
_MOST_OF_SIDE = 1 << 11  # of a square that nothing but an index speaks of: a trial lets it grow
_NOBODY = HostGuess(None, (1, 1, 1), 0, {}, {}, frozenset())
_MOST_RANK = 5  # dimensions of which a million elements have that many


@dataclass(frozen=True)
class Extents:
    """How a kernel is laid out: elements along each dimension of its grid, x first."""

    lengths: tuple[int, ...]
    host: HostGuess | None = None
    scalars: Mapping[str, int] = field(default_factory=dict)
    text: str = ""  # the kernel's body
    program: str = ""  # the whole text, the host's part too
    nulls: frozenset[str] = frozenset()  # pointers to nothing
    has_start: bool = False
    has_end: bool = False
    ranks: Mapping[str, int] = field(default_factory=dict)  # of PyTorch's tensors, by parameter
    element_bytes: Mapping[str, int] = field(default_factory=dict)  # the widest, by structure

    @property
    def length(self) -> int:
        """Elements along x."""
        return self.lengths[0]


def with_names(extents: Extents, parameters: Sequence[KernelParameter], text: str) -> Extents:
    """The extents with what the parameters' names and the kernel's body tell."""
    names = [p.name.rpartition(".")[2] for p in parameters]
    widest: dict[str, int] = {}
    for one in parameters:
        if one.is_pointer and one.whole and one.dtype is not None:
            nbytes = one.dtype.itemsize * one.lanes
            widest[one.whole] = max(widest.get(one.whole, 0), nbytes)
    return replace(
        extents,
        text=text,
        element_bytes=widest,
        has_start=any(_STARTS.fullmatch(name) for name in names),
        has_end=any(_ENDS.fullmatch(name) for name in names),
        ranks={p.whole: p.count for p in parameters if p.name == f"{p.whole}.{_SIZES}"},
    )


# What names say.


def is_size(parameter: KernelParameter, text: str = "") -> bool:
    """Whether a scalar is a whole number that may be a size; `k` is one that ends a loop."""
    name = parameter.name.rpartition(".")[2]
    return (
        not parameter.is_array
        and not parameter.is_symbol
        and parameter.dtype is not None
        and parameter.dtype.kind in "iu"
        and (name not in _LOOP or re.search(_ENDS_LOOP.format(name), text) is not None)
        and not any(p.fullmatch(name) for p in (_FEW, _ZERO, _ONE, _ENDS, WINDOW))
        and not parameter.type.startswith("enum ")
    )


def is_pitch(name: str) -> bool:
    """Whether a name speaks of the distance between rows."""
    return _PITCHES.fullmatch(name.rpartition(".")[2]) is not None


def has_one_more(name: str) -> bool:
    """Whether an array's name speaks of starts of rows, with an end behind the last one's."""
    return _ORDERED.fullmatch(name.rpartition(".")[2]) is not None


def named_axis(name: str) -> int | None:
    """The dimension that a name speaks of in two: 1 of rows, 0 of columns."""
    last = name.rpartition(".")[2].lower()
    return 1 if last in _ROWS else 0 if last in _COLUMNS else None


def product_names(name: str, scalars: Collection[str]) -> tuple[str, str] | None:
    """The names of rows and columns of A, B or C where there are M, N and K."""
    sizes = {n.lower(): n for n in scalars}
    dims = {"a": "mk", "b": "kn", "c": "mn"}.get(name.lower().removeprefix("d_"))
    if dims is None or not all(axis in sizes for axis in "mnk"):
        return None
    return sizes[dims[0]], sizes[dims[1]]


def _rows_and_columns(scalars: Mapping[str, int]) -> list[int] | None:
    """Rows and columns by the names of a kernel's numbers; None where none are named so."""
    lowered = {name.rpartition(".")[2].lower(): value for name, value in scalars.items()}
    rows = [lowered[name] for name in _ROWS if name in lowered]
    columns = [lowered[name] for name in _COLUMNS if name in lowered]
    pitches = [value for name, value in lowered.items() if _PITCHES.fullmatch(name)]
    if rows and columns:
        return [rows[0], max([columns[0], *pitches])]
    sizes = [value for name, value in scalars.items() if "." not in name and value > 1]
    return sizes if len(sizes) == 2 and len(lowered) == 2 else None  # (N, C): rows of C


# Numbers.


def guess_scalar(parameter: KernelParameter, extents: Extents, has_size: bool) -> str:
    """A scalar's text. `has_size` says that another parameter is a size."""
    name = parameter.name.rpartition(".")[2]
    known = extents.host.scalars.get(parameter.name) if extents.host else None
    kind = parameter.dtype.kind if parameter.dtype is not None else "i"
    if kind in "iu" and _only_picks(name, extents) and _is_open(parameter.name, extents):
        return "0"
    if known is not None:
        return _number(_held(known, parameter), kind)
    if parameter.type == EMPTY or parameter.name.startswith("unnamed_"):
        return "0"  # nobody reads it
    if name in _ACCESSOR:
        return _of_accessor(name, 1)
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
    if name in ("pitch", "step") and "." in parameter.name:  # from row to row, in bytes
        widest = extents.element_bytes.get(parameter.whole, _PIXEL_BYTES)
        return str(widest * extents.length)
    if _ONE.fullmatch(name) and len(extents.lengths) > 1 and is_row_pitch(name, extents.text):
        in_bytes = _BYTES.search(extents.text)  # and an element may have more than one
        return str(extents.length * (_PIXEL_BYTES if in_bytes else 1))
    if name.lower() == "depth" and len(extents.lengths) > 2:
        return str(extents.lengths[2])
    for pattern, value in ((_FEW, 4), (_ZERO, 0), (_ONE, 1), (WINDOW, 5)):
        if pattern.fullmatch(name):
            whole = _PITCHES.fullmatch(name) and "." in parameter.name  # a matrix's own
            return str(extents.length if whole else value)
    if name in _LOOP and has_size:
        return str(_FEW_ROUNDS if re.search(_ENDS_LOOP.format(name), extents.text) else 0)
    if re.search(_AROUND.format(re.escape(name)), extents.text):
        return str(RADIUS)
    if extents.ranks and kind in "iu":
        return str(TENSOR_EXTENT)  # likely `tensor.size(1)`
    if name.lower() in _ROWS and len(extents.lengths) > 1:
        return str(extents.lengths[1])
    if (
        len(extents.lengths) == 1
        and extents.host is None
        and _is_guard(parameter.name, extents.text)
    ):
        return str(max(extents.length - UNEVEN, 1))
    top = 127 if parameter.dtype is not None and parameter.dtype.itemsize == 1 else 1 << 31
    return str(min(extents.length, top))


def _held(value: float, parameter: KernelParameter) -> float:
    """What a parameter of whole numbers holds of a host's number, as C cuts it."""
    if parameter.dtype is None or parameter.dtype.kind not in "iu":
        return value
    return int(np.array(int(value) & (1 << 64) - 1, np.uint64).astype(parameter.dtype))


def _only_picks(name: str, extents: Extents) -> bool:
    """Whether a number is an element's, as in `table[which]`, and nothing else."""
    picks = re.findall(rf"\[\s*{re.escape(name)}\s*\]", extents.text)
    return 0 < len(picks) == len(re.findall(rf"(?<![\w.]){re.escape(name)}\b", extents.text))


def _is_open(name: str, extents: Extents) -> bool:
    """Whether nothing says a number: no host, or one that is given it by whoever calls it."""
    host = extents.host
    return host is None or name not in host.scalars or name in host.assumed


def _is_guard(name: str, text: str) -> bool:
    """Whether threads from this number on stay idle."""
    return bool(re.search(_GUARDED.format(re.escape(name)), text))


def _of_accessor(name: str, rank: int) -> str:
    """Sizes and strides of a PyTorch tensor without gaps; alike, as tensors share dimensions."""
    powers = [1] * rank if name == _SIZES else range(rank - 1, -1, -1)
    return ",".join(str(TENSOR_EXTENT**power) for power in powers)


def _number(value: float, kind: str) -> str:
    if kind == "f":
        return repr(float(value))
    return str(int(bool(value)) if kind == "b" else int(value))


# Arrays.


def guess_array(parameter: KernelParameter, text: str, extents: Extents) -> str:
    """An array's text; `text` is the kernel's body."""
    host = extents.host or _NOBODY
    if parameter.name in extents.nulls:
        return "null"
    if parameter.name in host.maps:
        return host.maps[parameter.name]
    if parameter.is_texture:
        named = _rows_and_columns(extents.scalars)
        return _guess_texture(parameter, extents.program, named or extents.lengths[::-1])
    dtype = _dtype(parameter)
    last = parameter.name.rpartition(".")[2]
    if last in _ACCESSOR and not parameter.is_pointer:
        return _of_accessor(last, parameter.count)
    if parameter.is_symbol or not parameter.is_pointer:
        return f"random:{dtype}[{parameter.count}]"
    if parameter.leads_to_pointers:
        rows = ",".join(map(str, _rows(parameter, text, extents)))
        return f"pointers({_fill(parameter, text, extents)}:{dtype}[{rows}])"
    shape = _shape(parameter, text, extents)
    if last == "data_" and (rank := extents.ranks.get(parameter.whole, 0)):
        shape = [TENSOR_EXTENT] * min(rank, _MOST_RANK)
    sizes = ",".join(map(str, shape))
    start = host.starts.get(parameter.name, 0)
    if start and start < math.prod(shape):
        return f"{_fill(parameter, text, extents)}:{dtype}[{sizes}]+{start}"
    front = host.written.get(parameter.name)
    if front is not None and parameter.dtype is not None:
        return f"zeros:{dtype}[{sizes}]:{front // parameter.dtype.itemsize}"
    filled = host.fills.get(parameter.name)
    fill = filled if filled and not parameter.is_const else _fill(parameter, text, extents)
    return f"{fill}:{dtype}[{sizes}]"


def _dtype(parameter: KernelParameter) -> str:
    if "bfloat16" in parameter.type.lower():
        return "bfloat16"
    return parameter.dtype.name if parameter.dtype is not None else "float32"


def _fill(parameter: KernelParameter, text: str, extents: Extents) -> str:
    last = parameter.name.rpartition(".")[2]
    if re.search(_LOCK.format(re.escape(last)), extents.program):
        return "zeros"  # nobody holds it
    is_read = parameter.is_const or "." in parameter.name or _is_read(last, text)
    if not is_read:
        return "zeros"
    if _SORTED.search(text):
        return "range"
    if parameter.dtype is not None and parameter.dtype.itemsize == 1 and "- 'a'" in text:
        return "letters"  # as a histogram of a text counts them
    is_whole = parameter.dtype is not None and parameter.dtype.kind in "iu"
    if is_whole and parameter.dtype is not None and parameter.dtype.itemsize > 1:
        if _ORDERED.fullmatch(last) or _begins_rows(last, text):
            return "range"
        if _INDICES.fullmatch(last) or _is_index(last, text):
            stored = rf"\[\s*{re.escape(last)}\s*\[[^\]]*\]\s*\]\s*=(?!=)"
            return "permutation" if re.search(stored, text) else "index"  # a place each
    return "random"


def _is_index(name: str, text: str) -> bool:
    """Whether elements of an array stand in a subscript, themselves or by way of a variable.

    Those of which a part alone is used (`hash[(keys[i] + k) % slots]`) may be any numbers.
    """
    element = rf"\b{re.escape(name)}\s*\["
    if re.search(rf"\[\s*{element}", text):
        return True
    held = {*re.findall(rf"\b(\w+)\s*=\s*{element}[^;=%&]*;", text)}
    for inside in re.finditer(r"(?<=\w)\s*\[([^\[\];%&]*)", text):
        if held.isdisjoint(re.findall(r"\w+", inside[1])):
            continue
        end = text.find(";", inside.end())
        rest = text[inside.end() : end if end >= 0 else None]
        if "%" not in rest and "&" not in rest:
            return True
    return bool(re.search(rf"\w\s*\[[^\[\];%&]*{element}(?![^;]*[%&])", text))


def _rows(parameter: KernelParameter, text: str, extents: Extents) -> list[int]:
    """How many pointers there are, and how long the row is that each leads to.

    As the host's code says; where nothing says how long a row is a square reaches far enough, and
    structures are one each.
    """
    host = extents.host or _NOBODY
    shape = _shape(replace(parameter, lanes=1), text, extents)
    count, length = shape if len(shape) == 2 else (math.prod(shape),) * 2
    if parameter.name in host.nbytes:
        count, length = host.nbytes[parameter.name] // POINTER_BYTES, extents.length
    if parameter.lanes > 1:
        length = 1
    if parameter.name in host.row_nbytes and parameter.dtype is not None:
        length = host.row_nbytes[parameter.name] // (parameter.dtype.itemsize * parameter.lanes)
    rows = [max(count, 1), max(length, 1)]
    return [*rows, parameter.lanes] if parameter.lanes > 1 else rows


def _shape(parameter: KernelParameter, text: str, extents: Extents) -> list[int]:
    shape = _elements(parameter, text, extents)
    if math.prod(shape) > _MOST_ELEMENTS:  # numbers that are no sizes, as a count below 0
        shape = [*reversed(extents.lengths)]
    last = parameter.name.rpartition(".")[2]
    is_index = parameter.dtype is not None and parameter.dtype.kind in "iu"
    is_ordered = _ORDERED.fullmatch(last) or _begins_rows(last, text) or _SORTED.search(text)
    is_said = extents.host is not None and parameter.name in extents.host.said
    if len(shape) == 1 and is_index and is_ordered and not is_said:
        shape[0] += _is_read_behind(last, text)  # as `ptr[row + 1]` of the last row
    shape = [max(extent, 1) for extent in shape]
    return [*shape, parameter.lanes] if parameter.lanes > 1 else shape


def _begins_rows(name: str, text: str) -> bool:
    """Whether elements begin rows of other arrays, each of which ends where the next one begins."""
    plain = re.escape(name)
    first = rf"\b(\w+)\s*=\s*{plain}\s*\[\s*([^\[\]]+?)\s*\]\s*(?:\+[^;,=\[\]]*)?[;,)]"  # `+ lane`
    for held in re.finditer(first, text):
        behind = rf"\b{plain}\s*\[\s*{re.escape(held[2])}\s*\+\s*1\s*\]"
        used = rf"(?:\[[^\[\]]*|\bfor\s*\([^;]*=\s*)\b{held[1]}\b"
        if re.search(behind, text) and re.search(used, text[held.end() :]):
            return True
    return False


def _is_read_behind(name: str, text: str) -> bool:
    """Whether an index ends in `+ 1`."""
    found = re.finditer(rf"\b{re.escape(name)}\s*\[", text)
    return any(
        re.search(r"[^\W\d]\w*[\])]*\s*\+\s*1\s*$", text[m.end() : closing(text, m.end(), "[]")])
        for m in found
    )


def _elements(parameter: KernelParameter, text: str, extents: Extents) -> list[int]:
    size = parameter.dtype.itemsize if parameter.dtype is not None else 4
    nbytes = extents.host.nbytes.get(parameter.name) if extents.host else None
    product = _matrix(parameter.name, text, extents)
    one = _one_dimension(parameter.name, text, extents)
    if one and (not nbytes or parameter.name not in (extents.host or _NOBODY).said):
        return [one]
    if nbytes:
        count = max(1, nbytes // (size * parameter.lanes))
        if product and math.prod(product) == count:
            return product
        columns = product[1] if product else 0
        rows = count // columns if columns and count % columns == 0 else 0
        if (
            rows > 1 and rows in extents.scalars.values()
        ):  # also of an index whose variables are set anew
            return [rows, columns]
        by_name = _rows_and_columns(extents.scalars)
        if by_name and math.prod(by_name) == count:
            return by_name
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
    if len(lengths) == 1 and len(guards) == 1 and 0 < lengths[0] - guards[0] < UNEVEN + 1:
        lengths = guards
    elif len(lengths) == 1 and len(extents.scalars) == 1:  # a loop may go further than the grid
        lengths = [max(lengths[0], *extents.scalars.values())]
    if len(lengths) == 1 and parameter.lanes == 1:
        last = parameter.name.rpartition(".")[2]
        plain = re.sub(r"\bblock(Idx|Dim)\.\w", "()", text)
        of_rows = rf"\b{re.escape(last)}\s*\[[^\]]*[A-Za-z_]\w*\s*\*\s*[A-Za-z_]\w*"
        if lengths[0] <= _MOST_OF_SIDE and re.search(of_rows, plain):
            return [*lengths, *lengths]  # `A[row * N + k]` means a matrix
    return lengths


def _one_dimension(name: str, text: str, extents: Extents) -> int:
    """How long an array is that one of several sizes bounds, or the host's grid; 0 for others."""
    sizes = {n: value for n, value in extents.scalars.items() if value > 0}
    bound = only_bound(name.rpartition(".")[2], text, sizes) if len(sizes) > 1 else ""
    grid = extents.host.grid if extents.host is not None else None
    if bound in sizes or grid is None:
        return sizes.get(bound, 0)
    return grid["xyz".index(bound[-1])] if bound else 0


def _matrix(name: str, text: str, extents: Extents) -> list[int] | None:
    """Rows and columns of a matrix by the kernel's numbers; None for no matrix."""
    scalars = extents.scalars
    sizes = [n for n, value in scalars.items() if value > 0]
    names = product_names(name, sizes) or strides(name.rpartition(".")[2], text, sizes)
    if names is None or "." in names[1]:
        return None
    rows = scalars[names[0]] if names[0] else extents.lengths[1:2]
    if not rows and len(sizes) == 1:
        rows = scalars[names[1]]
    if not rows:
        return None
    return [rows if isinstance(rows, int) else max(rows[0], 1), scalars[names[1]]]


# `reinterpret_cast<float4 *>(&` or `*(float4 *)&`: the element is read or stored as another type.
_CAST = re.compile(r"(?<!\w)(?:reinterpret_cast\s*<[^<>;]*>\s*\(|\(\s*[\w\s:]+\*\s*\)\s*\(?)\s*&\Z")
_LONGEST_CAST = 80  # characters


def _is_read(name: str, text: str) -> bool:
    """Whether the kernel reads what it was given: an element outside a plain store or a sum."""
    for found in re.finditer(rf"\b{re.escape(name)}\s*\[", text):
        at = closing(text, found.end(), "[]") + 1
        before = text[: found.start()].rstrip()[-12:]
        if _CAST.search(text, max(0, found.start() - _LONGEST_CAST), found.start()):
            after = re.sub(r"^[\s)]*(\[\w*\])?", "", text[at : at + _LONGEST_CAST])
        else:
            after = text[at : at + 4]
            if re.search(r"atomic\w*\(\s*&$|\(&$", before):
                continue
        if not re.match(r"\s*(=(?!=)|\+=|-=|\+\+)", after):
            return True
    read = rf"([=(,;{{}}+-]|return)\s*\*\s*{re.escape(name)}\s*[;)+*/-]"  # as in `sum += *name;`
    passed = rf"[(,=]\s*(?:&\s*)?{re.escape(name)}\s*(?:[,;)]|\+(?!\+))"  # to a function, a pointer
    return bool(
        re.search(read, text) or re.search(passed, re.sub(r"atomic\w*\s*\([^;]*", "", text))
    )


# Textures.


_DEFAULTS = {1: (256,), 2: (64, 64), 3: (16, 16, 16)}
_LAYERS = 4
_FETCH = r"\btex([123])D(?:fetch|Lod|Grad|gather)?(Layered)?\w*\s*<\s*([\w ]+?)\s*>\s*\("
_SURFACE = r"\bsurf([123])D(Layered)?(?:read|write)\s*(?:<\s*([\w ]+?)\s*>\s*)?\("
_ELEMENT = re.compile(r"(unsigned char|unsigned short|unsigned|u?char|u?short|u?int|float)([124])?")
_DESCRIPTION = re.compile(r"\bcudaCreateChannelDesc\s*<\s*([\w ]+?)\s*>")
_BITS = re.compile(
    r"\bcudaCreateChannelDesc\s*\(\s*(8|16|32)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*,"
    r"\s*cudaChannelFormatKind(Unsigned|Signed|Float)"
)
_MODE = re.compile(r"\baddressMode\s*\[\s*0\s*\]\s*=\s*cudaAddressMode(Clamp|Wrap|Mirror|Border)")
_VECTOR_TYPE = r"(u?(?:char|short|int)[124]?|float[124]?)"


def _guess_texture(parameter: KernelParameter, source: str, sizes: Sequence[int]) -> str:
    """The argument of a texture, as `random:uint8[64,64,4]:2d:linear`.

    `source` is the program's text, `sizes` are the extents that suggest themselves, x last.
    """
    surface = parameter.type == SURFACE
    pattern = _SURFACE if surface else _FETCH
    found = re.search(rf"{pattern}[^;()]*\b{re.escape(parameter.name)}\b", source)
    call = found or re.search(pattern, source)
    dimensions = int(call[1]) if call else 2
    layers = (_LAYERS,) if call and call[2] else ()
    told = call[3] if call else None
    if call and surface and not told:
        told = _written(source, call)
    dtype, channels = _texel(told, source, is_surface=surface)
    extents = tuple(sizes) if len(sizes) == dimensions else _DEFAULTS[dimensions]
    shape = (*layers, *extents, *((channels,) if channels > 1 else ()))
    words = [f"{len(layers) + dimensions}d"] if channels > 1 else []
    if not surface and call and "fetch" not in call[0]:
        words += _reading(source, call[3])
    return ":".join([f"random:{dtype}[{','.join(map(str, shape))}]", *words])


def _written(source: str, call: re.Match[str]) -> str | None:
    """The type of what a call of surf2Dwrite without one writes."""
    value = source[source.index("(", call.start()) + 1 :].lstrip()
    if made := re.match(rf"make_{_VECTOR_TYPE}\b", value):
        return made[1]
    name = re.match(r"[A-Za-z_]\w*", value)
    declared = rf"\b{_VECTOR_TYPE}\s+{name[0]}\b" if name else r"(?!)"
    types = re.findall(declared, source[: call.start()])
    return types[-1] if types else None


def _texel(fetched: str | None, source: str, *, is_surface: bool) -> tuple[str, int]:
    """The type of a texel's numbers, and how many there are."""
    element = _ELEMENT.fullmatch(fetched or "")
    if element and (
        is_surface or "cudaReadModeNormalizedFloat" not in source or element[1] != "float"
    ):
        return NUMBERS[element[1]], int(element[2] or 1)
    described = _DESCRIPTION.search(source)
    if described and (whole := _ELEMENT.fullmatch(described[1])):
        return NUMBERS[whole[1]], int(whole[2] or 1)
    if bits := _BITS.search(source):
        kind = {"Unsigned": "uint", "Signed": "int", "Float": "float"}[bits[4]]
        return f"{kind}{bits[1]}", 4 if int(bits[3]) else 2 if int(bits[2]) else 1
    return ("uint8" if not is_surface and element else "float32"), int(
        element[2] or 1 if element else 1
    )


def _reading(source: str, fetched: str) -> list[str]:
    """The words for filter, edges and coordinates."""
    words = []
    if re.search(r"\bfilterMode\s*=\s*cudaFilterModeLinear", source) and "float" in fetched:
        words.append("linear")
    normalized = re.search(r"\bnormalizedCoords\s*=\s*(true|1)\b", source)
    mode = _MODE.search(source)
    if mode and mode[1] != "Clamp" and (normalized or mode[1] == "Border"):
        words.append(mode[1].lower())
    return [*words, "normalized"] if normalized else words
