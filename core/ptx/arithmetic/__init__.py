"""The instruction tables: importing this package registers every arithmetic opcode."""

from core.ptx.arithmetic import (
    bit_fields,
    comparison,
    conversion,
    floating,
    integer,
    narrow,
    shared_opcodes,
    video,
)
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
    "shared_opcodes",
    "video",
]
