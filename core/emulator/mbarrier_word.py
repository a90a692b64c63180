"""What an mbarrier object holds.

The 64-bit object is opaque to programs (PTX ISA, "mbarrier"). Ours holds, from bit 0 on, the count
that is expected (20 bits), what is still to arrive (20 bits), the bytes that are still to come (21
bits, signed: they may come before they are expected) and the number of the phase, modulo 8.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST = (1 << 20) - 1  # arrivals
PENDING, _BYTES, PHASE = 20, 40, 61  # the lowest bit of each
_BYTES_MASK = (1 << 21) - 1


@dataclass(frozen=True)
class Word:
    """The content of an object. `phase` is modulo 8."""

    expected: int
    pending: int
    missing_bytes: int = 0
    phase: int = 0

    @classmethod
    def of(cls, raw: int) -> Word:
        """From its 64 bits."""
        missing = raw >> _BYTES & _BYTES_MASK
        missing -= (missing >> 20) << 21
        return cls(raw & MOST, raw >> PENDING & MOST, missing, raw >> PHASE & 7)

    @property
    def raw(self) -> int:
        """Its 64 bits, unsigned."""
        low = (self.expected & MOST) | (self.pending & MOST) << PENDING
        return low | (self.missing_bytes & _BYTES_MASK) << _BYTES | self.phase << PHASE
