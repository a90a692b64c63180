"""Runs a workload in the emulator and returns its trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from core.assembler.assembled_module import module_of
from core.cancelling import check
from core.compiler.compile_ptx_and_cubin import Build, build_of, find_entry
from core.emulator.block_record import ChunkRecord
from core.emulator.events import Observer, Printed
from core.emulator.geometry import Geometry, clusters
from core.emulator.heap import HEAP_NAME
from core.emulator.launch_image import Image
from core.emulator.machine import Limits, Machine
from core.emulator.scheduling import Schedule, WarpOrder
from core.errors import BudgetExceeded
from core.findings.finding_sentences import FaultCollector, Reporter, with_count
from core.findings.hazards import GlobalState, Hazards
from core.garbage_collection import uncollected
from core.launch import Workload
from core.ptx.debug.variables import debug_info
from core.recording.blocks_side_by_side import (
    LANES,
    Run,
    are_apart,
    as_many_as_fit,
    chosen_blocks,
    cluster_numbers,
    may_meet,
    must_be_runnable,
)
from core.rules.counters import Tally
from core.rules.counting_observer import CountingObserver
from core.trace import Trace
from core.trace.finding import Finding
from core.trace.program_info import program_info
from core.trace.trace import with_step

if TYPE_CHECKING:
    from core.rules.l1_cache import L1Probe

_CUT = "The run was cut short: this is the record up to there."
RECORD_BYTES = 512 << 20
_AT_ONCE = 50_000  # instructions after which blocks that run at once are run one after the other
_PATIENCE = 2_000  # instructions before the time is looked at, where only some blocks need run
TOGETHER = 1 << 16  # threads that may run side by side where blocks wait for each other


@dataclass(frozen=True)
class _Options:
    """What to run and what to keep, see `record`."""

    blocks: Sequence[int] | None
    only_recorded: bool
    checks: bool
    limits: Limits
    record_bytes: int
    order: WarpOrder
    seed: int
    seconds: float | None
    keep: bool = True  # recorded for stepping, and not counted only


class Probe(Protocol):
    """Follows all blocks that run: `start` once, then an observer for each stretch of them."""

    def start(self, image: Image, issues: Any, lines: Any) -> None:
        """What will run."""

    def part(self, geometry: Geometry) -> Observer:
        """An observer of some blocks."""


Progress = Callable[[float], None]


class CutShort(BudgetExceeded):
    """The budget ended a recording; `so_far` is the record up to there."""

    def __init__(self, message: str, so_far: Trace) -> None:
        super().__init__(message)
        self.so_far = so_far


def record(
    workload: Workload,
    *,
    kind: Literal["as_written", "as_compiled"] = "as_written",
    blocks: Sequence[int] | Literal["all"] | None = None,
    only_recorded: bool = False,
    checks: bool = True,
    limits: Limits | None = None,
    record_bytes: int = RECORD_BYTES,
    order: WarpOrder = "lockstep",
    seed: int = 0,
    progress: Progress | None = None,
    build: Build | None = None,
    l1: L1Probe | None = None,
    seconds: float | None = None,
) -> Trace:
    """Compiles (unless `build` is given), runs and records a workload.

    `blocks` are recorded for stepping (None: as many as fit in `record_bytes`, in order); the rest
    run and are counted, or, with `only_recorded`, do not run at all. `checks` finds races and reads
    of what was never written; illegal accesses and barriers are found in any case. `order` says how
    the warps of a block take turns (`core.emulator.scheduling`), `seed` is for "random". `progress`
    is called with a fraction from 0 to 1. `l1` follows the loads of every block. After `seconds` of
    processor time no more blocks are run, other than the first: the record is of those before, with
    the findings of all that began. Raises
    `CompileError`, `UnsupportedPtx`, `LaunchError`, `ParameterError`, `Cancelled` and
    `CutShort`, which has the record up to there.
    """
    if blocks == "all":
        blocks = range(workload.launch.grid.count)
    if blocks is not None or not only_recorded:
        ran = len(blocks) if blocks is not None and only_recorded else workload.launch.grid.count
        must_be_runnable(workload.launch, ran)
    build = build or build_of(workload, kind)
    image = image_of(workload, build)
    options = _Options(
        blocks, only_recorded, checks, limits or Limits(), record_bytes, order, seed, seconds
    )
    if l1 is None and _may_run_at_once(image, options):
        trace = _at_once(workload, build, image, options)
        if trace is not None:
            if progress is not None:
                progress(1.0)
            return trace
        image = _anew(image)
    try:
        return _Recording(workload, build, image, options, progress, l1).trace()
    except _BlocksWait:  # start again, this time with all blocks side by side
        again = _anew(image)
        return _Recording(workload, build, again, options, progress, l1, together=True).trace()


def _anew(image: Image) -> Image:
    """The same before anything ran."""
    return Image(image.module, image.function.name, image.launch, image.watched)


def _may_run_at_once(image: Image, options: _Options) -> bool:
    """Whether all blocks are to be recorded, and are few enough to run at once."""
    launch = image.launch
    return (
        options.blocks is None
        and not options.only_recorded
        and options.seconds is None
        and options.order == "lockstep"
        and image.cluster.count == 1 < launch.grid.count
        and launch.grid.count * launch.block.count <= LANES
        and not may_meet(image.module.text)
    )


def _at_once(workload: Workload, build: Build, image: Image, options: _Options) -> Trace | None:
    """The record of all blocks run at once; None where it is not that of a run block by block."""
    limits = options.limits
    most, memory = min(_AT_ONCE, limits.instructions), min(options.record_bytes, limits.memory)
    options = replace(options, limits=replace(limits, instructions=most, memory=memory))
    try:
        trace = _Recording(workload, build, image, options, None, together=True).trace()
    except CutShort:
        return None
    (record,) = trace.records
    if trace.findings or trace.prints or record.nbytes() > options.record_bytes:
        return None
    return trace if are_apart(record) else None


def image_of(workload: Workload, build: Build) -> Image:
    """What the workload's kernel sees; the registers of its variables are to be recorded.

    Raises as `core.ptx.parser.parse` and `Image` do.
    """
    entry = find_entry(build, workload.kernel)
    module = module_of(build, entry)
    debug = debug_info(module)

    def watched(function: str) -> frozenset[str]:
        places = (one for variable in debug.variables_of(function) for one in variable.locations)
        return frozenset(place.register for place in places if place.register is not None)

    return Image(module, entry, workload.launch, watched)


def _duration(seconds: float) -> str:
    """`40 s`, `12 min` or `3 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.0f} h"


def merge_finding(findings: dict[tuple[str, int, str], Finding], finding: Finding) -> None:
    """One finding an instruction and kind; later blocks add to its count."""
    key = (finding.kind, finding.line, finding.array)
    known = findings.get(key)
    if known is not None:
        needs = max(known.needs, finding.needs) if known.needs and finding.needs else 0
        finding = replace(known, count=known.count + finding.count, needs=needs)
    findings[key] = finding


@dataclass(frozen=True)
class Part:
    """What some blocks of a launch count and do wrong, without a record of their steps.

    `sums` are those of a `Tally`. `waits`: they wait for other blocks, so that nothing is known.
    """

    sums: dict[tuple[int, str, str], NDArray[np.int64]]
    findings: tuple[Finding, ...]
    issued: int
    prints: tuple[Printed, ...]
    waits: bool = False


def run_part(
    workload: Workload,
    blocks: Sequence[int],
    *,
    kind: Literal["as_written", "as_compiled"] = "as_written",
    checks: bool = True,
    limits: Limits | None = None,
    probe: Probe | None = None,
    may_be_cut: bool = False,
) -> Part:
    """Runs some blocks of a launch, and no others. Raises as `record` does.

    Where it `may_be_cut`, what was found before the limits were exceeded is returned instead.
    """
    must_be_runnable(workload.launch, len(blocks))
    build = build_of(workload, kind)
    options = _Options(
        blocks, True, checks, limits or Limits(), RECORD_BYTES, "lockstep", 0, None, keep=False
    )
    recording = _Recording(workload, build, image_of(workload, build), options, None, probe)
    try:
        recording.trace()
    except _BlocksWait:
        return Part({}, (), 0, (), waits=True)
    except BudgetExceeded:
        if not may_be_cut:
            raise
    return Part(
        recording.tally.sums,
        tuple(recording.findings.values()),
        recording.issued,
        tuple(recording.prints),
    )


class _BlocksWait(Exception):
    """Threads could not go on while other blocks had yet to run."""


class _Recording:
    def __init__(
        self,
        workload: Workload,
        build: Build,
        image: Image,
        options: _Options,
        progress: Progress | None,
        l1: Probe | None = None,
        together: bool = False,
    ) -> None:
        """`together`: all blocks run side by side, because they wait for each other."""
        self.together = together
        self.schedule = (
            None if options.order == "lockstep" else Schedule(options.order, options.seed)
        )
        self.workload, self.build, self.image, self.options = workload, build, image, options
        with uncollected():  # it goes through the source's words
            self.program = program_info(image, workload, debug_info(image.module))
        self.progress = progress or (lambda fraction: None)
        self.l1 = l1
        if l1 is not None:
            l1.start(image, self.program.issues, self.program.lines)
        self.tally, self.limits = Tally(), options.limits
        self.records: list[ChunkRecord] = []
        self.findings: dict[tuple[str, int, str], Finding] = {}
        self.issued = 0
        self.prints: list[Printed] = []
        roles = {a.name: a.role for a in image.launch.arrays}
        self.global_state = GlobalState(
            image.module,
            frozenset(name for name, role in roles.items() if role == "output") | {HEAP_NAME},
            frozenset(name for name, role in roles.items() if role == "input"),
            {a.name: a.written for a in image.launch.arrays if a.written is not None},
        )

    def trace(self) -> Trace:
        """Raises what `record` does."""
        total = self.image.launch.grid.count
        ran, started = 0, time.thread_time()
        for blocks, keep in self._in_time(self._runs(total)):
            check()
            try:
                self._run(blocks, keep, may_drop=self.options.seconds is not None and ran > 0)
            except BudgetExceeded as error:
                if self.options.seconds is not None and ran:
                    break
                ran += len(blocks)
                raise CutShort(str(error), self._traced(ran, str(error))) from error
            ran += len(blocks)
            self.progress((int(blocks[-1]) + 1) / total)
        return self._traced(ran, spent=time.thread_time() - started)

    def _in_time(self, runs: Iterator[Run]) -> Iterator[Run]:
        """The runs that begin in time, fewer blocks in each where few are left to be run."""
        seconds = self.options.seconds
        if seconds is None:
            yield from runs
            return
        started, ran = time.thread_time(), 0
        self.limits = replace(self.limits, seconds=seconds, patience=_PATIENCE)
        for blocks, keep in runs:
            rest = blocks
            while len(rest):
                spent = time.thread_time() - started
                fit = len(rest) if not ran else int((seconds - spent) / (spent / ran))
                if fit and self.image.cluster.count > 1:  # whose blocks run together
                    fit = len(rest)
                if fit < 1:
                    return
                if ran:
                    self.limits = replace(self.limits, seconds=seconds - spent)
                yield rest[:fit], keep
                ran, rest = ran + len(rest[:fit]), rest[fit:]

    def _traced(self, ran: int, cut: str = "", spent: float = 0.0) -> Trace:
        """What was recorded and found of `ran` blocks, the last of them not to their end if cut."""
        total = self.image.launch.grid.count
        outputs = {a.name: self._output(a.name, a.data) for a in self.image.launch.arrays}
        trace = Trace(
            self.workload,
            self.build,
            outputs,
            self.tally.counters(lambda pc: int(self.program.lines[pc])),
            tuple(self.findings.values()),
            ran == total and not cut,
            _CUT if cut else self._note(ran, total, spent),
            self.issued,
            self.program,
            self.image,
            tuple(self.records),
        )
        findings = tuple(with_step(with_count(f), trace) for f in trace.findings)
        return replace(
            trace,
            findings=findings,
            checked=self.options.checks,
            prints=tuple(self.prints),
            cut=cut,
        )

    def _output(self, name: str, data: NDArray[Any]) -> NDArray[Any]:
        raw = self.image.buffers[name].data[: data.nbytes]  # the machines have ended
        result = raw.view(data.dtype).reshape(data.shape)
        result.flags.writeable = False
        return result

    def _note(self, ran: int, total: int, spent: float) -> str:
        recorded = sum(len(r.geometry.blocks) for r in self.records)
        if ran < total and not self.options.only_recorded:
            first = f"The first {ran:,} of the {total:,} blocks" if ran > 1 else "The first block"
            of = "" if ran > 1 else f" of {total:,}"
            return (
                f"{first}{of} ran in {spent:.0f} s: counts, findings and outputs are theirs. All "
                f"of them would take about {_duration(spent * total / ran)}."
            )
        if ran < total:
            return f"Only {ran:,} of the {total:,} blocks were run; counts and outputs are theirs."
        if recorded < total:
            return f"All {total:,} blocks were run and counted; {recorded:,} were recorded."
        return ""

    def _runs(self, total: int) -> Iterator[Run]:
        """Runs of blocks, in order."""
        options, threads = self.options, self.image.launch.block.count
        if self.together:
            return iter([(np.arange(total), True)])
        size = self.image.cluster.count
        if size > 1:
            members = clusters(self.image.launch.grid, self.image.cluster)
            wanted = None if options.blocks is None else cluster_numbers(members, options.blocks)
            return (
                (np.sort(members[numbers].reshape(-1)), keep)
                for numbers, keep in self._units(len(members), threads * size, wanted)
            )
        return self._units(total, threads, options.blocks)

    def _units(self, total: int, threads: int, wanted: Sequence[int] | None) -> Iterator[Run]:
        """Runs of blocks, or of clusters, of so many threads each."""
        options = self.options
        if wanted is not None:
            runs = chosen_blocks(total, threads, wanted, only=options.only_recorded)
            return runs if options.keep else ((blocks, False) for blocks, _ in runs)
        most = options.record_bytes
        return as_many_as_fit(
            total,
            threads,
            lambda: most // max(self.records[0].nbytes(), 1),
            only=options.only_recorded,
        )

    def _run(self, blocks: NDArray[np.int64], keep: bool, *, may_drop: bool) -> None:
        """Runs blocks; of those that take too long only the findings are kept, if `may_drop`."""
        launch = self.image.launch
        geometry = Geometry(launch.grid, launch.block, blocks, self.image.cluster)
        record = ChunkRecord(geometry) if keep else None
        faults, tally = FaultCollector(), Tally()
        observers: list[Observer] = [
            CountingObserver(tally, geometry, self.program.shared_name, self.program.issues),
            faults,
        ]
        hazards: Hazards | None = None
        if self.options.checks:
            stride = -(-max(self.image.shared_bytes, 1) // 128) * 128
            hazards = Hazards(geometry, self.image.shared_bytes, stride, self.global_state)
            observers.append(hazards)
        if self.l1 is not None:
            observers.append(self.l1.part(geometry))
        if record is not None:
            observers.append(record)
        machine = Machine(
            self.image, geometry, tuple(observers), record, self.limits, self.schedule
        )
        over: BudgetExceeded | None = None
        try:
            machine.run()
        except BudgetExceeded as error:  # findings until then are kept
            over = error
        if machine.queue.stuck and self._may_wait_for_others(len(blocks)):
            raise _BlocksWait
        if hazards is not None:
            hazards.finish(is_whole=over is None and not machine.queue.stuck)
        if over is None or not may_drop:
            for key, sums in tally.sums.items():
                self.tally.add(*key, sums)
            self.issued += machine.state.tick
            self.prints += machine.state.printed
            if record is not None:
                self.records.append(record)
        reporter = Reporter(self.program, geometry)
        found = reporter.findings(faults, list(hazards.found.values()) if hazards else [])
        for finding in found:
            merge_finding(self.findings, finding)
        if over is not None:
            raise over

    def _may_wait_for_others(self, ran: int) -> bool:
        launch = self.image.launch
        total = launch.grid.count
        return ran < total and not self.together and total * launch.block.count <= TOGETHER
