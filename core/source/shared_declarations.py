"""The `__shared__` declarations of CUDA source text, matched to the PTX symbols they become.

PTX knows a shared array's symbol and its bytes, and a `-G` build has no debug entry for one that is
declared inside a function. Its element type and dimensions stand in the source alone, often as
macros. Nothing is guessed: where the dimensions cannot be worked out, or do not multiply to the
bytes in the PTX, the array is flat.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.ptx.debug.names import local_symbol, source_name
from core.source.constants import SourceText, evaluate, read_source

_SCALARS: dict[str, str] = {
    "bool": "u1",
    "char": "i1",
    "signed char": "i1",
    "unsigned char": "u1",
    "short": "i2",
    "unsigned short": "u2",
    "int": "i4",
    "unsigned int": "u4",
    "long": "i8",
    "unsigned long": "u8",
    "long long": "i8",
    "unsigned long long": "u8",
    "float": "f4",
    "double": "f8",
    "half": "f2",
    "__half": "f2",
    "int8_t": "i1",
    "uint8_t": "u1",
    "int16_t": "i2",
    "uint16_t": "u2",
    "int32_t": "i4",
    "uint32_t": "u4",
    "int64_t": "i8",
    "uint64_t": "u8",
    "size_t": "u8",
}
# CUDA's vector types: element type and prefix (`float4`, `uchar2`).
_VECTORS = {
    "char": "i1",
    "uchar": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "longlong": "i8",
    "ulonglong": "u8",
    "float": "f4",
    "double": "f8",
}
_INTEGER_WORDS = {"unsigned", "signed", "long", "short", "int", "char"}
_QUALIFIERS = {
    "static",
    "extern",
    "volatile",
    "const",
    "constexpr",
    "__shared__",
    "inline",
    "__restrict__",
}
_ATTRIBUTES = {"__align__", "alignas", "__attribute__"}


@dataclass(frozen=True)
class SharedDeclaration:
    """One `__shared__` variable.

    `dims` is () for a scalar and None where it is not known: an `extern` array's first size is the
    launch's, and a template parameter's value is in the PTX symbol. `dtype` is one element's; for a
    CUDA vector type (`float4`) it is the component's, and `lanes` the number of them. It is None
    for a type that is not known here, such as a struct. `function` is "" at namespace scope.
    """

    name: str
    ctype: str
    dtype: np.dtype[Any] | None
    dims: tuple[int, ...] | None
    is_extern: bool
    line: int  # 1-based
    function: str = ""
    lanes: int = 1
    extents: tuple[str, ...] = ()  # the dimensions as written, macros expanded
    constants: tuple[tuple[str, int], ...] = ()
    template_parameters: tuple[str, ...] = ()


def shared_arrays(source: str, defines: Mapping[str, str]) -> tuple[SharedDeclaration, ...]:
    """The `__shared__` variables of `source`, in order; `defines` are the `-D` macros."""
    text = read_source(source, defines)
    found: list[SharedDeclaration] = []
    at = 0
    while at < len(text.tokens):
        if text.tokens[at].text == "__shared__":
            declarations, at = _statement(text, at)
            found.extend(declarations)
        else:
            at += 1
    return tuple(found)


def match(
    ptx_symbol: str, nbytes: int, declarations: Iterable[SharedDeclaration]
) -> tuple[str, tuple[int, ...], np.dtype[Any]]:
    """The source's (name, shape, element type) for a shared symbol of `nbytes` bytes.

    For a dynamic array (`extern __shared__ float s[]`) `nbytes` is what the launch asks for. The
    shape holds exactly `nbytes`: as declared where that is known to be right, with a last axis for
    the components of a vector type, otherwise flat; bytes where no element type fits.
    """
    symbol = local_symbol(ptx_symbol)
    name = source_name(ptx_symbol)
    plain = symbol.name if symbol else name.rpartition("::")[2]
    arguments = symbol.template_arguments if symbol else ()
    candidates = [
        _instantiated(declaration, arguments)
        for declaration in declarations
        if declaration.name == plain and (not symbol or declaration.function == symbol.function)
    ]
    exact = {(_shape(candidate, nbytes), candidate.dtype) for candidate in candidates}
    exact = {(shape, dtype) for shape, dtype in exact if shape is not None}
    if len(exact) == 1:  # equal names in one function: only one with the right size will do
        shape, dtype = exact.pop()
        if shape is not None and dtype is not None:
            return name, shape, dtype
    elements = {candidate.dtype for candidate in candidates}
    element = elements.pop() if len(elements) == 1 else None
    if element is None or nbytes % element.itemsize:
        element = np.dtype(np.uint8)
    return name, (nbytes // element.itemsize,), element


def _shape(declaration: SharedDeclaration, nbytes: int) -> tuple[int, ...] | None:
    """The declared shape, if it holds exactly `nbytes`."""
    if declaration.dtype is None:
        return None
    size = declaration.dtype.itemsize
    lanes = (declaration.lanes,) if declaration.lanes > 1 else ()
    dims = declaration.dims
    if declaration.is_extern and dims is None:
        dims = _open_dims(declaration, nbytes, size * declaration.lanes)
    if dims is None:
        return None
    shape = (*dims, *lanes) or (1,)
    return shape if size * math.prod(shape) == nbytes else None


def _open_dims(declaration: SharedDeclaration, nbytes: int, size: int) -> tuple[int, ...] | None:
    """`s[]` or `s[][N]`: the first dimension is what the launch's bytes allow."""
    rest = [evaluate(text, dict(declaration.constants)) for text in declaration.extents[1:]]
    row = [extent for extent in rest if extent is not None and extent > 0]
    if len(row) != len(rest):
        return None
    return (nbytes // (size * math.prod(row)), *row)


def _instantiated(declaration: SharedDeclaration, arguments: tuple[str, ...]) -> SharedDeclaration:
    """The declaration with its function's template parameters replaced by a symbol's arguments."""
    given = dict(zip(declaration.template_parameters, arguments, strict=False))
    if not given:
        return declaration
    numbers = {name: int(text) for name, text in given.items() if text.lstrip("-").isdigit()}
    ctype = given.get(declaration.ctype, declaration.ctype)
    dtype, lanes = _element(ctype)
    constants = {**dict(declaration.constants), **numbers}
    return replace(
        declaration,
        ctype=ctype,
        dtype=dtype,
        lanes=lanes,
        dims=_dims(declaration.extents, constants),
    )


def _statement(text: SourceText, at: int) -> tuple[list[SharedDeclaration], int]:
    """What the statement around the `__shared__` at token `at` declares, and where it ends."""
    first = at
    while first > 0 and text.tokens[first - 1].text not in {";", "{", "}", ":"}:
        first -= 1
    end = at
    while end < len(text.tokens) and text.tokens[end].text not in {";", "{", "}"}:
        end += 1
    words = [token.text for token in text.tokens[first:end]]
    scope = text.scope_at(first)
    ctype, rest = _specifiers(words)
    declarations = []
    for name, stars, extents in _declarators(rest):
        dtype, lanes = (np.dtype(np.uint64), 1) if stars else _element(ctype)
        expanded = tuple(text.expanded(extent) for extent in extents)
        constants = text.constants_in(scope.function)
        used = set(re.findall(r"\w+", " ".join(expanded))) - set(scope.template_parameters)
        visible = {n: value for n in sorted(used) if (value := constants.get(n)) is not None}
        declarations.append(
            SharedDeclaration(
                name=name,
                ctype=f"{ctype} {stars}".strip(),
                dtype=dtype,
                dims=_dims(expanded, visible),
                is_extern="extern" in words,
                line=text.tokens[at].line,
                function=scope.function,
                lanes=lanes,
                extents=expanded,
                constants=tuple(visible.items()),
                template_parameters=scope.template_parameters,
            )
        )
    return declarations, end


def _specifiers(words: list[str]) -> tuple[str, list[str]]:
    """The type's name, and the declarators that follow it."""
    kind: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word in _ATTRIBUTES:
            at = _closing(words, at + 1, "(", ")") + 1
        elif word in _QUALIFIERS or word in {"struct", "class", "union", "enum"}:
            at += 1
        elif not kind or kind[-1] == "::" or word == "::":
            kind.append(word)
            at += 1
        elif word == "<":
            end = _closing(words, at, "<", ">")
            kind.append("".join(words[at : end + 1]))
            at = end + 1
        elif word in _INTEGER_WORDS and all(part in _INTEGER_WORDS for part in kind):
            kind.append(word)
            at += 1
        else:
            break
    return _plain_type(kind), words[at:]


def _plain_type(words: list[str]) -> str:
    """`long unsigned`, `unsigned` and the like in their usual spelling."""
    if not words or not all(word in _INTEGER_WORDS for word in words):
        return "".join(words)
    sign = "unsigned " if "unsigned" in words else ""
    if "char" in words:
        return "signed char" if "signed" in words else f"{sign}char"
    if "short" in words:
        return f"{sign}short"
    return sign + (" ".join(["long"] * words.count("long")) or "int")


def _declarators(words: list[str]) -> list[tuple[str, str, list[str]]]:
    """(name, stars, extents) of each; a form that is not a plain variable or array is left out."""
    found = []
    for part in _split(words):
        stars = "".join(word for word in part if word in {"*", "&"})
        rest = [word for word in part if word not in {"*", "&"} and word not in _QUALIFIERS]
        if any(word in {"*", "&"} for word in part[len(stars) :]):  # inside an extent: keep it
            stars = "".join(word for word in part[:1] if word == "*")
            rest = part[len(stars) :]
        if not rest or not rest[0].replace("_", "a").isalnum():
            continue
        extents, at = [], 1
        while at < len(rest) and rest[at] == "[":
            end = _closing(rest, at, "[", "]")
            extents.append(" ".join(rest[at + 1 : end]))
            at = end + 1
        found.append((rest[0], stars, extents))
    return found


def _split(words: list[str]) -> list[list[str]]:
    """The words between the commas that stand outside all brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in {"(", "[", "{"}) - (word in {")", "]", "}"})
        if word == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _closing(words: list[str], at: int, opening: str, closing: str) -> int:
    depth = 0
    for place in range(at, len(words)):
        depth += (words[place] == opening) - (words[place] == closing)
        if depth == 0:
            return place
    return len(words) - 1


def _dims(extents: Iterable[str], constants: Mapping[str, int]) -> tuple[int, ...] | None:
    dims = [evaluate(text, constants) for text in extents]
    known = tuple(dim for dim in dims if dim is not None and dim > 0)
    return known if len(known) == len(dims) else None


def _element(ctype: str) -> tuple[np.dtype[Any] | None, int]:
    """The NumPy type of one component, and how many components a value has."""
    plain = ctype.removeprefix("std::").removeprefix("::")
    if plain in _SCALARS:
        return np.dtype(_SCALARS[plain]), 1
    if plain[-1:] in {"1", "2", "3", "4"} and plain[:-1] in _VECTORS:
        return np.dtype(_VECTORS[plain[:-1]]), int(plain[-1])
    return None, 1
