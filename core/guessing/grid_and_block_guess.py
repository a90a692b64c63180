"""How a kernel that nobody launches is laid out: its dimensions, its block, its shared memory.

Read off the indices that it uses, its shared arrays and its names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from core.launch import MAX_STATIC_SHARED, MAX_THREADS_PER_BLOCK, WARP
from core.source.constants import evaluate, read_constants
from core.source.index_expressions import INDEX, local_values
from core.source.kernels_and_launches import kernel_called, split_instance, unscoped
from core.source.shared_arrays import SharedDeclaration, shared_arrays

LENGTHS = {1: 256, 2: 32, 3: 16}  # extent of an array along each of its dimensions
BLOCKS = {1: (64,), 2: (16, 16), 3: (8, 8, 4)}
_THREADS = re.compile(r"n(um)?_?threads(_?per_?block)?", re.IGNORECASE)
_THREADED = re.compile(r"Idx\b|Dim\b|thread|lane|warp|%tid|asm|#\s*include\s*\"", re.IGNORECASE)
"""What a source has in which threads differ, or may; without it one thread does all the work."""
_ALONE = 8  # the length of what one thread goes through
_BLOCKS_ALONG = 4  # where a dimension of the grid has none of the block


@dataclass(frozen=True)
class Shape:
    """How a kernel is laid out: dimensions of its grid, elements along each, a block's extents.

    `apart` are the elements from one block to the next where that is not the block's extent: a
    block of 32 x 8 threads may go over a tile of 32 x 32.
    """

    lengths: tuple[int, ...]
    block: tuple[int, ...]
    one_block: bool
    apart: tuple[int, ...] = ()

    @property
    def dimensions(self) -> int:
        """Of the grid."""
        return len(self.lengths)


def dimensions_of(text: str) -> int:
    """The dimensions of the grid whose indices a kernel's body uses, 1 to 3."""
    for dimensions, axis in ((3, "z"), (2, "y")):
        if re.search(rf"\b(threadIdx|blockIdx)\s*\.\s*{axis}\b", text):
            return dimensions
    return 1


def _threaded(text: str, dimensions: int) -> int:
    """The dimensions of the block whose indices the body uses; all where it uses none itself."""
    axes = re.findall(r"\b(?:threadIdx|blockDim)\s*\.\s*([xyz])\b", text)
    return min(dimensions, "xyz".index(max(axes)) + 1) if axes else dimensions


def shared_arrays_of(
    source: str, kernel: str, defines: Mapping[str, str]
) -> tuple[SharedDeclaration, ...]:
    """The shared arrays that a kernel declares, or that stand outside all functions."""
    own = ("", unscoped(kernel))
    return tuple(d for d in shared_arrays(source, defines) if d.function in own)


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
    threaded = _threaded(text, dimensions)
    apart = _apart(text, threaded, value)
    tile = _tile_of_blocks(text, dimensions, value) if dimensions > threaded == 1 else ()
    block = (
        given
        or (_block_of(declared, threaded) if apart and _has_border(text) else None)
        or (apart and _in_tile(apart, text, value))
        or (_threads_said(text, value) if threaded == 1 else None)
        or _block_of(declared, threaded)
        or BLOCKS[threaded]
    )
    block = (*block, 1, 1)[:dimensions]
    one_block = not re.search(r"\b(blockIdx|this_grid|grid_group)\b", text)
    blocks = 2 if threaded == dimensions else 1  # along a dimension: there are more along others
    extent = max(LENGTHS[dimensions], blocks * max((*block, *apart)))
    length = (block[0] if block != (1,) else _ALONE) if one_block else extent
    along = _BLOCKS_ALONG if threaded < dimensions and not one_block else length
    lengths = (length,) * threaded + (along,) * (dimensions - threaded)
    if tile:
        lengths, apart = tuple(2 * side for side in tile), tile
    return Shape(lengths, block, one_block, apart)


def _tile_of_blocks(
    text: str, dimensions: int, value: Callable[[str], int | None]
) -> tuple[int, ...]:
    """The tile of each block where its threads stand in one row: `A += blockIdx.y * BM * K`.

    () unless a constant multiplies the block's index along every dimension.
    """
    plain = _with_plain_indices(text)
    found: list[int] = []
    for axis in "xyz"[:dimensions]:
        sides = re.findall(rf"\bblockIdx_{axis}\s*\*\s*(\w+)", plain)
        sides += re.findall(rf"\b(\w+)\s*\*\s*blockIdx_{axis}\b", plain)
        known = {side for name in sides if (side := value(name)) is not None and side > 1}
        if len(known) != 1:
            return ()
        found += known
    return tuple(found)


