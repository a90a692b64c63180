"""Loops that the assembler unrolls, where that joins loads of shared memory.

ptxas unrolls a loop of a fixed number of turns, and then joins loads of different turns
(`core/assembler/wide_shared_loads.py`). What it takes for small enough was read off the machine
code that ptxas 13.0 made of some two hundred loops of different lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.assembler.rewriting import Rewriting, jump_targets
from core.ptx.arithmetic.comparison import ORDERED
from core.ptx.ast import (
    Address,
    Function,
    Group,
    Immediate,
    Instruction,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Symbol,
    Vector,
)
from core.ptx.dataflow import reads, results
from core.ptx.opcodes import changes_memory, opcode_of

# Loops of constantly many turns: what the assembler may unroll, and how far it does.


_OVERHEAD = (
    4  # what a turn adds but leaves no machine code: steps of counter and pointer, test, jump
)
# Turns times instructions of a turn, by the size of a turn: unrolled whole up to this.
_WHOLE = ((16, 768), (40, 600), (1 << 30, 320))
_PART = 65  # instructions of a turn, where 4 or 2 turns are put together
_MOST_TURNS = 4096


@dataclass(frozen=True)
class Loop:
    """A body without its jump. `steps` are the constants that each turn adds to registers."""

    body: Sequence[Instruction]
    jump: Instruction
    turns: int
    steps: Mapping[str, int]
    needed: frozenset[str]  # registers that are read elsewhere


def _constant_loops(module: Module, function: Function, targets: frozenset[int]) -> Iterator[Loop]:
    """The loops of a function that load shared memory, and whose turns are known."""
    code = module.instructions[function.first_pc : function.end_pc]
    for jump in code:
        if jump.opcode != "bra" or jump.guard is None or not isinstance(jump.operands[0], Symbol):
            continue
        label = jump.operands[0].name
        body = module.instructions[module.labels.get(label, jump.pc) : jump.pc]
        if not body or any(pc in targets for pc in range(body[0].pc + 1, jump.pc + 1)):
            continue
        if not any(i.opcode == "ld" and "shared" in i.modifiers for i in body):
            continue
        if any(
            opcode_of(i).ends_block or changes_memory(i) or "volatile" in i.modifiers for i in body
        ):
            continue
        jumps = (i for i in code if opcode_of(i).kind == "jump" and i is not jump)
        if any(Symbol(label) in i.operands for i in jumps) or _is_kept(module, body[0]):
            continue
        steps = _steps(body)
        turns = _turns(code, body, jump, steps)
        if turns is not None:
            inside = range(body[0].pc, jump.pc + 1)
            outside = (i for i in code if i.pc not in inside)
            needed = frozenset(name for i in outside for name in reads(i))
            yield Loop(body, jump, turns, steps, needed)


def _is_kept(module: Module, first: Instruction) -> bool:
    """Whether `.pragma "nounroll"` stands between the loop's label and its first instruction."""
    lines = module.text.splitlines()[: first.ptx_line - 1]
    for line in reversed(lines):
        if "nounroll" in line:
            return True
        if line.strip() and not line.strip().startswith((".loc", ".pragma", "//")):
            return False
    return False


def _steps(body: Sequence[Instruction]) -> dict[str, int]:
    """The registers of which a turn does nothing but add a constant, once."""
    written: dict[str, list[Instruction]] = {}
    for instruction in body:
        for name in results(instruction):
            written.setdefault(name, []).append(instruction)
    found = {}
    for name, writers in written.items():
        one = writers[0]
        if len(writers) > 1 or one.opcode != "add" or one.guard is not None:
            continue
        left, right = one.operands[1:]
        if left == Register(name) and isinstance(right, Immediate) and not right.float_bits:
            found[name] = int(right.value)
    return found


def _turns(
    code: Sequence[Instruction],
    body: Sequence[Instruction],
    jump: Instruction,
    steps: Mapping[str, int],
) -> int | None:
    """How often the body runs, if constants decide."""
    assert jump.guard is not None
    tests = [i for i in body if jump.guard.name in results(i)]
    if len(tests) != 1 or tests[0].opcode != "setp" or len(tests[0].operands) != 3:
        return None
    counter, limit = tests[0].operands[1:]
    compare: Any = ORDERED.get(tests[0].modifiers[0])
    if not isinstance(counter, Register) or not isinstance(limit, Immediate) or compare is None:
        return None
    first = _initial(code, body, counter.name)
    if counter.name not in steps or first is None or tests[0].guard is not None:
        return None
    if sum(jump.guard.name in reads(i) for i in body):
        return None
    step_at = next(n for n, i in enumerate(body) if counter.name in results(i))
    if body.index(tests[0]) < step_at:
        return None
    value = first + steps[counter.name]
    for turn in range(1, _MOST_TURNS + 1):
        if compare(value, int(limit.value)) == jump.guard_negated:
            return turn
        value += steps[counter.name]
    return None


def _initial(code: Sequence[Instruction], body: Sequence[Instruction], name: str) -> int | None:
    """The constant that a counter starts from: what is moved there before the loop, once."""
    inside = {instruction.pc for instruction in body}
    others = [i for i in code if name in results(i) and i.pc not in inside]
    if len(others) != 1 or others[0].opcode != "mov" or others[0].pc > body[0].pc:
        return None
    value = others[0].operands[1]
    return int(value.value) if isinstance(value, Immediate) else None


