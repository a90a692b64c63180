"""Functions that a kernel calls and that the driver supplies: printf, assert, malloc and free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Mask
from core.emulator.memory import Region
from core.emulator.printf import formatted
from core.ptx.semantics.operation import unsupported

if TYPE_CHECKING:
    from core.emulator.frames import Frame
    from core.emulator.groups import Group
    from core.emulator.program import Call, Op
    from core.emulator.state import MachineState

_LONGEST = 1 << 16  # of a string
BUFFER_BYTES = 1 << 20  # that a launch may print: CUDA's default size of the buffer for it


_FULL = "… what is printed beyond 1 MB, CUDA's default buffer, is left out\n"


@dataclass(frozen=True)
class Printed:
    """What one thread printed by one call of `printf`, in order of time."""

    block: int  # linear index
    thread: int  # linear index in the block
    text: str


@dataclass(frozen=True)
class HostCall:
    """A call: the machine, who calls, and the arguments by position."""

    machine: MachineState
    frame: Frame
    group: Group
    op: Op

    @property
    def lanes(self) -> NDArray[np.intp]:
        """The lanes that call."""
        return self.group.lanes(self.machine.count)

    def argument(self, index: int) -> NDArray[np.int64]:
        """A 64-bit argument, one a lane."""
        call: Call = self.op.payload
        value = self.frame.parameters.get((call.arguments[index], 0))
        if value is None or value.itemsize != 8:
            raise unsupported(self.op.instruction, f"lacks its argument {index + 1}, of 64 bits")
        value = value.view(np.int64)
        return np.repeat(value, self.machine.count) if value.size == 1 else value

    def give(self, value: NDArray[Any]) -> None:
        """Sets the call's result."""
        call: Call = self.op.payload
        mask: Mask | None = self.group.mask
        old = self.frame.parameters.get((call.results[0], 0))
        if mask is not None and old is not None:
            value = np.where(mask, value, old.view(value.dtype))
        self.frame.parameters[call.results[0], 0] = value


def memory_at(machine: MachineState, lane: int, address: int, nbytes: int) -> bytes:
    """Up to `nbytes` at a generic address as a lane sees it; fewer at the end of the memory."""
    region = _region(machine, address)
    if region is None:
        return b""
    start = address - region.base
    size = min(nbytes, region.nbytes - start)
    if region.lane_offset is not None:
        start += int(region.lane_offset[lane])
    return region.data[start : start + size].tobytes()


def _region(machine: MachineState, address: int) -> Region | None:
    regions = (*machine.image.memory.regions, machine.unit.shared, machine.unit.local)
    return next((r for r in regions if r.base <= address < r.end), None)


def string_at(machine: MachineState, lane: int, address: int) -> str:
    """The zero-terminated text at an address."""
    raw = memory_at(machine, lane, address, _LONGEST)
    return raw.split(b"\0")[0].decode("utf-8", errors="replace")


def _print(call: HostCall) -> bool:
    """`vprintf(format, arguments)`."""
    machine, image = call.machine, call.machine.image
    if image.printed_bytes > BUFFER_BYTES:
        call.give(np.zeros(1, np.int32))
        return True
    forms, buffers = call.argument(0), call.argument(1)
    taken = np.zeros(machine.count, np.int32)
    threads = machine.geometry.threads
    for lane in call.lanes:
        base = int(buffers[lane])

        def fetch(offset: int, size: int, lane: int = int(lane), base: int = base) -> bytes:
            return memory_at(machine, lane, base + offset, size).ljust(size, b"\0")

        def text(address: int, lane: int = int(lane)) -> str:
            return string_at(machine, lane, address)

        written, taken[lane] = formatted(text(int(forms[lane])), fetch, text)
        block = int(machine.geometry.blocks[lane // threads])
        machine.printed.append(Printed(block, int(lane % threads), written))
        image.printed_bytes += len(written) + 1
        if image.printed_bytes > BUFFER_BYTES:
            machine.printed.append(Printed(block, int(lane % threads), _FULL))
            break
    call.give(taken)
    machine.check_soon()
    return True


def _assertion(call: HostCall) -> bool:
    """`__assertfail(message, file, line, function, size)`: the threads end here."""
    text = string_at(call.machine, int(call.lanes[0]), int(call.argument(0)[call.lanes[0]]))
    call.machine.report("assert", call.op.instruction.pc, call.group, text)
    return False


def _allocate(call: HostCall) -> bool:
    """`malloc(size)`: from a heap of CUDA's default size, never reused; 0 when it is full."""
    machine = call.machine
    heap = machine.image.heap()
    machine.unit.see_new_regions()
    sizes = call.argument(0)
    found = np.zeros(machine.count, np.int64)
    for lane in call.lanes:
        size = -(-int(sizes[lane]) // 16) * 16
        if machine.image.heap_used + size <= heap.nbytes:
            found[lane] = heap.base + machine.image.heap_used
            machine.image.heap_used += size
    call.give(found)
    return True


def _free(call: HostCall) -> bool:
    """`free(pointer)` gives nothing back: what was freed can still be looked at."""
    return True


_FUNCTIONS: dict[str, Callable[[HostCall], bool]] = {
    "vprintf": _print, "__assertfail": _assertion, "malloc": _allocate, "free": _free,
}  # fmt: skip


def host_call(machine: MachineState, frame: Frame, group: Group, op: Op, name: str) -> bool:
    """Does the call; False if the threads end. Raises `UnsupportedPtx` where nobody has it."""
    function = _FUNCTIONS.get(name)
    if function is None:
        raise unsupported(op.instruction, f"calls {name}, which is not there")
    return function(HostCall(machine, frame, group, op))
