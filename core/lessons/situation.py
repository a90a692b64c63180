"""What a step looks at: a launch, a block of its record and a step of that; the values of names.

Expressions are evaluated in a situation. One that names other parameters (`sectors(stride=s)`) is
evaluated in another situation, whose launch is recorded when it is first asked for.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from core.cancelling import cancelled_by, check, is_cancelled
from core.compiler.builds import compiled_resources
from core.devices.occupancy import Resources
from core.emulator.budget import DEFAULTS
from core.errors import Cancelled, ParameterError, TilescopeError
from core.ladder import KERNELS_FOLDER, Ladder
from core.ladder.rung import ArrayRule
from core.launch import Launch, Workload
from core.lessons.lesson_expressions import LessonError, Value
from core.lessons.step_links import Link, parse_link
from core.lessons.vocabulary import VOCABULARY
from core.models.launch_counts import Counts, measure_rung
from core.recording.record_launch import record
from core.trace.step_names import step_named

if TYPE_CHECKING:
    from core.trace import Access, BlockTrace, Trace

_T = TypeVar("_T")
MOST_THREADS = 1 << 16  # of a launch that is recorded whole; of a larger one a block is
MOST_BYTES = 96 << 20  # of a launch's arrays
MOST_LAUNCHES = 160  # that one evaluation may ask for
MOST_SECONDS = 40.0  # that one launch may take to compile and run
LIMITS = DEFAULTS  # of what runs
KEPT = 24  # records that are kept
_LARGE = (
    f"The launch has more than {MOST_THREADS:,} threads, so that not all of it is run: counts, "
    "findings and results need smaller sizes."
)
CHANGES = ("at", "block", "thread", "seed", "of", "order")
"""What an expression may say of the place it asks about, beside the launch's parameters."""


class Recorder:
    """Records launches, and keeps the last ones. One for each source of an exercise, too."""

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self._traces: OrderedDict[object, Trace] = OrderedDict()
        self._failed: OrderedDict[object, TilescopeError] = OrderedDict()
        self._counts: OrderedDict[object, Counts] = OrderedDict()
        self._needs: OrderedDict[object, Resources] = OrderedDict()

    def workload(self, link: Link, source: str | None) -> Workload:
        """The launch of a link. Raises ParameterError, also where it is too large for a lesson."""
        rung = self.ladder[link.rung]
        values = rung.check(**link.parameters)
        size = sum(r.nbytes(values) for r in rung.arguments if isinstance(r, ArrayRule))
        if size > MOST_BYTES:
            raise ParameterError(
                f"{link.rung} with these sizes has arrays of {size:,} bytes, and a lesson records "
                f"at most {MOST_BYTES:,}: use smaller sizes."
            )
        workload = rung.workload_of(link.inputs, link.seed, **values)
        return workload if source is None else replace(workload, source=source)

    def trace(self, link: Link, source: str | None) -> Trace:
        """The record of a link's launch: whole, or of the link's block where it is large.

        Raises TilescopeError where it cannot be compiled, run, or takes too long.
        """
        rung = self.ladder[link.rung]
        blank = rung.blank_workload(**link.parameters).launch
        whole = is_small(blank)
        kernel = (link.rung, tuple(link.parameters.items()), link.inputs, link.seed, link.order)
        key = (*kernel, source, None if whole else link.block)
        if key in self._failed:
            raise _kept(self._failed, key)
        if key not in self._traces:
            if link.block >= blank.grid.count:
                raise ParameterError(
                    f"The launch has no block {link.block}: the last is {blank.grid.count - 1}."
                )
            workload = self.workload(link, source)
            try:
                with _limited(own=self._is_own(link, source)):
                    self._traces[key] = record(
                        workload,
                        blocks="all" if whole else [link.block],
                        only_recorded=not whole,
                        order=link.order,
                        limits=LIMITS,
                    )
            except Cancelled:
                raise
            except TilescopeError as error:  # every goal asks anew
                self._failed[key] = error
                raise _kept(self._failed, key) from None
        return _kept(self._traces, key)

    def needs(self, link: Link, source: str | None, capability: str) -> Resources:
        """What the optimised kernel needs of an SM of a compute capability. Raises CompileError."""
        key = (link.rung, tuple(link.parameters.items()), source, capability)
        if key not in self._needs:
            workload = self.ladder[link.rung].blank_workload(**link.parameters)
            workload = workload if source is None else replace(workload, source=source)
            with _limited(own=False):
                self._needs[key] = compiled_resources(workload, capability)
        return _kept(self._needs, key)

    def counts(self, link: Link, source: str | None) -> Counts:
        """What a link's launch is counted to need, as compiled. Raises TilescopeError.

        What is not the program's own is recorded first: it may be large, or never end.
        """
        key = (link.rung, tuple(link.parameters.items()), source)
        if key not in self._counts:
            rung = self.ladder[link.rung]
            if not self._is_own(link, source):
                if not is_small(rung.blank_workload(**link.parameters).launch):
                    raise LessonError(_LARGE)
                self.trace(link, source)
            with _limited(own=False):
                self._counts[key] = measure_rung(rung, link.parameters, source=source)
        return _kept(self._counts, key)

    def _is_own(self, link: Link, source: str | None) -> bool:
        return source is None and self.ladder[link.rung].source_file.parent == KERNELS_FOLDER


