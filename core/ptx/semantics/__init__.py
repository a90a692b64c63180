"""The instruction tables: importing this package registers every arithmetic opcode."""

from core.ptx.semantics import arithmetic, comparison, conversion, floating, integer, logic
from core.ptx.semantics.operation import BUILDERS, Operation, operation

__all__ = [
    "BUILDERS",
    "Operation",
    "arithmetic",
    "comparison",
    "conversion",
    "floating",
    "integer",
    "logic",
    "operation",
]
