"""What the assembler makes of the loads and stores of a kernel, read off its machine code.

ptxas says which line of the PTX each machine instruction comes from. So it is seen where a loop of
unknown length is taken several turns at a time, which loads a register stands for (a value that was
stored or loaded just before), and which accesses are joined into a wide one. The PTX is changed to
do the same: then requests are counted as the hardware counts them. What still differs is told line
by line.
"""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.assembler.rewriting import Rewriting
from core.assembler.warp_aggregated_atomics import leading
from core.assembler.wide_shared_loads import wide_loads
from core.compiler.cubin import ACCESSES, MachineAccess
from core.ptx.ast import Address, Function, Immediate, Instruction, Module, Register, Symbol
from core.ptx.dataflow import results
from core.ptx.loops import back_edges
from core.ptx.opcodes import opcode_of, space_of, vector_length
from core.ptx.types import PRED, TYPES

if TYPE_CHECKING:
    from core.compiler.compile_ptx_and_cubin import Build

_COUNTED = ("global", "local", "shared")
_NEAR = 4  # lines of PTX
_KINDS = {name: name[:2].lower() for name in ACCESSES}


@dataclass(frozen=True)
class Loop:
    """A loop of the PTX, from the pc of its first instruction to that of its jump back."""

    first: int
    jump: Instruction

    def __contains__(self, pc: int) -> bool:
        return self.first <= pc <= self.jump.pc


@dataclass(frozen=True)
class _Stage:
    """Machine code for some turns of a loop: repeated while as many are left, or done once.

    `copies` counts the accesses by the line of the PTX.
    """

    repeats: bool
    copies: Counter[int]

    @property
    def turns(self) -> int:
        return max(self.copies.values())


def assembled(module: Module, kernel: str, accesses: Sequence[MachineAccess]) -> Module:
    """The module in which `kernel` makes the requests that its machine code makes.

    `accesses` are those of the machine code; without any the module is left as it is.
    """
    module = leading(module, kernel, accesses)
    known = attributed(module, kernel, accesses)
    if not known:
        return module
    return _staged(_joined(module, kernel, known), kernel, known)


def attributed(
    module: Module, kernel: str, accesses: Sequence[MachineAccess]
) -> tuple[MachineAccess, ...]:
    """The accesses with their lines put right: ptxas may name a line next to that of the access.

    What spills a register, or comes from an atomic or from another space of memory, is left out.
    """
    code = [
        i for f in _functions(module, kernel) for i in module.instructions[f.first_pc : f.end_pc]
    ]
    by_line = {i.ptx_line: i for i in code}
    accesses = [one for one in accesses if one.name in ACCESSES and not one.is_spill]
    claimed = {access.line for access in accesses}
    free = [i for i in code if is_counted(i) and i.ptx_line not in claimed]
    found = []
    for access in accesses:
        one = by_line.get(access.line)
        if one is None or not is_counted(one):
            if one is not None and opcode_of(one).is_memory:
                continue
            near = [
                i
                for i in free
                if abs(i.ptx_line - access.line) <= _NEAR
                and i.opcode.replace("ldu", "ld") == _KINDS[access.name]
                and _nbytes(i) == access.width
            ]
            if not near:
                continue
            one = min(near, key=lambda i: abs(i.ptx_line - access.line))
            free.remove(one)
        found.append(replace(access, line=one.ptx_line))
    return tuple(found)


def _functions(module: Module, kernel: str) -> list[Function]:
    """The kernel, and the functions that it may call: their machine code stands beside its own."""
    own = module.functions[kernel]
    return [own, *(f for f in module.functions.values() if not f.is_entry)]


# --- loads and stores that are joined, or that a register stands for ----------------------------


