"""`--arg` texts become launch arguments, or a sentence that says what is wrong."""

import numpy as np
import pytest

from core.compiler.kernel_parameters import read_signature
from core.errors import ArgumentError, LaunchError
from core.launch import ArrayArgument, Dim3, packed
from core.user_files.argument_texts import by_name
from core.user_files.launch_texts import (
    FieldErrors,
    FileLaunch,
    LaunchForm,
    parse_defines,
    parse_dim3,
)

SOURCE = """
extern "C" __global__ void scale(const float* A, float* C, int N, float dt, unsigned char flags)
{
    C[threadIdx.x] = A[threadIdx.x] * dt + N + flags;
}
"""
ARGS = ["A=float32[4,8]", "C=zeros:float32[32]", "N=-3", "dt=0.1", "flags=0xff"]


def bound(args=ARGS, seed=7, source=SOURCE, kernel="scale"):
    """The launch's arguments, in the order of the signature."""
    launch = FileLaunch("k.cu", kernel, arguments=tuple(by_name(args).items()))
    return LaunchForm(launch).arguments(read_signature(source, kernel, {}), seed)


def replaced(name, text):
    return [text if a.startswith(f"{name}=") else a for a in ARGS]


def test_arguments_take_their_types_from_the_signature():
    a, c, n, dt, flags = bound()
    assert (a.data.shape, a.data.dtype, a.role) == ((4, 8), np.float32, "input")
    assert (c.role, c.data.any()) == ("inout", False)
    assert [type(s.value) for s in (n, dt, flags)] == [np.int32, np.float32, np.uint8]
    assert [n.value, dt.value, flags.value] == [-3, np.float32(0.1), 255]


def test_order_of_the_texts_does_not_matter_and_the_seed_does():
    first = bound()[0].data
    assert np.array_equal(first, bound(ARGS[::-1])[0].data)
    assert not np.array_equal(first, bound(seed=8)[0].data)
    assert first.min() < 0 < first.max()
    assert np.unique(first).size == first.size


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("zeros:float32[3]", [0, 0, 0]),
        ("ones:float32[3]", [1, 1, 1]),
        ("range:float32[2,2]", [[0, 1], [2, 3]]),
        ("poison:float32[1]", [np.nan]),
    ],
)
def test_fills(text, values):
    data = bound(replaced("A", f"A={text}"))[0].data
    assert np.array_equal(data, np.array(values, np.float32), equal_nan=True)


@pytest.mark.parametrize(
    "dtype", ["float16", "float64", "int8", "int32", "int64", "uint8", "uint32"]
)
def test_random_buffers_of_every_type(dtype):
    source = "__global__ void k(void* A) {}"
    data = bound([f"A={dtype}[1000]"], source=source, kernel="k")[0].data
    assert data.dtype == dtype
    assert np.unique(data).size > 50
    assert (data.min() < 0) == (data.dtype.kind != "u")


