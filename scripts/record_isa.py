"""Take tests/data/isa's truth from a GPU: run every kernel there, keep a hash of every slot.

`python scripts/record_isa.py` needs NVRTC and an NVIDIA driver, and writes
tests/data/isa/<gpu>_<date>.json. The driver is called through ctypes, so nothing else is needed.
"""

from __future__ import annotations

import ctypes
import datetime
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from core.compiler.compile_ptx_and_cubin import compile_cubin
from core.compiler.cubin import cubin_entries
from tests.core.emulator.isa_kernels import FOLDER, SLOT, SLOTS, inputs, source

SIZE = SLOT * SLOTS
BUILDS = {"as_written": ("-G",), "as_compiled": ()}
STOPS_THE_GPU = {"asserts", "traps"}
# Only approximately equal (tests/core/emulator/test_isa_kernels.py), or not defined: %warpid.
APPROXIMATE = {
    ("floats", "approx"), ("floats", "mathf"), ("floats", "mathd"), ("half", "approx"),
    ("bfloat", "approx"),
}  # fmt: skip
UNDEFINED = {("warp", "shuffles", 34)}


class Gpu:
    """The first GPU, through the driver API."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self._check(self.cuda.cuInit(0))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._check(self.cuda.cuDeviceGet(ctypes.byref(device), 0))
        self._check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self._check(self.cuda.cuCtxSetCurrent(context))
        name = ctypes.create_string_buffer(100)
        self.cuda.cuDeviceGetName(name, 100, device)
        self.name = name.value.decode()
        values = [ctypes.c_int(), ctypes.c_int()]
        for value, attribute in zip(values, (75, 76), strict=True):  # compute capability
            self.cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        self.capability = (values[0].value, values[1].value)
        self.buffers = [ctypes.c_uint64(), ctypes.c_uint64()]
        for buffer in self.buffers:
            self._check(self.cuda.cuMemAlloc_v2(ctypes.byref(buffer), ctypes.c_size_t(SIZE)))

    @staticmethod
    def _check(status: int) -> None:
        if status:
            raise SystemExit(f"The CUDA driver failed with status {status}.")

    def run(self, cubin: bytes, kernel: str, blocks: int) -> bytes:
        """What the kernel wrote."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        given, written = self.buffers
        size = ctypes.c_size_t(SIZE)
        self._check(self.cuda.cuModuleLoadData(ctypes.byref(module), cubin))
        self._check(self.cuda.cuModuleGetFunction(ctypes.byref(function), module, kernel.encode()))
        self._check(self.cuda.cuMemcpyHtoD_v2(given, inputs().tobytes(), size))
        self._check(self.cuda.cuMemsetD8_v2(written, ctypes.c_ubyte(0), size))
        pointers = [ctypes.cast(ctypes.byref(b), ctypes.c_void_p) for b in self.buffers]
        arguments = (ctypes.c_void_p * 2)(*pointers)
        shape = (blocks, 1, 1, 64, 1, 1, 512)
        self._check(self.cuda.cuLaunchKernel(function, *shape, None, arguments, None))
        self._check(self.cuda.cuCtxSynchronize())
        result = ctypes.create_string_buffer(SIZE)
        self._check(self.cuda.cuMemcpyDtoH_v2(result, written, size))
        self._check(self.cuda.cuModuleUnload(module))
        return result.raw


def hashes(name: str, kernel: str, raw: bytes) -> dict[str, str]:
    """The first 16 digits of the SHA-256 of every slot that was written."""
    slots = {i: raw[i * SLOT : (i + 1) * SLOT] for i in range(SLOTS)}
    return {
        str(i): hashlib.sha256(slot).hexdigest()[:16]
        for i, slot in slots.items()
        if any(slot) and (name, kernel, i) not in UNDEFINED
    }


def main() -> None:
    """Run everything and write the file."""
    gpu = Gpu()
    kernels: dict[str, dict[str, Any]] = {}
    for path in sorted(FOLDER.glob("*.cu")):
        name = path.stem
        for kind, options in BUILDS.items():
            if (name, kind) == ("integers_intrinsics", "as_written"):
                continue  # NVRTC 13.5 does not compile it with -G
            cubin = compile_cubin(
                source(name), source_name=path.name, compute_capability=gpu.capability,
                extra_options=("--device-int128", *options),
            )  # fmt: skip
            for kernel in sorted(cubin_entries(cubin)):
                if kernel in STOPS_THE_GPU or (name, kernel) in APPROXIMATE:
                    continue
                blocks = 1 if (name, kernel) == ("atomics", "global") else 2
                found = hashes(name, kernel, gpu.run(cubin, kernel, blocks))
                kernels.setdefault(name, {}).setdefault(kernel, {})[kind] = found
    date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    where = FOLDER / f"{gpu.name.split()[-1].lower()}_{date}.json"
    content = {"machine": gpu.name, "date": date, "kernels": kernels}
    where.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"Wrote {where.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
