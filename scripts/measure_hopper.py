"""Times the rungs for Hopper beside cuBLAS, with factors of F16, of BF16 and of TF32.

    python scripts/measure_hopper.py OUT.json [LIB.so NAME]     on a GPU of compute capability 9.0

cuBLAS is timed with B as the rungs have it (row-major) and transposed, and with C in float32, as
the rungs write it, and in the factors' own type, which is half the bytes. The rungs with BF16 are
the same sources with the type's name exchanged. Somebody else's product of BF16 can stand beside
them: a shared library's function `product(m, n, k, a, b, c)` that queues C = A B on the default
stream, with A row-major, B and C column-major, all of 16 bits. All of one size and type take turns;
each launch is timed by itself after a flush of the L2 cache; the clock that the SMs ran at is their
own counters', the rest NVML's after the launch.
Results are compared with float64 before anything is timed.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
import numpy as np
from ladder_tools import HOPPER
from numpy.typing import NDArray

from core.compiler import nvrtc
from core.gpu.benchmark_run import build_for
from core.gpu.driver_session import Session
from core.gpu.loaded_launch import Launchable, LoadedKernel, load_library
from core.ladder import load_ladder
from core.ladder.input_arrays import poisoned, random_array
from core.launch import ArrayArgument, Dim3, Launch, Workload

SIZES = (1024, 4096, 8192)
TYPES = ("float16", "bfloat16", "tf32")
ROUNDS, LAUNCHES, PAUSE_S = 5, 6, 0.2
CHECKED_ROWS = 256
_F16, _BF16, _F32 = 2, 14, 0  # cudaDataType
_COMPUTE_F32, _COMPUTE_TF32 = 68, 77  # cublasComputeType_t
_CODES = {"float16": _F16, "bfloat16": _BF16, "tf32": _F32}


def rounded(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """The bits of the nearest BF16 numbers, ties to even."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def widened(values: NDArray[Any]) -> NDArray[np.float64]:
    """The numbers of an array of F16, or of the bits of BF16."""
    if values.dtype == np.uint16:
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float64)


def in_bfloat16(work: Workload) -> Workload:
    """The same launch with factors of BF16, whose bits its arrays hold."""
    source = work.source.replace("cuda_fp16.h", "cuda_bf16.h").replace(
        "f32.f16.f16", "f32.bf16.bf16"
    )
    source = source.replace("half ", "__nv_bfloat16 ").replace("half*", "__nv_bfloat16*")
    source = source.replace("(half)", "(__nv_bfloat16)").replace("half (", "__nv_bfloat16 (")
    arguments = tuple(
        replace(a, data=rounded(a.data.astype(np.float32)))
        if isinstance(a, ArrayArgument) and a.data.dtype == np.float16
        else a
        for a in work.launch.arguments
    )
    return replace(work, source=source, launch=replace(work.launch, arguments=arguments))


@dataclass(frozen=True)
class Library:
    """A product by cuBLAS: whether B lies transposed, and whether C is float32."""

    transposed: bool
    wide: bool

    @property
    def name(self) -> str:
        """For the table."""
        layout = "B transposed" if self.transposed else "B row-major"
        return f"cuBLAS, {layout}, C {'float32' if self.wide else '16 bits'}"


class LibraryProduct(Launchable):
    """C = A B by `cublasGemmEx`; C of the launch has the type that it is stored in."""

    def __init__(self, session: Session, launch: Launch, kind: Library, factors: int) -> None:
        self._library, self._kind, self._factors = load_library(), kind, factors
        self._handle = ctypes.c_void_p()
        self._call("cublasCreate_v2", ctypes.byref(self._handle))
        super().__init__(session, launch)

    def start(self) -> None:
        """Queues one product. cuBLAS is column-major: it multiplies the transposes."""
        a, b, c = (array.name for array in self._launch.arrays)
        (m, k), n = self._launch.arrays[0].data.shape, self._launch.arrays[2].data.shape[1]
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        at = {name: ctypes.c_void_p(address) for name, address in self.buffers.items()}
        self._call(
            "cublasGemmEx", self._handle, int(self._kind.transposed), 0, n, m, k,
            ctypes.byref(one), at[b], self._factors, k if self._kind.transposed else n,
            at[a], self._factors, k, ctypes.byref(zero), at[c],
            _F32 if self._kind.wide else self._factors, n,
            _COMPUTE_TF32 if self._factors == _F32 else _COMPUTE_F32, -1,
        )  # fmt: skip

    def release(self) -> None:
        """Frees the arrays and the library's workspace."""
        super().release()
        self._library.cublasDestroy_v2(self._handle)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: status {status}")


class Beside(Launchable):
    """C = A B by somebody else's library; C lies by columns."""

    def __init__(self, session: Session, launch: Launch, path: str) -> None:
        self._product = ctypes.CDLL(path).product
        super().__init__(session, launch)

    def start(self) -> None:
        """Queues one product."""
        a, b, c = self._launch.arrays
        (m, k), n = a.data.shape, b.data.shape[0]
        at = (ctypes.c_void_p(self.buffers[array.name]) for array in (a, b, c))
        self._product(m, n, k, *at)

    def outputs(self) -> dict[str, NDArray[Any]]:
        """C by rows."""
        return {name: data.T for name, data in super().outputs().items()}


