"""`tilescope tune` on a GPU that is not there."""

from __future__ import annotations

import json

import pytest

from core.cli.app import main
from core.gpu.events_and_failures import WorkerFailure
from core.tuning.kernel_tuner_files import read_cache
from tests.core.gpu.fake_gpu import FAKE_DEVICE, FakeGpu

ARGUMENTS = ["tune", "tiled", "--param", "tile=8,16,24,32", "--set", "n=96"]
MODEL = ["--model", "A100"]


@pytest.fixture
def gpu(monkeypatch):
    fake = FakeGpu()
    fake.submit = lambda fn, *args: _done(FAKE_DEVICE)
    monkeypatch.setattr("core.cli.tune.GpuWorker", lambda number: fake)
    return fake


def _done(value):
    from concurrent.futures import Future

    future = Future()
    future.set_result(value)
    return future


@pytest.mark.slow
def test_all_are_timed_kept_and_not_timed_again(capfd, gpu, tmp_path) -> None:
    files = [f"--cache={tmp_path / 'c.json'}", f"--t4={tmp_path / 't.json'}"]
    assert main([*ARGUMENTS, *MODEL, *files, "--json"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert data["timed"] == 4
    assert {one["configuration"]["tile"] for one in data["results"]} == {8, 16, 24, 32}
    times = [one["time_ms"] for one in data["results"]]
    assert times == sorted(times)
    assert data["best"] == data["results"][0]["configuration"]
    cache = read_cache(tmp_path / "c.json")
    assert cache.device == FAKE_DEVICE.name
    assert cache.problem_size == (96,)
    results = json.loads((tmp_path / "t.json").read_text())["results"]
    assert [one["configuration"] for one in results] == [e.configuration for e in cache.entries]
    assert [one["measurements"][0]["value"] for one in results] == [
        e.time_ms for e in cache.entries
    ]
    gpu.jobs.clear()
    assert main([*ARGUMENTS, *MODEL, *files, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["timed"] == 0
    assert not gpu.jobs
    assert main(["tune", "tiled", "-p", "tile=8", "--set", "n=64", *MODEL, *files]) == 2
    assert "another problem size" in capfd.readouterr().err


@pytest.mark.slow
def test_the_scan_leaves_the_best_ceilings_and_says_what_cannot_run(capfd, gpu) -> None:
    arguments = ["tune", "tiled", "--param", "tile=4,16,32,40", "--set", "n=64", *MODEL]
    assert main([*arguments, "--keep", "2", "--json"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert len(data["results"]) == 2
    assert main(["scan", "tiled", "--n", "64", "--tile", "4,16,32,40", "--device", "A100",
                 "--json", "-j1"]) == 0  # fmt: skip
    ranked = [one["parameters"]["tile"] for one in json.loads(capfd.readouterr().out)["launches"]]
    assert {one["configuration"]["tile"] for one in data["results"]} == set(ranked[:2])


@pytest.mark.slow
def test_sizes_that_are_tuned_are_not_taken_for_each_other(capfd, gpu) -> None:
    arguments = ["tune", "tiled", "-p", "size=64,128,192", "-p", "tile=8,16", *MODEL, "--json"]
    assert main(arguments) == 0
    data = json.loads(capfd.readouterr().out)
    assert data["timed"] == 6
    assert {tuple(one["configuration"].items()) for one in data["results"]} == {
        (("n", n), ("tile", tile)) for n in (64, 128, 192) for tile in (8, 16)
    }


def test_a_cache_does_not_mix_what_is_set_differently(capfd, gpu, tmp_path) -> None:
    arguments = ["tune", "copy_offset", "-p", "block_x=64,128", *MODEL, "--json"]
    arguments.append(f"--cache={tmp_path / 'c.json'}")
    for offset in (0, 3):
        assert main([*arguments, "--set", f"offset={offset}"]) == 0
        data = json.loads(capfd.readouterr().out)
        assert data["timed"] == 2
        assert {one["configuration"]["offset"] for one in data["results"]} == {offset}


def test_failures_are_kept_and_told(capfd, gpu, tmp_path) -> None:
    gpu.faults = lambda job: (
        WorkerFailure("The GPU refused the launch.", "launch_refused")
        if job.subject.parameters["tile"] == 16
        else None
    )
    assert main([*ARGUMENTS, *MODEL, f"--cache={tmp_path / 'c.json'}"]) == 0
    assert "tile = 16: The GPU refused the launch." in capfd.readouterr().out
    failed = [one for one in read_cache(tmp_path / "c.json").entries if one.time_ms is None]
    assert [one.configuration for one in failed] == [{"tile": 16}]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["tune", "tiled", "-p", "tile=8", "--set", "tile=8"], "both tuned and set"),
        (["tune", "tiled", "-p", "tile"], "`--param tile` is not NAME=VALUES"),
        (["tune", "all", "-p", "tile=8,16"], "not one kernel"),
        (["tune", "tiled", "-p", "nosuch=1,2"], "no parameter nosuch"),
        ([*ARGUMENTS, "--model", "nosuch"], "--model"),
    ],
)
def test_mistakes_are_sentences(capfd, gpu, arguments, complaint) -> None:
    assert main(arguments) == 2
    assert complaint in capfd.readouterr().err
