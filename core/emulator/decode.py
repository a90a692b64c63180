"""From a parsed function to `FunctionCode`: every instruction is decoded once, before it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.emulator import decode_control as control
from core.emulator.async_copy import async_copy
from core.emulator.clocks import is_clock, read_clock
from core.emulator.cross_lane import CROSS_LANE
from core.emulator.decode_memory import (
    WINDOWS,
    address_conversion,
    atomic,
    elements,
    load_or_store,
    memory_type,
)
from core.emulator.jumps import indexed_branch
from core.emulator.matrices import matrix_access
from core.emulator.mbarrier import mbarrier
from core.emulator.packing import pack, packs
from core.emulator.program import FunctionCode, Kind, Op, Reader, Registers, run_ends
from core.emulator.slots import SlotTable, Writer, address_reader
from core.emulator.tensor import multiply, wmma
from core.errors import UnsupportedPtx
from core.ptx.ast import Address, Function, Instruction, Module, Operand, Pair
from core.ptx.modifiers import unknown_modifier
from core.ptx.parser import TEXTURES
from core.ptx.semantics import Operation, operation
from core.ptx.semantics.carry import CARRY, uses_carry
from core.ptx.semantics.operation import BUILDERS, TYPED, unsupported
from core.ptx.types import PRED, PtxType

_T = TypeVar("_T")
# Ordering and cache hints: they change no value in a machine that runs in lock step.
_NOTHING = {"prefetch", "prefetchu", "nanosleep", "discard", "applypriority",
            "griddepcontrol", "pmevent", "setmaxnreg"}  # fmt: skip


class Decoder:
    """Decodes one function of a module."""

    def __init__(self, module: Module, function: Function, addresses: Mapping[str, int]) -> None:
        self.module, self.function = module, function
        self.local_offsets, self.local_bytes = _local_layout(function)
        self.addresses = dict(addresses)
        self.instructions = module.instructions[function.first_pc : function.end_pc]
        registers = dict(function.registers)
        if any(uses_carry(instruction) for instruction in self.instructions):
            registers[CARRY] = PRED
        self.table = SlotTable(registers, self.addresses, self.local_offsets)
        self.operations: dict[int, Operation] = {}

    def decode(self, watched: frozenset[str]) -> FunctionCode:
        """The function's code; `watched` names registers whose values are to be recorded."""
        for instruction in self.instructions:
            if instruction.opcode in TEXTURES:
                raise unsupported(instruction, "needs a texture or a surface")
            unknown = unknown_modifier(instruction.modifiers)
            if unknown:
                raise unsupported(instruction, f"has {unknown!r}, which is no modifier of PTX")
            _checked(self._vote, instruction)
        self.table.close_votes()
        ops = [_checked(self._op, instruction) for instruction in self.instructions]
        slots = self.table.slots
        return FunctionCode(
            self.function, ops, slots, self.table.dtypes, self.table.constants,
            self.table.specials, self.local_offsets, self.local_bytes,
            frozenset(slots[name] for name in watched if name in slots), run_ends(ops),
        )  # fmt: skip

    # -- first pass: which NumPy type suits each register ------------------------------------

    def _vote(self, instruction: Instruction) -> None:
        opcode = instruction.opcode
        if is_clock(instruction):
            return
        if opcode in ("ld", "ldu", "st", "atom", "red"):
            kind = memory_type(instruction)
            for operand in instruction.operands:
                for element in elements(operand):
                    self.table.vote(element, kind)
        elif opcode not in _SPECIAL and opcode not in _NOTHING:
            found = self._operation(instruction)
            for operand, kind in found.sources:
                self.table.vote(operand, kind)
            for operand, kind in zip(_targets(instruction, found), found.results, strict=False):
                self.table.vote(operand, kind)

    def _operation(self, instruction: Instruction) -> Operation:
        found = self.operations.get(instruction.pc)
        if found is None:
            if instruction.opcode == "mov" and packs(instruction):
                found = pack(instruction)
            elif instruction.opcode in ("cvta", "isspacep"):
                found = address_conversion(instruction)
            else:
                found = operation(instruction)
            self.operations[instruction.pc] = found
        return found

    # -- second pass ------------------------------------------------------------------------

    def _op(self, instruction: Instruction) -> Op:
        opcode = instruction.opcode
        special = _SPECIAL.get(opcode)
        if special is not None:
            op = special(self, instruction)
        elif is_clock(instruction):
            op = read_clock(self, instruction)
        elif opcode in _NOTHING:
            op = Op(Kind.NOTHING, instruction)
        else:
            op = self._compute(instruction)
        if instruction.guard is not None:
            op.guard = self.table.predicate(instruction, instruction.guard)
            op.guard_negated = instruction.guard_negated
        return op

    def _compute(self, instruction: Instruction) -> Op:
        found = self._operation(instruction)
        sources = [self.table.read(instruction, o, kind) for o, kind in found.sources]
        slots, writers = self._writers(instruction, _targets(instruction, found), found.results)
        if slots == (-1,):
            return Op(Kind.NOTHING, instruction)
        compute = _compose(found.function, sources, writers)
        read = self.table.slots_of(operand for operand, _ in found.sources)
        return Op(Kind.COMPUTE, instruction, compute=compute, destinations=slots, sources=read)

    def plain_writers(
        self,
        instruction: Instruction,
        destinations: tuple[Operand, ...],
        kinds: tuple[PtxType, ...],
    ) -> tuple[tuple[int, ...], tuple[Writer, ...]]:
        """The slots of destinations and how values get into them, for an `Action`."""
        slots, writers = self._writers(instruction, destinations, kinds)
        return slots, _plain(writers)

    @staticmethod
    def elements(operand: Operand) -> tuple[Operand, ...]:
        """The elements of a vector operand, or the operand itself."""
        return elements(operand)

    def _writers(
        self,
        instruction: Instruction,
        destinations: tuple[Operand, ...],
        kinds: tuple[PtxType, ...],
    ) -> tuple[tuple[int, ...], tuple[Writer | None, ...]]:
        pairs = [
            self.table.write(instruction, operand, kind)
            for operand, kind in zip(destinations, kinds, strict=True)
        ]
        return tuple(slot for slot, _ in pairs), tuple(writer for _, writer in pairs)

    def address(self, instruction: Instruction, address: Address, space: str) -> Reader:
        """A reader of the generic address that an access in `space` ("": generic) goes to."""
        read = address_reader(self.table, instruction, address, self.addresses)
        window = WINDOWS.get(space)
        if window is None:
            return read
        base = np.array([window], np.int64)
        return lambda regs: read(regs) + base

    def label(self, instruction: Instruction, name: str, does: str) -> int:
        """The pc of a label of this function."""
        target = self.module.labels.get(name)
        if target is None or not self.function.first_pc <= target < self.function.end_pc:
            raise unsupported(instruction, f"{does} {name}, which is not there")
        return target


