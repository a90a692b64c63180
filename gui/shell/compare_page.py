"""Two launches side by side on one clock, and what differs between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from PySide6.QtCore import QModelIndex, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QHideEvent, QPainter, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QMenu,
    QStackedWidget,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.commands.explaining import Explaining, connect_numbers
from gui.commands.second_launch import Comparing
from gui.commands.window_parts import Window
from gui.looks.labels_and_layouts import GAP, fill, named, side_by_side, stacked, styled_label
from gui.looks.theme import current_theme
from gui.scenes.comparisons_to_open import PRESETS
from gui.scenes.launch_differences import Difference, Grouping, differences, verdict
from gui.scenes.paired_sessions import (
    Naming,
    launch_text,
    moment_text,
    naming,
    space_of,
    views_shown,
)
from gui.scenes.session import Session
from gui.scenes.setting_choices import COMPARED_VIEWS
from gui.scenes.text_changes import Changes, changes
from gui.scenes.why_this_number import Topic
from gui.views.buttons_and_choices import Segmented, action_button
from gui.views.captions_and_panels import Caption, Panel
from gui.views.counters_view import CountersView
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.page_stack import PageWidget
from gui.views.question_in_views import Veil
from gui.views.session_view import SessionView
from gui.views.shared_view import SharedView
from gui.views.source_view import SourceView
from gui.views.subject_and_device import panels_in, share
from gui.views.tables import Index, RowModel, RowTable
from gui.views.transport_bar import ScrubBar
from gui.views.warp_view import WarpView
from gui.views.why_panel import WhyPanel

LEAST = 400  # pixels
BESIDE_BUTTON = 8  # pixels that it needs
VIEW_TIPS = {
    "Matrices": "A left of C, B above it",
    "Memory": "The memory that the step accesses",
    "Global": "A warp's lanes and the sectors that they need",
    "Shared": "Tiles and banks of shared memory",
    "Source": "The running line of each source",
    "Counters": "Counts of each launch, by array or line",
}
NEXT = "The next access of the selected warp that moves more or less on one side (D, Shift+D)"
Side = Literal["a", "b"]
LEAST_SIDE = 240  # pixels
ROOM_FOR_HEADINGS, ROOM_FOR_FIT = 52, 44  # digits
LOW = 18  # lines: a lower side has no room for headings either
SHARES = (4, 4, 2, 2)  # of a side's height, in the order of its views
A, B, CHANGE, VERDICT, BARS = 1, 2, 3, 4, 5  # columns
BAR, ROOM = 6, 420  # pixels: a bar's height, and its length at most
VERDICTS = {"a": "  ! worse", "b": "  ✓ better"}
LINES = 19  # of text: the least height of one view
UPPER, TALL = 68, 82  # per cent of the height that is above the table; with matrices in front


# -- the buttons above a comparison, as many as there is room for, and the switch of its views -----


class CompareBar(QWidget):
    """`preset_chosen(preset)` when an example is wanted; the buttons are for whoever makes it."""

    preset_chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.views = Segmented(**{name: (name, VIEW_TIPS[name]) for name in COMPARED_VIEWS})
        self.examples = action_button("Examples", "Pairs of launches that are worth a look")
        self.examples.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.examples.setMenu(self._make_examples())
        self.swap = action_button("Swap", "Each side takes the other's place")
        self.copy = action_button("Copy A to B", "Have both be the same, and change one of them")
        self.next = action_button("Next difference", NEXT)
        self.setMinimumWidth(LEAST)  # less than it wants: `fit` leaves buttons out
        buttons = (self.examples, self.swap, self.copy, self.next)
        side_by_side(self, *buttons, None, self.views, gap=6)

    def name(self, naming: Naming) -> None:
        self.copy.setText(f"Copy {naming.a} to {naming.b}")

    def fit(self, width: int) -> None:
        """Leave buttons to the menu, whose commands they are, where there is no room for them."""
        optional = (self.copy, self.swap, self.next)
        need = sum(
            b.sizeHint().width() + BESIDE_BUTTON for b in (self.examples, self.views, *optional)
        )
        for button in optional:
            button.setVisible(need <= width)
            need -= 0 if need <= width else button.sizeHint().width() + BESIDE_BUTTON

    def _make_examples(self) -> QMenu:
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        for preset in PRESETS:
            action = menu.addAction(preset.title)
            action.setToolTip(preset.lesson)
            action.triggered.connect(lambda _=False, chosen=preset: self.preset_chosen.emit(chosen))
        return menu


# -- one side --------------------------------------------------------------------------------------


class SideHead(SessionView):
    """The side's letter, its launch, and where its clock stands."""

    WATCHES = frozenset({"trace", "block", "step"})
    READ = True

    def __init__(self, session: Session, side: Side) -> None:
        super().__init__(session)
        self.badge = QLabel(side.upper(), alignment=Qt.AlignmentFlag.AlignCenter)
        self.title = styled_label(role="figure")
        self.launch = Caption(role="dim")
        self.moment = Caption(role="dim")
        for caption in (self.launch, self.moment):
            caption.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        self.moment.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)
        self.launch.NARROW = 0  # no line is kept free: views need the room
        self.launch.may_take(3)
        first = side_by_side(None, self.badge, self.title, (self.moment, 1), gap=GAP)
        stacked(self, first, self.launch, gap=2, edges=(10, 6, 10, 6))
        self.restyle()

    def restyle(self) -> None:
        s, space = current_theme().surfaces, current_theme().spacing
        self.badge.setStyleSheet(
            f"background: {s.text}; color: {s.panel}; border-radius: {space.radius}px;"
            "font-weight: 600; padding: 1px 7px;"
        )

    def refresh(self, names: frozenset[str]) -> None:
        trace = self.session.trace
        if names & {"trace", "veiled"}:
            self.title.setText(trace.workload.title if trace is not None else "Recording …")
            self.launch.setText(launch_text(self.session))
        self.moment.setText(moment_text(self.session))


