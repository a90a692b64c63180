"""A kernel's arguments from texts: `A=float32[64,64]`, `N=64`, `C=zeros:int32[8]`, `B=@b.npy`.

Types come from the kernel's own signature, so that a scalar has exactly the type that the kernel
takes and a buffer that does not fit its pointer is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from core.errors import ArgumentError
from core.ladder.input_arrays import MAKERS, Maker, filled, poisoned
from core.launch import (
    MAX_ARRAY_BYTES,
    Argument,
    ArrayArgument,
    InlineArgument,
    Member,
    Role,
    ScalarArgument,
    Texture,
    TextureMode,
)
from core.tensor_maps import BYTES, TensorMap, kind_of
from core.user_files.sources_and_headers import load_array
from core.wording import listing

if TYPE_CHECKING:
    from core.compiler.kernel_parameters import KernelParameter

# An array from its text: what it is filled with, its type and its shape, or the file it lies in.
#
# `float32[64,64]` (random), `zeros:int32[8]`, `@b.npy`; `zeros:int32[64]:16` where the host has set
# no more than the first 16 elements; `float32[72]+4` where the kernel gets a pointer to element 4.


DTYPES = [
    *("float16", "float32", "float64", "bool"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
]
_MOST_AXES = 16  # of an array
_BFLOAT16 = "bfloat16"
_BUFFER = re.compile(
    r"(?:(?P<fill>\w+):)?(?P<dtype>[A-Za-z]\w*)\[(?P<shape>[^\]]*)\]"
    r"(?:\+(?P<start>\d{1,15}))?(?::(?P<written>\d{1,15}))?"
)
FILLS: Mapping[str, Maker] = {
    **dict[str, Maker](MAKERS.items()),
    "zeros": lambda _, dtype, shape: np.zeros(shape, dtype),
    "ff": lambda _, dtype, shape: (
        filled(np.uint8, (math.prod(shape) * dtype.itemsize,), lambda start, end: 0xFF)
        .view(dtype)
        .reshape(shape)
    ),
    "ones": lambda _, dtype, shape: filled(dtype, shape, lambda start, end: 1),
    "range": lambda _, dtype, shape: filled(dtype, shape, np.arange),
    "index": lambda generator, dtype, shape: filled(
        dtype, shape, lambda start, end: generator.integers(0, shape[0], end - start)
    ),
    "permutation": lambda generator, dtype, shape: (
        generator.permutation(math.prod(shape)).astype(dtype).reshape(shape)
    ),
    "letters": lambda generator, dtype, shape: filled(
        dtype, shape, lambda start, end: generator.integers(ord("a"), ord("z") + 1, end - start)
    ),
    "poison": lambda _, dtype, shape: poisoned(dtype, shape),
}
"""What an array may hold before the launch, by name."""


def _make_buffer(
    parameter: KernelParameter, value: str, generator: np.random.Generator, room: int
) -> NDArray[Any]:
    """The array of a parameter from its text, of at most `room` bytes; or ArgumentError.

    Its type must be the one that the kernel's pointer has, where it has one.
    """
    if value.startswith("@"):
        data = _load(Path(value[1:]), room)
    elif match := _BUFFER.fullmatch(value):
        data = _make(match, value, generator, room)
    else:
        raise ArgumentError(
            f"{parameter.name} is a pointer ({parameter.type}) and `{value}` is not a buffer: "
            f"write {parameter.name}=float32[64,64], zeros:float32[64] or @file.npy."
        )
    if parameter.dtype is not None and data.dtype != parameter.dtype:
        raise ArgumentError(
            f"{parameter.name} is {parameter.type} in the kernel, which is {parameter.dtype}, "
            f"but the buffer is {data.dtype}: make them agree."
        )
    return data


def _make(
    match: re.Match[str], value: str, generator: np.random.Generator, room: int
) -> NDArray[Any]:
    fill, dtype = match["fill"] or "random", match["dtype"]
    if fill not in FILLS:
        raise ArgumentError(f"`{value}`: {fill} is none of {listing(list(FILLS), 'or')}.")
    if dtype not in (*DTYPES, _BFLOAT16):
        raise ArgumentError(f"`{value}`: {dtype} is none of {listing(DTYPES, 'or')}.")
    sizes = [size.strip() for size in match["shape"].split(",")]
    if not all(re.fullmatch(r"0*[1-9][0-9]{0,14}", size) for size in sizes):
        raise ArgumentError(f"`{value}`: a shape is whole numbers above 0, such as [64,64].")
    if len(sizes) > _MOST_AXES:
        raise ArgumentError(f"`{value}`: a shape has at most {_MOST_AXES} numbers.")
    shape = tuple(int(size) for size in sizes)
    kind = np.dtype("float32" if dtype == _BFLOAT16 else dtype)
    count = kind.itemsize
    for size in shape:
        count *= size
    _check_room(value, count, room)
    made = FILLS[fill](generator, kind, shape)
    return _as_bfloat16(made) if dtype == _BFLOAT16 else made


def _check_room(value: str, count: int, room: int) -> None:
    if count > room:
        others = ", with the arrays before it," if room < MAX_ARRAY_BYTES else ""
        whole = (count + MAX_ARRAY_BYTES - room) / 1e9
        said = f"{whole:.1f}" if whole < 1e6 else f"{whole:.1e}"
        raise ArgumentError(
            f"`{value}` takes{others} {said} GB: at most {MAX_ARRAY_BYTES / 1e9:.0f} GB work."
        )


def _as_bfloat16(values: NDArray[Any]) -> NDArray[Any]:
    """The bits of bfloat16 numbers, rounded to nearest even: NumPy has no such type."""

    def rounded(start: int, end: int) -> NDArray[Any]:
        bits = flat[start:end]
        return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16

    flat = values.astype(np.float32, copy=False).reshape(-1).view(np.uint32)
    return filled(np.uint16, values.shape, rounded)


def _load(path: Path, room: int) -> NDArray[Any]:
    data = load_array(path)
    _check_room(f"@{path}", data.nbytes, room)
    if data.size == 0 or data.dtype.name not in DTYPES:
        raise ArgumentError(f"{path} does not hold one array of numbers with something in it.")
    return data


# A texture is an array and how it is read: `random:uint8[64,64,4]:2d:linear:wrap:normalized`.


_MODES = get_args(TextureMode)
_DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3}
_TEXTURE_WORDS = (*_DIMENSIONS, "linear", "point", *_MODES, "normalized")
_TEXTURE = re.compile(rf"(?P<buffer>.*?)(?P<words>(?::(?:{'|'.join(_TEXTURE_WORDS)}))*)")
_CHANNELS = (1, 2, 4)


def _texture(value: str) -> tuple[str, Texture]:
    """An array's text, and how the texture in it is read; of 0 dimensions where it does not say."""
    match = _TEXTURE.fullmatch(value)
    assert match is not None  # it matches every line
    words = match["words"].split(":")
    return match["buffer"], Texture(
        next((_DIMENSIONS[word] for word in words if word in _DIMENSIONS), 0),
        "linear" in words,
        next((mode for mode in _MODES if mode in words), "clamp"),
        "normalized" in words,
    )


