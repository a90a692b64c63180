"""Traces on disk: one compressed .npz with a JSON header, and every array once."""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, astuple, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import dataclasses_as_json
from core.atomic_files import replacing
from core.compiler.compile_ptx_and_cubin import Build
from core.compiler.cubin import MachineAccess
from core.emulator.address_spaces import LOCAL_WINDOW, SHARED_WINDOW, Region, zeros
from core.emulator.block_record import ChunkRecord, Log
from core.emulator.events import (
    AccessEvent,
    BarrierEvent,
    FaultEvent,
    LandEvent,
    PhaseEvent,
    Printed,
    Span,
    TransferEvent,
)
from core.emulator.geometry import Geometry
from core.emulator.launch_image import Image
from core.errors import TilescopeError
from core.launch import (
    MAX_ARRAY_BYTES,
    Argument,
    ArrayArgument,
    Dim3,
    InlineArgument,
    Launch,
    MatrixLayout,
    Member,
    ScalarArgument,
    Texture,
    Workload,
)
from core.ptx.debug.variables import debug_info
from core.recording.record_launch import RECORD_BYTES, image_of
from core.rules.counters import Count, Counters
from core.tensor_maps import TensorMap
from core.trace import Trace
from core.trace.finding import Finding
from core.trace.program_info import program_info
from core.user_files.sources_and_headers import checked_size, promised

# Arrays by number, each stored once, those of one type end to end.
#
# A record refers to the same arrays again and again: a register's value is what was loaded, and
# what is stored later.


class Pool:
    """Arrays by number, each stored once; arrays of one type lie end to end."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._arrays: list[NDArray[Any]] = []  # kept, so that an id stays that array's

    def add(self, array: NDArray[Any]) -> int:
        """The number of an array. Its shape is kept."""
        number = self._numbers.get(id(array))
        if number is None:
            number = self._numbers[id(array)] = len(self._arrays)
            self._arrays.append(array)
        return number

    def maybe(self, array: NDArray[Any] | None) -> int:
        """The number of an array, -1 for None."""
        return -1 if array is None else self.add(array)

    def columns(self) -> dict[str, NDArray[Any]]:
        """What is written: `data_TYPE`, `which` type each array has, and its shape."""
        types = sorted({a.dtype.str for a in self._arrays})
        found: dict[str, NDArray[Any]] = {
            "types": np.array(types),
            "which": np.array([types.index(a.dtype.str) for a in self._arrays], np.int8),
            "dims": np.array([a.ndim for a in self._arrays], np.int8),
            "shapes": np.array([n for a in self._arrays for n in a.shape], np.int64),
        }
        for i, name in enumerate(types):
            parts = [a.reshape(-1) for a in self._arrays if a.dtype.str == name]
            found[f"data_{i}"] = np.concatenate(parts)
        return found


class Arrays:
    """Arrays by number, read back from the pool's columns."""

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        self._arrays: list[NDArray[Any]] = []
        data = [columns[f"data_{i}"] for i in range(len(columns["types"]))]
        at = [0] * len(data)
        shapes = columns["shapes"].tolist()
        place = 0
        for which, dims in zip(columns["which"].tolist(), columns["dims"].tolist(), strict=True):
            shape = shapes[place : place + dims]
            place += dims
            size = int(np.prod(shape, dtype=np.int64))
            self._arrays.append(data[which][at[which] : at[which] + size].reshape(shape))
            at[which] += size

    def __getitem__(self, number: int) -> NDArray[Any]:
        return self._arrays[number]

    def maybe(self, number: int) -> Any:
        """The array, or None for -1."""
        return None if number < 0 else self._arrays[number]


# Whether a saved record still means the same: where buffers lie, and how instructions count.


def layout_header(image: Image) -> dict[str, Any]:
    """What a record's addresses and instruction numbers mean."""
    texts = "\n".join(instruction.text for instruction in image.module.instructions)
    return {
        "buffers": [[region.name, region.base] for region in image.memory.regions],
        "code": [len(image.module.instructions), zlib.crc32(texts.encode())],
    }


