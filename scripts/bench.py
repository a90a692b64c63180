"""Speed figures: `make bench`. Medians of several runs, with the goals that the project has set.

`--docs` writes them into docs/speed.md as well, each part with its date and how busy the machine
was; `--only emulator` (or peers, window) leaves the other parts out. The exit status is 1 where a
goal is missed.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout, like `python -m gui`

from bench_figures import Figure, markdown, table
from rich.console import Console

PAGE = ROOT / "docs" / "speed.md"
PARTS = ("emulator", "peers", "window")
_MARKED = r"(<!-- figures: {part} -->\n).*?(<!-- end of figures -->)"


def main() -> int:
    """Measures and prints; 1 when a goal is missed."""
    options = argparse.ArgumentParser(description="Measures the speed of Tilescope.")
    options.add_argument("--docs", action="store_true", help="write the figures into docs/speed.md")
    options.add_argument("--only", choices=PARTS, help="measure this part alone")
    options.add_argument(
        "--minutes", type=float, default=5.0, help="how long the window plays for its memory"
    )
    chosen = options.parse_args()
    console = Console(width=150)
    console.print(machine())
    missing: list[str] = []
    pages: dict[str, list[str]] = {}
    missed = 0
    for part, title, measure in _sections(missing, chosen.minutes):
        if chosen.only in (None, part):
            figures = list(measure())
            missed += sum(figure.missed for figure in figures)
            console.print(table(title, figures))
            pages.setdefault(part, [machine()]).append(markdown(title, figures))
    for text in missing:
        console.print(f"Left out: {text}")
        pages["peers"].append(f"Left out: {text}.")
    if chosen.docs:
        for part, texts in pages.items():
            write(part, "\n\n".join(texts))
    console.print(f"{missed} goals missed." if missed else "Every goal is met.")
    return 1 if missed else 0


def _sections(
    missing: list[str], minutes: float
) -> Iterator[tuple[str, str, Callable[[], Iterable[Figure]]]]:
    import bench_emulator
    import bench_peers

    title = "Emulator: multiply-adds a second over the whole grid, one core"
    yield "emulator", title, bench_emulator.throughput
    yield "emulator", "Large launches", lambda: [
        bench_emulator.large_launch(), *bench_emulator.large_record()
    ]  # fmt: skip
    title = "Other emulators, the same product: multiply-adds a second"
    yield "peers", title, lambda: bench_peers.figures(missing)

    def window() -> Iterator[Figure]:
        import bench_window

        return bench_window.figures(minutes)

    yield "window", "Window, on Qt's offscreen platform", window


def write(part: str, body: str) -> None:
    """Puts a part's figures into their place in the page."""
    place = re.compile(_MARKED.format(part=part), re.DOTALL)
    text, count = place.subn(lambda m: f"{m[1]}{body}\n{m[2]}", PAGE.read_text("utf-8"))
    if count != 1:
        raise ValueError(f"{PAGE} has {count} places for the figures of {part}; it needs one")
    PAGE.write_text(text, "utf-8")


def machine() -> str:
    """Date, processor and versions, and how busy the machine is."""
    import numpy as np

    model = ""
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text("utf-8").splitlines()
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
        model = f"{len(names)} cores of {names[0]}, " if names else ""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return (
        f"{today}: {model}{platform.system()}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}. Load average {os.getloadavg()[0]:.1f}."
    )


if __name__ == "__main__":
    sys.exit(main())
