"""Random PTX programs with a reference in Python: branches, loops, switches, calls and memory.

Every thread works on its own registers and on its own `MEMORY` bytes, which lie in global, shared
or local memory, so that the reference may run thread by thread.
"""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.core.fuzz import scalars as s
from tests.core.fuzz.accesses import MEMORY, access, atomic
from tests.core.fuzz.instructions import BANKS, BITS, FLOATS, FORM, INTEGERS, Run, Thread
from tests.core.fuzz.reals import AnyWriter

BLOCK, GRID = 6, 2
THREADS = BLOCK * GRID
WORDS = sum(BANKS.values())  # of 64 bits: what a thread starts with, and what it leaves
_LETTERS = {"r": ".b32", "q": ".b64", "h": ".b16", "f": ".f32", "d": ".f64", "p": ".pred"}


class Leave(Exception):
    """Ends a loop, or the thread."""


@dataclass(frozen=True)
class Program:
    """PTX text, the initial registers (64-bit words, one list a thread), and the reference.

    `keeps_memory`: whether the threads' bytes lie in the second buffer, and not in local or shared
    memory.
    """

    text: str
    initial: list[list[int]]
    run: Run
    keeps_memory: bool


NAMES = [f"%{bank}{i}" for bank, count in BANKS.items() for i in range(count)]


def value_of(name: str, word: int) -> Any:
    """A register's value from a word."""
    bank = name[1]
    if bank in FORM:
        return s.float_of(word, bank)
    return bool(word & 1) if bank == "p" else word & ((1 << BITS[bank]) - 1)


def word_of(name: str, value: Any) -> int:
    """A register's value as a word; -1 for every NaN."""
    return s.bits_of(value, name[1]) if name[1] in FORM else int(value)


