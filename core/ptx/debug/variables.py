"""The source variables of functions, and where each lives at each instruction.

Read from the DWARF that NVRTC adds to PTX with `-G`, then followed along the control flow. `pc` is
an index into the module's instructions; a location describes the state *before* the instruction at
`pc` is executed.

Not in the DWARF, so not here: `__shared__` arrays and static variables declared inside a function
(their PTX symbols have names and sizes only, see `core.source.shared_arrays`), and the names
of structured bindings.
"""

from __future__ import annotations

import re
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from core.cancelling import check
from core.errors import Cancelled
from core.ptx.ast import Instruction, Module, Register
from core.ptx.dataflow import results
from core.ptx.debug.dwarf_sections import (
    DebugSections,
    expression_parser,
    location_entries,
    open_dwarf,
    read_sections,
)
from core.ptx.debug.dwarf_types import UNKNOWN, DwarfType, TypeReader
from core.ptx.debug.mangled_names import source_name
from core.ptx.lexer import sections
from core.ptx.opcodes import opcode_of


@dataclass(frozen=True)
class Location:
    """Where a variable is for first_pc <= pc < end_pc: exactly one of the three is set.

    `stack_offset` counts bytes from `symbol`: the function's `__local_depotN`, which %SP points to,
    or, for a variable of the module, its own PTX symbol.
    """

    first_pc: int
    end_pc: int
    register: str | None = None
    symbol: str | None = None
    stack_offset: int | None = None
    constant: int | float | None = None


@dataclass(frozen=True)
class Scope:
    """A function's body (depth 0), a lexical block in it, or an inlined call.

    `function` is the source name of the function that the code was written in.
    """

    depth: int
    first_pc: int
    end_pc: int
    function: str


@dataclass(frozen=True)
class VariableInfo:
    """A variable or parameter of a function, or a variable of the module."""

    name: str
    type: DwarfType
    declared_line: int  # 0 where unknown
    scope: Scope
    is_parameter: bool
    space: str  # "register", "local", "shared", "global", "const", "param" or "constant"
    locations: tuple[Location, ...]

    def location(self, pc: int) -> Location | None:
        """Where the variable is before the instruction at `pc`; None while it has no value."""
        for location in self.locations:
            if location.first_pc <= pc < location.end_pc:
                return location
        return None


@dataclass(frozen=True)
class FunctionInfo:
    """A function with code of its own. `symbol` is its PTX name."""

    symbol: str
    first_pc: int
    end_pc: int
    variables: tuple[VariableInfo, ...]  # parameters, then outer scopes before inner, by line


@dataclass(frozen=True)
class DebugInfo:
    """All of it. `functions` is keyed by PTX symbol."""

    functions: Mapping[str, FunctionInfo] = field(default_factory=lambda: MappingProxyType({}))
    module_variables: tuple[VariableInfo, ...] = ()

    def __reduce__(self) -> tuple[Callable[..., DebugInfo], tuple[Any, ...]]:
        """Read-only mappings cannot be pickled: it is made again from what they hold."""
        return DebugInfo, (dict(self.functions), self.module_variables)

    def variables_of(self, symbol: str) -> tuple[VariableInfo, ...]:
        """The variables of the function with that PTX symbol; empty where nothing is known."""
        function = self.functions.get(symbol)
        return () if function is None else function.variables


def lookup(variables: Iterable[VariableInfo], pc: int) -> tuple[VariableInfo, ...]:
    """The variables in scope at `pc`, in their order, each name once: inner hides outer.

    A variable that has no value yet is included (`.location(pc)` is None), unless an outer one of
    the same name still has one: `{ out = a; int a = 2; … }` reads the outer `a` at first.
    """
    seen: dict[str, VariableInfo] = {}
    for variable in variables:
        if not variable.scope.first_pc <= pc < variable.scope.end_pc:
            continue
        outer = seen.get(variable.name)
        if outer is None or variable.location(pc) is not None or outer.location(pc) is None:
            seen.pop(variable.name, None)
            seen[variable.name] = variable
    return tuple(seen.values())


# Read from DWARF. A location is a PTX register (DW_OP_regx with an operand that spells the name of
# the register in ASCII, as experiment shows), a place in the function's local memory (DW_OP_addr
# `__local_depotN`, DW_OP_plus_uconst offset), or a constant.


# DW_AT_address_class, as experiment shows; the numbers are those of CUDA-GDB's ptx_*_storage.
_SPACES = {2: "register", 4: "const", 5: "global", 6: "local", 7: "param", 8: "shared"}

