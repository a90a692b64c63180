"""Fills the table in docs/ceilings.md: every recorded result against its ceilings, counted anew.

With --check it only says whether the table is up to date (exit status 1: it is not).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout, like `python -m gui`

from core.gpu.benchmark_result import Achieved, BenchmarkResult, achieved
from core.gpu.result_files import load_recorded
from core.ladder import load_ladder
from core.models.ceilings import NAMES

PAGE = ROOT / "docs" / "ceilings.md"
BEGIN, END = "<!-- table: scripts/ceilings_table.py -->", "<!-- end of table -->"
SIZE = 4096
LONG_BEGIN = "<!-- table: scripts/ceilings_table.py --long -->"
REGISTER_TILES = 30  # the first rung whose threads compute more than one element
_SHOWN = tuple(name for name in NAMES if name != "fp32")


def recorded(size: int = SIZE, *, long: bool = False) -> tuple[BenchmarkResult, ...]:
    """The recorded results at one N that have a rate: tiled rungs and square blocks.

    With `long` those of the rungs after them instead, which hold so much in registers that counting
    each takes a minute.
    """
    ladder = load_ladder()
    return tuple(
        r
        for r in load_recorded()
        if r.rung
        and r.gflops
        and r.parameters.get("n") == size
        and (ladder[r.rung].number >= REGISTER_TILES) == long
        and (long or r.block[0] == r.block[1])
    )


def table(rows: Iterable[Achieved]) -> str:
    """The table, in Markdown; the binding ceiling of each row in bold."""
    heads = ("rung", "block", "measured", *_SHOWN, "measured / binding")
    lines = ["| " + " | ".join(heads) + " |", "|---|---|" + "---:|" * (len(heads) - 2)]
    for row in rows:
        block = " x ".join(str(side) for side in row.result.block[:2])
        cells = (row.result.rung or "", block, f"{row.gflops:,.0f}", *_cells(row))
        lines.append("| " + " | ".join((*cells, f"{row.share:.3f}")) + " |")
    return "\n".join(lines)


def _cells(row: Achieved) -> Iterator[str]:
    for name in _SHOWN:
        one = row.ceilings.ceilings.get(name)
        text = "" if one is None else f"{one.gflops:,.0f}"
        yield f"**{text}**" if name == row.ceilings.binding else text


def page_with(text: str, new: str, begin: str = BEGIN) -> str:
    """The page with the table between its marks replaced."""
    head, _, rest = text.partition(begin)
    _, mark, tail = rest.partition(END)
    if not mark:
        raise SystemExit(f"{PAGE} has lost the marks {begin} and {END}.")
    return f"{head}{begin}\n{new}\n{END}{tail}"


def main() -> int:
    """Write or check the table; 1 where a check finds it out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument(
        "--long", action="store_true", help="the rungs from 30 on, whose loads count as compiled"
    )
    asked = parser.parse_args()
    check = asked.check
    ladder = load_ladder()
    rows = []
    for result in recorded(long=asked.long):
        rows.append(achieved(result, ladder, written=not asked.long))
        print(f"{result.rung} {dict(result.parameters)}: {rows[-1].share:.3f}", file=sys.stderr)
    old = PAGE.read_text(encoding="utf-8")
    new = page_with(old, table(rows), LONG_BEGIN if asked.long else BEGIN)
    if check:
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
