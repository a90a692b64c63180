"""A profile's counters beside the emulator's for the same launch, and why they differ.

The counters are those of `core.rules.counters` that Nsight Compute has as well. Reports also have
sectors and wavefronts by source line (its source page). A reason is given where one is known:

- the profile is of the other build: as compiled, or as written (-G);
- ncu replays a kernel for each group of metrics. Where hits and misses of L1 are asked for as well,
  it adds them up for the sectors, from passes that differ a little: on an H100 four of 18 launches
  whose stores are scattered were 0.3 to 3.6 % off so, and exact when profiled without
  (tests/data/ncu);
- contention: the counters of shared memory's wavefronts are of what the data stage does, and a
  wavefront whose banks bulk copies, `cp.async` or `wgmma` use tries again. What Nsight Compute
  counts by instruction is exact (docs/evidence.md);
- the machine code differs from the PTX that is counted, line by line (`core.assembler`);
- the profile is of another compute capability, for which the compiler may choose otherwise;
- addresses depend on data, so that both must have had the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.compiler.compiler import BuildKind
from core.errors import TilescopeError
from core.nsight.profile import SOURCE_SUMS, ProfiledLaunch, chosen
from core.recording.count_launch import Counted, count
from core.rules.counters import COUNTERS, METRICS, Counters, Counts, counters_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.launch import Workload

_HIT_RATES = {
    "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct": "sectors that are loaded",
    "l1tex__t_sector_pipe_lsu_mem_global_op_st_hit_rate.pct": "sectors that are stored",
    "lts__t_sector_hit_rate.pct": "sectors that L2 is asked for",
}
_BY_INSTRUCTION = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_BESIDE = (
    "global_tma_ld_sectors",
    "global_tma_st_sectors",
    "global_tma_red_sectors",
    "shared_gmma_requests",
)
"""What uses the banks of shared memory beside loads and stores of threads."""
_WORDS: Mapping[BuildKind, str] = {"as_compiled": "as compiled", "as_written": "as written (-G)"}


@dataclass(frozen=True)
class Compared:
    """One counter: ours, and the profile's (None where it has none). `why` where they differ."""

    name: str
    metric: str
    ours: int
    theirs: float | None
    why: str = ""

    @property
    def equal(self) -> bool:
        """Whether both are the same; a counter that the profile lacks is not."""
        return self.theirs is not None and self.theirs == self.ours


@dataclass(frozen=True)
class ComparedLine:
    """One sum of the source page in one line."""

    line: int
    what: str
    ours: int
    theirs: float

    @property
    def equal(self) -> bool:
        """Whether both are the same."""
        return self.theirs == self.ours


@dataclass(frozen=True)
class Comparison:
    """A launch of the profile beside the same launch counted here.

    `build` is the one that was counted. `notes` are sentences that hold for all of it. `more` is
    how many more launches of the profile fit.
    """

    profiled: ProfiledLaunch
    build: BuildKind
    counters: tuple[Compared, ...]
    lines: tuple[ComparedLine, ...]
    notes: tuple[str, ...]
    more: int = 0

    @property
    def differing(self) -> tuple[Compared, ...]:
        """The counters that are in the profile and differ."""
        return tuple(c for c in self.counters if c.theirs is not None and not c.equal)

    @property
    def missing(self) -> tuple[Compared, ...]:
        """The counters that are not 0 here, and that the profile does not have."""
        return tuple(c for c in self.counters if c.theirs is None and c.ours)


def read_profile(path: Path) -> tuple[ProfiledLaunch, ...]:
    """The launches of a CSV file or a report, by the name's ending; raises TilescopeError."""
    if path.suffix.lower() == ".ncu-rep":
        from core.nsight.reports import read_report

        return read_report(path)
    if path.suffix.lower() in (".csv", ".txt", ".log"):
        from core.nsight.csv_files import read_csv

        return read_csv(path)
    raise TilescopeError(
        f"{path.name} has an unknown ending: give a CSV file of ncu or a report (.ncu-rep)."
    )


