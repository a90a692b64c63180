"""Counting one block of each kind gives what counting every block gives where functions are called.

Kernels are drawn at random: what depends on blockIdx goes through parameters, structures, results,
references and recursion, often in only some of the lanes, and ends in the index of a load.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from core.compiler.builds import compile_ptx
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.count_launch import Counted, count

BLOCKS, THREADS, LENGTH = 17, 48, 1 << 16

HEAD = """
struct Two { int a, b; };
struct Mixed { char c; long long d; int e; };
"""

# Each with the form of its arguments: i an integer, p a structure of two, m the mixed one.
FUNCTIONS = {
    "one": ("i", "int one(int a) { return {0} * a + {1}; }"),
    "sum": ("ii", "int sum(int a, int b) { return {0} * a + {1} * b; }"),
    "wide": ("ii", "long long wide(long long a, unsigned b) { return a + {0}u * b; }"),
    "over": ("ii", "unsigned over(unsigned a, unsigned b) { return a + b / {2}; }"),
    "pair": ("p", "int pair(int2 v) { return {0} * v.x + v.y; }"),
    "four": ("pp", "int four(int4 v) { return v.x + {0} * v.y + v.z + {1} * v.w; }"),
    "field": ("p", "int field(Two v) { return v.a + {1} * v.b; }"),
    "mixed": ("ii", "int mixed(Mixed v) { return v.c + (int)v.d + {0} * v.e; }"),
    "swap": ("ii", "Two swap(int a, int b) { Two v = {{b, {0} * a}}; return v; }"),
    "bump": ("ii", "void bump(int& to, int by) { to += {1} * by; }"),
    "deep": ("ii", "int deep(int n, int a) { return n < 1 ? a : {0} + deep(n - 1, a + {1}); }"),
    "either": ("ii", "int either(int a, int b) {{ if (threadIdx.x & {2}) return a; return b; }}"),
}


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = Random(f"calls {seed}")
        self.made: set[str] = set()

    def atom(self) -> str:
        return self.random.choice(
            ("t", "b", "b", "2 * b", "(t + b)", "7", str(self.random.randrange(40)), "v0", "v1")
        )

    def call(self, to: str) -> str:
        """A statement that gives the variable `to` a value by a call."""
        name = self.random.choice(list(FUNCTIONS))
        self.made.add(name)
        a, b = self.atom(), self.atom()
        c, d = self.atom(), self.atom()
        given = {
            "one": a, "pair": f"make_int2({a}, {b})", "four": f"make_int4({a}, {b}, {c}, {d})",
            "field": f"Two{{{a}, {b}}}", "deep": f"{self.random.randrange(4)}, {a}",
            "mixed": f"Mixed{{(char)({self.random.randrange(9)}), {a}, {b}}}",
        }.get(name, f"{a}, {b}")  # fmt: skip
        if name == "bump":
            return f"{to} = {a} + 1; bump({to}, {b});"
        return f"{to} = {name}({given}){'.' + self.random.choice('ab') if name == 'swap' else ''};"

    def statement(self) -> str:
        to = self.random.choice(("v0", "v1"))
        body = self.call(to)
        if self.random.random() < 0.4:
            odd = self.random.choice(("t & 1", "t < 20", "t % 3 == 1", "b > 5", "(t ^ b) & 1"))
            other = self.call(to) if self.random.random() < 0.6 else ""
            return f"if ({odd}) {{ {body} }}" + (f" else {{ {other} }}" if other else "")
        return body

    def kernel(self) -> str:
        lines = [self.statement() for _ in range(self.random.randint(1, 3))]
        place = self.random.choice(("v0 + v1", "v0 + t", "v1 + 2 * t", "v0"))
        functions = []
        for name in FUNCTIONS:
            if name in self.made:
                text = FUNCTIONS[name][1].replace("{{", "{").replace("}}", "}")
                for i in range(3):
                    text = text.replace(f"{{{i}}}", str(self.random.randint(2, 3 + i)))
                functions.append(f"__device__ __noinline__ {text}\n")
        body = "\n    ".join(lines)
        return (
            f"{HEAD}{''.join(functions)}"
            'extern "C" __global__ void calls(const float* x, float* y)\n{\n'
            "    int t = threadIdx.x, b = blockIdx.x, v0 = t, v1 = 3;\n"
            f"    {body}\n    y[b * blockDim.x + t] = x[({place}) % {LENGTH}];\n}}\n"
        )


def _workload(source: str, kernel: str = "calls") -> Workload:
    arguments = (
        ArrayArgument("x", np.zeros(LENGTH, np.float32)),
        ArrayArgument("y", np.zeros(BLOCKS * THREADS, np.float32), "output"),
    )
    launch = Launch(Dim3(BLOCKS), Dim3(THREADS), arguments)
    return Workload(kernel, source, "calls.cu", kernel, launch)


def _both(source: str, kind: str, kernel: str = "calls") -> tuple[Counted, Counted]:
    workload = _workload(source, kernel)
    return count(workload, kind=kind), count(workload, kind=kind, shortcut=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
def test_kinds_equal_every_block_in_random_kernels_with_calls(kind: str) -> None:
    followed = 0
    for seed in range(24):
        source = _Writer(seed).kernel()
        quick, full = _both(source, kind)
        assert quick.counters == full.counters, source
        followed += not quick.note
    assert followed >= 12  # the others say why every block was run


CASES = {
    "constant": ("__device__ __noinline__ int f(int a, int b) { return 3 * b + a; }",
                 "float s = x[f(t, b)]; s += x[f(t, 2)];"),
    "vector": ("__device__ __noinline__ int f(int2 v) { return 3 * v.y + v.x; }",
               "float s = x[f(make_int2(t, b))];"),
    "lanes": ("__device__ __noinline__ int f(int a, int b) { return 3 * b + a; }",
              "int j; if (t & 1) j = f(t, b); else j = f(t, 5); float s = x[j];"),
    "reference": ("__device__ __noinline__ void f(int& to, int a) { to = a; }",
                  "int j = 5 * b + t; if (t & 1) f(j, t + 40); float s = x[j];"),
    "heap": ("#define f", "int* p = (int*)malloc(4 * t + 4); p[t / 2] = t; float s = p[t / 2];"),
    "guarded": ("#define f", 'int j = 3 * b + t; asm volatile("{.reg .pred p; setp.gt.s32 p, %1,'
                ' 99; @p mov.b32 %0, 7;}" : "+r"(j) : "r"(t)); float s = x[j];'),
    "left": ("#define f", 'asm volatile("{.reg .pred p; setp.lt.s32 p, %0, 9; '
             '@p exit;}" :: "r"(t + 3 * b)); float s = x[t];'),
    "unsigned": ("#define f", "unsigned u = blockIdx.x; float s = x[u / 5 + t] + x[u % 7 + t];"),
    "unsigned_long": ("#define f", "unsigned long long u = b; float s = x[u / 5 * 3 + t];"),
}  # fmt: skip

# Every block is run: memory of its own each, or lanes of a warp that move by different steps.
ALONE = ("heap", "lanes", "reference")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("case", CASES)
def test_kinds_equal_every_block_in_each_way_to_pass(case: str, kind: str) -> None:
    function, body = CASES[case]
    source = (
        f'{function}\nextern "C" __global__ void calls(const float* x, float* y)\n'
        f"{{ int t = threadIdx.x, b = blockIdx.x; {body} y[b * blockDim.x + t] = s; }}\n"
    )
    quick, full = _both(source, kind)
    assert quick.counters == full.counters
    assert bool(quick.note) == (case in ALONE)


DATA_GUARD = """
extern "C" __global__ void calls(const float* x, float* y)
{
    int t = threadIdx.x, b = blockIdx.x;
    asm volatile("{.reg .pred p; setp.lt.f32 p, %0, 0f3F000000; @p exit;}" :: "f"(x[b]));
    y[b * blockDim.x + t] = 1;
}
"""


def test_a_guard_that_depends_on_data_is_seen() -> None:
    quick, full = _both(DATA_GUARD, "as_compiled")
    assert "the condition" in quick.note
    assert quick.counters == full.counters


REGISTERS = """
.version 8.0
.target sm_80
.address_size 64
.func (.reg .b32 back) half(.reg .b32 a, .reg .b32 b)
{
  add.s32 back, a, b;
  ret;
}
.visible .entry calls(.param .u64 calls_param_0, .param .u64 calls_param_1)
{
  .reg .b32 %t, %b, %h, %n, %i;
  .reg .b64 %x, %y, %o;
  .reg .f32 %f;
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  mov.u32 %n, %ntid.x;
  ld.param.u64 %x, [calls_param_0];
  ld.param.u64 %y, [calls_param_1];
  call (%h), half, (%t, %b);
  call (%h), half, (%h, 3);
  mul.wide.s32 %o, %h, 4;
  add.s64 %x, %x, %o;
  ld.global.f32 %f, [%x];
  mad.lo.s32 %i, %b, %n, %t;
  mul.wide.s32 %o, %i, 4;
  add.s64 %y, %y, %o;
  st.global.f32 [%y], %f;
  ret;
}
"""


def test_parameters_and_results_that_are_registers() -> None:
    build = replace(compile_ptx(_PLAIN, kernel="calls"), ptx=REGISTERS)
    workload = _workload(_PLAIN)
    quick, full = count(workload, build=build), count(workload, build=build, shortcut=False)
    assert not quick.note
    assert quick.counters == full.counters
    # Block b reads 48 floats from float b + 3: two requests of 32 and 16 floats.
    sectors = sum(_spanned(b + 3, 32) + _spanned(b + 35, 16) for b in range(BLOCKS))
    assert quick.counters.totals["global_ld_sectors"].value == sectors


_PLAIN = 'extern "C" __global__ void calls(const float* x, float* y) {}'


def _spanned(first: int, floats: int) -> int:
    return (first + floats - 1) // 8 - first // 8 + 1
