"""docs/scale.md is what scripts/scale_page.py makes of its measurements; the simulation adds up."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import scale_page as made

MEASURED = {
    "machine": {
        "processor": "A processor", "cores": 2, "system": "Linux", "python": "3.11.7",
        "date": "2026-11-23", "load_before": 0.1, "load_after": 1.9, "took_s": 180.0,
    },
    "grown": [
        *({"kind": "trace", "n": n, "seconds": 1e-6 * n**2, "mb": 3.0} for n in (64, 128, 256)),
        {"kind": "trace", "n": 512, "expected": 7200.0},
        {"kind": "count", "n": 64, "seconds": 0.1, "mb": 1.0},
    ],
    "swept": 24,
    "alone_s": 9.5,
    "spread": [
        {"workers": 1, "seconds": 10.0, "overhead_ms": 3.0},
        {"workers": 2, "seconds": 5.5, "overhead_ms": 25.0},
    ],
    "bytes": 2000.0,
    "simulation": {
        "assumed": {
            "points": 100, "gpus": 4, "straggling": 0.02, "slower": 10.0,
            "between_failures": 1800.0, "away": 60.0, "median_s": 1.5, "seed": 7,
        },
        "cases": [
            {
                "stragglers": True, "failures": False, "least": 40.0, "took": 44.0, "work": 160.0,
                "without_scheduler": 40.0, "lost": 0.0, "failures_met": 0, "repeated": 0,
            }
        ],
    },
}  # fmt: skip


@pytest.mark.skipif(not made.DATA.exists(), reason="nothing was measured for the page")
def test_the_page_is_of_the_measurements_beside_it():
    """Else: `python scripts/scale_page.py --page`."""
    data = json.loads(made.DATA.read_text(encoding="utf-8"))
    assert made.page(data) == made.PAGE.read_text(encoding="utf-8")
    assert {row["kind"] for row in data["grown"]} == set(made.KINDS)
    assert all((row["kind"], row["n"]) for row in data["grown"])


def test_exponents_are_those_of_the_largest_sizes():
    rows = [{"n": n, "seconds": 5.0 + 1e-6 * n**2.5} for n in (64, 512, 8192, 16384, 32768, 65536)]
    assert made.exponent(rows) == pytest.approx(2.5, abs=0.02)
    assert made.exponent([*rows, {"n": 1 << 17, "expected": 1e9}]) == made.exponent(rows)
    assert made.exponent(rows[:2]) is None
    assert made.predicted(rows[-2:], 1 << 17) == pytest.approx(2**2.5 * rows[-1]["seconds"], 0.01)
    assert made.predicted(rows[:1], 1024) is None


def test_the_page_has_cells_exponents_and_judged_goals():
    text = made.page(MEASURED)
    assert "| 256 | 0.07 | 3 |" in text
    assert "| 512 | ~2 h |" in text
    assert "**n^2.00**" in text
    assert "| 2 | 5.5 | 91% | 25.0 |" in text
    assert "at least 85% | 91% | met |" in text
    assert "below 20 ms | 25.0 ms | **not met** |" in text
    assert "bytes a point | 2,000 | **not met** |" in text
    assert "| yes | no | 40.0 | 44.0 | 40.0 | 10.0% | 0 | 0.0 |" in text


@pytest.fixture
def simulation():
    pytest.importorskip("simpy")
    import scale_simulation

    return scale_simulation


def assumed(simulation, **changes):
    usual = dict(points=600, gpus=7, times=(1.0, 2.5, 4.0), straggling=0.03, slower=9.0)
    return simulation.Assumptions(**{**usual, "between_failures": 60.0, "away": 11.0, **changes})


def test_without_overhead_and_mishaps_a_sweep_takes_what_the_work_takes(simulation):
    one = assumed(simulation)
    found = simulation.simulated(one, 0.0, stragglers=False, failures=False)
    assert found.least(one.gpus) <= found.took <= found.least(one.gpus) + max(one.times)
    assert found.failures == found.repeated == found.lost == 0
    late = simulation.simulated(one, 0.0, stragglers=True, failures=False)
    assert late.work > found.work
    assert late.longest == pytest.approx(36.0)


def test_a_slow_scheduler_bounds_the_sweep_and_a_quick_one_hides_behind_the_work(simulation):
    one = assumed(simulation)
    slow = simulation.simulated(one, 2.0, stragglers=False, failures=False)
    assert slow.took >= 2.0 * one.points
    free = simulation.simulated(one, 0.0, stragglers=False, failures=False)
    quick = simulation.simulated(one, 0.01, stragglers=False, failures=False)
    assert quick.took == pytest.approx(free.took, rel=0.02)


def test_failures_cost_time_and_lose_no_point(simulation):
    one = assumed(simulation)
    free = simulation.simulated(one, 0.001, stragglers=False, failures=False)
    found = simulation.simulated(one, 0.001, stragglers=False, failures=True)
    assert found.failures == found.repeated > 10
    assert 0 < found.lost < found.failures * max(one.times)
    assert found.took > free.took
    assert found.took * one.gpus >= found.work + found.lost
    again = simulation.simulated(one, 0.001, stragglers=False, failures=True)
    assert again == found
