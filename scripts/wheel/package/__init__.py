"""Tilescope: a time-travel microscope for CUDA memory.

`tilescope.trace(…)` records a launch; see `docs/api.md`. What it needs is loaded when it is first
asked for: the side processes import this package as well.
"""

import importlib
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.api import ACCESS, Record, TilescopeError, load, rungs, trace

__all__ = ["ACCESS", "Record", "TilescopeError", "__version__", "load", "rungs", "trace"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version("tilescope")
    if name in __all__:
        return getattr(importlib.import_module("core.api"), name)
    raise AttributeError(f"module 'tilescope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
