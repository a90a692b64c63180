"""How a kernel that nobody launches is laid out: its dimensions, its block, its macros.

Read off the indices that it uses, its shared arrays and its names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from core.cuda.instances import split_instance
from core.cuda.shared_declarations import SharedDeclaration, shared_arrays

LENGTHS = {1: 256, 2: 32, 3: 16}  # extent of an array along each of its dimensions
BLOCKS = {1: (64,), 2: (16, 16), 3: (8, 8, 4)}
_MOST_THREADS = 1024
_NOT_MACROS = re.compile(
    r"NULL|NAN|INFINITY|TRUE|FALSE|EOF|M_\w+|\w+_(MAX|MIN|EPSILON|DIG)|CUDART_\w+|CUDA\w*|__\w+"
)


@dataclass(frozen=True)
class Shape:
    """How a kernel is laid out: dimensions of its grid, elements along each, a block's extents."""

    dimensions: int
    length: int
    block: tuple[int, ...]
    one_block: bool


def dimensions_of(text: str) -> int:
    """The dimensions of the grid whose indices a kernel's body uses, 1 to 3."""
    for dimensions, axis in ((3, "z"), (2, "y")):
        if re.search(rf"\b(threadIdx|blockIdx)\s*\.\s*{axis}\b", text):
            return dimensions
    return 1


def guess_defines(text: str, dimensions: int) -> dict[str, str]:
    """Names in capitals that the source uses and nothing defines, as in TILE_WIDTH."""
    bare = re.sub(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", "", text)
    used = dict.fromkeys(re.findall(r"(?<![.\w])([A-Z][A-Z0-9_]+)\b(?!\s*\()", bare))
    enumerators = set(re.findall(r"\w+", " ".join(re.findall(r"\benum\b[^{;]*\{([^}]*)\}", bare))))
    found = {}
    for name in used:
        known = (
            rf"#\s*(define|undef|if|ifdef|ifndef|elif)\b[^\n]*\b{name}\b"
            rf"|\b(const\w*|enum|typename|class|struct|int|unsigned|size_t|float|bool|using|auto)"
            rf"\b[\s*&]*([\w ,]*?)\b{name}\b\s*[=,;){{>]"
        )
        is_known = name in enumerators or re.search(known, bare)
        if not _NOT_MACROS.fullmatch(name) and not is_known:
            found[name] = str(_guess_define(name, dimensions))
    return found


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


def shape_of(text: str, dimensions: int, declared: tuple[SharedDeclaration, ...]) -> Shape:
    """How a kernel with that body and those shared arrays may be laid out."""
    block = _block_of(declared, dimensions) or _named_block(text, dimensions) or BLOCKS[dimensions]
    one_block = not re.search(r"\b(blockIdx|this_grid|grid_group)\b", text)
    length = block[0] if one_block else max(LENGTHS[dimensions], 2 * block[0])
    return Shape(dimensions, length, block, one_block)


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
