"""The shared memory view: `__shared__` arrays filling up, an access by bank, and its map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRect, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from core.emulator.events import Ints
from core.explain.bank_map import CHUNK, LINE, BankMap, Piece, bank_map, verdict
from core.launch import WARP
from core.rules.shared_memory import BANKS, WORD
from gui.looks.theme import Theme, current_theme
from gui.scenes.arrays_as_grids import rectangles
from gui.scenes.block_history import history_of
from gui.scenes.names_of_elements_and_threads import element_name, name_of_thread
from gui.scenes.numbers_and_sentences import decimals_of, grouped, numbers_name, spaced, value_text
from gui.scenes.question_in_views import veil_words
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from gui.scenes.shared_arrays_and_banks import (
    BankScene,
    SharedGrid,
    SharedScene,
    Word,
    lane_label,
    shared_scene,
)
from gui.scenes.veils_and_picks import Lit, Pick
from gui.views.buttons_and_choices import action_button, why_button
from gui.views.drawing_tools import (
    AWAY,
    CENTRE,
    LEFT,
    Cells,
    Key,
    Pixmaps,
    draw_cells,
    draw_legend_row,
    fill,
    fitting,
    frame,
    hatch,
    inset,
    nothing,
    pen,
    text,
    text_on,
    texts,
    that_fits,
    upright_texts,
    write,
)
from gui.views.question_in_views import PickPad, draw_lit, draw_lit_legend, draw_veil
from gui.views.session_view import PointedView

# Where the parts of the shared memory view lie for a scene and a size.


MAX_CELL = 4.4
WIDER, WIDEST = 2.0, 3.0
"""The most pixels of a cell for each point of the theme's type. It may be so many times as wide as
high, or as high as wide; in a tall, narrow array so many pixels a point wide, in a flat one
high."""
ROOMY, CLOSE, LEAST = 5.5, 3.4, 2.2
"""Lines of text that the bank columns are high: where there is room, where cells need it, and where
the cells of a few rows would not be legible even so."""
FEW_ROWS = 8
VALUE = 1.3  # lines of text that a cell with its value is high
LEAST_SHARE = 0.5  # of the widest array's room, for one of few columns
SEEN, SEEN_OF_FEW = 2.0, 0.5
"""Pixels that a cell is high at least, and lines of text where the rows are few: in less room the
arrays stand beside the banks."""


@dataclass(frozen=True)
class ArrayPlace:
    """Where one array lies, with its title."""

    cells: Cells
    box: QRectF
    title: QRectF

    @property
    def legible(self) -> float:
        return min(self.cells.wide, self.cells.high)


@dataclass
class SharedGeometry:
    """Where the arrays and the bank columns lie, in the widget's coordinates."""

    arrays: list[ArrayPlace]
    bank_title: QRectF
    banks: QRectF
    labels: QRectF
    readout: QRectF

    @property
    def for_banks(self) -> QRectF:
        """All that the banks take: a veil, or cells to click, stand in their place."""
        whole = self.bank_title.united(self.labels)
        whole.setBottom(self.readout.bottom())
        return whole

    def column(self, bank: int) -> QRectF:
        wide = self.banks.width() / BANKS
        whole = self.banks.united(self.labels)
        return QRectF(whole.left() + bank * wide, whole.top(), wide, whole.height())

    def words(self, banks: BankScene, bank: int) -> list[QRectF]:
        line, column = self.readout.height(), self.column(bank)
        high = min((self.banks.height() - line) / max(1, banks.highest), 3.4 * line)
        left, wide, bottom = column.left() + 1, column.width() - 2, self.banks.bottom()
        places = range(len(banks.words[bank]))
        return [QRectF(left, bottom - (place + 1) * high, wide, high) for place in places]


def shared_geometry(scene: SharedScene, box: QRectF, theme: Theme) -> SharedGeometry:
    """Arrays above, banks below: the arrays get what the banks do not need.

    Arrays lie beside each other, or below each other where their cells are larger so. In a box that
    is too low for arrays and banks, the banks stand at the right of the arrays.
    """
    line = QFontMetricsF(theme.font("small")).height()
    head = QFontMetricsF(theme.font("body", bold=True)).height()
    readout = QRectF(box.left(), box.bottom() - line, box.width(), line)
    labels = QRectF(box.left(), readout.top() - 4 - line, box.width(), line)
    whole = labels.top() - line - 3 - theme.spacing.gap - box.top()  # arrays and bank columns
    for_banks = max(ROOMY * line, 0.26 * box.height())
    few = max(grid.rows for grid in scene.grids) <= FEW_ROWS
    places = _arrays(scene.grids, box, whole - for_banks, head, theme)
    if min(p.legible for p in places) < VALUE * line:
        closer = _arrays(scene.grids, box, whole - CLOSE * line, head, theme)
        if min(p.legible for p in closer) >= VALUE * line:
            places, for_banks = closer, CLOSE * line
        elif few:
            places = _arrays(scene.grids, box, whole - LEAST * line, head, theme)
            for_banks = LEAST * line
    least = min(place.legible for place in places)
    if least < (SEEN_OF_FEW * line if few else SEEN):
        beside = _banks_at_the_right(scene, box, readout, theme)
        if min(place.legible for place in beside.arrays) > max(2 * least, SEEN):
            return beside
    most = 16.0 if scene.banks is not None and scene.banks.highest > 2 else 4.0  # words in a bank
    deepest = max(place.box.bottom() for place in places)
    bank_height = min(box.top() + whole - deepest, max(for_banks, most * line))
    banks = QRectF(box.left(), labels.top() - bank_height, box.width(), bank_height)
    bank_title = QRectF(box.left(), banks.top() - line - 3, box.width(), line)
    return SharedGeometry(places, bank_title, banks, labels, readout)


