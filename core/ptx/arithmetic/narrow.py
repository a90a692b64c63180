"""Arithmetic on 16-bit floats, packed pairs of them, and in directed rounding modes.

The half types are f16, bf16 and their pairs f16x2 and bf16x2; f32x2 is a pair of f32. Every value
goes to float64, where the operation is done exactly (`core.ptx.arithmetic.rounding`), is rounded
once to its format, and goes back to bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from core.ptx.arithmetic import rounding
from core.ptx.arithmetic.comparison import combination, comparison
from core.ptx.arithmetic.operation import (
    Array,
    Operation,
    opcode,
    refuse,
    type_of,
    types_of,
    unsupported,
)
from core.ptx.arithmetic.rounding import (
    FORMATS,
    TO_INTEGER,
    Format,
    float_to_integer,
    mode_of,
    round_to,
)
from core.ptx.ast import Instruction, Pair
from core.ptx.types import PRED, TYPES, PtxType

NARROW = ("f16", "f16x2", "bf16", "bf16x2", "f32x2")
_CANONICAL = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "tf32": 0x7FFFFFFF}
_ONE = {"f16": 0x3C00, "bf16": 0x3F80}


@dataclass(frozen=True)
class Codec:
    """How the values of a type lie in a register: `lanes` of them, of format `form`."""

    kind: PtxType
    form: Format
    lanes: int

    def decode(self, raw: Array) -> Array:
        """float64 of shape (threads, lanes)."""
        word = np.dtype(f"u{self.kind.nbytes // self.lanes}")
        bits = np.ascontiguousarray(raw).view(word).reshape(-1, self.lanes)
        if self.form.name == "bf16":
            return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        return bits.view(f"f{word.itemsize}").astype(np.float64)

    def encode(self, values: Array) -> Array:
        """The register's content for float64 values that are of the format, in the type's dtype."""
        name = self.form.name
        word = np.dtype(f"u{self.kind.nbytes // self.lanes}")
        if name == "bf16":
            bits = (values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(word)
        else:
            bits = values.astype(f"f{word.itemsize}").view(word)
        bits = np.where(np.isnan(values), word.type(_CANONICAL[name]), bits)
        return np.ascontiguousarray(bits).view(self.kind.dtype).reshape(-1)


def codec(kind: PtxType) -> Codec:
    """The codec of a float type, packed or not."""
    base = kind.name.removesuffix("x2")
    return Codec(kind, FORMATS[base], 2 if kind.name.endswith("x2") else 1)


# -- arithmetic ---------------------------------------------------------------------------------


_EXACT: dict[str, Callable[..., Array]] = {
    "add": rounding.add,
    "sub": lambda a, b: rounding.add(a, -b),
    "mul": np.multiply,  # which is exact
    "fma": rounding.fma,
    "mad": rounding.fma,
    "div": rounding.divide,
    "sqrt": rounding.square_root,
    "rcp": lambda x: rounding.divide(np.ones_like(x), x),
}


def rounded_operation(instruction: Instruction, kind: PtxType) -> Operation:
    """An exact operation rounded by the instruction's mode, with .ftz, .sat and .relu."""
    form = codec(kind)
    exact, mode = _EXACT[instruction.opcode], mode_of(instruction)
    ftz = "ftz" in instruction.modifiers
    name = instruction.opcode

    def function(*raw: Array) -> Array:
        values = [form.decode(r) for r in raw]
        if ftz:
            values = [rounding.flush_below(v, form.form) for v in values]
        result = exact(*values)
        if mode == "rm" and name in ("add", "sub", "fma", "mad"):
            last = -values[-1] if name == "sub" else values[-1]
            first = values[0] * values[1] if len(values) == 3 else values[0]
            result = rounding.zero_sign(result, mode, first, last)
        result = limited(instruction, round_to(result, form.form, mode))
        if ftz:
            result = rounding.flush_below(result, form.form)
        return form.encode(result)

    return Operation(function, tuple((o, kind) for o in instruction.operands[1:]), (kind,))


