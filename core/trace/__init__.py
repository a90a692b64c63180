"""The record of a launch and its index: immutable, and the only thing views and tests read."""

from core.trace.access import Access, WarpAccess
from core.trace.arrays import Array, SharedArray, SharedState, label
from core.trace.axis import Unit
from core.trace.block import BlockTrace
from core.trace.phases import Phase
from core.trace.steps import EventKind
from core.trace.sums_so_far import SoFar
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