def _banks_at_the_right(
    scene: SharedScene, box: QRectF, readout: QRectF, theme: Theme
) -> SharedGeometry:
    line, head = readout.height(), QFontMetricsF(theme.font("body", bold=True)).height()
    gap = 2.0 * theme.spacing.margin
    left = QRectF(box.topLeft(), QSizeF((box.width() - gap) / 2, box.height()))
    right = left.translated(left.width() + gap, 0)
    places = _arrays(scene.grids, left, readout.top() - theme.spacing.gap - box.top(), head, theme)
    labels = QRectF(right.left(), readout.top() - 4 - line, right.width(), line)
    title = QRectF(right.left(), box.top(), right.width(), line)
    banks = QRectF(QPointF(right.left(), title.bottom() + 3), labels.topRight())
    return SharedGeometry(places, title, banks, labels, readout)


def _arrays(
    grids: tuple[SharedGrid, ...], box: QRectF, height: float, head: float, theme: Theme
) -> list[ArrayPlace]:
    room = QRectF(box.left(), box.top(), box.width(), max(height, 0.0))
    points = theme.sizes.body
    beside = _beside(grids, room, head, 2.0 * theme.spacing.margin, points)
    below = _below(grids, room, head, theme.spacing.gap, points)
    better = min(p.legible for p in below) > min(p.legible for p in beside)
    return below if better else beside


def _beside(
    grids: tuple[SharedGrid, ...], room: QRectF, head: float, gap: float, points: float
) -> list[ArrayPlace]:
    shares = _shares(grids, room.width() - gap * (len(grids) - 1))
    places, left, top = [], room.left(), room.top() + head + 2
    for grid, share in zip(grids, shares, strict=True):
        size = _cell(grid, share, max(room.height() - head - 2, 0.0), points)
        width = max(grid.columns * size.width(), share)
        title = QRectF(left, room.top(), width, head)
        places.append(_place(grid, left, top, size, title))
        left += width + gap
    return places


def _below(
    grids: tuple[SharedGrid, ...], room: QRectF, head: float, gap: float, points: float
) -> list[ArrayPlace]:
    free = room.height() - len(grids) * (head + 2) - gap * (len(grids) - 1)
    rows = sum(grid.rows for grid in grids)
    places, top = [], room.top()
    for grid in grids:
        size = _cell(grid, room.width(), max(free * grid.rows / rows, 0.0), points)
        title = QRectF(room.left(), top, room.width(), head)
        places.append(_place(grid, room.left(), top + head + 2, size, title))
        top = places[-1].box.bottom() + gap
    return places


def _place(grid: SharedGrid, left: float, top: float, size: QSizeF, title: QRectF) -> ArrayPlace:
    cells = Cells(left, top, size.width(), size.height())
    box = QRectF(left, top, grid.columns * cells.wide, grid.rows * cells.high)
    return ArrayPlace(cells, box, title)


def _shares(grids: tuple[SharedGrid, ...], width: float) -> list[float]:
    """The width that each array may take: by its columns, and not too little for a narrow one."""
    most = max(grid.columns for grid in grids)
    weights = [max(grid.columns, LEAST_SHARE * most) for grid in grids]
    return [width * weight / sum(weights) for weight in weights]


def _cell(grid: SharedGrid, width: float, height: float, points: float) -> QSizeF:
    """A square cell where it fits, stretched where one direction has more room."""
    most, widest = MAX_CELL * points, WIDEST * points
    across, down = width / grid.columns, height / grid.rows
    side = min(across, down, most)
    tall, flat = grid.rows >= 2 * grid.columns, grid.columns >= 2 * grid.rows
    wide = min(across, max(side, widest if tall else WIDER * side), most)
    high = min(down, max(side, widest if flat else WIDER * side), most)
    return QSizeF(_whole(wide), _whole(high))


def _whole(size: float) -> float:
    return float(int(size)) if size >= 3 else max(size, 0.5)


# What lies below a step's marks in a shared array: who wrote each cell, kept as a picture.


HAIRLINES_FROM = 5.0  # pixels a cell


