"""Profiles of Nsight Compute: read from its files, and set beside the emulator's counters.

`read_csv` takes CSV: a column a metric (`--page raw`), or a row a metric (`--page details`). What
`ncu --csv` prints while it profiles is of the second kind, among lines that begin with "==".
Numbers have commas between thousands. A row of units stands under the heads of the first kind, a
column of them in the second; sizes of counters may be in thousands ("Ksector"). `read_report` takes
.ncu-rep files, through NVIDIA's own `ncu_report`.

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

import csv
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.compiler.compile_ptx_and_cubin import BuildKind
from core.errors import TilescopeError
from core.launch import Dim3, Launch, Workload
from core.recording.count_launch import Counted, count
from core.rules.counters import COUNTERS, METRICS, Counters, Counts, counters_of

SOURCE_SUMS: Mapping[str, tuple[str, str]] = {
    "memory_l2_theoretical_sectors_global": ("global", "sectors"),
    "memory_l1_wavefronts_shared": ("shared", "wavefronts"),
}
"""Metrics of the source page, and the sums of our counters that they are."""
_NOTHING: Mapping[str, Mapping[int, float]] = MappingProxyType({})


@dataclass(frozen=True)
class ProfiledLaunch:
    """One launch of a profile.

    `number` is its ID there. `grid`, `block` and `capability` ("9.0") are None and "" where the
    profile does not say. `metrics` are Nsight Compute's by their names, in base units. `by_line`
    has metrics of the source page by the line of `source_name`; only reports have them.
    """

    number: int
    kernel: str
    grid: Dim3 | None
    block: Dim3 | None
    capability: str
    metrics: Mapping[str, float]
    by_line: Mapping[str, Mapping[int, float]] = field(default_factory=lambda: _NOTHING)
    source_name: str = ""

    @property
    def text(self) -> str:
        """The launch in words: "tiled, grid 8 x 8, block 16 x 16"."""
        sizes = [f"grid {self.grid}"] if self.grid else []
        sizes += [f"block {self.block}"] if self.block else []
        return ", ".join([base_name(self.kernel), *sizes])

    def is_of(self, kernel: str) -> bool:
        """Whether it launches a kernel of this name, with its template arguments or without.

        An overload's types do not count, nor do namespaces that a profile leaves out.
        """
        wanted, own = _squeezed(full_name(kernel)), _squeezed(full_name(self.kernel))
        return f"::{wanted}".endswith(f"::{own}") or wanted == base_name(self.kernel)

    def fits(self, launch: Launch) -> bool:
        """Whether grid and block are those of a launch, as far as the profile says."""
        return self.grid in (None, launch.grid) and self.block in (None, launch.block)


def full_name(signature: str) -> str:
    """A kernel's name with template arguments, of "void axpy<float>(float, const float *)"."""
    name = signature.strip().removeprefix("void ").strip()
    depth = 0
    for place, character in enumerate(name):
        depth += (character == "<") - (character == ">")
        if character == "(" and not depth and not name.startswith("(anonymous", place):
            return name[:place].strip()
    return name


def base_name(signature: str) -> str:
    """The bare name: "axpy" of "void ns::axpy<float>(float)"."""
    return full_name(signature).partition("<")[0].rpartition("::")[2].strip()


def _squeezed(name: str) -> str:
    return re.sub(r"\s+", "", name)


def chosen(
    launches: Sequence[ProfiledLaunch], workload: Workload, number: int | None = None
) -> tuple[ProfiledLaunch, int]:
    """The profiled launch that a workload is, and how many more the profile has of it.

    `number` is its ID there; without one it is the first with the kernel, the grid and the block.
    Raises TilescopeError, saying what the profile has, where there is none.
    """
    if number is not None:
        found = [one for one in launches if one.number == number]
        if not found:
            last = max(one.number for one in launches)
            raise TilescopeError(f"The profile has no launch {number}: its IDs end at {last}.")
    else:
        named = [one for one in launches if one.is_of(workload.kernel)]
        found = [one for one in named if one.fits(workload.launch)]
        if not found:
            raise TilescopeError(_missing(named or list(launches), workload, bool(named)))
    one = found[0]
    if not one.is_of(workload.kernel):
        raise TilescopeError(
            f"Launch {one.number} of the profile is {one.text}, and not {workload.kernel}."
        )
    if not one.fits(workload.launch):
        raise TilescopeError(_missing([one], workload, True))
    return one, len(found) - 1


