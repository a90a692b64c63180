"""The record of a launch and its index: immutable, and the only thing views and tests read."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.trace.access import Access, Array, SharedArray
    from core.trace.block import BlockTrace
    from core.trace.steps import EventKind
    from core.trace.trace import Trace

__all__ = ["Access", "Array", "BlockTrace", "EventKind", "SharedArray", "Trace"]
_PARTS = {"BlockTrace": "block", "EventKind": "steps", "Trace": "trace"}  # of others "access"


def __getattr__(name: str) -> Any:
    """Each part is imported when it is asked for: the window appears before it has a record."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PARTS.get(name, 'access')}"), name)
