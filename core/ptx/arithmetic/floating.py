"""Floating-point arithmetic (PTX ISA, "Floating-Point Instructions" and "Half Precision …").

float32 and float64 `.rn` results are exact: NumPy rounds each operation once, and `fma` does
(`core.ptx.arithmetic.formats_and_rounding`). The approximate functions give the correctly rounded
value, which lies within every error bound the PTX ISA documents. Values of 16-bit floats, of packed
pairs and those that are rounded another way go to float64, where the operation is done exactly, are
rounded once to their format, and go back to bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.ptx.arithmetic.formats_and_rounding import (
    NARROW,
    canonical,
    codec,
    directed,
    flush,
    flush_below,
    fma_to_odd,
    fused,
    mode_of,
    quotient_to_odd,
    root_to_odd,
    round_to,
    sum_to_odd,
    zero_sign,
)
from core.ptx.arithmetic.operation import (
    Array,
    Operation,
    opcode,
    refuse,
    same_type,
    type_of,
    unsupported,
)
from core.ptx.ast import Instruction
from core.ptx.types import PRED, PtxType

FLOATS = ("f32", "f64")  # opcodes that integers have too are done for these types here


def _modified(instruction: Instruction, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with the instruction's `.ftz` and `.sat` applied."""
    result = function
    if "sat" in instruction.modifiers:
        inner = result

        def result(*args: Array) -> Array:  # NaN saturates to +0
            value = inner(*args)
            limited = np.where(value > 0, np.minimum(value, 1), 0)
            return limited.astype(value.dtype)

    if "ftz" in instruction.modifiers:
        unflushed = result
        return lambda *args: flush(unflushed(*(flush(a) for a in args)))
    return result


def _float_operation(instruction: Instruction, function: Callable[..., Any]) -> Operation:
    """An operation on the instruction's float type, rounding to nearest even."""
    refuse(instruction, "relu", "oob", "cc")
    if any(m in instruction.modifiers for m in ("rz", "rm", "rp")):
        return _directed_operation(instruction)
    return same_type(instruction, _finished(instruction, function))


