"""The source pane: the text with the running line, and what each line moved in the margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QLabel, QTextEdit

from gui.looks.labels_and_layouts import fill, styled_label
from gui.looks.style_sheet import set_style
from gui.looks.theme import current_theme
from gui.scenes.edited_source import NEVER, Draft
from gui.scenes.selection import Breakpoint, Hover
from gui.scenes.session import Session
from gui.scenes.source_pane import (
    ELSEWHERE,
    language_of,
    line_totals,
    made_elsewhere,
    next_step_at,
    source_caption,
)
from gui.scenes.text_changes import Changes
from gui.views.buttons_and_choices import action_button
from gui.views.code_edit import CHANGED, CodeEdit, GutterHead, current_line_brush
from gui.views.question_in_views import Veil, marks_of
from gui.views.session_view import CaptionedView

if TYPE_CHECKING:
    from core.errors import Diagnostic

MOST_CHANGED = 400  # lines that are marked: each is laid anew at every step
ROOM_FOR_LINES, SMALLER = 86, 0.92  # digits; in a narrower pane the type is so much smaller
ROOM_FOR_IDEALS = 64  # digits; in a narrower pane the ideals are left to the tips
NOT_RUN = "Edited, not run yet: marks are of the text that ran last. Ctrl+Return runs it."

NEVER_RUN = "It has not run yet. Ctrl+Return runs it."
NEW_LINE = "That line has not run yet: run the text with Ctrl+Return, then set a breakpoint there."
MODES = {False: ("Reading", "Edit: F2"), True: ("Editing", "Done: Esc")}
TIPS = {
    False: "Keys are commands. Edit the text: F2 or Ctrl+E",
    True: "Keys go into the text. Escape ends editing and keeps the text",
}


class SourceView(CaptionedView):
    """The source pane. Click a line to select it, double click to go to its next step.

    The text is read, and keys are commands, until it is edited. What is typed becomes the shown
    kernel by `run_wanted(text)`; `original_wanted()` asks for the text before any edit.
    `drafts_changed()` says that other sources may be edited than before.
    """

    WATCHES = frozenset({"trace", "block", "step", "line", "counts", "breakpoints", "hover"})
    READ = True
    run_wanted = Signal(str)
    original_wanted = Signal()
    drafts_changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.draft = Draft()
        self.edit = CodeEdit()
        self.head = GutterHead(self.edit.gutter)
        self.state = styled_label(role="small")
        self.mode = QLabel()
        self.switch = action_button("", "")
        self.switch.clicked.connect(self._switch)
        original = "Back to the text before any edit (Ctrl+Shift+O)"
        self.original = action_button("Original", original, original)
        run = "Compile and run the edited text (Ctrl+Return)"
        self.run = action_button("Run", run, run)
        self.original.clicked.connect(self.original_wanted)
        self.run.clicked.connect(lambda: self.run_wanted.emit(self.draft.text))
        self.controls = [self.state, self.mode, self.switch, self.original, self.run]
        fill(self, self.head, self.edit)
        Veil(session, "source", self, (self.head, self.edit))
        self._changed: list[QTextEdit.ExtraSelection] = []
        self._spans: list[QTextEdit.ExtraSelection] = []
        self._pointed: int | None = None  # the line of the compiled text that is lit
        self._caret_set = False  # by keys or a click, and not by the text that was put in
        self.edit.cursorPositionChanged.connect(self._note_caret)
        self.edit.editing_changed.connect(self._on_mode)
        self.edit.focus_changed.connect(self._mark)
        self.edit.line_clicked.connect(self._select)
        self.edit.line_pointed.connect(self._point)
        self.edit.line_double_clicked.connect(self._double_clicked)
        self.edit.gutter.break_wanted.connect(self.toggle_break)
        self.edit.textChanged.connect(self._on_edit)
        self._show_state()
        self._on_mode(False)
        self.restyle()

    def refresh(self, names: frozenset[str]) -> None:
        if names == {"hover"}:
            if self.session.pointed_line != self._pointed:
                self._mark()
            return
        if "trace" in names and (self.session.trace or self.draft.compiled != NEVER):
            self._load()
        elif names & {"counts", "veiled", "answered"}:
            self._show_totals()
        if "line" in names and not self.edit.editing:
            self._caret_to(self.session.line)
        if "lit" in names:
            self._reveal_lit()
        running = self.draft.place(self.session.current_line)
        stands = names <= {"step"} and running == self.edit.gutter.current
        line = running if stands else self._mark()  # the same line again: nothing to paint
        if line is not None and names & {"trace", "block", "step"} and self._follows(names):
            self.edit.reveal(line)
        self._show_caption()

    def _follows(self, names: frozenset[str]) -> bool:
        """Whether the text may be scrolled: one that is typed in stays, unless the clock is set."""
        return not self.edit.editing or (names <= {"step"} and not self.session.playing)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_type()
        self._keep_in_sight()

    def _fit_type(self) -> None:
        """A narrow pane has smaller type, so that lines are seen to their ends."""
        theme = current_theme()
        digit = QFontMetrics(theme.mono()).horizontalAdvance("0")
        font = theme.mono(SMALLER if self.width() < ROOM_FOR_LINES * digit else 1.0)
        brief = self.width() < ROOM_FOR_IDEALS * digit
        if font != self.edit.font() or brief != self.edit.gutter.brief:
            self.edit.setFont(font)
            self.edit.gutter.brief = brief
            self._fit_gutter()

    def show_diagnostics(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.edit.show_errors(
            (d.line, d.column, d.message) for d in diagnostics if d.severity == "error"
        )

    def show_unrun(self, key: str, original: str, text: str) -> None:
        """Show a source that did not compile, so that no trace brings its text."""
        text = self.draft.open(key, original, text)
        with QSignalBlocker(self.edit):
            self._put(text, anew=True)
        self._show_totals()
        self._show_state()
        self._mark()
        self._show_caption()

    def show_changes(self, changes: Changes, sign: str) -> None:
        """Mark what differs from another version of the text, its lines with a sign."""
        self.edit.gutter.changes, self.edit.gutter.sign = changes, sign
        self._mark_changes()
        self._mark()
        self.edit.gutter.update()
        self.edit.viewport().update()

    def _mark_changes(self) -> None:
        changes, self._changed, self._spans = self.edit.gutter.changes, [], []
        for line in sorted(changes.lines)[:MOST_CHANGED]:
            self._changed += self.edit.band(line, current_theme().tint(CHANGED, 0.13))
        for place in changes.spans[:MOST_CHANGED]:
            self._spans += self._span(*place)

    def reveal_changes(self) -> None:
        """Have the first place that differs in sight, from where it begins."""
        ends = self.edit.gutter.changes.ends
        if ends is not None:
            for line in reversed(ends):
                self.edit.reveal(min(line, self.edit.blockCount()))
            if self._spans:
                self.edit.reveal_sideways(self._spans[0].cursor)

    def go_to_error(self, line: int) -> None:
        if self.draft.stale or self.edit.hasFocus():
            self.edit.setFocus()
            self.edit.editing = True
            self.edit.put_caret(line)
        self.session.line = self.draft.origin(line)
        self.edit.reveal(line)

    def saved(self) -> None:
        """The text has been saved to its file: it no longer counts as an edit."""
        self.draft.saved()
        self._show_state()

    def put_original(self) -> None:
        self._replace(self.draft.first)

    def begin_exercise(self, key: str, exercise: str, first: str) -> None:
        """Have a source begin with the text of an exercise, in the editor if it is shown.

        It is the one that the exercise was left with, if any.
        """
        text = self.draft.begin(key, exercise, first)
        if text is not None:
            self.edit.show_errors(())
            self._put(text, anew=True)

    def begin_anew(self, key: str, exercise: str) -> None:
        """Have an exercise begin with its first text when it is asked again."""
        if self.draft.drop_exercise(key, exercise):
            self.put_original()

    def put(self, key: str, text: str) -> None:
        """Put a text into the editor if it shows that source; it can be undone."""
        if key == self.draft.key:
            self._replace(text)
        self._show_state()

    def end_exercise(self) -> None:
        """From here on the source's own text comes with its traces again."""
        self.draft.end()

    def _replace(self, text: str) -> None:
        self.edit.show_errors(())
        self.edit.set_text(text)
        self.edit.to_the_left()

    def begin_editing(self) -> None:
        """Type at the caret if that is in use, else at the selected line or the running one."""
        if made_elsewhere(self.session.trace):
            self.edit.refused.emit(ELSEWHERE)
            return
        line = self.draft.place(self.session.line or self.session.current_line)
        if line is not None and not self.draft.stale and not self.edit.hasFocus():
            self.edit.put_caret(line)
        self.edit.setFocus()
        self.edit.editing = True
        self.edit.ensureCursorVisible()

    def end_editing(self) -> bool:
        """Back to reading; whether the text was edited until now. What was typed stays."""
        was, self.edit.editing = self.edit.editing, False
        return was

    def _switch(self) -> None:
        if not self.end_editing():
            self.begin_editing()

    def _on_mode(self, editing: bool) -> None:
        words, button = MODES[editing]
        self.mode.setText(words)
        set_style(self.mode, "role", "now" if editing else "small")
        self.mode.setToolTip(TIPS[editing])
        self.switch.setText(button)
        self.switch.setToolTip(TIPS[editing])
        self.switch.setAccessibleName("Stop editing" if editing else "Edit the source")
        self._mark()

    def restyle(self) -> None:
        self._fit_type()
        self.edit.restyle()
        for said in (self.state, self.mode):  # in line with the words of the buttons beside them
            said.setMinimumHeight(self.switch.sizeHint().height())
        self._fit_gutter()
        self.show_changes(self.edit.gutter.changes, self.edit.gutter.sign)
        self._keep_in_sight()

    def _keep_in_sight(self) -> None:
        """Scroll back to the running line where other type or another size has moved it away.

        Where nothing runs, to the first error.
        """
        line = self.draft.place(self.session.current_line)
        if line is None and self.edit.errors:
            line = self.edit.errors[0].line
        if line is not None and not self.edit.editing:
            self.edit.reveal(line, sideways=False)

    def _load(self) -> None:
        trace, origin = self.session.trace, self.session.origin
        compiled = trace.workload.source if trace is not None else ""
        name = trace.workload.source_name if trace is not None else ""
        key = origin.configuration.key if origin is not None else name
        original = origin.original if origin is not None else compiled
        before = self.draft.name
        self.edit.suffix = language_of(name, original)
        text = self.draft.load(key, original, compiled)
        another = self.draft.name != before
        if text != self.edit.toPlainText():
            with QSignalBlocker(self.edit):
                self._put(text, anew=another)
        self._mark_changes()
        self.edit.show_errors(())
        self.edit.to_the_left()
        self._show_totals()
        self._show_state()

    def _put(self, text: str, *, anew: bool) -> None:
        if anew:
            self.end_editing()
            self.edit.setPlainText(text)
            self._caret_set = False
            self.edit.verticalScrollBar().setValue(0)
        else:
            self.edit.set_text(text)

    def _on_edit(self) -> None:
        self.draft.text = self.edit.toPlainText()
        self._show_totals()
        self._show_state()
        self._mark()
        self._show_caption()

    def _show_totals(self) -> None:
        counts, gutter = self.session.counts, self.edit.gutter
        veiled = self.session.hides("gutter")
        totals = line_totals(counts) if counts is not None and not veiled else {}
        placed = {self.draft.place(line): found for line, found in totals.items()}
        gutter.totals = {line: found for line, found in placed.items() if line is not None}
        gutter.stale, gutter.veiled = self.draft.stale, veiled
        self.edit.fold_head(away=self.session.hides("why"))
        self._fit_gutter()

    def _show_state(self) -> None:
        self.state.setText("● not run yet" if self.draft.stale else "")
        self.state.setAccessibleName("Edited and not run yet" if self.draft.stale else "As run")
        self.original.setEnabled(self.draft.text != self.draft.first)
        self.run.setEnabled(self.draft.stale)
        self.drafts_changed.emit()

    def _show_caption(self) -> None:
        lit = self.session.lit
        if self.draft.stale:
            self.caption.setText(NEVER_RUN if self.draft.compiled == NEVER else NOT_RUN)
        elif lit is not None and lit.target == "line":
            told = filter(None, (lit.words("right"), lit.words("given")))
            self.caption.setText(". ".join(told) + ".")
        else:
            self.tell(source_caption(self.session), veiled=self.session.hides("gutter"))

    def _fit_gutter(self) -> None:
        self.edit.gutter.measure()
        width = self.edit.gutter.wanted_width()
        if width != self.edit.viewportMargins().left():  # this lays the whole text out anew
            self.edit.setViewportMargins(width, 0, 0, 0)
            box = self.edit.contentsRect()
            self.edit.gutter.setGeometry(box.left(), box.top(), width, box.height())
        self.edit.gutter.update()
        self.head.update()

    def _mark(self) -> int | None:
        line = self.draft.place(self.session.current_line)
        gutter = self.edit.gutter
        gutter.mark(line, self.draft.place(self.session.line))
        placed = {self.draft.heir(place.line) for place in self.session.breakpoints}
        breaks = frozenset(number for number in placed if number is not None)
        if breaks != gutter.breaks:
            gutter.breaks = breaks
            gutter.update()
        self._pointed = self.session.pointed_line
        pointed = None if self.edit.underMouse() else self.draft.place(self._pointed)
        bands = (
            *self.edit.band(self.caret_place or 0, current_theme().tint("text", 0.07)),
            *self.edit.band(pointed or 0, current_theme().tint("hover", 0.18)),
            *self.edit.band(line or 0, current_line_brush(stale=self.draft.stale)),
        )
        self.edit.marks = [*self._changed, *bands, *self._lit(), *self._spans]
        self.edit.draw_marks()
        return line

    def _lit(self) -> list[QTextEdit.ExtraSelection]:
        lit, gutter, bands = self.session.lit, self.edit.gutter, []
        gutter.lit = {}
        found = marks_of(lit) if lit is not None and lit.target == "line" else {}
        for pick, (color, shape) in found.items():
            place = self.draft.place(pick) if isinstance(pick, int) else None
            if place is not None:
                gutter.lit[place] = color, shape
                bands += self.edit.band(place, current_theme().tint(color, 0.18))
        gutter.update()
        return bands

    def _reveal_lit(self) -> None:
        """Have the lines of an answer in sight, the right one if there is no room for both."""
        lit = self.session.lit
        if lit is not None and lit.target == "line":
            for pick in (*lit.given, *lit.right):
                place = self.draft.place(pick) if isinstance(pick, int) else None
                if place is not None:
                    self.edit.reveal(place)

    def _span(self, line: int, start: int, length: int) -> list[QTextEdit.ExtraSelection]:
        block = self.edit.document().findBlockByNumber(line - 1)
        if start + length >= block.length():
            return []  # the text has not come yet
        mark = QTextEdit.ExtraSelection()
        mark.format.setBackground(current_theme().tint(CHANGED, 0.36))
        mark.cursor = QTextCursor(block)
        mark.cursor.setPosition(block.position() + start)
        end = block.position() + start + length
        mark.cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        return [mark]

    def _point(self, place: int) -> None:
        line = self.draft.origin(place) if place else None
        self.session.hover = Hover(line=line) if line is not None else None

    def _select(self, place: int) -> None:
        line = self.draft.origin(place)
        if line is None or not self.session.pick("line", line):
            self.session.line = None if line == self.session.line else line

    def toggle_break(self, place: int) -> None:
        line = self.draft.ancestor(place)
        if line is None:
            self.edit.refused.emit(NEW_LINE)
        else:
            self.session.toggle_breakpoint(Breakpoint(line=line))

    def _double_clicked(self, place: int) -> None:
        line = self.draft.origin(place)
        if line is not None and self.session.pick_target != "line":
            self.go_to_next(line)

    def go_to_next(self, line: int) -> None:
        """Go to the next step at a line, or to its first when there is none after this."""
        self.session.line = line
        step = next_step_at(self.session.block_trace, self.session.step, line)
        if step is not None:
            self.session.step = step

    @property
    def caret_place(self) -> int | None:
        """The line of the editor at the caret, while that is in use."""
        used = self._caret_set and self.edit.hasFocus()
        return self.edit.textCursor().blockNumber() + 1 if used else None

    def _note_caret(self) -> None:
        self._caret_set = self.edit.hasFocus()
        self._mark()

    def _caret_to(self, line: int | None) -> None:
        """While the text is read, the caret goes along with the selected line."""
        place = self.draft.place(line)
        if place is not None:
            self.edit.put_caret(place)
