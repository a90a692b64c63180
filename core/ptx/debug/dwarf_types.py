"""The types of source variables, as DWARF describes them and as C++ spells them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.ptx.debug.mangled_names import source_name

Kind = Literal[
    "bool", "int", "unsigned", "float", "pointer", "enum", "array", "struct", "function", "void"
]

# DWARF 2, figure 17, "Base type encoding values".
_ENCODINGS: dict[int, tuple[Kind, str]] = {
    0x02: ("bool", "u"),
    0x04: ("float", "f"),
    0x05: ("int", "i"),
    0x06: ("int", "i"),  # signed char
    0x07: ("unsigned", "u"),
    0x08: ("unsigned", "u"),  # unsigned char
    0x10: ("unsigned", "u"),  # UTF
}
_QUALIFIERS = {
    "DW_TAG_const_type": "const",
    "DW_TAG_volatile_type": "volatile",
    "DW_TAG_restrict_type": "__restrict__",
}
_POINTERS = {
    "DW_TAG_pointer_type": "*",
    "DW_TAG_reference_type": "&",
    "DW_TAG_rvalue_reference_type": "&&",
}
_RECORDS = ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type")


@dataclass(frozen=True)
class Member:
    """A field of a struct or union; a base class is a member without a name.

    `bits` is (first bit, number of bits) of a bit field, counted from the least significant bit
    of the `type.nbytes` bytes at `offset`.
    """

    name: str
    offset: int  # bytes
    type: DwarfType
    bits: tuple[int, int] | None = None


@dataclass(frozen=True)
class DwarfType:
    """A type as C++ spells it (`name`), and how its bytes are read.

    `dtype` is set for everything that is one number: bool, integers, floats, pointers (uint64)
    and enumerations. `element` is an array's element (its `dims` are in declaration order, 0 for
    an unknown size) or what a pointer points to; `members` are a struct's.
    """

    name: str
    kind: Kind
    nbytes: int
    dtype: np.dtype[Any] | None = None
    element: DwarfType | None = None
    dims: tuple[int, ...] = ()
    members: tuple[Member, ...] = ()

    def from_bits(self, bits: NDArray[np.uint64]) -> NDArray[Any]:
        """Values of this type out of the low `nbytes` of 64-bit patterns (register contents).

        What stands above them is dropped: PTX keeps a char in a 16-bit register and does not clear
        its high byte. Raises TypeError for a type that is not one number.
        """
        if self.dtype is None:
            raise TypeError(f"{self.name} is not a scalar type")
        low = np.ascontiguousarray(bits, np.uint64).astype(f"u{self.nbytes}")
        return low != 0 if self.kind == "bool" else low.view(self.dtype)


UNKNOWN = DwarfType("?", "void", 0)


class TypeReader:
    """Makes each type of a compile unit once."""

    def __init__(self) -> None:
        self._types: dict[int, DwarfType] = {}
        self._open: set[int] = set()

    def type_of(self, die: Any) -> DwarfType:
        """The type that `die`'s DW_AT_type refers to; void without one."""
        if "DW_AT_type" not in die.attributes:
            return DwarfType("void", "void", 0)
        return self._type(die.get_DIE_from_attribute("DW_AT_type"))

    def _type(self, die: Any) -> DwarfType:
        if die.offset in self._types:
            return self._types[die.offset]
        if die.offset in self._open:  # a struct that points to itself: the inner one stays opaque
            return DwarfType(_spell(die), "struct", _size(die))
        self._open.add(die.offset)
        made = self._types[die.offset] = self._make(die)
        self._open.discard(die.offset)
        return made

    def _make(self, die: Any) -> DwarfType:
        tag, name = die.tag, _spell(die)
        if tag == "DW_TAG_base_type":
            return _base_type(die, name)
        if tag in _POINTERS:
            return DwarfType(name, "pointer", 8, np.dtype(np.uint64), self.type_of(die))
        if tag == "DW_TAG_array_type":
            return self._array(die, name)
        if tag in _RECORDS:
            return DwarfType(name, "struct", _size(die), members=tuple(self._members(die)))
        if tag == "DW_TAG_enumeration_type":
            return _enumeration(die, name)
        if tag in _QUALIFIERS or tag == "DW_TAG_typedef":
            return replace(self.type_of(die), name=name)
        if tag == "DW_TAG_subroutine_type":
            return DwarfType(name, "function", 0)
        return DwarfType(name, "void", 0)

    def _array(self, die: Any, name: str) -> DwarfType:
        element, dims = self.type_of(die), _dims(die)
        nbytes = element.nbytes * int(np.prod(dims, dtype=np.int64))
        return DwarfType(name, "array", nbytes, element=element, dims=dims)

    def _members(self, die: Any) -> list[Member]:
        members = []
        for child in die.iter_children():
            if child.tag in {"DW_TAG_member", "DW_TAG_inheritance"}:
                kind = self.type_of(child)
                members.append(Member(_name(child), _offset(child), kind, _bit_field(child, kind)))
        return members


