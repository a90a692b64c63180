"""Registers and memory of a compiled kernel, read from its cubin; no GPU or toolkit needed.

A cubin is an ELF file. Attributes stand in sections .nv.info (of the whole file) and .nv.info.NAME
(of a kernel) as records: a byte of format, a byte naming the attribute, two bytes of size or value,
then the value. Their numbers are those that `cuobjdump -elf` prints names for (EIATTR_…).
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import TilescopeError
from core.ptx.dwarf_names import source_name

_SIZED = 0x04  # format: the value follows, as long as the two bytes say
_REGCOUNT = 0x2F  # symbol, registers of a thread
_FRAME_SIZE = 0x11  # symbol, bytes of its stack frame
_MAX_THREADS = 0x05  # x, y, z of __launch_bounds__
_VARIABLES = (".nv.constant", ".nv.global")
_SHARED_RESERVED = 1024  # from compute capability 9.0 the section begins with what is the driver's


@dataclass(frozen=True)
class KernelResources:
    """What a compiled kernel needs: registers and local bytes a thread, shared bytes a block.

    `static_shared_bytes` leaves out what the driver reserves. `max_threads` is the most threads
    that its `__launch_bounds__` allow, None without.
    """

    registers: int
    static_shared_bytes: int
    local_bytes: int
    max_threads: int | None = None


def kernel_resources(image: bytes, entry: str) -> KernelResources:
    """What kernel `entry` of a cubin needs. Raises TilescopeError if there is no such kernel."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(io.BytesIO(image))
    except ELFError as error:
        raise TilescopeError(f"This is no cubin: {error}.") from error
    sections: dict[str, Any] = {section.name: section for section in elf.iter_sections()}
    if f".text.{entry}" not in sections:
        kernels = ", ".join(n.removeprefix(".text.") for n in sections if n.startswith(".text."))
        raise TilescopeError(f"The cubin has no kernel {entry}; it has: {kernels or 'none'}.")
    symbols = [symbol.name for symbol in sections[".symtab"].iter_symbols()]
    whole = _by_symbol(sections[".nv.info"].data(), symbols.index(entry))
    own = dict(_records(sections[f".nv.info.{entry}"].data()))
    bounds = own.get(_MAX_THREADS)
    return KernelResources(
        registers=whole[_REGCOUNT],
        static_shared_bytes=_shared(sections, entry),
        local_bytes=whole.get(_FRAME_SIZE, 0),
        max_threads=None if bounds is None else _product(struct.unpack("<3I", bounds[:12])),
    )


def variables_called(image: bytes, name: str) -> tuple[str, ...]:
    """The symbols of the variables called `name` in a cubin, whatever namespace they stand in.

    Those in global and constant memory count: `_ZN6filter7weightsE` for `weights`. A variable that
    the optimised code does not use may have no symbol.
    """
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(image))
    table: Any = elf.get_section_by_name(".symtab")
    found = []
    for symbol in table.iter_symbols():
        place = symbol["st_shndx"]
        if symbol["st_info"]["type"] != "STT_OBJECT" or not isinstance(place, int):
            continue
        if not elf.get_section(place).name.startswith(_VARIABLES):
            continue
        if source_name(symbol.name).rpartition("::")[2] == name:
            found.append(symbol.name)
    return tuple(found)


def _shared(sections: Mapping[str, Any], entry: str) -> int:
    section = sections.get(f".nv.shared.{entry}")
    if section is None:
        return 0
    size = int(section["sh_size"])
    reserved = _SHARED_RESERVED if ".nv.shared.reserved.0" in sections else 0
    return max(0, size - reserved)


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The attributes with a value of their own, by number."""
    at = 0
    while at + 4 <= len(data):
        form, number, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == _SIZED:
            yield number, data[at : at + size]
            at += size


def _by_symbol(data: bytes, symbol: int) -> dict[int, int]:
    """The attributes of one symbol in a section for the whole file."""
    found = {}
    for number, value in _records(data):
        if len(value) == 8:
            owner, content = struct.unpack("<2I", value)
            if owner == symbol:
                found[number] = content
    return found


def _product(numbers: tuple[int, ...]) -> int:
    result = 1
    for number in numbers:
        result *= number
    return result
