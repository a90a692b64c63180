"""Clusters: blocks that run together, meet at barriers and reach each other's shared memory.

A shared address of another block has that block's rank in the cluster, plus 1, in bits 24 to 31;
one of the executing block's own has 0 there, or its own rank plus 1 where `mapa` gave it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.emulator.lanes import Lanes
from core.emulator.machine import ActionLanes
from core.emulator.memory import RANK_BITS, SHARED_WINDOW
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Instruction
from core.ptx.types import TYPES, PtxType

_WITHIN = (1 << RANK_BITS) - 1


@dataclass(frozen=True)
class MapAddress:
    """`mapa`: the address, in the block of a rank, of what lies at one's own address."""

    address: Reader
    rank: Reader
    generic: bool
    kind: PtxType

    def __call__(self, lanes: Lanes) -> bool:
        """Puts the rank into the address."""
        address = lanes.read(self.address).astype(np.int64)
        rank = lanes.read(self.rank).astype(np.int64)
        count = lanes.geometry.cluster.count
        wrong = lanes.active & ((rank < 0) | (rank >= count))
        if wrong.any():
            lane = int(wrong.argmax())
            lanes.fault("bad_rank", lane, f"{int(rank[lane])}|{count}")
            rank = np.where(wrong, 0, rank)
        window = SHARED_WINDOW if self.generic else 0
        tag = rank + 1 if count > 1 else np.zeros_like(rank)  # a block alone has its own memory
        mapped = (address & _WITHIN) | tag << RANK_BITS
        lanes.write((mapped + window).astype(self.kind.dtype))
        return True


@dataclass(frozen=True)
class RankOf:
    """`getctarank`: in which block of the cluster an address lies."""

    address: Reader

    def __call__(self, lanes: Lanes) -> bool:
        """Reads it off the address."""
        tag = (lanes.read(self.address).astype(np.int64) >> RANK_BITS) & 0xFF
        own = lanes.geometry.special("%cluster_ctarank")
        lanes.write(np.where(tag == 0, own, tag - 1).astype(np.uint32))
        return True


@dataclass(frozen=True)
class ClusterArrive:
    """`barrier.cluster.arrive`.

    With `.relaxed` it orders none of the accesses before it; without, it releases them (PTX ISA,
    "barrier.cluster").
    """

    is_relaxed: bool

    def __call__(self, lanes: ActionLanes) -> bool:
        """Announces each lane."""
        lanes.machine.flight.cluster_arrive(lanes, is_relaxed=self.is_relaxed)
        return True


def wait(lanes: ActionLanes) -> bool:
    """`barrier.cluster.wait`: until all threads of the cluster that have not exited arrived."""
    return lanes.machine.flight.cluster_wait(lanes)


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
        return decoder.action(instruction, RankOf(where), (to,), (TYPES["u32"],))
    wanted = decoder.table.read(instruction, rank[0], TYPES["u32"])
    return decoder.action(instruction, MapAddress(where, wanted, generic, kind), (to,), (kind,))


def cluster_barrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `barrier.cluster`."""
    if "wait" in instruction.modifiers:
        return decoder.action(instruction, wait)
    return decoder.action(instruction, ClusterArrive("relaxed" in instruction.modifiers))
