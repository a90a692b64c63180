"""`printf` of device code: the format string and its arguments as one text.

The arguments lie one after another in a buffer, each aligned to its size: `int` and `unsigned` take
4 bytes, `long long`, pointers and every float (promoted to double) take 8 (CUDA C++ Programming
Guide, "Formatted Output").
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+)?)?"
    r"(?P<size>hh|h|ll|l|j|z|t|L|q)?(?P<kind>[diouxXcfFeEgGaAspn%])|%"
)
Fetch = Callable[[int, int], bytes]  # offset and size in the buffer
Text = Callable[[int], str]  # the string at an address


class _Arguments:
    def __init__(self, fetch: Fetch) -> None:
        self._fetch, self._offset, self.count = fetch, 0, 0

    def take(self, nbytes: int) -> bytes:
        self._offset = -(-self._offset // nbytes) * nbytes
        raw = self._fetch(self._offset, nbytes)
        self._offset += nbytes
        self.count += 1
        return raw


def formatted(form: str, fetch: Fetch, text: Text) -> tuple[str, int]:
    """What `printf` writes, and how many arguments it took."""
    arguments = _Arguments(fetch)
    return _CONVERSION.sub(lambda m: _one(m, arguments, text), form), arguments.count


def _one(match: re.Match[str], arguments: _Arguments, text: Text) -> str:
    kind = match["kind"]
    if kind in (None, "%"):
        return "%"
    width, precision = match["width"] or "", match["precision"]
    if width == "*":
        width = str(_integer(arguments.take(4), signed=True))
    if precision == "*":
        precision = str(_integer(arguments.take(4), signed=True))
    point = "" if "." not in match.group() else f".{precision or 0}"
    spec = f"%{match['flags']}{width}{point}"
    if kind in "diouxX":
        value = _integer(arguments.take(8 if match["size"] in ("ll", "l", "j", "z", "t", "q")
                                        else 4), signed=kind in "di")  # fmt: skip
        value = _shortened(value, match["size"], signed=kind in "di")
        return _number(spec, kind, value)
    if kind == "c":
        return (spec + "c") % chr(_integer(arguments.take(4), signed=False) & 0xFF)
    if kind == "s":
        address = _integer(arguments.take(8), signed=False)
        return (spec + "s") % (text(address) if address else "(null)")
    if kind == "p":
        return (f"%{match['flags']}{width}s") % hex(_integer(arguments.take(8), signed=False))
    if kind == "n":
        return ""
    (real,) = struct.unpack("<d", arguments.take(8))
    if kind in "aA":
        return float(real).hex() if kind == "a" else float(real).hex().upper()
    return str((spec + kind) % real)


def _integer(raw: bytes, *, signed: bool) -> int:
    return int.from_bytes(raw, "little", signed=signed)


def _shortened(value: int, size: str | None, *, signed: bool) -> int:
    bits = {"h": 16, "hh": 8}.get(size or "")
    if bits is None:
        return value
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _number(spec: str, kind: str, value: int) -> str:
    """C's alternative octal form differs from Python's (0o17)."""
    if kind == "o" and "#" in spec:
        return (spec.replace("#", "") + "s") % ("0" + format(value, "o"))
    return (spec + {"u": "d", "i": "d"}.get(kind, kind)) % value
