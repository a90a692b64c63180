"""Statistics of timing samples: quantiles, and when the median is known well enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Summary:
    """Quantiles of samples, in the samples' own unit (milliseconds throughout `core.gpu`)."""

    count: int
    median: float
    p5: float
    p95: float
    # Bounds of the 95 % confidence interval of the median.
    median_low: float
    median_high: float

    @property
    def median_uncertainty(self) -> float:
        """Half the confidence interval's width over the median."""
        return (self.median_high - self.median_low) / 2 / self.median if self.median else math.inf


def summarise(samples: Sequence[float]) -> Summary:
    """The summary of at least one sample; raises ValueError for none or for NaN."""
    if not samples:
        raise ValueError("there are no samples to summarise")
    ordered = np.sort(np.asarray(samples, dtype=np.float64))
    if not np.all(np.isfinite(ordered)):
        raise ValueError("a sample is not a finite number")
    low, high = _median_ranks(len(ordered))
    p5, median, p95 = np.quantile(ordered, (0.05, 0.5, 0.95))
    return Summary(
        count=len(ordered),
        median=float(median),
        p5=float(p5),
        p95=float(p95),
        median_low=float(ordered[low]),
        median_high=float(ordered[high]),
    )


def _median_ranks(count: int) -> tuple[int, int]:
    """Ranks (from 0) of the order statistics that enclose the median with 95 % confidence.

    How many samples fall below the median is binomial(count, 1/2); its normal approximation gives
    the ranks whatever the samples' own distribution is (Hollander & Wolfe, Nonparametric
    Statistical Methods, on confidence intervals from the sign test).
    """
    half = 1.96 * math.sqrt(count) / 2
    low = max(math.floor(count / 2 - half), 0)
    high = min(math.ceil(count / 2 + half), count - 1)
    return low, high


def is_stable(samples: Sequence[float], *, minimum: int, relative: float) -> bool:
    """Whether there are `minimum` samples and the median is known to within `relative` (0.002)."""
    return len(samples) >= minimum and summarise(samples).median_uncertainty <= relative