def limited(instruction: Instruction, value: Array) -> Array:
    """`.sat`: to 0 … 1, NaN to 0; `.relu`: what is below 0 becomes 0."""
    if "sat" in instruction.modifiers:
        value = np.where(value > 0, np.minimum(value, 1.0), 0.0)
    if "relu" in instruction.modifiers:
        value = np.where(value <= 0, 0.0, value)
    return value


@opcode("add", "sub", "mul", "fma", "mad", types=NARROW)
def arithmetic(instruction: Instruction) -> Operation:
    """Sums, products and fused multiply-adds."""
    return rounded_operation(instruction, type_of(instruction))


@opcode("neg", "abs", types=NARROW)
def sign(instruction: Instruction) -> Operation:
    """Changes the sign bit; a NaN becomes the canonical one, as on the hardware."""
    kind = type_of(instruction)
    form = codec(kind)
    ftz = "ftz" in instruction.modifiers
    change = np.negative if instruction.opcode == "neg" else np.abs

    def function(raw: Array) -> Array:
        value = form.decode(raw)
        if ftz:
            value = rounding.flush_below(value, form.form)
        return form.encode(change(value))

    return Operation(function, ((instruction.operands[1], kind),), (kind,))


def extremum2(a: Array, b: Array, smallest: bool, keep_nan: bool = False) -> Array:
    """`min` or `max` of two: a number wins over a NaN, unless `keep_nan`; -0 is below +0."""
    first = (a < b) | ((a == b) & np.signbit(a)) if smallest else (a > b)
    if not smallest:
        first = first | ((a == b) & ~np.signbit(a))
    chosen = np.where(first | np.isnan(b), a, b)
    if keep_nan:
        chosen = np.where(np.isnan(a) | np.isnan(b), np.nan, chosen)
    return chosen


def extremum_operation(instruction: Instruction, kind: PtxType) -> Operation:
    """`min`/`max` with `.ftz`, `.NaN`, `.xorsign.abs` and a third operand."""
    form = codec(kind)
    modifiers = instruction.modifiers

    def function(*raw: Array) -> Array:
        values = [form.decode(r) for r in raw]
        if "ftz" in modifiers:
            values = [rounding.flush_below(v, form.form) for v in values]
        negative = None
        if "xorsign" in modifiers:
            negative = np.signbit(values[0]) ^ np.signbit(values[1])
        if "abs" in modifiers:
            values = [np.abs(v) for v in values]
        result = values[0]
        for other in values[1:]:
            result = extremum2(result, other, instruction.opcode == "min", "NaN" in modifiers)
        if negative is not None:
            result = np.where(negative, -np.abs(result), np.abs(result))
        return form.encode(result)

    return Operation(function, tuple((o, kind) for o in instruction.operands[1:]), (kind,))


@opcode("min", "max", types=NARROW)
def narrow_extremum(instruction: Instruction) -> Operation:
    """The smaller or the larger value."""
    return extremum_operation(instruction, type_of(instruction))


@opcode("ex2", "tanh", types=NARROW)
def approximate(instruction: Instruction) -> Operation:
    """2**x and tanh, correctly rounded."""
    kind = type_of(instruction)
    form = codec(kind)
    function = {"ex2": np.exp2, "tanh": np.tanh}[instruction.opcode]

    def compute(raw: Array) -> Array:
        return form.encode(round_to(function(form.decode(raw)), form.form, "rn"))

    return Operation(compute, ((instruction.operands[1], kind),), (kind,))


# -- comparison ---------------------------------------------------------------------------------


