"""Tensor descriptors: TMA on Hopper, ordinary loads and stores on Ampere, where Triton rewrites them."""

import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from .harness import (
    ADA, HOPPER, array, bfloat16, empty, exact, f64, float8_e4m3, float8_e5m2, full, integers, normal, program, within,
)  # fmt: skip
from .matmul import SUMMED_F32


@triton.jit
def host_kernel(a, b, c, k, TRANSPOSED: tl.constexpr):
    """c = a b, or a b^T; the descriptors come from the host."""
    bm: tl.constexpr = a.block_shape[0]
    bk: tl.constexpr = a.block_shape[1]
    bn: tl.constexpr = c.block_shape[1]
    row, column = tl.program_id(0) * bm, tl.program_id(1) * bn
    acc = tl.zeros((bm, bn), dtype=tl.float32)
    for start in range(0, k, bk):
        if TRANSPOSED:
            y = b.load([column, start]).T
        else:
            y = b.load([start, column])
        acc = tl.dot(a.load([row, start]), y, acc)
    c.store([row, column], acc.to(c.dtype))


def host_matmul(m, n, k, dtype, out_dtype, transposed, tile, **options):
    bm, bn, bk = tile
    a, b = normal(m, k, dtype=dtype), normal(*((n, k) if transposed else (k, n)), dtype=dtype)
    c = empty((m, n), out_dtype)
    described = (
        TensorDescriptor.from_tensor(a, [bm, bk]),
        TensorDescriptor.from_tensor(b, [bn, bk] if transposed else [bk, bn]),
        TensorDescriptor.from_tensor(c, [bm, bn]),
    )
    host_kernel[(triton.cdiv(m, bm), triton.cdiv(n, bn))](*described, k, TRANSPOSED=transposed, **options)
    return c, f64(a) @ (f64(b).T if transposed else f64(b))


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("f16", 136)))
def descriptor_host_f16():
    return host_matmul(100, 72, 136, np.float16, np.float32, False, (64, 64, 64))


