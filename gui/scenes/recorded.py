"""The results that come with the program, read once for all who show them."""

from __future__ import annotations

from functools import cache

from core.gpu.result import BenchmarkResult, load_recorded


@cache
def recorded() -> tuple[BenchmarkResult, ...]:
    """All of them. Raises TilescopeError where a file is not what it should be."""
    return load_recorded()
