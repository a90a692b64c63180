"""The shared memory view: `__shared__` arrays filling up, and the 32 banks of one access."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QImage,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.scenes.matrices import rectangles
from gui.scenes.naming import element_name, numbers_name, thread_name, value_text
from gui.scenes.session import Hover, Session
from gui.scenes.shared import (
    BANKS,
    BankScene,
    SharedGrid,
    SharedScene,
    Word,
    lane_label,
    shared_scene,
)
from gui.scenes.warp import LANES
from gui.theme import Theme, current_theme
from gui.views.base import Caption, SessionView
from gui.views.painting import (
    CENTRE,
    LEFT,
    fill,
    frame,
    hatch,
    inset,
    nothing,
    pen,
    text,
    text_on,
    upright_text,
)

STALE = 0.5
MAX_CELL = 44.0
HAIRLINES_FROM, LANES_FROM, VALUES_FROM = 5.0, 11.0, 26.0  # pixels a cell


@dataclass
class SharedGeometry:
    """Where the arrays and the bank columns lie, in the widget's coordinates."""

    grids: list[QRectF]
    cells: list[float]
    titles: list[QRectF]
    bank_title: QRectF
    banks: QRectF
    labels: QRectF
    readout: QRectF


class SharedView(SessionView):
    """Draws `SharedScene` for the session's step and warp.

    Hovering a bank lights every cell that lies in it; hovering a cell or word names the lanes.
    """

    WATCHES = frozenset({"trace", "block", "step", "thread", "hover"})

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.caption = Caption()
        self.controls: tuple[QWidget, ...] = ()
        self._scene: SharedScene | None = None
        self._geometry: SharedGeometry | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Shared memory and banks")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(560, 400)

    def minimumSizeHint(self) -> QSize:
        return QSize(360, 220)

    @property
    def scene(self) -> SharedScene | None:
        """What is drawn now."""
        return self._scene

    def refresh(self, names: frozenset[str]) -> None:
        if names - {"hover"}:
            trace, block, step = self.session.trace, self.session.block_trace, self.session.step
            known = trace is not None and block is not None and block.n_steps > 0
            self._scene = (
                shared_scene(trace, block, step, self.session.warp)  # type: ignore[arg-type]
                if known
                else None
            )
            self._geometry = None
            self.caption.setText(self._scene.caption if self._scene else "")
            self.setAccessibleDescription(self.caption.text())
        self.update()

    def restyle(self) -> None:
        self._geometry = None
        super().restyle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._geometry = None
        super().resizeEvent(event)

    def geometry_now(self) -> SharedGeometry | None:
        """The layout of what is drawn now."""
        if self._geometry is None and self._scene is not None and self._scene.grids:
            theme = current_theme()
            edge = theme.spacing.margin
            box = QRectF(self.rect()).adjusted(edge, 4, -edge, -theme.spacing.gap)
            self._geometry = _lay_out(self._scene, box, theme)
        return self._geometry

    # ---- drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), theme.color("panel"))
        scene, geometry = self._scene, self.geometry_now()
        if scene is None or geometry is None:
            words = "This kernel uses no shared memory." if scene is not None else ""
            nothing(painter, QRectF(self.rect()), words, theme)
            return
        for grid, box, title, cell in zip(
            scene.grids, geometry.grids, geometry.titles, geometry.cells, strict=True
        ):
            self._draw_grid(painter, grid, box, cell, theme)
            self._draw_title(painter, grid, title, theme)
        if scene.banks is not None:
            painter.setOpacity(1.0 if scene.banks.live else STALE)
            self._draw_banks(painter, scene.banks, geometry, theme)
            painter.setOpacity(1.0)
        text(
            painter,
            geometry.readout,
            self._readout(scene),
            theme.color("text"),
            theme.font("small"),
            LEFT,
        )

    def _draw_title(self, p: QPainter, grid: SharedGrid, box: QRectF, theme: Theme) -> None:
        font, small = theme.font("body", bold=True), theme.font("small")
        wide = QFontMetricsF(font).horizontalAdvance(grid.array.name) + 8
        text(p, box, grid.array.name, theme.color("text"), font, LEFT)
        size = " × ".join(str(n) for n in grid.array.shape)
        done, whole = int(grid.written.sum()), grid.written.size
        state = "all written" if done == whole else f"{done} of {whole} written"
        rest = box.adjusted(wide, 0, 0, 0)
        text(p, rest, f"{size}   {state}", theme.color("text_dim"), small, LEFT)

    def _draw_grid(
        self, p: QPainter, grid: SharedGrid, box: QRectF, cell: float, theme: Theme
    ) -> None:
        p.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        fill(p, [box], theme.color("raised"))
        empty_r, empty_c = np.nonzero(~grid.written)
        empty = [_cells(box, cell, r) for r in rectangles(empty_r, empty_c)]
        fill(p, empty, theme.color("field"))
        fill(p, empty, hatch(theme.color("border")))
        self._draw_owners(p, grid, box, theme)
        lit_r, lit_c = np.divmod(grid.block_lit, grid.columns)
        strong = theme.color("load" if grid.verb == "loads" else "store")
        soft = QColor(strong)
        soft.setAlphaF(0.30)
        fill(p, [_cells(box, cell, r) for r in rectangles(lit_r, lit_c)], soft)
        mine_r, mine_c = np.divmod(np.unique(grid.warp_lit), grid.columns)
        fill(p, [_cells(box, cell, r) for r in rectangles(mine_r, mine_c)], strong)
        self._draw_bank_cells(p, grid, box, cell, theme)
        if cell >= HAIRLINES_FROM:
            self._draw_hairlines(p, grid, box, cell, theme)
        frame(p, [box], pen(theme.color("border"), 1))
        p.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        self._draw_words(p, grid, box, cell, text_on(strong, theme), theme)

    def _draw_owners(self, p: QPainter, grid: SharedGrid, box: QRectF, theme: Theme) -> None:
        """Written cells in the colour of the thread that wrote them last."""
        block = self.session.block_trace
        lut = theme.owner_lut("thread", block.n_threads if block is not None else 1)
        pixels = lut[np.maximum(grid.writers, 0)].copy()
        pixels[..., 3] = np.where(grid.written, 150, 0)
        height, width = grid.rows, grid.columns
        data = np.ascontiguousarray(pixels)
        image = QImage(data.data, width, height, width * 4, QImage.Format.Format_RGBA8888)
        p.drawImage(box, image)

    def _draw_hairlines(
        self, p: QPainter, grid: SharedGrid, box: QRectF, cell: float, theme: Theme
    ) -> None:
        p.setPen(pen(theme.color("panel", 0.75), 1))
        for r in range(1, grid.rows):
            y = round(box.top() + r * cell)
            p.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
        for c in range(1, grid.columns):
            x = round(box.left() + c * cell)
            p.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))

    def _draw_bank_cells(
        self, p: QPainter, grid: SharedGrid, box: QRectF, cell: float, theme: Theme
    ) -> None:
        """Outline the cells of the hovered bank."""
        hover = self.session.hover
        if hover is None or hover.bank is None:
            return
        flats = np.arange(grid.rows * grid.columns)
        address = grid.array.offset + flats * grid.array.dtype.itemsize
        rows, columns = np.divmod(flats[address // 4 % BANKS == hover.bank], grid.columns)
        rects = [_cells(box, cell, r) for r in rectangles(rows, columns)]
        frame(p, [inset(r, 0.5) for r in rects], pen(theme.color("hover"), 2))

    def _draw_words(
        self, p: QPainter, grid: SharedGrid, box: QRectF, cell: float, ink: QColor, theme: Theme
    ) -> None:
        lit: dict[int, list[int]] = {}
        for flat, lane in zip(grid.warp_lit.tolist(), grid.warp_lanes.tolist(), strict=True):
            lit.setdefault(flat, []).append(lane)
        if cell >= VALUES_FROM:
            font = theme.mono()
            sample = QFontMetricsF(font).horizontalAdvance("−0.00")
            font.setPointSizeF(min(theme.sizes.small, font.pointSizeF() * (cell - 3) / sample))
            for r, c in zip(*np.nonzero(grid.written), strict=True):
                color = ink if int(r) * grid.columns + int(c) in lit else theme.color("text")
                rect = _cells(box, cell, (int(r), int(c), 1, 1))
                text(p, rect, value_text(grid.values[r, c].item()), color, font, elide=False)
        elif cell >= LANES_FROM:
            font = theme.font("small")
            font.setPointSizeF(min(theme.sizes.small, cell * 0.5))
            for flat, lanes in lit.items():
                rect = _cells(box, cell, (*divmod(flat, grid.columns), 1, 1))
                words = str(lanes[0]) if len(lanes) == 1 else f"×{len(lanes)}"
                text(p, rect, words, ink, font, elide=False)
        lanes_lit = {self.session.lane: "selected"}
        hovered = self._hovered_lane()
        if hovered is not None:
            lanes_lit[hovered] = "hover"
        for flat, lanes in lit.items():
            for lane, name in lanes_lit.items():
                if lane in lanes:
                    rect = _cells(box, cell, (*divmod(flat, grid.columns), 1, 1))
                    frame(p, [inset(rect, 0)], pen(theme.color(name), 2))

    def _draw_banks(self, p: QPainter, banks: BankScene, g: SharedGeometry, theme: Theme) -> None:
        small = theme.font("small")
        lanes = f"{banks.active} lanes" if banks.active != 1 else "1 lane"
        words = (
            f"Banks   {lanes}, {banks.wavefronts} wavefront{'s' * (banks.wavefronts != 1)}"
            f" (ideal {banks.ideal})"
        )
        text(p, g.bank_title, words, theme.color("text_dim"), small, LEFT)
        wide = g.banks.width() / BANKS
        most = max(1, banks.ways)
        metrics = QFontMetricsF(small)
        line = metrics.height()
        room = g.banks.height() - line
        high = min(room / most, 3.4 * line)
        every = 1 if wide >= 0.95 * metrics.horizontalAdvance("00") else 4
        fill(
            p,
            [
                QRectF(g.banks.left() + i * wide + 1, g.banks.top(), wide - 2, g.banks.height())
                for i in range(BANKS)
            ],
            theme.color("raised", 0.6),
        )
        hover = self.session.hover
        for bank, asked in enumerate(banks.words):
            left = g.banks.left() + bank * wide
            strong = theme.color(
                "conflict" if len(asked) > 1 else "load" if banks.verb == "loads" else "store"
            )
            for number, word in enumerate(asked):
                rect = QRectF(left + 1, g.banks.bottom() - (number + 1) * high, wide - 2, high)
                self._draw_word(p, word, rect, strong, theme)
            before = len(banks.words[bank - 1]) if bank else 0
            if len(asked) > 1 and (len(asked) != before or wide > 2.2 * line):
                top = g.banks.bottom() - len(asked) * high - line
                above = QRectF(left - 6, top, wide + 12, line)
                bold = theme.font("small", bold=True)
                text(p, above, f"×{len(asked)}", theme.color("conflict"), bold, elide=False)
            label = QRectF(left, g.labels.top(), wide, g.labels.height())
            lit = hover is not None and hover.bank == bank
            words = str(bank) if bank % every == 0 or lit else ""
            text(
                p,
                label,
                words,
                theme.color("text" if asked or lit else "text_faint"),
                small,
                elide=False,
            )
            if lit:
                frame(
                    p,
                    [QRectF(left, g.banks.top(), wide, g.labels.bottom() - g.banks.top())],
                    pen(theme.color("hover"), 2),
                )

    def _draw_word(
        self, p: QPainter, word: Word, rect: QRectF, strong: QColor, theme: Theme
    ) -> None:
        gap = 1.0 if rect.height() > 5 else 0.4
        body = rect.adjusted(0, gap, 0, 0)
        fill(p, [body], strong)
        small = theme.font("small")
        small.setPointSizeF(min(theme.sizes.small, 0.7 * body.width()))
        metrics, ink, label = QFontMetricsF(small), text_on(strong, theme), lane_label(word.lanes)
        wide = metrics.horizontalAdvance(label)
        if small.pointSizeF() < 0.6 * theme.sizes.small:
            pass
        elif wide <= body.width() + 2 and body.height() >= metrics.height() * 0.8:
            text(p, body, label, ink, small, elide=False)
        elif wide <= body.height():
            upright_text(p, body, label, ink, small, CENTRE)
        if self.session.lane in word.lanes and rect.height() > 4:
            frame(p, [inset(body, 0.5)], pen(theme.color("selected"), 1.6))
        if self._hovered_lane() in word.lanes:
            frame(p, [inset(body, 0.5)], pen(theme.color("hover"), 1.6))

    def _hovered_lane(self) -> int | None:
        hover = self.session.hover
        if hover is None or hover.thread is None or hover.thread // LANES != self.session.warp:
            return None
        return hover.thread % LANES

    # ---- words about what is pointed at

    def _readout(self, scene: SharedScene) -> str:
        hover = self.session.hover
        if hover is None:
            return self._about_lane(scene)
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
        who = f"Lane {lane}, thread {thread_name(block.threads[self.session.thread])}"
        for bank, asked in enumerate(scene.banks.words):
            for word in asked:
                if lane in word.lanes:
                    return f"{who} {scene.banks.verb} {word.name}, bank {bank}"
        return f"{who} takes no part in this access"

    def _about_cell(self, grid: SharedGrid, index: tuple[int, ...]) -> str:
        flat = int(np.ravel_multi_index(index, grid.array.shape))
        row, column = divmod(flat, grid.columns)
        words = f"{element_name(grid.array, flat)}, bank {grid.bank_of(flat)}"
        if not grid.written[row, column]:
            return f"{words}, not written yet"
        block, writer = self.session.block_trace, int(grid.writers[row, column])
        who = (
            f", written by thread {thread_name(block.threads[writer])}"
            if block and writer >= 0
            else ""
        )
        return f"{words} = {value_text(grid.values[row, column].item(), 4)}{who}"

    # ---- pointing

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.session.hover = self._hover_at(event.position())

    def leaveEvent(self, event: QEvent) -> None:
        self.session.hover = None
        super().leaveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        hover = self._hover_at(event.position())
        if hover is None or event.button() != Qt.MouseButton.LeftButton:
            return
        chosen: dict[str, object] = {}
        if hover.thread is not None:
            chosen["thread"] = hover.thread
        if hover.element is not None:
            chosen["element"] = hover.element
        self.session.update(**chosen)

    def _hover_at(self, point: QPointF) -> Hover | None:
        scene, geometry = self._scene, self.geometry_now()
        if scene is None or geometry is None:
            return None
        for grid, box, cell in zip(scene.grids, geometry.grids, geometry.cells, strict=True):
            if box.contains(point):
                row = min(int((point.y() - box.top()) / cell), grid.rows - 1)
                column = min(int((point.x() - box.left()) / cell), grid.columns - 1)
                flat = row * grid.columns + column
                lanes = grid.warp_lanes[grid.warp_lit == flat]
                thread = self.session.warp * LANES + int(lanes[0]) if len(lanes) == 1 else None
                return Hover(thread=thread, element=(grid.array.name, grid.array.index(flat)))
        whole = geometry.banks.united(geometry.labels)
        if whole.contains(point):
            bank = int((point.x() - whole.left()) / whole.width() * BANKS)
            return self._hover_bank(scene, geometry, min(bank, BANKS - 1), point)
        return None

    def _hover_bank(
        self, scene: SharedScene, g: SharedGeometry, bank: int, point: QPointF
    ) -> Hover:
        if scene.banks is None:
            return Hover(bank=bank)
        asked = scene.banks.words[bank]
        line = QFontMetricsF(current_theme().font("small")).height()
        high = min((g.banks.height() - line) / max(1, scene.banks.ways), 3.4 * line)
        number = int((g.banks.bottom() - point.y()) // high)
        thread = None
        if 0 <= number < len(asked) and len(asked[number].lanes) == 1:
            thread = scene.banks.warp * LANES + asked[number].lanes[0]
        return Hover(thread=thread, bank=bank)


def _cells(box: QRectF, cell: float, rect: tuple[int, int, int, int]) -> QRectF:
    row, column, rows, columns = rect
    left, right = round(box.left() + column * cell), round(box.left() + (column + columns) * cell)
    top, bottom = round(box.top() + row * cell), round(box.top() + (row + rows) * cell)
    return QRectF(left, top, right - left, bottom - top)


def _lay_out(scene: SharedScene, box: QRectF, theme: Theme) -> SharedGeometry:
    """Arrays side by side above, banks below: the arrays get what the banks do not need."""
    line = QFontMetricsF(theme.font("small")).height()
    head = QFontMetricsF(theme.font("body", bold=True)).height()
    gap = 2.0 * theme.spacing.margin
    readout = QRectF(box.left(), box.bottom() - line, box.width(), line)
    labels = QRectF(box.left(), readout.top() - 4 - line, box.width(), line)
    top = box.top() + head + 2
    count = len(scene.grids)
    columns = sum(g.columns for g in scene.grids)
    rows = max(1, *(g.rows for g in scene.grids))
    cell = min((box.width() - gap * (count - 1)) / max(1, columns), MAX_CELL)
    for_banks = max(5.5 * line, 0.26 * box.height())
    above = labels.top() - line - 3 - theme.spacing.gap - top  # arrays and bank columns together
    cell = min(cell, max(above - for_banks, 0.0) / rows)
    cell = float(int(cell)) if cell >= 3 else max(cell, 0.5)
    most = 4.0 if scene.banks is None or scene.banks.ways <= 2 else 16.0
    bank_height = min(above - cell * rows, max(for_banks, most * line))
    banks = QRectF(box.left(), labels.top() - bank_height, box.width(), bank_height)
    bank_title = QRectF(box.left(), banks.top() - line - 3, box.width(), line)
    grids, titles, left = [], [], box.left()
    share = (box.width() - gap * (count - 1)) / count
    for grid in scene.grids:
        width = grid.columns * cell
        grids.append(QRectF(left, top, width, grid.rows * cell))
        titles.append(QRectF(left, box.top(), max(width, share), head))
        left += max(width, share) + gap
    return SharedGeometry(grids, [cell] * count, titles, bank_title, banks, labels, readout)
