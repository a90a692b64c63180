"""How C++ types lie in memory: those of `core.source.types`, pointers, and structures of them.

Members of a structure are aligned as the Itanium C++ ABI says. Structures are read from their text,
without virtual functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from core.source.kernel_text import closing, split_at_commas, with_macros

# C++ types that are no structures of a source: numbers and CUDA's vectors, by any of their names.
#
# Widths are those of 64-bit Linux, where `long` has 8 bytes.


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
    end: int = 0  # of the last member where padding follows it

    @property
    def used(self) -> int:
        """Bytes up to the end of the last member."""
        return self.end or self.nbytes


def plain_layout(name: str) -> TypeLayout | None:
    """The layout of a number or of one of CUDA's vectors; None of anything else."""
    if SCALARS.get(name):
        dtype = np.dtype(SCALARS[name])
        return TypeLayout(dtype.itemsize, dtype.itemsize, (Leaf("", name, dtype),))
    return _vector(name)


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


def plain_name(words: list[str]) -> str:
    """A type's one name: `const unsigned long int` and `long unsigned` are `unsigned long`."""
    return _canonical(_unqualified(words))


def _unqualified(words: list[str]) -> list[str]:
    kept = [word for word in words if word not in QUALIFIERS]
    joined = re.sub(r"\s*([<>,])\s*", r"\1", " ".join(kept))
    return [re.sub(r"^(?:::)?(?:cuda::)?std::", "", word) for word in joined.split()]


def _canonical(words: list[str]) -> str:
    built_in = {"signed", "unsigned", "char", "short", "int", "long"}
    if not words or not set(words) <= built_in:
        return " ".join(words)
    if "char" in words:
        return "unsigned char" if "unsigned" in words else "char"
    size = "short" if "short" in words else " ".join(["long"] * words.count("long")) or "int"
    return f"unsigned {size}" if "unsigned" in words else size


# The text of a structure's definition: its bases, its data members, what aligns them.
#
# A reader for declarations, not a C++ parser. What would change the layout in a way that is not
# followed here is refused, as a layout that is nearly right is worse than none.


_ATTRIBUTE = re.compile(
    r"\b(?P<plain>__align__|__builtin_align__|alignas)\s*\("
    r"|\b__attribute__\s*\(\s*\(\s*(?:__)?aligned(?:__)?\s*\("
)
_ALIGNED = re.compile(r"@([^@]*)@")  # how an attribute stands in a text that was prepared
_MEMBER = re.compile(r"(?P<type>.*?[\s*&>])(?P<name>\w+)\s*(?P<rest>[\[={:].*)?$", re.DOTALL)
_TO_FUNCTION = re.compile(
    r"[^(]*\(\s*\*\s*(?:const\s+)?(\w+)\s*((?:\[[^\]]*\]\s*)*)\)\s*[(\[]", re.DOTALL
)
_AFTER_PARAMETERS = re.compile(
    r"(?:\s|const\b|volatile\b|noexcept\b(?:\s*\([^()]*\))?|override\b|final\b|&)*"
    r"(?:->.*)?(?:=\s*(?:default|delete|0)\s*)?", re.DOTALL
)  # fmt: skip
_NO_MEMBER = re.compile(
    r"(using|typedef|friend|template|static_assert)\b|(struct|class|union)\s+\w+\s*$"
    r"|(struct|class|enum)\b[\w\s:]*\{.*\}$", re.DOTALL
)  # fmt: skip
_STATIC = re.compile(r"^[^={(]*\bstatic\b")
_PRAGMA = re.compile(r"#\s*pragma\s+pack\s*\(([^)]*)\)|_Pragma\s*\(\s*\"pack\s*\(([^)]*)\)")


class UnknownType(Exception):
    """A type that is not understood here; the text says which, or what about it."""