def _check_texture(
    parameter: KernelParameter, value: str, data: NDArray[Any], texture: Texture
) -> None:
    rest = data.shape[texture.dimensions :]
    if data.ndim < texture.dimensions or len(rest) > 1 or (rest and rest[0] not in _CHANNELS):
        raise ArgumentError(
            f"`{value}`: {parameter.name} is a texture: write its sizes, x last, and behind them "
            "its channels (1, 2 or 4) and its dimensions, such as uint8[64,64,4]:2d."
        )


_NULL = ("null", "nullptr", "none")


def divided(
    signature: Sequence[KernelParameter], arguments: Sequence[Argument]
) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    """The kernel's arguments, and what goes into variables of the source."""
    symbols = {parameter.name for parameter in signature if parameter.is_symbol}
    return (
        tuple(a for a in arguments if a.name not in symbols),
        tuple(a for a in arguments if a.name in symbols),
    )


def array_bytes(argument: Argument) -> int:
    """The bytes of an argument that is an array, otherwise 0."""
    return argument.data.nbytes if isinstance(argument, ArrayArgument) else 0


def make_argument(
    parameter: KernelParameter,
    value: str,
    generator: np.random.Generator,
    room: int = MAX_ARRAY_BYTES,
) -> Argument:
    """One argument from its text: `zeros:float32[64,64]`, `@a.npy`, `128`; or ArgumentError.

    `room` is how many bytes the launch's arrays may still take.
    """
    member = (
        Member(parameter.whole, parameter.offset, parameter.whole_bytes, parameter.whole_align)
        if parameter.whole
        else None
    )
    if (parameter.is_tensor_map and member is not None) or _may_map(parameter, value):
        return _mapped(parameter, value, generator, room, member)
    if parameter.is_pointer:
        if value.strip().lower() in _NULL:
            return ScalarArgument(parameter.name, np.uint64(0), member)
        if parameter.leads_to_pointers:
            return _of_pointers(parameter, value, generator, room, member)
        role: Role = "input" if parameter.is_const else "inout"
        if parameter.is_texture:
            buffer, texture = _texture(value)
            data = _make_buffer(parameter, buffer, generator, room)
            texture = replace(texture, dimensions=texture.dimensions or min(data.ndim, 3))
            _check_texture(parameter, value, data, texture)
            return ArrayArgument(parameter.name, data, role, member, texture=texture)
        data = _make_buffer(parameter, value, generator, room)
        made = _BUFFER.fullmatch(value)
        start = int((made and made["start"]) or 0)
        if start >= data.size:
            raise ArgumentError(f"`{value}`: element {start} lies beyond the array.")
        if made is None or made["written"] is None:
            own = value.startswith("@")
            return ArrayArgument(parameter.name, data, role, member, start=start, is_own=own)
        front = min(int(made["written"]), data.size)
        rest = poisoned(data.dtype, (data.size - front,))
        data = np.concatenate([data.reshape(-1)[:front], rest]).reshape(data.shape)
        written = front * data.dtype.itemsize
        return ArrayArgument(parameter.name, data, role, member, written, start=start)
    if parameter.count > 1 and member is not None:
        return InlineArgument(parameter.name, _inline(parameter, value, generator), member)
    if value.startswith("@") or "[" in value:
        raise ArgumentError(
            f"{parameter.name} is a scalar ({parameter.type}), not a buffer: "
            f"write {parameter.name}=128 or the like."
        )
    return ScalarArgument(parameter.name, _scalar(parameter, value), member)


