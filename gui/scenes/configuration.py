"""What is recorded: a rung or a launch of a file, and the conditions that it runs under."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from core.ladder.input_arrays import Inputs
from core.ladder.rung import DEFAULT_SEED
from core.user_files.launch_texts import UNTITLED

if TYPE_CHECKING:
    from core.emulator.scheduling import WarpOrder
    from core.launch import Workload
    from core.nsight import Comparison
    from core.user_files.launch_texts import FileLaunch


@dataclass(frozen=True)
class Configuration:
    """What to record: a rung of the ladder with its parameters, or a launch of a user's kernel."""

    rung: str
    parameters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    source: str | None = None
    """The text to compile where it was edited; None for the rung's or the file's own."""
    own: FileLaunch | None = None
    """A launch of a kernel in a user's file; `rung` is empty then."""
    pasted: str = ""
    """A sum over a text that is in no file, as it was pasted: it tells such texts apart."""

    @property
    def key(self) -> str:
        """Names the source, whatever its parameters and edits."""
        if self.own is None:
            return self.rung
        return f"{self.own.path}#{self.pasted}" if self.pasted else self.own.path

    @property
    def untitled(self) -> bool:
        """Whether its text is in no file, so that `source` is all there is of it."""
        return self.own is not None and self.own.path == UNTITLED


ORDER_TITLES: Mapping[WarpOrder, tuple[str, str]] = MappingProxyType(
    {
        "lockstep": ("Together", "All warps advance together; a race hardly shows in the result"),
        "round_robin": ("In turns", "Each warp makes one access, then the next warp does"),
        "warp_by_warp": ("One after another", "A warp goes on until it waits or ends"),
        "random": ("At random", "Warps take turns at random; the seed says which"),
    }
)
"""Orders in which the warps of a block may advance, and what they mean."""


@dataclass(frozen=True)
class Conditions:
    """What else a record depends on: settings of the session by these names."""

    inputs: Inputs = "random"
    order: WarpOrder = "lockstep"
    seed: int = DEFAULT_SEED


@dataclass(frozen=True)
class Origin:
    """Where the shown trace comes from: what was asked for, and the source before any edit."""

    configuration: Configuration
    original: str
    twin: str = ""
    """The rung that does the same with the other mapping; coming from it the place is kept."""


@dataclass(frozen=True, eq=False)
class Profile:
    """The shown launch, `workload`, compared with a profile by Nsight Compute, named `file`."""

    comparison: Comparison
    workload: Workload
    file: str
