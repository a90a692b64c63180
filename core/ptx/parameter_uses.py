"""What a kernel does with its parameters: which are pointers, and to what; which are numbers.

PTX declares a pointer as 64 bits like any number, and what it points to not at all. So values are
followed from where parameters are loaded: what an access uses as its address came from a pointer,
and the arithmetic that is done with what was loaded says what it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from core.launch import POINTER_BYTES
from core.ptx.ast import (
    Address,
    Function,
    Immediate,
    Instruction,
    Module,
    Operand,
    Register,
    Symbol,
    Vector,
    registers,
)
from core.ptx.dataflow import reads, results, sources
from core.ptx.opcodes import opcode_of, space_of
from core.ptx.types import PRED, TYPES

Use = Literal["pointer", "integer", "float", "unused"]

Place = tuple[str, int]
"""A parameter, or a piece of one that is a structure: its name and an offset in bytes."""

_CARRIERS = frozenset(("mov", "cvta", "add", "sub", "selp", "or", "and", "ld", "st"))
"""What gives an address from an address."""
_SHARED = "shared memory"
"""All that shared memory holds, as if it were a register: warps exchange addresses there, too."""
_SPACES = frozenset(("global", "shared", "local", "const", "param"))
_MAP_BYTES = 128
_PACKED = {"f16x2": "f16", "bf16x2": "bf16", "tf32": "f32", "s16x2": "s16", "u16x2": "u16"}
_NUMPY = {"bf16": "bfloat16", **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)}}
_UNKNOWN = {1: "uint8", 2: "float16", 4: "float32", 8: "float64", 16: "uint64"}
"""What is only copied: nothing tells its type."""


@dataclass(frozen=True)
class ParameterUse:
    """A parameter of a kernel, or a piece of one.

    `element` is the type of what a pointer leads to, as `--arg` spells it ("bfloat16" for one);
    `holds_index` says that what is loaded through it goes into addresses, `is_compared` that a
    number is compared, as a size is. `nbytes` is the piece's own size. `is_map`: the piece is a
    tensor map, whose address copies take.
    """

    place: Place
    nbytes: int
    use: Use
    element: str = ""
    is_read: bool = False
    is_written: bool = False
    holds_index: bool = False
    is_compared: bool = False
    is_map: bool = False


def parameter_uses(module: Module, function: Function) -> tuple[ParameterUse, ...]:
    """The parameters of a kernel, in order; a structure by the pieces that the kernel loads.

    One of which it loads none is a single piece.

    What it hands to functions that it calls is not followed there.
    """
    flow = _Flow(module.instructions[function.first_pc : function.end_pc], function)
    found: list[ParameterUse] = []
    for variable in function.parameters:
        pieces = {k: n for k, n in flow.loaded.items() if k[0] == variable.name}
        if variable.nbytes == variable.type.nbytes:
            pieces = {(variable.name, 0): variable.nbytes}
        if not pieces:
            found.append(ParameterUse((variable.name, 0), variable.nbytes, "unused"))
        for place, nbytes in sorted(pieces.items()):
            if place in flow.maps:
                found.append(ParameterUse(place, nbytes, "unused", is_map=True))
            else:
                found.append(flow.use(place, nbytes, is_pointer=variable.is_pointer))
    return tuple(found)


class _Flow:
    """Where values come from and what they are, whatever the order of instructions."""

    def __init__(self, code: Iterable[Instruction], function: Function) -> None:
        self.code = tuple(code)
        self.types = function.registers
        self.names = {variable.name for variable in function.parameters}
        self.loaded: dict[Place, int] = {}  # pieces of parameters, and the bytes of each
        self.starts: dict[str, Place] = {}  # registers that hold a parameter
        self.maps: set[Place] = set()  # pieces that are tensor maps
        self._addresses = self._parameter_addresses()
        self._load_parameters()
        self.constants = self._constants()
        self.groups = _Groups()
        self.hints: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for instruction in self.code:
            self._hear(instruction)
        self.accesses = [i for i in self.code if _memory_address(i) is not None]
        self._follow()

    def _load_parameters(self) -> None:
        for instruction in self.code:
            spaces = _SPACES & set(instruction.modifiers)
            if instruction.opcode != "ld" or spaces - {"param"}:  # none: a generic address
                continue
            target, address = instruction.operands[:2]
            if not isinstance(address, Address) or (at := self._place(address)) is None:
                continue
            kind = _type(instruction)
            parameter, offset = at
            for name in registers(target):
                place = parameter, offset
                self.loaded[place] = max(self.loaded.get(place, 0), kind)
                self.starts[name] = place
                offset += kind
        for instruction in self.code:
            if "tensor" in instruction.modifiers or "tensormap" in instruction.modifiers:
                for address in instruction.operands:
                    if isinstance(address, Address) and (at := self._place(address)) is not None:
                        self.maps.add(at)
                        self.loaded[at] = _MAP_BYTES

    def _place(self, address: Address) -> Place | None:
        """The piece of a parameter that an address names, by its name or by a register."""
        if isinstance(address.base, Register):
            at = self._addresses.get(address.base.name)
            return None if at is None else (at[0], at[1] + address.offset)
        if isinstance(address.base, Symbol) and address.base.name in self.names:
            return address.base.name, address.offset
        return None

    def _parameter_addresses(self) -> dict[str, Place]:
        """Registers that hold a parameter's address, a constant added, and are written once."""
        written = Counter(name for i in self.code for name in results(i))
        found: dict[str, Place] = {}
        for instruction in self.code:  # a register is written before it is read
            operands = instruction.operands
            target = operands[0] if operands else None
            if not isinstance(target, Register) or written[target.name] != 1:
                continue
            if instruction.opcode not in ("mov", "cvta", "add"):
                continue
            place, added = self._held(operands[1], found), 0
            if instruction.opcode == "add":
                last = operands[2]
                if not isinstance(last, Immediate) or not isinstance(last.value, int):
                    continue
                added = last.value
            if place is not None:
                found[target.name] = place[0], place[1] + added
        return found

    def _held(self, operand: Operand, found: Mapping[str, Place]) -> Place | None:
        """The place whose address an operand is."""
        if isinstance(operand, Register):
            return found.get(operand.name)
        if isinstance(operand, Symbol) and operand.name in self.names:
            return operand.name, 0
        return None

    def _constants(self) -> set[str]:
        """Registers that only ever hold numbers of the text: a zero may stand for any type."""
        fixed: set[str] = set()
        others: set[str] = set()
        for instruction in self.code:
            is_fixed = instruction.opcode == "mov" and isinstance(
                instruction.operands[-1], Immediate
            )
            (fixed if is_fixed else others).update(results(instruction))
        return fixed - others

    # -- what values are ----------------------------------------------------------------------

    def _hear(self, instruction: Instruction) -> None:
        """Notes what an instruction takes its registers for."""
        opcode, operands, row = instruction.opcode, instruction.operands, opcode_of(instruction)
        if row.copies:  # an immediate operand says nothing of what it copies
            if any(isinstance(operand, Vector) for operand in operands):
                self._alike(*operands)  # `mov.b32 r, {a, b}`: a, b and what r holds
            elif opcode != "shfl":
                self._alike(*(o for o in operands if isinstance(o, Register)))
            return
        kinds = [m for m in instruction.modifiers if m in TYPES and m != "pred"]
        if row.is_untyped or not kinds:
            return
        if opcode == "mma":
            for operand, kind in zip(operands, kinds, strict=False):
                self._say(registers(operand), kind)
        elif len(kinds) > 1 and opcode in ("cvt", "set"):
            self._say(registers(*operands[:1]), kinds[0])
            self._say(registers(*operands[1:]), kinds[-1])
        else:
            self._say(registers(*(o for o in operands if not isinstance(o, Address))), kinds[-1])

    def _say(self, names: Iterable[str], kind: str) -> None:
        """`kind` counts for registers of its width, and for those that hold two of them."""
        if TYPES[kind].kind == "b":
            return
        bits = TYPES[kind].bits
        for name in names:
            declared = self.types.get(name)
            if declared is not None and declared.bits in (bits, max(2 * bits, 32)):
                self.hints[name][_PACKED.get(kind, kind)] += 1

    def _alike(self, *operands: Operand) -> None:
        names = (n for n in registers(*operands) if n not in self.constants)
        self.groups.join([n for n in names if self.types.get(n) is not PRED])

    def kind_of(self, names: Iterable[str], nbytes: int) -> str:
        """What registers hold, `nbytes` each, as a type that `--arg` knows; "" where unknown."""
        total: Counter[str] = Counter()
        for group in {self.groups.of(name) for name in names}:
            for name in self.groups.members(group):
                total += self.hints[name]
        fitting = {k: n for k, n in total.items() if TYPES[k].nbytes <= nbytes}
        if not fitting:
            return ""
        floats = {k: n for k, n in fitting.items() if TYPES[k].kind in "fx"}
        return _spelled(max(floats or fitting, key=lambda k: (fitting[k], k)))

    # -- where values come from ---------------------------------------------------------------

    def _follow(self) -> None:
        """To each register: the parameters it may be an address from, and those it was read by."""
        self.bases: defaultdict[str, frozenset[Place]] = defaultdict(frozenset)
        self.data: defaultdict[str, frozenset[Place]] = defaultdict(frozenset)
        for name, place in self.starts.items():
            self.bases[name] = frozenset({place})
        changed = True
        while changed:
            changed = False
            for instruction in self.code:
                written = results(instruction)
                if "shared" in instruction.modifiers and instruction.opcode == "st":
                    written = frozenset({_SHARED})
                if not written or written & set(self.starts):
                    continue
                bases, data = self._given(instruction)
                for name in written:
                    if self.types.get(name) is PRED:
                        continue
                    if not bases <= self.bases[name] or not data <= self.data[name]:
                        self.bases[name] |= bases
                        self.data[name] |= data
                        changed = True

    def _given(self, instruction: Instruction) -> tuple[frozenset[Place], frozenset[Place]]:
        address = _memory_address(instruction)
        if address is not None:
            return frozenset(), self._bases_of(address)
        if "shared" in instruction.modifiers and instruction.opcode in ("ld", "st"):
            values = instruction.operands[1:] if instruction.opcode == "st" else ()
            read = list(registers(*values)) or [_SHARED]
            wide = _type(instruction) == POINTER_BYTES
        else:
            read = [name for name in registers(*sources(instruction)) if name in self.types]
            wide = all(self.types[n].bits == 64 for n in results(instruction) if n in self.types)
        data = frozenset().union(*(self.data[name] for name in read))
        carried: Iterable[str] = ()
        if instruction.opcode in _CARRIERS and wide:
            carried = read
        elif instruction.opcode == "mad" and wide:
            carried = registers(*instruction.operands[3:4])
        bases = frozenset().union(*(self.bases[name] for name in carried))
        return bases, data

    def _bases_of(self, address: Address) -> frozenset[Place]:
        """The pointers that an address may come from; sums of several tell which are numbers."""
        if not isinstance(address.base, Register):
            return frozenset()
        found = self.bases[address.base.name]
        if len(found) > 1:
            found = frozenset(p for p in found if p not in self._numbers) or found
        return found

    @property
    def _numbers(self) -> frozenset[Place]:
        """Parameters that are compared, multiplied or shifted: no pointers."""
        found: set[Place] = set()
        for instruction in self.code:
            if instruction.opcode in ("setp", "mul", "shl", "div", "rem"):
                found.update(
                    self.starts[n] for n in registers(*instruction.operands) if n in self.starts
                )
        return frozenset(found)

    # -- what a parameter is --------------------------------------------------------------------

    def use(self, place: Place, nbytes: int, *, is_pointer: bool) -> ParameterUse:
        """What the kernel does with a piece of its parameters; `is_pointer`: it is declared so."""
        starts = [name for name, start in self.starts.items() if start == place]
        accesses = [i for i in self.accesses if place in self._bases_of(_address_in(i))]
        if accesses:
            return self._pointer(place, nbytes, accesses)
        read = {name for instruction in self.code for name in reads(instruction)}
        if not read & set(starts):
            return ParameterUse(place, nbytes, "unused", "uint8" if is_pointer else "")
        if is_pointer:
            return ParameterUse(place, nbytes, "pointer", "uint8", is_read=True)
        kind = self.kind_of(starts, nbytes)
        compared = any(
            set(starts) & set(registers(*i.operands)) for i in self.code if i.opcode == "setp"
        )
        kind_of_number: Use = "float" if "float" in kind else "integer"
        return ParameterUse(place, nbytes, kind_of_number, is_compared=compared)

    def _pointer(self, place: Place, nbytes: int, accesses: list[Instruction]) -> ParameterUse:
        elements: Counter[str] = Counter()
        is_read = is_written = False
        for instruction in accesses:
            row = opcode_of(instruction).kind
            is_read |= row in ("load", "atomic", "reduction")
            is_written |= row in ("store", "atomic", "reduction")
            if row == "copy":
                stores = space_of(instruction) == "global"
                reduces = "reduce" in instruction.modifiers
                is_read |= reduces or not stores
                is_written |= stores
                kind = _spelled(instruction.modifiers[-1]) if reduces else self._factors()
                elements[kind or _UNKNOWN[4]] += 1
                continue
            width = _type(instruction)
            value = instruction.operands[0 if row == "load" else -1]
            names = [n for n in registers(value) if n in self.types]
            declared = next((m for m in instruction.modifiers if m in TYPES), "")
            kind = self.kind_of(names, width)
            if not kind and TYPES.get(declared, PRED).kind in "fsux":
                kind = _spelled(declared)
            elif not kind and row in ("atomic", "reduction"):
                kind = f"int{min(8 * width, 64)}"
            elif not kind or (len(names) > 1 and "int" in kind):  # it passes through shared memory
                kind = (self._factors() if row == "load" else self._shared()) or kind
            elements[kind or _UNKNOWN[width]] += 1 if kind else 0
        best = max(elements, key=lambda kind: (elements[kind], kind))
        index = any(
            place in self.data[name] for i in self.accesses for name in registers(_address_in(i))
        )
        return ParameterUse(place, nbytes, "pointer", best, is_read, is_written, index)

    def _shared(self) -> str:
        """The type of most of what is stored in shared memory and is known; "" for none."""
        total: Counter[str] = Counter()
        for instruction in self.code:
            if instruction.opcode == "st" and "shared" in instruction.modifiers:
                names = [n for n in registers(*instruction.operands[1:]) if n in self.types]
                total[self.kind_of(names, _type(instruction))] += len(names)
        del total[""]
        return max(total, key=lambda kind: (total[kind], kind), default="")

    def _factors(self) -> str:
        """The type of the factors of the kernel's matrix products, "" without any."""
        for instruction in self.code:
            kinds = [m for m in instruction.modifiers if m in TYPES]
            if instruction.opcode == "mma" and len(kinds) > 1:
                return _spelled(kinds[1])
        return ""