# Pointers to the rows of a buffer: `pointers(float32[4,1024])` are four.
_POINTERS = re.compile(r"pointers\((.*)\)")


def _of_pointers(
    parameter: KernelParameter,
    value: str,
    generator: np.random.Generator,
    room: int,
    member: Member | None,
) -> ArrayArgument:
    """The buffer to whose rows pointers lead that lie in global memory; or ArgumentError."""
    match = _POINTERS.fullmatch(value.strip())
    if match is None:
        raise ArgumentError(
            f"{parameter.name} is {parameter.type}, a pointer to pointers, and `{value}` is no row "
            f"of them: write {parameter.name}=pointers(float32[4,1024]) for four pointers, each to "
            "1,024 numbers."
        )
    data = _make_buffer(parameter, match[1].strip(), generator, room)
    role: Role = "input" if parameter.is_const else "inout"
    return ArrayArgument(parameter.name, data, role, member, pointers=data.shape[0])


# A tensor map of a buffer: `tensormap(float16[256,128], box=64x128, swizzle=128B)`, whose box has
# the innermost dimension first, as `cuTensorMapEncodeTiled` takes it. Its dimensions are those
# of the buffer, unless there are `sizes` (in elements) and `strides` (in bytes, the innermost has
# none), in the same order.
_MAP = re.compile(r"tensormap\(\s*(?P<buffer>@[^,]+|[^()]*?\])\s*,(?P<options>[^()]*)\)")
MAP_EXAMPLE = "tensormap(float16[256,128], box=64x128, swizzle=128B)"
_MAP_LISTS = ("box", "steps", "sizes", "strides")
_LIST = re.compile(r"\d{1,12}(x\d{1,12})*")


def _may_map(parameter: KernelParameter, value: str) -> bool:
    """Whether a pointer is to lead to a tensor map."""
    nbytes = parameter.dtype.itemsize * parameter.lanes if parameter.dtype is not None else BYTES
    return parameter.is_pointer and nbytes == BYTES and value.strip().startswith("tensormap(")


