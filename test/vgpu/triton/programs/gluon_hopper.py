"""Gluon on Hopper: TMA and its barriers, wgmma, clusters."""

import numpy as np
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import hopper
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from .harness import BLACKWELL, HOPPER, bfloat16, empty, exact, f64, float8_e4m3, full, integers, normal, program, within
from .matmul import SUMMED_F32


@gluon.jit
def tma_copy_kernel(source, target):
    """One thread issues the copy and the number of bytes to expect; all threads wait for the barrier."""
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(source.dtype, source.block_type.shape, source.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    at = [gl.program_id(0) * source.block_type.shape[0], gl.program_id(1) * source.block_type.shape[1]]
    mbarrier.expect(bar, source.nbytes_per_cta)
    tma.async_load(source, at, bar, tile)
    mbarrier.wait(bar, phase=0, deps=[tile])
    mbarrier.invalidate(bar)
    v = tile.load(layout) + 1
    tile.store(v)
    # TMA reads through the async proxy, the stores wrote through the generic proxy.
    hopper.fence_async_shared()
    tma.async_store(target, at, tile)
    tma.store_wait(0)


@program(exact("one addition; the tiles at the edge are cut off"), needs=HOPPER, below=BLACKWELL)
def gluon_tma_copy():
    pairs = []
    for dtype, kind, swizzle in ((np.float32, gl.float32, 128), (np.int16, gl.int16, 64), (np.float16, gl.float16, 32)):
        rows, columns, tile = 90, 80, [32, 32]
        x, out = integers(-100, 100, rows, columns, dtype=dtype), full((rows, columns), 55, dtype)
        layout = gl.NVMMASharedLayout(swizzle, kind.primitive_bitwidth, rank=2)
        described = [TensorDescriptor.from_tensor(y, tile, layout) for y in (x, out)]
        tma_copy_kernel[(3, 3)](*described)
        pairs.append((out, (np.asarray(x) + 1).astype(dtype)))
    return pairs


@gluon.jit
def wgmma_kernel(a, b, c, k, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr):
    """A ring of STAGES tiles that TMA fills; wgmma reads them in place, with one product always in flight."""
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BN, 16])
    a_tiles = gl.allocate_shared_memory(a.dtype, [STAGES, BM, BK], a.layout)
    b_tiles = gl.allocate_shared_memory(b.dtype, [STAGES, BN, BK], b.layout)
    bars = mbarrier.allocate_mbarrier(batch=STAGES)
    for i in gl.static_range(STAGES):
        mbarrier.init(bars.index(i), count=1)
    row, column = gl.program_id(0) * BM, gl.program_id(1) * BN
    steps = gl.cdiv(k, BK)
    for i in gl.static_range(STAGES - 2):
        mbarrier.expect(bars.index(i), a.nbytes_per_cta + b.nbytes_per_cta, pred=i < steps)
        tma.async_load(a, [row, i * BK], bars.index(i), a_tiles.index(i), pred=i < steps)
        tma.async_load(b, [column, i * BK], bars.index(i), b_tiles.index(i), pred=i < steps)
    acc = hopper.warpgroup_mma_init(gl.zeros((BM, BN), gl.float32, acc_layout))
    for step in range(steps):
        ahead = step + STAGES - 2
        slot = ahead % STAGES
        bar = bars.index(slot)
        mbarrier.expect(bar, a.nbytes_per_cta + b.nbytes_per_cta, pred=ahead < steps)
        tma.async_load(a, [row, ahead * BK], bar, a_tiles.index(slot), pred=ahead < steps)
        tma.async_load(b, [column, ahead * BK], bar, b_tiles.index(slot), pred=ahead < steps)
        stage = step % STAGES
        mbarrier.wait(bars.index(stage), (step // STAGES) & 1)
        acc = hopper.warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
        acc = hopper.warpgroup_mma(a_tiles.index(stage), b_tiles.index(stage).permute((1, 0)), acc, is_async=True)
    acc = hopper.warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    for i in gl.static_range(STAGES):
        mbarrier.invalidate(bars.index(i))
    result = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    result.store(acc.to(c.dtype))
    hopper.fence_async_shared()
    tma.async_store(c, [row, column], result)
    tma.store_wait(0)


@program(within(5.5e-4, 1e-4, because="one rounding to f16; " + SUMMED_F32 % ("f16", 224)), needs=HOPPER, below=BLACKWELL)
def gluon_wgmma_pipelined():
    m, n, k, bm, bn, bk = 100, 120, 224, 64, 64, 32
    a, b, c = normal(m, k, dtype=np.float16), normal(n, k, dtype=np.float16), empty((m, n), np.float16)
    described = []
    for x, tile in ((a, [bm, bk]), (b, [bn, bk]), (c, [bm, bn])):
        layout = gl.NVMMASharedLayout.get_default_for(tile, gl.float16)
        described.append(TensorDescriptor.from_tensor(x, tile, layout))
    wgmma_kernel[(2, 2)](*described, k, BM=bm, BN=bn, BK=bk, STAGES=4)
    return c, f64(a) @ f64(b).T


@gluon.jit
def register_operand_kernel(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    """The left operand of wgmma in registers, where it is scaled."""
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    a_layout: gl.constexpr = gl.DotOperandLayout(0, acc_layout, 2)
    io: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, io))
    steps = gl.arange(0, K, layout=gl.SliceLayout(0, io))
    x = gl.convert_layout(gl.load(a + rows[:, None] * K + steps[None, :]), a_layout)
    b_rows = gl.arange(0, N, layout=gl.SliceLayout(1, io))
    y = gl.load(b + b_rows[:, None] * K + steps[None, :])
    shared: gl.constexpr = gl.NVMMASharedLayout.get_default_for([N, K], gl.float16)
    tile = gl.allocate_shared_memory(gl.float16, [N, K], shared, y)
    hopper.fence_async_shared()
    gl.barrier()
    zero = gl.zeros((M, N), gl.float32, acc_layout)
    acc = hopper.warpgroup_mma((x * 0.5).to(gl.float16), tile.permute((1, 0)), zero, use_acc=False)
    out_rows = gl.arange(0, M, layout=gl.SliceLayout(1, acc_layout))
    out_columns = gl.arange(0, N, layout=gl.SliceLayout(0, acc_layout))
    gl.store(c + out_rows[:, None] * N + out_columns[None, :], acc)


@program(within(1e-6, 5e-6, because=SUMMED_F32 % ("f16", 64)), needs=HOPPER, below=BLACKWELL)
def gluon_wgmma_registers():
    m, n, k = 64, 32, 64
    a, b, c = normal(m, k, dtype=np.float16), normal(n, k, dtype=np.float16), empty((m, n))
    register_operand_kernel[(1,)](a, b, c, M=m, N=n, K=k)
    return c, 0.5 * f64(a) @ f64(b).T


@gluon.jit
def producer(a, b, a_tiles, b_tiles, full_bars, empty_bars, row, column, steps, BK: gl.constexpr, STAGES: gl.constexpr):
    """Fills the ring as the consumer empties it. The first round waits for no consumer."""
    for step in range(steps):
        stage = step % STAGES
        mbarrier.wait(empty_bars.index(stage), ((step // STAGES) & 1) ^ 1)
        bar = full_bars.index(stage)
        mbarrier.expect(bar, a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [row, step * BK], bar, a_tiles.index(stage))
        tma.async_load(b, [column, step * BK], bar, b_tiles.index(stage))


@gluon.jit
def consumer(c, a_tiles, b_tiles, full_bars, empty_bars, row, column, steps, BM: gl.constexpr, BN: gl.constexpr,
             STAGES: gl.constexpr):
    # wgmma processes 32 bytes of k at a time.
    step_k: gl.constexpr = 256 // a_tiles.dtype.primitive_bitwidth
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BN, step_k])
    acc = gl.zeros((BM, BN), gl.float32, acc_layout)
    for step in range(steps):
        stage = step % STAGES
        mbarrier.wait(full_bars.index(stage), (step // STAGES) & 1)
        acc = hopper.warpgroup_mma(a_tiles.index(stage), b_tiles.index(stage).permute((1, 0)), acc)
        mbarrier.arrive(empty_bars.index(stage), count=1)
    result = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    result.store(acc.to(c.dtype))
    hopper.fence_async_shared()
    tma.async_store(c, [row, column], result)
    tma.store_wait(0)


@gluon.jit
def specialized_kernel(a, b, c, k, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr):
    """One warp copies, four multiply; two barriers for each slot of the ring."""
    a_tiles = gl.allocate_shared_memory(a.dtype, [STAGES, BM, BK], a.layout)
    b_tiles = gl.allocate_shared_memory(b.dtype, [STAGES, BN, BK], b.layout)
    full_bars = mbarrier.allocate_mbarrier(batch=STAGES)
    empty_bars = mbarrier.allocate_mbarrier(batch=STAGES)
    for stage in gl.static_range(STAGES):
        mbarrier.init(full_bars.index(stage), count=1)
        mbarrier.init(empty_bars.index(stage), count=1)
    row, column = gl.program_id(0) * BM, gl.program_id(1) * BN
    steps = gl.cdiv(k, BK)
    gl.warp_specialize(
        [
            (consumer, (c, a_tiles, b_tiles, full_bars, empty_bars, row, column, steps, BM, BN, STAGES)),
            (producer, (a, b, a_tiles, b_tiles, full_bars, empty_bars, row, column, steps, BK, STAGES)),
        ],
        [1],
        [24],
    )


def specialized(dtype, kind, out_dtype, k, bk):
    m, n, bm, bn = 100, 80, 64, 64
    a, b, c = normal(m, k, dtype=dtype), normal(n, k, dtype=dtype), empty((m, n), out_dtype)
    described = []
    for x, tile, element in ((a, [bm, bk], kind), (b, [bn, bk], kind), (c, [bm, bn], gl.float32)):
        layout = gl.NVMMASharedLayout.get_default_for(tile, element)
        described.append(TensorDescriptor.from_tensor(x, tile, layout))
    specialized_kernel[(2, 2)](*described, k, BM=bm, BN=bn, BK=bk, STAGES=3)
    return c, f64(a) @ f64(b).T


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("bf16", 256)), needs=HOPPER, below=BLACKWELL)
def gluon_warp_specialized_bf16():
    return specialized(bfloat16, gl.bfloat16, np.float32, k=256, bk=32)


@program(within(1e-6, 2e-5, because=SUMMED_F32 % ("e4m3", 320)), needs=HOPPER, below=BLACKWELL)
def gluon_warp_specialized_e4m3():
    return specialized(float8_e4m3, gl.float8e4nv, np.float32, k=320, bk=64)


@gluon.jit
def exchange_kernel(x, out, BLOCK: gl.constexpr, CGA: gl.constexpr):
    """Two blocks of a cluster share one tensor; the reduction crosses the block boundary."""
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0], CGA)
    r = gl.arange(0, BLOCK, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, 32, layout=gl.SliceLayout(0, layout))
    base = gl.program_id(0) * BLOCK * 32
    v = gl.load(x + base + r[:, None] * 32 + c[None, :])
    total = gl.sum(v, axis=0)
    gl.store(out + gl.program_id(0) * 32 + c, total)


