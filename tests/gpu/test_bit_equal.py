"""The whole kernel set on the GPU and in the emulator: every output byte is equal.

Same source, flags and inputs, in both builds. Left out are old values whose order atomics decide,
and functions that are only approximate, which are compared within their documented error.
The hashes for machines without a GPU: tests/data/{reference,isa,rungs}/h200_*.json.
"""

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_kernel
from core.ladder import all_kernels
from core.launch import ArrayArgument, Dim3, Launch
from core.recording.record_launch import record
from tests.core.emulator.isa_kernels import (
    HARDWARE,
    SLOT,
    SLOTS,
    inputs,
    needs_headers,
    run,
    slots,
    source,
)
from tests.core.emulator.test_isa_kernels import CASES as ISA_CASES
from tests.gpu import in_worker
from tests.hopper_forms import updates
from tests.reference_set import load_launches
from tests.rung_set import BUILDS, rung_launches

pytestmark = pytest.mark.gpu

OPTIONS = {"as_written": ("-G",), "as_compiled": ()}
REFERENCE = {launch.name: launch for launch in load_launches()}
RUNGS = rung_launches()
FORMS = {form.name: form.workload for form in updates()}  # one of each sort
SOME = [name for name in FORMS if name in (
    "mma_f32_k32_special", "mma_f16_k16_wide", "sum_global_add_f32_1024_32_64_1_0_1",
    "sum_cluster_max_s32_528_48_80_1_0_2", "sumbox_add_f16_9x64x32_32x16x8_0x50x2_1x2x4_swizzle64",
    "far_st_v4_f32_32", "far_red_add_u64_3",
)]  # fmt: skip

LESSONS = (
    ("row_times_matrix", {"m": 32, "stages": 3, "left": 1}),
    ("row_times_matrix", {"m": 20, "stages": 5, "left": 3}),
    ("row_times_matrix_bulk", {"m": 24, "rows": 4, "stages": 2}),
    ("row_times_matrix_bulk", {"m": 21, "rows": 3, "stages": 4}),
    ("tma_transpose", {"m": 40, "n": 52}),
    ("tma_transpose_swizzled", {"m": 40, "n": 52}),
    ("narrow_wgmma", {"k": 200, "stages": 3, "left": 1}),
    ("narrow_wgmma", {"k": 256, "stages": 4, "left": 0}),
)


def on_gpu(gpu, workload, kind, options=()):
    image, entry = compile_kernel(
        workload.source,
        workload.kernel,
        source_name=workload.source_name,
        defines=workload.defines,
        extra_options=(*options, *OPTIONS[kind]),
    )
    return gpu.submit(in_worker.outputs, image, entry, workload.launch).result(timeout=120)


def differing(ours, theirs):
    """Names of the arrays whose bytes differ."""
    assert theirs.keys() <= ours.keys()
    return [name for name, data in theirs.items() if data.tobytes() != ours[name].tobytes()]


@pytest.mark.parametrize("kind", BUILDS)
@pytest.mark.parametrize("name", RUNGS)
def test_rung(gpu, name, kind):
    workload = RUNGS[name]
    theirs = on_gpu(gpu, workload, kind)
    assert theirs
    assert differing(record(workload, kind=kind, blocks=[0], checks=False).outputs, theirs) == []


@pytest.mark.parametrize("kind", BUILDS)
@pytest.mark.parametrize(("name", "sizes"), LESSONS)
def test_lesson_kernel(gpu, name, sizes, kind):
    workload = all_kernels()[name].workload(seed=11, **sizes)
    trace = record(workload, kind=kind, blocks=[0])
    assert not trace.findings
    theirs = on_gpu(gpu, workload, kind)
    assert theirs
    assert differing(trace.outputs, theirs) == []


@pytest.mark.parametrize("kind", BUILDS)
@pytest.mark.parametrize("name", REFERENCE)
def test_reference_launch(gpu, name, kind):
    launch = REFERENCE[name]
    theirs = on_gpu(gpu, launch.workload, kind)
    ours = record(launch.workload, kind=kind, blocks=[0], checks=False).outputs
    if launch.approximate is None:
        assert set(differing(ours, theirs)) <= launch.free
        return
    for output, wanted in theirs.items():
        unit = np.spacing(np.maximum(np.abs(wanted), 1))
        assert np.max(np.abs(ours[output] - wanted) / unit) <= launch.approximate


@pytest.mark.parametrize("kind", BUILDS)
@pytest.mark.parametrize("name", SOME)
def test_form_of_hopper(gpu, name, kind):
    theirs = on_gpu(gpu, FORMS[name], kind)
    assert theirs
    assert differing(record(FORMS[name], kind=kind).outputs, theirs) == []


def test_there_is_one_of_each_sort():
    assert len(SOME) == 7


@pytest.mark.parametrize(("name", "kernel", "kind"), ISA_CASES)
def test_instructions(gpu, name, kernel, kind):
    if needs_headers(name):
        pytest.skip("CUDA's headers are not installed: pip install -e '.[headers]'")
    trace = run(name, kernel, kind)
    out = np.zeros(SLOT * SLOTS, np.uint8)
    arguments = (ArrayArgument("in", inputs()), ArrayArgument("out", out, "inout"))
    options = ("--device-int128", *OPTIONS[kind])
    image, entry = compile_kernel(
        source(name), kernel, source_name=f"{name}.cu", extra_options=options
    )
    launch = Launch(Dim3(1) if (name, kernel) == ("atomics", "global") else Dim3(2), Dim3(64),
                    arguments, 512)  # fmt: skip
    theirs = gpu.submit(in_worker.outputs, image, entry, launch).result(timeout=120)
    builds = HARDWARE["kernels"][name][kernel]
    defined = [int(slot) for slot in builds.get("both") or builds[kind]]
    gpus = theirs["out"].reshape(SLOTS, SLOT)
    ours = slots(trace)
    assert [slot for slot in defined if gpus[slot].tobytes() != ours[slot].tobytes()] == []
