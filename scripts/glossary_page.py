"""Writes docs/glossary.md from resources/glossary.toml.

With --check: exit status 1 if the page is out of date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import pages

from core.lessons.glossary import load_glossary

PAGE = ROOT / "docs" / "glossary.md"


def words() -> str:
    """Every word in the order of the alphabet."""
    rows = ["| word | also | what | see |", "| --- | --- | --- | --- |"]
    for term in sorted(load_glossary().terms, key=lambda one: one.term.lower()):
        also, see = ", ".join(term.also), ", ".join(term.see)
        rows.append(f"| **{term.term}** | {also} | {term.line} | {see} |")
    return "\n".join(rows)


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    return pages.fill(PAGE, "glossary_page.py", {"words": words()}, check=check)


if __name__ == "__main__":
    sys.exit(main())
