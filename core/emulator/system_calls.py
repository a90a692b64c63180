"""System calls, which the driver supplies to kernels: `printf`, `assert`, `malloc` and `free`.

PTX Writer's Guide to Interoperability, "System Calls".
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Printed
from core.emulator.machine_state import Lanes, MachineState
from core.emulator.program import Call
from core.ptx.arithmetic.operation import unsupported

# `printf` of device code: the format string and its arguments as one text.
#
# The arguments lie one after another in a buffer, each aligned to its size: `int` and `unsigned`
# take 4 bytes, `long long`, pointers and every float (promoted to double) take 8 (CUDA C++
# Programming Guide, "Formatted Output").


_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+)?)?"
    r"(?P<size>hh|h|ll|l|j|z|t|L|q)?(?P<kind>[diouxXcfFeEgGaAspn%])|%"
)
BUFFER_BYTES = 1 << 20  # that a launch may print: CUDA's default size of the buffer for it
LONGEST = 1 << 16  # of a string
_DIGITS = 20  # of a width or precision; more cannot matter
_Fetch = Callable[[int, int], bytes]  # offset and size in the buffer
Text = Callable[[int], str]  # the string at an address


class _Arguments:
    def __init__(self, fetch: _Fetch) -> None:
        self._fetch, self._offset, self.count = fetch, 0, 0

    def take(self, nbytes: int) -> bytes:
        self._offset = -(-self._offset // nbytes) * nbytes
        raw = self._fetch(self._offset, nbytes)
        self._offset += nbytes
        self.count += 1
        return raw


def formatted(form: str, fetch: _Fetch, text: Text, most: int = BUFFER_BYTES) -> tuple[str, int]:
    """What `printf` writes, at most `most` characters, and how many arguments it took.

    Greater widths and precisions are cut to that.
    """
    arguments, parts, size, at = _Arguments(fetch), [], 0, 0
    limit = most + LONGEST
    for match in _CONVERSION.finditer(form):
        parts += [form[at : match.start()], _one(match, arguments, text, limit)]
        at, size = match.end(), size + len(parts[-1]) + len(parts[-2])
        if size >= most:
            break
    return "".join([*parts, form[at:]])[:most], arguments.count


def _one(match: re.Match[str], arguments: _Arguments, text: Text, limit: int) -> str:
    kind = match["kind"]
    if kind in (None, "%"):
        return "%"
    flags, width, point = match["flags"], _size(match["width"] or "", arguments, limit), ""
    if width.startswith("-"):
        flags, width = f"{flags}-", width[1:]
    if "." in match.group():
        precision = _size(match["precision"] or "0", arguments, limit)
        point = "" if precision.startswith("-") else f".{precision}"
    spec = f"%{flags}{width}{point}"
    if kind in "diouxX":
        raw = arguments.take(8 if match["size"] in ("ll", "l", "j", "z", "t", "q") else 4)
        used = {"h": 2, "hh": 1}.get(match["size"], len(raw))
        return _number(spec, kind, _integer(raw[:used], signed=kind in "di"))
    if kind == "c":
        return (spec + "c") % chr(_integer(arguments.take(4), signed=False) & 0xFF)
    if kind == "s":
        address = _integer(arguments.take(8), signed=False)
        return (spec + "s") % (text(address) if address else "(null)")
    if kind == "p":
        address = _integer(arguments.take(8), signed=False)
        return f"%{flags}{width}s" % (hex(address) if address else "(nil)")
    if kind == "n":
        return ""
    (real,) = struct.unpack("<d", arguments.take(8))
    if kind in "aA" and math.isfinite(real):
        found = _hexadecimal(real, flags, width, point)
        return found if kind == "a" else found.upper()
    if math.isnan(real) and math.copysign(1, real) < 0:
        return f"%{flags.replace('0', '')}{width}s" % ("-nan" if kind.islower() else "-NAN")
    return str((spec + {"a": "f", "A": "F"}.get(kind, kind)) % real)


def _size(text: str, arguments: _Arguments, limit: int) -> str:
    """A width or a precision; `*` takes an argument, whose sign is kept."""
    size = _integer(arguments.take(4), signed=True) if text == "*" else text
    if isinstance(size, str):
        return size if len(size) < len(str(limit)) else str(min(int(size[:_DIGITS]), limit))
    return str(max(min(size, limit), -limit))


def _hexadecimal(real: float, flags: str, width: str, point: str) -> str:
    """C's `%a`: as many digits as are asked for, or as the value needs."""
    whole, _, rest = abs(real).hex()[2:].partition(".")
    fraction, _, exponent = rest.partition("p")
    if point:
        digits = int(point[1:])
        dropped = 4 * max(13 - digits, 0)
        number = int(whole + fraction.ljust(13, "0"), 16)
        kept, left = divmod(number, 1 << dropped)
        half = 1 << dropped >> 1
        kept += dropped > 0 and (left > half or (left == half and kept % 2 == 1))
        text = format(kept, "x").zfill(min(digits, 13) + 1)
        cut = len(text) - min(digits, 13)
        whole, fraction = text[:cut], text[cut:].ljust(digits, "0")
    else:
        fraction = fraction.rstrip("0")
    negative = math.copysign(1, real) < 0
    sign = "-" if negative else "+" if "+" in flags else " " if " " in flags else ""
    body = whole + ("." if fraction or "#" in flags else "") + f"{fraction}p{exponent}"
    room = int(width or 0) - len(sign) - 2
    if "-" in flags:
        return f"{sign}0x{body}".ljust(int(width or 0))
    return (
        f"{sign}0x{body.zfill(room)}" if "0" in flags else f"{sign}0x{body}".rjust(int(width or 0))
    )


