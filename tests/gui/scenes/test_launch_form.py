"""What was guessed of a launch follows the numbers that are changed; where a slider stops."""

import itertools
from dataclasses import replace

import pytest

from core.errors import ParameterError
from core.guessing.launch_guess import guess_launch
from gui.scenes.launch_form import (
    candidates,
    moved,
    place_of,
    reach_text,
    renumbered,
    spread,
    stops,
)

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


def fits(rung, **values):
    try:
        rung.check(**values)
    except ParameterError:
        return False
    return True


def test_every_stop_of_every_rung_can_be_launched(ladder):
    for rung in ladder.values():
        wide = []
        for parameter in rung.parameters:
            found = stops(rung, parameter.name, rung.defaults)
            assert parameter.default in found
            assert list(found) == sorted(set(found))
            for value in found:
                rung.check(**{**rung.defaults, parameter.name: value})
            if len(found) > 1:
                wide.append(parameter.name)
        assert {"n", "m"} & set(wide), f"{rung.name}: no size can be dragged"
        assert len(wide) >= 2, f"{rung.name}: only {wide} can be dragged"


def test_a_tile_divides_n_where_the_kernel_needs_it(ladder):
    tiled = ladder["tiled"]
    assert stops(tiled, "tile", {"n": 12, "tile": 4}) == (1, 2, 3, 4, 6, 12)
    assert stops(tiled, "n", {"n": 12, "tile": 3})[:4] == (3, 6, 9, 12)
    assert stops(ladder["tiled_bounds"], "tile", {"n": 12, "tile": 4}) == tuple(range(1, 33))


def test_a_value_that_cannot_be_launched_stays_where_it_is(ladder):
    assert not fits(ladder["tiled"], n=10, tile=4)
    found = stops(ladder["tiled"], "n", {"n": 10, "tile": 4})
    assert [n for n in found if n <= 12] == [4, 8, 10, 12]


def test_padding_has_every_value_up_to_the_banks(ladder):
    pad = next(p for p in ladder["aat_padded"].parameters if p.name == "pad")
    assert candidates(pad) == tuple(range(33))


def test_an_offset_has_every_value_and_a_block_powers_of_two(ladder):
    copy = {p.name: p for p in ladder["copy_offset"].parameters}
    assert candidates(copy["offset"]) == tuple(range(33))
    assert candidates(copy["block_x"]) == (32, 64, 128, 256, 512, 1024)


@pytest.mark.parametrize(("low", "high"), [(1, 4096), (1, 20), (5, 32), (3, 100), (40, 1000)])
def test_stops_are_dense_where_small_and_of_equal_ratio_where_large(low, high):
    found = spread(low, high)
    assert (found[0] >= low, found[-1]) == (True, high)
    assert all(a < b for a, b in itertools.pairwise(found))
    assert set(range(low, min(high, 32) + 1)) <= set(found)
    for a, b in itertools.pairwise(found):
        assert b - a <= max(a / 8, 1)
    assert {64, 128, 1024} & set(range(low, high + 1)) <= set(found)


def test_places_and_moves():
    among = (2, 4, 8, 16)
    assert [place_of(v, among) for v in (1, 2, 5, 16, 99)] == [0, 0, 1, 3, 3]
    assert [moved(v, 1, among) for v in (1, 4, 5, 16, 99)] == [2, 8, 8, 16, 16]
    assert [moved(v, -1, among) for v in (1, 4, 5, 99)] == [2, 2, 4, 16]
    assert moved(2, 3, among) == 16
    assert moved(7, 1, ()) == 7


def test_the_reach_in_words():
    assert reach_text((4,)) == "only 4"
    assert reach_text((2, 4, 8)) == "2, 4 or 8"
    assert reach_text(range(1, 33)) == "1 to 32"
    assert reach_text((4, 8, 12, 16, 20, 24, 28)) == "4 to 28 in 7 stops"
