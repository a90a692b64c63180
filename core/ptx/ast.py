"""The parsed form of a PTX module: immutable, and complete enough to print a line back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from core.errors import TilescopeError
from core.ptx.types import PtxType


@dataclass(frozen=True)
class Register:
    """A register, by its name in the function (scoped names carry a suffix, `%tmp#2`)."""

    name: str


@dataclass(frozen=True)
class Special:
    """A read-only special register such as `%tid.x` (PTX ISA, "Special Registers")."""

    name: str


@dataclass(frozen=True)
class Immediate:
    """A constant. Floats written as bits (`0f3F800000`) keep them in `value`, see `float_bits`."""

    value: int | float
    float_bits: int = 0  # 32 or 64 when `value` is the bit pattern of a float, else 0


@dataclass(frozen=True)
class Symbol:
    """A variable, function or label used by name, with a byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Address:
    """`[base + offset]`; `base` is None for an absolute address.

    `[base, {x, y}]` of a texture, a surface or a tensor map has `coordinates`.
    """

    base: Register | Symbol | None
    offset: int = 0
    coordinates: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Vector:
    """`{a, b, …}`: the operand of a vector load or store, or of a packing move."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """`p|q`: two destinations (setp, shfl, match)."""

    first: Operand
    second: Operand


@dataclass(frozen=True)
class Negated:
    """`!p`: a predicate operand taken the other way round."""

    operand: Operand


@dataclass(frozen=True)
class Group:
    """A parenthesised list: the results or arguments of a call."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True)
class Selected:
    """`a.b0` or `a.h1`: a byte or a half of a register (scalar video instructions)."""

    operand: Operand
    part: str


Operand = (
    Register | Special | Immediate | Symbol | Address | Vector | Pair | Negated | Group | Selected
)


def elements(operand: Operand) -> tuple[Operand, ...]:
    """The elements of a vector operand, or the operand itself."""
    return operand.elements if isinstance(operand, Vector) else (operand,)


def symbol_of(operand: Operand) -> str:
    """The name of the symbol that an operand is, or that its address begins with; "" for none."""
    base = operand.base if isinstance(operand, Address) else operand
    return base.name if isinstance(base, Symbol) else ""


def immediate(operand: Operand) -> int | None:
    """The operand's value where it is an integer constant."""
    if isinstance(operand, Immediate) and isinstance(operand.value, int):
        return operand.value
    return None


def registers(*operands: Operand) -> Iterator[str]:
    """The names of the registers in operands, in order; the base of an address is one."""
    for operand in operands:
        if isinstance(operand, Register):
            yield operand.name
        elif isinstance(operand, Address):
            if isinstance(operand.base, Register):
                yield operand.base.name
            yield from registers(*operand.coordinates)
        elif isinstance(operand, Vector | Group):
            yield from registers(*operand.elements)
        elif isinstance(operand, Pair):
            yield from registers(operand.first, operand.second)
        elif isinstance(operand, Negated | Selected):
            yield from registers(operand.operand)


@dataclass(frozen=True)
class SourcePosition:
    """A line of the CUDA source, from `.loc` (file is the number of a `.file`; line 0: none)."""

    file: int
    line: int
    column: int = 0


@dataclass(frozen=True)
class Instruction:
    """One PTX instruction. `pc` counts instructions through the whole module.

    `silent`: the machine code has no load or store for it, so that it makes no request. `joined`:
    it has a wide one instead, so many bytes from this one's address, of so many bytes a lane.
    `yields`: the machine code lets the warp's other lanes go first before it. `spills`: before it
    the machine code keeps so many registers in local memory, and takes so many back. `on_stack`: it
    gives or takes a parameter that the machine code passes on the stack. `led`: one lane does the
    atomic for "any" lanes of its warp, or for all if it is "whole" ("": each lane does its own).
    `apart`: lanes that come here one after another do not wait for each other, and if it `parts`
    them, do not behind it either. `joins`: they do for those that were together at the line of the
    PTX that it names, which `begins` marks there.
    """

    pc: int
    opcode: str  # "add", "ld", "setp", …
    modifiers: tuple[str, ...]  # what follows it, split at the dots: ("global", "f32")
    operands: tuple[Operand, ...]
    guard: Register | None
    guard_negated: bool
    ptx_line: int
    text: str
    position: SourcePosition
    silent: bool = False
    joined: tuple[int, int] | None = None
    yields: bool = False
    spills: tuple[int, int] = (0, 0)
    on_stack: bool = False
    led: str = ""
    apart: bool = False
    parts: bool = False
    begins: int = 0
    joins: int = 0


