"""Where in the banks of shared memory an access's pieces lie, and why they meet there or do not.

Lanes of a load or store go in the groups that `core.rules.shared_memory` counts. A product of a
warpgroup reads core matrices: eight rows of 16 bytes (PTX ISA, "Matrix descriptor"). A bulk copy
writes rows. A swizzle exchanges pieces of 16 bytes by the number of their 128-byte line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.emulator.geometry import WARPGROUP
from core.explain.explanations import Explanation, Section, columns, lanes_name
from core.launch import WARP
from core.rules.shared_memory import BANKS, WORD
from core.tensor_maps import swizzled
from core.wording import counted, ranges

if TYPE_CHECKING:
    from core.emulator.events import Span, TransferEvent
    from core.trace.access import Access
    from core.trace.block import BlockTrace

LINE, CHUNK = BANKS * WORD, 16  # bytes
CORE_ROWS = 8
MOST_PIECES = 128  # of a copy that are shown


@dataclass(frozen=True)
class Piece:
    """Bytes that one lane asks for, or that are one row of a core matrix: `name` says which."""

    name: str
    offset: int  # in the block's shared memory
    nbytes: int
    lane: int = -1

    @property
    def words(self) -> range:
        """The 4-byte words, by number."""
        return range(self.offset // WORD, (self.offset + self.nbytes + WORD - 1) // WORD)


@dataclass(frozen=True)
class Round:
    """Pieces that go together: those of lanes, of a core matrix, or of lines of a copy."""

    name: str
    pieces: tuple[Piece, ...]
    together: bool = True  # False where each line goes by itself, as a copy writes them
    counted: tuple[int, ...] = ()
    """Of lanes how often each bank serves them, as the rule of their access counts it."""

    @cached_property
    def passes(self) -> NDArray[np.int64]:
        """Different words of each bank, of an atomic the lanes that update it: int64 (32,)."""
        if self.counted:
            return np.array(self.counted, np.int64)
        words = np.unique([word for piece in self.pieces for word in piece.words])
        return np.bincount(words.astype(np.int64) % BANKS, minlength=BANKS)

    @property
    def ways(self) -> int:
        """Of an n-way conflict n."""
        return int(self.passes.max()) if self.together else 1

    @property
    def lines(self) -> tuple[int, ...]:
        """The numbers of the 128-byte lines touched, ascending."""
        found = {word * WORD // LINE for piece in self.pieces for word in piece.words}
        return tuple(sorted(found))


@dataclass(frozen=True)
class BankMap:
    """The latest use of shared memory at a step. `swizzle` is 0, 32, 64 or 128; -1: of no tile.

    `start` is where the tile begins, from which its rows and pieces are counted.
    """

    step: int
    title: str
    rounds: tuple[Round, ...]
    chosen: int
    swizzle: int = -1
    start: int = 0

    @property
    def is_asynchronous(self) -> bool:
        """Whether a copy or a product uses the memory, and no lanes by a load or store."""
        return self.round.pieces[0].lane < 0

    @property
    def round(self) -> Round:
        """The one that is shown."""
        return self.rounds[self.chosen]

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines to show: those of the round, of a swizzled tile the whole of its pattern."""
        found = self.round.lines
        if self.swizzle > 0:
            whole = self.swizzle // CHUNK
            first = found[0] // whole * whole
            return tuple(range(first, max(found[-1] + 1, first + whole)))
        return found

    def place_in_tile(self, offset: int) -> tuple[int, int]:
        """The row of the tile and the piece of that row that lie at an offset."""
        wide = self.swizzle if self.swizzle > 0 else LINE
        back = int(swizzled(np.array([offset]), max(self.swizzle, 0))[0])
        return (back - self.start) // wide, back % wide // CHUNK

    @cached_property
    def plain(self) -> Round:
        """The same pieces as they would lie without the swizzle."""
        return replace(
            self.round,
            pieces=tuple(
                replace(p, offset=int(swizzled(np.array([p.offset]), max(self.swizzle, 0))[0]))
                for p in self.round.pieces
            ),
            counted=(),
        )


def bank_map(
    block: BlockTrace, step: int, thread: int, access: Access | None, turn: int = 0
) -> BankMap | None:
    """The latest use of shared memory at or before a step; None before any.

    `access` is the latest load or store there. The round shown is the one with `thread`, or
    `turn` rounds further.
    """
    event, when = _latest_transfer(block, step, thread)
    if event is not None and (access is None or when >= access.step):
        return _of_transfer(block, event, when, thread, turn)
    return None if access is None else _of_access(access, thread, turn)


