"""Matrix products with a prologue or epilogue: activations, weights of few bits, scales, chains of products."""

import numpy as np
import scipy.special
import triton
import triton.language as tl

from .harness import (
    ADA, array, bfloat16, empty, exact, f64, float8_e4m3, float8_e5m2, integers, normal, program, uniform, within
)  # fmt: skip
from .matmul import SUMMED_F32
from .tiles import load_tile


@triton.jit
def epilogue_kernel(a, b, bias, residual, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = gelu(a b + bias) + residual"""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        ks = start + tl.arange(0, BK)
        x = load_tile(a, rows, ks, m, k)
        y = load_tile(b, ks, columns, k, n)
        acc = tl.dot(x, y, acc)
    acc += tl.load(bias + columns, mask=columns < n, other=0.0)[None, :]
    acc = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    place = rows[:, None] * n + columns[None, :]
    acc += tl.load(residual + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(c + place, acc.to(tl.float16), mask=inside)


@program(within(5.5e-4, 1e-4, because="one rounding to f16; " + SUMMED_F32 % ("f16", 80) + "; erf of 2 ulp"))
def matmul_fused_gelu_residual():
    m, n, k = 70, 60, 80
    a, b = normal(m, k, dtype=np.float16, scale=0.3), normal(k, n, dtype=np.float16)
    bias, residual, c = normal(n), normal(m, n, dtype=np.float16), empty((m, n), np.float16)
    epilogue_kernel[(3, 2)](a, b, bias, residual, c, m, n, k, BM=32, BN=32, BK=32)
    z = f64(a) @ f64(b) + f64(bias)
    return c, 0.5 * z * scipy.special.erfc(-z / np.sqrt(2)) + f64(residual)


@triton.jit
def gated_kernel(x, gate, up, out, width, hidden, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """SwiGLU: two products share the tiles of x. out = silu(x gate) * (x up)"""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.zeros((BM, BN), dtype=tl.float32)
    second = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, width, BK):
        ks = start + tl.arange(0, BK)
        v = tl.load(x + rows[:, None] * width + ks[None, :])
        first = tl.dot(v, tl.load(gate + ks[:, None] * hidden + columns[None, :]), first)
        second = tl.dot(v, tl.load(up + ks[:, None] * hidden + columns[None, :]), second)
    tl.store(out + rows[:, None] * hidden + columns[None, :], first * tl.sigmoid(first) * second)


@program(within(3e-6, 2e-5, because=SUMMED_F32 % ("f16", 64) + "; a sigmoid of 2 ulp"))
def matmul_gated():
    rows, width, hidden = 64, 64, 96
    x = normal(rows, width, dtype=np.float16, scale=0.3)
    gate, up = normal(width, hidden, dtype=np.float16), normal(width, hidden, dtype=np.float16)
    out = empty((rows, hidden))
    gated_kernel[(2, 3)](x, gate, up, out, width, hidden, BM=32, BN=32, BK=32)
    z = f64(x) @ f64(gate)
    return out, z / (1 + np.exp(-z)) * (f64(x) @ f64(up))


@triton.jit
def int4_kernel(x, packed, scales, out, m, n, k, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                BK: tl.constexpr):
    """4-bit weights, two in a byte along k, with a scale for each GROUP of k, unpacked in the prologue."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        ks = start + tl.arange(0, BK)
        halves = start // 2 + tl.arange(0, BK // 2)
        v = tl.load(x + rows[:, None] * k + ks[None, :], mask=(rows < m)[:, None], other=0.0)
        two = tl.load(packed + columns[:, None] * (k // 2) + halves[None, :])
        low = ((two << 4).to(tl.int8, bitcast=True) >> 4).to(tl.float16)
        high = (two.to(tl.int8, bitcast=True) >> 4).to(tl.float16)
        w = tl.reshape(tl.join(low, high), (BN, BK))
        s = tl.load(scales + columns * (k // GROUP) + start // GROUP)
        acc = tl.dot(v, tl.trans(w * s[:, None]), acc)
    tl.store(out + rows[:, None] * n + columns[None, :], acc, mask=(rows < m)[:, None])


@program(within(1e-6, 2e-5, because="the reference rounds weights to f16, too; " + SUMMED_F32 % ("f16", 128)))
def matmul_int4_weights():
    m, n, k, group = 20, 64, 128, 32
    x, scales = normal(m, k, dtype=np.float16), uniform(n, k // group, low=0.05, high=0.2, dtype=np.float16)
    weights = np.asarray(integers(-8, 8, n, k))
    packed = array((weights[:, ::2] & 15) | ((weights[:, 1::2] & 15) << 4), np.uint8)
    out = empty((m, n))
    int4_kernel[(2, 2)](x, packed, scales, out, m, n, k, GROUP=group, BM=16, BN=32, BK=32)
    unpacked = (weights * np.repeat(f64(scales), group, axis=1)).astype(np.float16)
    return out, f64(x) @ f64(unpacked).T


@triton.jit
def int8_weights_kernel(x, weights, scales, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """bf16 activations and 8-bit weights with a scale for each column, applied after the product."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        ks = start + tl.arange(0, BK)
        v = tl.load(x + rows[:, None] * k + ks[None, :], mask=(rows < m)[:, None], other=0.0)
        w = tl.load(weights + ks[:, None] * n + columns[None, :]).to(tl.bfloat16)
        acc = tl.dot(v, w, acc)
    acc *= tl.load(scales + columns)[None, :]
    tl.store(out + rows[:, None] * n + columns[None, :], acc, mask=(rows < m)[:, None])


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("bf16 and whole numbers up to 128", 128)))
def matmul_int8_weights():
    m, n, k = 50, 64, 128
    x, weights = normal(m, k, dtype=bfloat16), integers(-128, 128, k, n, dtype=np.int8)
    scales, out = uniform(n, high=0.01), empty((m, n))
    int8_weights_kernel[(2, 2)](x, weights, scales, out, m, n, k, BM=32, BN=32, BK=64)
    return out, f64(x) @ f64(weights) * f64(scales)


@triton.jit
def block_scaled_kernel(a, a_scales, b, b_scales, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Products of fp8 with a scale for each row and 64 of k (a) and each 64x64 of b, as in DeepSeek's training."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, k // BK):
        ks = step * BK + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * k + ks[None, :], mask=(rows < m)[:, None], other=0.0)
        y = tl.load(b + columns[None, :] * k + ks[:, None])
        sx = tl.load(a_scales + rows * (k // BK) + step, mask=rows < m, other=0.0)
        sy = tl.load(b_scales + tl.program_id(1) * (k // BK) + step)
        acc += tl.dot(x, y) * (sx * sy)[:, None]
    tl.store(out + rows[:, None] * n + columns[None, :], acc, mask=(rows < m)[:, None])


@program(within(1e-6, 3e-5, because=SUMMED_F32 % ("e4m3", 192)), needs=ADA)
def matmul_block_scaled_e4m3():
    m, n, k, block = 100, 128, 192, 64
    a, b = normal(m, k, dtype=float8_e4m3), normal(n, k, dtype=float8_e4m3)
    a_scales, b_scales = uniform(m, k // block, low=0.5, high=2), uniform(n // block, k // block, low=0.5, high=2)
    out = empty((m, n))
    block_scaled_kernel[(2, 2)](a, a_scales, b, b_scales, out, m, n, k, BM=64, BN=64, BK=64)
    scaled_a = f64(a) * np.repeat(f64(a_scales), block, 1)
    scaled_b = f64(b) * np.repeat(np.repeat(f64(b_scales), block, 0), block, 1)
    return out, scaled_a @ scaled_b.T


@triton.jit
def scaled_dot_kernel(a, a_scales, b, b_scales, out, KIND: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                      K: tl.constexpr):
    """tl.dot_scaled with microscaling: a power of two for every 32 of k. These chips have no instruction for it."""
    r, s, t = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    g = tl.arange(0, K // 32)
    x = tl.load(a + r[:, None] * K + t[None, :])
    y = tl.load(b + t[:, None] * N + s[None, :])
    sx = tl.load(a_scales + r[:, None] * (K // 32) + g[None, :])
    sy = tl.load(b_scales + s[:, None] * (K // 32) + g[None, :])
    tl.store(out + r[:, None] * N + s[None, :], tl.dot_scaled(x, sx, KIND, y, sy, KIND))


@program(within(1e-6, 2e-4, because=SUMMED_F32 % ("e5m2 times powers of two up to 4", 64)))
def dot_microscaled_e5m2():
    m, n, k = 64, 32, 64
    a, b, out = normal(m, k, dtype=float8_e5m2), normal(k, n, dtype=float8_e5m2), empty((m, n))
    a_scales, b_scales = integers(125, 130, m, k // 32, dtype=np.uint8), integers(125, 130, n, k // 32, dtype=np.uint8)
    a_bits, b_bits = array(a.view(np.uint8)), array(b.view(np.uint8))
    scaled_dot_kernel[(1,)](a_bits, a_scales, b_bits, b_scales, out, KIND="e5m2", M=m, N=n, K=k)
    factor_a = np.repeat(2.0 ** (f64(a_scales) - 127), 32, axis=1)
    factor_b = np.repeat(2.0 ** (f64(b_scales) - 127), 32, axis=1).T
    return out, (f64(a) * factor_a) @ (f64(b) * factor_b)


@triton.jit
def chain_kernel(a, b, c, d, out, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr, P: tl.constexpr):
    """((a b) c) d: the result of one product is an operand of the next and never leaves the block."""
    r, i, j, p = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N), tl.arange(0, P)
    a += tl.program_id(0) * M * K
    out += tl.program_id(0) * M * P
    x = tl.dot(tl.load(a + r[:, None] * K + i[None, :]), tl.load(b + i[:, None] * N + j[None, :])).to(tl.float16)
    y = tl.dot(x, tl.load(c + j[:, None] * N + j[None, :])).to(tl.float16)
    z = tl.dot(y, tl.load(d + j[:, None] * P + p[None, :]))
    tl.store(out + r[:, None] * P + p[None, :], z)


@program(exact("small whole numbers: no sum exceeds 2048, so each is exact in f16"))
def dot_chain():
    m, k, n, p, blocks = 64, 32, 64, 32, 2
    a, b = integers(-1, 2, blocks * m, k, dtype=np.float16), integers(-1, 2, k, n, dtype=np.float16)
    c, d = integers(-1, 2, n, n, dtype=np.float16), integers(-4, 5, n, p, dtype=np.float16)
    out = empty((blocks * m, p))
    chain_kernel[(blocks,)](a, b, c, d, out, M=m, K=k, N=n, P=p)
    return out, f64(a) @ f64(b) @ f64(c) @ f64(d)


@triton.jit
def vector_kernel(a, x, y, m, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A matrix times a vector, without tensor cores."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, n, COLUMNS):
        c = start + tl.arange(0, COLUMNS)
        v = tl.load(a + r[:, None] * n + c[None, :], mask=(r < m)[:, None] & (c < n)[None, :], other=0.0).to(tl.float32)
        total += v * tl.load(x + c, mask=c < n, other=0.0).to(tl.float32)[None, :]
    tl.store(y + r, tl.sum(total, axis=1), mask=r < m)


@program(within(2e-6, 2e-5, because="products of f16 are exact in f32, 250 of them are summed"))
def matrix_vector():
    m, n = 77, 250
    a, x, y = normal(m, n, dtype=np.float16), normal(n, dtype=np.float16), empty(m)
    vector_kernel[(triton.cdiv(m, 16),)](a, x, y, m, n, ROWS=16, COLUMNS=64)
    return y, f64(a) @ f64(x)
