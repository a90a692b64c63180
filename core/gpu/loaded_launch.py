"""A launch in device memory, ready to be run and timed: of a compiled kernel, or of a library."""

from __future__ import annotations

import contextlib
import ctypes
import struct
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.compiler.cubin import parameter_places, variables_called
from core.errors import TilescopeError
from core.gpu.driver_session import Session
from core.gpu.events_and_failures import WorkerFailure
from core.launch import (
    Argument,
    Arithmetic,
    ArrayArgument,
    Dim3,
    Launch,
    ScalarArgument,
    grouped,
    packed,
)
from core.tensor_maps import TensorMap, encoded

# The flush writes at least this much, so that it lasts longer than queueing a launch does (about
# 20 us) and the GPU never waits for the CPU between the two events.
_LEAST_FLUSH = 256 << 20
# CUfunction_attribute REQUIRED_CLUSTER_WIDTH, _HEIGHT, _DEPTH, NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
# by number, as PyCUDA has no names for them.
_OF_CLUSTERS = (11, 12, 13, 14)
_PORTABLE_CLUSTER = 8  # blocks; CUDA Programming Guide, Thread Block Clusters


class Launchable(ABC):
    """The arrays of a launch on the device, and how to start it.

    Raises WorkerFailure for what the driver reports; of kind "out_of_memory" where the arrays are
    larger than the memory that is free.
    """

    registers = 0
    static_shared_bytes = 0
    local_bytes = 0

    def __init__(self, session: Session, launch: Launch) -> None:
        self._session, self._launch = session, launch
        self._cuda = session.cuda
        self._buffers: dict[str, Any] = {}
        self._flush: Any = None
        self.flush_bytes = 0
        self.sm_mhz: float | None = None
        with session.errors():
            try:
                self._allocate()
                self._events = (self._cuda.Event(), self._cuda.Event())
            except BaseException:
                self.release()
                raise

    @property
    def buffers(self) -> Mapping[str, int]:
        """Each array's device address."""
        return {name: int(buffer) for name, buffer in self._buffers.items()}

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
            self.start()
            self._cuda.Context.synchronize()

    def time(self, *, flush: bool) -> float:
        """One launch between two events, in milliseconds, after flushing the L2 cache if asked.

        `sm_mhz` is then the clock that the SMs ran at meanwhile, where that can be had.
        """
        clock = self._session.sm_clock
        with self._session.errors():
            if flush:
                self._cuda.memset_d32_async(self._flush_buffer(), 0, self.flush_bytes // 4, None)
            before, after = self._events
            if clock is not None:
                clock.begin()
            before.record()
            self.start()
            after.record()
            if clock is not None:
                clock.end()
            self._cuda.Context.synchronize()
            # Events resolve about half a microsecond; the digits beyond a nanosecond are noise.
            ms = round(float(after.time_since(before)), 6)
            self.sm_mhz = None if clock is None else clock.mhz(ms)
            return ms

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

    @abstractmethod
    def start(self) -> None:
        """Queues one launch on the default stream."""

    def _allocate(self) -> None:
        if any(array.texture is not None for array in self._launch.arrays):
            raise WorkerFailure("A kernel with textures is emulated and not run on the GPU.")
        free, _ = self._cuda.mem_get_info()
        needed = sum(array.data.nbytes for array in self._launch.arrays)
        if needed > free:
            raise WorkerFailure(
                f"The arrays need {needed / 1e9:.2f} GB and the GPU has {free / 1e9:.2f} GB free.",
                "out_of_memory",
            )
        for array in self._launch.arrays:
            self._buffers[array.name] = self._cuda.mem_alloc(max(array.data.nbytes, 4))

    def _flush_buffer(self) -> Any:
        if self._flush is None:
            self.flush_bytes = max(4 * self._session.report.l2_bytes, _LEAST_FLUSH)
            self._flush = self._cuda.mem_alloc(self.flush_bytes)
        return self._flush


class LoadedKernel(Launchable):
    """A kernel of a cubin."""

    def __init__(self, session: Session, cubin: bytes, entry: str, launch: Launch) -> None:
        self._cubin, self._entry = cubin, entry
        with session.errors():
            self._module = session.cuda.module_from_buffer(cubin)
            self._function = self._module.get_function(entry)
            self._read_attributes(session.cuda.function_attribute, launch.shared_bytes)
            if launch.cluster is not None:
                self._ask_for_cluster(session.cuda.function_attribute, launch.cluster)
        super().__init__(session, launch)
        self._prepare()

    def start(self) -> None:
        """Queues one launch on the default stream."""
        grid, block = tuple(self._launch.grid), tuple(self._launch.block)
        self._function.prepared_async_call(
            grid, block, None, *self._values, shared_size=self._launch.shared_bytes
        )

    def _read_attributes(self, attribute: Any, dynamic: int) -> None:
        self.registers = int(self._function.get_attribute(attribute.NUM_REGS))
        self.static_shared_bytes = int(self._function.get_attribute(attribute.SHARED_SIZE_BYTES))
        self.local_bytes = int(self._function.get_attribute(attribute.LOCAL_SIZE_BYTES))
        if dynamic + self.static_shared_bytes > 48 << 10:
            self._function.set_attribute(attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic)

    def _ask_for_cluster(self, attribute: Any, cluster: Dim3) -> None:
        """What a launch attribute says of a cluster, which `cuLaunchKernel` does not take.

        CUDA Driver API, cuFuncSetAttribute: a size that the kernel has from its compiler stays.
        """
        width, height, depth, large = (attribute(number) for number in _OF_CLUSTERS)
        if self._function.get_attribute(width) == 0:
            for one, size in ((width, cluster.x), (height, cluster.y), (depth, cluster.z)):
                self._function.set_attribute(one, size)
        if cluster.count > _PORTABLE_CLUSTER:
            self._function.set_attribute(large, 1)

    def _prepare(self) -> None:
        places = parameter_places(self._cubin, self._entry)
        formats = ""
        self._values: list[Any] = []
        self._beside: list[Any] = []  # maps and rows of pointers, freed with this
        for group, place in zip(self._launch.parameters, places, strict=True):
            form, values = _words(group, packed(group, self._address, _encoded, self._stored))
            formats += "x" * (place - struct.calcsize(formats)) + form
            self._values += values
        self._function.prepare(formats)
        for symbols in grouped(self._launch.symbols):
            self._fill(symbols)

    def _address(self, array: ArrayArgument) -> int:
        return int(self._buffers[array.name])

    def _stored(self, _: str, raw: bytes) -> int:
        """The address of a tensor map, or of a row of pointers, in the GPU's memory."""
        self._beside.append(self._cuda.mem_alloc(len(raw)))
        self._cuda.memcpy_htod(self._beside[-1], raw)
        return int(self._beside[-1])

    def _fill(self, group: tuple[Argument, ...]) -> None:
        """Puts its content into a variable; one that the optimised code lacks needs none."""
        member = group[0].member
        assert member is not None
        for symbol in variables_called(self._cubin, member.parameter):
            address, nbytes = self._module.get_global(symbol)
            raw = np.frombuffer(packed(group, self._address, stored=self._stored), np.uint8)[
                :nbytes
            ]
            self._cuda.memcpy_htod(address, np.ascontiguousarray(raw))


def _encoded(what: TensorMap) -> bytes:
    driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    try:
        return encoded(driver, what)
    except TilescopeError as error:
        raise WorkerFailure(str(error), "launch_refused") from error


def _words(group: tuple[Argument, ...], raw: bytes) -> tuple[str, list[Any]]:
    """A parameter for `struct.pack`: a number as it is, a structure as words of its alignment."""
    only = group[0]
    if len(group) == 1 and only.member is None and len(raw) <= 8:
        if isinstance(only, ScalarArgument):
            return only.value.dtype.char, [only.value]
        return np.dtype(np.uintp).char, [np.frombuffer(raw, np.uintp)[0]]
    size = min(8, only.member.align if only.member else 8)
    words = np.frombuffer(raw, f"u{size}")
    return words.dtype.char * len(words), list(words)


# NVIDIA's own matrix product as a yardstick: cuBLAS, timed like any kernel.
#
# Found where the PyPI package nvidia-cublas or a CUDA toolkit is installed (`cuda.pathfinder`), and
# called through ctypes: a few functions do not need a binding. Only the worker process imports
# this.


_TRANSPOSE_NO = 0
# CUBLAS_PEDANTIC_MATH: FP32 throughout, never tensor cores; CUBLAS_TF32_TENSOR_OP_MATH;
# CUBLAS_DEFAULT_MATH.
_MATH_MODES: Mapping[Arithmetic, int] = {"float32": 2, "tf32": 3, "float16": 0}
_R_32F, _R_16F = 0, 2  # cudaDataType
_COMPUTE_32F = 68  # cublasComputeType_t: sums in FP32
_ALGORITHM = -1  # CUBLAS_GEMM_DEFAULT: cuBLAS chooses
_ABSENT = (
    "cuBLAS is not installed here: `pip install nvidia-cublas`, or a CUDA toolkit, brings it; all "
    "other kernels are timed without it."
)


def load_library() -> Any:
    """The library; raises TilescopeError where it is not installed."""
    from cuda import pathfinder

    try:
        return ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublas").abs_path)
    except (pathfinder.DynamicLibNotFoundError, OSError) as error:
        raise TilescopeError(_ABSENT) from error


class CublasProduct(Launchable):
    """C = A B, row-major: arrays A (m x k), B (k x n) and C (m x n) of the launch, C in FP32.

    A and B are FP32, too, or FP16 with the arithmetic "float16". With "tf32" tensor cores multiply,
    and factors keep 10 bits after the point.
    """

    def __init__(
        self, session: Session, launch: Launch, arithmetic: Arithmetic = "float32"
    ) -> None:
        self._library = load_library()
        self._handle = ctypes.c_void_p()
        self._call("cublasCreate_v2", ctypes.byref(self._handle))
        try:
            self._call("cublasSetMathMode", self._handle, _MATH_MODES[arithmetic])
            self._factors = _R_16F if arithmetic == "float16" else _R_32F
            self.version = self._version()
            super().__init__(session, launch)
        except BaseException:
            self._destroy()
            raise

    def start(self) -> None:
        """Queues one product. cuBLAS is column-major, where B A of the transposes is the same."""
        a, b, c = (array.name for array in self._launch.arrays)
        left, top = self._launch.arrays[0].data, self._launch.arrays[1].data
        (m, k), n = left.shape, top.shape[1]
        one, zero = (ctypes.byref(ctypes.c_float(factor)) for factor in (1, 0))
        at = {name: ctypes.c_void_p(address) for name, address in self.buffers.items()}
        shape = (self._handle, _TRANSPOSE_NO, _TRANSPOSE_NO, n, m, k)
        if self._factors == _R_32F:
            self._call("cublasSgemm_v2", *shape, one, at[b], n, at[a], k, zero, at[c], n)
            return
        factors = (at[b], self._factors, n, at[a], self._factors, k)
        how = (_COMPUTE_32F, _ALGORITHM)
        self._call("cublasGemmEx", *shape, one, *factors, zero, at[c], _R_32F, n, *how)

    def release(self) -> None:
        """Frees the arrays and the library's workspace."""
        super().release()
        self._destroy()

    def _destroy(self) -> None:
        handle, self._handle = self._handle, ctypes.c_void_p()
        if handle.value:
            self._library.cublasDestroy_v2(handle)

    def _version(self) -> str:
        number = ctypes.c_int()
        self._call("cublasGetVersion_v2", self._handle, ctypes.byref(number))
        # Major * 10,000 + minor * 100 + patch, or with thousands and hundreds before version 13.
        return str(number.value)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise WorkerFailure(f"cuBLAS refused {name} (status {status}).", "launch_refused")
