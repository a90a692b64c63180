"""Whether a saved record still means the same: where buffers lie, and how instructions count."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from core.emulator.events import AccessEvent
from core.emulator.image import Image
from core.trace import Trace


def layout_header(image: Image) -> dict[str, Any]:
    """What a record's addresses and instruction numbers mean."""
    texts = "\n".join(instruction.text for instruction in image.module.instructions)
    return {
        "buffers": [[region.name, region.base] for region in image.memory.regions],
        "code": [len(image.module.instructions), zlib.crc32(texts.encode())],
    }


def is_laid_out_as(saved: Mapping[str, Any], image: Image) -> bool:
    """Whether buffers and code are here as they were; a heap comes behind them on demand."""
    here = layout_header(image)
    buffers = saved["buffers"][: len(here["buffers"])]
    return bool(saved["code"] == here["code"] and buffers == here["buffers"])


def seems_to_fit(trace: Trace) -> bool:
    """The same of a file that does not say how it was: of version 2.

    Its buffers are in place if every access lies in the one that it names. Optimised code may have
    been unrolled otherwise, which nothing shows.
    """
    accesses = (event for record in trace.records for event in record.accesses)
    return trace.build.kind == "as_written" and _in_their_regions(accesses)


def _in_their_regions(accesses: Iterable[AccessEvent]) -> bool:
    for event in accesses:
        address = event.address
        if event.region.space != "global":
            continue
        if address.size > 1 and event.mask is not None:
            address = address[event.mask]
        first, end = int(address.min()), int(address.max()) + event.width
        if first < event.region.base or end > event.region.end:
            return False
    return True
