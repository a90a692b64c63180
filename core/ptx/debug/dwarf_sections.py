"""The debug sections of a PTX text, turned into bytes that pyelftools can read.

NVRTC writes DWARF as data directives (`.b8 1,2`, `.b32 .debug_abbrev`, `.b64 $L__tmp3`); see PTX
ISA, "Debugging Directives: .section". A code label becomes the address pc + 1, so that no label
has address 0, which ends a location list. Any other symbol (a `__local_depot0`, a variable) gets
an address of its own above `_SYMBOL_BASE` and can be named again from it.

This module reads DWARF by pyelftools. Older versions of it carry no types, and loading
it takes longer than reading a kernel's DWARF: so it is imported by name, when first needed.

The process that compiles uses this too, and loads no NumPy for it.
"""

from __future__ import annotations

import importlib
import inspect
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.cancelling import check
from core.ptx.lexer import sections

_SYMBOL_BASE = 1 << 62
_SYMBOL_STRIDE = 1 << 32  # leaves room for the offset in `symbol + offset`

_DATA = {".b8": 1, ".b16": 2, ".b32": 4, ".b64": 8}
_TERM = re.compile(r"([+-]?)\s*([$\w.%]+)")


@dataclass
class _Symbols:
    """The address of every name that debug data may use."""

    labels: Mapping[str, int]
    offsets: dict[str, int] = field(default_factory=dict)  # labels inside the sections themselves
    others: dict[str, int] = field(default_factory=dict)

    def address(self, name: str) -> int:
        if name[0].isdigit():
            return int(name, 0)
        if name in self.labels:
            return self.labels[name] + 1
        if name in self.offsets:
            return self.offsets[name]
        if name.startswith(".debug"):
            return 0  # the start of a section
        return _SYMBOL_BASE + self.others.setdefault(name, len(self.others)) * _SYMBOL_STRIDE

    def value(self, expression: str) -> int:
        """A sum of terms: `$L__a-$L__b`, `.debug_loc+131`, `generic(x)`."""
        text = expression.removeprefix("generic(").removesuffix(")")
        terms = _TERM.findall(text)
        return sum(
            -self.address(name) if sign == "-" else self.address(name) for sign, name in terms
        )


@dataclass(frozen=True)
class DebugSections:
    """The bytes of the sections by name, and the symbols that their addresses stand for."""

    content: Mapping[str, bytes]
    symbols: tuple[str, ...]

    def pc(self, address: int) -> int | None:
        """The instruction that a code address stands for; None where it is none."""
        return address - 1 if 0 < address < _SYMBOL_BASE else None

    def symbol(self, address: int) -> tuple[str, int] | None:
        """The symbol and byte offset that a data address stands for; None where it is none."""
        if address < _SYMBOL_BASE:
            return None
        index, offset = divmod(address - _SYMBOL_BASE, _SYMBOL_STRIDE)
        return (self.symbols[index], offset) if index < len(self.symbols) else None


def read_sections(ptx: str, labels: Mapping[str, int]) -> DebugSections:
    """The debug sections of `ptx`; `labels` gives the instruction index of each code label."""
    debug = (section for section in sections(ptx) if section.name.startswith(".debug"))
    found = [(section.name, ptx[section.body : section.end - 1]) for section in debug]
    symbols = _Symbols(labels)
    assembled = [(name, *_assemble(body, symbols)) for name, body in found]
    for _, data, fixups in assembled:  # only now are the labels of all sections known
        for at, width, expression in fixups:
            value = symbols.value(expression) % (1 << 8 * width)
            data[at : at + width] = value.to_bytes(width, "little")
    return DebugSections({name: bytes(data) for name, data, _ in assembled}, tuple(symbols.others))


def _assemble(body: str, symbols: _Symbols) -> tuple[bytearray, list[tuple[int, int, str]]]:
    """One section's bytes, with zeros where (offset, width, expression) is to be filled in."""
    data = bytearray()
    fixups: list[tuple[int, int, str]] = []
    for line in io.StringIO(body):  # `splitlines` would make all lines at once
        check()
        directive, _, operands = line.strip().partition(" ")
        width = _DATA.get(directive)
        if width is None:
            if directive.endswith(":"):
                symbols.offsets[directive[:-1]] = len(data)
            continue
        if width == 1:  # nearly all: one list of plain numbers at a time
            try:
                data += bytes(map(int, operands.split(",")))
                continue
            except ValueError:
                pass  # a label, or a number of another form
        for operand in operands.split(","):
            text = operand.strip()
            try:
                data += (int(text, 0) % (1 << 8 * width)).to_bytes(width, "little")
            except ValueError:
                fixups.append((len(data), width, text))
                data += bytes(width)
    return data, fixups


def open_dwarf(sections: DebugSections) -> Any:
    """A pyelftools `DWARFInfo` over the sections, or None where there is no debug information."""
    if not sections.content.get(".debug_info") or not sections.content.get(".debug_abbrev"):
        return None
    return _open(sections.content)


def line_rows(table: bytes) -> Sequence[Any]:
    """The rows of a line table (.debug_line, or a section of its form), as pyelftools has them."""
    dwarf = _open({".debug_line": table})
    rows: list[Any] = []
    offset = 0
    while offset < len(table):
        program = dwarf._parse_line_program_at_offset(offset, dwarf.structs)
        rows += program.get_entries()
        offset = program.program_end_offset
    return rows


def _open(content: Mapping[str, bytes | bytearray]) -> Any:
    reader = importlib.import_module("elftools.dwarf.dwarfinfo")
    # Which sections the constructor wants differs between versions of pyelftools.
    wanted = [name for name in inspect.signature(reader.DWARFInfo).parameters if name != "config"]
    given = {name: content.get("." + name.removesuffix("_sec")) for name in wanted}
    descriptors = {
        name: None if data is None else _descriptor(reader, name, bytes(data))
        for name, data in given.items()
    }
    config = reader.DwarfConfig(
        little_endian=True, machine_arch="<unknown>", default_address_size=8
    )
    dwarf = reader.DWARFInfo(config=config, **descriptors)
    dwarf.structs.Dwarf_dw_form["DW_FORM_string"] = _Text  # of all units of this form
    return dwarf


class _Text:
    """Text up to a zero, found at once: pyelftools reads byte by byte, most of its time."""

    @staticmethod
    def parse_stream(stream: io.BytesIO) -> bytes:
        data, start = stream.getvalue(), stream.tell()
        end = data.index(0, start)
        stream.seek(end + 1)
        return data[start:end]


def _descriptor(reader: Any, name: str, data: bytes) -> Any:
    return reader.DebugSectionDescriptor(
        stream=io.BytesIO(data), name=name, global_offset=0, size=len(data), address=0
    )


def location_entries(dwarf: Any, offset: int, die: Any) -> Iterator[tuple[int, int, list[int]]]:
    """The (first address, end address, expression) entries of a location list."""
    for entry in dwarf.location_lists().get_location_list_at_offset(offset, die):
        if hasattr(entry, "loc_expr"):
            yield entry.begin_offset, entry.end_offset, entry.loc_expr


def expression_parser(unit: Any) -> Any:
    """What reads the expressions of a compile unit."""
    return importlib.import_module("elftools.dwarf.dwarf_expr").DWARFExprParser(unit.structs)
