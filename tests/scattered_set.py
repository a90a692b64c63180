"""One warp's atomics and asynchronous copies at scattered places, as counted on a GPU.

The places come from a formula (`scattered_launches`), so that `scripts/record_scattered.py` on a
GPU machine and the tests here mean the same launches whatever their NumPy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.ladder.input_arrays import poisoned
from core.launch import ArrayArgument, Dim3, Launch, Workload
from tests.reference_set import mixed

FOLDER = Path(__file__).parent / "data" / "scattered"
LANES = 32
IDLE = -1
HIGHEST_BIT = 29  # of an address, of those that are tried one by one
KNOWN_BITS = 21  # those above are the driver's choice, and differ from run to run
REPETITIONS = 4  # of the first patterns of each atomic, to see whether the counter varies
_REPEATED = 2

ATOMICS = {  # name: (type of the cells, whether the old value is kept, operation)
    "red32": ("int", 0, "atomicAdd(place, 1)"),
    "atom32": ("int", 1, "atomicAdd(place, 1)"),
    "cas32": ("int", 1, "atomicCAS(place, 0, 1)"),
    "red64": ("unsigned long long", 0, "atomicAdd(place, 1ull)"),
    "exch64": ("unsigned long long", 1, "atomicExch(place, 1ull)"),
    "cas64": ("unsigned long long", 1, "atomicCAS(place, 0ull, 1ull)"),
}
COPIES = {"cg16": 64, "ca16": 24, "ca8": 16, "ca4": 16}  # name: how many patterns
CELLS = (32, 48, 64, 96, 128, 192, 256, 512, 1024, 4096, 65536)


@dataclass(frozen=True)
class Scattered:
    """One warp's access. `places` int64 (lanes,), bytes; of a copy `target` and `given` as well."""

    name: str
    operation: str
    places: NDArray[np.int64]
    target: NDArray[np.int64] | None = None
    given: NDArray[np.int64] | None = None

    @property
    def width(self) -> int:
        """Bytes a lane."""
        if self.operation in ATOMICS:
            return int(self.operation[-2:]) // 8
        return int(self.operation[2:])

    @property
    def is_copy(self) -> bool:
        """Whether it is a `cp.async`."""
        return self.operation in COPIES


@cache
def scattered_launches() -> tuple[Scattered, ...]:
    """All launches, in the order in which they are recorded."""
    return (*_address_bits(), *_atomics(), *_copies())


def _address_bits() -> Iterator[Scattered]:
    """Two lanes whose lines differ in one address bit, and in the two lowest of the line."""
    for bit in range(9, HIGHEST_BIT + 1):
        for low in range(3):
            places = np.full(LANES, IDLE, np.int64)
            places[:2] = 0, (1 << bit) ^ (low << 7)
            yield Scattered(f"bit-{bit}-{low}", "red32", places)


def _atomics() -> Iterator[Scattered]:
    for number, operation in enumerate(ATOMICS):
        width = int(operation[-2:]) // 8
        for i in range(44):
            random = _Random(1000 * number + i)
            cells = CELLS[i % len(CELLS)]
            chosen = random.below(cells, LANES) if i % 3 == 0 else random.apart(cells, LANES)
            idle = random.below(LANES, LANES) < (0 if i % 2 else random.below(24, 1)[0])
            places = np.where(idle, IDLE, chosen * width)
            again = REPETITIONS if i in range(6, 6 + _REPEATED) else 1
            for turn in range(again):
                yield Scattered(
                    f"{operation}-{i}" + f"-again{turn}" * (turn > 0), operation, places
                )


def _copies() -> Iterator[Scattered]:
    lane = np.arange(LANES)
    for number, (operation, count) in enumerate(COPIES.items()):
        size = int(operation[2:])
        for i in range(count):
            random = _Random(100_000 + 1000 * number + i)
            a, b, c, d = (int(x) for x in random.below(24, 4))
            source, target = (
                (random.below(64, LANES), random.apart(64, LANES)),
                (random.below(400, LANES), lane),
                (lane // 8 * (8 + a) + lane % 8 + b, lane // 8 * (8 + c) + lane % 8 + d),
                (np.full(LANES, a), random.apart(100, LANES)),
                (lane // 4 * (4 + a) + lane % 4, lane // 4 * (4 + b % 5) + lane % 4),
                (random.apart(500, LANES), random.apart(100, LANES)),
                (lane + a, lane * 2 + b),
                (lane // 2 + a, lane + b),
            )[i % 8]
            given = np.full(LANES, size)
            if i % 3 == 0:
                given[random.below(4, LANES) == 0] = 0
            elif i % 5 == 1:
                given = random.below(size + 1, LANES)
            idle = (random.below(3, LANES) == 0) & (i % 4 == 3)
            places = np.where(idle, IDLE, source * size)
            yield Scattered(f"{operation}-{i}", operation, places, target * size, given)


class _Random:
    """Numbers from a seed, by the reference set's formula."""

    def __init__(self, seed: int) -> None:
        self._seed, self._calls = seed * 16, 0

    def _bits(self, size: int) -> NDArray[np.uint64]:
        self._calls += 1
        return mixed(size, self._seed + self._calls)

    def below(self, limit: int, size: int) -> NDArray[np.int64]:
        """`size` numbers in [0, limit)."""
        return (self._bits(size) % np.uint64(limit)).astype(np.int64)

    def apart(self, limit: int, size: int) -> NDArray[np.int64]:
        """`size` different numbers in [0, limit)."""
        return np.argsort(self._bits(limit), kind="stable")[:size].astype(np.int64)


def workload(launch: Scattered) -> Workload:
    """The launch of one warp; its arrays are as small as they can be."""
    longest = max(int(launch.places.max()), 0) + launch.width
    if launch.is_copy:
        assert launch.target is not None
        assert launch.given is not None
        name = "scattered_copy"
        defines = {"CACHE": launch.operation[:2], "SIZE": str(launch.width)}
        arguments = (
            *(
                ArrayArgument(key, values.astype(np.int32))
                for key, values in (
                    ("source", launch.places), ("target", launch.target), ("given", launch.given),
                )
            ),
            ArrayArgument("from", np.resize(np.arange(251, dtype=np.uint8), longest)),
            ArrayArgument("out", poisoned(np.dtype(np.int32), (1024,)), "output"),
        )  # fmt: skip
    else:
        name = "scattered_atomic"
        element, result, operation = ATOMICS[launch.operation]
        defines = {"ELEMENT": element, "RESULT": str(result), "OPERATION": operation}
        old = poisoned(np.dtype(f"uint{8 * launch.width}"), (LANES,))
        arguments = (
            ArrayArgument("address", launch.places),
            ArrayArgument("cells", np.zeros(longest, np.uint8), "inout"),
            ArrayArgument("old", old, "output"),
        )
    source = FOLDER / f"{name}.cu"
    return Workload(
        title=launch.name,
        source=source.read_text(encoding="utf-8"),
        source_name=source.name,
        kernel=name,
        launch=Launch(Dim3(1), Dim3(LANES), arguments),
        defines=defines,
    )


@cache
def recorded() -> dict[str, Any]:
    """What `scripts/record_scattered.py` wrote."""
    return json.loads((FOLDER / "h200_2026-11-21.json").read_text(encoding="utf-8"))
