"""The worker's timings against the same kernels built by nvcc and timed in C++ (harness/)."""

import shutil
import subprocess
from pathlib import Path
from statistics import median

import pytest

from core.gpu.benchmark_job import BenchmarkJob, RungSubject, Timing
from core.gpu.benchmark_run import run_benchmark
from core.ladder import KERNELS_FOLDER, load_ladder

pytestmark = pytest.mark.gpu

HARNESS = Path(__file__).parent / "harness" / "harness.cu"
LAUNCHES = 60
WITHIN = 0.01


def nvcc():
    found = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if found is None:
        pytest.skip("nvcc is not installed")
    return found


def build(folder, workload, architecture):
    """The harness with a workload's kernel in it."""
    program = folder / "harness"
    defines = [f"-D{name}={value}" for name, value in workload.defines.items()]
    subprocess.run(
        [
            nvcc(), "-O3", f"-arch={architecture}", f'-DKERNEL_FILE="{workload.source_name}"',
            f"-DKERNEL={workload.kernel}", *defines, "-I", str(KERNELS_FOLDER),
            "-o", str(program), str(HARNESS),
        ],
        check=True,
    )  # fmt: skip
    return program


def harness_times(program, workload, flush_bytes):
    """Milliseconds of each launch."""
    launch = workload.launch
    sizes = [workload.parameters["n"], launch.block.x, launch.block.y, launch.grid.x, launch.grid.y]
    output = subprocess.run(
        [str(program), *map(str, sizes), str(LAUNCHES), str(flush_bytes)],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return [float(line) for line in output.split()]


@pytest.mark.parametrize(
    ("rung", "parameters"),
    [
        ("tiled", {"n": 4096, "tile": 32}),
        ("coalesced", {"n": 4096, "block_x": 32, "block_y": 32}),
        ("tiled_bounds", {"n": 4096, "tile": 16}),
    ],
)
def test_timings_equal_a_cpp_programs(gpu, tmp_path, rung, parameters, record_property):
    workload = load_ladder()[rung].blank_workload(**parameters)
    job = BenchmarkJob(
        RungSubject(rung, parameters),
        Timing(budget_s=30, stable=0, minimum=LAUNCHES, maximum=LAUNCHES),
    )
    result = gpu.submit(run_benchmark, job).result(timeout=120)
    program = build(tmp_path, workload, result.architecture)
    times = harness_times(program, workload, result.flush_bytes)
    again = gpu.submit(run_benchmark, job).result(timeout=120)
    ours = median([*result.samples_ms, *again.samples_ms])  # before and after: clocks drift
    theirs = median(times)
    print(f"\n{rung}: ours {ours:.4f} ms, C++ {theirs:.4f} ms, ratio {ours / theirs:.5f}")
    assert len(times) == len(result.samples_ms) == LAUNCHES
    assert ours == pytest.approx(theirs, rel=WITHIN)
