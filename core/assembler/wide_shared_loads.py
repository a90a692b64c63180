"""Loads of shared memory that the assembler joins into wide ones.

Optimised PTX loads one word at a time; ptxas makes one `LDS.64` or `LDS.128` of loads that stand in
one stretch of code, have the same base register and fall into one aligned piece of 8 or 16 bytes,
even if some of its words are not asked for. Read off the machine code of the reference set, whose
counters on an H200 agree (`docs/counting.md`). This holds for code without `-G` only.
"""

from __future__ import annotations

from collections import Counter
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
    registers,
)
from core.ptx.dataflow import results
from core.ptx.opcodes import changes_memory, opcode_of

_WIDEST = 16
_MOST = 64  # what is known modulo this is enough


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
    if module.is_debug:
        return {}
    found: dict[int, WideLoad] = {}
    for function in module.functions.values():
        residues = _Residues(module, function)
        for stretch in _stretches(module, function):
            for load in _joined(stretch, residues):
                found[load.leader] = load
        for one in module.instructions[function.first_pc : function.end_pc]:
            if one.joined is not None:
                found[one.pc] = WideLoad(one.pc, *one.joined, frozenset())
    return found


def _stretches(module: Module, function: Function) -> Iterator[list[tuple[Instruction, int]]]:
    """Loads of shared memory between which nothing can change it, nor control go elsewhere.

    Each with the number of times that its base register was written before it.
    """
    targets = set(module.labels.values())
    loads: list[tuple[Instruction, int]] = []
    written: Counter[str] = Counter()
    for instruction in module.instructions[function.first_pc : function.end_pc]:
        spaces = {modifier.partition("::")[0] for modifier in instruction.modifiers}
        changes = changes_memory(instruction) and ("global" not in spaces or "shared" in spaces)
        if changes or opcode_of(instruction).ends_block or instruction.pc in targets:
            yield loads
            loads = []
        plain = "volatile" not in instruction.modifiers and instruction.guard is None
        plain = plain and not instruction.silent and instruction.joined is None
        if instruction.opcode == "ld" and "shared" in instruction.modifiers and plain:
            version = sum(written[name] for name in registers(instruction.operands[1]))
            loads.append((instruction, version))
        written.update(results(instruction))
    yield loads


