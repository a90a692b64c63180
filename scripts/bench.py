"""Speed figures: `make bench`. Prints a table; measures the emulator, and the window offscreen."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout, like `python -m gui`

from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from core.ladder import load_ladder  # noqa: E402
from core.recording import record  # noqa: E402

REPEATS = 3
# Rung, parameters, and the least multiply-adds a second that the project asks for (None: no goal).
EMULATED: tuple[tuple[str, dict[str, int], float | None], ...] = (
    ("coalesced", {"n": 128, "tile": 16}, 5e6),
    ("uncoalesced", {"n": 128, "tile": 32}, None),
    ("tiled", {"n": 128, "tile": 16}, None),
    ("aat_shared", {"n": 128, "tile": 32}, None),
    ("coalesced", {"n": 32, "tile": 16}, None),
)


def main() -> int:
    """Measure and print; 1 when a goal is missed."""
    table = Table(title="Emulator: every block run and recorded (compiled before)")
    for head in ("kernel", "multiply-adds", "seconds", "a second", "goal"):
        table.add_column(head, justify="left" if head == "kernel" else "right")
    missed = 0
    ladder = load_ladder()
    for name, parameters, goal in EMULATED:
        workload = ladder[name].workload(**parameters)
        record(workload, blocks=[0], only_recorded=True)  # imports and NVRTC's own start
        seconds = best(lambda w=workload: record(w, blocks="all"))  # type: ignore[misc]
        count = (workload.flops or 0) / 2
        rate = count / seconds
        missed += goal is not None and not rate >= goal
        sizes = ", ".join(f"{key} = {value}" for key, value in parameters.items())
        wanted = f"{goal / 1e6:.0f} M" if goal else ""
        cells = (f"{name}, {sizes}", f"{count:,.0f}", f"{seconds:.3f}", f"{rate / 1e6:.1f} M")
        table.add_row(*cells, wanted)
    Console().print(table)
    return 1 if missed + window_figures() else 0


def window_figures() -> int:
    """Print the window's figures; how many goals are missed."""
    import bench_window

    table = Table(title="Window, offscreen")
    for head in ("what", "milliseconds", "goal"):
        table.add_column(head, justify="left" if head == "what" else "right")
    missed = 0
    for figure in bench_window.figures():
        missed += not figure.seconds < figure.most
        table.add_row(figure.what, f"{figure.seconds * 1e3:.1f}", f"< {figure.most * 1e3:.0f}")
    Console(width=100).print(table)
    return missed


def best(work: Callable[[], object]) -> float:
    """The shortest of a few runs, in seconds: what is left when nothing else disturbs."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
