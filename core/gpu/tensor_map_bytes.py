"""Tensor maps as a GPU takes them: the driver makes their 128 secret bytes."""

from __future__ import annotations

import ctypes
from typing import Any

from core.errors import TilescopeError
from core.tensor_maps import ALIGNMENT, BYTES, KINDS, TensorMap

# CUtensorMapSwizzle and CUtensorMapL2promotion of cuda.h.
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_L2_128 = 2


def encoded(driver: Any, what: TensorMap) -> bytes:
    """The bytes of a map, by `driver`: libcuda as ctypes loads it, in a current context.

    Raises TilescopeError where the driver refuses the map.
    """
    rank = len(what.sizes)
    raw = (ctypes.c_byte * (BYTES + ALIGNMENT))()
    start = -(-ctypes.addressof(raw) // ALIGNMENT) * ALIGNMENT
    status = driver.cuTensorMapEncodeTiled(
        ctypes.c_void_p(start),
        ctypes.c_int(KINDS.index(what.kind)),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(what.address),
        (ctypes.c_uint64 * rank)(*what.sizes),
        (ctypes.c_uint64 * max(rank - 1, 1))(*what.strides),
        (ctypes.c_uint32 * rank)(*what.box),
        (ctypes.c_uint32 * rank)(*what.steps),
        ctypes.c_int(0),
        ctypes.c_int(_SWIZZLES[what.swizzle]),
        ctypes.c_int(_L2_128),
        ctypes.c_int(0),
    )
    if status:
        raise TilescopeError(f"The driver refuses the tensor map with status {status}.")
    return ctypes.string_at(start, BYTES)
