"""Triton and Gluon kernels with classic bugs (test_bug_…), and right ones that look suspicious (test_right_…).

test_bugs.py runs this file under `tilewright vgpu run --check=all -- pytest`, whose plugin fails each test that caused a finding:
all of the first kind must fail by that, none of the second. Nothing here compares results of the first kind, which are chance.
"""

import ctypes

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

cuda = ctypes.CDLL("libcuda.so.1")
random = np.random.default_rng(7)


class Tensor(np.ndarray):
    def data_ptr(self):
        return self.ctypes.data

    def stride(self, axis=None):
        steps = tuple(step // self.itemsize for step in self.strides)
        return steps if axis is None else steps[axis]

    def dim(self):
        return self.ndim


def empty(*shape, dtype=np.float32):
    """Uninitialised device memory."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    address = ctypes.c_uint64()
    triton.runtime.driver.active.get_current_device()  # makes a context
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0
    memory = (ctypes.c_uint8 * size).from_address(address.value)
    return np.frombuffer(memory, dtype=dtype).reshape(shape).view(Tensor)


def put(values):
    values = np.ascontiguousarray(values)
    tensor = empty(*values.shape, dtype=values.dtype)
    copied = cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(tensor.data_ptr()), ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes))
    assert copied == 0
    return tensor


def zeros(*shape, dtype=np.float32):
    return put(np.zeros(shape, dtype))


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def close(got, want, tolerance=1e-3):
    np.testing.assert_allclose(np.asarray(got).astype(np.float64), np.asarray(want).astype(np.float64), rtol=tolerance, atol=tolerance)


# ---- elementwise


@triton.jit
def negate(source, target, count, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = -tl.load(source + at, mask=at < count, other=0.0)
    if MASKED:
        tl.store(target + at, values, mask=at < count)
    else:
        tl.store(target + at, values)  # the last block writes beyond the end


def test_bug_store_without_mask():
    negate[(5,)](put(normal(600)), empty(600), 600, BLOCK=128, MASKED=False)


def test_right_in_place():
    values = normal(600)
    tensor = put(values)
    negate[(5,)](tensor, tensor, 600, BLOCK=128, MASKED=True)
    close(tensor, -values)


@triton.jit
def rotate(data, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(data + (at + 3) % count, mask=at < count)
    tl.store(data + at, values, mask=at < count)  # other blocks may not have read these yet


def test_bug_rotation_in_place():
    rotate[(4,)](put(normal(512)), 512, BLOCK=128)


@triton.jit
def gather_far(source, target, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at * 4096, mask=at < 2, other=3.0), mask=at < count)


def test_right_addresses_far_outside_that_are_masked():
    source = np.zeros(4097, np.float32)
    source[[0, 4096]] = 1, 2
    target = empty(20)
    gather_far[(1,)](put(source), target, 20, BLOCK=64)
    close(target, [1, 2] + [3] * 18)


@triton.jit
def halves(target, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(target + at // 4, at // 4)


def test_right_equal_values_at_one_address():
    target = empty(32, dtype=np.int32)
    halves[(1,)](target, BLOCK=128)
    close(target, np.arange(32))


# ---- counting and adding up


@triton.jit
def count_bins(values, bins, count, BLOCK: tl.constexpr, ATOMIC: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bin = tl.load(values + at, mask=at < count, other=0)
    if ATOMIC:
        tl.atomic_add(bins + bin, 1, mask=at < count, sem="relaxed")
    else:
        tl.store(bins + bin, tl.load(bins + bin, mask=at < count) + 1, mask=at < count)


def test_bug_histogram_without_atomics():
    count_bins[(3,)](put(random.integers(0, 8, 300).astype(np.int32)), zeros(8, dtype=np.int32), 300, BLOCK=128, ATOMIC=False)


def test_right_histogram():
    values, bins = random.integers(0, 8, 300).astype(np.int32), zeros(8, dtype=np.int32)
    count_bins[(3,)](put(values), bins, 300, BLOCK=128, ATOMIC=True)
    close(bins, np.bincount(values, minlength=8))


@triton.jit
def add_to(source, sums, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(sums + at, tl.load(sums + at) + tl.load(source + at))


def test_bug_sums_that_nobody_set():
    add_to[(3,)](put(normal(96)), empty(96), BLOCK=32)


@triton.jit
def product_of_parts(a, b, c, K, PART: tl.constexpr, SIZE: tl.constexpr):
    row, k = tl.arange(0, SIZE), tl.program_id(0) * PART + tl.arange(0, PART)
    left = tl.load(a + row[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * SIZE + row[None, :])
    tl.atomic_add(c + row[:, None] * SIZE + row[None, :], tl.dot(left, right, input_precision="ieee"), sem="relaxed")


def test_bug_split_product_that_is_not_zeroed():
    product_of_parts[(3,)](put(normal(16, 96)), put(normal(96, 16)), empty(16, 16), 96, PART=32, SIZE=16)


def test_right_split_product():
    a, b, c = normal(16, 96), normal(96, 16), zeros(16, 16)
    product_of_parts[(3,)](put(a), put(b), c, 96, PART=32, SIZE=16)
    close(c, a @ b)


# ---- blocks that hand over to each other


@triton.jit
def add_under_lock(lock, total, source, BLOCK: tl.constexpr, RELEASES: tl.constexpr):
    at = tl.arange(0, BLOCK)
    own = tl.load(source + tl.program_id(0) * BLOCK + at)
    while tl.atomic_cas(lock, 0, 1) != 0:
        pass
    tl.store(total + at, tl.load(total + at) + own)
    if RELEASES:
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0)
    else:
        tl.store(lock, 0)  # does not order anything


def test_bug_lock_that_a_plain_store_releases():
    add_under_lock[(3,)](zeros(1, dtype=np.int32), zeros(128), put(normal(3, 128)), BLOCK=128, RELEASES=False)


def test_right_lock():
    source, total = normal(3, 128), zeros(128)
    add_under_lock[(3,)](zeros(1, dtype=np.int32), total, put(source), BLOCK=128, RELEASES=True)
    close(total, source.sum(0))


@triton.jit
def hand_over(data, flag, target, BLOCK: tl.constexpr, ORDERED: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(data + at, 2 * at)
        if ORDERED:
            tl.debug_barrier()
            tl.atomic_xchg(flag, 1, sem="release")
        else:
            tl.atomic_xchg(flag, 1, sem="relaxed")
    else:
        if ORDERED:
            while tl.atomic_add(flag, 0, sem="acquire") == 0:
                pass
        else:
            while tl.atomic_add(flag, 0, sem="relaxed") == 0:
                pass
        tl.store(target + at, tl.load(data + at))


def test_bug_relaxed_flag():
    hand_over[(2,)](zeros(64, dtype=np.int32), zeros(1, dtype=np.int32), zeros(64, dtype=np.int32), BLOCK=64, ORDERED=False)


def test_right_flag():
    target = zeros(64, dtype=np.int32)
    hand_over[(2,)](zeros(64, dtype=np.int32), zeros(1, dtype=np.int32), target, BLOCK=64, ORDERED=True)
    close(target, 2 * np.arange(64))


@triton.jit
def share_of_all(source, parts, target, BLOCKS: tl.constexpr, BLOCK: tl.constexpr):
    me, at = tl.program_id(0), tl.arange(0, BLOCK)
    own = tl.load(source + me * BLOCK + at)
    tl.store(parts + me, tl.max(own))
    tl.debug_barrier()  # synchronises only this block
    tl.store(target + me * BLOCK + at, own / tl.max(tl.load(parts + tl.arange(0, BLOCKS))))


def test_bug_barrier_of_a_block_for_the_grid():
    share_of_all[(4,)](put(np.abs(normal(4, 32))), zeros(4), empty(4, 32), BLOCKS=4, BLOCK=32)


@triton.jit
def last_one_adds(source, parts, arrived, target, BLOCKS: tl.constexpr, BLOCK: tl.constexpr):
    me = tl.program_id(0)
    tl.store(parts + me, tl.sum(tl.load(source + me * BLOCK + tl.arange(0, BLOCK))))
    tl.debug_barrier()
    if tl.atomic_add(arrived, 1, sem="acq_rel") == BLOCKS - 1:
        tl.store(target, tl.sum(tl.load(parts + tl.arange(0, BLOCKS))))


def test_right_last_block():
    source, target = normal(8, 64), zeros(1)
    last_one_adds[(8,)](put(source), empty(8), zeros(1, dtype=np.int32), target, BLOCKS=8, BLOCK=64)
    close(target, [source.sum()])


@triton.jit
def chained_sums(source, target, states, BLOCK: tl.constexpr):
    me, at = tl.program_id(0), tl.arange(0, BLOCK)
    own = tl.load(source + me * BLOCK + at)
    state = tl.full((), 1 << 40, tl.int64)
    if me > 0:
        state = tl.zeros((), tl.int64)
        while state == 0:
            state = tl.atomic_add(states + me - 1, 0, sem="acquire")
    before = (state & 0xFFFFFFFF).to(tl.int32)
    tl.atomic_xchg(states + me, (before + tl.sum(own)).to(tl.int64) | (1 << 40), sem="release")
    tl.store(target + me * BLOCK + at, tl.cumsum(own, 0) + before)


def test_right_chained_scan():
    source, target = random.integers(0, 9, (5, 64)).astype(np.int32), empty(5, 64, dtype=np.int32)
    chained_sums[(5,)](put(source), target, zeros(5, dtype=np.int64), BLOCK=64)
    close(target, np.cumsum(source).reshape(5, 64))


# ---- shared memory


@triton.jit
def exchange(source, target, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    other = tl.inline_asm_elementwise("""{
        .shared .align 4 .b32 box[64]; .reg .b32 t, base, place;
        mov.u32 t, %tid.x; shl.b32 t, t, 2; mov.u32 base, box;
        add.u32 place, base, t; st.shared.b32 [place], $1;
        xor.b32 t, t, 252; add.u32 place, base, t; ld.shared.b32 $0, [place];
    }""", "=r,r", [tl.load(source + at)], dtype=tl.int32, is_pure=False, pack=1)  # fmt: skip
    tl.store(target + at, other)


def test_bug_assembly_without_a_barrier():
    exchange[(1,)](put(np.arange(64, dtype=np.int32)), empty(64, dtype=np.int32), BLOCK=64, num_warps=2)


@triton.jit
def order_and_add(source, ordered, sums, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(source + at)
    tl.store(ordered + at, tl.sort(values))
    tl.store(sums + at, tl.cumsum(values, 0))


def test_right_sort_and_scan():
    values, ordered, sums = normal(128), empty(128), empty(128)
    order_and_add[(1,)](put(values), ordered, sums, BLOCK=128)
    close(ordered, np.sort(values))
    close(sums, np.cumsum(values))


@triton.jit
def product(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
    sums = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        k = first + tl.arange(0, BK)
        left = tl.load(a + row[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        sums = tl.dot(left, tl.load(b + k[:, None] * N + column[None, :], mask=k[:, None] < K, other=0.0), sums)
    tl.store(c + row[:, None] * N + column[None, :], sums.to(tl.float16))


def test_right_pipelined_product():
    a, b = normal(128, 192).astype(np.float16), normal(192, 64).astype(np.float16)
    c = empty(128, 64, dtype=np.float16)
    product[(2,)](put(a), put(b), c, 64, 192, BM=64, BN=64, BK=64, num_stages=3)
    close(c, a.astype(np.float32) @ b.astype(np.float32), 5e-2)


@triton.jit
def product_by_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALIZED: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    sums = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=SPECIALIZED):
        sums = tl.dot(left.load([tl.program_id(0) * BM, k]), right.load([0, k]).T, sums)
    out.store([tl.program_id(0) * BM, 0], sums.to(tl.float16))


@pytest.mark.parametrize("specialized", [False, True])
def test_right_product_by_tma(specialized):
    lent = []

    def lend(size, alignment, stream):
        lent.append(empty(size, dtype=np.int8))
        return lent[-1]

    triton.set_allocator(lend)
    a, b = normal(128, 128).astype(np.float16), normal(64, 128).astype(np.float16)
    c = empty(128, 64, dtype=np.float16)
    product_by_tma[(1,)](put(a), put(b), c, 128, 64, 128, BM=128, BN=64, BK=64, SPECIALIZED=specialized, num_stages=3, num_warps=4)
    close(c, a.astype(np.float32) @ b.astype(np.float32).T, 5e-2)


# ---- Gluon: copies that must be waited for


@gluon.jit
def double_tiles(source, target, TILES: gl.constexpr, SIZE: gl.constexpr, BUFFERS: gl.constexpr, BUG: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    filled = gl.allocate_shared_memory(source.dtype, [BUFFERS, SIZE], source.layout)
    result = gl.allocate_shared_memory(source.dtype, [SIZE], source.layout)
    ready = gl.allocate_shared_memory(gl.int64, [BUFFERS, 1], mbarrier.MBarrierLayout())
    extra: gl.constexpr = -128 if BUG == "few bytes" else 128 if BUG == "many bytes" else 0
    size: gl.constexpr = source.block_type.nbytes + extra
    for b in gl.static_range(BUFFERS):
        mbarrier.init(ready.index(b), count=1)
    for b in gl.static_range(BUFFERS):
        mbarrier.expect(ready.index(b), size)
        tma.async_load(source, [b * SIZE], ready.index(b), filled.index(b))
    for tile in range(TILES):
        slot = tile % BUFFERS
        if BUG == "one phase":
            mbarrier.wait(ready.index(slot), 0)
        elif BUG != "no wait":
            mbarrier.wait(ready.index(slot), (tile // BUFFERS) & 1)
        values = filled.index(slot).load(layout)
        if BUG != "no store wait":
            tma.store_wait(pendings=0)
        result.store(values * 2)
        if BUG != "no fence":
            fence_async_shared()
        tma.async_store(target, [tile * SIZE], result)
        if tile + BUFFERS < TILES:
            mbarrier.expect(ready.index(slot), size)
            tma.async_load(source, [(tile + BUFFERS) * SIZE], ready.index(slot), filled.index(slot))
    tma.store_wait(pendings=0)
    for b in gl.static_range(BUFFERS):
        mbarrier.invalidate(ready.index(b))


def doubled(bug):
    values, target = normal(768), empty(768)
    layout = gl.NVMMASharedLayout.get_default_for([128], gl.float32)
    descriptors = [TensorDescriptor.from_tensor(tensor, [128], layout) for tensor in (put(values), target)]
    double_tiles[(1,)](*descriptors, TILES=6, SIZE=128, BUFFERS=2, BUG=bug, num_warps=4)
    return target, 2 * values


@pytest.mark.parametrize("bug", ["no wait", "one phase", "few bytes", "many bytes", "no store wait"])
def test_bug_tma(bug):
    doubled(bug)


# Triton itself inserts a fence before each store by TMA, so the author's fence is not needed.
@pytest.mark.parametrize("bug", ["", "no fence"])
def test_right_tma(bug):
    close(*doubled(bug))


@gluon.jit
def through_shared(source, target, SIZE: gl.constexpr, WAITS: gl.constexpr):
    wide: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    narrow: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    box = gl.allocate_shared_memory(gl.float32, [SIZE], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    async_copy.async_load(box, source + gl.arange(0, SIZE, wide))
    async_copy.commit_group()
    if WAITS:
        async_copy.wait_group(0)
    gl.store(target + gl.arange(0, SIZE, narrow), box.load(narrow))


def test_bug_copy_that_is_not_waited_for():
    through_shared[(1,)](put(normal(512)), empty(512), SIZE=512, WAITS=False, num_warps=4)


def test_right_copy():
    values, target = normal(512), empty(512)
    through_shared[(1,)](put(values), target, SIZE=512, WAITS=True, num_warps=4)
    close(target, values)