def _is_laid_out_as(saved: Mapping[str, Any], image: Image) -> bool:
    """Whether buffers and code are here as they were; a heap comes behind them on demand."""
    here = layout_header(image)
    buffers = saved["buffers"][: len(here["buffers"])]
    return bool(saved["code"] == here["code"] and buffers == here["buffers"])


# What a saved trace says of itself, as plain data; arrays stand in it as numbers of the pool.


_MOST_BUFFER_BYTES = 16 << 20
_PLAIN = (  # of a workload
    *("title", "source", "source_name", "kernel"),
    *("flops", "rung", "arithmetic", "architecture"),
)
_TABLES = ("defines", "parameters", "headers")
_SELDOM = ("start", "pointers", "is_own")  # of an array: written where they are not the default


def _trace_header(trace: Trace, pool: Pool) -> dict[str, Any]:
    """All of a trace, its arrays put into the pool.

    Buffers of more than 16 MB in all are left out: stepping does not need them, and random numbers
    do not compress.
    """
    return {
        "workload": _workload(trace.workload, pool),
        "build": _build(trace.build, trace.image.function.name),
        "layout": layout_header(trace.image),
        "counters": _counters(trace.counters),
        "findings": dataclasses_as_json.plain(trace.findings),
        "complete": trace.complete,
        "note": trace.note,
        "cut": trace.cut,
        "checked": trace.checked,
        "prints": dataclasses_as_json.plain(trace.prints),
        "issued": trace.instructions_issued,
        "outputs": {name: pool.add(data) for name, data in _kept(trace.outputs).items()},
        "records": [_record(record, pool) for record in trace.records],
    }


def _build(build: Build, kernel: str) -> dict[str, Any]:
    accesses = build.accesses.get(kernel, ())
    return {
        **dataclasses_as_json.plain(build),
        "accesses": {kernel: [astuple(access) for access in accesses]},
    }


