"""`tilescope compare-ncu`."""

from __future__ import annotations

import json
from pathlib import Path

from core.cli.app import main

DATA = Path(__file__).parents[1] / "data" / "ncu"
PRINTED = str(DATA / "as_compiled-printed.csv")


def test_equal_counters_for_people_and_programs(capfd) -> None:
    arguments = [PRINTED, "tiled", "--n", "128", "--tile", "16"]
    assert main(["compare-ncu", *arguments]) == 0
    out = capfd.readouterr().out
    assert "22 of 22 counters equal." in out
    assert "shared_ld_wavefronts" in out
    assert main(["compare-ncu", *arguments, "--json"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert data["counters"]["shared_ld_wavefronts"]["ncu"] == 98304
    assert data["build"] == "as_compiled"


def test_differences_are_explained_and_end_with_1(capfd) -> None:
    arguments = [str(DATA / "as_compiled-raw.csv"), "uncoalesced", "--n", "96"]
    assert main(["compare-ncu", *arguments, "--block-x", "16", "--block-y", "16"]) == 1
    out = capfd.readouterr().out
    assert "25 of 26 counters equal" in out
    assert "replay" in out
    assert "Caches served 97.1 %" in out
    assert main(["compare-ncu", PRINTED, "tiled", "--n", "128", "--tile", "16",
                 "--build", "as_written"]) == 1  # fmt: skip
    assert "the profile is of that one" in capfd.readouterr().out


def test_a_kernel_of_ones_own(tmp_path, capfd) -> None:
    from core.ladder import load_ladder

    source = tmp_path / "mine.cu"
    source.write_text(load_ladder()["tiled"].source)
    launch = ["--grid", "8,8", "--block", "16,16", "-D", "TILE_WIDTH=16", "--arg", "N=128"]
    launch += [f"--arg={name}=float32[128,128]" for name in "ABC"]
    assert main(["compare-ncu", PRINTED, str(source), *launch]) == 0
    assert "22 of 22 counters equal." in capfd.readouterr().out


def test_mistakes_are_sentences(capfd) -> None:
    assert main(["compare-ncu", PRINTED, "tiled", "--n", "64", "--tile", "16"]) == 2
    assert "no launch of tiled with grid 4 x 4" in capfd.readouterr().err
    assert main(["compare-ncu", "none.csv", "tiled"]) == 2
    assert "cannot be read" in capfd.readouterr().err