def _integer(raw: bytes, *, signed: bool) -> int:
    return int.from_bytes(raw, "little", signed=signed)


def _number(spec: str, kind: str, value: int) -> str:
    """C's alternative octal form differs from Python's (0o17)."""
    if kind == "o" and "#" in spec:
        return (spec.replace("#", "") + "s") % ("0" + format(value, "o"))
    return (spec + {"u": "d", "i": "d"}.get(kind, kind)) % value


_FULL = "… what is printed beyond 1 MB, CUDA's default buffer, is left out\n"


def _argument(lanes: Lanes, index: int) -> NDArray[np.int64]:
    """A call's argument of 64 bits, one a lane."""
    call: Call = lanes.op.payload
    value = lanes.frame.parameters.get((call.arguments[index], 0))
    if value is None or value.itemsize != 8:
        raise unsupported(lanes.op.instruction, f"lacks its argument {index + 1}, of 64 bits")
    value = value.view(np.int64)
    return np.repeat(value, lanes.count) if value.size == 1 else value


def _give(lanes: Lanes, value: NDArray[Any]) -> None:
    """Sets the call's result."""
    call: Call = lanes.op.payload
    lanes.frame.give((call.results[0], 0), value, lanes.mask)


def _memory_at(state: MachineState, lane: int, address: int, nbytes: int) -> bytes:
    """Up to `nbytes` bytes at a generic address of a lane; fewer at the end of the memory."""
    regions = (*state.image.memory.regions, state.unit.shared, state.unit.local)
    region = next((r for r in regions if r.base <= address < r.end), None)
    if region is None:
        return b""
    start = address - region.base
    size = min(nbytes, region.nbytes - start)
    if region.lane_offset is not None:
        start += int(region.lane_offset[lane])
    return region.data[start : start + size].tobytes()


def string_at(state: MachineState, lane: int, address: int) -> str:
    """The zero-terminated text at an address."""
    raw = _memory_at(state, lane, address, LONGEST)
    return raw.split(b"\0")[0].decode("utf-8", errors="replace")


