"""Triton kernels written for this repository; make_ptx.py compiles them without a GPU."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(z + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def softmax(out, inp, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(inp + row * columns + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out + row * columns + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.jit
def layer_norm(x, w, b, y, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < columns
    v = tl.load(x + row * columns + i, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / columns
    d = tl.where(mask, v - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(d * d, axis=0) / columns + eps)
    tl.store(y + row * columns + i, d * rstd * tl.load(w + i, mask=mask) + tl.load(b + i, mask=mask), mask=mask)


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, k, BK):
        x = tl.load(a + rows[:, None] * k + (step + ks)[None, :], mask=(step + ks)[None, :] < k, other=0.0)
        y = tl.load(b + (step + ks)[:, None] * n + cols[None, :], mask=(step + ks)[:, None] < k, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * n + cols[None, :], acc.to(c.dtype.element_ty), mask=(rows < m)[:, None])


@triton.jit
def matmul_int8(a, b, c, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.int32)
    for step in range(0, k, BK):
        x = tl.load(a + rows[:, None] * k + (step + ks)[None, :])
        y = tl.load(b + cols[None, :] * k + (step + ks)[:, None])
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * n + cols[None, :], acc)


@triton.jit
def matmul_device_tma(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    db = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[BN, BK])
    dc = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, k, BK):
        acc = tl.dot(da.load([row, step]), db.load([col, step]).T, acc)
    dc.store([row, col], acc.to(tl.float16))


@triton.jit
def attention(q, k, v, o, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    base = tl.program_id(1) * n * D
    x = tl.load(q + base + rows[:, None] * D + d[None, :])
    top = tl.full((BM,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    for step in range(0, n, BN):
        cols = step + tl.arange(0, BN)
        y = tl.load(k + base + cols[None, :] * D + d[:, None])
        s = tl.dot(x, y) * scale
        s = tl.where(rows[:, None] >= cols[None, :], s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(top - new)
        total = total * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        z = tl.load(v + base + cols[:, None] * D + d[None, :])
        acc = tl.dot(p.to(z.dtype), z, acc)
        top = new
    tl.store(o + base + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(o.dtype.element_ty))


@triton.jit
def histogram_and_scan(x, h, s, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(h + tl.arange(0, BINS), tl.histogram(v, BINS))
    tl.store(s + i, tl.cumsum(v, axis=0))
    tl.store(s + BLOCK + i, tl.sort(v))


@triton.jit
def atomics(x, y, lock, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, eviction_policy="evict_last") + tl.load(x + i, cache_modifier=".cg")
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.atomic_add(y + i, v, sem="relaxed", scope="cta")
    tl.atomic_max(y + BLOCK, tl.max(v, 0))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)
    tl.device_print("value", v)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    keep = tl.rand(seed, i) > p
    v = tl.load(x + i, mask=mask)
    tl.store(out + i, tl.where(keep, v / (1 - p), 0.0), mask=mask)


@triton.jit
def convert(x, f8, bf, i8, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(f8 + i, v.to(tl.float8e4nv))
    tl.store(bf + i, (v * 2).to(tl.bfloat16))
    tl.store(i8 + i, tl.math.floor(v).to(tl.int8))
    tl.store(x + i, tl.math.erf(v) + tl.sin(v) + tl.log2(tl.abs(v)) + tl.math.fma(v, v, v))


# name, signature, constants, warps, stages, targets
FORMS = [
    ("vector_add", "*fp32 *fp32 *fp32 i32", dict(BLOCK=1024), 4, 3, (80, 90)),
    ("vector_add", "*bf16 *bf16 *bf16 i32", dict(BLOCK=256), 4, 3, (80,)),
    ("softmax", "*fp32 *fp32 i32", dict(BLOCK=1024), 4, 3, (80, 90)),
    ("layer_norm", "*fp16 *fp16 *fp16 *fp16 i32 fp32", dict(BLOCK=1024), 4, 3, (80, 90)),
    ("matmul", "*fp16 *fp16 *fp16 i32 i32 i32", dict(BM=64, BN=64, BK=32), 4, 3, (80, 90)),
    ("matmul", "*bf16 *bf16 *fp32 i32 i32 i32", dict(BM=128, BN=64, BK=32), 4, 4, (80, 90)),
    ("matmul", "*fp32 *fp32 *fp32 i32 i32 i32", dict(BM=64, BN=64, BK=32), 4, 2, (80, 90)),
    ("matmul", "*fp8e5 *fp8e5 *fp32 i32 i32 i32", dict(BM=64, BN=64, BK=64), 4, 3, (90,)),
    ("matmul_int8", "*i8 *i8 *i32 i32 i32", dict(BM=64, BN=64, BK=64), 4, 3, (80, 90)),
    ("matmul_device_tma", "*fp16 *fp16 *fp16 i32 i32 i32", dict(BM=64, BN=64, BK=64), 4, 3, (90,)),
    ("attention", "*fp16 *fp16 *fp16 *fp16 i32 fp32", dict(D=64, BM=64, BN=64), 4, 2, (80, 90)),
    ("histogram_and_scan", "*i32 *i32 *i32", dict(BLOCK=256, BINS=16), 4, 2, (80, 90)),
    ("atomics", "*fp32 *fp32 *i32", dict(BLOCK=128), 4, 2, (80, 90)),
    ("dropout", "*fp32 *fp32 i32 fp32 i32", dict(BLOCK=512), 4, 2, (80,)),
    ("convert", "*fp32 *fp8e4nv *bf16 *i8", dict(BLOCK=256), 4, 2, (90,)),
]
