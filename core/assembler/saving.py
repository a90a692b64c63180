"""What functions save on the stack for their callers, as their machine code says.

A function that calls others keeps its way back and further registers there: it stores them where it
begins and loads them before it returns. No PTX shows this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from core.ptx.ast import Module


def saving(module: Module, saves: Sequence[tuple[str, int]]) -> Module:
    """The module whose functions save so many registers, by name."""
    known = dict(saves)
    if not known:
        return module
    functions = {n: replace(f, saves=known.get(n, 0)) for n, f in module.functions.items()}
    return replace(module, functions=MappingProxyType(functions))
