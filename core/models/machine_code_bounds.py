"""What a launch needs of a partition at least, from the machine code that a GPU runs.

The emulator knows how often the PTX's arithmetic, accesses to memory and barriers are executed; the
assembler has unrolled, hoisted and merged what lies between them. So how often each basic block of
the machine code runs is not known, but it is bounded: what enters a block leaves it, every thread
enters the kernel once, and the blocks together do at least the work that was counted. The least
that any such flow can need is found by linear programming; no real run can need less.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from core.compiler.cubin import SIZE, Factor, MachineInstruction, machine_code
from core.errors import Cancelled, TilescopeError

if TYPE_CHECKING:
    from core.launch import Workload
    from core.models.ceiling_counts import Counts

# How fast a partition of an SM reads the factors of multiply-adds from its registers.
#
# On compute capability 9.0 a partition issues an instruction a clock, and an FFMA needs three
# registers; but registers lie in two banks, the even and the odd ones, each of which gives one
# register (of all 32 lanes) a clock. A factor that a neighbour had in the same place, and was told
# to keep, is not read again. NVIDIA documents none of this: `scripts/measure_registers.py` measured
# it on an H200 with machine code of chosen registers, and the rule below is the strictest of those
# tried that no stream of instructions beat (`tests/data/registers_h200.json`).


BANKS = 2
_WINDOW = 3  # clocks from an instruction's issue in which its factors are read
_KEPT = 3  # multiply-adds after which a kept factor may still be available

Kept = deque[Mapping[int, int]]
"""The registers that the last multiply-adds kept, by the factor's place."""


def nothing_kept() -> Kept:
    """Before the first multiply-add."""
    return deque(maxlen=_KEPT)


def reads(factors: tuple[Factor | None, ...], kept: Kept) -> tuple[int, int]:
    """How many registers of the even and the odd bank an FFMA reads; `kept` takes what it keeps."""
    found, seen = [0] * BANKS, set()
    for place, factor in enumerate(factors):
        if factor is None or factor.register in seen:
            continue
        if any(one.get(place) == factor.register for one in kept):
            continue
        seen.add(factor.register)
        found[factor.register % BANKS] += 1
    kept.append({p: f.register for p, f in enumerate(factors) if f is not None and f.reuse})
    return found[0], found[1]


def read_clocks(code: Iterable[MachineInstruction]) -> int:
    """The least clocks in which a partition issues instructions that follow one another.

    An FFMA waits until its factors can be read within three clocks of its issue; what any other
    instruction reads is left out. Banks are free at first.
    """
    free, kept, clock = [0] * BANKS, nothing_kept(), 0
    for instruction in code:
        if instruction.factors:
            wanted = reads(instruction.factors, kept)
            for bank, count in enumerate(wanted):
                if count:
                    clock = max(clock, free[bank] + count - _WINDOW)
            for bank, count in enumerate(wanted):
                if count:
                    free[bank] = max(clock, free[bank]) + count
        clock += 1
    return clock


_UNITS: Mapping[str, tuple[str, int]] = {
    "FFMA": ("fp32", 2),
    "FADD": ("fp32", 1),
    "FMUL": ("fp32", 1),
    "LDG": ("LDG", 1),
    "STG": ("STG", 1),
    "LDGSTS": ("LDGSTS", 1),
    "BAR": ("BAR", 1),
    "HMMA": ("HMMA", 1),
}
_LEAVES = frozenset({"EXIT", "RET", "KILL"})
_UNKNOWN = frozenset({"BRX", "JMP", "JMX"})
_OUT = -1  # the target of an edge by which threads end
_OLDEST = (7, 5)  # NVRTC 13 makes no machine code for older ones
_MEASURED = 9  # major revision whose register banks were measured


@dataclass(frozen=True)
class BasicBlock:
    """Instructions that run one after the other, and the blocks that may follow.

    `leaves`: whether threads may end here. `does` is the work that a pass does, by class.
    """

    code: tuple[MachineInstruction, ...]
    next: tuple[int, ...]
    leaves: bool

    @property
    def does(self) -> Mapping[str, int]:
        """Floating-point operations ("fp32"), or instructions of a class."""
        found: dict[str, int] = {}
        for instruction in self.code:
            if instruction.name in _UNITS:
                name, units = _UNITS[instruction.name]
                found[name] = found.get(name, 0) + units
        return found