class Body(AnyWriter):
    """Statements of a function."""

    def __init__(self, rng: random.Random, space: str) -> None:
        super().__init__(rng)
        self.space, self.labels, self.loops = space, 0, 0
        self.generic = space == "global" or rng.random() < 0.3  # whether %base is generic

    def block(self, depth: int, loop: str = "") -> Run:
        parts = [self.statement(depth, loop) for _ in range(self.rng.randint(2, 6))]

        def run(t: Thread) -> None:
            for part in parts:
                part(t)

        return run

    def statement(self, depth: int, loop: str) -> Run:
        draw = self.rng.random()
        if depth and draw < 0.08:
            return self.branch(depth, loop)
        if depth and draw < 0.16:
            return self.loop(depth)
        if depth and draw < 0.19:
            return self.switch(depth, loop)
        if loop and draw < 0.24:
            return self.leave(loop)
        if draw < 0.30:
            return self.carry()
        if draw < 0.36:
            return self.call()
        if draw < 0.48:
            return self.memory()
        return self.instruction()

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    # -- control flow ---------------------------------------------------------------------------

    def branch(self, depth: int, loop: str) -> Run:
        test, other, end = self.register("p"), self.label(), self.label()
        self.lines.append(f"@!{test} bra {other};")
        yes = self.block(depth - 1, loop)
        self.lines.append(f"bra.uni {end};\n{other}:")
        no = self.block(depth - 1, loop) if self.rng.random() < 0.6 else lambda t: None
        self.lines.append(f"{end}:")
        return lambda t: yes(t) if t[test] else no(t)

    def loop(self, depth: int) -> Run:
        self.loops += 1
        counter, test = f"%c{self.loops}", f"%cp{self.loops}"
        source, start, end = self.register("r"), self.label(), self.label()
        self.lines.append(f"and.b32 {counter}, {source}, 3;\n{start}:")
        body = self.block(depth - 1, end)
        self.lines.append(
            f"sub.u32 {counter}, {counter}, 1; setp.ge.s32 {test}, {counter}, 0;\n"
            f"@{test} bra {start};\n{end}:"
        )

        def run(t: Thread) -> None:
            try:
                for _ in range((t[source] & 3) + 1):
                    body(t)
            except Leave as leave:
                if str(leave) != end:
                    raise

        return run

    def leave(self, loop: str) -> Run:
        test = self.register("p")
        where = loop if self.rng.random() < 0.8 else "DONE"
        self.lines.append(f"@{test} bra {where};")

        def run(t: Thread) -> None:
            if t[test]:
                raise Leave(where)

        return run

    def switch(self, depth: int, loop: str) -> Run:
        source, cases = self.register("r"), self.rng.randint(2, 4)
        targets, table, end = [self.label() for _ in range(cases)], self.label(), self.label()
        self.lines.append(
            f"{table}: .branchtargets {', '.join(targets)};\n"
            f"rem.u32 %index, {source}, {cases};\nbrx.idx %index, {table};"
        )
        blocks = []
        for target in targets:
            self.lines.append(f"{target}:")
            blocks.append(self.block(depth - 1, loop))
            self.lines.append(f"bra {end};")
        self.lines.append(f"{end}:")
        return lambda t: blocks[t[source] % cases](t)

    def call(self) -> Run:
        """Of the two functions in `HELPERS`, recursive the one and with floats the other."""
        if self.rng.random() < 0.5:
            (a, read_a), (b, read_b), to = self.read("r"), self.read("r"), self.register("r")
            self.lines.append(f"and.b32 %index, {b}, 7; call ({to}), sum_down, ({a}, %index);")

            def run(t: Thread) -> None:
                x, n = read_a(t), read_b(t) & 7
                t[to] = (x + sum(range(n + 1)) * 3) & 0xFFFFFFFF

            return run
        (x, read_x), to = self.read("d"), self.register("d")
        self.lines.append(
            f"{{ .param .f64 x; .param .f64 y; mov.f64 %half, {x}; st.param.f64 [x], %half;\n"
            f"call (y), halved, (x); ld.param.f64 {to}, [y]; }}"
        )

        def halve(t: Thread) -> None:
            t[to] = s.multiply(read_x(t), 0.5, s.F64)

        return halve

    # -- sequences ------------------------------------------------------------------------------

    def carry(self) -> Run:
        """96-bit additions, subtractions and products by carries."""
        name = self.rng.choice(("add", "sub", "mad"))
        numbers = self.rng.sample(range(BANKS["r"]), 3)
        to = [f"%r{n}" for n in numbers]
        if name == "mad":
            (a, read_a), (b, read_b), c = self.read("r"), self.read("r"), to[2]
            self.lines.append(
                f"mad.lo.cc.u32 %x0, {a}, {b}, {c}; madc.hi.u32 {to[1]}, {a}, {b}, 0; "
                f"mov.b32 {to[0]}, %x0;"
            )

            def multiply(t: Thread) -> None:
                total = read_a(t) * read_b(t) + t[c]
                t[to[1]], t[to[0]] = total >> 32 & 0xFFFFFFFF, total & 0xFFFFFFFF

            return multiply
        pairs = [(self.read("r"), self.read("r")) for _ in range(3)]
        middle = f"{name}c.cc.u32"
        for i, opcode in enumerate((f"{name}.cc.u32", middle, f"{name}c.u32")):
            self.lines.append(f"{opcode} %x{i}, {pairs[i][0][0]}, {pairs[i][1][0]};")
        self.lines += [f"mov.b32 {to[i]}, %x{i};" for i in range(3)]

        def run(t: Thread) -> None:
            a, b = (sum(int(pair[side][1](t)) << 32 * i for i, pair in enumerate(pairs))
                    for side in (0, 1))  # fmt: skip
            total = a + b if name == "add" else a - b
            for i in range(3):
                t[to[i]] = total >> 32 * i & 0xFFFFFFFF

        return run

    def memory(self) -> Run:
        space = "" if self.generic else f".{self.space}"
        if self.space == "global" and self.rng.random() < 0.7:
            space = ".global"
        if self.space != "local" and self.rng.random() < 0.25:
            return atomic(self, space)
        return access(self, space)


