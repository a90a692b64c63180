"""On a real GPU: theoretical occupancy equals the driver's, and the live device its rows."""

from __future__ import annotations

import random

import pytest

from core.compiler.compile_ptx_and_cubin import compile_kernel
from core.compiler.cubin import kernel_resources
from core.devices.device_table import capability_of, load_devices
from core.devices.occupancy import Resources, occupancy
from core.gpu.benchmark_result import reported_device
from core.gpu.driver_session import describe_devices
from core.ladder import load_ladder
from tests.gpu import in_worker_occupancy

pytestmark = pytest.mark.gpu

_LIVE = """
extern __shared__ float dynamic[];
extern "C" __global__ void __maxnreg__({registers}) hungry(float* x)
{{
    __shared__ float fixed[{floats}];
    float kept[{kept}];
    #pragma unroll
    for (int i = 0; i < {kept}; i++) kept[i] = x[threadIdx.x + 1024 * i];
    fixed[threadIdx.x % {floats}] = kept[0];
    dynamic[0] = kept[0];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < {kept}; i++) x[threadIdx.x + 1024 * i] = kept[i] * kept[{kept} - 1 - i];
    x[threadIdx.x] += fixed[(threadIdx.x + 1) % {floats}] + dynamic[0];
}}
"""


@pytest.fixture(scope="module")
def device(gpu):
    return gpu.submit(describe_devices).result(timeout=120)[0]


def _kernels(version):
    """Kernels of many register counts and static shared sizes, and every rung: (image, entry)."""
    for registers, kept, floats in (
        (16, 2, 1), (24, 8, 32), (32, 16, 300), (40, 24, 1000), (48, 32, 33), (56, 40, 2048),
        (64, 48, 4097), (72, 56, 1), (80, 64, 5000), (96, 80, 77), (104, 90, 12_000), (128, 110, 9),
        (144, 130, 640), (168, 150, 3000), (200, 180, 8191), (232, 210, 100), (255, 240, 12_288),
    ):  # fmt: skip
        source = _LIVE.format(registers=registers, kept=kept, floats=floats)
        yield compile_kernel(source, "hungry", compute_capability=version)
    ladder = load_ladder()
    for name in ladder.names:
        workload = ladder[name].blank_workload()
        yield compile_kernel(
            workload.source,
            workload.kernel,
            source_name=workload.source_name,
            defines=workload.defines,
            compute_capability=version,
        )


@pytest.mark.parametrize("carve_out", [None, 0, 50, 100])
def test_occupancy_equals_the_drivers(gpu, device, carve_out):
    chance = random.Random(20261121)
    capability = capability_of(device.compute_capability)
    compared, outcomes, registers = 0, set(), set()
    for image, entry in _kernels(device.compute_capability):
        needs = kernel_resources(image, entry)
        most = needs.max_threads or 1024
        room = device.shared_per_block_bytes - needs.static_shared_bytes
        threads = [*range(32, most + 1, 32), *(chance.randint(1, most) for _ in range(20))]
        sizes = (0, chance.randint(1, room), 128 * chance.randint(1, room // 128), room)
        launches = [(t, s) for t in threads for s in sizes]
        told, theirs = gpu.submit(
            in_worker_occupancy.active_blocks, image, entry, launches, carve_out
        ).result(timeout=60)
        assert told[:2] == (needs.registers, needs.static_shared_bytes), entry
        for (block, dynamic), expected in zip(launches, theirs, strict=True):
            wanted = Resources(block, needs.registers, needs.static_shared_bytes + dynamic)
            ours = occupancy(capability, wanted, carve_out).blocks
            assert ours == expected, (entry, wanted, carve_out, expected)
            compared += 1
            outcomes.add(ours)
        registers.add(needs.registers)
    assert compared > 3000
    assert len(outcomes) > 5
    assert len(registers) > 15
    print(f"{compared} launches compared, carve-out {carve_out}, registers {sorted(registers)}")


def test_the_live_device_has_its_rows(gpu, device):
    capability = capability_of(device.compute_capability)
    limits = gpu.submit(in_worker_occupancy.attributes).result(timeout=60)
    assert {name: getattr(capability, name) for name in limits} == limits
    live = reported_device(device)
    assert live.sms == device.sms
    assert live.peak_gflops == pytest.approx(2 * live.cores * device.clock_mhz / 1e3)
    assert live.bandwidth_gbs == pytest.approx(device.bandwidth_gbs)
    known = next((d for d in load_devices() if d.name in device.name.split()), None)
    if known is None:
        pytest.skip(f"{device.name} has no row in the table of devices")
    assert (live.sms, live.cores_per_sm, live.boost_mhz, live.memory_mhz, live.bus_bits) == (
        known.sms, known.cores_per_sm, known.boost_mhz, known.memory_mhz, known.bus_bits,
    )  # fmt: skip
    assert (live.l2_kib, live.shared_per_sm_kib, live.shared_per_block_kib) == (
        known.l2_kib, known.shared_per_sm_kib, known.shared_per_block_kib,
    )  # fmt: skip
    assert live.bandwidth_gbs == pytest.approx(known.bandwidth_gbs, rel=1e-3)
