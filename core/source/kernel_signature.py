"""The parameters of a `__global__` function, read from its CUDA source.

A reader for declarations, not a C++ parser: it knows comments, qualifiers, built-in and vector
types, structures, template parameters, and aliases made with #define, -D, typedef or using. What it
does not know it refuses by name. A structure counts by its members: `A.width`, `A.elements`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from core.errors import ArgumentError
from core.source.constants import evaluate
from core.source.constants import read_source as read_constants
from core.source.host_code import without_host_code
from core.source.kernel_text import (
    KernelText,
    TemplateParameter,
    instances,
    kernels,
    split_at_commas,
    split_instance,
    without_comments,
)
from core.source.types import EMPTY, Leaf, TypeLayout, TypeReader, UnknownType

_NO_DEFINES: Mapping[str, str] = MappingProxyType({})
_PLAIN_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\w+(?:[ \t]+\w+)*)[ \t]*$", re.MULTILINE
)
_TEXTURES = ("cudaTextureObject_t", "cudaSurfaceObject_t")


@dataclass(frozen=True)
class SignatureParameter:
    """One parameter of a kernel, or one member of a parameter that is a structure.

    `dtype` is that of the value, or of what a pointer points to (the component of a vector such as
    float4); None for `void*`. `is_const`: a pointer through which the kernel may not write.
    `lanes`: numbers in one element that a pointer points to, 4 for float4. A member has the name
    `whole.member`, lies `offset` bytes into its parameter and, where it is an array, `count`
    numbers long; `whole_bytes` is 0 for what is no member. `is_symbol`: no parameter but a
    variable of the source that the host fills before the launch.
    """

    name: str
    type: str
    dtype: np.dtype[Any] | None
    is_pointer: bool
    is_const: bool
    lanes: int = 1
    whole: str = ""
    offset: int = 0
    whole_bytes: int = 0
    whole_align: int = 1
    count: int = 1
    is_symbol: bool = False

    @property
    def is_array(self) -> bool:
        """Whether an argument is a buffer or several numbers."""
        return self.is_pointer or self.count > 1


def kernel_names(source: str) -> tuple[str, ...]:
    """The names of the __global__ functions in a source, in order.

    A template counts by its instances: those that the source launches, or one that suggests itself.
    """
    return tuple(
        dict.fromkeys(name for kernel in kernels(source) for name in instances(source, kernel))
    )


def read_signature(
    source: str, kernel: str, defines: Mapping[str, str] = _NO_DEFINES, headers: str = ""
) -> tuple[SignatureParameter, ...]:
    """The parameters of `kernel` (its name as written, `ns::name`, `name<float>`), in order.

    `headers` is text in front of the source, in which types and constants are looked for. Behind
    the parameters come the variables that the host fills (`cudaMemcpyToSymbol`). Raises
    ArgumentError when there is no such kernel or a parameter's type is not understood.
    """
    name, given = split_instance(kernel)
    plain = name.rpartition("::")[2]
    found = next((k for k in kernels(source) if plain == k.name), None)
    if found is None:
        names = kernel_names(source)
        there = f"it has: {', '.join(names)}" if names else "it has no __global__ function"
        raise ArgumentError(f"The source has no kernel called {kernel}; {there}.")
    if found.template and not given:
        given = split_instance(instances(source, found)[0])[1]
    if found.template and not given and not all(p.default for p in found.template):
        raise ArgumentError(
            f"The source names no instance of the template {found.name}: choose one, such "
            f"as {found.name}<{', '.join(_example(p) for p in found.template)}>; a function that a "
            "kernel calls must be a struct with operator(): a lambda of the host has no name."
        )
    reader = _reader(f"{headers}\n{source}" if headers else source, found, given, defines)
    parameters = [p for text in found.parameters for p in _parameter(text, reader)]
    symbols = list(_symbols(source, reader, defines))
    used = _used(source, found, {p.whole for p in symbols}) if symbols else set()
    return (*parameters, *(p for p in symbols if p.whole in used))


def _used(source: str, kernel: KernelText, symbols: set[str]) -> set[str]:
    """Those of some symbols that the kernel names, or that a function does which it may call."""
    others = Counter(
        word
        for other in kernels(source)
        if other.name != kernel.name
        for word in re.findall(r"\w+", other.body)
    )
    everywhere = Counter(re.findall(r"\w+", without_comments(without_host_code(source))))
    own = set(re.findall(r"\w+", kernel.body))
    return {name for name in symbols if name in own or everywhere[name] > 1 + others[name]}


def _example(parameter: TemplateParameter) -> str:
    return "Functor" if parameter.kind == "type" else "4"


def _reader(
    source: str, kernel: KernelText, given: tuple[str, ...], defines: Mapping[str, str]
) -> TypeReader:
    text = without_comments(source)
    bound = dict(zip((p.name for p in kernel.template), given, strict=False))
    constants = read_constants(source, {**defines, **bound})

    def number(expression: str) -> int | None:
        return evaluate(constants.expanded(expression), constants.constants_in(""))

    return TypeReader(text, {**_aliases(text), **defines, **bound}, number)


def _aliases(text: str) -> dict[str, str]:
    """Other names of types: #define real float; typedef float real; using real = float."""
    found = dict(re.findall(_PLAIN_MACRO, text))
    found |= {new: old for old, new in re.findall(r"\btypedef\s+([\w\s]+?)\s+(\w+)\s*;", text)}
    return found | dict(re.findall(r"\busing\s+(\w+)\s*=\s*([\w\s:<>,]+?)\s*;", text))


