"""The public API, which an installed wheel offers as `import tilescope`.

    import numpy as np
    import tilescope

    t = tilescope.trace("saxpy.cu", grid=8, block=128, x=np.ones(1000, np.float32))
    t.counters["global_ld_sectors"], t.findings, t.accesses()

`docs/api.md` explains it. What stands in `__all__` keeps its names and meanings from one minor
version to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from core.compiler.compile_ptx_and_cubin import BuildKind
from core.errors import ArgumentError, ParameterError, TilescopeError
from core.guessing.launch_guess import completed
from core.guessing.trial_runs import fitted
from core.ladder import load_ladder
from core.ladder.rung import DEFAULT_SEED
from core.launch import Argument, ArrayArgument, InlineArgument, Launch, Workload
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace
from core.report import html_table, report_of, safe, warp_svg, write_report
from core.rules.counters import Counts
from core.source.cuda_in_python import SOURCES
from core.trace import Trace
from core.trace.access import Access
from core.trace.finding import Finding
from core.user_files.launch_texts import FileLaunch, file_workload, join_defines
from core.user_files.repository_search import at_its_kernels
from core.user_files.sources_and_headers import read_source
from core.wording import in_number

__all__ = ["ACCESS", "Record", "TilescopeError", "load", "rungs", "trace"]

Size = int | Sequence[int]
_TEXT = "untitled.cu"


def trace(
    source: str | Path,
    /,
    *,
    kernel: str = "",
    grid: Size | None = None,
    block: Size | None = None,
    shared: int | None = None,
    defines: Mapping[str, object] | None = None,
    seed: int = DEFAULT_SEED,
    blocks: Sequence[int] | None = None,
    build: BuildKind = "as_written",
    arguments: Mapping[str, Any] | None = None,
    **more: Any,
) -> Record:
    """Run a kernel in the emulator and record it; no GPU is needed.

    source: a .cu file, CUDA C++ text (with a `__global__` in it), or a rung's name. grid, block: an
    int or up to three, x first. shared: bytes of dynamic shared memory. blocks: linear indices of
    those to record, all where None (the counts are of the whole launch in any case).

    Further names are the kernel's arguments: arrays of NumPy, or of CuPy and others that NumPy
    takes, and numbers; of a rung, its parameters. `arguments` holds those whose names are
    parameters here. What is left out is guessed from the source, arrays are random by `seed`. An
    array must have the type of the kernel's pointer; it is copied.

    Raises TilescopeError, with one sentence, for what does not compile, fit or run.
    """
    if build not in get_args(BuildKind):
        raise ParameterError(f"There is no build {build}: use {' or '.join(get_args(BuildKind))}.")
    if seed < 0:
        raise ParameterError(f"The seed is {seed}: use 0 or more.")
    given = {**(arguments or {}), **more}
    launch = {"kernel": kernel, "grid": grid, "block": block, "shared": shared, "defines": defines}
    text = str(source)
    if "__global__" in text or text.endswith(SOURCES):
        workload = _of_source(source, text, given, launch, seed)
    else:
        workload = _of_rung(text, given, launch, seed)
    return Record(record(workload, blocks=blocks, kind=build))


def load(path: str | Path) -> Record:
    """A record that was saved to a .npz file. Raises TilescopeError."""
    return Record(load_trace(Path(path)))


def rungs() -> tuple[str, ...]:
    """The names of the ladder's kernels, which `trace` takes."""
    return tuple(load_ladder().names)


def _of_rung(name: str, given: Mapping[str, Any], launch: Mapping[str, Any], seed: int) -> Workload:
    for option, value in launch.items():
        if value:
            raise ParameterError(f"`{option}` is for a source file; a rung has parameters only.")
    return load_ladder()[name].workload_of("random", seed, **given)


def _of_source(
    source: str | Path, text: str, given: Mapping[str, Any], launch: Mapping[str, Any], seed: int
) -> Workload:
    path = _TEXT if "__global__" in text else str(Path(source).absolute())
    code = text if path == _TEXT else read_source(Path(source))
    arrays = {name: _array(value) for name, value in given.items() if np.ndim(value)}
    texts = {name: f"zeros:{_described(name, data)}" for name, data in arrays.items()}
    texts |= {name: str(value) for name, value in given.items() if name not in arrays}
    defines = {name: str(value) for name, value in (launch["defines"] or {}).items()}
    asked = FileLaunch(
        path,
        launch["kernel"],
        _size(launch["grid"]),
        _size(launch["block"]),
        "" if launch["shared"] is None else str(launch["shared"]),
        join_defines(defines),
        tuple(texts.items()),
    )
    code, asked = at_its_kernels(code, asked)
    whole = fitted(code, completed(code, asked), seed)
    return _with_arrays(file_workload(code, whole, seed), arrays, given)


