"""`tilescope scan`: combinations counted, ranked and refused."""

from __future__ import annotations

import csv
import io
import json

import pytest

from core.cli.app import main
from core.ladder import load_ladder
from core.recording.count_launch import count

PADDED = ("aat_padded", "--n", "96", "--tile", "16,32,48", "--pad", "0..2", "--device", "A100")


@pytest.fixture(scope="module")
def padded() -> dict:
    """The scan of a rung with tiles and padding, in this process."""
    from contextlib import redirect_stdout

    with redirect_stdout(io.StringIO()) as said:
        assert main(["scan", *PADDED, "--json", "--jobs", "1"]) == 0
    return json.loads(said.getvalue())


@pytest.mark.slow
def test_every_combination_is_counted_or_refused(padded) -> None:
    there = {(row["parameters"]["tile"], row["parameters"]["pad"]) for row in padded["launches"]}
    assert there == {(tile, pad) for tile in (16, 32) for pad in (0, 1, 2)}
    assert {one["parameters"]["tile"] for one in padded["refused"]} == {48}
    assert all("tile = 48 is too large" in one["why"] for one in padded["refused"])


@pytest.mark.slow
def test_counters_are_those_of_a_launch_counted_by_itself(padded) -> None:
    for row in padded["launches"]:
        workload = load_ladder()["aat_padded"].workload(**row["parameters"])
        whole = count(workload, kind="as_compiled", shortcut=False).counters.totals
        assert row["counters"] == {name: one.value for name, one in whole.items()}
        assert row["sectors"] == whole["global_ld_sectors"].value + whole["global_st_sectors"].value
        conflicts = whole["shared_ld_conflicts"].value + whole["shared_st_conflicts"].value
        assert row["conflicts"] == conflicts
    by_pad = {(r["parameters"]["tile"], r["parameters"]["pad"]): r for r in padded["launches"]}
    assert by_pad[32, 0]["conflicts"] > by_pad[32, 2]["conflicts"] > by_pad[32, 1]["conflicts"]


@pytest.mark.slow
def test_the_order_is_that_of_the_binding_ceilings(padded, capfd) -> None:
    rates = [row["gflops"] for row in padded["launches"]]
    assert rates == sorted(rates, reverse=True)
    assert len(set(rates)) > 2
    for row in (padded["launches"][0], padded["launches"][-1]):
        sizes = [f"--{name}={value}" for name, value in row["parameters"].items()]
        assert main(["ceilings", "aat_padded", *sizes, "--device", "A100", "--json"]) == 0
        alone = json.loads(capfd.readouterr().out)
        assert row["binding"] == alone["binding"]
        assert row["gflops"] == pytest.approx(alone["ceilings"][alone["binding"]]["gflops"])
        assert main(["occupancy", "aat_padded", *sizes, "--device", "A100", "--json"]) == 0
        assert row["occupancy"] == json.loads(capfd.readouterr().out)["occupancy"]


@pytest.mark.slow
def test_several_processes_give_the_same(padded, capfd) -> None:
    assert main(["scan", *PADDED, "--json", "--jobs", "2"]) == 0
    assert json.loads(capfd.readouterr().out) == padded


def test_large_sizes_are_counted_exactly_from_small_ones(capfd) -> None:
    assert main(["scan", "tiled", "--n", "512", "--tile", "16", "--json", "-j1"]) == 0
    (row,) = json.loads(capfd.readouterr().out)["launches"]
    assert "followed to N = 512" in row["note"]
    workload = load_ladder()["tiled"].blank_workload(n=512, tile=16)
    whole = count(workload, kind="as_compiled").counters.totals
    assert row["counters"] == {name: one.value for name, one in whole.items()}


def test_csv_has_a_row_for_each_with_the_refused_last(padded, capfd) -> None:
    assert main(["scan", *PADDED, "--csv", "-j1"]) == 0
    rows = list(csv.DictReader(io.StringIO(capfd.readouterr().out)))
    assert [row["rank"] for row in rows] == [str(n) for n in range(1, 7)] + [""] * 3
    assert all("too large" in row["refused"] for row in rows[6:])
    first = padded["launches"][0]
    assert float(rows[0]["gflops"]) == first["gflops"]
    assert int(rows[0]["counter.shared_ld_wavefronts"]) == first["counters"]["shared_ld_wavefronts"]
    assert rows[0]["block"] == "x".join(map(str, first["block"]))


def test_a_table_says_what_is_left_out_and_why(capfd) -> None:
    arguments = ["tiled", "--n", "64", "--tile", "8,16,24", "--pad", "0..4", "-j1", "--top", "1"]
    assert main(["scan", *arguments]) == 0
    out = capfd.readouterr().out
    assert "no parameter pad in Tiled" in out
    assert "aat_padded" in out
    assert "and 1 more" in out
    assert "Refused: Tiled, n = 64, tile = 24: " in out
    assert "2 launches counted, 1 refused." in out


def test_what_a_device_has_no_room_for_is_refused_with_a_reason(tmp_path, capfd) -> None:
    source = tmp_path / "big.cu"
    source.write_text(
        "extern __shared__ float tile[];\n"
        "__global__ void big(float* x) {\n"
        "  tile[threadIdx.x] = x[threadIdx.x]; __syncthreads();\n"
        "  x[threadIdx.x] = 2.5f * tile[threadIdx.x ^ 1]; }\n"
    )
    launch = ["--grid", "1", "--block", "{b}", "--arg", "x=float32[{b}]", "--shared", "{s}"]
    sizes = ["--set", "b=64,2048", "--set", "s=1024,120000"]
    assert main(["scan", str(source), *launch, *sizes, "--json", "-j1"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert [row["parameters"] for row in data["launches"]] == [{"b": 64, "s": 1024}]
    why = {tuple(one["parameters"].values()): one["why"] for one in data["refused"]}
    assert "99 KiB of shared memory" in why[64, 120000]
    assert "1024" in why[2048, 1024].replace(",", "")


def test_kernels_without_floating_point_work_are_ranked_by_traffic(capfd) -> None:
    arguments = ["copy_stride", "--n", "512", "--set", "stride=1,8,2", "--block-x", "64"]
    assert main(["scan", *arguments, "--json", "-j1"]) == 0
    rows = json.loads(capfd.readouterr().out)["launches"]
    assert [row["parameters"]["stride"] for row in rows] == [1, 2, 8]
    assert all(row["gflops"] is None for row in rows)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nosuch"], "no kernel called nosuch"),
        (["tiled", "--n", "4..2"], "not a range"),
        (["tiled", "--device", "nosuch"], "nosuch"),
        (["tiled", "--json", "--csv"], "one of --json and --csv"),
        (["cublas", "--n", "64", "-j1"], "nobody can count"),
        (["tiled", "--n", "64", "--tile", "24"], "multiple"),
    ],
)
def test_mistakes_are_one_sentence(capfd, arguments, complaint) -> None:
    assert main(["scan", *arguments]) == 2
    err = capfd.readouterr().err
    assert complaint in err
    assert "Traceback" not in err
