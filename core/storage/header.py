"""What a saved trace says of itself, as plain data; arrays stand in it as numbers of the pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.analysis.counters import Count, Counters
from core.cuda.compiler import Build
from core.emulator.record import ChunkRecord
from core.launch import Argument, InlineArgument, ScalarArgument, Workload
from core.storage.layout import layout_header
from core.storage.pool import Pool
from core.trace import Trace

_MOST_BUFFER_BYTES = 16 << 20


def trace_header(trace: Trace, pool: Pool) -> dict[str, Any]:
    """All of a trace, its arrays put into the pool.

    Buffers of more than 16 MB in all are left out: stepping does not need them, and random numbers
    do not compress.
    """
    return {
        "workload": _workload(trace.workload, pool),
        "build": _build(trace.build),
        "layout": layout_header(trace.image),
        "counters": _counters(trace.counters),
        "findings": [asdict(finding) for finding in trace.findings],
        "complete": trace.complete,
        "note": trace.note,
        "checked": trace.checked,
        "prints": [asdict(printed) for printed in trace.prints],
        "issued": trace.instructions_issued,
        "outputs": {name: pool.add(data) for name, data in _kept(trace.outputs).items()},
        "records": [_record(record, pool) for record in trace.records],
    }


def _build(build: Build) -> dict[str, Any]:
    plain = ("kind", "source", "source_name", "options", "architecture", "ptx", "entries")
    return {
        **{name: getattr(build, name) for name in plain},
        "defines": dict(build.defines),
        "instances": dict(build.instances),
        "diagnostics": [asdict(diagnostic) for diagnostic in build.diagnostics],
    }


def _kept(arrays: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    total = sum(array.nbytes for array in arrays.values())
    return arrays if total <= _MOST_BUFFER_BYTES else {}


def _workload(workload: Workload, pool: Pool) -> dict[str, Any]:
    launch = workload.launch
    kept = _kept({a.name: a.data for a in launch.arrays})
    return {
        **{name: getattr(workload, name) for name in ("title", "source", "source_name", "kernel")},
        "defines": dict(workload.defines),
        "headers": dict(workload.headers),
        "parameters": dict(workload.parameters),
        "layout": None if workload.layout is None else asdict(workload.layout),
        "flops": workload.flops,
        "rung": workload.rung,
        "arithmetic": workload.arithmetic,
        "grid": asdict(launch.grid),
        "block": asdict(launch.block),
        "shared_bytes": launch.shared_bytes,
        "arguments": [_argument(a, kept, pool) for a in launch.arguments],
        "symbols": [_argument(a, kept, pool) for a in launch.symbols],
    }


def _argument(argument: Argument, kept: Mapping[str, Any], pool: Pool) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": argument.name}
    if argument.member is not None:
        plain["member"] = asdict(argument.member)
    if isinstance(argument, ScalarArgument):
        return {**plain, "value": pool.add(np.array([argument.value]))}
    if isinstance(argument, InlineArgument):
        return {**plain, "inline": pool.add(argument.value)}
    return {
        **plain,
        "role": argument.role,
        "data": pool.add(argument.data) if argument.name in kept else -1,
        "shape": argument.data.shape,
        "dtype": argument.data.dtype.str,
    }


def _counters(counters: Counters) -> dict[str, Any]:
    def plain(counts: Mapping[str, Count]) -> dict[str, list[int]]:
        return {name: [int(c.value), int(c.ideal)] for name, c in counts.items()}

    return {
        "totals": plain(counters.totals),
        "by_array": {name: plain(counts) for name, counts in counters.by_array.items()},
        "by_line": {str(line): plain(counts) for line, counts in counters.by_line.items()},
    }


def _record(record: ChunkRecord, pool: Pool) -> dict[str, Any]:
    columns = ("ticks", "firsts", "ends", "depths")
    return {
        "blocks": pool.add(record.geometry.blocks),
        **{name: pool.add(np.array(getattr(record, name), np.int64)) for name in columns},
        "masks": pool.add(np.array([pool.maybe(m) for m in record.masks], np.int64)),
        "accesses": [
            [e.tick, e.pc, e.kind, e.region.name, e.region.space, e.width, e.site,
             pool.add(e.base), e.shift, pool.maybe(e.mask), [pool.add(v) for v in e.values]]
            for e in record.accesses
        ],
        "faults": [
            [place, f.tick, f.pc, f.kind, pool.add(f.lanes), pool.add(f.address), f.width,
             f.site, f.access, [pool.add(v) for v in f.values]]
            for place, faults in record.faults.items()
            for f in faults
        ],
        "barriers": [
            [e.tick, e.pc, pool.maybe(e.mask), pool.add(e.released), pool.maybe(e.met)]
            for e in record.barriers
        ],
        "values": [
            [function, depth, slot, pool.add(np.array([tick for tick, _ in log], np.int64)),
             pool.add(np.array([pool.add(value) for _, value in log], np.int64))]
            for (function, depth), logs in record.values.items()
            for slot, log in logs.items()
        ],
        "stack_bases": [[*key, base] for key, base in record.stack_bases.items()],
    }  # fmt: skip
