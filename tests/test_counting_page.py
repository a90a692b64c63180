"""The figures of docs/counting.md and docs/evidence.md are those of the data that they describe."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from core.rules import atomics, global_memory, shared_memory
from tests.core.rules.test_atomics import LAUNCHES as ATOMICS
from tests.core.rules.test_copied_sectors import LAUNCHES as COPIED
from tests.core.test_reference import KINDS, LAUNCHES, ROWS, has_atomics
from tests.reference_set import FOLDER
from tests.scattered_set import FOLDER as SCATTERED
from tests.scattered_set import recorded

ROOT = Path(__file__).resolve().parents[1]
TEXT = "\n".join((ROOT / "docs" / f"{x}.md").read_text("utf-8") for x in ("counting", "evidence"))
PAGE = " ".join(TEXT.split())
WHAT = ("requests", "wavefronts")
SUITES = {
    suite: sum(x.suite == suite for x in LAUNCHES) for suite in ("kernels", "wide", "atomics")
}


def figures(pattern: str) -> list[int]:
    """The numbers of the one sentence that reads so: `#` is a number, the rest is as it stands."""
    found = re.findall(re.escape(pattern).replace(r"\#", "([0-9][0-9,]*)"), PAGE)
    assert len(found) == 1, pattern
    one = found[0] if isinstance(found[0], tuple) else (found[0],)
    return [int(number.replace(",", "")) for number in one]


def _operations() -> dict[str, int]:
    names, counts = np.unique(
        np.load(SCATTERED / "first_1168.npz")["operation"], return_counts=True
    )
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def test_size_of_the_reference_set():
    kernels, wide, atomics = SUITES.values()
    files = len(list(FOLDER.glob("*.cu")))
    assert figures("holds # small kernels and a table of # launches: # of whole kernels") == [
        files, len(LAUNCHES), kernels,
    ]  # fmt: skip
    said = "# of one warp's 8- and 16-byte accesses to shared memory, and # of one warp's atomics"
    assert figures(said) == [wide, atomics]
    again, rows = figures("a second run of # of them in both builds gave the same # rows")
    assert rows == 2 * again
    assert again == kernels + wide


@pytest.mark.parametrize(
    ("row", "suite"),
    [
        ("whole kernels (#) | # | # |", "kernels"),
        ("8 and 16 bytes a lane (#) | # | # |", "wide"),
        ("atomics (#) | # | # |", "atomics"),
    ],
)
def test_rows_that_are_equal_are_all(row, suite):
    """`test_reference.py` holds every one of them against the emulator."""
    assert figures(row) == [SUITES[suite]] * 3


def test_rows_without_atomics():
    kernels = [launch.name for launch in LAUNCHES if launch.suite == "kernels"]
    rows = [(name, kind) for name in kernels for kind in KINDS if not has_atomics(name, kind)]
    assert figures("In the # kernel rows without atomics") == [len(rows)]


def test_loads_that_are_joined():
    written, compiled = (
        [ROWS["matmul-tiled-8", kind]["counters"][f"shared_ld_{what}"] for what in WHAT]
        for kind in ("as_written", "as_compiled")
    )
    said = "# requests and # wavefronts where a tiled product with tiles of 8 has # as written"
    assert figures(said) == [*compiled, written[0]]


def _has_global_atomics(name: str, kind: str) -> bool:
    counters = ROWS[name, kind]["counters"]
    metric = "l1tex__t_requests_pipe_lsu_mem_global_op_"
    return any(counters.get(metric + operation, 0) for operation in ("atom", "red"))


def test_launches_of_scattered_atomics():
    first = _operations()
    total = sum(first.values())
    assert figures("the # on which the rule was found | # (") == [total, total]
    made = len(ATOMICS)
    assert figures("# made for it afterwards (`tests/scattered_set.py`) | # |") == [made, made]
    narrow = sum(count for name, count in first.items() if name.endswith("32"))
    said = "The # launches with 4 bytes a lane gave the rule away; of the other #, and of the #,"
    assert figures(said) == [narrow, total - narrow, made]
    again = sum("-again" in x.name for x in ATOMICS)
    assert figures("The counters do not vary: # repetitions") == [again]
    kinds = ("as_written", "as_compiled")
    reference = [sum(_has_global_atomics(x.name, kind) for x in LAUNCHES) for kind in kinds]
    each, both = figures("with atomics on global memory, # in each build | # (passes")
    assert reference == [each, each]
    assert both == sum(reference)


def test_bits_of_an_address_and_what_they_flip():
    said = re.search(
        r"bits ([\d, and]+) flip the lower bit of the bank's number, ([\d, and]+) the higher, "
        r"([\d, and]+) both",
        PAGE,
    )
    assert said is not None
    by_bit = {int(b): flip for flip in (1, 2, 3) for b in re.findall(r"\d+", said[flip])}
    for bit in range(7, 40):
        flips = atomics.tag_bank(np.array([1 << bit]))
        assert flips.tolist() == [by_bit.get(bit, 0)], bit


def test_launches_of_asynchronous_copies():
    past, through = (sum(x.operation.startswith(way) for x in COPIED) for way in ("cg", "ca"))
    both = sum(len(recorded()["rows"][x.name]) == 2 for x in COPIED)
    said = "The counters of # launches made for it (# of `.cg`, # of `.ca`; # of them in the other"
    assert figures(said) == [len(COPIED), past, through, both]
    rows = json.loads((ROOT / "tests/data/rungs/counters_h200.json").read_text("utf-8"))["rows"]
    (launches,) = figures("the ladder's # launches, in both builds")
    assert {row["build"] for row in rows} == {"as_written", "as_compiled"}
    assert 2 * launches == len(rows) == 2 * len({json.dumps(row["launch"]) for row in rows})


LANE = np.arange(32)
ALL = LANE >= 0


def row(said: str) -> list[list[int]]:
    """The cells of the page's row that begins so, each one number or several of them."""
    found = re.findall(rf"\| {re.escape(said)} \|([\d,; |]+)\|", TEXT)
    assert len(found) == 1, said
    return [[int(n) for n in re.findall(r"\d+", cell)] for cell in found[0].split("|")]


