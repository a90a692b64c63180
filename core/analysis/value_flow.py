"""What becomes of the values that a thread loads: followed through its PTX registers.

A thread's path is executed once more over expressions instead of numbers. A load gives an
expression that names its element; moves and conversions hand it on; additions make a `Sum` that
knows at which step each of its terms was added. Nothing here knows a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.analysis.value_nodes import (
    UNKNOWN,
    Apply,
    Choice,
    Constant,
    Flow,
    Load,
    Named,
    Node,
    Product,
    Store,
    Sum,
    Unknown,
    chosen,
    first_parts,
    loads_in,
)
from core.analysis.value_operands import bytes_of, number_of, registers_of
from core.analysis.value_relevance import COPIES, relevant_pcs
from core.cuda.compiler import find_entry
from core.ptx import ast
from core.trace.arrays import fields_of

if TYPE_CHECKING:
    from core.trace.access import Access
    from core.trace.block import BlockTrace
    from core.trace.trace import Trace


class FlowReader:
    """Gives the flow of any thread of a block. What all threads share is worked out once."""

    def __init__(self, trace: Trace, block: BlockTrace) -> None:
        self.trace, self.block, self.module = trace, block, trace.module
        self.relevant = relevant_pcs(self.module)
        self.accesses: dict[int, Access] = {}
        for step in range(block.n_steps):
            access = block.access(step)
            if access is not None:
                self.accesses[step] = access

    def of(self, thread: int) -> Flow:
        """The flow of a thread (linear threadIdx)."""
        return _ThreadFlow(self, thread).run()


@dataclass
class _Frame:
    """A function's registers, and its parameters by name and byte offset."""

    registers: dict[str, Node] = field(default_factory=dict)
    parameters: dict[tuple[str, int], Node] = field(default_factory=dict)
    results: tuple[tuple[str, str], ...] = ()  # (name in the function, name in its caller)