@opcode("setp", "set", types=NARROW)
def compare(instruction: Instruction) -> Operation:
    """Compares; of a pair, `setp` gives two predicates, `set` a mask or 1.0 in each half."""
    kinds = types_of(instruction)
    kind = kinds[-1]
    form = codec(kind)
    test = comparison(instruction, TYPES["f32"])
    combine = combination(instruction)
    ftz = "ftz" in instruction.modifiers

    def plain(a: Array, b: Array) -> Array:
        x, y = form.decode(a), form.decode(b)
        if ftz:
            x, y = (rounding.flush_below(v, form.form) for v in (x, y))
        return test(x, y)

    def truth(a: Array, b: Array, *c: Array) -> Array:
        true = plain(a, b)
        return true if combine is None else combine(true, c[0].reshape(-1, 1))

    sources = tuple((o, kind if i < 2 else PRED) for i, o in enumerate(instruction.operands[1:]))
    if instruction.opcode == "set":
        return _set(kinds[0], form, truth, sources)
    if not isinstance(instruction.operands[0], Pair):
        if form.lanes == 2:
            raise unsupported(instruction, "needs two predicates as its result")
        return Operation(lambda *args: truth(*args)[:, 0], sources, (PRED,))

    def both(a: Array, b: Array, *c: Array) -> tuple[Array, Array]:
        if form.lanes == 2:
            found = truth(a, b, *c)
            return found[:, 0], found[:, 1]
        true = plain(a, b)[:, 0]
        return (true, ~true) if combine is None else (combine(true, c[0]), combine(~true, c[0]))

    return Operation(both, sources, (PRED, PRED))


def _set(result: PtxType, form: Codec, truth: Callable[..., Array], sources: Any) -> Operation:
    """All ones or 1.0 for true; a pair compared into u32 or s32 gives a mask in each half."""
    lanes = form.lanes
    width = 8 * result.nbytes // lanes
    base = result.name.removesuffix("x2")
    if base in _ONE:
        true = _ONE[base]
    elif result.is_float:
        true = int(np.array(1.0, result.dtype).view(f"u{result.nbytes}"))
    else:
        true = (1 << width) - 1
    word = np.dtype(f"u{width // 8}")

    def function(*args: Array) -> Array:
        bits = np.where(truth(*args), word.type(true), word.type(0))
        return np.ascontiguousarray(bits).view(result.dtype).reshape(-1)

    return Operation(function, sources, (result,))


# `cvt` to and from 16-bit floats, tf32, 8-bit and smaller floats, and pairs of them.


_TINY = ("e4m3", "e5m2", "e2m1", "e2m3", "e3m2")
_WIDTH = {"e4m3": 8, "e5m2": 8, "e2m1": 4, "e2m3": 6, "e3m2": 6}
_CANONICAL_NAN = {"e4m3": 0x7F, "e5m2": 0x7F}


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
        x = limited(instruction, round_to(x, form, mode))
        if "satfinite" in instruction.modifiers:  # infinities and overflow at the largest
            x = np.where(np.abs(x) > form.largest, np.copysign(form.largest, x), x)
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


@cache
def small_values(name: str) -> Array:
    """The values of the positive codes of a small format, in order.

    PTX ISA, "Alternate floating-point data formats": e4m3 has no infinity and one NaN.
    """
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
    values = small_values(name)[codes & ((1 << (width - 1)) - 1)]
    return np.asarray(np.where(codes >> (width - 1) & 1, -values, values))


def _encode_tiny(x: Array, kind: PtxType) -> Array:
    name = _base(kind)
    width = _WIDTH[name]
    values = small_values(name)
    finite = values[np.isfinite(values)]
    codes = np.searchsorted(finite, np.abs(x)).astype(np.uint8)
    if name == "e5m2":
        codes = np.where(np.isinf(x), np.uint8(0x7C), codes)
    codes = codes | (np.signbit(x).astype(np.uint8) << np.uint8(width - 1))
    if name in _CANONICAL_NAN:
        codes = np.where(np.isnan(x), np.uint8(_CANONICAL_NAN[name]), codes)
    else:
        codes = np.where(np.isnan(x), np.uint8((1 << (width - 1)) - 1), codes)
    if width == 4:
        return (codes[:, 0] | (codes[:, 1] << np.uint8(4))).astype(np.uint8).view(np.int8)
    return np.ascontiguousarray(codes.astype(np.uint8)).view(kind.dtype).reshape(-1)
