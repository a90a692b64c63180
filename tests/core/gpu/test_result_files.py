import json
from dataclasses import replace

import numpy as np
import pytest

from core.errors import TilescopeError
from core.gpu.benchmark_result import Readings, with_samples
from core.gpu.result_check import Check
from core.gpu.result_files import READ, read_results, report, write_results
from tests.core.gpu.test_benchmark_result import RESULT


def results():
    rng = np.random.default_rng(5)
    found = []
    for n in (97, 1000, 4096):
        samples = tuple(float(x) for x in rng.lognormal(size=n % 13 + 3))
        one = replace(
            RESULT, parameters={"n": n, "tile": 8} if n != 1000 else {"m": 3, "n": n, "k": 5},
            flops=2 * n**3, source_name="a, \"b\".cu", bytes_once=12 * n * n,
            software={"python": "3.12.1"}, notes=("a; b", "c|d"), rung=None if n == 97 else "tiled",
        )  # fmt: skip
        found.append(with_samples(one, samples, "stable", Readings(sm_mhz=1965.0)))
    wrong = Check("C", False, None, 1e-3, 8, 8, 3, "all C")
    return (*found, replace(RESULT, checks=(wrong,), samples_ms=(), median_ms=None, gflops=None))


@pytest.mark.parametrize("ending", READ)
def test_round_trip(tmp_path, ending):
    path = tmp_path / f"results{ending}"
    write_results(path, results())
    assert read_results(path) == results()


def test_columns_are_what_people_plot(tmp_path):
    path = tmp_path / "results.csv"
    write_results(path, results())
    head = path.read_text().splitlines()[0].split(",")
    assert {"parameter.n", "parameter.m", "gflops", "effective_gbs", "device.name"} <= set(head)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.txt", "", "has an unknown ending"),
        ("a.json", "{", "not JSON"),
        ("a.json", '{"results": [{"format": 99}]}', "format 99"),
        ("a.jsonl", '{\n{"point": 1}\n', "line 1 is not JSON"),
        ("a.csv", "x,y\n1,2\n", "lacks the column"),
        ("a.parquet", "PAR", "no Parquet file"),
    ],
)
def test_files_that_are_none(tmp_path, name, text, complaint):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TilescopeError, match=complaint):
        read_results(path)


def test_a_cell_that_is_wrong_is_named(tmp_path):
    path = tmp_path / "a.csv"
    write_results(path, results()[:1])
    path.write_text(path.read_text().replace("132", "many"))
    with pytest.raises(TilescopeError, match=r"column device.sms: `many` is not a whole number"):
        read_results(path)
    with pytest.raises(TilescopeError, match="cannot be read"):
        read_results(tmp_path / "nosuch.csv")
    with pytest.raises(TilescopeError, match="could not be written"):
        write_results(tmp_path / "no" / "such.csv", results())


def test_effective_bandwidth():
    one = replace(RESULT, bytes_once=3 * 4096 * 4096 * 4, median_ms=2.0)
    assert one.effective_gbs == pytest.approx(3 * 4096**2 * 4 / 2e-3 / 1e9)
    assert replace(one, bytes_once=None).effective_gbs is None


def test_report():
    text = report(
        results(), failures=[("Tiled, n = 9", "It hung.")], pictures={"Rate": "rate.svg"},
        ceilings={1: ("l1", 2 * results()[1].gflops)},
    )  # fmt: skip
    assert "NVIDIA" not in text
    assert "Test GPU, 2026-11-21, driver 580.1 (CUDA 13.0), NVRTC 13.0" in text
    assert "50.0% (l1)" in text
    assert "WRONG" in text
    assert "- Tiled, n = 9: It hung." in text
    assert "![Rate](rate.svg)" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1


def test_a_rate_whose_clock_fell_has_no_share_in_the_report():
    one = results()[1]
    low = replace(one, readings=replace(one.readings, lowest_sm_mhz=1500.0))
    ceiling = {0: ("l1", 2 * one.gflops), 1: ("l1", 2 * one.gflops)}
    kept, fell = report((one, low), ceilings=ceiling).splitlines()[6:8]
    assert "50.0% (l1)" in kept
    assert "clock fell" not in kept
    assert "(clock fell)" in fell
    assert "%" not in fell


def test_json_has_no_nan(tmp_path):
    path = tmp_path / "a.json"
    write_results(path, results())
    json.loads(path.read_text(), parse_constant=pytest.fail)
