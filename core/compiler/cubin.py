"""A compiled kernel as its cubin has it: registers, memory and machine code; no GPU needed.

A cubin is an ELF file. Attributes stand in sections .nv.info (of the whole file) and .nv.info.NAME
(of a kernel) as records: a byte of format, a byte naming the attribute, two bytes of size or value,
then the value. Their numbers are those that `cuobjdump -elf` prints names for (EIATTR_…).

Of the machine code as much of each instruction is read as counting needs. From compute capability
7.0 on an instruction has 128 bits. NVIDIA documents what `nvdisasm` prints, not the encoding; the
fields here were read off its output, and a test compares them with it where it is installed.
Opcodes are the lowest nine bits: the three above them say of which kind the operands are.
"""

from __future__ import annotations

import bisect
import io
import math
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from core.errors import TilescopeError
from core.ptx.debug.dwarf_sections import line_rows
from core.ptx.debug.mangled_names import source_name

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_SIZED = 0x04  # format: the value follows, as long as the two bytes say
_REGCOUNT = 0x2F  # symbol, registers of a thread
_FRAME_SIZE = 0x11  # symbol, bytes of its stack frame
_PARAMETER = 0x17  # index, ordinal, offset, and more: KPARAM_INFO
_NOTES = 0x55  # pairs: what nvdisasm prints beside an instruction, and its address
_SPILL = 1  # "SpillRefill"
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


def _elf_of(image: bytes) -> ELFFile:
    """A cubin's sections; ELFError for what is none."""
    from elftools.elf.elffile import ELFFile

    return ELFFile(io.BytesIO(image))


def kernel_resources(image: bytes, entry: str) -> KernelResources:
    """What kernel `entry` of a cubin needs. Raises TilescopeError if there is no such kernel."""
    from elftools.common.exceptions import ELFError

    try:
        elf = _elf_of(image)
    except ELFError as error:
        raise TilescopeError(f"This is not a cubin: {error}.") from error
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
        max_threads=None if bounds is None else math.prod(struct.unpack("<3I", bounds[:12])),
    )


def parameter_places(image: bytes, entry: str) -> tuple[int, ...]:
    """Where a kernel's parameters begin in their buffer, in bytes.

    The buffer itself begins at an odd place of constant memory: what is aligned to 64 bytes there
    is not so within the buffer.
    """
    section: Any = _elf_of(image).get_section_by_name(f".nv.info.{entry}")
    values = (value for attribute, value in _records(section.data()) if attribute == _PARAMETER)
    found = (struct.unpack_from("<IHH", value) for value in values)
    return tuple(place for _, place in sorted((number, place) for _, number, place in found))


def cubin_entries(image: bytes) -> tuple[str, ...]:
    """Names of the kernels in a cubin: each has a bank of constants for its parameters."""
    prefix = ".nv.constant0."
    names = (section.name for section in _elf_of(image).iter_sections())
    return tuple(name.removeprefix(prefix) for name in names if name.startswith(prefix))


def variables_called(image: bytes, name: str) -> tuple[str, ...]:
    """The symbols of the variables called `name` in a cubin, whatever namespace they stand in.

    Those in global and constant memory count: `_ZN6filter7weightsE` for `weights`. A variable that
    the optimised code does not use may have no symbol.
    """
    elf = _elf_of(image)
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


# Machine code.