def _checked(step: Callable[[Instruction], _T], instruction: Instruction) -> _T:
    """A step of decoding; whatever a malformed instruction trips over becomes one clear error."""
    try:
        return step(instruction)
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        StopIteration,
        TypeError,
        ValueError,
    ) as error:
        raise unsupported(
            instruction, "lacks an operand, or has one that it cannot have"
        ) from error


def _plain(writers: tuple[Writer | None, ...]) -> tuple[Writer, ...]:
    return tuple(w if w is not None else _same for w in writers)


def _same(x: NDArray[Any]) -> NDArray[Any]:
    return x


def _destinations(instruction: Instruction) -> tuple[Operand, ...]:
    first = instruction.operands[0]
    if isinstance(first, Pair):
        return first.first, first.second
    return elements(first)


def _targets(instruction: Instruction, found: Operation) -> tuple[Operand, ...]:
    """Where the results of a computation go."""
    return _destinations(instruction) if found.targets is None else found.targets


def _compose(
    function: Callable[..., Any], sources: list[Reader], writers: tuple[Writer | None, ...]
) -> Callable[[Registers], Any]:
    """One function from the register file to the converted result, without needless layers."""
    if len(writers) > 1:
        plain = _plain(writers)
        return lambda regs: tuple(
            w(v) for w, v in zip(plain, function(*(s(regs) for s in sources)), strict=True)
        )
    writer = writers[0]
    if writer is not None:
        inner = _compose(function, sources, (None,))
        return lambda regs: writer(inner(regs))
    if len(sources) == 1:
        a = sources[0]
        return lambda regs: function(a(regs))
    if len(sources) == 2:
        a, b = sources
        return lambda regs: function(a(regs), b(regs))
    return lambda regs: function(*(s(regs) for s in sources))


def _local_layout(function: Function) -> tuple[dict[str, int], int]:
    offsets: dict[str, int] = {}
    size = 0
    for variable in function.variables:
        if variable.space == "local":
            size = -(-size // variable.align) * variable.align
            offsets[variable.name] = size
            size += variable.nbytes
    return offsets, -(-size // 16) * 16


_SPECIAL: dict[str, Callable[[Decoder, Instruction], Op]] = {
    "ld": load_or_store, "ldu": load_or_store, "st": load_or_store, "atom": atomic, "red": atomic,
    "bra": control.branch, "brx": indexed_branch, "call": control.call, "ret": control.leave,
    "exit": control.leave, "trap": control.trap, "brkpt": control.trap,
    "membar": control.fence, "fence": control.fence,
    "bar": control.barrier, "barrier": control.barrier, "mbarrier": mbarrier,
    **dict.fromkeys(CROSS_LANE, control.exchange),
    "cp": async_copy, "mma": multiply, "wmma": wmma,
    "ldmatrix": matrix_access, "stmatrix": matrix_access, "movmatrix": matrix_access,
}  # fmt: skip


def executed_opcodes() -> frozenset[str]:
    """Every opcode of which some form is executed; `docs/ptx.md` lists them."""
    opcodes = {*BUILDERS, *(name for name, _ in TYPED), *_SPECIAL, *_NOTHING, "cvta", "isspacep"}
    return frozenset(opcodes)


def decode(
    module: Module,
    function: Function,
    addresses: Mapping[str, int],
    watched: frozenset[str] = frozenset(),
) -> FunctionCode:
    """Decodes `function`. `addresses` gives each variable's address in its own space.

    Raises `UnsupportedPtx` at the first instruction that cannot be executed.
    """
    return Decoder(module, function, addresses).decode(watched)


__all__ = ["UnsupportedPtx", "decode"]
