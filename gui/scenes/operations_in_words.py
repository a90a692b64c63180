"""Bulk copies and products of a step as part of a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from core.trace import Array
from core.wording import listing
from gui.scenes.block_history import multiplied
from gui.scenes.bulk_copies import copied, operations_at, warps_of
from gui.scenes.names_of_elements_and_threads import elements_name
from gui.scenes.numbers_and_sentences import numbers_name

if TYPE_CHECKING:
    from core.trace import BlockTrace


def operations_words(block: BlockTrace, step: int, arrays: Iterable[Array]) -> str:
    """What the operations of a step do, as part of a sentence; empty where there are none."""
    events = operations_at(block, step)
    products = [e for e in events if e.kind == "product"]
    if products:
        parts = [(a, multiplied(block, step, a)) for a in arrays]
        what = listing([elements_name(a, flats) for a, flats in parts if len(flats)])
        warps = warps_of(block, products)
        who = f"warp{'s' * (len(warps) > 1)} {numbers_name(warps)}"
        said = f"{who} multipl{'y' if len(warps) > 1 else 'ies'} by wgmma"
        return f"{said}: {what}" if what else said
    verbs = {"load": "loads", "store": "stores"}
    found = [(array, *copied(events, array)) for array in arrays]
    moved = [f"{verbs[verb]} {elements_name(a, flats)}" for a, flats, verb in found if verb]
    return f"the copy engine {listing(moved)}" if moved else ""
