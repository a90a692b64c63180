"""From a parsed function to `FunctionCode`: every instruction is decoded once, before it runs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from core.emulator.address_spaces import GLOBAL_WINDOW, WINDOWS
from core.emulator.control_flow import run_ends, with_latches
from core.emulator.operands import OperandDecoder, plain
from core.emulator.program import (
    Call,
    FunctionCode,
    IndexedBranch,
    Kind,
    MemoryAccess,
    Op,
    ParameterAccess,
    Reader,
    Registers,
    Writer,
)
from core.ptx.arithmetic.operation import (
    BUILDERS,
    TYPED,
    Operation,
    operation,
    type_of,
    unsupported,
)
from core.ptx.ast import (
    Address,
    Function,
    Group,
    Instruction,
    Module,
    Operand,
    Pair,
    Register,
    Special,
    Symbol,
    elements,
)
from core.ptx.opcodes import (
    OPCODES,
    opcode_of,
    space_of,
    unknown_modifier,
    update_of,
    vector_length,
)
from core.ptx.types import PRED, TYPES, PtxType

# Decodes loads, stores, atomics, accesses of parameters, and conversions of addresses.


def _memory_type(instruction: Instruction) -> PtxType:
    """The type of one element of an access."""
    kind = type_of(instruction)
    if kind is PRED:
        raise unsupported(instruction, "accesses memory as .pred, which has no bytes")
    return kind


def _load_or_store(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """`ld`, `ldu` and `st`."""
    space = space_of(instruction)
    is_load = opcode_of(instruction).kind == "load"
    kind = _memory_type(instruction)
    address = instruction.operands[1 if is_load else 0]
    value = elements(instruction.operands[0 if is_load else 1])
    if len(value) != vector_length(instruction):
        raise unsupported(instruction, "has as many registers as the vector says elements")
    loaded, stored = (value, ()) if is_load else ((), value)
    readers = tuple(decoder.table.read(instruction, v, kind) for v in stored)
    types = (kind,) * len(loaded)
    if space == "param" and isinstance(address, Address) and isinstance(address.base, Symbol):
        key = address.base.name, address.offset
        parameter = ParameterAccess(is_load, key, kind, readers)
        return decoder.op(Kind.PARAMETER, instruction, parameter, loaded, types)
    access = MemoryAccess(
        "load" if is_load else "store",
        space,
        kind,
        len(value),
        decoder.address(instruction, address, space),
        readers,
    )
    return decoder.op(Kind.MEMORY, instruction, access, loaded, types)


def _atomic(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """`atom` and `red`."""
    has_result = opcode_of(instruction).kind == "atomic"
    kind = _memory_type(instruction)
    name = update_of(instruction)
    if not name or (kind.bits == 128 and name not in ("exch", "cas")):
        raise unsupported(instruction)
    address, *operands = instruction.operands[1 if has_result else 0 :]
    count = vector_length(instruction)
    if count > 1:
        operands = operands[:1]  # a cache policy may follow
    elif any("cache_hint" in m for m in instruction.modifiers):
        operands = operands[:-1]
    values = tuple(e for operand in operands for e in elements(operand))
    wanted = count if count > 1 else 1 + (name == "cas")
    if len(values) != wanted:
        raise unsupported(instruction, "has the wrong number of operands")
    into, types = (elements(instruction.operands[0]), (kind,) * count) if has_result else ((), ())
    space = space_of(instruction)
    access = MemoryAccess(
        "atomic",
        space,
        kind,
        count,
        decoder.address(instruction, address, space),
        tuple(decoder.table.read(instruction, v, kind) for v in values),
        name,
    )
    return decoder.op(Kind.MEMORY, instruction, access, into, types)


def _address_conversion(instruction: Instruction) -> Operation:
    """`cvta` between a space's own addresses and generic ones, and `isspacep`."""
    space = space_of(instruction)
    source = instruction.operands[1]
    if instruction.opcode == "isspacep":
        low = WINDOWS.get(space, GLOBAL_WINDOW)
        high = 2 * low if space in WINDOWS else 1 << 62
        return Operation(lambda a: (a >= low) & (a < high), ((source, TYPES["s64"]),), (PRED,))
    kind = type_of(instruction)
    window = WINDOWS.get(space, 0)
    if kind.bits == 32 and window:
        raise unsupported(instruction, "needs 64-bit addresses")
    move = np.array([-window if "to" in instruction.modifiers else window], np.int64)
    wide = TYPES["s64"] if kind.bits == 64 else kind
    if not window:
        return Operation(lambda a: a, ((source, wide),), (wide,))
    return Operation(lambda a: a + move, ((source, wide),), (wide,))


