"""FLOP/B of launches that are counted already: the recorded runs that come with the program.

`scripts/count_recorded.py` counts them and writes resources/intensities.json. A row holds for
exactly the launch that was counted, its source included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.ladder.rung import Rung

FILE = Path(__file__).resolve().parents[2] / "resources" / "intensities.json"


def known_intensity(rung: Rung, parameters: Mapping[str, int]) -> float | None:
    """FLOP for each byte that the loads ask for, None where this launch was never counted.

    Raises ParameterError for parameters that the rung does not have.
    """
    key = launch_key(rung, parameters)
    return _counted().get(key)


def launch_key(rung: Rung, parameters: Mapping[str, int]) -> str:
    """Names a launch by all that its counts depend on."""
    made = rung.blank_workload(**dict(parameters))
    launch = made.launch
    shapes = [(a.name, a.data.shape, str(a.data.dtype)) for a in launch.arrays]
    told = (
        made.source,
        made.kernel,
        sorted(made.defines.items()),
        sorted(made.parameters.items()),
        str(launch.grid),
        str(launch.block),
        launch.shared_bytes,
        shapes,
        made.flops,
    )
    return sha256(repr(told).encode()).hexdigest()


@cache
def _counted() -> Mapping[str, float]:
    """By `launch_key`; empty where the file is missing."""
    try:
        rows = json.loads(FILE.read_text(encoding="utf-8"))["launches"]
    except (OSError, ValueError, KeyError):
        return {}
    return {row["key"]: float(row["intensity"]) for row in rows}
