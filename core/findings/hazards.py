"""Hazards of one machine: races on shared and global memory, and reads of what nobody wrote.

Lock-step execution gives the right answer even to a kernel that races, so this observer keeps a
shadow of the memory (`Shadow`) and the order of accesses (`Order`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import (
    AccessEvent,
    AwaitEvent,
    BarrierEvent,
    CallEvent,
    CopiesEvent,
    FaultEvent,
    Indices,
    Ints,
    LandEvent,
    Mask,
    Observer,
    PhaseEvent,
    Span,
    SyncEvent,
    TransferEvent,
)
from core.emulator.lane_groups import WARP, Geometry
from core.emulator.memory import Region
from core.findings.async_copies import SHARED, AsyncCopies, Flight, Pending
from core.findings.cluster_exits import Outliving
from core.findings.mbarrier_misuse import OVER, Initialised, Misuse
from core.findings.missing_threadfence import trusting_loads
from core.findings.missing_wgmma_fence import Unready
from core.ptx.ast import (
    Address,
    Function,
    Group,
    Instruction,
    Module,
    Operand,
    Register,
    Symbol,
    elements,
    immediate,
    registers,
)
from core.ptx.opcodes import opcode_of

# Loads that only move bytes, which need not have been written.
#
# Unoptimised code copies objects whole, with their holes and members not yet set, and sets a bit
# field by reading the word around it. A value is *used* where it goes anywhere but into a store: as
# it is, or, mixed with other bits, back to where it came from. What was copied without having been
# written counts as unwritten in its new place. What a lane hands to a shuffle is no use of its own:
# people let one lane set a variable that all lanes then take from there.


@dataclass
class Copies:
    """`loads`: (pc, element) that are no use; `stores`: (pc, element) -> loads it may take from."""

    loads: set[tuple[int, int]] = field(default_factory=set)
    stores: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Use:
    """Where a register is read.

    `element` is its place among a store's values, -1 for another operand, -2 for an address or
    a guard, -3 for a sum that a matrix product begins anew in this register, -4 for what a shuffle
    hands to other lanes, -5 for the argument of a call that gives it back: `instruction` takes it.
    """

    instruction: Instruction
    element: int


Parameters = frozenset[tuple[str, int]]
"""Parameters of functions, each by its function and number."""


def shuffled_parameters(module: Module) -> Parameters:
    """The parameters that functions, such as those of `__shfl_sync`, only hand to a shuffle."""
    functions = {f.name: f for f in module.functions.values() if not f.is_entry and f.parameters}
    callers: dict[str, set[str]] = {}
    todo: set[str] = set()
    for function in functions.values():
        for instruction in module.instructions[function.first_pc : function.end_pc]:
            if instruction.opcode == "shfl":
                todo.add(function.name)
            elif instruction.opcode == "call":
                for callee in filter(None, map(_symbol, instruction.operands)):
                    callers.setdefault(callee, set()).add(function.name)
    found: Parameters = frozenset()
    while todo:
        function = functions[todo.pop()]
        more = _handed_on(module, function, found) - found
        if more:
            found |= more
            todo |= callers.get(function.name, set())
    return found


def _handed_on(module: Module, function: Function, shuffled: Parameters) -> Parameters:
    """The parameters that one function only hands to a shuffle, given those of its callees."""
    moved = _copies(module, function, shuffled, of_parameters=True)
    stored = {pc for several in moved.stores.values() for pc, _ in several}
    loads = {
        load.pc: _symbol(load.operands[1])
        for load in _instructions(module, function)
        if load.opcode == "ld" and "param" in load.modifiers
    }
    used = {p for pc, p in loads.items() if (pc, 0) not in moved.loads or pc in stored}
    handed = {*loads.values()} - used
    own = enumerate(function.parameters)
    return frozenset((function.name, number) for number, p in own if p.name in handed)


def _copies(
    module: Module, function: Function, shuffled: Parameters, *, of_parameters: bool
) -> Copies:
    """The copying loads of parameters, or of memory; `shuffled` as `shuffled_parameters` has it."""
    found = Copies()
    instructions = _instructions(module, function)
    calls = (i for i in instructions if i.opcode == "call")
    handed = frozenset(name for call in calls for name in _arguments(call, shuffled))
    objects = _objects(function)
    given_back = dict(_given_back(instructions))
    uses: dict[str, list[_Use]] = {}
    for instruction in instructions:
        taker = given_back.get(_argument(instruction))
        for name, use in _reads(instruction, objects, handed):
            by_call = _Use(taker, -5) if taker is not None and use.element == -1 else use
            uses.setdefault(name, []).append(by_call)
    for instruction in instructions:
        if instruction.opcode == "ld" and ("param" in instruction.modifiers) == of_parameters:
            for element, operand in enumerate(elements(instruction.operands[0])):
                if isinstance(operand, Register):
                    _follow(instruction, element, operand.name, uses, found)
    return found


_SAME_BITS = frozenset(
    {
        "__float_as_int",
        "__float_as_uint",
        "__int_as_float",
        "__uint_as_float",
        "__double_as_longlong",
        "__longlong_as_double",
    }
)
"""Functions that give back what they are given (CUDA Math API, "Type Casting Intrinsics")."""


def _given_back(instructions: list[Instruction]) -> Iterator[tuple[str, Instruction]]:
    """Arguments that come back as the bits that they are, each with the load of the result."""
    loads = {_symbol(i.operands[1]): i for i in instructions if i.opcode == "ld"}
    for call in instructions:
        if call.opcode == "call" and _SAME_BITS.intersection(map(_symbol, call.operands)):
            groups = [o.elements for o in call.operands if isinstance(o, Group)]
            if len(groups) == 2 and all(groups):
                result, argument = (_symbol(group[0]) for group in groups)
                if argument and result in loads:
                    yield argument, loads[result]


def _argument(instruction: Instruction) -> str:
    """The argument of a call that an instruction sets; "" for none."""
    sets = instruction.opcode == "st" and "param" in instruction.modifiers
    return _symbol(instruction.operands[0]) if sets else ""


def _instructions(module: Module, function: Function) -> list[Instruction]:
    """The instructions of a function that may be followed; it may be malformed."""
    own = module.instructions[function.first_pc : function.end_pc]
    return [i for i in own if len(i.operands) > 1]


def _follow(
    load: Instruction, element: int, name: str, uses: dict[str, list[_Use]], found: Copies
) -> None:
    """Notes the load if everything that its value reaches is a store."""
    stores: list[tuple[int, int]] = []
    todo, seen = [(name, False)], {(name, False)}
    while todo:
        register, mixed = todo.pop()
        if any(use.element == -3 for use in uses.get(register, ())):
            continue  # what is stored from here on is the product's
        for use in uses.get(register, ()):
            if use.element == -4:
                continue
            kind = opcode_of(use.instruction).kind
            if use.element >= 0:
                if mixed and use.instruction.operands[0] != load.operands[1]:
                    return
                if not mixed:
                    stores.append((use.instruction.pc, use.element))
            elif use.element == -5 or (
                use.element == -1 and kind in ("move", "bits", "conversion")
            ):
                target = use.instruction.operands[0]
                if not isinstance(target, Register):
                    return
                following = target.name, mixed or kind not in ("move", "load")
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
            else:
                return
    found.loads.add((load.pc, element))
    for store in stores:
        found.stores.setdefault(store, []).append((load.pc, element))


def _objects(function: Function) -> frozenset[str]:
    """Parameters, of the function and of its calls, that hold objects and not single values."""
    found = (*function.parameters, *function.returns, *function.variables)
    return frozenset(v.name for v in found if v.space == "param" and v.nbytes > v.type.nbytes)


def _copies_into(instruction: Instruction, objects: frozenset[str]) -> bool:
    """Whether this is a store to memory or into a parameter that is an object."""
    where = instruction.operands[0] if instruction.opcode == "st" else None
    if not isinstance(where, Address):
        return False
    into_parameter = "param" in instruction.modifiers and isinstance(where.base, Symbol)
    return not into_parameter or getattr(where.base, "name", "") in objects


def _reads(
    instruction: Instruction, objects: frozenset[str], handed: frozenset[str]
) -> Iterator[tuple[str, _Use]]:
    """The registers that an instruction reads; arguments `handed` only go on to a shuffle."""
    if instruction.guard is not None:
        yield instruction.guard.name, _Use(instruction, -2)
    if "mma_async" in instruction.modifiers:
        begins = immediate(instruction.operands[3]) in (None, 0)  # a predicate, or never adds
        for sum_ in elements(instruction.operands[0]):
            if isinstance(sum_, Register):
                yield sum_.name, _Use(instruction, -3 if begins else -1)
    stores = instruction.opcode == "st"
    copying = _copies_into(instruction, objects)
    operands = instruction.operands if stores else instruction.operands[1:]
    shuffles = 0 if instruction.opcode == "shfl" else -1  # the place of what it hands on
    if _argument(instruction) in handed:
        shuffles = 1
    for place, operand in enumerate(operands):
        for element, part in enumerate(elements(operand)):
            use = _Use(instruction, element if copying and place == 1 else -1)
            if place == shuffles:
                use = _Use(instruction, -4)
            if isinstance(part, Register):
                yield part.name, use
            elif isinstance(part, Address) and isinstance(part.base, Register):
                yield part.base.name, _Use(instruction, -2)
            elif not isinstance(part, Address):
                yield from ((name, use) for name in registers(part))


# Plain loads whose value an atomic compare-and-swap checks again before anything depends on it.
#
# `old = *p; do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);` is how
# people write the atomics that CUDA lacks (CUDA C++ Programming Guide, "Atomic Functions"): should
# another thread change the word after the first load, the swap fails and the loop goes round.


def rechecked_loads(module: Module) -> frozenset[int]:
    """The pcs of loads whose value reaches, by moves alone, what a compare-and-swap compares.

    Unoptimised code swaps in a function of its own, so that the way may lead through calls, and
    keeps a variable that is a pointer on the stack.
    """
    if ".cas" not in module.text:
        return frozenset()
    flows = [_Flow(module, f) for f in module.functions.values() if f.end_pc > f.first_pc]
    compared: Parameters = frozenset()
    size = -1
    while len(compared) > size:
        size = len(compared)
        for flow in flows:
            compared |= flow.compared_parameters(compared)
    return frozenset(pc for flow in flows for pc in flow.loads)


_STACK = (Register("%SP"), Register("%SPL"))  # where a function's own variables begin


class _Flow:
    """The registers, and places on the stack, of one function that a compare-and-swap compares."""

    def __init__(self, module: Module, function: Function) -> None:
        self.function = function
        instructions = _instructions(module, function)
        self._calls = [i for i in instructions if i.opcode == "call"]
        self._loads = [i for i in instructions if i.opcode == "ld"]
        self._given = [i for i in instructions if _argument(i)]
        moves = (
            (i.operands[0], i.operands[-1])
            for i in instructions
            if i.opcode == "mov" or (i.opcode in ("ld", "st") and any(map(_slot, i.operands)))
        )
        self._moves = [(_held_in(to), _held_in(value)) for to, value in moves]
        given_back = dict(_given_back(instructions))
        for store in self._given:
            if (load := given_back.get(_symbol(store.operands[0]))) is not None:
                self._moves.append((_register(load.operands[0]), _register(store.operands[1])))
        self.compared = {
            _register(i.operands[2])
            for i in instructions
            if i.opcode == "atom" and "cas" in i.modifiers and len(i.operands) > 2
        } - {""}
        self.loads: list[int] = []

    def compared_parameters(self, known: Parameters) -> Parameters:
        """Follows the values back, given what is known of the functions that are called."""
        names = {name for call in self._calls for name in _arguments(call, known)}
        for store in self._given:
            if _symbol(store.operands[0]) in names:
                self.compared.add(_register(store.operands[1]))
        size = -1
        while len(self.compared) > size:
            size = len(self.compared)
            for to, value in self._moves:
                if to in self.compared - {""}:
                    self.compared.add(value)
        loads = [i for i in self._loads if _register(i.operands[0]) in self.compared - {""}]
        self.loads = [i.pc for i in loads if "param" not in i.modifiers]
        taken = {_symbol(i.operands[1]) for i in loads if "param" in i.modifiers}
        own = enumerate(self.function.parameters)
        return frozenset((self.function.name, number) for number, p in own if p.name in taken)


def _arguments(call: Instruction, known: Parameters) -> list[str]:
    """The variables that a call hands to parameters which are known."""
    callee = next((o.name for o in call.operands if isinstance(o, Symbol)), "")
    groups = [o for o in call.operands if isinstance(o, Group)]
    arguments = groups[-1].elements if groups else ()
    return [_symbol(o) for number, o in enumerate(arguments) if (callee, number) in known]


def _held_in(operand: Operand) -> str:
    """The register or the place on the stack that holds a value; "" for anything else."""
    return _register(operand) or _slot(operand)


def _slot(operand: Operand) -> str:
    """A place on the stack, under a name that no register has; "" for anything else."""
    if not isinstance(operand, Address) or operand.base not in _STACK:
        return ""
    return f"[stack+{operand.offset}]"


def _register(operand: Operand) -> str:
    return operand.name if isinstance(operand, Register) else ""


def _symbol(operand: Operand) -> str:
    base = operand.base if isinstance(operand, Address) else operand
    return base.name if isinstance(base, Symbol) else ""


# An access, cut into the granules in which hazards are looked for.


def element_bytes(event: AccessEvent) -> int:
    """Bytes of one element of the access."""
    return event.width // max(len(event.values), 1) if event.kind != "atomic" else event.width


def granule_of(event: AccessEvent) -> int:
    """Bytes of the granules that suit an access."""
    return min(element_bytes(event), 4)


def pieces(
    event: AccessEvent, granule: int, lanes: Indices
) -> Iterator[NDArray[np.unsignedinteger] | None]:
    """What the lanes store in each granule of the access; None if it is not a plain store."""
    if event.kind != "store":
        yield from [None] * max(event.width // granule, 1)
        return
    for value in event.values:
        raw = np.ascontiguousarray(value)
        raw = np.repeat(raw, len(lanes)) if raw.size == 1 else raw
        raw = raw if len(raw) == len(lanes) else raw[lanes]
        parts = raw.view(f"u{granule}").reshape(len(lanes), -1)
        for column in range(parts.shape[1]):
            yield parts[:, column]


# What threads know of each other's accesses, and the serials that say which came first.
#
# A stamp is `serial << 32 | thread`; the thread counts through the grid. Asynchronous operations
# have numbers of their own from `AGENTS` on, an even one for what they write and the next for what
# they read: nothing but the end of an operation, which somebody waits for, orders what it does.


Stamps = Ints
LOW = np.int64(0xFFFFFFFF)
AGENTS = 1 << 31


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Serials up to which accesses are known, of single threads and of whole blocks.

    All arrays int64; the keys ascend.
    """

    threads: Ints
    thread_serials: Ints
    blocks: Ints
    block_serials: Ints

    def covers(self, serials: Stamps, threads: Stamps, blocks: Stamps) -> Mask:
        """Which accesses, by their serial, thread and block, are among them."""
        result: Mask = serials < _look_up(self.threads, self.thread_serials, threads)
        result |= serials < _look_up(self.blocks, self.block_serials, blocks)
        return result


