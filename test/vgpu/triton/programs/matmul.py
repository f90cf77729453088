"""Matrix products: every type of the tensor cores, and different schedules."""

import numpy as np
import triton
import triton.language as tl

from .harness import (
    ADA, HOPPER, array, bfloat16, empty, exact, f64, float8_e4m3, float8_e5m2, integers, normal, processors,
    program, within, zeros,
)  # fmt: skip
from .tiles import load_tile, store_tile

# A product of k numbers around 1 summed in f32: the errors of the k additions grow like sqrt(k) of 2^-24 of the sum of
# absolute values, about k * 0.64; elements near zero keep that error as an absolute one.
SUMMED_F32 = "products of %s are exact in f32; %d of them are summed in f32"


@triton.jit
def matmul_kernel(
    a, b, c, m, n, k, a_row, a_column, b_row, b_column, c_row,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACC: tl.constexpr = tl.float32,
    PRECISION: tl.constexpr = "tf32",
):  # fmt: skip
    """One tile of c for each block. Blocks are numbered so that GROUP rows of tiles share tiles of b in the cache."""
    tiles_m, tiles_n = tl.cdiv(m, BM), tl.cdiv(n, BN)
    tile_m, tile_n = tl.swizzle2d(tl.program_id(0) // tiles_n, tl.program_id(0) % tiles_n, tiles_m, tiles_n, GROUP)
    rows = tile_m * BM + tl.arange(0, BM)
    columns = tile_n * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    a += (rows % m)[:, None] * a_row + ks[None, :] * a_column
    b += ks[:, None] * b_row + (columns % n)[None, :] * b_column
    acc = tl.zeros((BM, BN), dtype=ACC)
    for start in range(0, k, BK):
        x = tl.load(a, mask=(ks < k - start)[None, :], other=0.0)
        y = tl.load(b, mask=(ks < k - start)[:, None], other=0.0)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=ACC)
        a += BK * a_column
        b += BK * b_row
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(c + rows[:, None] * c_row + columns[None, :], acc.to(c.dtype.element_ty), mask=inside)


def matmul(a, b, out, tile=(32, 32, 32), group=2, **options):
    (m, k), n = a.shape, b.shape[1]
    bm, bn, bk = tile
    grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn),)
    matmul_kernel[grid](
        a, b, out, m, n, k, *a.stride(), *b.stride(), out.stride()[0], BM=bm, BN=bn, BK=bk, GROUP=group, **options
    )
    return out, f64(a) @ f64(b)


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("f16", 200)))
def matmul_f16():
    return matmul(normal(130, 200, dtype=np.float16), normal(200, 96, dtype=np.float16), empty((130, 96)), (64, 64, 32))


@program(within(2**-8, 1e-4, because="one rounding to bf16; " + SUMMED_F32 % ("bf16", 160)))
def matmul_bf16():
    a, b = normal(100, 160, dtype=bfloat16), normal(160, 72, dtype=bfloat16)
    return matmul(a, b, empty((100, 72), bfloat16), (64, 32, 32))


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("f16", 128)))
def matmul_f16_big_tile():
    """A tile that saturates the tensor cores: on Hopper eight warps execute wgmma of 64x256."""
    a, b = normal(150, 128, dtype=np.float16), normal(128, 300, dtype=np.float16)
    return matmul(a, b, empty((150, 300)), (128, 256, 64), num_warps=8)


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("f16", 96)))
def matmul_f16_transposed():
    """Both operands are stored transposed."""
    a, b = normal(96, 80, dtype=np.float16).T, normal(112, 96, dtype=np.float16).T
    return matmul(a, b, empty((80, 112)), (64, 64, 32))


@program(
    within(1e-3, 3e-2, because="sums of 64 are kept in f16 between steps: 4 roundings of 2^-11 of sums up to 30"),
    reports=HOPPER,
)
def matmul_f16_accumulated_in_f16():
    """On Hopper, Triton 3.9 unpacks these accumulators between wgmma and its wait. ptxas repairs that (C7517); PTX itself
    guarantees nothing, so the result is right if asynchronous operations complete at once, and the checks report it."""
    a, b = normal(64, 64, dtype=np.float16), normal(64, 64, dtype=np.float16)
    return matmul(a, b, empty((64, 64), np.float16), (64, 64, 32), ACC=tl.float16)


