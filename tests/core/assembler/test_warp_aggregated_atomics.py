"""Atomics that one lane does for its warp, as the machine code has them (NVRTC 13.5, 9.0)."""

from __future__ import annotations

import pytest

from core.assembler.assembled_module import module_of
from core.compiler.compile_ptx_and_cubin import compile_ptx

# Statements of a kernel with s in shared and o in global memory, and who does the atomic.
CASES = {
    "atomicAdd(&s[1], i)": "any",
    "atomicAdd(&s[1], 1)": "",  # the lanes are counted, all the same (`POPC.INC`)
    "q = atomicAdd(&s[1], 3)": "any",
    "q = atomicAdd(&s[1], i)": "whole",
    "atomicMax(&s[1], i)": "any",
    "q = atomicMax(&s[1], i)": "",
    "atomicXor(&s[1 + n], i)": "any",
    "atomicExch(&s[1], i)": "",
    "atomicAdd(&s[i], 2)": "",
    "atomicAdd(o + 1, 1)": "any",
    "atomicAdd(o + blockIdx.x, i)": "any",
    "atomicAdd(o + i / 32, 1)": "",
    "atomicAdd((float *)o, 1.f)": "",
    "if (o[i + 64] > 2) atomicAdd(o, i)": "any",
    "atomicAdd((unsigned long long *)s, 2ull)": "any",
    "atomicAdd((unsigned long long *)s, (unsigned long long)i)": "",
}


@pytest.mark.parametrize("statement", CASES)
def test_one_lane_does_an_atomic_of_one_element(statement) -> None:
    source = f"""extern "C" __global__ void k(int *o, int n) {{
  __shared__ __align__(8) int s[64]; int i = threadIdx.x, q = 0; s[i] = i; __syncthreads();
  {statement}; __syncthreads(); o[i] = s[i] + q; }}"""
    build = compile_ptx(source, kind="as_compiled")
    [found] = [i.led for i in module_of(build, "k").instructions if i.opcode in ("atom", "red")]
    assert found == CASES[statement]
