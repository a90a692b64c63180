"""What the tests of integer instructions share: values worth trying, and a check lane by lane."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st

from core.ptx.types import TYPES
from tests.core.emulator.machines import evaluate

LANES = 64
FEW = settings(
    max_examples=5, deadline=None, derandomize=True, database=None,
    phases=[Phase.explicit, Phase.generate],  # a failing column names its row: nothing to shrink
)  # fmt: skip


def limits(kind: str) -> tuple[int, int]:
    info = np.iinfo(TYPES[kind].dtype) if kind[0] == "s" else np.iinfo(f"u{int(kind[1:]) // 8}")
    return int(info.min), int(info.max)


def wrap(value: int, kind: str) -> int:
    bits = int(kind[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


def bits_of(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def interesting(kind: str) -> list[int]:
    low, high = limits(kind)
    near = {low, low + 1, high, high - 1, 0, 1, 2, 3, 5, 7, 31, 32, 33, high // 2, high // 3}
    if low < 0:
        near |= {-v for v in (1, 2, 3, 7, 32)}
    return sorted(near)


def values(kind: str):
    """Columns of LANES values, about half of them at the edges of the type."""
    low, high = limits(kind)
    edges = interesting(kind)

    def column(seed: int) -> list[int]:
        rng = random.Random(seed)
        return [
            rng.choice(edges) if rng.random() < 0.5 else rng.randint(low, high)
            for _ in range(LANES)
        ]

    return st.integers(0, 2**32).map(column)


def check(code: str, result: str, reference: Callable[..., int], **operands) -> None:
    got = evaluate(code, result, **operands)
    columns = [column for _, column in operands.values()]
    want = [wrap(reference(*row), result) for row in zip(*columns, strict=True)]
    for row, g, w in zip(zip(*columns, strict=True), got.tolist(), want, strict=True):
        assert bits_of(g, TYPES[result].bits) == bits_of(w, TYPES[result].bits), (code, row, g, w)


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient
