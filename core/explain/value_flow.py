"""What becomes of the values that a thread loads: followed through its PTX registers.

A thread's path is executed once more over expressions instead of numbers. A load gives an
expression that names its element; moves and conversions hand it on; additions make a `Sum` that
knows at which step each of its terms was added. Nothing here knows a kernel.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.ptx import ast
from core.ptx.dataflow import results, sources
from core.ptx.opcodes import opcode_of, update_of
from core.trace.access import fields_of, label

if TYPE_CHECKING:
    from core.trace.access import Access
    from core.trace.block import BlockTrace
    from core.trace.trace import Trace


# What a thread's values are made of: expressions over the elements that it loads.


@dataclass(frozen=True, eq=False, slots=True)
class Load:
    """An element loaded at `step`; `index` is empty where the array is not known."""

    array: str
    index: tuple[int, ...]
    space: str
    step: int
    value: Any
    fault: str = ""  # what an illegal access comes to, in words; its index is a flat one
    fields: tuple[str, ...] = ()  # of the array, where it is one of structures
    place: Node | None = None  # what its address is made of, where the reader follows addresses too

    @property
    def name(self) -> str:
        """The element as the source writes it: `A[0,4]`, `A[9] (fault: 0)`."""
        name = label(self.array, self.index, self.fields) if self.index else self.array
        return f"{name} ({self.fault})" if self.fault else name


@dataclass(frozen=True, eq=False, slots=True)
class Constant:
    """A number written in the program."""

    value: float


@dataclass(frozen=True, eq=False, slots=True)
class Named:
    """Something with a name of its own: an argument of the kernel, another element."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Unknown:
    """A value that comes from no load: an index, a thread's number."""


@dataclass(frozen=True, eq=False, slots=True)
class Sum:
    """`base + term` (or minus), added at `step`."""

    base: Node
    term: Node
    minus: bool
    step: int


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """`left * right`."""

    left: Node
    right: Node


@dataclass(frozen=True, eq=False, slots=True)
class Apply:
    """Any other operation, by its PTX name."""

    name: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """One of several values; which of them the record does not say."""

    parts: tuple[Node, ...]


Node = Load | Constant | Named | Unknown | Sum | Product | Apply | Choice
UNKNOWN = Unknown()


@dataclass(frozen=True, slots=True)
class Store:
    """A value written to an element of global or shared memory at `step`.

    `update` is the operation of an atomic, empty for a plain store; `value` what was written.
    """

    target: Load
    node: Node
    step: int
    update: str = ""


@dataclass(frozen=True)
class Flow:
    """What one thread moved: its loads and stores in order, and sums that it never stored."""

    loads: tuple[Load, ...]
    stores: tuple[Store, ...]
    unstored: tuple[Sum, ...]
    aim: Aim | None
    """Where it goes at the step up to which it was followed, if that is an access of its own."""
    last_call: Aim | None  # where it goes with the last of its calls by a pointer
    last_test: Node | None  # what its last conditional branch goes by
    tests: Mapping[int, Node]
    """What each branch of the function that it is in at last went by, as in `Aim`."""


@dataclass(frozen=True)
class Aim:
    """Where one thread is about to go: its next access, or call by a pointer.

    `address` is what the place is made of; `tests` what decided, when the thread last came by, each
    of the conditional branches of the function that it is in, by their pc.
    """

    pc: int
    address: Node
    tests: Mapping[int, Node]


def chosen(node: Node, stored: Any) -> Node:
    """Of a choice, the part whose value is the one that was stored, if only one has it."""
    if not isinstance(node, Choice):
        return node
    fits = [p for p in node.parts if not isinstance(p, Load | Constant) or p.value == stored]
    return chosen(fits[0], stored) if len(fits) == 1 else node


def children(node: Node) -> list[Node]:
    """The nodes that a node is made of."""
    if isinstance(node, Sum):
        return [node.base, node.term]
    if isinstance(node, Product):
        return [node.left, node.right]
    return list(node.parts) if isinstance(node, Apply | Choice) else []


def _first_parts(loads: Sequence[Load]) -> list[int]:
    """The places of the first register of each element: two may hold one of eight bytes."""
    before = (None, *(load.index for load in loads))
    return [i for i, load in enumerate(loads) if not load.index or load.index != before[i]]


def within(*nodes: Node, until: type | None = None) -> Iterator[Node]:
    """Nodes and all that goes into them, each once; what goes into an `until` is left out."""
    pending, seen = list(nodes), set[int]()
    while pending:
        part = pending.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            pending += [] if until and isinstance(part, until) else children(part)


def loads_in(*nodes: Node) -> list[Load]:
    """All loads that go into nodes, each once."""
    return [node for node in within(*nodes) if isinstance(node, Load)]


# Expressions as text, and sums taken apart into their terms.


DEEPEST = 6  # levels of brackets before an expression is cut off
NEAR = 8  # steps within which a sum inside a sum counts as part of the same expression
OTHER = "…"  # a value that comes from no load, or lies too deep


@dataclass(frozen=True)
class Term:
    """What a sum had added to it, or taken from it, at a step."""

    node: Node
    minus: bool
    step: int


def chain(node: Sum, names: Mapping[int, str]) -> tuple[Node, tuple[Term, ...]]:
    """What a sum began with, and its terms in the order in which they were added.

    Sums that have a name (by identity) are not taken apart.
    """
    groups: list[list[Term]] = []
    base: Node = node
    while isinstance(base, Sum) and (base is node or id(base) not in names):
        groups.append(_terms(base, names))
        base = base.base
    if isinstance(base, Sum):
        base = Named(names[id(base)])
    return base, tuple(term for group in reversed(groups) for term in group)


def _terms(link: Sum, names: Mapping[int, str]) -> list[Term]:
    """The last term of a sum; if it is a sum itself, added at the same time, its terms."""
    if not isinstance(link.term, Sum) or id(link.term) in names:
        return [Term(link.term, link.minus, link.step)]
    base, terms = chain(link.term, names)
    if any(t.step < link.step - NEAR for t in terms):  # added up earlier: it gets a name
        return [Term(link.term, link.minus, link.step)]
    first = [] if _is_zero(base) else [Term(base, link.minus, link.step)]
    return first + [Term(t.node, t.minus != link.minus, t.step) for t in terms]


def _is_zero(node: Node) -> bool:
    """Whether it is the number 0."""
    return isinstance(node, Constant) and node.value == 0


def text_of(node: Node, names: Mapping[int, str], depth: int = 0) -> str:
    """An expression as the source might write it; empty for the 0 that a sum begins with."""
    if id(node) in names:
        return names[id(node)]
    if _is_zero(node) and not depth:
        return ""
    if depth > DEEPEST:
        return OTHER
    if isinstance(node, Load):
        return node.name
    if isinstance(node, Constant):
        return f"{node.value:.9g}"
    if isinstance(node, Named):
        return node.name
    return _composed(node, names, depth + 1)


def _composed(node: Node, names: Mapping[int, str], depth: int) -> str:
    if isinstance(node, Product):
        return f"{_factor(node.left, names, depth)}*{_factor(node.right, names, depth)}"
    if isinstance(node, Sum):
        base, terms = chain(node, names)
        words = [] if _is_zero(base) else [text_of(base, names, depth)]
        for term in terms:
            sign = "-" if term.minus else "+"
            words += (
                [sign, text_of(term.node, names, depth)]
                if words or term.minus
                else [text_of(term.node, names, depth)]
            )
        return " ".join(words)
    if isinstance(node, Choice):
        return " or ".join(f"({text_of(part, names, depth)})" for part in node.parts)
    if isinstance(node, Apply):
        return f"{node.name}({', '.join(text_of(part, names, depth) for part in node.parts)})"
    return OTHER


