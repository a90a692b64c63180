"""Random programs with nested control flow, thread by thread against a reference in Python."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from core.trace import EventKind
from tests.core.emulator.machines import trace_of

NAMES = "abcd"
THREADS = 70


class Stop(Exception):
    """Leaves a loop or the program: "break", "continue" or "return"."""


@dataclass
class Program:
    """Writes a kernel and can run it; both come from the same random choices."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    counters: int = 0

    def expression(self):
        """C text, and a function of the variables."""
        kind, x, y = self.rng.randrange(6), self.rng.choice(NAMES), self.rng.choice(NAMES)
        n = self.rng.randint(1, 9)
        return [
            (f"{x} + {y} * {n}u", lambda v: v[x] + v[y] * n),
            (f"{x} - {y}", lambda v: v[x] - v[y]),
            (f"({x} ^ {y}) >> {n}", lambda v: (v[x] ^ v[y]) >> n),
            (f"{x} * {y} + {n}u", lambda v: v[x] * v[y] + n),
            (f"{x} / {n}u + {y} % {n + 1}u", lambda v: v[x] // n + v[y] % (n + 1)),
            (f"({x} > {y} ? {x} : {y} + {n}u)", lambda v: v[x] if v[x] > v[y] else v[y] + n),
        ][kind]

    def condition(self):
        x, y, n = self.rng.choice(NAMES), self.rng.choice(NAMES), self.rng.randint(2, 5)
        return self.rng.choice(
            [
                (f"{x} % {n}u == t % {n}u", lambda v: v[x] % n == v["t"] % n),
                (f"{x} < {y}", lambda v: v[x] < v[y]),
                (f"t & {n}u", lambda v: bool(v["t"] & n)),
                (f"{x} & 1u && {y} % {n}u", lambda v: bool(v[x] & 1 and v[y] % n)),
            ]
        )

    def block(self, depth: int, in_loop: bool, indent: str):
        """A few statements; returns a function that runs them on the variables."""
        parts = [self.statement(depth, in_loop, indent) for _ in range(self.rng.randint(1, 3))]

        def run(v) -> None:
            for part in parts:
                part(v)

        return run

    def statement(self, depth: int, in_loop: bool, indent: str):
        choice = self.rng.random()
        if depth and choice < 0.35:
            return self.branch(depth, in_loop, indent)
        if depth and choice < 0.65:
            return self.loop(depth, indent)
        if choice < 0.75 and (in_loop or depth < 3):
            return self.leave(in_loop, indent)
        name, (text, value) = self.rng.choice(NAMES), self.expression()
        self.lines.append(f"{indent}{name} = {text};")

        def assign(v) -> None:
            v[name] = value(v) % 2**32

        return assign

    def leave(self, in_loop: bool, indent: str):
        how = self.rng.choice(["break", "continue"] if in_loop else ["return"])
        text, test = self.condition()
        store = "{ out[t] = a ^ b ^ c ^ d; return; }" if how == "return" else f"{how};"
        self.lines.append(f"{indent}if ({text}) {store}")

        def run(v) -> None:
            if test(v):
                raise Stop(how)

        return run

    def branch(self, depth: int, in_loop: bool, indent: str):
        text, test = self.condition()
        self.lines.append(f"{indent}if ({text}) {{")
        yes = self.block(depth - 1, in_loop, indent + "    ")
        no = None
        if self.rng.random() < 0.6:
            self.lines.append(f"{indent}}} else {{")
            no = self.block(depth - 1, in_loop, indent + "    ")
        self.lines.append(f"{indent}}}")

        def run(v) -> None:
            if test(v):
                yes(v)
            elif no is not None:
                no(v)

        return run

    def loop(self, depth: int, indent: str):
        x, n = self.rng.choice(NAMES), self.rng.randint(2, 5)
        i = f"i{self.counters}"
        self.counters += 1
        late = self.rng.random() < 0.3
        head = f"unsigned {i} = 0, {i}n = {x} % {n}u;"
        if late:
            self.lines.append(f"{indent}{{ {head} do {{")
        else:
            self.lines.append(f"{indent}{{ {head} for (; {i} < {i}n; {i}++) {{")
        body = self.block(depth - 1, True, indent + "    ")
        self.lines.append(f"{indent}}} while (++{i} < {i}n); }}" if late else f"{indent}}} }}")

        def run(v) -> None:
            end, number = v[x] % n, 0
            while late or number < end:
                try:
                    body(v)
                except Stop as stop:
                    if str(stop) == "return":
                        raise
                    if str(stop) == "break":
                        return
                number += 1
                if late and number >= end:
                    return

        return run

    def kernel(self):
        self.lines += [
            'extern "C" __global__ void k(unsigned* out, const unsigned* in)', "{",
            "    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;",
            "    unsigned a = in[t], b = in[t + 1], c = t, d = 7;",
        ]  # fmt: skip
        body = [self.block(3, False, "    ") for _ in range(2)]
        self.lines += ["    out[t] = a ^ b ^ c ^ d;", "}"]

        def run(t: int, data: list[int]) -> int:
            v = {"t": t, "a": data[t], "b": data[t + 1], "c": t, "d": 7}
            try:
                for part in body:
                    part(v)
            except Stop as stop:
                assert str(stop) == "return"  # noqa: PT017
            return v["a"] ^ v["b"] ^ v["c"] ^ v["d"]

        return "\n".join(self.lines), run


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed, kind) -> None:
    source, reference = Program(random.Random(seed)).kernel()
    data = np.random.default_rng(seed).integers(0, 2**32, 2 * THREADS + 1, np.uint32)
    arguments = {"out": np.zeros(2 * THREADS, np.uint32), "in": data}
    trace = trace_of(source, arguments, grid=2, block=THREADS, kind=kind)
    want = [reference(t, data.tolist()) for t in range(2 * THREADS)]
    assert trace.outputs["out"].tolist() == want, source
    assert trace.findings == ()
    block = trace.block(1)
    ends = np.flatnonzero(block.kind == EventKind.EXIT)
    together = np.sum([block.active(int(s)) for s in ends], axis=0)
    assert together.tolist() == [1] * THREADS + [0] * (96 - THREADS)
