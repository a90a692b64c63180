"""The record of a launch and its index: immutable, and the only thing views and tests read."""

from core.trace.access import Access, Array, SharedArray, SharedState, WarpAccess, label
from core.trace.block import BlockTrace
from core.trace.history import SoFar
from core.trace.phases import Phase
from core.trace.steps import EventKind, Unit
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
