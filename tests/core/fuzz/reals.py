"""Random instructions on floats, conversions, and the choice among all the kinds there are."""

from __future__ import annotations

from collections.abc import Callable

from tests.core.fuzz import scalars as s
from tests.core.fuzz.instructions import BANK, FORM, ROUNDINGS, Run, Writer


class AnyWriter(Writer):
    """Draws every kind of instruction."""

    def instruction(self) -> Run:
        kinds = (self.plain, self.multiply, self.divide, self.bits, self.fields, self.comparison,
                 self.real, self.real, self.real_other, self.conversion, self.conversion,
                 self.selection)  # fmt: skip
        return self.rng.choice(kinds)()

    def real(self) -> Run:
        """The arithmetic that IEEE 754 rounds, in every direction; of f32 with .ftz and .sat."""
        bank = self.rng.choice("ffd")
        form, mode = FORM[bank], self.rng.choice(ROUNDINGS)
        name = self.rng.choice(("add", "sub", "mul", "fma", "div"))
        ftz = bank == "f" and self.rng.random() < 0.3
        sat = bank == "f" and name != "div" and self.rng.random() < 0.2
        functions: dict[str, Callable[..., float]] = {
            "add": lambda a, b: s.multiply_add(a, 1.0, b, form, mode),
            "sub": lambda a, b: s.multiply_add(a, 1.0, -b, form, mode),
            "mul": lambda a, b: s.multiply(a, b, form, mode),
            "fma": lambda a, b, c: s.multiply_add(a, b, c, form, mode),
            "div": lambda a, b: s.divide(a, b, form, mode),
        }

        def result(*operands: float) -> float:
            if ftz:
                operands = tuple(s.flushed(x) for x in operands)
            value = functions[name](*operands)
            value = s.flushed(value) if ftz else value
            return s.saturated(value) if sat else value

        text = f"{name}.{mode}{'.ftz' * ftz}{'.sat' * sat}.f{32 if bank == 'f' else 64}"
        return self.emit(text, self.register(bank), bank * (3 if name == "fma" else 2), result)

    def real_other(self) -> Run:
        bank = self.rng.choice("fd")
        kind, to = "f32" if bank == "f" else "f64", self.register(bank)
        name = self.rng.choice(("min", "max", "neg", "abs", "sqrt", "mov"))
        if name in ("min", "max"):
            return self.emit(
                f"{name}.{kind}", to, bank * 2, lambda a, b: s.pick(a, b, name == "max")
            )
        if name == "mov":  # the bits of an integer; `float_of` makes every NaN one
            source = "r" if bank == "f" else "q"
            return self.emit(f"mov.b{kind[1:]}", to, source, lambda a: s.float_of(a, bank))
        one = {"neg": lambda a: -a, "abs": abs, "sqrt": lambda a: s.root(a, bank)}[name]
        return self.emit(f"{'sqrt.rn' if name == 'sqrt' else name}.{kind}", to, bank, one)

    def conversion(self) -> Run:
        sort = self.rng.choice(("integers", "to float", "from float", "floats", "integral"))
        ints = ("s16", "u16", "s32", "u32", "s64", "u64")
        kind, other = self.rng.choice(ints), self.rng.choice(ints)
        bank, source = BANK[int(kind[1:])], BANK[int(other[1:])]
        real = self.rng.choice("fd")
        name, mode = ("f32" if real == "f" else "f64"), self.rng.choice(ROUNDINGS)
        if sort == "integers":
            sat = self.rng.random() < 0.4
            return self.emit(
                f"cvt{'.sat' * sat}.{kind}.{other}", self.register(bank), source,
                lambda a: s.clamp(s.typed(a, other), kind) if sat else s.typed(a, other),
            )  # fmt: skip
        if sort == "to float":
            return self.emit(
                f"cvt.{mode}.{name}.{other}", self.register(real), source,
                lambda a: s.from_integer(s.typed(a, other), FORM[real], mode),
            )  # fmt: skip
        if sort == "from float":
            return self.emit(
                f"cvt.{mode}i.{kind}.{name}", self.register(bank), real,
                lambda a: s.to_integer(a, kind, mode + "i", name == "f64"),
            )  # fmt: skip
        if sort == "integral":
            return self.emit(
                f"cvt.{mode}i.{name}.{name}", self.register(real), real,
                lambda a: s.integral(a, mode),
            )  # fmt: skip
        if self.rng.random() < 0.5:
            return self.emit("cvt.f64.f32", self.register("d"), "f", lambda a: a)
        return self.emit(
            f"cvt.{mode}.f32.f64", self.register("f"), "d", lambda a: s.narrowed(a, mode)
        )
