"""Streams of FFMA with chosen registers, as machine code (for `measure_registers.py`).

They are patterns of even and odd registers, with and without the reuse of a factor, and the FFMA of
the ladder's own loops. They take the places of the FFMA in a compiled kernel's loop.
"""

from __future__ import annotations

import base64
import io
import random
import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools

from core.compiler.cubin import (
    SIZE,
    MachineInstruction,
    machine_code,
)
from core.ladder import load_ladder

BODY = 1024  # FFMA in the loop
_CONTROL = 0x000FE20000000000  # wait one clock, for nothing else
_FFMA = 0x7223


@dataclass(frozen=True)
class Fma:
    """An FFMA: what it writes, its three factors, and which of them are kept for the next."""

    to: int
    factors: tuple[int, int, int]
    reuse: tuple[bool, bool, bool] = (False, False, False)


def encoded(fma: Fma) -> bytes:
    """Its 16 bytes."""
    a, b, c = fma.factors
    low = _FFMA | fma.to << 16 | a << 24 | b << 32
    kept = sum(bool(one) << (58 + place) for place, one in enumerate(fma.reuse))
    return struct.pack("<QQ", low, _CONTROL | c | kept)


def places(code: Sequence[MachineInstruction]) -> list[int]:
    """The FFMA of the loop, as indices."""
    found = [i for i, one in enumerate(code) if one.name == "FFMA"]
    if len(found) != BODY:
        raise SystemExit(f"The loop has {len(found)} FFMA of registers, not {BODY}.")
    return found


def patched(image: bytes, stream: Sequence[Fma]) -> bytes:
    """The cubin with the stream, again and again, in place of its own FFMA."""
    from elftools.elf.elffile import ELFFile

    section = ELFFile(io.BytesIO(image)).get_section_by_name(".text.stream")
    assert section is not None
    start, changed = section["sh_offset"], bytearray(image)
    for number, place in enumerate(places(machine_code(image, "stream"))):
        at = start + SIZE * place
        changed[at : at + SIZE] = encoded(stream[number % len(stream)])
    return bytes(changed)