def _print(lanes: Lanes) -> bool:
    """`vprintf(format, arguments)`."""
    state, image = lanes.state, lanes.state.image
    if image.printed_bytes > BUFFER_BYTES:
        _give(lanes, np.zeros(1, np.int32))
        return True
    forms, buffers = _argument(lanes, 0), _argument(lanes, 1)
    taken = np.zeros(state.count, np.int32)
    threads = state.geometry.threads
    for lane in np.flatnonzero(lanes.active):
        base = int(buffers[lane])

        def fetch(offset: int, size: int, lane: int = int(lane), base: int = base) -> bytes:
            return _memory_at(state, lane, base + offset, size).ljust(size, b"\0")

        def text(address: int, lane: int = int(lane)) -> str:
            return string_at(state, lane, address)

        room = BUFFER_BYTES - image.printed_bytes
        written, taken[lane] = formatted(text(int(forms[lane])), fetch, text, max(room, 0))
        block = int(state.geometry.blocks[lane // threads])
        state.printed.append(Printed(block, int(lane % threads), written))
        image.printed_bytes += len(written) + 1
        if image.printed_bytes > BUFFER_BYTES:
            full = _FULL if written.endswith("\n") else f"\n{_FULL}"
            state.printed.append(Printed(block, int(lane % threads), full))
            break
    _give(lanes, taken)
    state.check_soon()
    return True


def _assertion(lanes: Lanes) -> bool:
    """`__assertfail(message, file, line, function, size)`: the threads end here."""
    first = int(lanes.active.argmax())
    text = string_at(lanes.state, first, int(_argument(lanes, 0)[first]))
    lanes.fault("assert", np.flatnonzero(lanes.active), text)
    return False


def _allocate(lanes: Lanes) -> bool:
    """`malloc(size)`: from a heap of CUDA's default size; 0 when it is full."""
    state, pc, depth = lanes.state, lanes.pc, lanes.group.depth
    sizes = _argument(lanes, 0).view(np.uint64)
    found = np.zeros(state.count, np.int64)
    for lane in np.flatnonzero(lanes.active):
        heap = state.image.heap_made()
        state.unit.see_new_regions()
        piece = heap.allocate(int(sizes[lane]), state.call_site(pc, depth, int(lane)))
        if piece is None:
            continue
        for observer in state.observers if piece.again else ():
            observer.on_reuse(heap.region, piece.start, piece.room)
        found[lane] = heap.region.base + piece.start
    _give(lanes, found)
    state.check_soon()
    return True


def _free(lanes: Lanes) -> bool:
    """`free(pointer)`; a pointer that a lane may not free is a fault."""
    state, pc, depth = lanes.state, lanes.pc, lanes.group.depth
    pointers, heap = _argument(lanes, 0), state.image.heap
    for lane in np.flatnonzero(lanes.active).tolist():
        address = int(pointers[lane])
        block, thread = divmod(lane, state.geometry.threads)
        by = int(state.geometry.blocks[block]), thread
        if address == 0 or (heap and heap.free(address, state.call_site(pc, depth, lane), by)):
            continue
        piece = heap.piece_at(address) if heap else None
        place, who, at = state.unit.nearest(address), np.array([lane]), np.array([address])
        state.fault("bad_free", pc, depth, who, piece=piece, region=place, address=at)
    state.check_soon()
    return True


_FUNCTIONS: dict[str, Callable[[Lanes], bool]] = {
    "vprintf": _print,
    "__assertfail": _assertion,
    "malloc": _allocate,
    "free": _free,
}


def system_call(lanes: Lanes, name: str) -> bool:
    """Executes the call; False if the threads end. Raises `UnsupportedPtx` for others."""
    function = _FUNCTIONS.get(name)
    if function is None:
        where = "name the file that defines it with --include"
        raise unsupported(lanes.op.instruction, f"calls {name}, which is not there: {where}")
    return function(lanes)