def compare(
    launches: Sequence[ProfiledLaunch],
    workload: Workload,
    *,
    number: int | None = None,
    build: BuildKind | None = None,
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """The launch of a profile that a workload is, beside the workload's own counts.

    `number` is the launch's ID (None: the first that fits), `build` which build to count (None: the
    one whose counters agree with more of the profile's). Raises TilescopeError as `chosen` and
    `count` do, and where the profile has none of the counters.
    """
    profiled, more = chosen(launches, workload, number)
    if not any(metric in profiled.metrics for metric in METRICS.values()):
        raise TilescopeError(
            f"The profile has none of the counters: profile with `ncu --metrics "
            f"{','.join(list(METRICS.values())[:2])},…`, all of which docs/counting.md names."
        )
    tell = progress or (lambda done: None)
    first: BuildKind = build or "as_compiled"
    second: BuildKind = "as_written" if first == "as_compiled" else "as_compiled"
    counted = count(workload, kind=first, progress=lambda done: tell(done / 2))
    other: Counted | None = None
    if _differences(profiled, counted.counters):
        other = count(workload, kind=second, progress=lambda done: tell((1 + done) / 2))
        if build is None and _differences(profiled, other.counters) < _differences(
            profiled, counted.counters
        ):
            counted, other = other, counted
    tell(1.0)
    kind = counted.build.kind
    reasons = _Reasons(profiled, counted, other)
    compared = tuple(
        reasons.compared(name, metric) for name, metric in METRICS.items() if name in COUNTERS
    )
    lines = _lines(profiled, counted.counters)
    notes = _notes(profiled, counted, workload)
    return Comparison(profiled, kind, compared, lines, notes, more)


def _differences(profiled: ProfiledLaunch, counters: Counters) -> int:
    return sum(
        profiled.metrics[metric] != counters.totals[name].value
        for name, metric in METRICS.items()
        if metric in profiled.metrics
    )


@dataclass(frozen=True)
class _Reasons:
    """Knows why a counter differs, where anything is known."""

    profiled: ProfiledLaunch
    counted: Counted
    other: Counted | None

    def compared(self, name: str, metric: str) -> Compared:
        ours = int(self.counted.counters.totals[name].value)
        theirs = self.profiled.metrics.get(metric)
        if theirs is None:
            return Compared(name, metric, ours, None, "the profile does not have it")
        if theirs == ours:
            return Compared(name, metric, ours, theirs)
        return Compared(name, metric, ours, theirs, self._why(name, metric, ours, theirs))

    def _why(self, name: str, metric: str, ours: int, theirs: float) -> str:
        if self.other is not None and self.other.counters.totals[name].value == theirs:
            kind = self.other.build.kind
            return (
                f"{theirs:,.0f} is what the build {_WORDS[kind]} does: the profile is of that one"
            )
        if said := self._replayed(metric, theirs) or _nearly(name, ours, theirs):
            return said
        if said := self._contended(name, ours, theirs):
            return said
        assembly = self.counted.assembly
        if assembly is not None and assembly.lines:
            lines = ", ".join(str(line) for line in assembly.lines)
            return f"the machine code differs from the PTX that is counted, in line {lines}"
        if self.profiled.capability not in ("", "9.0") and self.counted.assembly is not None:
            return (
                f"the profile is of compute capability {self.profiled.capability}, and machine "
                "code of 9.0 is counted: a compiler may join and unroll otherwise"
            )
        if {"atom", "red"} & set(name.split("_")):
            return "how often atomics try again can depend on the order in which warps come"
        if self.counted.note:
            return "addresses or branches depend on data, which the profile may have had otherwise"
        return "no reason is known: look whether source, sizes and defines are the same"

    def _replayed(self, metric: str, theirs: float) -> str:
        base = metric.removesuffix(".sum")
        parts = [self.profiled.metrics.get(f"{base}_lookup_{one}.sum") for one in ("hit", "miss")]
        hits, misses = parts
        if hits is None or misses is None or hits + misses != theirs:
            return ""
        text = (
            f"replay: this profile also asks for hits ({hits:,.0f}) and misses ({misses:,.0f}) of "
            "L1, and adds them up, from passes of their own"
        )
        theoretical = self.profiled.metrics.get("memory_l2_theoretical_sectors_global")
        if theoretical == _sum(self.counted.counters.totals, "global", "sectors"):
            text += f"; its source page has {theoretical:,.0f} sectors in all, as here"
        return text

    def _contended(self, name: str, ours: int, theirs: float) -> str:
        space, op, what = (*name.split("_"), "")[:3]
        if (space, op) not in (("shared", "ld"), ("shared", "st")) or what == "requests":
            return ""
        if theirs < ours:
            return ""
        totals, metric = self.counted.counters.totals, _BY_INSTRUCTION.format(op)
        exact = self.profiled.metrics.get(metric)
        is_exact = exact == totals[f"shared_{op}_wavefronts"].value
        if not is_exact and not any(totals[one].value for one in _BESIDE):
            return ""
        text = (
            "contention: wavefronts whose banks something else uses, such as a bulk copy or wgmma, "
            "try again, and this counter has every try, more or fewer in another run"
        )
        if is_exact:
            return f"{text}; by instruction ({metric}) the profile has {exact:,.0f}, as here"
        return f"{text}; profile {metric} as well, which has none of them"


_REPLAYED = 0.04  # of the sectors: an H100's reports were off by 3.6 % at most


def _nearly(name: str, ours: int, theirs: float) -> str:
    if name != "global_st_sectors" or abs(theirs - ours) > _REPLAYED * ours:
        return ""
    return (
        "most likely replay: where hits and misses of L1 are profiled too, ncu adds up sectors of "
        "stores from passes that differ a little; profile with --metrics alone"
    )


def _sum(counts: Counts, space: str, measure: str) -> int:
    return sum(int(counts[name].value) for name in counters_of(space, measure) if name in counts)


def _lines(profiled: ProfiledLaunch, counters: Counters) -> tuple[ComparedLine, ...]:
    """Every line that either has something in, of each sum that the report has."""
    found = []
    for metric, theirs in profiled.by_line.items():
        space, measure = SOURCE_SUMS[metric]
        for line in sorted({*theirs, *counters.by_line}):
            ours = _sum(counters.by_line.get(line, {}), space, measure)
            if ours or theirs.get(line):
                what = f"{space} {measure}"
                found.append(ComparedLine(line, what, ours, theirs.get(line, 0.0)))
    return tuple(sorted(found, key=lambda one: (one.line, one.what)))


def _notes(profiled: ProfiledLaunch, counted: Counted, workload: Workload) -> tuple[str, ...]:
    notes = []
    if profiled.grid is None:
        notes.append(
            f"The profile does not say grid and block; {workload.launch.grid} and "
            f"{workload.launch.block} are taken for them."
        )
    rates = [
        f"{profiled.metrics[name]:.1f} % of the {what}"
        for name, what in _HIT_RATES.items()
        if profiled.metrics.get(name)
    ]
    if rates:
        notes.append(
            f"Caches served {', '.join(rates)}; that changes no counter here: requests and sectors "
            "are what warps ask for."
        )
    if counted.note:
        notes.append(counted.note)
    return tuple(notes)