@dataclass(frozen=True)
class ArrayPicture:
    """One array as it is drawn: where, and for how many threads."""

    grid: SharedGrid
    box: QRectF
    cells: Cells
    theme: Theme
    threads: int
    writers: bool = True
    """Whether cells have the colours of the threads that wrote them."""

    def rects(self, rows: Ints, columns: Ints) -> list[QRectF]:
        return [self.cells.rect(part) for part in rectangles(rows, columns)]

    def draw(self, what: str, p: QPainter, kept: Pixmaps) -> None:
        """Draw the "cells", the "values" in them, or the "lines" between them, without smoothing.

        Most steps write nothing to shared memory, and then the picture that is kept is the same.
        """
        grid = self.grid
        draw: Callable[[QPainter], None] = getattr(self, f"draw_{what}")
        written: tuple[bytes, ...] = ()
        if what != "lines":
            held = grid.writers if what == "cells" else grid.values
            written = grid.written.tobytes(), grid.copying.tobytes(), held.tobytes()
        shape = grid.array.shape
        state = self.threads, self.writers, shape, self.cells, written

        def sharply(q: QPainter) -> None:
            q.save()
            q.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            draw(q)
            q.restore()

        part = f"{what} of {grid.array.name}"
        kept.draw(p, part, self.box.adjusted(0, 0, 1, 1), state, sharply)

    def draw_cells(self, p: QPainter) -> None:
        """Written cells in the colour of the thread that wrote them last, others hatched.

        Those that are being copied have the look that a stage has in the pipeline view meanwhile.
        """
        grid, theme = self.grid, self.theme
        fill(p, [self.box], theme.color("panel"))
        empty = self.rects(*np.nonzero(~grid.written & grid.present))
        fill(p, empty, theme.color("field"))
        idle = self.rects(*np.nonzero(~grid.written & ~grid.copying & grid.present))
        fill(p, idle, hatch(theme.color("border")))
        fill(p, self.rects(*np.nonzero(grid.copying)), hatch(theme.tint("store", AWAY)))
        pixels = np.full((grid.rows, grid.columns, 4), theme.color("border").getRgb(), np.uint8)
        if self.writers:
            pixels = theme.owner_lut("thread", self.threads)[np.maximum(grid.writers, 0)]
        pixels[..., 3] = np.where(grid.written, 150, 0)
        data = np.ascontiguousarray(pixels)
        columns, rows = grid.columns, grid.rows
        image = QImage(data.data, columns, rows, columns * 4, QImage.Format.Format_RGBA8888)
        draw_cells(p, self.box, image)

    def draw_values(self, p: QPainter) -> None:
        rows, columns = np.nonzero(self.grid.written)
        self.write_values(p, rows, columns, self.theme.color("text"))

    def write_values(self, p: QPainter, rows: Ints, columns: Ints, ink: QColor) -> None:
        """Write what cells hold into them.

        They have the decimals that say every value of the array, where there are such.
        """
        values = self.grid.values
        few = decimals_of(values[self.grid.written])
        words = [value_text(value, decimals=few) for value in values[rows, columns].tolist()]
        font = _value_font(self.theme, self.cells)
        write(p, self.cells.sides(rows, columns), words, ink, font)

    def draw_lines(self, p: QPainter) -> None:
        grid, box, cells, theme = self.grid, self.box, self.cells, self.theme
        down = np.rint(cells.top + np.arange(1, grid.rows) * cells.high).tolist()
        across = np.rint(cells.left + np.arange(1, grid.columns) * cells.wide).tolist()
        if min(cells.wide, cells.high) >= HAIRLINES_FROM:
            p.setPen(pen(theme.color("panel", 0.75), 1))
            p.drawLines([QLineF(box.left(), y, box.right(), y) for y in down])
            p.drawLines([QLineF(x, box.top(), x, box.bottom()) for x in across])
        if len(grid.array.shape) > 2:
            every = grid.array.shape[-2]
            p.setPen(pen(theme.color("text_dim"), 1))
            p.drawLines([QLineF(box.left(), y, box.right(), y) for y in down[every - 1 :: every]])


def _value_font(theme: Theme, cells: Cells) -> QFont:
    """The type of the values in cells of a size."""
    font = theme.mono()
    sample = QFontMetricsF(font).horizontalAdvance("−0.00")
    font.setPointSizeF(min(theme.sizes.small, font.pointSizeF() * 0.88 * cells.wide / sample))
    return font


FEW = 4  # words, which are drawn as quickly as a picture of them, and differ from step to step
STALE_BANKS = 0.5  # strength of the colour of words that an earlier step asked for
LEAST_BANK = 0.6  # of the theme's small type: words that would be smaller are left out


def _hovered_lane(session: Session) -> int | None:
    """The lane of the selected warp that the pointer rests on."""
    hover = session.hover
    if hover is None or hover.thread is None or hover.thread // WARP != session.warp:
        return None
    return hover.thread % WARP


