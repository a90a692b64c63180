"""What a profile of Nsight Compute says of each launch that it has, whichever file it came from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from core.errors import TilescopeError
from core.launch import Dim3, Launch, Workload

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
