"""NVIDIA's own matrix product as a yardstick: cuBLAS, timed like any kernel.

Found where the PyPI package nvidia-cublas or a CUDA toolkit is installed (`cuda.pathfinder`), and
called through ctypes: a few functions do not need a binding. Only the worker process imports this.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from core.errors import TilescopeError
from core.gpu.failures import WorkerFailure
from core.gpu.loaded import Launchable
from core.gpu.session import Session
from core.launch import Arithmetic, Launch

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
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        at = {name: ctypes.c_void_p(address) for name, address in self.buffers.items()}
        shape = (self._handle, _TRANSPOSE_NO, _TRANSPOSE_NO, n, m, k)
        if self._factors == _R_32F:
            self._call(
                "cublasSgemm_v2", *shape, ctypes.byref(one), at[b], n, at[a], k,
                ctypes.byref(zero), at[c], n,
            )  # fmt: skip
        else:
            self._call(
                "cublasGemmEx", *shape, ctypes.byref(one), at[b], self._factors, n,
                at[a], self._factors, k, ctypes.byref(zero), at[c], _R_32F, n,
                _COMPUTE_32F, _ALGORITHM,
            )  # fmt: skip

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
