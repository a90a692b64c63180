"""Reading a lesson file: TOML with a table for each step. `docs/lessons.md` explains every field.

A lesson may come from a stranger. It is read from its own folder alone, is bounded in size, and
every mistake in it is one sentence with the file, the line and the step, and what to do.
"""

from __future__ import annotations

import difflib
import itertools
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from core.errors import TilescopeError
from core.ladder import REGISTRY, Ladder, all_kernels, load_ladder
from core.ladder.expressions import MatrixExpression
from core.ladder.rung import Rung
from core.lessons.lesson import (
    BESTS,
    KINDS,
    LESSONS_FOLDER,
    TARGETS,
    VEILS,
    Choice,
    Click,
    Edit,
    Goal,
    Lesson,
    Number,
    Option,
    Order,
    Question,
    Reply,
    Setting,
    Slider,
    Step,
    load_concepts,
)
from core.lessons.lesson_expressions import Expression, LessonError, Sentence, Value
from core.lessons.vocabulary import check_of_calls
from core.links import MOST, parse_rung_link
from core.trace.step_names import check_name
from core.user_files.sources_and_headers import read_plain, read_source
from core.wording import listing

MOST_BYTES = 1 << 20  # of a lesson file
MOST_STEPS = 200  # of a lesson
MOST_SETS = 64  # sets of values with which a step is asked again
MOST_VALUES = 128  # that a slider has
MOST_TEXT = 4000  # characters of a sentence
RUNG = "rung:"  # begins the name of a rung in place of a file
LINES = "/*LINES*/"  # where the ordered lines go in a frame
_KERNELS = "kernels"  # the folder beside a lesson that holds its kernels
_T = TypeVar("_T")
_MISSING: Any = object()
_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


