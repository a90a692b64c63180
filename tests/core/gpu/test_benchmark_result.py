import json
from dataclasses import replace

import numpy as np
import pytest

from core.errors import GpuUnavailable, TilescopeError
from core.gpu.benchmark_result import (
    BenchmarkResult,
    DeviceReport,
    Readings,
    gflops,
    is_stable,
    summarise,
)
from core.gpu.benchmark_run import nearest_architecture, with_lowest
from core.gpu.result_check import Check
from core.gpu.result_files import load_recorded, load_results, save_results
from core.ladder import load_ladder

DEVICE = DeviceReport(
    ordinal=0,
    name="Test GPU",
    compute_capability=(9, 0),
    sms=132,
    clock_mhz=1980.0,
    memory_clock_mhz=3201.0,
    memory_bus_bits=6016,
    memory_bytes=1 << 37,
    l2_bytes=60 << 20,
    shared_per_sm_bytes=228 << 10,
    shared_per_block_bytes=227 << 10,
    registers_per_sm=65536,
    threads_per_sm=2048,
    driver="580.1",
    cuda_driver="13.0",
)
CHECK = Check("C", True, 1e-5, 1e-3, 256, 4096, 0, "256 random rows of C against float64")
RESULT = BenchmarkResult(
    device=DEVICE,
    date="2026-11-21T10:00:00+00:00",
    title="Tiled",
    rung="tiled",
    kernel="tiled",
    parameters={"n": 4096, "tile": 32},
    seed=7,
    grid=(128, 128, 1),
    block=(32, 32, 1),
    dynamic_shared_bytes=0,
    flops=2 * 4096**3,
    samples_ms=(15.0, 15.5, 16.0),
    median_ms=15.5,
    p5_ms=15.05,
    p95_ms=15.95,
    gflops=8867.0,
    gflops_p5=8600.0,
    gflops_p95=9100.0,
    ended="stable",
    warm_up=3,
    l2_flushed=True,
    flush_bytes=256 << 20,
    checks=(CHECK,),
    registers=40,
    static_shared_bytes=8192,
    local_bytes=0,
    architecture="sm_90",
    nvrtc="13.0",
    readings=Readings(1980.0, 3201.0, 40.0, 500.0),
    notes=("a note",),
)


def test_json_round_trip(tmp_path):
    path = tmp_path / "results.json"
    wrong = replace(RESULT, checks=(replace(CHECK, ok=False, max_error=None),), median_ms=None)
    save_results(path, (RESULT, wrong))
    assert load_results(path) == (RESULT, wrong)
    path.write_text(json.dumps(RESULT.to_json()), encoding="utf-8")  # as `bench --json` prints it
    assert load_results(path) == (RESULT,)


def test_ok_is_none_where_nobody_knows():
    assert RESULT.ok is True
    assert replace(RESULT, checks=(CHECK, replace(CHECK, ok=False))).ok is False
    assert replace(RESULT, checks=()).ok is None


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"results": [{"format": 99}]}', '{"results": 3}']
)
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TilescopeError):
        load_results(path)
    with pytest.raises(TilescopeError, match="cannot be read"):
        load_results(tmp_path / "missing.json")


@pytest.mark.parametrize(
    ("field", "value"),
    [("gflops", "fast"), ("samples_ms", ["a"]), ("grid", [1, 2]), ("readings", {"sm_mhz": "x"})],
)
def test_a_result_with_a_field_of_another_type_is_refused(tmp_path, field, value):
    path = tmp_path / "other.json"
    path.write_text(json.dumps(RESULT.to_json() | {field: value}), encoding="utf-8")
    with pytest.raises(TilescopeError, match="not a benchmark result"):
        load_results(path)


def test_recorded_results_are_right_and_consistent():
    recorded, ladder = load_recorded(), load_ladder()
    assert recorded
    for result in recorded:
        assert result.ok is True
        assert result.l2_flushed
        summary = summarise(result.samples_ms)
        assert result.median_ms == pytest.approx(summary.median)
        assert result.gflops == pytest.approx(gflops(result.flops, summary.median))
        rung = ladder[result.rung] if result.rung else None
        float32 = rung is None or rung.arithmetic == "float32"  # tensor cores do more
        if result.flops is not None and float32:
            assert result.gflops < result.device.peak_gflops
        assert result.device.driver
        assert result.date.startswith("20")


