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
from functools import lru_cache
from typing import Any

import numpy as np

from core.ptx.debug.mangled_names import local_symbol, source_name
from core.source.c_numbers import numbers_in
from core.source.constants import SourceConstants, evaluate, read_constants
from core.source.cuda_parser import text_of
from core.source.functions_and_calls import Declared, declared

_INTEGER_WORDS = {"unsigned", "signed", "long", "short", "int", "char"}
_QUALIFIERS = {
    *("static", "extern", "volatile", "const", "constexpr", "__shared__", "inline"),
    *("__restrict__", "typename"),
}
_ALIASES_DEEP = 4  # names given to names of types


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
    function: str = ""
    lanes: int = 1
    extents: tuple[str, ...] = ()  # the dimensions as written, macros expanded
    constants: tuple[tuple[str, int], ...] = ()
    template_parameters: tuple[str, ...] = ()


def shared_arrays(source: str, defines: Mapping[str, str]) -> tuple[SharedDeclaration, ...]:
    """The `__shared__` variables of `source`, in order; `defines` are the `-D` macros."""
    return _shared_arrays(source, tuple(sorted(defines.items())))


@lru_cache(maxsize=8)  # each launch of a file asks again
def _shared_arrays(
    source: str, defines: tuple[tuple[str, str], ...]
) -> tuple[SharedDeclaration, ...]:
    text = read_constants(source, dict(defines))
    return tuple(
        _read(text, one, node.start_byte)
        for node in text.syntax.nodes("declaration")
        for one in declared(node)
        if "__shared__" in one.type.split() and not one.points_to_array
    )


def _read(text: SourceConstants, one: Declared, place: int) -> SharedDeclaration:
    function = text.syntax.around(place)
    name = function.name if function is not None else ""
    template = tuple(p.name for p in function.template) if function is not None else ()
    words = one.type.split()
    for _ in range(_ALIASES_DEEP):
        words = [word for word in words if word not in _QUALIFIERS]
        if len(words) == 1 and words[0] not in template and _element(words[0])[0] is None:
            words = text.syntax.aliases.get(words[0], words[0]).split()
    ctype = _plain_type(words)
    dtype, lanes = (np.dtype(np.uint64), 1) if one.stars else _element(ctype)
    extents = tuple(text.expanded(text_of(node)) for node in one.extents)
    constants = text.constants_in(name)
    used = set(re.findall(r"\w+", " ".join(extents))) - set(template)
    visible = {n: value for n in sorted(used) if (value := constants.get(n)) is not None}
    return SharedDeclaration(
        name=one.name,
        ctype=f"{ctype} {'*' * one.stars}".strip(),
        dtype=dtype,
        dims=_dims(extents, visible),
        is_extern="extern" in one.type.split(),
        function=name,
        lanes=lanes,
        extents=extents,
        constants=tuple(visible.items()),
        template_parameters=template,
    )


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


def _dims(extents: Iterable[str], constants: Mapping[str, int]) -> tuple[int, ...] | None:
    dims = [evaluate(text, constants) for text in extents]
    known = tuple(dim for dim in dims if dim is not None and dim > 0)
    return known if len(known) == len(dims) else None


def _element(ctype: str) -> tuple[np.dtype[Any] | None, int]:
    """The NumPy type of one component, and how many components a value has."""
    plain = ctype.removeprefix("std::").removeprefix("::")
    found = numbers_in(plain)
    if found is None:
        return None, 1
    kind, lanes = found
    return np.dtype("uint8" if kind == "bool" else kind), lanes  # a bool may hold any bits
