"""The CUDA driver and one context: the only module that imports `pycuda`, in the worker alone.

`pycuda.driver` loads the driver's library when imported, and a context that is not popped before
the process ends makes PyCUDA abort it; `close` pops it. Where PyCUDA is not installed,
cuda-bindings takes its place (`core.gpu.cuda_bindings_driver`).
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any, Protocol

from core.errors import GpuUnavailable
from core.gpu.benchmark_result import DeviceReport
from core.gpu.cuda_bindings_driver import BoundDriver
from core.gpu.events_and_failures import from_driver
from core.gpu.sensors import Sensors, SmClock

WAY = "TILESCOPE_GPU_DRIVER"
"""Names the package that drives the GPU, one of `WAYS`; the first one installed otherwise."""
WAYS = ("pycuda", "cuda-bindings")
_NEITHER = (
    "This machine has an NVIDIA driver, but neither PyCUDA nor cuda-bindings is installed: run "
    "`make setup` in a checkout, which builds PyCUDA where it finds a driver, or "
    '`pip install "tilescope[gpu]"`.'
)
_NO_DRIVER = "This machine has no NVIDIA driver (its CUDA library was not found)."
_NO_GPU = "The NVIDIA driver finds no GPU on this machine."


def driver_is_installed() -> bool:
    """Whether the driver's library loads; without it PyCUDA cannot even be imported."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _bound() -> Any:
    """`pycuda.driver`, or what has its face; raises GpuUnavailable."""
    asked = os.environ.get(WAY)
    if asked is not None and asked not in WAYS:
        raise GpuUnavailable(f"{WAY} is `{asked}`: use {' or '.join(WAYS)}.")
    for way in WAYS if asked is None else (asked,):
        module = "pycuda.driver" if way == "pycuda" else "cuda.bindings.driver"
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        except ImportError as error:
            raise GpuUnavailable(f"{module} cannot be loaded: {str(error).strip()}.") from error
        return found if way == "pycuda" else BoundDriver(found)
    raise GpuUnavailable(_NEITHER if asked is None else f"{asked} is not installed here.")


def load_driver() -> Any:
    """`pycuda.driver` or its like, initialised; raises GpuUnavailable with the reason."""
    if not driver_is_installed():
        raise GpuUnavailable(_NO_DRIVER)
    cuda = _bound()
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


class Releasable(Protocol):
    """Something that holds device memory."""

    def release(self) -> None:
        """Frees it."""


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
        self.sm_clock = self._sm_clock()

    def _sm_clock(self) -> SmClock | None:
        try:
            return SmClock(self.cuda, self.report.sms)
        except self.cuda.Error:
            return None  # a driver that does not take the PTX: times are worth having without it

    def close(self) -> None:
        """Pops and destroys the context."""
        self.sm_clock = None
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
    def using(self, loaded: Releasable) -> Iterator[None]:
        """Turns the driver's errors into WorkerFailure, and releases at the end."""
        with self.errors():
            try:
                yield
            finally:
                loaded.release()


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
