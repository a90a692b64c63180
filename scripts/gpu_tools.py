"""What the scripts that measure on a GPU share: cubins, launches through PyCUDA, ncu's tables."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.launch import ArrayArgument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.gpu.driver_session import Session
    from core.launch import Launch, Workload

LARGE_SHARED = 48 << 10  # more a block must be asked for


def cubin_of(workload: Workload, options: Sequence[str] = ()) -> tuple[bytes, str]:
    """The cubin of a workload for compute capability 9.0, and the name of its kernel in there."""
    from core.compiler.compile_ptx_and_cubin import workload_cubin

    return workload_cubin(workload, extra_options=options)


@contextmanager
def device() -> Iterator[Any]:
    """`pycuda.driver` with a context on the first GPU."""
    import pycuda.driver as cuda

    cuda.init()
    context = cuda.Device(0).make_context()
    try:
        yield cuda
    finally:
        context.pop()


def start(cuda: Any, function: Any, workload: Workload, *, poison: bool = True) -> dict[str, Any]:
    """Queues one launch; returns its buffers by name, which have the arrays' exact sizes.

    Without `poison` outputs stay as they were allocated.
    """
    config = workload.launch
    if config.shared_bytes > LARGE_SHARED:
        attribute = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        function.set_attribute(attribute, config.shared_bytes)
    buffers: dict[str, Any] = {}
    values: list[Any] = []
    for argument in config.arguments:
        if isinstance(argument, ArrayArgument):
            buffer = buffers[argument.name] = cuda.mem_alloc(argument.data.nbytes)
            if poison or argument.role != "output":
                cuda.memcpy_htod(buffer, argument.data)
            values.append(np.uintp(int(buffer)))
        else:
            values.append(argument.value)
    grid, block = config.grid, config.block
    function(
        *values,
        grid=(grid.x, grid.y, grid.z),
        block=(block.x, block.y, block.z),
        shared=config.shared_bytes,
    )
    return buffers


def launched(
    session: Session, cubin: tuple[bytes, str], launch: Launch, *, poison: bool = True
) -> dict[str, NDArray[Any]]:
    """What the arrays that the kernel writes hold after one launch, tensor maps and all.

    Without `poison` outputs begin as they were allocated.
    """
    from core.gpu.loaded_launch import LoadedKernel

    kernel = LoadedKernel(session, *cubin, launch)
    with session.using(kernel):
        for array in launch.arrays:
            if array.data.nbytes and (poison or array.role != "output"):
                session.cuda.memcpy_htod(kernel.buffers[array.name], array.data)
        kernel.run()
        return kernel.outputs()


class Launcher:
    """Launches workloads; cubins are loaded once."""

    def __init__(self, cuda: Any) -> None:
        """`cuda` is what `device` gives."""
        self._cuda = cuda
        self._modules: dict[bytes, Any] = {}

    def run(
        self, cubin: tuple[bytes, str], workload: Workload, *, keep: bool = True
    ) -> dict[str, NDArray[Any]]:
        """What the arrays that the kernel writes hold after one launch; nothing without `keep`.

        `cubin` is what `cubin_of` gives.
        """
        cuda = self._cuda
        image, entry = cubin
        if image not in self._modules:
            self._modules[image] = cuda.module_from_buffer(image)
        buffers = start(cuda, self._modules[image].get_function(entry), workload)
        cuda.Context.synchronize()
        found = {}
        for array in workload.launch.arrays:
            if array.role != "input" and keep:
                found[array.name] = np.empty_like(array.data)
                cuda.memcpy_dtoh(found[array.name], buffers[array.name])
        for buffer in buffers.values():
            buffer.free()
        return found


def machine() -> dict[str, str]:
    """The GPU, its driver, the profiler's version and today's date (UTC)."""
    from core.gpu.driver_session import load_driver

    return {
        "gpu": load_driver().Device(0).name(),
        "driver": first_line(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]),
        "ncu": first_line(["ncu", "--version"], lambda line: line.startswith("Version")),
        "date": datetime.now(UTC).date().isoformat(),
    }


def tabulate(measure: Callable[[Any, int], Iterator[dict[str, Any]]]) -> None:
    """Prints the rows of a measurement, and keeps them in the file that the command line names.

    `measure` is told `pycuda.driver` and the number of SMs.
    """
    from core.compiler import nvrtc

    rows = []
    with device() as cuda:
        sms = cuda.Context.get_device().get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
        for row in measure(cuda, sms):
            print(row, flush=True)
            rows.append(row)
    if len(sys.argv) > 1:
        found = {**machine(), "nvrtc": nvrtc.version(), "rows": rows}
        Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def counted(metrics: Sequence[str], report: str, command: Sequence[str]) -> list[dict[str, str]]:
    """Runs a command under Nsight Compute: one row a launch, metric by metric, in base units.

    The card's clocks stay as they are; caches are flushed before each launch.
    """
    run(["ncu", "--clock-control", "none", "--metrics", ",".join(metrics), "-f", "-o", report,
         *command])  # fmt: skip
    text = run(["ncu", "--import", f"{report}.ncu-rep", "--page", "raw", "--csv", "--print-units",
                "base"])  # fmt: skip
    return list(csv.DictReader(io.StringIO(text)))[1:]  # the first row holds the units


def run(command: Sequence[str]) -> str:
    """What a command prints; ends the program where it fails, saying how."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)[:300]}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def first_line(command: Sequence[str], keep: Callable[[str], bool] = bool) -> str:
    """The first line of what a command prints that `keep` takes."""
    return next((line.strip() for line in run(command).splitlines() if keep(line)), "unknown")
