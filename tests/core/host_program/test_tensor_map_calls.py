"""Tensor maps that a file's own host code makes are guessed from it."""

import time
from pathlib import Path

import numpy as np
import pytest

from core.compiler.kernel_parameters import read_signature
from core.guessing.launch_guess import guess_launch
from core.host_program.scaled_down_launch import Given, KernelInHost
from core.recording.record_launch import record
from core.user_files.launch_texts import file_workload
from core.user_files.sources_and_headers import read_source

FOLDER = Path(__file__).parent / "maps"

# What differs between the two files: a pointer to the driver's function in `main`; and a templated
# helper that another one calls, which returns a pointer to the map in global memory.
FILES = ["tma_tile", "tma_pointer"]
IN, OUT = (f"tensormap({fill}float32[32,128], box=64x16)" for fill in ("", "zeros:"))


@pytest.mark.parametrize("file", FILES)
def test_maps_of_the_host_are_guessed_and_the_launch_is_clean(file):
    source = read_source(FOLDER / f"{file}.cu")
    launch = guess_launch(source, f"{file}.cu")
    assert dict(launch.arguments) == {"in": IN, "out": OUT}
    assert launch.grid == "2,2"
    workload = file_workload(source, launch)
    trace = record(workload)
    assert not trace.findings
    (given,) = (a.data for a in workload.launch.arguments if a.name == "in")
    assert np.array_equal(trace.outputs["out"], 2 * given)


KERNEL = """#include <cuda.h>
__global__ void k(const __grid_constant__ CUtensorMap a) { (void)threadIdx.x; (void)&a; }
"""
STEPS = "cuuint32_t s[] = {1, 1, 1};"
ENCODE = (
    "cuTensorMapEncodeTiled(%s, CU_TENSOR_MAP_DATA_TYPE_%s, %s, p, shape, strides, box, s,"
    " CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_%s, CU_TENSOR_MAP_L2_PROMOTION_NONE,"
    " CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);"
)
ARRAYS = "cuuint64_t shape[] = {64, 24}, strides[] = {128}; cuuint32_t box[] = {32, 8};"
ONE = ENCODE % ("&m", "FLOAT16", "2", "64B")
GUESSED = "tensormap(float16[24,64], box=32x8, swizzle=64B)"
HOSTS = {
    "in the launching function": (
        f"int main() {{ void *p; {ARRAYS} {STEPS} CUtensorMap m; {ONE} k<<<2, 32>>>(m); }}",
        GUESSED,
    ),
    "elements set one by one": (
        f"int main() {{ void *p; cuuint64_t shape[2], strides[1]; cuuint32_t box[2]; {STEPS}"
        " shape[0] = 8 * 8; shape[1] = 24; strides[0] = 2 * 64;"
        f" box[0] = 32; box[1] = 8; CUtensorMap m; {ONE} k<<<2, 32>>>(m); }}",
        GUESSED,
    ),
    "returned, its arrays passed": (
        "CUtensorMap make(void *p, const cuuint64_t *shape, const cuuint64_t *strides,"
        f" const cuuint32_t *sides) {{ const cuuint32_t *box; {STEPS} CUtensorMap m;"
        f" {ONE.replace('box', 'sides')} return m; }}\n"
        f"int main() {{ void *p; {ARRAYS} k<<<2, 32>>>(make(p, shape, strides, box)); }}",
        GUESSED,
    ),
    "a lambda, and by reference": (
        f"int main() {{ void *p; {ARRAYS} {STEPS} CUtensorMap map; auto make = [&](CUtensorMap &m,"
        f" int code) {{ {ONE} }}; make(map, 4); k<<<2, 32>>>(map); }}",
        GUESSED,
    ),
    "three dimensions of a matrix": (
        "int main() { void *p; int w = 40, h = 24; cuuint64_t shape[3] = {8, (uint64_t)h,"
        " uint64_t(w / 8)}; cuuint64_t strides[2] = {w * sizeof(half), 16}; cuuint32_t box[3]"
        f" = {{8, 8, 2}}; {STEPS} CUtensorMap m; {ENCODE % ('&m', 'BFLOAT16', '3', 'NONE')}"
        " k<<<2, 32>>>(m); }",
        "tensormap(bfloat16[24,40], box=8x8x2, sizes=8x24x5, strides=80x16)",
    ),
    "numbers from elsewhere": (
        "int main() { void *p; cuuint64_t shape[] = {read(), 24}, strides[] = {128}; cuuint32_t"
        f" box[] = {{32, 8}}; {STEPS} CUtensorMap m; {ONE} k<<<2, 32>>>(m); }}",
        None,
    ),
    "another map": (
        f"int main() {{ void *p; {ARRAYS} {STEPS} CUtensorMap m, n; {ONE} k<<<2, 32>>>(n); }}",
        None,
    ),
}


@pytest.mark.parametrize("case", HOSTS)
def test_ways_in_which_hosts_make_maps(case):
    host, expected = HOSTS[case]
    signature = read_signature(KERNEL, "k")
    found = KernelInHost(KERNEL + host, "k", signature, {}, {}, Given()).guess()
    assert found.maps.get("a") == expected


def test_helpers_that_only_call_themselves_end():
    calls = "make(m);" * 500
    host = f"void make(CUtensorMap *m) {{ {calls} }} // CU_TENSOR_MAP_\n"
    host += (
        "const int t = CU_TENSOR_MAP_X; int main() { CUtensorMap m; make(&m); k<<<2, 32>>>(m); }"
    )
    signature = read_signature(KERNEL, "k")
    start = time.process_time()
    assert not KernelInHost(KERNEL + host, "k", signature, {}, {}, Given()).guess().maps
    assert time.process_time() - start < 5