@dataclass(frozen=True)
class MachineNeeds:
    """What a launch needs at least: warp instructions, and clocks of partitions, each in sum.

    `clocks` counts the conflicts of register banks too; None where the banks are not known.
    `compiler` is the version of NVRTC whose machine code it is.
    """

    instructions: int
    clocks: int | None
    compiler: str


def basic_blocks(code: Sequence[MachineInstruction]) -> tuple[BasicBlock, ...]:
    """The basic blocks of a kernel, the first one first.

    A call is passed over: what the function does comes on top. Raises TilescopeError where a jump's
    target is computed.
    """
    if odd := next((one for one in code if one.name in _UNKNOWN), None):
        raise TilescopeError(f"Machine code jumps to a computed address ({odd.name}).")
    ends = _LEAVES | {"BRA"}
    starts = {0, *(one.target // SIZE for one in code if one.target is not None)}
    starts |= {i + 1 for i, one in enumerate(code) if one.name in ends and i + 1 < len(code)}
    order = sorted(starts)
    number = {start: place for place, start in enumerate(order)}
    blocks = []
    for start, end in zip(order, [*order[1:], len(code)], strict=True):
        last = code[end - 1]
        falls = last.guarded or last.name not in ends
        following = [number[end]] if falls and end in number else []
        if last.target is not None:
            following.append(number[last.target // SIZE])
        leaves = last.name in _LEAVES or not following
        blocks.append(BasicBlock(tuple(code[start:end]), tuple(dict.fromkeys(following)), leaves))
    return tuple(blocks)


def least(
    blocks: Sequence[BasicBlock], cost: Callable[[BasicBlock], int], needs: Mapping[str, float]
) -> float | None:
    """The least cost of one entry into the kernel whose passes do at least what `needs` says.

    None where no flow through the blocks does that.
    """
    import numpy as np
    from scipy.optimize import linprog

    edges = [
        (place, to)
        for place, block in enumerate(blocks)
        for to in (*block.next, *[_OUT] * block.leaves)
    ]
    into, out = np.zeros((len(blocks), len(edges))), np.zeros((len(blocks), len(edges)))
    for place, (source, target) in enumerate(edges):
        out[source, place] = 1
        if target != _OUT:
            into[target, place] = 1
    entered = np.zeros(len(blocks))
    entered[0] = 1
    costs = np.array([cost(block) for block in blocks], float)
    does = np.array([[block.does.get(name, 0) for block in blocks] for name in needs], float)
    wanted = np.array(list(needs.values()))
    limits = {}
    if len(needs):
        limits = {"A_ub": -(does @ into), "b_ub": does @ entered - wanted}
    found = linprog(costs @ into, A_eq=out - into, b_eq=entered, **limits)
    return float(found.fun + costs[0]) if found.success else None


def machine_needs(counts: Counts, capability: tuple[int, int]) -> MachineNeeds | None:
    """What a counted launch needs on a compute capability; None where that cannot be told.

    That is so for the build as written, where the compiler makes no code for the capability, and
    where control flow is computed. Compiles the kernel, which takes a second the first time.
    """
    if counts.build != "as_compiled" or capability < _OLDEST:
        return None
    try:
        blocks, compiler = _blocks(counts.workload, capability)
    except Cancelled:
        raise
    except TilescopeError:
        return None
    threads = counts.workload.launch.grid.count * counts.workload.launch.block.count
    each = {name: lanes / threads for name, lanes in counts.work.needs.items()}
    instructions = least(blocks, lambda block: len(block.code), each)
    clocks = None
    if capability[0] == _MEASURED:
        clocks = least(blocks, lambda block: read_clocks(block.code), each)
    if instructions is None:
        return None
    block = counts.workload.launch.block.count
    warps = threads / min(block, 32)  # a warp does at least what the mean of its lanes does
    return MachineNeeds(
        int(instructions * warps), None if clocks is None else int(clocks * warps), compiler
    )


def _blocks(workload: Workload, capability: tuple[int, int]) -> tuple[tuple[BasicBlock, ...], str]:
    from core.compiler.compile_ptx_and_cubin import workload_cubin
    from core.compiler.nvrtc import version as nvrtc_version

    return _blocks_of(*workload_cubin(workload, capability)), nvrtc_version()


@lru_cache(64)
def _blocks_of(image: bytes, entry: str) -> tuple[BasicBlock, ...]:
    return basic_blocks(machine_code(image, entry))