def test_device_figures():
    assert DEVICE.bandwidth_gbs == pytest.approx(4814.3, abs=0.01)
    assert DEVICE.cores == 132 * 128
    assert DEVICE.peak_gflops == pytest.approx(66908.16)
    assert replace(DEVICE, compute_capability=(99, 0)).peak_gflops is None


def test_gflops():
    assert gflops(2 * 10**9, 1.0) == pytest.approx(2000.0)
    assert gflops(None, 1.0) is None
    assert gflops(5, 0.0) is None


def test_nearest_architecture():
    known = [75, 80, 86, 87, 89, 90, 100, 103, 120, 121]
    assert nearest_architecture((9, 0), known) == (9, 0)
    assert nearest_architecture((8, 8), known) == (8, 7)
    assert nearest_architecture((12, 1), known) == (12, 1)
    assert nearest_architecture((12, 5), known) == (12, 1)
    for capability in ((7, 0), (6, 1), (13, 0), (11, 0)):
        with pytest.raises(GpuUnavailable, match=r"makes no machine code"):
            nearest_architecture(capability, known)


@pytest.mark.parametrize(
    ("end", "lowest", "fell"),
    [(1980, None, False), (1980, 1965, False), (1980, 1590, True), (1500, None, True),
     (None, None, False), (1965, 1941, False), (1980, 1940, True)],
)  # fmt: skip
def test_a_clock_below_the_highest_has_fallen(tmp_path, end, lowest, fell):
    result = replace(RESULT, readings=Readings(sm_mhz=end, lowest_sm_mhz=lowest))
    assert result.clock_fell is fell
    assert bool(result.clock_text) is fell
    save_results(tmp_path / "one.json", (result,))
    assert load_results(tmp_path / "one.json") == (result,)


def test_the_lowest_clock_of_all_readings_is_kept():
    seen = Readings()
    for mhz in (1980.0, 1590.0, None, 1700.0):
        seen = with_lowest(Readings(sm_mhz=mhz, power_w=1.0), seen)
    assert (seen.sm_mhz, seen.lowest_sm_mhz) == (1700.0, 1590.0)
    assert with_lowest(Readings(), Readings()).lowest_sm_mhz is None


def test_recorded_points_whose_clock_fell_are_known():
    fallen = {r.rung for r in load_recorded() if r.clock_fell}
    assert fallen == {"tensor_core", "tensor_tuned", "tensor_half"}


def test_quantiles_of_known_samples():
    summary = summarise([5.0, 1.0, 3.0, 2.0, 4.0])
    assert (summary.count, summary.median) == (5, 3.0)
    assert summary.p5 == pytest.approx(1.2)
    assert summary.p95 == pytest.approx(4.8)


def test_one_sample_is_its_own_summary():
    summary = summarise([2.5])
    assert summary.p5 == summary.median == summary.p95 == 2.5


@pytest.mark.parametrize("samples", [[], [1.0, float("nan")], [1.0, float("inf")]])
def test_refuses_what_has_no_summary(samples):
    with pytest.raises(ValueError, match="sample"):
        summarise(samples)


def test_median_interval_covers_the_median_as_often_as_it_claims():
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(400):
        samples = list(rng.lognormal(0.0, 0.5, size=60))  # skewed, as timings are; median 1
        summary = summarise(samples)
        hits += summary.median_low <= 1.0 <= summary.median_high
    assert 0.93 <= hits / 400 <= 0.995


def test_outliers_do_not_keep_the_median_from_being_stable():
    steady = [1.0 + 1e-5 * (i % 7) for i in range(40)]
    assert is_stable(steady, minimum=20, relative=1e-4)
    assert is_stable([*steady, 9.0, 30.0], minimum=20, relative=1e-4)
    assert not is_stable(steady[:19], minimum=20, relative=1e-4)


def test_a_drifting_series_is_not_stable():
    assert not is_stable([1.0 + 0.01 * i for i in range(60)], minimum=20, relative=0.002)