def products(
    session: Session, size: int, kind: str, beside: Sequence[str]
) -> dict[str, Launchable]:
    """Everything that is timed at a size, by its name."""
    generator = np.random.default_rng(size)
    factors = random_array(generator, np.float32, (2, size, size))
    bits: list[NDArray[Any]] = [*factors]
    if kind != "tf32":
        bits = [rounded(f) if kind == "bfloat16" else f.astype(np.float16) for f in factors]
    found: dict[str, Launchable] = {}
    if kind == "bfloat16" and beside:
        arrays = (
            ArrayArgument("A", bits[0]),
            ArrayArgument("B", np.ascontiguousarray(bits[1].T)),
            ArrayArgument("C", poisoned(bits[0].dtype, (size, size)), "output"),
        )
        found[beside[1]] = Beside(session, Launch(Dim3(1), Dim3(1), arrays), beside[0])
    for library in (Library(t, w) for t in (False, True) for w in (True, False)):
        if kind == "tf32" and not library.wide:
            continue
        stored = np.float32 if library.wide else bits[0].dtype
        arrays = (
            ArrayArgument("A", bits[0]),
            ArrayArgument("B", np.ascontiguousarray(bits[1].T) if library.transposed else bits[1]),
            ArrayArgument("C", poisoned(stored, (size, size)), "output"),
        )
        launch = Launch(Dim3(1), Dim3(1), arrays)
        found[library.name] = LibraryProduct(session, launch, library, _CODES[kind])
    ladder = load_ladder()
    for name in HOPPER:
        rung = ladder[name]
        if (rung.arithmetic == "tf32") != (kind == "tf32"):
            continue
        shape = {"m": size, "k": size, "n": size}
        work = rung.blank_workload(**{**rung.tuned_for(**shape), **shape})
        given = {"A": bits[0], "B": bits[1].T if kind == "tf32" else bits[1]}
        filled = [
            replace(a, data=given.get(a.name, poisoned(np.float32, a.data.shape)))
            if isinstance(a, ArrayArgument)
            else a
            for a in work.launch.arguments
        ]
        if kind == "bfloat16":
            work = in_bfloat16(work)
        work = replace(work, launch=replace(work.launch, arguments=tuple(filled)))
        built = build_for(work, session.report.compute_capability)
        found[f"{rung.number} {name}"] = LoadedKernel(
            session, built.cubin, built.entry, work.launch
        )
    rows = generator.choice(size, min(CHECKED_ROWS, size), replace=False)
    truth = widened(bits[0][rows]) @ widened(bits[1])
    for name, one in found.items():
        one.reset()
        one.run()
        got = one.outputs()["C"]
        error = float(np.abs(widened(got[rows]) - truth).max() if got.dtype != np.float32
                      else np.abs(got[rows].astype(np.float64) - truth).max())  # fmt: skip
        # A C of 16 bits is rounded to 8 (BF16) or 11 bits; sums of `size` products of [-1, 1) lie
        # within 6 standard deviations of 0 (each 1/3).
        largest = 6 * size**0.5 / 3
        # Factors of TF32 lack 13 bits.
        is_exact = got.dtype == np.float32 and kind != "tf32"
        allowed = size * 2.0**-22 * largest + (0 if is_exact else largest * 2.0**-8)
        if (
            not (error <= allowed)
            or not np.isfinite(widened(got) if got.dtype == np.uint16 else got).all()
        ):
            raise SystemExit(f"{name} at {size} with {kind}: wrong by {error}, allowed {allowed}")
    return found


def timed(session: Session, size: int, kind: str, beside: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of one size and type, which take turns."""
    ready = products(session, size, kind, beside)
    rows: dict[str, dict[str, Any]] = {
        n: {"name": n, "size": size, "type": kind, "ms": [], "sm_mhz": [], "launch_mhz": []}
        for n in ready
    }
    for one in ready.values():
        one.time(flush=True)
    for _ in range(ROUNDS):
        for name, one in ready.items():
            time.sleep(PAUSE_S)
            for _ in range(LAUNCHES):
                rows[name]["ms"].append(round(one.time(flush=True), 4))
                rows[name]["sm_mhz"].append(session.sensors.sm_mhz())
                if one.sm_mhz is not None:
                    rows[name]["launch_mhz"].append(one.sm_mhz)
    for name, row in rows.items():
        row["tflops"] = round(2 * size**3 / median(row["ms"]) / 1e9, 1)
        ran = median(row["launch_mhz"]) if row["launch_mhz"] else None
        print(size, kind, name, row["tflops"], min(row["sm_mhz"]), ran, flush=True)
        ready[name].release()
    return list(rows.values())


def main() -> None:
    """Measures all, and keeps what was found in the file that is named."""
    session = Session(0)
    found: dict[str, Any] = {**tools.machine(), "nvrtc": nvrtc.version()}
    found |= {"clock_mhz": session.report.clock_mhz, "rows": []}
    for size in SIZES:
        for kind in TYPES:
            found["rows"] += timed(session, size, kind, sys.argv[2:])
    session.close()
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
