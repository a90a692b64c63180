"""Going to a step by number, breakpoints, and touches of elements: commands of one window."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QObject

from core.errors import ParameterError
from core.links import parse_element
from gui.commands.window_parts import Window
from gui.scenes.names_of_elements_and_threads import index_text
from gui.scenes.numbers_and_sentences import grouped
from gui.scenes.question_in_views import waits
from gui.scenes.selection import Breakpoint
from gui.views.dialogs import ask_number, ask_text
from gui.views.session_view import go_to_touch


class Stopping(QObject):
    """What the Step menu does about places to stop at."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.main, self.session = window, window.session
        self.source, self.message = window.step_page.source, window.message

    def ask_for_step(self) -> None:
        """Ask for a step's number, counted from 0 as everywhere, and go there."""
        last = self.session.n_steps - 1
        if last < 0:
            return
        hint, now = f"0 to {grouped(last)}, as in links", self.session.step
        number = ask_number(self.main, "Go to step", hint, now, last, action="Go")
        if number is not None:
            self.session.update(playing=0, step=number)

    def run_to_break(self, *, forward: bool) -> None:
        if self.session.run_to_break(forward):
            return
        if not self.session.breakpoints:
            said = "There is no breakpoint: click left of a line's number, or press F9."
        else:
            said = f"No breakpoint stops {'after' if forward else 'before'} this step."
        self.message.tell(said)

    def toggle_at_line(self) -> None:
        """Set or take away a breakpoint at the caret, the selected line, or the running one."""
        place, line = self.source.caret_place, self.session.line or self.session.current_line
        if place is not None:
            self.source.toggle_break(place)
        elif line is not None:
            self.session.toggle_breakpoint(Breakpoint(line=line))

    def choose_line(self, *, forward: bool) -> None:
        """Select the next line (or the one above) that threads of the block come to."""
        session, block = self.session, self.session.block_trace
        if block is None or not block.n_steps:
            return
        lines = np.unique(np.asarray(block.line))
        if session.pick_target == "line" and session.trace is not None:  # it may have no step
            count = session.trace.workload.source.count("\n") + 1
            lines = np.arange(1, count + 1, dtype=lines.dtype)
        now = session.line or session.current_line or 0
        ahead = lines[lines > now] if forward else lines[(lines < now) & (lines > 0)][::-1]
        if len(ahead):
            session.line = int(ahead[0])
            edit, place = self.source.edit, self.source.draft.place(session.line)
            if place is not None and not edit.editing:
                edit.reveal(place)

    def next_at_line(self) -> None:
        if self.session.line is not None:
            self.source.go_to_next(self.session.line)

    def toggle_at_element(self) -> None:
        if self._element() is not None:
            self.session.toggle_breakpoint(Breakpoint(element=self.session.element))

    def clear(self) -> None:
        self.session.breakpoints = frozenset()

    def go_to_touch(self, *, forward: bool) -> None:
        """Go to the step that touches the selected element next (or did last)."""
        element = self._element()
        if element is None or go_to_touch(self.session, element, forward=forward):
            return
        if self.session.hides("matrices.loaded"):
            self.message.tell(waits(self.session, "whether it is touched"))
            return
        where = "after" if forward else "before"
        said = f"This block does not touch {index_text(*element)} {where} this step."
        self.message.tell(said)

    def ask_for_element(self) -> None:
        now = self.session.element
        text = ask_text(
            self.main,
            "Select an element",
            "An array's name and the index, such as A[0,2]",
            text=index_text(*now) if now is not None else "",
            action="Select",
            check=self.mistake_of,
        )
        if text is not None:
            self.select_element(text)

    def mistake_of(self, text: str) -> str:
        """Why a text names no element of the launch; empty where it does."""
        try:
            element = parse_element(text)
        except ParameterError:
            return f"`{text}` is not an element: write it as A[0,2]."
        if self.session.fit_element(element) is None:
            return f"The launch has no element {index_text(*element)}."
        return ""

    def select_element(self, text: str) -> None:
        mistake = self.mistake_of(text)
        if mistake:
            self.message.show_message(mistake)
        else:
            self.session.update(element=parse_element(text))

    def _element(self) -> tuple[str, tuple[int, ...]] | None:
        if self.session.element is None:
            said = "No element is selected: click one in a matrix or a shared array, or press E."
            self.message.tell(said)
        return self.session.element
