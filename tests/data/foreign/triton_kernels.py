"""Kernels in Triton, whose PTX the tests of foreign PTX read."""

# A kernel's parameters have the names of Triton's own tutorials; sizes in capitals are constexpr.
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def saxpy(x_ptr, y_ptr, a, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    y = a * tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, y, mask=mask)


@triton.jit
def strided_copy(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride, mask=mask)
    tl.store(out_ptr + offsets, x, mask=mask)


@triton.jit
def softmax(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * columns + offsets, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def layer_norm(x_ptr, weight_ptr, bias_ptr, out_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    weight = tl.load(weight_ptr + offsets, mask=mask)
    bias = tl.load(bias_ptr + offsets, mask=mask)
    y = centred / tl.sqrt(variance + eps) * weight + bias
    tl.store(out_ptr + row * columns + offsets, y, mask=mask)


@triton.jit
def rms_norm(x_ptr, weight_ptr, out_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=0.0)
        total += x * x
    scale = tl.rsqrt(tl.sum(total, axis=0) / columns + eps)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < columns
        x = tl.load(x_ptr + row * columns + offsets, mask=mask)
        weight = tl.load(weight_ptr + offsets, mask=mask)
        tl.store(out_ptr + row * columns + offsets, x * scale * weight, mask=mask)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a_mask = (rows[:, None] < M) & ((k + inner)[None, :] < K)
        b_mask = ((k + inner)[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * K + (k + inner)[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + (k + inner)[:, None] * N + columns[None, :], mask=b_mask, other=0.0)
        total += tl.dot(a, b)
    c_mask = (rows[:, None] < M) & (columns[None, :] < N)
    c = total.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], c, mask=c_mask)


@triton.jit
def transpose(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=mask)
    tl.store(out_ptr + columns[:, None] * M + rows[None, :], tl.trans(x), mask=tl.trans(mask))


@triton.jit
def row_sums(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), tl.float32)
    for start in range(0, N, BN):
        columns = start + tl.arange(0, BN)
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
        total += tl.sum(x, axis=1)
    tl.store(out_ptr + rows, total, mask=rows < M)


@triton.jit
def total_atomic(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))


@triton.jit
def histogram(x_ptr, bins_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    tl.atomic_add(bins_ptr + x % BINS, 1, mask=mask)


@triton.jit
def gather(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    index = tl.load(index_ptr + offsets, mask=mask, other=0)
    tl.store(out_ptr + offsets, tl.load(x_ptr + index, mask=mask), mask=mask)


@triton.jit
def embedding(table_ptr, token_ptr, out_ptr, width, BLOCK: tl.constexpr):
    place = tl.program_id(0)
    token = tl.load(token_ptr + place)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < width
    row = tl.load(table_ptr + token * width + offsets, mask=mask)
    tl.store(out_ptr + place * width + offsets, row, mask=mask)


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    keep = tl.rand(seed, offsets) > p
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, out_ptr, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    width = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + width[None, :], mask=rows[:, None] < length, other=0.0)
    largest = tl.full((BM,), -float("inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        places = start + tl.arange(0, BN)
        inside = places < length
        k = tl.load(k_ptr + places[None, :] * D + width[:, None], mask=inside[None, :], other=0.0)
        scores = tl.dot(q, k) * scale
        scores = tl.where(inside[None, :], scores, -float("inf"))
        now = tl.maximum(largest, tl.max(scores, 1))
        p = tl.exp(scores - now[:, None])
        keep = tl.exp(largest - now)
        weight = weight * keep + tl.sum(p, 1)
        v = tl.load(v_ptr + places[:, None] * D + width[None, :], mask=inside[:, None], other=0.0)
        total = total * keep[:, None] + tl.dot(p.to(v.dtype), v)
        largest = now
    out = (total / weight[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + rows[:, None] * D + width[None, :], out, mask=rows[:, None] < length)


@triton.jit
def prefix_sums(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0)
    tl.store(out_ptr + row * columns + offsets, tl.cumsum(x, axis=0), mask=mask)


@triton.jit
def sort_rows(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.sort(tl.load(x_ptr + offsets)))


@triton.jit
def arg_max(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=-float("inf"))
    tl.store(out_ptr + row, tl.argmax(x, axis=0))


@triton.jit
def stencil(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x_ptr + place - 1, mask=(place >= 1) & (place - 1 < n), other=0.0)
    middle = tl.load(x_ptr + place, mask=place < n, other=0.0)
    right = tl.load(x_ptr + place + 1, mask=place + 1 < n, other=0.0)
    tl.store(out_ptr + place, 0.25 * left + 0.5 * middle + 0.25 * right, mask=place < n)


@triton.jit
def cross_entropy(logits_ptr, label_ptr, loss_ptr, classes, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < classes
    x = tl.load(logits_ptr + row * classes + offsets, mask=mask, other=-float("inf"))
    largest = tl.max(x, axis=0)
    total = tl.log(tl.sum(tl.exp(x - largest), axis=0)) + largest
    label = tl.load(label_ptr + row)
    tl.store(loss_ptr + row, total - tl.load(logits_ptr + row * classes + label))


@triton.jit
def quantise(x_ptr, out_ptr, scale_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0)
    scale = tl.max(tl.abs(x), axis=0) / 127.0
    rounded = libdevice.rint(x / scale).to(tl.int8)
    tl.store(out_ptr + row * columns + offsets, rounded, mask=mask)
    tl.store(scale_ptr + row, scale)


@triton.jit
def gelu(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, eviction_policy="evict_first").to(tl.float32)
    y = 0.5 * x * (1.0 + libdevice.erf(x * 0.7071067811865476))
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def swap_once(flag_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    before = tl.atomic_cas(flag_ptr + tl.program_id(0), 0, 1)
    highest = tl.atomic_max(out_ptr + offsets, offsets + before, mask=mask)
    tl.store(out_ptr + n + offsets, highest, mask=mask)


@triton.jit
def matmul_tma(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([row, k]), b.load([k, column]), total)
    c.store([row, column], total.to(tl.float16))
