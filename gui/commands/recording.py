"""Keeps a session's trace in step with its configuration, off the UI thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from core.errors import Cancelled, TilescopeError
from core.ladder import Ladder
from core.ladder.input_arrays import Inputs
from gui.background import Worker, sentence_of
from gui.jobs.record_work import Recorded, count_job, record_job
from gui.scenes.configuration import Conditions, Configuration
from gui.scenes.prefetch import Standpoint
from gui.scenes.session import Session, source_key

CONDITIONS = tuple(field.name for field in fields(Conditions))
_STOPPED = (
    "The recording was stopped: the views show the launch before. Change a value, or run the "
    "source again, to record."
)
_NO_MEMORY = (
    "The memory of this machine is not enough to record that: choose smaller arrays or fewer "
    "threads, or close other programs."
)


class Stopped(TilescopeError):
    """The user stopped a recording: what is shown stays."""


class Recorder(QObject):
    """Keeps the session's trace in step with its configuration.

    Signals: `arrived()` when the session has a new trace, `recorded()` when that is shown,
    `failed(TilescopeError)`, when it keeps the trace it has. `worker` says when it is at work.

    Of a large launch only the block looked at is recorded; the whole of it is then counted by a
    second worker, `counter`. Should that fail, the counts of the block stay, and are said to be.
    """

    arrived = Signal()
    recorded = Signal()
    failed = Signal(object)

    def __init__(self, session: Session, ladder: Ladder, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.ladder = ladder
        self._first_block: int | None = None
        self._under_way: Configuration | None = None
        self._loaded: Configuration | None = None  # whose record is there already
        self._counting: tuple[Configuration, str] | None = None
        self._given = Conditions()  # of what was recorded last
        self.worker = Worker(self, "recorder", self._take, self._report)
        self.counter = Worker(self, "counter", self._take_counts)
        session.configuration_changed.connect(self._record)
        for name in CONDITIONS:
            getattr(session, f"{name}_changed").connect(self._record_conditions)
        session.block_wanted.connect(self._record_block)

    @property
    def newest(self) -> Configuration | None:
        """What is being recorded, or else what is shown.

        That may not be what was asked for last, which may have failed.
        """
        return self._under_way if self.worker.busy else self.session.asked_for

    def configure(self, rung: str, parameters: Mapping[str, int] | None = None) -> None:
        """Ask for a rung with parameters; the rest take the rung's defaults.

        The rung that is there already keeps its edited source. Raises ParameterError for an unknown
        rung; wrong values are reported by `failed`.
        """
        defaults = {p.name: p.default for p in self.ladder[rung].parameters}
        now = self.session.configuration
        source = now.source if now is not None and now.key == rung else None
        self.ask(Configuration(rung, {**defaults, **(parameters or {})}, source))

    def ask(
        self, wanted: Configuration, block: int | None = None, *, given: Conditions | None = None
    ) -> None:
        """Record a configuration, even the one there is; `block` is the one to look at first.

        What is `given` holds from now on.
        """
        self._first_block = block
        given = given or self.conditions
        if wanted == self.session.configuration and given == self.conditions:
            self._record(wanted)
        else:
            self.session.update(configuration=wanted, **asdict(given))

    def show(self, recorded: Recorded, inputs: Inputs | None = None, seed: int = 0) -> None:
        """Show a record from a file as if it had been recorded now; only what it holds counts.

        `inputs` is what its arrays hold, of the random numbers of `seed`; None for the arrays of a
        user's kernel.
        """
        if inputs is not None:
            self._given = replace(self.conditions, inputs=inputs, seed=seed)
            self.session.update(inputs=inputs, seed=seed)
        self._configure_as(recorded.origin.configuration)
        self.worker.cancel()
        self.counter.cancel()
        self._show(recorded)

    def run_source(self, source: str | None) -> None:
        """Record what there is with another source text; None goes back to the original."""
        now = self.session.configuration
        if now is not None:
            self.ask(replace(now, source=source))

    def stop(self) -> None:
        """Give up what is recorded or counted now; the session keeps the trace it has.

        Its configuration is again the one of that trace, or else a change of it would record what
        was stopped.
        """
        self.counter.cancel()
        if self.worker.busy:
            self.worker.cancel()
            self.go_back()
            self.failed.emit(Stopped(_STOPPED))

    def go_back(self) -> None:
        """Take up the configuration of the trace that is shown, after another came to nothing."""
        if self.session.asked_for is not None:
            self._configure_as(self.session.asked_for)

    def _configure_as(self, there: Configuration) -> None:
        """Take up the configuration of a record that is there, without recording it."""
        self._loaded = there
        self.session.update(configuration=there)
        self._loaded = None

    def _record(self, configuration: Configuration) -> None:
        if configuration is self._loaded:
            return
        block = self.session.block if self._first_block is None else self._first_block
        self._first_block = None
        self._submit(configuration, block)

    @property
    def conditions(self) -> Conditions:
        """What a record depends on besides its configuration, as the session has it."""
        return Conditions(**{name: getattr(self.session, name) for name in CONDITIONS})

    def _record_conditions(self, _: object) -> None:
        """Record under other conditions, if a new configuration has not just brought them.

        The arrays of a user's kernel hold what its form says.
        """
        if self.newest is None:
            return
        given = self.conditions
        if self.newest.own is not None:
            given = replace(given, inputs=self._given.inputs)
        if given != self._given:
            self._submit(self.newest, self.session.block)

    def _record_block(self, block: int) -> None:
        if self.newest is not None:
            self._submit(self.newest, block)

    def _submit(self, configuration: Configuration, block: int) -> None:
        self._under_way = configuration
        self._given = self.conditions
        self.worker.submit(
            record_job, self.ladder, configuration, block, self._standpoint(), self._given
        )

    def _standpoint(self) -> Standpoint | None:
        session, anchored = self.session, self.session.anchored()
        if session.trace is None or anchored is None:
            return None
        return Standpoint(source_key(session.trace), *anchored, session.thread)

    def _take(self, recorded: Recorded) -> None:
        self._show(recorded)
        self._count(recorded)

    def _show(self, recorded: Recorded) -> None:
        self.session.origin = recorded.origin
        with self.session.turns.together():
            self.session.trace = recorded.trace
            self.arrived.emit()
        self.recorded.emit()

    def _count(self, recorded: Recorded) -> None:
        """Count the whole launch, unless the record holds it or a count is under way."""
        launch = recorded.origin.configuration, recorded.trace.workload.source
        trace = recorded.trace
        if trace.complete or trace.cut or self.session.counted is not None:
            self.counter.cancel()
        elif not self.counter.busy or launch != self._counting:
            self._counting = launch
            self.counter.submit(count_job, recorded.trace)

    def _take_counts(self, counted: Any) -> None:
        self.session.counted = counted

    def _report(self, error: object) -> None:
        if isinstance(error, Cancelled):
            return
        if not isinstance(error, TilescopeError):
            said = sentence_of(error, "Recording failed unexpectedly")
            error = TilescopeError(_NO_MEMORY if isinstance(error, MemoryError) else said)
        self.failed.emit(error)