class CompareSide(QWidget):
    """The views of one session, as many above each other as there is room for."""

    def __init__(self, session: Session, side: Side, parent: QWidget) -> None:
        super().__init__(parent)
        self.session, self.side = session, side
        session.changed.connect(self._on_changed)  # first: what it hides has nothing to work out
        self.setAccessibleName(f"Side {side.upper()}")
        self._framed: list[Panel] = []
        self._chosen = "Memory"
        self._lay_out()
        self.matrices = MatrixCanvas(session)
        self._add("Matrices", self._panel("Matrices", self.matrices))
        self.memory = QStackedWidget()
        self._add("Memory", self.memory)
        self.warp = WarpView(session)
        self.warp.caption.NARROW = 0
        self.memory.addWidget(self._panel("Warp and global memory", self.warp))
        self.shared = SharedView(session)
        self.memory.addWidget(self._panel("Shared memory", self.shared))
        self.source = SourceView(session)
        self._add("Source", self._panel("Source", self.source, controls=False))
        self.counters = CountersView(session)
        self._add("Counters", self._panel("Counters", self.counters))
        self.splitter.setSizes([1000 * share for share in SHARES])
        self._show_memory()
        self._fit_heads()

    def _add(self, name: str, panel: QWidget) -> None:
        self.splitter.addWidget(panel)
        self.splitter.setStretchFactor(len(self.panels), SHARES[len(self.panels)])
        self.panels[name] = panel

    def _lay_out(self) -> None:
        self.head = SideHead(self.session, self.side)
        self.panels: dict[str, QWidget] = {}
        self.splitter = panels_in(Qt.Orientation.Vertical)
        frame = QFrame()
        frame.setProperty("role", "panel")
        stacked(frame, self.head, edges=(1, 1, 1, 1))
        stacked(self, frame, (self.splitter, 1), gap=8)

    def _panel(self, title: str, view: SessionView, *, controls: bool = True) -> Panel:
        widgets: Sequence[QWidget] = getattr(view, "controls", ()) if controls else ()
        caption = getattr(view, "caption", None)
        panel = Panel(title, view, caption=caption, controls=widgets, flush=True)
        panel.setMinimumWidth(LEAST_SIDE)  # its controls need more: `_fit_heads` leaves some out
        self._framed.append(panel)
        return panel

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_heads()

    def _fit_heads(self) -> None:
        """Headings go first, as the switch above both sides names the views; then a button."""
        room = self.width() / self.fontMetrics().horizontalAdvance("0")
        is_low = self.height() < LOW * self.fontMetrics().lineSpacing()
        for panel in self._framed:
            panel.show_heading(room > ROOM_FOR_HEADINGS and not is_low)
        self.matrices.fit_button.setVisible(room > ROOM_FOR_FIT)

    def show_views(self, chosen: str, room: int) -> None:
        self._chosen = chosen
        names = views_shown(chosen, room)
        for name, panel in self.panels.items():
            panel.setVisible(name in names)
        self._show_memory()
        QTimer.singleShot(0, self, self.reveal)  # once the source has its size

    def reveal(self) -> None:
        """Have in sight what differs, and the running line if it stands near enough."""
        line = self.session.current_line
        if line is not None and self.source.isVisible():
            self.source.edit.reveal(line)
        if self.source.isVisible():
            self.source.reveal_changes()

    def name(self, name: str, changes: Changes, sign: str) -> None:
        self.head.badge.setText(name)
        self.setAccessibleName(f"Side {name}")
        self.source.show_changes(changes, sign)

    def _on_changed(self, names: frozenset[str]) -> None:
        if names & {"trace", "block", "step"} and self.isVisible():
            self._show_memory()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_memory()

    def _show_memory(self) -> None:
        """Bring the memory that is asked for, or that the step accesses, to the front."""
        space = self._chosen.lower()
        if space not in ("global", "shared"):
            space = space_of(self.session)
        if space:
            self.memory.setCurrentIndex(int(space == "shared"))

    def restyle(self) -> None:
        self._fit_heads()

    def pictures(self) -> dict[str, QWidget]:
        views = {
            "Matrices": self.matrices,
            "Global memory": self.warp,
            "Shared memory": self.shared,
            "Source": self.source,
            "Counters": self.counters,
        }
        letter = self.side.upper()
        return {f"{letter}: {name}": view for name, view in views.items()}


