"""Occupancy equals NVIDIA's cuda_occupancy.h, and the seeds' worked examples come out."""

from __future__ import annotations

import math
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from core.compiler.nvrtc import include_folders
from core.devices.device_table import (
    capability_of,
    find_capability,
    load_capabilities,
    load_devices,
)
from core.devices.occupancy import Occupancy, Resources, occupancy
from core.errors import ParameterError, TilescopeError

TABLE = load_capabilities()
KNOWN = [one for one in TABLE.values() if one.major >= 5]
ROWS = 130_000
_ANY = 2**31 - 1  # the header's INT_MAX: no limit


def _driver(folder: Path) -> Path:
    """The C++ program, or a skip that says what is missing."""
    header = next((f for f in include_folders() if (f / "cuda_occupancy.h").is_file()), None)
    if header is None:
        pytest.skip("cuda_occupancy.h is not here: pip install nvidia-cuda-runtime")
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no C++ compiler (g++ or clang++)")
    source = Path(__file__).with_name("occupancy_driver.cpp")
    program = folder / "occupancy"
    subprocess.run([compiler, "-O1", f"-I{header}", "-o", program, source], check=True)
    return program


def _cases() -> list[tuple[object, Resources, int, int | None]]:
    """Random launches of every known compute capability, with the edges of each rule among them."""
    chance = random.Random(20261121)
    cases = []
    for one in KNOWN:
        most = one.shared_opt_in_kib * 1024
        edges = [0, 1, most, most + 1, 48 * 1024, 48 * 1024 + 1, *range(128, most, most // 40)]
        for _ in range(ROWS // len(KNOWN) + 1):
            block = chance.choice([chance.randint(1, 1100), 32 * chance.randint(1, 33)])
            registers = chance.choice([chance.randint(0, 260), 8 * chance.randint(0, 32)])
            shared = chance.choice([chance.choice(edges), chance.randint(0, most + 2000), 0])
            dynamic = chance.choice([0, shared, chance.randint(0, shared)])
            barriers = chance.choice([0, 1, 1, 1, chance.randint(2, 16)])
            if one.name == "10.3":
                barriers = 0  # CUDA 13.0's header gives it 64 named barriers, 13.5's gives it 32
            carve_out = chance.choice([None, None, chance.randint(0, 100), 0, 50, 100])
            cases.append((one, Resources(block, registers, shared, barriers), dynamic, carve_out))
    return cases


def _line(one, resources: Resources, dynamic: int, carve_out: int | None) -> str:
    major, minor = one.name.split(".")
    numbers = (
        major, minor, one.threads, one.registers, one.registers_per_block, one.shared_kib * 1024,
        one.shared_per_block_kib * 1024, one.shared_opt_in_kib * 1024, one.shared_reserved,
        resources.block_threads, resources.registers, resources.shared_bytes - dynamic, dynamic,
        resources.barriers, -1 if carve_out is None else carve_out,
    )  # fmt: skip
    return " ".join(str(n) for n in numbers)


def _ours(found: Occupancy) -> str:
    limits = [_ANY if limit is None else limit for limit in found.limits.values()]
    numbers = (found.blocks, *limits, found.registers_per_block, found.shared_per_block)
    return " ".join(str(n) for n in numbers)


@pytest.mark.slow
def test_equals_nvidias_header(tmp_path: Path) -> None:
    program, cases = _driver(tmp_path), _cases()
    text = "\n".join(_line(*case) for case in cases)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    theirs = done.stdout.splitlines()
    assert len(theirs) == len(cases) >= 100_000
    different = [
        (_line(*case), expected, ours)
        for case, expected in zip(cases, theirs, strict=True)
        if (ours := _ours(occupancy(case[0], case[1], case[3]))) != expected
    ]
    assert not different, f"{len(different)} of {len(cases)} differ, first {different[:3]}"
    busy = {expected.split()[0] for expected in theirs}
    assert len(busy) > 20  # many outcomes, not one


@pytest.mark.parametrize(
    ("version", "percent"),
    [((7, 0), 50), ((7, 5), 100), ((8, 0), 50), ((8, 6), 66.7), ((9, 0), 50), ((12, 0), 66.7)],
)
def test_figures_known_from_the_header(version: tuple[int, int], percent: float) -> None:
    found = occupancy(capability_of(version), Resources(256, 64, 8192))
    assert 100 * found.occupancy == pytest.approx(percent, abs=0.05)


def test_the_reserved_kilobyte_counts() -> None:
    # 228 KiB / 12 KiB would be 19 blocks; with the driver's 1 KiB each it is 17.
    found = occupancy(capability_of((9, 0)), Resources(64, 32, 12 * 1024))
    assert found.blocks == 17
    assert found.limited_by == ("shared",)


@pytest.mark.parametrize(
    ("block", "registers", "blocks", "threads", "limited_by"),
    [
        (256, 10, 6, 1536, ("warps", "registers")),
        (256, 12, 5, 1280, ("registers",)),
        (128, 10, 8, 1024, ("blocks",)),
        (512, 0, 3, 1536, ("warps",)),
    ],
)
def test_third_seed(block, registers, blocks, threads, limited_by) -> None:
    example, device = find_capability("textbook SM")
    assert device is None
    found = occupancy(example, Resources(block, registers))
    assert (found.blocks, found.threads, found.limited_by) == (blocks, threads, limited_by)


def test_third_seed_counts_registers() -> None:
    example, _ = find_capability("Textbook SM")
    assert occupancy(example, Resources(256, 10)).registers_per_block == 2560
    assert occupancy(example, Resources(256, 12)).registers_per_block == 3072
    many, few = (occupancy(example, Resources(256, n)).warps for n in (10, 12))
    assert 1 - few / many == pytest.approx(1 / 6)  # "warp parallelism reduces by 1/6"


def test_g80_as_the_spreadsheet_has_it() -> None:
    g80, _ = find_capability("8800 GTX")
    # 256 threads x 10 registers = 2,560 of 8,192: three blocks, all 768 threads. With 11: two.
    assert occupancy(g80, Resources(256, 10)).threads == 768
    assert occupancy(g80, Resources(256, 11)).blocks == 2


# The CUDA Occupancy Calculator's sheet "GPU Data", 1.0 to 3.5: warps, blocks, shared bytes,
# registers, their unit, most of a thread, shared unit, warp allocation granularity, block threads.
SHEET = {
    "1.0": (24, 8, 16384, 8192, 256, 124, 512, 2, 512),
    "1.1": (24, 8, 16384, 8192, 256, 124, 512, 2, 512),
    "1.2": (32, 8, 16384, 16384, 512, 124, 512, 2, 512),
    "1.3": (32, 8, 16384, 16384, 512, 124, 512, 2, 512),
    "2.0": (48, 8, 49152, 32768, 64, 63, 128, 2, 1024),
    "2.1": (48, 8, 49152, 32768, 64, 63, 128, 2, 1024),
    "3.0": (64, 16, 49152, 65536, 256, 63, 256, 4, 1024),
    "3.5": (64, 16, 49152, 65536, 256, 255, 256, 4, 1024),
}


def _by_the_sheet(name: str, needs: Resources) -> int:
    """Blocks of an SM by the spreadsheet's formulas, cells D38 to D40."""
    slots, most, shared, file, unit, a_thread, shared_unit, granularity, largest = SHEET[name]
    warps = math.ceil(needs.block_threads / 32)
    by_warps = min(most, slots // warps)
    if name < "2":
        block = math.ceil(warps / granularity) * granularity * needs.registers * 32
        by_registers = file // (math.ceil(block / unit) * unit) if block else most
    else:
        warp = math.ceil(needs.registers * 32 / unit) * unit
        held = math.floor(file / warp / granularity) * granularity if warp else most * warps
        by_registers = held // warps
    given = math.ceil(needs.shared_bytes / shared_unit) * shared_unit
    by_shared = shared // given if given else most
    fits = needs.registers <= a_thread and needs.block_threads <= largest
    return min(by_warps, by_registers, by_shared) if fits else 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SHEET)
def test_before_5_0_it_is_what_the_spreadsheet_gives(name: str) -> None:
    chance, held = random.Random(name), set()
    for _ in range(4000):
        needs = Resources(
            chance.choice([chance.randint(1, 1100), 32 * chance.randint(1, 33)]),
            chance.randint(0, 70) if name < "3.5" else chance.randint(0, 260),
            chance.choice([0, chance.randint(0, 3000), chance.randint(0, 50000)]),
        )
        found = occupancy(TABLE[name], needs).blocks
        assert found == _by_the_sheet(name, needs), needs
        held.add(found)
    assert {0, 1, 2, 3, SHEET[name][1]} <= held


def test_rows_agree_with_themselves() -> None:
    rows = (Path(__file__).parents[3] / "resources" / "compute_capabilities.toml").read_text(
        "utf-8"
    )
    assert len(TABLE) == rows.count("[[capability]]")  # no name stands there twice
    for one in TABLE.values():
        assert one.allocation in ("warp", "block")
        assert one.threads % 32 == 0
        assert not one.carve_outs_kib or one.carve_outs_kib[-1] == one.shared_kib


def test_every_device_has_its_row() -> None:
    for device in load_devices():
        one, found = find_capability(device.name)
        assert found == device
        assert one.name == "{}.{}".format(*device.compute_capability)
        assert one.shared_kib == device.shared_per_sm_kib
        assert one.shared_opt_in_kib == device.shared_per_block_kib


def test_names() -> None:
    assert find_capability("8.6")[0].name == "8.6"
    assert find_capability("sm_9.0")[0].name == "9.0"
    assert capability_of((8, 8)).name == "8.7"  # the nearest older one
    for name in ("1.0", "1.1", "1.2", "1.3", "2.0", "2.1", "8.0"):
        assert find_capability(name) == (TABLE[name], None)
    assert find_capability("G80")[0].name == find_capability("GTX 8800")[0].name == "1.0"
    for part in ("8.", "8", "sm_8."):
        with pytest.raises(TilescopeError, match=r"use one of 8\.0, 8\.6, 8\.7, 8\.9\.$"):
            find_capability(part)
    with pytest.raises(TilescopeError, match="8800 GTX"):
        find_capability("Voodoo 2")
    with pytest.raises(TilescopeError, match=r"Compute capability 4\.0"):
        capability_of((4, 0))


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        (Resources(1025, 32), "at most 1,024 threads"),
        (Resources(32, 300), "at most 255 registers"),
        (Resources(1024, 128), "131,072 of 65,536 registers"),
        (Resources(32, 32, 228 * 1024), "at most 227 KiB"),
    ],
)
def test_refused_launches_say_why(resources: Resources, words: str) -> None:
    found = occupancy(capability_of((9, 0)), resources)
    assert found.blocks == 0
    assert words in found.why


def test_nonsense_is_refused() -> None:
    hopper = capability_of((9, 0))
    for bad in (Resources(0), Resources(32, -1), Resources(32, 0, -4)):
        with pytest.raises(ParameterError):
            occupancy(hopper, bad)
    with pytest.raises(ParameterError, match="per cent"):
        occupancy(hopper, Resources(32), 101)
