"""The record of a launch and its index: immutable, and the only thing views and tests read."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.trace.access import Access, Array, SharedArray, SharedState, WarpAccess, label
    from core.trace.block import BlockTrace, Unit
    from core.trace.phases import Phase
    from core.trace.running_sums import SoFar
    from core.trace.steps import EventKind
    from core.trace.trace import Trace
    from core.trace.variables import Value, Variable, VariableRow

__all__ = [
    "Access",
    "Array",
    "BlockTrace",
    "EventKind",
    "Phase",
    "SharedArray",
    "SharedState",
    "SoFar",
    "Trace",
    "Unit",
    "Value",
    "Variable",
    "VariableRow",
    "WarpAccess",
    "label",
]
_PARTS = {
    "access": ("Access", "Array", "SharedArray", "SharedState", "WarpAccess", "label"),
    "block": ("BlockTrace", "Unit"),
    "phases": ("Phase",),
    "running_sums": ("SoFar",),
    "steps": ("EventKind",),
    "trace": ("Trace",),
    "variables": ("Value", "Variable", "VariableRow"),
}


def __getattr__(name: str) -> Any:
    """Each part is imported when it is asked for: the window appears before it has a record."""
    for part, names in _PARTS.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{part}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
