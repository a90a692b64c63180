"""Clusters: blocks that run together, meet at barriers and reach each other's shared memory.

A shared address of another block has that block's rank in the cluster, plus 1, in bits 24 to 31;
one of the executing block's own has 0 there, or its own rank plus 1 where `mapa` gave it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from core.emulator.machine import ActionLanes
from core.emulator.machine_state import Lanes
from core.emulator.memory import RANK_BITS, SHARED_WINDOW
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Instruction
from core.ptx.types import TYPES, PtxType

_WITHIN = (1 << RANK_BITS) - 1


def put_rank(own: Reader, wanted: Reader, generic: bool, kind: PtxType, lanes: Lanes) -> bool:
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


def rank_of(address: Reader, lanes: Lanes) -> bool:
    """`getctarank`: in which block of the cluster an address lies."""
    tag = (lanes.read(address).astype(np.int64) >> RANK_BITS) & 0xFF
    own = lanes.geometry.special("%cluster_ctarank")
    lanes.write(np.where(tag == 0, own, tag - 1).astype(np.uint32))
    return True


def arrive(is_relaxed: bool, lanes: ActionLanes) -> bool:
    """`barrier.cluster.arrive`.

    With `.relaxed` it orders none of the accesses before it; without, it releases them (PTX ISA,
    "barrier.cluster").
    """
    lanes.machine.flight.cluster_arrive(lanes, is_relaxed=is_relaxed)
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
        return decoder.action(instruction, partial(rank_of, where), (to,), (TYPES["u32"],))
    wanted = decoder.table.read(instruction, rank[0], TYPES["u32"])
    mapped = partial(put_rank, where, wanted, generic, kind)
    return decoder.action(instruction, mapped, (to,), (kind,))


def cluster_barrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `barrier.cluster`."""
    if "wait" in instruction.modifiers:
        return decoder.action(instruction, wait)
    return decoder.action(instruction, partial(arrive, "relaxed" in instruction.modifiers))
