"""Loops that the assembler unrolls, where that joins loads of shared memory.

ptxas unrolls a loop of a fixed number of turns, and then joins loads of different turns
(`core/analysis/wide_loads.py`). What it takes for small enough was read off the machine code that
ptxas 13.0 made of some two hundred loops of different lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

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
    Vector,
)
from core.ptx.constant_loops import Loop, constant_loops, factor
from core.ptx.rewriting import Rewriting, jump_targets, reads, results


def unrolled(module: Module) -> Module:
    """The module with those loops unrolled."""
    targets, rewriting = jump_targets(module), Rewriting(module)
    for function in module.functions.values():
        for loop in constant_loops(module, function, targets):
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
            for name in sorted(reads_outside_addresses(instruction) & steps.keys()):
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


def reads_outside_addresses(instruction: Instruction) -> frozenset[str]:
    """The registers that it reads other than as the base of an address."""
    plain = tuple(o for o in instruction.operands if not isinstance(o, Address))
    return reads(replace(instruction, operands=plain))
