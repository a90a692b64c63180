"""`ldmatrix`, `stmatrix` and `movmatrix`: 8x8 matrices of 16-bit elements spread over a warp.

Lane l holds row l / 4, columns 2 (l % 4) and the next, of each matrix, in one register (PTX ISA,
"Warp-level matrix load instruction"). Memory is accessed a row at a time: 16 bytes by the lanes
that give the rows' addresses, lanes 0 to 7 for the first matrix, 8 to 15 for the second, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.action import Lanes, action_op
from core.emulator.groups import warp_rows
from core.emulator.program import Op, Reader
from core.ptx.ast import Address, Instruction
from core.ptx.semantics.operation import unsupported
from core.ptx.types import TYPES

if TYPE_CHECKING:
    from core.emulator.decode import Decoder

_WORD = TYPES["b32"]
_COUNTS = {"x1": 1, "x2": 2, "x4": 4}


def _givers(lanes: Lanes, count: int) -> NDArray[np.bool_]:
    """The lanes whose addresses are used."""
    thread = np.arange(lanes.machine.count) % lanes.machine.geometry.threads
    return thread % 32 < 8 * count


def _pieces(matrix: NDArray[Any], transposed: bool) -> NDArray[Any]:
    """Matrices (warps, 8, 8) of uint16 as one register a lane, int32 (warps, 32)."""
    if transposed:
        matrix = matrix.swapaxes(1, 2)
    return np.ascontiguousarray(matrix).view(np.int32).reshape(-1, 32)


def _matrix(register: NDArray[Any], transposed: bool) -> NDArray[Any]:
    """The inverse of `_pieces`."""
    matrix = np.ascontiguousarray(register).view(np.uint16).reshape(-1, 8, 8)
    return matrix.swapaxes(1, 2) if transposed else matrix


@dataclass(frozen=True)
class LoadMatrix:
    """`ldmatrix`."""

    address: Reader
    count: int
    transposed: bool
    writers: tuple[Callable[..., Any], ...]

    def run(self, lanes: Lanes) -> bool:
        """Loads rows and spreads them."""
        givers = _givers(lanes, self.count)
        words = lanes.access("load", _WORD, lanes.read(self.address), count=4, only=givers)
        rows = np.stack([warp_rows(w, lanes.machine.geometry, 0) for w in words], 2)
        halves = np.ascontiguousarray(rows).view(np.uint16)  # (warps, 32, 8)
        found = [
            lanes.lanes_of(_pieces(halves[:, 8 * i : 8 * i + 8], self.transposed))
            for i in range(self.count)
        ]
        lanes.write(tuple(found), self.writers)
        return True


@dataclass(frozen=True)
class StoreMatrix:
    """`stmatrix`."""

    address: Reader
    registers: tuple[Reader, ...]
    transposed: bool

    def run(self, lanes: Lanes) -> bool:
        """Collects rows and stores them."""
        count = len(self.registers)
        rows = np.zeros((len(lanes.rows(self.registers[0])), 32, 8), np.uint16)
        for i, register in enumerate(self.registers):
            rows[:, 8 * i : 8 * i + 8] = _matrix(lanes.rows(register), self.transposed)
        words = rows.view(np.int32)  # (warps, 32, 4)
        values = tuple(lanes.lanes_of(words[:, :, i]) for i in range(4))
        givers = _givers(lanes, count)
        lanes.access("store", _WORD, lanes.read(self.address), values, count=4, only=givers)
        return True


@dataclass(frozen=True)
class MoveMatrix:
    """`movmatrix`: transposes a matrix within the warp."""

    register: Reader
    writers: tuple[Callable[..., Any], ...]

    def run(self, lanes: Lanes) -> bool:
        """Transposes within each warp."""
        moved = _pieces(_matrix(lanes.rows(self.register), transposed=False), transposed=True)
        lanes.write((lanes.lanes_of(moved),), self.writers)
        return True


def matrix_access(decoder: Decoder, instruction: Instruction) -> Op:
    """Decodes the three instructions; shapes other than 8x8 of 16 bits are refused."""
    modifiers = instruction.modifiers
    if "m8n8" not in modifiers or "b16" not in modifiers:
        raise unsupported(instruction, "has a shape that is not supported")
    transposed = "trans" in modifiers
    first, second = instruction.operands
    if instruction.opcode == "movmatrix":
        slots, writers = decoder.plain_writers(instruction, (first,), (_WORD,))
        return action_op(
            instruction, MoveMatrix(decoder.table.read(instruction, second, _WORD), writers), slots
        )
    count = next((_COUNTS[m] for m in modifiers if m in _COUNTS), 0)
    if not count:
        raise unsupported(instruction, "does not say how many matrices")
    loads = instruction.opcode == "ldmatrix"
    where, what = (second, first) if loads else (first, second)
    registers = decoder.elements(what)
    if not isinstance(where, Address) or len(registers) != count:
        raise unsupported(instruction, f"needs an address and {count} registers")
    space = "shared" if any(m.split("::")[0] == "shared" for m in modifiers) else ""
    address = decoder.address(instruction, where, space)
    if not loads:
        values = tuple(decoder.table.read(instruction, r, _WORD) for r in registers)
        return action_op(instruction, StoreMatrix(address, values, transposed))
    slots, writers = decoder.plain_writers(instruction, registers, (_WORD,) * count)
    return action_op(instruction, LoadMatrix(address, count, transposed, writers), slots)
