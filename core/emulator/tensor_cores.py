"""Tensor cores: `mma.sync`, and `wmma.load`, `wmma.mma` and `wmma.store`.

D = A B + C, with sums as an H200 computes them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.geometry import warp_rows
from core.emulator.machine_state import Lanes
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.ptx.arithmetic.formats_and_rounding import FORMATS, codec, fma64, round_to, small_values
from core.ptx.arithmetic.operation import refuse, unsupported
from core.ptx.ast import Address, Immediate, Instruction, Operand, elements
from core.ptx.opcodes import space_of
from core.ptx.types import TYPES, bits_of

# How tensor cores add up: as an H200 was seen to, bit for bit (`tests/data/isa`).
#
# All the products of an instruction and C are aligned to the greatest exponent among them, where
# the exponent of a product is the sum of its factors', cut off 25 bits below it, and added exactly.
# The sum is cut off to float32, or rounded to nearest float16. Products of 8-bit floats are cut off
# 13 bits below instead, and so is a sum that becomes a float32; but so does `wgmma` alone. For
# `mma.sync` NVIDIA's assembler makes 8-bit floats halves on compute capability 9.0, see
# `_small_floats`. `wmma` of tf32 is done as two halves, one after the other. float64 goes through a
# chain of fused multiply-adds in order of depth. Integers are exact.


Matrices = NDArray[Any]
_KEPT_BITS = 25
KEPT_OF_SMALL = 13  # of 8-bit floats
_NOTHING = -(1 << 20)  # exponent of a zero


def integers(left: Matrices, right: Matrices, c: Matrices, *, saturate: bool) -> Matrices:
    """left (warps, m, k) times right (warps, n, k) plus c, in int32 or clamped to it."""
    total = left @ right.swapaxes(1, 2) + c
    return np.clip(total, -(2**31), 2**31 - 1) if saturate else total


def doubles(left: Matrices, right: Matrices, c: Matrices) -> Matrices:
    """float64: fused multiply-adds one after another."""
    total = c.reshape(-1)
    for depth in range(left.shape[2]):
        a, b = np.broadcast_arrays(left[:, :, None, depth], right[:, None, :, depth])
        total = fma64(a.reshape(-1), b.reshape(-1), total)
    return total.reshape(c.shape)


def floats(
    left: Matrices, right: Matrices, c: Matrices, result: str, block: int, kept: int = _KEPT_BITS
) -> Matrices:
    """Factors of at most 11 bits and C, in float64, to "f32" or "f16"; `block` depths at once."""
    for first in range(0, left.shape[2], block):
        part = slice(first, first + block)
        c = _block(left[:, :, part], right[:, :, part], c, result, kept)
    return c


def _small_floats(left: Matrices, right: Matrices, c: Matrices, result: str) -> Matrices:
    """Factors of 8 bits in `mma.sync`: two products of halves one after the other, then C is added.

    The first takes the lower two of the four depths in each register, the second the others (the
    machine code of NVRTC 13.0 and 13.5 for sm_90).
    """
    depths = np.argsort(np.arange(left.shape[2]) % 4 // 2, kind="stable")
    nothing, half = np.zeros_like(c), len(depths) // 2
    total = floats(left[:, :, depths], right[:, :, depths], nothing, result, half)
    return round_to(total + c, FORMATS[result], "rn")


def _block(left: Matrices, right: Matrices, c: Matrices, result: str, bits: int) -> Matrices:
    products = left[:, :, None, :] * right[:, None, :, :]
    plain = products.sum(axis=3) + c  # says what becomes of infinities
    exponents = _exponent(left)[:, :, None, :] + _exponent(right)[:, None, :, :]
    top = np.maximum(exponents.max(axis=3), _exponent(c))
    shift = bits - np.where(top < _NOTHING // 2, 0, top)
    products *= np.ldexp(1.0, shift)[..., None]
    kept = np.trunc(products, out=products).sum(axis=3) + np.trunc(np.ldexp(c, shift))
    total = np.ldexp(kept, -shift)
    if bits < _KEPT_BITS and result == "f32":
        cut = bits - np.where(total == 0, 0, np.frexp(total)[1] - 1)
        total = np.ldexp(np.trunc(np.ldexp(total, cut)), -cut)
    total = np.where(np.isfinite(plain), total, plain)
    return round_to(total, FORMATS[result], "rz" if result == "f32" else "rn")


def _exponent(x: Matrices) -> NDArray[np.int32]:
    exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))[1] - 1
    exponent[x == 0] = _NOTHING
    return exponent.astype(np.int32)


# How the elements of a matrix lie in the registers of a warp.
#
# Lane l is at place g = l / 4, t = l % 4. An operand of R rows (A's rows, B's columns) and depth K
# has E elements in a register; register r belongs to the rows 8 (r % (R / 8)) + g and the depths
# 4 E (r / (R / 8)) + E t and the E - 1 next ones. Results lie in pairs: pair p belongs to row
# 8 (p % (M / 8)) + g and the columns 8 (p / (M / 8)) + 2 t and the next. These are the layouts that
# the PTX ISA documents for `mma.sync`; those of `wmma`, which it leaves open, are ours.


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
        if self.name == self.register:  # one element, in its own type
            return raw[..., None].astype(np.int64 if self.name == "s32" else np.float64)
        octets = np.ascontiguousarray(raw).view(np.uint8)
        return self.values(octets.reshape(*raw.shape, self.in_register, self.bits // 8))

    def values(self, octets: NDArray[np.uint8]) -> NDArray[Any]:
        """Elements from their bytes (..., bytes): float64, or int64 for integers."""
        octets = np.ascontiguousarray(octets)
        if self.name in ("e4m3", "e5m2"):
            return _of_both_signs(self.name)[octets[..., 0]]
        if self.name in ("bf16", "tf32"):
            bits = octets.view(f"u{self.bits // 8}")[..., 0].astype(np.uint32)
            # The low 13 bits of a tf32 do not take part.
            wide = bits << np.uint32(16) if self.bits == 16 else bits & np.uint32(0xFFFFE000)
            return wide.view(np.float32).astype(np.float64)
        values = octets.view(TYPES[self.name].dtype)[..., 0]
        return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


@cache
def _of_both_signs(name: str) -> NDArray[np.float64]:
    """The values of all the bytes there are, of an 8-bit float."""
    positive = small_values(name)
    return np.concatenate([positive, -positive])


ELEMENTS = {
    e.name: e
    for e in (
        Element("f16", 16),
        Element("bf16", 16),
        Element("tf32", 32),
        Element("f32", 32),
        Element("f64", 64),
        Element("s32", 32),
        Element("s8", 8),
        Element("u8", 8),
        Element("e4m3", 8),
        Element("e5m2", 8),
    )
}


def _operand_places(rows: int, depth: int, elements: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Row and depth of every element: int arrays of shape (registers, 32, elements)."""
    blocks = rows // 8
    count = blocks * depth // (4 * elements)
    register = np.arange(count)[:, None, None]
    row = 8 * (register % blocks) + _G[None, :, None] + np.zeros((1, 1, elements), int)
    inner = 4 * elements * (register // blocks) + elements * _T[None, :, None]
    return row, inner + np.arange(elements)[None, None, :]


def _result_places(shape: Shape) -> tuple[NDArray[Any], NDArray[Any]]:
    """Row and column of every element of C or D: int arrays of shape (pairs, 32, 2)."""
    blocks = shape.m // 8
    pair = np.arange(blocks * shape.n // 8)[:, None, None]
    row = 8 * (pair % blocks) + _G[None, :, None] + np.zeros((1, 1, 2), int)
    column = 8 * (pair // blocks) + 2 * _T[None, :, None] + np.arange(2)[None, None, :]
    return row, column


def gather(registers: list[NDArray[Any]], element: Element, rows: int, depth: int) -> NDArray[Any]:
    """The matrix (warps, rows, depth) in registers given as rows of warps."""
    row, inner = _operand_places(rows, depth, element.in_register)
    values = np.stack([element.decode(r) for r in registers[: len(row)]], 1)
    matrix = np.zeros((len(values), rows, depth), values.dtype)
    matrix[:, row, inner] = values
    return matrix


def gather_result(registers: list[NDArray[Any]], element: Element, shape: Shape) -> NDArray[Any]:
    """The matrix C (warps, m, n)."""
    row, column = _result_places(shape)
    values = np.concatenate([element.decode(r) for r in registers], 2)  # (warps, 32, all)
    values = values.reshape(len(values), 32, -1, 2).swapaxes(1, 2)
    matrix = np.zeros((len(values), shape.m, shape.n), values.dtype)
    matrix[:, row, column] = values
    return matrix


def scatter_result(matrix: NDArray[Any], element: Element, shape: Shape) -> list[NDArray[Any]]:
    """D as registers, rows of warps; the values are of the element's type already."""
    row, column = _result_places(shape)
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


# `ldmatrix`, `stmatrix` and `movmatrix`: 8x8 matrices of 16-bit elements spread over a warp.
#
# Lane l holds row l / 4, columns 2 (l % 4) and the next, of each matrix, in one register (PTX ISA,
# "Warp-level matrix load instruction"). Memory is accessed a row at a time: 16 bytes by the lanes
# that give the rows' addresses, lanes 0 to 7 for the first matrix, 8 to 15 for the second, and so
# on.


_WORD = TYPES["b32"]
_COUNTS = {"x1": 1, "x2": 2, "x4": 4}


def _givers(lanes: Lanes, count: int) -> NDArray[np.bool_]:
    """The lanes whose addresses are used."""
    thread = np.arange(lanes.count) % lanes.geometry.threads
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


def load_matrix(address: Reader, count: int, transposed: bool, lanes: Lanes) -> bool:
    """`ldmatrix`."""
    givers = _givers(lanes, count)
    words = lanes.access("load", _WORD, lanes.read(address), count=4, only=givers)
    rows = np.stack([warp_rows(w, lanes.geometry, 0) for w in words], 2)
    halves = np.ascontiguousarray(rows).view(np.uint16)  # (warps, 32, 8)
    found = [
        lanes.lanes_of(_pieces(halves[:, 8 * i : 8 * i + 8], transposed)) for i in range(count)
    ]
    lanes.write(*found)
    return True


def store_matrix(
    address: Reader, registers: tuple[Reader, ...], transposed: bool, lanes: Lanes
) -> bool:
    """`stmatrix`."""
    count = len(registers)
    rows = np.zeros((len(lanes.rows(registers[0])), 32, 8), np.uint16)
    for i, register in enumerate(registers):
        rows[:, 8 * i : 8 * i + 8] = _matrix(lanes.rows(register), transposed)
    words = rows.view(np.int32)  # (warps, 32, 4)
    values = tuple(lanes.lanes_of(words[:, :, i]) for i in range(4))
    givers = _givers(lanes, count)
    lanes.access("store", _WORD, lanes.read(address), values, count=4, only=givers)
    return True


def move_matrix(register: Reader, lanes: Lanes) -> bool:
    """`movmatrix`: transposes a matrix within the warp."""
    moved = _pieces(_matrix(lanes.rows(register), transposed=False), transposed=True)
    lanes.write(lanes.lanes_of(moved))
    return True


def matrix_access(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes the three instructions; shapes other than 8x8 of 16 bits are refused."""
    modifiers = instruction.modifiers
    if "m8n8" not in modifiers or "b16" not in modifiers:
        raise unsupported(instruction, "has a shape that is not supported")
    transposed = "trans" in modifiers
    first, second = instruction.operands
    if instruction.opcode == "movmatrix":
        move = partial(move_matrix, decoder.table.read(instruction, second, _WORD))
        return decoder.action(instruction, move, (first,), (_WORD,))
    count = next((_COUNTS[m] for m in modifiers if m in _COUNTS), 0)
    if not count:
        raise unsupported(instruction, "does not say how many matrices")
    loads = instruction.opcode == "ldmatrix"
    where, what = (second, first) if loads else (first, second)
    registers = elements(what)
    if not isinstance(where, Address) or len(registers) != count:
        raise unsupported(instruction, f"needs an address and {count} registers")
    address = decoder.address(instruction, where, space_of(instruction))
    if not loads:
        values = tuple(decoder.table.read(instruction, r, _WORD) for r in registers)
        return decoder.action(instruction, partial(store_matrix, address, values, transposed))
    load = partial(load_matrix, address, count, transposed)
    return decoder.action(instruction, load, registers, (_WORD,) * count)


# The shapes that are executed, by the type of A (PTX ISA, "mma" and "wmma", "Matrix Shape").
_SQUARES = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
_SHAPES: dict[str, dict[str, tuple[tuple[int, int, int], ...]]] = {
    "mma": {
        "f16": ((16, 8, 8), (16, 8, 16)),
        "bf16": ((16, 8, 8), (16, 8, 16)),
        "tf32": ((16, 8, 4), (16, 8, 8)),
        "f64": ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)),
        "s8": ((8, 8, 16), (16, 8, 16), (16, 8, 32)),
        "u8": ((8, 8, 16), (16, 8, 16), (16, 8, 32)),
        "e4m3": ((16, 8, 16), (16, 8, 32)),
        "e5m2": ((16, 8, 16), (16, 8, 32)),
    },
    "wmma": {
        "f16": _SQUARES,
        "bf16": _SQUARES,
        "s8": _SQUARES,
        "u8": _SQUARES,
        "tf32": ((16, 16, 8),),
        "f64": ((8, 8, 4),),
    },
}
# What A and B may be, and what C and D may then be.
_RESULTS = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "f64": ("f64",),
    "s8": ("s32",),
    "u8": ("s32",),
    "e4m3": ("f16", "f32"),
    "e5m2": ("f16", "f32"),
}
_BYTES = ("e4m3", "e5m2"), ("s8", "u8")  # of which A may have one type, and B another


def may_multiply(d: str, a: str, b: str) -> bool:
    """Whether there is a product of these types, D = A B + D."""
    fits = a == b or any({a, b} <= {*pair} for pair in _BYTES)
    return fits and d in _RESULTS.get(a, ())


def product(
    shape: Shape,
    types: tuple[Element, Element, Element, Element],
    block: int,
    saturate: bool,
    factors: Sequence[tuple[Reader, ...]],
    lanes: Lanes,
) -> bool:
    """One matrix product of each warp, `block` depths added up at once.

    `types` are those of D, A, B and C; `factors` the registers of the last three.
    """
    d, a, b, c = types
    a_rows, b_rows, c_rows = ([lanes.rows(r) for r in readers] for readers in factors)
    left = gather(a_rows, a, shape.m, shape.k)
    right = gather(b_rows, b, shape.n, shape.k)
    addend = gather_result(c_rows, c, shape)
    if d.name == "s32":
        total = integers(left, right, addend, saturate=saturate)
    elif d.name == "f64":
        total = doubles(left, right, addend)
    elif a.name in _BYTES[0]:
        total = _small_floats(left, right, addend, d.name)
    else:
        total = floats(left, right, addend, d.name, block)
    found = scatter_result(total, d, shape)
    lanes.write(*(lanes.lanes_of(r) for r in found))
    return True


def multiply(decoder: OperandDecoder, instruction: Instruction) -> Op:
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
    d, a, b, c = (elements(o) for o in instruction.operands)
    d_type, a_type, b_type, c_type = types
    needs = _registers(shape, types)
    spare = 8 if instruction.opcode == "wmma" else 0  # some fragments hold their elements twice
    given = (len(d), len(a), len(b), len(c))
    for n, least, more in zip(given, needs, (0, spare, spare, 0), strict=True):
        if not least <= n <= max(least, more):
            raise unsupported(instruction, f"has {n} registers where its shape needs {least}")

    def readers(operands: tuple[Any, ...], element: Element) -> tuple[Reader, ...]:
        kind = TYPES[element.register]
        return tuple(decoder.table.read(instruction, o, kind) for o in operands)

    halves = instruction.opcode == "wmma" and a_type.name == "tf32"
    block = shape.k // 2 if halves else shape.k
    saturate = "satfinite" in instruction.modifiers
    factors = readers(a, a_type), readers(b, b_type), readers(c, c_type)
    action = partial(product, shape, types, block, saturate, factors)
    return decoder.action(instruction, action, d, (TYPES[d_type.register],) * len(d))


def _known(instruction: Instruction, shape: Shape, element: Element) -> bool:
    shapes = _SHAPES[instruction.opcode].get(element.name, ())
    return (shape.m, shape.n, shape.k) in shapes


def _operand_types(instruction: Instruction) -> tuple[Element, Element, Element, Element]:
    """The types of D, A, B and C; `wmma.mma` of f16 names only D and C."""
    names = [m for m in instruction.modifiers if m in ELEMENTS]
    if instruction.opcode == "wmma" and len(names) == 2:
        names = [names[0], "f16", "f16", names[1]]
    if len(names) != 4 or not all(may_multiply(n, *names[1:3]) for n in (names[0], names[3])):
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
class _Fragment:
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
        thread = np.arange(lanes.count) % lanes.geometry.threads % 32
        return self.places(lanes, self.row[register][thread].T, self.inner[register][thread].T).T

    def places(self, lanes: Lanes, row: NDArray[Any], inner: NDArray[Any]) -> NDArray[np.int64]:
        """The addresses of elements of the matrix: int64, like `row` and `inner` (…, lanes)."""
        far, near = (row, inner) if self.row_stride else (inner, row)
        ahead = far * lanes.read(self.stride).astype(np.int64) + near
        places: NDArray[np.int64] = lanes.read(self.address) + ahead * self.nbytes
        return places


def load_fragment(part: _Fragment, lanes: Lanes) -> bool:
    """`wmma.load`; registers beyond the matrix repeat it, as in the documented fragment sizes."""
    kind = TYPES[part.element.register]
    found = []
    crosswise = part.element.in_register == 2 and not part.row_stride
    for register in range(len(part.row)):
        load = _load_across if crosswise else _load
        found += [v.view(kind.dtype) for v in load(part, lanes, register)]
    wanted = len(lanes.op.destinations)
    lanes.write(*(found[i % len(found)] for i in range(wanted)))
    return True


def _load_across(part: _Fragment, lanes: Lanes, register: int) -> list[NDArray[Any]]:
    """Loads 8 x 8 halves as pairs that lie together, and transposes them (`LDG`, `MOVM`)."""
    warp = np.arange(32)
    quad, inside = warp // 4, warp % 4
    row = np.broadcast_to(part.row[register][0, 0] + 2 * inside, 32)
    inner = np.broadcast_to(part.inner[register][0, 0] + quad, 32)
    lane = np.arange(lanes.count)
    thread = lane % lanes.geometry.threads % 32
    pairs = lanes.access("load", TYPES["b32"], part.places(lanes, row[thread], inner[thread]))
    from_lane = (lane - thread)[:, None] + (2 * inside[thread, None] + (0, 1)) * 4
    from_lane = np.minimum(from_lane + (quad // 2)[thread, None], lanes.count - 1)
    halves = pairs[0].view(np.int16).reshape(-1, 2)[from_lane, (quad % 2)[thread, None]]
    return [np.ascontiguousarray(halves).view(np.int32).reshape(-1)]


def _load(part: _Fragment, lanes: Lanes, register: int) -> list[NDArray[Any]]:
    address = part.addresses(lanes, register)
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


def store_fragment(part: _Fragment, registers: tuple[Reader, ...], lanes: Lanes) -> bool:
    """`wmma.store`."""
    values = [lanes.read(r) for r in registers]
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
    decoder: OperandDecoder, instruction: Instruction, role: str, address: Operand, stride: Any
) -> _Fragment:
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
        row, inner = _operand_places(rows, shape.k, element.in_register)
        row_stride = row_major == (role == "a")
        default = shape.k if row_stride else rows
    else:
        row, inner = _result_places(shape)
        row_stride = row_major
        default = shape.n if row_major else shape.m
    space = space_of(instruction)
    pitch = stride if stride is not None else Immediate(default)
    return _Fragment(
        element,
        element.bits // 8,
        row,
        inner,
        row_stride,
        decoder.address(instruction, address, space),
        decoder.table.read(instruction, pitch, TYPES["u32"]),
    )


def wmma(decoder: OperandDecoder, instruction: Instruction) -> Op:
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
    stride = instruction.operands[2] if len(instruction.operands) > 2 else None
    part = _fragment(decoder, instruction, role, where, stride)
    operands = elements(registers)
    kind = TYPES[part.element.register]
    needs = part.row.size // (32 * part.element.in_register)
    if not needs <= len(operands) <= max(needs, 8 if role in "ab" else 0):
        raise unsupported(
            instruction, f"has {len(operands)} registers where its shape needs {needs}"
        )
    if what == "store":
        values = tuple(decoder.table.read(instruction, r, kind) for r in operands)
        return decoder.action(instruction, partial(store_fragment, part, values))
    load = partial(load_fragment, part)
    return decoder.action(instruction, load, operands, (kind,) * len(operands))
