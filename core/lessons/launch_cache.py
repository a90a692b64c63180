"""The launches that lessons ask about: recorded or counted within limits, the last ones kept."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from core.cancelling import cancelled_by, check, is_cancelled
from core.compiler.compile_ptx_and_cubin import compiled_resources
from core.devices.occupancy import Resources
from core.emulator.budget import DEFAULTS
from core.errors import Cancelled, ParameterError, TilescopeError
from core.ladder import KERNELS_FOLDER, Ladder
from core.ladder.rung import ArrayRule
from core.launch import Launch, Workload
from core.lessons.lesson_expressions import LessonError
from core.links import Link
from core.models.ceiling_counts import Counts, measure_rung
from core.recording.record_launch import record

if TYPE_CHECKING:
    from core.trace import Trace

_T = TypeVar("_T")
MOST_THREADS = 1 << 16  # of a launch that is recorded whole; of a larger one a block is
MOST_BYTES = 96 << 20  # of a launch's arrays
MOST_SECONDS = 40.0  # that one launch may take to compile and run
LIMITS = DEFAULTS  # of what runs
KEPT = 24  # records that are kept
NOT_WHOLE = (
    f"The launch has more than {MOST_THREADS:,} threads, so that not all of it is run: counts, "
    "findings and results need smaller sizes."
)


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
                    raise LessonError(NOT_WHOLE)
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
