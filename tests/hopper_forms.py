"""Small launches of every form of `wgmma` and of bulk copies, which a GPU has run as well.

`forms()` makes them; `scripts/record_hopper.py` runs them on a GPU, and tests/core/test_hopper.py
compares. A matrix product reads an image of random bytes by a random layout, so that any mistake in
a layout shows.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.launch import Argument, ArrayArgument, Dim3, Launch, Member, ScalarArgument, Workload
from core.tensor_maps import TensorMap

HEAD = r"""
typedef unsigned u32; typedef unsigned long long u64;
struct alignas(64) TensorMap { u64 words[16]; };
__device__ __forceinline__ u32 at(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(u64* b, u32 n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n)); }
__device__ __forceinline__ void expect(u64* b, u32 n) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(b)), "r"(n)); }
__device__ __forceinline__ void wait(u64* b, u32 parity) {
  asm volatile("{\n.reg .pred q;\nagain:\n"
    "mbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1;\n@q bra done;\nbra again;\ndone:\n}"
    :: "r"(at(b)), "r"(parity) : "memory"); }
__device__ __forceinline__ void fence() { asm volatile("fence.proxy.async;" ::: "memory"); }
"""
ARCHITECTURE = "90a"


@dataclass(frozen=True)
class Form:
    """A launch, and the arrays that it writes. `odd`: what no documentation promises."""

    name: str
    workload: Workload
    outputs: tuple[str, ...]
    odd: bool = False


# -- matrix products --------------------------------------------------------------------------

DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}
NBYTES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1, "f32": 4}
IMAGE = 48 << 10


@dataclass(frozen=True)
class Product:
    """One `wgmma.mma_async`: D of type `d` from `a` and `b`; A from registers unless `shared`."""

    d: str
    a: str
    b: str
    n: int
    shared: bool = True
    swizzles: tuple[int, int] = (128, 128)
    transposed: tuple[bool, bool] = (False, False)
    signs: tuple[int, int] = (1, 1)
    scale: int = 1
    values: str = "plain"  # "plain", "wide" (of all sizes), "special" (infinities, NaN, subnormal)
    advance: int = 0  # bytes into the row that the descriptors begin at
    base: int = 0  # rows of the swizzle's pattern that they begin at
    times: int = 1  # products one after another

    @property
    def name(self) -> str:
        """Says it all."""
        parts = [self.d, self.a, self.b, f"n{self.n}", "shared" if self.shared else "registers"]
        parts += [f"swizzle{s}" for s in self.swizzles]
        parts += [f"trans{int(self.transposed[0])}{int(self.transposed[1])}"]
        parts += [f"signs{''.join('pm'[s < 0] for s in self.signs)}", f"scale{self.scale}"]
        parts += [self.values, f"advance{self.advance}", f"base{self.base}", f"times{self.times}"]
        return "_".join(["wgmma", *parts])


def _layout(swizzle: int, rows: int, nbytes: int, transposed: bool) -> tuple[int, int, int]:
    """Leading and stride offsets of a dense tile, and the bytes that it takes."""
    wide = max(swizzle, 16)
    if not transposed:
        if swizzle:
            return 16, 8 * wide, rows * wide
        return 128, 256, rows * 32
    each = wide // nbytes
    pieces = -(-rows // each)
    if swizzle:  # pieces of 8 rows, two of them for each `each` columns
        return 16 * wide, 8 * wide, pieces * 16 * wide
    return 128 * pieces, 128, 256 * pieces


def _descriptor(start: int, leading: int, stride: int, base: int, swizzle: int) -> int:
    mode = {0: 0, 128: 1, 64: 2, 32: 3}[swizzle]
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | mode << 62


def random_factors(
    kind: str, values: str, count: int, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """`count` elements of a type, as bytes."""
    if kind in ("s8", "u8"):
        return rng.integers(0, 256, count, np.uint8)
    if kind in ("e4m3", "e5m2"):
        raw = rng.integers(0, 256, count, np.uint8)
        nan = 0x7F if kind == "e4m3" else 0x7C
        if values == "plain":  # of about one size
            bias, bits = (7, 3) if kind == "e4m3" else (15, 2)
            size = rng.integers(bias - 2, bias + 2, count) << bits
            raw = (raw & (0x80 | (1 << bits) - 1)) | size.astype(np.uint8)
        elif values == "wide":
            raw = np.where((raw & 0x7F) >= nan, raw & 0x83, raw).astype(np.uint8)
        return raw
    floats = rng.standard_normal(count).astype(np.float32)
    if values != "plain":
        most = {"f16": 12, "bf16": 40, "tf32": 40}[kind]
        floats = np.ldexp(floats, rng.integers(-most, most // 2, count)).astype(np.float32)
    if values == "special":
        odd = rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-7, -3e-8, 1e-40], count)
        floats = np.where(rng.random(count) < 0.03, odd, floats).astype(np.float32)
    if kind == "f16":
        return floats.astype(np.float16).view(np.uint8)
    bits = floats.view(np.uint32)
    if kind == "bf16":
        return (bits >> 16).astype(np.uint16).view(np.uint8)
    return bits.view(np.uint8)  # with bits that tf32 does not have


def product(p: Product) -> Form:
    """The launch of a product: an image of shared memory, registers, and what came of them."""
    rng = np.random.default_rng(zlib.crc32(p.name.encode()))
    halves = p.d == "f16"
    nd = p.n // 4 if halves else p.n // 2
    sizes = NBYTES[p.a], NBYTES[p.b]
    layouts = (
        _layout(p.swizzles[0], 64, sizes[0], p.transposed[0]),
        _layout(p.swizzles[1], p.n, sizes[1], p.transposed[1]),
    )
    starts = 0, 8192 if p.shared else 0
    shift = p.advance + 128 * p.base
    descriptors = [
        _descriptor(start + shift, *layout[:2], p.base, swizzle)
        for start, layout, swizzle in zip(starts, layouts, p.swizzles, strict=True)
    ]
    image = np.concatenate(
        [
            random_factors(p.a, p.values, 8192 // sizes[0], rng),
            random_factors(p.b, p.values, (IMAGE - 8192) // sizes[1], rng),
        ]
        if p.shared
        else [random_factors(p.b, p.values, IMAGE // sizes[1], rng)]
    )
    fragments = random_factors(p.a, p.values, 128 * 4 * 4 // sizes[0], rng).view(np.uint32)
    if p.d == "s32":
        given = rng.integers(-(2**31), 2**31, 128 * nd, np.int64).astype(np.int32).view(np.uint32)
    elif halves:
        given = random_factors("f16", p.values, 256 * nd, rng).view(np.uint32)
    else:
        given = random_factors("tf32", "wide" if p.values != "plain" else "plain", 128 * nd, rng)
        given = given.view(np.uint32)
    is_float = p.d == "f32"
    letter = "f" if is_float else "r"
    names = ", ".join(f"%{i}" for i in range(nd))
    outs = ", ".join(f'"+{letter}"(d[{i}])' for i in range(nd))
    more = "" if p.d == "s32" else f", {p.signs[0]}, {p.signs[1]}"
    if p.a in ("f16", "bf16"):
        more += f", {int(p.transposed[0])}" if p.shared else ""
        more += f", {int(p.transposed[1])}"
    if p.shared:
        a_text, b_text, s_text = f"%{nd}", f"%{nd + 1}", f"%{nd + 2}"
        ins = '"l"(a), "l"(b), "r"(scale)'
    else:
        a_text = "{" + ", ".join(f"%{nd + i}" for i in range(4)) + "}"
        b_text, s_text = f"%{nd + 4}", f"%{nd + 5}"
        ins = '"r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(b), "r"(scale)'
    one = (
        f"wgmma.mma_async.sync.aligned.m64n{p.n}k{DEPTH[p.a]}.{p.d}.{p.a}.{p.b} "
        f"{{{names}}}, {a_text}, {b_text}, p{more};"
    )
    body = "\\n".join([one] * p.times)
    kind = "float" if is_float else "u32"
    load, store = ("__uint_as_float", "__float_as_uint") if is_float else ("", "")
    source = (
        HEAD
        + f"""
