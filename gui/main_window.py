"""The window: it puts the views together and connects them to one session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QActionGroup, QCloseEvent, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QMenuBar,
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.errors import CompileError, ParameterError, TilescopeError
from core.file_launch import FieldErrors
from gui.actions import FocusKeys, build_menus
from gui.explaining import Explaining
from gui.export import Exporter
from gui.moments import Moments
from gui.pages import PAGES, Pages
from gui.recording import Recorder
from gui.scenes.findings import finding_rows, go_to
from gui.scenes.session import Configuration, Session
from gui.scenes.text import grouped, plural
from gui.style import set_icon, stylesheet
from gui.theme import apply_theme, current_theme, theme_names
from gui.views.base import Panel, SessionView
from gui.views.configuration_form import ConfigurationForm, SelectionForm
from gui.views.counters_view import CountersView
from gui.views.findings_view import FindingsView
from gui.views.ladder_panel import LadderPanel
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.message_bar import MessageBar
from gui.views.panel_stack import PanelStack
from gui.views.phase_view import PhaseView
from gui.views.ptx_view import PtxView
from gui.views.segmented import Segmented
from gui.views.shared_view import SharedView
from gui.views.source_view import SourceView
from gui.views.transport_bar import TransportBar
from gui.views.variables_view import VariablesView
from gui.views.warp_view import WarpView
from gui.workbench import Workbench

if TYPE_CHECKING:
    from core.ladder import Ladder

MIN_LEFT, LEFT, MAX_LEFT = 22, 31, 60  # widths of the left column, in digits
WIDE = 190  # digits: from here on, shared memory has a panel of its own beside the source


class MainWindow(QMainWindow):
    """The one window. Give it a ladder; `recorder.configure(rung)` fills it."""

    closing = Signal()

    def __init__(self, ladder: Ladder, theme: str = "light") -> None:
        super().__init__()
        self.session = Session()
        self.recorder = Recorder(self.session, ladder, self)
        self.theme_name = theme
        self.theme_actions: QActionGroup | None = None
        self._make_views(ladder)
        self._lay_out()
        self.workbench = Workbench(self)
        self.moments = Moments(self)
        self.exporter = Exporter(self)
        self.explaining = Explaining(self)
        self.menus = build_menus(self, self.menu_bar)
        self._focus_keys = FocusKeys(self)
        app = QApplication.instance()
        assert app is not None
        app.installEventFilter(self._focus_keys)
        self._connect()
        self.resize(1440, 900)
        self.set_theme(theme)
        self.matrices.setFocus()  # a button in focus would keep Space
        self._show_launch()

    # ---- building

    def _make_views(self, ladder: Ladder) -> None:
        session = self.session
        self.ladder_panel = LadderPanel(ladder[name] for name in ladder.names)
        self.form = ConfigurationForm()
        self.selection = SelectionForm(session)
        self.matrices = MatrixCanvas(session)
        self.warp = WarpView(session)
        self.shared = SharedView(session)
        self.source = SourceView(session)
        self.ptx = PtxView(session)
        self.phases = PhaseView(session)
        self.variables = VariablesView(session)
        self.counters = CountersView(session)
        self.findings = FindingsView(session)
        self.transport = TransportBar(session)
        self.message = MessageBar()

    def _lay_out(self) -> None:
        self.setMenuWidget(self._make_header())
        self._make_step_page()
        self.pages = Pages(self)
        self.pages.open("step")
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
        inner.addWidget(self.body)
        layout.addLayout(inner, 1)
        layout.addWidget(self.transport)
        self.setCentralWidget(shell)

    def _make_header(self) -> QWidget:
        header = QWidget()
        header.setObjectName("header")
        header.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.menu_bar = QMenuBar()
        self.menu_bar.setNativeMenuBar(False)
        self.title = QLabel()
        self.title.setObjectName("launchTitle")
        self.facts = QLabel()
        self.facts.setObjectName("launchFacts")
        self.tabs = Segmented({page.key: page.title for page in PAGES})
        self.theme_button = QToolButton()
        self.theme_button.setToolTip("Next theme: light, dark, projector")
        self.theme_button.setAccessibleName("Next theme")
        self.help_button = QToolButton()
        self.help_button.setToolTip("Keyboard shortcuts (F1)")
        self.help_button.setAccessibleName("Keyboard shortcuts")
        wordmark = QLabel("Tilescope")
        wordmark.setObjectName("wordmark")
        layout = QHBoxLayout(header)
        layout.setContentsMargins(14, 4, 10, 4)
        layout.setSpacing(8)
        layout.addWidget(wordmark)
        layout.addSpacing(6)
        layout.addWidget(self.menu_bar, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addStretch(1)
        layout.addWidget(self.title)
        layout.addWidget(self.facts)
        layout.addStretch(1)
        layout.addWidget(self.tabs)
        layout.addSpacing(4)
        layout.addWidget(self.theme_button)
        layout.addWidget(self.help_button)
        return header

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

    def _make_step_page(self) -> QWidget:
        def panel(title: str, view: QWidget) -> Panel:
            controls = tuple(getattr(view, "controls", ()))
            caption = getattr(view, "caption", None)
            return Panel(title, view, caption=caption, controls=controls, flush=True)

        def framed(title: str, view: CountersView | VariablesView, control: QWidget) -> Panel:
            return Panel(title, view, caption=view.caption, controls=[control], flush=True)

        self.figures = PanelStack(
            {
                "Variables": framed("Variables", self.variables, self.variables.scope),
                "Counters": framed("Counters", self.counters, self.counters.grouping),
                "Findings": panel("Findings", self.findings),
            },
            room=14,
        )
        self.figures.leave_out("Findings", True)
        self.shared_panel = panel("Shared memory", self.shared)
        self.memory = PanelStack(
            {"Global": panel("Warp and global memory", self.warp), "Shared": self.shared_panel},
            room=45,
            follow="Follow step",
        )
        self.upper_row = QSplitter(Qt.Orientation.Horizontal)
        self.upper_row.addWidget(panel("Matrices", self.matrices))
        self.upper_row.addWidget(self.memory)
        self.lower_row = QSplitter(Qt.Orientation.Horizontal)
        self.code = PanelStack(
            {
                "Source": panel("Source", self.source),
                "PTX": panel("PTX", self.ptx),
                "Phases": panel("Phase table", self.phases),
            },
            room=60,
        )
        self.lower_row.addWidget(self.code)
        self.lower_row.addWidget(self.figures)
        self.step_page = QSplitter(Qt.Orientation.Vertical)
        self.step_page.addWidget(self.upper_row)
        self.step_page.addWidget(self.lower_row)
        for splitter in (self.upper_row, self.lower_row, self.step_page):
            splitter.setHandleWidth(8)
            splitter.setChildrenCollapsible(False)
        self._share(self.step_page, 55, 45)
        self._share(self.upper_row, 57, 43)
        self._share(self.lower_row, 64, 36)
        return self.step_page

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give shared memory a place of its own where the window is wide enough."""
        super().resizeEvent(event)
        self._place_shared()

    def _place_shared(self) -> None:
        digit = QFontMetrics(current_theme().font()).horizontalAdvance("0")
        wide = self.width() > WIDE * digit
        if wide and self.shared_panel in self.memory.panels.values():
            self.shared_panel.heading.show()
            self.lower_row.insertWidget(1, self.shared_panel)
            self.shared_panel.show()
            self.memory.arrange()
            self._share(self.lower_row, 46, 28, 26)
        elif not wide and self.lower_row.indexOf(self.shared_panel) >= 0:
            self.memory.take(self.shared_panel)
            self._share(self.lower_row, 64, 36)
        if wide:
            trace = self.session.trace
            self.shared_panel.setVisible(trace is None or bool(trace.shared_arrays))

    @staticmethod
    def _share(splitter: QSplitter, *parts: int) -> None:
        for place, part in enumerate(parts):
            splitter.setStretchFactor(place, part)
        splitter.setSizes([part * 100 for part in parts])

    def _connect(self) -> None:
        self.ladder_panel.chosen.connect(self._choose_rung)
        self.form.changed.connect(self._choose_parameters)
        self.tabs.chosen.connect(self.show_page)
        self.theme_button.clicked.connect(self.next_theme)
        self.help_button.clicked.connect(self.show_cheat_sheet)
        self.session.trace_changed.connect(self._on_trace)
        self.session.step_changed.connect(self._offer_memory)
        self.session.configuration_changed.connect(self._on_configuration)
        recorder = self.recorder
        recorder.failed.connect(self._on_failure)
        self.form.watch(recorder)
        recorder.recorded.connect(self._on_recorded)
        recorder.counting_changed.connect(lambda _: self._show_size())

    # ---- what the user does

    def _choose_rung(self, name: str) -> None:
        self.session.playing = 0
        self.form.show_rung(self.recorder.ladder[name])
        self.recorder.configure(name, self.form.values())

    def _choose_parameters(self, values: dict[str, int]) -> None:
        self.session.playing = 0
        if self.form.rung is not None:
            self.recorder.configure(self.form.rung.name, values)

    def show_page(self, key: str) -> None:
        """Show a page by its key; see `gui.pages`."""
        page = self.pages.open(key)
        self.tabs.value = key
        self.transport.setVisible(page.clock)
        self.looking_at.setVisible(page.clock)
        if not page.clock:
            self.session.playing = 0

    def set_theme(self, name: str) -> None:
        """Give the whole application a theme."""
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        theme = apply_theme(app, name)
        self.theme_name = name
        self.setStyleSheet(stylesheet(theme))
        digit = QFontMetrics(theme.font()).horizontalAdvance("0")
        self.left.setMinimumWidth(MIN_LEFT * digit)
        self.left.setMaximumWidth(MAX_LEFT * digit)
        left = min(LEFT * digit, self.width() // 5)
        self.body.setSizes([left, max(self.width() - left, 1)])
        self._place_shared()
        self.form.restyle()
        for view in self.findChildren(SessionView):
            view.restyle()  # those that are hidden get no PaletteChange
        self.ladder_panel.list.scheduleDelayedItemsLayout()
        set_icon(self.theme_button, "theme")
        set_icon(self.help_button, "help")
        if self.theme_actions is not None:
            for action in self.theme_actions.actions():
                action.setChecked(action.data() == name)

    def next_theme(self) -> None:
        """Light, dark, projector, and light again."""
        names = theme_names()
        self.set_theme(names[(names.index(self.theme_name) + 1) % len(names)])

    def toggle_full_screen(self) -> None:
        """Enter or leave the full screen."""
        self.showNormal() if self.isFullScreen() else self.showFullScreen()

    def show_cheat_sheet(self) -> None:
        """Show all keyboard shortcuts."""
        from gui.views.cheat_sheet import CheatSheet

        sheet = CheatSheet(self.menus, self)
        sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        sheet.open()

    def next_at_line(self) -> None:
        """Go to the next step at the selected line."""
        if self.session.line is not None:
            self.source.go_to_next(self.session.line)

    def leave_field(self) -> None:
        """Give the keyboard back to the window, and put away the message."""
        self.message.clear()
        self.explaining.close()
        self.matrices.setFocus()

    # ---- what happens

    def _on_configuration(self, configuration: Configuration) -> None:
        self.ladder_panel.select(configuration.rung)
        if configuration.own is not None:
            self.workbench.show_form(configuration)
            return
        rung = self.recorder.ladder[configuration.rung]
        if rung is not self.form.rung or self.form.values() != dict(configuration.parameters):
            self.form.show_rung(rung, configuration.parameters)

    def _on_recorded(self) -> None:
        self.form.show_error("")
        self.form.file.show_errors({})
        self.message.clear()
        self._show_findings()

    def _on_trace(self, trace: object) -> None:
        self._show_launch()
        self._place_shared()
        self.form.show_progress(None)

    def _offer_memory(self, step: int) -> None:
        trace = self.session.block_trace
        access = trace.access(step) if trace is not None and trace.n_steps else None
        if access is not None:
            self.memory.offer("Shared" if access.space == "shared" else "Global")

    def _on_failure(self, error: TilescopeError) -> None:
        if isinstance(error, ParameterError):
            self.form.show_error(str(error))
            return
        if isinstance(error, FieldErrors):
            self.form.file.show_errors(dict(error.fields))
            return
        errors = []
        if isinstance(error, CompileError):
            errors = [d for d in error.diagnostics if d.severity == "error"]
            self.source.show_diagnostics(errors)
        if errors:
            line = errors[0].line
            self.source.edit.reveal(line)
            self.message.show_message(
                str(error),
                label=f"Go to line {line}",
                action=lambda: self.source.go_to_error(line),
            )
        else:
            self.message.show_message(str(error))

    def _show_findings(self) -> None:
        """Name the first fault across the window, and offer the list."""
        rows = finding_rows(self.session.trace)
        self.figures.leave_out("Findings", not rows)
        if not rows:
            return
        more = f" ({plural(len(rows) - 1, 'other fault')})" if len(rows) > 1 else ""
        self.message.show_message(
            f"{rows[0].title}. {rows[0].message}{more}", label="Show", action=self.show_findings
        )

    def show_findings(self) -> None:
        """Show the list of findings and go to the first."""
        rows = finding_rows(self.session.trace)
        if rows:
            self.figures.choose("Findings")
            go_to(self.session, rows[0].finding)

    def _show_launch(self) -> None:
        trace = self.session.trace
        if trace is None:
            self.title.setText("")
            self.facts.setText("Recording the first launch …")
            self.setWindowTitle("Tilescope")
            return
        launch = trace.workload.launch
        self.title.setText(trace.workload.title)
        self.facts.setText(f"grid {launch.grid}   block {launch.block}")
        values = ", ".join(f"{k} = {v}" for k, v in trace.workload.parameters.items())
        values = f" ({values})" if values else ""
        self.setWindowTitle(f"{trace.workload.title}{values} – Tilescope")
        self._show_size()

    def _show_size(self) -> None:
        """Below the form: how large the launch is, and how much of it was run and counted."""
        trace = self.session.trace
        if trace is None:
            return
        launch = trace.workload.launch
        threads = launch.grid.count * launch.block.count
        run = plural(len(trace.recorded_blocks), "block")
        if trace.complete:
            scope = "all run and counted"
        elif self.session.counts_complete:
            scope = f"all counted, {run} run step by step"
        elif self.recorder.counter.busy:
            scope = f"{run} run; the others are being counted …"
        else:
            scope = f"{run} run and counted"
        self.form.show_facts(
            f"{plural(launch.grid.count, 'block')} of {plural(launch.block.count, 'thread')}, "
            f"{grouped(threads)} threads in all; {scope}."
        )

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop what runs, wait for it, and let go of the session."""
        self.closing.emit()
        self.session.playing = 0
        self.transport.stop()
        self.recorder.close()
        self.workbench.close()
        self.exporter.close()
        self.phases.shut_down()
        self.pages.shut_down()
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self._focus_keys)
        super().closeEvent(event)
        QTimer.singleShot(0, self.deleteLater)
