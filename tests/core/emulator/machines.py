"""What the emulator's tests share: a PTX instruction or a CUDA kernel in, arrays or a trace out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.geometry import Geometry
from core.emulator.launch_image import Image
from core.emulator.machine import Limits, Machine
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.ptx.parser import parse
from core.ptx.types import TYPES
from core.recording.record_launch import record
from core.trace import Trace

HEADER = ".version 8.3\n.target sm_90\n.address_size 64\n"
ONE, WARP, LIMITS = Dim3(1), Dim3(32), Limits()
NO_DEFINES: Mapping[str, str] = MappingProxyType({})


def run_ptx(
    ptx: str,
    arrays: Sequence[NDArray[Any]],
    *,
    grid: Dim3 = ONE,
    block: Dim3 = WARP,
    kernel: str = "k",
    limits: Limits = LIMITS,
) -> list[NDArray[Any]]:
    """Runs a kernel whose parameters are pointers; returns the arrays' final contents."""
    arguments = tuple(ArrayArgument(f"a{i}", array, "inout") for i, array in enumerate(arrays))
    image = Image(parse(ptx), kernel, Launch(grid, block, arguments))
    blocks = np.arange(grid.count, dtype=np.int64)
    Machine(image, Geometry(grid, block, blocks), limits=limits).run()
    return [
        image.buffers[a.name].data[: a.data.nbytes].copy().view(a.data.dtype).reshape(a.data.shape)
        for a in arguments
    ]


def evaluate(code: str, results: str | Sequence[str], **operands: tuple[str, Any]) -> Any:
    """Executes PTX `code` once for every element of its operands.

    In `code` every `{name}` is a register: the keywords name the sources, each with a PTX type and
    the values; `{d}` (and `{e}`, `{f}`, … for further results) are the destinations, of the types
    in `results`. Predicates `%p1` to `%p4` and `%r1` to `%r4` are free. Returns an array for each.
    """
    names = [results] if isinstance(results, str) else list(results)
    arrays = [_array(TYPES[t].dtype, v) for t, v in operands.values()]
    count = max((len(a) for a in arrays), default=32)
    arrays = [np.ascontiguousarray(np.broadcast_to(a, count)) for a in arrays]
    letters = "defgh"[: len(names)]
    outputs = [np.full(count, 0x55, "u1").astype(TYPES[t].dtype) for t in names]
    registers = {
        **{n: t for n, (t, _) in operands.items()},
        **dict(zip(letters, names, strict=True)),
    }
    lines = [HEADER, ".visible .entry k("]
    total = len(arrays) + len(outputs)
    lines.append(", ".join(f".param .u64 p{i}" for i in range(total)) + ")\n{")
    lines.append(".reg .pred %p<5>; .reg .b32 %r<5>; .reg .b64 %q<8>; .reg .pred %in;")
    lines.append(".reg .b32 %i<4>;")
    for name, kind in registers.items():
        lines.append(f".reg .b{max(TYPES[kind].bits, 16)} %v_{name};")
    lines.append("mov.u32 %i0, %ctaid.x; mov.u32 %i1, %ntid.x; mov.u32 %i2, %tid.x;")
    lines.append(f"mad.lo.s32 %i3, %i0, %i1, %i2; setp.lt.s32 %in, %i3, {count};")
    lines.append("@!%in bra DONE;")
    for i, (name, (kind, _)) in enumerate(operands.items()):
        lines.append(_place(i, TYPES[kind].nbytes))
        lines.append(f"ld.global.b{8 * TYPES[kind].nbytes} %v_{name}, [%q1];")
    lines.append(code.format(**{name: f"%v_{name}" for name in registers}))
    for i, (letter, kind) in enumerate(zip(letters, names, strict=True), len(arrays)):
        lines.append(_place(i, TYPES[kind].nbytes))
        lines.append(f"st.global.b{8 * TYPES[kind].nbytes} [%q1], %v_{letter};")
    lines.append("DONE: ret;\n}")
    block = Dim3(min(-(-count // 32) * 32, 256))
    grid = Dim3(-(-count // block.x))
    final = run_ptx("\n".join(lines), [*arrays, *outputs], grid=grid, block=block)[len(arrays) :]
    return final[0] if isinstance(results, str) else tuple(final)


def _array(dtype: np.dtype[Any], values: Any) -> NDArray[Any]:
    """The values as `dtype`; Python integers are taken modulo its width."""
    if not isinstance(values, list) or dtype.kind == "f":
        return np.atleast_1d(np.asarray(values)).astype(dtype)
    bits = [v & ((1 << 8 * dtype.itemsize) - 1) for v in values]
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)


def _place(parameter: int, nbytes: int) -> str:
    return (
        f"ld.param.u64 %q0, [p{parameter}]; mul.wide.u32 %q1, %i3, {nbytes};add.s64 %q1, %q0, %q1;"
    )


def workload(
    source: str,
    arguments: Mapping[str, Any],
    *,
    grid: Dim3 | int = 1,
    block: Dim3 | int = 32,
    kernel: str = "k",
    defines: Mapping[str, str] = NO_DEFINES,
    shared_bytes: int = 0,
) -> Workload:
    """A launch of a CUDA kernel. Arrays are passed as buffers, NumPy scalars by value."""
    made = tuple(
        ArrayArgument(name, value, "inout")
        if isinstance(value, np.ndarray)
        else ScalarArgument(name, value)
        for name, value in arguments.items()
    )
    grid = Dim3(grid) if isinstance(grid, int) else grid
    block = Dim3(block) if isinstance(block, int) else block
    launch = Launch(grid, block, made, shared_bytes)
    return Workload(kernel, source, "test.cu", kernel, launch, defines)


def trace_of(
    source: str,
    arguments: Mapping[str, Any],
    *,
    grid: Dim3 | int = 1,
    block: Dim3 | int = 32,
    kernel: str = "k",
    defines: Mapping[str, str] = NO_DEFINES,
    shared_bytes: int = 0,
    **options: Any,
) -> Trace:
    """Records the launch of a CUDA kernel."""
    made = workload(
        source, arguments, grid=grid, block=block, kernel=kernel, defines=defines,
        shared_bytes=shared_bytes,
    )  # fmt: skip
    return record(made, **options)


def line_of(source: str, text: str) -> int:
    """The 1-based line of the only line of `source` that contains `text`."""
    found = [i for i, line in enumerate(source.splitlines(), 1) if text in line]
    assert len(found) == 1, (text, found)
    return found[0]
