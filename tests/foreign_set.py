"""Kernels that other compilers made: how each is compiled and launched, and what is right.

The kernels stand in tests/data/foreign/*_kernels.* and their PTX beside them.
`scripts/record_foreign.py` compiles them where the compilers are installed; nothing here needs one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parent / "data" / "foreign"
Arrays = Mapping[str, NDArray[Any]]
FLOATS, HALVES, INTS = "*fp32", "*fp16", "*i32"  # pointers, as Triton's signatures spell them


@dataclass(frozen=True)
class Foreign:
    """One kernel, compiled one way.

    `types` are the types of its arguments as its compiler spells them, `constants` those of
    Triton's that are compiled in. `grid`, `block` ("": as the PTX says) and `arguments` are a
    launch as Tilescope takes it; `truth` gives each output in float64 from the arrays before it,
    and `tolerance` how far an output may be off, relative to its largest value. `aligned`: Triton
    may take it that 16 divides the sizes, as it sees at each launch.
    """

    maker: Literal["triton", "numba", "rust", "clang"]
    kernel: str
    types: tuple[str, ...]
    grid: str
    arguments: tuple[str, ...]
    truth: Callable[[Arrays], Arrays]
    constants: Mapping[str, int] = field(default_factory=dict)
    variant: str = ""
    block: str = ""
    tolerance: float = 1e-6
    capability: int = 80
    aligned: bool = False

    @property
    def name(self) -> str:
        """Of its files: `triton_matmul_bf16`."""
        return "_".join(part for part in (self.maker, self.kernel, self.variant) if part)

    @property
    def path(self) -> Path:
        """Its PTX."""
        return FOLDER / f"{self.name}.ptx"


def is_right(one: Foreign, error: float) -> bool:
    """Whether an error, relative to the largest value, is as small as it must be; NaN is not."""
    return error <= one.tolerance


def wide(array: NDArray[Any]) -> NDArray[np.float64]:
    """The values of an array; one of uint16 holds bfloat16 numbers."""
    if array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def _softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _layer_norm(a: Arrays) -> Arrays:
    x, weight, bias = (wide(a[n]) for n in ("x_ptr", "weight_ptr", "bias_ptr"))
    centred = x - x.mean(-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(-1, keepdims=True) + np.float64(np.float32(1e-5)))
    return {"out_ptr": centred / scale * weight + bias}


def _rms_norm(a: Arrays) -> Arrays:
    x, weight = wide(a["x_ptr"]), wide(a["weight_ptr"])
    scale = np.sqrt((x**2).mean(-1, keepdims=True) + np.float64(np.float32(1e-5)))
    return {"out_ptr": x / scale * weight}


def _product(a: Arrays) -> Arrays:
    return {"c_ptr": wide(a["a_ptr"]) @ wide(a["b_ptr"])}


def _attention(a: Arrays) -> Arrays:
    q, k, v = (wide(a[n]) for n in ("q_ptr", "k_ptr", "v_ptr"))
    return {"out_ptr": _softmax(q @ k.T * 0.25) @ v}


def _histogram(values: NDArray[Any], bins: NDArray[Any]) -> NDArray[np.float64]:
    count = np.bincount(values.reshape(-1) % bins.size, minlength=bins.size)
    return wide(bins) + count


def _cross_entropy(a: Arrays) -> Arrays:
    x, label = wide(a["logits_ptr"]), a["label_ptr"]
    total = np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1)) + x.max(-1)
    return {"loss_ptr": total - x[np.arange(len(x)), label]}


def _quantise(a: Arrays) -> Arrays:
    x = a["x_ptr"]
    scale = np.abs(x).max(-1) / np.float32(127)
    return {"out_ptr": np.rint(x / scale[:, None]), "scale_ptr": scale.astype(np.float64)}


def _gelu(a: Arrays) -> Arrays:
    from math import erf

    x = wide(a["x_ptr"])
    return {"out_ptr": 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2)))}


def _stencil(x: NDArray[np.float64]) -> NDArray[np.float64]:
    around = np.pad(x, 1)
    return 0.25 * around[:-2] + 0.5 * x + 0.25 * around[2:]


def _kept(a: Arrays) -> Arrays:
    """Triton's `tl.rand`: Philox 4x32 with ten rounds, of which the first word counts."""
    x = a["x_ptr"].reshape(-1)
    counter = [np.arange(x.size, dtype=np.uint64), *(np.zeros(x.size, np.uint64) for _ in "abc")]
    key = [np.uint64(1234), np.uint64(0)]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        first, second = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        half = np.uint64(32)
        counter = [
            (second >> half) ^ counter[1] ^ key[0], second & low,
            (first >> half) ^ counter[3] ^ key[1], first & low,
        ]  # fmt: skip
        key = [(key[0] + np.uint64(0x9E3779B9)) & low, (key[1] + np.uint64(0xBB67AE85)) & low]
    word = counter[0].astype(np.uint32).view(np.int32).astype(np.int64)
    uniform = np.where(word < 0, -word - 1, word) * 4.6566127342e-10
    return {"out_ptr": np.where(uniform > np.float32(0.3), wide(x) / 0.7, 0.0)}


