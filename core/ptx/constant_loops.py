"""Loops of constantly many turns: what the assembler may unroll, and how far it does."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.ptx.ast import (
    Function,
    Immediate,
    Instruction,
    Module,
    Register,
    Symbol,
)
from core.ptx.rewriting import reads, results

_OVERHEAD = (
    4  # what a turn adds but leaves no machine code: steps of counter and pointer, test, jump
)
# Turns times instructions of a turn, by the size of a turn: unrolled whole up to this.
_WHOLE = ((16, 768), (40, 600), (1 << 30, 320))
_PART = 65  # instructions of a turn, where 4 or 2 turns are put together
_MOST_TURNS = 4096
_BREAKS = frozenset({"st", "atom", "red", "bar", "barrier", "membar", "fence", "call", "cp", "bra",
                     "brx", "ret", "exit", "trap"})  # fmt: skip
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "ne": operator.ne, "eq": operator.eq, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Loop:
    """A body without its jump. `steps` are the constants that each turn adds to registers."""

    body: Sequence[Instruction]
    jump: Instruction
    turns: int
    steps: Mapping[str, int]
    needed: frozenset[str]  # registers that are read elsewhere


def constant_loops(module: Module, function: Function, targets: frozenset[int]) -> Iterator[Loop]:
    """The loops of a function that load shared memory, and whose turns are known."""
    code = module.instructions[function.first_pc : function.end_pc]
    for jump in code:
        if jump.opcode != "bra" or jump.guard is None or not isinstance(jump.operands[0], Symbol):
            continue
        label = jump.operands[0].name
        body = module.instructions[module.labels.get(label, jump.pc) : jump.pc]
        if not body or any(pc in targets for pc in range(body[0].pc + 1, jump.pc + 1)):
            continue
        if any(_breaks(i) for i in body) or not any(_is_shared_load(i) for i in body):
            continue
        if any(_goes_to(i, label) for i in code if i is not jump) or _is_kept(module, body[0]):
            continue
        steps = _steps(body)
        turns = _turns(code, body, jump, steps)
        if turns is not None:
            inside = range(body[0].pc, jump.pc + 1)
            outside = (i for i in code if i.pc not in inside)
            needed = frozenset(name for i in outside for name in reads(i))
            yield Loop(body, jump, turns, steps, needed)


def _breaks(instruction: Instruction) -> bool:
    return instruction.opcode in _BREAKS or "volatile" in instruction.modifiers


def _is_shared_load(instruction: Instruction) -> bool:
    return instruction.opcode == "ld" and "shared" in instruction.modifiers


def _goes_to(instruction: Instruction, label: str) -> bool:
    return instruction.opcode in ("bra", "brx") and Symbol(label) in instruction.operands


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
    compare = _COMPARE.get(tests[0].modifiers[0])
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