def _base_type(die: Any, name: str) -> DwarfType:
    kind, letter = _ENCODINGS.get(die.attributes["DW_AT_encoding"].value, ("void", ""))
    nbytes = _size(die)
    if not letter or nbytes not in {1, 2, 4, 8} or (letter == "f" and nbytes == 1):
        return DwarfType(name, kind, nbytes)
    return DwarfType(name, kind, nbytes, np.dtype(f"{letter}{nbytes}"))


def _enumeration(die: Any, name: str) -> DwarfType:
    signed = any(
        child.attributes["DW_AT_const_value"].value < 0
        for child in die.iter_children()
        if child.tag == "DW_TAG_enumerator"
    )
    nbytes = _size(die)
    return DwarfType(name, "enum", nbytes, np.dtype(f"{'i' if signed else 'u'}{nbytes}"))


def _dims(die: Any) -> tuple[int, ...]:
    return tuple(
        _extent(child) for child in die.iter_children() if child.tag == "DW_TAG_subrange_type"
    )


def _extent(die: Any) -> int:
    if "DW_AT_count" in die.attributes:
        return int(die.attributes["DW_AT_count"].value)
    if "DW_AT_upper_bound" in die.attributes:
        return int(die.attributes["DW_AT_upper_bound"].value) + 1
    return 0


def _size(die: Any) -> int:
    size = die.attributes.get("DW_AT_byte_size")
    return 0 if size is None else int(size.value)


def _offset(die: Any) -> int:
    """DW_AT_data_member_location: a number, or the expression `DW_OP_plus_uconst n`."""
    where = die.attributes.get("DW_AT_data_member_location")
    if where is None:
        return 0
    if isinstance(where.value, int):
        return where.value
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(where.value[1:]))


def _bit_field(die: Any, kind: DwarfType) -> tuple[int, int] | None:
    """DW_AT_bit_offset counts from the most significant bit (DWARF 2, 5.5.4)."""
    size, first = die.attributes.get("DW_AT_bit_size"), die.attributes.get("DW_AT_bit_offset")
    if size is None or first is None:
        return None
    return 8 * kind.nbytes - int(first.value) - int(size.value), int(size.value)


def _name(die: Any) -> str:
    name = die.attributes.get("DW_AT_name")
    return "" if name is None else source_name(name.value.decode("utf-8", "replace"))


def _spell(die: Any, declarator: str = "") -> str:
    """C++'s spelling of a type around a declarator, which grows from the inside out."""
    tag = die.tag
    target = die.get_DIE_from_attribute("DW_AT_type") if "DW_AT_type" in die.attributes else None
    if tag in _POINTERS:
        inner = _POINTERS[tag] + declarator
        bracketed = target is not None and target.tag in {
            "DW_TAG_array_type",
            "DW_TAG_subroutine_type",
        }
        return _spell_target(target, f"({inner})" if bracketed else inner)
    if tag in _QUALIFIERS:
        if target is not None and target.tag in _POINTERS:
            return _spell(target, _QUALIFIERS[tag] + (f" {declarator}" if declarator else ""))
        return f"{_QUALIFIERS[tag]} {_spell_target(target, declarator)}"
    if tag == "DW_TAG_array_type":
        return _spell_target(target, declarator + "".join(f"[{d or ''}]" for d in _dims(die)))
    if tag == "DW_TAG_subroutine_type":
        parameters = ", ".join(
            _spell_target(child.get_DIE_from_attribute("DW_AT_type"), "")
            for child in die.iter_children()
            if child.tag == "DW_TAG_formal_parameter"
        )
        return _spell_target(target, f"{declarator}({parameters})")
    return _join(_name(die) or "(unnamed)", declarator)


def _spell_target(target: Any, declarator: str) -> str:
    return _join("void", declarator) if target is None else _spell(target, declarator)


def _join(name: str, declarator: str) -> str:
    return name + ("" if not declarator or declarator.startswith("[") else " ") + declarator
