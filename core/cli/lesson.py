"""`tilescope lesson`: lists, checks, asks and exports lessons."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.cli.console import Terminal, show_error
from core.cli.options import option
from core.errors import ParameterError, TilescopeError
from core.lessons.typed_answers import LETTERS
from core.wording import counted

if TYPE_CHECKING:
    from core.lessons.lesson import Lesson
    from core.lessons.posing_and_marking import Answer, Posed, Verdict

ACTIONS = ("list", "check", "play", "export")
ENDINGS = {"pdf": "pdf", "qti": "zip"}
WORKSHEET = "gui.exports.worksheet"
"""Writes what has pictures: `core` itself never imports `gui`, whose libraries may be missing."""
WRONG = 1  # exit status where a lesson is wrong


def lesson(
    action: Annotated[
        str, typer.Argument(help="list, check, play, export; or the lesson to open in the window.")
    ],
    lessons: Annotated[
        list[str] | None,
        typer.Argument(help="Names of the course (1A), lesson files, or folders of them."),
    ] = None,
    gift: Annotated[bool, typer.Option("--gift", help="Export as GIFT, for Moodle.")] = False,
    qti: Annotated[bool, typer.Option("--qti", help="Export as QTI 2.1, a zip file.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Export as a table.")] = False,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Export as a worksheet with its key, to be printed.")
    ] = False,
    out: Annotated[Path | None, option("-o", "--out", text="The file to write.")] = None,
    seed: Annotated[int, typer.Option(help="Of the learner: fresh numbers, another order.")] = 0,
) -> None:
    """List, check, play or export lessons, or open one in the window.

    check: 0 all well, 1 something wrong, 2 misuse.
    """
    from core.cli.app import open_window

    names = list(lessons or ())
    if action not in ACTIONS:
        if names:
            raise ParameterError(f"The window opens one lesson: leave out {names[0]}.")
        if not Path(action).exists():
            for wrong in _chosen([action]):  # says what there is
                if isinstance(wrong, TilescopeError):
                    raise wrong
        raise typer.Exit(open_window(["--lesson", action]))
    if action == "list":
        _list()
    elif action == "check":
        if not _check(_chosen(names)):
            raise typer.Exit(WRONG)
    elif action == "export":
        kinds = {"gift": gift, "qti": qti, "csv": csv, "pdf": pdf}
        _export(names, [k for k, wanted in kinds.items() if wanted], out, seed)
    else:
        for one in _chosen(names):
            _play(one, seed)


def _chosen(names: Sequence[str]) -> list[Lesson | TilescopeError]:
    """The lessons that are named, the whole course where none is; what is wrong with a file."""
    from core.lessons.course import course_lesson, lesson_files, load_course
    from core.lessons.lesson_files import read_lesson

    found: list[Lesson | TilescopeError] = []
    for name in names or load_course().order:
        path = Path(name)
        if not path.exists() and path.suffix != ".toml":
            found.append(course_lesson(name))
            continue
        for file in lesson_files(path):
            try:
                found.append(read_lesson(file))
            except TilescopeError as error:
                found.append(error)
    return found


def _list() -> None:
    from core.lessons.course import course_lesson, load_course

    console = Terminal(highlight=False)
    for name in load_course().order:
        one = course_lesson(name)
        console.say(f"{one.name}  {one.title} ({counted(len(one.steps), 'step')})")
        console.say(f"    {one.aim}")


def _check(lessons: Sequence[Lesson | TilescopeError]) -> bool:
    """Prints what is wrong; whether nothing is."""
    from core.lessons.lesson_check import check_lesson, told_once

    console, good = Terminal(highlight=False), True
    for one in lessons:
        if isinstance(one, TilescopeError):
            show_error(one)
            good = False
            continue
        results = list(check_lesson(one))
        troubles = [trouble for trouble in results if trouble is not None]
        for trouble in told_once(troubles):
            show_error(TilescopeError(f"{one.file.name}, {trouble}"))
        good &= not troubles
        said = f"{len(troubles)} wrong" if troubles else "all well"
        console.print(
            f"{one.name}: {counted(len(one.steps), 'step')}, "
            f"{counted(len(results), 'variant')}, {said}.",
            soft_wrap=True,
        )
    return good


def _export(names: Sequence[str], kinds: Sequence[str], out: Path | None, seed: int) -> None:
    """Write a file, or text without pictures to the terminal."""
    from core.atomic_files import replace_file
    from core.lessons.question_banks import as_csv, as_gift, as_qti

    if len(kinds) > 1:
        raise ParameterError(f"One file has one format: leave out --{' and --'.join(kinds[1:])}.")
    if not kinds:
        raise ParameterError("Say what to write: --gift, --qti, --csv or --pdf.")
    kind = kinds[0]
    if out is None and kind in ("pdf", "qti"):
        what = "a worksheet" if kind == "pdf" else "a question bank of QTI, a zip file,"
        raise ParameterError(f"Say where to write {what} as in -o file.{ENDINGS[kind]}.")
    good: list[Lesson] = []
    for one in _chosen(names):
        if isinstance(one, TilescopeError):
            raise one
        good.append(one)
    has_window = importlib.util.find_spec("PySide6") is not None
    if out is not None and kind != "csv" and (has_window or kind == "pdf"):
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        importlib.import_module(WORKSHEET).export(good, kind, seed, out)
        _say_written(out, good)
        return
    data = as_csv(good, seed) if kind == "csv" else as_gift(good, seed)
    if out is not None:
        replace_file(out, as_qti(good, seed) if kind == "qti" else data)
        _say_written(out, good)
    else:
        typer.echo(data, nl=False)


def _say_written(out: Path, lessons: Sequence[Lesson]) -> None:
    asked = counted(sum(len(one.steps) for one in lessons), "question")
    typer.echo(f"Wrote {out}: {counted(len(lessons), 'lesson')}, {asked}.")


# -- asking in the terminal ----------------------------------------------------------------------


def _play(one: Lesson | TilescopeError, seed: int) -> None:
    """Asks every step. The window has pictures and veils; here there are the link and the words."""
    from core.lessons.launch_cache import Recorder
    from core.lessons.posing_and_marking import pose
    from core.lessons.question_banks import numbered, source_of

    if isinstance(one, TilescopeError):
        raise one
    console, recorder = Terminal(highlight=False, markup=False), Recorder(one.ladder)
    console.say(f"{one.name}  {one.title}\n{one.aim}\n")
    console.say(
        "? asks for a hint, Ctrl-D ends. An empty line goes on; after a wrong answer it first "
        "shows the right one.\n"
    )
    printed = set()
    for step in one.steps:
        posed = pose(one, step, recorder, seed=seed, in_window=False)
        source = source_of(posed)
        if source and source not in printed:
            printed.add(source)
            console.print(f"The source of {posed.link.rung}:")
            for number, line in numbered(source):
                console.print(f"{number:>4}  {line}", soft_wrap=True)
            console.print("")
        console.say(f"{step.name}  {posed.link}\n{posed.ask}")
        for letter, choice in zip(LETTERS, posed.choices, strict=False):
            console.say(f"  {letter}  {choice}")
        for number, item in enumerate(posed.items, 1):
            console.say(f"  {number}  {item}")
        for goal in posed.goals:
            console.say(f"  goal: {goal}")
        if not _asked(posed, console):
            return
        console.print("")


def _asked(posed: Posed, console: Any) -> bool:
    """Asks until the answer is right or passed over; False where the input ends."""
    from core.lessons.posing_and_marking import mark
    from core.lessons.question_banks import key_of

    hints, missed = list(posed.hints), False
    while True:
        try:
            text = input(f"{_wanted(posed)}: ").strip()
        except EOFError:
            return False
        if not text:
            if missed:
                right, why = key_of(posed)
                console.say(f"{right and 'The answer: '}{right}{why}")
            return True
        if text == "?":
            console.say(hints.pop(0) if hints else "There is no other hint.")
            continue
        try:
            verdict = mark(posed, _read_answer(posed, text))
        except TilescopeError as error:
            console.say(str(error))
            continue
        console.say(said(verdict))
        if verdict.mark == "right":
            return True
        missed = True


def said(verdict: Verdict) -> str:
    """A verdict in words."""
    goals = [f"  [{'x' if goal.met else ' '}] {goal.say}" for goal in verdict.goals]
    if verdict.mark == "right":
        return "\n".join([*goals, f"Right. {verdict.why}"])
    words = "Nearly." if verdict.mark == "near" else "No."
    return "\n".join([*goals, f"{words} {verdict.say}".rstrip()])


def _wanted(posed: Posed) -> str:
    from core.lessons.posing_and_marking import things_of

    kind = posed.step.kind
    if kind == "click":
        things = things_of(posed)
        return things.target if things.single else f"{things.target}s"
    words = {"choice": "letter", "order": "numbers in order", "edit": "your .cu file"}
    return words.get(kind, kind)


def _read_answer(posed: Posed, text: str) -> Answer:
    """What was typed as an answer to the question. Raises TilescopeError where it is none."""
    from core.lessons.posing_and_marking import things_of
    from core.lessons.typed_answers import number_typed, things_typed
    from core.user_files.sources_and_headers import read_source

    match posed.step.kind:
        case "number" | "slider":
            question = posed.step.question
            unit = getattr(question, "unit", "")
            return number_typed(text, unit, f"{posed.ask} {getattr(question, 'label', '')}")
        case "choice":
            place = LETTERS.find(text.upper())
            if len(text) != 1 or not 0 <= place < len(posed.choices):
                raise ParameterError(f"Type a letter, A to {LETTERS[len(posed.choices) - 1]}.")
            return posed.choices[place]
        case "edit":
            return read_source(Path(text).expanduser())
        case "order":
            places = [number_typed(part) for part in re.split(r"[\s,]+", text)]
            if not all(place in range(1, len(posed.items) + 1) for place in places):
                raise ParameterError(f"Type numbers from 1 to {len(posed.items)}.")
            return [posed.items[int(place) - 1] for place in places]
    return things_typed(text, things_of(posed))