extern "C" __global__ void __launch_bounds__(128) {p.name}(
    const int4* image, const u32* fragments, const u32* given, u32* out, u64 a, u64 b, int scale) {{
  extern __shared__ __align__(1024) char s[];
  int t = threadIdx.x;
  for (int i = t; i < {IMAGE // 16}; i += 128) ((int4*)s)[i] = image[i];
  fence();
  __syncthreads();
  a += (at(s) & 0x3FFFF) >> 4; b += (at(s) & 0x3FFFF) >> 4;
  {kind} d[{nd}]; u32 f[4];
  for (int i = 0; i < 4; i++) f[i] = fragments[4 * t + i];
  #pragma unroll
  for (int i = 0; i < {nd}; i++) d[i] = {load}(given[{nd} * t + i]);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, {s_text}, 0;\\n{body}\\n}}"
    : {outs} : {ins} : "memory");
  asm volatile("wgmma.commit_group.sync.aligned;\\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  #pragma unroll
  for (int i = 0; i < {nd}; i++) out[{nd} * t + i] = {store}(d[i]);
}}"""
    )
    arguments: tuple[Argument, ...] = (
        ArrayArgument("image", image),
        ArrayArgument("fragments", fragments),
        ArrayArgument("given", given),
        ArrayArgument("out", np.full(128 * nd, 0xDEADBEEF, np.uint32), "output"),
        ScalarArgument("a", np.uint64(descriptors[0])),
        ScalarArgument("b", np.uint64(descriptors[1])),
        ScalarArgument("scale", np.int32(p.scale)),
    )
    launch = Launch(Dim3(1), Dim3(128), arguments, IMAGE)
    return Form(p.name, Workload(p.name, source, "k.cu", p.name, launch), ("out",), bool(p.base))


def products() -> Iterator[Product]:
    """All products: types, sizes, layouts, values."""
    for n in range(8, 257, 8):
        yield Product("f32", "f16", "f16", n)
    for d, a, b, n in (
        ("f16", "f16", "f16", 64), ("f32", "bf16", "bf16", 64), ("f32", "tf32", "tf32", 64),
        ("f32", "e4m3", "e4m3", 64), ("f32", "e4m3", "e5m2", 64), ("f32", "e5m2", "e4m3", 64),
        ("f32", "e5m2", "e5m2", 64), ("f16", "e4m3", "e4m3", 64), ("f16", "e5m2", "e4m3", 64),
        ("s32", "s8", "s8", 64), ("s32", "u8", "u8", 64), ("s32", "s8", "u8", 64),
        ("s32", "u8", "s8", 64), ("f32", "f16", "f16", 64),
    ):  # fmt: skip
        for values in ("plain", "wide", "special") if d != "s32" else ("plain",):
            yield Product(d, a, b, n, values=values, times=2)
            yield Product(d, a, b, n, shared=False, values=values)
    for a in ("f16", "bf16"):
        for first in (0, 32, 64, 128):
            for second in (0, 32, 64, 128):
                flips = ((False, False), (False, True), (True, False), (True, True))
                for flip in flips if a == "f16" or first == second else ((True, True),):
                    yield Product("f32", a, a, 96, swizzles=(first, second), transposed=flip)
    for a, d in (("tf32", "f32"), ("e4m3", "f32"), ("s8", "s32")):
        for swizzle in (0, 32, 64):
            yield Product(d, a, a, 48, swizzles=(swizzle, swizzle))
    for swizzle in (0, 32, 64, 128):
        yield Product("f32", "f16", "f16", 72, False, (0, swizzle), (False, True))
    for signs in ((-1, 1), (1, -1), (-1, -1)):
        yield Product("f32", "f16", "f16", 32, signs=signs, values="special")
        yield Product("f32", "tf32", "tf32", 32, shared=False, signs=signs)
    for a, d in (("f16", "f32"), ("f16", "f16"), ("s8", "s32"), ("e5m2", "f32")):
        yield Product(d, a, a, 40 if a != "s8" else 48, scale=0, values="wide")
    for advance in (32, 64, 96):
        yield Product("f32", "f16", "f16", 128, advance=advance)
    yield Product("f32", "f16", "f16", 128, swizzles=(64, 64), advance=32)
    for base in (1, 3, 6):
        yield Product("f32", "f16", "f16", 64, base=base)


# -- bulk copies ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    """A copy of a box: loaded and its bytes stored one by one, or stored from given bytes."""

    shape: tuple[int, ...]
    dtype: str
    box: tuple[int, ...]
    corner: tuple[int, ...]
    swizzle: int
    steps: tuple[int, ...] = ()
    stores: bool = False
    to: int = 0  # where in shared memory
    odd: bool = False

    @property
    def name(self) -> str:
        """Says it all."""
        parts = ["store" if self.stores else "load", self.dtype]
        several = (self.shape, self.box, self.corner, self.steps or (1,))
        parts += ["x".join(str(s).replace("-", "m") for s in sizes) for sizes in several]
        return "_".join(["box", *parts, f"swizzle{self.swizzle}", f"to{self.to}"])


def copied_box(p: Box) -> Form:
    """The launch of a copy of a box."""
    rank = len(p.shape)
    rng = np.random.default_rng(zlib.crc32(p.name.encode()))
    data = rng.integers(0, 256, (*p.shape, np.dtype(p.dtype).itemsize), np.uint8)
    data = np.ascontiguousarray(data).view(p.dtype).reshape(p.shape)
    what = TensorMap.of_array(p.shape, data.itemsize, p.box, p.swizzle, p.steps)
    size = p.to + what.extent
    size = -(-size // 1024) * 1024 + 1024
    names = ", ".join(f"int x{i}" for i in range(rank))
    registers = ", ".join(f"%{i + 2}" for i in range(rank))
    values = ", ".join(f'"r"(x{i})' for i in range(rank))
    if p.stores:
        work = f"""
  if (t == 0) {{
    asm volatile("cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group "
      "[%0, {{{registers}}}], [%1];" :: "l"(&map), "r"(at(tile + {p.to})), {values} : "memory");
    asm volatile("cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;" ::: "memory");
  }}"""
    else:
        work = f"""
  if (t == 0) {{
    init(&full, 1);
    fence();
    expect(&full, {what.box_bytes});
    asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {{{registers}}}], [%{rank + 2}];"
      :: "r"(at(tile + {p.to})), "l"(&map), {values}, "r"(at(&full)) : "memory");
  }}
  __syncthreads();
  wait(&full, 0);
  for (int i = t; i < {size}; i += 64) bytes[i] = tile[i];"""
    source = (
        HEAD
        + f"""
