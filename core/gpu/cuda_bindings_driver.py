"""The CUDA driver by NVIDIA's package cuda-bindings, with the face that `pycuda.driver` has.

PyCUDA has no wheels; where it cannot be built (Windows), the worker process drives the GPU through
this. It offers what `core.gpu` uses of PyCUDA, by PyCUDA's names, and no more. Functions,
enumerators and their meaning: CUDA Driver API, https://docs.nvidia.com/cuda/cuda-driver-api/.
"""

from __future__ import annotations

import ctypes
import struct
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

# CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END of cuda.h.
_BUFFER_POINTER, _BUFFER_SIZE, _END = 1, 2, 0


class DriverError(Exception):
    """The driver refused a call; the text is `CALL failed: WHY`, with the driver's own words."""


class _Calls:
    """The driver's functions, `api` being `cuda.bindings.driver`. They raise DriverError."""

    def __init__(self, api: Any) -> None:
        self.api = api

    def __call__(self, name: str, *arguments: Any) -> Any:
        """What a function returns besides its status: nothing, a value, or a tuple."""
        try:
            status, *found = getattr(self.api, name)(*arguments)
        except RuntimeError as error:  # an old driver lacks the function
            raise DriverError(f"{name} failed: {error}") from error
        if status != self.api.CUresult.CUDA_SUCCESS:
            raise DriverError(f"{name} failed: {self._why(status)}")
        return found[0] if len(found) == 1 else tuple(found) or None

    def _why(self, status: Any) -> str:
        _, text = self.api.cuGetErrorString(status)
        return text.decode() if text else f"status {int(status)}"


class BoundDriver:
    """The face of `pycuda.driver`, over `api`, which is `cuda.bindings.driver`.

    Addresses are integers or `Allocation`; hosts' arrays are contiguous NumPy arrays.
    """

    Error = DriverError

    def __init__(self, api: Any) -> None:
        self._call = call = _Calls(api)
        self.Device = _Devices(call)
        self.Context = SimpleNamespace(synchronize=partial(call, "cuCtxSynchronize"))
        self.device_attribute = _Named(api.CUdevice_attribute, "CU_DEVICE_ATTRIBUTE_")
        self.function_attribute = _Named(api.CUfunction_attribute, "CU_FUNC_ATTRIBUTE_")

    def init(self) -> None:
        """Initialise the driver."""
        self._call("cuInit", 0)

    def get_driver_version(self) -> int:
        """1000 for each major version, 10 for each minor one."""
        return int(self._call("cuDriverGetVersion"))

    def Event(self) -> _Event:
        """A new event."""
        return _Event(self._call)

    def mem_get_info(self) -> tuple[int, int]:
        """Free bytes of device memory, and all."""
        free, total = self._call("cuMemGetInfo")
        return int(free), int(total)

    def mem_alloc(self, nbytes: int) -> _Allocation:
        """New device memory."""
        return _Allocation(self._call, nbytes)

    def memcpy_htod(self, address: Any, host: NDArray[Any]) -> None:
        """Copy an array to the device."""
        data = np.ascontiguousarray(host)
        self._call("cuMemcpyHtoD", int(address), data.ctypes.data, data.nbytes)

    def memcpy_dtoh(self, host: NDArray[Any], address: Any) -> None:
        """Copy device memory into an array."""
        if not (host.flags.c_contiguous and host.flags.writeable):
            raise ValueError("the array must be contiguous and writeable")
        self._call("cuMemcpyDtoH", host.ctypes.data, int(address), host.nbytes)

    def memset_d8(self, address: Any, byte: int, count: int) -> None:
        """Fill bytes."""
        self._call("cuMemsetD8", int(address), byte, count)

    def memset_d32_async(self, address: Any, word: int, count: int, stream: None) -> None:
        """Fill words of 32 bits, queued on the default stream."""
        self._call("cuMemsetD32Async", int(address), word, count, stream)

    def module_from_buffer(self, cubin: bytes) -> _Module:
        """Load a cubin."""
        return _Module(self._call, cubin)


class _Named:
    """An enumeration without the prefix of its members' names, as PyCUDA has it.

    An attribute that it lacks raises AttributeError.
    """

    def __init__(self, members: Any, prefix: str) -> None:
        self._members, self._prefix = members, prefix

    def __getattr__(self, name: str) -> Any:
        return getattr(self._members, self._prefix + name)

    def __call__(self, number: int) -> Any:
        return self._members(number)