class Pool:
    """The registers that a stream may use: those that the kernel keeps its values in."""

    def __init__(self, image: bytes) -> None:
        code = machine_code(image, "stream")
        used = {
            f.register for i in places(code) for f in code[i].factors if f is not None
        }  # fmt: skip
        self.by_rest = {rest: sorted(r for r in used if r % 4 == rest) for rest in range(4)}

    def patterned(self, pattern: str, seed: int = 1) -> list[Fma]:
        """A stream from a pattern such as "012 100": each FFMA's factors, by the remainder on 4.

        "a" to "d" mean a register that is the same throughout; an "r" after a factor that it is
        kept. "z" is the zero register.
        """
        chance = random.Random(seed)
        fixed = {name: chance.choice(self.by_rest[i]) for i, name in enumerate("abcd")}
        stream, turn = [], dict.fromkeys(range(4), 0)
        words = pattern.split()
        for number in range(BODY // len(words) * len(words)):
            word = words[number % len(words)]
            factors: list[int] = []
            reuse: list[bool] = []
            for sign in word:
                if sign == "r":
                    reuse[-1] = True
                    continue
                reuse.append(False)
                if sign in fixed:
                    factors.append(fixed[sign])
                elif sign == "z":
                    factors.append(255)
                else:
                    rest = int(sign)
                    turn[rest] += 1
                    factors.append(self.by_rest[rest][turn[rest] % len(self.by_rest[rest])])
            stream.append(Fma(factors[2] if factors[2] != 255 else self.by_rest[0][0],
                              (factors[0], factors[1], factors[2]),
                              (reuse[0], reuse[1], reuse[2])))  # fmt: skip
        return stream

    def taken_from(self, code: Sequence[MachineInstruction]) -> list[Fma]:
        """The FFMA of a kernel's longest loop, with registers of the same remainder on 4."""
        loops = [(i.address - i.target, i) for i in code if i.target is not None
                 and i.target < i.address]  # fmt: skip
        last = max(loops, key=lambda pair: pair[0])[1]
        assert last.target is not None
        names: dict[int, int] = {}
        taken = dict.fromkeys(range(4), 0)

        def renamed(register: int) -> int:
            if register not in names:
                rest = register % 4
                names[register] = self.by_rest[rest][taken[rest] % len(self.by_rest[rest])]
                taken[rest] += 1
            return names[register]

        stream = []
        for one in code[last.target // SIZE : last.address // SIZE]:
            if not one.factors:
                continue
            numbers = [255 if f is None else renamed(f.register) for f in one.factors]
            kept = [f is not None and f.reuse for f in one.factors]
            stream.append(Fma(numbers[2], (numbers[0], numbers[1], numbers[2]),
                              (kept[0], kept[1], kept[2])))  # fmt: skip
        return stream


PATTERNS = {
    "three of one bank": "000",
    "two and one": "010",
    "two and one by turns": "010 101",
    "three by turns": "000 111",
    "three by turns, in twos": "000 000 111 111",
    "three by turns, in fours": "000 000 000 000 111 111 111 111",
    "remainders 0 1 2": "012",
    "remainders 0 2 0": "020",
    "remainders 0 2 1": "021",
    "remainders 1 3 0": "130",
    "remainders 0 1 2, 3 0 1": "012 301 230 123",
    "kept, two banks": "ar01",
    "kept, one bank": "ar00",
    "kept, remainders 0 and 2": "ar02",
    "kept, one bank by turns": "ar00 ar11",
    "kept, one bank by turns, in twos": "ar00 ar00 ar11 ar11",
    "kept, one bank by turns, in threes": "ar00 ar00 ar00 ar11 ar11 ar11",
    "kept, one bank by turns, in fours": "ar00 ar00 ar00 ar00 ar11 ar11 ar11 ar11",
    "kept, one bank by turns, in eights": " ".join(["ar00"] * 8 + ["ar11"] * 8),
    "kept, one bank every fourth": "ar00 ar01 ar01 ar01",
    "kept, one bank every second": "ar00 ar01",
    "kept, opposite banks every second": "ar00 ar01 ar11 ar01",
    "kept, bank and half": "ar00 ar01 ar01 ar01 ar11 ar01 ar01 ar01",
    "kept by the second": "0ar1",
    "kept by the second, one bank": "0ar0",
    "two kept": "arbr0",
    "one zero, two banks": "z01",
    "one zero, one bank": "z00",
    "two zeros": "zz0",
    "the same twice": "aa1",
    "not kept, always the same": "a01",
    "not kept, always the same, one bank": "a00",
    "three, three, none": "000 111 zz0 zz1",
}
RUNGS = ("tile_1d", "tile_2d", "vectorised", "conflict_free", "double_buffered", "warp_tiled",
         "tuned")  # fmt: skip


def streams(pool: Pool) -> Iterator[tuple[str, list[Fma]]]:
    """Every stream, by name."""
    for name, pattern in PATTERNS.items():
        yield name, pool.patterned(pattern)
    chance = random.Random(7)
    for number in range(6):
        words = []
        for _ in range(64):
            signs = [chance.choice("01") for _ in range(3)]
            keep = chance.random() < number / 6
            words.append(("ar" if keep else signs[0]) + signs[1] + signs[2])
        yield f"random {number}", pool.patterned(" ".join(words))
    ladder = load_ladder()
    for name in RUNGS:
        rung = ladder[name]
        workload = rung.blank_workload(**dict(rung.tuned_for(m=4096, n=4096, k=4096)))
        image, entry = tools.cubin_of(workload)
        yield f"rung {name}", pool.taken_from(machine_code(image, entry))


def packed(stream: Sequence[Fma]) -> str:
    """A stream's factors as text: four bytes each, three registers and the bits of those kept."""
    kept = [sum(bool(bit) << place for place, bit in enumerate(one.reuse)) for one in stream]
    raw = b"".join(bytes([*one.factors, bits]) for one, bits in zip(stream, kept, strict=True))
    return base64.b64encode(zlib.compress(raw, 9)).decode()
