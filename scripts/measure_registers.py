"""How fast an SM reads registers: streams of FFMA with chosen registers, timed on a GPU.

    python scripts/measure_registers.py streams FOLDER    make the cubins (needs NVRTC, no GPU)
    python scripts/measure_registers.py run FOLDER        time them (needs PyCUDA)
    python scripts/measure_registers.py write FOLDER      put what was found into the tests' data

No source can say which registers an FFMA reads, so machine code is patched: a kernel with a loop of
FFMA is compiled, and the fields of its instructions are overwritten. Streams are patterns of even
and odd registers, with and without the reuse of a factor, and the FFMA of the ladder's own loops.
What they compute means nothing; clocks are counted on the GPU itself: no other clock matters.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import pickle
import random
import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools  # noqa: E402
import numpy as np  # noqa: E402

from core.cuda.compiler import compile_cubin  # noqa: E402
from core.cuda.sass import SIZE, MachineInstruction, machine_code  # noqa: E402
from core.ladder import load_ladder  # noqa: E402

DATA = ROOT / "tests" / "data" / "registers_h200.json"
BODY = 1024  # FFMA in the loop
ROUNDS = 400
WARPS = (4, 8, 16)  # of the one block that an SM runs: 1, 2 and 4 on each scheduler
KEPT = 96  # values that the kernel keeps in registers, so that it is given enough of them
SOURCE = f"""
extern "C" __global__ void __launch_bounds__(512, 1) stream(float* x, long long* clocks, int rounds)
{{
    float kept[{KEPT}];
    #pragma unroll
    for (int i = 0; i < {KEPT}; i++) kept[i] = x[threadIdx.x + 512 * i];
    __syncthreads();
    long long begin = clock64();
    #pragma unroll 1
    for (int round = 0; round < rounds; round++)
        #pragma unroll
        for (int i = 0; i < {BODY}; i++)
            kept[i % {KEPT}] = fmaf(kept[(i + 1) % {KEPT}], kept[(i * 7 + 3) % {KEPT}], kept[i % {KEPT}]);
    long long end = clock64();
    #pragma unroll
    for (int i = 0; i < {KEPT}; i++) x[threadIdx.x + 512 * i] = kept[i];
    if (threadIdx.x % 32 == 0) {{
        clocks[threadIdx.x / 32 + 32 * blockIdx.x] = begin;
        clocks[threadIdx.x / 32 + 16 + 32 * blockIdx.x] = end;
    }}
}}
"""  # noqa: E501
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


def make(folder: Path) -> None:
    """Writes streams.pickle."""
    image = compile_cubin(SOURCE, source_name="stream.cu")
    pool = Pool(image)
    made = {name: (stream, patched(image, stream)) for name, stream in streams(pool)}
    folder.mkdir(parents=True, exist_ok=True)
    content = {"nvrtc": tools.nvrtc_version(), "streams": made}
    (folder / "streams.pickle").write_bytes(pickle.dumps(content))
    print(f"{len(made)} streams; registers {pool.by_rest}")


def measure(folder: Path) -> None:
    """Times every stream; writes registers.json."""
    content = pickle.loads((folder / "streams.pickle").read_bytes())
    found: dict[str, Any] = {**tools.machine(), "nvrtc": content["nvrtc"], "body": BODY}
    rows = []
    with tools.device() as cuda:
        sms = cuda.Context.get_device().get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
        values = cuda.to_device(np.random.default_rng(3).random(512 * KEPT, np.float32))
        clocks = cuda.mem_alloc(8 * 32 * sms)
        for name, (stream, image) in content["streams"].items():
            function = cuda.module_from_buffer(image).get_function("stream")
            row: dict[str, Any] = {"stream": name, "clocks": {}}
            for warps in WARPS:
                for _ in range(2):
                    function(values, clocks, np.int32(ROUNDS), grid=(sms, 1, 1),
                             block=(32 * warps, 1, 1))  # fmt: skip
                cuda.Context.synchronize()
                taken = np.empty((sms, 2, 16), np.int64)
                cuda.memcpy_dtoh(taken, clocks)
                begin, end = taken[:, 0, :warps], taken[:, 1, :warps]
                all_of_them = np.median(end.max(axis=1) - begin.min(axis=1))
                each = all_of_them / (ROUNDS * BODY * warps / 4)
                row["clocks"][str(warps)] = round(float(each), 4)
            row["factors"] = packed(stream)
            rows.append(row)
            print(name, row["clocks"], flush=True)
            found["rows"] = rows
            (folder / "registers.json").write_text(json.dumps(found), encoding="utf-8")


def packed(stream: Sequence[Fma]) -> str:
    """A stream's factors as text: four bytes each, three registers and the bits of those kept."""
    kept = [sum(bool(bit) << place for place, bit in enumerate(one.reuse)) for one in stream]
    raw = b"".join(bytes([*one.factors, bits]) for one, bits in zip(stream, kept, strict=True))
    return base64.b64encode(zlib.compress(raw, 9)).decode()


def write(folder: Path) -> None:
    """Makes registers.json a file of the tests' data."""
    found = json.loads((folder / "registers.json").read_text(encoding="utf-8"))
    rows = ",\n  ".join(json.dumps(row) for row in found.pop("rows"))
    head = json.dumps(found, indent=1)[:-2]
    DATA.write_text(f'{head},\n "rows": [\n  {rows}\n ]\n}}\n', encoding="utf-8")
    print(f"Wrote {DATA.relative_to(ROOT)}.")


def main() -> None:
    """Reads the command line and does one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("streams", "run", "write"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    {"streams": make, "run": measure, "write": write}[options.step](options.folder)


if __name__ == "__main__":
    main()
