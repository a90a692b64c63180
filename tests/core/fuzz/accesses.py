"""Random loads, stores and atomics on a thread's own bytes."""

from __future__ import annotations

from collections.abc import Callable

from tests.core.fuzz import scalars as s
from tests.core.fuzz.instructions import BANK, BANKS, Run, Thread, Writer

MEMORY = 64  # bytes a thread
_TYPES = ("u8", "s8", "u16", "s16", "u32", "s32", "b64")
_ATOMICS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")


def access(writer: Writer, space: str) -> Run:
    """One access; `space` is ".global", ".shared", ".local", or "" for a generic address."""
    rng = writer.rng
    kind = rng.choice(_TYPES)
    size = int(kind[1:]) // 8
    bank = BANK[max(16, 8 * size)]
    vector = min(rng.choice((1, 1, 1, 2, 4)), 16 // size, BANKS[bank])
    vector = 2 if vector == 3 else vector
    registers = [f"%{bank}{n}" for n in rng.sample(range(BANKS[bank]), vector)]
    place = _address(writer, size * vector)
    text = f"{{{', '.join(registers)}}}" if vector > 1 else registers[0]
    suffix = f"{space}{f'.v{vector}' * (vector > 1)}.{kind}"
    parts = [slice(i * size, (i + 1) * size) for i in range(vector)]
    if rng.random() < 0.5:
        writer.lines.append(f"st{suffix} [%place], {text};")

        def store(t: Thread) -> None:
            where = place(t)
            for part, name in zip(parts, registers, strict=True):
                raw = (t[name] & (256**size - 1)).to_bytes(size, "little")
                t["memory"][where + part.start : where + part.stop] = raw

        return store
    writer.lines.append(f"ld{suffix} {text}, [%place];")
    mask = (1 << {"r": 32, "q": 64, "h": 16}[bank]) - 1

    def load(t: Thread) -> None:
        where = place(t)
        raw = bytes(t["memory"])
        for part, name in zip(parts, registers, strict=True):
            piece = raw[where + part.start : where + part.stop]
            t[name] = int.from_bytes(piece, "little", signed=kind[0] == "s") & mask

    return load


def atomic(writer: Writer, space: str) -> Run:
    """On global or shared memory; what was there comes back."""
    rng, size = writer.rng, writer.rng.choice((4, 8))
    name = rng.choice(_ATOMICS if size == 4 else _ATOMICS[:8])
    bits = name in ("and", "or", "xor", "exch", "cas")
    kind = f"{rng.choice('su') if name in ('min', 'max') else 'u'}{8 * size}"
    to = writer.register(BANK[8 * size])
    sources = [writer.read(BANK[8 * size]) for _ in range(2 if name == "cas" else 1)]
    place = _address(writer, size)
    suffix = f"{space}.{name}.{'b' + kind[1:] if bits else kind}"
    writer.lines.append(f"atom{suffix} {to}, [%place], {', '.join(text for text, _ in sources)};")
    change: dict[str, Callable[..., int]] = {
        "add": lambda m, a: m + a, "and": lambda m, a: m & a, "or": lambda m, a: m | a,
        "xor": lambda m, a: m ^ a, "exch": lambda m, a: a,
        "min": lambda m, a: min(s.typed(m, kind), s.typed(a, kind)),
        "max": lambda m, a: max(s.typed(m, kind), s.typed(a, kind)),
        "cas": lambda m, a, b: b if m == a else m,
        "inc": lambda m, a: 0 if m >= a else m + 1,
        "dec": lambda m, a: a if m == 0 or m > a else m - 1,
    }  # fmt: skip

    def run(t: Thread) -> None:
        where = slice(place(t), place(t) + size)
        old = int.from_bytes(t["memory"][where], "little")
        new = change[name](old, *(read(t) for _, read in sources)) & (256**size - 1)
        t["memory"][where] = new.to_bytes(size, "little")
        t[to] = old

    return run


def _address(writer: Writer, wide: int) -> Callable[[Thread], int]:
    """Writes the address, a register's value among the thread's bytes, into %place."""
    index = writer.register("r")
    writer.lines.append(
        f"and.b32 %index, {index}, {MEMORY - wide}; cvt.u64.u32 %place, %index; "
        "add.u64 %place, %place, %base;"
    )
    return lambda t: t[index] & (MEMORY - wide)
