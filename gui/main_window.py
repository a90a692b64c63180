"""The window: it puts the pages together and connects them to one session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QSplitter, QVBoxLayout, QWidget

from gui.actions import build_menus
from gui.commands.enlarging import Enlarging
from gui.commands.explaining import Explaining
from gui.commands.export import Exporter
from gui.commands.focus import focus_page, in_sight
from gui.commands.focus_keys import FocusKeys
from gui.commands.lecture import Lecture
from gui.commands.moments import Moments
from gui.commands.recording import Recorder
from gui.commands.reporting import Reporter
from gui.commands.stopping import Stopping
from gui.commands.touring import Touring
from gui.commands.workbench import Workbench
from gui.frames.arriving import Arriving
from gui.frames.pieces import stop_below
from gui.header import Header, window_title
from gui.left_column import LeftColumn
from gui.looks.dressing import Dressed, Dressing
from gui.looks.theme import NORMAL, theme_names
from gui.page_stack import Pages
from gui.pages import PAGES, Page
from gui.scenes.selection import TEXT_SIZES, Configuration
from gui.scenes.session import Session
from gui.step_page import StepPage
from gui.views.base import Panel
from gui.views.configuration_form import ConfigurationForm
from gui.views.ladder_panel import LadderPanel
from gui.views.message_bar import MessageBar
from gui.views.selection_form import SelectionForm
from gui.views.transport_bar import TransportBar

if TYPE_CHECKING:
    from core.ladder import Ladder

LEAST = 800, 560  # pixels


class MainWindow(QMainWindow):
    """The one window. Give it a ladder; `recorder.configure(rung)` fills it."""

    closing = Signal()

    def __init__(self, ladder: Ladder, theme: str = "light", text_size: int = NORMAL) -> None:
        super().__init__()
        self.session = Session()
        self.session.update(theme=theme, text_size=text_size)
        self.session.offered.update(theme=theme_names(), page=tuple(page.key for page in PAGES))
        self.recorder = Recorder(self.session, ladder, self)
        self._make_parts(ladder)
        self._lay_out()
        self.workbench = Workbench(self)
        self.moments = Moments(self)
        self.lecture = Lecture(self)
        self.exporter = Exporter(self)
        self.enlarging = Enlarging(self)
        self.explaining = Explaining(self)
        self.stopping = Stopping(self)
        self.reporter = Reporter(self)
        self.touring = Touring(self)
        self.arriving = Arriving(self)
        self.menus = build_menus(self, self.header.menu_bar)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        self._focus_keys = FocusKeys(app, self)
        self.dressing = Dressing(self, self._parts)
        self._connect()
        self.setMinimumSize(*LEAST)  # or else large text would make it larger than the screen
        self.resize(1440, 900)
        self.pages.open("step")
        self.pages.finish()
        self.dressing.put_on(theme)
        self.dressing.finish()
        self._show_title()

    @property
    def theme_name(self) -> str:
        """The theme that the window wears."""
        return self.session.theme

    # ---- building

    def _make_parts(self, ladder: Ladder) -> None:
        self.header = Header(self.session)
        self.tabs = self.header.tabs
        self.message = MessageBar()
        self.ladder_panel = LadderPanel(ladder[name] for name in ladder.names)
        self.form = ConfigurationForm()
        self.selection = SelectionForm(self.session)
        self.transport = TransportBar(self.session)
        self.step_page = page = StepPage(self.session)
        self.matrices, self.warp, self.shared = page.matrices, page.warp, page.shared
        self.source, self.ptx, self.phases = page.source, page.ptx, page.phases
        self.variables, self.counters = page.variables, page.counters
        self.findings, self.breakpoints = page.findings, page.breakpoints
        self.pages = Pages(self)
        self.pages.turned.connect(self._on_turned)

    def _lay_out(self) -> None:
        self.setMenuWidget(self.header)
        self.left = self._make_left()
        self.body = QSplitter(Qt.Orientation.Horizontal)
        self.body.addWidget(self.left)
        self.body.addWidget(self.pages)
        self.body.setStretchFactor(1, 1)
        self.body.setChildrenCollapsible(False)
        self.body.setHandleWidth(8)
        shell = QWidget()
        shell.setObjectName("shell")
        layout = QVBoxLayout(shell)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.message)
        inner = QVBoxLayout()
        inner.setContentsMargins(8, 8, 8, 8)
        self.left_column = LeftColumn(self)
        inner.addLayout(self.left_column.beside(self.body))
        layout.addLayout(inner, 1)
        layout.addWidget(self.transport)
        self.setCentralWidget(shell)

    def _make_left(self) -> QWidget:
        column = QWidget()
        layout = QVBoxLayout(column)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(Panel("Kernel ladder", self.ladder_panel, flush=True), 1)
        layout.addWidget(Panel("Configuration", self.form, controls=[self.form.reset]))
        self.looking_at = Panel("Looking at", self.selection)
        layout.addWidget(self.looking_at)
        return column

    def _connect(self) -> None:
        self.ladder_panel.chosen.connect(self._choose_rung)
        self.ladder_panel.file_chosen.connect(self.workbench.open_listed)
        self.form.changed.connect(self._choose_parameters)
        self.form.mapped.connect(self._choose_mapping)
        self.tabs.chosen.connect(self.look_at_page)
        self.header.theme_button.clicked.connect(self.next_theme)
        self.header.help_button.clicked.connect(self.show_cheat_sheet)
        session, recorder = self.session, self.recorder
        session.trace_changed.connect(self._on_trace)
        session.configuration_changed.connect(self._on_configuration)
        session.page_changed.connect(self._open_page)
        session.theme_changed.connect(self.dressing.put_on)
        session.text_size_changed.connect(lambda _: self.dressing.put_on(session.theme))
        recorder.recorded.connect(self.pages.make_ahead, Qt.ConnectionType.SingleShotConnection)
        self.form.watch(recorder)
        self.form.inputs.follow(session)

    # ---- what the user does

    def _choose_rung(self, name: str) -> None:
        self.session.playing = 0
        self.form.begin(self.recorder.ladder[name])
        self.recorder.configure(name)

    def _choose_parameters(self, values: dict[str, int]) -> None:
        self.session.playing = 0
        if self.form.rung is not None:
            self.recorder.configure(self.form.rung.name, values)

    def _choose_mapping(self, name: str) -> None:
        """The rung in which threadIdx.x runs the other way, with the same parameters."""
        self.recorder.configure(name, self.form.values())

    def show_page(self, key: str) -> None:
        """Show a page at once, by its key; see `gui.pages`."""
        self.session.page = key
        self.pages.finish()

    def look_at_page(self, key: str) -> None:
        """Show a page as soon as it can be without keeping the window from other events."""
        self.session.page = key

    def set_theme(self, name: str) -> None:
        """Give the whole application a theme at once; `session.theme` leaves time for events."""
        self.session.theme = name
        self.dressing.finish()

    def next_theme(self) -> None:
        """Light, dark, projector, and light again."""
        names = theme_names()
        self.session.theme = names[(names.index(self.theme_name) + 1) % len(names)]

    def change_text_size(self, steps: int) -> None:
        """Larger text, or with a negative number smaller text, as far as there are sizes."""
        at = TEXT_SIZES.index(self.session.text_size) + steps
        self.session.text_size = TEXT_SIZES[min(max(at, 0), len(TEXT_SIZES) - 1)]

    def toggle_full_screen(self) -> None:
        """Enter or leave the full screen."""
        self.showNormal() if self.isFullScreen() else self.showFullScreen()

    def toggle_sidebar(self) -> None:
        """Hide or show the left column."""
        self.left_column.toggle()

    def show_cheat_sheet(self) -> None:
        """Show all keyboard shortcuts."""
        from gui.views.cheat_sheet import CheatSheet

        if self.findChild(CheatSheet) is None:
            CheatSheet(self.menus, self)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab, past what lies in hidden tabs: Qt moves that out of sight and leaves it visible."""
        return in_sight(super().focusNextPrevChild, forward)

    def leave_field(self) -> None:
        """Give the keyboard back, put away what is said, or else bring all views back."""
        said = self.message.sentence or any(s.question for s in self.explaining.sessions)
        if not said and self.enlarging.back():
            return
        self.message.clear()
        self.explaining.close()
        focus_page(self)

    # ---- what happens

    def _open_page(self, key: str) -> None:
        self.tabs.value = key
        self.pages.open(key)

    def _on_turned(self, page: Page) -> None:
        self.transport.setVisible(page.clock)
        self.looking_at.setVisible(page.clock)
        if not page.clock:
            self.session.playing = 0
        focus_page(self)

    def _parts(self) -> list[Dressed]:
        """What takes up a theme by itself, besides the views."""
        return [self, *self.pages.whole]

    def restyling(self) -> Iterator[None]:
        """Take up the theme's type and icons, piece by piece."""
        yield from self.left_column.restyling()
        self.header.restyle()
        yield
        self.form.restyle()
        self.ladder_panel.list.scheduleDelayedItemsLayout()
        yield

    def _on_configuration(self, configuration: Configuration) -> None:
        own = configuration.own
        if own is not None:
            self.workbench.show_form(configuration)
        self.ladder_panel.show_files(self.workbench.recent_files())
        self.ladder_panel.select(configuration.rung if own is None else own.path)
        if own is not None:
            return
        rung = self.recorder.ladder[configuration.rung]
        if not self.form.shows(rung, configuration.parameters):
            self.form.begin(rung, configuration.parameters)

    def _on_trace(self, trace: object) -> None:
        self._show_title()
        self.form.show_progress(None)

    def _show_title(self) -> None:
        self.setWindowTitle(window_title(self.session))

    def showEvent(self, event: QShowEvent) -> None:
        """Begin in the picture: Qt would give the keyboard to the first tab, which keeps Space."""
        super().showEvent(event)
        if not event.spontaneous():
            QTimer.singleShot(0, self, lambda: focus_page(self))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop what runs, wait for it, and let go of the session."""
        self.closing.emit()
        self.dressing.stop()
        self.session.playing = 0
        self.transport.stop()
        self.recorder.close()
        self.workbench.close()
        self.exporter.close()
        self.pages.shut_down()
        self._focus_keys.close()
        super().closeEvent(event)
        stop_below(self)
        QTimer.singleShot(0, self.deleteLater)