class BankPainter:
    """Columns from bank 0 to 31, the words asked of each stacked up, conflicts in their colour.

    What does not depend on the selected or hovered lane is kept as a picture.
    """

    def __init__(
        self, painter: QPainter, theme: Theme, session: Session, kept: Pixmaps, g: SharedGeometry
    ) -> None:
        self.p, self.theme, self.session, self.kept, self.g = painter, theme, session, kept, g
        self.wide = g.banks.width() / BANKS
        self.metrics = QFontMetricsF(theme.font("small"))
        self.line = self.metrics.height()

    def draw(self, banks: BankScene) -> None:
        lanes = f"{banks.active} lanes" if banks.active != 1 else "1 lane"
        words = (
            f"Banks   {lanes}, {banks.wavefronts} wavefront{'s' * (banks.wavefronts != 1)}"
            f" (ideal {banks.ideal})"
        )
        g, theme = self.g, self.theme
        counted = not self.session.hides("shared.figures")
        if not counted:
            words = f"Banks   {lanes}, {veil_words(self.session).lower()}"
        if banks.fault and counted and not self.session.hides("findings"):
            small = theme.font("small", bold=True)
            text(self.p, g.bank_title, banks.fault, theme.color("error"), small, LEFT)
        else:
            text(self.p, g.bank_title, words, theme.color("text_dim"), theme.font("small"), LEFT)
        area = g.banks.united(g.labels).adjusted(-6, 0, 6, 0)
        self.kept.draw(self.p, "columns", area, (), self._draw_columns)
        asked = banks.asked
        if sum(map(len, asked)) <= FEW:
            self._draw_asked(self.p, banks)
        else:
            state = banks.live, banks.verb, banks.conflicts > 0, asked, counted
            self.kept.draw(self.p, "asked", area, state, lambda q: self._draw_asked(q, banks))
        self._draw_marks(banks)

    def _label(self, bank: int) -> QRectF:
        column = self.g.column(bank)
        column.setTop(self.g.labels.top())
        return column

    def _numbered(self, bank: int) -> bool:
        return bank % 4 == 0 or self.wide >= self.metrics.horizontalAdvance("00") + 2

    def _draw_columns(self, p: QPainter) -> None:
        top, high = self.g.banks.top(), self.g.banks.height()
        lefts = [self.g.column(bank).left() for bank in range(BANKS)]
        columns = [QRectF(left + 1, top, self.wide - 2, high) for left in lefts]
        fill(p, columns, self.theme.color("raised", 0.6))
        numbers = [(self._label(i), str(i)) for i in range(BANKS) if self._numbered(i)]
        texts(p, numbers, self.theme.color("text_faint"), self.theme.font("small"))

    def _draw_asked(self, p: QPainter, banks: BankScene) -> None:
        """The words asked of each bank, with how many there are where that is a conflict."""
        theme, counted = self.theme, not self.session.hides("shared.figures")
        strength = 1.0 if banks.live else STALE_BANKS
        calm = theme.tint("load" if banks.verb == "loads" else "store", strength)
        alarm = theme.tint("conflict", strength)
        bold = theme.font("small", bold=True)
        digits = QFontMetricsF(bold)
        numbers, ways = [], []
        for bank, asked in enumerate(banks.words):
            if not asked:
                continue
            times = banks.passes[bank]
            conflict = counted and banks.conflicts > 0 and times > 1
            strong = alarm if conflict else calm
            rects = self.g.words(banks, bank)
            fill(p, [_body(rect) for rect in rects], strong)
            for word, rect in zip(asked, rects, strict=True):
                self._draw_word(p, word, _body(rect), strong)
            before = banks.passes[bank - 1] if bank else 0
            if conflict and (times != before or self.wide > 2.2 * self.line):
                above = QRectF(0, rects[-1].top() - self.line, 0, self.line)
                above.setWidth(digits.horizontalAdvance(f"×{times}") + 2)
                above.moveCenter(QPointF(rects[-1].center().x(), above.center().y()))
                ways.append((times, above))
            if self._numbered(bank):
                numbers.append((self._label(bank), str(bank)))
        free: list[tuple[QRectF, str]] = []
        for times, above in sorted(ways, key=lambda one: -one[0]):  # the worst need their room
            if not any(above.intersects(other) for other, _ in free):
                free.append((above, f"×{times}"))
        texts(p, free, theme.color("conflict"), bold)
        fill(p, [rect for rect, _ in numbers], theme.color("panel"))
        texts(p, numbers, theme.color("text"), theme.font("small"))

    def _draw_word(self, p: QPainter, word: Word, body: QRectF, strong: QColor) -> None:
        """The lanes that ask for a word, upright where that is the only way they fit."""
        small = self.theme.font("small")
        small.setPointSizeF(min(self.theme.sizes.small, 0.56 * body.width()))
        if small.pointSizeF() < LEAST_BANK * self.theme.sizes.small:
            return
        metrics, ink, label = QFontMetricsF(small), text_on(strong), lane_label(word.lanes)
        wide = metrics.horizontalAdvance(label)
        if wide <= body.width() and body.height() >= metrics.height() * 0.8:
            text(p, body, label, ink, small, elide=False)
        elif wide <= body.height():
            upright_texts(p, [(body, label)], ink, small, CENTRE)

    def _draw_marks(self, banks: BankScene) -> None:
        marks = {"selected": self.session.lane, "hover": _hovered_lane(self.session)}
        for name, lane in marks.items():
            places = banks.of_lane.get(lane, []) if lane is not None else []
            rects = [self.g.words(banks, bank)[number] for bank, number in places]
            found = [inset(_body(rect), 0.5) for rect in rects if rect.height() > 4]
            frame(self.p, found, pen(self.theme.color(name), 1.6))
        chosen = self.session.bank
        if chosen is not None:
            frame(self.p, [self.g.column(chosen)], pen(self.theme.color("accent"), 2))
        hover = self.session.hover
        if hover is not None and hover.bank is not None:
            label = self._label(hover.bank)
            fill(self.p, [label], self.theme.color("panel"))
            number = [(label, str(hover.bank))]
            texts(self.p, number, self.theme.color("text"), self.theme.font("small"))
            frame(self.p, [self.g.column(hover.bank)], pen(self.theme.color("hover"), 2))


