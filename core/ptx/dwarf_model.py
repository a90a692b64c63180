"""What debug information says about a PTX module: functions, variables, scopes, locations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from core.ptx.dwarf_types import DwarfType


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
    declared_file: str
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
class InlinedCall:
    """A call whose body stands in the caller: instructions first_pc up to end_pc."""

    function: str
    call_line: int
    first_pc: int
    end_pc: int


@dataclass(frozen=True)
class FunctionInfo:
    """A function with code of its own. `symbol` is its PTX name, `name` the source's."""

    symbol: str
    name: str
    declared_line: int
    declared_file: str
    first_pc: int
    end_pc: int
    variables: tuple[VariableInfo, ...]  # parameters, then outer scopes before inner, by line
    inlined: tuple[InlinedCall, ...]


@dataclass(frozen=True)
class DebugInfo:
    """All of it. `functions` is keyed by PTX symbol, `files` by the number that `.loc` uses."""

    files: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    functions: Mapping[str, FunctionInfo] = field(default_factory=lambda: MappingProxyType({}))
    module_variables: tuple[VariableInfo, ...] = ()

    def __reduce__(self) -> tuple[Callable[..., DebugInfo], tuple[Any, ...]]:
        """Read-only mappings cannot be pickled: it is made again from what they hold."""
        return _debug_info, (dict(self.files), dict(self.functions), self.module_variables)

    def variables_of(self, symbol: str) -> tuple[VariableInfo, ...]:
        """The variables of the function with that PTX symbol; empty where nothing is known."""
        function = self.functions.get(symbol)
        return () if function is None else function.variables


def _debug_info(
    files: dict[int, str],
    functions: dict[str, FunctionInfo],
    module_variables: tuple[VariableInfo, ...],
) -> DebugInfo:
    return DebugInfo(MappingProxyType(files), MappingProxyType(functions), module_variables)


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
