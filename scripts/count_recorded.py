"""Counts FLOP/B of all recorded results, so that the window places them at once.

    python scripts/count_recorded.py          count what is new: resources/intensities.json
    python scripts/count_recorded.py --all    every launch anew, as after a change of counting

The window counts any other run itself (`core.models.ceiling_counts.measure_rung`), as this does.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

from core.gpu.result_files import load_recorded
from core.ladder import load_ladder
from core.models.ceiling_counts import INTENSITIES, known_intensity, launch_key, measure_rung


def main() -> None:
    """Count and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="count every launch anew")
    anew, ladder = parser.parse_args().all, load_ladder()
    rows: dict[str, dict[str, Any]] = {}
    for result in load_recorded():
        if result.rung is None or not result.gflops:
            continue
        rung, parameters = ladder[result.rung], dict(result.parameters)
        key = launch_key(rung, parameters)
        if key in rows:
            continue
        found = None if anew else known_intensity(rung, parameters)
        if found is None:
            found = measure_rung(rung, parameters, written=False).intensity
            print(f"{rung.name} {parameters}: {found}", flush=True)
        if found is not None:
            rows[key] = {
                "rung": rung.name,
                "parameters": parameters,
                "intensity": found,
                "key": key,
            }
    ordered = sorted(rows.values(), key=lambda row: (row["rung"], repr(row["parameters"])))
    lines = ",\n".join(json.dumps(row) for row in ordered)
    INTENSITIES.write_text(f'{{"launches": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