def _latest_transfer(block: BlockTrace, step: int, thread: int) -> tuple[TransferEvent | None, int]:
    """The latest asynchronous operation that touches the block's memory, and its step."""
    group = thread // WARP // WARPGROUP
    for event in reversed(block.record.transfers):
        when = block.step_at(event.tick)
        if when > step:
            continue
        product = event.kind == "product"
        spans = event.reads if event.kind != "load" else event.writes
        mine = [s for s in spans if s.region.space == "shared" and len(_offsets(block, s))]
        if not mine:
            continue
        warps = (event.lanes - block.lanes.start) // WARP // WARPGROUP
        if product and group not in warps.tolist() and _has_product(block, event, group):
            continue
        return event, when
    return None, -1


def _has_product(block: BlockTrace, event: TransferEvent, group: int) -> bool:
    """Whether the thread's own warpgroup begins a product at the same tick."""
    for other in block.record.transfers:
        if other.tick == event.tick and other.kind == "product":
            warps = (other.lanes - block.lanes.start) // WARP // WARPGROUP
            if group in warps.tolist():
                return True
    return False


def _offsets(block: BlockTrace, span: Span) -> NDArray[np.int64]:
    """Where in the block's shared memory the pieces of a span begin."""
    place = span.place - block.place * block.shared_stride
    return place[(place >= 0) & (place < block.shared_stride)]


def _of_access(access: Access, thread: int, turn: int) -> BankMap | None:
    warp = thread // WARP
    part = access.warp(warp)
    rounds = []
    for group in part.groups:
        lanes = [i for i in range(*group.lanes.indices(WARP)) if part.active[i]]
        pieces = tuple(Piece(str(i), int(part.addresses[i]), access.width, i) for i in lanes)
        counted_ = tuple(group.passes.tolist())
        rounds.append(Round(lanes_name(lanes), pieces, counted=counted_))
    if not rounds:
        return None
    mine = [n for n, r in enumerate(rounds) if thread % WARP in [p.lane for p in r.pieces]]
    verb = {"load": "loads", "store": "stores"}.get(access.kind, "updates")
    if access.is_copy and access.kind == "store":
        verb = "begins to copy"
    title = f"Warp {warp} {verb} {access.width} bytes a lane"
    shown = ((mine[0] if mine else 0) + turn) % len(rounds)
    return BankMap(access.step, title, tuple(rounds), shown)


