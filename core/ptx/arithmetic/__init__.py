"""The instruction tables: importing this package registers every arithmetic opcode."""

from core.ptx.arithmetic import bit_fields, comparison, conversion, floating, integer, narrow, video
from core.ptx.arithmetic.operation import BUILDERS, Operation, operation

__all__ = [
    "BUILDERS",
    "Operation",
    "bit_fields",
    "comparison",
    "conversion",
    "floating",
    "integer",
    "narrow",
    "operation",
    "video",
]