def _joined(module: Module, kernel: str, accesses: Sequence[MachineAccess]) -> Module:
    rewriting = Rewriting(module)
    widths: dict[int, list[int]] = {}
    for access in accesses:
        widths.setdefault(access.line, []).append(access.width)
    there = set(widths)
    for stretch in _stretches(module, kernel, there):
        gone = [i for i in stretch if i.ptx_line not in widths]
        for one in stretch:
            found = widths.get(one.ptx_line, [])
            width, own = max(found, default=0), _nbytes(one)
            if len({*found}) != 1 or width <= own:
                continue
            others = _filling(one, gone, width)
            if not others and len(found) == 1 and "shared" in one.modifiers and one.opcode == "ld":
                others = _near(one, gone, width)  # not all that it loads is asked for
            if "local" in one.modifiers:  # of local memory each word is a request all the same
                gone = [i for i in gone if i not in others]
            elif others:
                start = min(_offset(i) for i in (one, *others))
                joined = (start - _offset(one), width)
                rewriting.replace(one.pc, (replace(one, joined=joined),))
                for other in others:
                    gone.remove(other)
                    rewriting.replace(other.pc, (replace(other, silent=True),))
        for one in gone:
            is_load = opcode_of(one).kind == "load"
            if "local" in one.modifiers or ("global" in one.modifiers and is_load):
                rewriting.replace(one.pc, (replace(one, silent=True),))
    return rewriting.module()


def _stretches(module: Module, kernel: str, lines: set[int]) -> Iterator[list[Instruction]]:
    """The counted loads and stores of each basic block, up to a barrier.

    A conditional branch ahead ends no block, as ptxas loads before it what it has joined, and where
    it only passes what is no access, neither does its target: ptxas has predicates instead. Of
    functions without any of the `lines` nothing is known.
    """
    for function in _functions(module, kernel):
        code = module.instructions[function.first_pc : function.end_pc]
        if not any(i.ptx_line in lines for i in code):
            continue
        jumps = {i.pc: target for i in code for target in module.targets(i)}
        noted = [i.pc for i in code if is_counted(i) or _ends(i)]
        short = {
            pc
            for pc, target in jumps.items()
            if bisect.bisect_right(noted, pc) == bisect.bisect_left(noted, max(pc, target))
            and pc < target
        }
        targets = {target for pc, target in jumps.items() if pc not in short}
        found: list[Instruction] = []
        for instruction in code:
            if instruction.pc in targets:
                yield found
                found = []
            if is_counted(instruction):
                found.append(instruction)
            elif _ends(instruction) and (
                not instruction.guard or jumps.get(instruction.pc, 0) <= instruction.pc
            ):
                yield found
                found = []
        yield found


def _ends(instruction: Instruction) -> bool:
    """Whether accesses before and after an instruction are not joined."""
    opcode = opcode_of(instruction)
    return opcode.ends_block or opcode.orders


def _alike(one: Instruction, gone: Sequence[Instruction]) -> dict[int, Instruction]:
    """By offset: the accesses of the same kind and base, of each offset the nearest."""
    return {
        _offset(i): i
        for i in sorted(gone, key=lambda i: -abs(i.pc - one.pc))
        if (i.opcode, i.modifiers[:-1], _nbytes(i))
        == (one.opcode, one.modifiers[:-1], _nbytes(one))
        and _base(i) == _base(one)
    }


def _filling(one: Instruction, gone: Sequence[Instruction], width: int) -> tuple[Instruction, ...]:
    """Those accesses that, with `one`, fill a wide one; () where they leave a hole."""
    own, alike = _nbytes(one), _alike(one, gone)
    starts = range(_offset(one) - width + own, _offset(one) + 1, own)
    for start in sorted(starts, key=lambda start: (start % width, start)):
        wanted = [at for at in range(start, start + width, own) if at != _offset(one)]
        if all(at in alike for at in wanted):
            return tuple(alike[at] for at in wanted)
    return ()


def _near(one: Instruction, gone: Sequence[Instruction], width: int) -> tuple[Instruction, ...]:
    """Those accesses that lie in a wide one that begins with `one`."""
    alike = sorted(_alike(one, gone).items())
    return tuple(i for at, i in alike if 0 < at - _offset(one) < width)


# --- loops that are taken several turns at a time -----------------------------------------------


def _staged(module: Module, kernel: str, accesses: Sequence[MachineAccess]) -> Module:
    rewriting = Rewriting(module)
    for function in _functions(module, kernel):
        loops = loops_of(module, function)
        for loop in loops:
            if any(other is not loop and other.first in loop for other in loops):
                continue  # it holds another one: ptxas takes only inner loops together
            stages = _stages(module, loop, accesses)
            if _is_known(stages):
                _Staging(module, function, loop, stages, accesses, rewriting).write()
    return rewriting.module()


def loops_of(module: Module, function: Function) -> list[Loop]:
    """The loops of a function: a jump back, and all from where it goes."""
    edges = back_edges(module, function)
    return [Loop(first, module.instructions[end - 1]) for first, end in edges]


