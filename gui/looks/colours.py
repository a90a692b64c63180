"""Colour arithmetic in OKLab, where equal distances look equal (Björn Ottosson, 2020). No Qt.

Source of the matrices: https://bottosson.github.io/posts/oklab/ (public domain).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_INVERSE_LMS = np.linalg.inv(_LMS)
_INVERSE_LAB = np.linalg.inv(_LAB)


def parse(text: str) -> NDArray[np.float64]:
    """`#rrggbb` as float64[3] in 0..255."""
    return np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)


def to_oklab(color: str | NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert sRGB (`#rrggbb`, or float[..., 3] in 0..255) to OKLab: float64[..., 3]."""
    rgb = (parse(color) if isinstance(color, str) else np.asarray(color, np.float64)) / 255.0
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(linear @ _LMS.T) @ _LAB.T)


def from_oklab(lab: NDArray[np.float64]) -> NDArray[np.uint8]:
    """OKLab float[..., 3] to sRGB uint8[..., 3]; what lies outside sRGB is clipped."""
    linear = np.clip((lab @ _INVERSE_LAB.T) ** 3 @ _INVERSE_LMS.T, 0.0, 1.0)
    rgb = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.asarray(np.rint(rgb * 255), dtype=np.uint8)


@cache
def mix(first: str, second: str, amount: float) -> NDArray[np.uint8]:
    """The colour `amount` (0..1) of the way from first to second, in OKLab, as uint8[3]."""
    a, b = to_oklab(first), to_oklab(second)
    mixed = from_oklab(a + (b - a) * amount)
    mixed.flags.writeable = False
    return mixed
