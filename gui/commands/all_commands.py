"""All commands of one window, each with those that it uses."""

from __future__ import annotations

from gui.commands.editing_and_opening import Workbench
from gui.commands.explaining import Explaining
from gui.commands.exporting import Exporting
from gui.commands.keyboard_focus import focus_page
from gui.commands.large_view import Enlarging
from gui.commands.lesson_teaching import Teaching
from gui.commands.links_and_moments import Lecture, Moments
from gui.commands.nsight_profile import Profiling
from gui.commands.presenting import Presenting
from gui.commands.saving_pictures import PictureSaver
from gui.commands.status_messages import Reporter
from gui.commands.steps_and_breakpoints import Stopping
from gui.commands.window_parts import Window


class Commands:
    """What the menus, the pages and the window itself ask for."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self.workbench = bench = Workbench(window)
        self.moments = Moments(window, bench)
        self.lecture = Lecture(window, self.moments)
        bench.list_wanted.connect(self.lecture.open_list)
        self.pictures = PictureSaver(window)
        bench.waiting.stopped.connect(self.pictures.cancel)
        self.enlarging = Enlarging(window)
        self.explaining = Explaining(window)
        self.stopping = Stopping(window)
        self.reporter = Reporter(window, lambda: bench.run_alone if bench.stands_alone else None)
        self.exporting = Exporting(window, self.moments)
        bench.waiting.stopped.connect(self.exporting.cancel)
        self.profiling = Profiling(window)
        bench.waiting.stopped.connect(self.profiling.cancel)
        self.teaching = Teaching(window, self.moments, bench, self.explaining)
        self.presenting = Presenting(window, self.teaching)

    def leave_field(self) -> None:
        """End editing, put away what is said, or else bring all views back."""
        window = self._window
        if window.step_page.source.end_editing():
            focus_page(window)
            return
        said = window.message.sentence or any(s.question for s in self.explaining.sessions)
        if not said and self.enlarging.back():
            return
        window.message.clear()
        self.explaining.close()
        focus_page(window)

    def turn(self, by: int) -> None:
        """The next question of a lesson, or the one before; without a lesson another kernel."""
        if not self.presenting.move(by) and not self.teaching.turn(by):
            self._window.ladder_panel.choose_next(by)

    def close(self) -> None:
        """Stop what writes files, and wait for it."""
        self.pictures.close()
        self.exporting.close()
