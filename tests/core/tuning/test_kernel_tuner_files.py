"""Cache and T4 files, written here and read by kernel_tuner, and the other way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.errors import TilescopeError
from core.tuning.kernel_tuner_files import Cache, Entry, read_cache, write_cache, write_t4

CACHE = Cache(
    "NVIDIA H200",
    "2D tiles",
    (96, 64, 128),
    {"tile_m": (64, 128), "tile_k": (8, 16, 32)},
    (
        Entry(
            {"tile_m": 64, "tile_k": 8}, 1.25, (1.2, 1.25, 1.5), "", 812.0, "2026-11-23",
            {"GFLOP/s": 7.5},
        ),
        Entry({"tile_m": 128, "tile_k": 16}, None, (), "compile", 0.0, "2026-11-23"),
        Entry({"tile_m": 128, "tile_k": 32}, None, (), "refused", 0.0, "2026-11-23"),
        Entry({"tile_m": 64, "tile_k": 32}, None, (), "driver", 0.0, "2026-11-23"),
    ),
)  # fmt: skip


def test_a_cache_comes_back_as_it_was(tmp_path) -> None:
    path = tmp_path / "c.json"
    write_cache(path, CACHE)
    assert read_cache(path) == CACHE
    json.loads(path.read_text())


def test_t4_has_every_configuration_with_what_came_of_it(tmp_path) -> None:
    path = tmp_path / "t4.json"
    write_t4(path, CACHE)
    first, *failed = json.loads(path.read_text())["results"]
    assert first["configuration"] == {"tile_m": 64, "tile_k": 8}
    assert first["times"]["runtimes"] == [1.2, 1.25, 1.5]
    assert first["times"]["benchmark"] == 812.0
    assert (first["invalidity"], first["correctness"]) == ("correct", 1)
    assert [(m["name"], m["value"]) for m in first["measurements"]] == [
        ("time", 1.25), ("GFLOP/s", 7.5),
    ]  # fmt: skip
    assert [one["invalidity"] for one in failed] == ["compile", "constraints", "runtime"]
    assert not any(one["correctness"] or one["measurements"] for one in failed)
    assert {one["timestamp"] for one in (first, *failed)} == {"2026-11-23"}


@pytest.mark.filterwarnings("default")
@pytest.mark.slow
def test_kernel_tuner_reads_our_cache_and_our_t4(tmp_path) -> None:
    util = pytest.importorskip("kernel_tuner.util")
    path = tmp_path / "c.json"
    write_cache(path, CACHE)
    found = util.read_cache(str(path), open_cache=False)
    assert found["tune_params_keys"] == ["tile_m", "tile_k"]
    assert found["device_name"] == "NVIDIA H200"
    assert list(found["cache"]) == ["64,8", "128,16", "128,32", "64,32"]
    assert found["cache"]["64,8"]["time"] == 1.25
    assert isinstance(found["cache"]["128,16"]["__error__"], util.CompilationFailedConfig)
    assert isinstance(found["cache"]["128,32"]["__error__"], util.InvalidConfig)
    assert isinstance(found["cache"]["64,32"]["__error__"], util.RuntimeFailedConfig)
    jsonschema = pytest.importorskip("jsonschema")
    import kernel_tuner

    folder = Path(kernel_tuner.__file__).parent / "schema" / "T4" / "1.0.0"
    t4 = tmp_path / "t4.json"
    write_t4(t4, CACHE)
    schema = json.loads((folder / "results-schema.json").read_text())
    jsonschema.validate(json.loads(t4.read_text()), schema)


@pytest.mark.filterwarnings("default")
@pytest.mark.slow
def test_kernel_tuner_goes_on_from_our_cache_without_a_gpu(tmp_path) -> None:
    """Its simulation mode finds the best of what our file has."""
    kernel_tuner = pytest.importorskip("kernel_tuner")
    path = tmp_path / "c.json"
    values = {"tile_m": (64, 128), "tile_k": (8, 16)}
    times = {(64, 8): 3.0, (64, 16): 1.5, (128, 8): 2.0, (128, 16): 2.5}
    entries = [
        Entry({"tile_m": m, "tile_k": k}, time, (time,) * 3, "", 9.0, "2026-11-23T00:00:00+00:00")
        for (m, k), time in times.items()
    ]
    write_cache(path, Cache("NVIDIA H200", "scale", (256,), values, tuple(entries)))
    results, _ = kernel_tuner.tune_kernel(
        "scale",
        "__global__ void scale(float* x) { x[threadIdx.x] *= tile_m; }",
        (256,),
        [],
        {name: list(several) for name, several in values.items()},
        cache=str(path),
        simulation_mode=True,
        quiet=True,
    )
    best = min(results, key=lambda one: one["time"])
    assert (best["tile_m"], best["tile_k"], best["time"]) == (64, 16, 1.5)
    assert len(results) == 4


@pytest.mark.filterwarnings("default")
@pytest.mark.slow
def test_we_read_a_cache_that_kernel_tuner_is_still_writing(tmp_path) -> None:
    util = pytest.importorskip("kernel_tuner.util")
    path = tmp_path / "c.json"
    write_cache(path, CACHE)
    cache = util.read_cache(str(path), open_cache=True)["cache"]  # opens the file for more
    row = {"tile_m": 128, "tile_k": 8, "time": 2.5, "times": [2.5, 2.5], "timestamp": "later"}
    util.store_cache("128,8", row, str(path), cache)
    failed = {"tile_m": 64, "tile_k": 16, "time": util.RuntimeFailedConfig()}
    util.store_cache("64,16", failed, str(path), cache)
    found = read_cache(path)
    assert found.entries[:4] == CACHE.entries
    assert (found.entries[4].time_ms, found.entries[4].times_ms) == (2.5, (2.5, 2.5))
    assert (found.entries[5].time_ms, found.entries[5].failure) == (None, "driver")


@pytest.mark.parametrize("text", ["", "{}", "[]", "[" * 100_000, '{"tune_params_keys": 1}'])
def test_what_is_no_cache_is_a_sentence(tmp_path, text) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(TilescopeError, match="not a cache file of kernel_tuner"):
        read_cache(path)