_REGISTER = re.compile(r"%[A-Za-z_]\w*")
_COMPILER_TEMPORARY = re.compile(r"__T\d+")
_SCOPES = {"DW_TAG_lexical_block", "DW_TAG_inlined_subroutine"}
_VARIABLES = {"DW_TAG_variable", "DW_TAG_formal_parameter"}
_EVERYWHERE = Scope(0, 0, 1 << 31, "")


def read_dwarf(ptx: str, labels: Mapping[str, int]) -> DebugInfo:
    """The debug information in a PTX text, with the locations that NVRTC gives.

    `labels` maps each code label to the index of the instruction that follows it. Raises whatever
    malformed sections provoke.
    """
    sections = read_sections(ptx, labels)
    dwarf = open_dwarf(sections)
    if dwarf is None:
        return DebugInfo()
    units = [_Unit(dwarf, unit, sections) for unit in dwarf.iter_CUs()]
    functions = [function for unit in units for function in unit.functions()]
    return DebugInfo(
        MappingProxyType({function.symbol: function for function in functions}),
        tuple(variable for unit in units for variable in unit.variables()),
    )


class _Unit:
    """One compile unit (NVRTC writes one)."""

    def __init__(self, dwarf: Any, unit: Any, sections: DebugSections) -> None:
        self._dwarf = dwarf
        self._sections = sections
        self._top = unit.get_top_DIE()
        self._types = TypeReader()
        self._expressions = expression_parser(unit)

    def functions(self) -> Iterator[FunctionInfo]:
        for die in self._top.iter_children():
            pcs = self._range(die) if die.tag == "DW_TAG_subprogram" else None
            if pcs is not None:
                yield self._function(die, *pcs)

    def variables(self) -> Iterator[VariableInfo]:
        """Those at namespace scope: __device__, __constant__ and __shared__."""
        for die in self._top.iter_children():
            if die.tag == "DW_TAG_variable" and not _text(die, "DW_AT_name").startswith("_ZT"):
                variable = self._variable(die, _EVERYWHERE)
                if variable is not None:
                    yield variable

    def _function(self, die: Any, first: int, end: int) -> FunctionInfo:
        check()
        name = _text(die, "DW_AT_name")
        found = list(self._variables_in(die, Scope(0, first, end, name)))
        # The parameters of the function itself come first, not those of one inlined into it.
        found.sort(
            key=lambda v: (v.scope.depth > 0 or not v.is_parameter, v.scope.depth, v.declared_line)
        )
        return FunctionInfo(
            symbol=_text(die, "DW_AT_MIPS_linkage_name")
            or _text(die, "DW_AT_linkage_name")
            or name,
            first_pc=first,
            end_pc=end,
            variables=tuple(found),
        )

    def _variables_in(self, die: Any, scope: Scope) -> Iterator[VariableInfo]:
        for child in die.iter_children():
            if child.tag in _VARIABLES:
                variable = self._variable(child, scope)
                if variable is not None and variable.space != "shared":
                    yield variable  # arrays that a block shares: clang lists them, NVRTC does not
            elif child.tag in _SCOPES:
                pcs = self._range(child)
                if pcs is None:
                    continue
                function = scope.function
                if child.tag == "DW_TAG_inlined_subroutine":
                    function = _text(_origin(child), "DW_AT_name")
                yield from self._variables_in(child, Scope(scope.depth + 1, *pcs, function))

    def _variable(self, die: Any, scope: Scope) -> VariableInfo | None:
        described = _origin(die)
        name = source_name(_text(described, "DW_AT_name"))
        if not name or _COMPILER_TEMPORARY.fullmatch(name):
            return None
        kind = self._types.type_of(described)
        locations = tuple(self._locations(die, described, kind, scope))
        return VariableInfo(
            name=name,
            type=kind if kind.kind != "void" else UNKNOWN,
            declared_line=_number(described, "DW_AT_decl_line"),
            scope=scope,
            is_parameter=die.tag == "DW_TAG_formal_parameter",
            space=_space(die, locations),
            locations=locations,
        )

    def _locations(
        self, die: Any, described: Any, kind: DwarfType, scope: Scope
    ) -> Iterator[Location]:
        constant = die.attributes.get("DW_AT_const_value") or described.attributes.get(
            "DW_AT_const_value"
        )
        if constant is not None:
            value = _constant(constant.value, kind)
            if value is not None:
                yield Location(scope.first_pc, scope.end_pc, constant=value)
            return
        where = die.attributes.get("DW_AT_location")
        if where is None:
            return
        if not isinstance(where.value, int):
            entries: Iterable[tuple[int | None, int | None, Any]] = [
                (scope.first_pc, scope.end_pc, where.value)
            ]
        else:
            pc = self._sections.pc
            entries = [
                (pc(first), pc(end), expression)
                for first, end, expression in location_entries(self._dwarf, where.value, die)
            ]
        for first, end, expression in entries:
            if first is None or end is None:
                continue
            first_pc, end_pc = max(first, scope.first_pc), min(end, scope.end_pc)
            if first_pc < end_pc:
                location = self._place(expression, kind, first_pc, end_pc)
                if location is not None:
                    yield location

    def _place(self, expression: Any, kind: DwarfType, first: int, end: int) -> Location | None:
        """One location expression; None for a form that names no place (DW_OP_piece, deref …)."""
        operations = self._expressions.parse_expr(expression)
        names = [operation.op_name for operation in operations]
        values = [operation.args[0] if operation.args else 0 for operation in operations]
        if names == ["DW_OP_regx"]:
            name = _register(values[0])
            return None if name is None else Location(first, end, register=name)
        if names in (["DW_OP_addr"], ["DW_OP_addr", "DW_OP_plus_uconst"]):
            symbol = self._sections.symbol(values[0])
            if symbol is None:
                return None
            return Location(first, end, symbol=symbol[0], stack_offset=symbol[1] + sum(values[1:]))
        if len(names) == 2 and names[1] == "DW_OP_stack_value":
            literal = _literal(names[0], values[0])
            value = None if literal is None else _constant(literal, kind)
            return None if value is None else Location(first, end, constant=value)
        return None

    def _range(self, die: Any) -> tuple[int, int] | None:
        """The pcs from DW_AT_low_pc up to DW_AT_high_pc; None for an abstract or empty scope."""
        low, high = (die.attributes.get(f"DW_AT_{name}_pc") for name in ("low", "high"))
        if low is None or high is None:
            return None
        # From DWARF 4 on high_pc may be a length.
        end_address = high.value if high.form == "DW_FORM_addr" else low.value + high.value
        first, end = self._sections.pc(low.value), self._sections.pc(end_address)
        return None if first is None or end is None or first >= end else (first, end)


