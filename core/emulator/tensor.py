"""Tensor cores: `mma.sync`, and `wmma.load`, `wmma.mma` and `wmma.store`.

D = A B + C, added up as in `core.emulator.accumulation`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.emulator import accumulation
from core.emulator.action import Lanes, action_op
from core.emulator.fragments import (
    ELEMENTS,
    Element,
    Shape,
    gather,
    gather_result,
    operand_places,
    result_places,
    scatter_result,
    shape_of,
)
from core.emulator.program import Op, Reader
from core.ptx.ast import Address, Immediate, Instruction
from core.ptx.semantics.operation import refuse, unsupported
from core.ptx.types import TYPES, bits_of

if TYPE_CHECKING:
    from core.emulator.decode import Decoder

# The shapes that are executed, by the type of A (PTX ISA, "mma" and "wmma", "Matrix Shape").
_SQUARES = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
_SHAPES: dict[str, dict[str, tuple[tuple[int, int, int], ...]]] = {
    "mma": {
        "f16": ((16, 8, 8), (16, 8, 16)), "bf16": ((16, 8, 8), (16, 8, 16)),
        "tf32": ((16, 8, 4), (16, 8, 8)),
        "f64": ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)),
        "s8": ((8, 8, 16), (16, 8, 16), (16, 8, 32)), "u8": ((8, 8, 16), (16, 8, 16), (16, 8, 32)),
    },
    "wmma": {
        "f16": _SQUARES, "bf16": _SQUARES, "s8": _SQUARES, "u8": _SQUARES,
        "tf32": ((16, 16, 8),), "f64": ((8, 8, 4),),
    },
}  # fmt: skip
# What A and B may be, and what C and D may then be.
_TYPES = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "f64": ("f64",),
          "s8": ("s32",), "u8": ("s32",)}  # fmt: skip


@dataclass(frozen=True)
class Multiply:
    """One matrix product of each warp."""

    shape: Shape
    types: tuple[Element, Element, Element, Element]  # D, A, B, C
    block: int  # depths that are added up at once
    saturate: bool
    a: tuple[Reader, ...]
    b: tuple[Reader, ...]
    c: tuple[Reader, ...]
    writers: tuple[Callable[..., Any], ...]

    def run(self, lanes: Lanes) -> bool:
        """Multiplies."""
        d, a, b, c = self.types
        shape = self.shape
        left = gather([lanes.rows(r) for r in self.a], a, shape.m, shape.k)
        right = gather([lanes.rows(r) for r in self.b], b, shape.n, shape.k)
        addend = gather_result([lanes.rows(r) for r in self.c], c, shape)
        if d.name == "s32":
            total = accumulation.integers(left, right, addend, saturate=self.saturate)
        elif d.name == "f64":
            total = accumulation.doubles(left, right, addend)
        else:
            total = accumulation.floats(left, right, addend, d.name, self.block)
        found = scatter_result(total, d, shape)
        lanes.write(tuple(lanes.lanes_of(r) for r in found), self.writers)
        return True


def multiply(decoder: Decoder, instruction: Instruction) -> Op:
    """Decodes `mma.sync` and `wmma.mma`."""
    refuse(instruction, "sp", "sp::ordered_metadata", "xor", "and", "block_scale")
    shape = shape_of(instruction.modifiers)
    types = _operand_types(instruction)
    if shape is None or not _known(instruction, shape, types[1]):
        raise unsupported(instruction, "has a shape that is not supported")
    if len(instruction.operands) != 4:
        raise unsupported(instruction, "has the wrong number of operands")
    if instruction.opcode == "mma" and not {"row", "col"} <= set(instruction.modifiers):
        raise unsupported(instruction, "has a layout that is not supported")
    d, a, b, c = (decoder.elements(o) for o in instruction.operands)
    d_type, a_type, b_type, c_type = types
    needs = _registers(shape, types)
    spare = 8 if instruction.opcode == "wmma" else 0  # some fragments hold their elements twice
    given = (len(d), len(a), len(b), len(c))
    for n, least, more in zip(given, needs, (0, spare, spare, 0), strict=True):
        if not least <= n <= max(least, more):
            raise unsupported(instruction, f"has {n} registers where its shape needs {least}")
    slots, writers = decoder.plain_writers(instruction, d, (TYPES[d_type.register],) * len(d))

    def readers(operands: tuple[Any, ...], element: Element) -> tuple[Reader, ...]:
        kind = TYPES[element.register]
        return tuple(decoder.table.read(instruction, o, kind) for o in operands)

    halves = instruction.opcode == "wmma" and a_type.name == "tf32"
    saturate = "satfinite" in instruction.modifiers
    action = Multiply(
        shape, types, shape.k // 2 if halves else shape.k, saturate, readers(a, a_type),
        readers(b, b_type), readers(c, c_type), writers,
    )  # fmt: skip
    return action_op(instruction, action, slots)


def _known(instruction: Instruction, shape: Shape, element: Element) -> bool:
    shapes = _SHAPES[instruction.opcode].get(element.name, ())
    return (shape.m, shape.n, shape.k) in shapes


def _operand_types(instruction: Instruction) -> tuple[Element, Element, Element, Element]:
    """The types of D, A, B and C; `wmma.mma` of f16 names only D and C."""
    names = [m for m in instruction.modifiers if m in ELEMENTS]
    if instruction.opcode == "wmma" and len(names) == 2:
        names = [names[0], "f16", "f16", names[1]]
    if len(names) != 4 or names[1] not in _TYPES:
        raise unsupported(instruction, "has types that are not supported")
    allowed = _TYPES[names[1]]
    mixed = {names[1], names[2]} <= {"s8", "u8"} or names[1] == names[2]
    if not mixed or names[0] not in allowed or names[3] not in allowed:
        raise unsupported(instruction, "has types that are not supported")
    d, a, b, c = (ELEMENTS[name] for name in names)
    return d, a, b, c


def _registers(
    shape: Shape, types: tuple[Element, Element, Element, Element]
) -> tuple[int, int, int, int]:
    d, a, b, c = (t.in_register for t in types)
    area = shape.m * shape.n // 32
    return area // d, shape.m * shape.k // (32 * a), shape.n * shape.k // (32 * b), area // c


# -- wmma.load and wmma.store -----------------------------------------------------------------


@dataclass(frozen=True)
class Fragment:
    """A matrix in memory and its registers.

    `row`, `inner` are the places of the elements, (registers, 32, elements); `row_stride` says that
    the rows are a leading dimension apart, and the other index runs through memory.
    """

    element: Element
    nbytes: int
    row: NDArray[Any]
    inner: NDArray[Any]
    row_stride: bool
    address: Reader
    stride: Reader

    def addresses(self, lanes: Lanes, register: int) -> NDArray[np.int64]:
        """Of each element of a register: int64 (lanes, elements)."""
        thread = np.arange(lanes.machine.count) % lanes.machine.geometry.threads % 32
        row, inner = self.row[register][thread], self.inner[register][thread]
        far, near = (row, inner) if self.row_stride else (inner, row)
        ahead = far * lanes.read(self.stride).astype(np.int64)[:, None] + near
        places: NDArray[np.int64] = lanes.read(self.address)[:, None] + ahead * self.nbytes
        return places


@dataclass(frozen=True)
class LoadFragment:
    """`wmma.load`; registers beyond the matrix repeat it, as in the documented fragment sizes."""

    fragment: Fragment
    writers: tuple[Callable[..., Any], ...]

    def run(self, lanes: Lanes) -> bool:
        """Loads the elements of every lane."""
        part = self.fragment
        kind = TYPES[part.element.register]
        found = []
        for register in range(len(part.row)):
            address = part.addresses(lanes, register)
            found += [v.view(kind.dtype) for v in self._load(lanes, address)]
        wanted = len(self.writers)
        lanes.write(tuple(found[i % len(found)] for i in range(wanted)), self.writers)
        return True

    def _load(self, lanes: Lanes, address: NDArray[np.int64]) -> list[NDArray[Any]]:
        part = self.fragment
        kind = bits_of(part.nbytes)
        count = address.shape[1]
        if part.row_stride:  # neighbours in memory: one access
            if part.element.in_register > 1:
                return list(lanes.access("load", TYPES["b32"], address[:, 0]))
            return list(lanes.access("load", kind, address[:, 0], count=count))
        single = [lanes.access("load", kind, address[:, i])[0] for i in range(count)]
        if part.element.in_register == 1:
            return single
        return [np.stack(single, 1).view(np.int32).reshape(-1)]


@dataclass(frozen=True)
class StoreFragment:
    """`wmma.store`."""

    fragment: Fragment
    registers: tuple[Reader, ...]

    def run(self, lanes: Lanes) -> bool:
        """Stores the elements of every lane."""
        part = self.fragment
        values = [lanes.read(r) for r in self.registers]
        packed = part.element.in_register
        each = part.row.shape[2] // packed  # registers that a place takes
        kind = bits_of(part.nbytes)
        for place in range(len(part.row)):
            address = part.addresses(lanes, place)
            here = values[place * each : (place + 1) * each]
            if packed > 1:
                halves = np.ascontiguousarray(here[0]).view(kind.dtype).reshape(-1, packed)
                here = [np.ascontiguousarray(h) for h in halves.T]
            here = [np.ascontiguousarray(h).view(kind.dtype) for h in here]
            if part.row_stride:
                lanes.access("store", kind, address[:, 0], tuple(here), count=len(here))
            else:
                for i, value in enumerate(here):
                    lanes.access("store", kind, address[:, i], (value,))
        return True


def _fragment(
    decoder: Decoder, instruction: Instruction, role: str, address: Address, stride: Any
) -> Fragment:
    shape = shape_of(instruction.modifiers)
    name = next((m for m in instruction.modifiers if m in ELEMENTS), "")
    if shape is None or not name:
        raise unsupported(instruction, "has a shape or a type that is not supported")
    element = ELEMENTS[name]
    if role in "ab" and not _known(instruction, shape, element):
        raise unsupported(instruction, "has a shape that is not supported")
    row_major = "row" in instruction.modifiers
    if role in "ab":
        rows = shape.m if role == "a" else shape.n
        row, inner = operand_places(rows, shape.k, element.in_register)
        row_stride = row_major == (role == "a")
        default = shape.k if row_stride else rows
    else:
        row, inner = result_places(shape)
        row_stride = row_major
        default = shape.n if row_major else shape.m
    space = next((m.split("::")[0] for m in instruction.modifiers
                  if m.split("::")[0] in ("shared", "global")), "")  # fmt: skip
    pitch = stride if stride is not None else Immediate(default)
    return Fragment(
        element, element.bits // 8, row, inner, row_stride,
        decoder.address(instruction, address, space),
        decoder.table.read(instruction, pitch, TYPES["u32"]),
    )  # fmt: skip


def wmma(decoder: Decoder, instruction: Instruction) -> Op:
    """Decodes `wmma.load.{a,b,c}`, `wmma.mma` and `wmma.store.d`."""
    what = instruction.modifiers[0]
    if what == "mma":
        return multiply(decoder, instruction)
    if what not in ("load", "store"):
        raise unsupported(instruction)
    role = instruction.modifiers[1]
    registers, where = instruction.operands[:2]
    if what == "store":
        registers, where = where, registers
    if not isinstance(where, Address):
        raise unsupported(instruction, "has no address")
    stride = instruction.operands[2] if len(instruction.operands) > 2 else None
    part = _fragment(decoder, instruction, role, where, stride)
    operands = decoder.elements(registers)
    kind = TYPES[part.element.register]
    needs = part.row.size // (32 * part.element.in_register)
    if not needs <= len(operands) <= max(needs, 8 if role in "ab" else 0):
        raise unsupported(
            instruction, f"has {len(operands)} registers where its shape needs {needs}"
        )
    if what == "store":
        values = tuple(decoder.table.read(instruction, r, kind) for r in operands)
        return action_op(instruction, StoreFragment(part, values))
    slots, writers = decoder.plain_writers(instruction, operands, (kind,) * len(operands))
    return action_op(instruction, LoadFragment(part, writers), slots)