def around(loops: Sequence[Loop], pc: int) -> list[Loop]:
    """The loops around an instruction, outermost first."""
    return sorted((x for x in loops if pc in x), key=lambda x: (x.first, -x.jump.pc))


def _stages(module: Module, loop: Loop, accesses: Sequence[MachineAccess]) -> list[_Stage]:
    """The machine code of an innermost loop, piece by piece in order of its addresses."""
    body = module.instructions[loop.first : loop.jump.pc + 1]
    lines = {i.ptx_line for i in body}
    counted = {i.ptx_line for i in body if is_counted(i)}
    found: dict[tuple[str, int], _Stage] = {}
    for access in accesses:
        if access.line not in counted:
            continue
        mine = [target for line, target in access.loops if line in lines]
        key = ("loop", mine[-1]) if mine else ("stretch", access.stretch)
        stage = found.setdefault(key, _Stage(bool(mine), Counter()))
        stage.copies[access.line] += 1
    return list(found.values())


def _is_known(stages: Sequence[_Stage]) -> bool:
    """Whether each stage takes what the one before it has left: 4 turns, 2 turns, the last."""
    if len(stages) < 2 or not stages[0].repeats or stages[-1].turns != 1:
        return False
    return all(
        before.turns > after.turns and (after.repeats or before.turns <= 2 * after.turns)
        for before, after in itertools.pairwise(stages)
    )


class _Staging:
    """Writes a loop as its machine code has it: stage by stage, each while its turns are left."""

    def __init__(
        self,
        module: Module,
        function: Function,
        loop: Loop,
        stages: Sequence[_Stage],
        accesses: Sequence[MachineAccess],
        rewriting: Rewriting,
    ) -> None:
        self._module, self._function, self._loop = module, function, loop
        self._stages, self._rewriting = stages, rewriting
        self._body = module.instructions[loop.first : loop.jump.pc]
        self._widths: dict[int, int] = {}
        for access in accesses:
            self._widths[access.line] = max(access.width, self._widths.get(access.line, 0))
        self._made: list[Instruction] = []
        self._labels: dict[str, int] = {}
        self._copies = 0

    def write(self) -> None:
        """Replaces the loop; does nothing where it is not seen how many turns are left."""
        test = self._test()
        guard = self._loop.jump.guard
        if test is None or guard is None:
            return
        end = self._label("end")
        for number, stage in enumerate(self._stages):
            following = self._label(f"stage{number + 1}")
            self._labels[self._label(f"stage{number}")] = len(self._made)
            if stage.turns > 1:
                self._unless_left(stage.turns, test, following)
            again = self._label(f"again{number}")
            self._labels[again] = len(self._made)
            for turn in range(stage.turns):
                self._copy(stage, turn)
            last = number == len(self._stages) - 1
            if last and stage.repeats:
                self._jump(again, guard, negated=self._loop.jump.guard_negated)
            elif not last:
                self._jump(end, guard, negated=not self._loop.jump.guard_negated)
                if stage.repeats:
                    self._unless_left(stage.turns, test, following)
                    self._jump(again)
        self._labels[end] = len(self._made)
        self._rewriting.replace(self._loop.first, self._made)
        for pc in range(self._loop.first + 1, self._loop.jump.pc + 1):
            self._rewriting.replace(pc, ())
        for label, place in self._labels.items():
            self._rewriting.label(label, self._loop.first, place)

    def _test(self) -> tuple[Instruction, Register, int] | None:
        """The comparison that ends the loop, the register it counts in, and a turn's step."""
        guard = self._loop.jump.guard
        if guard is None:
            return None
        tests = [i for i in self._body if guard.name in results(i)]
        if len(tests) != 1 or tests[0].opcode != "setp" or len(tests[0].operands) != 3:
            return None
        test = tests[0]
        counter, limit = test.operands[1:]
        if not isinstance(counter, Register) or test.guard is not None:
            return None
        if isinstance(limit, Register) and any(limit.name in results(i) for i in self._body):
            return None
        steps = [i for i in self._body if counter.name in results(i)]
        last_target = max(
            (pc for pc in self._module.labels.values() if pc in self._loop), default=-1
        )
        if len(steps) != 1 or steps[0].pc > test.pc or steps[0].pc < last_target:
            return None
        step = steps[0]
        if step.opcode != "add" or step.guard is not None or step.operands[1] != counter:
            return None
        amount = step.operands[2]
        if not isinstance(amount, Immediate) or amount.float_bits:
            return None
        return test, counter, int(amount.value)

    def _unless_left(self, turns: int, test: tuple[Instruction, Register, int], label: str) -> None:
        """Goes to a label unless at least so many turns are left, the next one among them."""
        comparison, counter, step = test
        kind = self._function.registers[counter.name]
        ahead, holds = Register(f"{counter.name}#ahead"), Register(f"{counter.name}#left")
        self._rewriting.declare(self._function.name, ahead.name, kind)
        self._rewriting.declare(self._function.name, holds.name, PRED)
        add = "s32" if kind.bits == TYPES["s32"].bits else "s64"
        for turn in range(1, turns):
            self._made += [
                replace(
                    comparison,
                    opcode="add",
                    modifiers=(add,),
                    operands=(ahead, counter, Immediate(turn * step)),
                ),
                replace(comparison, operands=(holds, ahead, comparison.operands[2])),
            ]
            self._jump(label, holds, negated=not self._loop.jump.guard_negated)

    def _jump(self, label: str, guard: Register | None = None, *, negated: bool = False) -> None:
        self._made.append(
            replace(
                self._loop.jump,
                operands=(Symbol(label),),
                guard=guard,
                guard_negated=negated and guard is not None,
            )
        )

    def _copy(self, stage: _Stage, turn: int) -> None:
        """One turn. A load that the machine code has less often than others makes no request."""
        self._copies += 1
        start = len(self._made)
        inner = {
            name: pc - self._loop.first
            for name, pc in self._module.labels.items()
            if self._loop.first < pc <= self._loop.jump.pc
        }
        for name, place in inner.items():
            self._labels[f"{name}#copy{self._copies}"] = start + place
        for one in self._body:
            copies = stage.copies[one.ptx_line]
            silent = opcode_of(one).kind == "load" and 0 < copies <= turn
            if is_counted(one) and silent and self._widths[one.ptx_line] == _width(one):
                self._made.append(replace(one, silent=True))
            elif one.opcode == "bra" and getattr(one.operands[0], "name", "") in inner:
                name = f"{one.operands[0].name}#copy{self._copies}"  # type: ignore[union-attr]
                self._made.append(replace(one, operands=(Symbol(name),)))
            else:
                self._made.append(one)

    def _label(self, name: str) -> str:
        return f"{self._loop.jump.operands[0].name}#{name}"  # type: ignore[union-attr]


