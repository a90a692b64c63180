"""What a trace gives to a program or a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import ParameterError
from core.files import replace_file
from core.launch import Launch
from core.report import as_html, as_markdown, html_table, report_of, safe, warp_svg
from core.rules.counters import Counts
from core.trace import Trace
from core.trace.access import Access
from core.trace.finding import Finding

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
        from core.recording.trace_files import save_trace

        save_trace(self._trace, Path(path))
        return Path(path)

    def report(self, path: str | Path) -> Path:
        """Write a report, .html or .md, as `tilescope report` does. Raises TilescopeError."""
        path = Path(path)
        writers = {".html": as_html, ".md": as_markdown}
        if path.suffix not in writers:
            raise ParameterError(f"{path.name} is not a report: end its name with .html or .md.")
        return replace_file(path, writers[path.suffix](report_of(self._trace)))

    def __repr__(self) -> str:
        launch, faults = self.launch, len(self.findings)
        said = f"{faults} fault{'' if faults == 1 else 's'}"
        return (
            f"<tilescope.Record of {self.kernel}: grid {launch.grid}, block {launch.block}, {said}>"
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
