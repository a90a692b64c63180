"""First guesses at a launch of a kernel that nobody has described, from its source alone.

They are what a person would try: a small size, one thread for an element, random inputs, zeros
where the kernel only writes. A form shows them, to be corrected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.cuda.shared_declarations import SharedDeclaration, shared_arrays
from core.cuda.signature import SignatureParameter, kernel_names, read_signature, without_comments
from core.errors import ArgumentError, TilescopeError
from core.ladder.rules import listing
from core.launching.file_launch import FileLaunch, split_defines

LENGTHS = {1: 256, 2: 32, 3: 16}  # extent of an array along each of its dimensions
BLOCKS = {1: (64,), 2: (16, 16), 3: (8, 8, 4)}
_MOST_THREADS = 1024
_NOT_MACROS = re.compile(
    r"NULL|NAN|INFINITY|TRUE|FALSE|EOF|M_\w+|\w+_(MAX|MIN|EPSILON|DIG)|CUDART_\w+|CUDA\w*|__\w+"
)
_SMALL = re.compile(r"offset|shift|start|begin|first|base|origin|axis|seed", re.IGNORECASE)
_ONE = re.compile(r"stride|step|inc[xy]?|radius|pad(ding)?|pitch_extra", re.IGNORECASE)
_FEW = re.compile(r"iter(ation)?s?|steps|rounds|repeat(s)?|times", re.IGNORECASE)


@dataclass(frozen=True)
class _Shape:
    """How a kernel is laid out: dimensions of its grid, elements along each, a block's extents."""

    dimensions: int
    length: int
    block: tuple[int, ...]
    one_block: bool


