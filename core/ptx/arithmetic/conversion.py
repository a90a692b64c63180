"""Moves and conversions: `mov` and `cvt` (PTX ISA, "Data Movement and Conversion Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.ptx.arithmetic.floating import limited
from core.ptx.arithmetic.formats_and_rounding import (
    FORMATS,
    SMALL,
    TO_INTEGER,
    canonical,
    codec,
    decode_small,
    encode_small,
    float_to_integer,
    flush,
    flush_below,
    from_integer,
    integer_to_odd,
    limits,
    mode_of,
    round_to,
)
from core.ptx.arithmetic.operation import (
    Array,
    Operation,
    opcode,
    refuse,
    same_type,
    type_of,
    types_of,
    unsupported,
)
from core.ptx.ast import Instruction, Operand, Vector
from core.ptx.types import TYPES, PtxType, bits_of


@opcode("mov")
def mov(instruction: Instruction) -> Operation:
    """A copy; arrays are never written in place, so the copy is the array itself."""
    if any(isinstance(operand, Vector) for operand in instruction.operands):
        return _pack(instruction)
    return same_type(instruction, lambda a: a)


def _pack(instruction: Instruction) -> Operation:
    """The operation of a `mov` with a vector operand, whose first element is the lowest."""
    kind = type_of(instruction)
    destination, source = instruction.operands
    if {"v2", "v4"} & set(instruction.modifiers):
        return _element_by_element(instruction, kind, destination, source)
    if isinstance(source, Vector):
        return _together(instruction, kind, source.elements)
    assert isinstance(destination, Vector)
    return _apart(instruction, kind, source, len(destination.elements))


def _element_by_element(
    instruction: Instruction, kind: PtxType, destination: Operand, source: Operand
) -> Operation:
    """`mov.v4.u32 v, w`, whose operands are vectors of as many elements."""
    count = 4 if "v4" in instruction.modifiers else 2
    for operand in (destination, source):
        if not isinstance(operand, Vector) or len(operand.elements) != count:
            raise unsupported(instruction, f"needs vectors of {count} elements")
    assert isinstance(source, Vector)
    sources = tuple((element, kind) for element in source.elements)
    return Operation(lambda *values: values, sources, (kind,) * count)


def _part(instruction: Instruction, kind: PtxType, count: int) -> PtxType:
    if not count or kind.nbytes % count:
        raise unsupported(instruction, "does not split into equal parts")
    return bits_of(kind.nbytes // count)


def _together(instruction: Instruction, kind: PtxType, elements: tuple[Operand, ...]) -> Operation:
    part = _part(instruction, kind, len(elements))

    def together(*parts: Array) -> Array:
        return np.stack(np.broadcast_arrays(*parts), axis=1).view(kind.dtype).reshape(-1)

    return Operation(together, tuple((e, part) for e in elements), (kind,))


def _apart(instruction: Instruction, kind: PtxType, source: Operand, count: int) -> Operation:
    part = _part(instruction, kind, count)
    if count == 1:
        return Operation(lambda value: value, ((source, kind),), (kind,))

    def apart(value: Array) -> tuple[Array, ...]:
        parts = np.ascontiguousarray(value).view(part.dtype).reshape(-1, count)
        return tuple(np.ascontiguousarray(one) for one in parts.T)

    return Operation(apart, ((source, kind),), (part,) * count)


def _integer_to_integer(x: Array, to: PtxType, source: PtxType, saturate: bool) -> Array:
    """Extends or truncates; with `.sat` clamps instead."""
    if saturate:
        low, high = limits(to)
        source_low, source_high = limits(source)
        x = np.clip(x, max(low, source_low), min(high, source_high))
    return x.astype(to.dtype)


@opcode("cvt")
def cvt(instruction: Instruction) -> Operation:
    """Conversion between integer and float types of any width."""
    kinds = types_of(instruction)
    if "pack" in instruction.modifiers:
        return _pack_integers(instruction, kinds)
    if any(kind.kind == "x" or (kind.is_float and kind.bits == 16) for kind in kinds):
        return _packed_conversion(instruction, kinds)
    if len(kinds) != 2 or len(instruction.operands) != 2:
        raise unsupported(instruction, "converts a type that is not supported")
    to, source = kinds
    saturate = "sat" in instruction.modifiers
    if source.is_float and to.is_float:
        function = _float_to_float(instruction, to, source)
    elif source.is_float:
        function = _float_to_integer(instruction, to, source)
    elif to.is_float:
        function = _integer_to_float(to, mode_of(instruction), saturate)
    else:
        function = lambda x: _integer_to_integer(x, to, source, saturate)  # noqa: E731
    return Operation(function, ((instruction.operands[1], source),), (to,))


def _integer_to_float(to: PtxType, mode: str, saturate: bool) -> Callable[[Array], Array]:
    def function(x: Array) -> Array:
        if saturate:
            x = np.clip(x, 0, 1)
        if mode == "rn":
            return x.astype(to.dtype)
        if to.bits == 64:
            return from_integer(x, mode)
        return round_to(integer_to_odd(x), FORMATS[to.name], mode).astype(to.dtype)

    return function


def _pack_integers(instruction: Instruction, kinds: list[PtxType]) -> Operation:
    """`cvt.pack.sat`: two saturated values side by side, the second lowest, above the old c."""
    to, source = kinds[:2]
    low, high = limits(to)
    word = np.uint64
    mask = word((1 << to.bits) - 1)

    def function(a: Array, b: Array, *c: Array) -> Array:
        halves = (np.clip(x, max(low, limits(source)[0]), high).astype(np.int64) for x in (a, b))
        upper, lower = (h.view(word) & mask for h in halves)
        result = (upper << word(to.bits)) | lower
        if c:
            result = result | (c[0].view(np.uint32).astype(word) << word(2 * to.bits))
        return result.astype(np.uint32)

    a, b, *c = instruction.operands[1:]
    extra = tuple((o, TYPES["b32"]) for o in c)
    return Operation(function, ((a, source), (b, source), *extra), (TYPES["u32"],))


def _float_to_float(
    instruction: Instruction, to: PtxType, source: PtxType
) -> Callable[[Array], Array]:
    refuse(instruction, "relu", "satfinite")
    mode = mode_of(instruction) if to.bits < source.bits else "rn"
    rounding = next((TO_INTEGER[m] for m in instruction.modifiers if m in TO_INTEGER), None)
    saturate, ftz = "sat" in instruction.modifiers, "ftz" in instruction.modifiers

    def function(x: Array) -> Array:
        if ftz and x.dtype.itemsize == 4:
            x = canonical(flush(x))
        if rounding is not None:
            x = rounding(x)
        if mode == "rn":
            result = x.astype(to.dtype)
        else:
            result = round_to(x.astype(np.float64), FORMATS[to.name], mode).astype(to.dtype)
        if saturate:
            result = np.where(result > 0, np.minimum(result, 1), 0).astype(to.dtype)
        if ftz and to.bits == 32:
            result = flush(result)
        # Between f32 and f64 a NaN keeps the upper bits of its fraction (seen on an H200).
        return canonical(result) if to.bits == source.bits == 32 else result

    return function


# `cvt` to and from 16-bit floats, tf32, 8-bit and smaller floats, and pairs of them.


def _packed_conversion(instruction: Instruction, kinds: list[PtxType]) -> Operation:
    """A `cvt` with a half, a packed or a small float type on one of its sides."""
    if len(kinds) != 2:
        raise unsupported(instruction, "converts a type that is not supported")
    to, source = kinds
    refuse(instruction, "rs", *(m for m in instruction.modifiers if m.startswith("scaled")))
    if to.name == "ue8m0x2" or source.name == "ue8m0x2":
        raise unsupported(instruction, "converts a type that is not supported")
    decode = _decoder(source)
    if to.kind in "us":
        whole = _float_to_integer(instruction, to, source)
        return Operation(whole, ((instruction.operands[1], source),), (to,))
    if source.name == "bf16" and to.name == "f32" and len(instruction.modifiers) == 2:
        return Operation(  # the upper half of f32, NaN included
            lambda raw: (raw.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32),
            ((instruction.operands[1], source),),
            (to,),
        )
    encode = _encoder(to)
    form = FORMATS[_base(to)]
    step = next((TO_INTEGER[m] for m in instruction.modifiers if m in TO_INTEGER), None)
    mode = mode_of(instruction)
    ftz = "ftz" in instruction.modifiers

    def function(*raw: Array) -> Array:
        # of two operands the second goes into the lower half
        parts = [decode(r) for r in reversed(raw)]
        shape = max(p.shape[0] for p in parts)
        x = np.concatenate([np.broadcast_to(p, (shape, p.shape[1])) for p in parts], axis=1)
        if ftz and source.is_float:
            x = flush_below(x, FORMATS[source.name])
        if step is not None:
            x = step(x)
        given = x
        x = limited(instruction, round_to(x, form, mode))
        if "satfinite" in instruction.modifiers:  # infinities and overflow at the largest
            x = np.where(np.abs(x) > form.largest, np.copysign(form.largest, x), x)
        if ftz and to.is_float:
            x = flush_below(x, form)
        bits = encode(x)
        return _kept_nan(instruction, to, source, raw, given, bits)

    return Operation(function, tuple((o, source) for o in instruction.operands[1:]), (to,))


def _kept_nan(
    instruction: Instruction,
    to: PtxType,
    source: PtxType,
    raw: tuple[Array, ...],
    given: Array,
    bits: Array,
) -> Array:
    """NaN where the hardware does not write the canonical one (seen on an H200)."""
    nan = np.isnan(given[:, 0])
    if not nan.any() or "sat" in instruction.modifiers:
        return bits
    if to.name == "tf32":
        kept = raw[0].view(np.uint32) & np.uint32(0xFFFFE000)
        pattern = kept if "rna" in instruction.modifiers else np.uint32(0x7FFFE000)
        return np.where(nan, pattern, bits.view(np.uint32)).view(np.int32)
    if source.name == "f64" and to.bits == 16:
        upper = raw[0].view(np.uint64) >> np.uint64(48)
        fraction = np.uint16(0x3FF if to.name == "f16" else 0x7F)
        drop = np.uint64(42 if to.name == "f16" else 45)
        exponent, quiet = (0x7C00, 0x200) if to.name == "f16" else (0x7F80, 0x40)
        payload = (raw[0].view(np.uint64) >> drop).astype(np.uint16) & fraction
        sign = upper.astype(np.uint16) & np.uint16(0x8000)
        kept = sign | np.uint16(exponent | quiet) | payload
        return np.where(nan, kept, bits.view(np.uint16)).view(bits.dtype)
    return bits


def _float_to_integer(
    instruction: Instruction, to: PtxType, source: PtxType
) -> Callable[[Array], Array]:
    rounding = TO_INTEGER[next((m for m in instruction.modifiers if m in TO_INTEGER), "rzi")]
    is_narrow = source.kind == "x" or source.bits == 16
    decode = _decoder(source)

    def function(raw: Array) -> Array:
        x = decode(raw)[:, 0].astype(np.float32) if is_narrow else raw
        if "ftz" in instruction.modifiers and source.name in ("f16", "f32"):
            x = flush_below(x, FORMATS[source.name])
        return float_to_integer(x, to, rounding)

    return function


def _base(kind: PtxType) -> str:
    return kind.name.removesuffix("x2")


def _decoder(kind: PtxType) -> Callable[[Array], Array]:
    """From registers to float64 (rounded to odd) of shape (threads, values)."""
    if kind.kind in "us":
        return lambda raw: integer_to_odd(raw).reshape(-1, 1)
    if kind.name == "f64":
        return lambda raw: raw.reshape(-1, 1)
    if _base(kind) in SMALL:
        return lambda raw: decode_small(raw, _base(kind))
    return codec(kind).decode


def _encoder(kind: PtxType) -> Callable[[Array], Array]:
    if kind.name == "tf32":
        return _encode_tf32
    if kind.name == "f64":
        return lambda x: x[:, 0]
    if _base(kind) in SMALL:
        return lambda x: encode_small(x, kind)
    return codec(kind).encode


def _encode_tf32(x: Array) -> Array:
    bits = x[:, 0].astype(np.float32).view(np.uint32)
    return np.where(np.isnan(x[:, 0]), np.uint32(0x7FFFFFFF), bits).view(np.int32)
