"""Profiles that an H100 gave, beside the counts of the same launches (scripts/record_ncu.py)."""

from __future__ import annotations

import json
import lzma
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import TilescopeError
from core.ladder import load_ladder
from core.launch import Dim3
from core.nsight import ProfiledLaunch, base_name, compare, full_name, read_csv, read_profile
from core.recording.count_launch import count
from core.rules.counters import METRICS
from core.user_files.launch_texts import FileLaunch, file_workload

DATA = Path(__file__).parents[1] / "data" / "ncu"
LAUNCHES = json.loads((DATA / "launches.json").read_text())
SCATTERED = {"transpose_naive", "uncoalesced"}  # whose stores replay counts a little otherwise


def workload(number: int):
    row = LAUNCHES[number]
    return load_ladder()[row["rung"]].blank_workload(**row["parameters"])


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> dict:
    pytest.importorskip("ncu_report", exc_type=ImportError)
    found = {}
    for build in ("as_written", "as_compiled"):
        path = tmp_path_factory.mktemp("ncu") / f"{build}.ncu-rep"
        path.write_bytes(lzma.decompress((DATA / f"{build}.ncu-rep.xz").read_bytes()))
        found[build] = read_profile(path)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("build", ["as_written", "as_compiled"])
@pytest.mark.parametrize("number", range(len(LAUNCHES)))
def test_every_counter_of_a_csv_by_ncu_equals_ours(build, number) -> None:
    found = compare(
        read_profile(DATA / f"{build}-printed.csv"), workload(number), number=number, build=build
    )
    assert not [one for one in found.missing if not one.name.startswith("local_")]  # came later
    assert len(found.counters) == len(METRICS)
    assert not found.differing
    assert any(one.ours for one in found.counters)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rung", "given"),
    [
        ("tma_pipeline", {"tile_n": 64}),
        ("clustered", {"tile_n": 128, "cluster": 2, "group": 8, "blocks": 128}),
    ],
)
def test_counters_of_bulk_copies_and_warpgroups_equal_ours(rung, given) -> None:
    """Profiled while `tilescope bench` ran it on an H200 (driver 580.159.04), on 2026-11-25."""
    given = {"m": 256, "n": 256, "k": 256, "tile_m": 64, "stages": 2, **given}
    launch = load_ladder()[rung].blank_workload(**given)
    found = compare(read_profile(DATA / f"h200-{rung}.csv"), launch, build="as_compiled")
    assert not found.missing
    assert not found.differing
    totals = {one.name: one.ours for one in found.counters}
    assert totals["global_tma_ld_sectors"]
    assert totals["shared_gmma_wavefronts"]


def test_wavefronts_that_try_again_are_told_from_others() -> None:
    """Profiled while `tilescope bench` ran it on an H200 (driver 580.159.04), on 2026-11-30."""
    source = (DATA / "beside.cu").read_text()
    given = (("x", "float32[8192]"), ("y", "zeros:float32[640]"), ("rounds", "16"))
    asked = FileLaunch("beside.cu", "beside", "4", "160", arguments=given)
    workload = file_workload(source, asked)
    (profiled,) = read_profile(DATA / "h200-beside.csv")
    found = compare([profiled], workload, build="as_compiled")
    assert {one.name for one in found.differing} == {"shared_st_wavefronts", "shared_st_conflicts"}
    exact = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
    for one in found.differing:
        assert one.theirs > one.ours
        assert one.why.startswith("contention")
        assert one.why.endswith(f"({exact}) the profile has 16,384, as here")
    without = replace(profiled, metrics={m: v for m, v in profiled.metrics.items() if m != exact})
    for one in compare([without], workload, build="as_compiled").differing:
        assert one.why.endswith(f"profile {exact} as well, which has none of them")
    fewer = replace(profiled, metrics={**profiled.metrics, METRICS["shared_st_wavefronts"]: 16000})
    for one in compare([fewer], workload, build="as_compiled").differing:
        assert one.why.startswith("contention") == (one.name == "shared_st_conflicts")


