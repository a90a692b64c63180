"""From a parsed function to `FunctionCode`: every instruction is decoded once, before it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.emulator import memory
from core.emulator.async_copy import async_copy
from core.emulator.clocks import is_clock, read_clock
from core.emulator.cross_lane import CROSS_LANE, cross_lane
from core.emulator.jumps import indexed_branch
from core.emulator.matrices import matrix_access
from core.emulator.mbarrier import mbarrier
from core.emulator.named_barriers import named_barrier
from core.emulator.program import (
    Call,
    FunctionCode,
    Kind,
    MemoryAccess,
    Op,
    ParameterAccess,
    Reader,
    Registers,
    SlotTable,
    address_reader,
    run_ends,
)
from core.emulator.tensor import multiply, wmma
from core.errors import UnsupportedPtx
from core.ptx.ast import (
    Address,
    Function,
    Group,
    Instruction,
    Module,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)
from core.ptx.semantics import Operation, operation
from core.ptx.semantics.carry import CARRY, uses_carry
from core.ptx.semantics.operation import BUILDERS, TYPED, immediate, type_of, unsupported
from core.ptx.types import PRED, TYPES, PtxType, bits_of

_T = TypeVar("_T")
Writer = Callable[[NDArray[Any]], NDArray[Any]]
_WINDOWS = {"shared": memory.SHARED_WINDOW, "local": memory.LOCAL_WINDOW}
_SPACES = ("global", "shared", "local", "const", "param")
# Ordering and cache hints: they change no value in a machine that runs in lock step.
_NOTHING = {"prefetch", "prefetchu", "nanosleep", "discard", "applypriority",
            "griddepcontrol", "pmevent", "setmaxnreg"}  # fmt: skip


def space_of(instruction: Instruction) -> str:
    """The state space an access names, "" for a generic address."""
    for modifier in instruction.modifiers:
        name = modifier.split("::")[0]
        if name in _SPACES:
            return name
    return ""


def vector_length(instruction: Instruction) -> int:
    """Elements of a `.v2`, `.v4` or `.v8` access."""
    return next((int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")), 1)


def memory_type(instruction: Instruction) -> PtxType:
    """The type of one element of an access."""
    if "b128" in instruction.modifiers:
        raise unsupported(instruction, "uses .b128, which is not supported")
    return type_of(instruction)


def elements(operand: Operand) -> tuple[Operand, ...]:
    """The elements of a vector operand, or the operand itself."""
    return operand.elements if isinstance(operand, Vector) else (operand,)


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
            if instruction.opcode == "mov" and any(
                isinstance(o, Vector) for o in instruction.operands
            ):
                found = _pack(instruction)
            elif instruction.opcode in ("cvta", "isspacep"):
                found = _address_conversion(instruction)
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
            op.guard = self.table.slots[instruction.guard.name]
            op.guard_negated = instruction.guard_negated
        return op

    def _compute(self, instruction: Instruction) -> Op:
        found = self._operation(instruction)
        sources = [self.table.read(instruction, o, kind) for o, kind in found.sources]
        slots, writers = self._writers(instruction, _targets(instruction, found), found.results)
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

    def _memory(self, instruction: Instruction) -> Op:
        space = space_of(instruction)
        is_load = instruction.opcode in ("ld", "ldu")
        kind = memory_type(instruction)
        address = instruction.operands[1 if is_load else 0]
        if not isinstance(address, Address):
            raise unsupported(instruction, "has no address")
        if space == "param" and isinstance(address.base, Symbol):
            return self._parameter(instruction, address, is_load, kind)
        value = elements(instruction.operands[0 if is_load else 1])
        if len(value) != vector_length(instruction):
            raise unsupported(instruction, "has as many registers as the vector says elements")
        slots: tuple[int, ...] = ()
        writers: tuple[Writer | None, ...] = ()
        readers: tuple[Reader, ...] = ()
        if is_load:
            slots, writers = self._writers(instruction, value, (kind,) * len(value))
        else:
            readers = tuple(self.table.read(instruction, v, kind) for v in value)
        access = MemoryAccess(
            "load" if is_load else "store", space, kind, len(value),
            self.address(instruction, address, space), readers, _plain(writers),
        )  # fmt: skip
        return Op(Kind.MEMORY, instruction, destinations=slots, payload=access)

    def address(self, instruction: Instruction, address: Address, space: str) -> Reader:
        """A reader of the generic address that an access in `space` ("": generic) goes to."""
        read = address_reader(self.table, instruction, address, self.addresses)
        window = _WINDOWS.get(space)
        if window is None:
            return read
        base = np.array([window], np.int64)
        return lambda regs: read(regs) + base

    def _parameter(
        self, instruction: Instruction, address: Address, is_load: bool, kind: PtxType
    ) -> Op:
        assert isinstance(address.base, Symbol)
        value = elements(instruction.operands[0 if is_load else 1])
        if is_load:
            slots, writers = self._writers(instruction, value, (kind,) * len(value))
            readers: tuple[Reader, ...] = ()
        else:
            slots, writers = (), ()
            readers = tuple(self.table.read(instruction, v, kind) for v in value)
        payload = ParameterAccess(
            is_load, (address.base.name, address.offset), kind, readers, _plain(writers)
        )
        return Op(Kind.PARAMETER, instruction, destinations=slots, payload=payload)

    def _atomic(self, instruction: Instruction) -> Op:
        has_result = instruction.opcode == "atom"
        kind = memory_type(instruction)
        names = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
        name = next((m for m in instruction.modifiers if m in names), "")
        if not name:
            raise unsupported(instruction)
        destination = instruction.operands[0] if has_result else None
        address, *operands = instruction.operands[1 if has_result else 0 :]
        assert isinstance(address, Address)
        count = vector_length(instruction)
        if count > 1:
            operands = operands[:1]  # a cache policy may follow
        elif any("cache_hint" in m for m in instruction.modifiers):
            operands = operands[:-1]
        values = tuple(e for operand in operands for e in elements(operand))
        wanted = count if count > 1 else 1 + (name == "cas")
        if len(values) != wanted:
            raise unsupported(instruction, "has the wrong number of operands")
        slots: tuple[int, ...] = ()
        writers: tuple[Writer | None, ...] = ()
        if destination is not None:
            slots, writers = self._writers(instruction, elements(destination), (kind,) * count)
        space = space_of(instruction)
        access = MemoryAccess(
            "atomic", space, kind, count, self.address(instruction, address, space),
            tuple(self.table.read(instruction, v, kind) for v in values), _plain(writers), name,
        )  # fmt: skip
        return Op(Kind.MEMORY, instruction, destinations=slots, payload=access)

    def _branch(self, instruction: Instruction) -> Op:
        label = instruction.operands[0]
        assert isinstance(label, Symbol)
        target = self.module.labels.get(label.name)
        if target is None:
            raise unsupported(instruction, f"branches to {label.name}, which is not there")
        return Op(Kind.BRANCH, instruction, target=target)

    def _call(self, instruction: Instruction) -> Op:
        operands = list(instruction.operands)
        results = operands.pop(0) if isinstance(operands[0], Group) else Group(())
        target, *rest = operands
        arguments = next((o for o in rest if isinstance(o, Group)), Group(()))
        assert isinstance(results, Group)
        pointer, name = None, ""
        if isinstance(target, Symbol) and target.name in self.module.functions:
            name = target.name
        elif isinstance(target, Register):
            pointer = self.table.read(instruction, target, TYPES["s64"])
        else:
            raise unsupported(instruction, "calls a function that is not there")
        call = Call(
            name, self._names(results, "result"), self._names(arguments, "argument"), pointer,
            self._argument_values(instruction, arguments), self._result_slots(results),
        )  # fmt: skip
        return Op(Kind.CALL, instruction, payload=call)

    @staticmethod
    def _names(group: Group, role: str) -> tuple[str, ...]:
        """A name for each actual parameter; those that are no variables get one of their own."""
        return tuple(
            o.name if isinstance(o, Symbol) else f"{role} {i}" for i, o in enumerate(group.elements)
        )

    def _argument_values(
        self, instruction: Instruction, group: Group
    ) -> tuple[tuple[str, Reader], ...]:
        """Arguments that are registers or constants, with the name they go under."""
        found = []
        names = self._names(group, "argument")
        for name, operand in zip(names, group.elements, strict=True):
            if isinstance(operand, Register):
                kind = self.table.declared(operand.name)
                found.append((name, self.table.read(instruction, operand, kind)))
            elif not isinstance(operand, Symbol):
                found.append((name, self.table.read(instruction, operand, TYPES["b32"])))
        return tuple(found)

    def _result_slots(self, group: Group) -> tuple[tuple[str, int], ...]:
        names = self._names(group, "result")
        return tuple(
            (name, self.table.slots[operand.name])
            for name, operand in zip(names, group.elements, strict=True)
            if isinstance(operand, Register)
        )

    def _return(self, instruction: Instruction) -> Op:
        return Op(Kind.RETURN, instruction, payload=instruction.opcode == "exit")

    def _trap(self, instruction: Instruction) -> Op:
        return Op(Kind.TRAP, instruction)

    def _barrier(self, instruction: Instruction) -> Op:
        if "warp" in instruction.modifiers:
            return Op(Kind.SYNC, instruction, payload=self._members(instruction))
        number = immediate(instruction.operands[0])
        plain = len(instruction.operands) == 1 and number is not None
        if plain and not {"red", "arrive", "cluster"} & set(instruction.modifiers):
            return Op(Kind.BARRIER, instruction, payload=number)
        return named_barrier(self, instruction)

    def _cross_lane(self, instruction: Instruction) -> Op:
        found = cross_lane(instruction)
        sources = tuple(self.table.read(instruction, o, kind) for o, kind in found.sources)
        slots, writers = self._writers(instruction, _destinations(instruction), found.results)
        members = self._members(instruction) if "sync" in instruction.modifiers else None
        payload = (found.function, sources, _plain(writers), members)
        return Op(Kind.CROSS_LANE, instruction, destinations=slots, payload=payload)

    def _members(self, instruction: Instruction) -> Reader:
        """The member mask of a `.sync` instruction, its last operand."""
        return self.table.read(instruction, instruction.operands[-1], TYPES["u32"])

    def _fence(self, instruction: Instruction) -> Op:
        return Op(Kind.FENCE, instruction)


def _checked(step: Callable[[Instruction], _T], instruction: Instruction) -> _T:
    """A step of decoding; whatever a malformed instruction trips over becomes one clear error."""
    try:
        return step(instruction)
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
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


def _pack(instruction: Instruction) -> Operation:
    """`mov.b64 d, {lo, hi}` and `mov.b64 {lo, hi}, a`: the first element is the lowest."""
    kind = type_of(instruction)
    destination, source = instruction.operands
    if isinstance(source, Vector):
        part = bits_of(kind.nbytes // len(source.elements))
        unsigned = np.dtype(f"u{kind.nbytes}")

        def pack(*parts: NDArray[Any]) -> NDArray[Any]:
            total = np.zeros(1, unsigned)
            for i, value in enumerate(parts):
                bits = value.view(f"u{part.nbytes}").astype(unsigned)
                total = total | (bits << unsigned.type(i * part.bits))
            return total.view(kind.dtype)

        return Operation(pack, tuple((e, part) for e in source.elements), (kind,))
    assert isinstance(destination, Vector)
    count = len(destination.elements)
    if kind.nbytes % count:
        raise unsupported(instruction, "does not split into equal parts")
    part = bits_of(kind.nbytes // count)

    def unpack(value: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        raw = value.view(f"u{kind.nbytes}")
        return tuple(
            (raw >> raw.dtype.type(i * part.bits)).astype(f"u{part.nbytes}").view(part.dtype)
            for i in range(count)
        )

    if count == 1:
        return Operation(lambda value: value, ((source, kind),), (kind,))
    return Operation(unpack, ((source, kind),), (part,) * count)


def _address_conversion(instruction: Instruction) -> Operation:
    """`cvta` between a space's own addresses and generic ones, and `isspacep`."""
    space = space_of(instruction)
    source = instruction.operands[1]
    if instruction.opcode == "isspacep":
        low = _WINDOWS.get(space, memory.GLOBAL_WINDOW)
        high = 2 * low if space in _WINDOWS else 1 << 62
        return Operation(lambda a: (a >= low) & (a < high), ((source, TYPES["s64"]),), (PRED,))
    kind = type_of(instruction)
    window = _WINDOWS.get(space, 0)
    if kind.bits == 32 and window:
        raise unsupported(instruction, "needs 64-bit addresses")
    move = np.array([-window if "to" in instruction.modifiers else window], np.int64)
    wide = TYPES["s64"] if kind.bits == 64 else kind
    if not window:
        return Operation(lambda a: a, ((source, wide),), (wide,))
    return Operation(lambda a: a + move, ((source, wide),), (wide,))


_SPECIAL: dict[str, Callable[[Decoder, Instruction], Op]] = {
    "ld": Decoder._memory, "ldu": Decoder._memory, "st": Decoder._memory,
    "atom": Decoder._atomic, "red": Decoder._atomic,
    "bra": Decoder._branch, "call": Decoder._call, "ret": Decoder._return,
    "exit": Decoder._return, "trap": Decoder._trap, "brkpt": Decoder._trap,
    "membar": Decoder._fence, "fence": Decoder._fence,
    "bar": Decoder._barrier, "barrier": Decoder._barrier,
    **dict.fromkeys(CROSS_LANE, Decoder._cross_lane),
    "mbarrier": mbarrier,
    "brx": indexed_branch, "cp": async_copy, "mma": multiply, "wmma": wmma,
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
