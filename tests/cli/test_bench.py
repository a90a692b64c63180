"""`tilescope bench` and `tilescope devices` where there is no GPU."""

import json
import os
from pathlib import Path

import pytest

from core.cli.app import main

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
