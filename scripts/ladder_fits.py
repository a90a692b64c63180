"""What the tuned rungs need on other GPUs, read from their cubins: docs/ladder_fits.json.

    python scripts/ladder_fits.py    compile every rung for CAPABILITIES (NVRTC; no GPU)

A rung fits where an SM holds a block of it: its registers, its threads and its shared memory.
docs/ladder.md shows it (scripts/ladder_page.py).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

from ladder_tools import HOPPER, rungs, tuned

from core.compiler.compile_ptx_and_cubin import compile_kernel
from core.compiler.cubin import kernel_resources
from core.devices.device_table import load_capabilities
from core.devices.occupancy import (
    Resources,
    occupancy,
)
from core.ladder import Rung

FITS = ROOT / "docs" / "ladder_fits.json"
CAPABILITIES = ("8.0", "8.6", "8.9", "9.0")


def fit(rung: Rung, parameters: Mapping[str, int], capability: str) -> dict[str, int]:
    """Registers and local bytes a thread, shared bytes a block, and the blocks an SM holds."""
    work = rung.blank_workload(**parameters)
    major, minor = (int(part) for part in capability.split("."))
    image, entry = compile_kernel(
        work.source,
        work.kernel,
        source_name=work.source_name,
        defines=work.defines,
        compute_capability=(major, minor),
    )
    needs = kernel_resources(image, entry)
    shared = needs.static_shared_bytes + work.launch.shared_bytes
    held = occupancy(
        load_capabilities()[capability],
        Resources(work.launch.block.count, needs.registers, shared),
    )
    return {
        "registers": needs.registers,
        "local_bytes": needs.local_bytes,
        "shared_bytes": shared,
        "blocks": held.blocks,
    }


def fitted() -> list[Rung]:
    """The rungs that other GPUs than Hopper can run."""
    return [rung for rung in rungs() if rung.name not in HOPPER]


def rows() -> Iterator[dict[str, Any]]:
    """A row a rung of the ladder."""
    for rung in fitted():
        parameters = tuned(rung)
        found = {one: fit(rung, parameters, one) for one in CAPABILITIES}
        yield {"rung": rung.name, "parameters": parameters, "fits": found}


def main() -> None:
    """Writes FITS."""
    text = ",\n".join(json.dumps(row) for row in rows())
    FITS.write_text(f'{{"rows": [\n{text}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
