"""Files as people write them for nvcc: the guessed launch runs, and computes what it should.

Each file in `files/` is a whole program or a part of one. Nothing is given but its name: kernel,
sizes and arguments are guessed. Results are compared with NumPy in float64, in both builds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.compiler.nvrtc import include_folders
from core.guessing.launch_guess import completed, guess_launch, launch_of
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace
from core.source.template_instances import kernel_names
from core.trace import Trace
from core.user_files.launch_texts import file_workload
from core.user_files.sources_and_headers import read_source
from tests.core.user_files.own_files import CASES, FOLDER, run, source_of

needs_headers = pytest.mark.skipif(not include_folders(), reason="CUDA's headers are missing")


def inputs_of(trace: Trace) -> dict[str, Any]:
    launch = trace.workload.launch
    found: dict[str, Any] = {
        a.name: a.value for a in (*launch.arguments, *launch.symbols) if hasattr(a, "value")
    }
    wide = {a.name: a.data for a in launch.arrays}
    return found | {
        name: data.astype(np.float64) if data.dtype.kind == "f" else data.astype(np.int64)
        for name, data in wide.items()
    }


@pytest.mark.slow
@needs_headers
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("name", CASES)
def test_a_guessed_launch_computes_what_it_should(name, kind) -> None:
    file, kernel, expected, given = CASES[name]
    trace = run(file, kernel, kind, **given)
    assert not trace.findings, [f.message for f in trace.findings]
    values = inputs_of(trace)
    wanted = expected(values)
    assert wanted
    old_and_new = [(values[a], np.asarray(v)) for a, v in wanted.items()]
    assert name == "roots" or any((old.ravel() != new.ravel()).any() for old, new in old_and_new)
    for array, numbers in wanted.items():
        got, want = trace.outputs[array].astype(np.float64), np.asarray(numbers, np.float64)
        kept = want >= 0 if name == "blend" else np.ones(want.shape, bool)
        scale = max(1.0, float(np.abs(want).max()))
        tolerance = 2e-3 if trace.outputs[array].dtype == np.float16 else 2e-6
        assert got.shape == want.shape
        assert not (~(np.abs(got - want)[kept] <= tolerance * scale)).any()


def test_every_kernel_of_the_files_is_tried() -> None:
    tried = {kernel for _, kernel, _, _ in CASES.values()} | set(FAULTS) | {"asm_copy"}
    there = {name for path in FOLDER.glob("*.cu") for name in kernel_names(read_source(path))} - {
        "sweeps",
        "apart",
    }
    assert there == tried


FAULTS = {
    "oneTooMany": {("out_of_bounds", 3, "a"), ("out_of_bounds", 3, "b")},
    "noBarrier": {("race", 9, "tile")},
    "wrongStride": {("out_of_bounds", 14, "out")},
    "overflows": {("out_of_bounds", 19, "a")},
    "leavesEarly": {("divergent_barrier", 27, ""), ("uninitialised", 28, "s")},
    "neverSet": {("uninitialised", 30, "sum")},
    "unordered": {("race", 31, "o")},
    "misread": {("misaligned", 32, "a")},
    "hangs": {("livelock", 33, "")},
    "goneLane": {("inactive_lane", 34, "")},
}


@pytest.mark.slow
@needs_headers
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("kernel", FAULTS)
def test_planted_faults_are_found_with_nothing_but_the_file(kernel, kind) -> None:
    trace = run("faulty", kernel, kind)
    assert {(f.kind, f.line, f.array or "") for f in trace.findings} == FAULTS[kernel]


@pytest.mark.slow
@needs_headers
def test_the_blocks_of_a_grid_meet_and_are_missed_where_they_do_not() -> None:
    met = run("together", "sweeps", "as_compiled")
    assert met.findings == ()
    a = met.workload.launch.arrays[0].data.astype(np.float64)
    assert not (~(np.abs(met.outputs["a"] - (2 * a[::-1] + 1)) <= 1e-6)).any()
    apart = run("together", "apart", "as_compiled")
    assert {f.kind for f in apart.findings} == {"race"}


@needs_headers
def test_structures_and_constants_are_saved_with_a_trace(tmp_path) -> None:
    trace = run("particles", "integrate", **{"params.coeff": "1,0,-1,0.5", "p.mass": "null"})
    assert {f.kind for f in trace.findings} == {"out_of_bounds"}
    save_trace(trace, tmp_path / "t.npz")
    again = load_trace(tmp_path / "t.npz")
    assert again.workload.launch.parameters[0][2].name == "p.mass"
    old, new = trace.workload.launch, again.workload.launch
    assert [(a.name, a.member) for a in (*new.arguments, *new.symbols)] == [
        (a.name, a.member) for a in (*old.arguments, *old.symbols)
    ]
    (coefficients,) = [a for a in new.symbols if a.name == "params.coeff"]
    assert coefficients.value.tolist() == [1, 0, -1, 0.5]


def test_what_is_given_decides_about_the_rest() -> None:
    source = source_of("faulty")
    asked = replace(guess_launch(source, "f.cu", "oneTooMany"), grid="", block="", shared="",
                    arguments=(("n", "1000"),))  # fmt: skip
    whole = completed(source, asked).launch
    assert (whole.grid, dict(whole.arguments)["a"]) == ("16", "random:float32[1000]")
    words = dict(guess_launch(source_of("search"), "s.cu", "find").arguments)
    assert (words["wordLength"], words["word"]) == ("4", "random:int8[16]")
    particles = dict(guess_launch(source_of("particles"), "p.cu").arguments)
    assert particles["params.n"] == "250"
    named = completed(source_of("templates"), replace(asked, kernel="viewed", arguments=())).launch
    assert named.kernel == "viewed<double>"


def test_headers_beside_the_file_count() -> None:
    path = FOLDER / "shared" / "uses_headers.cu"
    source = read_source(path)
    launch = guess_launch(source, str(path))
    arguments = dict(launch.arguments) | {"range.first": "2", "range.count": "150"}
    launch = replace(launch, arguments=tuple(arguments.items()))
    workload = file_workload(source, launch)
    assert list(workload.headers) == ["tools.cuh", "more/types.h"]
    for kind in ("as_written", "as_compiled"):
        trace = record(workload, kind=kind)
        assert not trace.findings
        data = inputs_of(trace)
        want = np.where(np.arange(len(data["out"])) < 150, 2 * data["in"] + 5, 0)
        assert not (~(np.abs(trace.outputs["out"] - want) <= 1e-6)).any()
    lonely = FOLDER / "shared" / "main_only.cu"
    launch, names, _ = launch_of(read_source(lonely), str(lonely), None, None, False)
    assert (launch.name, launch.included) == ("norm.cu", str(lonely))
    assert launch.kernel in names
