"""`tilescope bench` and `tilescope devices` where there is no GPU."""

import json
import os
from pathlib import Path

import pytest

from core.cli.app import main
from core.errors import GpuUnavailable
from core.gpu.events_and_failures import WorkerFailure
from core.gpu.result_files import read_results
from core.ladder import load_ladder
from tests.core.gpu.fake_gpu import FakeGpu

HAS_DRIVER = Path("/proc/driver/nvidia/version").exists() or os.name == "nt"
no_gpu = pytest.mark.skipif(HAS_DRIVER, reason="this machine has an NVIDIA driver")


@no_gpu
def test_bench_without_a_gpu_says_so_and_what_works(capfd):
    assert main(["bench", "tiled", "--n", "64", "--tile", "16"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "no NVIDIA driver" in err
    assert "tilescope trace tiled" in err
    assert "bench --recorded" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nosuch"], "no kernel called nosuch"),
        (["tiled", "--n", "0"], "n = 0 is too small"),
        (["tiled", "--n", "64", "--tile", "64"], "threads"),
        (["tiled", "--n", "64", "--tile", "16", "--pad", "1"], "no parameter pad"),
        (["tiled", "--budget", "0"], "more than 0 seconds"),
        ([], "Say which rung"),
    ],
)
def test_mistakes_are_told_before_any_gpu_is_looked_for(capfd, arguments, complaint):
    assert main(["bench", *arguments]) == 2
    assert complaint in capfd.readouterr().err


def test_recorded_results(capfd):
    assert main(["bench", "tiled", "--recorded", "--json"]) == 0
    results = json.loads(capfd.readouterr().out)["results"]
    assert {r["rung"] for r in results} == {"tiled"}
    assert main(["bench", "--recorded"]) == 0
    assert "NVIDIA H200" in capfd.readouterr().out