def _of_transfer(
    block: BlockTrace, event: TransferEvent, step: int, thread: int, turn: int
) -> BankMap:
    if event.kind == "product":
        return _of_product(block, event, step, thread, turn)
    load = event.kind == "load"
    span = next(s for s in (event.writes if load else event.reads) if s.region.space == "shared")
    chunks = np.unique(_offsets(block, span) // CHUNK) * CHUNK
    swizzle = max(span.swizzle, 0)
    start = int(chunks[0])
    found = BankMap(step, "", (), 0, swizzle, start)
    rounds = []
    for at in range(0, len(chunks), MOST_PIECES // 2):
        pieces = [
            Piece(_cell(*found.place_in_tile(c)), c, CHUNK)
            for c in chunks[at : at + MOST_PIECES // 2].tolist()
        ]
        first, last = pieces[0].offset, pieces[-1].offset + CHUNK
        name = f"bytes {first - start:,} to {last - start - 1:,} of the tile"
        rounds.append(Round(name, tuple(pieces), together=False))
    verb = "writes a box into" if load else "reads"
    title = f"The copy engine {verb} shared memory, {_mode(swizzle)}"
    return replace(found, title=title, rounds=tuple(rounds), chosen=turn % len(rounds))


def _of_product(
    block: BlockTrace, event: TransferEvent, step: int, thread: int, turn: int
) -> BankMap:
    spans = [s for s in event.reads if len(_offsets(block, s))]
    of_b = spans[-1]
    of_a = spans[:-1]
    warp = thread // WARP % WARPGROUP
    parts: list[tuple[str, Span]] = [("A", of_a[min(warp, len(of_a) - 1)])] if of_a else []
    parts.append(("B", of_b))
    rounds: list[Round] = []
    tiles: list[tuple[int, int]] = []  # of each round: the swizzle, and where the tile begins
    for name, span in parts:
        mode = max(span.swizzle, 0)
        wide = mode or LINE
        place = np.unique(_offsets(block, span))
        back = swizzled(place, mode)
        start = int(back.min()) // (CORE_ROWS * wide) * (CORE_ROWS * wide)
        row, column = (back - start) // wide, back % wide // CHUNK
        key = (row // CORE_ROWS) * LINE + column if mode else (back - start) // LINE
        for number in np.unique(key).tolist():
            mine = np.flatnonzero(key == number)
            pieces = tuple(
                Piece(
                    _cell(int(row[i]), int(column[i])) if mode else f"row {n}", int(place[i]), CHUNK
                )
                for n, i in enumerate(mine)
            )
            rows = sorted({int(row[i]) for i in mine}) if mode else list(range(len(mine)))
            at = f"rows {ranges(rows)}, piece {int(column[mine[0]])}" if mode else f"{number}"
            rounds.append(Round(f"core matrix of {name}: {at}", pieces))
            tiles.append((mode, start))
    chosen = turn % len(rounds)
    swizzle, start = tiles[chosen]
    title = f"wgmma reads {' and '.join(n for n, _ in parts)}, {_mode(swizzle)}"
    return BankMap(step, title, tuple(rounds), chosen, swizzle, start)


def _mode(swizzle: int) -> str:
    return f"swizzled by {swizzle} bytes" if swizzle else "not swizzled"


def _cell(row: int, column: int) -> str:
    """A piece of a tile: its row, and its place in there."""
    return f"{row}:{column}"


# Why the pieces meet in banks, or do not.


def verdict(found: BankMap) -> str:
    """Whether there is a conflict, and why, in a sentence or two."""
    now = found.round
    if not now.together:
        rule = _rule(found.swizzle)
        return f"Each line of 128 bytes has all 32 banks once, so none meet. {rule}".strip()
    if now.ways == 1:
        count = int(np.count_nonzero(now.passes))
        said = f"{_count(now)} lie in {count} different banks: one wavefront, no conflict."
        if found.swizzle > 0 and found.plain.ways > 1:
            without = found.plain
            busy = np.flatnonzero(without.passes == without.ways).tolist()
            said += (
                f" {_rule(found.swizzle)} Without it all {len(now.pieces)} would lie in banks "
                f"{ranges(busy)}: {without.ways} wavefronts."
            )
        elif found.swizzle == 0:
            said += " A core matrix is 128 bytes side by side here, and needs no swizzle."
        return said
    busy = np.flatnonzero(now.passes == now.ways).tolist()
    where = "bank" if len(busy) == 1 else "banks"
    return (
        f"{_count(now)} meet: {where} {ranges(busy)} {'is' if len(busy) == 1 else 'are each'} "
        f"asked for {now.ways} different words, so the round takes {now.ways} wavefronts."
        f"{_stride(now)}"
    )


def _count(now: Round) -> str:
    size = now.pieces[0].nbytes
    return f"The {counted(len(now.pieces), 'piece')} of {size} bytes"


def _rule(swizzle: int) -> str:
    if swizzle <= 0:
        return ""
    return (
        f"The swizzle of {swizzle} bytes puts a piece of 16 bytes at its number exclusive-or "
        f"(line mod {swizzle // CHUNK})."
    )


def _stride(now: Round) -> str:
    """How far lanes lie apart, where that is the same for all."""
    if len(now.pieces) < 2 or now.pieces[0].lane < 0:
        return ""
    steps = np.diff([p.offset for p in now.pieces])
    lanes = np.diff([p.lane for p in now.pieces])
    if not (steps == steps[0]).all() or not (lanes == 1).all():
        return ""
    step = int(steps[0])
    banks = step // WORD % BANKS
    on = "the same bank again" if banks == 0 else counted(banks, "bank") + " further on"
    return f" A lane's address is {step} bytes behind the one before: {on}."


def explain_bank_map(found: BankMap) -> Explanation:
    """The round that is shown as an explanation: verdict, rule, and each piece's bank."""
    now = found.round
    rows = []
    for piece in now.pieces:
        line, bank = piece.offset // LINE, piece.offset // WORD % BANKS
        last = (piece.offset + piece.nbytes - 1) // WORD % BANKS
        if found.swizzle > 0:
            row, column = found.place_in_tile(piece.offset)
            mask = found.swizzle // CHUNK - 1
            now_at = piece.offset % LINE // CHUNK
            before = now_at ^ (line & mask)
            rows.append(
                (
                    f"row {row}, piece {column}",
                    f"line {line}: {before} xor ({line} mod {mask + 1}) = {now_at}",
                    f"banks {bank}–{last}",
                )
            )
        else:
            who = f"lane {piece.lane}" if piece.lane >= 0 else piece.name
            banks = f"bank {bank}" if bank == last else f"banks {bank}–{last}"
            rows.append((who, f"byte {piece.offset}: ({piece.offset} / 4) mod 32", banks))
    number = f"{found.chosen + 1} of {len(found.rounds)}"
    sections = [Section(f"Round {number}", f"{now.name}.", tuple(columns(rows)))]
    if found.swizzle > 0:
        sections.append(Section("Swizzle", _rule(found.swizzle)))
    return Explanation(f"{found.title}, step {found.step}", tuple(sections), verdict(found))