# --- what still differs --------------------------------------------------------------------------


def differences(
    module: Module, kernel: str, accesses: Sequence[MachineAccess]
) -> Mapping[int, tuple[str, str]]:
    """By source line: what PTX, as it is run, and the machine code have there, where they differ.

    Compares number, kind and width of the loads and stores, and the loops that they stand in.
    """
    wide = {} if not accesses else wide_loads(module)
    joined = {pc for load in wide.values() for pc in load.others}
    ours: dict[int, Counter[tuple[str, int, tuple[int, ...]]]] = {}
    theirs: dict[int, Counter[tuple[str, int, tuple[int, ...]]]] = {}
    by_line: dict[int, Instruction] = {}
    known = attributed(module, kernel, accesses)
    there = {access.line for access in known}
    for function in _functions(module, kernel):
        code = module.instructions[function.first_pc : function.end_pc]
        if function.name != kernel and not any(i.ptx_line in there for i in code):
            continue
        loops = loops_of(module, function)
        for one in code:
            by_line.setdefault(one.ptx_line, one)
            if not is_counted(one) or one.silent or one.pc in joined:
                continue
            width = wide[one.pc].width if one.pc in wide else _width(one)
            depth = tuple(loop.jump.ptx_line for loop in around(loops, one.pc))
            row = ours.setdefault(one.position.line, Counter())
            row[one.opcode.replace("ldu", "ld"), width, depth] += 1
    for access in known:
        instruction = by_line[access.line]
        depth = tuple(line for line, _ in access.loops)
        row = theirs.setdefault(instruction.position.line, Counter())
        row[_KINDS[access.name], access.width, depth] += 1
    found = {}
    for line in sorted({*ours, *theirs}):
        mine, machine = ours.get(line, Counter()), theirs.get(line, Counter())
        if not _agree(mine, machine):
            found[line] = (_listing(mine), _listing(machine))
    return found