@dataclass(frozen=True)
class Relocation:
    """An address in a variable's initial value: `nbytes` at `position` become that of `symbol`.

    The address plus `addend` is moved right by `shift` bits first.
    """

    position: int
    nbytes: int
    symbol: str
    addend: int = 0
    shift: int = 0


@dataclass(frozen=True)
class Variable:
    """A variable of a state space: module scope, `.shared`, `.local`, or a parameter."""

    name: str
    space: str  # "global", "const", "shared", "local", "param", "reg" (a .func's parameter)
    type: PtxType
    nbytes: int  # 0 for an unsized `extern .shared` array
    align: int
    initial: bytes | None = None
    relocations: tuple[Relocation, ...] = ()
    is_pointer: bool = False  # a parameter that is declared as one (`.ptr`)


@dataclass(frozen=True)
class Function:
    """A kernel (`.entry`) or device function (`.func`).

    Its instructions are those of the module from `first_pc` up to `end_pc`. A function that is
    only declared has `first_pc == end_pc`. Sizes of blocks that are not given are ().
    """

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    registers: Mapping[str, PtxType]
    variables: tuple[Variable, ...]  # shared, local and param variables declared in the body
    first_pc: int
    end_pc: int
    most_threads: tuple[int, ...] = ()  # .maxntid: x, y, z of the largest block
    wanted_threads: tuple[int, ...] = ()  # .reqntid: x, y, z of the only block
    cluster: tuple[int, ...] = ()  # .reqnctapercluster: blocks of a cluster in x, y, z
    saves: int = field(default=0, kw_only=True)  # registers of the caller that its code stores


@dataclass(frozen=True)
class Module:
    """A PTX module."""

    version: str
    target: str
    functions: Mapping[str, Function]
    variables: Mapping[str, Variable]
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]  # pc of the instruction that follows the label
    branch_targets: Mapping[str, tuple[str, ...]]  # the labels of a brx.idx table
    files: Mapping[int, str]
    text: str
    used_bytes: Mapping[int, int] = field(default_factory=dict)  # by pc: a load's bytes that matter

    @property
    def is_debug(self) -> bool:
        """Whether it was compiled with `-G`."""
        return any("debug" in line for line in self.target.split(","))

    @cached_property
    def source_file(self) -> int:
        """The number of the file that the kernels stand in: the text that was compiled.

        It is not always 1: NVRTC's own headers may be numbered first.
        """
        for function in self.functions.values():
            if function.is_entry:
                for instruction in self.instructions[function.first_pc : function.end_pc]:
                    if instruction.position.line:
                        return instruction.position.file
        return 1

    @cached_property
    def _defined(self) -> tuple[list[int], list[Function]]:
        """Where functions that have instructions begin, ascending, and these functions."""
        functions = [f for f in self.functions.values() if f.end_pc > f.first_pc]
        functions.sort(key=lambda f: f.first_pc)
        return [f.first_pc for f in functions], functions

    @cached_property
    def decoded(self) -> dict[tuple[str, frozenset[str]], tuple[Mapping[str, int], Any]]:
        """What the emulator last made of functions: by name and registers that are watched.

        It is a `FunctionCode`, behind the addresses in it.
        """
        return {}

    def function_at(self, pc: int) -> Function:
        """The function that an instruction is in."""
        starts, functions = self._defined
        return functions[bisect_right(starts, pc) - 1]

    @cached_property
    def own_functions(self) -> frozenset[str]:
        """The functions of which any instruction comes from a line of the user's source."""
        return frozenset(
            function.name
            for function in self.functions.values()
            if any(
                i.position.line > 0 and i.position.file == self.source_file
                for i in self.instructions[function.first_pc : function.end_pc]
            )
        )

    def targets(self, instruction: Instruction) -> list[int]:
        """The pcs that a branch may go to, as far as they are known; none of other instructions."""
        names = [o.name for o in instruction.operands if isinstance(o, Symbol)]
        if instruction.opcode == "brx":
            names = [label for name in names for label in self.branch_targets.get(name, ())]
        elif instruction.opcode != "bra":
            return []
        return [self.labels[name] for name in names if name in self.labels]

    def entry(self, name: str) -> Function:
        """The kernel of that name; `TilescopeError` lists the kernels there are."""
        function = self.functions.get(name)
        if function is None or not function.is_entry:
            there = ", ".join(f.name for f in self.functions.values() if f.is_entry) or "none"
            raise TilescopeError(f"There is no kernel {name!r} in this module; it has: {there}.")
        return function