HELPERS = """
.func (.reg .b32 sum) sum_down (.reg .b32 x, .reg .b32 n) {
    .reg .pred %p; .reg .b32 %m; mov.b32 sum, x; setp.eq.u32 %p, n, 0; @%p ret;
    sub.u32 %m, n, 1; call (sum), sum_down, (x, %m); mad.lo.u32 sum, n, 3, sum; ret;
}
.func (.param .f64 result) halved (.param .f64 x) {
    .reg .f64 %d; ld.param.f64 %d, [x]; mul.rn.f64 %d, %d, 0d3FE0000000000000;
    st.param.f64 [result], %d; ret;
}
"""
_BASES = {
    "global": "mad.wide.u32 %base, %thread, 64, %memory;",
    "shared": "mov.u64 %base, pool; mad.wide.u32 %base, %tid, 64, %base;",
    "local": "mov.u64 %base, stack;",
}


def program(rng: random.Random) -> Program:
    """Draws a program and what its threads start with."""
    space = rng.choice(tuple(_BASES))
    body = Body(rng, space)
    run = body.block(rng.choice((1, 2, 2, 3)))
    lines = [
        ".version 8.3\n.target sm_90\n.address_size 64", HELPERS,
        ".visible .entry k(.param .u64 words, .param .u64 memory) {",
        *(f".reg {_LETTERS[bank]} %{bank}<{count}>;" for bank, count in BANKS.items()),
        f".reg .b32 %c<{body.loops + 1}>, %x<3>, %index, %thread, %tid, %ctaid;",
        f".reg .pred %cp<{body.loops + 1}>; .reg .b64 %base, %place, %words, %memory, %word;",
        f".reg .f64 %half; .shared .align 16 .b8 pool[{MEMORY * BLOCK}];",
        f".local .align 16 .b8 stack[{MEMORY}];",
        "ld.param.u64 %words, [words]; ld.param.u64 %memory, [memory];",
        "mov.u32 %ctaid, %ctaid.x; mov.u32 %tid, %tid.x;",
        f"mad.lo.u32 %thread, %ctaid, {BLOCK}, %tid;",
        f"mad.wide.u32 %words, %thread, {8 * WORDS}, %words; {_BASES[space]}",
    ]  # fmt: skip
    if space != "global":
        lines += [f"st.{space}.b64 [%base+{at}], 0;" for at in range(0, MEMORY, 8)]
    if body.generic and space != "global":
        lines.append(f"cvta.{space}.u64 %place, %base; mov.b64 %base, %place;")
    lines += [_load(name, 8 * i) for i, name in enumerate(NAMES)]
    lines += [*body.lines, "DONE:"]
    lines += [_store(name, 8 * i) for i, name in enumerate(NAMES)]
    initial = [[_word(rng, name) for name in NAMES] for _ in range(THREADS)]
    return Program("\n".join([*lines, "ret; }\n"]), initial, run, space == "global")


def _word(rng: random.Random, name: str) -> int:
    if name[1] in FLOATS:
        if rng.random() < 0.6:
            return rng.choice(FLOATS[name[1]])
        value = np.float32(rng.choice((-1, 1)) * 10 ** rng.uniform(-38, 38))
        return s.bits_of(float(value), name[1])
    return rng.choice(INTEGERS) if rng.random() < 0.6 else rng.getrandbits(64)


def _load(name: str, at: int) -> str:
    if name[1] == "p":
        load = f"ld.global.b64 %word, [%words+{at}];"
        return f"{load} and.b64 %word, %word, 1; setp.ne.b64 {name}, %word, 0;"
    kind = {"r": "b32", "q": "b64", "h": "b16", "f": "f32", "d": "f64"}[name[1]]
    return f"ld.global.{kind} {name}, [%words+{at}];"


def _store(name: str, at: int) -> str:
    if name[1] == "p":
        return f"selp.b64 %word, 1, 0, {name}; st.global.b64 [%words+{at}], %word;"
    kind = {"r": "b32", "q": "b64", "h": "b16", "f": "f32", "d": "f64"}[name[1]]
    return f"st.global.{kind} [%words+{at}], {name};"


def expected(program: Program, thread: int) -> tuple[list[int], bytes]:
    """The words that a thread leaves, and its bytes of memory."""
    words = program.initial[thread]
    t: Thread = {name: value_of(name, word) for name, word in zip(NAMES, words, strict=True)}
    t["memory"] = bytearray(MEMORY)
    with contextlib.suppress(Leave):
        program.run(t)
    return [word_of(name, t[name]) for name in NAMES], bytes(t["memory"])