def is_small(launch: Launch) -> bool:
    """Whether a launch is recorded whole."""
    return launch.grid.count * launch.block.count <= MOST_THREADS


def _kept(table: OrderedDict[object, _T], key: object) -> _T:
    table.move_to_end(key)
    while len(table) > KEPT:
        table.popitem(last=False)
    return table[key]


@contextmanager
def _limited(*, own: bool) -> Iterator[None]:
    """Within, work ends after `MOST_SECONDS` with a sentence.

    The compiler then runs in a process of its own, which a program's `own` kernels do not need.
    """
    end, outside = time.monotonic() + MOST_SECONDS, copy_context()

    def late() -> bool:
        return time.monotonic() > end or outside.run(is_cancelled)

    try:
        with nullcontext() if own else cancelled_by(late):
            yield
    except Cancelled:
        check()
        raise LessonError(
            f"The launch took longer than {MOST_SECONDS:.0f} s: use smaller sizes."
        ) from None


@dataclass(frozen=True)
class Situation:
    """Where an expression is evaluated. `source` is an edited text in place of the rung's own.

    `values` are the names of the step beside the launch's parameters. `expected` overrides what
    the outputs have to be. `in_window` says where sentences are read. `_asked` counts the launches
    that one evaluation has asked for.
    """

    link: Link
    recorder: Recorder
    values: Mapping[str, Value] = field(default_factory=dict)
    source: str | None = None
    expected: Callable[[Workload], Workload] | None = None
    in_window: bool = True
    _asked: list[int] = field(default_factory=lambda: [0])

    # -- what expressions are given ----------------------------------------------------------

    def names(self) -> Mapping[str, Value]:
        """Values by name: the launch's parameters, the step's own, and `vs` where there is one."""
        other: Mapping[str, Value] = {} if self.link.versus is None else {"vs": "vs"}
        return {**self.link.parameters, **self.values, **other}

    def call(self, word: str, given: list[Value], named: Mapping[str, Value]) -> Value:
        """What a word of the vocabulary says here. Raises TilescopeError."""
        row = VOCABULARY[word]
        own = {name: value for name, value in named.items() if name in row.names}
        changes = {name: value for name, value in named.items() if name not in row.names}
        return row.say(self.changed(changes) if changes else self, given, own)

    def changed(self, changes: Mapping[str, Value]) -> Situation:
        """The situation with other parameters, another place, or that of the other launch."""
        self._asked[0] += 1
        if self._asked[0] > MOST_LAUNCHES:
            raise LessonError(f"An expression asks for more than {MOST_LAUNCHES} situations.")
        numbers = dict(changes)
        link, source = self.link, self.source
        if (of := numbers.pop("of", None)) is not None:
            link, source = self._other(of), None
        for name in ("at", "order"):
            if (text := numbers.pop(name, None)) is not None:
                if not isinstance(text, str):
                    raise LessonError(f'{name} is a text, such as {name}="load:A@phase0".')
                link = replace(link, **{name: text})  # type: ignore[arg-type]
        whole: dict[str, int] = {}
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int):
                raise LessonError(f"{name} is a whole number.")
            whole[name] = value
        return replace(self, link=link.varied(whole, self.recorder.ladder), source=source)

    def _other(self, of: Value) -> Link:
        """The launch compared with, at the same place; or that of a link."""
        link = self.link
        if of == "vs" and link.versus is not None:
            return replace(link.versus, block=link.block, at=link.at, step=link.step)
        if isinstance(of, str) and of != "vs":
            return parse_link(of, self.recorder.ladder)
        raise LessonError('of is vs, if the link compares, or a link: of="tiled?n=4&tile=2".')

    def of(self, link: Link, source: str | None = None) -> Situation:
        """The same names at another launch; its launches are counted anew."""
        return replace(self, link=link, source=source, _asked=[0])

    # -- what words ask ------------------------------------------------------------------------

    @cached_property
    def trace(self) -> Trace:
        """The record of the launch."""
        return self.recorder.trace(self.link, self.source)

    @cached_property
    def whole(self) -> Trace:
        """The record, where every block was run; a TilescopeError where only one was."""
        if not self.trace.complete:
            raise LessonError(_LARGE)
        return self.trace

    @cached_property
    def block(self) -> BlockTrace:
        """The record of the link's block."""
        return self.trace.block(self.link.block)

    @cached_property
    def step(self) -> int:
        """The step of the block. Raises ParameterError where there is none such."""
        block, link = self.block, self.link
        if link.at:
            return step_named(block, link.at)
        if link.step is None:
            steps = block.access_steps
            return int(steps[0]) if len(steps) else 0
        if link.step >= block.n_steps:
            raise ParameterError(
                f"The launch has no step {link.step}: the last is {block.n_steps - 1}."
            )
        return link.step

    @cached_property
    def access(self) -> Access:
        """What the step accesses. Raises TilescopeError where it accesses nothing."""
        found = self.block.access(self.step)
        if found is None:
            raise LessonError(
                f"Step {self.step} of {self.link.rung} accesses no memory: name one that does, "
                "such as at=load:A@phase0."
            )
        return found

    @cached_property
    def launch(self) -> Launch:
        """The launch itself, its arrays empty."""
        rung = self.recorder.ladder[self.link.rung]
        return rung.blank_workload(**self.link.parameters).launch

    @cached_property
    def counts(self) -> Counts:
        """What the launch needs as compiled, at any size."""
        return self.recorder.counts(self.link, self.source)


class Words:
    """Which calls are good at a link: for the check of expressions when a lesson is read."""

    def __init__(self, link: Link, ladder: Ladder) -> None:
        self._parameters = {*ladder[link.rung].defaults}
        if link.versus is not None:
            self._parameters |= {*ladder[link.versus.rung].defaults}

    def check(self, word: str, given: int, named: frozenset[str]) -> str:
        """What is wrong with a call; "" where nothing is."""
        row = VOCABULARY.get(word)
        if row is None:
            return "is not a word of lessons; docs/lessons.md has all of them"
        for name in sorted(named - set(row.names) - set(CHANGES) - self._parameters):
            return f"takes no {name}: it takes {', '.join(row.names) or 'nothing'}, {_changes()}"
        return row.misfit(given, named)


def _changes() -> str:
    return f"and {', '.join(CHANGES)} and parameters of the launch"
