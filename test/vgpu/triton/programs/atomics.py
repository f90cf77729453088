"""Atomic operations of every kind, and what is built from them: locks, tickets, grid-wide barriers."""

import numpy as np
import triton
import triton.language as tl

from .harness import array, bfloat16, empty, exact, f64, full, integers, normal, permutation, program, within, zeros


@triton.jit
def scatter_add_kernel(x, place, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.atomic_add(out + tl.load(place + i, mask=i < n, other=0), v, mask=i < n)


def scatter_add(dtype, kernel_dtype=None):
    n, places = 2500, 40
    # Multiples of 1/16 up to 16: every partial sum is exact in the type, so the order of the additions does not matter.
    x = array(integers(-8, 9, n), dtype)
    place, out = integers(0, places, n), zeros(places, dtype)
    scatter_add_kernel[(triton.cdiv(n, 256),)](x, place, out, n, BLOCK=256)
    want = np.zeros(places)
    np.add.at(want, np.asarray(place), f64(x))
    return f64(out), want


@program(exact("small whole numbers, exact in the type"))
def atomic_add_f32():
    return scatter_add(np.float32)


@program(exact("small whole numbers, exact in the type"))
def atomic_add_f64():
    return scatter_add(np.float64)


@program(exact("small whole numbers, exact in the type"))
def atomic_add_f16():
    return scatter_add(np.float16)


@program(exact("small whole numbers up to 256, exact in bf16"))
def atomic_add_bf16():
    return scatter_add(bfloat16)


@program(exact("whole numbers"))
def atomic_add_i64():
    return scatter_add(np.int64)


@triton.jit
def extremes_kernel(x, place, low, high, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    p = tl.load(place + i, mask=i < n, other=0)
    tl.atomic_min(low + p, v, mask=i < n)
    tl.atomic_max(high + p, v, mask=i < n)


def atomic_extremes(x):
    n, places = x.size, 30
    place = integers(0, places, n)
    place[:places] = np.arange(places)
    top = np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max
    bottom = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    low, high = full(places, top, x.dtype), full(places, bottom, x.dtype)
    extremes_kernel[(triton.cdiv(n, 256),)](x, place, low, high, n, BLOCK=256)
    want_low, want_high = np.asarray(full(places, top, x.dtype)), np.asarray(full(places, bottom, x.dtype))
    np.minimum.at(want_low, np.asarray(place), np.asarray(x))
    np.maximum.at(want_high, np.asarray(place), np.asarray(x))
    return [(low, want_low), (high, want_high)]


@program(exact("selections; negative and positive numbers"))
def atomic_extremes_f32():
    return atomic_extremes(normal(1500))


@program(exact("selections"))
def atomic_extremes_i32():
    return atomic_extremes(integers(-(2**31), 2**31, 1500))


@program(exact("selections; half of the numbers have the highest bit"))
def atomic_extremes_u32():
    return atomic_extremes(integers(0, 2**32, 1500, dtype=np.uint32))


@program(exact("selections"))
def atomic_extremes_i64():
    return atomic_extremes(integers(-(2**62), 2**62, 1500, dtype=np.int64))


@triton.jit
def bits_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_or(out + i % 4, v, mask=i < n)
    tl.atomic_and(out + 4 + i % 4, v | 0xFF, mask=i < n)
    tl.atomic_xor(out + 8 + i % 4, v, mask=i < n)


@program(exact("bits"))
def atomic_bits():
    n = 1000
    x, out = array(integers(0, 2**31, n) & 0x01248000 | 1), array([0] * 4 + [-1] * 4 + [0] * 4, np.int32)
    bits_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)
    v = np.asarray(x).reshape(-1, 4)
    want = [np.bitwise_or.reduce(v), np.bitwise_and.reduce(v | 0xFF), np.bitwise_xor.reduce(v)]
    return out, np.concatenate(want).astype(np.int32)


@triton.jit
def returned_kernel(counter, seen, n, BLOCK: tl.constexpr):
    """Every thread draws a ticket; each ticket must be drawn once."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ticket = tl.atomic_add(counter + tl.zeros((BLOCK,), tl.int32), 1, mask=i < n)
    tl.store(seen + ticket, i, mask=i < n)


@program(exact("whole numbers"))
def tickets():
    n = 1000
    counter, seen = zeros(1, np.int32), full(n, -1, np.int32)
    returned_kernel[(triton.cdiv(n, 128),)](counter, seen, n, BLOCK=128)
    return [(np.sort(seen), np.arange(n, dtype=np.int32)), (counter, np.array([n], np.int32))]


@triton.jit
def swap_kernel(slots, order, out, n, BLOCK: tl.constexpr):
    """Exchange and compare-and-swap with their old values."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    slot = tl.load(order + i, mask=i < n, other=0)
    old = tl.atomic_xchg(slots + slot, i.to(tl.float32), mask=i < n)
    tl.store(out + i, old, mask=i < n)


@program(exact("copies"))
def atomic_exchange():
    n = 300
    slots, order, out = normal(n), permutation(n), empty(n)
    before, places = np.array(slots), np.asarray(order)
    swap_kernel[(triton.cdiv(n, 128),)](slots, order, out, n, BLOCK=128)
    after = np.empty(n, np.float32)
    after[places] = np.arange(n)
    return [(out, before[places]), (slots, after)]


@triton.jit
def cas_kernel(slots, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    old = tl.atomic_cas(slots + i, tl.zeros((BLOCK,), tl.int64), i.to(tl.int64) + 1000)
    tl.store(out + i, old, mask=i < n)


@program(exact("whole numbers"))
def compare_and_swap_i64():
    n = 512
    slots, out = integers(0, 2, n, dtype=np.int64), empty(n, np.int64)
    before = np.array(slots)
    cas_kernel[(n // 128,)](slots, out, n, BLOCK=128)
    return [(out, before), (slots, np.where(before == 0, np.arange(n) + 1000, before))]


@triton.jit
def lock_kernel(lock, log, length, rounds):
    """A list that only the holder of a lock may append to; the length is read and written without atomics."""
    me = tl.program_id(0)
    for _ in range(rounds):
        while tl.atomic_cas(lock, 0, 1, sem="acquire") != 0:
            pass
        end = tl.load(length, volatile=True)
        # Every thread loads and one stores: no thread may load what that one stored.
        tl.debug_barrier()
        tl.store(log + end, me)
        tl.store(length, end + 1)
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0, sem="release")


@program(exact("whole numbers"))
def spin_lock():
    blocks, rounds = 12, 5
    lock, log, length = zeros(1, np.int32), full(blocks * rounds, -1, np.int32), zeros(1, np.int32)
    lock_kernel[(blocks,)](lock, log, length, rounds, num_warps=2)
    want = np.repeat(np.arange(blocks), rounds).astype(np.int32)
    return [(np.sort(log), want), (length, np.array([blocks * rounds], np.int32)), (lock, np.zeros(1, np.int32))]


@triton.jit
def last_block_kernel(x, parts, counter, out, n, blocks, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    """The last block to finish adds up the results of the others."""
    block = tl.program_id(0)
    i = block * BLOCK + tl.arange(0, BLOCK)
    tl.store(parts + block, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))
    tl.debug_barrier()
    if tl.atomic_add(counter, 1, sem="acq_rel") == blocks - 1:
        p = tl.arange(0, PARTS)
        tl.store(out, tl.sum(tl.load(parts + p, mask=p < blocks, other=0.0, volatile=True), axis=0))


@program(within(2e-6, 1e-5, because="a sum of 4000 numbers of f32 in a tree"))
def last_block_sums():
    n, block = 4000, 256
    blocks = triton.cdiv(n, block)
    x, parts, counter, out = normal(n), empty(blocks), zeros(1, np.int32), empty(1)
    last_block_kernel[(blocks,)](x, parts, counter, out, n, blocks, PARTS=32, BLOCK=block)
    return out, f64(x).sum(keepdims=True)


@triton.jit
def grid_barrier(arrived, goal):
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="acq_rel")
    while tl.atomic_add(arrived, 0, sem="acquire") < goal:
        pass
    tl.debug_barrier()


@triton.jit
def relaxation_kernel(x, y, arrived, n, steps, BLOCK: tl.constexpr):
    """Steps of averaging neighbours with a grid-wide barrier: each block reads what the others wrote in the previous step."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    for step in range(steps):
        left = tl.load(x + i - 1, mask=inside & (i > 0), other=0.0)
        here = tl.load(x + i, mask=inside)
        right = tl.load(x + i + 1, mask=i < n - 1, other=0.0)
        tl.store(y + i, 0.25 * left + 0.5 * here + 0.25 * right, mask=inside)
        grid_barrier(arrived, (step + 1) * tl.num_programs(0))
        x, y = y, x


@program(within(2e-6, 1e-6, because="six steps of three roundings of f32"))
def cooperative_grid():
    n, steps = 700, 6
    x, y, arrived = normal(n), empty(n), zeros(1, np.int32)
    want = f64(x)
    relaxation_kernel[(6,)](x, y, arrived, n, steps, BLOCK=128, launch_cooperative_grid=True)
    for _ in range(steps):
        padded = np.pad(want, 1)
        want = 0.25 * padded[:-2] + 0.5 * padded[1:-1] + 0.25 * padded[2:]
    return x, want


@triton.jit
def poll_kernel(x, out, flags, n, BLOCK: tl.constexpr):
    """A block hands its tile to the next one: stores, then a flag with release; the next polls with acquire."""
    block = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + block * BLOCK + i)
    if block > 0:
        tl.atomic_poll(flags + block - 1, 7)
        v += tl.load(out + (block - 1) * BLOCK + i)
    tl.store(out + block * BLOCK + i, v)
    tl.debug_barrier()
    tl.atomic_store(flags + block, 7, sem="release")
    tl.store(flags + n + block, tl.atomic_load(flags + block, sem="relaxed"))


@program(exact("whole numbers"))
def poll_and_store():
    blocks, width = 8, 128
    x, out, flags = integers(0, 1000, blocks, width), empty((blocks, width), np.int32), zeros((2, blocks), np.int32)
    poll_kernel[(blocks,)](x, out, flags, blocks, BLOCK=width)
    return [(out, np.asarray(x).cumsum(0, dtype=np.int32)), (flags, np.full((2, blocks), 7, np.int32))]