def test_machine_code_behind_the_end_makes_no_loop() -> None:
    """The kernel waits for copies in a loop whose rare part ptxas puts behind the end."""
    asked = FileLaunch(
        "beside.cu", "beside", "1", "160",
        arguments=(("x", "float32[8192]"), ("y", "zeros:float32[160]"), ("rounds", "1")),
    )  # fmt: skip
    workload = file_workload((DATA / "beside.cu").read_text(), asked)
    assembly = count(workload, kind="as_compiled").assembly
    assert assembly is not None
    assert assembly.exact


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(LAUNCHES)))
def test_reports_equal_ours_by_line_too(reports, number) -> None:
    for build, launches in reports.items():
        found = compare(launches, workload(number), number=number, build=build)
        assert not found.missing
        assert {one.name for one in found.differing} <= {"global_st_sectors"}
        assert not found.differing or LAUNCHES[number]["rung"] in SCATTERED
        assert all("replay" in one.why and "as here" in one.why for one in found.differing)
        assert found.lines
        assert all(one.equal for one in found.lines)
        assert found.profiled.capability == "9.0"


def test_the_kinds_of_csv_and_the_report_say_the_same(reports) -> None:
    raw = read_csv(DATA / "as_compiled-raw.csv")
    details = read_csv(DATA / "as_compiled-details.csv")
    assert len(raw) == len(details) == len(reports["as_compiled"]) == len(LAUNCHES)
    for one, other, third in zip(raw, details, reports["as_compiled"], strict=True):
        later = METRICS["global_tma_red_sectors"]  # than these profiles, as local memory's
        assert later not in one.metrics
        for name, metric in METRICS.items():
            if metric != later and not name.startswith("local_"):
                assert one.metrics[metric] == other.metrics[metric] == third.metrics[metric]
        assert (one.grid, one.block) == (other.grid, other.block) == (third.grid, third.block)
        assert one.number == other.number == third.number


def test_the_build_is_the_one_that_agrees_and_the_other_is_told(reports) -> None:
    tiled = workload(4)
    for build in reports:
        assert compare(reports[build], tiled).build == build
    found = compare(reports["as_compiled"], tiled, build="as_written")
    (one,) = [c for c in found.differing if c.name == "shared_ld_requests"]
    assert "the build as compiled" in one.why
    assert any(not line.equal for line in found.lines)


def test_launches_are_found_by_kernel_grid_and_block() -> None:
    launches = read_csv(DATA / "as_compiled-raw.csv")
    assert compare(launches, workload(5)).profiled.number == 5  # the second of two of `tiled`
    other = load_ladder()["tiled"].blank_workload(n=64, tile=16)
    with pytest.raises(TilescopeError, match=r"grid 4 x 4 and block 16 x 16; it has tiled, grid"):
        compare(launches, other)
    with pytest.raises(TilescopeError, match="no launch of vector_add"):
        compare(launches, load_ladder()["vector_add"].blank_workload())
    with pytest.raises(TilescopeError, match="no launch 99"):
        compare(launches, other, number=99)
    with pytest.raises(TilescopeError, match="is copy_stride"):
        compare(launches, other, number=0)
    twice = (*launches, replace(launches[4], number=40))
    assert (compare(launches, workload(4)).more, compare(twice, workload(4)).more) == (0, 1)


def test_units_are_read_and_numbers_have_commas(tmp_path) -> None:
    path = tmp_path / "scaled.csv"
    path.write_text(
        "==PROF== Connected\n"
        '"ID","Kernel Name","Block Size","Grid Size","CC",'
        '"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","lts__x.sum"\n'
        '"","","","","","Ksector",""\n'
        '"3","void axpy<float>(const float *, float *)","(32, 2, 1)","(4, 1, 1)","8.6",'
        '"1.5","n/a"\n'
        "a line of the program\n"
    )
    (one,) = read_csv(path)
    assert one.metrics == {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 1500.0}
    assert (one.number, one.grid, one.block) == (3, Dim3(4), Dim3(32, 2))
    assert one.is_of("axpy")
    assert one.is_of("axpy<float>")
    assert not one.is_of("axpy<double>")


