"""The recorded runs' FLOP/B that come with the program are those that counting gives now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.gpu.benchmark_result import load_recorded
from core.ladder import load_ladder
from core.models.launch_counts import measure_rung
from core.models.recorded_intensities import known_intensity


def test_every_recorded_run_was_counted_with_its_present_source():
    ladder = load_ladder()
    wanted = [r for r in load_recorded() if r.rung is not None and r.gflops]
    assert len(wanted) > 100
    missing = [
        (r.rung, dict(r.parameters))
        for r in wanted
        if known_intensity(ladder[r.rung], r.parameters) is None
    ]
    assert not missing, "run scripts/count_recorded.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("uncoalesced", {"n": 256, "block_x": 8, "block_y": 8}),
        ("tiled_rect", {"m": 4096, "k": 4096, "n": 4096, "tile": 16}),
        ("aat_padded", {"n": 1024, "tile": 32, "pad": 1}),
    ],
)
def test_it_is_what_counting_gives(name, parameters):
    rung = load_ladder()[name]
    found = known_intensity(rung, parameters)
    assert found == measure_rung(rung, parameters, written=False).intensity


def test_nothing_is_known_of_another_launch_or_source():
    rung = load_ladder()["tiled"]
    assert known_intensity(rung, {"n": 4096, "tile": 16}) == 4.0
    assert known_intensity(rung, {"n": 4080, "tile": 16}) is None
    edited = replace(rung, source=rung.source.replace("phase++", "phase += 1"))
    assert known_intensity(edited, {"n": 4096, "tile": 16}) is None