@pytest.mark.parametrize(
    ("said", "width", "accesses"),
    [
        ("all lanes one word", 4, [(0 * LANE, ALL)]),
        ("two words in two lines, 16 lanes each", 4, [(LANE // 16 * 128, ALL)]),
        ("consecutive words", 4, [(4 * LANE, ALL)]),
        ("consecutive words, one word off", 4, [(4 * LANE + 4, ALL)]),
        (
            "every second, eighth, 128th word", 4,
            [(8 * LANE, ALL), (32 * LANE, ALL), (512 * LANE, ALL)],
        ),
        ("two rows of 16 words", 4, [(LANE // 16 * 4096 + LANE % 16 * 4, ALL)]),
        (
            "16 active lanes, consecutive; every 128th word", 4,
            [(4 * LANE, LANE < 16), (512 * LANE, LANE < 16)],
        ),
        ("one byte a lane, consecutive; every 32nd byte", 1, [(LANE, ALL), (32 * LANE, ALL)]),
        ("16 bytes a lane, consecutive; every eighth", 16, [(16 * LANE, ALL), (128 * LANE, ALL)]),
        (
            "`uncoalesced`, 16 x 16 blocks, A: 16 rows, two lanes each", 4,
            [(LANE % 16 * 4096, ALL)],
        ),
    ],
)  # fmt: skip
def test_sectors_of_one_load(said, width, accesses):
    actual, ideal = row(said)
    found = [global_memory.sectors(a[None, :], active[None, :]) for a, active in accesses]
    assert actual == [int(sectors[0]) for sectors in found]
    for sectors, (_, active) in zip(found, accesses, strict=True):
        least = global_memory.ideal_sectors(sectors, np.array([active.sum()]), width)
        assert ideal == [int(least[0])]


@pytest.mark.parametrize(
    ("said", "pattern"),
    [
        ("neighbouring elements", "consecutive"),
        ("all one element", "one"),
        ("pairs of lanes the same (lane, lane xor 1)", "pairs"),
        ("the same in lane and lane xor 2", "lane-xor-2-alike"),
        ("the same in lane and lane xor 4", "lane-xor-4-alike"),
        ("one for the first half, neighbouring in the second", "first-half-one"),
        ("pairs, but lane 31 on its own, in the banks of lane 30", "one-pair-apart"),
        ("even lanes only, neighbouring", "even-lanes-packed"),
    ],
)
def test_wavefronts_of_wide_accesses(said, pattern):
    """Of the patterns that the reference set launched; -1 for a lane that is idle."""
    patterns = tomllib.loads((FOLDER / "launches.toml").read_text("utf-8"))["wide_patterns"]
    index = np.array([eval(patterns[pattern], {"i": lane}) for lane in range(32)])
    rows = index[None, :], index[None, :] >= 0
    for wide, (named, other) in zip((8, 16), (row(said)[:2], row(said)[2:]), strict=True):
        count = {way: int(shared_memory.wavefronts(wide * rows[0], rows[1], wide, way)[0])
                 for way in ("merged", "grouped")}  # fmt: skip
        assert ([count["merged"]], [count["grouped"]]) == (named, other)
    assert figures("Wavefronts of one warp, over # patterns each") == [len(patterns)]
