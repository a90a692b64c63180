"""Runs every form of `wgmma` and of bulk copies on a Hopper GPU, and keeps what came of it.

`python scripts/record_hopper.py run OUT.npz` writes the bytes of all outputs, and hashes of them to
tests/data/hopper/<gpu>_<date>.json. `python scripts/record_hopper.py count OUT.csv` runs the same
under Nsight Compute (`ncu`) and writes what its counters say, a row a launch and counter. It needs
NVRTC and an NVIDIA driver, which is called through ctypes.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from multiprocessing import Pipe, Pool, Process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from core.compiler.compile_request import compile_request
from core.compiler.requests_and_answers import Request
from core.launch import ArrayArgument, packed
from core.tensor_maps import encoded
from tests.hopper_forms import ARCHITECTURE, Form, forms

FOLDER = ROOT / "tests" / "data" / "hopper"
# Counters of copies, of matrix products, and of the memories that they use.
COUNTERS = (
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_gmma",
    "l1tex__lsuin_requests_op_gmma",
    "sm__inst_executed_pipe_tensor_op_gmma",
    "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld",
    "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st",
    "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_red",
    "smsp__sass_inst_executed_op_shared_st",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st",
    "l1tex__tmain_requests",
    "l1tex__data_bank_reads",
    "l1tex__data_bank_writes",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared",
    "l1tex__data_pipe_lsu_wavefronts",
    "lts__t_sectors_op_read",
    "lts__t_sectors_op_write",
)


class Gpu:
    """The first GPU, through the driver API."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.check(self.cuda.cuInit(0))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self.cuda.cuDeviceGet(ctypes.byref(device), 0))
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.check(self.cuda.cuCtxSetCurrent(context))
        name = ctypes.create_string_buffer(100)
        self.cuda.cuDeviceGetName(name, 100, device)
        self.name = name.value.decode()

    @staticmethod
    def check(status: int) -> None:
        """Raises where the driver has failed."""
        if status:
            raise RuntimeError(f"The CUDA driver failed with status {status}.")

    def run(self, form: Form, cubin: bytes) -> dict[str, np.ndarray[Any, Any]]:
        """Launches a form once; its outputs' bytes by name."""
        work, cuda = form.workload, self.cuda
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(cuda.cuModuleLoadData(ctypes.byref(module), cubin))
        self.check(cuda.cuModuleGetFunction(ctypes.byref(function), module, work.kernel.encode()))
        dynamic = ctypes.c_int(work.launch.shared_bytes)
        self.check(cuda.cuFuncSetAttribute(function, 8, dynamic))
        buffers: dict[str, ctypes.c_uint64] = {}
        for array in work.launch.arrays:
            buffer = buffers[array.name] = ctypes.c_uint64()
            size = ctypes.c_size_t(array.data.nbytes)
            self.check(cuda.cuMemAlloc_v2(ctypes.byref(buffer), size))
            self.check(cuda.cuMemcpyHtoD_v2(buffer, array.data.tobytes(), size))

        def address(array: ArrayArgument) -> int:
            return int(buffers[array.name].value)

        kept, pointers = [], []
        for group in work.launch.parameters:
            raw = packed(group, address, lambda what: encoded(cuda, what))
            store = (ctypes.c_byte * (len(raw) + 64))()
            start = -(-ctypes.addressof(store) // 64) * 64
            ctypes.memmove(start, raw, len(raw))
            kept.append(store)
            pointers.append(ctypes.c_void_p(start))
        grid, block = work.launch.grid, work.launch.block
        self.check(
            cuda.cuLaunchKernel(
                function, grid.x, grid.y, grid.z, block.x, block.y, block.z, dynamic, None,
                (ctypes.c_void_p * len(pointers))(*pointers), None,
            )
        )  # fmt: skip
        self.check(cuda.cuCtxSynchronize())
        found = {}
        for array in work.launch.arrays:
            result = np.zeros(array.data.nbytes, np.uint8)
            size = ctypes.c_size_t(result.nbytes)
            to = ctypes.c_void_p(result.ctypes.data)
            self.check(cuda.cuMemcpyDtoH_v2(to, buffers[array.name], size))
            if array.name in form.outputs:
                found[array.name] = result
            self.check(cuda.cuMemFree_v2(buffers[array.name]))
        self.check(cuda.cuModuleUnload(module))
        return found


def chosen(only: str, first: int, count: int | None) -> Iterator[Form]:
    """The forms whose names hold a pattern, some of them."""
    matching = (form for form in forms() if re.search(only, form.name))
    return islice(matching, first, None if count is None else first + count)


def compiled(source: str) -> bytes:
    """The machine code of a kernel."""
    options = (f"--gpu-architecture=sm_{ARCHITECTURE}",)
    return compile_request(Request(source, "k.cu", (), options, "CUBIN", "", ())).image


def worker(some: Sequence[Form], cubins: Sequence[bytes], pipe: Connection) -> None:
    """In a process of its own: runs forms until one fails, which ends a context."""
    gpu = Gpu()
    pipe.send((gpu.name, None))
    for form, cubin in zip(some, cubins, strict=True):
        try:
            pipe.send((form.name, gpu.run(form, cubin)))
        except RuntimeError as error:
            pipe.send((form.name, str(error)))
            return


def run(some: Sequence[Form], out: Path | None) -> None:
    """Runs forms; writes their outputs and hashes."""
    with Pool() as pool:
        cubins = pool.map(compiled, [form.workload.source for form in some], 1)
    machine, kept, hashes, done = "", {}, {}, 0
    while done < len(some):
        here, there = Pipe(duplex=False)
        process = Process(target=worker, args=(some[done:], cubins[done:], there))
        process.start()
        there.close()
        begun = done
        while True:
            try:
                name, found = here.recv()
            except EOFError:
                break
            if found is None:
                machine = name
                continue
            done += 1
            print(f"{name}: {found}" if isinstance(found, str) else name, flush=True)
            if not isinstance(found, str):
                kept.update({f"{name}/{array}": raw for array, raw in found.items()})
                hashes[name] = {
                    array: hashlib.sha256(raw.tobytes()).hexdigest()[:16]
                    for array, raw in found.items()
                }
        process.join()
        if done == begun:
            print(f"{some[done].name}: no answer", flush=True)
            done += 1
    if out is None:
        return
    np.savez_compressed(out, allow_pickle=False, **kept)
    date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    FOLDER.mkdir(parents=True, exist_ok=True)
    where = FOLDER / f"{machine.split()[-1].lower()}_{date}.json"
    content = {"machine": machine, "date": date, "forms": hashes}
    where.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"Wrote {where.relative_to(ROOT)}.")


def count(out: Path, only: str) -> None:
    """Runs the forms under Nsight Compute."""
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    metrics = ",".join(f"{name}.sum" for name in COUNTERS)
    done = subprocess.run(
        [
            ncu, "--csv", "--page", "raw", "--metrics", metrics, "--target-processes", "all",
            sys.executable, __file__, "run", "-", "--only", only,
        ],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    out.write_text(done.stdout, encoding="utf-8")
    print(done.stderr[-2000:])


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["run", "count"])
    parser.add_argument("out", help="the file to write; - for none")
    parser.add_argument("--only", default="", help="forms whose names match this")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=None)
    given = parser.parse_args()
    if given.what == "count":
        count(Path(given.out), given.only)
    else:
        out = None if given.out == "-" else Path(given.out)
        run(list(chosen(given.only, given.first, given.count)), out)


if __name__ == "__main__":
    main()
