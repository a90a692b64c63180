"""Counts of a whole launch: by memory instruction, summed up by array, source line and in total.

The names are those of `COUNTERS`; each is defined by the Nsight Compute metric beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

COUNTERS: Mapping[str, str] = {
    "global_ld_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_ld_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_st_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_st_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_ld_requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_st_requests": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_ld_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_st_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_ld_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_st_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "global_atom_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "global_atom_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "global_red_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "global_red_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "shared_atom_requests": "smsp__sass_inst_executed_op_shared_atom.sum",
    "shared_atom_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "shared_atom_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
}

WAYS: Mapping[str, str] = {
    "ld": "load",
    "st": "store",
    "atom": "atomic",
    "red": "reduction",
}
"""Ways to access memory, as the counters' names have them, and in words.

A reduction is an atomic whose old value nobody asks for.
"""
UNITS: Mapping[str, str] = {"global": "sectors", "shared": "wavefronts"}
"""What requests to a space of memory cost."""


@dataclass(frozen=True)
class Count:
    """A counter's value, and the least it could be for the same data asked for."""

    value: int = 0
    ideal: int = 0

    @property
    def excessive(self) -> int:
        """value - ideal."""
        return self.value - self.ideal

    def __add__(self, other: Count) -> Count:
        return Count(self.value + other.value, self.ideal + other.ideal)


Counts = Mapping[str, Count]


@dataclass(frozen=True)
class Counters:
    """All counters of a launch. `by_line` is keyed by source line, `by_array` by array name."""

    totals: Counts
    by_array: Mapping[str, Counts]
    by_line: Mapping[int, Counts]


@dataclass
class Tally:
    """Running sums for each instruction and array: (requests, units, ideal units, conflicts).

    Units are those of `UNITS`. What a function of a header does counts for the instruction that
    calls it.
    """

    sums: dict[tuple[int, str, str], NDArray[np.int64]] = field(default_factory=dict)

    def add(self, pc: int, array: str, name: str, values: NDArray[np.int64]) -> None:
        """Adds to the sums of an instruction; `name` is such as "global_ld"."""
        key = (pc, array, name)
        if key in self.sums:
            self.sums[key] += values
        else:
            self.sums[key] = values.copy()

    def counters(self, line_of: Callable[[int], int]) -> Counters:
        """The sums as counters; `line_of` gives the source line of a pc."""
        arrays: dict[str, list[Counts]] = {}
        lines: dict[int, list[Counts]] = {}
        for (pc, array, name), values in self.sums.items():
            counts = _counts(name, *(int(v) for v in values))
            arrays.setdefault(array, []).append(counts)
            lines.setdefault(line_of(pc), []).append(counts)
        return Counters(
            _total(c for group in arrays.values() for c in group),
            {array: _total(group) for array, group in arrays.items()},
            {line: _total(group) for line, group in sorted(lines.items())},
        )


def _counts(name: str, requests: int, units: int, ideal: int, conflicts: int) -> Counts:
    if name.startswith("global"):
        return {
            f"{name}_requests": Count(requests, requests),
            f"{name}_sectors": Count(units, ideal),
        }
    return {
        f"{name}_requests": Count(requests, requests),
        f"{name}_wavefronts": Count(units, ideal),
        f"{name}_conflicts": Count(conflicts, 0),
    }


def _total(parts: Iterable[Counts]) -> Counts:
    total = dict.fromkeys(COUNTERS, Count())
    for part in parts:
        for name, count in part.items():
            total[name] = total[name] + count
    return total
