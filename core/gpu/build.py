"""Machine code for a device: a workload compiled by NVRTC for what the device runs."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from core.cuda.compiler import compile_kernel
from core.errors import GpuUnavailable
from core.launch import Workload


@dataclass(frozen=True)
class Built:
    """A cubin and its kernel's name in it. `architecture` is what it was compiled for ("sm_90")."""

    cubin: bytes
    entry: str
    architecture: str
    compiler: str  # NVRTC's version, "13.0"
    notes: tuple[str, ...]


def build_for(workload: Workload, capability: tuple[int, int]) -> Built:
    """Compiles a workload; notes say where it is not for the device's own compute capability.

    Raises CompileError, and GpuUnavailable where NVRTC makes nothing that the device runs.
    """
    status, *answer = _nvrtc().nvrtcGetSupportedArchs()
    known = [int(number) for number in answer[-1]] if answer and not int(status) else []
    chosen = nearest_architecture(capability, known) if known else capability
    cubin, entry = compile_kernel(
        workload.source,
        workload.kernel,
        source_name=workload.source_name,
        defines=workload.defines,
        compute_capability=chosen,
        headers=workload.headers,
    )
    notes: tuple[str, ...] = ()
    if chosen != capability:
        notes = (
            f"NVRTC does not know compute capability {capability[0]}.{capability[1]}; "
            f"compiled for {chosen[0]}.{chosen[1]} instead.",
        )
    return Built(
        cubin=cubin,
        entry=entry,
        architecture=f"sm_{chosen[0]}{chosen[1]}",
        compiler=".".join(str(int(part)) for part in _nvrtc().nvrtcVersion()[1:]),
        notes=notes,
    )


def _nvrtc() -> Any:
    return importlib.import_module("cuda.bindings.nvrtc")


def nearest_architecture(capability: tuple[int, int], supported: list[int]) -> tuple[int, int]:
    """The newest architecture NVRTC knows whose machine code this device runs.

    Machine code runs on the same major revision with an equal or higher minor one (CUDA C++
    Programming Guide, Binary Compatibility). `supported` is NVRTC's list, 90 for 9.0; raises
    GpuUnavailable where none fits.
    """
    known = [divmod(number, 10) for number in supported]
    fitting = [c for c in known if c[0] == capability[0] and c[1] <= capability[1]]
    if not fitting:
        there = ", ".join(f"{major}.{minor}" for major, minor in sorted(known))
        raise GpuUnavailable(
            f"The installed NVRTC makes no machine code for compute capability "
            f"{capability[0]}.{capability[1]} (it knows {there}): install another version of "
            "nvidia-cuda-nvrtc."
        )
    return max(fitting)