def _finished(instruction: Instruction, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with `.ftz`, `.sat` and, for f32, the canonical NaN.

    float64 needs nothing: the hardware treats NaN as the processors that NumPy runs on do.
    """
    inner = _modified(instruction, function)
    if type_of(instruction).bits != 32:
        return inner
    if len(instruction.operands) == 3:
        return lambda a, b: canonical(inner(a, b))
    return lambda *args: canonical(inner(*args))


@opcode("add", "sub", "mul", types=FLOATS)
@opcode("div", types=("f16", *FLOATS))
def arithmetic(instruction: Instruction) -> Operation:
    """Sum, difference, product and quotient."""
    functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    return _float_operation(instruction, functions[instruction.opcode])


@opcode("neg", "abs", types=FLOATS)
def sign(instruction: Instruction) -> Operation:
    """-x, of which a NaN keeps its sign, and |x|."""
    negates = instruction.opcode == "neg"
    function = (lambda x: np.where(np.isnan(x), x, -x)) if negates else np.abs
    return same_type(instruction, _finished(instruction, function))


@opcode("fma")
@opcode("mad", types=FLOATS)
def fma(instruction: Instruction) -> Operation:
    """a*b+c, rounded once; `mad` does the same (PTX ISA, `mad` on sm_20 and later)."""
    return _float_operation(instruction, fused(type_of(instruction)))


@opcode("sqrt", "rcp", "rsqrt")
def root(instruction: Instruction) -> Operation:
    """Square root, reciprocal, and reciprocal square root."""
    functions: dict[str, Callable[[Array], Array]] = {
        "sqrt": np.sqrt,
        "rcp": lambda x: (1 / x).astype(x.dtype),
        "rsqrt": lambda x: (1 / np.sqrt(x.astype(np.float64))).astype(x.dtype),
    }
    return _float_operation(instruction, functions[instruction.opcode])


@opcode("sin", "cos", "ex2", "lg2", "tanh")
def transcendental(instruction: Instruction) -> Operation:
    """The `.approx` functions, computed in float64 and rounded once."""
    function = {"sin": np.sin, "cos": np.cos, "ex2": np.exp2, "lg2": np.log2, "tanh": np.tanh}[
        instruction.opcode
    ]
    return _float_operation(instruction, lambda x: function(x.astype(np.float64)).astype(x.dtype))


@opcode("copysign")
def copysign(instruction: Instruction) -> Operation:
    """b with the sign of a."""
    return same_type(instruction, lambda a, b: np.copysign(b, a))


@opcode("min", "max", types=FLOATS)
def extremum(instruction: Instruction) -> Operation:
    """The smaller or the larger of two values, or of three."""
    refuse(instruction, "relu")
    if len(instruction.operands) > 3 or {"NaN", "xorsign"} & set(instruction.modifiers):
        return _extremum_operation(instruction, type_of(instruction))
    smallest = instruction.opcode == "min"
    function = _modified(instruction, lambda a, b: canonical(extremum2(a, b, smallest)))
    return same_type(instruction, function)


@opcode("testp")
def testp(instruction: Instruction) -> Operation:
    """Tests a property of a float: finite, infinite, number, notanumber, normal, subnormal."""
    kind = type_of(instruction)
    tiny = np.finfo(kind.dtype).tiny  # type: ignore[type-var]
    tests: dict[str, Callable[[Array], Array]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
        "normal": lambda x: np.isfinite(x) & ((np.abs(x) >= tiny) | (x == 0)),  # zeros count
        "subnormal": lambda x: (x != 0) & (np.abs(x) < tiny),
    }
    return Operation(tests[instruction.modifiers[0]], ((instruction.operands[1], kind),), (PRED,))


# Operations on values that lie in float64, rounded once to their format.


_EXACT: dict[str, Callable[..., Array]] = {
    "add": sum_to_odd,
    "sub": lambda a, b: sum_to_odd(a, -b),
    "mul": np.multiply,  # which is exact
    "fma": fma_to_odd,
    "mad": fma_to_odd,
    "div": quotient_to_odd,
    "sqrt": root_to_odd,
    "rcp": lambda x: quotient_to_odd(np.ones_like(x), x),
}


def _rounded_operation(instruction: Instruction, kind: PtxType) -> Operation:
    """An exact operation rounded by the instruction's mode, with .ftz, .sat and .relu."""
    form = codec(kind).form
    exact, mode = _EXACT[instruction.opcode], mode_of(instruction)

    def function(*values: Array) -> Array:
        result = zero_sign(exact(*values), instruction.opcode, mode, values)
        result = limited(instruction, round_to(result, form, mode))
        return flush_below(result, form) if "ftz" in instruction.modifiers else result

    return _on_values(instruction, kind, function)


def _on_values(
    instruction: Instruction, kind: PtxType, function: Callable[..., Array]
) -> Operation:
    """`function` of the operands' values in float64, which `.ftz` flushes first."""
    form = codec(kind)

    def compute(*raw: Array) -> Array:
        values = [form.decode(r) for r in raw]
        if "ftz" in instruction.modifiers:
            values = [flush_below(v, form.form) for v in values]
        return form.encode(function(*values))

    return same_type(instruction, compute, kind)


def limited(instruction: Instruction, value: Array) -> Array:
    """`.sat`: to 0 … 1, NaN to 0; `.relu`: what is below 0 becomes 0."""
    if "sat" in instruction.modifiers:
        value = np.where(value > 0, np.minimum(value, 1.0), 0.0)
    if "relu" in instruction.modifiers:
        value = np.where(value <= 0, 0.0, value)
    return value


def _directed_operation(instruction: Instruction) -> Operation:
    """The instruction's operation in its rounding mode, with `.ftz` and `.sat`."""
    name = instruction.opcode
    if name not in _EXACT:
        raise unsupported(instruction, "has a rounding mode that it cannot have")
    kind = type_of(instruction)
    if kind.bits < 64:
        return _rounded_operation(instruction, kind)
    mode = mode_of(instruction)

    def function(*operands: Array) -> Array:
        if name == "rcp":
            return directed("div", mode, np.ones_like(operands[0]), *operands)
        return directed("fma" if name == "mad" else name, mode, *operands)

    return same_type(instruction, function)


# Halves, and pairs of halves or of float32.


@opcode("add", "sub", "mul", "fma", "mad", types=NARROW)
def narrow_arithmetic(instruction: Instruction) -> Operation:
    """Sums, products and fused multiply-adds."""
    return _rounded_operation(instruction, type_of(instruction))


@opcode("neg", "abs", types=NARROW)
def narrow_sign(instruction: Instruction) -> Operation:
    """Changes the sign bit; a NaN becomes the canonical one, as on the hardware."""
    change = np.negative if instruction.opcode == "neg" else np.abs
    return _on_values(instruction, type_of(instruction), change)


def extremum2(a: Array, b: Array, smallest: bool, keep_nan: bool = False) -> Array:
    """`min` or `max` of two: a number wins over a NaN, unless `keep_nan`; -0 is below +0."""
    first = (a < b) | ((a == b) & np.signbit(a)) if smallest else (a > b)
    if not smallest:
        first = first | ((a == b) & ~np.signbit(a))
    chosen = np.where(first | np.isnan(b), a, b)
    if keep_nan:
        chosen = np.where(np.isnan(a) | np.isnan(b), np.nan, chosen)
    return chosen


def _extremum_operation(instruction: Instruction, kind: PtxType) -> Operation:
    """`min`/`max` with `.ftz`, `.NaN`, `.xorsign.abs` and a third operand."""
    modifiers = instruction.modifiers

    def function(*values: Array) -> Array:
        sized = [np.abs(v) for v in values] if "abs" in modifiers else values
        result = sized[0]
        for other in sized[1:]:
            result = extremum2(result, other, instruction.opcode == "min", "NaN" in modifiers)
        if "xorsign" in modifiers:
            negative = np.signbit(values[0]) ^ np.signbit(values[1])
            result = np.where(negative, -np.abs(result), np.abs(result))
        return result

    return _on_values(instruction, kind, function)


@opcode("min", "max", types=NARROW)
def narrow_extremum(instruction: Instruction) -> Operation:
    """The smaller or the larger value."""
    return _extremum_operation(instruction, type_of(instruction))


@opcode("ex2", "tanh", types=NARROW)
def approximate(instruction: Instruction) -> Operation:
    """2**x and tanh, correctly rounded."""
    kind = type_of(instruction)
    function = {"ex2": np.exp2, "tanh": np.tanh}[instruction.opcode]
    return _on_values(instruction, kind, lambda x: round_to(function(x), codec(kind).form, "rn"))
