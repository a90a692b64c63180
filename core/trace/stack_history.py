"""What a thread's stack held at any time, from the local stores that were recorded.

A `-G` build keeps arrays, structs and variables whose address is taken in local memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.record import ChunkRecord
from core.ptx.dwarf_types import DwarfType

Value = Any  # a number, or a tuple of values for an array or struct
_MOST_ELEMENTS = 256  # of an array that is shown


class StackHistory:
    """Looks up values on the stack. Each lane's stores are gathered when it is first asked for."""

    def __init__(self, record: ChunkRecord) -> None:
        self._record = record
        self._lanes: dict[int, tuple[NDArray[np.int64], ...]] = {}

    def value(
        self, function: str, depth: int, offset: int, kind: DwarfType, lane: int, tick: int
    ) -> Value | None:
        """A variable's value after all instructions before `tick`; None where not yet written."""
        base = self._record.stack_bases.get((function, depth))
        return None if base is None else self._read(kind, base + offset, lane, tick)

    def _read(self, kind: DwarfType, offset: int, lane: int, tick: int) -> Value | None:
        if kind.dtype is not None:
            bits = self._bits(offset, kind.nbytes, lane, tick)
            if bits is None:
                return None
            return kind.from_bits(np.array([bits], np.uint64))[0].item()
        parts: list[Value | None] = []
        if kind.kind == "array" and kind.element is not None and kind.element.nbytes:
            size = kind.element.nbytes
            count = min(kind.nbytes // size, _MOST_ELEMENTS)
            parts = [self._read(kind.element, offset + i * size, lane, tick) for i in range(count)]
        elif kind.members:
            parts = [self._read(m.type, offset + m.offset, lane, tick) for m in kind.members]
        return None if all(part is None for part in parts) else tuple(parts)

    def _bits(self, offset: int, nbytes: int, lane: int, tick: int) -> int | None:
        """The little-endian bytes at a place, as the last stores before `tick` left them."""
        ticks, places, widths, bits = self._stores(lane)
        count = int(np.searchsorted(ticks, tick))
        result, missing = 0, (1 << nbytes) - 1
        for i in reversed(
            np.flatnonzero(
                (places[:count] < offset + nbytes) & (places[:count] + widths[:count] > offset)
            )
        ):
            for byte in range(nbytes):
                inside = 0 <= offset + byte - places[i] < widths[i]
                if missing >> byte & 1 and inside:
                    shift = 8 * int(offset + byte - places[i])
                    result |= ((int(bits[i]) >> shift) & 0xFF) << (8 * byte)
                    missing &= ~(1 << byte)
            if not missing:
                return result
        return None

    def _stores(self, lane: int) -> tuple[NDArray[np.int64], ...]:
        """The lane's local stores: ticks, offsets, widths, and the bits stored (uint64)."""
        if lane not in self._lanes:
            rows: list[tuple[int, int, int, int]] = []
            for event in self._record.accesses:
                stores = event.kind != "load" and event.region.space == "local"
                if stores and (event.mask is None or event.mask[lane]):
                    start = int(_of_lane(event.address, lane)) - event.region.base
                    size = event.width // len(event.values)
                    for i, values in enumerate(event.values):
                        raw = np.array([_of_lane(values, lane)]).view(f"u{size}")
                        rows.append((event.tick, start + i * size, size, int(raw[0])))
            columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
            self._lanes[lane] = (
                *(np.array(column, np.int64) for column in columns[:3]),
                np.array(columns[3], np.uint64),
            )
        return self._lanes[lane]


def _of_lane(values: NDArray[Any], lane: int) -> Any:
    return values[lane if values.size > 1 else 0]