# -- the table of differences ----------------------------------------------------------------------


class DifferenceModel(RowModel[Difference]):
    """The rows of `gui.scenes.launch_differences` for a table; a row that is a text is a heading.

    Of a row, "a" is the side that stands left and "b" the other, as `naming` calls them.
    """

    HEADS = ("Count", "A", "B", "Change", "", "")
    RIGHT = frozenset({A, B, CHANGE})
    SELECTABLE = False
    naming = Naming()

    def head(self, column: int) -> str:
        first, second = self.naming.first, self.naming.second
        named = {A: first, B: second, VERDICT: f"{second} against {first.lower()}"}
        if not self.naming.versions:
            named[VERDICT] = f"{second} against {first}"
        return named.get(column, self.HEADS[column])

    def text(self, row: Difference, column: int) -> str:
        figures = row.label, row.text("a"), row.text("b"), row.change_text
        return (*figures, row.factor_text + VERDICTS.get(row.winner, ""), "")[column]

    def tip(self, row: Difference) -> str:
        """What the count is, and what the second side makes of it in a sentence."""
        said = f"{self.naming.second}: {row.ratio_text}." if row.ratio_text else ""
        why = "Click a figure for its explanation." if row.topic else ""
        return " ".join(filter(None, (row.tip, said, why)))

    def bold(self, row: Difference, column: int) -> bool:
        return bool(row.winner) and column in (A if row.winner == "a" else B, VERDICT)

    def color(self, row: Difference, column: int) -> str:
        """Colour says again what the words and the weight say already."""
        if column == VERDICT and row.winner:
            return "ideal" if row.winner == "b" else "conflict"
        if not row.change or (column in (CHANGE, VERDICT) and not row.winner):
            return "text_dim"
        return "text"


