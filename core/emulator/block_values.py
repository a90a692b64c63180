"""What an instruction gives in many blocks at once, where its operands follow from blockIdx."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.dependence import Affine
from core.emulator.events import Mask
from core.emulator.program import Op

_MOST_VALUES = 1 << 23  # lanes times different blocks that one instruction is worked out for


@dataclass(frozen=True)
class Blocks:
    """The blocks that are compared: `steps` int64 (n, 3) in blockIdx from the one that runs.

    `which` bool (n,) are those among them that still do the same.
    """

    steps: NDArray[np.int64]
    which: NDArray[np.bool_]


class OverBlocks:
    """The operands of an instruction in every block that differs in them.

    Values are int64 (lanes, m): the lanes that take part, or a single one where all are alike, by
    the m different blocks; `inverse` says which of these each of the blocks `which` is.
    """

    def __init__(
        self,
        op: Op,
        registers: list[NDArray[Any]],
        affine: Mapping[int, Affine],
        blocks: Blocks,
        mask: Mask | None,
    ) -> None:
        self._op, self._registers, self._affine = op, registers, affine
        tables = list(
            {id(d.table): d.table for d in affine.values() if d.table is not None}.values()
        )
        axes = np.flatnonzero(np.any([d.axes for d in affine.values()], axis=0))
        which = blocks.which
        columns = [blocks.steps[which][:, axes], *(table[which, None] for table in tables)]
        rows, inverse = np.unique(np.concatenate(columns, axis=1), axis=0, return_inverse=True)
        self.inverse = inverse.reshape(-1)
        self._steps = np.zeros((len(rows), 3), np.int64)
        self._steps[:, axes] = rows[:, : len(axes)]
        self._tables = {id(t): rows[:, len(axes) + i] for i, t in enumerate(tables)}
        self._lanes = self._chosen(mask)

    @property
    def is_too_much(self) -> bool:
        """Whether working it out would take too long."""
        lanes = 1 if self._lanes is None else len(self._lanes)
        return lanes * len(self._steps) > _MOST_VALUES

    def _chosen(self, mask: Mask | None) -> NDArray[np.intp] | None:
        """The lanes to look at; None where nothing has more than one value."""
        arrays = [self._registers[slot] for slot in self._op.sources]
        arrays += [c for d in self._affine.values() for c in (d.x, d.y, d.z)]
        wide = [a for a in arrays if a.size > 1]
        if not wide:
            return None
        lanes = np.arange(wide[0].size) if mask is None else np.flatnonzero(mask)
        if all((a[lanes] == a[lanes[0]]).all() for a in wide):
            return lanes[:1]
        return lanes

    def of_lanes(self, values: NDArray[Any]) -> NDArray[Any]:
        """A register's values in the lanes that are looked at."""
        return values if values.size == 1 or self._lanes is None else values[self._lanes]

    def to_lanes(self, values: NDArray[Any], size: int) -> NDArray[Any]:
        """The other way: values of these lanes as those of `size` lanes, the first's elsewhere."""
        if self._lanes is None or len(values) == 1:
            return values[:1]
        found = np.full(size, values[0])
        found[self._lanes] = values
        return found

    def operand(self, slot: int) -> NDArray[np.int64]:
        """A source register's values."""
        values: NDArray[Any] = self.of_lanes(self._registers[slot]).astype(np.int64)[:, None]
        dependence = self._affine.get(slot)
        if dependence is None:
            return np.repeat(values, len(self._steps), axis=1)
        for coefficient, steps in zip(
            (dependence.x, dependence.y, dependence.z), self._steps.T, strict=True
        ):
            values = values + self.of_lanes(coefficient)[:, None] * steps
        if dependence.table is not None:
            values = values + self._tables[id(dependence.table)]
        return values

    def results(self) -> tuple[NDArray[Any], ...]:
        """What the instruction gives: one array for each destination."""
        shape = (1 if self._lanes is None else len(self._lanes), len(self._steps))
        registers = list(self._registers)
        for slot in self._op.sources:
            given = np.broadcast_to(self.operand(slot), shape).reshape(-1)
            registers[slot] = given.astype(self._registers[slot].dtype)
        return self._computed(registers, shape)

    def here(self) -> tuple[NDArray[Any], ...]:
        """The same in the block that runs, each of shape (lanes, 1)."""
        registers = list(self._registers)
        for slot in self._op.sources:
            registers[slot] = self.of_lanes(self._registers[slot])
        return self._computed(registers, (1 if self._lanes is None else len(self._lanes), 1))

    def _computed(
        self, registers: list[NDArray[Any]], shape: tuple[int, int]
    ) -> tuple[NDArray[Any], ...]:
        assert self._op.compute is not None
        found = self._op.compute(registers)
        several = found if isinstance(found, tuple) else (found,)
        return tuple(np.broadcast_to(one, shape[0] * shape[1]).reshape(shape) for one in several)
