"""pyqtgraph, as `pg`, without what it only tries out.

It imports CUDA's runtime if that is installed, for a widget that is not used here: some 50 modules,
a fifth of the time that the first page with a plot takes to import.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

RUNTIME = "cuda.bindings.runtime"


@contextmanager
def _as_if_missing(module: str) -> Iterator[None]:
    """Have imports of a module fail, unless it was imported before."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]  # Python's way to say so
    try:
        yield
    finally:
        del sys.modules[module]


with _as_if_missing(RUNTIME):
    import pyqtgraph as pg

__all__ = ["pg"]