@pytest.mark.parametrize(
    ("signature", "kernel", "same"),
    [
        ("void ns::fill(float *, int)", "ns::fill", True),
        ("void ns::fill(float *, int)", "fill", True),
        ("void ns::fill(float *, int)", "other::fill", False),
        ("void fill(float *, int)", "ns::fill", True),
        ("void fill(float *, int)", "refill", False),
        ("void fill(float *, int)", "fill(float*, int)", True),
    ],
)
def test_a_kernel_is_known_by_its_names(signature, kernel, same) -> None:
    assert ProfiledLaunch(1, signature, None, None, "", {}).is_of(kernel) == same


def test_what_the_program_prints_is_no_launch(tmp_path) -> None:
    path = tmp_path / "mixed.csv"
    metric = METRICS["shared_ld_wavefronts"]
    path.write_text(
        '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
        "7\n"
        f'"2","11","tiled(int)","{metric}","","1,024"\n'
        "12,3\n"
        f'"2","11","tiled(int)","{METRICS["global_ld_sectors"]}","","nan"\n'
    )
    (one,) = read_csv(path)
    assert (one.number, one.kernel, one.metrics) == (2, "tiled(int)", {metric: 1024.0})


def test_atomics_explain_no_difference_of_shared_memory() -> None:
    launch = read_csv(DATA / "as_compiled-raw.csv")[4]
    metric = METRICS["shared_ld_wavefronts"]
    other = replace(launch, metrics={metric: launch.metrics[metric] + 5})
    (one,) = compare([other], workload(4), build="as_compiled").differing
    assert one.name == "shared_ld_wavefronts"
    assert "atomics" not in one.why


@pytest.mark.parametrize(
    ("signature", "full", "base"),
    [
        ("tiled", "tiled", "tiled"),
        ("void ns::f<(int)4, float>(float *, int)", "ns::f<(int)4, float>", "f"),
        ("(anonymous namespace)::k(int)", "(anonymous namespace)::k", "k"),
    ],
)
def test_names_of_kernels(signature, full, base) -> None:
    assert full_name(signature) == full
    assert base_name(signature) == base


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.csv", "a,b\n1,2\n", "no CSV of Nsight Compute"),
        ("a.csv", "", "no CSV of Nsight Compute"),
        ("a.csv", '"ID","Kernel Name"\n', "no launch"),
        ("a.csv", '"Kernel Name","x"\n"Address","Source"\n', "source page"),
        ("a.csv", '"ID","Kernel Name"\n"0","a\n', "not a CSV file"),
        ("a.xls", "", "unknown ending"),
        ("none.csv", None, "cannot be read"),
    ],
)
def test_files_that_are_no_profile(tmp_path, name, text, complaint) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(TilescopeError, match=complaint):
        read_profile(path)


def test_a_report_needs_its_reader_and_says_so(tmp_path, monkeypatch) -> None:
    path = tmp_path / "r.ncu-rep"
    path.write_bytes(b"no report")
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(TilescopeError, match=r"pip install ncu-report.*--page raw --csv"):
        read_profile(path)


def test_what_is_no_report_is_a_sentence(tmp_path) -> None:
    pytest.importorskip("ncu_report", exc_type=ImportError)
    path = tmp_path / "r.ncu-rep"
    path.write_bytes(b"no report" * 50)
    with pytest.raises(TilescopeError, match="is not a report"):
        read_profile(path)


def test_a_profile_without_any_of_the_counters() -> None:
    launches = [replace(one, metrics={}) for one in read_csv(DATA / "as_compiled-raw.csv")]
    with pytest.raises(TilescopeError, match="none of the counters"):
        compare(launches, workload(0))