def _joined(loads: Iterable[tuple[Instruction, int]], residues: _Residues) -> Iterator[WideLoad]:
    pieces: dict[tuple[str, int, int, int], list[tuple[int, int, int]]] = {}
    for load, version in loads:
        address, nbytes = load.operands[1], _nbytes(load)
        if not isinstance(address, Address) or nbytes is None:
            continue
        base = address.base
        name = base.name if isinstance(base, Register | Symbol) else ""
        modulus, residue = residues.of(base) if base is not None else (_MOST, 0)
        piece, offset = min(_WIDEST, modulus), address.offset + residue
        if piece > nbytes:
            key = (name, version, piece, offset // piece)
            pieces.setdefault(key, []).append((load.pc, offset, nbytes))
    for (_, _, piece, number), members in pieces.items():
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


_Residue = tuple[int, int]  # a power of two, and what remains on division by it
_NOTHING: _Residue = (1, 0)


class _Residues:
    """What is known of the remainders that registers of a function leave on division by 2 to 64."""

    def __init__(self, module: Module, function: Function) -> None:
        self._definitions: dict[str, list[Instruction]] = {}
        for instruction in module.instructions[function.first_pc : function.end_pc]:
            for name in results(instruction):
                self._definitions.setdefault(name, []).append(instruction)
        variables = (*module.variables.values(), *function.variables)
        self._symbols = {  # ptxas lays out shared memory itself, large variables at whole pieces
            v.name: max(v.align, _WIDEST) if v.nbytes >= _WIDEST else v.align for v in variables
        }
        self._known: dict[str, _Residue] = {}
        self._asked: list[str] = []  # registers whose value is being looked for
        self._cut: set[str] = set()  # of those: asked for again on the way round a loop

    def of(self, operand: Operand) -> _Residue:
        """A power of two and the operand's remainder, (1, 0) where nothing is known."""
        if isinstance(operand, Immediate):
            return (_MOST, int(operand.value) % _MOST)
        if isinstance(operand, Symbol):
            return (min(_MOST, self._symbols.get(operand.name, 1)), operand.offset % _MOST)
        if not isinstance(operand, Register):
            return _NOTHING
        name = operand.name
        if name in self._known:
            return self._known[name]
        if name in self._asked:
            self._cut.add(name)
            return _NOTHING
        self._asked.append(name)
        found: _Residue | None = None
        step = _MOST
        for definition in self._definitions.get(name, []):
            added = self._step(definition, name)
            if added is not None:
                step = min(step, added)
            else:
                one = self._of_result(definition)
                found = one if found is None else _common(found, one)
        self._asked.pop()
        result = _common(found, (step, found[1] % step)) if found else _NOTHING
        self._cut.discard(name)
        if not self._cut:
            self._known[name] = result
        return result

    def _step(self, definition: Instruction, name: str) -> int | None:
        """What a definition adds to the register itself is a multiple of this; None if it is none.

        The register may be copied on its way round a loop.
        """
        if definition.guard is not None or definition.opcode not in ("add", "mov"):
            return None
        first = definition.operands[1]
        added = _MOST
        if definition.opcode == "add":
            modulus, residue = self.of(definition.operands[2])
            added = min(modulus, residue & -residue) if residue else modulus
        if first == Register(name):
            return added
        if isinstance(first, Register) and len(made := self._definitions.get(first.name, [])) == 1:
            inner = made[0]
            if inner.opcode == "add" and inner.operands[1] == Register(name):
                further = self._step(inner, name)
                return None if further is None else min(added, further)
        return None

    def _of_result(self, instruction: Instruction) -> _Residue:
        opcode, sources = instruction.opcode, instruction.operands[1:]
        if instruction.guard is not None:
            return _NOTHING
        if opcode_of(instruction).kind in ("move", "conversion"):
            return self.of(sources[0])
        if opcode in ("add", "sub", "or"):
            return _sum(self.of(sources[0]), self.of(sources[1]), opcode)
        if opcode == "shl" and isinstance(sources[1], Immediate):
            amount = min(max(int(sources[1].value), 0), 64)  # whatever is written there
            return _product(self.of(sources[0]), (_MOST, (1 << amount) % _MOST))
        if opcode == "mul":
            return _product(self.of(sources[0]), self.of(sources[1]))
        if opcode == "mad":
            product = _product(self.of(sources[0]), self.of(sources[1]))
            return _sum(product, self.of(sources[2]), "add")
        if opcode == "and" and isinstance(sources[1], Immediate):
            modulus, residue = self.of(sources[0])
            mask = int(sources[1].value)
            zeros = min(_MOST, mask & -mask) if mask else _MOST
            return (modulus, residue & mask) if modulus >= zeros else (zeros, 0)
        return _NOTHING


def _common(one: _Residue, other: _Residue) -> _Residue:
    """What holds of two values that may both be meant."""
    modulus, apart = min(one[0], other[0]), (one[1] - other[1]) % _MOST
    if apart:
        modulus = min(modulus, apart & -apart)
    return modulus, one[1] % modulus


def _sum(one: _Residue, other: _Residue, opcode: str) -> _Residue:
    modulus = min(one[0], other[0])
    if opcode == "or" and one[1] and other[1]:
        return _NOTHING
    sign = -1 if opcode == "sub" else 1
    return modulus, (one[1] + sign * other[1]) % modulus


def _product(one: _Residue, other: _Residue) -> _Residue:
    """(a m + r)(b n + s): what is left over is a multiple of m s, n r and m n."""
    modulus = min(_MOST, one[0] * _zeros(other), other[0] * _zeros(one))
    return modulus, one[1] * other[1] % modulus


def _zeros(value: _Residue) -> int:
    """The power of two that the value is a multiple of."""
    modulus, residue = value
    return residue & -residue if residue else modulus
