"""The second launch of a comparison: who records it, its forms, and the clock that both share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer

from core.errors import TilescopeError
from core.links import parse_link
from core.user_files.launch_texts import FileLaunch
from gui.background import Coalescer, Worker, sentence_of
from gui.commands.editing_and_opening import Workbench
from gui.commands.links_and_moments import Moments
from gui.commands.recording import CONDITIONS, Recorder
from gui.commands.window_parts import Window
from gui.jobs.opening_work import Opened, open_job
from gui.scenes.comparisons_to_open import Preset, counterpart, with_parameters
from gui.scenes.configuration import Configuration
from gui.scenes.launch_form import Kind, knob_rows, turned
from gui.scenes.paired_sessions import Comparison, Naming, launch_text
from gui.scenes.question_in_views import waits
from gui.scenes.session import Session
from gui.scenes.steps_that_cost_differently import (
    Measure,
    Pairs,
    largest_difference,
    next_difference,
)
from gui.views.ladder_panel import SideColumn


class Differing(QObject):
    """Moves the clock of one comparison; searches run in a thread of their own."""

    def __init__(self, comparing: Comparing) -> None:
        super().__init__(comparing)
        self.comparing = comparing
        self.a, self.b = comparing.a, comparing.b
        self.search = Worker(self, "differences", self._found)
        self._said = ""  # where nothing is found
        self._example: Preset | None = None
        for recorder in (comparing.main.recorder, comparing.recorder):
            recorder.recorded.connect(self._soon)
            recorder.failed.connect(self._forget)

    def go(self, *, forward: bool = True) -> None:
        """Go to the next (or previous) access of the selected warp that costs B something else."""
        pairs = self._pairs()
        if self.a.hides("compare"):
            said = waits(self.a, "the next difference")
            self.comparing.main.message.tell(said)
        elif pairs is not None:
            where = "after" if forward else "before"
            said = f"Warp {pairs.warp} moves as much on both sides at every access {where} this."
            self._start(partial(next_difference, pairs, self.a.step, forward=forward), said)

    def expect(self, example: Preset) -> None:
        """Go to what an example is about as soon as both sides have been recorded."""
        self.search.cancel()
        self._example = example

    def _soon(self) -> None:
        QTimer.singleShot(0, self, self._open)

    def _forget(self, _: object) -> None:
        self._example = None

    def _open(self) -> None:
        recorders = self.comparing.main.recorder, self.comparing.recorder
        example, pairs = self._example, self._pairs()
        if example is None or pairs is None or any(r.worker.busy for r in recorders):
            return
        self._example = None
        if example.opens == "end":
            self.a.last()
        elif example.opens == "largest":
            self._start(partial(largest_difference, pairs))
        else:
            measure: Measure = "lanes" if example.opens == "lanes" else "cost"
            self._start(partial(next_difference, pairs, -1, measure=measure))

    def _pairs(self) -> Pairs | None:
        a, b = self.a.block_trace, self.b.block_trace
        return Pairs(a, b, self.a.warp) if a is not None and b is not None else None

    def _start(self, search: Callable[[], int | None], said: str = "") -> None:
        self.a.playing, self._said = 0, said
        self.search.submit(lambda _: search())

    def _found(self, step: int | None) -> None:
        if step is not None:
            self.a.update(playing=0, step=step)
        elif self._said:
            self.comparing.main.message.tell(self._said)


class Comparing(QObject):
    """Side B of one window's comparison; side A is the window's own session.

    `session.versus` says what B is to be: whoever sets it (a form, a link, an example, an earlier
    session) has it recorded.
    """

    def __init__(self, window: Window, workbench: Workbench, moments: Moments) -> None:
        super().__init__(window)
        self.main, self.workbench, self.moments = window, workbench, moments
        self.ladder = window.recorder.ladder
        self.a, self.b = window.session, Session()
        self.b.turns, self.b.versions = self.a.turns, self.a.versions
        self.naming = Naming()
        self.recorder = Recorder(self.b, self.ladder, self)
        self.comparison = Comparison(self.a, self.b)
        self.opener = Worker(self, "opener of B")
        self.turning = Coalescer(self)
        self.differing = Differing(self)
        self.column = SideColumn(self.ladder)
        self._connect()
        self._connect_forms()

    def _connect(self) -> None:
        self.a.versus_changed.connect(self._compare_with)
        self.a.configuration_changed.connect(self._on_first)
        for name in CONDITIONS:
            getattr(self.a, f"{name}_changed").connect(self._take_conditions)
        self.a.veiled_changed.connect(self._veil)
        self.a.answered_changed.connect(self._veil)
        self.b.configuration_changed.connect(self.column.show_launch)
        self.b.trace_changed.connect(self._on_trace)
        self.opener.finished.connect(self._opened)
        self.opener.failed.connect(self._report)
        self.recorder.failed.connect(self._report)
        self.workbench.waiting.stopped.connect(self._stop)
        self.recorder.recorded.connect(lambda: self.column.form.report(None))
        self.turning.watch(self.recorder.worker)
        self.turning.released.connect(lambda what: self._turn(*what))

    def _connect_forms(self) -> None:
        form = self.column.form
        form.watch(self.recorder.worker)
        form.changed.connect(self._choose_parameters)
        form.mapped.connect(self._choose_mapping)
        form.file.changed.connect(self._choose_launch)
        form.file.kernel_chosen.connect(self._choose_kernel)
        form.knobs.turned.connect(lambda *what: self.turning.offer(what, of=what[:2]))
        self.column.ladder_panel.chosen.connect(self._choose_rung)

    @property
    def active(self) -> bool:
        """Whether the comparison is shown, and both sides follow one clock."""
        return self.comparison.active

    @active.setter
    def active(self, active: bool) -> None:
        self.comparison.active = active
        if active:
            self._take_conditions(None)
            self._on_first(self.a.configuration)
            self._compare_with(self.a.versus)

    # ---- what the user does

    def swap(self) -> None:
        """What was A becomes B, and the other way round."""
        first, second = self._shown(), self.a.versus
        if first is None or second is None:
            return
        self.a.playing = 0
        self.a.versus = first
        if second.own is not None:
            self.workbench.reopen(second)
        else:
            self.main.recorder.ask(second)

    def copy_to_b(self) -> None:
        """Have B be the launch that A is now: from there one of them can be changed."""
        self.a.versus = self._shown()

    def suggest(self) -> None:
        """Compare A with what teaches most about it."""
        shown = self._shown()
        if shown is not None:
            self.a.versus = self._against(shown)

    def _against(self, shown: Configuration) -> Configuration:
        """An edited launch is compared with the text before; any other with its counterpart."""
        origin, trace = self.a.origin, self.a.trace
        if origin is None or trace is None or origin.configuration != shown:
            return counterpart(shown, self.ladder)
        text = trace.workload.source
        if text != origin.original:
            return replace(shown, source=None)
        before = self.a.versions.before(shown.key, text) if shown.own is not None else None
        return counterpart(shown, self.ladder) if before is None else replace(shown, source=before)

    def show_preset(self, preset: Preset) -> None:
        self.a.compared_view = preset.view
        self.differing.expect(preset)
        self.moments.open_moment(parse_link(preset.link, self.ladder))

    def _shown(self) -> Configuration | None:
        return self.a.asked_for or self.a.configuration

    def _choose_rung(self, name: str) -> None:
        shown = self._shown()
        wanted = shown.parameters if shown is not None else {}
        self.a.versus = with_parameters(self.ladder[name], wanted)

    def _choose_parameters(self, values: dict[str, int]) -> None:
        rung, now = self.column.form.rung, self.b.configuration
        if rung is not None:
            source = now.source if now is not None and now.key == rung.name else None
            self.a.versus = Configuration(rung.name, values, source)

    def _choose_mapping(self, name: str) -> None:
        self.a.versus = Configuration(name, self.column.form.values())

    def _choose_launch(self, launch: FileLaunch) -> None:
        now = self.b.configuration
        self.a.versus = Configuration("", {}, now.source if now is not None else None, launch)

    def _choose_kernel(self, name: str) -> None:
        now = self.b.configuration
        if now is not None and now.own is not None:
            self.opener.submit(open_job, now.own.path, None, name, now.source)

    def _turn(self, kind: Kind, name: str, value: int) -> None:
        now, origin, newest = self.b.configuration, self.b.origin, self.recorder.newest
        if self.opener.busy:
            return  # B is about to be another launch
        if now is not None and now.own is not None and origin is not None and newest is not None:
            text = origin.original if newest.source is None else newest.source
            try:
                self.a.versus = turned(now, text, kind, name, value)
            except (KeyError, TilescopeError):
                said = f"{self.naming.b}: {name} is no longer a number in the source."
                self.main.message.show_message(said)

    def _stop(self) -> None:
        self.opener.cancel()
        self.recorder.stop()

    # ---- what happens

    def _on_first(self, configuration: Configuration | None) -> None:
        """The first launch of all is compared with its counterpart."""
        if self.active and self.a.versus is None and configuration is not None:
            self.a.versus = self._against(configuration)

    def _take_conditions(self, _: object) -> None:
        """Both sides read the same numbers, and their warps take turns in the same order."""
        if self.active:
            self.b.update(**{name: getattr(self.a, name) for name in CONDITIONS})

    def _veil(self, _: object) -> None:
        """A question is about both sides."""
        self.b.update(veiled=self.a.veiled, answered=self.a.answered)
        self.column.form.show_facts(launch_text(self.b))

    def _compare_with(self, versus: Configuration | None) -> None:
        if versus is None or not self.active:
            return
        self.opener.cancel()  # what is read for B is not wanted any more
        if versus == self.b.configuration:
            return
        own, source = versus.own, versus.source
        if own is not None and (not own.complete or not self._shows(own)):
            self.opener.submit(open_job, own.path, own, None, source, linked=not own.complete)
        else:
            self.recorder.ask(versus, self.a.block)

    def _shows(self, own: FileLaunch) -> bool:
        """Whether B's form is already that of the kernel."""
        shown = self.column.form.file.launch
        return shown is not None and (shown.path, shown.kernel) == (own.path, own.kernel)

    def _opened(self, opened: Any) -> None:
        assert isinstance(opened, Opened)
        file = self.column.form.file
        file.show_launch(opened.launch, opened.kernels, opened.signature)
        file.show_errors({})
        wanted = Configuration("", {}, opened.edited, opened.launch)
        self.recorder.ask(wanted, self.a.block)
        self.a.versus = wanted

    def _on_trace(self, trace: object) -> None:
        self.column.form.show_progress(None)
        self.column.form.show_facts(launch_text(self.b))
        own = self.b.configuration.own if self.b.configuration is not None else None
        if own is not None and self.b.trace is not None:
            self.column.form.show_knobs(knob_rows(self.b.trace.workload, own))

    def _report(self, error: object) -> None:
        self.column.form.report(error)
        said = sentence_of(error, "Recording failed unexpectedly")
        self.main.message.show_message(f"{self.naming.b}: {said}")