class _ThreadFlow:
    def __init__(self, reader: FlowReader, thread: int) -> None:
        self.reader, self.thread = reader, thread
        self.frames = [_Frame(parameters=_kernel_arguments(reader.trace))]
        self.local: dict[int, Node] = {}
        self.loads: list[Load] = []
        self.stores: list[Store] = []
        self.sums: dict[int, Sum] = {}  # those that nothing has used yet
        self.step = 0

    def run(self) -> Flow:
        path = self.reader.block.executed(self.thread)
        wanted = self.reader.relevant[path.pcs]
        rows = zip(
            path.pcs[wanted].tolist(), path.depths[wanted].tolist(),
            path.first_steps[wanted].tolist(), path.last_steps[wanted].tolist(), strict=True,
        )  # fmt: skip
        instructions = self.reader.module.instructions
        for pc, depth, first, last in rows:
            while len(self.frames) > depth + 1:
                self._leave()
            self.step = last
            self._execute(instructions[pc], range(first, last + 1))
        leftover = tuple(s for s in self.sums.values() if loads_in(s))
        return Flow(tuple(self.loads), tuple(self.stores), leftover)

    # -- instructions -----------------------------------------------------------------------

    def _execute(self, instruction: ast.Instruction, steps: Sequence[int]) -> None:
        operands = instruction.operands
        opcode, modifiers = instruction.opcode, instruction.modifiers
        if opcode == "call":
            self._call(operands)
        elif opcode in ("ld", "st") and "param" in modifiers:
            self._parameter(opcode, operands, bytes_of(modifiers))
        elif self._memory(instruction, steps) or opcode in ("ld", "ldu", "st", "atom", "red"):
            return
        elif operands and isinstance(operands[0], ast.Register):
            result = self._result(opcode, [self._value(o) for o in operands[1:]])
            if instruction.guard is not None:
                result = Choice((result, self._value(operands[0])))
            self._set(operands[0], result)
        elif operands:
            for register in registers_of(operands[0]):
                self._set(register, UNKNOWN)

    def _result(self, opcode: str, parts: list[Node]) -> Node:
        if opcode in COPIES and len(parts) == 1:
            return parts[0]
        if all(isinstance(p, Constant | Named | Unknown) for p in parts):
            return UNKNOWN
        if opcode == "selp":
            return Choice((parts[0], parts[1]))
        if opcode == "add" and len(parts) == 2:
            swap = isinstance(parts[1], Sum) and not isinstance(parts[0], Sum)
            base, term = reversed(parts) if swap else parts
            return self._sum(base, term)
        if opcode == "sub" and len(parts) == 2:
            return self._sum(parts[0], parts[1], minus=True)
        if opcode == "mul" and len(parts) == 2:
            return Product(self._use(parts[0]), self._use(parts[1]))
        if opcode in ("fma", "mad") and len(parts) == 3:
            return self._sum(parts[2], Product(self._use(parts[0]), self._use(parts[1])))
        return Apply(opcode, tuple(self._use(p) for p in parts))

    def _sum(self, base: Node, term: Node, minus: bool = False) -> Sum:
        made = Sum(self._use(base), self._use(term), minus, self.step)
        self.sums[id(made)] = made
        return made

    def _use(self, node: Node) -> Node:
        self.sums.pop(id(node), None)
        return node

    def _call(self, operands: Sequence[ast.Operand]) -> None:
        names = [o.name for o in operands if isinstance(o, ast.Symbol)]
        function = self.reader.module.functions.get(names[0]) if names else None
        if function is None:
            return
        groups = [[e.name for e in o.elements if isinstance(e, ast.Symbol)]
                  for o in operands if isinstance(o, ast.Group)]  # fmt: skip
        first = isinstance(operands[0], ast.Group)
        results = groups[0] if first and groups else []
        given = (groups[1:] if first else groups) or [[]]
        frame, caller = _Frame(), self.frames[-1]
        for parameter, name in zip(function.parameters, given[0], strict=False):
            for (known, offset), node in caller.parameters.items():
                if known == name:
                    frame.parameters[parameter.name, offset] = node
        frame.results = tuple(zip((r.name for r in function.returns), results, strict=False))
        self.frames.append(frame)

    def _leave(self) -> None:
        frame = self.frames.pop()
        for inside, outside in frame.results:
            for (known, offset), node in frame.parameters.items():
                if known == inside:
                    self.frames[-1].parameters[outside, offset] = node

    def _parameter(self, opcode: str, operands: Sequence[ast.Operand], size: int) -> None:
        place, other = (1, 0) if opcode == "ld" else (0, 1)
        address = operands[place]
        if not isinstance(address, ast.Address) or not isinstance(address.base, ast.Symbol):
            return
        name, start = address.base.name, address.base.offset + address.offset
        parameters, value = self.frames[-1].parameters, operands[other]
        for i, part in enumerate(value.elements if isinstance(value, ast.Vector) else (value,)):
            if opcode == "st":
                parameters[name, start + i * size] = self._value(part)
            elif isinstance(part, ast.Register):
                self._set(part, parameters.get((name, start + i * size), UNKNOWN))

    # -- memory -----------------------------------------------------------------------------

    def _memory(self, instruction: ast.Instruction, steps: Sequence[int]) -> bool:
        """Follow the accesses that the record has for an instruction; False if there are none."""
        held: list[Node] | None = None
        known = False
        for step in steps:
            access = self.reader.accesses.get(step)
            if access is None:
                continue
            known = True
            if not (access.active[self.thread] or access.faulty[self.thread]):
                continue
            if access.kind == "load":
                held = self._load(access)
                for register, node in zip(
                    registers_of(instruction.operands[0]), held, strict=False
                ):
                    self._set(register, node)
            else:
                self._store(instruction, access, held)
        return known

    def _load(self, access: Access) -> list[Node]:
        elements = self._elements(access)
        if access.space == "local" and not access.faulty[self.thread]:
            start = int(access.addresses[self.thread])
            size = access.width // len(elements)
            return [self.local.get(start + i * size, UNKNOWN) for i in range(len(elements))]
        if access.space in ("global", "shared"):
            self.loads += [elements[i] for i in first_parts(elements)]
        return list(elements)

    def _store(self, instruction: ast.Instruction, access: Access, held: list[Node] | None) -> None:
        nodes = held or self._stored_operands(instruction)
        elements = self._elements(access)
        nodes += [UNKNOWN] * (len(elements) - len(nodes))
        if access.space == "local" and not access.faulty[self.thread]:
            start = int(access.addresses[self.thread])
            size = access.width // len(elements)
            self.local.update({start + i * size: node for i, node in enumerate(nodes)})
            return
        update = ""
        if access.kind == "atomic":
            update = next((m for m in instruction.modifiers if m in ATOMICS), "update")
        for element, node in ((elements[i], nodes[i]) for i in first_parts(elements)):
            written = chosen(self._use(node), element.value)
            self.stores.append(Store(element, written, access.step, update))
        if update and instruction.opcode == "atom":
            for register in registers_of(instruction.operands[0]):
                self._set(register, elements[0])

    def _stored_operands(self, instruction: ast.Instruction) -> list[Node]:
        if instruction.opcode in ("st", "red"):
            value = instruction.operands[1]
        elif instruction.opcode == "atom":
            value = instruction.operands[2]
        else:
            return []
        parts = value.elements if isinstance(value, ast.Vector) else (value,)
        return [self._value(part) for part in parts]

    def _elements(self, access: Access) -> list[Load]:
        values = access.values[self.thread]
        many = list(values) if access.values.ndim > 1 else [values]
        flat, array = int(access.elements[self.thread]), access.array
        name = array.name if array is not None else f"{access.space} memory"
        fault, meant = "", access.wanted(self.thread)
        if access.faulty[self.thread]:
            fault = "fault: 0" if access.kind == "load" else "fault: not stored"
        size = access.width // len(many)  # of a register: two hold a double of a double2
        made = []
        for register, value in enumerate(many):
            i = register if array is None else register * size // array.dtype.itemsize
            index: tuple[int, ...] = ()
            if fault:
                index = () if meant is None else (meant + i,)
            elif array is not None and flat >= 0:
                index = array.index(flat + i)
            fields = fields_of(array) if array is not None else ()
            made.append(Load(name, index, access.space, access.step, value, fault, fields))
        return made

    # -- operands ---------------------------------------------------------------------------

    def _value(self, operand: ast.Operand) -> Node:
        if isinstance(operand, ast.Register):
            return self.frames[-1].registers.get(operand.name, UNKNOWN)
        if isinstance(operand, ast.Immediate):
            return Constant(number_of(operand))
        return UNKNOWN

    def _set(self, register: ast.Register, node: Node) -> None:
        self.frames[-1].registers[register.name] = node


ATOMICS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")


def _kernel_arguments(trace: Trace) -> dict[tuple[str, int], Node]:
    function = trace.module.entry(find_entry(trace.build, trace.workload.kernel))
    pairs = zip(function.parameters, trace.workload.launch.parameters, strict=False)
    return {
        (parameter.name, a.member.offset if a.member else 0): Named(a.name)
        for parameter, group in pairs
        for a in group
    }