@dataclass(frozen=True)
class ClassText:
    """A structure or enumeration; of an enumeration `bases` is the type beneath it.

    `alignments` are the expressions of its `__align__(…)`, `template` the parameters of one.
    """

    keyword: str
    bases: tuple[str, ...]
    body: str
    alignments: tuple[str, ...] = ()
    template: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether nothing in it keeps a derived class from beginning after its padding."""
        own = re.sub(r"\{[^{}]*\}", "", self.body)
        special = r"\b(public|private|protected|virtual)\b|(?:^|[;}\s])~|[=]"
        makes = r"(?:^|[;}])\s*(?:(?:__host__|__device__|constexpr|explicit|inline)\s+)*\w+\s*\("
        return self.keyword == "struct" and not self.bases and not re.search(
            rf"{special}|{makes}", own
        )  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A data member as written: its name, type, `[…]` behind it, and what it is aligned to."""

    name: str
    type: str
    extents: str = ""
    alignments: tuple[str, ...] = ()


def prepared(text: str) -> str:
    """A text without comments in which `find_class` looks: attributes of alignment are `@16@`."""
    text = with_macros(text, re.compile(r"\b(?:__align__|alignas|aligned|packed)\b"))
    at = 0
    while found := _ATTRIBUTE.search(text, at):
        end = closing(text, found.end())
        inside, end = text[found.end() : end], end + 1
        if not found["plain"]:
            tail = re.compile(r"\s*\)\s*\)").match(text, end)
            end = tail.end() if tail else end
        text = f"{text[: found.start()]}@{' '.join(inside.split())}@ {text[end:]}"
        at = found.start() + 1
    return text


def find_class(text: str, name: str) -> ClassText | None:
    """The definition of `name` in a prepared text. Raises UnknownType where it is not sure."""
    found = [*_named(text, name), *_by_typedef(text, name)]
    if len({one for _, one in found}) > 1:
        raise UnknownType(f"{name} is defined in more than one way")
    if re.search(rf"\b(?:struct|class)\s+{name}\s*<[^;{{}}()]*>\s*(?::[^;{{}}()]*)?\{{", text):
        raise UnknownType(f"{name} is a template that is specialised")
    for position, one in found:
        if one.keyword in ("struct", "class") and _is_packed(text, position):
            raise UnknownType(f"{name} is packed")
        return one
    return None


def _named(text: str, name: str) -> Iterator[tuple[int, ClassText]]:
    words = r"(?:\s|@[^@]*@|__attribute__\b[\s(\w,)]*|\w+\s)*?"
    head = rf"\b(struct|class|union|enum)\b(\s+class\b)?({words})"
    for match in re.finditer(rf"{head}\b{name}\b\s*(?:final\s*)?(?::([^{{;()]*))?\{{", text):
        keyword, between, bases = match[1], match[3], (match[4] or "").strip()
        end = closing(text, match.end(), "{}")
        body = text[match.end() : end]
        if keyword == "enum":
            yield match.start(), ClassText(keyword, (bases,) if bases else (), body)
            continue
        after = re.compile(r"\s*([^;{}=]*)").match(text, end + 1)
        behind = after[1] if after else ""
        if _ALIGNED.sub("", between).strip() or re.match(r"@|__attribute__|\[", behind):
            raise UnknownType(f"{name} has attributes that are not understood")
        before = re.split(r"[;{}]", text[max(0, match.start() - 400) : match.start()])[-1]
        template = re.search(r"\btemplate\s*<(.*)>\s*$", before, re.DOTALL)
        yield match.start(), ClassText(
            keyword, tuple(split_at_commas(bases)), body, tuple(_ALIGNED.findall(between)),
            template[1] if template else "",
        )  # fmt: skip


def _by_typedef(text: str, name: str) -> Iterator[tuple[int, ClassText]]:
    for match in re.finditer(r"\btypedef\s+(struct|union|enum)\b([^;{}]*)\{", text):
        end = closing(text, match.end(), "{}")
        names = re.match(r"[^;]*", text[end + 1 :])
        behind = names[0] if names else ""
        if name not in re.findall(r"(?<!\*)\b\w+", _ALIGNED.sub(" ", behind)):
            continue
        if re.search(r"__attribute__|\[", match[2] + behind):
            raise UnknownType(f"{name} has attributes that are not understood")
        aligned = _ALIGNED.findall(match[2] + behind)
        body = text[match.end() : end]
        if not re.search(rf"\b{name}\b", match[2]):  # else it is found by that name
            yield match.start(), ClassText(match[1], (), body, tuple(aligned))


