"""PyCUDA and one CUDA context: the only module that imports `pycuda`, in the worker process only.

`pycuda.driver` loads the driver's library when imported, and a context that is not popped before
the process ends makes PyCUDA abort it; `close` pops it.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import GpuUnavailable
from core.gpu.failures import WorkerFailure, from_driver
from core.gpu.result import DeviceReport
from core.gpu.sensors import Sensors
from core.launch import ArrayArgument, Launch, ScalarArgument

_NO_PYCUDA = (
    "This machine has an NVIDIA driver, but PyCUDA is not installed: run `make setup`, which "
    "builds it where it finds a driver."
)
_NO_DRIVER = "This machine has no NVIDIA driver (its CUDA library was not found)."
_NO_GPU = "The NVIDIA driver finds no GPU on this machine."

# CUDA allocates at least this much for the flush, so that writing it lasts longer than queueing a
# launch does (about 20 us) and the GPU never waits for the CPU between the two events.
_LEAST_FLUSH = 256 << 20


def _driver_is_installed() -> bool:
    """Whether the driver's library loads; without it PyCUDA cannot even be imported."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def load_driver() -> Any:
    """`pycuda.driver`, initialised; raises GpuUnavailable with the reason in a sentence."""
    if not _driver_is_installed():
        raise GpuUnavailable(_NO_DRIVER)
    try:
        cuda = importlib.import_module("pycuda.driver")
    except ModuleNotFoundError as error:
        raise GpuUnavailable(_NO_PYCUDA) from error
    except ImportError as error:
        raise GpuUnavailable(f"PyCUDA cannot be loaded: {str(error).strip()}.") from error
    try:
        cuda.init()
        count = cuda.Device.count()
    except cuda.Error as error:
        text = str(error)
        raise GpuUnavailable(
            _NO_GPU if "no CUDA-capable device" in text else f"The NVIDIA driver refused: {text}."
        ) from error
    if count == 0:
        raise GpuUnavailable(_NO_GPU)
    return cuda


def describe_devices() -> tuple[DeviceReport, ...]:
    """Every GPU the driver finds; raises GpuUnavailable where there is none."""
    cuda = load_driver()
    return tuple(describe(cuda, ordinal) for ordinal in range(cuda.Device.count()))


