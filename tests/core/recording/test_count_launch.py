"""Counting one block of each kind gives what counting every block gives, or says that it cannot.

Where functions are called, kernels are drawn at random: what depends on blockIdx goes through
parameters, structures, results, references and recursion, often in only some of the lanes, and ends
in the index of a load.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.errors import ParameterError
from core.ladder import Parameter, Rung, load_ladder
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.count_launch import Counted, count

LADDER = load_ladder()

# Sizes at which blocks straddle the edge, rows start in the middle of a line, and tiles are odd.
AWKWARD = [
    ("vector_add", {"n": 1000}),
    ("vector_add", {"n": 1, "block_x": 32}),
    ("uncoalesced", {"n": 70, "tile": 16}),
    ("uncoalesced", {"n": 33, "block_x": 7, "block_y": 5}),
    ("coalesced", {"n": 100, "tile": 16}),
    ("coalesced", {"n": 31, "block_x": 7, "block_y": 3}),
    ("tiled", {"n": 96, "tile": 16}),
    ("tiled", {"n": 35, "tile": 5}),
    ("tiled_bounds", {"n": 37, "tile": 16}),
    ("tiled_bounds", {"n": 51, "tile": 5}),
    ("tiled_rect", {"m": 50, "n": 70, "k": 33, "tile": 8}),
    ("tiled_rect", {"m": 1, "n": 65, "k": 3, "tile": 32}),
    ("aat_strided", {"n": 75, "tile": 32}),
    ("aat_shared", {"n": 80, "tile": 5}),
    ("aat_padded", {"n": 64, "tile": 32}),
]


SIZES = (0, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 24, 31, 32, 33, 40, 50, 64, 70, 96, 100, 129, 300)


def drawn(rung: Rung, seed: int) -> dict[str, int]:
    """Parameters that the rung accepts, of several blocks and soon run, most of them awkward."""
    random = Random(f"{rung.name} {seed}")
    for _ in range(5000):
        parameters = {p.name: drawn_value(p, random) for p in rung.parameters}
        try:
            workload = rung.blank_workload(**parameters)
        except ParameterError:
            continue
        threads = workload.launch.grid.count * workload.launch.block.count
        flops = 1e6 if rung.number < 30 else 4e5
        if workload.launch.grid.count > 1 and threads < 20_000 and (workload.flops or 0) < flops:
            return parameters
    raise AssertionError(f"{rung.name}: no parameters found")


def drawn_value(parameter: Parameter, random: Random) -> int:
    """Any awkward size; of what belongs together, such as tiles and warps, mostly the default."""
    if parameter.choices is not None and random.random() < 0.6:
        return parameter.default
    return random.choice([s for s in SIZES if parameter.minimum <= s <= parameter.maximum])


# These put blocks into groups of rows, by quotients and remainders of blockIdx.
REGROUPED = {"tuned", "tensor_tuned", "tensor_half"}
NOT_FOLLOWED = {
    "wgmma",
    "tma_pipeline",
    "warp_specialised",
    "clustered",
    "clustered_tf32",
}  # what waits for copies
DRAWS = [
    (name, i)
    for name in LADDER.names
    for i in range(2 if LADDER[name].number < 30 or name in REGROUPED else 1)
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), DRAWS)
def test_kinds_equal_every_block_on_every_rung(name: str, seed: int) -> None:
    parameters = drawn(LADDER[name], seed)
    workload = LADDER[name].workload(**parameters)
    quick, full = count(workload), count(workload, shortcut=False)
    assert bool(quick.kinds) == (not quick.note)  # it says so where it ran every block
    assert quick.kinds or LADDER[name].group == "broken" or name in NOT_FOLLOWED
    assert quick.counters == full.counters, parameters


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameters"), AWKWARD)
def test_kinds_equal_every_block(name: str, parameters: dict[str, int]) -> None:
    workload = LADDER[name].workload(**parameters)
    quick, full = count(workload), count(workload, shortcut=False)
    assert not quick.note
    assert sum(kind.count for kind in quick.kinds) == workload.launch.grid.count
    assert quick.counters == full.counters


@pytest.mark.slow
def test_kinds_are_few_where_blocks_are_many() -> None:
    counted = count(LADDER["tiled"].blank_workload(n=2048, tile=32))
    assert [kind.count for kind in counted.kinds] == [64 * 64]
    # Each of the 64 x 64 blocks loads two tiles of 32 rows (32 requests of 4 sectors) in 64 phases.
    assert counted.counters.totals["global_ld_sectors"].value == 64**2 * 64 * 2 * 32 * 4


REGROUP = """
extern "C" __global__ void regroup(const float* A, float* B, int n, int width, int group)
{
    int number = blockIdx.y * gridDim.x + blockIdx.x;
    int first = number / (group * gridDim.x) * group;
    int height = min(group, (int)gridDim.y - first);
    int row = first + number % (group * gridDim.x) % height;
    int col = (number % (group * gridDim.x) / height) ^ 1;
    int x = min((int)(col * blockDim.x + threadIdx.x), width - 1);
    float sum = 0;
    for (int i = 0; i <= row % 3; i++)
        sum += A[min(row + i, n - 1) * width + x];
    if (row < n && col * blockDim.x + threadIdx.x < width)
        B[row * width + x] = sum;
}
extern "C" __global__ void regroup_unsigned(
    const float* A, float* B, unsigned n, unsigned width, unsigned group)
{
    unsigned number = blockIdx.y * gridDim.x + blockIdx.x;
    unsigned first = number / (group * gridDim.x) * group;
    unsigned row = first + number % (group * gridDim.x) % min(group, gridDim.y - first);
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = A[number / 5 + threadIdx.x % 64] + A[number % 3 * 11 + threadIdx.x % 64];
    if (row < n && x < width)
        B[row * width + x] = sum + A[row * width + x];
}
extern "C" __global__ void linear(const float* A, float* B, int n, int width, int group)
{
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    int row = i / width, col = i % width;
    if (row < n)
        B[i] = A[col * n + row];
}
"""


def _regroup(kernel: str, n: int, width: int, group: int, threads: int) -> Workload:
    arguments = (
        ArrayArgument("A", np.arange(n * width, dtype=np.float32)),
        ArrayArgument("B", np.zeros(n * width, np.float32), "output"),
        *(ScalarArgument(k, np.int32(v)) for k, v in
          (("n", n), ("width", width), ("group", group))),
    )  # fmt: skip
    grid = Dim3(-(-width // threads) + (-(-width // threads)) % 2, n)
    launch = Launch(grid, Dim3(threads), arguments)
    return Workload(kernel, REGROUP, "regroup.cu", kernel, launch)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize(
    ("n", "width", "group", "threads"),
    [(7, 100, 3, 32), (13, 96, 4, 32), (9, 70, 2, 64), (5, 333, 5, 48), (1, 65, 8, 32)],
)
@pytest.mark.parametrize("kernel", ["regroup", "regroup_unsigned"])
def test_blocks_that_are_regrouped_are_followed(kernel, n, width, group, threads, kind) -> None:
    workload = _regroup(kernel, n, width, group, threads)
    quick, full = count(workload, kind=kind), count(workload, kind=kind, shortcut=False)
    assert not quick.note
    fewest = 1 if kernel == "regroup_unsigned" else 2
    assert fewest <= len(quick.kinds) < workload.launch.grid.count or n == 1
    assert sum(kind.count for kind in quick.kinds) == workload.launch.grid.count
    assert quick.counters == full.counters


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize(("width", "followed"), [(128, True), (100, False)])
def test_rows_of_a_linear_index_are_followed_where_a_block_lies_in_one(
    width, followed, kind
) -> None:
    workload = _regroup("linear", 6, width, 1, 64)
    quick, full = count(workload, kind=kind), count(workload, kind=kind, shortcut=False)
    assert bool(quick.kinds) == followed
    assert ("not a fixed step from block to block" in quick.note) == (not followed)
    assert quick.counters == full.counters


ATOMICS = """
extern "C" __global__ void spread(int* cells, int apart, int step)
{
    int place = blockIdx.x * step + threadIdx.x * apart;
    atomicAdd(&cells[place], 1);
    atomicAdd(&cells[place / 2], 1);
}
"""


@pytest.mark.parametrize(("apart", "step"), [(5, 32), (13, 24), (1, 16), (40, 500)])
def test_atomics_are_counted_at_each_blocks_place(apart, step) -> None:
    blocks = 150
    cells = ArrayArgument("cells", np.zeros(blocks * step + 32 * apart, np.int32), "inout")
    scalars = (ScalarArgument("apart", np.int32(apart)), ScalarArgument("step", np.int32(step)))
    launch = Launch(Dim3(blocks), Dim3(32), (cells, *scalars))
    workload = Workload("spread", ATOMICS, "spread.cu", "spread", launch)
    quick, full = count(workload), count(workload, shortcut=False)
    assert [kind.count for kind in quick.kinds] == [blocks]
    assert quick.counters == full.counters


GATHER = """
extern "C" __global__ void gather(const float* A, const int* index, float* C, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        C[i] = A[index[i]];
}
extern "C" __global__ void collatz(const float* A, const int* index, float* C, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int steps = 0;
    for (int value = i < n ? index[i] : 1; value > 1; steps++)
        value = value % 2 ? 3 * value + 1 : value / 2;
    if (i < n)
        C[i] = steps;
}
extern "C" __global__ void histogram(const float* A, const int* index, float* C, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&C[index[i] % 16], A[i]);
}
"""


def _user_workload(kernel: str, n: int) -> Workload:
    generator = np.random.default_rng(3)
    arguments = (
        ArrayArgument("A", generator.random(n, dtype=np.float32)),
        ArrayArgument("index", generator.integers(0, n, n, dtype=np.int32)),
        ArrayArgument("C", np.full(n, np.nan, np.float32), "output"),
        ScalarArgument("n", np.int32(n)),
    )
    launch = Launch(Dim3(-(-n // 64)), Dim3(64), arguments)
    return Workload(kernel, GATHER, "gather.cu", kernel, launch)


@pytest.mark.parametrize(("kernel", "what"), [("gather", "an address"), ("collatz", "condition")])
def test_data_decides_so_every_block_is_run(kernel: str, what: str) -> None:
    workload = _user_workload(kernel, 300)
    counted, full = count(workload), count(workload, shortcut=False)
    assert counted.note.startswith("Every block was run: ")
    assert what in counted.note
    assert not counted.kinds
    assert counted.counters == full.counters


def test_an_address_within_cuda_s_own_headers_has_no_line() -> None:
    note = count(_user_workload("histogram", 300)).note
    assert note == "Every block was run: an address depends on a value loaded from memory."


BY_REFERENCE = """
__device__ __noinline__ void next(const float*& at, int& left)
{
    at += 32;
    left -= 1;
}
extern "C" __global__ void walk(const float* A, float* C, int n)
{
    const float* at = A + blockIdx.x * 64 + threadIdx.x;
    int left = n;
    float value = 0.0f;
    while (left > 0) {
        value += *at;
        next(at, left);
    }
    C[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
"""


def test_pointers_in_local_memory_are_followed() -> None:
    """A debug build keeps on the stack what is passed by reference."""
    generator = np.random.default_rng(5)
    arguments = (
        ArrayArgument("A", generator.random(9 * 64 + 7 * 32, dtype=np.float32)),
        ArrayArgument("C", np.zeros(9 * 48, np.float32), "output"),
        ScalarArgument("n", np.int32(7)),
    )
    workload = Workload(
        "walk", BY_REFERENCE, "walk.cu", "walk", Launch(Dim3(9), Dim3(48), arguments)
    )
    quick, full = count(workload), count(workload, shortcut=False)
    assert "ld.local" in quick.build.ptx or "cvta.local" in quick.build.ptx
    assert not quick.note
    assert quick.counters == full.counters


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
