"""What `make bench` makes of its measurements."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
NAMES = ("bench", "bench_figures", "bench_peers")


@pytest.fixture
def load(monkeypatch):
    """Import a script by name; scripts/ is no package and not on the path."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module
    for name in NAMES:
        sys.modules.pop(name, None)


def test_a_goal_is_met_by_the_median(load):
    figure = load("bench_figures").Figure
    assert figure("x", (1.0, 2.0, 90.0), "s", 3).verdict == "met"
    assert figure("x", (1.0, 4.0, 5.0), "s", 3).missed
    assert figure("x", (9.0, 11.0, 12.0), "M/s", 10, at_least=True).verdict == "met"
    assert figure("x", (9.0, 9.5, 12.0), "M/s", 10, at_least=True).missed
    assert figure("x", (3.0,), "s", 3).missed  # under means under
    assert figure("x", (5.0,), "s").verdict == ""


def test_processor_time_is_named_where_only_it_meets_the_goal(load):
    figure = load("bench_figures").Figure
    assert figure("x", (30.0,), "ms", 16, processor=12.0).verdict == "met in processor time"
    assert figure("x", (30.0,), "ms", 16, processor=17.0).missed
    assert figure("x", (9.0,), "M/s", 10, at_least=True, processor=11).verdict != "missed"


def test_nothing_measured_meets_no_goal(load):
    figure = load("bench_figures").Figure
    assert figure("x", (math.nan,), "s", 3).missed
    assert figure("x", (math.nan,), "M/s", 3, at_least=True, processor=math.nan).missed


def test_rates_come_from_seconds(load):
    figures = load("bench_figures")
    rate = figures.rates("x", 4e6, figures.Times((2.0, 1.0, 4.0), (1.0, 2.0, 0.5)), 1)
    assert rate.values == (2.0, 4.0, 1.0)
    assert (rate.median, rate.processor) == (2.0, 4.0)


def test_rows_are_as_wide_as_the_heads(load):
    figures = load("bench_figures")
    some = [figures.Figure("a", (1.0, 1234.5), "ms", 2000), figures.Figure("b", (0.0512,), "s")]
    lines = figures.markdown("Title", some).splitlines()
    assert {line.count("|") for line in lines[2:]} == {len(figures.HEADS) + 1}
    assert "| a | 618 ms | 1 to 1,234 |" in lines[4]
    assert "met" in lines[4]
    assert "0.0512 s" in lines[5]


def test_peers_that_are_missing_are_said(load, monkeypatch):
    peers = load("bench_peers")
    monkeypatch.setattr(peers, "RUNS", 1)
    monkeypatch.setattr(peers.shutil, "which", lambda name: None)
    monkeypatch.setattr(peers, "simulator", lambda missing: missing.append("numba") or None)
    missing: list[str] = []
    rows = list(peers.figures(missing))
    assert len(rows) == 1
    assert "Tilescope" in rows[0].what
    assert missing[0] == "numba"
    assert "apt-get install oclgrind" in missing[1]


def test_every_part_has_a_place_in_the_page(load, monkeypatch, tmp_path):
    bench = load("bench")
    page = tmp_path / "speed.md"
    page.write_text(bench.PAGE.read_text("utf-8"), "utf-8")
    monkeypatch.setattr(bench, "PAGE", page)
    for part in bench.PARTS:
        bench.write(part, f"figures of {part}")
        bench.write(part, f"newer figures of {part}")
    text = page.read_text("utf-8")
    assert [text.count(f"newer figures of {part}\n") for part in bench.PARTS] == [1, 1, 1]
    assert text.count("\nfigures of") == 0
    with pytest.raises(ValueError, match="0 places"):
        bench.write("peer", "")
