"""The numbers, arrays and launches of a Python file decide the guess of a launch, made small."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from core.guessing.launch_guess import completed
from core.source.python_host_code import host_code
from core.user_files.launch_texts import FileLaunch
from core.user_files.sources_and_headers import read_source

GEMM = '''import cupy as cp
code = r"""
__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    if (row < m && col < n) {
        for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];
        c[row * n + col] = sum;
    }
}
"""
gemm = cp.RawKernel(code, "gemm")
m, n, k = 4096, 2048, 1024
a = cp.random.rand(m, k).astype(cp.float32)
b = cp.random.rand(k, n, dtype=cp.float32)
c = cp.zeros((m, n), dtype="float32")
block = (16, 16)
gemm((-(-n // 16), (m + 15) // 16), block, (a, b, c, cp.int32(m), n, a.shape[1]))
'''
TWICE = '''from pycuda.compiler import SourceModule
mod = SourceModule("""
__global__ void twice(double *x, double *unused, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
""")
def run(n, x):
    gpu = drv.mem_alloc(x.nbytes)
    for _ in range(3):
        f = mod.get_function("twice")
        f(gpu, drv.In(x), np.int32(x.size), block=(256, 1, 1), grid=(int(np.ceil(n / 256)), 1))
def main(count=1 << 20):
    run(count, np.random.randn(count))
if __name__ == "__main__":
    main()
'''


def guess_of(path: Path, text: str) -> tuple[FileLaunch, str]:
    path.write_text(text, encoding="utf-8")
    guess = completed(read_source(path), FileLaunch(str(path), "", "", "", ""))
    return guess.launch, guess.host_grid


def test_sizes_of_cupy_are_made_small_together(tmp_path):
    launch, own = guess_of(tmp_path / "gemm.py", GEMM)
    texts = dict(launch.arguments)
    m, n, k = (int(texts[name]) for name in "mnk")
    assert m > n == k >= 16, "as the program's own are apart"
    assert m <= 64
    assert (launch.grid, launch.block) == (f"{n // 16},{m // 16}", "16,16")
    assert texts["a"] == f"random:float32[{m},{k}]"
    assert texts["c"] == f"zeros:float32[{m},{n}]"
    assert own == "128,256"


def test_sizes_of_pycuda_come_through_the_functions_that_are_called(tmp_path):
    launch, own = guess_of(tmp_path / "twice.py", TWICE)
    texts = dict(launch.arguments)
    assert texts["x"] == f"random:float64[{texts['n']}]"
    assert (int(launch.grid) - 1) * 256 < int(texts["n"]) <= int(launch.grid) * 256 <= 1024
    assert (launch.block, own) == ("256", "4096")


def test_a_number_that_stands_in_the_kernels_text_stays():
    body = "__global__ void k(float *x) {{ x[{N} - 1] = 1; }}"
    text = f'N = 4096\nk = cp.RawKernel(f"""{body}""", "k")\nk((1,), (1,), (cp.zeros(N),))\n'
    assert "int N" not in host_code(text, "k.py")
    other = text.replace('f"""', '"""').replace('""", "k")', '""".format(N=N), "k")')
    assert "int N" not in host_code(other, "k.py")
    replaced = other.replace(".format(N=N)", '.replace("{N}", str(N))')
    assert "int N" not in host_code(replaced, "k.py")
    assert "int N = 4096;" in host_code(text.replace("{N}", "0"), "k.py")


OPTIONS = """import argparse
k = cp.RawKernel(code, "k")
def rows_of(x):
    rows, cols = x.shape
    k((rows,), (128,), (x, unknown.size, np.int32(cols)))