def describe(cuda: Any, ordinal: int) -> DeviceReport:
    """One GPU's figures, from its driver."""
    device = cuda.Device(ordinal)
    at = cuda.device_attribute

    def ask(attribute: Any) -> int:
        return int(device.get_attribute(attribute))

    number = cuda.get_driver_version()
    version = f"{number // 1000}.{number % 1000 // 10}"
    return DeviceReport(
        ordinal=ordinal,
        name=device.name(),
        compute_capability=device.compute_capability(),
        sms=ask(at.MULTIPROCESSOR_COUNT),
        clock_mhz=ask(at.CLOCK_RATE) / 1000,
        memory_clock_mhz=ask(at.MEMORY_CLOCK_RATE) / 1000,
        memory_bus_bits=ask(at.GLOBAL_MEMORY_BUS_WIDTH),
        memory_bytes=device.total_memory(),
        l2_bytes=ask(at.L2_CACHE_SIZE),
        shared_per_sm_bytes=ask(at.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        shared_per_block_bytes=ask(at.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        registers_per_sm=ask(at.MAX_REGISTERS_PER_MULTIPROCESSOR),
        threads_per_sm=ask(at.MAX_THREADS_PER_MULTIPROCESSOR),
        driver=Sensors(device.pci_bus_id()).driver or f"CUDA {version}",
        cuda_driver=version,
    )


class Session:
    """A context on one device. Methods raise WorkerFailure for what the driver reports."""

    def __init__(self, ordinal: int) -> None:
        self.cuda = load_driver()
        if ordinal >= self.cuda.Device.count():
            raise GpuUnavailable(
                f"There is no GPU number {ordinal}: the driver finds {self.cuda.Device.count()}, "
                "counted from 0."
            )
        self.report = describe(self.cuda, ordinal)
        device = self.cuda.Device(ordinal)
        self.sensors = Sensors(device.pci_bus_id())
        with self.errors():
            self._context = device.make_context()

    def close(self) -> None:
        """Pops and destroys the context."""
        self._context.pop()
        self._context.detach()

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turns the driver's errors into WorkerFailure."""
        try:
            yield
        except self.cuda.Error as error:
            raise from_driver(str(error)) from error

    @contextlib.contextmanager
    def load(self, cubin: bytes, entry: str, launch: Launch) -> Iterator[LoadedKernel]:
        """The kernel with its arrays in device memory; releases everything at the end."""
        with self.errors():
            kernel = LoadedKernel(self, cubin, entry, launch)
            try:
                yield kernel
            finally:
                kernel.release()


class LoadedKernel:
    """A kernel and its arguments on the device, ready to launch."""

    def __init__(self, session: Session, cubin: bytes, entry: str, launch: Launch) -> None:
        self._session = session
        self._cuda = cuda = session.cuda
        self._launch = launch
        self._module = cuda.module_from_buffer(cubin)
        self._function = self._module.get_function(entry)
        attribute = cuda.function_attribute
        self.registers = int(self._function.get_attribute(attribute.NUM_REGS))
        self.static_shared_bytes = int(self._function.get_attribute(attribute.SHARED_SIZE_BYTES))
        self.local_bytes = int(self._function.get_attribute(attribute.LOCAL_SIZE_BYTES))
        if launch.shared_bytes + self.static_shared_bytes > 48 << 10:
            self._function.set_attribute(
                attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.shared_bytes
            )
        self._buffers: dict[str, Any] = {}
        self._flush: Any = None
        self.flush_bytes = 0
        try:
            self._allocate()
        except BaseException:
            self.release()
            raise
        self._events = (cuda.Event(), cuda.Event())

    def reset(self) -> None:
        """Copies inputs to the device again and poisons the outputs (all bits one: NaN)."""
        for array in self._launch.arrays:
            buffer = self._buffers[array.name]
            if array.data.nbytes == 0:
                continue
            if array.role == "output":
                self._cuda.memset_d8(buffer, 0xFF, array.data.nbytes)
            else:
                self._cuda.memcpy_htod(buffer, array.data)

    def run(self) -> None:
        """Launches once and waits for the end."""
        with self._session.errors():
            self._start()
            self._cuda.Context.synchronize()

    def time(self, *, flush: bool) -> float:
        """One launch between two events, in milliseconds, after flushing the L2 cache if asked."""
        with self._session.errors():
            if flush:
                self._cuda.memset_d32_async(self._flush_buffer(), 0, self.flush_bytes // 4, None)
            before, after = self._events
            before.record()
            self._start()
            after.record()
            after.synchronize()
            # Events resolve about half a microsecond; the digits beyond a nanosecond are noise.
            return round(float(after.time_since(before)), 6)

    def outputs(self) -> dict[str, NDArray[Any]]:
        """What the arrays that the kernel writes hold now."""
        found: dict[str, NDArray[Any]] = {}
        with self._session.errors():
            for array in self._launch.arrays:
                if array.role != "input":
                    found[array.name] = host = np.empty_like(array.data, order="C")
                    if host.nbytes:
                        self._cuda.memcpy_dtoh(host, self._buffers[array.name])
        return found

    def release(self) -> None:
        """Frees all device memory; after a sticky error the driver has done so already."""
        buffers = [*self._buffers.values(), *([] if self._flush is None else [self._flush])]
        self._buffers, self._flush = {}, None
        for buffer in buffers:
            with contextlib.suppress(self._cuda.Error):
                buffer.free()

    def _allocate(self) -> None:
        free, _ = self._cuda.mem_get_info()
        needed = sum(array.data.nbytes for array in self._launch.arrays)
        if needed > free:
            raise WorkerFailure(
                f"The arrays need {needed / 1e9:.2f} GB and the GPU has {free / 1e9:.2f} GB free.",
                "out_of_memory",
            )
        formats = ""
        self._values: list[Any] = []
        for argument in self._launch.arguments:
            if isinstance(argument, ArrayArgument):
                buffer = self._cuda.mem_alloc(max(argument.data.nbytes, 4))
                self._buffers[argument.name] = buffer
                self._values.append(np.uintp(int(buffer)))
                formats += np.dtype(np.uintp).char
            else:
                assert isinstance(argument, ScalarArgument)
                self._values.append(argument.value)
                formats += argument.value.dtype.char
        self._function.prepare(formats)

    def _start(self) -> None:
        grid, block = self._launch.grid, self._launch.block
        self._function.prepared_async_call(
            (grid.x, grid.y, grid.z),
            (block.x, block.y, block.z),
            None,
            *self._values,
            shared_size=self._launch.shared_bytes,
        )

    def _flush_buffer(self) -> Any:
        if self._flush is None:
            self.flush_bytes = max(4 * self._session.report.l2_bytes, _LEAST_FLUSH)
            self._flush = self._cuda.mem_alloc(self.flush_bytes)
        return self._flush


_device = 0
_session: Session | None = None


def choose_device(ordinal: int) -> None:
    """Which device `current` opens, the first time it is asked."""
    global _device
    _device = ordinal


def current() -> Session:
    """This process's session, opened at first use; raises GpuUnavailable."""
    global _session
    if _session is None:
        _session = Session(_device)
        atexit.register(close)
    return _session


def close() -> None:
    """Closes this process's session, if it is open."""
    global _session
    session, _session = _session, None
    if session is not None:
        session.close()