def _kept(arrays: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    total = sum(array.nbytes for array in arrays.values())
    return arrays if total <= _MOST_BUFFER_BYTES else {}


def _workload(workload: Workload, pool: Pool) -> dict[str, Any]:
    launch = workload.launch
    kept = _kept({a.name: a.data for a in launch.arrays})
    return {
        **{name: getattr(workload, name) for name in _PLAIN},
        **{name: dict(getattr(workload, name)) for name in _TABLES},
        "layout": None if workload.layout is None else asdict(workload.layout),
        "grid": asdict(launch.grid),
        "block": asdict(launch.block),
        "cluster": None if launch.cluster is None else asdict(launch.cluster),
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
        "written": argument.written,
        "map": None if argument.map is None else argument.map.encoded().hex(),
        "map_is_stored": argument.map_is_stored,
        **{name: getattr(argument, name) for name in _SELDOM if getattr(argument, name)},
        **({"texture": asdict(argument.texture)} if argument.texture is not None else {}),
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


class _Rows:
    """How events of one kind stand in the header: a list each, an item for each of `columns`.

    A column is the name of a field; `#` behind it: an array; `?`: an array or None; `*`: arrays;
    `@`: a region, which takes two items; `+`: spans.
    """

    def __init__(self, kind: Callable[..., Any], columns: str) -> None:
        self._kind = kind
        self._columns = [(c.rstrip("#?*@+"), c[-1]) for c in columns.split()]

    def written(self, event: Any, pool: Pool) -> list[Any]:
        """An event as plain data."""
        row: list[Any] = []
        for name, how in self._columns:
            value = getattr(event, name)
            if how == "#":
                row.append(pool.add(value))
            elif how == "?":
                row.append(pool.maybe(value))
            elif how == "*":
                row.append([pool.add(v) for v in value])
            elif how == "@":
                row += [value.name, _space(value)]
            elif how == "+":
                row.append([_SPANS.written(span, pool) for span in value])
            else:
                row.append(value)
        return row

    def read(self, row: Iterable[Any], arrays: Arrays, regions: _Regions) -> Any:
        """The event again."""
        items, found = iter(row), dict[str, Any]()
        for (name, how), item in zip(self._columns, items, strict=False):
            if how == "#":
                found[name] = arrays[item]
            elif how == "?":
                found[name] = arrays.maybe(item)
            elif how == "*":
                found[name] = tuple(arrays[v] for v in item)
            elif how == "@":
                found[name] = regions.region(item, next(items))
            elif how == "+":
                found[name] = tuple(_SPANS.read(span, arrays, regions) for span in item)
            else:
                found[name] = tuple(item) if isinstance(item, list) else item
        return self._kind(**found)


_SPANS = _Rows(Span, "region@ place# width swizzle row? number?")
_FAULTS = _Rows(
    partial(FaultEvent, region=None), "tick pc kind lanes# address# width site access values*"
)
_EVENTS = {  # by the name of the record's list
    "accesses": _Rows(AccessEvent, "tick pc kind region@ width site base# shift mask? values*"),
    "barriers": _Rows(BarrierEvent, "tick pc mask? released# met?"),
    "transfers": _Rows(
        TransferEvent,
        "tick pc site kind lanes# reads+ writes+ agent number barrier outside? is_multicast homes "
        "is_update",
    ),
    "landings": _Rows(LandEvent, "tick number data#"),
    "phases": _Rows(PhaseEvent, "kind places# lanes# tick pc is_relaxed site"),
}
_COLUMNS = ("ticks", "firsts", "ends", "depths")


def _record(record: ChunkRecord, pool: Pool) -> dict[str, Any]:
    return {
        "blocks": pool.add(record.geometry.blocks),
        **{name: pool.add(np.array(getattr(record, name), np.int64)) for name in _COLUMNS},
        "masks": pool.add(np.array([pool.maybe(m) for m in record.masks], np.int64)),
        "faults": [
            [place, *_FAULTS.written(fault, pool)]
            for place, faults in record.faults.items()
            for fault in faults
        ],
        **{
            name: [rows.written(event, pool) for event in getattr(record, name)]
            for name, rows in _EVENTS.items()
        },
        "values": [
            [
                function,
                depth,
                slot,
                pool.add(np.array([tick for tick, _ in log], np.int64)),
                pool.add(np.array([pool.add(value) for _, value in log], np.int64)),
            ]
            for (function, depth), logs in record.values.items()
            for slot, log in logs.items()
        ],
        "stack_bases": [[*key, base] for key, base in record.stack_bases.items()],
        "guarded": [[tick, pool.add(mask)] for tick, mask in record.guarded.items()],
    }


def _space(region: Region) -> str:
    """Its space; of another block's shared memory also where it begins, which its name leaves."""
    return f"cluster@{region.base}" if region.space == "cluster" else region.space


# From a saved header back to a trace: the module is parsed again, the record read as it was.


def trace_of(header: Mapping[str, Any], arrays: Arrays) -> Trace:
    """The trace that a header describes."""
    workload = _read_workload(header["workload"], arrays)
    targets, met = header["build"].get("ways", ((), ()))
    # An earlier program knew where lanes meet, but not where they begin to part.
    pairs = [one if isinstance(one, list) else (one, 0) for one in met]
    made = {**header["build"], "ways": (targets, pairs)}
    build = dataclasses_as_json.typed(Build, made, MachineAccess)
    if not build.options:  # no compiler of ours made it
        workload = replace(workload, ptx=build.ptx)
    image = image_of(workload, build)
    regions = _Regions(image)
    records = tuple(_read_record(r, arrays, regions, image) for r in header["records"])
    return Trace(
        workload,
        build,
        {name: arrays[number] for name, number in header["outputs"].items()},
        dataclasses_as_json.typed(Counters, header["counters"]),
        dataclasses_as_json.typed(tuple[Finding, ...], header["findings"]),
        header["complete"],
        header["note"],
        header["issued"],
        program_info(image, workload, debug_info(image.module)),
        image,
        records,
        checked=header["checked"],
        prints=dataclasses_as_json.typed(tuple[Printed, ...], header.get("prints", [])),
        cut=header.get("cut", ""),
    )


def _read_workload(plain: Mapping[str, Any], arrays: Arrays) -> Workload:
    """The workload, without the function that computes the expected outputs."""
    launch = Launch(
        Dim3(**plain["grid"]),
        Dim3(**plain["block"]),
        tuple(_read_argument(a, arrays) for a in plain["arguments"]),
        plain["shared_bytes"],
        tuple(_read_argument(a, arrays) for a in plain.get("symbols", ())),
        cluster=Dim3(**plain["cluster"]) if plain.get("cluster") else None,
    )
    known: dict[str, Any] = {name: plain[name] for name in _PLAIN if name in plain}
    known |= {name: MappingProxyType(plain.get(name, {})) for name in _TABLES}
    layout = None if plain["layout"] is None else MatrixLayout(**plain["layout"])
    return Workload(launch=launch, layout=layout, **known)


def _read_argument(plain: Mapping[str, Any], arrays: Arrays) -> Argument:
    member = Member(**plain["member"]) if "member" in plain else None
    if "value" in plain:
        return ScalarArgument(plain["name"], arrays[plain["value"]][0], member)
    if "inline" in plain and member is not None:
        return InlineArgument(plain["name"], arrays[plain["inline"]], member)
    data: NDArray[Any] = (
        np.zeros(plain["shape"], plain["dtype"]) if plain["data"] < 0 else arrays[plain["data"]]
    )
    encoded = plain.get("map")
    tensor = None if encoded is None else TensorMap.decoded(bytes.fromhex(encoded))
    texture = Texture(**plain["texture"]) if "texture" in plain else None
    return ArrayArgument(
        plain["name"],
        data,
        plain["role"],
        member,
        plain.get("written"),
        tensor,
        texture,
        map_is_stored=plain.get("map_is_stored", False),
        **{name: plain[name] for name in _SELDOM if name in plain},
    )


class _Regions:
    """The regions that accesses name; shared and local memory without their bytes."""

    def __init__(self, image: Image) -> None:
        self._found = {(r.name, r.space): r for r in image.memory.regions}
        self._windows = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}

    def region(self, name: str, space: str) -> Region:
        key = (name, space)
        if key not in self._found:
            plain, _, start = space.partition("@")
            base = int(start) if start else self._windows.get(plain, 0)
            self._found[key] = Region(name, plain, base, 0, zeros(0))
        return self._found[key]


def _read_record(
    plain: Mapping[str, Any], arrays: Arrays, regions: _Regions, image: Image
) -> ChunkRecord:
    launch = image.launch
    blocks = arrays[plain["blocks"]]
    record = ChunkRecord(Geometry(launch.grid, launch.block, blocks, image.cluster))
    for name in _COLUMNS:
        getattr(record, name).extend(arrays[plain[name]].tolist())
    record.masks.extend(arrays.maybe(number) for number in arrays[plain["masks"]].tolist())
    for place, *row in plain.get("faults", ()):
        record.faults.setdefault(place, []).append(_FAULTS.read(row, arrays, regions))
    for name, rows in _EVENTS.items():
        events = (rows.read(row, arrays, regions) for row in plain.get(name, ()))
        getattr(record, name).extend(events)
    for function, depth, slot, ticks, numbers in plain["values"]:
        log: Log = [
            (tick, arrays[number])
            for tick, number in zip(arrays[ticks].tolist(), arrays[numbers].tolist(), strict=True)
        ]
        record.values.setdefault((function, depth), {})[slot] = log
    for function, depth, base in plain["stack_bases"]:
        record.stack_bases[(function, depth)] = base
    for tick, number in plain.get("guarded", ()):  # an earlier program did not note them
        record.guarded[tick] = arrays[number]
    return record


FORMAT = "tilescope trace"
VERSION = 4
"""4 has asynchronous operations, mbarriers and clusters.

3 has none of these, and is read where the kernel needs none.
"""
MOST_UNPACKED = 2 * RECORD_BYTES  # bytes of all arrays: the record's, the buffers' and the header's
MOST_HEADER, MOST_ARRAYS = 64 << 20, 1 << 22  # bytes, and arrays that a record refers to
_OLDEST = 3
_AGAIN = "record it again"


def save_trace(trace: Trace, path: Path) -> None:
    """Writes a trace. Raises `TilescopeError` where the file cannot be written."""
    pool = Pool()
    header = {"format": FORMAT, "version": VERSION, **_trace_header(trace, pool)}
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with replacing(path) as file:
        np.savez_compressed(file, header=text, **pool.columns())  # type: ignore[arg-type]


def load_trace(path: Path) -> Trace:
    """Reads a trace, which steps as it did when it was saved.

    Raises `TilescopeError` for a file that is missing, is not a trace, is damaged, would take more
    memory than any record may have, or is of another version.
    """
    try:
        columns = _columns(path)
        header = json.loads(columns.pop("header").tobytes())
        if header["format"] != FORMAT:
            raise KeyError(FORMAT)
        version = header.get("version")
        if version not in range(_OLDEST, VERSION + 1):
            newer = isinstance(version, int) and version > VERSION
            what = "open it with a newer Tilescope" if newer else _AGAIN
            raise _other_version(path, version, what)
        _must_fit(path, header)
        trace = trace_of(header, Arrays(columns))
        if version < VERSION and _is_asynchronous(trace.image):
            raise _other_version(path, version, _AGAIN)
        if not _is_laid_out_as(header["layout"], trace.image):
            raise TilescopeError(
                f"{path} comes from a Tilescope with another layout of memory or code: {_AGAIN}."
            )
    except TilescopeError:
        raise
    except Exception:  # noqa: BLE001 - damaged bytes may lead anywhere
        raise TilescopeError(
            f"{path} is not a trace saved by Tilescope, or it is damaged."
        ) from None
    return trace


def _is_asynchronous(image: Image) -> bool:
    """Whether its kernel has mbarriers, bulk copies, products of warpgroups, or clusters."""
    used = {i.opcode for i in image.module.instructions}
    bulk = any(i.opcode == "cp" and "bulk" in i.modifiers for i in image.module.instructions)
    return bool(used & {"mbarrier", "wgmma"}) or bulk or image.cluster.count > 1


def _columns(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of the file by name, read-only; their sizes are seen before they are unpacked."""
    checked_size(path, MOST_UNPACKED)
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
        sizes = {name: entry.file_size for name, entry in entries.items()}
        if sum(sizes.values()) > MOST_UNPACKED or sizes["header"] > MOST_HEADER:
            raise _too_much(path)
        found = {}
        for name, entry in entries.items():
            raw = archive.read(entry)  # which compares its checksum
            file = io.BytesIO(raw)
            shape, is_fortran, dtype = promised(file)
            data = np.frombuffer(raw, dtype, offset=file.tell())
            found[name] = data.reshape(shape, order="F" if is_fortran else "C")
        if len(found["which"]) > MOST_ARRAYS:
            raise _too_much(path)
        return found


def _must_fit(path: Path, header: Mapping[str, Any]) -> None:
    """TilescopeError where the launch has too large arrays, which need not be in the file."""
    arrays = [a for a in header["workload"]["arguments"] if "shape" in a]
    total = sum(math.prod(a["shape"]) * np.dtype(a["dtype"]).itemsize for a in arrays)
    if total > MAX_ARRAY_BYTES:
        raise _too_much(path)


def _too_much(path: Path) -> TilescopeError:
    return TilescopeError(
        f"{path} would take more memory than a record may have: record fewer blocks, and save that."
    )


def _other_version(path: Path, version: object, what_to_do: str) -> TilescopeError:
    return TilescopeError(
        f"{path} was saved in version {version} of the format; this program reads version "
        f"{VERSION}: {what_to_do}."
    )
