"""Matrix products of warpgroups that nobody has waited for yet, and the registers they use.

Their results are there at once, so that unoptimised code, which copies registers about, gives what
it gives on a GPU, whose assembler waits wherever it has to. An instruction that only copies such a
register (a move, a store to and a load from a thread's own memory, or what passes it to a function
and back) is not a fault; the copy is watched in turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import AwaitEvent, Mask, Read, TransferEvent
from core.emulator.geometry import lanes_of_rows, warp_rows
from core.emulator.in_flight import Groups
from core.emulator.machine_state import Frame, Group, Lanes, MachineState
from core.emulator.memory import LOCAL_WINDOW
from core.emulator.program import Kind, Op, ParameterAccess
from core.ptx.ast import Address, Register, Vector, elements, registers
from core.ptx.dataflow import Makers, results
from core.ptx.dataflow import sources as sources_of
from core.ptx.opcodes import opcode_of

Numbers = NDArray[np.int64]  # of a product, one a lane; 0: of none


@dataclass(frozen=True)
class _Uses:
    """The slots that an instruction reads (not for addresses) and writes."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    copies: bool


class Products:
    """The products of one machine."""

    def __init__(self, state: MachineState) -> None:
        self.state = state
        self.is_open = False  # whether any has not been waited for
        self._tick = -1  # of the instruction that is looked at; -1 is now
        self._number = 0
        self._pcs: list[int] = [-1]  # of each product
        self._warps: defaultdict[int, Groups[tuple[Hashable, int]]] = defaultdict(Groups)
        self._done: Numbers = np.zeros(state.count, np.int64)  # waited for, up to here
        self._latest: Numbers = np.zeros(state.count, np.int64)
        self._fenced = np.zeros(state.count, bool)
        self._results: dict[tuple[int, int], Numbers] = {}  # by frame and slot
        self._factors: dict[tuple[int, int], Numbers] = {}
        self._local: dict[int, Numbers] = {}  # copies of results, by place in a thread's memory
        # Those in parameters, by frame, name and offset in bytes.
        self._parameters: dict[tuple[int, str, int], Numbers] = {}
        self._uses: dict[int, _Uses] = {}
        self._makers: dict[int, Makers] = {}  # by function
        # By product, and whether it adds: the loads of its registers, and which element each is.
        self._loads: dict[tuple[int, bool], list[tuple[Op, int]]] = {}

    # -- what instructions do -----------------------------------------------------------------

    def fence(self, mask: Mask | None) -> None:
        """Registers are ready for the products of these lanes."""
        self._fenced[slice(None) if mask is None else mask] = True

    def begin(
        self,
        lanes: Lanes,
        sources: tuple[int, ...],
        warps: NDArray[np.intp],
        spans: tuple[tuple[Read, ...], ...],
        *,
        adds: bool,
    ) -> None:
        """A product of some warps begins; `sources` are the slots of a factor in registers.

        `adds`: it uses what its result's registers held before.
        """
        state, pc, depth = self.state, lanes.pc, lanes.group.depth
        active = lanes.active
        unready = np.flatnonzero(active & ~self._fenced)
        if len(unready):
            state.fault("no_wgmma_fence", pc, depth, unready)
            self._fenced[unready] = True
        frame = lanes.frame
        self._check(frame, sources, active, pc, depth, "reads")
        self._number += 1
        self._pcs.append(pc)
        number = np.where(active, self._number, 0)
        self._latest = np.maximum(self._latest, number)
        made: dict[int, Numbers] = {}
        for into, used in ((self._results, lanes.op.destinations), (self._factors, sources)):
            for slot in used:
                old = into.get((id(frame), slot))
                if id(old) not in made:
                    made[id(old)] = number if old is None else np.where(active, number, old)
                into[id(frame), slot] = made[id(old)]
        self.is_open = True
        self._tell(lanes, warps, spans, self._homes(lanes, adds=adds))

    def _homes(self, lanes: Lanes, *, adds: bool) -> tuple[int, ...]:
        """Where in the threads' own memory the registers that a product uses were loaded from."""
        code, instruction = lanes.frame.code, lanes.op.instruction
        loads = self._loads.get((instruction.pc, adds))
        if loads is None:
            makers = self._makers.get(id(code))
            if makers is None:
                makers = self._makers[id(code)] = Makers([op.instruction for op in code.ops])
            d, a = instruction.operands[:2]
            used = ((d,) if adds else ()) + ((a,) if isinstance(a, Vector) else ())
            made = [m for name in registers(*used) if (m := makers.maker(name)) is not None]
            loads = self._loads[instruction.pc, adds] = [
                (code.ops[load.pc - code.first_pc], list(registers(load.operands[0])).index(name))
                for load, name in made
                if load.opcode == "ld" and "param" not in load.modifiers
            ]
        lane = int(lanes.active.argmax())
        found = []
        for op, number in loads:
            address = op.payload.address(lanes.frame.registers)
            place = int(address[lane if address.size > 1 else 0]) - LOCAL_WINDOW
            if 0 <= place < LOCAL_WINDOW:
                found.append(place + number * op.payload.type.nbytes)
        return tuple(found)

    def _tell(
        self,
        lanes: Lanes,
        warps: NDArray[np.intp],
        spans: tuple[tuple[Read, ...], ...],
        homes: tuple[int, ...],
    ) -> None:
        """Tells the observers; the warps of a warpgroup that go together are one agent."""
        geometry, pc = self.state.geometry, lanes.pc
        group = warps // geometry.warps * geometry.warps + warps % geometry.warps // 4 * 4
        site = self.state.call_site(pc, lanes.group.depth, int(np.argmax(lanes.active)))
        for first in np.unique(group).tolist():
            mine = warps[group == first]
            block = first // geometry.warps
            agent: Hashable = ("product", *mine.tolist())
            reads = tuple(
                span
                for several in spans
                for span, readers in several
                if len(span.place) and not readers.isdisjoint(mine.tolist())
            )
            issuers = (mine % geometry.warps) * 32 + block * geometry.threads
            event = TransferEvent(
                self.state.tick - 1,
                pc,
                site,
                "product",
                issuers,
                reads,
                (),
                agent,
                self._number,
                homes=homes,
            )
            for observer in self.state.observers:
                observer.on_transfer(event)
            for warp in mine.tolist():
                self._warps[warp].open.append((agent, self._number))

    def _warps_of(self, active: Mask) -> list[int]:
        rows = warp_rows(active, self.state.geometry, 0)
        return [int(w) for w in np.flatnonzero(rows.any(axis=1))]

    def commit(self, active: Mask) -> None:
        """What the warps have begun since their last commit becomes a group, perhaps empty."""
        for number in self._warps_of(active):
            self._warps[number].commit()

    def wait(self, active: Mask, left: int) -> None:
        """Waits until at most `left` groups of each warp are not done."""
        rows = warp_rows(np.arange(self.state.count), self.state.geometry, -1)
        last: dict[tuple[Hashable, int], list[int]] = {}
        for number in self._warps_of(active):
            products = self._warps[number].take(left)
            if products:
                lanes = rows[number][rows[number] >= 0]
                self._done[lanes] = products[-1][1]
                last.setdefault(products[-1], []).extend(lanes.tolist())
        for (agent, product), waiting in last.items():
            event = AwaitEvent(np.array(waiting), agent, product)
            for observer in self.state.observers:
                observer.on_await(event)
        if (self._done >= self._latest).all():
            self.is_open = False
            self._results.clear()
            self._factors.clear()
            self._local.clear()
            self._parameters.clear()

    # -- faults -----------------------------------------------------------------------------

    def incomplete(self, lanes: Lanes, warps: NDArray[np.intp]) -> None:
        """Some lanes of these warps do not take part in a product."""
        present = lanes.active
        whole = np.zeros((len(warp_rows(present, self.state.geometry, 0)), 32), bool)
        whole[warps] = True
        of_warps = lanes_of_rows(whole, self.state.geometry)
        self.state.fault(
            "divergent_warp",
            lanes.pc,
            lanes.group.depth,
            np.flatnonzero(present & of_warps),
            np.flatnonzero(~present & of_warps),
        )

    def _open_in(self, numbers: Numbers | None, active: Mask) -> Mask | None:
        """The lanes whose register a product, not waited for, uses."""
        if numbers is None:
            return None
        found: Mask = (numbers > self._done) & active
        return found if found.any() else None

    def _check(
        self, frame: Frame, slots: tuple[int, ...], active: Mask, pc: int, depth: int, verb: str
    ) -> None:
        for slot in slots:
            numbers = self._results.get((id(frame), slot))
            bad = self._open_in(numbers, active)
            if bad is not None and numbers is not None:
                self._fault(bad, numbers, pc, depth, f"{verb}|writes")
                return

    def _fault(self, bad: Mask, numbers: Numbers, pc: int, depth: int, detail: str) -> None:
        lanes = np.flatnonzero(bad)
        others, other_pc = lanes[:1], self._pcs[int(numbers[lanes[0]])]
        self.state.fault("not_awaited", pc, depth, lanes, others, other_pc, detail, tick=self._tick)

    # -- watching -----------------------------------------------------------------------------

    def watch(self, frame: Frame, group: Group, op: Op, tick: int) -> None:
        """Looks at an instruction, before it is executed at `tick`, while products are open."""
        uses = self._uses.get(op.instruction.pc)
        if uses is None:
            uses = self._uses[op.instruction.pc] = _uses(frame, op)
        key = id(frame)
        known = self._results, self._factors
        if not any((key, s) in k for s in (*uses.reads, *uses.writes) for k in known) and not (
            self._local and op.kind is Kind.MEMORY
        ):
            return
        active = np.ones(self.state.count, bool) if group.mask is None else group.mask
        pc, depth = op.instruction.pc, group.depth
        self._tick = tick
        if op.kind is Kind.MEMORY:
            self._memory(frame, op, uses, active, pc, depth)
        elif uses.copies:
            self._copy(frame, uses, active)
        else:
            self._check(frame, uses.reads, active, pc, depth, "reads")
            self._overwritten(frame, uses, active, pc, depth)
        self._tick = -1

    def _overwritten(self, frame: Frame, uses: _Uses, active: Mask, pc: int, depth: int) -> None:
        self._check(frame, uses.writes, active, pc, depth, "overwrites")
        for slot in uses.writes:
            numbers = self._factors.get((id(frame), slot))
            bad = self._open_in(numbers, active)
            if bad is not None and numbers is not None:
                self._fault(bad, numbers, pc, depth, "overwrites|reads")
            self._set(self._results, (id(frame), slot), None, active)

    @staticmethod
    def _set(into: dict[Any, Numbers], key: Any, numbers: Numbers | None, active: Mask) -> None:
        """Some lanes' place holds what `numbers` says, or nothing that is watched."""
        old = into.get(key)
        if old is None and numbers is None:
            return
        new = np.where(active, 0 if numbers is None else numbers, 0 if old is None else old)
        if new.any():
            into[key] = new
        else:
            into.pop(key, None)

    def _copy(self, frame: Frame, uses: _Uses, active: Mask) -> None:
        numbers = self._results.get((id(frame), uses.reads[0])) if uses.reads else None
        for slot in uses.writes:
            self._set(self._results, (id(frame), slot), numbers, active)

    def _memory(self, frame: Frame, op: Op, uses: _Uses, active: Mask, pc: int, depth: int) -> None:
        access = op.payload
        address = access.address(frame.registers)
        first = int(address[0] if address.size == 1 else address[int(active.argmax())])
        local = LOCAL_WINDOW <= first < 2 * LOCAL_WINDOW
        if access.kind == "store" and local:
            for i, slot in enumerate(uses.reads):
                place = first + i * access.type.nbytes
                self._set(self._local, place, self._results.get((id(frame), slot)), active)
        elif access.kind == "load" and local:
            for i, slot in enumerate(uses.writes):
                place = first + i * access.type.nbytes
                self._set(self._results, (id(frame), slot), self._local.get(place), active)
        else:
            self._check(frame, uses.reads, active, pc, depth, "reads")
            self._overwritten(frame, uses, active, pc, depth)

    def parameter(self, frame: Frame, group: Group, op: Op) -> None:
        """Looks at an `ld.param` or `st.param` while products are open: both only copy."""
        access: ParameterAccess = op.payload
        active = np.ones(self.state.count, bool) if group.mask is None else group.mask
        name, first = access.key
        part = elements(op.instruction.operands[0 if access.is_load else 1])
        for i, operand in enumerate(part):
            place = id(frame), name, first + i * access.types.nbytes
            slot = frame.code.slots.get(operand.name) if isinstance(operand, Register) else None
            if access.is_load and slot is not None:
                self._set(self._results, (id(frame), slot), self._parameters.get(place), active)
            elif not access.is_load:
                numbers = None if slot is None else self._results.get((id(frame), slot))
                self._set(self._parameters, place, numbers, active)

    def passed(
        self, source: Frame, source_name: str, to: Frame, to_name: str, mask: Mask | None
    ) -> None:
        """A parameter goes from one frame to another, as a call or its end passes it."""
        if not self.is_open:
            return
        active = np.ones(self.state.count, bool) if mask is None else mask
        for key in [k for k in self._parameters if k[:2] == (id(to), to_name)]:
            self._set(self._parameters, key, None, active)
        for (frame, name, offset), numbers in list(self._parameters.items()):
            if (frame, name) == (id(source), source_name):
                self._set(self._parameters, (id(to), to_name, offset), numbers, active)


def _uses(frame: Frame, op: Op) -> _Uses:
    """What an instruction reads and writes, by slots."""
    slots, instruction = frame.code.slots, op.instruction
    values = [o for o in sources_of(instruction) if not isinstance(o, Address)]
    read = tuple(slots[name] for name in registers(*values) if name in slots)
    plain = instruction.opcode == "mov" and len(values) == 1 and isinstance(values[0], Register)
    if opcode_of(instruction).kind == "load":
        written = tuple(slots[n] for n in registers(instruction.operands[0]) if n in slots)
    else:
        written = tuple(slots[name] for name in results(instruction) if name in slots)
    return _Uses(read, written, plain)