class _Table:
    """One table of the file; every field is taken once, and what is left over is refused."""

    def __init__(self, row: Any, what: str) -> None:
        if not isinstance(row, dict):
            raise LessonError(f"{what} is a table.")
        self._row, self._what, self._known = dict(row), what, list[str]()

    def take(self, name: str, kind: type[_T], default: Any = _MISSING) -> _T:
        """A field of a type. Raises LessonError where it is missing or of another type."""
        self._known.append(name)
        if name not in self._row:
            if default is _MISSING:
                raise LessonError(f"{self._what} needs `{name}`, {_WORDS[kind]}.")
            return default  # type: ignore[no-any-return]
        value = self._row.pop(name)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise LessonError(f"`{name}` is {_WORDS[kind]}.")
        if isinstance(value, str) and len(value) > MOST_TEXT:
            raise LessonError(f"`{name}` has {len(value):,} characters: {MOST_TEXT:,} is the most.")
        return value

    def any(self, name: str, default: Any) -> Any:
        """A field of any type."""
        self._known.append(name)
        return self._row.pop(name, default)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, empty where it is left out."""
        found = self.take(name, list, [])
        if not all(isinstance(text, str) and len(text) <= MOST_TEXT for text in found):
            raise LessonError(f"`{name}` is a list of texts.")
        return tuple(found)

    def rows(self, name: str, what: str) -> list[_Table]:
        """A list of tables, empty where it is left out."""
        return [_Table(row, what) for row in self.take(name, list, [])]

    def one_of(self, name: str, values: Sequence[str], default: Any = _MISSING) -> str:
        """A text that is one of several."""
        value = self.take(name, str, default)
        if value not in values:
            raise LessonError(f"`{name}` is `{value[:40]}`: use {listing([*values], 'or')}.")
        return value

    def formula(self, name: str, default: Any = _MISSING) -> Expression | None:
        """An expression; a bare number, `true` or `false` may go without quotation marks."""
        if isinstance(self._row.get(name), bool | int | float):
            self._row[name] = str(self._row[name])
        text = self.take(name, str, default)
        return None if text is None else Expression(text)

    def must_formula(self, name: str) -> Expression:
        """An expression that may not be left out."""
        found = self.formula(name)
        assert found is not None
        return found

    def done(self) -> None:
        """Raise LessonError for a field that there is not."""
        for name in self._row:
            close = difflib.get_close_matches(name, self._known, 1)
            hint = f"did you mean `{close[0]}`?" if close else f"it has {', '.join(self._known)}."
            raise LessonError(f"{self._what} has no field `{name[:40]}`: {hint}")


def read_lesson(path: Path) -> Lesson:
    """The lesson in a file.

    Raises LessonError with one sentence: the file, the line and the step, and what to do.
    """
    try:
        text = read_plain(path, MOST_BYTES).decode("utf-8-sig")
        row = tomllib.loads(text)
    except UnicodeDecodeError:
        raise LessonError(f"{path.name} is not text in UTF-8: save it as that.") from None
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"{path.name} is not valid TOML: {error}.") from None
    except (RecursionError, ValueError):
        raise LessonError(f"{path.name} cannot be read: it is nested too deeply.") from None
    lines = enumerate(text.splitlines(), 1)
    starts = [n for n, line in lines if re.match(r"\s*\[\[step\]\]", line)]
    with _placed(path.name):
        table = _Table(row, "The lesson")
        name = table.take("id", str)
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", name):
            raise LessonError("`id` is a short name of letters, digits, - and _, such as 1A.")
        title, aim = table.take("title", str), table.take("aim", str, "")
        before, about = table.texts("before"), table.take("text", str, "")
        concepts = _own(table, "concepts", load_concepts().concepts)
        beliefs = _own(table, "beliefs", load_concepts().beliefs)
        rows = table.take("step", list)
        table.done()
        if not 0 < len(rows) <= MOST_STEPS:
            raise LessonError(f"A lesson has 1 to {MOST_STEPS} steps, and this one {len(rows)}.")
        ladder = lesson_ladder(path.parent)
    reader = _Reader(path.parent, ladder, concepts, beliefs)
    steps = []
    for place, one in enumerate(rows):
        line = f", line {starts[place]}" if len(starts) == len(rows) else ""
        step = f"{name}.{place + 1}"
        with _placed(f"{path.name}{line}, step {step}"):
            steps.append(reader.step(step, one))
    return Lesson(name, title, aim, tuple(steps), ladder, path, before, about)


@contextmanager
def _placed(where: str) -> Iterator[None]:
    """Puts the place before the sentence of whatever is wrong within."""
    try:
        yield
    except TilescopeError as error:
        raise LessonError(f"{where}: {error}") from None
    except RecursionError:
        raise LessonError(f"{where}: something is nested too deeply: take it apart.") from None


def _own(table: _Table, name: str, known: Mapping[str, object]) -> frozenset[str]:
    """Names that there are, and those that the lesson declares by `ring = "Ring buffers"`."""
    return frozenset(known) | {str(one) for one in table.take(name, dict, {})}


# -- the kernels that links may name ---------------------------------------------------------------


def lesson_ladder(folder: Path) -> Ladder:
    """The program's rungs, those of its lessons, and those of `kernels/` beside a lesson.

    Raises TilescopeError where the registry there is wrong, or a kernel includes files that lie
    elsewhere.
    """
    known, own = _program_ladder(), folder / _KERNELS
    if folder.resolve() == LESSONS_FOLDER or not (own / REGISTRY).is_file():
        return known
    for file in own.iterdir():
        inside(folder, f"{_KERNELS}/{file.name}")  # a link may lead elsewhere
        if file.is_file():
            read_plain(file, MOST_BYTES)
    theirs = load_ladder(own)
    for rung in theirs.values():
        must_include_nothing_else(rung.source, rung.source_file.name)
        if rung.name in known:
            raise LessonError(
                f"The kernel {rung.name} in {_KERNELS}/{REGISTRY} has the name of one that the "
                "program has: choose another."
            )
    return Ladder((*known.values(), *theirs.values()))


@cache
def _program_ladder() -> Ladder:
    return all_kernels()


def inside(folder: Path, name: str) -> Path:
    """The path of a file in a lesson's folder. Raises LessonError for one that lies elsewhere."""
    home = folder.resolve()
    odd = "\0" in name or "\\" in name or ":" in name or Path(name).is_absolute()
    try:
        path = None if odd else (home / name).resolve()
    except (OSError, RuntimeError, ValueError):
        path = None
    if path is None or not path.is_relative_to(home):
        raise LessonError(f"`{name[:80]!s}` lies outside the lesson's folder: copy it there.")
    return path


_COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/"
_INCLUDE = re.compile(
    rf"(?:#|%:|\?\?=)(?:\s|{_COMMENT})*(?:include|include_next|import|embed)\b([^\n]*)"
)
_HEADER = re.compile(r"\s*<\w[\w./+-]*>")


def must_include_nothing_else(source: str, name: str) -> None:
    """Raise LessonError where a source includes a file by a path, or by a macro.

    What looks like an include counts wherever it stands: comments are not told from strings here.
    """
    text = re.sub(r"(?:\\|\?\?/)[ \t]*\r?\n", "", source)
    for found in _INCLUDE.finditer(text):
        header = re.match(_HEADER, found[1])
        if header is None or ".." in header[0]:
            raise LessonError(
                f"{name} includes{found[1].rstrip()[:60]}: a lesson's kernel may include CUDA's "
                "own headers, as in #include <cuda_fp16.h>, and no other files."
            )


# -- a step ----------------------------------------------------------------------------------------


