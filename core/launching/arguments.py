"""A kernel's arguments from texts: `A=float32[64,64]`, `N=64`, `C=zeros:int32[8]`, `B=@b.npy`.

Types come from the kernel's own signature, so that a scalar has exactly the type that the kernel
takes and a buffer that does not fit its pointer is refused.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.cuda.signature import SignatureParameter
from core.errors import ArgumentError
from core.ladder.limits import MAX_ARRAY_BYTES
from core.ladder.rules import listing
from core.launch import Argument, ArrayArgument, InlineArgument, Member, Role, ScalarArgument
from core.launching.buffers import make_buffer

_NULL = ("null", "nullptr", "none")


def divided(
    signature: Sequence[SignatureParameter], arguments: Sequence[Argument]
) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    """The kernel's arguments, and what goes into variables of the source."""
    symbols = {parameter.name for parameter in signature if parameter.is_symbol}
    return (
        tuple(a for a in arguments if a.name not in symbols),
        tuple(a for a in arguments if a.name in symbols),
    )


def bind(
    kernel: str, signature: Sequence[SignatureParameter], texts: Sequence[str], seed: int
) -> tuple[Argument, ...]:
    """The launch's arguments from `NAME=VALUE` texts, in the order of the signature.

    Random buffers depend on `seed` and the signature only, not on the order of the texts.
    """
    given = by_name(texts)
    names = [parameter.name for parameter in signature]
    for name in given:
        if name not in names:
            raise ArgumentError(_unknown(kernel, name, names))
    for parameter in signature:
        if parameter.name not in given and not parameter.is_symbol:
            example = "float32[1024]" if parameter.is_pointer else "128"
            raise ArgumentError(
                f"{kernel} needs an argument for `{parameter.type} {parameter.name}`: "
                f"add one, such as --arg {parameter.name}={example}."
            )
    generator, room = np.random.default_rng(seed), MAX_ARRAY_BYTES
    made: list[Argument] = []
    for parameter in signature:
        if parameter.name in given:
            made.append(make_argument(parameter, given[parameter.name], generator, room))
            room -= array_bytes(made[-1])
    return tuple(made)


def array_bytes(argument: Argument) -> int:
    """The bytes of an argument that is an array, otherwise 0."""
    return argument.data.nbytes if isinstance(argument, ArrayArgument) else 0


def make_argument(
    parameter: SignatureParameter,
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
    if parameter.is_pointer:
        if value.strip().lower() in _NULL:
            return ScalarArgument(parameter.name, np.uint64(0), member)
        data = make_buffer(parameter, value, generator, room)
        role: Role = "input" if parameter.is_const else "inout"
        return ArrayArgument(parameter.name, data, role, member)
    if parameter.count > 1 and member is not None:
        return InlineArgument(parameter.name, _inline(parameter, value, generator), member)
    if value.startswith("@") or "[" in value:
        raise ArgumentError(
            f"{parameter.name} is a scalar ({parameter.type}), not a buffer: "
            f"write {parameter.name}=128 or the like."
        )
    return ScalarArgument(parameter.name, _scalar(parameter, value), member)


def _inline(
    parameter: SignatureParameter, value: str, generator: np.random.Generator
) -> NDArray[Any]:
    """The numbers of an array of fixed size; a list of them may be typed: `1,2,1`."""
    if re.fullmatch(r"[-+.\deEx,\s]+", value):
        one = replace(parameter, count=1)
        parts = [part for part in re.split(r"[,\s]+", value) if part]
        data = np.array([_scalar(one, part) for part in parts], parameter.dtype)
    else:
        data = make_buffer(parameter, value, generator, MAX_ARRAY_BYTES)
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


def _unknown(kernel: str, name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, 1, cutoff=0.5) or [
        n for n in names if n.lower() == name.lower()
    ]
    hint = f": did you mean {close[0]}? It" if close else ": it"
    return f"{kernel} has no parameter {name}{hint} has {listing(names) if names else 'none'}."


def _scalar(parameter: SignatureParameter, text: str) -> np.generic:
    dtype = parameter.dtype
    assert dtype is not None  # only pointers go without
    wrong = ArgumentError(f"{parameter.name} is {parameter.type}, and `{text}` is no value of it.")
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
