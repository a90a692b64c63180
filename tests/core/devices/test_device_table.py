import json
from pathlib import Path

import pytest

from core.devices.device_table import bandwidth_gbs, cores_per_sm, load_devices, tensor_per_clock
from core.errors import TilescopeError

DATA = Path(__file__).resolve().parents[2] / "data"

TABLE = load_devices()

# What NVIDIA publishes: peak FP32 in TFLOPS and bandwidth in GB/s, as rounded there.
PUBLISHED = {
    "GeForce 8800 GTX": (0.3456, 86.4),
    "GeForce GTX 280": (0.622, 141.7),
    "GeForce RTX 2080 Ti": (13.4, 616),
    "T4": (8.1, 320),
    "GeForce RTX 3090": (35.6, 936),
    "GeForce GTX 480": (1.345, 177.4),
    "GeForce GTX 460 1GB": (0.9072, 115.2),
    "GeForce RTX 4090": (82.6, 1008),
    "GeForce RTX 5090": (104.8, 1792),
    "V100 SXM2": (15.7, 900),
    "A100 SXM4 80GB": (19.5, 2039),
    "H100 SXM": (67, 3350),
    "H200": (67, 4800),
    "B200": (75, 7700),
}


@pytest.mark.parametrize("device", TABLE.devices, ids=lambda d: d.name)
def test_figures_agree_with_what_is_published(device):
    tflops, bandwidth = PUBLISHED[device.name]
    assert device.peak_gflops / 1e3 == pytest.approx(tflops, rel=0.01)
    assert device.bandwidth_gbs == pytest.approx(bandwidth, rel=0.005)
    computed = bandwidth_gbs(device.memory_mhz, device.bus_bits)
    assert computed == pytest.approx(device.bandwidth_gbs, rel=0.005)
    assert device.cores_per_sm == cores_per_sm(device.compute_capability)
    assert device.tensor_per_clock <= tensor_per_clock(device.compute_capability)
    assert device.source
    assert device.checked


def test_every_published_device_is_there():
    assert {d.name for d in TABLE} == set(PUBLISHED)
    names = [name.casefold() for d in TABLE for name in d.names]
    assert len(names) == len(set(names))


def test_rtx_3090_gives_the_textbook_figures():
    device = TABLE.find("RTX 3090")
    assert device.bandwidth_gbs == 936.2
    assert round(bandwidth_gbs(device.memory_mhz, device.bus_bits), 1) == 936.2
    assert float(f"{device.peak_gflops:.4g}") == 35_580
    assert 0.25 * device.bandwidth_gbs == pytest.approx(234.05)
    assert 8 * device.bandwidth_gbs == pytest.approx(7489.6)
    assert 100 * 234.05 / device.peak_gflops == pytest.approx(0.65, abs=0.01)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("rtx 3090", "GeForce RTX 3090"),
        ("NVIDIA GeForce RTX 4090", "GeForce RTX 4090"),
        ("h200", "H200"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB"),
        ("Tesla T4", "T4"),
        ("a100", "A100 SXM4 80GB"),
        ("G80", "GeForce 8800 GTX"),
        ("GTX 8800", "GeForce 8800 GTX"),
        ("GeForce 8800 GTX", "GeForce 8800 GTX"),
        ("gtx280", "GeForce GTX 280"),
        ("GT200", "GeForce GTX 280"),
        ("gtx 460", "GeForce GTX 460 1GB"),
        ("3090", "GeForce RTX 3090"),
    ],
)
def test_find(name, found):
    assert TABLE.find(name).name == found


@pytest.mark.parametrize("name", ["rtx", "", "Radeon", "geforce"])
def test_find_refuses_what_fits_none_or_several(name):
    with pytest.raises(TilescopeError, match="use one of"):
        TABLE.find(name)


@pytest.mark.parametrize(
    ("name", "candidates"),
    [
        ("A10", ["A100 SXM4 80GB"]),  # another GPU, and no whole word of the A100's name
        ("8", ["8800 GTX", "2080 Ti", "GTX 480", "GTX 280", "A100 SXM4 80GB"]),
        ("gtx", ["8800 GTX", "GTX 280", "GTX 480", "GTX 460"]),
    ],
)
def test_part_of_a_name_is_answered_with_the_devices_that_may_be_meant(name, candidates):
    with pytest.raises(TilescopeError) as refused:
        TABLE.find(name)
    assert all(one in str(refused.value) for one in candidates)
    assert "H200" not in str(refused.value)


def test_cores():
    assert [cores_per_sm(cc) for cc in ((1, 3), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0))] == [
        8,
        64,
        64,
        128,
        128,
        128,
    ]
    assert cores_per_sm((99, 0)) is None


def test_mma_sync_is_what_was_measured():
    """Two thirds of the full rate: nothing on an H200 was above it, and the best nearly there."""
    rates = json.loads((DATA / "mma_sync_h200.json").read_text())["per_clock_and_sm"]
    device = load_devices().find("H200")
    for name, ratio in (("m16n8k16 f16 f32", 1), ("m16n8k16 bf16 f32", 1), ("m16n8k8 tf32 f32", 2)):
        best = max(rates[name].values()) * ratio
        assert 0.98 * device.mma_sync_per_clock <= best <= device.mma_sync_per_clock, name
    small = [max(rate.values()) for name, rate in rates.items() if "e4m3" in name]
    assert len(small) == 4
    assert max(small) < device.mma_sync_per_clock  # done as halves
    assert load_devices().find("A100").mma_sync_per_clock == 2048
