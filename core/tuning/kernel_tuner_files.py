"""Files of kernel_tuner: its cache (https://kerneltuner.github.io, "cache files"), and T4 results.

The cache is one JSON object: what was tuned, and under `cache` an entry a configuration, named
by its values with commas between. Times are milliseconds; one that failed has the name of an error
for its time. T4 is the results schema of the autotuning community, version 1.0.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.atomic_files import replace_file
from core.errors import TilescopeError

OBJECTIVE = "time"
_T4_VERSION = "1.0.0"
# Failures of a sweep (`core.gpu.sweep.FAILURES`) as kernel_tuner and T4 have them.
_ERRORS = {
    "compile": ("CompilationFailedConfig", "compile"),
    "refused": ("InvalidConfig", "constraints"),
}
_OTHER_ERROR = ("RuntimeFailedConfig", "runtime")
_ERROR_NAMES = ("ErrorConfig", "InvalidConfig", "CompilationFailedConfig", "RuntimeFailedConfig")


@dataclass(frozen=True)
class Entry:
    """One configuration: the median time and all of them in ms, or why there is none.

    `failure` is a key of `core.gpu.sweep.FAILURES`, "" where it ran. `benchmark_ms` is how long
    measuring took. `further` are other figures by name, such as "GFLOP/s".
    """

    configuration: Mapping[str, int]
    time_ms: float | None
    times_ms: tuple[float, ...] = ()
    failure: str = ""
    benchmark_ms: float = 0.0
    timestamp: str = ""
    further: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """As kernel_tuner names it: "64,128,8"."""
        return ",".join(str(value) for value in self.configuration.values())


@dataclass(frozen=True)
class Cache:
    """What a cache file holds."""

    device: str
    kernel: str
    problem_size: tuple[int, ...]
    values: Mapping[str, Sequence[int]]
    entries: tuple[Entry, ...]

    def must_be_of(self, other: Cache) -> None:
        """Raises TilescopeError where the other was tuned for something else."""
        for name, mine, theirs in (
            ("device", self.device, other.device),
            ("kernel", self.kernel, other.kernel),
            ("problem size", self.problem_size, other.problem_size),
            ("parameters", tuple(self.values), tuple(other.values)),
        ):
            if mine != theirs:
                raise TilescopeError(
                    f"The cache file is of another {name}, {mine} and not {theirs}: name another "
                    "file."
                )


def write_cache(path: Path, cache: Cache) -> None:
    """Writes a file that kernel_tuner reads and goes on from; raises TilescopeError."""
    head = {
        "device_name": cache.device,
        "kernel_name": cache.kernel,
        "problem_size": list(cache.problem_size),
        "tune_params_keys": list(cache.values),
        "tune_params": {name: list(values) for name, values in cache.values.items()},
        "objective": OBJECTIVE,
    }
    lines = [json.dumps(head, indent=0)[:-2] + ',\n"cache": {']
    rows = [f"{json.dumps(one.key)}: {json.dumps(_row(one))}" for one in cache.entries]
    lines.append(",\n".join(rows) + "}\n}")
    replace_file(path, "\n".join(lines))


def _row(one: Entry) -> dict[str, Any]:
    time: float | str = one.time_ms if one.time_ms is not None else _error(one)[0]
    return {
        **one.configuration,
        OBJECTIVE: time,
        "times": list(one.times_ms),
        **one.further,
        "compile_time": 0,
        "verification_time": 0,
        "benchmark_time": one.benchmark_ms,
        "strategy_time": 0,
        "framework_time": 0,
        "timestamp": one.timestamp,
    }


def _error(one: Entry) -> tuple[str, str]:
    return _ERRORS.get(one.failure, _OTHER_ERROR)


def read_cache(path: Path) -> Cache:
    """Reads a cache file, also one that is still open; TilescopeError where it is none."""
    try:
        text = path.read_text(encoding="utf-8").rstrip()
    except (OSError, UnicodeDecodeError) as error:
        raise TilescopeError(f"{path} cannot be read: {error}.") from error
    if text.endswith(","):  # kernel_tuner is writing it, or was stopped
        text = text[:-1] + "}\n}"
    elif text.endswith('"cache": {'):
        text += "}\n}"
    try:
        data = json.loads(text)
        names = [str(name) for name in data["tune_params_keys"]]
        size = data.get("problem_size", ())
        return Cache(
            str(data["device_name"]),
            str(data["kernel_name"]),
            tuple(size if isinstance(size, list) else [size]),
            {name: tuple(data["tune_params"][name]) for name in names},
            tuple(_entry(row, names) for row in data["cache"].values()),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TilescopeError(
            f"{path} is not a cache file of kernel_tuner ({type(error).__name__}: {error})."
        ) from None


_KNOWN = ("times", "benchmark_time", "compile_time", "verification_time", "strategy_time")


def _entry(row: Mapping[str, Any], names: Sequence[str]) -> Entry:
    configuration = {name: row[name] for name in names}
    time = row.get(OBJECTIVE)
    failed = next((v for v in row.values() if isinstance(v, str) and v in _ERROR_NAMES), "")
    if not failed and not isinstance(time, (int, float)):
        failed = "RuntimeFailedConfig"
    kinds = {name: kind for kind, (name, _) in _ERRORS.items()}
    further = {
        name: float(value)
        for name, value in row.items()
        if isinstance(value, (int, float))
        and name not in (*names, *_KNOWN, OBJECTIVE, "framework_time")
    }
    return Entry(
        configuration,
        None if failed else float(time or 0),
        tuple(float(value) for value in row.get("times") or ()),
        kinds.get(failed, "driver") if failed else "",
        float(row.get("benchmark_time") or 0),
        str(row.get("timestamp", "")),
        further,
    )


def write_t4(path: Path, cache: Cache) -> None:
    """Writes the results by the T4 schema; raises TilescopeError."""
    results = [_t4(one) for one in cache.entries]
    data = {
        "results": results,
        "schema_version": _T4_VERSION,
        "metadata": {"timeunit": "milliseconds", "device": cache.device, "kernel": cache.kernel},
    }
    replace_file(path, json.dumps(data, indent=1))


def _t4(one: Entry) -> dict[str, Any]:
    measured: list[dict[str, Any]] = []
    if one.time_ms is not None:
        measured.append({"name": OBJECTIVE, "value": one.time_ms, "unit": "ms"})
    measured += [{"name": name, "value": v, "unit": ""} for name, v in one.further.items()]
    return {
        "timestamp": one.timestamp,
        "configuration": dict(one.configuration),
        "times": {
            "compilation_time": 0,
            "runtimes": list(one.times_ms),
            "framework": 0,
            "search_algorithm": 0,
            "validation": 0,
            "benchmark": one.benchmark_ms,
        },
        "invalidity": "correct" if one.time_ms is not None else _error(one)[1],
        "correctness": int(one.time_ms is not None),
        "measurements": measured,
        "objectives": [OBJECTIVE],
    }
