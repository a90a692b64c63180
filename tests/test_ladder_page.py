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


@pytest.mark.parametrize("name", ["tiled", "aat_shared"])
def test_counts_are_counted_anew(name):
    row = next(r for r in json.loads(made.COUNTS.read_text("utf-8"))["rows"] if r["rung"] == name)
    assert made.counted(next(r for r in made.rungs() if r.name == name)) == row