class _Devices:
    """The GPUs of this machine."""

    def __init__(self, call: _Calls) -> None:
        self._call = call

    def __call__(self, ordinal: int) -> _Device:
        return _Device(self._call, ordinal)

    def count(self) -> int:
        return int(self._call("cuDeviceGetCount"))


class _Device:
    """One GPU."""

    def __init__(self, call: _Calls, ordinal: int) -> None:
        self._call = call
        self._device = call("cuDeviceGet", ordinal)

    def name(self) -> str:
        """Its name, as NVIDIA sells it."""
        return _text(self._call("cuDeviceGetName", 256, self._device))

    def pci_bus_id(self) -> str:
        """Its address, as 0000:65:00.0."""
        return _text(self._call("cuDeviceGetPCIBusId", 32, self._device))

    def total_memory(self) -> int:
        return int(self._call("cuDeviceTotalMem", self._device))

    def get_attribute(self, attribute: Any) -> int:
        return int(self._call("cuDeviceGetAttribute", attribute, self._device))

    def compute_capability(self) -> tuple[int, int]:
        at = _Named(self._call.api.CUdevice_attribute, "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_")
        return self.get_attribute(at.MAJOR), self.get_attribute(at.MINOR)

    def make_context(self) -> _PrimaryContext:
        """Its primary context, made current in this thread."""
        return _PrimaryContext(self._call, self._device)


class _PrimaryContext:
    """A device's primary context. (How other contexts are made has changed with CUDA 13.)"""

    def __init__(self, call: _Calls, device: Any) -> None:
        self._call, self._device = call, device
        call("cuCtxSetCurrent", call("cuDevicePrimaryCtxRetain", device))

    def pop(self) -> None:
        self._call("cuCtxSetCurrent", self._call.api.CUcontext(0))

    def detach(self) -> None:
        """Give it back: the driver ends it."""
        self._call("cuDevicePrimaryCtxRelease", self._device)


class _Allocation:
    """Device memory; `int` gives its address."""

    def __init__(self, call: _Calls, nbytes: int) -> None:
        self._call = call
        self._address = int(call("cuMemAlloc", nbytes))

    def __int__(self) -> int:
        return self._address

    def free(self) -> None:
        """Give it back."""
        self._call("cuMemFree", self._address)


class _Event:
    """A point of the default stream; its time has a resolution of half a microsecond."""

    def __init__(self, call: _Calls) -> None:
        self._call = call
        self._event = call("cuEventCreate", 0)

    def record(self) -> None:
        self._call("cuEventRecord", self._event, 0)

    def synchronize(self) -> None:
        self._call("cuEventSynchronize", self._event)

    def time_since(self, earlier: _Event) -> float:
        """Milliseconds between two events."""
        return float(self._call("cuEventElapsedTime", earlier._event, self._event))


class _Module:
    """A loaded cubin."""

    def __init__(self, call: _Calls, cubin: bytes) -> None:
        self._call = call
        self._module = call("cuModuleLoadData", cubin)

    def get_function(self, name: str) -> _Function:
        """A kernel, by its name in the cubin."""
        return _Function(self._call, self._call("cuModuleGetFunction", self._module, name.encode()))

    def get_global(self, name: str) -> tuple[int, int]:
        """A variable's address, and its bytes."""
        address, nbytes = self._call("cuModuleGetGlobal", self._module, name.encode())
        return int(address), int(nbytes)


class _Function:
    """A kernel."""

    def __init__(self, call: _Calls, function: Any) -> None:
        self._call, self._function = call, function
        self._format = ""

    def get_attribute(self, attribute: Any) -> int:
        return int(self._call("cuFuncGetAttribute", attribute, self._function))

    def set_attribute(self, attribute: Any, value: int) -> None:
        self._call("cuFuncSetAttribute", self._function, attribute, value)

    def prepare(self, layout: str) -> None:
        """How parameters lie, as `struct` writes it; "x" is a byte that is left out."""
        self._format = layout

    def prepared_async_call(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        stream: None,
        *values: Any,
        shared_size: int,
    ) -> None:
        """Queue a launch; its parameters go as one buffer, which the driver copies."""
        raw = struct.pack(self._format, *values)
        buffer = ctypes.create_string_buffer(raw, max(len(raw), 1))
        size = ctypes.c_size_t(len(raw))
        extra = (ctypes.c_void_p * 5)(
            _BUFFER_POINTER, ctypes.addressof(buffer), _BUFFER_SIZE, ctypes.addressof(size), _END
        )
        where = (*grid, *block, shared_size, stream, 0, ctypes.addressof(extra))
        self._call("cuLaunchKernel", self._function, *where)


def _text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode()
