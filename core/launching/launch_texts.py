"""Grid, block and macros of a launch from their texts, and what CUDA allows of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from core.errors import ArgumentError, LaunchError
from core.ladder.limits import MAX_BLOCK, MAX_GRID, MAX_SHARED_BYTES, MAX_THREADS_PER_BLOCK
from core.launch import Dim3

_SIZE = r"\s*[0-9]{1,18}\s*"


def check_launch(grid: Dim3, block: Dim3, shared: int) -> None:
    """Raises LaunchError where CUDA would refuse the launch whatever the kernel is."""
    for what, size, limit in (("grid", grid, MAX_GRID), ("block", block, MAX_BLOCK)):
        for axis in "xyz":
            extent, most = getattr(size, axis), getattr(limit, axis)
            if not 1 <= extent <= most:
                raise LaunchError(f"The {what}'s {axis} is {extent}: use 1 to {most}.")
    if block.count > MAX_THREADS_PER_BLOCK:
        raise LaunchError(
            f"A block of {block} is {block.count} threads: CUDA allows {MAX_THREADS_PER_BLOCK}."
        )
    if not 0 <= shared <= MAX_SHARED_BYTES:
        raise LaunchError(
            f"{shared} bytes of dynamic shared memory: a block may ask for 0 to {MAX_SHARED_BYTES}."
        )


def parse_dim3(text: str, what: str) -> Dim3:
    """`8`, `8,8` or `8,8,2` as a Dim3; `what` ("grid", "block") is for the message."""
    parts = re.split(r"[,x]", text.strip())
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(_SIZE, part) for part in parts):
        raise LaunchError(f"`{text}` is not a {what}: write one to three sizes, such as 8,8.")
    return Dim3(*(int(part) for part in parts))


def parse_defines(texts: Sequence[str]) -> Mapping[str, str]:
    """`NAME=VALUE` or `NAME` (which means 1), as given to a compiler's -D."""
    defines = {}
    for text in texts:
        name, has_value, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ArgumentError(f"`-D {text}` is not NAME=VALUE.")
        defines[name] = value if has_value else "1"
    return MappingProxyType(defines)