def _with_arrays(
    workload: Workload, arrays: Mapping[str, NDArray[Any]], given: Mapping[str, Any]
) -> Workload:
    """The launch with the arrays that were given in the place of empty ones."""
    launch = workload.launch
    known = {argument.name for argument in (*launch.arguments, *launch.symbols)}
    if unknown := [name for name in given if name not in known]:
        raise ArgumentError(
            f"{workload.kernel} has no parameter {unknown[0]}: it has {', '.join(sorted(known))}."
        )
    taken, symbols = (
        tuple(_filled(argument, arrays.get(argument.name)) for argument in part)
        for part in (launch.arguments, launch.symbols)
    )
    return replace(workload, launch=replace(launch, arguments=taken, symbols=symbols))


def _filled(argument: Argument, data: NDArray[Any] | None) -> Argument:
    if data is not None and isinstance(argument, ArrayArgument):
        return replace(argument, data=data, is_own=True)
    if data is not None and isinstance(argument, InlineArgument):
        return replace(argument, value=data.reshape(argument.value.shape))
    return argument


def _array(value: Any) -> NDArray[Any]:
    """A copy in this machine's memory and byte order; CuPy's arrays have `get` for that."""
    if not isinstance(value, np.ndarray) and hasattr(value, "get"):
        value = value.get()
    data = np.array(value, order="C", copy=True)
    return data.astype(data.dtype.newbyteorder("="), copy=False)


def _described(name: str, data: NDArray[Any]) -> str:
    if data.size == 0:
        raise ArgumentError(f"The array {name} is empty: a kernel needs one with elements.")
    return f"{data.dtype.name}[{','.join(map(str, data.shape))}]"


def _size(value: Size | None) -> str:
    if value is None:
        return ""
    return ",".join(map(str, value)) if np.ndim(value) else str(value)  # type: ignore[arg-type]


# What a trace gives to a program or a notebook.


_NAME = 32  # characters of an array's name
ACCESS = np.dtype(
    [
        *(("block", "i8"), ("step", "i8"), ("line", "i4"), ("kind", "U6"), ("space", "U6")),
        *(("array", f"U{_NAME}"), ("thread", "i4"), ("warp", "i4"), ("lane", "i1")),
        *(("address", "i8"), ("element", "i8"), ("width", "i4")),
    ]
)
"""A row of `Record.accesses`: what one thread did in one memory instruction.

Where an array's name is longer than 32 characters, `array` has as many as it needs.
"""
_STYLE = "max-width:48rem;overflow:auto"


