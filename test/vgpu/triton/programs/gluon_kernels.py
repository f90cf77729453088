"""Gluon: kernels that specify layouts, copies and synchronisation explicitly."""

import numpy as np
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import ampere

from .harness import bfloat16, empty, exact, f64, full, integers, normal, program, within
from .matmul import SUMMED_F32


@gluon.jit
def copy_kernel(x, out, n, BLOCK: gl.constexpr, STEPS: gl.constexpr):
    """cp.async into two alternating buffers; one is read while the other is filled."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    buffers = gl.allocate_shared_memory(gl.float32, [2, BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    i = gl.program_id(0) * BLOCK * STEPS + gl.arange(0, BLOCK, layout=layout)
    ampere.async_copy.async_load(buffers.index(0), x + i, mask=i < n)
    ampere.async_copy.commit_group()
    for step in range(STEPS):
        ahead = i + (step + 1) * BLOCK
        ampere.async_copy.async_load(buffers.index((step + 1) % 2), x + ahead, mask=(ahead < n) & (step + 1 < STEPS))
        ampere.async_copy.commit_group()
        ampere.async_copy.wait_group(1)
        gl.barrier()
        here = i + step * BLOCK
        gl.store(out + here, buffers.index(step % 2).load(layout) * 2.0, mask=here < n)
        gl.barrier()
    ampere.async_copy.wait_group(0)


@program(exact("a product with 2"))
def gluon_async_copy():
    n, block, steps = 3500, 256, 4
    x, out = normal(n), empty(n)
    copy_kernel[(triton.cdiv(n, block * steps),)](x, out, n, BLOCK=block, STEPS=steps)
    return out, np.asarray(x) * 2


@gluon.jit
def mma_kernel(a, b, c, m, n, k, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr):
    """mma.sync with operands that go through shared memory to the instruction's layout."""
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    a_layout: gl.constexpr = gl.DotOperandLayout(0, acc_layout, 2)
    b_layout: gl.constexpr = gl.DotOperandLayout(1, acc_layout, 2)
    io: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(8, 2, 4, [1, 0])
    rows = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, io))
    columns = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, io))
    a_steps = gl.arange(0, BK, layout=gl.SliceLayout(0, io))
    b_steps = gl.arange(0, BK, layout=gl.SliceLayout(1, io))
    a_tile = gl.allocate_shared_memory(gl.bfloat16, [BM, BK], shared)
    b_tile = gl.allocate_shared_memory(gl.bfloat16, [BK, BN], shared)
    acc = gl.zeros((BM, BN), gl.float32, acc_layout)
    for start in range(0, k, BK):
        x = gl.load(a + rows[:, None] * k + (start + a_steps)[None, :], mask=(rows < m)[:, None], other=0.0)
        y = gl.load(b + (start + b_steps)[:, None] * n + columns[None, :], mask=(columns < n)[None, :], other=0.0)
        gl.barrier()
        a_tile.store(x)
        b_tile.store(y)
        gl.barrier()
        acc = ampere.mma_v2(a_tile.load(a_layout), b_tile.load(b_layout), acc)
    out_rows = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, acc_layout))
    out_columns = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, acc_layout))
    inside = (out_rows < m)[:, None] & (out_columns < n)[None, :]
    gl.store(c + out_rows[:, None] * n + out_columns[None, :], acc, mask=inside)


@program(within(1e-6, 1e-5, because=SUMMED_F32 % ("bf16", 96)))
def gluon_mma():
    m, n, k = 50, 70, 96
    a, b, c = normal(m, k, dtype=bfloat16), normal(k, n, dtype=bfloat16), empty((m, n))
    mma_kernel[(2, 3)](a, b, c, m, n, k, BM=32, BN=32, BK=32)
    return c, f64(a) @ f64(b)