extern "C" __global__ void {p.name}(const __grid_constant__ TensorMap map, char* bytes, {names}) {{
  extern __shared__ __align__(1024) char tile[];
  __shared__ u64 full;
  int t = threadIdx.x;
  for (int i = t; i < {size}; i += 64) tile[i] = bytes[i];
  fence();
  __syncthreads();{work}
}}"""
    )
    given = rng.integers(0, 256, size, np.uint8)
    arguments = (
        ArrayArgument("map", data, "inout", Member("map", 0, 128, 64), map=what),
        ArrayArgument("bytes", given, "inout"),
        *(ScalarArgument(f"x{i}", np.int32(c)) for i, c in enumerate(p.corner)),
    )
    launch = Launch(Dim3(1), Dim3(64), arguments, size)
    made = Workload(p.name, source, "k.cu", p.name, launch)
    return Form(p.name, made, ("map", "bytes"), p.odd)


def boxes() -> Iterator[Box]:
    """All copies of boxes."""
    plain = (
        Box((96,), "uint8", (48,), (64,), 0),
        Box((40, 24), "float32", (8, 20), (4, 30), 0),
        Box((40, 24), "float32", (8, 20), (-4, 5), 32),
        Box((70, 64), "uint16", (32, 40), (16, -7), 64),
        Box((70, 72), "uint16", (64, 33), (8, 40), 128),
        Box((70, 72), "uint16", (64, 33), (8, 40), 128, to=1024),
        Box((50, 160), "uint8", (128, 20), (48, 3), 128),
        Box((5, 30, 16), "float64", (4, 9, 3), (2, 20, 3), 32),
        Box((3, 5, 9, 32), "uint16", (16, 4, 3, 2), (16, 7, -1, 1), 0),
        Box((3, 4, 5, 6, 8), "float32", (8, 3, 2, 3, 2), (0, 2, 4, 2, 1), 32),
        Box((64, 64), "float32", (8, 30), (8, 6), 32, (1, 3)),
        Box((9, 64, 32), "uint16", (32, 16, 8), (0, 50, 2), 64, (1, 2, 4)),
        Box((128, 128), "uint16", (64, 128), (64, 0), 128),
        Box((128, 128), "uint16", (8, 128), (40, 0), 0),
    )
    odd = (
        Box((64, 64), "uint16", (32, 20), (8, 5), 128, odd=True),  # rows shorter than the swizzle
        Box((64, 64), "uint16", (16, 20), (8, 5), 64, odd=True),
        Box((64, 64), "uint16", (8, 24), (8, 5), 32, odd=True),
        Box((64, 80), "uint8", (80, 16), (0, 5), 128, odd=True),
        Box((64, 64), "uint16", (64, 16), (8, 5), 128, to=128, odd=True),  # within the pattern
        Box((64, 64), "uint16", (64, 16), (8, 5), 128, to=384, odd=True),
        Box((64, 64), "uint16", (32, 16), (8, 5), 64, to=128, odd=True),
        Box((64, 64), "float32", (8, 30), (8, 6), 0, (2, 3), odd=True),  # a step of the innermost
        Box((64, 64), "float32", (16, 30), (64, 70), 0, odd=True),  # all of it outside
        Box((64, 64), "uint16", (32, 20), (3, 5), 64, odd=True),  # not at a multiple of 16 bytes
    )
    for box in (*plain, *odd):
        yield box
        fails = min(box.corner) < 0  # a GPU takes no store there
        yield Box(**{**vars(box), "stores": True, "odd": box.odd or fails})


# -- products of one warp, of 8-bit floats ----------------------------------------------------

SMALL = ("e4m3", "e5m2")
_THREADS = 256


def small_product(d: str, depth: int, values: str) -> Form:
    """`mma.sync` of all four pairs of 8-bit floats, by eight warps.

    `values` "cancel": the products of two lanes of four are those of the other two with the sign
    turned, so that little more than C is left.
    """
    name = f"mma_{d}_k{depth}_{values}"
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    na, nb, nd = depth // 8, depth // 16, 4 if d == "f32" else 2
    sort = "plain" if values == "cancel" else values

    def factors(registers: int) -> NDArray[np.uint32]:
        several = [random_factors(kind, sort, 4 * _THREADS * registers, rng) for kind in SMALL]
        return np.stack(several).view(np.uint32).reshape(2, _THREADS, registers)

    a, b = factors(na), factors(nb)
    if values == "cancel":
        late = np.flatnonzero(np.arange(_THREADS) % 4 >= 2)
        a[:, late], b[:, late] = a[:, late - 2] ^ np.uint32(0x80808080), b[:, late - 2]
    count = _THREADS * nd
    if d == "f32":
        size = rng.integers(-30, 12, count)
        c = np.ldexp(rng.standard_normal(count), size).astype(np.float32).view(np.uint32)
    else:
        c = random_factors("f16", sort, 2 * count, rng).view(np.uint32)
    letter, kind = ("f", "float") if d == "f32" else ("r", "u32")
    load, store = ("__uint_as_float", "__float_as_uint") if d == "f32" else ("", "")
    numbers = [f"%{i}" for i in range(nd + na + nb)]
    groups = numbers[:nd], numbers[nd : nd + na], numbers[nd + na :], numbers[:nd]
    operands = ", ".join(f"{{{', '.join(group)}}}" for group in groups)
    outs = ", ".join(f'"+{letter}"(d[{i}])' for i in range(nd))
    ins = ", ".join([f'"r"(p[{i}])' for i in range(na)] + [f'"r"(q[{i}])' for i in range(nb)])
    work = ""
    for i, first in enumerate(SMALL):
        for j, second in enumerate(SMALL):
            work += f"""
  p = a + {na} * (t + {i * _THREADS}); q = b + {nb} * (t + {j * _THREADS});
  for (int i = 0; i < {nd}; i++) d[i] = {load}(c[{nd} * t + i]);
  asm volatile("mma.sync.aligned.m16n8k{depth}.row.col.{d}.{first}.{second}.{d} {operands};"
    : {outs} : {ins});
  for (int i = 0; i < {nd}; i++) out[{nd} * (t + {(2 * i + j) * _THREADS}) + i] = {store}(d[i]);"""
    source = f"""{HEAD}
