"""The instruction tables: importing this package registers every arithmetic opcode."""

from core.ptx.semantics import (
    arithmetic,
    bit_fields,
    carry,
    comparison,
    conversion,
    floating,
    integer,
    logic,
    narrow,
    video,
)
from core.ptx.semantics.operation import BUILDERS, Operation, operation

__all__ = [
    "BUILDERS",
    "Operation",
    "arithmetic",
    "bit_fields",
    "carry",
    "comparison",
    "conversion",
    "floating",
    "integer",
    "logic",
    "narrow",
    "operation",
    "video",
]
