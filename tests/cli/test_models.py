"""`tilescope ceilings` and `tilescope occupancy`."""

from __future__ import annotations

import json

import pytest

from core.cli.app import main


def printed(capfd, *arguments: str) -> dict:
    assert main([*arguments, "--json"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    return json.loads(out)


@pytest.mark.slow
def test_ceilings_as_json(capfd) -> None:
    data = printed(capfd, "ceilings", "tiled", "--n", "256", "--tile", "32", "--device", "RTX 3090")
    assert data["ceilings"]["textbook"]["gflops"] == pytest.approx(7489.6)
    assert "936.2" in data["ceilings"]["textbook"]["formula"]
    assert data["binding"] == "data_stage"
    assert set(data["ceilings"]) == {
        "textbook", "dram", "l2", "l1", "shared", "data_stage", "issue", "fp32",
    }  # fmt: skip
    assert data["counts"]["flops"] == 2 * 256**3


@pytest.mark.slow
def test_any_parameter_of_a_rung_is_set_by_name(capfd) -> None:
    some = ("--m", "128", "--k", "64", "--n", "256", "--set", "tile_m=128", "--set", "tile_n=256")
    data = printed(capfd, "ceilings", "tma_pipeline", *some, "--device", "H200")
    assert (data["parameters"]["tile_m"], data["parameters"]["tile_n"]) == (128, 256)
    data = printed(capfd, "occupancy", "tma_pipeline", *some, "--device", "H200")
    assert data["block"] == 256
    assert main(["ceilings", "tiled", "--set", "tile_q=3"]) == 2
    assert "tile_q" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["ceilings", "occupancy"])
def test_wgmma_is_for_one_compute_capability(capfd, command) -> None:
    assert main([command, "wgmma", "--m", "64", "--k", "64", "--n", "64", "--device", "A100"]) == 2
    assert "9.0 alone has" in capfd.readouterr().err


@pytest.mark.slow
def test_ceilings_for_people(capfd) -> None:
    assert main(["ceilings", "coalesced", "--n", "128", "--tile", "16", "--device", "H200"]) == 0
    out = capfd.readouterr().out
    assert "binds" in out
    assert "caches can beat it" in out
    assert "1,203.5 GFLOPS, can be beaten" in out


def test_ceilings_of_a_file(capfd, tmp_path) -> None:
    source = tmp_path / "scale.cu"
    source.write_text(
        "__global__ void scale(float* x, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2.5f; }"
    )
    data = printed(
        capfd, "ceilings", str(source), "--grid", "4", "--block", "128",
        "--arg", "x=float32[512]", "--arg", "n=512", "--device", "A100",
    )  # fmt: skip
    assert data["counts"]["flops"] == 512
    assert data["ceilings"]["dram"]["gflops"] == pytest.approx(2039 / 8)


def test_occupancy_as_json(capfd) -> None:
    data = printed(
        capfd, "occupancy", "--device", "H200", "--block", "256", "--registers", "32",
        "--shared", "8192",
    )  # fmt: skip
    assert (data["blocks"], data["occupancy"]) == (8, 1.0)
    assert data["limited_by"] == ["warps", "registers"]
    assert data["shared_per_block"] == 9216  # the driver's kilobyte is in


def test_occupancy_of_a_rung(capfd) -> None:
    data = printed(capfd, "occupancy", "tiled", "--n", "64", "--tile", "32", "--device", "9.0")
    assert (data["block"], data["registers"], data["shared"]) == (1024, 32, 8192)
    assert data["blocks"] == 2


@pytest.mark.parametrize(
    ("rung", "options", "threads"),
    [
        ("tiled", ["--tile", "32"], 1024),
        ("tiled", ["--tile", "24"], 576),
        ("tiled_rect", ["--tile", "8"], 64),
        ("aat_padded", ["--tile", "16", "--pad", "3"], 256),
        ("coalesced", ["--block-x", "32", "--block-y", "3"], 96),
    ],
)
def test_occupancy_needs_no_size(capfd, rung, options, threads) -> None:
    data = printed(capfd, "occupancy", rung, *options, "--device", "9.0")
    assert data["block"] == threads
    assert data["blocks"] > 0


def test_performance_cliff(capfd) -> None:
    assert main(
        ["occupancy", "--device", "Textbook SM", "--block", "16,16", "--registers", "12"]
    ) == 0  # fmt: skip
    assert "5 blocks, 1,280 threads" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ceilings", "tiled", "--device", "Voodoo 2"], "not in the table of devices"),
        (["ceilings", "nosuch"], "no kernel called nosuch"),
        (["occupancy"], "--block 256"),
        (["occupancy", "--n", "64", "--block", "32"], "--n is for a rung"),
        (["occupancy", "tiled", "--block", "32"], "leave out --block"),
        (["occupancy", "tiled", "--device", "8800 GTX"], "makes no code for 1.0"),
        (["occupancy", "--device", "Voodoo 2", "--block", "32"], "Textbook SM"),
        (["occupancy", "--device", "8.", "--block", "32"], "use one of 8.0, 8.6, 8.7, 8.9"),
        (["occupancy", "tiled", "--tile", "32", "--n", "33"], "n = 32"),
        (["occupancy", "--block", "32", "--carve-out", "150"], "0 to 100 per cent"),
    ],
)
def test_mistakes(capfd, arguments, complaint) -> None:
    assert main(arguments) == 2
    assert complaint in capfd.readouterr().err