@program(exact("whole numbers"), needs=HOPPER, below=BLACKWELL)
def gluon_cluster_reduction():
    clusters, block = 3, 16
    x, out = integers(-1000, 1000, clusters, block, 32), empty((clusters, 32), np.int32)
    exchange_kernel[(clusters,)](x, out, BLOCK=block, CGA=((1, 0),), num_ctas=2)
    return out, np.asarray(x).sum(1, dtype=np.int32)


@gluon.jit
def tma_reduce_kernel(x, target, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
    """Every block adds its tile to the same memory; TMA does the addition."""
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    r = gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, layout))
    v = gl.load(x + (gl.program_id(0) * ROWS + r)[:, None] * COLUMNS + c[None, :])
    tile = gl.allocate_shared_memory(gl.float32, [ROWS, COLUMNS], target.layout, v)
    hopper.fence_async_shared()
    gl.barrier()
    tma.async_atomic_add(target, [0, 0], tile)
    tma.store_wait(0)


@program(exact("whole numbers in f32"), needs=HOPPER, below=BLACKWELL)
def gluon_tma_reduce():
    blocks, rows, columns = 6, 16, 32
    x, out = integers(-100, 100, blocks, rows, columns, dtype=np.float32), full((rows, columns), 1)
    layout = gl.NVMMASharedLayout.get_default_for([rows, columns], gl.float32)
    described = TensorDescriptor.from_tensor(out, [rows, columns], layout)
    tma_reduce_kernel[(blocks,)](x, described, ROWS=rows, COLUMNS=columns)
    return out, np.asarray(x).sum(0) + 1