class _Reader:
    """Reads the steps of one lesson."""

    def __init__(
        self, folder: Path, ladder: Ladder, concepts: frozenset[str], beliefs: frozenset[str]
    ) -> None:
        self._folder, self._ladder = folder, ladder
        self._concepts, self._beliefs = concepts, beliefs

    def step(self, name: str, row: Any) -> Step:
        table = _Table(row, "The step")
        link = parse_rung_link(table.take("link", str), self._ladder)
        if at := table.take("at", str, ""):
            check_name(at)
            link = replace(link, at=at)
        let = _values(table.take("let", dict, {}))
        kind = table.one_of("kind", [*KINDS])
        question = self._question(kind, table, self._ladder[link.rung])
        step = Step(
            name,
            link,
            question,
            Sentence(table.take("ask", str)),
            Sentence(table.take("why", str)),
            self._known(table.texts("concepts"), self._concepts, "concept"),
            self._veil(table.texts("veil")),
            self._veil(table.texts("keep")),
            tuple(self._reply(one) for one in table.rows("wrong", "A reply")),
            tuple(Sentence(text) for text in table.texts("hints")),
            let,
            _sets(table, {*self._ladder[link.rung].defaults, "block", "thread", "seed"}, let),
            table.take("note", str, ""),
        )
        table.done()
        if not step.concepts:
            raise LessonError("The step needs `concepts`, a list of what it is about.")
        self._check(step)
        return step

    def _veil(self, names: tuple[str, ...]) -> frozenset[str]:
        for name in names:
            if name not in VEILS and not re.fullmatch(r"phases:[0-9]{1,3}", name):
                close = difflib.get_close_matches(name, VEILS, 1)
                hint = f"did you mean {close[0]}?" if close else f"use {', '.join(VEILS)}."
                raise LessonError(f"There is nothing called {name[:40]} to veil: {hint}")
        return frozenset(names)

    @staticmethod
    def _known(names: tuple[str, ...], known: frozenset[str], what: str) -> tuple[str, ...]:
        for name in names:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {close[0]}?" if close else f"declare it under [{what}s]."
                raise LessonError(f"There is no {what} {name[:40]}: {hint}")
        return names

    def _belief(self, table: _Table) -> str:
        name = table.take("belief", str, "")
        self._known((name,) if name else (), self._beliefs, "belief")
        return name

    def _reply(self, table: _Table) -> Reply:
        reply = Reply(
            table.must_formula("given"), Sentence(table.take("say", str)), self._belief(table)
        )
        table.done()
        return reply

    # -- the kinds of questions ------------------------------------------------------------------

    def _question(self, kind: str, table: _Table, rung: Rung) -> Question:
        if kind == "edit":
            return self._edit(table, rung)
        if kind == "order":
            return self._order(table, rung)
        simple: Mapping[str, Callable[[_Table], Question]] = {
            "number": self._number,
            "choice": self._choice,
            "click": self._click,
            "slider": self._slider,
        }
        return simple[kind](table)

    def _number(self, table: _Table) -> Number:
        tolerance = table.take("tolerance", float, None)
        return Number(table.must_formula("answer"), tolerance, table.take("unit", str, ""))

    def _choice(self, table: _Table) -> Choice:
        options = []
        for one in table.rows("choice", "A choice"):
            reply = one.take("reply", str, None)
            options.append(
                Option(
                    Sentence(one.take("say", str)),
                    one.formula("when", None),
                    None if reply is None else Sentence(reply),
                    self._belief(one),
                )
            )
            one.done()
        if not 2 <= len(options) <= 8:
            raise LessonError("A question with choices has two to eight [[step.choice]].")
        return Choice(tuple(options))

    def _click(self, table: _Table) -> Click:
        target: Any = table.one_of("target", TARGETS)
        return Click(target, table.must_formula("answer"), not table.take("any", bool, False))

    def _slider(self, table: _Table) -> Slider:
        one = _Table(table.take("slide", dict), "slide")
        name, low, high = one.take("name", str), one.take("from", int), one.take("to", int)
        every, label = one.take("every", int, 1), one.take("label", str, name)
        one.done()
        if not re.fullmatch(r"[A-Za-z_]\w{0,31}", name):
            raise LessonError("`name` of slide is a name, such as stride.")
        if every < 1 or not 2 <= len(range(low, high + 1, every)) <= MOST_VALUES:
            raise LessonError(f"A slider has 2 to {MOST_VALUES} values, from `from` to `to`.")
        best: Any = table.one_of("best", BESTS, "any")
        return Slider(name, label, low, high, table.must_formula("goal"), best, every)

    def _order(self, table: _Table, rung: Rung) -> Order:
        items = tuple(Sentence(text) for text in table.texts("items"))
        if not 2 <= len(items) <= 16:
            raise LessonError("A question of order has two to sixteen items.")
        frame = table.take("frame", str, "")
        if frame:
            source = self._source(frame, rung)
            if source.count(LINES) != 1:
                raise LessonError(f"{frame} needs {LINES} once, where the lines go.")
            return Order(items, None, source, self._goals(table))
        return Order(items, table.must_formula("answer"))

    def _edit(self, table: _Table, rung: Rung) -> Edit:
        start = table.take("start", str, "")
        expected = table.take("expected", dict, {})
        if not all(isinstance(text, str) for text in expected.values()):
            raise LessonError('`expected` says what outputs are, as in { C = "A @ B" }.')
        return Edit(
            self._source(start, rung) if start else "",
            self._source(table.take("solution", str), rung),
            self._goals(table),
            MappingProxyType({n: MatrixExpression(str(t)[:200]) for n, t in expected.items()}),
        )

    def _goals(self, table: _Table) -> tuple[Goal, ...]:
        found = []
        for one in table.rows("goal", "A goal"):
            found.append(Goal(Sentence(one.take("say", str)), one.must_formula("when")))
            one.done()
        if not 1 <= len(found) <= 8:
            raise LessonError("Something to build has one to eight [[step.goal]].")
        return tuple(found)

    def _source(self, name: str, rung: Rung) -> str:
        """The text of a file, or of another rung under the name of this one's kernel."""
        if name.startswith(RUNG):
            other = self._ladder[name.removeprefix(RUNG)]
            return re.sub(rf"\b{re.escape(other.kernel)}(?=\s*\()", rung.kernel, other.source)
        source = read_source(inside(self._folder, name))
        must_include_nothing_else(source, name)
        return source

    # -- expressions -------------------------------------------------------------------------------

    def _check(self, step: Step) -> None:
        """Raise LessonError where an expression uses a word or a name that there is not."""
        defaults = self._ladder[step.link.rung].defaults
        names = {*defaults, *step.let, *(("vs",) if step.link.versus is not None else ())}
        check_call, question = check_of_calls(step.link, self._ladder), step.question
        if isinstance(question, Slider):
            known = frozenset(names | {question.name})
            question.goal.check(check_call, known)
        for expression in _expressions_of(step):
            expression.check(check_call, frozenset(names))