def _factor(node: Node, names: Mapping[int, str], depth: int) -> str:
    text = text_of(node, names, depth)
    wraps = isinstance(node, Sum | Choice) and id(node) not in names
    return f"({text})" if wraps else text


# What the operands and modifiers of a PTX instruction say, for following values through it.


def bytes_of(modifiers: Sequence[str]) -> int:
    """The bytes of the type that an instruction's modifiers end with: `v2.f64` has 8."""
    bits = modifiers[-1].lstrip("abcdefghijklmnopqrstuvwxyz") if modifiers else ""
    return int(bits) // 8 if bits.isdecimal() else 0


def _number_of(operand: ast.Immediate) -> float:
    """The number that an operand is."""
    if operand.float_bits:
        code, size = ("<f", 4) if operand.float_bits == 32 else ("<d", 8)
        return float(struct.unpack(code, int(operand.value).to_bytes(size, "little"))[0])
    return operand.value


# Which instructions of a module can carry a value from a load to a store: found once, statically.
#
# Most of a kernel computes addresses and conditions. Leaving those out makes following the values
# of a thread several times faster.


def _relevant_pcs(module: ast.Module) -> NDArray[np.bool_]:
    """For each pc whether the instruction may hand a loaded value on; bool (instructions,)."""
    result = np.zeros(len(module.instructions), bool)
    for function in module.functions.values():
        body = module.instructions[function.first_pc : function.end_pc]
        _mark(body, function.is_entry, result)
    return result


def _mark(body: tuple[ast.Instruction, ...], entry: bool, result: NDArray[np.bool_]) -> None:
    wanted = _loaded(body, entry)
    wanted |= _feeding(body, wanted)
    for instruction in body:
        row = opcode_of(instruction)
        kept = row.is_memory or row.kind == "call"
        result[instruction.pc] = kept or bool(wanted & results(instruction))


def _loaded(body: tuple[ast.Instruction, ...], entry: bool) -> set[str]:
    """Registers that may depend on a load; a kernel's own parameters are no data."""
    found: set[str] = set()
    grew = True
    while grew:
        size = len(found)
        for instruction in body:
            loads = opcode_of(instruction).kind in ("load", "atomic")
            own = loads and not (entry and _of_kernel(instruction))
            if own or found.intersection(values(instruction)):
                found |= results(instruction)
        grew = len(found) > size
    return found


def _feeding(body: tuple[ast.Instruction, ...], loaded: set[str]) -> set[str]:
    """Registers that meet a loaded value in an operation or are stored, and what they copy."""
    found: set[str] = set()
    for instruction in body:
        stores = opcode_of(instruction).kind in ("store", "reduction", "atomic")
        if stores or loaded & results(instruction):
            found.update(values(instruction))
    grew = True
    while grew:
        size = len(found)
        for instruction in body:
            if _copies(instruction) and found & results(instruction):
                found.update(values(instruction))
        grew = len(found) > size
    return found


def _of_kernel(instruction: ast.Instruction) -> bool:
    """Whether a load reads a parameter under a function's own name."""
    return "param" in instruction.modifiers and "_param_" in instruction.text


def values(instruction: ast.Instruction) -> Iterator[str]:
    """Names of the registers whose values an instruction uses; addresses do not count."""
    return ast.registers(*(o for o in sources(instruction) if not isinstance(o, ast.Address)))


def _copies(instruction: ast.Instruction) -> bool:
    return opcode_of(instruction).kind in ("move", "conversion")


