"""`--arg` texts become launch arguments, or a sentence that says what is wrong."""

import numpy as np
import pytest

from core.errors import ArgumentError, LaunchError, TilescopeError
from core.launch import ArrayArgument, Dim3
from core.launching.arguments import parse_defines, parse_dim3, read_source, user_workload

SOURCE = """
extern "C" __global__ void scale(const float* A, float* C, int N, float dt, unsigned char flags)
{
    C[threadIdx.x] = A[threadIdx.x] * dt + N + flags;
}
"""
ARGS = ["A=float32[4,8]", "C=zeros:float32[32]", "N=-3", "dt=0.1", "flags=0xff"]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text(SOURCE)
    return path


def launch(path, args=ARGS, **options):
    options = {"grid": Dim3(1), "block": Dim3(32), **options}
    return user_workload(path, options.pop("kernel", "scale"), args=args, **options)


def replaced(name, text):
    return [text if a.startswith(f"{name}=") else a for a in ARGS]


def test_arguments_take_their_types_from_the_signature(source):
    workload = launch(source)
    a, c, n, dt, flags = workload.launch.arguments
    assert (a.data.shape, a.data.dtype, a.role) == ((4, 8), np.float32, "input")
    assert (c.role, c.data.any()) == ("inout", False)
    assert [type(s.value) for s in (n, dt, flags)] == [np.int32, np.float32, np.uint8]
    assert [n.value, dt.value, flags.value] == [-3, np.float32(0.1), 255]
    assert workload.source_name == "mine.cu"
    assert workload.expected is None


def test_order_of_the_texts_does_not_matter_and_the_seed_does(source):
    first = launch(source).launch.arrays[0].data
    assert np.array_equal(first, launch(source, args=ARGS[::-1]).launch.arrays[0].data)
    assert not np.array_equal(first, launch(source, seed=8).launch.arrays[0].data)
    assert first.min() < 0 < first.max()
    assert np.unique(first).size == first.size


def test_only_kernel_needs_no_name(source):
    assert launch(source, kernel=None).kernel == "scale"
    source.write_text(SOURCE + SOURCE.replace("scale", "other"))
    with pytest.raises(TilescopeError, match="several kernels: choose scale or other"):
        launch(source, kernel=None)
    source.write_text("int x;")
    with pytest.raises(TilescopeError, match="no kernel"):
        launch(source, kernel=None)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("zeros:float32[3]", [0, 0, 0]),
        ("ones:float32[3]", [1, 1, 1]),
        ("range:float32[2,2]", [[0, 1], [2, 3]]),
        ("poison:float32[1]", [np.nan]),
    ],
)
def test_fills(source, text, values):
    data = launch(source, args=replaced("A", f"A={text}")).launch.arrays[0].data
    assert np.array_equal(data, np.array(values, np.float32), equal_nan=True)


@pytest.mark.parametrize(
    "dtype", ["float16", "float64", "int8", "int32", "int64", "uint8", "uint32"]
)
def test_random_buffers_of_every_type(tmp_path, dtype):
    path = tmp_path / "any.cu"
    path.write_text("__global__ void k(void* A) {}")
    data = launch(path, [f"A={dtype}[1000]"], kernel="k").launch.arrays[0].data
    assert data.dtype == dtype
    assert np.unique(data).size > 50
    assert (data.min() < 0) == (data.dtype.kind != "u")


def test_file(source, tmp_path):
    saved = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    np.save(tmp_path / "a.npy", saved)
    data = launch(source, args=replaced("A", f"A=@{tmp_path / 'a.npy'}")).launch.arrays[0].data
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
        ("N", "N=1.5", "N is int, and `1.5` is no value of it"),
        ("N", "N=3000000000", "outside -2147483648 to 2147483647"),
        ("flags", "flags=256", "outside 0 to 255"),
        ("dt", "dt=fast", "no value of it"),
        ("N", "M=4", "has no parameter M: .*has A, C, N, dt and flags"),
        ("flags", "flag=4", "did you mean flags"),
        ("N", "n=4", "did you mean N"),
    ],
)
def test_mistakes_get_a_sentence(source, name, text, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        launch(source, args=[text if a.startswith(f"{name}=") else a for a in ARGS])


def test_missing_argument_says_how_to_add_it(source):
    with pytest.raises(ArgumentError, match=r"`const float\* A`: .*--arg A=float32\[1024\]"):
        launch(source, args=ARGS[1:])
    with pytest.raises(ArgumentError, match=r"`int N`: .*--arg N=128"):
        launch(source, args=[*ARGS[:2], *ARGS[3:]])


def test_unreadable_files(tmp_path, source):
    with pytest.raises(TilescopeError, match="no file"):
        launch(tmp_path / "gone.cu")
    with pytest.raises(TilescopeError, match="cannot be read"):
        launch(tmp_path)
    source.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TilescopeError, match="not a text file"):
        launch(source)
    (tmp_path / "bad.npy").write_bytes(b"not an array")
    source.write_text(SOURCE)
    with pytest.raises(ArgumentError, match=r"numpy\.save"):
        launch(source, args=replaced("A", f"A=@{tmp_path / 'bad.npy'}"))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"block": Dim3(33, 32)}, "1056 threads: CUDA allows 1024"),
        ({"block": Dim3(1, 1, 65)}, "block's z is 65: use 1 to 64"),
        ({"grid": Dim3(0)}, "grid's x is 0"),
        ({"grid": Dim3(1, 65536)}, "grid's y is 65536: use 1 to 65535"),
        ({"shared": -1}, "dynamic shared memory"),
        ({"shared": 10**6}, "dynamic shared memory"),
    ],
)
def test_impossible_launches(source, options, sentence):
    with pytest.raises(LaunchError, match=sentence):
        launch(source, **options)


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


def test_arrays_are_arrays(source):
    assert all(isinstance(a, ArrayArgument) for a in launch(source).launch.arguments[:2])


@pytest.mark.parametrize(
    "raw",
    [
        "\ufeff// Größe\r\n__global__ void k(float *a) { a[0] = 1; }\r\n".encode(),
        "// Größe\n__global__ void k(float *a) { a[0] = 1; }\n".encode("latin-1"),
        "// Größe\r__global__ void k(float *a) { a[0] = 1; }\r".encode("utf-16"),
    ],
)
def test_sources_of_any_encoding_and_line_end(tmp_path, raw):
    (tmp_path / "k.cu").write_bytes(raw)
    text = read_source(tmp_path / "k.cu")
    assert text == "// Größe\n__global__ void k(float *a) { a[0] = 1; }\n"
    (tmp_path / "k.cu").write_bytes(raw + b"\0\0\0")
    with pytest.raises(TilescopeError, match="not a text file"):
        read_source(tmp_path / "k.cu")
