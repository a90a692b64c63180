"""`printf` of device code: the format string and its arguments as one text.

The arguments lie one after another in a buffer, each aligned to its size: `int` and `unsigned` take
4 bytes, `long long`, pointers and every float (promoted to double) take 8 (CUDA C++ Programming
Guide, "Formatted Output").
"""

from __future__ import annotations

import math
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
        address = _integer(arguments.take(8), signed=False)
        return f"%{match['flags']}{width}s" % (hex(address) if address else "(nil)")
    if kind == "n":
        return ""
    (real,) = struct.unpack("<d", arguments.take(8))
    if kind in "aA" and math.isfinite(real):
        found = _hexadecimal(real, match["flags"], width, point)
        return found if kind == "a" else found.upper()
    if math.isnan(real) and math.copysign(1, real) < 0:
        return f"%{match['flags'].replace('0', '')}{width}s" % (
            "-nan" if kind.islower() else "-NAN"
        )
    return str((spec + {"a": "f", "A": "F"}.get(kind, kind)) % real)


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
