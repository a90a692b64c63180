"""Fills docs/ptx.md from `core/ptx/opcodes.py`: what is executed, and what is refused and why.

With --check: exit status 1 if the page is out of date.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import pages

from core.ptx.opcodes import OPCODES


def _listed(names: Iterable[str]) -> str:
    return textwrap.fill(" ".join(f"`{name}`" for name in sorted(names)), 100)


def executed() -> str:
    """The opcodes of which some form is executed, and those of them that do nothing."""
    rows = OPCODES.values()
    hints = _listed(row.name for row in rows if row.kind == "hint")
    return (
        f"{_listed(row.name for row in rows if row.is_executed)}\n\n"
        f"These change no value and do nothing, as cache hints do:\n\n{hints}"
    )


def refused() -> str:
    """Examples of what is not executed, each with why."""
    forms = [f"| `{text}` | {why} |" for row in OPCODES.values() for text, why in row.refused]
    return "\n".join(["| instruction | why |", "| --- | --- |", *forms])


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    parts = {"executed": executed(), "refused": refused()}
    return pages.fill(ROOT / "docs" / "ptx.md", "opcodes_page.py", parts, check=check)


if __name__ == "__main__":
    sys.exit(main())
