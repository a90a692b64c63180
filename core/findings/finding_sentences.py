"""Faults and hazards put into words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.emulator.events import FaultEvent, Observer
from core.emulator.geometry import Geometry
from core.emulator.heap import Piece
from core.findings.address_names import Place, Places
from core.findings.async_copies import Pending
from core.findings.happens_before import AGENTS
from core.findings.hazards import UNFENCED, Hazard
from core.findings.hopper_misuse import OVER
from core.findings.shadow_memory import manner
from core.launch import WARP, Dim3
from core.ptx.ast import Address, Symbol, elements
from core.ptx.dataflow import is_used
from core.ptx.opcodes import opcode_of, operation_of, writes_into
from core.trace.finding import Finding
from core.trace.program_info import ProgramInfo


@dataclass
class _Fault:
    event: FaultEvent
    count: int
    end: int  # bytes of the region with which it would hold every access; 0 for none

    def reach(self, event: FaultEvent) -> int:
        """`end` with another event of the same kind and instruction."""
        region, first = event.region, self.event.region
        if region is None or first is None or region.name != first.name or not self.end:
            return 0
        end = _end(event)
        return max(self.end, end) if end else 0


def _end(event: FaultEvent) -> int:
    """The bytes of its region with which it would hold the event's accesses; 0 for none."""
    region = event.region
    if region is None or not len(event.address) or int(event.address.min()) < region.base:
        return 0
    return int(event.address.max()) + event.width - region.base