class _Groups:
    """Registers that hold values of one type, as copies of each other do."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self._members: defaultdict[str, list[str]] = defaultdict(list)

    def of(self, name: str) -> str:
        """The group of a register, called by one of its members."""
        while (parent := self._parents.get(name, name)) != name:
            name = parent
        return name

    def join(self, names: list[str]) -> None:
        """Puts registers into one group."""
        for name in names[1:]:
            first, other = self.of(names[0]), self.of(name)
            if first != other:
                self._parents[other] = first
                self._members[first] += [*self._members.pop(other, []), other]

    def members(self, group: str) -> Iterator[str]:
        """The registers of a group."""
        yield group
        yield from self._members.get(group, ())


def _spelled(kind: str) -> str:
    """A type of PTX as `--arg` spells it."""
    single = _PACKED.get(kind, kind)
    return _NUMPY.get(single, f"{'u' * (single[0] == 'u')}int{TYPES[single].bits}")


def _type(instruction: Instruction) -> int:
    """The bytes of one element of an access."""
    kind = next((m for m in instruction.modifiers if m in TYPES), "b32")
    return TYPES[kind].nbytes


def _memory_address(instruction: Instruction) -> Address | None:
    """The address in global memory of a load, store, atomic or copy; None for all others."""
    row = opcode_of(instruction)
    if not row.is_memory and row.kind != "copy":
        return None
    spaces = {re.split("::", modifier)[0] for modifier in instruction.modifiers}
    found = [o for o in instruction.operands if isinstance(o, Address)]
    if row.kind == "copy":  # the first two are where to and where from, as the spaces say
        if "global" not in spaces or "tensor" in instruction.modifiers or len(found) < 2:
            return None
        return found[0 if space_of(instruction) == "global" else 1]
    if spaces & {"shared", "local", "const", "param"}:
        return None
    return found[-1] if found else None


def _address_in(instruction: Instruction) -> Address:
    address = _memory_address(instruction)
    assert address is not None
    return address
