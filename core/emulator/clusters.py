"""Clusters: blocks that run together, meet at barriers and reach each other's shared memory.

A shared address of another block has that block's rank in the cluster, plus 1, in bits 24 to 31;
one of the executing block's own has 0 there, or its own rank plus 1 where `mapa` gave it.
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from core.emulator.address_spaces import RANK_BITS, SHARED_WINDOW
from core.emulator.barriers import Barriers
from core.emulator.events import Indices, Mask
from core.emulator.machine_state import Group, Lanes, MachineState
from core.emulator.mbarriers import MBarriers
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.emulator.scheduling import MachinePart
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Instruction
from core.ptx.types import TYPES, PtxType


class ClusterBarriers(MachinePart):
    """The barrier of each cluster of one machine: who has come there, and who waits."""

    def __init__(self, state: MachineState) -> None:
        self._mbarriers = state.part(MBarriers)  # whose lanes are told of first if none can go on
        self._barriers = state.part(Barriers)
        super().__init__(state)
        self._asleep: list[tuple[Group, int]] = []  # and since when
        self._arrived = np.zeros(state.count, np.int64)  # how often
        self._came_from = np.zeros(state.count, np.int64)  # pc of the arrival
        self._rounds: dict[int, int] = {}  # by cluster: how often its barrier let all through

    @property
    def is_awaited(self) -> bool:
        """Whether anybody waits for a cluster."""
        return bool(self._asleep)

    def arrive(self, lanes: Lanes, *, is_relaxed: bool) -> None:
        """Lanes announce themselves at the barrier of their cluster."""
        active = lanes.active
        self._arrived[active] += 1
        self._came_from[active] = lanes.pc
        self._mbarriers.tell_phase(
            "arrive", lanes.pc, self._clusters, active, is_relaxed=is_relaxed
        )
        self._wake()

    def wait(self, lanes: Lanes) -> bool:
        """Waits until all threads of the cluster have arrived as often; True if all go on."""
        active = lanes.active
        waiting = active & ~self._complete()
        self._mbarriers.tell_phase("wait", lanes.pc, self._clusters, active & ~waiting)
        if not waiting.any():
            return True
        group = self._mbarriers.put_aside(lanes, waiting, self._clusters)
        self._asleep.append((group, self.state.tick - 1))
        self._mbarriers.go_on(lanes, waiting)
        return False

    @cached_property
    def _clusters(self) -> Indices:
        """A number for each lane's cluster that is not an mbarrier's place."""
        geometry = self.state.geometry
        return np.repeat(-1 - geometry.cluster_of, geometry.threads)

    def _complete(self) -> Mask:
        """The lanes for which all others of their cluster have arrived as often as they."""
        cluster = -1 - self._clusters
        living = np.where(self.state.alive, self._arrived, np.iinfo(np.int64).max)
        least = np.full(int(cluster.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(least, cluster, living)
        complete: Mask = least[cluster] >= self._arrived
        return complete

    def _wake(self) -> None:
        """Ends the phases of clusters whose threads have all come, and lets those go on."""
        complete = self._complete()
        cluster = -1 - self._clusters
        for number in np.unique(cluster[complete & self.state.alive]).tolist():
            members = cluster == number
            times = int(self._arrived[members & self.state.alive].min())
            if times <= self._rounds.get(number, 0):
                continue
            self._rounds[number] = times
            missed = np.flatnonzero(members & (self._arrived < times))
            self._mbarriers.tell_end(-1 - number)
            if len(missed):
                here = np.flatnonzero(members & (self._arrived >= times))
                pc = int(self._came_from[here[0]])
                self.state.fault("divergent_barrier", pc, 0, here, missed)
        asleep, self._asleep = self._asleep, []
        for group, tick in asleep:
            assert group.mask is not None
            go = group.mask & complete
            stay = group.mask & ~complete
            if stay.any():
                self._asleep.append((Group(group.pc, group.depth, stay, group.warp), tick))
            if go.any():
                self._mbarriers.tell_phase("wait", group.pc, self._clusters, go)
                self._barriers.set_apart(group.pc + 1, group.depth, go)

    def exited(self) -> None:
        """Threads have ended: those of their cluster may go on."""
        if self._arrived.any():
            self._wake()

    def give_up(self) -> None:
        """Those that wait can never go on: says for whom they wait."""
        for group, tick in self._asleep:
            lanes = group.lanes(self.state.count)
            cluster = self._clusters
            late = self.state.alive & (self._arrived < self._arrived[lanes[0]])
            others = np.flatnonzero(late & (cluster == cluster[lanes[0]]))
            self.state.fault("deadlock", group.pc, group.depth, lanes, others, tick=tick)
        self._asleep.clear()


# The instructions.


_WITHIN = (1 << RANK_BITS) - 1


def _put_rank(own: Reader, wanted: Reader, generic: bool, kind: PtxType, lanes: Lanes) -> bool:
    """`mapa`: the address, in the block of a rank, of what lies at one's own address."""
    address, rank = lanes.read(own).astype(np.int64), lanes.read(wanted).astype(np.int64)
    count = lanes.geometry.cluster.count
    wrong = lanes.active & ((rank < 0) | (rank >= count))
    if wrong.any():
        lane = int(wrong.argmax())
        lanes.fault("bad_rank", lane, f"{int(rank[lane])}|{count}")
        rank = np.where(wrong, 0, rank)
    window = SHARED_WINDOW if generic else 0
    tag = rank + 1 if count > 1 else np.zeros_like(rank)  # a block alone has its own memory
    mapped = (address & _WITHIN) | tag << RANK_BITS
    lanes.write((mapped + window).astype(kind.dtype))
    return True


def _rank_of(address: Reader, lanes: Lanes) -> bool:
    """`getctarank`: in which block of the cluster an address lies."""
    tag = (lanes.read(address).astype(np.int64) >> RANK_BITS) & 0xFF
    own = lanes.geometry.special("%cluster_ctarank")
    lanes.write(np.where(tag == 0, own, tag - 1).astype(np.uint32))
    return True


def _arrive(is_relaxed: bool, lanes: Lanes) -> bool:
    """`barrier.cluster.arrive`.

    With `.relaxed` it orders none of the accesses before it; without, it releases them (PTX ISA,
    "barrier.cluster").
    """
    lanes.state.part(ClusterBarriers).arrive(lanes, is_relaxed=is_relaxed)
    return True


def _wait(lanes: Lanes) -> bool:
    """`barrier.cluster.wait`: until all threads of the cluster that have not exited arrived."""
    return lanes.state.part(ClusterBarriers).wait(lanes)


def map_address(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `mapa` and `getctarank`."""
    modifiers = instruction.modifiers
    generic = "shared::cluster" not in modifiers
    kind = TYPES["u64"] if "u64" in modifiers else TYPES["u32"]
    if generic and kind.bits != 64:
        raise unsupported(instruction, "needs 64-bit addresses")
    to, address, *rank = instruction.operands
    where = decoder.table.read(instruction, address, kind)
    if instruction.opcode == "getctarank":
        return decoder.action(instruction, partial(_rank_of, where), (to,), (TYPES["u32"],))
    wanted = decoder.table.read(instruction, rank[0], TYPES["u32"])
    mapped = partial(_put_rank, where, wanted, generic, kind)
    return decoder.action(instruction, mapped, (to,), (kind,))


def cluster_barrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `barrier.cluster`."""
    if "wait" in instruction.modifiers:
        return decoder.action(instruction, _wait)
    return decoder.action(instruction, partial(_arrive, "relaxed" in instruction.modifiers))