@gluon.jit
def wgmma_types_kernel(a, b, c, ACC: gl.constexpr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr,
                       TRANSPOSED: gl.constexpr):
    """Both operands from shared memory, any type; b as [n, k], or as [k, n] where wgmma can transpose it."""
    step: gl.constexpr = 256 // a.dtype.primitive_bitwidth
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, step])
    a_tile = gl.allocate_shared_memory(a.dtype, a.block_type.shape, a.layout)
    b_tile = gl.allocate_shared_memory(b.dtype, b.block_type.shape, b.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, a.nbytes_per_cta + b.nbytes_per_cta)
    tma.async_load(a, [0, 0], bar, a_tile)
    tma.async_load(b, [0, 0], bar, b_tile)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    right = b_tile
    if not TRANSPOSED:
        right = b_tile.permute((1, 0))
    acc = hopper.warpgroup_mma(a_tile, right, gl.zeros((M, N), ACC, acc_layout))
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, acc_layout))
    columns = gl.arange(0, N, layout=gl.SliceLayout(0, acc_layout))
    gl.store(c + rows[:, None] * N + columns[None, :], acc)


def wgmma_of(a, b, out, kind, acc, transposed=False):
    (m, k), n = a.shape, b.shape[1] if transposed else b.shape[0]
    described = []
    for x in (a, b):
        layout = gl.NVMMASharedLayout.get_default_for(list(x.shape), kind)
        described.append(TensorDescriptor.from_tensor(x, list(x.shape), layout))
    wgmma_types_kernel[(1,)](*described, out, ACC=acc, M=m, N=n, K=k, TRANSPOSED=transposed)
    return out, f64(a) @ (f64(b) if transposed else f64(b).T)


