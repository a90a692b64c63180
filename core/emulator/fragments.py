"""How the elements of a matrix lie in the registers of a warp.

Lane l is at place g = l / 4, t = l % 4. An operand of R rows (A's rows, B's columns) and depth K
has E elements in a register; register r belongs to the rows 8 (r % (R / 8)) + g and the depths
4 E (r / (R / 8)) + E t and the E - 1 next ones. Results lie in pairs: pair p belongs to row
8 (p % (M / 8)) + g and the columns 8 (p / (M / 8)) + 2 t and the next. These are the layouts that
the PTX ISA documents for `mma.sync`; those of `wmma`, which it leaves open, are ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.ptx.semantics.narrow import codec
from core.ptx.types import TYPES

_G, _T = np.arange(32) // 4, np.arange(32) % 4


@dataclass(frozen=True)
class Shape:
    """m x n x k."""

    m: int
    n: int
    k: int


def shape_of(modifiers: tuple[str, ...]) -> Shape | None:
    """The shape that an instruction names, `m16n8k8` and the like."""
    for modifier in modifiers:
        found = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", modifier)
        if found:
            return Shape(*(int(x) for x in found.groups()))
    return None


@dataclass(frozen=True)
class Element:
    """An element type: its name, bits, how many in a register, and the register's PTX type."""

    name: str
    bits: int

    @property
    def in_register(self) -> int:
        """Elements in one register."""
        return max(1, 32 // self.bits)

    @property
    def register(self) -> str:
        """The type of the register they are in."""
        if self.name in ("f32", "f64", "s32"):
            return self.name
        return "b32"

    def decode(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Registers (warps, 32) as values (warps, 32, elements): float64, or int64 for integers."""
        if self.name in ("s8", "u8"):
            small = np.int8 if self.name == "s8" else np.uint8
            return np.ascontiguousarray(raw).view(small).reshape(*raw.shape, 4).astype(np.int64)
        if self.name == "tf32":  # the low 13 bits do not take part
            return (
                (raw.view(np.uint32) & np.uint32(0xFFFFE000))
                .view(np.float32)[..., None]
                .astype(np.float64)
            )
        if self.name in ("f16", "bf16"):
            pairs = codec(TYPES[f"{self.name}x2"]).decode(raw.reshape(-1))
            return pairs.reshape(*raw.shape, 2)
        return raw[..., None].astype(np.int64 if self.name == "s32" else np.float64)


ELEMENTS = {
    e.name: e
    for e in (
        Element("f16", 16), Element("bf16", 16), Element("tf32", 32), Element("f32", 32),
        Element("f64", 64), Element("s32", 32), Element("s8", 8), Element("u8", 8),
    )
}  # fmt: skip


def operand_places(rows: int, depth: int, elements: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Row and depth of every element: int arrays of shape (registers, 32, elements)."""
    blocks = rows // 8
    count = blocks * depth // (4 * elements)
    register = np.arange(count)[:, None, None]
    row = 8 * (register % blocks) + _G[None, :, None] + np.zeros((1, 1, elements), int)
    inner = 4 * elements * (register // blocks) + elements * _T[None, :, None]
    return row, inner + np.arange(elements)[None, None, :]


def result_places(shape: Shape) -> tuple[NDArray[Any], NDArray[Any]]:
    """Row and column of every element of C or D: int arrays of shape (pairs, 32, 2)."""
    blocks = shape.m // 8
    pair = np.arange(blocks * shape.n // 8)[:, None, None]
    row = 8 * (pair % blocks) + _G[None, :, None] + np.zeros((1, 1, 2), int)
    column = 8 * (pair // blocks) + 2 * _T[None, :, None] + np.arange(2)[None, None, :]
    return row, column


def gather(registers: list[NDArray[Any]], element: Element, rows: int, depth: int) -> NDArray[Any]:
    """The matrix (warps, rows, depth) in registers given as rows of warps."""
    row, inner = operand_places(rows, depth, element.in_register)
    values = np.stack([element.decode(r) for r in registers[: len(row)]], 1)
    matrix = np.zeros((len(values), rows, depth), values.dtype)
    matrix[:, row, inner] = values
    return matrix


def gather_result(registers: list[NDArray[Any]], element: Element, shape: Shape) -> NDArray[Any]:
    """The matrix C (warps, m, n)."""
    row, column = result_places(shape)
    values = np.concatenate([element.decode(r) for r in registers], 2)  # (warps, 32, all)
    values = values.reshape(len(values), 32, -1, 2).swapaxes(1, 2)
    matrix = np.zeros((len(values), shape.m, shape.n), values.dtype)
    matrix[:, row, column] = values
    return matrix


def scatter_result(matrix: NDArray[Any], element: Element, shape: Shape) -> list[NDArray[Any]]:
    """D as registers, rows of warps; the values are of the element's type already."""
    row, column = result_places(shape)
    values = matrix[:, row, column]  # (warps, pairs, 32, 2)
    if element.name == "f16":
        pairs = codec(TYPES["f16x2"]).encode(values.reshape(-1, 2))
        packed = pairs.reshape(len(matrix), -1, 32)
        return [packed[:, i] for i in range(packed.shape[1])]
    flat = values.swapaxes(1, 2).reshape(len(matrix), 32, -1)
    kind = TYPES[element.name]
    if kind.is_float and kind.bits == 32:
        form = codec(kind)
        flat = form.encode(flat.reshape(-1, 1)).reshape(flat.shape)
    return [np.ascontiguousarray(flat[:, :, i]).astype(kind.dtype) for i in range(flat.shape[2])]