class FaultCollector(Observer):
    """Keeps the first fault of each kind and instruction, and counts the rest."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], _Fault] = {}

    def on_fault(self, event: FaultEvent) -> None:
        """Notes a fault."""
        key = (event.kind, event.site if event.site >= 0 else event.pc)
        known = self.found.get(key)
        if known is None:
            self.found[key] = _Fault(event, len(event.lanes), _end(event))
        else:
            known.count += len(event.lanes)
            known.end = known.reach(event)


class Reporter:
    """Writes the findings of one machine; `with_count` says at the end how many there were."""

    def __init__(self, program: ProgramInfo, geometry: Geometry) -> None:
        self._program, self._geometry = program, geometry
        self._places = Places(program)

    def findings(self, collector: FaultCollector, hazards: Sequence[Hazard]) -> list[Finding]:
        """Illegal accesses, barriers that go wrong, failed assertions, races, unwritten reads.

        What a misaligned store should have written is not said to be unwritten as well, and what a
        thread lacks that waits for an mbarrier which was overwritten is not counted.
        """
        found = [self._fault(f.event, f.count, f.end) for f in collector.found.values()]
        spoilt = {f.array for f in found if f.kind == "misaligned"}
        others = [self._hazard(h) for h in hazards]
        lost = {(o.line, o.array) for o, h in zip(others, hazards, strict=True) if h.how == OVER}
        found = [f for f in found if f.kind != "hang" or (f.line, f.array) not in lost]
        return found + [f for f in others if f.kind != "uninitialised" or f.array not in spoilt]

    # -- names ------------------------------------------------------------------------------

    def _where(self, lane: int) -> tuple[int, int]:
        block, thread = divmod(lane, self._geometry.threads)
        return int(self._geometry.blocks[block]), thread

    def _thread(self, lane: int) -> str:
        """`thread (1,0) of block (0,2)`, in x, y (and z where the block has it)."""
        return self._named(*self._where(lane))

    def _named(self, block: int, thread: int) -> str:
        return f"{self._in_block(thread)}{self._of_block(block)}"

    def _in_block(self, thread: int) -> str:
        """`thread (1,0)`."""
        return f"thread {_index_text(thread, self._geometry.block)}"

    def _of_block(self, block: int) -> str:
        """` of block (0,2)`."""
        return f" of block {_index_text(block, self._geometry.grid)}"

    def _line(self, pc: int) -> int:
        """The source line; that of the code before where the instruction has none."""
        start = self._program.module.function_at(pc).first_pc
        lines = self._program.lines[start : pc + 1]
        known = np.flatnonzero(lines)
        return int(lines[known[-1]]) if len(known) else 0

    def _at(self, pc: int) -> str:
        """How a sentence about an instruction begins; without a source it names the PTX."""
        line = self._line(pc)
        if line:
            return f"Line {line}"
        return f"`{self._program.module.instructions[pc].text.strip()}`"

    # -- sentences --------------------------------------------------------------------------

    def _fault(self, event: FaultEvent, count: int, end: int) -> Finding:
        site = event.site if event.site >= 0 else event.pc
        place = Place("", (), "")
        if len(event.address):
            address = int(event.address[0])
            place = self._places.at_address(event.region, address, site)
            if event.piece is not None and event.region is not None:
                byte = address - event.region.base - event.piece.start
                place = replace(place, text=f"byte {byte:,} of {self._piece(event.piece)}")
        who, how = self._thread(int(event.lanes[0])), _SENTENCES[event.kind]
        if isinstance(how, str):
            sentence = how.format(
                who=who,
                verb=_verb(event),
                act=event.detail or _verb(event),
                place=place.text,
                width=event.width,
                detail=event.detail,
                details=event.detail.split("|"),
                line=self._line(event.other_pc),
            )
        else:
            sentence = how(self, event, place, who)
        block, thread = self._where(int(event.lanes[0]))
        array = self._program.array(place.array) if event.kind == "out_of_bounds" else None
        return Finding(
            event.kind,
            f"{self._at(site)}: {sentence}",
            block,
            thread,
            self._line(site),
            event.tick,
            place.array,
            place.index,
            count,
            needs=-(-end // array.dtype.itemsize) if array is not None else 0,
        )

    def _piece(self, piece: Piece) -> str:
        """`the 64 bytes that malloc gave in line 5`."""
        bytes_ = "the byte" if piece.nbytes == 1 else f"the {piece.nbytes:,} bytes"
        return f"{bytes_} that malloc gave{self._in_line(piece.given_at)}"

    def _freed(self, piece: Piece) -> str:
        """`thread (1,0) of block (0,2) freed in line 9`."""
        return f"{self._named(*piece.freed_by)} freed{self._in_line(piece.freed_at)}"

    def _in_line(self, pc: int) -> str:
        line = self._line(pc)
        return f" in line {line}" if line else ""

    def _out_of_bounds(self, event: FaultEvent, place: Place, who: str) -> str:
        """What is accessed; of a copy that begins in its array, where that ends."""
        region = event.region
        left = region.base + region.nbytes - int(event.address[0]) if region is not None else 0
        if not event.access and 0 < left < event.width:
            rest = "1 byte is" if left == 1 else f"{left:,} bytes are"
            return (
                f"{who} goes out of bounds: its copy needs {event.width:,} bytes from {place.text} "
                f"on, where {rest} left."
            )
        return f"{who} goes out of bounds: it accesses {place.text}."

    def _use_after_free(self, event: FaultEvent, place: Place, who: str) -> str:
        assert event.piece is not None
        return f"{who} {_verb(event)} {place.text}, which {self._freed(event.piece)}."

    def _bad_free(self, event: FaultEvent, place: Place, who: str) -> str:
        piece = event.piece
        if event.region is None or piece is None:
            return f"{who} frees {place.text.partition(',')[0]}, which malloc never gave."
        if int(event.address[0]) != event.region.base + piece.start:
            return f"{who} frees {place.text}; free takes the pointer that malloc gave."
        return f"{who} frees {self._piece(piece)} again, which {self._freed(piece)}."

    def _divergent_barrier(self, event: FaultEvent, _: Place, who: str) -> str:
        if event.detail:
            number, mine, theirs, first, pc = map(int, event.detail.split("|"))
            return (
                f"{who} comes to barrier {number} with a count of {mine} threads, to which "
                f"{self._thread_alone(first)} came{self._in_line(pc)} with {theirs}; give all that "
                "meet there the same count."
            )
        other = self._other(event)
        if other < 0 and event.others is not None and len(event.others):  # a cluster's barrier
            return (
                f"{who} waits at this barrier while "
                f"{self._thread(int(event.others[0]))} has left the kernel; every thread of a "
                "cluster must come to its barrier as often as the others."
            )
        if event.other_pc < 0:
            rest = "has left the kernel"
        elif self._line(event.other_pc) == self._line(event.site):
            rest = "waits at another call of it"
        else:
            rest = f"waits at the barrier of line {self._line(event.other_pc)}"
        return (
            f"{who} waits at this barrier while {self._thread_alone(other)} {rest}; "
            "every thread of a block must come to the same barrier."
        )

    def _other(self, event: FaultEvent) -> int:
        """One of the other lanes, of the same block and warp if there is one; -1 for none."""
        lane = int(event.lanes[0])
        others = event.others if event.others is not None else np.zeros(0, np.intp)
        size = self._geometry.threads
        near = others[others // size == lane // size]
        warp = near[near % size // WARP == lane % size // WARP] if len(near) else near
        chosen = near if event.kind != "divergent_warp" or not len(warp) else warp
        return int(chosen[0]) if len(chosen) else -1

    def _thread_alone(self, lane: int) -> str:
        return self._in_block(self._where(lane)[1])

    def _divergent_warp(self, event: FaultEvent, _: Place, who: str) -> str:
        other = self._other(event)
        if event.detail:  # "warpgroup"
            rest = "which its block does not have"
            if other >= 0:
                rest = f"such as that of {self._thread_alone(other)}, which never come to it"
            return (
                f"{who} waits with this matrix product for warps of its warpgroup, {rest}; all "
                "four must execute it."
            )
        return (
            f"{who} waits here for {self._thread_alone(other)} of its warp, which "
            "the mask names and which never comes; name only the lanes that execute it."
        )

    def _inactive_lane(self, event: FaultEvent, _: Place, who: str) -> str:
        if event.detail:
            return (
                f"{who} takes part, but the mask does not name its lane; the result is undefined."
            )
        return (
            f"{who} reads the value of a lane that takes no part in this shuffle; the result is "
            "undefined."
        )

    def _registers(self, event: FaultEvent, who: str) -> str:
        """Whom a `setmaxnreg` lets wait for ever."""
        count, *pool = map(int, event.detail.split("|"))
        if not pool:
            return (
                f"{who} executes setmaxnreg, and {self._thread_alone(self._other(event))} of its "
                f"warpgroup does not; all {count} warps must execute the same one. A GPU would "
                "hang."
            )
        total, there, launched = pool
        return (
            f"{who} waits here for ever for {count} registers a thread: with them the block's "
            f"warps have {total:,} registers, and it has at most {there:,}, {launched} for each "
            "thread of its launch; lower the counts of setmaxnreg. A GPU would hang."
        )

    def _deadlock(self, event: FaultEvent, _: Place, who: str) -> str:
        if event.detail:
            return self._registers(event, who)
        other = self._other(event)
        rest = f", such as {self._thread_alone(other)}" if other >= 0 else ""
        if other < 0 and event.others is not None and len(event.others):  # a cluster's barrier
            rest = f", such as {self._thread(int(event.others[0]))}"
        return (
            f"{who} waits at this barrier for ever, for threads that never come to "
            f"it{rest}: a deadlock. A GPU would hang."
        )

    def _hang(self, event: FaultEvent, place: Place, who: str) -> str:
        phase, parity, pending, expected, missing, bytes_ = map(int, event.detail.split("|"))
        return (
            f"{who} waits for ever for phase {parity} of {place.text}: "
            f"{self._lacking(phase, parity, pending, expected, missing, bytes_)}"
            f"{self._held_up(event)}. A GPU would hang."
        )

    @staticmethod
    def _lacking(
        phase: int, parity: int, pending: int, expected: int, missing: int, bytes_: int
    ) -> str:
        """What a phase of an mbarrier still lacks."""
        if phase & 1 != parity:
            return f"the phase that it is in is {phase & 1}"
        lacks = []
        if pending:
            lacks.append(f"{pending:,} of {expected:,} arrivals have not come")
        if missing > 0:
            lacks.append(f"{missing:,} of {bytes_:,} expected bytes have not come")
        if missing < 0:
            lacks.append(f"{-missing:,} bytes more have come than are expected")
        return " and ".join(lacks)

    def _held_up(self, event: FaultEvent) -> str:
        """What has become of a thread that came to the mbarrier before."""
        if event.others is None or not len(event.others):
            return ""
        other = self._thread_alone(int(event.others[0]))
        if event.other_pc < 0:
            return f"; {other}, which arrived before, has left the kernel"
        line = self._line(event.other_pc)
        return f"; {other}, which arrived before, itself waits in line {line}"

    def _bad_descriptor(self, event: FaultEvent, _: Place, who: str) -> str:
        name, *offsets = event.detail.split("|")
        if not offsets:
            return f"{who} multiplies by a descriptor of {name} that leads beyond shared memory."
        leading, stride, swizzle = map(int, offsets)
        layout = f"with a {swizzle}-byte swizzle" if swizzle else "without a swizzle"
        return (
            f"{who} multiplies by a descriptor of {name} whose parts overlap: its leading offset "
            f"is {leading:,} bytes and its stride offset {stride:,}, and {layout} eight rows take "
            f"{8 * max(swizzle, 16):,} bytes; the offset from part to part must not be less."
        )

    def _bad_mbarrier(self, event: FaultEvent, place: Place, who: str) -> str:
        if event.detail:
            return (
                f"{who} arrives at {place.text} once more than the {event.detail} arrivals that "
                "its phase takes; raise the count of mbarrier.init, or wait before arriving again."
            )
        return (
            f"{who} uses the mbarrier at {place.text}, which nobody has initialised; one thread "
            "must execute mbarrier.init before."
        )

    def _hazard(self, hazard: Hazard) -> Finding:
        who = self._thread(hazard.lane)
        place = self._places.at_offset(hazard.space, hazard.region, hazard.offset, hazard.pc)
        if hazard.kind == "uninitialised":
            by = "it has not written" if hazard.space == "local" else "no thread has written"
            sentence = f"{self._whose(hazard, who)} reads {place.text}, which {by}."
        elif hazard.kind == "not_awaited":
            sentence = self._not_awaited(hazard, who, place)
        elif hazard.kind == "bad_descriptor" and hazard.within:
            sentence = (
                f"{self._whose(hazard, who)} reads {place.text} by a descriptor that begins within "
                f"the pattern of its {hazard.within}-byte swizzle; begin at a multiple of "
                f"{8 * hazard.within:,}, or set the base offset."
            )
        elif hazard.kind == "bad_descriptor":
            sentence = (
                f"{self._whose(hazard, who)} reads {place.text} with another swizzle than the bulk "
                "copy that wrote it; give the descriptor and the tensor map the same."
            )
        elif hazard.kind == "proxy_fence":
            fence = "fence.proxy.async" + (".global" if hazard.space == "global" else "")
            sentence = (
                f"{self._whose(hazard, who)} reads {place.text}, which {self._writer(hazard)} "
                f"wrote; between the two, a {fence} of the writing threads is missing."
            )
        elif hazard.kind == "remote_exit":
            begins = f"begins a {self._operation(hazard.pc)} to"
            act = {"arrives": "updates the mbarrier at", "copies": begins}.get(
                hazard.how, hazard.how
            )
            sentence = (
                f"{who} {act} {place.text} of another block of its cluster, and nothing keeps that "
                "block from ending before; let the cluster meet at a barrier.cluster before a "
                "block ends."
            )
        elif hazard.kind == "no_wgmma_fence":
            sentence = (
                f"{who} begins a matrix product that uses {place.text}, which line "
                f"{self._line(hazard.other_pc)} has written since the last wgmma.fence; another "
                "wgmma.fence between the two is missing."
            )
        elif hazard.kind == "bad_mbarrier":
            sentence = f"{who} {self._misuse(hazard)}".format(place=place.text)
        elif hazard.begins:
            verb = "writes" if hazard.is_store else "reads"
            sentence = (
                f"{self._whose(hazard, who)} {verb} {place.text} with no barrier after "
                f"{self._writer(hazard)} uses it; let the threads meet before it begins."
            )
        else:
            verb = self._atomic(hazard.pc) or ("writes" if hazard.is_store else "reads")
            sentence = f"{who} {verb} {place.text}{self._clash(hazard)}"
        block, thread = self._where(hazard.lane)
        return Finding(
            hazard.kind,
            f"{self._at(hazard.pc)}: {sentence}",
            block,
            thread,
            self._line(hazard.pc),
            hazard.tick,
            place.array,
            place.index,
            hazard.count,
        )

    def _misuse(self, hazard: Hazard) -> str:
        """What is wrong with the use of an mbarrier, at `{place}`."""
        if hazard.how == OVER:
            line = self._line(hazard.other_pc)
            other = f"the {self._operation(hazard.other_pc)} of line {line}"
            if hazard.other_thread < AGENTS:
                other = self._writer(hazard)
            return (
                f"uses the mbarrier at {{place}}, over which {other} has written; give it memory "
                "that nothing else writes to."
            )
        if hazard.how == "again":
            act, what = "initialises the mbarrier at {place} again", "uses it"
        else:
            act, what = "uses the mbarrier at {place}", "initialises it"
        block = hazard.other_thread // self._geometry.threads
        missing = "__syncthreads()"
        other = self._writer(hazard)
        if block != self._where(hazard.lane)[0]:
            other += self._of_block(block)
            missing = "cluster.sync() (barrier.cluster; after .relaxed, fence.mbarrier_init too)"
        return f"{act} with no barrier after {other} {what}; a {missing} between them is missing."

    def _operation(self, pc: int) -> str:
        """What an asynchronous instruction is called."""
        return operation_of(self._program.module.instructions[pc])

    def _whose(self, hazard: Hazard, who: str) -> str:
        """Whose access it is: a thread's, or that of an operation which it begins."""
        return f"{who} begins a {self._operation(hazard.pc)} that" if hazard.begins else who

    def _writer(self, hazard: Hazard) -> str:
        """`thread (3,0) (line 12)`, whose access the hazard clashes with."""
        thread = hazard.other_thread % self._geometry.threads
        line = self._line(hazard.other_pc)
        return f"{self._in_block(thread)} (line {line})"

    def _not_awaited(self, hazard: Hazard, who: str, place: Place) -> str:
        """An access to what an operation, which nobody has waited for, still uses."""
        verb = "writes" if hazard.is_store else "reads"
        other = self._operation(hazard.other_pc)
        line = self._line(hazard.other_pc)
        if hazard.copy is not None:
            return self._in_flight(hazard, who, place, hazard.copy)
        if other == "matrix product":
            cure = "wgmma.wait_group must come before"
        elif "bulk_group" in self._program.module.instructions[hazard.other_pc].modifiers:
            read = ", without .read," if hazard.space == "global" else ""
            cure = f"cp.async.bulk.wait_group{read} must come before"
        else:
            bytes_ = "" if other == "asynchronous copy" else ", with all bytes expected,"
            cure = f"a wait for the right phase of its mbarrier{bytes_} must come before"
            cure += self._single_try(hazard.pc)
        if hazard.waited_by >= 0:
            cure = self._telling(hazard)
        return (
            f"{self._whose(hazard, who)} {verb} {place.text} while the {other} of line {line} may "
            f"still use it; {cure}."
        )

    def _single_try(self, pc: int) -> str:
        """What to add where a function tests an mbarrier and does not look at the result."""
        module = self._program.module
        function = module.function_at(pc)
        own = module.instructions[function.first_pc : function.end_pc]
        tests = (i for i in own if {"try_wait", "test_wait"}.intersection(i.modifiers))
        for test in tests:
            if not is_used(test, own):
                what = "try_wait" if "try_wait" in test.modifiers else "test_wait"
                where = self._in_line(test.pc)
                return f" (the mbarrier.{what}{where} must be repeated until it holds)"
        return ""

    def _in_flight(self, hazard: Hazard, who: str, place: Place, copy: Pending) -> str:
        """An access to what a `cp.async` still writes, or a change of what it still reads.

        It says which wait lets the copy be pending, and which would not.
        """
        block, thread = divmod(hazard.other_thread, self._geometry.threads)
        mine = self._where(hazard.lane)
        is_own = (block, thread) == mine and not hazard.begins
        issuer = self._in_block(thread)
        verb = "writes" if hazard.is_store else "reads"
        whose = "its" if is_own else f"{issuer}'s"
        use = "read" if hazard.space == "global" else "write"
        sentence = (
            f"{self._whose(hazard, who)} {verb} {place.text} while {whose} asynchronous copy of "
            f"line {self._line(hazard.other_pc)} may still {use} it; "
        )
        barrier = "__syncthreads()" if block == mine[0] else "cluster.sync()"
        if copy.is_over:
            return (
                f"{sentence}{issuer} waits for it{self._in_line(copy.wait_pc)}, and a {barrier} "
                "after that wait is missing."
            )
        if copy.wait_pc < 0:
            pending = "1 group is" if copy.pending == 1 else f"{copy.pending} groups are"
            commit = "" if copy.newer >= 0 else "cp.async.commit_group and "
            meet = "" if (block, thread) == mine else f", and then a {barrier},"
            waits = f"{commit}cp.async.wait_group {max(copy.newer, 0)}{meet} must come before."
            return (
                f"{sentence}{'it' if is_own else issuer} has not waited since"
                f"{f' ({pending} pending)' if copy.pending else ''}: {waits}"
            )
        wait = f"the cp.async.wait_group {copy.left}{self._in_line(copy.wait_pc)}"
        if copy.needed < 0:
            return (
                f"{sentence}{wait} does not wait for it, because it was in no group; "
                "cp.async.commit_group must come before that wait."
            )
        if copy.left == 1:
            left = "newest group in flight, which is this one"
        else:
            left = f"{copy.left} newest groups in flight, of which this is number {copy.needed + 1}"
        return (
            f"{sentence}{wait} leaves the {left}: use {copy.needed}, or commit a later group "
            "before that wait."
        )

    def _telling(self, hazard: Hazard) -> str:
        """How a thread learns of the end of an operation that another has waited for."""
        block, thread = divmod(hazard.waited_by, self._geometry.threads)
        waiter = self._in_block(thread)
        if block == self._where(hazard.lane)[0]:
            return f"{waiter} has waited for it, and a __syncthreads() after that wait is missing"
        waiter += self._of_block(block)
        if hazard.space in ("shared", "cluster"):
            return f"{waiter} has waited for it, and a cluster.sync() after that wait is missing"
        return (
            f"{waiter} has waited for it, and must then execute __threadfence() and set a flag, "
            "which this thread reads before"
        )

    def _clash(self, hazard: Hazard) -> str:
        """What the access collides with, and what would order the two."""
        size = self._geometry.threads
        block, thread = divmod(hazard.other_thread, size)
        mine, own = self._where(hazard.lane)
        instruction = self._program.module.instructions[hazard.other_pc]
        is_called = instruction.opcode == "call"  # its function may load or store
        loads = hazard.is_store and not is_called and not writes_into(instruction, hazard.space)
        verb = "reads" if loads else "uses" if is_called and hazard.is_store else "writes"
        verb = self._atomic(hazard.other_pc) or verb
        plain = self._plain_beside_atomic(hazard)
        other = self._in_block(thread)
        line = self._line(hazard.other_pc)
        where = f"line {line}" if line else f"`{instruction.text.strip()}`"
        if block != mine:
            other += self._of_block(block)
        if hazard.how == UNFENCED:
            return (
                f", which {other} stores ({where}) before the flag or count by which this thread "
                "knows of it; a __threadfence() between the two stores is missing."
            )
        if block != mine:
            if hazard.space in ("shared", "cluster"):
                return (
                    f" with no barrier of their cluster after {other} {verb} it ({where}); a "
                    "cluster.sync() (barrier.cluster, not .relaxed) between them is missing."
                )
            if plain:
                return (
                    f", which {other} {verb} ({where}), and nothing orders two blocks; the {plain} "
                    f"is not atomic: {_FOR_PLAIN[plain]}."
                )
            return (
                f", which {other} {verb} too ({where}), and nothing orders two blocks; make both "
                "accesses atomic, or give each element to one block."
            )
        if hazard.other_pc == hazard.pc and not loads and hazard.is_store:
            return f", which {other} writes too with another value; which one stays is undefined."
        if self._is_update(hazard):
            cure = "make the update atomic, with atomicAdd() or its like"
        elif hazard.space == "global" and not plain:
            cure = "an atomic, or a barrier between them, is missing"
        elif thread // WARP == own // WARP and not hazard.is_across:
            cure = "a __syncwarp() (or __syncthreads()) between them is missing"
        else:
            cure = "a __syncthreads() between them is missing"
        if plain:
            cure = f"the {plain} is not atomic, and {cure}"
            if hazard.space == "global" and self._geometry.grid.count > 1:
                cure += f" (for threads of several blocks: {_FOR_PLAIN[plain]})"
        if hazard.copy is not None:
            verb, cure = "waits for its copy of", cure.replace("between them", "after that wait")
        return f" with no barrier after {other} {verb} it ({where}); {cure}."

    def _plain_beside_atomic(self, hazard: Hazard) -> str:
        """What the plain one of two accesses does, "read" or "write"; "" if both or none are."""
        mine, other = self._atomic(hazard.pc), self._atomic(hazard.other_pc)
        plain = self._program.module.instructions[hazard.other_pc if mine else hazard.pc]
        if bool(mine) == bool(other):
            return ""
        return "write" if writes_into(plain, hazard.space) else "read"

    def _atomic(self, pc: int, deep: int = 4) -> str:
        """`atomically updates` for an atomic, or a call of a function that has one; "" for none."""
        module = self._program.module
        one = module.instructions[pc]
        if one.opcode == "call":
            names = [
                o.name for part in one.operands for o in elements(part) if isinstance(o, Symbol)
            ]
            called = [f for f in map(module.functions.get, names) if f is not None]
            pcs = (pc for f in called if deep for pc in range(f.first_pc, f.end_pc))
            return max((self._atomic(pc, deep - 1) for pc in pcs), default="")  # rather an update
        if not opcode_of(one).is_memory or manner(one).how != "atomic":
            return ""
        return "atomically updates" if opcode_of(one).stores else "atomically reads"

    def _is_update(self, hazard: Hazard) -> bool:
        """Whether a line loads an element and stores it again: x[i]++ by two threads at once.

        No barrier helps there. Code of one line that uses an address twice has it in one register.
        """
        pair = [self._program.module.instructions[pc] for pc in (hazard.pc, hazard.other_pc)]
        one, other = ([o for o in access.operands if isinstance(o, Address)] for access in pair)
        same_line = self._line(hazard.pc) == self._line(hazard.other_pc)
        return same_line and hazard.copy is None and bool(one) and one == other


