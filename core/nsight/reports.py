"""Reports of Nsight Compute (.ncu-rep), through NVIDIA's own `ncu_report`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.errors import TilescopeError
from core.launch import Dim3
from core.nsight.profile import SOURCE_SUMS, ProfiledLaunch

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
        found = tuple(_launch(number, action) for number, action in enumerate(actions))
    except Exception as error:  # noqa: BLE001 - it is another's, and says in many ways what is wrong
        raise TilescopeError(
            f"{path.name} is not a report that the installed ncu_report reads: take the one of the "
            f"Nsight Compute that wrote it ({str(error).strip() or type(error).__name__})."
        ) from None
    if not found:
        raise TilescopeError(f"{path.name} is not a report with a launch of a kernel.")
    return found


def _launch(number: int, action: Any) -> ProfiledLaunch:
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
        grid=_size(metrics, "grid"),
        block=_size(metrics, "block"),
        capability="" if major is None or minor is None else f"{major:.0f}.{minor:.0f}",
        metrics=metrics,
        by_line=by_line,
        source_name=source,
    )


def _size(metrics: Mapping[str, float], what: str) -> Dim3 | None:
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