def guess_launch(source: str, path: str, kernel: str | None = None) -> FileLaunch:
    """A launch to begin with; of the first kernel if none is named.

    Raises TilescopeError where the source has no kernel, and ArgumentError where the kernel's
    parameters cannot be read.
    """
    names = kernel_names(source)
    if not names:
        name = path.replace("\\", "/").rpartition("/")[2]
        raise TilescopeError(f"{name} has no kernel: mark a function __global__.")
    name = kernel or names[0]
    text = without_comments(source)
    dimensions = _dimensions(text)
    defines = _guess_defines(text, dimensions)
    signature = read_signature(source, name, defines)
    declared = _declarations(source, name, defines)
    shape = _shape(text, dimensions, declared)
    threads = 1
    for extent in shape.block:
        threads *= extent
    grid = [1 if shape.one_block else -(-shape.length // extent) for extent in shape.block]
    return FileLaunch(
        path=path,
        kernel=name,
        grid=",".join(map(str, grid)),
        block=",".join(map(str, shape.block)),
        shared=str(_dynamic_bytes(declared, threads)),
        defines=" ".join(f"{name}={value}" for name, value in defines.items()),
        arguments=tuple((p.name, _guess_argument(p, text, shape)) for p in signature),
    )


def refit(source: str, launch: FileLaunch) -> FileLaunch:
    """A launch for an edited source: what still applies is kept, the rest is guessed.

    Raises as `guess_launch`.
    """
    names = kernel_names(source)
    kernel = launch.kernel if launch.kernel in names else None
    guess = guess_launch(source, launch.path, kernel)
    signature = read_signature(source, guess.kernel, split_defines(guess.defines))
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
    """The launch asked for, with what it leaves empty guessed.

    Raises as `guess_launch`, and ArgumentError for a kernel or a parameter that the source has not.
    """
    names = kernel_names(source)
    if asked.kernel and asked.kernel not in names:
        raise ArgumentError(
            f"{asked.name} has no kernel {asked.kernel}: it has {listing([*names])}."
        )
    guess = guess_launch(source, asked.path, asked.kernel or None)
    given = dict(asked.arguments)
    guessed = dict(guess.arguments)
    for name in given:
        if name not in guessed:
            raise ArgumentError(
                f"{guess.kernel} has no parameter {name}: it has {listing([*guessed])}."
            )
    texts = {
        field: getattr(asked, field) or getattr(guess, field)
        for field in ("grid", "block", "shared", "defines")
    }
    return replace(guess, arguments=tuple((guessed | given).items()), **texts)


def _fits(parameter: SignatureParameter, text: str) -> bool:
    if not parameter.is_pointer:
        return "[" not in text and not text.startswith("@")
    named = re.search(r"(\w+)\[", text)
    return text.startswith("@") or (
        named is not None and (parameter.dtype is None or named[1] == parameter.dtype.name)
    )


def _dimensions(text: str) -> int:
    for dimensions, axis in ((3, "z"), (2, "y")):
        if re.search(rf"\b(threadIdx|blockIdx)\s*\.\s*{axis}\b", text):
            return dimensions
    return 1


def _guess_defines(text: str, dimensions: int) -> dict[str, str]:
    """Names in capitals that the source uses and nothing defines, as in TILE_WIDTH."""
    bare = re.sub(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", "", text)
    used = dict.fromkeys(re.findall(r"(?<![.\w])([A-Z][A-Z0-9_]+)\b(?!\s*\()", bare))
    found = {}
    for name in used:
        known = (
            rf"#\s*(define|undef|if|ifdef|ifndef|elif)\b[^\n]*\b{name}\b"
            rf"|\b(const\w*|enum|typename|class|struct|int|unsigned|size_t|float|bool|using|auto)"
            rf"\b[\s*&]*([\w ,]*?)\b{name}\b\s*[=,;){{>]"
        )
        if not _NOT_MACROS.fullmatch(name) and not re.search(known, bare):
            found[name] = str(_guess_define(name, dimensions))
    return found


def _guess_define(name: str, dimensions: int) -> int:
    if "PAD" in name or "RADIUS" in name:
        return 1
    if re.search(r"TILE|BLOCK|THREAD|WIDTH|DIM|^BS$|^TS$", name):
        return BLOCKS[dimensions][0]
    return LENGTHS[dimensions] if re.search(r"SIZE|COUNT|LEN|^N", name) else 4


def _declarations(
    source: str, kernel: str, defines: Mapping[str, str]
) -> tuple[SharedDeclaration, ...]:
    return tuple(d for d in shared_arrays(source, defines) if d.function in ("", kernel))


def _shape(text: str, dimensions: int, declared: tuple[SharedDeclaration, ...]) -> _Shape:
    block = _block_of(declared, dimensions) or _named_block(text, dimensions) or BLOCKS[dimensions]
    one_block = not re.search(r"\bblockIdx\b", text)
    length = block[0] if one_block else max(LENGTHS[dimensions], 2 * block[0])
    return _Shape(dimensions, length, block, one_block)


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


def _dynamic_bytes(declared: tuple[SharedDeclaration, ...], threads: int) -> int:
    sizes = [d.dtype.itemsize if d.dtype is not None else 4 for d in declared if d.is_extern]
    return threads * max(sizes, default=0)


def _guess_argument(parameter: SignatureParameter, text: str, shape: _Shape) -> str:
    if not parameter.is_pointer:
        return _guess_scalar(parameter, shape)
    dtype = parameter.dtype.name if parameter.dtype is not None else "float32"
    fill = "random" if parameter.is_const or _is_read(parameter.name, text) else "zeros"
    extents = [shape.length] * shape.dimensions
    lanes = re.search(r"[a-z]([234])\s*\*", parameter.type)
    if lanes:
        extents.append(int(lanes[1]))
    elif shape.dimensions == 1 and _indexed_by_rows(parameter.name, text):
        extents.append(shape.length)
    return f"{fill}:{dtype}[{','.join(map(str, extents))}]"


def _guess_scalar(parameter: SignatureParameter, shape: _Shape) -> str:
    kind = parameter.dtype.kind if parameter.dtype is not None else "i"
    if kind == "f":
        return "2.0"
    if kind == "b":
        return "1"
    for pattern, value in ((_SMALL, 0), (_ONE, 1), (_FEW, 4)):
        if pattern.fullmatch(parameter.name):
            return str(value)
    return str(min(shape.length, 127) if parameter.dtype and parameter.dtype.itemsize == 1
               else shape.length)  # fmt: skip


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
    return bool(re.search(read, text))


def _indexed_by_rows(name: str, text: str) -> bool:
    """`A[row * N + k]` in a kernel of one dimension means a matrix."""
    return bool(re.search(rf"\b{re.escape(name)}\s*\[[^\]]*\w\s*\*\s*[A-Za-z_]\w*", text))