def test_devices(capfd):
    assert main(["devices"]) == 0
    out = capfd.readouterr().out
    assert "35,580" in out
    assert "936.2" in out
    assert main(["devices", "--json"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert {d["name"] for d in data["known"]} >= {"H200", "GeForce RTX 3090"}
    assert bool(data["found"]) != bool(data["trouble"])


@no_gpu
def test_devices_without_a_gpu(capfd):
    assert main(["devices"]) == 0
    assert "No GPU found: This machine has no NVIDIA driver" in capfd.readouterr().out


@pytest.fixture
def gpu(monkeypatch):
    """A fake GPU whose faults a test may set; every worker that is made is this one."""
    fake = FakeGpu()
    monkeypatch.setattr("core.cli.bench.GpuWorker", lambda number: fake)
    return fake


def test_one_point_prints_one_object(capfd, gpu):
    assert main(["bench", "tiled", "--n", "64", "--tile", "16", "--json"]) == 0
    result = json.loads(capfd.readouterr().out)
    assert (result["rung"], result["parameters"]) == ("tiled", {"n": 64, "tile": 16})
    assert result["gflops"] > 0


@pytest.mark.slow
def test_a_sweep_goes_on_after_a_fault_and_keeps_everything(capfd, gpu, tmp_path):
    died = WorkerFailure("The GPU worker process was killed.", "worker_died", fatal=True)
    gpu.faults = lambda job: died if job.subject.parameters.get("n") == 96 else None
    gpu.cut = 8
    outs = [tmp_path / f"r.{ending}" for ending in ("jsonl", "csv", "parquet", "json", "md")]
    arguments = ["bench", "tiled", "coalesced", "cublas", "--n", "64,96", "--tile", "16,24"]
    assert main([*arguments, *(f"--out={path}" for path in outs), "--json"]) == 1
    out, err = capfd.readouterr()
    data = json.loads(out)
    assert len(data["results"]) == 9
    assert {f["kind"] for f in data["failures"]} == {"worker_died"}
    assert [one["parameters"] for one in data["left_out"]] == [{"n": 64, "tile": 24}]
    cut = [r for r in data["results"] if r["ended"] == "cut off"]
    assert {len(r["samples_ms"]) for r in cut} == {8}
    first = read_results(outs[0])
    assert len(first) == len(data["results"])
    assert all(read_results(path) == first for path in outs[1:4])
    assert "# GPU benchmark" in outs[4].read_text()
    assert "worker died" in err


def test_a_sweep_is_taken_up_again(capfd, gpu, tmp_path):
    out = f"--out={tmp_path / 'r.jsonl'}"
    assert main(["bench", "tiled", "--n", "64", "--tile", "8", out]) == 0
    assert main(["bench", "tiled", "--n", "64", "--tile", "8,16", out, "--resume"]) == 0
    assert [dict(job.subject.parameters) for job in gpu.jobs] == [
        {"n": 64, "tile": 8}, {"n": 64, "tile": 16},
    ]  # fmt: skip
    assert main(["bench", f"--show={tmp_path / 'r.jsonl'}"]) == 0
    assert "Fake GPU" in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet", "json", "jsonl"])
def test_shown_results_are_written_in_any_format(capfd, tmp_path, ending):
    path = tmp_path / f"r.{ending}"
    assert main(["bench", "tiled", "--recorded", "-o", str(path), "--json"]) == 0
    wanted = json.loads(capfd.readouterr().out)["results"]
    assert main(["bench", f"--show={path}", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["results"] == wanted
    assert {r["rung"] for r in wanted} == {"tiled"}
    assert main(["bench", "--recorded", "-o", "r.xyz"]) == 2
    assert "has an unknown ending" in capfd.readouterr().err


def test_a_file_of_ones_own(capfd, gpu, tmp_path):
    source = tmp_path / "mine.cu"
    source.write_text(load_ladder()["tiled"].source)
    launch = ["--grid={n//tile},{n//tile}", "--block={tile},{tile}", "-D", "TILE_WIDTH={tile}"]
    launch += [f"--arg={name}=float32[{{n}},{{n}}]" for name in "ABC"] + ["--arg=N={n}"]
    command = ["bench", str(source), *launch, "--flops=2*n*n*n", "--expect=C = A @ B"]
    assert main([*command, "--n", "64,128", "--tile", "16", "--json"]) == 0
    results = json.loads(capfd.readouterr().out)["results"]
    assert [r["flops"] for r in results] == [2 * 64**3, 2 * 128**3]
    assert main(["bench", str(source), "--n", "64"]) == 2
    assert "Give the launch of mine.cu" in capfd.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("sizes", ["32,64", "16..128:16"])  # of less, and of more than a buffer
def test_a_full_disk_under_the_parquet_file_is_one_sentence(capfd, gpu, tmp_path, sizes):
    pytest.importorskip("pyarrow")
    table, lines = tmp_path / "r.parquet", tmp_path / "r.jsonl"
    table.symlink_to("/dev/full")
    arguments = ["bench", "tiled", "--n", sizes, "--tile", "8", f"--out={table}", f"--out={lines}"]
    assert main([*arguments, "--json"]) == 1
    out, err = capfd.readouterr()
    assert err.count("error:") == 1
    assert "r.parquet could not be written: the disk is full. Make room" in " ".join(err.split())
    assert len(json.loads(out)["results"]) == len(read_results(lines)) > 1
    lines.unlink()
    lines.symlink_to("/dev/full")
    assert main([*arguments, "--json"]) == 1
    out, err = capfd.readouterr()
    assert err.count("error:") == 2  # one sentence a file
    assert "No space left on device" in err
    assert len(json.loads(out)["results"]) > 1


def test_a_file_that_cannot_be_written_is_told_once_and_the_sweep_goes_on(capfd, gpu, tmp_path):
    good, bad = tmp_path / "r.csv", tmp_path / "none" / "r.parquet"
    arguments = ["bench", "tiled", "--n", "64,96,128", "--tile", "16", "--json"]
    assert main([*arguments, f"--out={good}", f"--out={bad}"]) == 1
    out, err = capfd.readouterr()
    assert len(json.loads(out)["results"]) == 3
    assert err.count("r.parquet could not be written: there is no folder") == 1
    assert len(read_results(good)) == 3


def test_a_wrong_scheduler_is_a_sentence(capfd):
    pytest.importorskip("distributed")
    assert main(["bench", "tiled", "--n", "64", "--tile", "16", "--cluster", "nowhere://a"]) == 2
    assert "not an address of a scheduler" in capfd.readouterr().err


def test_a_gpu_that_is_gone_is_told(capfd, gpu):
    gpu.faults = lambda job: GpuUnavailable("The driver finds no GPU.")
    assert main(["bench", "tiled", "--n", "64", "--tile", "16"]) == 2
    assert "bench --recorded" in capfd.readouterr().err


def test_spread_over_several_gpus(capfd, gpu):
    assert main(["bench", "tiled", "--n", "64,128", "--tile", "16", "--device", "0,1"]) == 2
    assert "There is no GPU number 1" in capfd.readouterr().err
    assert main(["bench", "tiled", "--n", "64,128", "--tile", "16", "--device", "all"]) == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["tiled", "--n", "1.5"], "not a list of values"),
        (["tiled", "--out", "r.xls"], "has an unknown ending"),
        (["tiled", "--resume"], "needs the file"),
        (["tiled", "--device", "x"], "write 0, or 0,1 for two GPUs, or all"),
        (["tild", "--recorded"], "There are no results of tild"),
        (["tiled", "--set", "n"], "NAME=VALUES"),
        (["tiled", "--n", "64,96", "--set", "size=64"], "two axes"),
    ],
)
def test_mistakes_of_a_sweep(capfd, gpu, arguments, complaint):
    assert main(["bench", *arguments]) == 2
    assert complaint in capfd.readouterr().err
    assert not gpu.jobs


def test_results_that_are_nested_too_deeply_are_a_sentence(tmp_path, capsys):
    for name, text in (("a.json", "[" * 200_000), ("b.jsonl", '{"a":' * 200_000 + "\n{}\n")):
        path = tmp_path / name
        path.write_text(text)
        assert main(["bench", "--show", str(path)]) == 2
        said = capsys.readouterr().err
        assert "nested too deeply" in said.replace("\n", " ")
        assert "Traceback" not in said
