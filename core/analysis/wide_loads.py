"""Loads of shared memory that the assembler joins into wide ones.

Optimised PTX loads one word at a time; ptxas makes one `LDS.64` or `LDS.128` of loads that stand in
one stretch of code, have the same base register and fall into one aligned piece of 8 or 16 bytes,
even if some of its words are not asked for. Read off the machine code of the reference set, whose
counters on an H200 agree (`docs/counting.md`). This holds for code without `-G` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from core.ptx.ast import (
    Address,
    Function,
    Immediate,
    Instruction,
    Module,
    Operand,
    Register,
    Symbol,
)

_WIDEST = 16
_MOST = 64  # an alignment of this or more is as good as any
_JUMPS = frozenset({"bra", "brx", "call", "ret", "exit", "trap"})


@dataclass(frozen=True)
class WideLoad:
    """A load that stands for several: where it starts, from the address of `leader`, and its width.

    The instructions of `others` issue nothing of their own.
    """

    leader: int
    shift: int  # bytes from the leader's address to the wide load's
    width: int
    others: frozenset[int]


def wide_loads(module: Module) -> Mapping[int, WideLoad]:
    """The wide loads of a module by the pc of their leader, the first of their loads."""
    if any("debug" in line for line in module.target.split(",")):
        return {}
    found: dict[int, WideLoad] = {}
    for function in module.functions.values():
        alignments = _Alignments(module, function)
        for stretch in _stretches(module, function):
            for load in _joined(stretch, alignments):
                found[load.leader] = load
    return found


def _stretches(module: Module, function: Function) -> Iterator[list[Instruction]]:
    """Loads of shared memory between which nothing can change it, nor control go elsewhere."""
    targets = set(module.labels.values())
    loads: list[Instruction] = []
    for instruction in module.instructions[function.first_pc : function.end_pc]:
        changes = instruction.opcode in ("st", "atom", "red", "bar", "barrier", "membar", "fence")
        ends = instruction.opcode in _JUMPS or instruction.pc in targets
        if ends or (changes and "global" not in instruction.modifiers):
            yield loads
            loads = []
        plain = "volatile" not in instruction.modifiers and instruction.guard is None
        if instruction.opcode == "ld" and "shared" in instruction.modifiers and plain:
            loads.append(instruction)
    yield loads


def _joined(loads: Iterable[Instruction], alignments: _Alignments) -> Iterator[WideLoad]:
    pieces: dict[tuple[str, int, int], list[tuple[int, int, int]]] = {}
    for load in loads:
        address, nbytes = load.operands[1], _nbytes(load)
        if not isinstance(address, Address) or nbytes is None:
            continue
        base = address.base
        name = base.name if isinstance(base, Register | Symbol) else ""
        piece = min(_WIDEST, alignments.of(base) if base is not None else _MOST)
        if piece > nbytes:
            key = (name, piece, address.offset // piece)
            pieces.setdefault(key, []).append((load.pc, address.offset, nbytes))
    for (_, piece, number), members in pieces.items():
        yield from _cover(piece, number * piece, members)


def _cover(piece: int, start: int, members: list[tuple[int, int, int]]) -> Iterator[WideLoad]:
    """One load of the whole piece, or of the half of it that all members lie in."""
    if len({offset for _, offset, _ in members}) < 2:
        return
    half = piece // 2
    halves = {(offset - start) // half for _, offset, _ in members}
    if len(halves) == 1:
        inner = start + half * halves.pop()
        if half > max(nbytes for _, _, nbytes in members):
            yield from _cover(half, inner, members)
        return
    (pc, offset, _), *rest = sorted(members)
    yield WideLoad(pc, start - offset, piece, frozenset(other for other, _, _ in rest))


def _nbytes(load: Instruction) -> int | None:
    """Bytes of a load of one 4- or 8-byte element; None for any other."""
    if any(m in ("v2", "v4") for m in load.modifiers):
        return None
    kind = load.modifiers[-1]
    return {"32": 4, "64": 8}.get(kind[1:])


class _Alignments:
    """The powers of two that registers of a function are known to be multiples of."""

    def __init__(self, module: Module, function: Function) -> None:
        self._module = module
        self._definitions: dict[str, list[Instruction]] = {}
        for instruction in module.instructions[function.first_pc : function.end_pc]:
            for operand in instruction.operands[:1]:
                if isinstance(operand, Register):
                    self._definitions.setdefault(operand.name, []).append(instruction)
        variables = (*module.variables.values(), *function.variables)
        self._symbols = {  # ptxas lays out shared memory itself, large variables at whole pieces
            v.name: max(v.align, _WIDEST) if v.nbytes >= _WIDEST else v.align for v in variables
        }
        self._known: dict[str, int] = {}

    def of(self, operand: Operand) -> int:
        """The alignment of an operand, 1 where nothing is known."""
        if isinstance(operand, Immediate):
            value = int(operand.value)
            return min(_MOST, value & -value) if value else _MOST
        if isinstance(operand, Symbol):
            return min(_MOST, self._symbols.get(operand.name, 1))
        if not isinstance(operand, Register):
            return 1
        if operand.name not in self._known:
            self._known[operand.name] = _MOST  # a loop's own step decides, not the way round it
            definitions = self._definitions.get(operand.name, [])
            found = [self._of_result(d) for d in definitions] or [1]
            self._known[operand.name] = min(found)
        return self._known[operand.name]

    def _of_result(self, instruction: Instruction) -> int:
        opcode, sources = instruction.opcode, instruction.operands[1:]
        if instruction.guard is not None:
            return 1
        if opcode in ("mov", "cvta", "cvt"):
            return self.of(sources[0])
        if opcode in ("add", "sub", "or"):
            return min(self.of(sources[0]), self.of(sources[1]))
        if opcode == "shl" and isinstance(sources[1], Immediate):
            return min(_MOST, self.of(sources[0]) << int(sources[1].value))
        if opcode == "mul":
            return min(_MOST, self.of(sources[0]) * self.of(sources[1]))
        if opcode == "mad":
            product = min(_MOST, self.of(sources[0]) * self.of(sources[1]))
            return min(product, self.of(sources[2]))
        if opcode == "and" and isinstance(sources[1], Immediate):
            return max(self.of(sources[0]), self.of(sources[1]))
        return 1
