"""Leads through lessons: asks, marks, reveals, and keeps what was answered.

Questions are worked out and marked in a worker; what a question looks at is opened as a link, which
the window records itself. What is veiled, lit and to be clicked are settings of the session.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal
from PySide6.QtWidgets import QFileDialog

from core.atomic_files import replace_file
from core.errors import ParameterError, TilescopeError
from core.ladder import Ladder
from core.lessons.lesson import Click, Lesson, Setting, Slider, load_concepts
from core.links import ON_PAGES, Link
from gui.background import Worker, sentence_of
from gui.commands.keyboard_focus import focus_page
from gui.commands.window_parts import Window
from gui.jobs.lesson_work import (
    CourseRead,
    Drafted,
    Explained,
    LessonsRead,
    Recorders,
    Revealed,
    course_job,
    draft_job,
    explain_job,
    foresee_job,
    lessons_job,
    mark_job,
    pose_job,
    reveal_job,
)
from gui.looks.theme import theme_names
from gui.scenes.course_shown import EXERCISES
from gui.scenes.lesson_sitting import Asked, Reply, Sitting
from gui.scenes.lists_of_moments import Named
from gui.scenes.moment_links import must_be_shown
from gui.scenes.numbers_and_sentences import plural
from gui.scenes.veils_and_picks import Lit
from gui.scenes.why_this_number import OfQuestion
from gui.views.answer_fields import ClickField, SliderField

if TYPE_CHECKING:
    from core.lessons.course import Again, Course
    from core.lessons.posing_and_marking import Answer
    from core.lessons.progress import Answered, Origin, Progress
    from gui.commands.editing_and_opening import Workbench
    from gui.commands.explaining import Explaining
    from gui.commands.links_and_moments import Moments

FILES = "Lessons (*.toml);;All files (*)"
MOST_SEED = 2**31 - 1
SLID_MS = 180  # of rest before the launch follows a slider
AGAIN = ", once more"  # stands behind the title of what was missed
FRONT = "Source"  # what is in front where a question names no view
SETTLED_MS = 250  # after a file was changed: an editor may write it twice


class Teaching(QObject):
    """The lessons of one window.

    `course_read()` says that the course and the learner's progress are there, or have changed;
    `asked()` that a question is there, `left()` that no lesson is shown any more,
    `answer_known(Revealed)` what a question's answer is, for who presents it.
    """

    course_read = Signal()
    asked = Signal()
    answer_known = Signal(object)
    left = Signal()

    def __init__(
        self, window: Window, moments: Moments, bench: Workbench, explaining: Explaining
    ) -> None:
        super().__init__(window)
        self.main, self.moments, self.bench = window, moments, bench
        self.explaining = explaining
        self.session, self.recorder = window.session, window.recorder
        self.path: Path | None = None
        """Where progress is kept; None for nowhere."""
        self.greeted = False
        """Whether the first start's page has been shown."""
        self.presented = False
        """Whether questions stand above the views, for a room, and not in the panel."""
        self.sitting: Sitting | None = None
        self.course: Course | None = None
        self.lessons: tuple[Lesson, ...] = ()
        self.progress: Progress | None = None
        self.panel = window.left_column.lesson_panel
        self._recorders = Recorders()
        self._then: Sequence[Any] = ()  # what to do when the course is there
        self._opened: tuple[Lesson, ...] = ()  # from files
        self._ladder: Ladder = window.recorder.ladder
        self._at = 0  # where to begin in a lesson that is read
        self._watched = QFileSystemWatcher(self)
        self._settle = QTimer(self, singleShot=True, interval=SETTLED_MS)
        self._watched.fileChanged.connect(lambda _: self._settle.start())
        self._settle.timeout.connect(self._reload)
        self._slide = QTimer(self, singleShot=True, interval=SLID_MS)
        self._slide.timeout.connect(self._follow_slider)
        self.worker = Worker(self, "lessons", self._take, self._fail)
        # Of its own: a draft must end no question's work.
        self.drafter = Worker(self, "drafts", self._take, lambda e: self._say(sentence_of(e)))
        window.recorder.recorded.connect(self._check_goals)
        window.recorder.failed.connect(lambda _: self._unmark())
        self.session.picked.connect(self._on_picked)
        self._connect_panel()

    def _connect_panel(self) -> None:
        panel = self.panel
        panel.answered.connect(self._answer)
        panel.moved.connect(self.go)
        panel.gone.connect(self.go_to)
        panel.hint.clicked.connect(self.hint)
        panel.again.clicked.connect(self.again)
        panel.once_more.clicked.connect(self._once_more)
        panel.why_button.clicked.connect(self.why)
        panel.solution.clicked.connect(self.show_solution)
        panel.run.clicked.connect(self._run_and_check)
        panel.look.clicked.connect(lambda: self._look(again=True))
        panel.close_button.clicked.connect(self.leave)
        panel.changed.connect(self._show_picks)

    @property
    def is_awaited(self) -> bool:
        """Whether questions are asked as soon as the course is read."""
        return bool(self._then)

    # ---- what can be sat

    def read_course(self) -> None:
        """Read the course and the progress, in the background; `course_read` says when."""
        if self.progress is None:
            self.worker.submit(course_job, self.path, random.SystemRandom().randrange(MOST_SEED))
        else:
            self.course_read.emit()

    def begin_lesson(self, name: str, at: int = 0) -> None:
        if self._waits_for_course(partial(self.begin_lesson, name, at)):
            return
        lesson = next((one for one in self.lessons if one.name.lower() == name.lower()), None)
        if lesson is None:
            self._say(f"There is no lesson {name}: there are {', '.join(self.names())}.")
            return
        self._sit_lesson(lesson, at)

    def names(self) -> list[str]:
        return [one.name for one in self.lessons]

    def open_named(self, name: str) -> None:
        """A lesson of the course, or the lesson in a file, or those of a folder."""
        path = Path(name).expanduser()
        if path.exists() or path.suffix == ".toml":
            self.open_path(path)
        else:
            self.begin_lesson(name)

    def open_path(self, path: Path) -> None:
        """Begin the lesson in a file, or the first of a folder; another text of it is read anew."""
        if self._waits_for_course(partial(self.open_path, path)):
            return
        self._at, self._opened = 0, ()
        self.worker.submit(lessons_job, path)

    def ask_for_file(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self.main, "Open a lesson", "", FILES)
        if name:
            self.open_path(Path(name))

    def ask_and_export(self, kind: str) -> None:
        """Ask for a file, and write all answers to it: anonymous, as "json" or "csv"."""
        name, _ = QFileDialog.getSaveFileName(
            self.main, "Export the progress", f"progress.{kind}", f"*.{kind}"
        )
        if name:
            self.export(Path(name), kind)

    def export(self, path: Path, kind: str) -> None:
        """Write all answers to a file, without a name and without times of day."""
        from core.lessons.progress import export_csv, export_json

        if self.progress is None:
            return
        try:
            if kind == "csv":
                replace_file(path, export_csv(self.progress))
            else:
                replace_file(path, export_json(self.progress, list(load_concepts().concepts)))
        except TilescopeError as error:
            self._say(str(error))
            return
        self.main.message.tell(f"Written: {path}")

    def make_of_moments(self, moments: Sequence[Named]) -> None:
        """Ask for a file, and write a lesson with a question for each moment to it."""
        if not moments:
            self._say("There are no moments yet: Ctrl+Shift+M saves one.")
            return
        name, _ = QFileDialog.getSaveFileName(
            self.main, "Make a lesson of the moments", "lesson.toml", FILES
        )
        if name:
            pairs = [(one.name, one.link) for one in moments]
            self.drafter.submit(draft_job, pairs, self._ladder, Path(name))

    def begin_review(self) -> None:
        """Ask five questions of lessons that were begun, with other numbers."""
        if self._waits_for_course(self.begin_review):
            return
        from core.lessons.course import review

        assert self.course is not None
        assert self.progress is not None
        found = review(self.course, self.progress)
        if not found:
            self._say("There is nothing to review yet: begin a lesson first.")
            return
        self._sit(Sitting("Review", found, self.progress.seed, "review"))

    def begin_test(self, origin: Origin) -> None:
        """The test before the course, or after it."""
        if self._waits_for_course(partial(self.begin_test, origin)):
            return
        from core.lessons.course import exam

        assert self.course is not None
        assert self.progress is not None
        found = exam(self.course, origin, self.progress.seed)  # type: ignore[arg-type]
        title = f"Test {origin} the course: answers are not explained"
        self._sit(Sitting(title, found, self.progress.seed, origin))

    def _waits_for_course(self, then: Any) -> bool:
        if self.progress is not None:
            return False
        self._then = (*self._then, then)
        self.read_course()
        return True

    def _sit_lesson(self, lesson: Lesson, at: int = 0) -> None:
        from core.lessons.course import Again

        assert self.progress is not None
        questions = tuple(Again(lesson, step, {}) for step in lesson.steps)
        at = min(max(at, 0), len(questions) - 1)
        self._sit(Sitting(lesson.heading, questions, self.progress.seed, at=at))

    def _sit(self, sitting: Sitting) -> None:
        self.sitting = sitting
        if sitting.origin == "lesson" and self.progress is not None and not sitting.explained:
            sitting.take_earlier(self.progress.answers)
        self.main.left_column.show_lesson(not self.presented)
        self._open()

    def leave(self) -> None:
        """End the lesson; the views show what they show without one."""
        if self.sitting is None:
            return
        self.sitting = None
        self.worker.cancel()
        self._opened = ()
        self._watch()
        self.session.update(veiled=frozenset(), answered=False, lit=None, pick_target=None)
        source = self.main.step_page.source
        source.end_exercise()
        if source.draft.of_exercise:
            self.recorder.run_source(None)  # the rung's own text, not the exercise's
        self.recorder.ladder = self._ladder
        self.main.left_column.show_lesson(False)
        self.left.emit()
        self.main.show_page("course")
        focus_page(self.main)

    # ---- going on

    def go(self, by: int) -> None:
        """The next question, or one before; past the last comes the end."""
        if self.sitting is not None:
            ended = self.sitting.stage == "ended"
            if not (ended and by > 0):
                self.go_to(self.sitting.at + by + ended)

    def go_to(self, place: int) -> None:
        """A question by its place; in a test they come in their order."""
        sitting = self.sitting
        if sitting is None or place < 0:
            return
        if not sitting.tells and place != sitting.at + 1:
            return
        sitting.go(place)
        self._open()

    def turn(self, by: int) -> bool:
        """Go on or back by a key; False where no lesson is on."""
        if self.sitting is None:
            return False
        self.go(by)
        return True

    def again(self) -> None:
        """The same question with other numbers."""
        sitting, progress = self.sitting, self.progress
        if sitting is None or progress is None or not sitting.question.step.sets:
            return
        sitting.again(self._other_numbers(sitting, sitting.question, progress))
        self._open()

    @staticmethod
    def _other_numbers(
        sitting: Sitting, question: Again, progress: Progress
    ) -> Mapping[str, Setting]:
        """Numbers with which a question was not asked yet, where it has so many."""
        from core.lessons.posing_and_marking import variant

        step = question.step
        times = max(progress.times_asked(step.name), 1)
        return variant(question.lesson, step, sitting.seed, times)

    def _once_more(self) -> None:
        if self.sitting is not None:
            self._begin_anew(self.sitting.question)
            self.sitting.once_more()
            self._open()

    def _begin_anew(self, question: Again) -> None:
        """Have the editor forget what became of an exercise: its solution may stand there."""
        step = question.step
        self.main.step_page.source.begin_anew(step.link.rung, step.name)

    def ask_missed(self) -> None:
        """Ask the questions that were missed once more, with other numbers where there are."""
        sitting, progress = self.sitting, self.progress
        if sitting is None or progress is None:
            return
        missed = [sitting.questions[place] for place in sitting.missed]
        for question in missed:
            self._begin_anew(question)
        again = [replace(q, values=self._other_numbers(sitting, q, progress)) for q in missed]
        title = f"{sitting.title.removesuffix(AGAIN)}{AGAIN}"
        self._sit(Sitting(title, again, sitting.seed, sitting.origin, explained=True))

    def _open(self) -> None:
        """Look at what the question is about, veiled, and work the question out meanwhile."""
        sitting = self.sitting
        if sitting is None:
            return
        self.explaining.close()
        if sitting.stage == "ended":
            self._end()
            return
        if sitting.is_told:
            self._read_again()
            return
        self.panel.show_sitting(sitting)
        step = sitting.question.step
        self.session.update(veiled=step.veil, answered=False, lit=None, pick_target=None, playing=0)
        self._look()
        self.worker.submit(
            pose_job, self._recorders, sitting.question, sitting.numbers, sitting.seed
        )

    def _read_again(self) -> None:
        """Show a question that was answered in this sitting, with its answer and what was said."""
        sitting = self.sitting
        assert sitting is not None
        reply = sitting.reply
        assert reply is not None
        self.worker.cancel()
        self.session.update(playing=0)
        self._look(solution=str(reply.answer) if sitting.is_built else "")
        self._reveal(reply.verdict.wanted, reply.answer)
        self.panel.show_sitting(sitting, sitting.asked)
        self.asked.emit()

    def _look(self, *, again: bool = False, solution: str = "") -> None:
        """Open the place that the question looks at; the editor has what an exercise has become.

        `again` keeps what was run of it too; `solution` is the text that solved it.
        """
        if self.sitting is None or self.sitting.stage == "ended":
            return
        question = self.sitting.question
        ladder = question.lesson.ladder
        link = question.step.link.varied(self.sitting.numbers, ladder)
        text, source = getattr(question.step.question, "start", ""), self.main.step_page.source
        if not self.sitting.is_built:
            source.end_exercise()
        elif not again:
            first = text or ladder[link.rung].source
            source.begin_exercise(link.rung, question.step.name, first)
            text = solution or text
        elif self._shown_rung() == link.rung and self.session.trace is not None:
            text = self.session.trace.workload.source
        self._visit(link, ladder, text, front=FRONT)

    def _shown_rung(self) -> str:
        shown = self.session.asked_for
        return shown.rung if shown is not None else ""

    def _visit(self, link: Link, ladder: Ladder, source: str = "", front: str = "") -> None:
        self.recorder.ladder = ladder
        try:
            must_be_shown(link, theme_names())
            looks = {**({"view": front} if front else {}), **link.looks}
            self.moments.open_moment(replace(link, source=source or None, looks=looks))
        except ParameterError as error:
            self._say(str(error))

    # ---- answering

    def hint(self) -> None:
        if self.sitting is not None and (text := self.sitting.hint()):
            self.panel.show_hint(text)

    def _on_picked(self, target: str, thing: Any) -> None:
        if isinstance(field := self.panel.field, ClickField):
            field.click(thing)
            if field.answer() is not None:
                self.panel.sure.setFocus()  # Return answers, Tab leads to the guess

    def _follow_slider(self) -> None:
        """Record the launch that the slider stands at: what is not veiled moves with it."""
        sitting, field = self.sitting, self.panel.field
        if sitting is None or sitting.posed is None or sitting.stage != "asked":
            return
        if isinstance(field, SliderField):
            self._slide_to(field.value)

    def _slide_to(self, value: int) -> None:
        """Open the launch, or the page, with this value of what the slider sets."""
        sitting = self.sitting
        assert sitting is not None
        question, ladder = sitting.question.step.question, sitting.question.lesson.ladder
        if sitting.posed is None or not isinstance(question, Slider):
            return
        link, name = sitting.posed.link, question.name
        if name in (*ladder[link.rung].defaults, *ON_PAGES):
            self._visit(link.varied({name: value}, ladder), ladder)

    def _show_picks(self) -> None:
        """Light what was clicked so far; follow a slider once it rests."""
        field = self.panel.field
        if isinstance(field, SliderField) and field.moved:
            self._slide.start()
        asked = self.sitting is not None and self.sitting.stage == "asked"
        if asked and isinstance(field, ClickField):
            given = field.answer()
            picks = tuple(given) if isinstance(given, list) else ()
            self.session.lit = Lit(field.target, (), picks) if picks else None

    def _answer(self, answer: Answer, sure: bool) -> None:
        sitting = self.sitting
        if sitting is None or sitting.posed is None or sitting.stage != "asked":
            return
        sitting.stage = "marking"
        self.panel.show_sitting(sitting)
        self.worker.submit(mark_job, sitting.posed, answer, sure)

    def _run_and_check(self) -> None:
        """Run the text, or say that it is still the one that the exercise begins with."""
        draft = self.main.step_page.source.draft
        asked = self.sitting.posed if self.sitting is not None else None
        if asked is not None and draft.text == asked.source and not draft.stale:
            said = "This is still the text that you were given: change it first (F2)."
            self.panel.show_mistake(said)
            return
        self.bench.run_source()

    def _check_goals(self) -> None:
        """A kernel was recorded: if it is the answer to an exercise, mark it."""
        sitting = self.sitting
        if sitting is None or sitting.posed is None or sitting.stage != "asked":
            return
        if not sitting.is_built or self.session.trace is None:
            return
        if self.session.asked_for != self.session.configuration:
            return  # what is shown is still what was there before, or the text did not compile
        if self._shown_rung() == sitting.posed.link.rung:
            source = self.session.trace.workload.source
            if source == sitting.posed.source:
                self._unmark()  # what an exercise begins with is nobody's answer
            else:
                self._answer(source, True)

    def _unmark(self) -> None:
        """What was said of a text is not said of what stands in its place now."""
        sitting = self.sitting
        if sitting is None or sitting.stage != "asked" or not sitting.is_built:
            return
        sitting.reply = None
        self.panel.show_sitting(sitting)

    def show_solution(self) -> None:
        """Put a kernel that meets the goals into the editor, and run it."""
        sitting = self.sitting
        if sitting is None or sitting.posed is None or not sitting.is_built:
            return
        sitting.solved = True
        source = getattr(sitting.question.step.question, "solution", "")
        self.main.step_page.source.put(sitting.posed.link.rung, source)
        link = sitting.posed.link  # whose view the question was about
        link = replace(link, looks={**link.looks, "view": "Source"})
        self._visit(link, sitting.question.lesson.ladder, source)

    def why(self) -> None:
        """Explain what the question asked for, or close the explanation if one is open.

        Where its answer has no figures, what is looked at is explained.
        """
        sitting = self.sitting
        if sitting is None or sitting.posed is None or not sitting.is_told:
            return
        on_page = self.main.pages.current.explanation() is not None
        if self.session.question is not None or on_page:
            self.explaining.why()
        else:
            self.worker.submit(explain_job, sitting.posed)

    # ---- what the worker gives

    def _take(self, result: Any) -> None:
        if isinstance(result, CourseRead):
            self.course, self.lessons = result.course, result.lessons
            self.progress = result.progress
            self.course_read.emit()
            then, self._then = self._then, ()
            for act in then:
                act()
        elif isinstance(result, LessonsRead):
            self._take_lessons(result)
        elif isinstance(result, Asked):
            self._take_question(result)
        elif isinstance(result, Reply):
            self._take_mark(result)
        elif isinstance(result, Drafted):
            said = f"A lesson of {plural(result.steps, 'step')}: {result.path}"
            self.main.message.tell(said, "Open", partial(self.open_path, result.path))
        elif isinstance(result, Revealed):
            self.answer_known.emit(result)
        elif isinstance(result, Explained) and self.sitting is not None and self.sitting.is_told:
            if result.explanation is not None:
                self.explaining.ask(OfQuestion(result.explanation))
            else:
                self.explaining.why()

    def _take_lessons(self, read: LessonsRead) -> None:
        known = {one.file for one in self._opened}
        if len(read.lessons) == 1 and read.lessons[0].file in known:  # one of them, read anew
            new = read.lessons[0]
            self._opened = tuple(new if one.file == new.file else one for one in self._opened)
        else:
            self._opened = read.lessons
        self._watch()
        self._sit_lesson(read.lessons[0], self._at)

    def _watch(self) -> None:
        """Watch the files that are open; an editor may have put others in their places."""
        watched = set(self._watched.files())
        wanted = {str(one.file) for one in self._opened if one.file.exists()}
        if gone := watched - wanted:
            self._watched.removePaths(list(gone))
        if new := wanted - watched:
            self._watched.addPaths(list(new))

    def _take_question(self, asked: Asked) -> None:
        sitting = self.sitting
        if sitting is None or sitting.stage != "opening":
            return
        sitting.ask(asked)
        question = sitting.question.step.question
        target = question.target if isinstance(question, Click) else None
        self.session.update(pick_target=target)
        self.panel.show_sitting(sitting, asked)
        self.worker.submit(foresee_job, asked.posed)
        self.asked.emit()
        if sitting.is_built:
            if self.session.page != "step":
                self.main.show_page("step")  # where the editor is
            self.session.view = "Source"
            self._check_goals()

    def _take_mark(self, reply: Reply) -> None:
        sitting = self.sitting
        if sitting is None or sitting.stage != "marking":
            return
        kept = sitting.take(reply)
        if kept is not None:
            self._keep(kept)
        if sitting.is_told and sitting.tells:
            self._reveal(reply.verdict.wanted, reply.answer)
        self.panel.show_sitting(sitting)
        if sitting.is_told and not sitting.tells:
            self.go(1)  # a test goes on by itself
        elif self.session.trace is not None and reply.answer != self.session.trace.workload.source:
            self._check_goals()  # another text was run meanwhile

    def work_out_answer(self) -> None:
        """Work the question's answer out; `answer_known` brings it."""
        sitting = self.sitting
        if sitting is not None and sitting.posed is not None:
            following = next(iter(sitting.questions[sitting.at + 1 :]), None)
            self.worker.submit(reveal_job, self._recorders, sitting.posed, following)

    def reveal(self, wanted: Answer) -> None:
        """Show the answer to the room: nobody gave one, and none is kept."""
        if self.sitting is not None and self.sitting.stage == "asked":
            self.sitting.stage = "told"
            self._reveal(wanted, [])

    def ask_what_was_revealed(self) -> None:
        """Veil an answer again that the room was shown, and ask the learner."""
        sitting = self.sitting
        if sitting is not None and sitting.is_told and sitting.reply is None:
            self.go_to(sitting.at)

    def _reveal(self, wanted: Answer, answer: Answer) -> None:
        """Lift the veil but for what is kept; light what is right beside what was clicked."""
        sitting = self.sitting
        assert sitting is not None
        question = sitting.question.step.question
        lit = None
        if isinstance(question, Click) and isinstance(wanted, list):
            given = answer if isinstance(answer, list) else []
            by_writer = "shared.writers" in sitting.question.step.veil
            lit = Lit(question.target, tuple(wanted), tuple(given), by_writer)
        self.session.update(
            veiled=sitting.question.step.keep, answered=True, pick_target=None, lit=lit
        )
        if isinstance(question, Slider) and isinstance(wanted, list) and wanted:
            shown: Any = answer if answer in wanted else wanted[0]  # one's own where it is right
            self._slide_to(int(shown))

    def _fail(self, error: object) -> None:
        sentence = sentence_of(error)
        sitting = self.sitting
        if self.progress is None and self.path is not None:
            sentence += " Answers are not kept meanwhile."
            self.path = None
            self._say(sentence)
            self.moments.say_with_launch(sentence)  # a launch that comes would clear it
            self.read_course()
            return
        if sitting is not None and sitting.stage == "marking":
            sitting.stage = "asked"
            self.panel.show_sitting(sitting)
            self.panel.show_mistake(sentence)
            return
        self._say(sentence)

    # ---- what is kept

    def _keep(self, one: Answered) -> None:
        from core.lessons.progress import keep_answer

        assert self.progress is not None
        self.progress = self.progress.with_answer(one)
        if self.path is not None:
            try:
                self.progress = keep_answer(self.path, self.progress)
            except (OSError, TilescopeError) as error:
                self._say(f"The answer could not be kept: {error}")
                self.path = None
        self.course_read.emit()

    def _end(self) -> None:
        """Say how it went, and what comes next."""
        sitting = self.sitting
        assert sitting is not None
        self.session.update(veiled=frozenset(), answered=False, lit=None, pick_target=None)
        self.panel.show_end(sitting, self._what_next(sitting))

    def _what_next(self, sitting: Sitting) -> list[tuple[str, Any]]:
        from core.lessons.course import review_due

        found: list[tuple[str, Any]] = []
        left = sitting.first_open
        if left is not None and sitting.tells:
            found.append((f"First open question: {left + 1}", partial(self.go_to, left)))
        if self.course is not None and self.progress is not None:
            if sitting.origin == "lesson" and review_due(self.course, self.progress):
                found.append(("Review: five questions", self.begin_review))
            names = self.names()
            lesson = sitting.question.lesson.name
            if sitting.origin == "lesson" and lesson in names[:-1]:
                following = names[names.index(lesson) + 1]
                title = "Exercises" if following == EXERCISES else f"Lesson {following}"
                found.append((title, partial(self.begin_lesson, following)))
        if sitting.missed and sitting.tells:
            found.append((f"Ask the missed ones again: {len(sitting.missed)}", self.ask_missed))
        files = [one.file for one in self._opened]
        if sitting.question.lesson.file in files[:-1]:
            later = self._opened[files.index(sitting.question.lesson.file) + 1]
            found.append((f"Lesson {later.name}", partial(self._sit_lesson, later)))
        found.append(("To the course", self.leave))
        return found

    def _reload(self) -> None:
        """A lesson's file was changed: read it, and stay at the question."""
        sitting = self.sitting
        if sitting is None:
            return
        self._at = sitting.at
        self._watch()
        self.worker.submit(lessons_job, sitting.question.lesson.file)

    def _say(self, sentence: str) -> None:
        self.main.message.show_message(sentence)
