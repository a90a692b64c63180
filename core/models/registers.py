"""How fast a partition of an SM reads the factors of multiply-adds from its registers.

On compute capability 9.0 a partition issues an instruction a clock, and an FFMA needs three
registers; but registers lie in two banks, the even and the odd ones, each of which gives one
register (of all 32 lanes) a clock. A factor that a neighbour had in the same place, and was told
to keep, is not read again. NVIDIA documents none of this: `scripts/measure_registers.py` measured
it on an H200 with machine code of chosen registers, and the rule below is the strictest of those
tried that no stream of instructions beat (`tests/data/registers_h200.json`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from core.cuda.sass import Factor, MachineInstruction

BANKS = 2
_WINDOW = 3  # clocks from an instruction's issue in which its factors are read
_KEPT = 3  # multiply-adds for which a kept factor may still be there

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
