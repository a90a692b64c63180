"""Draws where the pieces of an access lie: lines of 128 bytes as rows, the 32 banks as columns."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from core.explain.bank_map import CHUNK, LINE, BankMap, Piece
from core.rules.shared_memory import BANKS, WORD
from gui.looks.theme import Theme
from gui.scenes.names_and_numbers import grouped
from gui.views.drawing_tools import (
    LEFT,
    Cells,
    Key,
    draw_legend_row,
    fill,
    fitting,
    frame,
    inset,
    pen,
    text,
    text_on,
    texts,
)

TALLEST = 2.2  # lines of text that a row is high at most


@dataclass(frozen=True)
class BankMapLayout:
    """Where the parts lie; `shown` are the numbers of the lines that there is room for."""

    heads: QRectF
    cells: QRectF
    numbers: QRectF
    passes: QRectF
    readout: QRectF
    shown: tuple[int, ...]

    def word(self, line: int, bank: int, count: int = 1) -> QRectF:
        return self._grid.rect((self.shown.index(line), bank, 1, count))

    @property
    def _grid(self) -> Cells:
        wide, high = self.cells.width() / BANKS, self.cells.height() / max(len(self.shown), 1)
        return Cells(self.cells.left(), self.cells.top(), wide, high)

    def in_column(self, bank: int, row: QRectF) -> QRectF:
        """The part of a row above or below the cells that belongs to a bank."""
        wide = self.cells.width() / BANKS
        return QRectF(self.cells.left() + bank * wide, row.top(), wide, row.height())

    def head_of(self, row: QRectF) -> QRectF:
        """The place left of a row for what it is about."""
        return QRectF(self.heads.left(), row.top(), self.heads.width(), row.height())

    def offset_at(self, point: QPointF) -> int:
        """The byte of shared memory whose word lies under a point, -1 for none."""
        if not self.cells.contains(point) or not self.shown:
            return -1
        row, bank = map(int, self._grid.at(point))
        line = self.shown[min(row, len(self.shown) - 1)]
        return line * LINE + min(bank, BANKS - 1) * WORD


def bank_map_layout(found: BankMap, box: QRectF, theme: Theme) -> BankMapLayout:
    """The layout in a box: lines from the top, as many as can be read."""
    metrics = QFontMetricsF(theme.font("small"))
    line = metrics.height()
    gutter = metrics.horizontalAdvance(f"byte {grouped(found.lines[-1] * LINE)}") + 10
    readout = QRectF(box.left(), box.bottom() - line, box.width(), line)
    passes_top = readout.top() - line - 6
    heads = QRectF(box.left(), box.top() + line + 2, gutter, 0)
    room = passes_top - heads.top() - 4
    fit = max(1, int(room // (0.8 * line)))
    shown = found.lines[:fit]
    high = min(room / len(shown), TALLEST * line)
    cells = QRectF(box.left() + gutter, heads.top(), box.width() - gutter, high * len(shown))
    heads.setHeight(cells.height())
    numbers = QRectF(cells.left(), box.top(), cells.width(), line)
    passes = QRectF(cells.left(), cells.bottom() + 3, cells.width(), line)
    return BankMapLayout(heads, cells, numbers, passes, readout, shown)


def piece_at(found: BankMap, offset: int) -> Piece | None:
    """The piece of the round that a byte belongs to."""
    for piece in found.round.pieces:
        if piece.offset <= offset < piece.offset + max(piece.nbytes, WORD):
            return piece
    return None


def words_at(found: BankMap, offset: int) -> str:
    """What lies at a byte, in words."""
    bank = offset // WORD % BANKS
    said = f"Byte {grouped(offset)}: line {offset // LINE}, bank {bank}"
    if found.swizzle >= 0:
        row, piece = found.place_in_tile(offset)
        if row >= 0:
            said += f", row {row} and piece {piece} of the tile"
    piece_here = piece_at(found, offset)
    if piece_here is not None and piece_here.lane >= 0:
        said += f", lane {piece_here.lane}"
    return said


class BankMapPainter:
    """Draws one map in a box."""

    def __init__(self, painter: QPainter, theme: Theme, found: BankMap, lay: BankMapLayout) -> None:
        self.p, self.theme, self.found, self.lay = painter, theme, found, lay
        self.small = theme.font("small")

    @property
    def verb(self) -> str:
        """The name of the colour of what goes now: "store" where it is written."""
        words = self.found.title.split()
        return "store" if "stores" in words or "writes" in words else "load"

    def draw(self, lane: int) -> None:
        self._draw_ground()
        self._draw_pieces(lane)
        self._draw_numbers()
        self._draw_passes()
        frame(self.p, [self.lay.cells], pen(self.theme.color("border"), 1))

    def keys(self) -> list[Key]:
        """What the colours mean, which stands below where no bank goes twice."""
        found, theme, calm = self.found, self.theme, self.theme.color(self.verb)
        whole = found.round.together
        words = "written now" if self.verb == "store" else "read now"
        keys = [Key(words, (calm,) if whole else (), None if whole else calm)]
        if found.swizzle >= 0:
            count = (found.swizzle or LINE) // CHUNK
            colors = tuple(theme.owner_color("warp", piece) for piece in range(count))
            words = f"row:piece, a colour each of the {count} pieces of a row"
            keys.append(Key(words, colors, None, "row:piece"))
        return keys

    def _draw_ground(self) -> None:
        """The tile under the access: each piece in the colour of its place in its row."""
        p, lay, theme = self.p, self.lay, self.theme
        fill(p, [lay.cells], theme.color("raised", 0.6))
        metrics = QFontMetricsF(self.small)
        for line in lay.shown:
            row = lay.word(line, 0, BANKS)
            head = lay.head_of(row).adjusted(0, 0, -6, 0)
            text(p, head, f"byte {grouped(line * LINE)}", theme.color("text_dim"), self.small, LEFT)
            if self.found.swizzle < 0:
                continue
            for chunk in range(LINE // CHUNK):
                offset = line * LINE + chunk * CHUNK
                number, piece = self.found.place_in_tile(offset)
                box = inset(lay.word(line, chunk * CHUNK // WORD, CHUNK // WORD), 0.5)
                fill(p, [box], theme.owner_color("warp", piece))
                if number >= 0:
                    words = f"{number}:{piece}"
                    if metrics.horizontalAdvance(words) <= box.width():
                        text(p, box, words, theme.color("text"), self.small, elide=False)

    def _draw_pieces(self, lane: int) -> None:
        p, lay, theme, found = self.p, self.lay, self.theme, self.found
        calm = theme.color(self.verb)
        alarm, now = theme.color("conflict"), found.round
        font = fitting(self.small, "00", max(lay.cells.width() / BANKS, 1.0))
        marked = []
        for piece in now.pieces:
            for line, bank, count in _stretches(piece):
                if line not in lay.shown:
                    continue
                box = inset(lay.word(line, bank, count), 0.5)
                if not now.together:  # a copy: all of each line, whose colours are to be seen
                    frame(p, [inset(box, 0.5)], pen(calm, 1.6))
                    continue
                clash = now.ways > 1 and bool((now.passes[bank : bank + count] > 1).any())
                color = QColor(alarm if clash else calm)
                fill(p, [box], color)
                type_ = font if piece.nbytes <= WORD else self.small
                text(p, box, piece.name, text_on(color), type_, elide=False)
                if piece.lane == lane >= 0:
                    marked.append(inset(box, 0.5))
        frame(p, marked, pen(theme.color("selected"), 2))

    def _draw_numbers(self) -> None:
        lay, wide = self.lay, self.lay.cells.width() / BANKS
        every = 1 if wide > QFontMetricsF(self.small).horizontalAdvance("00") + 2 else 4
        places = [(lay.in_column(b, lay.numbers), str(b)) for b in range(0, BANKS, every)]
        ink = self.theme.color("text_dim")
        texts(self.p, places, ink, self.small)
        text(self.p, lay.head_of(lay.numbers), "bank", ink, self.small, LEFT)

    def _draw_passes(self) -> None:
        """Below each bank how often it goes, where that is more than once."""
        lay, now, theme = self.lay, self.found.round, self.theme
        rest = len(self.found.lines) - len(lay.shown)
        if rest > 0:
            head, faint = lay.head_of(lay.passes), theme.color("text_faint")
            text(self.p, head, f"{rest} lines more", faint, self.small, LEFT)
        if now.ways <= 1:
            draw_legend_row(self.p, lay.passes, theme, self.keys())
            return
        wide = lay.cells.width() / BANKS
        font = fitting(theme.font("small", bold=True), "×00", wide + 6)
        passes = [(bank, int(n)) for bank, n in enumerate(now.passes) if n > 1]
        places = [(lay.in_column(bank, lay.passes), f"×{n}") for bank, n in passes]
        texts(self.p, places, theme.color("conflict"), font)


def _stretches(piece: Piece) -> list[tuple[int, int, int]]:
    """The words of a piece, line by line: (line, first bank, words)."""
    first, count = piece.offset // WORD, len(piece.words)
    found = []
    while count > 0:
        line, bank = divmod(first, BANKS)
        here = min(count, BANKS - bank)
        found.append((line, bank, here))
        first, count = first + here, count - here
    return found
