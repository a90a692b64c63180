"""What was guessed of a launch follows the numbers that are changed; what was typed stays."""

from dataclasses import replace

import pytest

from core.guessing.launch_guess import guess_launch
from gui.scenes.launch_edits import renumbered

PRODUCT = """__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < M && j < N) {
        float s = 0;
        for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
        C[i * N + j] = s;
    }
}
"""
HOST = """__global__ void scale(float *x, int n, int pairs)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < pairs) x[2 * i] = x[2 * i + 1] * n; }
int main() {
    int n = 256, pairs = n / 2;
    float *x; cudaMalloc(&x, n * sizeof(float));
    scale<<<(pairs + 31) / 32, 32>>>(x, n, pairs);
}
"""


def changed(launch, source, **numbers):
    arguments = tuple((n, numbers.get(n, text)) for n, text in launch.arguments)
    return renumbered(launch, replace(launch, arguments=arguments), source)


@pytest.fixture
def product():
    return guess_launch(PRODUCT, "mm.cu")


@pytest.mark.slow
def test_grid_and_matrices_follow_the_sizes_one_after_the_other(product):
    launch = product
    for name, value in (("M", "3"), ("N", "70"), ("K", "5")):
        launch = changed(launch, PRODUCT, **{name: value})
    texts = dict(launch.arguments)
    assert (launch.grid, launch.block) == ("5,1", "16,16")
    assert texts["A"] == "random:float32[3,5]"
    assert texts["B"] == "random:float32[5,70]"
    assert texts["C"] == "zeros:float32[3,70]"
    for name in ("N", "M", "K"):
        launch = changed(launch, PRODUCT, **{name: dict(product.arguments)[name]})
    assert launch == product, "and back"


def test_what_was_typed_stays(product):
    typed = changed(product, PRODUCT, A="random:float32[40,40]", B="small:float32[32,32]")
    assert dict(typed.arguments)["A"] == "random:float32[40,40]"
    moved = changed(replace(typed, grid="9,9"), PRODUCT, M="3", K="5")
    texts = dict(moved.arguments)
    assert moved.grid == "9,9"
    assert texts["A"] == "random:float32[40,40]"
    assert texts["B"] == "small:float32[5,32]", "the sizes follow, whatever is in it"
    assert texts["C"] == "zeros:float32[3,32]"


def test_the_grid_covers_as_much_with_blocks_of_another_size(product):
    small = renumbered(product, replace(product, block="8,4"), PRODUCT)
    assert (small.grid, small.block) == ("4,8", "8,4")
    assert changed(small, PRODUCT, N="48").grid == "6,8"
    half = renumbered(product, replace(product, block="8,"), PRODUCT)
    assert half.grid == product.grid, "while it is typed"


@pytest.mark.slow
def test_numbers_that_the_host_works_out_follow_every_time():
    launch = guess_launch(HOST, "scale.cu")
    first = dict(launch.arguments)
    assert int(first["pairs"]) * 2 == int(first["n"])
    for n in ("48", "20", "96"):
        launch = changed(launch, HOST, n=n)
        texts = dict(launch.arguments)
        assert (texts["n"], texts["pairs"]) == (n, str(int(n) // 2))
        assert texts["x"].endswith(f"[{n}]")
        assert launch.grid == str(-(-int(n) // 64))


def test_a_number_half_typed_spoils_nothing(product):
    away = changed(product, PRODUCT, M="")
    assert dict(away.arguments)["A"] == "random:float32[32,32]"
    assert dict(changed(away, PRODUCT, M="6").arguments)["A"] == "random:float32[6,32]"
    no_kernel = renumbered(product, replace(product, block="8,8"), "no kernel at all")
    assert no_kernel == replace(product, block="8,8")
