"""Floating-point arithmetic (PTX ISA, "Floating-Point Instructions").

float32 and float64 `.rn` results are exact: NumPy rounds each operation once, and `fma` does
(`core.ptx.arithmetic.rounding`). The approximate functions give the correctly rounded value, which
lies within every error bound the PTX ISA documents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.ptx.arithmetic.narrow import rounded_operation
from core.ptx.arithmetic.operation import (
    Array,
    Operation,
    opcode,
    refuse,
    same_type,
    type_of,
    unsupported,
)
from core.ptx.arithmetic.rounding import canonical, directed, flush, fused, mode_of
from core.ptx.ast import Instruction
from core.ptx.types import PRED

# float32 and float64 arithmetic with `.rz`, `.rm` and `.rp`.


_NAMES = ("add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp")


def directed_operation(instruction: Instruction) -> Operation:
    """The instruction's operation in its rounding mode, with `.ftz` and `.sat`."""
    name = instruction.opcode
    if name not in _NAMES:
        raise unsupported(instruction, "has a rounding mode that it cannot have")
    kind = type_of(instruction)
    if kind.bits < 64:
        return rounded_operation(instruction, kind)
    mode = mode_of(instruction)

    def function(*operands: Array) -> Array:
        if name == "rcp":
            return directed("div", mode, np.ones_like(operands[0]), *operands)
        return directed("fma" if name == "mad" else name, mode, *operands)

    return same_type(instruction, function)


def modified(instruction: Instruction, function: Callable[..., Any]) -> Callable[..., Any]:
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


def float_operation(instruction: Instruction, function: Callable[..., Any]) -> Operation:
    """An operation on the instruction's float type, rounding to nearest even."""
    refuse(instruction, "relu", "oob")
    if any(m in instruction.modifiers for m in ("rz", "rm", "rp")):
        return directed_operation(instruction)
    return same_type(instruction, finished(instruction, function))


def finished(instruction: Instruction, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with `.ftz`, `.sat` and, for f32, the canonical NaN.

    float64 needs nothing: the hardware treats NaN as the processors that NumPy runs on do.
    """
    inner = modified(instruction, function)
    if type_of(instruction).bits != 32:
        return inner
    if len(instruction.operands) == 3:
        return lambda a, b: canonical(inner(a, b))
    return lambda *args: canonical(inner(*args))


def negate(x: Array) -> Array:
    """-x; a NaN keeps its sign."""
    return np.where(np.isnan(x), x, -x)


@opcode("fma")
def fma(instruction: Instruction) -> Operation:
    """a*b+c, rounded once."""
    return float_operation(instruction, fused(type_of(instruction)))


@opcode("sqrt", "rcp", "rsqrt")
def root(instruction: Instruction) -> Operation:
    """Square root, reciprocal, and reciprocal square root."""
    functions: dict[str, Callable[[Array], Array]] = {
        "sqrt": np.sqrt,
        "rcp": lambda x: (1 / x).astype(x.dtype),
        "rsqrt": lambda x: (1 / np.sqrt(x.astype(np.float64))).astype(x.dtype),
    }
    return float_operation(instruction, functions[instruction.opcode])


@opcode("sin", "cos", "ex2", "lg2", "tanh")
def transcendental(instruction: Instruction) -> Operation:
    """The `.approx` functions, computed in float64 and rounded once."""
    function = {"sin": np.sin, "cos": np.cos, "ex2": np.exp2, "lg2": np.log2, "tanh": np.tanh}[
        instruction.opcode
    ]
    return float_operation(instruction, lambda x: function(x.astype(np.float64)).astype(x.dtype))


@opcode("copysign")
def copysign(instruction: Instruction) -> Operation:
    """b with the sign of a."""
    return same_type(instruction, lambda a, b: np.copysign(b, a))


def minimum(a: Array, b: Array) -> Array:
    """`min`: a NaN loses against a number, and -0 is below +0."""
    smaller = np.where((a < b) | np.isnan(b), a, b)
    both = (a == b) & np.signbit(a)
    return canonical(np.where(both, a, smaller))


def maximum(a: Array, b: Array) -> Array:
    """`max`: a NaN loses against a number, and +0 is above -0."""
    larger = np.where((a > b) | np.isnan(b), a, b)
    both = (a == b) & ~np.signbit(a)
    return canonical(np.where(both, a, larger))


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
