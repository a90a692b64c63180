"""What a launch puts into a module's variables, with a driver that only remembers."""

from contextlib import nullcontext
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np

from core.compiler.compile_ptx_and_cubin import compile_cubin
from core.gpu.loaded_launch import LoadedKernel
from core.launch import ArrayArgument, Dim3, InlineArgument, Launch, Member, ScalarArgument

SOURCE = """
namespace filter { __constant__ float weights[3]; }
__constant__ int radius;
extern "C" __global__ void k(float *o) { o[0] = filter::weights[threadIdx.x] + radius; }
"""


def test_constants_in_namespaces_are_filled():
    filled = {}
    module = MagicMock()
    module.get_global.side_effect = lambda name: (name, 12 if "weights" in name else 4)
    module.get_function.return_value.get_attribute.return_value = 0
    cuda = MagicMock()
    cuda.module_from_buffer.return_value = module
    cuda.mem_get_info.return_value = (1 << 30, 1 << 30)
    cuda.mem_alloc.return_value = 4096
    cuda.memcpy_htod.side_effect = lambda at, data: filled.update({at: data.tobytes()})
    weights = np.array([0.5, -2, 3], np.float32)
    launch = Launch(
        Dim3(1),
        Dim3(3),
        (ArrayArgument("o", np.zeros(5, np.float32), "inout"),),
        0,
        (
            InlineArgument("weights", weights, Member("weights", 0, 12, 4)),
            ScalarArgument("gone", np.int32(7), Member("gone", 0, 4, 4)),
            ScalarArgument("radius", np.int32(9), Member("radius", 0, 4, 4)),
        ),
    )
    session = SimpleNamespace(cuda=cuda, errors=nullcontext)
    LoadedKernel(session, compile_cubin(SOURCE), "k", launch)
    assert filled == {
        "_ZN6filter7weightsE": weights.tobytes(),
        "radius": np.int32(9).tobytes(),
    }