def _index_text(linear: int, size: Dim3) -> str:
    """`(1,0)`: an index in x and y, and z where the size has it."""
    parts = size.at(linear)[: 3 if size.z > 1 else 2]
    return f"({','.join(map(str, parts))})"


def _verb(event: FaultEvent) -> str:
    return {"load": "reads", "store": "writes"}.get(event.access, "updates")


_FOR_PLAIN = {
    "read": "read it in a later kernel, or by an atomic as well",
    "write": "write it before the launch, or by an atomic as well",
}


# Of each kind of fault the sentence, or what writes it.
_SENTENCES: dict[str, str | Callable[[Reporter, FaultEvent, Place, str], str]] = {
    "out_of_bounds": Reporter._out_of_bounds,
    "misaligned": "{who} accesses {width} bytes at {place}, an address that is not a multiple of "
    "{width}.",
    "use_after_free": Reporter._use_after_free,
    "bad_free": Reporter._bad_free,
    "assert": "the assertion `{detail}` fails for {who}.",
    "trap": "{who} executes a trap, which stops the kernel.",
    "bad_call": "{who} calls the function at address {detail}, where there is none.",
    "divergent_barrier": Reporter._divergent_barrier,
    "divergent_warp": Reporter._divergent_warp,
    "inactive_lane": Reporter._inactive_lane,
    "deadlock": Reporter._deadlock,
    "livelock": "{who} loops for ever: nothing that decides about this loop's end changes any "
    "more. A GPU would hang.",
    "not_awaited": "{who} {details[0]} a register that the matrix product of line {line} still "
    "{details[1]}; wgmma.wait_group must come before.",
    "bad_rank": "{who} asks for an address in block {details[0]} of its cluster, which has "
    "{details[1]}.",
    "remote_exit": "{who} {act} {place} of another block of its cluster, which has ended; let the "
    "cluster meet at a barrier.cluster before a block ends.",
    "no_wgmma_fence": "{who} begins a matrix product without a wgmma.fence before it; its "
    "registers need not be ready.",
    "bad_descriptor": Reporter._bad_descriptor,
    "hang": Reporter._hang,
    "bad_mbarrier": Reporter._bad_mbarrier,
    "bad_tensor_map": "{who} copies by the tensor map at {details[0]}, where there is none of "
    "{details[1]} dimensions; pass it as a const __grid_constant__ parameter.",
    "beyond_map": "{who} stores the box at ({detail}); a coordinate of a store cannot be less than "
    "0, and a GPU stops there.",
}
_OF_THREADS = (
    "assert",
    "trap",
    "bad_call",
    "bad_free",
    "divergent_barrier",
    "divergent_warp",
    "deadlock",
    "livelock",
    "hang",
    "bad_mbarrier",
)


def with_count(finding: Finding) -> Finding:
    """The finding, with the number of its repetitions in the message."""
    if finding.count == 1:
        return finding
    what = "threads" if finding.kind in _OF_THREADS else "accesses"
    return replace(finding, message=f"{finding.message} ({finding.count:,} {what} like it.)")
