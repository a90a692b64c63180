"""`brx.idx`: each lane goes to the label that its index picks from a list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.emulator.lanes import Lanes, action_op
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Instruction, Symbol
from core.ptx.types import TYPES


@dataclass(frozen=True)
class IndexedBranch:
    """The pcs of the labels, and the index; beyond the list the behaviour is undefined."""

    targets: tuple[int, ...]
    index: Reader

    def run(self, lanes: Lanes) -> bool:
        """Sends each lane to its label."""
        chosen = np.minimum(lanes.read(self.index), len(self.targets) - 1)
        pcs = np.array(self.targets)[chosen]
        active = lanes.active
        for pc in np.unique(pcs[active]):
            lanes.machine.place(int(pc), lanes.group.depth, active & (pcs == pc))
        return False


def indexed_branch(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `brx.idx`."""
    index, table = instruction.operands
    if not isinstance(table, Symbol) or table.name not in decoder.module.branch_targets:
        raise unsupported(instruction, "names no list of branch targets")
    targets = decoder.module.branch_targets[table.name]
    pcs = tuple(decoder.label(instruction, name, "may go to") for name in targets)
    return action_op(
        instruction, IndexedBranch(pcs, decoder.table.read(instruction, index, TYPES["u32"]))
    )