def _parameter(declaration: str, reader: TypeReader) -> Iterator[SignatureParameter]:
    spaced = re.sub(r"\b(__align__|alignas)\s*\([^)]*\)", "", declaration)
    match = re.fullmatch(
        r"(?P<type>.*?)(?P<name>\w+)\s*(?P<array>(\[[^\]]*\]\s*)*)", spaced, re.DOTALL
    )
    words = " ".join(re.sub(r"\*", " * ", match["type"]).split()) if match else ""
    if not match or not words:
        raise ArgumentError(f"The parameter `{declaration}` of the kernel cannot be read.")
    stars = words.count("*") + bool(match["array"])
    shown = words.replace(" *", "*") + ("*" if match["array"] else "")
    if stars > 1 or "&" in words:
        raise ArgumentError(
            f"The parameter `{declaration}` is a pointer to a pointer or a reference: "
            "use buffers, scalars and structures of them."
        )
    if any(texture in words for texture in _TEXTURES):
        raise ArgumentError(
            f"The parameter `{declaration}` is a texture or a surface, which the emulator "
            "does not support: let the kernel read an array instead."
        )
    try:
        layout = reader.layout(words + (" *" if match["array"] else ""))
    except UnknownType as error:
        raise ArgumentError(
            f"Tilescope does not support the type of the kernel's parameter `{declaration}` "
            f"({error}): use built-in numbers, pointers to them, and structures of these."
        ) from None
    for leaf in layout.leaves:
        yield _of_leaf(leaf, match["name"], shown, layout)


def _of_leaf(leaf: Leaf, name: str, shown: str, layout: TypeLayout) -> SignatureParameter:
    is_member = bool(leaf.path) or (leaf.count > 1)
    is_empty = not leaf.is_pointer and leaf.type == EMPTY
    return SignatureParameter(
        name=f"{name}.{leaf.path}" if leaf.path else name,
        type=leaf.type if leaf.path or leaf.type.startswith("enum ") else shown,
        dtype=leaf.dtype,
        is_pointer=leaf.is_pointer,
        is_const=leaf.is_const,
        lanes=leaf.lanes,
        whole=name if is_member or is_empty else "",
        offset=leaf.offset,
        whole_bytes=layout.nbytes if is_member or is_empty else 0,
        whole_align=layout.align,
        count=leaf.count,
    )


