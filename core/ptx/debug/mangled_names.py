"""Source names out of mangled symbols: `_ZZ5tiledE4sh_A` is variable `sh_A` of function `tiled`.

The part of the Itanium C++ ABI's mangling (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling)
that NVRTC's variable, type and kernel symbols need: source names, nested names, entities local to
a function, and template arguments that are integers or builtin types. Nothing here raises: what is
not understood is left out or handed back as it came.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BUILTIN_TYPES = {
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "f": "float",
    "d": "double",
}

# An entity's own name and what may follow it: `_0` or `__12_` tells equal names of one function
# apart, `__3764_` is NVRTC's number for a local enumerator.
_LAST_NAME = re.compile(r"(?<=E)(?:N(?:[1-9]\d*\w+?)??)?([1-9]\d*)(?=[A-Za-z_])")
_AFTER_NAME = re.compile(r"E?(?:_\d+|__\d+_)*")
_LENGTH = re.compile(r"L?([1-9]\d*)")
_LITERAL = re.compile(r"L([a-z])(n?\d+)E")


@dataclass(frozen=True)
class LocalSymbol:
    """A symbol that belongs to a function. `template_arguments` are texts: "8", "float"."""

    function: str
    name: str
    template_arguments: tuple[str, ...] = ()


def local_symbol(symbol: str) -> LocalSymbol | None:
    """What `_ZZ<function>E<name>` names; None where the symbol has another form."""
    if not symbol.startswith("_ZZ"):
        return None
    parts, arguments, _ = _name(symbol, 3)
    name = _entity(symbol)
    if not parts or name is None:
        return None
    return LocalSymbol(parts[-1], name, arguments)


def source_name(symbol: str) -> str:
    """The name as in the source, qualified (`outer::tile`); `symbol` itself if not mangled."""
    if symbol.startswith("_ZZ"):
        name = _entity(symbol)
        if name is not None:
            return name
        return "(lambda)" if re.search(r"EUl", symbol) else "(unnamed)"
    if symbol.startswith("__SO__"):  # EDG's name for a base class inside a derived object
        parts, _, _ = _name(symbol, 6)
        return "::".join(parts) or symbol
    if symbol.startswith("_Z"):
        parts, _, _ = _name(symbol, 2)
        return "::".join(parts) or symbol
    return symbol


def _entity(symbol: str) -> str | None:
    """The last source name of a local symbol: the one whose length reaches the symbol's end."""
    for match in _LAST_NAME.finditer(symbol):
        end = match.end() + int(match[1])
        if end <= len(symbol) and _AFTER_NAME.fullmatch(symbol, end):
            return symbol[match.end() : end]
    return None


def _name(symbol: str, at: int) -> tuple[list[str], tuple[str, ...], int]:
    """Source names from `at` on, the template arguments after the last, and where they end."""
    nested = symbol.startswith("N", at)
    if nested:
        at += 1
        while at < len(symbol) and symbol[at] in "rVK":
            at += 1
    parts: list[str] = []
    arguments: tuple[str, ...] = ()
    while match := _LENGTH.match(symbol, at):
        end = match.end() + int(match[1])
        if end > len(symbol):
            break
        parts.append(symbol[match.end() : end])
        arguments, at = _template_arguments(symbol, end)
        if not nested:
            break
    return parts, arguments, at


def _template_arguments(symbol: str, at: int) -> tuple[tuple[str, ...], int]:
    """`I…E` from `at` on; an argument that is not understood ends the list (it may be short)."""
    if not symbol.startswith("I", at):
        return (), at
    at += 1
    arguments: list[str] = []
    while at < len(symbol) and symbol[at] != "E":
        if match := _LITERAL.match(symbol, at):
            arguments.append(match[2].replace("n", "-"))
            at = match.end()
        elif symbol[at] in BUILTIN_TYPES:
            arguments.append(BUILTIN_TYPES[symbol[at]])
            at += 1
        else:
            return tuple(arguments), at
    return tuple(arguments), at + 1