# Decodes what steers threads: branches, calls, and the end of threads; and fences.


def _branch(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """`bra`: to a label of the same function."""
    label = instruction.operands[0]
    if not isinstance(label, Symbol):
        raise unsupported(instruction, "names no label")
    return Op(
        Kind.BRANCH, instruction, target=decoder.label(instruction, label.name, "branches to")
    )


def _indexed_branch(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """`brx.idx`: to one of a list of labels."""
    index, table = instruction.operands
    if not isinstance(table, Symbol) or table.name not in decoder.module.branch_targets:
        raise unsupported(instruction, "names no list of branch targets")
    targets = decoder.module.branch_targets[table.name]
    pcs = tuple(decoder.label(instruction, name, "may go to") for name in targets)
    branches = IndexedBranch(pcs, decoder.table.read(instruction, index, TYPES["u32"]))
    return Op(Kind.INDEXED_BRANCH, instruction, payload=branches)


def _call(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """`call (results), function, (arguments)`, of a function or of its address."""
    operands = list(instruction.operands)
    results = operands.pop(0) if isinstance(operands[0], Group) else Group(())
    target, *rest = operands
    arguments = next((o for o in rest if isinstance(o, Group)), Group(()))
    assert isinstance(results, Group)
    pointer, name = None, ""
    if isinstance(target, Symbol) and target.name in decoder.module.functions:
        name = target.name
        callee = decoder.module.functions[name]
        if len(arguments.elements) != len(callee.parameters):
            raise unsupported(
                instruction,
                f"has {len(arguments.elements)} arguments; {name} takes {len(callee.parameters)}",
            )
        if len(results.elements) != len(callee.returns):
            raise unsupported(
                instruction,
                f"takes {len(results.elements)} results; {name} gives {len(callee.returns)}",
            )
    elif isinstance(target, Register):
        pointer = decoder.table.read(instruction, target, TYPES["s64"])
    else:
        raise unsupported(instruction, "calls a function that is not there")
    payload = Call(
        name,
        _names(results, "result"),
        _names(arguments, "argument"),
        pointer,
        tuple(
            (key, decoder.table.read(instruction, element, kind))
            for key, element, kind in _pieces(decoder, arguments, "argument")
        ),
        tuple(
            (key, decoder.table.slots[element.name])
            for key, element, _ in _pieces(decoder, results, "result")
            if isinstance(element, Register)
        ),
    )
    return Op(Kind.CALL, instruction, payload=payload)


def _names(group: Group, role: str) -> tuple[str, ...]:
    """A name for each actual parameter; one that is no variable gets a name of its own."""
    return tuple(
        o.name if isinstance(o, Symbol) else f"{role} {i}" for i, o in enumerate(group.elements)
    )


def _pieces(
    decoder: OperandDecoder, group: Group, role: str
) -> Iterator[tuple[tuple[str, int], Operand, PtxType]]:
    """Actual parameters that are no variables, by elements: name and offset, operand and type."""
    for name, operand in zip(_names(group, role), group.elements, strict=True):
        offset = 0
        for element in () if isinstance(operand, Symbol) else elements(operand):
            kind = TYPES["b32"]
            if isinstance(element, Register):
                kind = decoder.table.declared(element.name)
            yield (name, offset), element, kind
            offset += kind.nbytes


def _fence(_: OperandDecoder, instruction: Instruction) -> Op:
    """`membar` and `fence`; one of them orders threads and asynchronous operations.

    The latter may name a space, to which it is then limited (PTX ISA, "fence.proxy.async").
    """
    named = {m.partition("::")[0] for m in instruction.modifiers}
    kind = "fence"
    if {"proxy", "async"} <= named:
        kind = " ".join(("proxy", *sorted(named & {"shared", "global"})))
    return Op(Kind.FENCE, instruction, payload=kind)


_T = TypeVar("_T")


class _Decoder:
    """Decodes one function of a module."""

    def __init__(self, operands: OperandDecoder) -> None:
        self.operands, self.table = operands, operands.table
        self.operations: dict[int, Operation] = {}

    def decode(self, watched: frozenset[str]) -> FunctionCode:
        """The function's code; `watched` names registers whose values are to be recorded."""
        operands = self.operands
        for instruction in operands.instructions:
            row = opcode_of(instruction)
            # Nothing but its modifier tells `st.bulk` from a store.
            is_bulk_store = instruction.opcode == "st" and "bulk" in instruction.modifiers
            if row.refused and (is_bulk_store or not row.is_executed):
                raise unsupported(instruction, f"is not executed ({row.refused[0][1]})")
            unknown = unknown_modifier(instruction.modifiers)
            if unknown:
                raise unsupported(instruction, f"has {unknown!r}, which is not a modifier of PTX")
            _checked(self._vote, instruction)
        self.table.close_votes()
        ops = [_checked(self._op, instruction) for instruction in operands.instructions]
        ops = with_latches(ops, operands.function.first_pc)
        slots = self.table.slots
        return FunctionCode(
            operands.function,
            ops,
            slots,
            self.table.dtypes,
            self.table.constants,
            self.table.specials,
            operands.local_offsets,
            operands.local_bytes,
            frozenset(slots[name] for name in watched if name in slots),
            run_ends(ops),
        )

    # -- first pass: which NumPy type suits each register ------------------------------------

    def _vote(self, instruction: Instruction) -> None:
        row = opcode_of(instruction)
        if _is_clock(instruction):
            return
        if row.is_memory:
            kind = _memory_type(instruction)
            for operand in instruction.operands:
                for element in elements(operand):
                    self.table.vote(element, kind)
        elif instruction.opcode not in _SPECIAL and row.kind != "hint":
            found = self._operation(instruction)
            for operand, kind in found.sources:
                self.table.vote(operand, kind)
            for operand, kind in zip(_targets(instruction, found), found.results, strict=False):
                self.table.vote(operand, kind)

    def _operation(self, instruction: Instruction) -> Operation:
        found = self.operations.get(instruction.pc)
        if found is None:
            if instruction.opcode in _CONVERSIONS:
                found = _address_conversion(instruction)
            else:
                found = operation(instruction)
            self.operations[instruction.pc] = found
        return found

    # -- second pass ------------------------------------------------------------------------

    def _op(self, instruction: Instruction) -> Op:
        if instruction.opcode in ("st", "red") and "async" in instruction.modifiers:
            op = _loaded("async_copies.remote_store")(self.operands, instruction)
        elif instruction.opcode == "barrier" and "cluster" in instruction.modifiers:
            op = _loaded("clusters.cluster_barrier")(self.operands, instruction)
        elif instruction.opcode in _SPECIAL:
            op = _loaded(_SPECIAL[instruction.opcode])(self.operands, instruction)
        elif _is_clock(instruction):
            op = _loaded("machine_state.read_clock")(self.operands, instruction)
        elif instruction.opcode == "setmaxnreg":  # a hint that others may wait for
            op = _loaded("register_pool.change_registers")(self.operands, instruction)
        elif opcode_of(instruction).kind == "hint":
            op = Op(Kind.NOTHING, instruction)
        else:
            op = self._compute(instruction)
        if instruction.guard is not None:
            op.guard = self.table.predicate(instruction, instruction.guard)
            op.guard_negated = instruction.guard_negated
        return op

    def _compute(self, instruction: Instruction) -> Op:
        found = self._operation(instruction)
        sources = [self.table.read(instruction, o, kind) for o, kind in found.sources]
        slots, writers = self.operands.writers(
            instruction, _targets(instruction, found), found.results
        )
        if slots == (-1,):
            return Op(Kind.NOTHING, instruction)
        compute = _compose(found.function, sources, writers)
        read = self.table.slots_of(operand for operand, _ in found.sources)
        return Op(Kind.COMPUTE, instruction, compute=compute, destinations=slots, sources=read)


def _is_clock(instruction: Instruction) -> bool:
    """Whether the instruction reads a clock."""
    return instruction.opcode == "mov" and any(
        isinstance(o, Special) and o.name.startswith(("%clock", "%globaltimer"))
        for o in instruction.operands
    )


def _checked(step: Callable[[Instruction], _T], instruction: Instruction) -> _T:
    """A step of decoding; any failure of a malformed instruction becomes one clear error."""
    try:
        return step(instruction)
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        StopIteration,
        TypeError,
        ValueError,
    ) as error:
        raise unsupported(
            instruction, "lacks an operand, or has one that it cannot have"
        ) from error


def _targets(instruction: Instruction, found: Operation) -> tuple[Operand, ...]:
    """Where the results of a computation go."""
    if found.targets is not None:
        return found.targets
    first = instruction.operands[0]
    return (first.first, first.second) if isinstance(first, Pair) else elements(first)


def _compose(
    function: Callable[..., Any], sources: list[Reader], writers: tuple[Writer | None, ...]
) -> Callable[[Registers], Any]:
    """One function from the register file to the converted result, with few calls."""
    if len(writers) > 1:
        made = plain(writers)
        return lambda regs: tuple(
            w(v) for w, v in zip(made, function(*(s(regs) for s in sources)), strict=True)
        )
    writer = writers[0]
    if writer is not None:
        inner = _compose(function, sources, (None,))
        return lambda regs: writer(inner(regs))
    if len(sources) == 1:
        a = sources[0]
        return lambda regs: function(a(regs))
    if len(sources) == 2:
        a, b = sources
        return lambda regs: function(a(regs), b(regs))
    return lambda regs: function(*(s(regs) for s in sources))


_CONVERSIONS = ("cvta", "isspacep")  # of addresses
_Decode = Callable[[OperandDecoder, Instruction], Op]
# What needs a machine's state is named as module.function of this package, and loaded when it is
# met: those files import this one, and few kernels use most of them.
_BY_KIND: dict[str, _Decode | str] = {
    "load": _load_or_store,
    "store": _load_or_store,
    "atomic": _atomic,
    "reduction": _atomic,
    "call": _call,
    "leave": lambda _, one: Op(Kind.RETURN, one, payload=one.opcode == "exit"),
    "breakpoint": lambda _, one: Op(Kind.TRAP, one),
    "fence": _fence,
    "barrier": "barriers.barrier",
    "lanes": "warp_primitives.exchange",
    "address of a block": "clusters.map_address",
    "barrier object": "mbarriers.mbarrier",
    "copy": "async_copies.async_copy",
    "matrix move": "tensor_cores.matrix_access",
    "texture": "textures.texture_op",
}
_BY_OPCODE: dict[str, _Decode | str] = {  # where a kind has several
    "bra": _branch,
    "brx": _indexed_branch,
    "trap": lambda _, one: Op(Kind.TRAP, one),
    "mma": "tensor_cores.multiply",
    "wmma": "tensor_cores.wmma",
    "wgmma": "wgmma.wgmma",
}
_SPECIAL = {
    **{name: _BY_KIND[row.kind] for name, row in OPCODES.items() if row.kind in _BY_KIND},
    **_BY_OPCODE,
}


def _loaded(function: _Decode | str) -> _Decode:
    if not isinstance(function, str):
        return function
    module, name = function.split(".")
    found: _Decode = getattr(importlib.import_module(f".{module}", __package__), name)
    return found


def decoded_opcodes() -> frozenset[str]:
    """The opcodes that have a function here or in `core.ptx.arithmetic`."""
    typed = (name for name, _ in TYPED)
    return frozenset({*BUILDERS, *typed, *_SPECIAL, *_CONVERSIONS})


def decode(
    module: Module,
    function: Function,
    addresses: Mapping[str, int],
    watched: frozenset[str] = frozenset(),
) -> FunctionCode:
    """Decodes `function`. `addresses` gives each variable's address in its own space.

    Raises `UnsupportedPtx` at the first instruction that cannot be executed.
    """
    return _Decoder(OperandDecoder(module, function, addresses)).decode(watched)
