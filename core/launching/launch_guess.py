"""First guesses at a launch of a kernel that nobody has described, from its source alone.

They are what a person would try: a small size, one thread for an element, random inputs, zeros
where the kernel only writes. A form shows them, to be corrected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from core.cuda.host_code import without_host_code
from core.cuda.instances import split_instance
from core.cuda.kernel_text import kernels, without_comments
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
from core.launching.index_reach import reach
from core.launching.local_headers import local_headers
from core.launching.shape_guess import (
    Shape,
    declarations,
    dimensions_of,
    dynamic_bytes,
    guess_defines,
    shape_of,
)

_NOTHING: Mapping[str, str] = MappingProxyType({})


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
    dimensions = dimensions_of(text)
    known = "\n".join(headers.values())
    defines = {
        macro: value
        for macro, value in guess_defines(device, dimensions).items()
        if not re.search(rf"\b{macro}\b", known)
    }
    before = "\n".join(headers.values())
    signature = read_signature(source, name, defines, before)
    declared = declarations(source, name, defines)
    shape = shape_of(text, dimensions, declared)
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
    shared = dynamic_bytes(declared, threads)
    arguments = dict(_arguments(signature, text, extents, usual, numbers))
    if host is None and not any(is_size(p) for p in signature):
        arguments = {n: _reaching(n, given, text, grid, block) for n, given in arguments.items()}
    return FileLaunch(
        path=path,
        kernel=name,
        grid=",".join(map(str, grid)),
        block=",".join(map(str, block)),
        shared=str(host.shared if host and host.shared else shared),
        defines=" ".join(f"{name}={value}" for name, value in defines.items()),
        arguments=tuple(arguments.items()),
    )


def _reaching(name: str, given: str, text: str, grid: Sequence[int], block: Sequence[int]) -> str:
    """An argument's text, the array as long as its indices go where that is evident."""
    one = re.fullmatch(r"(\w+:\w+)\[(\d+)\]", given)
    far = reach(name, text, grid, block) if one else None
    if one is None or far is None or far <= int(one[2]):
        return given
    return f"{one[1]}[{far}]"


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