def factor(loop: Loop) -> int:
    """How many turns the assembler puts together."""
    size = max(len(loop.body) + 1 - _OVERHEAD, 1)
    most = next(most for up_to, most in _WHOLE if size <= up_to)
    if loop.turns * size <= most:
        return loop.turns
    return next((n for n in (4, 2) if loop.turns % n == 0 and size <= _PART), 1)


def unrolled(module: Module) -> Module:
    """The module with those loops unrolled."""
    targets, rewriting = jump_targets(module), Rewriting(module)
    for function in module.functions.values():
        for loop in _constant_loops(module, function, targets):
            times = factor(loop)
            if times > 1:
                _Unrolling(loop, times, function, rewriting).write()
    return rewriting.module()


class _Unrolling:
    """Writes a loop's body several times.

    Registers that a turn steps by a constant are stepped once, at the end: addresses take the
    constants up, other uses get a register of their own. So do values that live in one turn only.
    """

    def __init__(self, loop: Loop, factor: int, function: Function, rewriting: Rewriting) -> None:
        self._loop, self._factor, self._function = loop, factor, function
        self._rewriting = rewriting
        self._own = self._values_of_a_turn()

    def write(self) -> None:
        """Replaces the body, and the jump where no turn is left."""
        made = [new for turn in range(self._factor) for new in self._turn(turn)]
        body, steps = self._loop.body, self._loop.steps
        whole = self._factor == self._loop.turns
        made += [
            replace(i, operands=(*i.operands[:2], Immediate(steps[name] * self._factor)))
            for i in body
            for name in results(i) & steps.keys()
            if not whole or name in self._loop.needed
        ]
        if not whole:
            made += [i for i in body if self._is_test(i)]
        self._rewriting.replace(body[0].pc, made)
        for instruction in body[1:]:
            self._rewriting.replace(instruction.pc, ())
        if whole:
            self._rewriting.replace(self._loop.jump.pc, ())

    def _is_test(self, instruction: Instruction) -> bool:
        guard = self._loop.jump.guard
        assert guard is not None
        return guard.name in results(instruction)

    def _values_of_a_turn(self) -> frozenset[str]:
        """Registers that a turn writes before it reads them, without a condition."""
        seen: set[str] = set()
        own: set[str] = set()
        for instruction in self._loop.body:
            seen |= reads(instruction)
            if instruction.guard is None:
                own |= results(instruction) - seen
            seen |= results(instruction)
        return frozenset(own)

    def _turn(self, turn: int) -> Iterator[Instruction]:
        stepped: set[str] = set()  # in this turn
        steps = self._loop.steps
        for instruction in self._loop.body:
            if self._is_test(instruction):
                continue
            if done := results(instruction) & steps.keys():
                stepped |= done
                continue
            ahead = {name: (turn + (name in stepped)) * step for name, step in steps.items()}
            for name in sorted(reads(instruction, addresses=False) & steps.keys()):
                if ahead[name]:
                    yield self._ahead(name, ahead[name], instruction)
            operands = tuple(
                self._operand(operand, turn, ahead, is_result=n == 0)
                for n, operand in enumerate(instruction.operands)
            )
            guard = instruction.guard
            if guard is not None:
                guard = Register(self._name(guard.name, turn))
            yield replace(instruction, operands=operands, guard=guard)

    def _ahead(self, name: str, constant: int, instruction: Instruction) -> Instruction:
        """Makes what a stepped register will hold."""
        new = self._stepped_name(name, constant)
        kind = self._function.registers[name]
        self._rewriting.declare(self._function.name, new, kind)
        step = next(i for i in self._loop.body if name in results(i))
        operands = (Register(new), Register(name), Immediate(constant))
        return replace(
            instruction, opcode="add", modifiers=step.modifiers, operands=operands, guard=None
        )

    @staticmethod
    def _stepped_name(name: str, constant: int) -> str:
        return f"{name}#ahead{constant}"

    def _name(self, name: str, turn: int) -> str:
        """A register's name in a turn; the last turn's values are those that remain."""
        if name not in self._own or turn == self._factor - 1:
            return name
        new = f"{name}#turn{turn}"
        self._rewriting.declare(self._function.name, new, self._function.registers[name])
        return new

    def _operand(
        self, operand: Operand, turn: int, ahead: Mapping[str, int], *, is_result: bool = False
    ) -> Operand:
        if isinstance(operand, Register):
            if ahead.get(operand.name) and not is_result:
                return Register(self._stepped_name(operand.name, ahead[operand.name]))
            return Register(self._name(operand.name, turn))
        if isinstance(operand, Address) and isinstance(operand.base, Register):
            base = Register(self._name(operand.base.name, turn))
            return Address(base, operand.offset + ahead.get(operand.base.name, 0))
        if isinstance(operand, Vector | Group):
            parts = (self._operand(o, turn, ahead, is_result=is_result) for o in operand.elements)
            return type(operand)(tuple(parts))
        if isinstance(operand, Pair):
            return Pair(
                self._operand(operand.first, turn, ahead, is_result=is_result),
                self._operand(operand.second, turn, ahead, is_result=is_result),
            )
        if isinstance(operand, Negated):
            return Negated(self._operand(operand.operand, turn, ahead, is_result=is_result))
        if isinstance(operand, Selected):
            inner = self._operand(operand.operand, turn, ahead, is_result=is_result)
            return Selected(inner, operand.part)
        return operand
