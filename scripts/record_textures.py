"""What a GPU's texture unit gives, for tests/data/textures: python scripts/record_textures.py FILE

Needs CuPy and a GPU. Two textures of 5 rows of 11 (float32, and bytes as fractions of 255) in each
mode of the edges, each filter, each kind of coordinates, at points in and around them.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import cupy
import numpy as np
from cupy.cuda import texture
from numpy.typing import NDArray

SOURCE = """
extern "C" __global__ void fetch(cudaTextureObject_t t, const float *at, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(t, at[2 * i], at[2 * i + 1]);
}
extern "C" __global__ void gather(cudaTextureObject_t t, const float *at, float4 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2Dgather<float4>(t, at[2 * i], at[2 * i + 1], 0);
}
"""
HEIGHT, WIDTH, COUNT = 5, 11, 700
MODES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}  # cudaTextureAddressMode
_GATHER, _BITS = 8, {"float": (32, 2), "bytes": (8, 1)}  # cudaArrayTextureGather; bits, format kind


def main() -> int:
    """Run all of them; write one array each."""
    generator = np.random.default_rng(7)
    data = {
        "float": generator.random((HEIGHT, WIDTH), np.float32),
        "bytes": generator.integers(0, 256, (HEIGHT, WIDTH), np.uint8),
    }
    at = generator.uniform(-1.5, 2.5, (COUNT, 2)).astype(np.float32)
    at[: COUNT // 2] = np.round(at[: COUNT // 2] * 512) / 512  # where roundings are ties
    module = cupy.RawModule(code=SOURCE)
    saved: dict[str, NDArray[np.generic]] = {
        "data": data["float"],
        "bytes": data["bytes"],
        "at": at,
    }
    for kind, texels in data.items():
        bits, form = _BITS[kind]
        array = texture.CUDAarray(
            texture.ChannelFormatDescriptor(bits, 0, 0, 0, form), WIDTH, HEIGHT, 0, _GATHER
        )
        array.copy_from(texels)
        resource = texture.ResourceDescriptor(0, cuArr=array)
        for mode, linear, normalized in itertools.product(MODES, (0, 1), (0, 1)):
            how = texture.TextureDescriptor(
                (MODES[mode],) * 2, linear, int(kind == "bytes"), normalizedCoords=normalized
            )
            handle = texture.TextureObject(resource, how)
            where = at if normalized else at * np.array([WIDTH, HEIGHT], np.float32)
            for name, lanes in (("fetch", 1), ("gather", 4)):
                out = cupy.zeros((COUNT, lanes), cupy.float32)
                given = (handle, cupy.asarray(where.reshape(-1)), out, np.int32(COUNT))
                module.get_function(name)((-(-COUNT // 128),), (128,), given)
                if name == "fetch":
                    saved[f"{kind}_{mode}_{linear}_{normalized}"] = out.get()[:, 0]
                elif kind == "float" and linear:
                    saved[f"gather_{mode}_1_{normalized}"] = out.get()
    np.savez_compressed(Path(sys.argv[1]), allow_pickle=False, **saved)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
