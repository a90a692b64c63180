"""How the lanes of a machine map to blocks, warps, threads and clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.launch import WARP, Dim3

WARPGROUP = 4  # warps
# Address of the workspace of cooperative groups' grid.sync(), in %envreg1 and %envreg2.
GRID_WORKSPACE = 1 << 44
_ZEROS = (
    "smid",
    "gridid",
    "total_smem_size",
    "aggr_smem_size",
    "current_graph_exec",
    *(f"reserved_smem_offset_{part}" for part in ("begin", "end", "cap", "0", "1")),
)


_ALONE = Dim3(1)


def _cluster_index(
    grid: Dim3, cluster: Dim3, blocks: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The linear index of each block's cluster, and the block's rank in there, x fastest."""
    x, y, z = grid.at(blocks)
    wide, high = grid.x // cluster.x, grid.y // cluster.y
    number = x // cluster.x + wide * (y // cluster.y + high * (z // cluster.z))
    rank = x % cluster.x + cluster.x * (y % cluster.y + cluster.y * (z % cluster.z))
    return number, rank


def clusters(grid: Dim3, cluster: Dim3) -> NDArray[np.int64]:
    """The blocks of each cluster of a grid, ascending: int64 (clusters, blocks of a cluster)."""
    blocks = np.arange(grid.count)
    number, _ = _cluster_index(grid, cluster, blocks)
    return np.argsort(number, kind="stable").reshape(-1, cluster.count)


@dataclass(frozen=True)
class Geometry:
    """How the lanes of a machine map to blocks, warps and threads."""

    grid: Dim3
    block: Dim3
    blocks: NDArray[np.int64]  # linear index of each block that runs, in order
    cluster: Dim3 = _ALONE  # blocks of a cluster

    @property
    def threads(self) -> int:
        """Threads of one block."""
        return self.block.count

    @property
    def warps(self) -> int:
        """Warps of one block, the last perhaps incomplete."""
        return -(-self.threads // WARP)

    @property
    def lanes(self) -> int:
        """Lanes of the machine."""
        return len(self.blocks) * self.threads

    def special(self, name: str) -> NDArray[np.int32]:
        """The value of a special register for every lane, or one element if all have the same.

        Linear indices count x fastest (CUDA C++ Programming Guide, "Thread Hierarchy").
        """
        register, _, axis = name.removeprefix("%").partition(".")
        if register in ("ntid", "nctaid"):
            return np.array([getattr(self.block if register == "ntid" else self.grid, axis)], "i4")
        if register in ("tid", "ctaid"):
            size = self.block if register == "tid" else self.grid
            linear = np.arange(self.threads) if register == "tid" else self.blocks
            index = size.at(linear)["xyz".index(axis)].astype(np.int32)
            if register == "tid":
                return np.tile(index, len(self.blocks))
            return index if len(index) == 1 else np.repeat(index, self.threads)
        thread = np.tile(np.arange(self.threads), len(self.blocks))
        lane = thread % WARP
        one = np.uint64(1)
        below = (one << lane.astype(np.uint64)) - one
        values: dict[str, NDArray[np.generic]] = {
            "laneid": lane,
            "warpid": thread // WARP,
            "nwarpid": np.array([self.warps]),
            "lanemask_eq": one << lane.astype(np.uint64),
            "lanemask_lt": below,
            "lanemask_le": below * np.uint64(2) + one,
            "lanemask_ge": ~below & np.uint64(0xFFFFFFFF),
            "lanemask_gt": ~(below * np.uint64(2) + one) & np.uint64(0xFFFFFFFF),
            "nsmid": np.array([1]),
            "cluster_nctarank": np.array([self.cluster.count]),
            "is_explicit_cluster": np.array([int(self.cluster.count > 1)]),
            **dict.fromkeys(_ZEROS, np.array([0])),
        }
        if register == "cluster_ctarank":
            return np.repeat(self.ranks.astype(np.int32), self.threads)
        if register in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"):
            return self._cluster(register, axis)
        if register.startswith("envreg"):
            value = {"envreg1": GRID_WORKSPACE >> 32, "envreg2": GRID_WORKSPACE & 0xFFFFFFFF}
            return np.array([value.get(register, 0)], np.int32)
        if register not in values:
            raise KeyError(name)
        return values[register].astype(np.uint32).view(np.int32)

    def _cluster(self, register: str, axis: str) -> NDArray[np.int32]:
        """Without clusters each block is one of its own."""
        size = np.int32(getattr(self.cluster, axis))
        if register == "cluster_nctaid":
            return np.array([size])
        block = self.special(f"%{'nctaid' if register == 'nclusterid' else 'ctaid'}.{axis}")
        return block % size if register == "cluster_ctaid" else block // size

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The rank of each block in its cluster, x fastest."""
        return _cluster_index(self.grid, self.cluster, self.blocks)[1]

    @cached_property
    def peers(self) -> NDArray[np.int64]:
        """Where the blocks of a block's cluster are, by rank: places in the machine, -1 for none.

        Of shape (blocks, blocks of a cluster).
        """
        cluster, rank = _cluster_index(self.grid, self.cluster, self.blocks)
        numbers, own = np.unique(cluster, return_inverse=True)
        table = np.full((len(numbers), self.cluster.count), -1, np.int64)
        table[own, rank] = np.arange(len(self.blocks))
        return table[own]

    @cached_property
    def cluster_of(self) -> NDArray[np.int64]:
        """A number for the cluster of each block, from 0 on."""
        cluster, _ = _cluster_index(self.grid, self.cluster, self.blocks)
        return np.unique(cluster, return_inverse=True)[1].astype(np.int64)


def warp_rows(values: NDArray[Any], geometry: Geometry, fill: int) -> NDArray[Any]:
    """One value a lane to rows of a warp: shape (blocks * warps, 32), the rest filled."""
    per_block = values.reshape(len(geometry.blocks), geometry.threads)
    wide = geometry.warps * WARP
    if wide > geometry.threads:  # np.pad would take ten times as long
        padded = np.full((len(per_block), wide), fill, per_block.dtype)
        padded[:, : geometry.threads] = per_block
        per_block = padded
    return per_block.reshape(-1, WARP)


def active_rows(mask: NDArray[np.bool_] | None, geometry: Geometry) -> NDArray[np.bool_]:
    """A mask as rows of a warp; None: of all threads."""
    return warp_rows(np.ones(geometry.lanes, bool) if mask is None else mask, geometry, 0)


def same_lanes(a: NDArray[np.bool_] | None, b: NDArray[np.bool_] | None) -> bool:
    """Whether two masks are of the same lanes; None is all."""
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def lanes_of_rows(rows: NDArray[Any], geometry: Geometry) -> NDArray[Any]:
    """The inverse of `warp_rows`."""
    per_block = rows.reshape(len(geometry.blocks), geometry.warps * WARP)
    return np.ascontiguousarray(per_block[:, : geometry.threads]).reshape(-1)