def _origin(die: Any) -> Any:
    """The DIE with the name and type: an inlined copy refers to its abstract origin for them."""
    while "DW_AT_abstract_origin" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_abstract_origin")
    return die


def _text(die: Any, attribute: str) -> str:
    found = die.attributes.get(attribute)
    return "" if found is None else str(found.value.decode("utf-8", "replace"))


def _number(die: Any, attribute: str) -> int:
    found = die.attributes.get(attribute)
    return 0 if found is None else int(found.value)


def _register(value: int) -> str | None:
    """The register's name: the operand's bytes, most significant first, are its ASCII codes."""
    raw = value.to_bytes((value.bit_length() + 7) // 8, "big")
    name = raw.decode("ascii", "replace")
    return name if _REGISTER.fullmatch(name) else None


def _space(die: Any, locations: Sequence[Location]) -> str:
    if locations and locations[0].constant is not None:
        return "constant"
    return _SPACES.get(_number(die, "DW_AT_address_class"), "register")


def _literal(operation: str, value: int) -> int | None:
    if operation.startswith("DW_OP_lit"):
        return int(operation.removeprefix("DW_OP_lit"))
    return value if operation.startswith("DW_OP_const") else None


def _constant(value: Any, kind: DwarfType) -> int | float | None:
    """A constant as a number of its type (NVRTC sign-extends unsigned ones; floats are bytes)."""
    if kind.dtype is None:
        return None
    if isinstance(value, int):
        if kind.kind == "float":
            return None
        raw = (value % (1 << 8 * kind.nbytes)).to_bytes(kind.nbytes, "little")
    else:
        raw = bytes(value)
        if len(raw) != kind.nbytes:
            return None
    number = int.from_bytes(raw, "little", signed=kind.dtype.kind == "i")
    if kind.kind == "float":
        return float(np.frombuffer(raw, kind.dtype)[0])
    return number


LARGE = 1 << 20
"""Characters of PTX whose debug information is read in another process: millions of objects."""

_MOST_READ = 4
_lock = threading.Lock()
_read: list[tuple[weakref.ref[Module], DebugInfo]] = []  # the modules read last


def debug_info(module: Module) -> DebugInfo:
    """The debug information of a PTX module: empty without `-G`, or where it is malformed."""
    with _lock:
        for known, found in _read:
            if known() is module:
                return found
    found = _read_debug_info(module)
    with _lock:
        _read[:] = [(weakref.ref(module), found), *_read[: _MOST_READ - 1]]
    return found


def _read_debug_info(module: Module) -> DebugInfo:
    labels = dict(module.labels)
    try:
        if len(module.text) > LARGE:
            from core.side_process.client import apart

            text = module.text
            parts = "\n".join(text[section.start : section.end] for section in sections(text))
            read = apart(read_dwarf, parts, labels)
        else:
            read = read_dwarf(module.text, labels)
        mended = {symbol: _mended(function, module) for symbol, function in read.functions.items()}
        return replace(read, functions=MappingProxyType(mended))
    except Cancelled:
        raise
    except Exception:  # noqa: BLE001 - whatever a broken section breaks, the kernel still runs
        return DebugInfo()


# Where a variable's value really is: NVRTC's location lists, followed along the control flow.
#
# NVRTC's lists are right where they begin (a value was just computed) but are then extended line by
# line to the next entry, whatever path leads there: in the `else` of an `if` that assigned `x`, the
# list names the register of the branch not taken, and after `m = c ? x : y` it takes `m`'s register
# for that of `y`. PTX registers are never reused for another value, so the right place can be
# worked out: for each variable, the set of registers that hold its value before each instruction.
#
# - An entry that begins after the instruction that computed it, or at a block's head: its register.
# - `mov a, b` with b in the set adds a; any other write to a register removes it.
# - Where paths meet, the registers that all of them agree on; where a scope is entered, none.


_Held = frozenset[str]  # the registers that hold the variable's value
_NOWHERE: _Held = frozenset()


def _mended(function: FunctionInfo, module: Module) -> FunctionInfo:
    check()
    code = _Code(module, function.first_pc, function.end_pc)
    return replace(
        function, variables=tuple(_follow(variable, code) for variable in function.variables)
    )


def _follow(variable: VariableInfo, code: _Code) -> VariableInfo:
    if not variable.locations or any(place.register is None for place in variable.locations):
        return variable
    return replace(variable, locations=_Flow(variable, code).locations())


class _Code:
    """A function's instructions as this analysis sees them. Its blocks are runs of pcs."""

    def __init__(self, module: Module, first: int, end: int) -> None:
        self._module = module
        self.first = first
        self.end = min(end, len(module.instructions))
        self.writes: dict[int, tuple[str, ...]] = {}
        self.copies: dict[int, str] = {}  # pc of an unconditional mov -> its source register
        self.copied_to: dict[str, set[str]] = {}
        self.written_at: dict[str, list[int]] = {}
        for pc in range(self.first, self.end):
            self._read(module.instructions[pc])

    def _read(self, instruction: Instruction) -> None:
        written = tuple(results(instruction))
        if not written:
            return
        self.writes[instruction.pc] = written
        for register in written:
            self.written_at.setdefault(register, []).append(instruction.pc)
        source = instruction.operands[-1]
        if instruction.opcode == "mov" and isinstance(source, Register) and len(written) == 1:
            if instruction.guard is None:
                self.copies[instruction.pc] = source.name
            self.copied_to.setdefault(source.name, set()).add(written[0])

    @cached_property
    def leaders(self) -> list[int]:
        """The first pc of each block."""
        leaders = {self.first}
        for pc in range(self.first, self.end):
            instruction = self._module.instructions[pc]
            if not opcode_of(instruction).falls_through:
                leaders.update(self._module.targets(instruction))
                leaders.add(pc + 1)
        return sorted(pc for pc in leaders if self.first <= pc < self.end)

    @cached_property
    def blocks(self) -> Mapping[int, tuple[int, tuple[int, ...]]]:
        """Block's first pc -> (its end, the first pcs of the blocks that may follow)."""
        ends = [*self.leaders[1:], self.end]
        return {
            first: (end, self._successors(self._module.instructions[end - 1]))
            for first, end in zip(self.leaders, ends, strict=True)
        }

    def _successors(self, last: Instruction) -> tuple[int, ...]:
        falls = last.guard is not None or opcode_of(last).falls_through
        following = [*self._module.targets(last), *([last.pc + 1] if falls else [])]
        return tuple(pc for pc in following if self.first <= pc < self.end)


class _Flow:
    """The analysis for one variable."""

    def __init__(self, variable: VariableInfo, code: _Code) -> None:
        self._variable = variable
        self._scope = variable.scope
        self._code = code
        self._events = dict(self._assignments())
        held = self._related()
        self._pcs = sorted(  # where the set can change
            {pc + 1 for register in held for pc in code.written_at.get(register, ())}
            | set(self._events)
            | {self._scope.first_pc, self._scope.end_pc}
        )

    def _assignments(self) -> Iterator[tuple[int, str]]:
        """From which pcs on which registers have a new value, not a copy of the one before."""
        before = ""
        for place in self._variable.locations:
            register = place.register or ""
            maker = place.first_pc - 1
            is_copy = before and self._code.copies.get(maker) == before
            before = register
            if is_copy and register in self._code.writes.get(maker, ()):
                continue
            # An entry for a whole block begins before its register is written.
            inside = [
                pc
                for pc in self._code.written_at.get(register, ())
                if place.first_pc <= pc < place.end_pc
            ]
            earlier = self._code.written_at.get(register, [self._code.first])[0] < place.first_pc
            if not inside or earlier:
                yield place.first_pc, register
            else:
                yield from ((pc + 1, register) for pc in inside)

    def _related(self) -> set[str]:
        """The registers that may ever hold the value: those of the entries, and copies of them."""
        related: set[str] = set()
        todo = {place.register for place in self._variable.locations if place.register}
        while todo:
            register = todo.pop()
            if register not in related:
                related.add(register)
                todo |= self._code.copied_to.get(register, set())
        return related

    def locations(self) -> tuple[Location, ...]:
        """Runs of pcs in the variable's scope with the register to read there."""
        states = self._solve()
        runs: list[Location] = []
        for first in self._code.leaders:
            if first in states:
                self._walk(first, states[first], runs)
        return tuple(runs)

    def _solve(self) -> dict[int, _Held]:
        """What is held on entry to each block that can be reached, where all paths agree."""
        blocks = self._code.blocks
        states: dict[int, _Held] = {self._code.first: _NOWHERE}
        todo = [self._code.first]
        while todo:
            first = todo.pop()
            leaving = self._walk(first, states[first], None)
            for following in blocks[first][1]:
                known = states.get(following)
                met = leaving if known is None else known & leaving
                if met != known:
                    states[following] = met
                    todo.append(following)
        return states

    def _walk(self, first: int, held: _Held, runs: list[Location] | None) -> _Held:
        """Follow one block; with `runs`, note where the value can be read."""
        end = self._code.blocks[first][0]
        at = bisect_right(self._pcs, first - 1)
        pc, held = first, self._enter(first, held, at_head=True)
        while True:
            if at < len(self._pcs) and self._pcs[at] <= pc:
                at += 1
                continue
            stop = min(self._pcs[at], end) if at < len(self._pcs) else end
            if runs is not None:
                self._note(runs, pc, stop, held)
            if stop == end:
                return self._leave(end, self._after(end - 1, held))
            pc, held = stop, self._enter(stop, self._after(stop - 1, held))

    def _after(self, pc: int, held: _Held) -> _Held:
        """What is held once the instruction at `pc` has been executed."""
        written = self._code.writes.get(pc, ())
        if not written:
            return held
        source = self._code.copies.get(pc)
        if source is not None and source in held:
            return held | {written[0]}
        return held.difference(written)

    def _enter(self, pc: int, held: _Held, *, at_head: bool = False) -> _Held:
        """What is held before the instruction at `pc`: a scope begins, or a value was assigned."""
        if pc == self._scope.first_pc or not self._scope.first_pc <= pc < self._scope.end_pc:
            held = _NOWHERE
        register = self._events.get(pc)
        if register is None or register in held:
            return held
        if at_head and self._assigned_before(pc):  # other ways into the block did not assign
            return held
        return frozenset({register})

    def _leave(self, end: int, held: _Held) -> _Held:
        """What a block hands on if its last instruction made an assignment."""
        register = self._events.get(end)
        if register is None or register in held or not self._assigned_before(end):
            return held
        return frozenset({register})

    def _assigned_before(self, pc: int) -> bool:
        """Whether the value that is there from `pc` on was computed by the instruction before."""
        inside = self._scope.first_pc < pc
        return inside and self._events[pc] in self._code.writes.get(pc - 1, ())

    def _note(self, runs: list[Location], first: int, end: int, held: _Held) -> None:
        if not held:
            return
        last = runs[-1] if runs else None
        if last is not None and last.end_pc == first and last.register in held:
            runs[-1] = replace(last, end_pc=end)
            return
        named = self._variable.location(first)
        register = named.register if named is not None and named.register in held else min(held)
        runs.append(Location(first, end, register=register))