def _expressions_of(step: Step) -> Iterator[Expression]:
    """All expressions of a step, but a slider's goal, which has a name of its own."""
    sentences = [step.ask, step.why, *step.hints]
    for reply in step.replies:
        yield reply.given
        sentences.append(reply.say)
    match step.question:
        case Number(answer) | Click(_, answer):
            yield answer
        case Choice(options):
            yield from (one.when for one in options if one.when is not None)
            sentences += [s for one in options for s in (one.say, one.reply) if s is not None]
        case Order(items, order, _, goals):
            sentences += [*items, *(goal.say for goal in goals)]
            yield from (goal.when for goal in goals)
            if order is not None:
                yield order
        case Edit(_, _, goals):
            sentences += [goal.say for goal in goals]
            yield from (goal.when for goal in goals)
    for sentence in sentences:
        yield from sentence.expressions


def _values(row: Mapping[str, Any]) -> Mapping[str, Value]:
    for name, value in row.items():
        if not re.fullmatch(r"[A-Za-z_]\w{0,31}", name) or not isinstance(value, int | float | str):
            raise LessonError("`let` has names with a number or a text each.")
    return MappingProxyType(dict(row))


def _sets(
    table: _Table, numbers: set[str], let: Mapping[str, Value]
) -> tuple[Mapping[str, Setting], ...]:
    """`vary = { n = [16, 64] }`, every combination, or `[{ n = 16 }, { n = 64 }]`, these alone."""
    given = table.any("vary", [])
    if isinstance(given, dict):
        lists = [value if isinstance(value, list) else [value] for value in given.values()]
        _must_be_few(math.prod(map(len, lists)))
        given = [dict(zip(given, one, strict=True)) for one in itertools.product(*lists)]
    if not isinstance(given, list) or not all(isinstance(row, dict) for row in given):
        raise LessonError("`vary` is { n = [16, 64] }, or [{ n = 16 }, { n = 64 }].")
    _must_be_few(len(given))
    for name, value in itertools.chain.from_iterable(row.items() for row in given):
        if name not in numbers and name not in let:
            known = listing(sorted({*numbers, *let}))
            raise LessonError(f"`vary` sets {name[:40]}: it may set {known}.")
        if isinstance(let.get(name), str) and isinstance(value, str):
            continue
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MOST:
            raise LessonError(f"`vary` sets {name} to a value that is not a whole number.")
    return tuple(MappingProxyType(dict(row)) for row in given)


def _must_be_few(count: int) -> None:
    if count > MOST_SETS:
        raise LessonError(f"`vary` makes {count} sets of values: {MOST_SETS} is the most.")