class Record:
    """One launch, recorded: counts, faults, outputs and every access of the recorded blocks.

    A notebook shows it as a table of counters, its faults and a picture of one warp.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @property
    def kernel(self) -> str:
        """The kernel's name, as its source has it."""
        return self._trace.workload.kernel

    @property
    def source(self) -> str:
        """The text that was compiled."""
        return self._trace.workload.source

    @property
    def ptx(self) -> str:
        """The PTX that ran."""
        return self._trace.build.ptx

    @property
    def launch(self) -> Launch:
        """Grid, block and arguments."""
        return self._trace.workload.launch

    @property
    def counters(self) -> Mapping[str, int]:
        """Counts of the whole launch by name, such as "global_ld_sectors" (docs/counting.md)."""
        return _values(self._trace.counters.totals)

    @property
    def ideal(self) -> Mapping[str, int]:
        """The least that each counter could be, for the same bytes asked for side by side."""
        totals = self._trace.counters.totals
        return MappingProxyType({name: count.ideal for name, count in totals.items()})

    @property
    def by_array(self) -> Mapping[str, Mapping[str, int]]:
        """The counters of each array."""
        found = self._trace.counters.by_array
        return MappingProxyType({name: _values(counts) for name, counts in found.items()})

    @property
    def by_line(self) -> Mapping[int, Mapping[str, int]]:
        """The counters of each source line, counted from 1."""
        found = self._trace.counters.by_line
        return MappingProxyType({line: _values(counts) for line, counts in found.items()})

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong: each has `kind`, `message`, `line`, `block`, `thread` and `step`."""
        return self._trace.findings

    @property
    def outputs(self) -> Mapping[str, NDArray[Any]]:
        """What each array holds after the launch; read-only."""
        return self._trace.outputs

    @property
    def printed(self) -> tuple[str, ...]:
        """The lines that the kernel printed."""
        return self._trace.printed

    @property
    def blocks(self) -> tuple[int, ...]:
        """Linear indices of the blocks whose steps are recorded."""
        return self._trace.recorded_blocks

    def accesses(self, block: int | None = None) -> NDArray[np.void]:
        """Every access to memory, a row a thread, in the order of steps: `ACCESS` (n,).

        block: the linear index of one block; None for all that are recorded. `element` is the flat
        index in `array`, -1 where no array is known; `address` counts bytes, in shared memory from
        the block's own first. Raises TilescopeError for a block that is not recorded.
        """
        parts = [
            part
            for number in (self.blocks if block is None else (block,))
            for part in self._of_block(number)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, ACCESS)

    def _of_block(self, number: int) -> list[NDArray[np.void]]:
        found, one = [], self._trace.block(number)
        for step in range(one.n_steps):
            access = one.access(step)
            if access is None:
                continue
            threads = np.flatnonzero(access.active)
            rows = np.zeros(len(threads), _row_type(access.target))
            for name in ("step", "line", "kind", "space", "width"):
                rows[name] = getattr(access, name)
            rows["block"], rows["array"] = number, access.target
            rows["thread"], rows["warp"], rows["lane"] = threads, threads // 32, threads % 32
            rows["address"] = access.addresses[threads]
            rows["element"] = access.elements[threads]
            found.append(rows)
        return found

    def warp_picture(
        self, step: int | None = None, *, block: int | None = None, warp: int = 0
    ) -> str:
        """A warp's access as SVG: its lanes, and the sectors or banks that they ask for.

        step: of a block's record; None for the access to global memory that wastes most. "" where
        there is none. Raises TilescopeError for a block, step or warp that is not recorded.
        """
        if not self.blocks:
            return ""
        one = self._trace.block(self.blocks[0] if block is None else block)
        warps = -(-self.launch.block.count // 32)
        for what, number, count in (("step", step or 0, one.n_steps), ("warp", warp, warps)):
            if not 0 <= number < max(count, 1):
                raise ParameterError(f"There is no {what} {number}: use 0 to {count - 1}.")
        access = self._worst(one.block) if step is None else one.access(step)
        return "" if access is None else warp_svg(access, warp)

    def _worst(self, block: int) -> Access | None:
        one = self._trace.block(block)
        found = [one.access(step) for step in one.access_steps.tolist()]
        asked = [
            a for a in found if a is not None and a.space == "global" and a.warp(0).active.any()
        ]
        waste = [a.warp(0).n_sectors - a.warp(0).ideal_sectors for a in asked]
        return asked[int(np.argmax(waste))] if asked else None

    def save(self, path: str | Path) -> Path:
        """Write the record to a .npz file, which `load` and the window open."""
        save_trace(self._trace, Path(path))
        return Path(path)

    def report(self, path: str | Path) -> Path:
        """Write a report, .html or .md, as `tilescope report` does. Raises TilescopeError."""
        path = Path(path)
        if path.suffix not in (".html", ".md"):
            raise ParameterError(f"{path.name} is not a report: end its name with .html or .md.")
        return write_report(report_of(self._trace), path)

    def __repr__(self) -> str:
        launch, faults = self.launch, len(self.findings)
        return (
            f"<tilescope.Record of {self.kernel}: grid {launch.grid}, block {launch.block}, "
            f"{faults} {in_number('fault', faults)}>"
        )

    def _repr_html_(self) -> str:
        made = report_of(self._trace)
        tables = [t for t in made.tables if t.heading in ("Counters", "By line")]
        faults = "".join(f"<li>{safe(fault.sentence)}</li>" for fault in made.faults)
        body = "".join(
            (
                f"<h3>{safe(made.title)}</h3><p>{safe(made.verdict)}</p>",
                f"<ul>{faults}</ul>" if faults else "",
                *map(html_table, tables),
                self.warp_picture(),
            )
        )
        return f'<div style="{_STYLE}">{body}</div>'


def _row_type(array: str) -> np.dtype[np.void]:
    """`ACCESS` with room for a name: NumPy would cut a longer one off without a word."""
    if len(array) <= _NAME:
        return ACCESS
    return np.dtype(
        [(n, f"U{len(array)}" if n == "array" else ACCESS[n]) for n in ACCESS.names or ()]
    )


def _values(counts: Counts) -> Mapping[str, int]:
    return MappingProxyType({name: count.value for name, count in counts.items()})