extern "C" __global__ void {name}(const u32* a, const u32* b, const u32* c, u32* out) {{
  int t = threadIdx.x; {kind} d[{nd}]; const u32 *p, *q;{work}
}}"""
    arguments = (
        ArrayArgument("a", a.reshape(-1)),
        ArrayArgument("b", b.reshape(-1)),
        ArrayArgument("c", c),
        ArrayArgument("out", np.zeros(4 * count, np.uint32), "output"),
    )
    launch = Launch(Dim3(1), Dim3(_THREADS), arguments)
    return Form(name, Workload(name, source, "k.cu", name, launch), ("out",))


# -- copies that reduce -----------------------------------------------------------------------

_BY_OPERATION = {
    "add": "u32 s32 u64 f32 f64 f16 bf16",
    **dict.fromkeys(("min", "max"), "u32 s32 u64 s64 f16 bf16"),
    **dict.fromkeys(("inc", "dec"), "u32"),
    **dict.fromkeys(("and", "or", "xor"), "b32 b64"),
}
SUMS = tuple((name, kind) for name, kinds in _BY_OPERATION.items() for kind in kinds.split())
IN_CLUSTER = tuple(
    (name, kind)
    for name, kind in SUMS
    if kind in ("u32", "s32", "b32") or (name, kind) == ("add", "u64")
)
_SIZES = {"f16": 12, "bf16": 30, "f32": 30, "f64": 300}  # of a float's exponent


def terms(kind: str, count: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Elements of a type, as bytes: of all sizes, and what is special."""
    if kind not in _SIZES:
        whole = rng.integers(0, 2**64, count, np.uint64) >> rng.choice([0, 60], count).astype("u8")
        return whole.astype(f"u{int(kind[1:]) // 8}").view(np.uint8)
    most = _SIZES[kind]
    down = {"f16": 12, "bf16": 105, "f32": 115, "f64": 740}[kind]  # to where they are subnormal
    size = rng.integers(-most, most // 2, count) - down * (rng.random(count) < 0.3)
    floats = np.ldexp(rng.standard_normal(count), size)
    odd = rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0], count)
    floats = np.where(rng.random(count) < 0.1, odd, floats)
    if kind == "bf16":
        return (floats.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    return floats.astype(kind.replace("f", "float")).view(np.uint8)


@dataclass(frozen=True)
class Sum:
    """A copy that reduces bytes in global memory, or in that of the cluster's other block.

    `to`, `of`: bytes that lie before those that are reduced, in either memory. `lanes` do it, each
    `apart` bytes further in both.
    """

    name: str
    kind: str
    nbytes: int
    to: int = 0
    of: int = 0
    lanes: int = 1
    apart: int = 0
    blocks: int = 1
    in_cluster: bool = False

    @property
    def title(self) -> str:
        """Says it all."""
        where = "cluster" if self.in_cluster else "global"
        several = (self.nbytes, self.to, self.of, self.lanes, self.apart, self.blocks)
        return "_".join(["sum", where, self.name, self.kind, *map(str, several)])


def _cases(instructions: Sequence[str], operands: str) -> str:
    return "".join(
        f'\n    if (which == {i}) asm volatile("{text}" :: {operands} : "memory");'
        for i, text in enumerate(instructions)
    )


_WAIT = 'asm volatile("cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;" ::: "memory");'
_GLOBAL_SUMS = _cases(
    [
        f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{name}"
        f"{'.noftz' if name == 'add' and kind in ('f16', 'bf16') else ''}.{kind} [%0], [%1], %2;"
        for name, kind in SUMS
    ],
    '"l"(bytes + to + t * apart), "r"(at(tile + of + t * apart)), "r"(size)',
)
_CLUSTER_SUMS = _cases(
    [
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes."
        f"{name}.{kind} [%0], [%1], %2, [%3];"
        for name, kind in IN_CLUSTER
    ],
    '"r"(far(old + to, rank ^ 1)), "r"(at(tile + of)), "r"(size), "r"(far(&full, rank ^ 1))',
)
_CLUSTER = r"""
__device__ __forceinline__ u32 far(const void* p, u32 rank) { u32 found;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(found) : "r"(at(p)), "r"(rank)); return found; }
__device__ __forceinline__ void together() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); }
"""


def summed(p: Sum) -> Form:
    """The launch of copies that reduce."""
    rng = np.random.default_rng(zlib.crc32(p.title.encode()))
    nbytes = int(p.kind[-2:]) // 8
    room = 4096

    def given(blocks: int) -> NDArray[np.uint8]:
        return terms(p.kind, blocks * room // nbytes, rng)

    head = (
        "const char* from, char* bytes, int which, int to, int of, int size, int lanes, int apart"
    )
    fill = f"for (int i = t; i < {room}; i += 64) tile[i] = from[{room} * blockIdx.x + i];"
    if p.in_cluster:
        source = f"""{HEAD}{_CLUSTER}
extern "C" __global__ void __cluster_dims__(2) {p.title}({head}) {{
  __shared__ __align__(128) char tile[{room}], old[{room}];
  __shared__ u64 full; u32 rank;
  int t = threadIdx.x;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  {fill}
  for (int i = t; i < {room}; i += 64) old[i] = bytes[{room} * blockIdx.x + i];
  if (t == 0) {{ init(&full, 1); expect(&full, size); }}
  fence(); together();
  if (t == 0) {{{_CLUSTER_SUMS}
  }}
  wait(&full, 0);
  for (int i = t; i < {room}; i += 64) bytes[{room} * blockIdx.x + i] = old[i];
  together();
}}"""
    else:
        source = f"""{HEAD}
extern "C" __global__ void {p.title}({head}) {{
  __shared__ __align__(128) char tile[{room}];
  int t = threadIdx.x;
  {fill}
  fence(); __syncthreads();
  if (t < lanes) {{{_GLOBAL_SUMS}
    {_WAIT}
  }}
}}"""
    which = (IN_CLUSTER if p.in_cluster else SUMS).index((p.name, p.kind))
    numbers = {"which": which, "to": p.to, "of": p.of, "size": p.nbytes, "lanes": p.lanes}
    arguments = (
        ArrayArgument("from", given(p.blocks)),
        ArrayArgument("bytes", given(p.blocks if p.in_cluster else 1), "inout"),
        *(ScalarArgument(n, np.int32(v)) for n, v in {**numbers, "apart": p.apart}.items()),
    )
    launch = Launch(Dim3(p.blocks), Dim3(64), arguments)
    return Form(p.title, Workload(p.title, source, "k.cu", p.title, launch), ("bytes",))


def sums() -> Iterator[Sum]:
    """Copies that reduce, of plain bytes."""
    for name, kind in SUMS:
        yield Sum(name, kind, 1024, 32, 64)
    for kind in ("u32", "f16", "u64"):
        for nbytes, to, of in (
            (16, 0, 0), (16, 16, 0), (32, 16, 0), (48, 16, 16), (128, 0, 0), (128, 64, 0),
            (128, 0, 64), (144, 112, 16), (512, 32, 0), (528, 48, 80), (2048, 0, 0),
            (2064, 16, 48), (3200, 96, 112),
        ):  # fmt: skip
            if kind == "u32" or to % 48 == 0:
                yield Sum("add", kind, nbytes, to, of)
    yield Sum("add", "u32", 64, lanes=3)  # the same by three lanes
    yield Sum("add", "f32", 64, lanes=40)
    yield Sum("add", "u32", 80, 16, 32, lanes=5, apart=96)
    yield Sum("add", "s32", 256, lanes=4, apart=128)  # each overlaps the next
    yield Sum("xor", "b32", 1024, 64, 16, blocks=5)
    for name, kind in IN_CLUSTER:
        yield Sum(name, kind, 528, 48, 80, blocks=2, in_cluster=True)


OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


@dataclass(frozen=True)
class SumBox:
    """A copy of a box that reduces elements of a type."""

    name: str
    kind: str
    shape: tuple[int, ...]
    box: tuple[int, ...]
    corner: tuple[int, ...]
    swizzle: int = 0
    steps: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """Says it all."""
        several = (self.shape, self.box, self.corner, self.steps or (1,))
        sizes = ["x".join(map(str, numbers)) for numbers in several]
        return "_".join(["sumbox", self.name, self.kind, *sizes, f"swizzle{self.swizzle}"])


def summed_box(p: SumBox) -> Form:
    """The launch of a copy of a box that reduces."""
    rng = np.random.default_rng(zlib.crc32(p.title.encode()))
    rank, nbytes = len(p.shape), int(p.kind[-2:]) // 8
    data = terms(p.kind, int(np.prod(p.shape)), rng).view(f"u{nbytes}").reshape(p.shape)
    what = TensorMap.of_array(p.shape, nbytes, p.box, p.swizzle, p.steps, kind=p.kind)
    size = -(-what.extent // 1024) * 1024 + 1024
    given = terms(p.kind, size // nbytes, rng)
    names = ", ".join(f"int x{i}" for i in range(rank))
    registers = ", ".join(f"%{i + 2}" for i in range(rank))
    values = ", ".join(f'"r"(x{i})' for i in range(rank))
    boxes = _cases(
        [
            f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{name}.tile.bulk_group "
            f"[%0, {{{registers}}}], [%1];"
            for name in OPERATIONS
        ],
        f'"l"(&map), "r"(at(tile)), {values}',
    )
    source = f"""{HEAD}
extern "C" __global__ void {p.title}(const __grid_constant__ TensorMap map, const char* from,
    int which, int size, {names}) {{
  extern __shared__ __align__(1024) char tile[];
  int t = threadIdx.x;
  for (int i = t; i < size; i += 64) tile[i] = from[i];
  fence(); __syncthreads();
  if (t == 0) {{{boxes}
    {_WAIT}
  }}
}}"""
    numbers = {"which": OPERATIONS.index(p.name), "size": size}
    numbers |= {f"x{i}": c for i, c in enumerate(p.corner)}
    arguments = (
        ArrayArgument("map", data, "inout", Member("map", 0, 128, 64), map=what),
        ArrayArgument("from", given),
        *(ScalarArgument(name, np.int32(value)) for name, value in numbers.items()),
    )
    launch = Launch(Dim3(1), Dim3(64), arguments, size)
    return Form(p.title, Workload(p.title, source, "k.cu", p.title, launch), ("map",))


def sum_boxes() -> Iterator[SumBox]:
    """Copies of boxes that reduce: every type, and boxes of all ranks that edges clip."""
    for name, kind in SUMS:
        for one in {"b32": ("u32", "s32"), "b64": ("u64",)}.get(kind, (kind,)):
            yield SumBox(name, one, (40, 24), (8, 20), (16, 30))
    yield SumBox("add", "u32", (96,), (48,), (64,))
    yield SumBox("max", "f16", (70, 64), (32, 40), (16, 40), 64)
    yield SumBox("add", "f16", (70, 72), (64, 33), (8, 40), 128)
    yield SumBox("add", "f32", (40, 24), (8, 20), (4, 5), 32)
    yield SumBox("add", "u64", (5, 30, 16), (4, 9, 3), (2, 20, 3), 32)
    yield SumBox("min", "bf16", (3, 5, 9, 32), (16, 4, 3, 2), (16, 7, 3, 1))
    yield SumBox("add", "f32", (3, 4, 5, 6, 8), (8, 3, 2, 3, 2), (0, 2, 4, 2, 1), 32)
    yield SumBox("xor", "u32", (64, 64), (8, 30), (8, 6), 32, (1, 3))
    yield SumBox("add", "f16", (9, 64, 32), (32, 16, 8), (0, 50, 2), 64, (1, 2, 4))
    yield SumBox("add", "bf16", (128, 128), (64, 128), (64, 0), 128)
    yield SumBox("add", "f32", (64, 64), (16, 30), (64, 70))  # all of it outside


# -- stores and updates in another block, of which an mbarrier hears ---------------------------

_FAR = (
    *(
        (f"st.async.shared::cluster.mbarrier::complete_tx::bytes{vector}.{kind}", kind, count)
        for kind in ("u32", "s64", "f32", "f64", "b32", "b64")
        for vector, count in (("", 1), (".v2", 2), (".v4", 4))
        if count < 4 or kind[1:] == "32"
    ),
    *(
        (f"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{name}.{kind}",
         kind, 1)
        for name, kind in IN_CLUSTER
    ),
)  # fmt: skip


def _far_text(instruction: str, kind: str, count: int) -> str:
    values = [f"%{i + (2 if kind[1:] == '32' else 6)}" for i in range(count)]
    vector = f"{{{', '.join(values)}}}" if count > 1 else values[0]
    return f"{instruction} [%0], {vector}, [%1];"


def far_stores(which: int, slots: int = 32) -> Form:
    """Each lane of a warp sends something to one of the other block's slots of 16 bytes."""
    instruction, kind, count = _FAR[which]
    words = [w for w in instruction.split(".") if "::" not in w and w not in ("async", "relaxed")]
    name = f"far_{'_'.join(w for w in words if w != 'cluster')}_{slots}"
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    operands = '"r"(to), "r"(far(&full, rank ^ 1)), '
    operands += ", ".join(f'"r"(v[{i}])' for i in range(4))
    operands += ', "l"((u64)v[1] << 32 | v[0]), "l"((u64)v[3] << 32 | v[2])'
    source = f"""{HEAD}{_CLUSTER}
extern "C" __global__ void __cluster_dims__(2) {name}(const u32* from, u32* bytes, int which,
    int size, int slots) {{
  __shared__ __align__(16) u32 old[128];
  __shared__ u64 full; u32 rank, v[4];
  int t = threadIdx.x;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  from += 128 * blockIdx.x + 4 * t; bytes += 128 * blockIdx.x + 4 * t;
  for (int i = 0; i < 4; i++) {{ v[i] = from[i]; old[4 * t + i] = bytes[i]; }}
  if (t == 0) {{ init(&full, 1); expect(&full, size); }}
  together();
  u32 to = far(old + 4 * ((t * 5 + 3) % slots), rank ^ 1);{
        _cases([_far_text(*one) for one in _FAR], operands)
    }
  wait(&full, 0);
  for (int i = 0; i < 4; i++) bytes[i] = old[4 * t + i];
  together();
}}"""
    numbers = {"which": which, "size": 32 * count * int(kind[1:]) // 8, "slots": slots}
    arguments = (
        ArrayArgument("from", terms("u32", 256, rng).view("u4")),
        ArrayArgument("bytes", terms("u32", 256, rng).view("u4"), "inout"),
        *(ScalarArgument(n, np.int32(v)) for n, v in numbers.items()),
    )
    launch = Launch(Dim3(2), Dim3(32), arguments)
    return Form(name, Workload(name, source, "k.cu", name, launch), ("bytes",))


def updates() -> Iterator[Form]:
    """All of what this file has that a GPU ran later than the first: sums, far stores, products."""
    for d in ("f32", "f16"):
        for depth in (16, 32):
            yield from (small_product(d, depth, v) for v in ("plain", "wide", "special", "cancel"))
    yield from (summed(p) for p in sums())
    yield from (summed_box(p) for p in dict.fromkeys(sum_boxes()))
    yield from (far_stores(i) for i in range(len(_FAR)))
    for i, (instruction, _, _) in enumerate(_FAR):
        if instruction.endswith(("add.u32", "add.u64", "xor.b32", "max.s32")):
            yield far_stores(i, 3)


def forms() -> Iterator[Form]:
    """Everything, what is odd at the end: a GPU may stop at it."""
    for odd in (False, True):
        yield from (product(p) for p in dict.fromkeys(products()) if bool(p.base) is odd)
        yield from (copied_box(b) for b in boxes() if b.odd is odd)
    yield from updates()