def _agree(
    mine: Counter[tuple[str, int, tuple[int, ...]]],
    machine: Counter[tuple[str, int, tuple[int, ...]]],
) -> bool:
    """Whether both do the same: a loop may be unrolled whole, or turns put together evenly."""
    if mine == machine:
        return True
    if {key[:2] for key in mine} != {key[:2] for key in machine}:
        return False
    ratios = {
        sum(n for key, n in machine.items() if key[:2] == kind)
        / sum(n for key, n in mine.items() if key[:2] == kind)
        for kind in {key[:2] for key in mine}
    }
    if len(ratios) != 1:
        return False
    inside = {key[2] for key in machine}
    return ratios.pop() > 1 and len({*inside, *(key[2] for key in mine)}) <= 2


def _listing(row: Counter[tuple[str, int, tuple[int, ...]]]) -> str:
    """`4 loads of 4 bytes, 1 store of 16 bytes`; "none" where there are none."""
    total: Counter[tuple[str, int]] = Counter()
    for (kind, width, _), count in row.items():
        total[kind, width] += count
    words = {"ld": "load", "st": "store"}
    return (
        ", ".join(
            f"{count} {words[kind]}{'s' * (count != 1)} of {width} byte{'s' * (width != 1)}"
            for (kind, width), count in sorted(total.items())
        )
        or "none"
    )


def is_counted(instruction: Instruction) -> bool:
    """Whether it is a load or store of global or shared memory."""
    if opcode_of(instruction).kind not in ("load", "store"):
        return False
    return space_of(instruction) in _COUNTED


def _nbytes(instruction: Instruction) -> int:
    """Bytes a lane that the PTX instruction asks for."""
    kind = instruction.modifiers[-1]
    return vector_length(instruction) * (
        TYPES[kind].nbytes if kind in TYPES else int(kind[1:]) // 8
    )


def _width(instruction: Instruction) -> int:
    """Bytes a lane that one request brings."""
    return instruction.joined[1] if instruction.joined else _nbytes(instruction)


def _address(instruction: Instruction) -> Address:
    place = instruction.operands[1 if opcode_of(instruction).kind == "load" else 0]
    return place if isinstance(place, Address) else Address(None)


def _offset(instruction: Instruction) -> int:
    return _address(instruction).offset


def _base(instruction: Instruction) -> object:
    return _address(instruction).base


@dataclass(frozen=True)
class Assembly:
    """How far counts of an optimised build are those of its machine code.

    `lines` has what is counted and what the machine code has, where they differ, by source line.
    `known` is False where there is no machine code to compare with. `spilled` and `lost` are how
    many words of registers it moves to and from local memory, and how many of them do not count.
    """

    known: bool
    lines: Mapping[int, tuple[str, str]]
    spilled: int = 0
    lost: int = 0

    @property
    def exact(self) -> bool:
        """Whether every load and store is that of the machine code."""
        return self.known and not self.lines and not self.lost

    @property
    def sentences(self) -> tuple[str, ...]:
        """What to say of it, in a sentence each."""
        if not self.known:
            return (
                "Counts are of the PTX: there is no machine code here to compare its loads and "
                "stores with.",
            )
        found = []
        if self.spilled:
            lost = f" {self.lost} of these, in loops that it has unrolled, do not count here."
            found.append(
                "The kernel has too few registers: its machine code moves them to local memory and "
                f"back in {self.spilled} places, and each counts as a request there."
                f"{lost if self.lost else ''}"
            )
        if not self.lines:
            return (*found, "Loads and stores equal the machine code's, line by line.")
        return (
            *found,
            *(
                f"Line {line} is counted as the PTX has it ({ptx}); the machine code has {machine} "
                "there, so that a GPU may count otherwise."
                for line, (ptx, machine) in self.lines.items()
            ),
        )


def assembly_of(build: Build, module: Module, kernel: str) -> Assembly | None:
    """What is known of a build's machine code; None for one as written, whose PTX is exact.

    `module` is that which runs, `kernel` the name of its entry.
    """
    if build.kind == "as_written":
        return None
    accesses = build.accesses.get(kernel, ())
    if not accesses:
        return Assembly(False, {})
    spilled = sum(access.words for access in accesses if access.is_spill)
    counted = sum(sum(one.spills) for one in module.instructions)
    differ = differences(module, kernel, accesses)
    return Assembly(True, differ, spilled, spilled - counted)