@gluon.jit
def transpose_kernel(x, out, rows, columns, TILE: gl.constexpr):
    """Through padded shared memory, so that neither side has bank conflicts."""
    read: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [gl.num_warps(), 1], [1, 0])
    write: gl.constexpr = gl.BlockedLayout([1, 1], [32, 1], [1, gl.num_warps()], [0, 1])
    r = gl.program_id(0) * TILE + gl.arange(0, TILE, layout=gl.SliceLayout(1, read))
    c = gl.program_id(1) * TILE + gl.arange(0, TILE, layout=gl.SliceLayout(0, read))
    v = gl.load(x + r[:, None] * columns + c[None, :], mask=(r < rows)[:, None] & (c < columns)[None, :], other=0)
    tile = gl.allocate_shared_memory(gl.int32, [TILE, TILE], gl.SwizzledSharedLayout(1, 1, 32, [1, 0]), v)
    gl.barrier()
    w = tile.load(write)
    r = gl.program_id(0) * TILE + gl.arange(0, TILE, layout=gl.SliceLayout(1, write))
    c = gl.program_id(1) * TILE + gl.arange(0, TILE, layout=gl.SliceLayout(0, write))
    gl.store(out + c[None, :] * rows + r[:, None], w, mask=(r < rows)[:, None] & (c < columns)[None, :])


@program(exact("copies"))
def gluon_transpose():
    rows, columns = 50, 75
    x, out = integers(0, 10000, rows, columns), empty((columns, rows), np.int32)
    transpose_kernel[(2, 3)](x, out, rows, columns, TILE=32)
    return out, np.asarray(x).T


@gluon.jit
def barrier_copy_kernel(x, out, n, BLOCK: gl.constexpr, STEPS: gl.constexpr):
    """cp.async that arrives at an mbarrier on completion, instead of groups."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    buffers = gl.allocate_shared_memory(gl.float32, [2, BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    bars = ampere.mbarrier.allocate_mbarrier(batch=2)
    for k in gl.static_range(2):
        # Every thread arrives; its own arrival cancels what it adds to the pending count.
        ampere.mbarrier.init(bars.index(k), count=128)
    gl.barrier()
    i = gl.program_id(0) * BLOCK * STEPS + gl.arange(0, BLOCK, layout=layout)
    for step in range(STEPS):
        slot = step % 2
        here = i + step * BLOCK
        ampere.async_copy.async_load(buffers.index(slot), x + here, mask=here < n)
        ampere.async_copy.mbarrier_arrive(bars.index(slot), increment_count=False)
        ampere.mbarrier.wait(bars.index(slot), (step // 2) & 1)
        gl.store(out + here, buffers.index(slot).load(layout) + 1.0, mask=here < n)
        gl.barrier()
    for k in gl.static_range(2):
        ampere.mbarrier.invalidate(bars.index(k))


@program(exact("one addition of f32"))
def gluon_async_copy_mbarrier():
    n, block, steps = 2900, 512, 3
    x, out = normal(n), empty(n)
    barrier_copy_kernel[(2,)](x, out, n, BLOCK=block, STEPS=steps)
    return out, np.asarray(x) + np.float32(1)


@gluon.jit
def shared_histogram_kernel(x, counts, n, BINS: gl.constexpr, BLOCK: gl.constexpr, STEPS: gl.constexpr):
    """Counts with atomics in shared memory, then adds the counts to global memory once."""
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    bins = gl.arange(0, BINS, layout=layout)
    none = gl.zeros([BINS], gl.int32, layout)
    table = gl.allocate_shared_memory(gl.int32, [BINS], gl.SwizzledSharedLayout(1, 1, 1, [0]), none)
    gl.barrier()
    one = gl.full([BLOCK], 1, gl.int32, layout)
    for step in range(STEPS):
        i = (gl.program_id(0) * STEPS + step) * BLOCK + gl.arange(0, BLOCK, layout=layout)
        v = gl.load(x + i, mask=i < n, other=0)
        table.atomic_scatter_add(one, v, 0, mask=i < n)
    gl.barrier()
    gl.atomic_add(counts + bins, table.load(layout))


@program(exact("whole numbers"))
def gluon_shared_histogram():
    n, bins = 3000, 128
    x, counts = integers(0, bins, n), full(bins, 0, np.int32)
    shared_histogram_kernel[(3,)](x, counts, n, BINS=bins, BLOCK=256, STEPS=4)
    return counts, np.bincount(np.asarray(x), minlength=bins).astype(np.int32)
