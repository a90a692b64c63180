"""PTX of other compilers: values, lines of their sources, and launches that are guessed."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path

import pytest

from core.errors import ArgumentError
from core.guessing.ptx_launch_guess import complete_ptx
from core.recording.count_launch import count
from core.recording.record_launch import record
from core.user_files.launch_texts import FileLaunch
from core.user_files.ptx_files import ptx_workload, read_ptx
from tests import foreign_runs
from tests.foreign_runs import Outcome, counters_apart, is_counted_apart
from tests.foreign_set import FOLDER, FOREIGN, Foreign, is_right

ROOT = Path(__file__).resolve().parents[3]
IDS = [one.name for one in FOREIGN]
# Words in lines that touch global memory: of Triton, Numba and C, and Rust.
ACCESSES = ("tl.load", "tl.store", "tl.atomic", "[", "cuda.atomic", "*to")


@cache
def _recorded(name: str) -> Outcome:
    (one,) = (one for one in FOREIGN if one.name == name)
    return foreign_runs.run(one)


def recorded(one: Foreign) -> Outcome:
    """As `run`, once for all tests."""
    return _recorded(one.name)


# Each compiler in `make check`, and every fourth kernel of those that have many.
SOME = [
    pytest.param(
        one, marks=[] if i % 4 == 0 or one.maker in {"rust", "clang"} else [pytest.mark.slow]
    )
    for i, one in enumerate(FOREIGN)
]


@pytest.mark.parametrize("one", SOME, ids=IDS)
def test_values_counters_and_lines_are_right(one: Foreign) -> None:
    found = recorded(one)
    assert is_right(one, found.error), found.error
    assert not found.trace.findings
    lines = found.trace.workload.source.splitlines()
    (path,) = FOLDER.glob(f"{one.maker}_kernels.*")
    assert found.trace.workload.source == path.read_text()
    start = next(i for i, text in enumerate(lines, 1) if f" {one.kernel}(" in text)
    # In these two the card makes fewer loads of shared memory; why is not known.
    fewer = {"triton_transpose", "triton_row_sums"}
    apart = counters_apart(one, found)
    if is_counted_apart(one) or one.name in fewer:
        assert all(name.startswith("shared_") for name in apart), apart
    else:
        assert not apart
    assert found.sectors
    for line in found.sectors:
        assert line > start
        assert any(word in lines[line - 1] for word in ACCESSES), lines[line - 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "one",
    [pytest.param(one, marks=[pytest.mark.slow] if i % 9 else []) for i, one in enumerate(FOREIGN)],
    ids=IDS,
)
def test_a_launch_that_is_guessed_has_no_fault(one: Foreign) -> None:
    file = read_ptx(str(one.path))
    if any(parameter.is_tensor_map for parameter in file.signature):
        with pytest.raises(ArgumentError, match="a is a tensor map, which PTX says nothing of"):
            complete_ptx(file, FileLaunch(file.path, "", "", "", ""))
        return
    whole = complete_ptx(file, FileLaunch(file.path, "", "", "", ""))
    trace = record(ptx_workload(file, whole))
    assert not trace.findings
    given = recorded(one).trace
    assert trace.workload.launch.block.count >= 32
    kinds = {a.name: a.data.dtype for a in given.workload.launch.arrays}
    guessed = {a.name: a.data.dtype for a in trace.workload.launch.arrays}
    assert guessed.keys() == kinds.keys()
    wrong = {n for n in kinds if guessed[n] != kinds[n]}
    # nothing tells signed bytes and counts from unsigned ones
    free = {"quantise": {"out_ptr"}, "histogram": {"bins_ptr"}}
    assert wrong <= free.get(one.kernel, set())
    assert trace.counters.by_line.keys() == given.counters.by_line.keys()


NUMBA_ADD = next(one for one in FOREIGN if one.name == "numba_vector_add")
GATHER = next(one for one in FOREIGN if one.name == "triton_gather")


@pytest.mark.parametrize("text", ["null", "float32[4,4]"])
def test_an_array_of_numbas_needs_its_sizes(text) -> None:
    file = read_ptx(str(NUMBA_ADD.path))
    asked = FileLaunch(file.path, "", "1", "32", "", "", (("x", text),))
    with pytest.raises(ArgumentError, match=r"x is float32\[:\]: give it as many sizes"):
        complete_ptx(file, asked)


def test_a_grid_of_any_size_is_tried() -> None:
    file = read_ptx(str(GATHER.path))
    whole = complete_ptx(file, FileLaunch(file.path, "", "100000", "", "", "", (("n", "2000"),)))
    assert dict(whole.arguments)["index_ptr"] == "index:int32[2000]"


def test_tensor_cores_and_copies_are_among_them() -> None:
    text = "".join(one.path.read_text() for one in FOREIGN)
    for form in (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        "mma.sync.aligned.m16n8k32.row.col",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
        "cp.async.cg.shared.global",
        "cp.async.wait_group",
    ):
        assert form in text, form


@pytest.mark.slow
@pytest.mark.parametrize("one", FOREIGN[::5], ids=IDS[::5])
def test_counting_alone_gives_the_same(one: Foreign) -> None:
    trace = recorded(one).trace
    assert count(trace.workload).counters.totals == trace.counters.totals


@pytest.mark.slow
def test_the_page_lists_them_as_they_are(monkeypatch) -> None:
    script = ROOT / "scripts" / "record_foreign.py"
    for one in FOREIGN:
        recorded(one)
    monkeypatch.setattr(foreign_runs, "run", recorded)
    monkeypatch.setattr(sys, "path", [str(script.parent), *sys.path])
    monkeypatch.setattr(sys, "argv", [str(script), "check"])
    spec = importlib.util.spec_from_file_location("record_foreign", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main() == 0, "run scripts/record_foreign.py page"
