"""Which source variables a function has, and where each lives at each instruction.

Read from the DWARF that NVRTC adds to PTX with `-G`. A location is a PTX register (DW_OP_regx with
an operand that spells the register's name in ASCII, as experiment shows), a place in the function's
local memory (DW_OP_addr `__local_depotN`, DW_OP_plus_uconst offset), or a constant. `pc` is an
index into the module's instructions; a location describes the state *before* the instruction at
`pc` is executed.

Not in the DWARF, so not here: `__shared__` arrays and static variables declared inside a function
(their PTX symbols have names and sizes only, see `core.source.shared_arrays`), and the names
of structured bindings.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from core.cancelling import check
from core.errors import Cancelled
from core.ptx.ast import Module
from core.ptx.debug.flow import with_true_locations
from core.ptx.debug.model import (
    UNKNOWN,
    DebugInfo,
    DwarfType,
    FunctionInfo,
    Location,
    Scope,
    TypeReader,
    VariableInfo,
)
from core.ptx.debug.names import source_name
from core.ptx.debug.sections import (
    DebugSections,
    expression_parser,
    location_entries,
    open_dwarf,
    read_sections,
)
from core.ptx.lexer import sections

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
        found.sort(key=lambda v: (not _of_body(v), v.scope.depth, v.declared_line))
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


def _of_body(variable: VariableInfo) -> bool:
    """True for a parameter of the function itself, not of one inlined into it."""
    return variable.is_parameter and variable.scope.depth == 0


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

            read = apart(read_dwarf, _sections_of(module.text), labels)
        else:
            read = read_dwarf(module.text, labels)
        return with_true_locations(read, module)
    except Cancelled:
        raise
    except Exception:  # noqa: BLE001 - whatever a broken section breaks, the kernel still runs
        return DebugInfo()


def _sections_of(text: str) -> str:
    return "\n".join(text[section.start : section.end] for section in sections(text))
