"""An array argument's text, taken apart for the form's fields and put together. No Qt here."""

from __future__ import annotations

import re

from core.launching import buffers

FILLS = tuple(buffers.FILLS)
FILE = "file…"
NULL = "null"  # a pointer to nothing


def split_array(text: str, dtype: str) -> tuple[str, str]:
    """`zeros:float32[8,8]` as (fill, shape); the type stays with the shape unless it is `dtype`."""
    if text.startswith("@"):
        return FILE, text[1:]
    if text.strip() == NULL:
        return NULL, ""
    fill, _, buffer = text.rpartition(":")
    match = re.fullmatch(r"(\w+)\[([^\]]*)\]", buffer.strip())
    shape = match[2] if match and match[1] == dtype else buffer.strip()
    return fill.strip() or "random", shape


def array_text(fill: str, shape: str, dtype: str) -> str:
    """What `split_array` took apart."""
    if fill == FILE:
        return f"@{shape.strip()}"
    if fill == NULL:
        return NULL
    shape = shape.strip()
    return f"{fill}:{shape}" if "[" in shape else f"{fill}:{dtype}[{shape}]"