SIZE = 16  # bytes of an instruction
OPCODES: Mapping[int, str] = {
    0x020: "FMUL",
    0x021: "FADD",
    0x023: "FFMA",
    0x03C: "HMMA",
    0x11D: "BAR",
    0x141: "BSYNC",
    0x145: "BSSY",
    0x143: "CALL",
    0x144: "CALL",
    0x146: "YIELD",
    0x147: "BRA",
    0x149: "BRX",
    0x14A: "JMP",
    0x14C: "JMX",
    0x14D: "EXIT",
    0x150: "RET",
    0x15B: "KILL",
    0x180: "LD",
    0x181: "LDG",
    0x183: "LDL",
    0x184: "LDS",
    0x185: "ST",
    0x186: "STG",
    0x187: "STL",
    0x188: "STS",
    0x18A: "ATOM",
    0x18C: "ATOMS",
    0x18D: "ATOMS",
    0x18E: "REDG",
    0x1A6: "REDG",
    0x1A8: "ATOMG",
    0x1AE: "LDGSTS",
}
# Loads and stores that are counted.
ACCESSES = frozenset({"LD", "LDG", "LDL", "LDS", "ST", "STG", "STL", "STS"})
ATOMICS = frozenset({"ATOM", "ATOMG", "ATOMS", "REDG"})
_LEAVING = frozenset({"BRA", "BRX", "JMP", "JMX", "EXIT", "RET", "KILL"})  # nothing follows these
_WIDTHS = (1, 1, 2, 2, 4, 8, 16, 16)  # bytes a lane, by the field of an access
_LINES = ".nv_debug_line_sass"
_SET_ADDRESS = 2  # DW_LNE_set_address
_ALWAYS = 7  # the predicate that is always true
_REGISTERS = 0x200  # the form in which all three factors are registers
_BY_LANES = 0x800  # the form of a branch without a uniform predicate
_FORMS = 0xE00
_STACK = 1  # the register that points to a thread's stack
_ZERO = 255  # the register that is always zero
_FIRST_SPLIT = (9, 0)  # compute capability since which the lowest bits of a target stand apart


@dataclass(frozen=True)
class Factor:
    """A register that an instruction reads: its number, and whether it is kept for the next one."""

    register: int
    reuse: bool


@dataclass(frozen=True)
class MachineInstruction:
    """One instruction. `name` is "" where it does not matter for counting.

    `guarded`: whether a predicate decides if it takes effect. `target` is the address that a branch
    goes to. `factors` are the registers that an FFMA of three registers reads, by their places,
    with None for the zero register; () for any other instruction. `width` is of `ACCESSES`, in
    bytes a lane. `joins`, of BSSY, is the address behind the BSYNC at which its lanes meet.
    """

    address: int
    name: str
    guarded: bool
    target: int | None = None
    factors: tuple[Factor | None, ...] = ()
    width: int = 0
    joins: int | None = None


