"""Machine code of a kernel, from its cubin: as much of each instruction as counting needs.

From compute capability 7.0 on an instruction has 128 bits. NVIDIA documents what `nvdisasm` prints,
not the encoding; the fields here were read off its output, and a test compares them with it where
it is installed. Opcodes are the lowest nine bits: the three above them say of which kind the
operands are.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from core.errors import TilescopeError

SIZE = 16  # bytes of an instruction
OPCODES: Mapping[int, str] = {
    0x020: "FMUL", 0x021: "FADD", 0x023: "FFMA", 0x03C: "HMMA", 0x11D: "BAR", 0x143: "CALL",
    0x144: "CALL", 0x147: "BRA", 0x149: "BRX", 0x14A: "JMP", 0x14C: "JMX", 0x14D: "EXIT",
    0x150: "RET", 0x15B: "KILL", 0x181: "LDG", 0x184: "LDS", 0x186: "STG", 0x188: "STS",
    0x1AE: "LDGSTS",
}  # fmt: skip
_ALWAYS = 7  # the predicate that is always true
_REGISTERS = 0x200  # the form in which all three factors are registers
_BY_LANES = 0x800  # the form of a branch without a uniform predicate
_FORMS = 0xE00
_ZERO = 255  # the register that is always zero
_FIRST_SPLIT = (9, 0)  # compute capability since which the lowest bits of a target stand apart


@dataclass(frozen=True)
class Factor:
    """A register that an instruction reads: its number, and whether it is kept for the next one."""

    register: int
    reuse: bool


@dataclass(frozen=True)
class MachineInstruction:
    """One instruction. `name` is "" where it does not matter for counting.

    `guarded`: whether a predicate decides if it takes effect. `target` is the address that a branch
    goes to. `factors` are the registers that an FFMA of three registers reads, by their places,
    with None for the zero register; () for any other instruction.
    """

    address: int
    name: str
    guarded: bool
    target: int | None = None
    factors: tuple[Factor | None, ...] = ()


def machine_code(image: bytes, entry: str) -> tuple[MachineInstruction, ...]:
    """The instructions of kernel `entry` of a cubin, in order of their addresses.

    Raises TilescopeError where there is no such kernel or its instructions are not 128 bits long.
    """
    data, version = _text(image, entry)
    if version < (7, 0):
        raise TilescopeError("The machine code of compute capability 6.x and before is not read.")
    words = struct.iter_unpack("<QQ", data)
    return tuple(_decoded(SIZE * i, low, high, version) for i, (low, high) in enumerate(words))


def _text(image: bytes, entry: str) -> tuple[bytes, tuple[int, int]]:
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(image))
    section = elf.get_section_by_name(f".text.{entry}")
    if section is None:
        raise TilescopeError(f"The cubin has no kernel {entry}.")
    return section.data(), _version(elf.header["e_flags"])


def _version(flags: int) -> tuple[int, int]:
    """The compute capability that code is for."""
    number = (flags >> 8) & 0xFF
    return number // 10, number % 10


def _decoded(address: int, low: int, high: int, version: tuple[int, int]) -> MachineInstruction:
    name = OPCODES.get(low & 0x1FF, "")
    guarded = (low >> 12) & 0xF != _ALWAYS
    target = None
    if name == "BRA":
        target = address + SIZE + _offset(low, high, version)
        guarded = guarded or (high >> 23) & 0xF != _ALWAYS or low & _FORMS != _BY_LANES
    factors: tuple[Factor | None, ...] = ()
    if name == "FFMA" and low & _FORMS == _REGISTERS:
        numbers = ((low >> 24) & 0xFF, (low >> 32) & 0xFF, high & 0xFF)
        factors = tuple(
            None if number == _ZERO else Factor(number, bool(high >> (58 + place) & 1))
            for place, number in enumerate(numbers)
        )
    return MachineInstruction(address, name, guarded, target, factors)


def _offset(low: int, high: int, version: tuple[int, int]) -> int:
    """How far a branch goes, in bytes: a signed number of words of four."""
    words = (low >> 34) | ((high & 0x3FFFF) << 30)
    words -= (words >> 47) << 48
    if version >= _FIRST_SPLIT:
        words = (words << 8) | ((low >> 16) & 0xFF)
    return 4 * words
