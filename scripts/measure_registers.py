"""How fast an SM reads registers: streams of FFMA with chosen registers, timed on a GPU.

    python scripts/measure_registers.py streams FOLDER    make the cubins (needs NVRTC, no GPU)
    python scripts/measure_registers.py run FOLDER        time them (needs PyCUDA)
    python scripts/measure_registers.py write FOLDER      put what was found into the tests' data

No source can say which registers an FFMA reads, so machine code is patched: a kernel with a loop of
FFMA is compiled, and its instructions are overwritten (`register_streams.py`). What they compute
means nothing; clocks are counted on the GPU itself: no other clock matters.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
import numpy as np
from register_streams import BODY, Pool, packed, patched, streams

from core.compiler import nvrtc
from core.compiler.compile_ptx_and_cubin import compile_cubin

DATA = ROOT / "tests" / "data" / "registers_h200.json"
ROUNDS = 400
WARPS = (4, 8, 16)  # of the one block that an SM runs: 1, 2 and 4 on each scheduler
KEPT = 96  # values that the kernel keeps in registers, so that it is given enough of them
SOURCE = f"""
extern "C" __global__ void __launch_bounds__(512, 1) stream(float* x, long long* clocks, int rounds)
{{
    float kept[{KEPT}];
    #pragma unroll
    for (int i = 0; i < {KEPT}; i++) kept[i] = x[threadIdx.x + 512 * i];
    __syncthreads();
    long long begin = clock64();
    #pragma unroll 1
    for (int round = 0; round < rounds; round++)
        #pragma unroll
        for (int i = 0; i < {BODY}; i++)
            kept[i % {KEPT}] = fmaf(kept[(i + 1) % {KEPT}], kept[(i * 7 + 3) % {KEPT}], kept[i % {KEPT}]);
    long long end = clock64();
    #pragma unroll
    for (int i = 0; i < {KEPT}; i++) x[threadIdx.x + 512 * i] = kept[i];
    if (threadIdx.x % 32 == 0) {{
        clocks[threadIdx.x / 32 + 32 * blockIdx.x] = begin;
        clocks[threadIdx.x / 32 + 16 + 32 * blockIdx.x] = end;
    }}
}}
"""  # noqa: E501


def make(folder: Path) -> None:
    """Writes streams.pickle."""
    image = compile_cubin(SOURCE, source_name="stream.cu")
    pool = Pool(image)
    made = {name: (stream, patched(image, stream)) for name, stream in streams(pool)}
    folder.mkdir(parents=True, exist_ok=True)
    content = {"nvrtc": nvrtc.version(), "streams": made}
    (folder / "streams.pickle").write_bytes(pickle.dumps(content))
    print(f"{len(made)} streams; registers {pool.by_rest}")


def measure(folder: Path) -> None:
    """Times every stream; writes registers.json."""
    content = pickle.loads((folder / "streams.pickle").read_bytes())
    found: dict[str, Any] = {**tools.machine(), "nvrtc": content["nvrtc"], "body": BODY}
    rows = []
    with tools.device() as cuda:
        sms = cuda.Context.get_device().get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
        values = cuda.to_device(np.random.default_rng(3).random(512 * KEPT, np.float32))
        clocks = cuda.mem_alloc(8 * 32 * sms)
        for name, (stream, image) in content["streams"].items():
            function = cuda.module_from_buffer(image).get_function("stream")
            row: dict[str, Any] = {"stream": name, "clocks": {}}
            for warps in WARPS:
                for _ in range(2):
                    function(values, clocks, np.int32(ROUNDS), grid=(sms, 1, 1),
                             block=(32 * warps, 1, 1))  # fmt: skip
                cuda.Context.synchronize()
                taken = np.empty((sms, 2, 16), np.int64)
                cuda.memcpy_dtoh(taken, clocks)
                begin, end = taken[:, 0, :warps], taken[:, 1, :warps]
                all_of_them = np.median(end.max(axis=1) - begin.min(axis=1))
                each = all_of_them / (ROUNDS * BODY * warps / 4)
                row["clocks"][str(warps)] = round(float(each), 4)
            row["factors"] = packed(stream)
            rows.append(row)
            print(name, row["clocks"], flush=True)
            found["rows"] = rows
            (folder / "registers.json").write_text(json.dumps(found), encoding="utf-8")


def write(folder: Path) -> None:
    """Makes registers.json a file of the tests' data."""
    found = json.loads((folder / "registers.json").read_text(encoding="utf-8"))
    rows = ",\n  ".join(json.dumps(row) for row in found.pop("rows"))
    head = json.dumps(found, indent=1)[:-2]
    DATA.write_text(f'{head},\n "rows": [\n  {rows}\n ]\n}}\n', encoding="utf-8")
    print(f"Wrote {DATA.relative_to(ROOT)}.")


def main() -> None:
    """Reads the command line and does one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("streams", "run", "write"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    {"streams": make, "run": measure, "write": write}[options.step](options.folder)


if __name__ == "__main__":
    main()
