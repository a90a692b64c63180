"""The window's parts, as its commands know them: a session, what shows it, the page in sight."""

from __future__ import annotations

from PySide6.QtWidgets import QMainWindow, QScrollArea, QSplitter, QWidget

from gui.commands.left_column import LeftColumn
from gui.commands.recording import Recorder
from gui.commands.theme_applier import Dressing
from gui.scenes.session import Session
from gui.views.buttons_and_choices import Segmented
from gui.views.ladder_panel import LadderPanel
from gui.views.launch_form import ConfigurationForm
from gui.views.lesson_panel import LessonPanel
from gui.views.message_bar import BusySign, MessageBar, MomentTitle
from gui.views.page_stack import Pages
from gui.views.presenter_bar import PresenterBar
from gui.views.step_page import StepPage
from gui.views.transport_bar import TransportBar


class Window(QMainWindow):
    """What a command may use of the window; `gui.shell.main_window` makes the parts."""

    session: Session
    recorder: Recorder
    dressing: Dressing
    header: QWidget
    tabs: Segmented
    moment_title: MomentTitle
    body: QSplitter
    left: QScrollArea
    presenter: PresenterBar
    left_column: LeftColumn
    """Shows and hides `left`, and its button brings that back."""
    ladder_panel: LadderPanel
    form: ConfigurationForm
    pages: Pages
    step_page: StepPage
    message: MessageBar
    busy_sign: BusySign
    transport: TransportBar

    @property
    def lesson_panel(self) -> LessonPanel:
        return self.left_column.lesson_panel

    def show_page(self, key: str) -> None:
        self.session.page = key

    def look_at_page(self, key: str) -> None:
        """Show a page, and put away what was said of the one before."""
        if key != self.session.page:
            self.message.pass_by()
        self.session.page = key