class PairBars(QStyledItemDelegate):
    """Two bars on one scale where the sides differ: the second below, in the verdict's colour."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model = index.model()
        assert isinstance(model, DifferenceModel)
        row, theme, box = model.rows[index.row()], current_theme(), option.rect
        names = model.naming.first, model.naming.second
        wide = max(map(QFontMetrics(theme.font("small")).horizontalAdvance, names))
        if isinstance(row, str) or not row.change or box.width() < 4 * wide:
            return
        verdict = {"a": "conflict", "b": "ideal"}.get(row.winner, "text_dim")
        room = min(box.width() - wide - 20, ROOM)
        high = (box.height() - 4) // 2
        painter.save()
        painter.setFont(theme.font("small"))
        for place, (name, part) in enumerate(zip(names, row.shares, strict=True)):
            line = QRect(box.left() + 8, box.top() + 2 + place * high, wide, high)
            painter.setPen(theme.color("text_dim"))
            painter.drawText(line, int(Qt.AlignmentFlag.AlignCenter), name)
            bar = QRectF(line.right() + 4, line.center().y() - BAR / 2 + 1, room * part, BAR)
            painter.fillRect(bar, theme.color(verdict if place else "text_dim"))
        painter.restore()


class DifferenceView(QWidget):
    """The table, for two sessions; while hidden it does no work.

    `grouping` is for whoever shows it, over the right end of the heads, where nothing stands.
    `why_wanted(side, topic)` when a figure of "a" or "b" is clicked.
    """

    why_wanted = Signal(str, object)

    def __init__(self, a: Session, b: Session) -> None:
        super().__init__()
        self.a, self.b = a, b
        self.grouping = Segmented(
            total=("Totals", "Counts of the whole launches"),
            array=("By array", "Counts of each array"),
        )
        self.model = DifferenceModel()
        self.table = RowTable(self.model, "Differences between the sides")
        self.table.setItemDelegateForColumn(BARS, PairBars(self.table))
        fill(self, self.table)
        self.table.clicked.connect(self._clicked)
        self.grouping.chosen.connect(lambda _: self.refresh())
        for session in (a, b):
            session.changed.connect(self._on_changed)
        self.restyle()

    def refresh(self) -> None:
        grouping: Grouping = "array" if self.grouping.value == "array" else "total"
        sides = (self.a, self.b) if self.model.naming.left == "a" else (self.b, self.a)
        self.model.load(differences(*sides, grouping))
        self.table.fit()

    def name(self, naming: Naming) -> None:
        if naming != self.model.naming:
            self.model.naming = naming
            self.refresh()

    def restyle(self) -> None:
        heads = self.grouping.sizeHint().height()
        self.table.horizontalHeader().setMinimumHeight(heads)
        self.table.fit()
        self.setMinimumHeight(heads + self.table.verticalHeader().defaultSectionSize())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def _clicked(self, index: QModelIndex) -> None:
        left = self.model.naming.left
        sides = {A: left, B: "b" if left == "a" else "a"}
        row, side = self.model.rows[index.row()], sides.get(index.column())
        if side is not None and isinstance(row, Difference) and row.topic is not None:
            self.why_wanted.emit(side, row.topic)

    def _on_changed(self, names: frozenset[str]) -> None:
        if names & {"trace", "counts"} and self.isVisible():
            self.refresh()


# -- the page --------------------------------------------------------------------------------------


class ComparePage(PageWidget, QWidget):
    """A and B beside each other. While it is shown, the left column has a switch between them."""

    def __init__(self, window: Window, comparing: Comparing, explaining: Explaining) -> None:
        """`explaining` answers for side A, which is the window's own session."""
        super().__init__()
        self.main, self.comparing, self.explaining = window, comparing, explaining
        self._opening = self._moved = False
        self._texts: frozenset[str] = frozenset()
        """Those that were looked at last."""
        a, b = comparing.a, comparing.b
        self._make_frame()
        self.sides = CompareSide(a, "a", self._pair), CompareSide(b, "b", self._pair)
        self.differences = DifferenceView(a, b)
        self.why = WhyPanel(b, self.main, above=self.main.transport)
        self._lay_out()
        self._make_left()
        self._make_second_bar()
        self._connect()
        self.restyle()

    def _make_frame(self) -> None:
        self.splitter = panels_in(Qt.Orientation.Vertical)
        self._page = stacked(self, (self.splitter, 1), gap=8)
        self._pair = panels_in(Qt.Orientation.Horizontal)
        self.splitter.addWidget(self._pair)

    def _lay_out(self) -> None:
        self.bar = bar = CompareBar()
        self.views, self.examples = bar.views, bar.examples
        self.swap, self.copy, self.next = bar.swap, bar.copy, bar.next
        self._page.insertWidget(0, bar)
        self.verdict = Caption()
        self.verdict.may_take(3)
        self._page.insertWidget(1, self.verdict)
        self.veil = Veil(self.comparing.a, "compare", self, (self.verdict, self.splitter))
        table = QFrame()
        table.setProperty("role", "panel")
        grid = QGridLayout(table)
        grid.setContentsMargins(1, 1, 1, 1)
        grid.addWidget(self.differences, 0, 0)
        corner = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight
        grid.addWidget(self.differences.grouping, 0, 0, corner)  # every line of rows counts
        self.differences.grouping.setContentsMargins(0, 4, 20, 4)
        self.differences.grouping.raise_()
        self.splitter.addWidget(table)
        for splitter, shares in ((self._pair, (1, 1)), (self.splitter, (UPPER, 100 - UPPER))):
            share(splitter, shares, (1000 * shares[0], 1000 * shares[1]))
        self.splitter.splitterMoved.connect(lambda *_: setattr(self, "_moved", True))

    def _make_left(self) -> None:
        """In the left column: which side its forms are for, and the forms of B."""
        self.switch = Segmented(
            a=("Configure A", "The launch of side A"), b=("Configure B", "The launch of side B")
        )
        self.switch.hide()
        column = self.comparing.column
        column.hide()
        left = self.main.left.widget()
        layout = left.layout() if left is not None else None
        assert isinstance(layout, QVBoxLayout)
        items = [layout.itemAt(place) for place in (0, 1)]
        self._own = [w for item in items if item is not None and (w := item.widget()) is not None]
        layout.insertWidget(0, self.switch)
        layout.insertWidget(1, column, 1)

    def _make_second_bar(self) -> None:
        """Below the window's time axis, which is A's, the one of B; both can be dragged."""
        self.scrub = named(ScrubBar(self.comparing.b), "Time axis of B")
        self.scrub.hide()
        self.main.transport.rows.addWidget(self.scrub)
        self.letters = [QLabel("A", self.main.transport.scrub), QLabel("B", self.scrub)]
        for letter in self.letters:
            letter.setProperty("role", "small")
            letter.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            letter.move(0, 0)
            letter.hide()

    def _connect(self) -> None:
        session = self.comparing.a
        for side in (session, self.comparing.b):
            side.changed.connect(self._on_changed)
        self.bar.preset_chosen.connect(self.comparing.show_preset)
        self.swap.clicked.connect(self.comparing.swap)
        self.copy.clicked.connect(self.comparing.copy_to_b)
        self.next.clicked.connect(lambda _: self.comparing.differing.go())
        self.views.chosen.connect(lambda name: session.update(compared_view=name))
        self.switch.chosen.connect(lambda _: self._show_forms())
        session.compared_view_changed.connect(lambda _: self._show_views())
        self.why.closed.connect(lambda: self.comparing.b.update(question=None))
        self.explaining.sessions.append(self.comparing.b)
        self.comparing.b.question_changed.connect(self._answer_b)
        first, second = self.sides
        ask_a = partial(self.explaining.ask, here=True)
        connect_numbers(first, session, ask_a)
        connect_numbers(second, self.comparing.b, ask_b := self._ask_b)
        self.differences.why_wanted.connect(
            lambda side, topic: ask_a(topic) if side == "a" else ask_b(topic)
        )

    def _on_changed(self, names: frozenset[str]) -> None:
        if self.comparing.active and names & {"trace", "counts"}:
            self._judge(anew="trace" in names)

    def _judge(self, *, anew: bool) -> None:
        """Say what has come of the second launch; `anew`: one of them is another than before."""
        a, b = self.comparing.a, self.comparing.b
        if anew:
            self._name_sides(naming(a.versions, a, b))
            self._show_change()
        now = self.comparing.naming
        sides = (a, b) if now.left == "a" else (b, a)
        self.verdict.setText(verdict(*sides, now.second))

    def _show_change(self) -> None:
        """Two versions that have not been looked at yet: first of all at what was changed."""
        a, b = self.comparing.a, self.comparing.b
        if self._opening and a.trace is not None and b.trace is not None:
            texts = frozenset(side.trace.workload.source for side in (a, b) if side.trace)
            if self.comparing.naming.versions and texts != self._texts:
                a.compared_view = "Source"
            self._texts, self._opening = texts, False

    def _name_sides(self, now: Naming) -> None:
        """Before and after, or A and B: on the sides, in the table and wherever else they are."""
        a, b = self.sides
        before, self.comparing.naming = self.comparing.naming, now
        marks = Changes(), Changes()
        if now.versions:
            texts = [
                side.session.trace.workload.source for side in self.sides if side.session.trace
            ]
            marks = changes(*texts) if now.left == "a" else changes(*texts[::-1])[::-1]
        for side, name, mark in zip(self.sides, (now.a, now.b), marks, strict=True):
            side.name(name, mark, "+" if name == "After" else "−")
            QTimer.singleShot(0, side, side.reveal)
        if now.left != before.left:
            self._pair.insertWidget(0, a if now.left == "a" else b)
            bars = self.main.transport.rows
            bars.removeWidget(self.scrub)
            own = bars.indexOf(self.main.transport.scrub)
            bars.insertWidget(own + (now.left == "a"), self.scrub)
        self.differences.name(now)
        if now == before:
            return
        self.bar.name(now)
        for key, letter, name in zip("ab", self.letters, (now.a, now.b), strict=True):
            self.switch.name(key, name if now.versions else f"Configure {name}")
            letter.setText(name)
        self._fit_letters()
        self.bar.fit(self.width())
        self._name_answers()

    def _fit_letters(self) -> None:
        for letter in self.letters:
            letter.adjustSize()
        widest = max(letter.width() for letter in self.letters)
        for scrub in (self.main.transport.scrub, self.scrub):
            scrub.leave_room(widest if self.comparing.active else 0)

    def _name_answers(self) -> None:
        now, active = self.comparing.naming, self.comparing.active
        self.explaining.panel.side = f"{now.a}: " if active else ""
        self.why.side = f"{now.b}: " if active else ""

    def _ask_b(self, topic: Topic) -> None:
        self.comparing.b.question = topic

    def _answer_b(self, topic: Topic | None) -> None:
        if topic is None:
            self.why.hide()
        else:
            side = self.sides[1]  # B, wherever it stands: it stays in sight
            self.why.ask(topic, side.mapTo(self.main, side.rect().topLeft()))

    def main_view(self) -> QWidget:
        """What has the keyboard when the page is opened: a picture of A."""
        first = self.sides[0]
        views = (first.matrices, first.warp, first.shared)
        return next((view for view in views if view.isVisibleTo(first)), self)

    def shut_down(self) -> None:
        self.comparing.comparison.close()

    # ---- what is shown

    def be_pictured(self, on: bool) -> None:
        """Have B follow the clock as if the page were shown."""
        self.comparing.active = on or self.isVisible()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not event.spontaneous():
            self._set_active(True)
            self._show_views()

    def hideEvent(self, event: QHideEvent) -> None:
        """Leave the window's own session alone again."""
        super().hideEvent(event)
        if not event.spontaneous():
            self._set_active(False)

    def _set_active(self, active: bool) -> None:
        self.comparing.active = active
        for widget in (self.switch, self.scrub, *self.letters):
            widget.setVisible(active)
        self._opening = active
        if active:
            self._judge(anew=True)
        self._name_answers()
        self._fit_letters()
        self.explaining.close()
        self._show_forms()

    def toggle_grouping(self) -> None:
        grouping = self.differences.grouping
        grouping.value = "total" if grouping.value == "array" else "array"
        self.differences.refresh()

    def configure_other(self) -> None:
        self.switch.value = "b" if self.switch.value == "a" else "a"
        self._show_forms()

    def _show_forms(self) -> None:
        other = self.comparing.active and self.switch.value == "b"
        self.comparing.column.setVisible(other)
        for widget in self._own:
            widget.setVisible(not other)

    def _show_views(self) -> None:
        chosen = self.comparing.a.compared_view
        self.views.value = chosen
        is_tall = chosen == "Matrices"  # B stands above C: two views' height
        if not self._moved:
            upper = TALL if is_tall else UPPER
            self.splitter.setSizes([1000 * upper, 1000 * (100 - upper)])
        line = self.fontMetrics().lineSpacing()
        room = max(self.sides[0].splitter.height() // (LINES * line) - is_tall, 1)
        for side in self.sides:
            side.show_views(chosen, room)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.bar.fit(self.width())
        self._show_views()

    def restyle(self) -> None:
        for side in self.sides:
            side.restyle()
        self.differences.restyle()
        self._fit_letters()
        self.bar.fit(self.width())
        self.comparing.column.restyle()
        self._show_views()

    def pictures(self) -> dict[str, QWidget]:
        found: dict[str, QWidget] = {"Differences": self.differences}
        for side in self.sides:
            found |= side.pictures()
        return found
