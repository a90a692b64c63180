"""An axis whose values are decimal logarithms: a tick a decade, and smaller ones between."""

from __future__ import annotations

import math

from gui.views.plotting import pg

_SMALL = tuple(math.log10(digit) for digit in range(2, 10))


class LogAxis(pg.AxisItem):
    """Ticks at powers of ten, written as numbers: 0.1, 1, 10 000."""

    def tickValues(self, *ends: float) -> list[tuple[float, list[float]]]:
        low, high = ends[:2]
        decades = range(math.floor(low), math.ceil(high) + 1)
        inside = [float(d) for d in decades if low <= d <= high]
        small = [d + s for d in decades for s in _SMALL if low <= d + s <= high]
        return [(1.0, inside), (0.1, small)]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if spacing < 1:
            return ["" for _ in values]
        return [_power(round(value)) for value in values]


def _power(exponent: int) -> str:
    if exponent >= 6:
        return f"{10.0 ** (exponent - 6):g} M"
    return f"{10.0**exponent:,g}".replace(",", "\u202f")
