import numpy as np
import pytest

from core.gpu.benchmark_result import is_stable, summarise


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
