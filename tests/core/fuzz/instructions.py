"""Random PTX instructions, each with what it does to one thread's registers.

A register is named after its bank and number: `%r` 32 bits, `%q` 64, `%h` 16, `%f` float32, `%d`
float64, `%p` predicates. A thread is a dictionary from its registers to unsigned bits (integers) or
to a Python float or bool.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.core.fuzz import scalars as s

Thread = dict[str, Any]
Run = Callable[[Thread], None]
BANKS = {"r": 6, "q": 4, "h": 3, "f": 5, "d": 4, "p": 3}
BITS = {"r": 32, "q": 64, "h": 16}
BANK = {16: "h", 32: "r", 64: "q"}
FORM = {"f": s.F32, "d": s.F64}
INTEGERS = [0, 1, 2, 3, 7, 8, 15, 31, 32, 33, 63, 64, 127, 128, 255, 256, 32767, 32768, 65535,
            65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1]  # fmt: skip
FLOATS = {
    "f": [0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800000,
          0x3F000000, 0x3FC00000, 0x4B000001, 0x4F000000, 0xCF000000, 0x5F000000, 0x7F7FFFFF,
          0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x40490FDB, 0x3EAAAAAB],
    "d": [0, 1 << 63, 1, 0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000000,
          0xBFE8000000000000, 0x41DFFFFFFFC00000, 0xC1E0000000000000, 0x43E0000000000000,
          0x47EFFFFFE0000000, 0x36A0000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000,
          0xFFF0000000000000, 0x7FF8000000000000, 0x400921FB54442D18, 0x4340000000000001],
}  # fmt: skip
ROUNDINGS = ("rn", "rz", "rm", "rp")


class Writer:
    """Draws instructions; `lines` is the text so far."""

    def __init__(self, rng: random.Random, prefix: str = "") -> None:
        self.rng, self.prefix = rng, prefix
        self.lines: list[str] = []

    # -- operands -------------------------------------------------------------------------------

    def register(self, bank: str) -> str:
        return f"%{self.prefix}{bank}{self.rng.randrange(BANKS[bank])}"

    def read(self, bank: str) -> tuple[str, Callable[[Thread], Any]]:
        """A register or a constant: its text, and how its value is had."""
        if bank == "p":
            name, negated = self.register("p"), self.rng.random() < 0.3
            return "!" * negated + name, lambda t: bool(t[name]) != negated
        if self.rng.random() < 0.75:
            name = self.register(bank)
            return name, lambda t: t[name]
        if bank in FORM:
            raw = self.rng.choice(FLOATS[bank])
            value = s.float_of(raw, bank)
            return f"0{bank}{raw:0{8 if bank == 'f' else 16}X}", lambda _: value
        number = self.rng.choice(INTEGERS) & ((1 << BITS[bank]) - 1)
        text = str(s.signed(number, BITS[bank])) if self.rng.random() < 0.5 else hex(number)
        return text, lambda _: number

    def emit(
        self, opcode: str, to: str, banks: str, result: Callable[..., object], *more: str
    ) -> Run:
        """One instruction, perhaps guarded; `banks` names the kind of each source."""
        sources = [self.read(bank) for bank in banks]
        texts = ", ".join([to, *(text for text, _ in sources), *more])
        kind = to.strip("%")[len(self.prefix)]
        mask = (1 << BITS[kind]) - 1 if kind in BITS else None
        guard, wanted = "", True
        test = self.register("p")
        if self.rng.random() < 0.15:
            wanted = self.rng.random() < 0.5
            guard = f"@{'' if wanted else '!'}{test} "
        self.lines.append(f"{guard}{opcode} {texts};")

        def run(t: Thread) -> None:
            if not guard or bool(t[test]) == wanted:
                value = result(*(read(t) for _, read in sources))
                t[to] = value if mask is None else int(value) & mask

        return run

    # -- instructions ----------------------------------------------------------------------------

    def plain(self) -> Run:
        kind = self.rng.choice(("s16", "u16", "s32", "u32", "s64", "u64"))
        bank, to = BANK[int(kind[1:])], self.register(BANK[int(kind[1:])])
        name = self.rng.choice(("add", "sub", "min", "max", "sad", "neg", "abs", "add.sat"))
        typed = s.typed
        if name == "add.sat":
            sign = self.rng.choice((1, -1))
            return self.emit(
                f"{'add' if sign > 0 else 'sub'}.sat.s32", self.register("r"), "rr",
                lambda a, b: s.clamp(typed(a, "s32") + sign * typed(b, "s32"), "s32"),
            )  # fmt: skip
        if name in ("neg", "abs"):
            kind = "s" + kind[1:]
            function = {"neg": lambda a: -a, "abs": lambda a: abs(typed(a, kind))}[name]
            return self.emit(f"{name}.{kind}", to, bank, function)
        if name == "sad":
            return self.emit(
                f"sad.{kind}", to, bank * 3,
                lambda a, b, c: c + abs(typed(a, kind) - typed(b, kind)),
            )  # fmt: skip
        functions = {
            "add": lambda a, b: a + b, "sub": lambda a, b: a - b,
            "min": lambda a, b: min(typed(a, kind), typed(b, kind)),
            "max": lambda a, b: max(typed(a, kind), typed(b, kind)),
        }  # fmt: skip
        return self.emit(f"{name}.{kind}", to, bank * 2, functions[name])

    def multiply(self) -> Run:
        kind = self.rng.choice(("s16", "u16", "s32", "u32", "s64", "u64"))
        bits = int(kind[1:])
        part = self.rng.choice(("lo", "hi", "wide", "24", "dot"))
        name = self.rng.choice(("mul", "mad"))
        if part == "24":
            high, kind = self.rng.random() < 0.5, self.rng.choice(("s32", "u32"))
            return self.emit(
                f"{name}24.{'hi' if high else 'lo'}.{kind}", self.register("r"),
                "rr" if name == "mul" else "rrr",
                lambda a, b, c=0: s.mul24(a, b, kind, high) + c,
            )  # fmt: skip
        if part == "dot":
            x, y = self.rng.choice("su"), self.rng.choice("su")
            return self.emit(
                f"dp4a.{x}32.{y}32", self.register("r"), "rrr",
                lambda a, b, c: s.dot4(a, b, c, x, y),
            )  # fmt: skip
        if part == "wide" and bits == 64:
            part = "lo"
        bank = BANK[bits]
        wide = BANK[2 * bits] if part == "wide" else bank
        shift = bits if part == "hi" else 0
        return self.emit(
            f"{name}.{part}.{kind}", self.register(wide), bank * 2 + wide * (name == "mad"),
            lambda a, b, c=0: (s.typed(a, kind) * s.typed(b, kind) >> shift) + c,
        )  # fmt: skip

    def divide(self) -> Run:
        """By a constant that is not zero: what division by zero gives is left open."""
        kind = self.rng.choice(("s16", "u16", "s32", "u32", "s64", "u64"))
        by = self.rng.choice((1, 2, 3, 7, 10, 255, 1000))
        bank = BANK[int(kind[1:])]
        if kind[0] == "s" and self.rng.random() < 0.4:
            by = -by - 1
        if self.rng.random() < 0.5:
            return self.emit(
                f"div.{kind}", self.register(bank), bank,
                lambda a: s.quotient(s.typed(a, kind), by), str(by),
            )  # fmt: skip
        return self.emit(
            f"rem.{kind}", self.register(bank), bank,
            lambda a: s.typed(a, kind) - by * s.quotient(s.typed(a, kind), by), str(by),
        )  # fmt: skip

    def bits(self) -> Run:
        size = self.rng.choice((16, 32, 64))
        bank, to = BANK[size], self.register(BANK[size])
        name = self.rng.choice(("and", "or", "xor", "not", "cnot", "shl", "shr", "lop3", "popc",
                                "clz", "brev", "prmt", "shf"))  # fmt: skip
        two = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}
        if name in two:
            return self.emit(f"{name}.b{size}", to, bank * 2, two[name])
        if name in ("not", "cnot"):
            function = {"not": lambda a: ~a, "cnot": lambda a: int(a == 0)}[name]
            return self.emit(f"{name}.b{size}", to, bank, function)
        if name == "shl":
            return self.emit(f"shl.b{size}", to, bank + "r", s.shift_left)
        if name == "shr":
            kind = self.rng.choice("su") + str(size)
            return self.emit(
                f"shr.{kind}", to, bank + "r", lambda a, n: s.shift_right(s.typed(a, kind), n)
            )
        if name == "lop3":
            table = self.rng.randrange(256)
            return self.emit(
                "lop3.b32", self.register("r"), "rrr", lambda a, b, c: s.lop3(a, b, c, table),
                hex(table),
            )  # fmt: skip
        if name == "prmt":
            return self.emit("prmt.b32", self.register("r"), "rrr", s.permute)
        if name == "shf":
            left, wraps = self.rng.random() < 0.5, self.rng.random() < 0.5
            text = f"shf.{'l' if left else 'r'}.{'wrap' if wraps else 'clamp'}.b32"
            return self.emit(
                text, self.register("r"), "rrr", lambda a, b, n: s.funnel(a, b, n, left, wraps)
            )
        size = max(size, 32)
        bank = BANK[size]
        if name == "brev":
            return self.emit(
                f"brev.b{size}", self.register(bank), bank, lambda a: s.reverse(a, size)
            )
        count = {"popc": lambda a: a.bit_count(), "clz": lambda a: size - a.bit_length()}[name]
        return self.emit(f"{name}.b{size}", self.register("r"), bank, count)

    def fields(self) -> Run:
        kind = self.rng.choice(("s32", "u32", "s64", "u64"))
        bank = BANK[int(kind[1:])]
        name = self.rng.choice(("bfe", "bfi", "bfind", "slct"))
        if name == "bfe":
            return self.emit(
                f"bfe.{kind}", self.register(bank), bank + "rr",
                lambda a, pos, length: s.extract(a, pos, length, kind),
            )  # fmt: skip
        if name == "bfi":
            return self.emit(f"bfi.b{kind[1:]}", self.register(bank), bank * 2 + "rr", s.insert)
        if name == "bfind":
            return self.emit(
                f"bfind.{kind}", self.register("r"), bank, lambda a: s.highest(a, kind)
            )
        return self.emit(
            f"slct.{kind}.s32", self.register(bank), bank * 2 + "r",
            lambda a, b, c: a if s.typed(c, "s32") >= 0 else b,
        )  # fmt: skip

    def comparison(self) -> Run:
        """`setp` with one or two results, perhaps combined with a third predicate."""
        kind = self.rng.choice(("s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64"))
        real = kind[0] == "f"
        bank = {"f32": "f", "f64": "d"}.get(kind) or BANK[int(kind[1:])]
        names = ["eq", "ne", "lt", "le", "gt", "ge"]
        if real:
            names += ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]
        name = self.rng.choice(names)
        combine = self.rng.choice(("", "", "and", "or", "xor"))
        first, second = self.rng.sample(range(BANKS["p"]), 2)
        p, q = f"%{self.prefix}p{first}", f"%{self.prefix}p{second}"
        both = self.rng.random() < 0.4
        sources = [self.read(bank), self.read(bank), *([self.read("p")] if combine else [])]
        texts = ", ".join([f"{p}|{q}" if both else p, *(text for text, _ in sources)])
        self.lines.append(f"setp.{name}{'.' * bool(combine)}{combine}.{kind} {texts};")
        mix = {"": lambda x, _: x, "and": lambda x, y: x and y, "or": lambda x, y: x or y,
               "xor": lambda x, y: x != y}[combine]  # fmt: skip

        def run(t: Thread) -> None:
            a, b, *c = (read(t) for _, read in sources)
            a, b = (a, b) if real else (s.typed(a, kind), s.typed(b, kind))
            holds = s.compare(name, a, b)
            t[p] = mix(holds, *(c or [None]))
            if both:
                t[q] = mix(not holds, *(c or [None]))

        return run

    def selection(self) -> Run:
        bank = self.rng.choice("rqhfd")
        kind = {"r": "b32", "q": "u64", "h": "b16", "f": "f32", "d": "f64"}[bank]
        return self.emit(
            f"selp.{kind}", self.register(bank), bank * 2 + "p", lambda a, b, p: a if p else b
        )
