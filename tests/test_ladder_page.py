"""docs/ladder.md is what was measured and counted, of the rungs as they are."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import ladder_page as made


def test_page_and_picture_are_up_to_date():
    page, picture = made.page()
    assert made.PAGE.read_text("utf-8") == page, "run scripts/ladder_page.py"
    assert made.PICTURE.read_text("utf-8") == picture


def test_every_rung_was_measured_and_counted_with_the_parameters_it_is_tuned_to():
    speeds = json.loads(made.SPEEDS.read_text("utf-8"))["rows"]
    measured = {row["rung"]: row["parameters"] for row in speeds if row["size"] == made.SIZE}
    counts = {row["rung"]: row["parameters"] for row in json.loads(made.COUNTS.read_text())["rows"]}
    assert len(measured) > 10
    for rung in (r for r in made.rungs() if r.name in measured):
        assert counts[rung.name] == made.tuned(rung)
        assert measured[rung.name] == rung.check(**made.tuned(rung))


def test_no_speed_lies_above_its_ceiling_and_all_were_right():
    counts = {row["rung"]: row for row in json.loads(made.COUNTS.read_text("utf-8"))["rows"]}
    for row in json.loads(made.SPEEDS.read_text("utf-8"))["rows"]:
        if row["rung"] in counts:
            assert row["right"]
            assert row["gflops"] < counts[row["rung"]]["ceiling"] or row["size"] != made.SIZE


def test_rungs_for_hopper_were_counted_as_they_are_and_stay_below_their_ceiling():
    counted = {
        (f"{made.load_ladder()[row['rung']].number} {row['rung']}", row["size"]): row
        for row in json.loads(made.COUNTS.read_text("utf-8"))["hopper"]
    }
    assert len(counted) == 9
    for row in counted.values():
        assert row["parameters"] == made.tuned(made.load_ladder()[row["rung"]], row["size"])
    seen = 0
    for row in json.loads(made.HOPPER_SPEEDS[0].read_text("utf-8"))["rows"]:
        ceiling = counted.get((row["name"], row["size"]))
        if ceiling is not None and row["launch_mhz"]:
            seen += 1
            clocks = row["launch_mhz"]
            if len(clocks) < len(row["ms"]):  # a launch without a reading: which is not said
                clocks = [max(clocks)] * len(row["ms"])
            for ms, mhz in zip(row["ms"], clocks, strict=True):
                assert 2e-9 * row["size"] ** 3 / ms < ceiling["flop_per_clock"] * mhz / 1e6
    assert seen >= 12


@pytest.mark.parametrize("name", ["tiled", "aat_shared"])
@pytest.mark.slow
def test_counts_are_counted_anew(name):
    row = next(r for r in json.loads(made.COUNTS.read_text("utf-8"))["rows"] if r["rung"] == name)
    assert made.counted(next(r for r in made.rungs() if r.name == name)) == row


def test_a_row_whose_clock_fell_is_marked_and_compared_with_nothing(tmp_path, monkeypatch):
    speeds = json.loads(made.SPEEDS.read_text("utf-8"))
    for row in speeds["rows"]:
        if (row["rung"], row["size"]) in (("tile_2d", 4096), ("cublas float32", 8192)):
            row["sm_mhz"][-1] = 1590
    file = tmp_path / "speeds.json"
    file.write_text(json.dumps(speeds), "utf-8")
    monkeypatch.setattr(made, "SPEEDS", file)
    lines = made.page()[0].splitlines()

    def cells(start):
        return [c.strip() for c in next(x for x in lines if x.startswith(start)).split("|")[1:-1]]

    fallen, kept = cells("| [31 tile_2d]"), cells("| [32 vectorised]")
    assert fallen[2:4] == ["1,590 ↓", ""]
    assert fallen[7] == ""
    assert kept[2] == "1,980"
    assert kept[3].endswith("%")
    assert kept[7].endswith("%")
    tuned, half = cells("| 8192 | tuned"), cells("| 8192 | tensor_half")
    assert tuned[4:] == ["1,980", tuned[5], "1,590 ↓", ""]  # the library's clock fell
    assert half[-1].endswith("%")


def test_every_measured_point_has_the_clock_of_each_launch():
    for row in json.loads(made.SPEEDS.read_text("utf-8"))["rows"]:
        assert len(row["sm_mhz"]) == len(row["ms"])
        assert min(row["sm_mhz"]) > 0
