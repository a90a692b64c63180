"""From a saved header back to a trace: the module is parsed again, the record read as it was."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.analysis.counters import Count, Counters
from core.analysis.findings import Finding
from core.cuda.compiler import Build, Diagnostic, find_entry
from core.cuda.modules import module_of
from core.emulator.events import AccessEvent, BarrierEvent, FaultEvent
from core.emulator.groups import Geometry
from core.emulator.host_calls import Printed
from core.emulator.image import Image
from core.emulator.memory import LOCAL_WINDOW, SHARED_WINDOW, Region, zeros
from core.emulator.record import ChunkRecord, Log
from core.launch import (
    Argument,
    ArrayArgument,
    Dim3,
    InlineArgument,
    Launch,
    MatrixLayout,
    Member,
    ScalarArgument,
    Workload,
)
from core.ptx.dwarf import debug_info
from core.recording import watched_registers
from core.storage.pool import Arrays
from core.trace import Trace
from core.trace.program_info import program_info


def trace_of(header: Mapping[str, Any], arrays: Arrays) -> Trace:
    """The trace that a header describes."""
    workload = _workload(header["workload"], arrays)
    build = _build(header["build"])
    entry = find_entry(build, workload.kernel)
    module = module_of(build, entry)
    debug = debug_info(module)
    image = Image(module, entry, workload.launch, lambda name: watched_registers(debug, name))
    regions = _Regions(image)
    records = tuple(_record(r, arrays, regions, workload.launch) for r in header["records"])
    return Trace(
        workload,
        build,
        {name: arrays[number] for name, number in header["outputs"].items()},
        _counters(header["counters"]),
        tuple(Finding(**{**f, "index": tuple(f["index"])}) for f in header["findings"]),
        header["complete"],
        header["note"],
        header["issued"],
        program_info(image, workload, debug),
        image,
        records,
        checked=header["checked"],
        prints=tuple(Printed(**p) for p in header.get("prints", ())),
    )


def _build(plain: Mapping[str, Any]) -> Build:
    return Build(
        kind=plain["kind"],
        source=plain["source"],
        source_name=plain["source_name"],
        defines=MappingProxyType(plain["defines"]),
        options=tuple(plain["options"]),
        architecture=plain["architecture"],
        ptx=plain["ptx"],
        diagnostics=tuple(Diagnostic(**d) for d in plain["diagnostics"]),
        entries=tuple(plain["entries"]),
        instances=MappingProxyType(plain.get("instances", {})),
    )


def _workload(plain: Mapping[str, Any], arrays: Arrays) -> Workload:
    """The workload; what its outputs should be is not known any more."""
    launch = Launch(
        Dim3(**plain["grid"]),
        Dim3(**plain["block"]),
        tuple(_argument(a, arrays) for a in plain["arguments"]),
        plain["shared_bytes"],
        tuple(_argument(a, arrays) for a in plain.get("symbols", ())),
    )
    return Workload(
        title=plain["title"],
        source=plain["source"],
        source_name=plain["source_name"],
        kernel=plain["kernel"],
        launch=launch,
        defines=MappingProxyType(plain["defines"]),
        parameters=MappingProxyType(plain["parameters"]),
        layout=None if plain["layout"] is None else MatrixLayout(**plain["layout"]),
        flops=plain["flops"],
        rung=plain["rung"],
        arithmetic=plain.get("arithmetic", "float32"),
        headers=MappingProxyType(plain.get("headers", {})),
    )


def _argument(plain: Mapping[str, Any], arrays: Arrays) -> Argument:
    member = Member(**plain["member"]) if "member" in plain else None
    if "value" in plain:
        return ScalarArgument(plain["name"], arrays[plain["value"]][0], member)
    if "inline" in plain and member is not None:
        return InlineArgument(plain["name"], arrays[plain["inline"]], member)
    data: NDArray[Any] = (
        np.zeros(plain["shape"], plain["dtype"]) if plain["data"] < 0 else arrays[plain["data"]]
    )
    return ArrayArgument(plain["name"], data, plain["role"], member)


def _counters(plain: Mapping[str, Any]) -> Counters:
    def counts(row: Mapping[str, list[int]]) -> dict[str, Count]:
        return {name: Count(*values) for name, values in row.items()}

    return Counters(
        counts(plain["totals"]),
        {name: counts(row) for name, row in plain["by_array"].items()},
        {int(line): counts(row) for line, row in plain["by_line"].items()},
    )


class _Regions:
    """The regions that accesses name; shared and local memory without their bytes."""

    def __init__(self, image: Image) -> None:
        self._found = {(r.name, r.space): r for r in image.memory.regions}
        self._windows = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}

    def region(self, name: str, space: str) -> Region:
        key = (name, space)
        if key not in self._found:
            self._found[key] = Region(name, space, self._windows.get(space, 0), 0, zeros(0))
        return self._found[key]


def _record(
    plain: Mapping[str, Any], arrays: Arrays, regions: _Regions, launch: Launch
) -> ChunkRecord:
    record = ChunkRecord(Geometry(launch.grid, launch.block, arrays[plain["blocks"]]))
    for name in ("ticks", "firsts", "ends", "depths"):
        getattr(record, name).extend(arrays[plain[name]].tolist())
    record.masks.extend(arrays.maybe(number) for number in arrays[plain["masks"]].tolist())
    for tick, pc, kind, name, space, width, site, base, shift, mask, values in plain["accesses"]:
        record.accesses.append(
            AccessEvent(
                tick, pc, kind, regions.region(name, space), width, arrays[base],
                arrays.maybe(mask), tuple(arrays[v] for v in values), site, shift,
            )
        )  # fmt: skip
    for place, tick, pc, kind, lanes, address, width, site, access, values in plain.get(
        "faults", ()
    ):
        fault = FaultEvent(
            tick, pc, kind, arrays[lanes], arrays[address], width, None, site=site, access=access,
            values=tuple(arrays[v] for v in values),
        )  # fmt: skip
        record.faults.setdefault(place, []).append(fault)
    for tick, pc, mask, released, met in plain["barriers"]:
        record.barriers.append(
            BarrierEvent(tick, pc, arrays.maybe(mask), arrays[released], arrays.maybe(met))
        )
    for function, depth, slot, ticks, numbers in plain["values"]:
        log: Log = [
            (tick, arrays[number])
            for tick, number in zip(arrays[ticks].tolist(), arrays[numbers].tolist(), strict=True)
        ]
        record.values.setdefault((function, depth), {})[slot] = log
    for function, depth, base in plain["stack_bases"]:
        record.stack_bases[(function, depth)] = base
    return record
