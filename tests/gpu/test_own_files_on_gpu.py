"""People's own files on the GPU: structures, constant memory and instances arrive as they should.

The guessed launches of tests/core/user_files/files, in both builds: every output byte is that of
the emulator, except where atomics add floats in an order of their own and where functions
approximate.
"""

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_kernel
from core.compiler.nvrtc import include_folders
from tests.core.user_files.own_files import CASES, run
from tests.gpu import in_worker

pytestmark = pytest.mark.gpu

OPTIONS = {"as_written": ("-G",), "as_compiled": ()}
CLOSE = {"norm2<float>": 1e-5, "attend<4, 32>": 1e-5, "gelu_half": 1e-3, "integrate": 1e-5}


@pytest.mark.skipif(not include_folders(), reason="CUDA's headers are not installed")
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("name", CASES)
def test_outputs_are_the_gpus(gpu, name, kind):
    file, kernel, _, given = CASES[name]
    trace = run(file, kernel, kind, **given)
    workload = trace.workload
    image, entry = compile_kernel(
        workload.source,
        workload.kernel,
        source_name=workload.source_name,
        extra_options=OPTIONS[kind],
    )
    theirs = gpu.submit(in_worker.outputs, image, entry, workload.launch).result(timeout=120)
    assert theirs
    for array, wanted in theirs.items():
        ours = trace.outputs[array]
        if array == "nodes":  # they point to each other, wherever the array lies
            ours, wanted = _places(ours), _places(wanted)  # noqa: PLW2901
        if array == "places":  # in the order in which the atomics came
            ours, wanted = np.sort(ours), np.sort(wanted)  # noqa: PLW2901
        if name in CLOSE:
            error = np.abs(ours.astype(np.float64) - wanted.astype(np.float64))
            assert not (~(error <= CLOSE[name] * max(1.0, np.abs(wanted).max()))).any()
        else:
            assert ours.tobytes() == wanted.tobytes()


def _places(nodes):
    """Key and next of each node of 16 bytes, with next as its distance from the first of them."""
    words = np.frombuffer(nodes.tobytes(), np.int64).reshape(-1, 2).copy()
    words[:, 1] -= words[:, 1].min()
    return words