@program(exact("whole numbers"), needs=HOPPER, below=BLACKWELL)
def gluon_wgmma_int8():
    a, b = integers(-128, 128, 64, 64, dtype=np.int8), integers(-128, 128, 32, 64, dtype=np.int8)
    out, want = wgmma_of(a, b, empty((64, 32), np.int32), gl.int8, gl.int32)
    return out, want.astype(np.int32)


@program(within(1e-6, 1e-5, because=SUMMED_F32 % ("f16", 64)), needs=HOPPER, below=BLACKWELL)
def gluon_wgmma_transposed():
    a, b = normal(64, 64, dtype=np.float16), normal(64, 128, dtype=np.float16)
    return wgmma_of(a, b, empty((64, 128)), gl.float16, gl.float32, transposed=True)


@program(exact("whole numbers up to 1024, exact in f16"), needs=HOPPER, below=BLACKWELL)
def gluon_wgmma_f16_accumulator():
    a, b = integers(-4, 5, 64, 64, dtype=np.float16), integers(-4, 5, 16, 64, dtype=np.float16)
    return wgmma_of(a, b, empty((64, 16), np.float16), gl.float16, gl.float16)


@program(exact("small whole numbers, exact in tf32 and in f32"), needs=HOPPER, below=BLACKWELL)
def gluon_wgmma_tf32():
    a, b = integers(-9, 10, 64, 32, dtype=np.float32), integers(-9, 10, 64, 32, dtype=np.float32)
    return wgmma_of(a, b, empty((64, 64)), gl.float32, gl.float32)


@gluon.jit
def multicast_kernel(source, target, ROWS: gl.constexpr, COLUMNS: gl.constexpr, CGA: gl.constexpr):
    """One copy fills the shared memory of both blocks of a cluster; each block stores its own half of the rows."""
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0], CGA)
    tile = gl.allocate_shared_memory(source.dtype, source.block_type.shape, source.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    # Neither block may issue a copy to the other before the other's barrier is initialised.
    hopper.cluster.barrier()
    mbarrier.expect(bar, source.nbytes_per_cta)
    tma.async_load(source, [gl.program_id(0) * ROWS, 0], bar, tile, multicast=True)
    mbarrier.wait(bar, phase=0, deps=[tile])
    v = tile.load(layout) * 2.0
    r = gl.program_id(0) * ROWS + gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, layout))
    gl.store(target + r[:, None] * COLUMNS + c[None, :], v)
    hopper.cluster.barrier()
    mbarrier.invalidate(bar)


@program(exact("a product with 2"), needs=HOPPER, below=BLACKWELL)
def gluon_multicast():
    clusters, rows, columns = 3, 16, 32
    x, out = normal(clusters * rows, columns), empty((clusters * rows, columns))
    layout = gl.NVMMASharedLayout.get_default_for([rows, columns], gl.float32, cga_layout=[[0, 0]])
    described = TensorDescriptor.from_tensor(x, [rows, columns], layout)
    multicast_kernel[(clusters,)](described, out, ROWS=rows, COLUMNS=columns, CGA=((0, 0),), num_ctas=2)
    return out, np.asarray(x) * 2