def _is_packed(text: str, position: int) -> bool:
    """Whether a `#pragma pack` is in force there."""
    outer: list[str] = []
    now = ""
    for match in _PRAGMA.finditer(text, 0, position):
        words = [word.strip() for word in (match[1] or match[2] or "").split(",")]
        if words[0] == "push":
            outer.append(now)
        if words[0] == "pop":
            now = outer.pop() if outer else ""
        else:
            now = words[-1] if words[-1] != "push" else now
    return bool(now)


def fields(body: str) -> Iterator[Field]:
    """The data members of a class whose text was prepared, in order."""
    for statement in _statements(body):
        words = re.sub(r"^\s*(?:(?:public|private|protected)\s*:\s*)*", "", statement).strip()
        aligned = tuple(_ALIGNED.findall(words))
        plain = " ".join(_ALIGNED.sub(" ", words).split())
        if not plain or _NO_MEMBER.match(plain) or _STATIC.match(plain):
            continue
        if "(" in re.split(r"[={\[]", plain)[0]:
            if pointer := _TO_FUNCTION.match(plain):
                yield Field(pointer[1], "void *", pointer[2].strip(), aligned)
                continue
            opens = plain.index("(")
            if _AFTER_PARAMETERS.fullmatch(plain, closing(plain, opens + 1) + 1):
                continue  # a function that is only declared
            raise UnknownType(f"`{plain}` is not understood")
        yield from _declared(plain, aligned, is_first=words.startswith("@"))


def _declared(words: str, aligned: tuple[str, ...], is_first: bool) -> Iterator[Field]:
    first, *more = split_at_commas(words)
    match = _MEMBER.match(first)
    if not match:
        raise UnknownType(f"`{words}` is not understood")
    if ":" in (match["rest"] or "")[:1]:
        raise UnknownType(f"`{words}` is a bit field")
    if "&" in words.partition("=")[0]:
        raise UnknownType(f"`{words}` is a reference")
    if more and aligned and not is_first:
        raise UnknownType(f"`{words}` is not understood")
    kind = match["type"].strip()
    yield Field(match["name"], kind, _extents(match["rest"]), aligned)
    for part in more:
        other = re.match(r"([*\s]*)(\w+)\s*([\[={].*)?$", part, re.DOTALL)
        if not other:
            raise UnknownType(f"`{words}` is not understood")
        whole = f"{kind.rstrip('* ')} {other[1]}".strip()
        yield Field(other[2], whole, _extents(other[3]), aligned)


def _extents(rest: str | None) -> str:
    return "".join(re.findall(r"\[[^\]]*\]", re.split(r"[={]", rest or "")[0]))


def _statements(body: str) -> Iterator[str]:
    """The declarations of a class; functions with their bodies are left out."""
    start = at = 0
    while at < len(body):
        if body[at] == "{":
            header = body[start:at]
            end = closing(body, at + 1, "{}")
            if "(" in header.partition("=")[0] and not _TO_FUNCTION.match(header):
                start = end + 1
                if re.match(r"\s*;", body[start:]):
                    start += body[start:].index(";") + 1
            at = end
        elif body[at] == ";":
            yield body[start:at]
            start = at + 1
        at += 1


