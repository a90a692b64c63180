"""What a question of a lesson does to the views: what a veil says, what a click answers.

What is veiled, and what is lit once an answer is given, stands in `veils_and_picks.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from core.launch import WARP
from core.rules.global_memory import SECTOR
from core.rules.shared_memory import BANKS

if TYPE_CHECKING:  # what it imports loads the emulator: only a lesson needs that
    from core.lessons.lesson import Target
    from core.trace import BlockTrace
    from gui.scenes.session import Session

ANSWER_FIRST = "Answer first"
ASKED_LATER = "Asked later"


def waits(session: Session, what: str) -> str:
    """Why something that is made of a whole launch waits while a question veils a part of it.

    Empty where nothing is veiled. `what` begins as a part of a sentence: "a film of the steps".
    """
    return f"{ANSWER_FIRST}: {what} may show what is veiled." if session.veiled else ""


def veil_words(session: Session) -> str:
    """What a veil says: after the answer it covers what a later question asks for."""
    return ASKED_LATER if session.answered else ANSWER_FIRST


HOW: Mapping[str, str] = MappingProxyType(
    {
        "element": "press E and write its name, or click it",
        "thread": "press Down, or click it",
        "lane": "press Down, or click it",
        "sector": "press S, or click it",
        "line": "press Alt+Down, or click it",
        "bank": "press K, or click it",
    }
)
"""How each thing is selected."""
MOST_SECTORS = 128  # that can be clicked at a time
MOST_THREADS = 256


@dataclass(frozen=True)
class Cells:
    """What can be clicked for a question: numbers in rows of so many columns, and what they are."""

    numbers: range
    columns: int
    words: str


def cells_to_pick(session: Session) -> Cells:
    """The lanes, threads, banks or sectors that a question may ask for at this step.

    They say nothing of the access: sectors are those of the array from its start, or, of a larger
    one, of a stretch that holds the access somewhere.
    """
    block, lit = session.block_trace, session.lit
    target = target_to_show(session)
    if block is None:
        return Cells(range(0), 1, "")
    if session.pick_target is None and lit is not None:
        return replace(_cells(session, target, block), words=lit.told())
    return _cells(session, target, block)


def target_to_show(session: Session) -> Target | None:
    """What cells are shown for: what is asked for, or what was, while its picture stays veiled."""
    if session.pick_target is None and session.veiled and session.lit is not None:
        return session.lit.target
    return session.pick_target


def _cells(session: Session, target: Target | None, block: BlockTrace) -> Cells:
    warp = session.warp
    if target == "lane":
        count = min(WARP, block.n_threads - warp * WARP)
        words = f"Click a lane of warp {warp}; Down selects the next, P answers"
        return Cells(range(count), WARP, words)
    if target == "bank":
        return Cells(range(BANKS), BANKS, "Click a bank; K: next, P: answer")
    if target == "thread":
        return _threads(block, warp)
    if target == "sector":
        return _sectors(session, block)
    return Cells(range(0), 1, "")


def _threads(block: BlockTrace, warp: int) -> Cells:
    """The block's threads as the block has them, or those of the warp where they are too many."""
    words = "Click a thread of the block; Down selects the next, P answers"
    if block.n_threads > MOST_THREADS:
        last = min((warp + 1) * WARP, block.n_threads)
        return Cells(range(warp * WARP, last), WARP, f"{words}. Here are those of warp {warp}")
    columns = int(block.threads[: block.n_threads, 0].max()) + 1
    return Cells(range(block.n_threads), columns, words)


def _sectors(session: Session, block: BlockTrace) -> Cells:
    access = block.access(session.step) if block.n_steps else None
    if access is None or access.space != "global" or access.array is None:
        return Cells(range(0), 1, "")
    base = int(getattr(access.array, "base", 0))
    count = -(-int(access.array.nbytes) // SECTOR)
    first = 0
    if count > MOST_SECTORS and len(access.warp(session.warp).sectors):
        touched = (int(min(access.warp(session.warp).sectors)) - base) // SECTOR
        first = touched // MOST_SECTORS * MOST_SECTORS
    last = min(count, first + MOST_SECTORS)
    words = f"Click sectors of {access.array.name}, 32 bytes each; S selects the next, P answers"
    return Cells(range(first, last), 16, words)


def sector_of(session: Session, address: int) -> int | None:
    """The number of a sector from the start of its array, by its address; None outside arrays."""
    for array in session.trace.arrays if session.trace is not None else ():
        base = int(array.base)
        if base <= address < base + array.nbytes:
            return (address - base) // SECTOR
    return None


def most_of(session: Session, kind: str) -> int:
    """How many banks or sectors there are to select: sectors of the array accessed last."""
    if kind == "bank":
        return BANKS
    block = session.block_trace
    if block is None or not block.n_steps:
        return 0
    from gui.scenes.block_history import history_of

    access = history_of(block).last_access(session.step, "global")
    array = access.array if access is not None else None
    return 0 if array is None else -(-int(array.nbytes) // SECTOR)


def answer_with_selection(session: Session) -> str:
    """Answer a question with what is selected; a sentence where that cannot be done."""
    target, chosen = session.pick_target, session.selected_pick()
    if target is None:
        return "No question asks to click anything."
    if chosen is None:
        return f"No {target} is selected: {HOW[target]}."
    session.pick(target, chosen)
    return ""
