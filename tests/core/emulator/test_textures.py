"""Texture fetches against what an H200 gives (scripts/record_textures.py), and surfaces."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from core.errors import TilescopeError
from core.guessing.launch_guess import guess_launch
from core.recording.record_launch import record
from core.user_files.launch_texts import FileLaunch, file_workload

FETCH = """
__global__ void fetch(cudaTextureObject_t t, const float *at, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(t, at[2 * i], at[2 * i + 1]);
}
"""
GATHER = """
__global__ void gather(cudaTextureObject_t t, const float *at, float4 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2Dgather<float4>(t, at[2 * i], at[2 * i + 1], 0);
}
"""
HARDWARE = np.load(Path(__file__).parents[2] / "data" / "textures" / "h200.npz")
COUNT = len(HARDWARE["at"])


def _run(source: str, path, arguments: dict[str, str], grid: str = "3", block: str = "32"):
    launch = guess_launch(source, str(path))
    texts = tuple((n, arguments.get(n, t)) for n, t in launch.arguments)
    asked = FileLaunch(str(path), launch.kernel, grid, block, "0", "", texts)
    return record(file_workload(source, asked))


def _saved(path, data: np.ndarray) -> str:
    np.save(path, data)
    return f"@{path}"


def _like_hardware(source: str, tmp_path, texels: str, mode: str, linear: int, normalized: int):
    """What a kernel makes of a recorded texture at the recorded points."""
    data = HARDWARE[texels]
    at = HARDWARE["at"]
    if not normalized:
        at = at * np.array(data.shape[::-1], np.float32)
    words = [mode, *["linear"] * linear, *["normalized"] * normalized]
    lanes = 4 if source is GATHER else 1
    arguments = {
        "t": ":".join([_saved(tmp_path / "t.npy", data), *words]),
        "at": _saved(tmp_path / "at.npy", at.reshape(-1)),
        "out": f"poison:float32[{COUNT},{lanes}]",
        "n": str(COUNT),
    }
    return _run(source, tmp_path / "fetch.cu", arguments, grid="22").outputs["out"]


@pytest.mark.slow
@pytest.mark.parametrize("normalized", [0, 1])
@pytest.mark.parametrize("linear", [0, 1])
@pytest.mark.parametrize("mode", ["clamp", "wrap", "mirror", "border"])
@pytest.mark.parametrize("kind", ["float", "bytes"])
def test_fetches_are_those_of_a_gpu(tmp_path, kind, mode, linear, normalized) -> None:
    texels = "data" if kind == "float" else "bytes"
    found = _like_hardware(FETCH, tmp_path, texels, mode, linear, normalized)[:, 0]
    expected = HARDWARE[f"{kind}_{mode}_{linear}_{normalized}"]
    assert np.ptp(expected) > 0.3
    error = np.abs(found - expected)
    if not linear:
        assert (found == expected).all()
    elif not normalized:
        assert error.max() <= 1e-7
    else:  # the unit multiplies a coordinate by the size more coarsely: a weight is 1/256 off
        assert np.mean(error <= 1e-7) > 0.99
        assert error.max() <= 3 / 256


@pytest.mark.parametrize("normalized", [0, 1])
@pytest.mark.parametrize("mode", ["clamp", "wrap", "mirror", "border"])
def test_gathers_are_those_of_a_gpu(tmp_path, mode, normalized) -> None:
    found = _like_hardware(GATHER, tmp_path, "data", mode, 1, normalized)
    assert (found == HARDWARE[f"gather_{mode}_1_{normalized}"]).all()


def test_integers_channels_and_three_dimensions(tmp_path) -> None:
    source = """
    __global__ void look(cudaTextureObject_t t, cudaTextureObject_t v, cudaTextureObject_t row,
                         unsigned char *out, float *half, int *ends) {
        int x = threadIdx.x, y = threadIdx.y;
        uchar4 c = tex2D<uchar4>(t, x, y);
        out[y * 7 + x] = c.z;
        half[y * 7 + x] = tex3D<float>(v, x + 0.5f, y + 0.5f, 1.5f);
        ends[y * 7 + x] = tex1Dfetch<int>(row, x + y - 1);
    }
    """
    generator = np.random.default_rng(8)
    colours = generator.integers(0, 256, (3, 7, 4), np.uint8)
    volume = generator.integers(-128, 128, (2, 3, 7)).astype(np.int8)
    row = generator.integers(1, 1 << 30, 8, np.int32)
    trace = _run(
        source,
        tmp_path / "look.cu",
        {
            "t": _saved(tmp_path / "t.npy", colours) + ":2d",
            "v": _saved(tmp_path / "v.npy", volume) + ":linear",
            "row": _saved(tmp_path / "row.npy", row),
            "out": "poison:uint8[21]",
            "half": "poison:float32[21]",
            "ends": "poison:int32[21]",
        },
        grid="1",
        block="7,3",
    )
    assert (trace.outputs["out"].reshape(3, 7) == colours[:, :, 2]).all()
    floats = np.maximum(volume[1] / 127, -1)
    assert np.abs(trace.outputs["half"].reshape(3, 7) - floats).max() <= 1e-7
    beyond = np.concatenate([[0], row, [0]])
    places = np.arange(7) + np.arange(3)[:, None]
    assert (trace.outputs["ends"].reshape(3, 7) == beyond[places]).all()


def test_a_surface_is_read_and_written(tmp_path) -> None:
    source = """
    __global__ void turn(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int w) {
        int x = threadIdx.x, y = threadIdx.y;
        float2 value = surf2Dread<float2>(from, x * sizeof(float2), y);
        surf2Dwrite(make_float2(value.y, value.x), to, (w - 1 - x) * sizeof(float2), y);
    }
    """
    data = np.random.default_rng(10).random((3, 5, 2), np.float32)
    arguments = {
        "from": _saved(tmp_path / "f.npy", data) + ":2d",
        "to": "zeros:float32[3,5,2]:2d",
        "w": "5",
    }
    trace = _run(source, tmp_path / "turn.cu", arguments, grid="1", block="5,3")
    assert (trace.outputs["to"] == data[:, ::-1, ::-1]).all()
    with pytest.raises(TilescopeError, match="outside its 5 x 3 texels"):
        _run(source, tmp_path / "turn.cu", {**arguments, "w": "6"}, grid="1", block="5,3")


def test_handles_in_a_structure(tmp_path) -> None:
    source = """
    struct Volume { float scale; cudaTextureObject_t from; int w; cudaSurfaceObject_t to; };
    __global__ void scaled(Volume v) {
        int x = threadIdx.x, y = threadIdx.y;
        surf2Dwrite(v.scale * tex2D<float>(v.from, x + 0.5f, y + 0.5f), v.to, (v.w - 1 - x) * 4, y);
    }
    """
    data = np.random.default_rng(11).random((3, 5), np.float32)
    arguments = {
        "v.from": _saved(tmp_path / "f.npy", data) + ":2d",
        "v.to": "zeros:float32[3,5]:2d",
        "v.w": "5",
        "v.scale": "2.0",
    }
    trace = _run(source, tmp_path / "scaled.cu", arguments, grid="1", block="5,3")
    assert (trace.outputs["v.to"] == 2 * data[:, ::-1]).all()
    guess = dict(guess_launch(source, "scaled.cu").arguments)
    assert guess["v.from"].startswith("random:float32[")
    assert guess["v.to"].startswith("random:float32[")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("random:float32[8]", "with 2 coordinates, and it has 1"),
        ("null", "not a texture"),
        ("random:float32[8,8,3]:2d", "channels"),
    ],
)
def test_what_is_no_such_texture_is_refused(tmp_path, text, match) -> None:
    with pytest.raises(TilescopeError, match=match):
        _run(FETCH, tmp_path / "fetch.cu", {"t": text})


@pytest.mark.parametrize("text", ["random:float32[8]", "null"])
def test_what_a_refusal_says_to_write_is_taken(tmp_path, text) -> None:
    with pytest.raises(TilescopeError) as refused:
        _run(FETCH, tmp_path / "fetch.cu", {"t": text})
    cure = re.findall(r"`([^`]+)`", str(refused.value))[-1]
    trace = _run(FETCH, tmp_path / "fetch.cu", {"t": cure})
    assert trace.outputs["out"].any()


def test_the_guess_follows_the_hosts_description(tmp_path) -> None:
    host = """
    void draw(cudaArray_t from) {
        cudaChannelFormatDesc desc = cudaCreateChannelDesc<uchar4>();
        cudaTextureDesc how = {};
        how.addressMode[0] = cudaAddressModeWrap;
        how.filterMode = cudaFilterModeLinear;
        how.readMode = cudaReadModeNormalizedFloat;
        how.normalizedCoords = true;
    }
    """
    kernel = FETCH.replace("tex2D<float>(t, at[2 * i], at[2 * i + 1])", "look(t, at[i], 0)")
    look = """
    __device__ float look(cudaTextureObject_t t, float x, float y) {
        return tex2D<float4>(t, x, y).x;
    }
    """
    launch = guess_launch(look + kernel + host, str(tmp_path / "a.cu"))
    assert dict(launch.arguments)["t"] == "random:uint8[64,64,4]:2d:linear:wrap:normalized"
