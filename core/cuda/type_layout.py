"""How C++ types lie in memory: those of `core.cuda.plain_types`, pointers, and structures of them.

Members of a structure are aligned as the Itanium C++ ABI says. Structures are read from their text,
without virtual functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from core.cuda.class_text import ClassText, Field, UnknownType, fields, find_class, prepared
from core.cuda.kernel_text import split_at_commas
from core.cuda.plain_types import Leaf, TypeLayout, plain_layout, plain_name

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