def _swapped(a: Arrays) -> Arrays:
    n = 200
    flags, old = a["flag_ptr"], a["out_ptr"].astype(np.int64)
    offsets = np.arange(n)
    after = old.copy()
    after[:n] = np.maximum(old[:n], offsets + flags[offsets // 128])
    after[n:] = old[:n]
    return {"out_ptr": after, "flag_ptr": np.where(flags == 0, 1, flags)}


def _blurred(a: Arrays) -> Arrays:
    x = np.where(np.arange(512) < 500, a["p0"], 0.0).reshape(4, 128)
    both = 0.5 * x + 0.5 * np.roll(x, -1, axis=1)
    return {"p1": np.where(np.arange(512) < 500, both.reshape(-1), 0.0)}


def _mandelbrot(a: Arrays) -> Arrays:
    rows, columns = np.indices(a["out"].shape)
    c = (-2.0 + columns * 0.0625) + 1j * (-1.25 + rows * 0.0625)
    z, count = np.zeros_like(c), np.zeros(c.shape)
    for _ in range(40):
        inside = z.real**2 + z.imag**2 <= 4.0
        z = np.where(inside, z * z + c, z)
        count += inside
    return {"out": count}


def _product_case(
    variant: str, kind: str, c_kind: str, buffer: str, c: str, **more: Any
) -> Foreign:
    m, n, k = (112, 48, 80) if more.get("aligned") else (100, 56, 72)
    arguments = (f"a_ptr={buffer}[{m},{k}]", f"b_ptr={buffer}[{k},{n}]",
                 f"c_ptr=zeros:{c}[{m},{n}]", f"M={m}", f"N={n}", f"K={k}")  # fmt: skip
    return Foreign("triton", "matmul", (kind, kind, c_kind, "i32", "i32", "i32"), "2,2", arguments,
                   _product, {"BM": 64, "BN": 32, "BK": 32}, variant, **more)  # fmt: skip


TRITON = (
    Foreign("triton", "vector_add", (FLOATS, FLOATS, FLOATS, "i32"), "4",
            ("x_ptr=float32[1000]", "y_ptr=float32[1000]", "out_ptr=zeros:float32[1000]", "n=1000"),
            lambda a: {"out_ptr": wide(a["x_ptr"]) + a["y_ptr"]}, {"BLOCK": 256}),
    Foreign("triton", "saxpy", (FLOATS, FLOATS, "fp32", "i32"), "4",
            ("x_ptr=float32[1000]", "y_ptr=float32[1000]", "a=-1.5", "n=1000"),
            lambda a: {"y_ptr": -1.5 * wide(a["x_ptr"]) + a["y_ptr"]}, {"BLOCK": 256}),
    Foreign("triton", "strided_copy", (FLOATS, FLOATS, "i32", "i32"), "3",
            ("x_ptr=float32[2401]", "out_ptr=zeros:float32[301]", "n=301", "stride=8"),
            lambda a: {"out_ptr": a["x_ptr"][::8]}, {"BLOCK": 128}),
    Foreign("triton", "softmax", (FLOATS, FLOATS, "i32"), "5",
            ("x_ptr=float32[5,300]", "out_ptr=zeros:float32[5,300]", "columns=300"),
            lambda a: {"out_ptr": _softmax(wide(a["x_ptr"]))}, {"BLOCK": 512}),
    Foreign("triton", "layer_norm", (FLOATS, FLOATS, FLOATS, FLOATS, "i32", "fp32"), "5",
            ("x_ptr=float32[5,300]", "weight_ptr=float32[300]", "bias_ptr=float32[300]",
             "out_ptr=zeros:float32[5,300]", "columns=300", "eps=1e-5"),
            _layer_norm, {"BLOCK": 512}),
    Foreign("triton", "rms_norm", (FLOATS, FLOATS, FLOATS, "i32", "fp32"), "3",
            ("x_ptr=float32[3,300]", "weight_ptr=float32[300]", "out_ptr=zeros:float32[3,300]",
             "columns=300", "eps=1e-5"), _rms_norm, {"BLOCK": 128}),
    _product_case("", HALVES, HALVES, "float16", "float16", tolerance=1e-3),
    _product_case("bf16", "*bf16", FLOATS, "bfloat16", "float32", tolerance=1e-5),
    _product_case("tf32", FLOATS, FLOATS, "float32", "float32", tolerance=2e-3),
    _product_case("aligned", HALVES, HALVES, "float16", "float16", tolerance=1e-3, aligned=True),
    _product_case("tf32_aligned", FLOATS, FLOATS, "float32", "float32", tolerance=2e-3,
                  aligned=True),
    _product_case("int8", "*i8", INTS, "int8", "int32", tolerance=0.0),
    Foreign("triton", "transpose", (FLOATS, FLOATS, "i32", "i32"), "3,2",
            ("x_ptr=float32[90,50]", "out_ptr=zeros:float32[50,90]", "M=90", "N=50"),
            lambda a: {"out_ptr": a["x_ptr"].T}, {"BM": 32, "BN": 32}, tolerance=0.0),
    Foreign("triton", "row_sums", (FLOATS, FLOATS, "i32", "i32"), "3",
            ("x_ptr=float32[40,150]", "out_ptr=zeros:float32[40]", "M=40", "N=150"),
            lambda a: {"out_ptr": wide(a["x_ptr"]).sum(1)}, {"BM": 16, "BN": 64}),
    Foreign("triton", "total_atomic", (FLOATS, FLOATS, "i32"), "4",
            ("x_ptr=float32[1000]", "out_ptr=zeros:float32[1]", "n=1000"),
            lambda a: {"out_ptr": wide(a["x_ptr"]).sum(keepdims=True)}, {"BLOCK": 256},
            tolerance=1e-5),
    Foreign("triton", "histogram", (INTS, INTS, "i32"), "4",
            ("x_ptr=index:int32[1000]", "bins_ptr=int32[32]", "n=1000"),
            lambda a: {"bins_ptr": _histogram(a["x_ptr"], a["bins_ptr"])},
            {"BINS": 32, "BLOCK": 256}, tolerance=0.0),
    Foreign("triton", "gather", (FLOATS, INTS, FLOATS, "i32"), "4",
            ("x_ptr=float32[1000]", "index_ptr=index:int32[1000]", "out_ptr=zeros:float32[1000]",
             "n=1000"),
            lambda a: {"out_ptr": a["x_ptr"][a["index_ptr"]]}, {"BLOCK": 256}, tolerance=0.0),
    Foreign("triton", "embedding", (FLOATS, INTS, FLOATS, "i32"), "30",
            ("table_ptr=float32[30,100]", "token_ptr=index:int32[30]",
             "out_ptr=zeros:float32[30,100]", "width=100"),
            lambda a: {"out_ptr": a["table_ptr"][a["token_ptr"]]}, {"BLOCK": 128}, tolerance=0.0),
    Foreign("triton", "dropout", (FLOATS, FLOATS, "i32", "fp32", "i32"), "3",
            ("x_ptr=float32[700]", "out_ptr=zeros:float32[700]", "n=700", "p=0.3", "seed=1234"),
            _kept, {"BLOCK": 256}),
    Foreign("triton", "attention", (HALVES, HALVES, HALVES, HALVES, "i32", "fp32"), "3",
            ("q_ptr=float16[70,32]", "k_ptr=float16[70,32]", "v_ptr=float16[70,32]",
             "out_ptr=zeros:float16[70,32]", "length=70", "scale=0.25"),
            _attention, {"BM": 32, "BN": 32, "D": 32}, tolerance=2e-3),
    Foreign("triton", "prefix_sums", (INTS, INTS, "i32"), "3",
            ("x_ptr=int32[3,200]", "out_ptr=zeros:int32[3,200]", "columns=200"),
            lambda a: {"out_ptr": a["x_ptr"].cumsum(1)}, {"BLOCK": 256}, tolerance=0.0),
    Foreign("triton", "sort_rows", (FLOATS, FLOATS), "3",
            ("x_ptr=float32[3,64]", "out_ptr=zeros:float32[3,64]"),
            lambda a: {"out_ptr": np.sort(a["x_ptr"], 1)}, {"BLOCK": 64}, tolerance=0.0),
    Foreign("triton", "arg_max", (FLOATS, INTS, "i32"), "5",
            ("x_ptr=float32[5,200]", "out_ptr=zeros:int32[5]", "columns=200"),
            lambda a: {"out_ptr": a["x_ptr"].argmax(1)}, {"BLOCK": 256}, tolerance=0.0),
    Foreign("triton", "stencil", (FLOATS, FLOATS, "i32"), "3",
            ("x_ptr=float32[700]", "out_ptr=zeros:float32[700]", "n=700"),
            lambda a: {"out_ptr": _stencil(wide(a["x_ptr"]))}, {"BLOCK": 256}),
    Foreign("triton", "cross_entropy", (FLOATS, INTS, FLOATS, "i32"), "6",
            ("logits_ptr=float32[6,200]", "label_ptr=index:int32[6]", "loss_ptr=zeros:float32[6]",
             "classes=200"), _cross_entropy, {"BLOCK": 256}),
    Foreign("triton", "quantise", (FLOATS, "*i8", FLOATS, "i32"), "4",
            ("x_ptr=float32[4,200]", "out_ptr=zeros:int8[4,200]", "scale_ptr=zeros:float32[4]",
             "columns=200"), _quantise, {"BLOCK": 256}),
    Foreign("triton", "gelu", (HALVES, HALVES, "i32"), "3",
            ("x_ptr=float16[700]", "out_ptr=zeros:float16[700]", "n=700"), _gelu, {"BLOCK": 256},
            tolerance=1e-3),
    Foreign("triton", "swap_once", (INTS, INTS, "i32"), "2",
            ("flag_ptr=zeros:int32[2]", "out_ptr=int32[400]", "n=200"), _swapped, {"BLOCK": 128},
            tolerance=0.0),
    Foreign("triton", "vector_add", (FLOATS, FLOATS, FLOATS, "i32"), "4",
            ("x_ptr=float32[1000]", "y_ptr=float32[1000]", "out_ptr=zeros:float32[1000]", "n=1000"),
            lambda a: {"out_ptr": wide(a["x_ptr"]) + a["y_ptr"]}, {"BLOCK": 256}, "sm90",
            capability=90),
    Foreign("triton", "matmul_tma",
            ("tensordesc<fp16[64, 64]>", "tensordesc<fp16[64, 128]>", "tensordesc<fp16[64, 128]>",
             "i32"), "2,2",
            ("a=tensormap(float16[100,200], box=64x64, swizzle=128B)",
             "b=tensormap(float16[200,248], box=64x64, swizzle=128B)",
             "c=tensormap(zeros:float16[100,248], box=64x64, swizzle=128B)", "K=200"),
            lambda a: {"c": wide(a["a"]) @ wide(a["b"])}, {"BM": 64, "BN": 128, "BK": 64},
            tolerance=5e-4, capability=90),
)  # fmt: skip

NUMBA = (
    Foreign("numba", "vector_add", ("float32[::1]",) * 3, "8",
            ("x=float32[1000]", "y=float32[1000]", "out=zeros:float32[1000]"),
            lambda a: {"out": wide(a["x"]) + a["y"]}, block="128"),
    Foreign("numba", "saxpy", ("float32", "float32[::1]", "float32[::1]"), "8",
            ("a=-1.5", "x=float32[1000]", "y=float32[1000]"),
            lambda a: {"y": -1.5 * wide(a["x"]) + a["y"]}, block="128"),
    Foreign("numba", "tiled_matmul", ("float32[:, ::1]",) * 3, "3,4",
            ("a=float32[50,30]", "b=float32[30,40]", "c=zeros:float32[50,40]"),
            lambda a: {"c": wide(a["a"]) @ a["b"]}, block="16,16", tolerance=1e-5),
    Foreign("numba", "tiled_transpose", ("float32[:, ::1]",) * 2, "3,4",
            ("x=float32[50,40]", "out=zeros:float32[40,50]"),
            lambda a: {"out": a["x"].T}, block="16,16", tolerance=0.0),
    Foreign("numba", "block_sums", ("float64[::1]",) * 2, "5",
            ("x=float64[600]", "out=zeros:float64[5]"),
            lambda a: {"out": np.pad(a["x"], (0, 40)).reshape(5, 128).sum(1)}, block="128",
            tolerance=1e-13),
    Foreign("numba", "histogram", ("int32[::1]",) * 2, "8",
            ("x=index:int32[1000]", "bins=int32[20]"),
            lambda a: {"bins": _histogram(a["x"], a["bins"])}, block="128", tolerance=0.0),
    Foreign("numba", "stencil", ("float32[::1]",) * 2, "6",
            ("x=float32[700]", "out=zeros:float32[700]"),
            lambda a: {"out": np.pad(_stencil(wide(a["x"]))[1:-1], 1)}, block="128"),
    Foreign("numba", "gather", ("float32[::1]", "int64[::1]", "float32[::1]"), "8",
            ("x=float32[1000]", "index=index:int64[1000]", "out=zeros:float32[1000]"),
            lambda a: {"out": a["x"][a["index"]]}, block="128", tolerance=0.0),
    Foreign("numba", "row_softmax", ("float64[:, ::1]",) * 2, "2",
            ("x=float64[40,9]", "out=zeros:float64[40,9]"),
            lambda a: {"out": _softmax(a["x"])}, block="32", tolerance=1e-13),
    Foreign("numba", "mandelbrot", ("int32[:, ::1]", "float64", "float64", "float64", "int32"),
            "3,3", ("out=zeros:int32[40,44]", "left=-2.0", "top=-1.25", "step=0.0625", "most=40"),
            _mandelbrot, block="16,16", tolerance=0.0),
    Foreign("numba", "warp_sums", ("float32[::1]",) * 2, "3",
            ("x=float32[384]", "out=zeros:float32[12]"),
            lambda a: {"out": wide(a["x"]).reshape(12, 32).sum(1)}, block="128"),
    Foreign("numba", "every_other", ("float32[:]", "float32[:]"), "3",
            ("x=float32[300]", "out=zeros:float32[300]"),
            lambda a: {"out": a["x"]}, block="128", tolerance=0.0),
)  # fmt: skip

OTHERS = (
    Foreign("rust", "saxpy", (), "8",
            ("p0=float32[1000]", "p1=float32[1000]", "p2=-1.5", "p3=1000"),
            lambda a: {"p1": -1.5 * wide(a["p0"]) + a["p1"]}, block="128"),
    Foreign("clang", "blur", (), "4", ("p0=float32[512]", "p1=zeros:float32[512]", "p2=500"),
            _blurred, block="128"),
)  # fmt: skip

FOREIGN = (*TRITON, *NUMBA, *OTHERS)
