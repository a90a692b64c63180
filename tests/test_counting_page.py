"""The figures of docs/counting.md are those of the data that it speaks of."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from core.analysis import global_atomics
from tests.core.analysis.test_copied_sectors import LAUNCHES as COPIED
from tests.core.analysis.test_global_atomics import LAUNCHES as ATOMICS
from tests.core.test_reference import LAUNCHES, ROWS, WITHOUT_ATOMICS
from tests.reference_set import FOLDER
from tests.scattered_set import FOLDER as SCATTERED
from tests.scattered_set import recorded

ROOT = Path(__file__).resolve().parents[1]
PAGE = " ".join((ROOT / "docs" / "counting.md").read_text("utf-8").split())
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
    assert figures("In the # kernel rows without atomics") == [len(WITHOUT_ATOMICS)]


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
        flips = global_atomics.tag_bank(np.array([1 << bit]))
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