@program(exact("whole numbers; sums of 200 products of 8 bits fit 32 bits"))
def matmul_int8():
    a, b = integers(-128, 128, 90, 200, dtype=np.int8), integers(-128, 128, 200, 70, dtype=np.int8)
    out, want = matmul(a, b, empty((90, 70), np.int32), (64, 32, 64), ACC=tl.int32)
    return out, want.astype(np.int32)


def matmul_f8(dtype):
    a, b = normal(100, 128, dtype=dtype), normal(64, 128, dtype=dtype).T
    return matmul(a, b, empty((100, 64)), (64, 64, 64))


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("e4m3", 128)), needs=ADA)
def matmul_e4m3():
    return matmul_f8(float8_e4m3)


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("e5m2", 128)))
def matmul_e5m2():
    return matmul_f8(float8_e5m2)


@program(within(1e-3, 1e-2, because="tf32 keeps 10 bits: each of 64 products is off by up to 2^-10"))
def matmul_tf32():
    return matmul(normal(70, 64), normal(64, 50), empty((70, 50)))


@program(within(1e-6, 1e-5, because=SUMMED_F32 % ("f32, rounded, ", 64)))
def matmul_f32_ieee():
    return matmul(normal(70, 64), normal(64, 50), empty((70, 50)), PRECISION="ieee")


@program(within(3e-6, 1e-5, because="three tf32 products recover 21 bits of each factor"))
def matmul_tf32x3():
    return matmul(normal(70, 64), normal(64, 50), empty((70, 50)), PRECISION="tf32x3")


@program(within(1e-14, 1e-13, because="64 products and sums of f64"))
def matmul_f64():
    a, b = normal(40, 64, dtype=np.float64), normal(64, 48, dtype=np.float64)
    return matmul(a, b, empty((40, 48), np.float64), (16, 16, 16), ACC=tl.float64, PRECISION="ieee")


@program(within(1e-6, 6e-5, because=SUMMED_F32 % ("f16", 512)), slow=True)
def matmul_f16_512():
    a, b = normal(512, 512, dtype=np.float16), normal(512, 512, dtype=np.float16)
    return matmul(a, b, empty((512, 512)), (128, 128, 64), group=4, num_warps=8)


# ---- other schedules