@dataclass(frozen=True)
class MachineAccess:
    """A load, store or atomic in the machine code, and where it comes from.

    `line` is that of the PTX. `loops` are the loops around it, outermost first: the PTX line of the
    jump back and the address that it goes to. `stretch` numbers the basic block; `middle` is the
    middle of the lines that the block comes from, spills apart. `is_spill`: it keeps a register in
    local memory, or takes it back. `is_staged`: code outside the innermost loop does turns of it.
    `guarded`: whether a predicate decides if it takes effect.
    """

    name: str
    width: int
    line: int
    stretch: int
    loops: tuple[tuple[int, int], ...]
    guarded: bool = False
    middle: int = 0
    is_spill: bool = False
    is_staged: bool = False

    @property
    def words(self) -> int:
        """Requests that it makes of local memory: one for each 4 bytes of a lane."""
        return max(1, self.width // 4)


def machine_code(image: bytes, entry: str) -> tuple[MachineInstruction, ...]:
    """The instructions of kernel `entry` of a cubin, in order of their addresses.

    Raises TilescopeError where there is no such kernel or its instructions are not 128 bits long.
    """
    return _code(_elf_of(image), entry)


def _code(elf: ELFFile, entry: str) -> tuple[MachineInstruction, ...]:
    data, version = _text(elf, entry)
    _must_be_read(version)
    words = struct.iter_unpack("<QQ", data)
    return tuple(_decoded(SIZE * i, low, high, version) for i, (low, high) in enumerate(words))


@dataclass(frozen=True)
class MachineFacts:
    """What is told of the machine code that comes with PTX; () where it cannot be read.

    `yields` are the lines of the PTX at which it lets a warp's other lanes go first, `saves` the
    registers that each function saves for its caller, `accesses` its loads and stores; both by
    names in the PTX. Of code as written, which accesses memory as its PTX does, `accesses` are
    those of kernels that spill registers, and these alone; `ways` are of such code the lines to
    which it branches, and pairs: a line at which lanes have met, and that from which they part.
    """

    yields: tuple[int, ...] = ()
    saves: tuple[tuple[str, int], ...] = ()
    accesses: tuple[tuple[str, tuple[MachineAccess, ...]], ...] = ()
    ways: tuple[tuple[int, ...], tuple[tuple[int, int], ...]] = ((), ())


def machine_facts(image: bytes, entries: Sequence[str], *, optimised: bool) -> MachineFacts:
    """Of a cubin and its kernels; of optimised code it must tell the lines (`-lineinfo`)."""
    elf = _elf_of(image)

    def found(read: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        try:
            return read()
        except TilescopeError:
            return ()

    return MachineFacts(
        found(lambda: _yields(elf)),
        found(lambda: _saves(elf)),
        found(lambda: tuple(_accesses(elf, entries, optimised))),
        ((), ()) if optimised else found(lambda: _ways(elf)) or ((), ()),
    )


def _accesses(
    elf: ELFFile, entries: Sequence[str], optimised: bool
) -> Iterator[tuple[str, tuple[MachineAccess, ...]]]:
    """Raises as `machine_code` does, and TilescopeError where the cubin has no lines of the PTX."""
    spilled = {entry: _spills(elf, entry) for entry in entries}
    asked = [entry for entry in entries if optimised or spilled[entry]]
    lines = _ptx_lines(elf) if asked else {}
    for entry in asked:
        found = _accesses_of(_code(elf, entry), lines.get(entry, {}), spilled[entry])
        yield entry, tuple(access for access in found if optimised or access.is_spill)


def _accesses_of(
    code: Sequence[MachineInstruction], lines: Mapping[int, int], spills: frozenset[int]
) -> Iterator[MachineAccess]:
    line_of = _line_finder(lines)
    jumps = [one for one in code if one.target is not None]
    ends = [one for one in code if one.target is not None or _never_passes(one)]
    starts = sorted({one.target or 0 for one in jumps} | {one.address + SIZE for one in ends})
    bodies = _loops(code)
    staged = _staged(code, bodies, line_of) if spills else set()
    from_lines: dict[int, list[int]] = {}
    for one in code if spills else ():
        if one.address not in spills:
            stretch = bisect.bisect_right(starts, one.address)
            from_lines.setdefault(stretch, []).append(line_of(one.address))
    middles = {stretch: sorted(found)[len(found) // 2] for stretch, found in from_lines.items()}
    for one in code:
        if one.name not in ACCESSES | ATOMICS:
            continue
        around = [jump for jump, body in bodies.items() if one.address in body]
        around.sort(key=lambda j: (j.target or 0, -j.address))
        loops = tuple((line_of(j.address), j.target or 0) for j in around)
        stretch = bisect.bisect_right(starts, one.address)
        yield MachineAccess(
            one.name,
            one.width,
            line_of(one.address),
            stretch,
            loops,
            one.guarded,
            middles.get(stretch, 0),
            one.address in spills,
            bool(loops) and loops[-1][1] in staged,
        )


def _spills(elf: ELFFile, entry: str) -> frozenset[int]:
    """The addresses of the accesses by which code keeps registers in local memory."""
    section: Any = elf.get_section_by_name(f".nv.info.{entry}")
    records = () if section is None else _records(section.data())
    notes = (struct.iter_unpack("<2I", value) for number, value in records if number == _NOTES)
    return frozenset(address for some in notes for kind, address in some if kind == _SPILL)


def _staged(
    code: Sequence[MachineInstruction],
    bodies: Mapping[MachineInstruction, set[int]],
    line_of: Callable[[int], int],
) -> set[int | None]:
    """Where the loops begin most of whose lines of PTX have machine code outside them as well."""
    lines = {one.address: line_of(one.address) for one in code}
    every = Counter(lines.values())
    found = set()
    for jump, body in bodies.items():
        inside = Counter(lines[address] for address in body)
        if 2 * sum(every[line] > n for line, n in inside.items()) > len(inside):
            found.add(jump.target)
    return found


def _never_passes(one: MachineInstruction) -> bool:
    """Whether what stands below an instruction never follows it."""
    return one.name in _LEAVING and not one.guarded


def _yields(elf: ELFFile) -> tuple[int, ...]:
    """The lines of the PTX at which the machine code of a cubin yields, ascending.

    `YIELD` lets the warp's other lanes go first, and these no longer wait for the lanes that have
    yielded. ptxas puts it into loops in which a thread may wait for another, and into functions
    with atomics. Raises as `_accesses` does, where there is one.
    """
    texts = (s.data() for s in elf.iter_sections() if s.name.startswith(".text."))
    if not any(_is_yield(low) for text in texts for low in _lows(text)):
        return ()  # to read the lines takes longest
    _must_be_read(_version(elf.header["e_flags"]))
    found = set()
    for name, lines in _ptx_lines(elf).items():
        line_of = _line_finder(lines)
        lows = _lows(_text(elf, name)[0])
        found |= {line_of(SIZE * i) for i, low in enumerate(lows) if _is_yield(low)}
    return tuple(sorted(found))


def _is_yield(low: int) -> bool:
    return OPCODES.get(low & 0x1FF) == "YIELD"


def _lows(code: bytes) -> Iterator[int]:
    """The lower half of each instruction."""
    return (low for low, _ in struct.iter_unpack("<QQ", code[: len(code) // SIZE * SIZE]))


def _ways(elf: ELFFile) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Lines of the PTX to which the machine code of a cubin branches, and those behind `BSYNC`.

    At a `BSYNC` lanes wait for those that were at its `BSSY`, whose line comes second. Where a
    branch leads to something else, lanes do not meet. Of what is behind a `BSYNC` there are all
    lines up to the next branch or call. Raises as `_accesses` does.
    """
    targets, met = set[int](), set[tuple[int, int]]()
    for name, lines in _ptx_lines(elf).items():
        line_of, begin = _line_finder(lines), -1
        code = _code(elf, name)
        waits = {one.address for one in code if one.name == "BSYNC"}
        begins = {one.joins: line_of(one.address) for one in code if one.name == "BSSY"}
        jumps = {one.target for one in code if one.target != one.address}  # the last one to itself
        targets |= {line_of(address) for address in jumps - waits if address is not None}
        for one in code:
            if begin >= 0:
                met.add((line_of(one.address), begin))
            if one.name == "BSYNC":
                begin = begins.get(one.address + SIZE, 0)
            elif one.name == "CALL" or one.name in _LEAVING:
                begin = -1
    return tuple(sorted(targets)), tuple(sorted(met))


def _saves(elf: ELFFile) -> tuple[tuple[str, int], ...]:
    """How many registers each function of a cubin saves for its caller, by its name in the PTX.

    It stores them on the stack where it begins (`STL [R1+0x4], R21`) and loads them from there
    before it returns. Functions that save none are left out. Raises as `machine_code` does.
    """
    symbols: Any = elf.get_section_by_name(".symtab")
    _must_be_read(_version(elf.header["e_flags"]))
    found = {}
    for symbol in symbols.iter_symbols():
        if symbol["st_info"]["type"] != "STT_FUNC" or not isinstance(symbol["st_shndx"], int):
            continue
        section, first = elf.get_section(symbol["st_shndx"]), symbol["st_value"]
        spilled = _spills(elf, section.name.removeprefix(".text."))
        code = [
            words
            for at, words in enumerate(struct.iter_unpack("<QQ", section.data()))
            if first <= SIZE * at < first + symbol["st_size"] and SIZE * at not in spilled
        ]
        name = symbol.name.rpartition("$")[2] if symbol.name.startswith("$") else symbol.name
        if registers := _saved(code):  # `$kernel$function` lies within its kernel's code
            found[name] = registers
    return tuple(sorted(found.items()))


def _saved(code: Sequence[tuple[int, int]]) -> int:
    """How many registers are stored on the stack and loaded from the same place."""
    stored, loaded = set[tuple[int, int]](), set[tuple[int, int]]()
    for low, high in code:
        name = OPCODES.get(low & 0x1FF)
        if (low >> 24) & 0xFF == _STACK and _WIDTHS[(high >> 9) & 7] == 4:
            if name == "STL":
                stored.add((low >> 40, (low >> 32) & 0xFF))
            elif name == "LDL":
                loaded.add((low >> 40, (low >> 16) & 0xFF))
    return len(stored & loaded)


def _line_finder(lines: Mapping[int, int]) -> Callable[[int], int]:
    """What gives the line of the PTX that an address belongs to, 0 before the first."""
    places = sorted(lines)

    def line_of(address: int) -> int:
        at = bisect.bisect_right(places, address) - 1
        return lines[places[at]] if at >= 0 else 0

    return line_of


def _loops(code: Sequence[MachineInstruction]) -> dict[MachineInstruction, set[int]]:
    """The addresses of each loop, by the jump back that ends it.

    A jump back ends a loop if every way to it leads through its target: ptxas also puts code that
    seldom runs behind the kernel's end, and jumps back from there.
    """
    before: dict[int, list[int]] = {}
    for one in code:
        if not _never_passes(one):
            before.setdefault(one.address + SIZE, []).append(one.address)
        if one.target is not None:
            before.setdefault(one.target, []).append(one.address)
    found = {}
    for jump in code:
        if jump.target is None or jump.target >= jump.address:
            continue
        body, left = {jump.target}, [jump.address]
        while left:
            if (address := left.pop()) not in body:
                body.add(address)
                left += before.get(address, ())
        if 0 not in body or jump.target == 0:
            found[jump] = body
    return found


@lru_cache(maxsize=1)
def _ptx_lines(elf: ELFFile) -> Mapping[str, Mapping[int, int]]:
    """By kernel or function: the line of the PTX by the address at which its machine code begins.

    ptxas writes it down as DWARF does, in a section of its own. Each sequence begins with an
    address that a relocation fills in: the symbol tells whose code it is.
    """
    table: Any = elf.get_section_by_name(_LINES)
    fixed: Any = elf.get_section_by_name(f".rela{_LINES}")
    symbols: Any = elf.get_section_by_name(".symtab")
    if table is None or fixed is None:
        raise TilescopeError("The cubin does not tell which lines of the PTX it was made from.")
    relocations = sorted(fixed.iter_relocations(), key=lambda r: int(r["r_offset"]))
    owners = []
    for relocation in relocations:
        symbol = symbols.get_symbol(relocation["r_info_sym"])
        owners.append(symbol.name or elf.get_section(symbol["st_shndx"]).name)
    found: dict[str, dict[int, int]] = {}
    number = -1
    for row in line_rows(table.data()):
        if row.command == _SET_ADDRESS and row.is_extended:
            number += 1
        state = row.state
        if state is None or state.end_sequence or not 0 <= number < len(owners):
            continue
        owner = owners[number].removeprefix(".text.")
        found.setdefault(owner, {})[int(state.address)] = int(state.line)
    return found


def _text(elf: ELFFile, entry: str) -> tuple[bytes, tuple[int, int]]:
    section = elf.get_section_by_name(f".text.{entry}")
    if section is None:
        raise TilescopeError(f"The cubin has no kernel {entry}.")
    return section.data(), _version(elf.header["e_flags"])


def _must_be_read(version: tuple[int, int]) -> None:
    if version < (7, 0):
        raise TilescopeError("The machine code of compute capability 6.x and before is not read.")


def _version(flags: int) -> tuple[int, int]:
    """The compute capability that code is for."""
    number = (flags >> 8) & 0xFF
    return number // 10, number % 10


def _decoded(address: int, low: int, high: int, version: tuple[int, int]) -> MachineInstruction:
    name = OPCODES.get(low & 0x1FF, "")
    guarded = (low >> 12) & 0xF != _ALWAYS
    target = None
    if name == "BRA":
        target = address + SIZE + _offset(low, high, version)
        guarded = guarded or (high >> 23) & 0xF != _ALWAYS or low & _FORMS != _BY_LANES
    factors: tuple[Factor | None, ...] = ()
    if name == "FFMA" and low & _FORMS == _REGISTERS:
        numbers = ((low >> 24) & 0xFF, (low >> 32) & 0xFF, high & 0xFF)
        factors = tuple(
            None if number == _ZERO else Factor(number, bool(high >> (58 + place) & 1))
            for place, number in enumerate(numbers)
        )
    width = _WIDTHS[(high >> 9) & 7] if name in ACCESSES else 0
    joins = address + SIZE + (low >> 32) if name == "BSSY" else None
    return MachineInstruction(address, name, guarded, target, factors, width, joins)


def _offset(low: int, high: int, version: tuple[int, int]) -> int:
    """How far a branch goes, in bytes: a signed number of words of four."""
    words = (low >> 34) | ((high & 0x3FFFF) << 30)
    words -= (words >> 47) << 48
    if version >= _FIRST_SPLIT:
        words = (words << 8) | ((low >> 16) & 0xFF)
    return 4 * words