parser = argparse.ArgumentParser()
parser.add_argument("-r", "--row-count", type=int, default=50)
parser.add_argument("--cols", type=int, default=777)
parser.add_argument("--size", type=int, default=9)
args = parser.parse_args()
rows_of(cp.random.rand(args.row_count, args.cols, dtype=cp.float32))
"""


def test_numbers_of_the_command_line_are_their_defaults():
    lines = host_code(OPTIONS, "k.py").splitlines()
    assert {"int option_row_count = 50;", "int option_cols = 777;"} <= {*lines}
    at = lines.index("int rows = option_row_count;")
    assert lines[at + 1 : at + 3] == [
        "int cols = option_cols;",
        "k<<<dim3(rows), dim3(128), 0>>>(x, unknown, cols);",
    ]


def test_a_default_that_comes_into_the_kernels_text_stays():
    body = "__global__ void k(float *x) {{ x[{radius} - 1] = 1; }}"
    text = (
        f'R = 4096\ndef make(radius=R):\n    return cp.RawKernel(f"""{body}""", "k")\n'
        'k = cp.RawKernel(code, "k")\nk((1,), (1,), (cp.zeros(R),))\n'
    )
    assert "int R" not in host_code(text, "k.py")
    assert "int R = 4096;" in host_code(text.replace("{radius}", "0"), "k.py")


def test_the_cells_of_a_notebook_go_together():
    cells = [
        "%load_ext cupy\nn = 1 << 12",
        "%%time\nfirst()",
        "x = cp.ones(n)\nk((n,), (32,), (x, n))",
    ]
    made = ["k = cp.RawKernel(code, 'k')", *cells]
    listed = [{"cell_type": "code", "source": [cell]} for cell in made]
    found = host_code(json.dumps({"cells": listed}), "k.ipynb")
    assert "k<<<dim3(n), dim3(32), 0>>>(x, n);" in found


@pytest.mark.parametrize(
    "text",
    [
        "def f(:", "n = 3", "k = cp.RawKernel(code, 'k')\nk(1)", "f()\ndef f():\n    f()",
        "k = cp.RawKernel(code, name)\nk((1,), (1,), (x,))", "[" * 9000, "\0",
    ],
)  # fmt: skip
def test_what_launches_nothing_is_no_host_code(text):
    assert host_code(text, "k.py") == ""
    assert host_code(text, "k.ipynb") == ""


@pytest.mark.parametrize(
    "doubled",
    ["n = n + n", "s = (s[0] * s[1], s[0] * s[1])", "x = cp.zeros((x.size, x.size))"],
)
def test_numbers_that_double_each_other_end(doubled):
    text = 'k = cp.RawKernel(f"""__global__ {n}""", "k")\nn = 3\ns = (n, n)\nx = cp.zeros(s)\n'
    found = host_code(f"{text}{20 * f'{doubled}{chr(10)}'}k((1,), (64,), (x, n))\n", "k.py")
    assert "k<<<dim3(1), dim3(64), 0>>>(" in found
    assert len(found) < 50_000


def test_functions_that_call_functions_many_times_over_end():
    calls = 40 * "    {}()\n"
    functions = "".join(
        f"def {name}():\n{calls.format(*40 * called)}"
        for name, called in (("a", "b"), ("b", "c"), ("c", "d"))
    )
    launch = "def d():\n    k((1,), (64,), (3,))\n"
    found = host_code(f"k = cp.RawKernel(code, 'k')\n{functions}{launch}a()\n", "k.py")
    assert 1 <= found.count("<<<") <= 20_000


def test_nothing_is_said_of_the_style_of_a_users_python():
    text = "k = cp.RawKernel(code, 'k')\npattern = '\\d'\nk((1,), (64,), (3,))\n"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert "<<<" in host_code(text, "k.py")
    assert not said


LAUNCH = "k = cp.RawKernel(code, 'k')\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n = 4\ndef f(n):\n    m = n\nf(7)\nk((n,), (64,), (n,))",
         "k<<<dim3(n), dim3(64), 0>>>(n);"),
        ("n = 4\ndef f(n):\n    m = n\nf(7)\nk((n,), (64,), (n,))", "int n_1 = 7;"),
        ("def f(m, n):\n    k((m,), (n,), (3,))\nn, m = 8, 9\nf(n, m)",
         "k<<<dim3(m_2), dim3(n_3), 0>>>(3);"),
        ("def f(n):\n    return cp.zeros(n), n + 1\na, m = f(64)\nk((1,), (m,), (a,))",
         "dim3(m), 0>>>(a);"),
        ("def f():\n    global n\n    n = 3\nf()\nk((n,), (1,), (n,))",
         "k<<<dim3(n), dim3(1), 0>>>(n);"),
        ("a = cp.zeros((4, 5))\nm, n = a.shape\nk((m,), (n,), (a,))",
         "k<<<dim3(m), dim3(n), 0>>>(a);"),
    ],
)  # fmt: skip
def test_each_function_has_variables_of_its_own(text, said):
    assert said in host_code(f"{LAUNCH}{text}\n", "k.py")


@pytest.mark.parametrize(
    ("made", "nbytes"),
    [
        ("cp.zeros(n, cp.float32)", "((n) * 4)"),
        ("cp.full((n, 3), 1, np.int16)", "((n * 3) * 2)"),
        ("cp.zeros(n, real)", "((n) * 4)"),
        ("cp.zeros_like(cp.zeros(n), real)", "((n) * 4)"),
        ("cp.random.rand(*shape)", "((n * 3) * 8)"),
        ("cp.arange(2, n, dtype=real)", "(((n - 2)) * 4)"),
        ("cp.zeros(n, kind_of(n))", ""),
    ],
)
def test_bytes_of_an_array(made, nbytes):
    text = f"n = 64\nreal = np.float32\nshape = (n, 3)\na = {made}\nk((1,), (1,), (a,))\n"
    found = host_code(LAUNCH + text, "k.py")
    assert (f"cudaMalloc(&a, {nbytes});" if nbytes else "(unknown);") in found