@program(within(2**-8, 1e-4, because="one rounding to bf16; " + SUMMED_F32 % ("bf16", 120)))
def descriptor_host_bf16_transposed():
    return host_matmul(100, 88, 120, bfloat16, bfloat16, True, (64, 32, 32))


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("e4m3", 160)), needs=ADA)
def descriptor_host_e4m3():
    return host_matmul(70, 96, 160, float8_e4m3, np.float32, True, (64, 64, 64))


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("e5m2", 160)))
def descriptor_host_e5m2():
    return host_matmul(70, 96, 160, float8_e5m2, np.float32, True, (64, 64, 64))


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("f16", 192)))
def descriptor_host_deep_pipeline():
    """Four stages in flight, eight warps."""
    return host_matmul(200, 150 // 8 * 8, 192, np.float16, np.float32, True, (128, 128, 64), num_stages=4, num_warps=8)


@program(within(1e-6, 5e-5, because=SUMMED_F32 % ("f16", 512)), slow=True)
def descriptor_host_512():
    return host_matmul(512, 512, 512, np.float16, np.float32, True, (128, 128, 64), num_warps=8)


@triton.jit
def device_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The block writes its own descriptors to global memory and publishes them with a proxy fence."""
    da = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    db = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[BN, BK])
    dc = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        acc = tl.dot(da.load([row, start]), db.load([column, start]).T, acc)
    dc.store([row, column], acc.to(tl.float16))


@program(within(5.5e-4, 1e-4, because="one rounding to f16; " + SUMMED_F32 % ("f16", 104)))
def descriptor_device_f16():
    m, n, k = 90, 80, 104
    a, b, c = normal(m, k, dtype=np.float16), normal(n, k, dtype=np.float16), empty((m, n), np.float16)
    device_kernel[(2, 2)](a, b, c, m, n, k, BM=64, BN=64, BK=32)
    return c, f64(a) @ f64(b).T


@triton.jit
def persistent_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FLATTEN: tl.constexpr,
                      SPECIALIZE: tl.constexpr):
    """One tile after the other, with the result stored in two halves so that its buffer is small."""
    da = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    db = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[BN, BK])
    dc = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BM, BN // 2])
    tiles_n = tl.cdiv(n, BN)
    tiles = tl.cdiv(m, BM) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=FLATTEN, warp_specialize=SPECIALIZE):
        row, column = (tile // tiles_n) * BM, (tile % tiles_n) * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for start in range(0, k, BK):
            acc = tl.dot(da.load([row, start]), db.load([column, start]).T, acc)
        halves = tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1))
        left, right = tl.split(halves)
        dc.store([row, column], left.to(tl.float16))
        dc.store([row, column + BN // 2], right.to(tl.float16))


def persistent(flatten, specialize, **options):
    m, n, k = 200, 176, 96
    a, b, c = normal(m, k, dtype=np.float16), normal(n, k, dtype=np.float16), empty((m, n), np.float16)
    persistent_kernel[(3,)](a, b, c, m, n, k, BM=64, BN=64, BK=32, FLATTEN=flatten, SPECIALIZE=specialize, **options)
    return c, f64(a) @ f64(b).T


@program(within(5.5e-4, 1e-4, because="one rounding to f16; " + SUMMED_F32 % ("f16", 96)))
def descriptor_persistent():
    return persistent(False, False)


@program(within(5.5e-4, 1e-4, because="one rounding to f16; " + SUMMED_F32 % ("f16", 96)))
def descriptor_persistent_flattened():
    return persistent(True, False)


@triton.jit
def specialized_kernel(a, b, c, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Warp specialization: Triton assigns the copies to one group of warps and the products to others."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in tl.range(0, k, BK, warp_specialize=True, num_stages=3):
        acc = tl.dot(a.load([row, start]), b.load([column, start]).T, acc)
    c.store([row, column], acc.to(c.dtype))


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("f16", 192)))
def descriptor_warp_specialized():
    m, n, k, bm, bn, bk = 128, 128, 192, 64, 64, 32
    a, b, c = normal(m, k, dtype=np.float16), normal(n, k, dtype=np.float16), empty((m, n))
    described = (TensorDescriptor.from_tensor(x, shape) for x, shape in ((a, [bm, bk]), (b, [bn, bk]), (c, [bm, bn])))
    specialized_kernel[(2, 2)](*described, k, BM=bm, BN=bn, BK=bk, num_warps=4)
    return c, f64(a) @ f64(b).T


@triton.jit
def grouped_kernel(a_pointers, b_pointers, c_pointers, sizes, problems, BM: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr):
    """Several products in one launch; a descriptor is made for each, from pointers in memory."""
    block = tl.program_id(0)
    before = 0
    for problem in range(problems):
        m, n, k = tl.load(sizes + 3 * problem), tl.load(sizes + 3 * problem + 1), tl.load(sizes + 3 * problem + 2)
        tiles_n = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * tiles_n
        if (block >= before) & (block < before + tiles):
            a = tl.load(a_pointers + problem).to(tl.pointer_type(tl.float16))
            b = tl.load(b_pointers + problem).to(tl.pointer_type(tl.float16))
            c = tl.load(c_pointers + problem).to(tl.pointer_type(tl.float16))
            da = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
            db = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[BN, BK])
            dc = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
            while (block >= before) & (block < before + tiles):
                row, column = ((block - before) // tiles_n) * BM, ((block - before) % tiles_n) * BN
                acc = tl.zeros((BM, BN), dtype=tl.float32)
                for start in range(0, k, BK):
                    acc = tl.dot(da.load([row, start]), db.load([column, start]).T, acc)
                dc.store([row, column], acc.to(tl.float16))
                block += tl.num_programs(0)
        before += tiles


@program(within(5.5e-4, 1e-4, because="one rounding to f16; " + SUMMED_F32 % ("f16", 96)))
def descriptor_grouped():
    shapes = [(40, 72, 48), (100, 24, 32), (8, 88, 96)]
    a = [normal(m, k, dtype=np.float16) for m, n, k in shapes]
    b = [normal(n, k, dtype=np.float16) for m, n, k in shapes]
    c = [empty((m, n), np.float16) for m, n, k in shapes]
    a_pointers, b_pointers, c_pointers = (array([x.data_ptr() for x in xs], np.int64) for xs in (a, b, c))
    grouped_kernel[(3,)](a_pointers, b_pointers, c_pointers, array(shapes, np.int32), len(shapes), BM=32, BN=32, BK=32)
    return [(z, f64(x) @ f64(y).T) for x, y, z in zip(a, b, c)]


# ---- copies: every rank, every width, edges


@triton.jit
def copy_kernel(source, target, RANK: tl.constexpr):
    """A tile per block, along the first axis."""
    at = tl.program_id(0) * source.block_shape[0]
    if RANK == 1:
        target.store([at], source.load([at]))
    elif RANK == 2:
        target.store([at, 0], source.load([at, 0]))
    elif RANK == 3:
        target.store([at, 0, 0], source.load([at, 0, 0]))
    elif RANK == 4:
        target.store([at, 0, 0, 0], source.load([at, 0, 0, 0]))
    else:
        target.store([at, 0, 0, 0, 0], source.load([at, 0, 0, 0, 0]))


@program(exact("copies; what is outside of the tile or the tensor stays"))
def descriptor_copies():
    cases = [
        ((300,), [128], np.float32), ((300,), [256], np.uint8), ((50, 24), [16, 16], np.float32),
        ((50, 80), [16, 64], np.float16), ((40, 96), [8, 64], np.int8), ((20, 5, 16), [8, 4, 16], np.int16),
        ((9, 3, 5, 8), [4, 2, 4, 8], np.float32), ((5, 2, 3, 4, 16), [2, 2, 2, 4, 16], bfloat16),
    ]  # fmt: skip
    pairs = []
    for shape, tile, dtype in cases:
        source, target = array(integers(-100, 100, *shape), dtype), full(shape, 77, dtype)
        copy_kernel[(triton.cdiv(shape[0], tile[0]),)](
            TensorDescriptor.from_tensor(source, tile), TensorDescriptor.from_tensor(target, tile), RANK=len(shape)
        )
        want = np.full(shape, 77).astype(dtype)
        part = (slice(None),) + tuple(slice(0, t) for t in tile[1:])
        want[part] = np.asarray(source)[part]
        pairs.append((f64(target), f64(want)))
    return pairs


@triton.jit
def window_kernel(source, out, row, column, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Reads a window that begins before the tensor and ends after it."""
    v = source.load([row, column])
    tl.store(out + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :], v)