def _mapped(
    parameter: KernelParameter,
    value: str,
    generator: np.random.Generator,
    room: int,
    member: Member | None,
) -> ArrayArgument:
    """The buffer of a tensor map, and the map; or ArgumentError."""
    match = _MAP.fullmatch(value.strip())
    wrong = ArgumentError(
        f"{parameter.name} is a tensor map, and `{value}` is none: write {parameter.name}="
        f"{MAP_EXAMPLE}; the box has the innermost dimension first."
    )
    if match is None:
        raise wrong
    options = {
        name.strip(): text.strip()
        for name, _, text in (option.partition("=") for option in match["options"].split(","))
    }
    if "box" not in options or not options.keys() <= {"swizzle", *_MAP_LISTS}:
        raise wrong
    swizzle = re.fullmatch(r"none|(\d{1,3})B?", options.pop("swizzle", "none"))
    if not all(map(_LIST.fullmatch, options.values())) or swizzle is None:
        raise wrong
    lists = {name: [int(part) for part in text.split("x")] for name, text in options.items()}
    data = _make_buffer(replace(parameter, dtype=None, lanes=1), match["buffer"], generator, room)
    made = TensorMap.of_array(
        lists.get("sizes", [])[::-1] or data.shape,
        data.itemsize,
        lists["box"],
        int(swizzle[1] or 0),
        lists.get("steps", ()),
        lists.get("strides", ()),
        "bf16" if _BFLOAT16 in match["buffer"] else kind_of(data.dtype),
    )
    if made.extent_in_memory > data.nbytes:
        raise ArgumentError(
            f"`{value}`: the map of {parameter.name} spans {made.extent_in_memory:,} bytes, and "
            f"the buffer has {data.nbytes:,}: make them agree."
        )
    return ArrayArgument(
        parameter.name, data, "inout", member, map=made, map_is_stored=parameter.is_pointer
    )


def _inline(parameter: KernelParameter, value: str, generator: np.random.Generator) -> NDArray[Any]:
    """The numbers of an array of fixed size; a list of them may be typed: `1,2,1`."""
    if re.fullmatch(r"[-+.\deEx,\s]+", value):
        one = replace(parameter, count=1)
        parts = [part for part in re.split(r"[,\s]+", value) if part]
        data = np.array([_scalar(one, part) for part in parts], parameter.dtype)
    else:
        data = _make_buffer(parameter, value, generator, MAX_ARRAY_BYTES)
    if data.size != parameter.count:
        raise ArgumentError(
            f"{parameter.name} is {parameter.type}: it takes {parameter.count} numbers, "
            f"not {data.size}."
        )
    return data


def by_name(texts: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` texts by name; a member of a structure is `A.width`. Raises ArgumentError."""
    given: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", name) or not value:
            raise ArgumentError(
                f"`--arg {text}` is not NAME=VALUE: write N=128, A=float32[64,64] or A=@a.npy."
            )
        if name in given:
            raise ArgumentError(f"The argument {name} is given twice.")
        given[name] = value
    return given


def _scalar(parameter: KernelParameter, text: str) -> np.generic:
    dtype = parameter.dtype
    assert dtype is not None  # only pointers go without
    wrong = ArgumentError(
        f"{parameter.name} is {parameter.type}, and `{text}` is not a value of it."
    )
    if dtype.kind == "b":
        if text.lower() not in ("0", "1", "false", "true"):
            raise wrong
        return np.bool_(text.lower() in ("1", "true"))
    try:
        if dtype.kind == "f":
            return _as(dtype, float(text))
        number = int(text, 0)
    except ValueError:
        raise wrong from None
    limits = np.iinfo(dtype)
    if not limits.min <= number <= limits.max:
        raise ArgumentError(
            f"{parameter.name} is {parameter.type}: {number} is outside "
            f"{limits.min} to {limits.max}."
        )
    return _as(dtype, number)


def _as(dtype: np.dtype[Any], value: float) -> np.generic:
    with np.errstate(over="ignore"):
        scalar: np.generic = dtype.type(value)
    return scalar
