"""Parts of a page in docs/ that a script computes: they stand between a pair of comments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def fill(page: Path, script: str, parts: Mapping[str, str], *, check: bool) -> int:
    """Puts each part between its marks; with `check` only returns 1 if that would change the page.

    The marks of part NAME are `<!-- NAME: scripts/SCRIPT -->` and `<!-- end of NAME -->`.
    """
    old = new = page.read_text(encoding="utf-8")
    for name, text in parts.items():
        begin, end = f"<!-- {name}: scripts/{script} -->", f"<!-- end of {name} -->"
        head, found, rest = new.partition(begin)
        _, ended, tail = rest.partition(end)
        if not (found and ended):
            raise SystemExit(f"{page.name} has lost the marks {begin} and {end}.")
        new = f"{head}{begin}\n{text}\n{end}{tail}"
    if not check:
        page.write_text(new, encoding="utf-8")
    return int(check and new != old)
