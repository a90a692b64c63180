"""PTX instructions made ready to run: operands become slots of a register file.

Each function gets a `FunctionCode`: a list of `Op`s, and the layout of its registers. A *slot*
holds a register, a constant or a special register (`core.emulator.operands`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.ptx.ast import Function, Instruction
from core.ptx.types import PtxType

Registers = list[NDArray[Any]]
Reader = Callable[[Registers], NDArray[Any]]
Writer = Callable[[NDArray[Any]], NDArray[Any]]  # a result -> the type of the slot that it goes to


class Kind(IntEnum):
    """What the machine has to do for an instruction."""

    COMPUTE = 0
    MEMORY = 1
    BRANCH = 2
    CALL = 3
    RETURN = 4
    BARRIER = 5
    PARAMETER = 6
    CROSS_LANE = 7
    TRAP = 8
    NOTHING = 9
    SYNC = 10  # lanes of a warp wait for each other
    FENCE = 11
    ACTION = 12  # an `Action` (`core.emulator.machine_state`)
    INDEXED_BRANCH = 13


@dataclass(slots=True)
class Op:
    """One instruction, decoded. Which fields are set depends on `kind`."""

    kind: Kind
    instruction: Instruction
    guard: int = -1  # slot of the guard predicate, or -1
    guard_negated: bool = False
    compute: Callable[[Registers], Any] | None = None
    destinations: tuple[int, ...] = ()
    writers: tuple[Writer, ...] = ()  # of the destinations; what `compute` gives is converted
    sources: tuple[int, ...] = ()  # slots that `compute` reads
    target: int = -1  # pc of a branch
    latch: int = -1  # of a jump back to where several lead: the pc of the last of them
    payload: Any = None  # a MemoryAccess, Call, ParameterAccess, IndexedBranch, …
    slot: int = -1  # the destination of arithmetic that has one, and no guard
    pair: tuple[int, int] | None = None  # its first and last source, if its last result is kept
    is_special: bool = field(init=False)  # it yields, spills, or lanes part or meet there

    def __post_init__(self) -> None:
        one = self.instruction
        self.is_special = one.yields or one.spills != (0, 0) or one.begins + one.joins > 0


@dataclass(slots=True)
class MemoryAccess:
    """Operands of a load, store or atomic."""

    kind: str  # "load", "store", "atomic"
    space: str  # "" for generic
    type: PtxType
    count: int  # elements of a vector access
    address: Reader
    values: tuple[Reader, ...]  # stored elements, or an atomic's operands
    operation: str = ""  # of an atomic
    width: int = field(init=False)  # bytes a lane, the whole vector

    def __post_init__(self) -> None:
        self.width = self.type.nbytes * self.count


@dataclass(slots=True)
class ParameterAccess:
    """`ld.param` or `st.param` of a device function's or a call's parameter."""

    is_load: bool
    key: tuple[str, int]  # variable and byte offset
    types: PtxType
    values: tuple[Reader, ...]


@dataclass(frozen=True)
class IndexedBranch:
    """`brx.idx`: each lane goes to the pc that its index picks; beyond the list it is undefined."""

    targets: tuple[int, ...]
    index: Reader


@dataclass(slots=True)
class Call:
    """A call: names of the actual parameter variables.

    `pointer` gives the function's address where it is called by that (`function` is then ""). An
    argument that is no variable is put into one of the names first, as `values` says; `targets` are
    the slots of results that are registers, by the variable they come from. Both have the name and
    the offset in bytes, which is that of an element where the register is a vector.
    """

    function: str
    results: tuple[str, ...]
    arguments: tuple[str, ...]
    pointer: Reader | None = None
    values: tuple[tuple[tuple[str, int], Reader], ...] = ()
    targets: tuple[tuple[tuple[str, int], int], ...] = ()


@dataclass
class FunctionCode:
    """A function ready to run."""

    function: Function
    ops: list[Op]
    slots: Mapping[str, int]  # register -> slot
    dtypes: list[np.dtype[Any]]
    constants: list[tuple[int, NDArray[Any]]]
    specials: list[tuple[int, str]]
    local_offsets: Mapping[str, int]
    local_bytes: int
    watched: frozenset[int] = frozenset()  # slots of registers that source variables live in
    run_ends: list[int] = field(default_factory=list)  # end of the straight run of COMPUTE ops

    def __post_init__(self) -> None:
        for op in self.ops:
            if op.kind is Kind.COMPUTE and op.guard < 0 and len(op.destinations) == 1:
                op.slot = op.destinations[0]
                if op.instruction.opcode != "mov" and len(op.sources) in (1, 2):
                    op.pair = op.sources[0], op.sources[-1]

    @property
    def first_pc(self) -> int:
        """pc of its first instruction."""
        return self.function.first_pc
