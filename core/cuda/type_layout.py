"""How C++ types lie in memory: numbers, pointers, CUDA's vectors, and structures of them.

Widths are those of 64-bit Linux, where `long` has 8 bytes; members of a structure are aligned as
the Itanium C++ ABI says. Structures are read from their text, without virtual functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.cuda.kernel_text import closing, split_at_commas

QUALIFIERS = {
    "const", "volatile", "__restrict__", "__restrict", "restrict", "struct", "class", "enum",
    "union", "typename", "__grid_constant__", "mutable", "constexpr", "inline", "__constant__",
    "__device__", "__managed__", "static", "extern",
}  # fmt: skip
SCALARS: Mapping[str, str] = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "__nv_bfloat16": "uint16",  # NumPy has none: its bits
    "nv_bfloat16": "uint16",
    "bool": "bool",
    "char": "int8",
    "unsigned char": "uint8",
    "uchar": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "ushort": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "uint": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "ulong": "uint64",
    "long long": "int64",
    "unsigned long long": "uint64",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    "intptr_t": "int64",
    "uintptr_t": "uint64",
    "cudaTextureObject_t": "",
    "cudaSurfaceObject_t": "",
    **{f"{u}int{bits}_t": f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)},
}
_VECTORS: Mapping[str, str] = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32",
    "uint": "uint32", "long": "int64", "ulong": "uint64", "longlong": "int64",
    "ulonglong": "uint64", "float": "float32", "double": "float64",
}  # fmt: skip
# Name: component type, components, alignment where it is not that of CUDA's vectors.
_SPECIAL: Mapping[str, tuple[str, int, int]] = {
    "dim3": ("uint32", 3, 4),
    "half2": ("float16", 2, 4), "__half2": ("float16", 2, 4),
    "__nv_bfloat162": ("uint16", 2, 4), "nv_bfloat162": ("uint16", 2, 4),
    "cuComplex": ("float32", 2, 8), "cuFloatComplex": ("float32", 2, 8),
    "cuDoubleComplex": ("float64", 2, 16),
}  # fmt: skip
_NO_MEMBER = re.compile(r"(static|using|typedef|friend|template|enum|struct \w+$)\b")
_MEMBER = re.compile(r"(?P<type>.*?[\s*&>])(?P<name>\w+)\s*(?P<rest>[\[={:].*)?$", re.DOTALL)
_POINTER = 8
_DEEPEST = 8


@dataclass(frozen=True)
class Leaf:
    """A number, a row of numbers (`count` above 1) or a pointer within a value.

    `path` is "" for a value that is nothing else; `dtype` that of what a pointer points to, None
    for `void*`. `lanes` are the numbers of one element that it points to: 4 for float4.
    """

    path: str
    type: str
    dtype: np.dtype[Any] | None
    offset: int = 0
    count: int = 1
    is_pointer: bool = False
    is_const: bool = False
    lanes: int = 1


@dataclass(frozen=True)
class TypeLayout:
    """Size and alignment in bytes, and what the type consists of."""

    nbytes: int
    align: int
    leaves: tuple[Leaf, ...]


class UnknownType(Exception):
    """A type that is not understood here; the text names it."""


class TypeReader:
    """Types by their names in one source; `text` is without comments.

    `aliases` are other names of types, `number` evaluates an extent such as `2 * R + 1`.
    """

    def __init__(
        self, text: str, aliases: Mapping[str, str], number: Callable[[str], int | None]
    ) -> None:
        self._text, self._aliases, self._number = text, aliases, number
        self._depth = 0

    def layout(self, declared: str) -> TypeLayout:
        """The layout of a type as written: `const float* __restrict__`. Raises UnknownType."""
        pointee, star, _ = declared.partition("*")
        words = self.resolved(pointee)
        if star or "&" in declared:
            if declared.count("*") + declared.count("&") > 1:
                raise UnknownType(declared)
            return TypeLayout(_POINTER, _POINTER, (self._pointer(words, declared),))
        plain = _canonical(_plain(words))
        if SCALARS.get(plain):
            dtype = np.dtype(SCALARS[plain])
            return TypeLayout(dtype.itemsize, dtype.itemsize, (Leaf("", plain, dtype),))
        if vector := _vector(plain):
            return vector
        return self._structure(plain)

    def resolved(self, type_text: str) -> list[str]:
        """The words of a type, aliases replaced."""
        for _ in range(_DEEPEST):  # aliases of aliases
            plain = re.sub(r"[A-Za-z_]\w*", lambda m: self._aliases.get(m[0], m[0]), type_text)
            if plain == type_text:
                break
            type_text = plain
        return type_text.split()

    def _pointer(self, words: list[str], declared: str) -> Leaf:
        plain = _canonical(_plain(words))
        is_const = "const" in words
        if plain == "void":
            return Leaf("", declared, None, 0, 1, True, is_const)
        try:
            whole = self.layout(plain)
        except UnknownType:
            if not self._depth:
                raise
            return Leaf("", declared, None, 0, 1, True, is_const)  # as in a list's own node
        kinds = {leaf.dtype for leaf in whole.leaves}
        numbers = sum(leaf.count for leaf in whole.leaves)
        if len(kinds) == 1 and not any(leaf.is_pointer for leaf in whole.leaves):
            (dtype,) = kinds
            if dtype is not None and dtype.itemsize * numbers == whole.nbytes:
                return Leaf("", declared, dtype, 0, 1, True, is_const, numbers)
        return Leaf("", declared, np.dtype(np.uint8), 0, 1, True, is_const, whole.nbytes)

    def _structure(self, name: str) -> TypeLayout:
        base, _, given = name.partition("<")
        if self._depth > _DEEPEST or not re.fullmatch(r"[\w:]+", base):
            raise UnknownType(name)
        found = _definition(self._text, base.rpartition("::")[2])
        if found is None:
            raise UnknownType(name)
        keyword, before, bases, body = found
        if keyword == "enum":
            whole = self.layout(bases or "int")
            return replace(whole, leaves=(replace(whole.leaves[0], type=f"enum {base}"),))
        if keyword == "union" or re.search(r"\bvirtual\b", body):
            raise UnknownType(name)
        self._depth += 1
        try:
            inner = self._bound(before, given.strip().removesuffix(">"))
            return inner._members(bases, body, _alignment(before))
        finally:
            self._depth -= 1

    def _bound(self, before: str, given: str) -> TypeReader:
        """A reader that knows a template's arguments."""
        template = re.search(r"template\s*<([^{};]*)>\s*$", before)
        if not template:
            return self
        values: dict[str, str] = {}
        arguments = split_at_commas(given)
        for position, parameter in enumerate(split_at_commas(template[1])):
            name, _, default = parameter.partition("=")
            text = arguments[position] if position < len(arguments) else default.strip()
            values[re.findall(r"\w+", name)[-1]] = values.get(text, text)

        def number(text: str) -> int | None:
            return self._number(re.sub(r"\w+", lambda m: values.get(m[0], m[0]), text))

        found = TypeReader(self._text, {**self._aliases, **values}, number)
        found._depth = self._depth
        return found

    def _members(self, bases: str, body: str, least: int) -> TypeLayout:
        at, align = 0, least
        leaves: list[Leaf] = []
        fields = [("", re.sub(r"\b(public|private|protected|virtual)\b", "", b).strip(), "")
                  for b in split_at_commas(bases)]  # fmt: skip
        for name, kind, extents in [*fields, *_fields(body)]:
            one = self.layout(kind)
            count = 1
            for extent in re.findall(r"\[([^\]]*)\]", extents):
                size = self._number(extent)
                if size is None or size < 1:
                    raise UnknownType(f"{kind} {name}{extents}")
                count *= size
            at = -(-at // one.align) * one.align
            leaves += _placed(one, name, at, count)
            at += one.nbytes * count
            align = max(align, one.align)
        if not leaves:  # an empty class has one byte
            leaves, at = [Leaf("", "empty structure", np.dtype(np.uint8))], 1
        return TypeLayout(-(-at // align) * align, align, tuple(leaves))


def _placed(one: TypeLayout, name: str, at: int, count: int) -> Iterator[Leaf]:
    """The leaves of a member, or of each of its elements."""
    if len(one.leaves) == 1 and not one.leaves[0].is_pointer and one.leaves[0].count == 1:
        leaf = one.leaves[0]
        yield replace(leaf, path=_joined(name, leaf.path), offset=at + leaf.offset, count=count)
        return
    for index in range(count):
        label = f"{name}{index}" if count > 1 else name
        for leaf in one.leaves:
            yield replace(
                leaf,
                path=_joined(label, leaf.path),
                offset=at + index * one.nbytes + leaf.offset,
            )


def _joined(first: str, second: str) -> str:
    return f"{first}.{second}" if first and second else first or second


def _vector(plain: str) -> TypeLayout | None:
    match = re.fullmatch(r"([a-z]+)([1234])", plain)
    if match and match[1] in _VECTORS:
        dtype, lanes = np.dtype(_VECTORS[match[1]]), int(match[2])
        align = dtype.itemsize if lanes == 3 else min(16, dtype.itemsize * lanes)
    elif plain in _SPECIAL:
        kind, lanes, align = _SPECIAL[plain]
        dtype = np.dtype(kind)
    else:
        return None
    size = dtype.itemsize
    names = [""] if lanes == 1 else "xyzw"[:lanes]
    leaves = tuple(Leaf(name, dtype.name, dtype, i * size) for i, name in enumerate(names))
    return TypeLayout(size * lanes, align, leaves)


def _definition(text: str, name: str) -> tuple[str, str, str, str] | None:
    """(keyword, what stands before it, bases, body) of a structure or enumeration."""
    head = rf"\b(struct|class|union|enum)\b((?:\s+class)?[^;{{}}()]*?(?:\([^()]*\)\s*)*)\b{name}\b"
    for match in re.finditer(rf"{head}\s*(?:final\s*)?(?::([^{{;()]*))?\{{", text):
        end = closing(text, match.end(), "{}")
        before = text[max(0, match.start() - 200) : match.start()] + match[2]
        if match[1] != "enum":
            before = before[before.rfind(";") + 1 :]
            before = before[before.rfind("}") + 1 :]
        return match[1], _template_head(before), (match[3] or "").strip(), text[match.end() : end]
    for match in re.finditer(r"\btypedef\s+(struct|union|enum)\b([^;{}]*)\{", text):
        end = closing(text, match.end(), "{}")
        names = re.match(r"\s*([\w\s,*]*)", text[end + 1 :])
        if names and name in re.findall(r"(?<!\*)\b\w+", names[1]):
            return match[1], match[2], "", text[match.end() : end]
    return None


def _template_head(before: str) -> str:
    """`template <…>` last, where there is one, and alignment attributes before it."""
    match = re.search(r"template\s*<[^{};]*>", before)
    if not match:
        return before
    rest = before[: match.start()] + before[match.end() :]
    return f"{rest} {match[0]}"


def _alignment(before: str) -> int:
    found = re.findall(r"(?:__align__|alignas|aligned)\s*\(+\s*(\d+)", before)
    return max((int(text) for text in found), default=1)


def _fields(body: str) -> Iterator[tuple[str, str, str]]:
    """(name, type, extents) of each data member."""
    for statement in _statements(body):
        words = re.sub(r"^\s*(?:(?:public|private|protected)\s*:\s*)*", "", statement).strip()
        if not words or _NO_MEMBER.match(words):
            continue
        if "(" in re.split(r"[={\[]", words)[0]:  # a function that is only declared
            continue
        first, *more = split_at_commas(words)
        match = _MEMBER.match(first)
        if not match or ":" in (match["rest"] or "")[:1]:  # a bit field
            raise UnknownType(words)
        kind = match["type"].strip()
        plain = kind.rstrip("*& ")
        yield match["name"], kind, _extents(match["rest"])
        for part in more:
            other = re.match(r"([*&\s]*)(\w+)\s*([\[={].*)?$", part, re.DOTALL)
            if not other:
                raise UnknownType(words)
            yield other[2], f"{plain} {other[1]}".strip(), _extents(other[3])


def _extents(rest: str | None) -> str:
    return "".join(re.findall(r"\[[^\]]*\]", re.split(r"[={]", rest or "")[0]))


def _statements(body: str) -> Iterator[str]:
    """The declarations of a class; functions with their bodies are left out."""
    start = at = 0
    while at < len(body):
        if body[at] == "{":
            header = body[start:at]
            end = closing(body, at + 1, "{}")
            if "(" in header.partition("=")[0]:
                start = end + 1
                if re.match(r"\s*;", body[start:]):
                    start += body[start:].index(";") + 1
            at = end
        elif body[at] == ";":
            yield body[start:at]
            start = at + 1
        at += 1


def _plain(words: list[str]) -> list[str]:
    kept = [word for word in words if word not in QUALIFIERS]
    joined = re.sub(r"\s*([<>,])\s*", r"\1", " ".join(kept))
    return [re.sub(r"^(?:::)?(?:cuda::)?std::", "", word) for word in joined.split()]


def _canonical(words: list[str]) -> str:
    """`long unsigned` and `unsigned long int` are both `unsigned long`."""
    built_in = {"signed", "unsigned", "char", "short", "int", "long"}
    if not words or not set(words) <= built_in:
        return " ".join(words)
    if "char" in words:
        return "unsigned char" if "unsigned" in words else "char"
    size = "short" if "short" in words else " ".join(["long"] * words.count("long")) or "int"
    return f"unsigned {size}" if "unsigned" in words else size