@program(exact("copies; zeros outside"))
def descriptor_edges():
    rows, columns = 20, 24
    x = normal(rows, columns)
    described = TensorDescriptor.from_tensor(x, [16, 32])
    pairs = []
    for row, column in ((0, 0), (-5, -8), (12, 16), (20, 0), (3, -32), (-16, 4)):
        out = empty((16, 32))
        window_kernel[(1,)](described, out, row, column, ROWS=16, COLUMNS=32)
        want = np.zeros((16, 32), np.float32)
        for i in range(16):
            for j in range(32):
                if 0 <= row + i < rows and 0 <= column + j < columns:
                    want[i, j] = x[row + i, column + j]
        pairs.append((out, want))
    return pairs


@triton.jit
def strided_kernel(x, out, rows, columns, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A view into a wider matrix, transposed in the block."""
    source = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[stride, 1], block_shape=[ROWS, COLUMNS])
    target = tl.make_tensor_descriptor(out, shape=[columns, rows], strides=[rows, 1], block_shape=[COLUMNS, ROWS])
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    target.store([column, row], source.load([row, column]).T)


@program(exact("copies"))
def descriptor_strided_transpose():
    rows, columns, stride = 72, 40, 64
    x, out = normal(rows, stride, dtype=np.float16), empty((columns, rows), np.float16)
    strided_kernel[(3, 2)](x, out, rows, columns, stride, ROWS=32, COLUMNS=32)
    return out, np.asarray(x)[:, :columns].T


@triton.jit
def reduce_kernel(x, total, low, high, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """TMA reduces (add, min, max) where it stores; blocks overlap."""
    r, c = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    v = tl.load(x + r[:, None] * columns + c[None, :], mask=(r < rows)[:, None] & (c < columns)[None, :], other=0)
    total.atomic_add([0, 0], v)
    low.atomic_min([0, 0], v)
    high.atomic_max([0, 0], v)


@program(exact("whole numbers"), needs=HOPPER)
def descriptor_reductions():
    blocks, rows, columns = 5, 16, 32
    x = integers(-1000, 1000, blocks * rows, columns)
    total, low, high = (full((rows, columns), value, np.int32) for value in (0, 9999, -9999))
    described = (TensorDescriptor.from_tensor(y, [rows, columns]) for y in (total, low, high))
    reduce_kernel[(blocks,)](x, *described, blocks * rows, columns, ROWS=rows, COLUMNS=columns)
    v = np.asarray(x).reshape(blocks, rows, columns)
    return [(total, v.sum(0, dtype=np.int32)), (low, v.min(0)), (high, v.max(0))]


@triton.jit
def layer_kernel(x, weight, out, epsilon, COLUMNS: tl.constexpr):
    """RMS norm of tiles of rows that are loaded and stored by descriptor."""
    rows: tl.constexpr = x.block_shape[0]
    at = tl.program_id(0) * rows
    v = x.load([at, 0]).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, axis=1) / COLUMNS + epsilon)
    w = tl.load(weight + tl.arange(0, COLUMNS)).to(tl.float32)
    out.store([at, 0], (v * scale[:, None] * w[None, :]).to(out.dtype))


@program(within(2**-8, 1e-5, because="one rounding to bf16, 2^-8 of the value"))
def descriptor_rms_norm():
    rows, columns = 44, 128
    x, weight = normal(rows, columns, dtype=bfloat16), normal(columns, dtype=bfloat16)
    out = empty((rows, columns), bfloat16)
    described = (TensorDescriptor.from_tensor(y, [8, columns]) for y in (x, out))
    source, target = described
    layer_kernel[(triton.cdiv(rows, 8),)](source, weight, target, 1e-6, COLUMNS=columns)
    v = f64(x)
    return out, v / np.sqrt((v**2).mean(1, keepdims=True) + 1e-6) * f64(weight)