def test_file(tmp_path):
    saved = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    np.save(tmp_path / "a.npy", saved)
    data = bound(replaced("A", f"A=@{tmp_path / 'a.npy'}"))[0].data
    assert data.flags.c_contiguous
    assert np.array_equal(data, saved)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "A",
            "A=float64[8]",
            r"const float\* in the kernel, which is float32, but the buffer is float64",
        ),
        ("A", "A=float32[0]", "whole numbers above 0"),
        ("A", "A=float32[4,]", "whole numbers above 0"),
        ("A", "A=float32[-4]", "whole numbers above 0"),
        ("A", "A=float33[4]", "float33 is none of"),
        ("A", "A=sevens:float32[4]", "sevens is none of"),
        ("A", "A=float32[4", "`float32\\[4` is not a buffer"),
        ("A", "A=12", "A is a pointer"),
        ("A", "A=float32[99999,99999]", "40.0 GB"),
        ("A", "A=@gone.npy", "no file gone.npy"),
        ("A", "A", "is not NAME=VALUE"),
        ("A", "A=", "is not NAME=VALUE"),
        ("A", "=3", "is not NAME=VALUE"),
        ("A", "N=4", "N is given twice"),
        ("N", "N=float32[4]", "N is a scalar"),
        ("N", "N=1.5", "N is int, and `1.5` is not a value of it"),
        ("N", "N=3000000000", "outside -2147483648 to 2147483647"),
        ("flags", "flags=256", "outside 0 to 255"),
        ("dt", "dt=fast", "is not a value of it"),
    ],
)
def test_mistakes_get_a_sentence(name, text, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        bound(replaced(name, text))


@pytest.mark.parametrize(
    ("field", "text", "sentence"),
    [
        ("block", "33,32", "1056 threads: CUDA allows 1024"),
        ("block", "1,1,65", "block's z is 65: use 1 to 64"),
        ("grid", "0", "grid's x is 0"),
        ("grid", "1,65536", "grid's y is 65536: use 1 to 65535"),
        ("shared", "-1", "`-1` is not a number of bytes"),
        ("shared", "1000000", "1000000 bytes of dynamic shared memory"),
    ],
)
def test_impossible_launches(field, text, sentence):
    with pytest.raises(FieldErrors, match=sentence):
        LaunchForm(FileLaunch("k.cu", "k", **{field: text})).arguments((), 7)


def test_sizes_and_defines():
    assert parse_dim3("8", "grid") == Dim3(8)
    assert parse_dim3("8,4,2", "grid") == Dim3(8, 4, 2)
    assert parse_dim3("8x4", "grid") == Dim3(8, 4)
    for bad in ("", "8,", "a", "1,2,3,4", "-1", "1.5"):
        with pytest.raises(LaunchError, match="is not a grid"):
            parse_dim3(bad, "grid")
    assert parse_defines(["TILE_WIDTH=16", "FAST", "X=a=b"]) == {
        "TILE_WIDTH": "16",
        "FAST": "1",
        "X": "a=b",
    }
    with pytest.raises(ArgumentError, match="NAME=VALUE"):
        parse_defines(["1X=2"])


def test_arrays_are_arrays():
    assert all(isinstance(a, ArrayArgument) for a in bound()[:2])


MAPPED = """
#include <cuda.h>
struct alignas(64) Own { unsigned long long words[16]; };
extern "C" __global__ void k(const __grid_constant__ CUtensorMap A, const __grid_constant__ Own B)
{
}
"""


def test_tensor_maps():
    a, b = bound(
        [
            "A=tensormap(float16[48,128], box=64x16, swizzle=128B)",
            "B=tensormap(zeros:float32[9,8,16], box=4x3x2, steps=1x2x1)",
        ],
        source=MAPPED,
        kernel="k",
    )
    assert (a.name, a.data.shape, a.data.dtype) == ("A", (48, 128), np.float16)
    assert (a.map.sizes, a.map.strides, a.map.box) == ((128, 48), (256,), (64, 16))
    assert (a.map.swizzle, a.map.nbytes, b.map.swizzle, b.map.steps) == (128, 2, 0, (1, 2, 1))
    assert (b.map.sizes, b.map.strides, b.map.box) == ((16, 8, 9), (64, 512), (4, 3, 2))
    assert packed((a,), lambda _: 1 << 20) == a.map.at(1 << 20).encoded()
    c, d = bound(
        ["A=tensormap(bfloat16[48,128], box=64x16)", "B=tensormap(zeros:int32[9,8], box=4x3)"],
        source=MAPPED,
        kernel="k",
    )
    assert [one.map.kind for one in (a, b, c, d)] == ["f16", "f32", "bf16", "s32"]


def test_a_map_with_dimensions_of_its_own_and_one_behind_a_pointer():
    takes = "const Own* A, const __grid_constant__ Own B"
    source = f'{MAPPED}\nextern "C" __global__ void p({takes})\n{{\n}}'
    a, b = bound(
        [
            "A=tensormap(float16[48,128], box=64x16, swizzle=128B)",
            "B=tensormap(float16[48,128], sizes=64x48x2, strides=256x128, box=64x16x2)",
        ],
        source=source,
        kernel="p",
    )
    assert (b.map.sizes, b.map.strides, b.map.box) == ((64, 48, 2), (256, 128), (64, 16, 2))
    assert (a.map_is_stored, b.map_is_stored) == (True, False)
    kept = []
    assert packed((a,), lambda _: 1 << 20, stored=lambda _, raw: kept.append(raw) or 77) == (
        77
    ).to_bytes(8, "little")
    assert kept == [a.map.at(1 << 20).encoded()]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "tensormap(float16[48,128], sizes=64x48x3, strides=256x128, box=64x16x1)",
            "spans 12,416 bytes, and the buffer has 12,288",
        ),
        ("tensormap(float16[48,128], sizes=64x48x2, strides=256, box=64x16x1)", "1 strides for 3"),
        (
            "float16[48,128]",
            r"A is a tensor map, and `float16\[48,128\]` is none: write A=tensormap",
        ),
        ("tensormap(float16[48,128])", "is none"),
        ("tensormap(float16[48,128], box=64x16, colour=red)", "is none"),
        ("tensormap(float16[48,128], box=64)", "the box 64 for an array of 2 dimensions"),
        ("tensormap(float16[48,128], box=64x16, swizzle=64B)", "128 bytes, more than its swizzle"),
    ],
)
def test_mistakes_in_tensor_maps_get_a_sentence(text, sentence):
    other = "B=tensormap(float16[64], box=64)"
    with pytest.raises((ArgumentError, LaunchError), match=sentence):
        bound([f"A={text}", other], source=MAPPED, kernel="k")