_SYMBOL = re.compile(
    r"(?:^|(?<=[;{}>\"]))\s*((?:\w+\s+)*?(?:__constant__|__device__|__managed__)\s+[^;{}()=]*?)"
    r"\b(\w+)\s*((?:\[[^\]]*\]\s*)*);"
)


# `__constant__ float a, b[4];`: a type of plain words, and variables without values.
_SEVERAL = re.compile(
    r"((?:\b\w+\s+){0,4}?(?:__constant__|__device__|__managed__)\s+(?:\w+\s+){1,5}?)"
    r"(\w+\s*(?:\[[^\];]*\]\s*)*(?:,\s*\w+\s*(?:\[[^\];]*\]\s*)*)+);"
)


def _one_by_one(match: re.Match[str]) -> str:
    """Each variable of one declaration in a declaration of its own."""
    return "".join(f"{match[1]}{one};" for one in split_at_commas(match[2], "[]"))


def _symbols(
    source: str, reader: TypeReader, defines: Mapping[str, str]
) -> Iterator[SignatureParameter]:
    """Variables without a value of their own: all `__constant__`, others if the host fills them."""
    text = re.sub(r"^[ \t]*#[^\n]*", "", without_comments(source), flags=re.MULTILINE)
    text = _SEVERAL.sub(_one_by_one, text)
    constants = read_constants(source, defines)
    filled = set(re.findall(r"\bcudaMemcpyToSymbol(?:Async)?\s*\(\s*&?\s*(\w+)", text))
    for match in _SYMBOL.finditer(text):
        head, name, extents = match[1], match[2], match[3]
        if "extern" in head or ("__constant__" not in head and name not in filled):
            continue
        try:
            layout = reader.layout(" ".join(re.sub(r"\*", " * ", head).split()))
        except UnknownType:
            continue
        sizes = [
            evaluate(constants.expanded(extent), constants.constants_in(""))
            for extent in re.findall(r"\[([^\]]*)\]", extents)
        ]
        count = 1
        for size in sizes:
            count *= size or 0
        leaves = layout.leaves if count == 1 else _as_row(layout)
        if count < 1 or not leaves:
            continue
        for leaf in leaves:
            made = _of_leaf(leaf, name, " ".join(head.split()) + extents, layout)
            yield SignatureParameter(
                made.name, made.type, made.dtype, made.is_pointer, is_const=True,
                lanes=made.lanes, whole=name, offset=made.offset,
                whole_bytes=layout.nbytes * count, count=leaf.count * count, is_symbol=True,
            )  # fmt: skip


def _as_row(layout: TypeLayout) -> tuple[Leaf, ...]:
    """A value of equal numbers without gaps, such as a float4, as one row; () for any other."""
    first = layout.leaves[0]
    count = sum(leaf.count for leaf in layout.leaves)
    alike = all(leaf.dtype == first.dtype and not leaf.is_pointer for leaf in layout.leaves)
    if first.dtype is None or not alike or count * first.dtype.itemsize != layout.nbytes:
        return ()
    return (replace(first, path="", offset=0, count=count),)


def type_sizes(source: str, defines: Mapping[str, str] = _NO_DEFINES) -> Mapping[str, int]:
    """Bytes of the types of its own, and of the variables, that a source takes the size of."""
    text = without_comments(source)
    constants = read_constants(source, defines)

    def number(expression: str) -> int | None:
        return evaluate(constants.expanded(expression), constants.constants_in(""))

    reader = TypeReader(text, _aliases(text), number)
    found: dict[str, int] = {}
    for name in set(re.findall(r"\bsizeof\s*\(?\s*(\w+)\s*\)?", text)):
        try:
            found[name] = reader.layout(name).nbytes
        except UnknownType:
            continue
    symbols = {p.whole: p.whole_bytes for p in _symbols(source, reader, defines)}
    return {**found, **symbols}
