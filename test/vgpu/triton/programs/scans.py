"""Prefix sums and other scans, sorting, selection, histograms."""

import numpy as np
import triton
import triton.language as tl

from .harness import empty, exact, f64, integers, normal, permutation, program, uniform, within, zeros


@triton.jit
def cumulate_kernel(x, sums, products, back, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    inside = c < columns
    v = tl.load(x + row * columns + c, mask=inside, other=0.0)
    tl.store(sums + row * columns + c, tl.cumsum(v, axis=0), mask=inside)
    near_one = tl.where(inside, 1.0 + 0.01 * v, 1.0)
    tl.store(products + row * columns + c, tl.cumprod(near_one, axis=0), mask=inside)
    tl.store(back + row * columns + c, tl.cumsum(v, axis=0, reverse=True), mask=inside)


@program(within(1e-5, 1e-5, because="300 additions or products of f32 in a tree, partial sums up to 40"))
def cumulative_sums():
    rows, columns = 7, 300
    x = normal(rows, columns)
    sums, products, back = empty((rows, columns)), empty((rows, columns)), empty((rows, columns))
    cumulate_kernel[(rows,)](x, sums, products, back, columns, BLOCK=512)
    v = f64(x)
    return [
        (sums, v.cumsum(1)), (products, (1 + 0.01 * v).cumprod(1)), (back, v[:, ::-1].cumsum(1)[:, ::-1]),
    ]  # fmt: skip


@triton.jit
def cumulate_columns_kernel(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    width = COLUMNS * tl.num_programs(0)
    v = tl.load(x + r[:, None] * width + c[None, :])
    tl.store(out + r[:, None] * width + c[None, :], tl.cumsum(v, axis=0))


@program(exact("whole numbers"))
def cumulative_sums_of_columns():
    x, out = integers(-1000, 1000, 64, 96), empty((64, 96), np.int32)
    cumulate_columns_kernel[(3,)](x, out, ROWS=64, COLUMNS=32)
    return out, np.asarray(x).cumsum(0, dtype=np.int32)


@triton.jit
def chain(a1, b1, a2, b2):
    """(a, b) stands for h -> a h + b; composes two such maps."""
    return a1 * a2, a2 * b1 + b2


@triton.jit
def recurrence_kernel(decay, x, out, steps, channels, STEPS: tl.constexpr, CHANNELS: tl.constexpr):
    """h[t] = decay[t] h[t-1] + x[t]: a linear recurrence (as in state space models), chunk by chunk."""
    c = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    t = tl.arange(0, STEPS)
    state = tl.zeros((CHANNELS,), tl.float32)
    for start in range(0, steps, STEPS):
        place = (start + t)[:, None] * channels + c[None, :]
        inside = (start + t < steps)[:, None] & (c < channels)[None, :]
        a = tl.load(decay + place, mask=inside, other=1.0)
        b = tl.load(x + place, mask=inside, other=0.0)
        a, b = tl.associative_scan((a, b), 0, chain)
        h = a * state[None, :] + b
        tl.store(out + place, h, mask=inside)
        state = tl.sum(tl.where((t == STEPS - 1)[:, None], h, 0.0), axis=0)


@program(within(2e-6, 4e-6, because="about ten roundings of f32 for each step not yet forgotten; states up to 6"))
def linear_recurrence():
    steps, channels = 100, 40
    decay, x, out = uniform(steps, channels, low=0.5, high=0.99), normal(steps, channels), empty((steps, channels))
    recurrence_kernel[(3,)](decay, x, out, steps, channels, STEPS=32, CHANNELS=16)
    want, state = [], np.zeros(channels)
    for a, b in zip(f64(decay), f64(x)):
        state = a * state + b
        want.append(state)
    return out, np.stack(want)


@triton.jit
def segment(value1, start1, value2, start2):
    return tl.where(start2 != 0, value2, value1 + value2), start1 | start2


@triton.jit
def segmented_kernel(x, starts, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    s = tl.load(starts + i, mask=i < n, other=1)
    total, _ = tl.associative_scan((v, s), 0, segment)
    tl.store(out + i, total, mask=i < n)


@program(exact("whole numbers"))
def segmented_sum():
    n = 900
    x, starts, out = integers(0, 100, n), integers(0, 10, n), empty(n, np.int32)
    starts[...] = np.asarray(starts) == 0
    starts[0] = 1
    segmented_kernel[(1,)](x, starts, out, n, BLOCK=1024)
    want, total = [], 0
    for value, start in zip(np.asarray(x), np.asarray(starts)):
        total = value if start else total + value
        want.append(total)
    return out, np.array(want, dtype=np.int32)


@triton.jit
def look_back_kernel(x, out, totals, flags, n, BLOCK: tl.constexpr):
    """Chained single-pass scan: each block waits for the running total of the preceding one and publishes its own."""
    block = tl.program_id(0)
    i = block * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    sums = tl.cumsum(v, axis=0)
    before = tl.sum(tl.zeros((1,), tl.int32))
    if block > 0:
        while tl.atomic_add(flags + block - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(totals + block - 1, volatile=True)
    tl.store(totals + block, before + tl.sum(v, axis=0))
    tl.debug_barrier()
    tl.atomic_xchg(flags + block, 1, sem="release")
    tl.store(out + i, sums + before, mask=i < n)


@program(exact("whole numbers"))
def look_back_scan():
    n, block = 3000, 256
    blocks = triton.cdiv(n, block)
    x, out = integers(-500, 500, n), empty(n, np.int32)
    totals, flags = zeros(blocks, np.int32), zeros(blocks, np.int32)
    look_back_kernel[(blocks,)](x, out, totals, flags, n, BLOCK=block)
    return out, np.asarray(x).cumsum(dtype=np.int32)


@triton.jit
def compact_kernel(x, out, count, n, BLOCK: tl.constexpr):
    """Compacts the positive numbers: in order within a block; blocks in the order in which they reserve space."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=-1)
    keep = v > 0
    rank = tl.cumsum(keep.to(tl.int32), axis=0)
    start = tl.atomic_add(count, tl.sum(keep.to(tl.int32), axis=0))
    tl.store(out + start + rank - 1, v, mask=keep)


@program(exact("whole numbers, sorted after"))
def compact():
    n = 2000
    x, out, count = integers(-100, 100, n), zeros(n, np.int32), zeros(1, np.int32)
    compact_kernel[(triton.cdiv(n, 256),)](x, out, count, n, BLOCK=256)
    kept = np.sort(np.asarray(x)[np.asarray(x) > 0])
    assert count[0] == len(kept), f"kept {count[0]}, want {len(kept)}"
    return np.sort(np.asarray(out)[: len(kept)]), kept


# ---- sorting


@triton.jit
def sort_rows_kernel(x, out, columns, DESCENDING: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r, c = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    place = r[:, None] * columns + c[None, :]
    last: tl.constexpr = -float("inf") if DESCENDING else float("inf")
    v = tl.load(x + place, mask=(c < columns)[None, :], other=last)
    tl.store(out + place, tl.sort(v, dim=1, descending=DESCENDING), mask=(c < columns)[None, :])


@program(exact("selections"))
def sort_rows():
    rows, columns = 8, 100
    x, up, down = normal(rows, columns), empty((rows, columns)), empty((rows, columns))
    sort_rows_kernel[(2,)](x, up, columns, DESCENDING=False, ROWS=4, COLUMNS=128)
    sort_rows_kernel[(2,)](x, down, columns, DESCENDING=True, ROWS=4, COLUMNS=128)
    ordered = np.sort(np.asarray(x), axis=1)
    return [(up, ordered), (down, ordered[:, ::-1])]


@triton.jit
def argsort_kernel(keys, order, n, BLOCK: tl.constexpr):
    """Key and index in one 64-bit number, so that the sort is stable."""
    i = tl.arange(0, BLOCK)
    k = tl.load(keys + i, mask=i < n, other=2147483647)
    packed = (k.to(tl.int64) << 32) | i
    tl.store(order + i, (tl.sort(packed) & 0xFFFFFFFF).to(tl.int32), mask=i < n)


@program(exact("whole numbers"))
def argsort_stable():
    n = 400
    keys, order = integers(-20, 20, n), empty(n, np.int32)
    argsort_kernel[(1,)](keys, order, n, BLOCK=512, num_warps=4)
    return order, np.argsort(np.asarray(keys), kind="stable").astype(np.int32)


@triton.jit
def top_kernel(x, values, places, columns, K: tl.constexpr, BLOCK: tl.constexpr):
    """The K largest of a row with their indices. Sorts numbers with the bits of f32, mapped to ordered integers, above the index."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + c, mask=c < columns, other=-float("inf"))
    bits = v.to(tl.int32, bitcast=True)
    ordered = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    packed = (ordered.to(tl.int64) << 32) | (BLOCK - 1 - c).to(tl.int64)
    best = tl.topk(packed, K)
    high = (best >> 32).to(tl.int32)
    k = tl.arange(0, K)
    tl.store(values + row * K + k, tl.where(high < 0, high ^ 0x7FFFFFFF, high).to(tl.float32, bitcast=True))
    tl.store(places + row * K + k, BLOCK - 1 - (best & 0xFFFFFFFF).to(tl.int32))


@program(exact("selections; among equals the first is taken"))
def top_k():
    rows, columns, k = 6, 200, 8
    x = normal(rows, columns)
    x[:, 50] = x[:, 100] = 3.5
    values, places = empty((rows, k)), empty((rows, k), np.int32)
    top_kernel[(rows,)](x, values, places, columns, K=k, BLOCK=256)
    order = np.argsort(-np.asarray(x), axis=1, kind="stable")[:, :k]
    return [(values, np.take_along_axis(np.asarray(x), order, 1)), (places, order.astype(np.int32))]


@triton.jit
def merge_kernel(x, y, out, HALF: tl.constexpr):
    """Merges two sorted halves: the second one reversed makes a bitonic sequence."""
    i = tl.arange(0, HALF)
    a, b = tl.load(x + i), tl.flip(tl.load(y + i))
    both = tl.reshape(tl.permute(tl.join(a, b), (1, 0)), (2 * HALF,))
    tl.store(out + tl.arange(0, 2 * HALF), tl.bitonic_merge(both))


@program(exact("selections"))
def merge_sorted():
    half = 128
    x, y, out = normal(half), normal(half), empty(2 * half)
    x.sort(), y.sort()
    merge_kernel[(1,)](x, y, out, HALF=half)
    return out, np.sort(np.concatenate([x, y]))


# ---- histograms and permutations


@triton.jit
def histogram_kernel(x, counts, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    found = tl.histogram(v, BINS, mask=i < n)
    tl.atomic_add(counts + tl.arange(0, BINS), found)


@program(exact("whole numbers"))
def histogram():
    n, bins = 5000, 64
    x, counts = integers(0, bins, n), zeros(bins, np.int32)
    histogram_kernel[(triton.cdiv(n, 1024),)](x, counts, n, BINS=bins, BLOCK=1024)
    return counts, np.bincount(np.asarray(x), minlength=bins).astype(np.int32)


@triton.jit
def histogram_atomics_kernel(x, counts, n, low, width, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.minimum(tl.maximum(tl.floor((v - low) / width).to(tl.int32), 0), BINS - 1)
    tl.atomic_add(counts + b, 1, mask=i < n, sem="relaxed")


@program(exact("whole numbers; the bins' width is a power of two, so no number is on the wrong side"))
def histogram_by_atomics():
    n, bins = 3000, 32
    x, counts = normal(n), zeros(bins, np.int32)
    histogram_atomics_kernel[(triton.cdiv(n, 512),)](x, counts, n, -4.0, 0.25, BINS=bins, BLOCK=512)
    places = np.clip(np.floor((np.asarray(x) + np.float32(4)) / np.float32(0.25)), 0, bins - 1)
    return counts, np.bincount(places.astype(np.int64), minlength=bins).astype(np.int32)


@triton.jit
def gather_in_tile_kernel(x, index, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AXIS: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    place = (tl.program_id(0) * ROWS + r)[:, None] * COLUMNS + c[None, :]
    tl.store(out + place, tl.gather(tl.load(x + place), tl.load(index + place), AXIS))


@program(exact("copies"))
def gather_in_tile():
    rows, columns = 32, 64
    x, out, out_rows = normal(rows, columns), empty((rows, columns)), empty((rows, columns))
    across, down = integers(0, columns, rows, columns), integers(0, rows, rows, columns)
    gather_in_tile_kernel[(1,)](x, across, out, ROWS=rows, COLUMNS=columns, AXIS=1)
    gather_in_tile_kernel[(1,)](x, down, out_rows, ROWS=rows, COLUMNS=columns, AXIS=0)
    v = np.asarray(x)
    return [(out, np.take_along_axis(v, across, 1)), (out_rows, np.take_along_axis(v, down, 0))]


@triton.jit
def scatter_rows_kernel(x, target, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + c, mask=c < columns)
    tl.store(out + tl.load(target + row) * columns + c, v, mask=c < columns)


@program(exact("copies"))
def scatter_rows():
    rows, columns = 50, 90
    x, target, out = normal(rows, columns, dtype=np.float16), permutation(rows), empty((rows, columns), np.float16)
    scatter_rows_kernel[(rows,)](x, target, out, columns, BLOCK=128, num_warps=2)
    want = np.empty((rows, columns), np.float16)
    want[np.asarray(target)] = x
    return out, want