_POINTER = 8
EMPTY = "empty structure"
_DEEPEST = 8


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
        if "&" in declared or declared.count("*") > 1:
            raise UnknownType(f"`{declared}` is a reference or a pointer to a pointer")
        if star:
            return TypeLayout(_POINTER, _POINTER, (self._pointer(words, declared),))
        plain = plain_name(words)
        return plain_layout(plain) or self._structure(plain)

    def resolved(self, type_text: str) -> list[str]:
        """The words of a type, aliases replaced."""
        for _ in range(_DEEPEST):  # aliases of aliases
            plain = re.sub(r"[A-Za-z_]\w*", lambda m: self._aliases.get(m[0], m[0]), type_text)
            if plain == type_text:
                break
            type_text = plain
        return type_text.split()

    def _pointer(self, words: list[str], declared: str) -> Leaf:
        plain = plain_name(words)
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
            raise UnknownType(f"{name} is not known")
        found = find_class(self._prepared, base.rpartition("::")[2])
        if found is None:
            raise UnknownType(f"{name} is not known")
        if found.keyword == "enum":
            whole = self.layout(found.bases[0] if found.bases else "int")
            return replace(whole, leaves=(replace(whole.leaves[0], type=f"enum {base}"),))
        if found.keyword == "union":
            raise UnknownType(f"{name} is a union")
        if re.search(r"\bvirtual\b", f"{found.bases} {found.body}"):
            raise UnknownType(f"{name} has something virtual")
        self._depth += 1
        try:
            inner = self._bound(found.template, given.strip().removesuffix(">"))
            return inner._members(found)
        finally:
            self._depth -= 1

    @cached_property
    def _prepared(self) -> str:
        return prepared(self._text)

    def _bound(self, parameters: str, given: str) -> TypeReader:
        """A reader that knows a template's arguments."""
        if not parameters:
            return self
        values: dict[str, str] = {}
        arguments = split_at_commas(given)
        for position, parameter in enumerate(split_at_commas(parameters)):
            name, _, default = parameter.partition("=")
            text = arguments[position] if position < len(arguments) else default.strip()
            values[re.findall(r"\w+", name)[-1]] = values.get(text, text)

        def number(text: str) -> int | None:
            return self._number(re.sub(r"\w+", lambda m: values.get(m[0], m[0]), text))

        found = TypeReader(self._text, {**self._aliases, **values}, number)
        found._depth = self._depth
        found.__dict__["_prepared"] = self._prepared
        return found

    def _members(self, found: ClassText) -> TypeLayout:
        at, align = 0, self._alignment(found.alignments)
        leaves: list[Leaf] = []
        own = [*fields(found.body)]
        for base in found.bases:
            kind = re.sub(r"\b(public|private|protected)\b", "", base).strip()
            one = self._base(kind, own)
            if one is None:
                continue
            at = -(-at // one.align) * one.align
            leaves += _placed(one, "", at, 1)
            at += one.nbytes
            align = max(align, one.align)
        for field in own:
            one, count = self.layout(field.type), self._count(field)
            least = max(one.align, self._alignment(field.alignments))
            at = -(-at // least) * least
            leaves += _placed(one, field.name, at, count)
            at += one.nbytes * count
            align = max(align, least)
        if not leaves:  # an empty class has one byte
            empty = Leaf("", EMPTY, np.dtype(np.uint8))
            return TypeLayout(max(align, 1), align, (empty,))
        return TypeLayout(-(-at // align) * align, align, tuple(leaves), at)

    def _base(self, kind: str, own: list[Field]) -> TypeLayout | None:
        """A base's layout; None of an empty one, which takes no bytes. Raises UnknownType.

        Itanium C++ ABI, 2.4: what derives from a class that is no plain old structure begins in
        that one's padding, which is not followed here.
        """
        one = self.layout(kind)
        if [(leaf.path, leaf.type) for leaf in one.leaves] == [("", EMPTY)]:
            name = re.escape(kind.partition("<")[0])
            if one.nbytes > 1 or any(re.search(rf"\b{name}\b", field.type) for field in own):
                raise UnknownType(f"the empty base {kind} may take bytes of its own")
            return None
        text = find_class(self._prepared, " ".join(self.resolved(kind)).partition("<")[0].strip())
        if one.used != one.nbytes and (text is None or not text.is_plain):
            raise UnknownType(f"the base {kind} has padding and is no plain struct")
        return one

    def _count(self, field: Field) -> int:
        count = 1
        for extent in re.findall(r"\[([^\]]*)\]", field.extents):
            size = self._number(extent)
            if size is None or size < 1:
                raise UnknownType(f"`{field.type} {field.name}{field.extents}` has no known size")
            count *= size
        return count

    def _alignment(self, expressions: Sequence[str]) -> int:
        """The largest of `__align__(…)`; of a type its own. Raises UnknownType."""
        most = 1
        for text in expressions:
            number = self._number(text)
            if number is None and re.fullmatch(r"[\w\s:]+", text):
                number = self.layout(text).align
            if number is None or number < 0:
                raise UnknownType(f"an alignment to {text} is not understood")
            most = max(most, number)
        return most


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
