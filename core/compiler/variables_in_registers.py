"""Moves a debug build's scalar variables from local memory into registers, as NVRTC's -G has them.

Unoptimised clang keeps each variable in the function's stack (`[%SP+28]`): a load or store of local
memory at every use, which the source does not have. A slot whose address goes nowhere becomes a
register of its own, and the DWARF names that register instead of the place.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from core.ptx.debug.variables import VariableInfo, debug_info
from core.ptx.parser import parse

_BEGIN = re.compile(r"\s*mov\.[bu]64\s+%SPL, (__local_depot\d+);")
_DIRECT = re.compile(
    r"(?P<before>\s*(?:@!?%p\d+ )?)(?P<op>ld|st)(?:\.volatile)?(?:\.local)?\.(?P<type>[busf])"
    r"(?P<bits>\d+)\s+(?:(?P<to>%\w+), )?\[%SPL?(?:\+(?P<offset>\d+))?\](?:, (?P<value>[^;]+))?;"
)
_TAKEN = re.compile(r"%SPL?(?:, |\+)?(?P<offset>\d+)?")
_DECLARED = re.compile(r"\s*\.reg \.b64\s+%SPL;")
_PLACE = re.compile(
    r"\.b8 6(?P<class>\s+// DW_AT_address_class\n)"
    r"\.b8 (?P<length>\d+)(?P<comment>\s+// DW_AT_location\n)"
    r"\.b8 3\n\.b64 (?P<depot>__local_depot\d+)\n(?P<more>\.b8 35\n(?:\.b8 \d+\n)+)?"
)
_COMMENT = re.compile(r"^(\.b\d+ [^/\n]*?)[ \t]*//.*$", re.MULTILINE)
_WIDTHS = {"%rd": 64, "%rs": 16, "%r": 32}


@dataclass
class _Stack:
    """What is done with one function's stack."""

    widths: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """The bits of the loads and stores of each place, by its offset."""
    taken: set[int] = field(default_factory=set)  # places whose address goes elsewhere

    def slots(self, variables: Sequence[VariableInfo]) -> dict[int, int]:
        """The places that can be registers, and their bits."""
        extents = {
            (at.stack_offset or 0, (at.stack_offset or 0) + v.type.nbytes): v.type.dtype is not None
            for v in variables
            for at in v.locations
        }
        kept = [e for e, is_number in extents.items() if not is_number]
        named = sorted(extents)
        for place in self.taken:
            inside = [e for e in named if e[0] <= place < e[1]]
            before = max((end for _, end in named if end <= place), default=0)
            after = min((first for first, _ in named if first > place), default=1 << 62)
            kept += inside or [(before, after)]
        found: dict[int, int] = {}
        for place, widths in self.widths.items():
            end = place + max(widths) // 8
            is_kept = any(place < e[1] and e[0] < end for e in kept)
            overlaps = any(
                other != place and other < end and place < other + max(bits) // 8
                for other, bits in self.widths.items()
            )
            if len(widths) == 1 and not is_kept and not overlaps:
                found[place] = max(widths)
        return found


def promoted(ptx: str) -> str:
    """PTX text of clang -O0 with its scalar variables in registers; other text as it is."""
    end = ptx.find("\t.section")
    if "%SPL" not in ptx or end < 0:
        return ptx
    plain = ptx[:end] + _COMMENT.sub(r"\1", ptx[end:])
    lines = ptx[:end].split("\n")
    stacks = {depot: _stack(lines[first:last]) for depot, first, last in _functions(lines)}
    variables: dict[str, list[VariableInfo]] = defaultdict(list)
    for function in debug_info(parse(plain)).functions.values():
        for variable in function.variables:
            for at in variable.locations:
                if at.symbol in stacks:
                    variables[at.symbol].append(variable)
    slots = {depot: stack.slots(variables[depot]) for depot, stack in stacks.items()}
    for depot, first, last in _functions(lines):
        lines[first:last] = [_rewritten(line, slots[depot]) for line in lines[first:last]]
        declared = next(i for i in range(first, 0, -1) if _DECLARED.match(lines[i]))
        lines[declared] += "".join(
            f" .reg .b{max(bits, 16)} %v{place};" for place, bits in sorted(slots[depot].items())
        )

    def described(match: re.Match[str]) -> str:
        more = [int(byte) for byte in re.findall(r"\.b8 (\d+)", match["more"] or "")][1:]
        place = sum((byte & 0x7F) << 7 * i for i, byte in enumerate(more))
        if place not in slots.get(match["depot"], {}):
            return match[0]
        operand = _padded(f"%v{place}", int(match["length"]) - 1)
        data = "".join(f".b8 {byte}\n" for byte in (0x90, *operand))  # DW_OP_regx
        return f".b8 2{match['class']}.b8 {match['length']}{match['comment']}{data}"

    return "\n".join(lines) + _COMMENT.sub(r"\1", _PLACE.sub(described, ptx[end:]))


def _functions(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Each stack's name, and the lines that may use it."""
    begins = [(i, m[1]) for i, line in enumerate(lines) if (m := _BEGIN.match(line))]
    ends = [i for i, _ in begins[1:]] + [len(lines)]
    for (first, depot), last in zip(begins, ends, strict=True):
        yield depot, first, last


def _stack(lines: Sequence[str]) -> _Stack:
    found = _Stack()
    for line in lines[1:]:
        code = line.partition("//")[0]
        if "%SP" not in code or code.split()[0].startswith((".reg", "cvta.local")):
            continue
        if direct := _DIRECT.match(code):
            found.widths[int(direct["offset"] or 0)].add(int(direct["bits"]))
        else:
            for taken in _TAKEN.finditer(code):
                found.taken.add(int(taken["offset"] or 0))
    return found


def _rewritten(line: str, slots: dict[int, int]) -> str:
    direct = _DIRECT.match(line)
    if not direct or int(direct["offset"] or 0) not in slots:
        return line
    bits, register = int(direct["bits"]), f"%v{direct['offset'] or 0}"
    if direct["op"] == "ld":
        wide = _WIDTHS[direct["to"].rstrip("0123456789")]
        sign = "s" if direct["type"] == "s" else "u"
        move = f"mov.b{bits}" if wide == bits else f"cvt.{sign}{wide}.{sign}{bits}"
        return f"{direct['before']}{move} \t{direct['to']}, {register};"
    value = direct["value"].strip()
    wide = _WIDTHS.get(value.rstrip("0123456789"), max(bits, 16))
    move = f"mov.b{wide}" if wide == max(bits, 16) else f"cvt.u{max(bits, 16)}.u{wide}"
    return f"{direct['before']}{move} \t{register}, {value};"


def _padded(name: str, length: int) -> list[int]:
    """A register's name as ULEB128 of its ASCII codes, in that many bytes."""
    value = int.from_bytes(name.encode(), "big")
    found = [value >> 7 * i & 0x7F for i in range(length)]
    return [byte | 0x80 for byte in found[:-1]] + found[-1:]
