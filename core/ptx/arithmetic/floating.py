"""Floating-point arithmetic (PTX ISA, "Floating-Point Instructions").

float32 and float64 `.rn` results are exact: NumPy rounds each operation once, and `fma` does
(`core.ptx.arithmetic.rounding`). The approximate functions give the correctly rounded value, which
lies within every error bound the PTX ISA documents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.ptx.arithmetic.narrow import extremum2, extremum_operation, rounded_operation
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

FLOATS = ("f32", "f64")  # opcodes that integers have too are done for these types here

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
    refuse(instruction, "relu", "oob", "cc")
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


@opcode("add", "sub", "mul", types=FLOATS)
@opcode("div", types=("f16", *FLOATS))
def arithmetic(instruction: Instruction) -> Operation:
    """Sum, difference, product and quotient."""
    functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    return float_operation(instruction, functions[instruction.opcode])


@opcode("neg", "abs", types=FLOATS)
def sign(instruction: Instruction) -> Operation:
    """-x, of which a NaN keeps its sign, and |x|."""
    negates = instruction.opcode == "neg"
    function = (lambda x: np.where(np.isnan(x), x, -x)) if negates else np.abs
    return same_type(instruction, finished(instruction, function))


@opcode("fma")
@opcode("mad", types=FLOATS)
def fma(instruction: Instruction) -> Operation:
    """a*b+c, rounded once; `mad` does the same (PTX ISA, `mad` on sm_20 and later)."""
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


@opcode("min", "max", types=FLOATS)
def extremum(instruction: Instruction) -> Operation:
    """The smaller or the larger of two values, or of three."""
    refuse(instruction, "relu")
    if len(instruction.operands) > 3 or {"NaN", "xorsign"} & set(instruction.modifiers):
        return extremum_operation(instruction, type_of(instruction))
    smallest = instruction.opcode == "min"
    function = modified(instruction, lambda a, b: canonical(extremum2(a, b, smallest)))
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
