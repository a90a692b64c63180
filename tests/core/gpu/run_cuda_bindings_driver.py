"""Run where `libcuda.so.1` is the one of `fake_driver.c`: a launch of the cubin in a file."""

import ctypes
import json
import sys
from pathlib import Path

import numpy as np

from core.gpu import driver_session as sessions
from core.gpu.events_and_failures import WorkerFailure
from core.gpu.loaded_launch import LoadedKernel
from core.launch import ArrayArgument, Dim3, InlineArgument, Launch, Member, ScalarArgument


def main():
    driver = ctypes.CDLL("libcuda.so.1")
    driver.fake_variable.restype = ctypes.c_uint64
    (report,) = sessions.describe_devices()
    session = sessions.current()
    rng = np.random.default_rng(5)
    given = rng.integers(-99, 99, 37, dtype=np.int32)
    launch = Launch(
        Dim3(5, 3, 2),
        Dim3(32, 4, 1),
        (
            ScalarArgument("a", np.int16(-7)),
            ScalarArgument("b", np.float64(2.5)),
            ArrayArgument("o", np.zeros(11, np.float32), "output"),
            ArrayArgument("i", given),
            ScalarArgument("c", np.uint8(200)),
            ScalarArgument("d", np.float32(0.125)),
        ),
        60 << 10,
        (InlineArgument("factor", np.array([1.75]), Member("factor", 0, 8, 8)),),
    )
    cubin = Path(sys.argv[1]).read_bytes()
    kernel = LoadedKernel(session, cubin, "k", launch)
    kernel.reset()
    kernel.run()
    raw = ctypes.create_string_buffer(4096)
    size = driver.fake_parameters(raw)
    shape = (ctypes.c_uint * 7)()
    driver.fake_shape(shape)
    back = np.empty_like(given)
    session.cuda.memcpy_dtoh(back, kernel.buffers["i"])
    said = {
        "report": [report.name, report.compute_capability, report.memory_bytes, report.cuda_driver],
        "sms": report.sms,
        "shape": list(shape),
        "parameters": raw.raw[:size].hex(),
        "expected": expected(launch, kernel.buffers).hex(),
        "variable": driver.fake_variable(),
        "poisoned": kernel.outputs()["o"].view(np.uint32).tolist(),
        "input": np.array_equal(back, given),
        "time": [kernel.time(flush=False), kernel.time(flush=True)],
        "registers": [kernel.registers, kernel.local_bytes, driver.fake_dynamic_limit()],
        "errors": [],
    }
    kernel.release()
    for act in (
        lambda: session.cuda.mem_alloc(1 << 40),
        lambda: session.cuda.module_from_buffer(cubin).get_function("nobody"),
        lambda: (
            session.cuda.module_from_buffer(cubin)
            .get_function("k")
            .prepared_async_call((1, 1, 1), (2048, 1, 1), None, shared_size=0)
        ),
    ):
        try:
            with session.errors():
                act()
        except WorkerFailure as error:
            said["errors"].append([error.kind, error.fatal])
    contexts = driver.fake_contexts()
    sessions.close()
    said["contexts"] = [contexts, driver.fake_contexts()]
    print(json.dumps(said))


def expected(launch, addresses):
    """The parameters as C lays out a structure of them."""

    class Parameters(ctypes.Structure):
        _fields_ = (
            ("a", ctypes.c_int16),
            ("b", ctypes.c_double),
            ("o", ctypes.c_uint64),
            ("i", ctypes.c_uint64),
            ("c", ctypes.c_uint8),
            ("d", ctypes.c_float),
        )

    values = [a.value.item() if isinstance(a, ScalarArgument) else addresses[a.name]
              for a in launch.arguments]  # fmt: skip
    return bytes(Parameters(*values))


if __name__ == "__main__":
    main()