@triton.jit
def persistent_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FLATTEN: tl.constexpr):
    """At most as many blocks as multiprocessors; each computes one tile after the other."""
    tiles_n = tl.cdiv(n, BN)
    tiles = tl.cdiv(m, BM) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=FLATTEN):
        rows = (tile // tiles_n) * BM + tl.arange(0, BM)
        columns = (tile % tiles_n) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for start in range(0, k, BK):
            ks = start + tl.arange(0, BK)
            x = load_tile(a, rows, ks, m, k)
            y = load_tile(b, ks, columns, k, n)
            acc = tl.dot(x, y, acc)
        store_tile(c, acc, rows, columns, m, n)


@program(within(5.5e-4, 1e-4, because="one rounding to f16; " + SUMMED_F32 % ("f16", 96)))
def matmul_persistent():
    m, n, k = 200, 150, 96
    a, b, c = normal(m, k, dtype=np.float16), normal(k, n, dtype=np.float16), empty((m, n), np.float16)
    blocks = min(5, processors())
    persistent_kernel[(blocks,)](a, b, c, m, n, k, BM=64, BN=32, BK=32, FLATTEN=False)
    return c, f64(a) @ f64(b)


@program(within(5.5e-4, 1e-4, because="one rounding to f16; " + SUMMED_F32 % ("f16", 96)))
def matmul_persistent_flattened():
    """The two loops are fused, so that the loads of the next tile begin during the last products of this one."""
    m, n, k = 200, 150, 96
    a, b, c = normal(m, k, dtype=np.float16), normal(k, n, dtype=np.float16), empty((m, n), np.float16)
    persistent_kernel[(4,)](a, b, c, m, n, k, BM=64, BN=32, BK=32, FLATTEN=True)
    return c, f64(a) @ f64(b)


@triton.jit
def split_k_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(tl.program_id(2) * BK, k, BK * tl.num_programs(2)):
        ks = start + tl.arange(0, BK)
        x = load_tile(a, rows, ks, m, k)
        y = load_tile(b, ks, columns, k, n)
        acc = tl.dot(x, y, acc)
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.atomic_add(c + rows[:, None] * n + columns[None, :], acc, mask=inside, sem="relaxed")


@program(within(1e-6, 5e-5, because=SUMMED_F32 % ("f16", 500) + ", four parts in any order"))
def matmul_split_k():
    m, n, k = 40, 50, 500
    a, b, c = normal(m, k, dtype=np.float16), normal(k, n, dtype=np.float16), zeros((m, n))
    split_k_kernel[(2, 2, 4)](a, b, c, m, n, k, BM=32, BN=32, BK=32)
    return c, f64(a) @ f64(b)


@triton.jit
def stream_k_kernel(a, b, parts, flags, c, m, n, k, steps_per_block, BM: tl.constexpr, BN: tl.constexpr,
                    BK: tl.constexpr):
    """Stream-K: every block has the same number of steps over k, wherever tiles begin and end. A block that begins in the middle
    of a tile stores a partial sum; the block that has the tile's beginning waits for the partial sums and adds them."""
    block = tl.program_id(0)
    tiles_n = tl.cdiv(n, BN)
    steps_of_tile = tl.cdiv(k, BK)
    steps = tl.cdiv(m, BM) * tiles_n * steps_of_tile
    step = block * steps_per_block
    end = tl.minimum(step + steps_per_block, steps)
    inner = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    while step < end:
        tile = step // steps_of_tile
        first = step - tile * steps_of_tile
        last = tl.minimum(first + end - step, steps_of_tile)
        rows = (tile // tiles_n) * BM + tl.arange(0, BM)
        columns = (tile % tiles_n) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for s in range(first, last):
            ks = s * BK + tl.arange(0, BK)
            x = load_tile(a, rows, ks, m, k)
            y = load_tile(b, ks, columns, k, n)
            acc = tl.dot(x, y, acc)
        if first > 0:
            # The tile's owner is the preceding block, or one before that.
            tl.store(parts + block * BM * BN + inner, acc)
            tl.debug_barrier()
            tl.atomic_xchg(flags + block, 1, sem="release")
        else:
            helper = block + 1
            got = step + last
            while got < (tile + 1) * steps_of_tile:
                while tl.atomic_add(flags + helper, 0, sem="acquire") == 0:
                    pass
                acc += tl.load(parts + helper * BM * BN + inner, volatile=True)
                helper += 1
                got += steps_per_block
            store_tile(c, acc, rows, columns, m, n)
        step += last - first


@program(within(1e-6, 3e-5, because=SUMMED_F32 % ("f16", 300)))
def matmul_stream_k():
    m, n, k, tile, bk, blocks = 70, 90, 300, 32, 32, 7
    a, b, c = normal(m, k, dtype=np.float16), normal(k, n, dtype=np.float16), empty((m, n))
    steps = triton.cdiv(m, tile) * triton.cdiv(n, tile) * triton.cdiv(k, bk)
    parts, flags = empty((blocks, tile, tile)), zeros(blocks, np.int32)
    # Owners wait for blocks with higher numbers, so all must be resident: a cooperative launch guarantees that.
    stream_k_kernel[(blocks,)](
        a, b, parts, flags, c, m, n, k, triton.cdiv(steps, blocks),
        BM=tile, BN=tile, BK=bk, launch_cooperative_grid=True,
    )  # fmt: skip
    return c, f64(a) @ f64(b)


@triton.jit
def batched_kernel(a, b, c, m, n, k, a_batch, b_batch, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        ks = start + tl.arange(0, BK)
        x = load_tile(a + batch * a_batch, rows, ks, m, k)
        y = load_tile(b + batch * b_batch, ks, columns, k, n)
        acc = tl.dot(x, y, acc)
    store_tile(c + batch * m * n, acc, rows, columns, m, n)


@program(within(1e-6, 1e-5, because=SUMMED_F32 % ("bf16", 70)))
def matmul_batched():
    batches, m, n, k = 5, 40, 50, 70
    a, b, c = normal(batches, m, k, dtype=bfloat16), normal(k, n, dtype=bfloat16), empty((batches, m, n))
    batched_kernel[(2, 2, batches)](a, b, c, m, n, k, m * k, 0, BM=32, BN=32, BK=32)
    return c, f64(a) @ f64(b)


@triton.jit
def batched_dot_kernel(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A dot of three-dimensional tiles."""
    i, r, s, t = tl.arange(0, B)[:, None, None], tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + (i * M + r[None, :, None]) * K + t[None, None, :])
    y = tl.load(b + (i * K + t[None, :, None]) * N + s[None, None, :])
    tl.store(c + (i * M + r[None, :, None]) * N + s[None, None, :], tl.dot(x, y))


@program(within(1e-6, 5e-6, because=SUMMED_F32 % ("f16", 32)))
def dot_3d():
    a, b, c = normal(4, 16, 32, dtype=np.float16), normal(4, 32, 16, dtype=np.float16), empty((4, 16, 16))
    batched_dot_kernel[(1,)](a, b, c, B=4, M=16, N=16, K=32)
    return c, f64(a) @ f64(b)


@triton.jit
def grouped_kernel(a_pointers, b_pointers, c_pointers, sizes, problems, BM: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr):
    """Several products of different sizes in one launch; the pointers are in memory."""
    block = tl.program_id(0)
    before = 0
    for problem in range(problems):
        m, n, k = tl.load(sizes + 3 * problem), tl.load(sizes + 3 * problem + 1), tl.load(sizes + 3 * problem + 2)
        tiles_n = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * tiles_n
        a = tl.load(a_pointers + problem).to(tl.pointer_type(tl.float16))
        b = tl.load(b_pointers + problem).to(tl.pointer_type(tl.float16))
        c = tl.load(c_pointers + problem).to(tl.pointer_type(tl.float32))
        while (block >= before) & (block < before + tiles):
            tile = block - before
            rows = (tile // tiles_n) * BM + tl.arange(0, BM)
            columns = (tile % tiles_n) * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for start in range(0, k, BK):
                ks = start + tl.arange(0, BK)
                x = load_tile(a, rows, ks, m, k)
                y = load_tile(b, ks, columns, k, n)
                acc = tl.dot(x, y, acc)
            store_tile(c, acc, rows, columns, m, n)
            block += tl.num_programs(0)
        before += tiles


@program(within(1e-6, 1e-5, because=SUMMED_F32 % ("f16", 100)))
def matmul_grouped():
    shapes = [(40, 70, 50), (100, 20, 33), (7, 90, 100), (64, 64, 64)]
    a = [normal(m, k, dtype=np.float16) for m, n, k in shapes]
    b = [normal(k, n, dtype=np.float16) for m, n, k in shapes]
    c = [empty((m, n)) for m, n, k in shapes]
    a_pointers, b_pointers, c_pointers = (array([x.data_ptr() for x in xs], np.int64) for xs in (a, b, c))
    grouped_kernel[(4,)](a_pointers, b_pointers, c_pointers, array(shapes, np.int32), len(shapes), BM=32, BN=32, BK=32)
    return [(z, f64(x) @ f64(y)) for x, y, z in zip(a, b, c)]


@triton.jit
def experts_kernel(x, weights, chosen, order, out, tokens, width, hidden, BM: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr):
    """Mixture of experts: a tile of tokens that chose the same expert, gathered by `order`, times its weights."""
    place = tl.load(order + tl.program_id(0) * BM + tl.arange(0, BM))
    here = place < tokens
    expert = tl.load(chosen + tl.program_id(0))
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, width, BK):
        ks = start + tl.arange(0, BK)
        v = tl.load(x + place[:, None] * width + ks[None, :], mask=here[:, None], other=0.0)
        w = tl.load(weights + (expert * width + ks[:, None]) * hidden + columns[None, :])
        acc = tl.dot(v, w, acc)
    tl.store(out + place[:, None] * hidden + columns[None, :], acc.to(tl.bfloat16), mask=here[:, None])


@program(within(2**-8, 1e-4, because="one rounding to bf16; " + SUMMED_F32 % ("bf16", 64)))
def mixture_of_experts():
    tokens, experts, width, hidden, bm = 90, 4, 64, 64, 16
    x, weights = normal(tokens, width, dtype=bfloat16), normal(experts, width, hidden, dtype=bfloat16)
    choice = np.asarray(integers(0, experts, tokens))
    order, chosen = [], []
    for expert in range(experts):
        members = list(np.flatnonzero(choice == expert))
        members += [tokens] * (-len(members) % bm)  # padded with a token that does not exist
        order += members
        chosen += [expert] * (len(members) // bm)
    out = empty((tokens, hidden), bfloat16)
    experts_kernel[(len(chosen), 2)](
        x, weights, array(chosen, np.int32), array(order, np.int32), out, tokens, width, hidden, BM=bm, BN=32, BK=32
    )
    return out, np.einsum("tw,twh->th", f64(x), f64(weights)[choice])


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("f16", 128)), needs=HOPPER)
def matmul_two_blocks_in_a_cluster():
    """num_ctas=2: the tile is split, and the two blocks of a cluster read each other's shared memory."""
    a, b = normal(128, 128, dtype=np.float16), normal(128, 128, dtype=np.float16)
    return matmul(a, b, empty((128, 128)), (128, 64, 64), num_ctas=2)