_MOST_NAMED = 6


def _missing(there: Sequence[ProfiledLaunch], workload: Workload, named: bool) -> str:
    names = list(dict.fromkeys(one.text for one in there))
    shown = "; ".join(names[:_MOST_NAMED]) + ("; …" if len(names) > _MOST_NAMED else "")
    asked = workload.kernel
    if named:
        asked += f" with grid {workload.launch.grid} and block {workload.launch.block}"
    return f"The profile has no launch of {asked}; it has {shown}. Give the sizes that it ran with."


_MOST_BYTES = 256 << 20
_PREFIXES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SCALED = re.compile(r"([KMGT])(?=inst|sector|request|byte|cycle)")
_NAME, _VALUE, _UNIT = "Metric Name", "Metric Value", "Metric Unit"
_METRIC = re.compile(r"\w+__\w+(\.\w+)*|memory_\w+|inst_executed\w*|thread_inst_executed\w*")


def read_csv(path: Path) -> tuple[ProfiledLaunch, ...]:
    """The launches in a CSV file of ncu; raises TilescopeError where it is none."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise TilescopeError(f"{path} is too large for a profile's CSV.")
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise TilescopeError(f"{path} cannot be read: {error.strerror or error}.") from error
    csv.field_size_limit(1 << 24)
    try:
        rows = list(csv.reader(_table_lines(text), strict=True))
    except csv.Error as error:
        raise TilescopeError(f"{path} is not a CSV file: {error}.") from None
    if rows and rows[0][:1] == ["Kernel Name"]:
        raise TilescopeError(
            f"{path} is the source page: export the metrics with `ncu --import REPORT.ncu-rep "
            "--page raw --csv`, or give the report itself."
        )
    if not rows or "ID" not in rows[0] or "Kernel Name" not in rows[0]:
        raise TilescopeError(
            f"{path} is no CSV of Nsight Compute: write one with `ncu --csv --page raw`."
        )
    heads = rows[0]  # rows of metrics leave out the last columns, which are those of rules
    least = max(heads.index("ID"), heads.index("Kernel Name"))  # less is what a program printed
    table = [
        dict(zip(heads, row, strict=False)) for row in rows[1:] if least < len(row) <= len(heads)
    ]
    launches = _long(table) if _NAME in heads else _wide(table)
    if not launches:
        raise TilescopeError(f"{path} has no launch: profile with `ncu --csv --page raw`.")
    return launches


def _table_lines(text: str) -> Iterator[str]:
    """The lines from the heads on, without what ncu and the program printed around the table."""
    begun = False
    for line in text.splitlines(keepends=True):
        begun = begun or line.lstrip().startswith(('"ID"', "ID,", '"Kernel Name"'))
        if begun and not line.startswith("==") and line.strip():
            yield line


def _wide(table: Sequence[Mapping[str, str]]) -> tuple[ProfiledLaunch, ...]:
    units: Mapping[str, str] = {}
    found = []
    for row in table:
        if not row["ID"].strip().isdecimal():
            units = row
            continue
        metrics = {
            name: value
            for name, text in row.items()
            if _METRIC.fullmatch(name) and (value := _number(text, units.get(name, ""))) is not None
        }
        found.append(_launch_in(row, metrics))
    return tuple(found)


def _long(table: Sequence[Mapping[str, str]]) -> tuple[ProfiledLaunch, ...]:
    metrics: dict[str, dict[str, float]] = {}
    first: dict[str, Mapping[str, str]] = {}
    for row in table:
        number = row["ID"]
        if not number.isdecimal():
            continue
        first.setdefault(number, row)
        value = _number(row.get(_VALUE, ""), row.get(_UNIT, ""))
        if value is not None:
            metrics.setdefault(number, {})[row[_NAME]] = value
    return tuple(_launch_in(row, metrics.get(number, {})) for number, row in first.items())


def _launch_in(row: Mapping[str, str], metrics: Mapping[str, float]) -> ProfiledLaunch:
    return ProfiledLaunch(
        number=int(row["ID"]),
        kernel=row["Kernel Name"],
        grid=_size_in(row.get("Grid Size", "")),
        block=_size_in(row.get("Block Size", "")),
        capability=row.get("CC", ""),
        metrics=metrics,
    )


def _size_in(text: str) -> Dim3 | None:
    """(8, 8, 1) as a size, None where it is none: metrics of that name are one number."""
    numbers = re.fullmatch(r"\(\s*(\d+),\s*(\d+),\s*(\d+)\s*\)", text.strip())
    return None if numbers is None else Dim3(*(int(one) for one in numbers.groups()))


def _number(text: str, unit: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    scaled = _SCALED.match(unit)
    return value * _PREFIXES[scaled[1]] if scaled else value


_NO_READER = (
    "Reading a report needs NVIDIA's ncu_report: `pip install ncu-report` (the extra ncu), or set "
    "PYTHONPATH to the folder extras/python of Nsight Compute; or export the report with "
    "`ncu --import {name} --page raw --csv > FILE.csv`, which needs nothing."
)


def read_report(path: Path) -> tuple[ProfiledLaunch, ...]:
    """The launches in a report; raises TilescopeError where it is none, or nothing reads it."""
    try:
        import ncu_report
    except ImportError:
        raise TilescopeError(_NO_READER.format(name=path.name)) from None
    if not path.is_file():
        raise TilescopeError(f"{path} cannot be read: there is no such file.")
    try:
        context = ncu_report.load_report(str(path))
        actions = [
            action
            for number in range(context.num_ranges())
            for whole in (context.range_by_idx(number),)
            for action in (whole.action_by_idx(place) for place in range(whole.num_actions()))
        ]
        found = tuple(_launch_of(number, action) for number, action in enumerate(actions))
    except Exception as error:  # noqa: BLE001 - it is another's, and says in many ways what is wrong
        raise TilescopeError(
            f"{path.name} is not a report that the installed ncu_report reads: take the one of the "
            f"Nsight Compute that wrote it ({str(error).strip() or type(error).__name__})."
        ) from None
    if not found:
        raise TilescopeError(f"{path.name} is not a report with a launch of a kernel.")
    return found


def _launch_of(number: int, action: Any) -> ProfiledLaunch:
    metrics: dict[str, float] = {}
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        if metric is not None and metric.has_value():
            kind = metric.kind()
            if kind in (metric.ValueKind_ANY, metric.ValueKind_STRING, metric.ValueKind_UNKNOWN):
                continue
            metrics[name] = float(metric.as_double())
    by_line, source = _by_line(action)
    major = metrics.get("device__attribute_compute_capability_major")
    minor = metrics.get("device__attribute_compute_capability_minor")
    return ProfiledLaunch(
        number=number,
        kernel=action.name(action.NameBase_DEMANGLED),
        grid=_size_of(metrics, "grid"),
        block=_size_of(metrics, "block"),
        capability="" if major is None or minor is None else f"{major:.0f}.{minor:.0f}",
        metrics=metrics,
        by_line=by_line,
        source_name=source,
    )


def _size_of(metrics: Mapping[str, float], what: str) -> Dim3 | None:
    sides = [metrics.get(f"launch__{what}_dim_{side}") for side in "xyz"]
    if None in sides:
        return None
    return Dim3(*(int(side) for side in sides if side is not None))


def _by_line(action: Any) -> tuple[Mapping[str, Mapping[int, float]], str]:
    """Metrics of the source page by line, of the file that most of them fall into."""
    found: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    weight: Counter[str] = Counter()
    for name in SOURCE_SUMS:
        metric = action.metric_by_name(name)
        if metric is None or not metric.num_instances():
            continue
        addresses = metric.correlation_ids()
        for place in range(metric.num_instances()):
            where = action.source_info(addresses.as_uint64(place))
            if where is None or not where.file_name():
                continue
            found[where.file_name(), name][int(where.line())] += metric.as_double(place)
            weight[where.file_name()] += 1
    if not weight:
        return {}, ""
    file = weight.most_common(1)[0][0]
    return {name: dict(lines) for (one, name), lines in found.items() if one == file}, file


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
        return read_report(path)
    if path.suffix.lower() in (".csv", ".txt", ".log"):
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
