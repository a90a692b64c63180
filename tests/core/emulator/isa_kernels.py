"""The kernels of tests/data/isa: each writes slots of 2 KiB, one element a thread."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from core.compiler.compile_ptx_and_cubin import BuildKind, compile_ptx
from core.compiler.nvrtc import include_folders
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from core.trace import Trace

FOLDER = Path(__file__).resolve().parents[2] / "data" / "isa"
SLOT, SLOTS = 2048, 64
HARDWARE = json.loads((FOLDER / "h200_2026-11-21.json").read_text())


def source(name: str) -> str:
    """A file's text with the common part put in."""
    common = (FOLDER / "common.cuh").read_text()
    return (FOLDER / f"{name}.cu").read_text().replace('#include "common.cuh"', common)


def needs_headers(name: str) -> bool:
    """Whether the file includes headers of CUDA that are not installed here."""
    included = any(
        word in source(name) for word in ("cuda_", "mma.h", "cooperative_groups", "cuda/")
    )
    return included and not include_folders()


def inputs() -> np.ndarray:
    with np.load(FOLDER / "inputs.npz") as saved:
        return np.asarray(saved["data"])


def run(name: str, kernel: str, kind: BuildKind) -> Trace:
    """One launch, as it was made on the hardware."""
    text = source(name)
    build = compile_ptx(
        text, source_name=f"{name}.cu", kind=kind, extra_options=("--device-int128",)
    )
    out = np.zeros(SLOT * SLOTS, np.uint8)
    blocks = 1 if (name, kernel) == ("atomics", "global") else 2
    launch = Launch(
        Dim3(blocks), Dim3(64),
        (ArrayArgument("in", inputs()), ArrayArgument("out", out, "inout")), 512,
    )  # fmt: skip
    workload = Workload(kernel, text, f"{name}.cu", kernel, launch)
    return record(workload, build=build, blocks=[0])


def slots(trace: Trace) -> np.ndarray:
    """What the kernel wrote: uint8 (slots, 2048)."""
    return trace.outputs["out"].reshape(SLOTS, SLOT)