class FlowReader:
    """Gives the flow of any thread of a block. What all threads share is worked out once.

    With `aims` it follows what goes into addresses and conditions too, which takes longer.
    """

    def __init__(self, trace: Trace, block: BlockTrace, *, aims: bool = False) -> None:
        self.trace, self.block, self.module, self.aims = trace, block, trace.module, aims
        every = np.ones(len(self.module.instructions), bool)
        self.relevant = every if aims else _relevant_pcs(self.module)
        self.accesses: dict[int, Access] = {}
        for step in range(block.n_steps):
            access = block.access(step)
            if access is not None:
                self.accesses[step] = access

    def of(self, thread: int, until: int = -1) -> Flow:
        """The flow of a thread (linear threadIdx), the whole or that before the tick `until`."""
        return _ThreadFlow(self, thread).run(until)


@dataclass
class _Frame:
    """A function's registers, and its parameters by name and byte offset."""

    registers: dict[str, Node] = field(default_factory=dict)
    parameters: dict[tuple[str, int], Node] = field(default_factory=dict)
    tests: dict[int, Node] = field(default_factory=dict)  # what branches went by, by their pc
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
        self.aim: Aim | None = None
        self.called: Aim | None = None
        self.test: Node | None = None  # of the last branch

    def run(self, until: int) -> Flow:
        path = self.reader.block.executed(self.thread)
        wanted = self.reader.relevant[path.pcs]
        rows = zip(
            path.pcs[wanted].tolist(),
            path.depths[wanted].tolist(),
            path.first_steps[wanted].tolist(),
            path.last_steps[wanted].tolist(),
            path.ticks[wanted].tolist(),
            strict=True,
        )
        instructions = self.reader.module.instructions
        for pc, depth, first, last, tick in rows:
            while len(self.frames) > depth + 1:
                self._leave()
            self.step = last
            if tick == until:
                self.aim = self._aim(instructions[pc], self._place(instructions[pc]))
                break
            self._execute(instructions[pc], range(first, last + 1))
        leftover = tuple(s for s in self.sums.values() if loads_in(s))
        loads, stores = tuple(self.loads), tuple(self.stores)
        tests = dict(self.frames[-1].tests)
        return Flow(loads, stores, leftover, self.aim, self.called, self.test, tests)

    # -- instructions -----------------------------------------------------------------------

    def _execute(self, instruction: ast.Instruction, steps: Sequence[int]) -> None:
        operands = instruction.operands
        opcode, modifiers = instruction.opcode, instruction.modifiers
        if opcode == "call":
            pointer = next((o for o in operands if isinstance(o, ast.Register)), None)
            place = self._value(pointer) if pointer is not None else None
            self.called = self._aim(instruction, place) or self.called
            self._call(operands)
        elif instruction.guard is not None and opcode == "bra":
            self.test = self._value(instruction.guard)
            self.frames[-1].tests[instruction.pc] = self.test
        elif opcode in ("ld", "st") and "param" in modifiers:
            self._parameter(opcode, operands, bytes_of(modifiers))
        elif self._memory(instruction, steps) or opcode_of(instruction).is_memory:
            return
        elif operands and isinstance(operands[0], ast.Register):
            result = self._result(instruction, [self._value(o) for o in operands[1:]])
            if instruction.guard is not None:
                result = Choice((result, self._value(operands[0])))
            self._set(operands[0].name, result)
        elif operands:
            for register in results(instruction):
                self._set(register, UNKNOWN)

    def _aim(self, instruction: ast.Instruction, place: Node | None) -> Aim | None:
        if place is None:
            return None
        return Aim(instruction.pc, place, dict(self.frames[-1].tests))

    def _result(self, instruction: ast.Instruction, parts: list[Node]) -> Node:
        opcode = instruction.opcode
        if _copies(instruction) and len(parts) == 1:
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
        groups = [
            [e.name for e in o.elements if isinstance(e, ast.Symbol)]
            for o in operands
            if isinstance(o, ast.Group)
        ]
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
        for i, part in enumerate(ast.elements(value)):
            if opcode == "st":
                parameters[name, start + i * size] = self._value(part)
            elif isinstance(part, ast.Register):
                self._set(part.name, parameters.get((name, start + i * size), UNKNOWN))

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
                held = self._load(access, self._place(instruction) if self.reader.aims else None)
                is_copy = opcode_of(instruction).kind == "copy"  # it loads into no register
                targets = () if is_copy else ast.registers(*instruction.operands[:1])
                for register, node in zip(targets, held, strict=False):
                    self._set(register, node)
            else:
                self._store(instruction, access, held)
        return known

    def _place(self, instruction: ast.Instruction) -> Node | None:
        """What the address is made of by which an instruction goes to memory.

        A copy has two, and where one is a tensor map's the box's corner decides as well.
        """
        addresses = [o for o in instruction.operands if isinstance(o, ast.Address)]
        if opcode_of(instruction).kind == "copy":
            corner = [c for o in addresses for part in o.coordinates for c in ast.elements(part)]
            bases = [o.base for o in addresses[:2] if o.base is not None]
            return Apply("address", tuple(self._value(o) for o in (*bases, *corner)))
        base = addresses[0].base if addresses else None
        return None if base is None else self._value(base)

    def _load(self, access: Access, place: Node | None) -> list[Node]:
        elements = self._elements(access, place)
        if access.space == "local" and not access.faulty[self.thread]:
            start = int(access.addresses[self.thread])
            size = access.width // len(elements)
            return [self.local.get(start + i * size, UNKNOWN) for i in range(len(elements))]
        if access.space in ("global", "shared"):
            self.loads += [elements[i] for i in _first_parts(elements)]
        return list(elements)

    def _store(self, instruction: ast.Instruction, access: Access, held: list[Node] | None) -> None:
        nodes = held or self._stored_operands(instruction)
        returns = access.kind == "atomic" and self.reader.aims
        elements = self._elements(access, self._place(instruction) if returns else None)
        nodes += [UNKNOWN] * (len(elements) - len(nodes))
        if access.space == "local" and not access.faulty[self.thread]:
            start = int(access.addresses[self.thread])
            size = access.width // len(elements)
            self.local.update({start + i * size: node for i, node in enumerate(nodes)})
            return
        update = ""
        if access.kind == "atomic":
            update = update_of(instruction) or "update"
        for element, node in ((elements[i], nodes[i]) for i in _first_parts(elements)):
            written = chosen(self._use(node), element.value)
            self.stores.append(Store(element, written, access.step, update))
        if update:
            for register in results(instruction):
                self._set(register, elements[0])

    def _stored_operands(self, instruction: ast.Instruction) -> list[Node]:
        kind = opcode_of(instruction).kind
        if kind not in ("store", "reduction", "atomic"):
            return []
        value = instruction.operands[2 if kind == "atomic" else 1]
        return [self._value(part) for part in ast.elements(value)]

    def _elements(self, access: Access, place: Node | None = None) -> list[Load]:
        values = access.values[self.thread]
        many = list(values) if access.values.ndim > 1 else [values]
        flat, array = int(access.elements[self.thread]), access.array
        name = access.target
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
            known = name, index, access.space, access.step, value, fault, fields
            made.append(Load(*known, place))
        return made

    # -- operands ---------------------------------------------------------------------------

    def _value(self, operand: ast.Operand) -> Node:
        if isinstance(operand, ast.Register):
            return self.frames[-1].registers.get(operand.name, UNKNOWN)
        if isinstance(operand, ast.Immediate):
            return Constant(_number_of(operand))
        return UNKNOWN

    def _set(self, register: str, node: Node) -> None:
        self.frames[-1].registers[register] = node


def _kernel_arguments(trace: Trace) -> dict[tuple[str, int], Node]:
    from core.compiler.compile_ptx_and_cubin import find_entry

    function = trace.module.entry(find_entry(trace.build, trace.workload.kernel))
    pairs = zip(function.parameters, trace.workload.launch.parameters, strict=False)
    return {
        (parameter.name, a.member.offset if a.member else 0): Named(a.name)
        for parameter, group in pairs
        for a in group
    }
