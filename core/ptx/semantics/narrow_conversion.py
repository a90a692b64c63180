"""`cvt` to and from 16-bit floats, tf32, 8-bit and smaller floats, and pairs of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.ptx.ast import Instruction
from core.ptx.semantics import rounding
from core.ptx.semantics.float_to_integer import TO_INTEGER, float_to_integer
from core.ptx.semantics.narrow import codec
from core.ptx.semantics.operation import Array, Operation, refuse, unsupported
from core.ptx.semantics.rounding import FORMATS, Format, mode_of, round_to
from core.ptx.types import PtxType

_TINY = ("e4m3", "e5m2", "e2m1", "e2m3", "e3m2")
_WIDTH = {"e4m3": 8, "e5m2": 8, "e2m1": 4, "e2m3": 6, "e3m2": 6}
_CANONICAL = {"e4m3": 0x7F, "e5m2": 0x7F}


def packed_conversion(instruction: Instruction, kinds: list[PtxType]) -> Operation:
    """A `cvt` with a half, a packed or a small float type on one of its sides."""
    if len(kinds) != 2:
        raise unsupported(instruction, "converts a type that is not supported")
    to, source = kinds
    refuse(instruction, "rs", *(m for m in instruction.modifiers if m.startswith("scaled")))
    if to.name == "ue8m0x2" or source.name == "ue8m0x2":
        raise unsupported(instruction, "converts a type that is not supported")
    decode = _decoder(source)
    if to.kind in "us":
        return _to_integer(instruction, decode, to, source)
    if source.name == "bf16" and to.name == "f32" and step_free(instruction):
        return Operation(_widen, ((instruction.operands[1], source),), (to,))
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
            x = rounding.flush_below(x, FORMATS[source.name])
        if step is not None:
            x = step(x)
        given = x
        x = _limited(instruction, round_to(x, form, mode), form)
        if ftz and to.is_float:
            x = rounding.flush_below(x, form)
        bits = encode(x)
        return _kept_nan(instruction, to, source, raw, given, bits)

    return Operation(function, tuple((o, source) for o in instruction.operands[1:]), (to,))


def step_free(instruction: Instruction) -> bool:
    """Whether a conversion has no modifiers but its types."""
    return len(instruction.modifiers) == 2


def _widen(raw: Array) -> Array:
    """bf16 is the upper half of f32, NaN included."""
    return (raw.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


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


def _limited(instruction: Instruction, x: Array, form: Format) -> Array:
    """`.sat`, `.relu` and `.satfinite` (which keeps infinities and overflow at the largest)."""
    modifiers = instruction.modifiers
    if "sat" in modifiers:
        x = np.where(x > 0, np.minimum(x, 1.0), 0.0)
    if "relu" in modifiers:
        x = np.where(x <= 0, 0.0, x)
    if "satfinite" in modifiers:
        x = np.where(np.abs(x) > form.largest, np.copysign(form.largest, x), x)
    return x


def _to_integer(
    instruction: Instruction, decode: Callable[[Array], Array], to: PtxType, source: PtxType
) -> Operation:
    name = next((m for m in instruction.modifiers if m in TO_INTEGER), "rzi")

    def function(raw: Array) -> Array:
        x = decode(raw)[:, 0]
        if "ftz" in instruction.modifiers and source.is_float:
            x = rounding.flush_below(x, FORMATS[source.name])
        return float_to_integer(x.astype(np.float32), to, TO_INTEGER[name])

    return Operation(function, ((instruction.operands[1], source),), (to,))


def _base(kind: PtxType) -> str:
    return kind.name.removesuffix("x2")


def _decoder(kind: PtxType) -> Callable[[Array], Array]:
    """From registers to float64 (rounded to odd) of shape (threads, values)."""
    if kind.kind in "us":
        return lambda raw: rounding.integer_to_odd(raw).reshape(-1, 1)
    if kind.name == "f64":
        return lambda raw: raw.reshape(-1, 1)
    if _base(kind) in _TINY:
        return lambda raw: _decode_tiny(raw, _base(kind))
    return codec(kind).decode


def _encoder(kind: PtxType) -> Callable[[Array], Array]:
    if kind.name == "tf32":
        return _encode_tf32
    if kind.name == "f64":
        return lambda x: x[:, 0]
    if _base(kind) in _TINY:
        return lambda x: _encode_tiny(x, kind)
    return codec(kind).encode


def _encode_tf32(x: Array) -> Array:
    bits = x[:, 0].astype(np.float32).view(np.uint32)
    return np.where(np.isnan(x[:, 0]), np.uint32(0x7FFFFFFF), bits).view(np.int32)


def _table(name: str) -> Array:
    """The values of the positive codes of a small format, in order."""
    form = FORMATS[name]
    fraction = form.precision - 1
    codes = np.arange(1 << (_WIDTH[name] - 1))
    exponent, mantissa = codes >> fraction, codes & ((1 << fraction) - 1)
    normal = (1 + mantissa / (1 << fraction)) * 2.0 ** (exponent - 1 + form.bottom)
    values = np.where(exponent == 0, mantissa * 2.0 ** (form.bottom - fraction), normal)
    if name == "e5m2":
        values[codes == 0x7C] = np.inf
        values[codes > 0x7C] = np.nan
    if name == "e4m3":
        values[codes == 0x7F] = np.nan
    return values


def _decode_tiny(raw: Array, name: str) -> Array:
    width = _WIDTH[name]
    bits = np.ascontiguousarray(raw).view(np.uint8)
    codes = np.stack([bits & 15, bits >> 4], 1) if width == 4 else bits.reshape(-1, 2)
    values = _table(name)[codes & ((1 << (width - 1)) - 1)]
    return np.asarray(np.where(codes >> (width - 1) & 1, -values, values))


def _encode_tiny(x: Array, kind: PtxType) -> Array:
    name = _base(kind)
    width = _WIDTH[name]
    values = _table(name)
    finite = values[np.isfinite(values)]
    codes = np.searchsorted(finite, np.abs(x)).astype(np.uint8)
    if name == "e5m2":
        codes = np.where(np.isinf(x), np.uint8(0x7C), codes)
    codes = codes | (np.signbit(x).astype(np.uint8) << np.uint8(width - 1))
    if name in _CANONICAL:
        codes = np.where(np.isnan(x), np.uint8(_CANONICAL[name]), codes)
    else:
        codes = np.where(np.isnan(x), np.uint8((1 << (width - 1)) - 1), codes)
    if width == 4:
        return (codes[:, 0] | (codes[:, 1] << np.uint8(4))).astype(np.uint8).view(np.int8)
    return np.ascontiguousarray(codes.astype(np.uint8)).view(kind.dtype).reshape(-1)