def _with_plain_indices(text: str) -> str:
    """A text with `blockIdx_x` for `blockIdx.x`, and for the variables that are no more than it."""
    plain = INDEX.sub(r"\1_\2", text)
    for name, whole in local_values(plain).items():
        if re.fullmatch(r"(blockIdx|threadIdx)_[xyz]", whole):
            plain = re.sub(rf"\b{name}\b", whole, plain)
    return plain


def _apart(text: str, dimensions: int, value: Callable[[str], int | None]) -> tuple[int, ...]:
    """How far blocks lie apart in `blockIdx.x * TILE + threadIdx.x`; () where nothing says."""
    plain = _with_plain_indices(text)
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


def _has_border(text: str) -> bool:
    """Whether a block covers a border around its tile, too: `… + threadIdx.x - RADIUS`."""
    return re.search(r"\bthreadIdx_x\s*-\s*\w", _with_plain_indices(text)) is not None


def _in_tile(
    tile: tuple[int, ...], text: str, value: Callable[[str], int | None]
) -> tuple[int, ...]:
    """The block that goes over a tile: as large, or as high as the steps of a loop (`y += ROWS`).

    () where that is not a block.
    """
    block = list(tile)
    for step in re.findall(r"\+=\s*(\w+)\s*\)", text) if len(tile) > 1 else ():
        rows = value(step)
        if rows and 0 < rows < block[1] and block[1] % rows == 0:
            block[1] = rows
    return tuple(block) if 1 < math.prod(block) <= MAX_THREADS_PER_BLOCK else ()


def _block_of(declared: tuple[SharedDeclaration, ...], dimensions: int) -> tuple[int, ...] | None:
    """A shared array is often as large as the block, with a column or a border more."""
    for declaration in declared:
        dims = declaration.dims
        if dims is None or declaration.is_extern or len(dims) != dimensions:
            continue
        if dimensions == 1 and 1 < dims[0] <= MAX_THREADS_PER_BLOCK:
            whole = dims[0] // WARP * WARP
            return (whole or dims[0],)
        if dimensions == 2:
            width = dims[0] if dims[1] == dims[0] + 1 else dims[1]
            if 1 < width * dims[0] <= MAX_THREADS_PER_BLOCK:
                return (width, dims[0])
    return None


def _threads_said(text: str, value: Callable[[str], int | None]) -> tuple[int] | None:
    """The block that a constant speaks of: `const int nThreads = (BM / TM) * (BN / TN)`."""
    own = local_values(text)
    named = (name for name in re.findall(r"[A-Za-z_]\w*", text) if _THREADS.fullmatch(name))
    for name in dict.fromkeys(named):
        threads = value(own.get(name, name))
        if threads and 1 < threads <= MAX_THREADS_PER_BLOCK:
            return (threads,)
    return None


def dynamic_bytes(declared: tuple[SharedDeclaration, ...], threads: int) -> int:
    """Bytes of dynamic shared memory: an element for each thread of a block."""
    sizes = [d.dtype.itemsize if d.dtype is not None else 4 for d in declared if d.is_extern]
    return threads * max(sizes, default=0)


def laid_out(
    source: str,
    name: str,
    guesses: dict[str, str],
    text: str,
    given: Mapping[str, str],
    dimensions: int,
    block: tuple[int, ...],
) -> tuple[Shape, Mapping[str, str]]:
    """The layout of a kernel, and its macros: smaller ones where shared memory would not do."""
    declared = kernel_called(source, name)
    formals = [p.name for p in declared.template] if declared is not None else []
    bound = dict(zip(formals, split_instance(name)[1], strict=False))
    while True:
        defines = {**guesses, **given}
        arrays = shared_arrays_of(source, name, {**defines, **bound})
        large = [
            m for m in guesses if m not in given and guesses[m].isdecimal() and int(guesses[m]) > 1
        ]
        if _static_bytes(arrays) <= MAX_STATIC_SHARED or not large:
            break
        top = max(large, key=lambda macro: int(guesses[macro]))
        guesses[top] = str(int(guesses[top]) // 2)
    constants = read_constants(source, {**defines, **bound})

    def value(word: str) -> int | None:
        return evaluate(constants.expanded(word), constants.constants_in(""))

    alone = (1,) if dimensions == 1 and not _THREADED.search(source) else ()
    return shape_of(text, dimensions, arrays, value, block or alone), defines


def _static_bytes(declared: tuple[SharedDeclaration, ...]) -> int:
    """Bytes of the shared arrays of fixed size, as far as these are known."""
    return sum(
        math.prod(d.dims) * (d.dtype.itemsize if d.dtype is not None else 4) * d.lanes
        for d in declared
        if d.dims is not None and not d.is_extern
    )