def _body(rect: QRectF) -> QRectF:
    return rect.adjusted(0, 1.0 if rect.height() > 5 else 0.4, 0, 0)


LANES_FROM, VALUES_FROM = 11.0, 26.0  # pixels a cell


class SharedPainter:
    """The arrays with what is written and touched, and the bank columns."""

    def __init__(self, painter: QPainter, theme: Theme, session: Session, kept: Pixmaps) -> None:
        self.p, self.theme, self.session, self.kept = painter, theme, session, kept
        block = session.block_trace
        self._threads = block.n_threads if block is not None else 1

    def draw(self, scene: SharedScene, geometry: SharedGeometry) -> None:
        for grid, place in zip(scene.grids, geometry.arrays, strict=True):
            self._draw_grid(grid, place)
            self._draw_title(grid, place.title)
        if scene.banks is not None and self.session.hides("shared.banks"):
            draw_veil(self.p, geometry.for_banks, self.theme, veil_words(self.session))
        elif scene.banks is not None:
            BankPainter(self.p, self.theme, self.session, self.kept, geometry).draw(scene.banks)

    def _draw_title(self, grid: SharedGrid, box: QRectF) -> None:
        p, theme = self.p, self.theme
        font, small = theme.font("body", bold=True), theme.font("small")
        text(p, box, grid.array.name, theme.color("text"), font, LEFT)
        rest = box.adjusted(QFontMetricsF(font).horizontalAdvance(grid.array.name) + 8, 0, 0, 0)
        words = that_fits([*self._sizes(grid), ""], small, rest.width())
        text(p, rest, words, theme.color("text_dim"), small, LEFT, elide=False)

    @staticmethod
    def _sizes(grid: SharedGrid) -> list[str]:
        """An array's size with how much of it is written, the longest form first."""
        done, whole = int(np.count_nonzero(grid.written)), grid.size
        begun = int(np.count_nonzero(grid.copying))
        size = " × ".join(map(grouped, grid.array.shape))
        if begun:
            parts = [f"{grouped(done)} of {grouped(whole)} written"] if done else []
            short = [f"{100 * done // whole} % written"] if done else []
            what = "all" if begun == whole else grouped(begun)
            states = [
                ", ".join([*parts, f"{what} being copied"]),
                ", ".join([*short, f"{100 * begun // whole} % being copied"]),
                "being copied",
            ]
        elif not done:
            states = ["not written"]
        elif done == whole:
            states = ["all written", "full"]
        else:  # a share takes less room than two counts, and says as much
            share = f"{100 * done // whole} %"
            states = [f"{grouped(done)} of {grouped(whole)} written", f"{share} written", share]
        return [*(f"{size}   {state}" for state in states), size]

    def _draw_grid(self, grid: SharedGrid, place: ArrayPlace) -> None:
        p, theme, kept, cells = self.p, self.theme, self.kept, place.cells
        told = not self.session.hides("shared.writers")
        array = ArrayPicture(grid, place.box, cells, theme, self._threads, told)
        p.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        array.draw("cells", p, kept)
        strong = theme.color("load" if grid.verb == "loads" else "store")
        soft = QColor(strong)
        soft.setAlphaF(0.30)
        fill(p, array.rects(*np.divmod(grid.block_lit, grid.columns)), soft)
        valued = cells.wide >= VALUES_FROM and cells.high >= LANES_FROM
        if valued:
            array.draw("values", p, kept)
        fill(p, array.rects(*np.divmod(np.unique(grid.warp_lit), grid.columns)), strong)
        self._draw_bank_cells(array)
        array.draw("lines", p, kept)
        frame(p, [place.box], pen(theme.color("border"), 1))
        p.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        self._draw_words(array, text_on(strong), valued=valued)

    def _draw_bank_cells(self, array: ArrayPicture) -> None:
        hover, grid = self.session.hover, array.grid
        if hover is None or hover.bank is None or self.session.hides("shared.banks"):
            return
        flats = np.arange(grid.size)
        address = grid.array.offset + flats * grid.array.dtype.itemsize
        rows, columns = np.divmod(flats[address // 4 % BANKS == hover.bank], grid.columns)
        rects = [inset(r, 0.5) for r in array.rects(rows, columns)]
        frame(self.p, rects, pen(self.theme.color("hover"), 2))

    def _draw_words(self, array: ArrayPicture, ink: QColor, *, valued: bool) -> None:
        """Over the cells that the warp touches, their values or the lanes, and whose they are."""
        p, theme, grid, cells = self.p, self.theme, array.grid, array.cells
        if not len(grid.warp_lit):
            return
        lit = grid.lanes_of
        rows, columns = np.divmod(np.fromiter(lit, np.int64, len(lit)), grid.columns)
        if valued:
            there = grid.written[rows, columns]
            array.write_values(p, rows[there], columns[there], ink)
        elif min(cells.wide, cells.high) >= LANES_FROM:
            large = theme.font("small")
            large.setPointSizeF(min(theme.sizes.small, cells.high * 0.5))
            font = fitting(large, "00", cells.wide - 3)
            every = 1 if font.pointSizeF() >= LEAST_BANK * theme.sizes.small else 4
            names = [
                ("" if lanes[0] % every else str(lanes[0])) if len(lanes) == 1 else f"×{len(lanes)}"
                for lanes in lit.values()
            ]
            follows = (
                lit.get(flat + 1, [each[-1] + 1])[0] == each[-1] + 1 for flat, each in lit.items()
            )
            if every == 1 or all(follows):  # a large name reaches over its neighbours, as theirs
                write(p, cells.sides(rows, columns), names, ink, font if every == 1 else large)
        lanes_lit = {self.session.lane: "selected", _hovered_lane(self.session): "hover"}
        for lane, name in lanes_lit.items():
            mine = [divmod(flat, grid.columns) for flat, lanes in lit.items() if lane in lanes]
            framed = [cells.rect((*place, 1, 1)) for place in mine]
            frame(p, framed, pen(theme.color(name), 2))


# Where the pieces of an access lie: lines of 128 bytes as rows, the 32 banks as columns.


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


def _bank_map_layout(found: BankMap, box: QRectF, theme: Theme) -> BankMapLayout:
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


def _piece_at(found: BankMap, offset: int) -> Piece | None:
    """The piece of the round that a byte belongs to."""
    for piece in found.round.pieces:
        if piece.offset <= offset < piece.offset + max(piece.nbytes, WORD):
            return piece
    return None


def _words_at(found: BankMap, offset: int) -> str:
    """What lies at a byte, in words."""
    bank = offset // WORD % BANKS
    said = f"Byte {grouped(offset)}: line {offset // LINE}, bank {bank}"
    if found.swizzle >= 0:
        row, piece = found.place_in_tile(offset)
        if row >= 0:
            said += f", row {row} and piece {piece} of the tile"
    piece_here = _piece_at(found, offset)
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
        return "store" if {"stores", "writes", "begins"} & set(words) else "load"

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


class SharedView(PointedView):
    """Draws `SharedScene` for the session's step and warp.

    Hovering a bank lights every cell that lies in it; hovering a cell or word names the lanes.
    """

    WATCHES = frozenset({"trace", "block", "step", "thread", "hover", "bank"})
    why_wanted = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session, "Shared memory and banks")
        self.why = why_button()
        self.why.clicked.connect(self.why_wanted)
        tip = "Where the pieces of this access lie in the 32 banks, and its tile's swizzle"
        self.by_bank = action_button("By bank", tip, "Show shared memory by bank")
        self.by_bank.setCheckable(True)
        self.by_bank.toggled.connect(lambda: self._show_turn(0))
        self.controls: tuple[QWidget, ...] = (self.by_bank, self.why)
        self.map: BankMap | None = None  # None where arrays are shown
        self._turn, self._turned, self._pointed = 0, 0, -1
        self.scene: SharedScene | None = None
        self._kept = Pixmaps()
        self.pad = PickPad(session, self, ("bank", "lane", "thread"), self._pad_box)

    def _pad_box(self) -> QRectF:
        geometry = self.geometry_now()
        return self.whole() if geometry is None or self._is_veiled() else geometry.for_banks

    def sizeHint(self) -> QSize:
        return QSize(560, 400)

    def minimumSizeHint(self) -> QSize:
        return QSize(360, 140)

    def refresh(self, names: frozenset[str]) -> None:
        if names - {"hover"}:
            trace, block, step = self.session.trace, self.session.block_trace, self.session.step
            self.scene = None
            if trace is not None and block is not None and block.n_steps:
                self.scene = shared_scene(trace, block, step, self.session.warp)
            if names & {"trace", "block", "step", "thread"}:
                self._turn = 0
            self._make_map()
            self._say()
            self.pad.follow()
        self.update()

    def _is_veiled(self) -> bool:
        """Whether the arrays are: also where they would tell which copies have landed."""
        told = self.scene is not None and self.scene.has_copies
        return self.session.hides("shared") or (told and self.session.hides("shared.copying"))

    def _say(self) -> None:
        words = self.scene.caption if self.scene else ""
        if self.map is not None:
            words = f"{self.map.title}. {verdict(self.map)}"
        veiled = self.map is None and self._is_veiled()
        self.say(words, part="shared.copying" if veiled else "shared.caption")

    # ---- by bank

    def _show_turn(self, turn: int) -> None:
        """Show that round of the access, or the arrays where the map is not asked for."""
        self._turn = turn
        self._make_map()
        self._say()
        self.update()

    def _make_map(self) -> None:
        block, session = self.session.block_trace, self.session
        self.map = None
        if not self.by_bank.isChecked() or block is None or not block.n_steps:
            return
        access = history_of(block).last_access(session.step, "shared")
        self.map = bank_map(block, session.step, session.thread, access, self._turn)

    def map_layout(self) -> BankMapLayout | None:
        if self.map is None:
            return None
        gap = current_theme().spacing.margin
        return _bank_map_layout(
            self.map, QRectF(self.rect()).adjusted(gap, 4, -gap, -6), current_theme()
        )

    def _draw_map(self, painter: QPainter, theme: Theme) -> None:
        lay = self.map_layout()
        if any(self.session.hides(f"shared{part}") for part in ("", ".banks", ".figures")):
            draw_veil(painter, self.whole(), theme, veil_words(self.session))
            return
        if self.map is None or lay is None:
            words = "No access to shared memory yet."
            nothing(painter, QRectF(self.rect()).adjusted(16, 8, -16, -8), words, theme)
            return
        BankMapPainter(painter, theme, self.map, lay).draw(self.session.lane)
        said = f"Round {self.map.chosen + 1} of {len(self.map.rounds)}: {self.map.round.name}"
        hint = "; the wheel turns" if len(self.map.rounds) > 1 else ""
        if self._pointed >= 0:
            said, hint = _words_at(self.map, self._pointed), ""
        small = theme.font("small")
        said = that_fits((spaced(said + hint), spaced(said)), small, lay.readout.width())
        text(painter, lay.readout, said, theme.color("text"), small, LEFT)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """By bank: show the next group of lanes or core matrix that goes."""
        if self.map is None:
            super().wheelEvent(event)
            return
        self._turned -= event.angleDelta().y()
        rounds, self._turned = int(self._turned / 120), self._turned - int(self._turned / 120) * 120
        event.accept()
        self._show_turn(self._turn + rounds)

    def _point_in_map(self, point: QPointF) -> Hover | None:
        lay = self.map_layout()
        if lay is None or self.map is None:
            return None
        self._pointed = lay.offset_at(point)
        self.update()
        if self._pointed < 0:
            return None
        piece = _piece_at(self.map, self._pointed)
        known = piece is not None and piece.lane >= 0
        thread = self.session.warp * WARP + piece.lane if known and piece else None
        return Hover(thread=thread, bank=self._pointed // WORD % BANKS)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.pad.follow()

    def geometry_now(self) -> SharedGeometry | None:
        if self.scene is None or not self.scene.grids:
            return None
        return shared_geometry(self.scene, self.inner(), current_theme())

    def explained(self) -> QRect:
        """What an explanation is about: the columns of the banks that are asked for most words."""
        geometry, banks = self.geometry_now(), self.scene.banks if self.scene else None
        if geometry is None or banks is None:
            return self.rect()
        most = [bank for bank, words in enumerate(banks.words) if len(words) == banks.highest]
        box = geometry.column(most[0]).united(geometry.column(most[-1]))
        return box.toAlignedRect()

    # ---- drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = current_theme(), self.painter()
        if self.by_bank.isChecked() and self.session.block_trace is not None:
            self._draw_map(painter, theme)
            return
        scene, geometry = self.scene, self.geometry_now()
        if scene is None or geometry is None:
            return  # the caption says why
        if self._is_veiled():
            draw_veil(painter, self.whole(), theme, veil_words(self.session))
            return
        SharedPainter(painter, theme, self.session, self._kept).draw(scene, geometry)
        words = self._readout(scene)
        text(painter, geometry.readout, words, theme.color("text"), theme.font("small"), LEFT)
        lit = self.session.lit
        if lit is not None and lit.target != "line" and not self.pad.wanted:
            draw_lit(painter, theme, self._lit_places(scene, geometry, lit), lit)
            draw_lit_legend(painter, geometry.readout, theme, lit)

    def _lit_places(
        self, scene: SharedScene, g: SharedGeometry, lit: Lit
    ) -> Iterator[tuple[Pick, list[QRectF]]]:
        lanes = self._cells_of_lanes(scene, g) if lit.target in ("lane", "thread") else {}
        first = self.session.warp * WARP if lit.target == "thread" else 0
        for pick in {*lit.right, *lit.given}:
            if isinstance(pick, int) and lit.by_writer:
                yield pick, self._cells_stored_by(scene, g, pick)
            elif isinstance(pick, int) and lit.target == "bank":
                yield pick, [g.column(pick).adjusted(1, 0, -1, 0)]
            elif isinstance(pick, int):
                yield pick, lanes.get(pick - first, [])
            else:
                yield pick, self._cells_of_element(scene, g, pick)

    def _cells_of_lanes(self, scene: SharedScene, g: SharedGeometry) -> dict[int, list[QRectF]]:
        found: dict[int, list[QRectF]] = {}
        for grid, place in zip(scene.grids, g.arrays, strict=True):
            for flat, lanes in grid.lanes_of.items():
                rect = place.cells.rect((*divmod(flat, grid.columns), 1, 1))
                for lane in lanes:
                    found.setdefault(lane, []).append(rect)
        return found

    @staticmethod
    def _cells_stored_by(scene: SharedScene, g: SharedGeometry, thread: int) -> list[QRectF]:
        return [
            place.cells.rect((int(row), int(column), 1, 1))
            for grid, place in zip(scene.grids, g.arrays, strict=True)
            for row, column in np.argwhere((grid.written | grid.copying) & (grid.writers == thread))
        ]

    @staticmethod
    def _cells_of_element(scene: SharedScene, g: SharedGeometry, pick: Pick) -> list[QRectF]:
        for grid, place in zip(scene.grids, g.arrays, strict=True):
            if not isinstance(pick, int) and grid.array.name == pick.array:
                shape = grid.array.shape
                if len(pick.index) != len(shape) or (np.array(pick.index) >= shape).any():
                    return []  # what was typed is no element
                flat = int(np.ravel_multi_index(pick.index, shape))
                return [place.cells.rect((*divmod(flat, grid.columns), 1, 1))]
        return []

    # ---- words about what is pointed at

    def _readout(self, scene: SharedScene) -> str:
        hover, veiled = self.session.hover, self.session.hides("shared.banks")
        if hover is None or (veiled and hover.element is None):
            return "" if veiled else self._about_lane(scene)
        for grid in scene.grids:
            if hover.element is not None and hover.element[0] == grid.array.name:
                return self._about_cell(grid, hover.element[1])
        if hover.bank is not None and scene.banks is not None:
            asked = scene.banks.words[hover.bank]
            if not asked:
                return f"Bank {hover.bank} is not asked for anything"
            parts = [
                f"{w.name} by lane{'s' * (len(w.lanes) > 1)} {numbers_name(w.lanes)}"
                for w in asked[:4]
            ]
            more = f" and {len(asked) - 4} more words" if len(asked) > 4 else ""
            return f"Bank {hover.bank}: {', '.join(parts)}{more}"
        return self._about_lane(scene)

    def _about_lane(self, scene: SharedScene) -> str:
        block, lane = self.session.block_trace, self.session.lane
        if scene.banks is None or block is None:
            return ""
        who = f"Lane {lane}, thread {name_of_thread(block, self.session.thread)}"
        for bank, number in scene.banks.of_lane.get(lane, []):
            return f"{who} {scene.banks.verb} {scene.banks.words[bank][number].name}, bank {bank}"
        return f"{who} takes no part in this access"

    def _about_cell(self, grid: SharedGrid, index: tuple[int, ...]) -> str:
        flat = int(np.ravel_multi_index(index, grid.array.shape))
        row, column = divmod(flat, grid.columns)
        words = element_name(grid.array, flat)
        if not self.session.hides("shared.banks"):
            words += f", bank {grid.bank_of(flat)}"
        if grid.copying[row, column]:
            return f"{words}, being copied: may not be there yet"
        if not grid.written[row, column]:
            return f"{words}, not written yet"
        block, writer = self.session.block_trace, int(grid.writers[row, column])
        words += f" = {value_text(grid.values[row, column].item(), 4)}"
        if block and writer >= 0 and not self.session.hides("shared.writers"):
            words += f", written by thread {name_of_thread(block, writer)}"
        return words

    # ---- pointing

    def mousePressEvent(self, event: QMouseEvent) -> None:
        hover = self.hover_at(event.position())
        if hover is None or event.button() != Qt.MouseButton.LeftButton or self._picked(hover):
            return
        found = {"thread": hover.thread, "element": hover.element, "bank": hover.bank}
        self.session.update(**{name: one for name, one in found.items() if one is not None})

    def _picked(self, hover: Hover) -> bool:
        """Answer with what was clicked, if a question asks for such a thing."""
        session = self.session
        if hover.bank is not None and session.pick("bank", hover.bank):
            return True
        if hover.element is not None and session.pick("element", hover.element):
            return True
        return self.picked_thread(hover)

    def hover_at(self, point: QPointF) -> Hover | None:
        if self.by_bank.isChecked():
            return self._point_in_map(point)
        scene, geometry = self.scene, self.geometry_now()
        if scene is None or geometry is None:
            return None
        for grid, place in zip(scene.grids, geometry.arrays, strict=True):
            if place.box.contains(point):
                row, column = map(int, place.cells.at(point))
                flat = min(row, grid.rows - 1) * grid.columns + min(column, grid.columns - 1)
                if flat >= grid.size:
                    return None
                lanes = grid.lanes_of.get(flat, [])
                thread = self.session.warp * WARP + lanes[0] if len(lanes) == 1 else None
                return Hover(thread=thread, element=(grid.array.name, grid.array.index(flat)))
        whole, banks = geometry.banks.united(geometry.labels), scene.banks
        if not whole.contains(point):
            return None
        bank = min(int((point.x() - whole.left()) / whole.width() * BANKS), BANKS - 1)
        words = zip(banks.words[bank], geometry.words(banks, bank), strict=True) if banks else ()
        for word, box in words:
            if box.top() < point.y() <= box.bottom() and len(word.lanes) == 1:
                return Hover(thread=self.session.warp * WARP + word.lanes[0], bank=bank)
        return Hover(bank=bank)
