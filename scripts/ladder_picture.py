"""The ladder as an SVG picture: a bar a rung on a logarithmic scale, ceilings, and cuBLAS."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, TOP, STEP, BAR = 960, 196, 84, 58, 30, 18
LEAST, MOST = 200.0, 1e6  # GFLOPS at the ends of the scale
# Okabe and Ito's blue, orange and green; text and lines on white, whatever the page around it.
COLOURS = {"float32": "#0072b2", "tf32": "#d55e00", "float16": "#009e73"}
NAMES = {"float32": "float32", "tf32": "TF32 (tensor cores)", "float16": "F16 (tensor cores)"}
TEXT, FAINT, LINE = "#222222", "#666666", "#dddddd"


@dataclass(frozen=True)
class Bar:
    """A rung: what it reaches and its lowest ceiling, in GFLOPS."""

    label: str
    gflops: float
    ceiling: float
    arithmetic: str


def picture(bars: Sequence[Bar], yardsticks: Mapping[str, float]) -> str:
    """The picture; `yardsticks` are cuBLAS's GFLOPS by arithmetic."""
    height = TOP + STEP * len(bars) + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="13" role="img">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *_scale(height),
        *_legend(),
        *_yardsticks(bars, yardsticks),
        *(line for place, bar in enumerate(bars) for line in _bar(place, bar)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _x(gflops: float) -> float:
    share = math.log(gflops / LEAST) / math.log(MOST / LEAST)
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _text(x: float, y: float, text: str, anchor: str = "start", colour: str = TEXT) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


def _scale(height: int) -> Iterator[str]:
    for power in range(3, 7):
        x = _x(10.0**power)
        yield f'<line x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{height - 34}" stroke="{LINE}"/>'
        yield _text(x, height - 14, f"{10**power:,}", "middle", FAINT)
    yield _text(LEFT - 10, height - 14, "GFLOPS", "end", FAINT)


def _legend() -> Iterator[str]:
    x = float(LEFT)
    for arithmetic, colour in COLOURS.items():
        yield f'<rect x="{x}" y="14" width="14" height="14" fill="{colour}"/>'
        yield _text(x + 20, 26, NAMES[arithmetic])
        x += 30 + 8 * len(NAMES[arithmetic])
    yield f'<line x1="{x}" y1="12" x2="{x}" y2="30" stroke="{TEXT}" stroke-width="3"/>'
    yield _text(x + 10, 26, "lowest ceiling")
    x += 140
    yield (
        f'<line x1="{x}" y1="12" x2="{x}" y2="30" stroke="{TEXT}" stroke-width="1.5" '
        'stroke-dasharray="4 3"/>'
    )
    yield _text(x + 10, 26, "cuBLAS")


def _yardsticks(bars: Sequence[Bar], yardsticks: Mapping[str, float]) -> Iterator[str]:
    for arithmetic, rate in yardsticks.items():
        places = [i for i, bar in enumerate(bars) if bar.arithmetic == arithmetic]
        if places:
            x, first, last = _x(rate), TOP + STEP * places[0] - 6, TOP + STEP * places[-1] + BAR + 6
            yield (
                f'<line x1="{x}" y1="{first}" x2="{x}" y2="{last}" stroke="{COLOURS[arithmetic]}" '
                'stroke-width="1.5" stroke-dasharray="4 3"/>'
            )


def _bar(place: int, bar: Bar) -> Iterator[str]:
    y = TOP + STEP * place
    end = _x(bar.gflops)
    yield _text(LEFT - 10, y + 14, bar.label, "end")
    yield (
        f'<rect x="{LEFT}" y="{y}" width="{round(end - LEFT, 1)}" height="{BAR}" '
        f'fill="{COLOURS[bar.arithmetic]}"/>'
    )
    ceiling = _x(bar.ceiling)
    yield (
        f'<line x1="{ceiling}" y1="{y - 2}" x2="{ceiling}" y2="{y + BAR + 2}" stroke="{TEXT}" '
        'stroke-width="3"/>'
    )
    yield _text(end - 7, y + 14, f"{bar.gflops:,.0f}", "end", "#ffffff")
