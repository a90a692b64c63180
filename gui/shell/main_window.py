"""The window: it puts the pages together and connects them to one session."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QSplitter, QWidget

from core.ladder import Ladder
from gui.background import close_workers
from gui.commands.all_commands import Commands
from gui.commands.keyboard_focus import FocusKeys, focus_page, in_sight
from gui.commands.left_column import LeftColumn
from gui.commands.recording import Recorder
from gui.commands.theme_applier import Dressing, next_theme
from gui.commands.window_parts import Window
from gui.looks.labels_and_layouts import side_by_side, stacked
from gui.looks.theme import NORMAL, theme_names
from gui.scenes.configuration import Configuration
from gui.scenes.session import Session
from gui.scenes.setting_choices import TEXT_SIZES
from gui.shell.header import Header, window_title
from gui.shell.menus import build_menus
from gui.shell.pages import PAGES
from gui.views.buttons_and_choices import name_choices
from gui.views.captions_and_panels import Panel
from gui.views.glossary_words import Words
from gui.views.ladder_panel import LadderPanel
from gui.views.launch_form import ConfigurationForm, SelectionForm
from gui.views.message_bar import BusySign, MessageBar, MomentTitle
from gui.views.page_stack import Page, Pages, PageWidget
from gui.views.presenter_bar import PresenterBar
from gui.views.step_page import StepPage
from gui.views.subject_and_device import ScrolledPage
from gui.views.transport_bar import TransportBar

LEAST = 800, 560  # pixels
LARGER = 2  # sizes of text that one view alone is larger


class MainWindow(Window):
    """The one window. Give it a ladder; `recorder.configure(rung)` fills it."""

    closing = Signal()
    header: Header

    def __init__(self, ladder: Ladder, theme: str = "light", text_size: int = NORMAL) -> None:
        super().__init__()
        self.session = Session()
        self.session.update(theme=theme, text_size=text_size)
        self.session.offered.update(theme=theme_names(), page=tuple(page.key for page in PAGES))
        self.recorder = Recorder(self.session, ladder, self)
        self._make_parts(ladder)
        self._lay_out()
        self.commands = do = Commands(self)
        self.workbench, self.moments, self.lecture = do.workbench, do.moments, do.lecture
        self.pictures, self.enlarging, self.explaining = do.pictures, do.enlarging, do.explaining
        self.stopping, self.teaching = do.stopping, do.teaching
        sheets = self.show_cheat_sheet, self.show_glossary
        self.menus = build_menus(self, do, self.header.menu_bar, sheets)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        self._focus_keys = FocusKeys(app, self)
        self.dressing = Dressing(self, theme, lambda: self.text_size, self.restyle)
        self.words = Words(self)
        self.words.watch(self)
        self._connect()
        self.setMinimumSize(*LEAST)  # or else large text would make it larger than the screen
        self.resize(1440, 900)
        self.pages.open("step")
        self.dressing.put_on(theme)
        self._show_title()

    @property
    def text_size(self) -> int:
        """The session's text size, per cent; while one view is large, it is read from further."""
        at = TEXT_SIZES.index(self.session.text_size) + (LARGER if self.session.large else 0)
        return TEXT_SIZES[min(at, len(TEXT_SIZES) - 1)]

    # ---- building

    def _make_parts(self, ladder: Ladder) -> None:
        self.header = Header(self.session)
        self.tabs = self.header.tabs
        self.moment_title = MomentTitle()
        self.presenter = PresenterBar()
        self.ladder_panel = LadderPanel(ladder[name] for name in ladder.names)
        self.form = ConfigurationForm()
        self.selection = SelectionForm(self.session)
        self.transport = TransportBar(self.session)
        self.step_page = StepPage(self.session)
        self.pages = Pages(PAGES, self._make_page)
        self.message = MessageBar(self.pages)
        # Qt would give the keyboard to what comes next: a button of the clock, which keeps Space.
        self.message.left.connect(lambda: focus_page(self))
        self.busy_sign = BusySign(self.pages)
        for over in (self.busy_sign, self.message):  # Qt puts each page that it turns to above
            self.pages.currentChanged.connect(over.raise_)
        self.pages.turned.connect(self._on_turned)
        self.pages.came.connect(lambda key: name_choices(self.pages.make(key)))

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
        self.left_column = LeftColumn(self, self.body, self.left, self.session)
        beside = side_by_side(None, self.left_column.button, (self.body, 1), gap=4)
        inner = stacked(None, beside, edges=(8, 8, 8, 8))
        over = self.moment_title, self.presenter
        stacked(shell, *over, (inner, 1), self.transport, gap=0)
        self.setCentralWidget(shell)

    def _make_left(self) -> ScrolledPage:
        column = QWidget()
        ladder = Panel("Kernel ladder", self.ladder_panel, flush=True)
        self.form.say_over(ladder)
        form = Panel("Configuration", self.form, controls=[self.form.reset])
        self.looking_at = Panel("Looking at", self.selection)
        stacked(column, (ladder, 1), form, self.looking_at, gap=8)
        return ScrolledPage(column)

    def _connect(self) -> None:
        self.ladder_panel.chosen.connect(self._choose_rung)
        self.ladder_panel.file_chosen.connect(self.workbench.open_listed)
        self.form.changed.connect(self._choose_parameters)
        self.form.mapped.connect(self._choose_mapping)
        self.tabs.chosen.connect(self.look_at_page)
        self.header.theme_button.clicked.connect(lambda: next_theme(self.session))
        self.header.help_button.clicked.connect(self.show_cheat_sheet)
        session, recorder = self.session, self.recorder
        session.trace_changed.connect(self._on_trace)
        session.veiled_changed.connect(lambda _: self._show_title())
        session.configuration_changed.connect(self._on_configuration)
        session.page_changed.connect(self._open_page)
        session.theme_changed.connect(self.dressing.put_on)
        session.text_size_changed.connect(lambda _: self.dressing.put_on(session.theme))
        self.step_page.source.drafts_changed.connect(self._mark_edited)
        self.form.watch(recorder.worker)
        self.form.inputs.follow(session)

    # ---- what the user does

    def _choose_rung(self, name: str) -> None:
        self.session.playing = 0
        self.form.show_rung(self.recorder.ladder[name])
        self.recorder.configure(name)

    def _choose_parameters(self, values: dict[str, int]) -> None:
        self.session.playing = 0
        if self.form.rung is not None:
            self.recorder.configure(self.form.rung.name, values)

    def _choose_mapping(self, name: str) -> None:
        """The rung in which threadIdx.x runs the other way, with the same parameters."""
        self.recorder.configure(name, self.form.values())

    def show_cheat_sheet(self) -> None:
        from gui.shell.help_sheets import CheatSheet

        if self.findChild(CheatSheet) is None:
            CheatSheet(self.menus, self)

    def show_glossary(self) -> None:
        from gui.shell.help_sheets import GlossarySheet

        if self.findChild(GlossarySheet) is None:
            GlossarySheet(self)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab, past what lies in hidden tabs: Qt moves that out of sight and leaves it visible."""
        return in_sight(super().focusNextPrevChild, forward)

    # ---- what happens

    def _make_page(self, key: str) -> PageWidget:
        page = next(page for page in PAGES if page.key == key)
        return page.make(self, self.commands)

    def _open_page(self, key: str) -> None:
        self.tabs.value = key
        self.pages.open(key)

    def _on_turned(self, page: Page) -> None:
        self.transport.setVisible(page.clock)
        self.looking_at.setVisible(page.clock)
        QTimer.singleShot(0, self, lambda: self.words.watch(self.pages.current))
        lesson = not self.lesson_panel.isHidden() or not self.presenter.isHidden()
        self.left_column.make_room(page.bare or lesson)
        if not page.clock:
            self.session.playing = 0
            self.busy_sign.say("")  # what this page shows is not replaced
        focus_page(self)

    def restyle(self) -> None:
        self.left_column.restyle()
        self.header.restyle()
        self.form.restyle()
        self.ladder_panel.list.scheduleDelayedItemsLayout()
        self.lesson_panel.restyle()

    def _on_configuration(self, configuration: Configuration) -> None:
        own = configuration.own
        if own is not None:
            self.workbench.show_form(configuration)
        self.ladder_panel.show_files(self.workbench.recent_files())
        self._mark_edited()
        self.ladder_panel.select(configuration.key)
        if own is not None:
            return
        rung = self.recorder.ladder[configuration.rung]
        if not self.form.shows(rung, configuration.parameters):
            self.form.show_rung(rung, configuration.parameters)
            self.words.watch(self.form)  # its rows are others now
        self.form.show_mapping(configuration)

    def _mark_edited(self) -> None:
        self.ladder_panel.mark_edited(self.step_page.source.draft.kept())

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
        self.closing.emit()
        self.session.playing = 0
        self.transport.stop()
        self.commands.close()
        self.pages.shut_down()
        self._focus_keys.close()
        close_workers(self)
        super().closeEvent(event)
        for timer in self.findChildren(QTimer):
            timer.stop()
        QTimer.singleShot(0, self.deleteLater)
