"""The bytes of a texture or a surface, as texels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.memory import Region
from core.launch import Texture

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Texels:
    """A texture of a launch: the bytes it lies in, how it is read, its extents, x last."""

    region: Region
    texture: Texture
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def extents(self) -> tuple[int, ...]:
        """Texels along each dimension, x last; layers stand first."""
        return self.shape[: self.texture.dimensions]

    @property
    def channels(self) -> int:
        """Numbers in one texel."""
        return int(np.prod(self.shape[self.texture.dimensions :], dtype=np.int64))

    def at(self, index: Sequence[Index], inside: NDArray[np.bool_]) -> NDArray[Any]:
        """Texels as numbers of their own type, shape (lanes, channels); 0 where not `inside`."""
        count = int(np.prod(self.shape, dtype=np.int64))
        rows = self.region.view(self.dtype)[:count].reshape(-1, self.channels)
        place = np.zeros_like(index[0])
        for extent, i in zip(self.extents, index, strict=True):
            place = place * extent + np.clip(i, 0, extent - 1)
        return np.where(inside[:, None], rows[place], self.dtype.type(0))
