"""What `tilescope trace --l1` adds: the L1 estimate as plain data and as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from core.analysis.l1 import L1Count, L1Estimate
from core.analysis.l1_cache import DEVICE


def as_json(estimate: L1Estimate) -> dict[str, Any]:
    """The estimate as plain data; `hit_rate` is null where nothing was loaded."""
    model = estimate.model
    return {
        "device": DEVICE,
        "sms": model.sms,
        "resident_blocks": model.resident,
        "bytes": model.nbytes,
        "extrapolated": estimate.extrapolated,
        "total": _count(estimate.total),
        "by_array": {name: _count(count) for name, count in estimate.by_array.items()},
        "by_line": {str(line): _count(count) for line, count in estimate.by_line.items()},
    }


def show(estimate: L1Estimate, source: str, console: Console) -> None:
    """Print the tables and what they rest on."""
    arrays: list[tuple[tuple[str, ...], L1Count]] = [
        ((name,), count) for name, count in estimate.by_array.items()
    ]
    if len(arrays) > 1:
        arrays.append((("all",), estimate.total))
    console.print(_table("L1 estimate by array, loads", ("array",), arrays))
    console.print(
        _table("L1 estimate by source line, loads", ("line", "source"), _lines(estimate, source))
    )
    console.print(Text(_basis(estimate)), soft_wrap=True)


def _lines(estimate: L1Estimate, source: str) -> Iterator[tuple[tuple[str, ...], L1Count]]:
    texts = source.splitlines()
    for line, count in estimate.by_line.items():
        yield (str(line), texts[line - 1].strip() if 1 <= line <= len(texts) else ""), count


def _table(
    title: str, labels: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], L1Count]]
) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for label in labels:
        right = label == "line"
        table.add_column(label, justify="right" if right else "left", no_wrap=label == "source")
    for head in ("sectors", "hits", "hit rate"):
        table.add_column(head, justify="right", no_wrap=True)
    for texts, count in rows:
        rate = "" if count.hit_rate is None else f"{count.hit_rate:.1%}"
        cells = (Text(text, overflow="ellipsis") for text in texts)
        table.add_row(*cells, f"{count.sectors:,}", f"{count.hits:,}", rate)
    return table


def _basis(estimate: L1Estimate) -> str:
    model = estimate.model
    text = f"L1 of an {DEVICE}: {model.sms} SMs, {model.nbytes // 1024} KiB each."
    if not estimate.extrapolated:
        return f"{text} Every block had an SM to itself and its data fitted."
    return (
        f"{text} SMs had several blocks (up to {model.resident} at a time), or data did not fit: "
        "docs/l1.md says how far off such estimates were."
    )


def _count(count: L1Count) -> dict[str, Any]:
    return {"sectors": count.sectors, "hits": count.hits, "hit_rate": count.hit_rate}