def _look_up(keys: Stamps, values: Stamps, wanted: Stamps) -> Stamps:
    """The value of each wanted key, 0 where there is none."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0)


def latest(keys: list[Stamps], serials: list[Stamps]) -> tuple[Stamps, Stamps]:
    """The keys in ascending order, each with its highest serial."""
    key, serial = np.concatenate(keys), np.concatenate(serials)
    if len(key) < 2:
        return key, serial
    order = np.lexsort((serial, key))
    key, serial = key[order], serial[order]
    last = np.empty(len(key), bool)
    last[-1] = True
    np.not_equal(key[1:], key[:-1], out=last[:-1])
    return key[last], serial[last]


def merged(parts: Iterable[Knowledge]) -> Knowledge:
    """What any of them knows."""
    unique = list({id(p): p for p in parts}.values())
    if len(unique) == 1:
        return unique[0]
    return Knowledge(
        *latest([p.threads for p in unique], [p.thread_serials for p in unique]),
        *latest([p.blocks for p in unique], [p.block_serials for p in unique]),
    )


def _of_agent(agent: int, serial: int, *, reads_only: bool = False) -> Knowledge:
    """That an asynchronous agent has done, or has read, what it began up to a serial."""
    nothing = np.zeros(0, np.int64)
    known = np.array([agent + 1] if reads_only else [agent, agent + 1])
    return Knowledge(known, np.full(len(known), serial + 1), nothing, nothing)


@dataclass
class Timeline:
    """What outlives one machine: the serial, and what was published at which place."""

    published: dict[tuple[str, int], Knowledge] = field(default_factory=dict)
    sites: list[int] = field(default_factory=lambda: [-1, -1])  # pc of each serial's access

    @property
    def serial(self) -> int:
        """The serial of the latest access or synchronisation."""
        return len(self.sites) - 1

    def next(self, pc: int = -1) -> int:
        """A new serial; `pc` is where an access comes from."""
        self.sites.append(pc)
        return len(self.sites) - 1


# Which accesses are ordered: barriers, warp synchronisation, and flags with a fence.
#
# Every access has a *serial*, a number that rises as the machine runs. Each thread keeps up to
# which serial the accesses of others happened before what it does now: those of its block (a
# barrier), of some warps of its block (a barrier with a thread count), of lanes of its warp
# (`__syncwarp` and the `.sync` instructions), and those that another thread published with a fence
# and an atomic (or volatile) access that this thread has read (PTX ISA, "Memory Consistency Model":
# causality order). A stamp is `serial << 32 | thread`; the thread counts through the grid.


_PROXY_ROWS = {"": (0, 1), "global": (0,), "shared": (1,)}


class Order:
    """The ordering of one machine's lanes."""

    def __init__(self, geometry: Geometry, timeline: Timeline) -> None:
        self._geometry, self.timeline = geometry, timeline
        count, self._size = geometry.lanes, geometry.threads
        within = np.tile(np.arange(self._size, dtype=np.int64), len(geometry.blocks))
        self._place = np.repeat(np.arange(len(geometry.blocks)), self._size)
        self.block = np.asarray(geometry.blocks, np.int64)[self._place]
        self.thread: Stamps = self.block * self._size + within
        self._warp = within // WARP
        self._own_warp = self._warps_of(self.thread)
        self._machine_warp = self._place * geometry.warps + self._warp
        self._warp_sizes = np.bincount(self._machine_warp)
        self._by_block = np.full(count, timeline.serial, np.int64)
        self._by_whole_warp = np.zeros(count, np.int64)
        self._by_lane: Stamps | None = None  # (lanes, 32), where only some lanes of a warp met
        self._by_warp: Stamps | None = None  # (warps of the machine, warps of a block)
        self._fence = np.zeros(count, np.int64)
        self._arrival = np.zeros(count, np.int64)  # when the lane last came to a barrier
        # Up to which serial what others wrote, and a lane knew of, has passed its proxy fence.
        # One row each for global and shared memory.
        self._proxy = np.zeros((2, count), np.int64)  # what the lane itself wrote
        self._proxy_block = np.zeros((2, len(geometry.blocks)), np.int64)  # what its block did
        self._gathered: dict[int, list[Knowledge]] = {}  # by mbarrier: what its phase will tell
        self._flying: dict[int, tuple[int, Knowledge]] = {}  # by transfer: its mbarrier, its end
        self._landed: dict[int, list[Knowledge]] = {}  # by mbarrier: copies that have come
        self._known: dict[int, Knowledge] = {}  # lane -> what it has acquired
        self._block_known: dict[int, Knowledge] = {}  # place of a block -> all its threads
        self._on_arrival: dict[int, Knowledge] = {}  # what a lane knew as it came to a barrier
        self.bound: Stamps = self._by_block << 32  # stamps below are before the block's barrier

    # -- asking -----------------------------------------------------------------------------

    def unordered(self, stamps: Stamps, lanes: Indices) -> Mask:
        """Whether what each stamp stands for is unordered with what the lane does now.

        `stamps` and `lanes` have one place each a lane; stamp 0 stands for nothing.
        """
        serial, thread = stamps >> 32, stamps & LOW
        mine = self.thread[lanes]
        result: Mask = (thread != mine) & (stamps != 0)
        if not np.count_nonzero(result):
            return result
        same_block = thread // self._size == self.block[lanes]
        result &= ~(same_block & (serial < self._by_block[lanes]))
        within = thread % self._size
        same_warp = same_block & (within // WARP == self._warp[lanes])
        result &= ~(same_warp & (serial < self._by_whole_warp[lanes]))
        if self._by_lane is not None:
            result &= ~(same_warp & (serial < self._by_lane[lanes, within % WARP]))
        if self._by_warp is not None:
            warp = np.where(same_block, within // WARP, 0)
            by_warp = self._by_warp[self._machine_warp[lanes], warp]
            result &= ~(same_block & (serial < by_warp))
        if self._known or self._block_known:
            self._strike_known(result, serial, thread, lanes)
        return result

    def _strike_known(self, result: Mask, serial: Stamps, thread: Stamps, lanes: Indices) -> None:
        """Clears `result` where the lane has acquired the access."""
        by_knowledge: dict[int, tuple[Knowledge, list[int]]] = {}
        for i in np.flatnonzero(result).tolist():
            for known in self._of(int(lanes[i])):
                by_knowledge.setdefault(id(known), (known, []))[1].append(i)
        for known, places in by_knowledge.values():
            one = thread[places]
            result[places] &= ~known.covers(serial[places], one, one // self._size)

    def same_warp(self, stamps: Stamps, lanes: Indices) -> Mask:
        """Whether each stamp's thread belongs to the lane's warp."""
        result: Mask = self._warps_of(stamps & LOW) == self._own_warp[lanes]
        return result

    def _warps_of(self, thread: Stamps) -> Stamps:
        """Numbers the warps of the grid, with gaps perhaps: the warp of each thread."""
        if self._size % WARP == 0:
            return thread // WARP
        return thread // self._size * self._size + thread % self._size // WARP

    def _of(self, lane: int) -> list[Knowledge]:
        found = (self._known.get(lane), self._block_known.get(int(self._place[lane])))
        return [k for k in found if k is not None]

    # -- being told -------------------------------------------------------------------------

    def barrier(self, event: BarrierEvent) -> None:
        """The blocks let through, or the lanes that met at a barrier with a count, are ordered."""
        if not len(event.released):
            return
        self.timeline.next()
        free = np.zeros(len(self._geometry.blocks), bool)
        free[event.released] = True
        lanes = free[self._place]
        self._by_block = np.where(lanes, self.timeline.serial, self._by_block)
        self.bound = self._by_block << 32
        if self._known:
            self._share(event.released.tolist())

    def _share(self, blocks: Iterable[int]) -> None:
        for place in blocks:
            lanes = [lane for lane in self._known if self._place[lane] == place]
            parts = [self._known.pop(lane) for lane in lanes]
            if parts:
                old = self._block_known.get(place)
                self._block_known[place] = merged(parts if old is None else [*parts, old])

    def arriving(self, mask: Mask | None) -> None:
        """Lanes come to a barrier that does not let the whole block through."""
        self._arrival[slice(None) if mask is None else mask] = self.timeline.next()
        if self._known or self._on_arrival:
            for lane in range(len(self._place)) if mask is None else np.flatnonzero(mask).tolist():
                self._on_arrival.pop(lane, None)
                if lane in self._known:
                    self._on_arrival[lane] = self._known[lane]

    def meeting(self, lanes: Mask) -> None:
        """The warps of these lanes met at a barrier that not the whole block takes part in.

        What each lane did before its arrival is ordered; a lane that only announced itself has gone
        on since.
        """
        arrival = np.zeros(len(self._warp_sizes), np.int64)
        np.maximum.at(arrival, self._machine_warp[lanes], self._arrival[lanes])
        warps = self._geometry.warps
        if self._by_warp is None:
            self._by_warp = np.zeros((len(self._geometry.blocks) * warps, warps), np.int64)
        rows = np.unique(self._machine_warp[lanes])
        for block in np.unique(rows // warps):
            here = rows[rows // warps == block]
            known = self._by_warp[here].max(axis=0)
            known[here % warps] = arrival[here]
            self._by_warp[here] = known
        if self._on_arrival:
            self._tell_each_other(np.flatnonzero(lanes))

    def _tell_each_other(self, lanes: Indices) -> None:
        """Tells the lanes of each block what any of them knew when it came to the barrier."""
        for block in np.unique(self._place[lanes]):
            mates = lanes[self._place[lanes] == block].tolist()
            parts = [self._on_arrival.pop(mate) for mate in mates if mate in self._on_arrival]
            if parts:
                self._learn(mates, merged(parts))

    def _learn(self, lanes: Iterable[int], new: Knowledge) -> None:
        """Adds to what lanes know; those that knew the same go on to share it."""
        joined: dict[int, Knowledge] = {}
        for lane in lanes:
            old = self._known.get(lane)
            if id(old) not in joined:
                joined[id(old)] = new if old is None else merged((new, old))
            self._known[lane] = joined[id(old)]

    def synchronised(self, event: SyncEvent) -> None:
        """Lanes of a warp met; `event.mask` are those that did."""
        now = self.timeline.next()
        if event.mask is None:
            self._by_whole_warp[:] = now
            lanes = np.arange(self._geometry.lanes)
        else:
            lanes = np.flatnonzero(event.mask)
            self._meet(lanes, now)
        if self._known:
            self._share_warps(lanes, self._machine_warp[lanes])

    def _meet(self, lanes: Indices, now: int) -> None:
        """These lanes met the others of their warp among them."""
        present = np.bincount(self._machine_warp[lanes], minlength=len(self._warp_sizes))
        whole = (present == self._warp_sizes)[self._machine_warp[lanes]]
        self._by_whole_warp[lanes[whole]] = now
        lanes = lanes[~whole]
        if not len(lanes):
            return
        if self._by_lane is None:
            self._by_lane = np.zeros((self._geometry.lanes, WARP), np.int64)
        warp, lane = self._machine_warp[lanes], self.thread[lanes] % self._size % WARP
        known = np.zeros((len(self._warp_sizes), WARP), np.int64)
        np.maximum.at(known, warp, self._by_lane[lanes])
        known[warp, lane] = now
        self._by_lane[lanes] = known[warp]

    def _share_warps(self, lanes: Indices, warp: Ints) -> None:
        taking_part = set(lanes.tolist())
        for lane in [lane for lane in self._known if lane in taking_part]:
            mates = lanes[warp == self._machine_warp[lane]].tolist()
            common = merged([k for m in mates if (k := self._known.get(m)) is not None])
            for mate in mates:
                self._known[mate] = common

    def fence(self, mask: Mask | None) -> None:
        """What these lanes did so far is published by their next atomic or volatile access."""
        self._fence[slice(None) if mask is None else mask] = self.timeline.next()

    # -- asynchronous operations ------------------------------------------------------------

    def proxy_fence(self, mask: Mask | None, space: str) -> None:
        """What these lanes wrote, and what their block's last barrier ordered, may be read.

        `space`: "global", "shared" or "", both.
        """
        now = self.timeline.next()
        lanes = np.arange(len(self._place)) if mask is None else np.flatnonzero(mask)
        for row in _PROXY_ROWS[space]:
            self._proxy[row, lanes] = now
            np.maximum.at(self._proxy_block[row], self._place[lanes], self._by_block[lanes])

    def has_passed_proxy(self, stamps: Stamps, space: str) -> Mask:
        """Whether asynchronous operations that the lane begins see these threads' writes.

        A fence of the writing thread counts, or a later one in its block behind a barrier.
        """
        serial, thread = stamps >> 32, stamps & LOW
        here = (thread >= self.thread[0]) & (thread <= self.thread[-1]) & (stamps != 0)
        place = np.searchsorted(self.block[:: self._size], thread // self._size)
        place = np.minimum(place, len(self._geometry.blocks) - 1)
        lanes = np.where(here, place * self._size + thread % self._size, 0)
        (row,) = _PROXY_ROWS[space]
        passed: Mask = serial < self._proxy[row, lanes]
        passed |= serial < self._proxy_block[row, place]
        passed |= ~here
        return passed

    def unordered_with(self, stamps: Stamps, lanes: Indices) -> Mask:
        """Whether each stamp is unordered with what any of these lanes begins together."""
        several = np.tile(stamps, len(lanes))
        found = self.unordered(several, np.repeat(lanes, len(stamps)))
        result: Mask = np.logical_or.reduce(found.reshape(len(lanes), -1))
        return result

    def know(self, lanes: Indices, agent: int, serial: int, *, reads_only: bool = False) -> None:
        """Lanes know that what an agent did, or read, up to a serial is done."""
        self._learn(lanes.tolist(), _of_agent(agent, serial, reads_only=reads_only))

    def will_tell(self, place: int, number: int, agent: int, serial: int) -> None:
        """An mbarrier hears of the end of an agent's operation, the transfer `number`."""
        self._flying[number] = place, _of_agent(agent, serial)

    def landed(self, number: int) -> None:
        """The bytes of a transfer that an mbarrier hears of have come, and count there."""
        if number in self._flying:
            place, done = self._flying.pop(number)
            self._landed.setdefault(place, []).append(done)

    def will_tell_now(self, place: int, agent: int, serial: int) -> None:
        """The present phase of an mbarrier tells of what an agent did up to a serial."""
        self._gathered.setdefault(place, []).append(_of_agent(agent, serial))

    def phase(self, event: PhaseEvent, name: str) -> None:
        """Lanes arrive at mbarriers, a phase ends, or lanes know that it has ended."""
        if event.kind == "wait":
            self.acquire(name, event.places.astype(np.int64), event.lanes)
        elif event.kind == "end":
            flying = {place for place, _ in self._flying.values()}
            for place in event.places.tolist():
                parts = self._gathered.pop(place, [])
                # Where more copies are under way than the phase expects bytes for, any of them may
                # have ended it: a wait for it says nothing of one copy.
                if place not in flying:
                    parts += self._landed.pop(place, [])
                old = self.timeline.published.get((name, place))
                if parts:
                    parts = parts if old is None else [*parts, old]
                    self.timeline.published[name, place] = merged(parts)
        elif event.kind == "arrive":
            self.timeline.next()
            for place in np.unique(event.places).tolist():
                lanes = event.lanes[event.places == place]
                if event.is_relaxed:  # only what a fence came after is released
                    lanes = lanes[self._fence[lanes] > 0]
                    if not len(lanes):
                        continue
                parts = [self._published_by(lanes, fenced=not event.is_relaxed)]
                parts += [k for lane in lanes.tolist() for k in self._of(lane)]
                self._gathered.setdefault(place, []).append(merged(parts))

    def acquire(self, region: str, offset: Ints, lanes: Indices) -> None:
        """Lanes read, by an atomic or volatile access, the bytes at `offset` in a region."""
        published = self.timeline.published
        if not published:
            return
        order = np.argsort(offset, kind="stable")
        places, firsts = np.unique(offset[order], return_index=True)
        for place, several in zip(places.tolist(), np.split(lanes[order], firsts[1:]), strict=True):
            new = published.get((region, place))
            if new is not None:
                self._learn(several.tolist(), new)

    def release(self, region: str, offset: Ints, lanes: Indices, *, fenced: bool) -> None:
        """Lanes write these bytes by an atomic or volatile access.

        What a lane did before its last fence (with `fenced`, before this access) is published.
        """
        if not fenced:
            publishing = self._fence[lanes] > 0
            offset, lanes = offset[publishing], lanes[publishing]
        for place in np.unique(offset).tolist():
            several = lanes[offset == place]
            parts = [self._published_by(several, fenced=fenced)]
            if self._known or self._block_known:
                parts += [k for lane in several.tolist() for k in self._of(lane)]
            old = self.timeline.published.get((region, place))
            if old is not None:
                parts.append(old)
            self.timeline.published[region, place] = merged(parts)

    def _published_by(self, lanes: Indices, *, fenced: bool) -> Knowledge:
        own = np.full(len(lanes), self.timeline.serial) if fenced else self._fence[lanes]
        since, block = self._by_block[lanes], self.block[lanes]
        after = own >= since
        threads, serials = [self.thread[lanes]], [own]
        # Where every thread fenced, then came a barrier, and then one thread's flag:
        before = np.isin(self._place, np.unique(self._place[lanes[~after]]))
        threads.append(self.thread[before])
        serials.append(np.minimum(self._fence, self._by_block)[before])
        mates = self.thread[lanes] - self.thread[lanes] % self._size % WARP
        met = np.repeat(self._by_whole_warp[lanes][:, None], WARP, axis=1)
        if self._by_lane is not None:
            met = np.maximum(met, self._by_lane[lanes])
        met = np.where(met <= own[:, None], met, 0)
        useful = met > since[:, None]
        threads.append((mates[:, None] + np.arange(WARP))[useful])
        serials.append(met[useful])
        if self._by_warp is not None:
            self._of_warps(lanes, own, threads, serials)
        return Knowledge(*latest(threads, serials), *latest([block[after]], [since[after]]))

    def _of_warps(
        self, lanes: Indices, own: Stamps, threads: list[Stamps], serials: list[Stamps]
    ) -> None:
        """Adds what barriers with a count have told the lanes' warps of others."""
        assert self._by_warp is not None
        within = np.arange(self._size)
        for row in np.unique(self._machine_warp[lanes]).tolist():
            first = row // self._geometry.warps * self._size
            known = np.minimum(self._by_warp[row][within // WARP], own.max())
            threads.append(self.thread[first + within][known > 0])
            serials.append(known[known > 0])


# Shadow of a piece of memory: who wrote and who read every granule of it last.
#
# A granule has as many bytes as the narrowest access so far. Accesses are *plain*, *volatile* or
# *atomic*. Two accesses by different threads race if nothing orders them, one of them writes, and
# one of them is plain (PTX ISA, "Memory Consistency Model": a data race). Volatile accesses of one
# warp to shared memory race as well: code that counts on its lanes running in lock step has been
# wrong since Volta.


Class = Literal["plain", "volatile", "atomic", "async", "reduced"]
_OF_COPIES = ("async", "reduced")  # which asynchronous agents do, and no thread
Bad = Mask


@dataclass(slots=True)
class Touch:
    """Lanes touch one granule each. All arrays have one place a lane that takes part.

    `value` is what is stored there, as unsigned whole numbers; None for loads and atomics.
    """

    writes: bool
    how: Class
    place: Ints
    stamp: Stamps
    lanes: Indices
    value: NDArray[np.unsignedinteger] | None = None


class Shadow:
    """The shadow of `nbytes` bytes.

    `initialised`: whether their content is defined at the start; `private`: whether only threads of
    one block touch a granule, so that the block's barrier orders everything; `space`: "shared" for
    what `fence.proxy.async.shared` fences.
    """

    def __init__(
        self, nbytes: int, *, initialised: bool, private: bool, space: str = "global"
    ) -> None:
        self.nbytes, self.granule, self._private, self._space = nbytes, 4, private, space
        size = self._size()
        self._writes: dict[Class, Stamps] = {}
        # Who read: the highest and lowest lane of the latest read, and one before it.
        self._reads: dict[Class, Stamps] = {}  # (3, granules)
        self._read_by: dict[int, Stamps] = {}  # the latest read of each asynchronous agent
        self._values: NDArray[np.unsignedinteger] = np.zeros(size, "u4")
        self.written: Mask | None = None if initialised else np.zeros(size, bool)

    def _size(self) -> int:
        return -(-self.nbytes // self.granule) + 16 // self.granule

    def _of(self, rows: dict[Any, Stamps], key: Class | int) -> Stamps:
        """The stamps of a kind of access or an agent, all 0 at first."""
        if key not in rows:
            rows[key] = np.zeros(self._size(), np.int64)
        return rows[key]

    def fill_gaps(self, nbytes: int, stride: int, count: int) -> None:
        """Only the first `nbytes` of each of `count` stretches are there to be written."""
        assert self.written is not None
        end = stride * count // self.granule
        self.written[end:] = True
        self.written[:end].reshape(count, -1)[:, -(-nbytes // self.granule) :] = True

    def refine(self, granule: int) -> None:
        """Makes the granules as small as this; the parts of a granule inherit its stamps."""
        factor = self.granule // granule
        if factor <= 1:
            return
        self.granule = granule
        size = self._size()

        def cut(old: Ints) -> Ints:
            return np.repeat(old, factor, axis=-1)[..., :size]

        self._writes = {how: cut(stamps) for how, stamps in self._writes.items()}
        self._read_by = {agent: cut(stamps) for agent, stamps in self._read_by.items()}
        self._reads = {how: cut(stamps) for how, stamps in self._reads.items()}
        self._values = self._values.view(f"u{granule}")[:size]
        if self.written is not None:
            self.written = np.repeat(self.written, factor)[:size]

    def forget(self, start: int, nbytes: int) -> None:
        """Nobody has touched these bytes."""
        granules = slice(start // self.granule, -(-(start + nbytes) // self.granule))
        known = (*self._writes.values(), *self._read_by.values(), *self._reads.values())
        for stamps in known:
            stamps[..., granules] = 0
        if self.written is not None:
            self.written[granules] = False

    def is_copied(self, place: Ints) -> Bad:
        """Whether asynchronous operations wrote these bytes last."""
        copied = self._writes.get("async")
        if copied is None:
            return np.zeros(len(place), bool)
        granules = place // self.granule
        mine = copied.take(granules)
        result: Bad = mine != 0
        for how, stamps in self._writes.items():
            if how != "async":
                result &= stamps.take(granules) < mine
        return result

    def written_by(self, how: Class, granules: Ints) -> Stamps:
        """Who wrote each granule last by accesses of a kind, 0 where nobody did."""
        stamps = self._writes.get(how)
        return np.zeros(granules.shape, np.int64) if stamps is None else stamps.take(granules)

    def last_write(self, start: int) -> int:
        """The stamp of the latest write of any of eight bytes, 0 where there is none."""
        granules = slice(start // self.granule, (start + 8) // self.granule)
        return max((int(s[granules].max()) for s in self._writes.values()), default=0)

    def restamp(self, words: Ints, how: Class, old: Stamps, to: Class, new: Stamps) -> None:
        """Writes of words, which bear stamps `old`, count as others; what came later stays.

        `words` (lanes, words of each), `old` and `new` (lanes,).
        """
        parts = 4 // self.granule
        place = words
        if parts > 1:
            place = (words[..., None] * parts + np.arange(parts)).reshape(len(words), -1)
        several = place.shape[1]
        place, old, new = place.reshape(-1), np.repeat(old, several), np.repeat(new, several)
        writes = self._writes.get(how)
        if writes is None:
            return
        mine = writes[place] == old
        if to != how:
            target = self._of(self._writes, to)
            mine &= target[place] <= old
            place, new = place[mine], new[mine]
            writes[place], target[place] = 0, new
        elif np.count_nonzero(mine) < len(mine):
            writes[place[mine]] = new[mine]
        else:
            writes[place] = new

    def differs(self, event: AccessEvent, offset: Ints, lanes: Indices) -> Bad:
        """Which lanes of a plain store change what was stored last, as far as that is known."""
        result = np.zeros(len(lanes), bool)
        first = offset // self.granule
        for i, value in enumerate(pieces(event, self.granule, lanes)):
            result |= True if value is None else self._values[first + i] != value
        return result

    def unwritten(self, first: Ints, granules: int) -> Bad:
        """Whether no granule of each element has been written."""
        assert self.written is not None
        result: Bad = ~self.written.take(first)
        for i in range(1, granules):
            result &= ~self.written.take(first + i)
        return result

    def touch(self, touch: Touch, order: Order) -> Iterator[tuple[Bad, Stamps]]:
        """Notes an access and yields the lanes that race, with the stamps that they race with."""
        yield from self._against_writes(touch, order)
        if not touch.writes:
            self._note_read(touch, order)
            return
        yield from self._against_reads(touch, order)
        place = touch.place
        writes = self._of(self._writes, touch.how)
        writes[place] = touch.stamp
        if touch.value is not None:
            self._values[place] = touch.value
            lost = self._values[place] != touch.value
            if np.count_nonzero(lost):
                yield lost, writes[place]
        if self.written is not None:
            self.written[place] = True

    def _note_read(self, touch: Touch, order: Order) -> None:
        """Notes a read; one by another warp replaces the one before it."""
        if touch.how not in self._reads:
            self._reads[touch.how] = np.zeros((3, self._size()), np.int64)
        last, first, before = self._reads[touch.how]
        place, stamp = touch.place, touch.stamp
        old = last[place]
        move = ((old ^ stamp) & LOW != 0) & (old != 0)
        if np.count_nonzero(move):
            kept = before[place]
            useless = (kept == 0) | order.same_warp(kept, touch.lanes)
            move &= useless | ~order.same_warp(old, touch.lanes)
            before[place[move]] = old[move]
        last[place] = stamp
        first[place[::-1]] = stamp[::-1]

    def _against_writes(self, touch: Touch, order: Order) -> Iterator[tuple[Bad, Stamps]]:
        for how, stamps in self._writes.items():
            rule = self._rule(touch.how, how)
            if rule is None:
                continue
            found = stamps.take(touch.place)
            bad = self._suspects(found, touch, order, by_thread=how not in _OF_COPIES)
            if bad is None:
                continue
            if touch.value is not None and how not in ("atomic", *_OF_COPIES):
                bad &= self._values[touch.place] != touch.value
            if rule == "in a warp":
                bad &= order.same_warp(found, touch.lanes)
            if bad.any():
                yield bad, found

    def _against_reads(self, touch: Touch, order: Order) -> Iterator[tuple[Bad, Stamps]]:
        for stamps in self._read_by.values():
            found = stamps.take(touch.place)
            bad = self._suspects(found, touch, order, by_thread=False)
            if bad is not None:
                yield bad, found
        for how, reads in self._reads.items():
            rule = self._rule(touch.how, how)
            if rule is None:
                continue
            seen = np.zeros(len(touch.place), bool)
            for stamps in reads:
                found = stamps.take(touch.place)
                bad = self._suspects(found, touch, order)
                if bad is None:
                    continue
                if rule == "in a warp":
                    bad &= order.same_warp(found, touch.lanes)
                bad &= ~seen
                seen |= bad
                if bad.any():
                    yield bad, found

    def begin(
        self, place: Ints, stamp: int, order: Order, lanes: Indices, how: str
    ) -> Iterator[tuple[str, Indices, Stamps]]:
        """Notes that an asynchronous operation of these lanes reads or writes (`how`) granules.

        Yields what is wrong, in which places, with the stamps of the other accesses. `how`
        "update": it reduces, which goes with other reductions and atomics in any order.
        """
        agent = stamp & int(LOW)
        harmless = ("atomic", "reduced") if how == "update" else ()
        writes = (stamps for kind, stamps in self._writes.items() if kind not in harmless)
        others: list[tuple[str, Stamps]] = [("write", stamps) for stamps in writes]
        if how != "read":
            reads = (stamps for kind in self._reads.values() for stamps in kind)
            others += [("read", s) for s in (*reads, *self._read_by.values())]
        for what, stamps in others:
            found = stamps.take(place)
            several, inverse = np.unique(found, return_inverse=True)
            bad = order.unordered_with(several, lanes) & ((several & LOW) | 1 != agent | 1)
            if bad.any():
                yield "race", np.flatnonzero(bad[inverse]), found
            elif what == "write" and how != "write":
                hidden = (several != 0) & (several & LOW < AGENTS)
                hidden &= ~order.has_passed_proxy(several, self._space)
                if hidden.any():
                    yield "proxy_fence", np.flatnonzero(hidden[inverse]), found
        if how == "read":
            self._of(self._read_by, agent)[place] = stamp
            return
        mine: Class = "reduced" if how == "update" else "async"
        self._of(self._writes, mine)[place] = stamp
        for how_written, stamps in self._writes.items():
            if mine == "async" and how_written != mine:
                stamps[place] = 0
        if self.written is not None:
            self.written[place] = True

    def _suspects(
        self, found: Stamps, touch: Touch, order: Order, *, by_thread: bool = True
    ) -> Bad | None:
        """The lanes not ordered after these stamps, None if there are none.

        `by_thread`: the stamps are those of threads, which barriers order.
        """
        if self._private and by_thread:
            bound = order.bound
            if len(touch.lanes) != len(bound):
                bound = bound[touch.lanes]
            if not np.count_nonzero(found >= bound):
                return None
        elif not np.count_nonzero(found):
            return None
        bad = order.unordered(found, touch.lanes)
        return bad if np.count_nonzero(bad) else None

    def _rule(self, one: Class, other: Class) -> str | None:
        """When two accesses that nothing orders race, given that one of them writes."""
        if "plain" in (one, other):
            return "always"
        return "in a warp" if one == other == "volatile" and self._private else None


# What the hazards of one machine need to know of the program and of global memory.


@dataclass(frozen=True)
class Manner:
    """How an instruction touches memory, as far as ordering is concerned."""

    how: Class
    fenced: bool  # publishes what its thread did before, with no fence of its own
    exchanges: bool  # an atomic whose result does not depend on the old content
    is_copy: bool = False  # of a thread's asynchronous copy


def manner(instruction: Instruction) -> Manner:
    """Reads it off the modifiers (PTX ISA, "ld", "st", "atom")."""
    modifiers = instruction.modifiers
    fenced = "release" in modifiers or "acq_rel" in modifiers
    if opcode_of(instruction).kind in ("atomic", "reduction"):
        return Manner("atomic", fenced, "exch" in modifiers)
    if fenced or "acquire" in modifiers or "relaxed" in modifiers or "mmio" in modifiers:
        return Manner("atomic", fenced, False)
    is_copy = opcode_of(instruction).kind == "copy"
    return Manner("volatile" if "volatile" in modifiers else "plain", False, False, is_copy)


@dataclass
class GlobalState:
    """The shadows of global memory, which outlive the machines that run one after another.

    `outputs` are the buffers whose content is undefined at the start, `inputs` those that the
    kernel only reads: they are watched from the first store on. Of those in `partly` only so many
    bytes at the front are defined.
    """

    module: Module
    outputs: frozenset[str]
    inputs: frozenset[str]
    partly: Mapping[str, int] = field(default_factory=dict)
    timeline: Timeline = field(default_factory=Timeline)
    shadows: dict[str, Shadow] = field(default_factory=dict)
    agents: int = 0  # asynchronous agents so far
    waited: dict[int, tuple[int, int]] = field(default_factory=dict)  # by who: serial, thread
    manners: dict[int, Manner] = field(default_factory=dict)
    _copies: dict[str, Copies] = field(default_factory=dict)  # by function

    @cached_property
    def trusting(self) -> frozenset[int]:
        """The volatile loads for which the fence of another thread matters."""
        return trusting_loads(self.module)

    @cached_property
    def fenced_timeline(self) -> Timeline:
        """What would be published if a fence came before every atomic or volatile store."""
        return Timeline(sites=self.timeline.sites)

    @cached_property
    def _rechecked(self) -> frozenset[int]:
        return rechecked_loads(self.module)

    @cached_property
    def _shuffled(self) -> Parameters:
        return shuffled_parameters(self.module)

    def copies(self, pc: int) -> Copies:
        """The loads that only move bytes, in the function that `pc` lies in."""
        function = self.module.function_at(pc)
        found = self._copies.get(function.name)
        if found is None:
            found = _copies(self.module, function, self._shuffled, of_parameters=False)
            self._copies[function.name] = found
        return found

    def manner(self, pc: int) -> Manner:
        """How the instruction touches memory."""
        found = self.manners.get(pc)
        if found is None:
            found = manner(self.module.instructions[pc])
            if found.how == "plain" and pc in self._rechecked:
                found = Manner("volatile", False, False)
            self.manners[pc] = found
        return found

    def shadow(self, region: Region, *, stores: bool) -> Shadow | None:
        """The shadow of a buffer, None where it need not be watched (yet)."""
        found = self.shadows.get(region.name)
        front = self.partly.get(region.name)
        if found is None and (stores or front is not None or region.name not in self.inputs):
            whole = region.name not in self.outputs and front is None
            found = Shadow(region.nbytes, initialised=whole, private=False)
            if found.written is not None and front is not None:
                found.written[: front // found.granule] = True
            self.shadows[region.name] = found
        return found


_PIECE = 16  # bytes that a swizzle moves together
_QUEUE = 256  # shared accesses kept back until a barrier tells whether they matter


UNFENCED = "unfenced"  # both accesses are volatile, and only a fence is missing between them


@dataclass
class Hazard:
    """A hazard's first occurrence. `other_thread` (-1: none) counts through the grid."""

    kind: str  # "race", "uninitialised"
    pc: int
    tick: int
    lane: int
    space: str
    region: str
    offset: int  # bytes in the region (shared memory: of the block, local: of the thread)
    is_store: bool
    other_thread: int = -1
    other_pc: int = -1
    begins: bool = False  # the access itself is that of an asynchronous operation
    how: str = ""  # see `Reach` and `Misuse`; of a race: `UNFENCED` or ""
    within: int = 0  # the swizzle in whose pattern the tile that it reads begins; 0: at its start
    count: int = 1
    is_across: bool = False  # of a race: any of those counted is between two warps
    waited_by: int = -1  # the thread that waited for the operation, where another has to know of it
    copy: Pending | None = None  # of a `cp.async` in flight: how its thread's groups stand


@dataclass(frozen=True)
class _Carried:
    """Unwritten bytes that a load brought: in which lanes, and by which load."""

    event: AccessEvent
    bad: Bad
    offset: Ints
    lanes: Indices

    def among(self, lanes: Indices) -> Bad:
        """Which of `lanes` carry it."""
        return np.isin(lanes, self.lanes[self.bad])


class Hazards(Observer):
    """Watches one machine. Call `finish` when it has run; `found` then holds the hazards."""

    def __init__(
        self, geometry: Geometry, shared_bytes: int, stride: int, state: GlobalState
    ) -> None:
        """`shared_bytes` a block has, `stride` bytes apart from those of the next."""
        self._geometry, self._state = geometry, state
        self._order = Order(geometry, state.timeline)
        # What would be ordered if a fence came before every atomic or volatile store.
        self._fenced = Order(geometry, state.fenced_timeline) if state.trusting else None
        self._orders = (self._order,) if self._fenced is None else (self._order, self._fenced)
        blocks = len(geometry.blocks)
        alone = geometry.cluster.count == 1
        self._shared = Shadow(stride * blocks, initialised=False, private=alone, space="shared")
        self._shared.fill_gaps(shared_bytes, stride, blocks)
        self._lanes = np.arange(geometry.lanes)
        self._queue: list[tuple[AccessEvent, int]] = []
        self._stores_since = False  # any store since the last barrier of all blocks
        self._local: Shadow | None = None
        self._local_stride = 0
        self._unwritings = 0  # times that parts of the stacks have come to hold nothing
        self._carried: dict[tuple[int, int], _Carried] = {}  # by the load's pc and element
        # How the tile is laid out that a bulk copy put into each piece: its swizzle + 1, or 0.
        self._layouts = np.zeros(stride * blocks // _PIECE + 1, np.int16)
        self._copies = AsyncCopies(geometry.lanes)
        self._copies_queued = False
        self._outliving = Outliving(geometry, stride)
        self._mbarriers, self._stride = Initialised(geometry.lanes), stride
        self._unready = Unready(state.module, geometry.lanes)
        self._ended_before: set[int] = set()  # pcs of accesses to blocks that had ended already
        self._agents: dict[Hashable, int] = {}
        self._begun: dict[tuple[Hashable, int], tuple[int, int]] = {}  # (agent, number): serial
        self.found: dict[tuple[str, int], Hazard] = {}

    # -- observer ---------------------------------------------------------------------------

    def on_access(self, event: AccessEvent) -> None:
        """Checks and notes an access; shared ones are kept back until a barrier."""
        region = event.region
        if self._unready.is_needed and event.kind == "load":
            self._unready.loaded(event)
        elif self._unready.is_needed and region.space == "local":
            self._unready.stored(event, self._serial(event))
        if self._carried and event.kind == "store" and region.space != "local":
            for _, one, bad in self._brought(event, self._where(event)[1]):
                if bad.any():
                    self._note("uninitialised", one.event, one.bad, one.offset, one.lanes)
        if region.space in ("shared", "cluster"):
            self._queue.append((event, self._serial(event)))
            self._stores_since |= event.kind != "load"
            self._copies_queued |= self._state.manner(event.pc).is_copy
            if event.kind == "atomic" or len(self._queue) >= _QUEUE:
                self._flush()
        elif region.space == "global":
            shadow = self._state.shadow(region, stores=event.kind != "load")
            if shadow is not None:
                serial = self._serial(event)
                self._touch(shadow, event, serial)
                if self._state.manner(event.pc).is_copy:
                    self._issued(event, region.name, region.nbytes, serial)
        elif region.space == "local":
            self._touch_local(event)

    def on_barrier(self, event: BarrierEvent) -> None:
        """What came before is ordered with what comes after, for those that were let through."""
        if event.met is not None or not len(event.released):
            for order in self._orders:
                order.arriving(event.mask)
        if not len(event.released) and event.met is None:
            return
        self._stores_since |= self._copies.any_in_flight
        everyone = len(event.released) == len(self._geometry.blocks)
        if everyone and not self._stores_since:  # reads alone cannot race
            if not self._all_written:
                for access, _ in self._queue:
                    self._read_unwritten(self._shared, access, *self._where(access))
            self._queue.clear()
        self._flush()
        self._stores_since &= not everyone
        for order in self._orders:
            order.barrier(event)
            if event.met is not None:
                order.meeting(event.met)

    def on_sync(self, event: SyncEvent) -> None:
        """Lanes of a warp met, or passed a fence."""
        if event.kind == "product":
            self._unready.fence(event.mask, self._state.timeline.next())
            return
        self._flush()
        if event.kind == "fence":
            self._order.fence(event.mask)
        elif event.kind.startswith("proxy"):
            self._order.proxy_fence(event.mask, event.kind[6:])
        else:
            for order in self._orders:
                order.synchronised(event)

    def on_transfer(self, event: TransferEvent) -> None:
        """An asynchronous operation: checked as of when it begins."""
        self._flush()
        self._stores_since = True
        agent = self._agent(event.agent)
        serial = self._state.timeline.next(event.site)
        self._begun[event.agent, event.number] = agent, serial
        if event.barrier >= 0:
            self._order.will_tell(event.barrier, event.number, agent, serial)
            self._use_mbarriers(event, np.array([event.barrier]), serial)
        stamp = serial << 32 | agent
        if self._outliving.is_needed and event.kind != "product":
            self._outliving.transfer(event, stamp)
        for lane, place, written in self._unready.used(event):
            where = lane, "local", "local memory", place
            hazard = Hazard("no_wgmma_fence", event.site, event.tick, *where, False)
            self._add(hazard, written << 32 | int(self._order.thread[lane]))
        change = "update" if event.is_update else "write"
        for how, spans, own in (("read", event.reads, stamp + 1), (change, event.writes, stamp)):
            for span in spans:
                self._begin(event, span, own, how)

    def _agent(self, name: Hashable) -> int:
        """The number of an asynchronous agent."""
        found = self._agents.get(name)
        if found is None:
            self._state.agents += 1
            found = self._agents[name] = AGENTS + WARP * self._state.agents
        return found

    def _begin(self, event: TransferEvent, span: Span, stamp: int, how: str) -> None:
        """One span of an operation."""
        if span.region.space == "shared":
            shadow: Shadow | None = self._shared
        else:
            shadow = self._state.shadow(span.region, stores=how != "read")
        if shadow is None or not len(span.place):
            return
        shadow.refine(min(span.width, 4))
        per_piece = max(span.width // shadow.granule, 1)
        first = span.place // shadow.granule
        place = (first[:, None] + np.arange(per_piece)).reshape(-1)
        if how == "read" and shadow.written is not None:
            bare = np.flatnonzero(~shadow.written.take(place))
            if len(bare):
                self._note_begun("uninitialised", event, span, shadow, place[bare])
        if span.region.space == "shared" and span.swizzle >= 0:
            mistaken = self._laid_out(span, how)
            if len(mistaken):
                self._note_begun("bad_descriptor", event, span, shadow, first[mistaken])
        if self._copies.any_in_flight:
            self._begin_in_flight(event, span, shadow, how)
        for kind, found, others in shadow.begin(place, stamp, self._order, event.lanes, how):
            if kind == "proxy_fence" and not event.reads:  # a lane's update, not the copy engine's
                continue
            bad = found
            if kind == "race" and shadow is self._shared:
                bad = self._begin_late(event, span, place, found, others, how)
                if not len(bad):
                    continue
            other = others[bad[:1]]
            apart = (n for n in event.lanes.tolist() if self._is_apart(other, n))
            lane = next(apart, int(event.lanes[0])) if kind == "race" else int(event.lanes[0])
            self._note_begun(kind, event, span, shadow, place[bad], int(other[0]), how, lane)

    def _is_apart(self, other: Stamps, lane: int) -> bool:
        """Whether a lane alone is not ordered after another access."""
        return bool(self._order.unordered_with(other, np.array([lane])).any())

    def _laid_out(self, span: Span, how: str) -> Indices:
        """Notes how a copied tile is laid out, or says which pieces a product reads otherwise.

        What threads have written since is theirs. The GPU swizzles by address, so a tile may begin
        within the pattern if a copy with the same swizzle wrote it there; threads that lay out a
        tile count from its start.
        """
        piece = span.place // _PIECE
        if how != "read":
            self._layouts[piece] = span.swizzle + 1
            return np.zeros(0, np.intp)
        known = self._layouts[piece]
        copied = self._shared.is_copied(span.place)
        alike = known == span.swizzle + 1
        wrong = ~(copied & alike) if span.is_within else copied & (known != 0) & ~alike
        return np.flatnonzero(wrong)

    def on_land(self, event: LandEvent) -> None:
        """A bulk copy is done; nobody knows before the phase of its mbarrier ends."""
        self._order.landed(event.number)

    def on_await(self, event: AwaitEvent) -> None:
        """Lanes know of the end of operations."""
        self._flush()
        agent, serial = self._begun[event.agent, event.number]
        self._order.know(event.lanes, agent, serial, reads_only=event.reads_only)
        waiter = serial, int(self._order.thread[event.lanes[0]])
        for known in (agent + 1,) if event.reads_only else (agent, agent + 1):
            self._state.waited[known] = waiter

    def on_copies(self, event: CopiesEvent) -> None:
        """Lanes closed a group of `cp.async`, or waited for groups, or let mbarriers do so."""
        if self._copies_queued or event.kind != "commit":
            self._flush()
        if event.kind == "commit":
            self._copies.commit(event.lanes)
        elif event.kind == "wait":
            self._waited(event)
        else:
            assert event.places is not None
            for place in np.unique(event.places).tolist():
                self._track(event.lanes[event.places == place], place)

    def _waited(self, event: CopiesEvent) -> None:
        """What the copies wrote counts from now on as what their threads wrote in waiting."""
        serial = self._state.timeline.next(event.site)
        for flight in self._copies.wait(event.lanes, event.left, serial, event.site):
            if flight.place == SHARED:
                self._stores_since = True
                how: Class = "async" if flight.is_tracked else "plain"
                new = serial << 32 | self._order.thread[flight.lanes]
                self._shared.restamp(flight.words, how, flight.stamps, "plain", new)

    def _track(self, lanes: Indices, place: int) -> None:
        """What lanes have issued is done for those who know of the end of an mbarrier's phase."""
        agent = self._agent(("copies", place))
        self._copies.forget(self._is_overwritten)
        for flight in self._copies.track(lanes):
            if flight.place != SHARED:
                continue
            serial = self._state.timeline.next(self._state.timeline.sites[flight.serial])
            stamp = serial << 32 | agent
            new = np.full(len(flight.lanes), stamp)
            self._shared.restamp(flight.words, "plain", flight.stamps, "async", new)
            self._layouts[flight.words // (_PIECE // 4)] = 0
            self._copies.tracked(flight, stamp)
            self._order.will_tell_now(place, agent, serial)

    def _is_overwritten(self, flight: Flight) -> bool:
        """Whether nothing is left of what was copied."""
        granules = flight.words * (4 // self._shared.granule)
        found = self._shared.written_by("async", granules)
        return not np.count_nonzero(found == flight.stamps[:, None])

    def on_phase(self, event: PhaseEvent) -> None:
        """Lanes came to mbarriers, or a phase of one is over."""
        self._flush()
        if event.kind == "init":
            serial = self._state.timeline.next(event.site)
            stamps = self._order.thread[event.lanes] | np.int64(serial << 32)
            for use in self._mbarriers.begin(event, stamps):
                self._misused(event, use)
        elif event.kind == "inval":
            self._mbarriers.forget(event.places)
        elif event.kind != "end":
            self._use_mbarriers(event, event.places, self._state.timeline.next(event.site))
        if self._outliving.is_needed:
            serial = self._state.timeline.serial
            self._outliving.phase(event, serial, self._order.thread)
        self._order.phase(event, f"mbarriers {id(self)}")

    def _use_mbarriers(
        self, event: PhaseEvent | TransferEvent, places: Indices, serial: int
    ) -> None:
        """Lanes arrive at mbarriers, wait there, or begin copies that tell them."""
        stamps = self._order.thread[event.lanes] | np.int64(serial << 32)
        for use in self._mbarriers.use(places, event.lanes, stamps):
            self._misused(event, use)
            written = self._shared.last_write(use.place * 8)
            if written > self._mbarriers.since(use.place):
                lanes = event.lanes[places == use.place]
                others = np.full(len(lanes), written)
                self._misused(event, Misuse(use.place, lanes, others, OVER))

    def _misused(self, event: PhaseEvent | TransferEvent, use: Misuse) -> None:
        """Notes a use of an mbarrier, or that it is initialised again, unless that is in order."""
        lanes, others = use.lanes, use.others
        if use.how != OVER:
            bad = self._order.unordered(others, lanes)
            lanes, others = lanes[bad], others[bad]
        if not len(lanes):
            return
        where = "shared", "shared memory", use.place * 8 % self._stride
        when = event.site, event.tick, int(lanes[0])
        hazard = Hazard("bad_mbarrier", *when, *where, False, how=use.how, count=len(lanes))
        self._add(hazard, int(others[0]))

    def on_fault(self, event: FaultEvent) -> None:
        """An access to a block that has ended need not be told of again."""
        if event.kind == "remote_exit":
            self._ended_before.add(event.site)

    def on_call(self, event: CallEvent) -> None:
        """A function's stack frame holds nothing yet."""
        if self._local is not None and self._local.written is not None and event.nbytes:
            self._unwritings += 1
            lanes = self._lanes if event.mask is None else np.flatnonzero(event.mask)
            granule = self._local.granule
            rows = self._local.written[: self._geometry.lanes * self._local_stride // granule]
            frame = slice(event.base // granule, (event.base + event.nbytes) // granule)
            rows.reshape(self._geometry.lanes, -1)[lanes, frame] = False

    def on_reuse(self, region: Region, start: int, nbytes: int) -> None:
        """Memory that was freed belongs to somebody else now, and holds nothing yet."""
        shadow = self._state.shadow(region, stores=False)
        if shadow is not None:
            shadow.forget(start, nbytes)

    def finish(self, *, is_whole: bool = True) -> None:
        """Checks what was kept back; `is_whole`: all threads have run to their end."""
        self._flush()
        if is_whole and self._outliving.is_needed:
            for reach in self._outliving.late(self._order.unordered):
                if reach.pc not in self._ended_before:
                    when, where = (reach.pc, reach.tick, reach.lane), (reach.region, reach.offset)
                    stores = reach.how != "reads"
                    hazard = Hazard("remote_exit", *when, "shared", *where, stores, how=reach.how)
                    self._add(hazard, 0)

    # -- places -----------------------------------------------------------------------------

    def _serial(self, event: AccessEvent) -> int:
        return self._state.timeline.next(event.site)

    def _where(self, event: AccessEvent) -> tuple[Ints, Indices]:
        """Byte offsets in the shadow, and the lanes, one place each a lane that takes part."""
        pattern = event.pattern
        if pattern is None:
            return self._places(event, event.address)
        found = pattern.notes.get("places")
        if found is None:
            found = pattern.notes["places"] = self._places(event, pattern.address)
        offset, lanes = found
        return (offset + event.shift if event.shift else offset), lanes

    def _places(self, event: AccessEvent, address: Ints) -> tuple[Ints, Indices]:
        region, lanes = event.region, self._lanes
        offset = address - region.base
        if region.lane_offset is not None:
            offset = offset + region.lane_offset
        if offset.size == 1:
            offset = np.repeat(offset, self._geometry.lanes)
        if event.mask is not None:
            lanes = np.flatnonzero(event.mask)
            offset = offset[lanes]
        return offset, lanes

    # -- checking ---------------------------------------------------------------------------

    def _flush(self) -> None:
        queue, self._queue = self._queue, []
        for event, serial in queue:
            self._touch(self._shared, event, serial)
            if self._copies_queued and self._state.manner(event.pc).is_copy:
                size = self._shared.nbytes
                self._issued(event, SHARED, size, serial)
        self._copies_queued = False
        if queue:
            self.__dict__.pop("_all_written", None)

    @cached_property
    def _all_written(self) -> bool:
        return self._shared.written is not None and bool(self._shared.written.all())

    def _touch(self, shadow: Shadow, event: AccessEvent, serial: int) -> None:
        shadow.refine(granule_of(event))
        offset, lanes = self._where(event)
        kind = self._state.manner(event.pc)
        reads = event.kind == "load" or (event.kind == "atomic" and not kind.exchanges)
        if reads and shadow.written is not None:
            self._read_unwritten(shadow, event, offset, lanes)
        if kind.how != "plain":  # of lanes that meet in an atomic, each may come after the others
            name = event.region.name if event.region.space == "global" else f"shared {id(self)}"
            for order in self._orders:
                if event.kind != "load":
                    fenced = kind.fenced or order is self._fenced
                    order.release(name, offset, lanes, fenced=fenced)
                if event.kind != "store":
                    order.acquire(name, offset, lanes)
        stamp = self._order.thread[lanes] | np.int64(serial << 32)
        if self._copies.any_in_flight:
            self._touch_in_flight(shadow, event, offset, lanes)
        if event.region.space == "cluster":
            self._outliving.access(event, stamp, lanes, offset)
        first = offset // shadow.granule
        if self._fenced is not None and event.pc in self._state.trusting:
            stored = shadow.written_by("volatile", first)
            bad = self._order.unordered(stored, lanes) & ~self._fenced.unordered(stored, lanes)
            self._note("race", event, bad, offset, lanes, stored, how=UNFENCED)
        for i, value in enumerate(pieces(event, shadow.granule, lanes)):
            place = first + i if i else first
            touch = Touch(event.kind != "load", kind.how, place, stamp, lanes, value)
            for bad, other in shadow.touch(touch, self._order):
                self._clash(shadow, event, place, bad, other, (offset, lanes))

    def _clash(
        self,
        shadow: Shadow,
        event: AccessEvent,
        place: Ints,
        bad: Bad,
        other: Stamps,
        where: tuple[Ints, Indices],
    ) -> None:
        """Notes races of lanes that touch these granules with other accesses."""
        copied = None
        if shadow is self._shared:
            copied = self._copies.over_at(place * shadow.granule // 4, other)
        if copied is None:
            self._note("race", event, bad, *where, other)
            return
        late = bad & (copied != 0) & ~self._order.unordered(copied, where[1])
        if late.any():
            why = self._ended_at(int(other[late.argmax()]))
            self._note("not_awaited", event, late, *where, copied, why)
        bad = bad & ~late
        if bad.any():
            first = int(bad.argmax())
            end = self._ended_at(int(other[first])) if copied[first] else None
            self._note("race", event, bad, *where, other, end)

    # -- cp.async in flight -----------------------------------------------------------------

    def _ended_at(self, stamp: int) -> Pending:
        """That the wait which bears a stamp has ended a copy, for its own thread."""
        return Pending(0, 0, self._state.timeline.sites[stamp >> 32], is_over=True)

    def _issued(self, event: AccessEvent, place: str, nbytes: int, serial: int) -> None:
        """Lanes have issued copies to shared memory, or from a buffer."""
        offset, lanes = self._where(event)
        stamps = self._order.thread[lanes] | np.int64(serial << 32)
        self._copies.begin(place, nbytes, offset, event.width, lanes, stamps)

    def _touch_in_flight(
        self, shadow: Shadow, event: AccessEvent, offset: Ints, lanes: Indices
    ) -> None:
        """Finds accesses of what copies still write, and changes of what they still read.

        An access that nothing puts after the issue of the copy is a race, and told as one. (So is
        what `_clash` finds after the wait: all this depends on what is ordered, not on the time.)
        """
        is_shared = shadow is self._shared
        if not is_shared and event.kind == "load":
            return
        place = SHARED if is_shared else event.region.name
        met = self._copies.met(place, offset, event.width)
        if met is None:
            return
        stamps, words = met
        bad = (stamps != 0) & ~self._order.unordered(stamps, lanes)
        if is_shared and event.kind == "store":
            bad &= shadow.differs(event, offset, lanes)
        if bad.any():
            why = self._copies.why(int(stamps[bad.argmax()]))
            self._note("not_awaited", event, bad, 4 * words, lanes, stamps, why)

    def _begin_in_flight(self, event: TransferEvent, span: Span, shadow: Shadow, how: str) -> None:
        """The same for what an asynchronous operation reads or writes."""
        is_shared = span.region.space == "shared"
        if not is_shared and how == "read":
            return
        place = SHARED if is_shared else span.region.name
        met = self._copies.met(place, span.place, span.width)
        if met is None:
            return
        stamps, words = met
        bad = (stamps != 0) & ~self._order.unordered_with(stamps, event.lanes)
        if bad.any():
            stamp = int(stamps[bad.argmax()])
            places, why = words[bad] * (4 // shadow.granule), self._copies.why(stamp)
            self._note_begun("not_awaited", event, span, shadow, places, stamp, how, copy=why)

    def _begin_late(
        self, event: TransferEvent, span: Span, place: Ints, bad: Indices, others: Stamps, how: str
    ) -> Indices:
        """As `_clash`, for an asynchronous operation; returns the races among `bad`."""
        shadow = self._shared
        copied = self._copies.over_at(place[bad] * shadow.granule // 4, others[bad])
        if copied is None:
            return bad
        late = (copied != 0) & ~self._order.unordered_with(copied, event.lanes)
        if late.any():
            first = int(late.argmax())
            stamp, why = int(copied[first]), self._ended_at(int(others[bad[first]]))
            places = place[bad[late]]
            self._note_begun("not_awaited", event, span, shadow, places, stamp, how, copy=why)
        races: Indices = bad[~late]
        return races

    def _read_unwritten(
        self, shadow: Shadow, event: AccessEvent, offset: Ints, lanes: Indices
    ) -> bool:
        """Notes reads of what was never written; whether there are any."""
        shadow.refine(granule_of(event))
        size, found = element_bytes(event), False
        used = self._state.module.used_bytes.get(event.pc, -1)  # the rest is padding of a struct
        for start in range(0, event.width, size):
            if not (used >> start) & ((1 << size) - 1):
                continue
            first = (offset + start) // shadow.granule
            bad = shadow.unwritten(first, max(size // shadow.granule, 1))
            found |= bool(bad.any())
            key = event.pc, start // size
            if shadow is self._local and key in self._state.copies(event.pc).loads:
                self._carried.pop(key, None)
                if bad.any():
                    self._carried[key] = _Carried(event, bad, offset + start, lanes)
            else:
                self._note("uninitialised", event, bad, offset + start, lanes)
        return found

    def _brought(self, event: AccessEvent, lanes: Indices) -> Iterator[tuple[int, _Carried, Bad]]:
        """Elements of a store that were loaded unwritten: the load, and which lanes."""
        if not self._carried or event.kind != "store":
            return
        for element in range(max(len(event.values), 1)):
            for load in self._state.copies(event.pc).stores.get((event.pc, element), ()):
                carried = self._carried.get(load)
                if carried is not None:
                    yield element, carried, carried.among(lanes)

    def _touch_local(self, event: AccessEvent) -> None:
        region = event.region
        pattern = None if event.shift or self._carried else event.pattern
        if pattern is not None and pattern.notes.get("written") == self._unwritings:
            return  # nothing changes
        if self._local is None or region.nbytes > self._local_stride:
            self._grow_local(region.nbytes)
        assert self._local is not None
        assert self._local.written is not None
        self._local.refine(granule_of(event))
        offset, lanes = self._where(event)
        is_written = True
        if event.kind != "store":
            is_written = not self._read_unwritten(self._local, event, offset, lanes)
        if pattern is not None and is_written:
            pattern.notes["written"] = self._unwritings
        if event.kind != "load":
            for start in range(0, event.width, self._local.granule):
                self._local.written[(offset + start) // self._local.granule] = True
            for element, _, bad in self._brought(event, lanes):
                self._unwritings += 1
                size = element_bytes(event)
                for start in range(element * size, (element + 1) * size, self._local.granule):
                    self._local.written[(offset[bad] + start) // self._local.granule] = False

    def _grow_local(self, stride: int) -> None:
        old, old_stride, count = self._local, self._local_stride, self._geometry.lanes
        self._local = Shadow(stride * count, initialised=False, private=True)
        self._local_stride = stride
        if old is not None:
            assert old.written is not None
            assert self._local.written is not None
            self._local.refine(old.granule)
            size = old_stride // old.granule
            kept = old.written[: count * size].reshape(count, size)
            new = self._local.written[: count * (stride // old.granule)].reshape(count, -1)
            new[:, :size] = kept

    def _note(
        self,
        kind: str,
        event: AccessEvent,
        bad: Bad,
        offset: Ints,
        lanes: Indices,
        other: Stamps | None = None,
        copy: Pending | None = None,
        how: str = "",
    ) -> None:
        count = int(np.count_nonzero(bad))
        if not count:
            return
        across = other is not None and not self._order.same_warp(other[bad], lanes[bad]).all()
        known = self.found.get((kind, event.site))
        if known is not None:
            known.count += count
            known.is_across |= across
            return
        i = int(bad.argmax())
        lane, region = int(lanes[i]), event.region
        start = 0 if region.lane_offset is None else int(region.lane_offset[lane])
        where = region.space, region.name, int(offset[i]) - start
        hazard = Hazard(kind, event.site, event.tick, lane, *where, event.kind != "load")
        hazard.count, hazard.how, hazard.is_across, hazard.copy = count, how, across, copy
        self._add(hazard, 0 if other is None else int(other[i]))

    def _add(self, hazard: Hazard, stamp: int) -> None:
        """Keeps a hazard, or counts it for the first; `stamp` is the other access's, 0 for none."""
        if stamp:
            hazard.other_thread = stamp & int(LOW)
            hazard.other_pc = self._state.timeline.sites[stamp >> 32]
        if hazard.kind == "race" and hazard.other_thread >= AGENTS:
            hazard.kind = "not_awaited"
            serial, thread = self._state.waited.get(hazard.other_thread, (-1, -1))
            if serial >= stamp >> 32 and not self._began(hazard.other_thread & ~1, hazard.lane):
                hazard.waited_by = thread
        known = self.found.setdefault((hazard.kind, hazard.pc), hazard)
        if known is not hazard:
            known.count += hazard.count

    def _began(self, agent: int, lane: int) -> bool:
        """Whether a lane began the operations of an agent, so that it has to wait itself."""
        keys = [key for key, number in self._agents.items() if number == agent]
        kind, *own = keys[0] if keys and isinstance(keys[0], tuple) else ("",)
        block, thread = divmod(lane, self._geometry.threads)
        return (block * self._geometry.warps + thread // WARP if kind == "product" else lane) in own

    def _note_begun(
        self,
        kind: str,
        event: TransferEvent,
        span: Span,
        shadow: Shadow,
        places: Ints,
        other: int = 0,
        how: str = "read",
        lane: int = -1,
        copy: Pending | None = None,
    ) -> None:
        """Notes what is wrong with granules that an asynchronous operation touches.

        `lane` is the one of its lanes that it is said of, the first where none is told.
        """
        lane, region = lane if lane >= 0 else int(event.lanes[0]), span.region
        offset = int(places[0]) * shadow.granule
        if region.lane_offset is not None:
            stride = region.data.size // len(self._geometry.blocks)
            offset %= max(stride, 1)
        where = region.space, region.name, offset
        hazard = Hazard(kind, event.site, event.tick, lane, *where, how != "read", begins=True)
        hazard.within = span.swizzle if span.is_within else 0
        hazard.count, hazard.copy = len(places), copy
        self._add(hazard, other)
