"""First guesses at a launch of a kernel that nobody has described, from its source alone.

They are what a person would try: a small size, one thread for an element, random inputs, zeros
where the kernel only writes. A form shows them, to be corrected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from core.cuda.host_code import without_host_code
from core.cuda.instances import split_instance
from core.cuda.kernel_text import kernels, without_comments
from core.cuda.shared_declarations import SharedDeclaration, shared_arrays
from core.cuda.signature import (
    SignatureParameter,
    kernel_names,
    read_signature,
    type_sizes,
)
from core.errors import ArgumentError, TilescopeError
from core.ladder.rules import listing
from core.launching.argument_guess import (
    Extents,
    guess_array,
    guess_scalar,
    is_size,
    named_axis,
    with_names,
)
from core.launching.axes import bounded_axes
from core.launching.file_launch import FileLaunch, split_defines
from core.launching.host_expressions import Number
from core.launching.host_guess import host_guess
from core.launching.local_headers import local_headers

LENGTHS = {1: 256, 2: 32, 3: 16}  # extent of an array along each of its dimensions
BLOCKS = {1: (64,), 2: (16, 16), 3: (8, 8, 4)}
_MOST_THREADS = 1024
_NOTHING: Mapping[str, str] = MappingProxyType({})
_NOT_MACROS = re.compile(
    r"NULL|NAN|INFINITY|TRUE|FALSE|EOF|M_\w+|\w+_(MAX|MIN|EPSILON|DIG)|CUDART_\w+|CUDA\w*|__\w+"
)


@dataclass(frozen=True)
class _Shape:
    """How a kernel is laid out: dimensions of its grid, elements along each, a block's extents."""

    dimensions: int
    length: int
    block: tuple[int, ...]
    one_block: bool


def guess_launch(
    source: str, path: str, kernel: str | None = None, given: Mapping[str, str] = _NOTHING
) -> FileLaunch:
    """A launch to begin with; of the first kernel if none is named.

    Numbers that are `given` for parameters stay, and decide about sizes, arrays and the grid.
    Where the source launches the kernel itself its sizes are taken, halved until they are small.
    Raises TilescopeError where the source has no kernel, and ArgumentError where the kernel's
    parameters cannot be read.
    """
    names = kernel_names(source)
    headers = local_headers(source, path)
    if not names:
        raise TilescopeError(_no_kernel(path, headers))
    name = instance_of(kernel, names) if kernel else names[0]
    device = without_comments(without_host_code(source))
    text = _body(source, name) or device
    dimensions = _dimensions(text)
    known = "\n".join(headers.values())
    defines = {
        macro: value
        for macro, value in _guess_defines(device, dimensions).items()
        if not re.search(rf"\b{macro}\b", known)
    }
    before = "\n".join(headers.values())
    signature = read_signature(source, name, defines, before)
    declared = _declarations(source, name, defines)
    shape = _shape(text, dimensions, declared)
    whole = f"{before}\n{source}" if before else source
    numbers = _numbers(signature, given)
    host = host_guess(whole, name, signature, defines, type_sizes(whole, defines), numbers)
    block = _trimmed(host.block, dimensions) if host else shape.block
    threads = math.prod(block)
    lengths = _lengths(shape, signature, text, numbers)
    grid = [1 if shape.one_block else -(-n // b) for n, b in zip(lengths, block, strict=False)]
    if host is not None and host.grid is not None:
        grid = list(_trimmed(host.grid, dimensions))
    if host is not None:
        lengths = tuple(b * g for b, g in zip(block, grid, strict=False))
    extents = with_names(Extents(lengths, host), signature, text)
    usual = extents if host else replace(extents, lengths=(shape.length,) * dimensions)
    shared = _dynamic_bytes(declared, threads)
    return FileLaunch(
        path=path,
        kernel=name,
        grid=",".join(map(str, grid)),
        block=",".join(map(str, block)),
        shared=str(host.shared if host and host.shared else shared),
        defines=" ".join(f"{name}={value}" for name, value in defines.items()),
        arguments=tuple(_arguments(signature, text, extents, usual, numbers)),
    )


def _no_kernel(path: str, headers: Mapping[str, str]) -> str:
    name = path.replace("\\", "/").rpartition("/")[2]
    with_some = [header for header, text in headers.items() if kernel_names(text)]
    if with_some:
        return (
            f"{name} has no kernel of its own: open {listing(with_some, 'or')}, which it includes."
        )
    return f"{name} has no kernel: mark a function __global__."


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
    shape: _Shape,
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
    names = kernel_names(source)
    there = {name.partition("<")[0] for name in names}
    kernel = launch.kernel if launch.kernel.partition("<")[0] in there else None
    guess = guess_launch(source, launch.path, kernel)
    before = "\n".join(local_headers(source, launch.path).values())
    signature = read_signature(source, guess.kernel, split_defines(guess.defines), before)
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
    kernel = instance_of(asked.kernel, names)
    if kernel and kernel.partition("<")[0].rpartition("::")[2] not in {
        name.partition("<")[0] for name in names
    }:
        raise ArgumentError(
            f"{asked.name} has no kernel {asked.kernel}: it has {listing([*names])}."
        )
    given = dict(asked.arguments)
    guess = guess_launch(source, asked.path, kernel or None, given)
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
    if parameter.is_pointer and text.strip() == "null":
        return True
    if not parameter.is_array:
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


def _declarations(
    source: str, kernel: str, defines: Mapping[str, str]
) -> tuple[SharedDeclaration, ...]:
    plain = split_instance(kernel)[0].rpartition("::")[2]
    return tuple(d for d in shared_arrays(source, defines) if d.function in ("", plain))


def _shape(text: str, dimensions: int, declared: tuple[SharedDeclaration, ...]) -> _Shape:
    block = _block_of(declared, dimensions) or _named_block(text, dimensions) or BLOCKS[dimensions]
    one_block = not re.search(r"\b(blockIdx|this_grid|grid_group)\b", text)
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
