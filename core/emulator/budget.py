"""How long a kernel may run, how much memory it may take, and when the machine checks this."""

from __future__ import annotations

import time
from dataclasses import dataclass

from core.cancelling import check
from core.emulator.block_record import ChunkRecord
from core.errors import BudgetExceeded

_PATIENCE = 200_000  # instructions before the time is looked at: more than most kernels take
_PAUSE = 0.02  # seconds that may pass between two looks
_FIRST, _MOST = 64, 1024  # instructions between two looks, at the start and at most
_LOOK_AT_RECORD = 1 << 15  # instructions before the record is first measured
_ENTRY = 200  # bytes of an access or value that is noted, beside its arrays
STACK_BYTES = 512 << 10  # a thread's (CUDA C++ Programming Guide, "Technical Specifications")
_CALLS = 4096  # how deep calls may be: a GPU's stack would have overflown long before


@dataclass(frozen=True)
class Limits:
    """What the blocks that run together may take.

    `instructions` that are issued; `seconds` of processor time, which are looked at only after
    `patience` instructions (None: any time); `memory`, bytes of the record and of the stacks.
    """

    instructions: int = 2_000_000
    seconds: float | None = 6.0
    memory: int = 2 << 30
    patience: int = _PATIENCE


DEFAULTS = Limits()


class Budget:
    """Watches over one machine."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._started, self._looked = time.thread_time(), time.perf_counter()
        self._interval = _FIRST
        self._measured, self._noted = 0, 0  # instructions and bytes when the record was measured
        self._measure_at = _LOOK_AT_RECORD
        self._stacks = 0

    def look(self, tick: int, record: ChunkRecord | None, line: int = 0) -> int:
        """Called after `tick` instructions, in a source line (0: unknown); says when to look again.

        Raises `BudgetExceeded` and `Cancelled`.
        """
        check()
        self._look_at_time(tick, line)
        if record is not None and tick >= self._measure_at:
            self._measure(tick, record)
        now = time.perf_counter()
        passed, self._looked = max(now - self._looked, 1e-6), now
        best = int(self._interval * _PAUSE / passed)
        self._interval = min(max(best, 1), 2 * self._interval, _MOST)
        return tick + self._interval

    def _look_at_time(self, tick: int, line: int) -> None:
        limits = self._limits
        place = f", then in line {line}" if line else ""
        if tick > limits.instructions:
            raise BudgetExceeded(
                f"The kernel was still running after {limits.instructions:,} instructions of its "
                f"threads{place}; if it does end, take smaller sizes, or raise the instruction "
                "budget (--budget)."
            )
        if tick <= limits.patience or limits.seconds is None:
            return
        spent = time.thread_time() - self._started
        if spent > limits.seconds:
            raise BudgetExceeded(
                f"The kernel was still running after {spent:.0f} s and {tick:,} instructions of "
                f"its threads{place}; if it does end, take smaller sizes, or set an instruction "
                "budget (--budget), which then replaces the time."
            )

    def _measure(self, tick: int, record: ChunkRecord) -> None:
        """Measures the record, and plans when to do so again."""
        size = record.nbytes() + _ENTRY * record.entries()
        left = self._limits.memory - self._stacks - size
        if left < 0:
            raise self._too_much(
                f"The record of the blocks that run together had grown to {_mega(size)} after "
                f"{tick:,} instructions",
                "count without recording (--counters-only), or take smaller sizes",
            )
        rate = max(size - self._noted, 1) / (tick - self._measured)
        self._measured, self._noted = tick, size
        self._measure_at = tick + max(4096, min(tick, int(left / rate)))

    def stacks(self, function: str, depth: int, stack: int, registers: int, lanes: int) -> None:
        """Told of every activation: its depth, and the bytes a lane has of stack and registers."""
        if stack > STACK_BYTES:
            raise BudgetExceeded(
                f"{function} needs a stack of {stack:,} bytes a thread; CUDA has at most "
                f"{STACK_BYTES:,}. Take smaller local arrays, or call less deeply."
            )
        if depth >= _CALLS:
            raise BudgetExceeded(
                f"{function} is called {_CALLS:,} calls deep: its recursion does not seem to end, "
                "and a GPU's stack would have overflown."
            )
        self._stacks += registers * lanes
        if self._stacks + stack * lanes > self._limits.memory:
            raise self._too_much(
                f"The stacks of {lanes:,} threads take {_mega(self._stacks + stack * lanes)}, "
                f"{depth} calls deep",
                "call less deeply, or launch fewer threads",
            )

    def _too_much(self, what: str, remedy: str) -> BudgetExceeded:
        return BudgetExceeded(
            f"{what}, more than the memory budget of {_mega(self._limits.memory)}; {remedy}."
        )


def _mega(nbytes: int) -> str:
    return f"{nbytes / 1e6:,.0f} MB"
