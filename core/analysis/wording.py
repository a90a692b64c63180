"""Small words for explanations: counts, runs of numbers, columns."""

from __future__ import annotations

from collections.abc import Sequence


def lanes_name(lanes: list[int]) -> str:
    """`lane 3`, `lanes 0–7`."""
    return f"{'lane' if len(lanes) == 1 else 'lanes'} {ranges(lanes)}"


def ranges(numbers: list[int]) -> str:
    """`0–3, 8, 12–15`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def counted(number: int, noun: str) -> str:
    """`1 sector`, `4 sectors`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with their cells padded to the same widths."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
            for row in rows]  # fmt: skip
