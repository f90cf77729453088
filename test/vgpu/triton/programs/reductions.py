"""Reductions of every kind: over axes, over tuples, of every type; softmax, losses and top-k are built on them."""

import numpy as np
import scipy.special
import triton
import triton.language as tl

from .harness import array, bfloat16, empty, exact, f64, integers, normal, program, uniform, within


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def reduce_rows_kernel(x, out, rows, columns, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """out[row] = a reduction of a row of any width, one tile at a time."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    neutral: tl.constexpr = 1.0 if KIND == "product" else (-float("inf") if KIND == "max" else (
        float("inf") if KIND == "min" else 0.0))
    kept = tl.full((BLOCK,), neutral, tl.float32)
    for start in range(0, columns, BLOCK):
        v = tl.load(x + row * columns + start + c, mask=start + c < columns, other=neutral).to(tl.float32)
        if KIND == "sum":
            kept += v
        elif KIND == "product":
            kept *= v
        elif KIND == "max":
            kept = tl.maximum(kept, v)
        else:
            kept = tl.minimum(kept, v)
    if KIND == "sum":
        total = tl.sum(kept, axis=0)
    elif KIND == "product":
        total = tl.reduce(kept, 0, multiply)
    elif KIND == "max":
        total = tl.max(kept, axis=0)
    else:
        total = tl.min(kept, axis=0)
    tl.store(out + row, total)


@program(within(3e-6, 1e-5, because="sums of 700 numbers of f32 in an order of the machine's; products of 700 near 1"))
def reduce_rows():
    rows, columns = 11, 700
    x = normal(rows, columns, dtype=bfloat16)
    near_one = uniform(rows, columns, low=0.97, high=1.03)
    pairs = []
    cases = [("sum", x, np.sum), ("max", x, np.max), ("min", x, np.min), ("product", near_one, np.prod)]
    for kind, data, reference in cases:
        out = empty(rows)
        reduce_rows_kernel[(rows,)](data, out, rows, columns, KIND=kind, BLOCK=256)
        pairs.append((out, reference(f64(data), axis=1)))
    return pairs


@triton.jit
def reduce_tile_kernel(x, columns_out, rows_out, all_out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Every integer reduction, over axis 0, axis 1 and both."""
    r, c = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    v = tl.load(x + r[:, None] * COLUMNS + c[None, :])
    tl.store(columns_out + c, tl.sum(v, axis=0))
    tl.store(columns_out + COLUMNS + c, tl.max(v, axis=0))
    tl.store(columns_out + 2 * COLUMNS + c, tl.argmin(v, axis=0))
    tl.store(columns_out + 3 * COLUMNS + c, tl.xor_sum(v, axis=0))
    tl.store(rows_out + r, tl.min(v, axis=1))
    tl.store(rows_out + ROWS + r, tl.argmax(v, axis=1))
    tl.store(rows_out + 2 * ROWS + r, tl.reduce_or((v == 7).to(tl.int1), axis=1).to(tl.int32))
    tl.store(rows_out + 3 * ROWS + r, tl.sum(v, axis=1, keep_dims=True).reshape(ROWS))
    tl.store(all_out, tl.sum(v))
    tl.store(all_out + 1, tl.max(v))
    tl.store(all_out + 2, tl.xor_sum(v))


@program(exact("whole numbers; among equals the first is taken"))
def reduce_tile_i32():
    rows, columns = 32, 64
    x = integers(-50, 50, rows, columns)
    columns_out, rows_out, all_out = empty((4, columns), np.int32), empty((4, rows), np.int32), empty(3, np.int32)
    reduce_tile_kernel[(1,)](x, columns_out, rows_out, all_out, ROWS=rows, COLUMNS=columns)
    v = np.asarray(x)
    by_column = np.stack([v.sum(0), v.max(0), v.argmin(0), np.bitwise_xor.reduce(v, 0)]).astype(np.int32)
    by_row = np.stack([v.min(1), v.argmax(1), (v == 7).any(1), v.sum(1)]).astype(np.int32)
    whole = np.array([v.sum(), v.max(), np.bitwise_xor.reduce(v, None)], dtype=np.int32)
    return [(columns_out, by_column), (rows_out, by_row), (all_out, whole)]


@triton.jit
def reduce_middle_kernel(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    base = tl.program_id(0) * A * B * C
    v = tl.load(x + base + (a[:, None, None] * B + b[None, :, None]) * C + c[None, None, :])
    tl.store(out + tl.program_id(0) * A * C + a[:, None] * C + c[None, :], tl.sum(v, axis=1))


@program(within(1e-6, 4e-6, because="sums of 16 numbers of f32 in an order of the machine's"))
def reduce_middle_axis():
    blocks, a, b, c = 3, 8, 16, 32
    x, out = normal(blocks, a, b, c), empty((blocks, a, c))
    reduce_middle_kernel[(blocks,)](x, out, A=a, B=b, C=c)
    return out, f64(x).sum(axis=2)


@triton.jit
def extremes_kernel(x, values, places, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + c, mask=c < columns, other=-float("inf"))
    top, place = tl.max(v, axis=0, return_indices=True)
    tl.store(values + 2 * row, top)
    tl.store(places + 2 * row, place)
    w = tl.where(c < columns, v, float("inf"))
    low, where = tl.min(w, axis=0, return_indices=True)
    tl.store(values + 2 * row + 1, low)
    tl.store(places + 2 * row + 1, where)


@program(exact("selections; among equals the first is taken"))
def extremes_with_places():
    rows, columns = 20, 300
    x = array(np.round(normal(rows, columns) * 3), np.float32)  # many equal values
    values, places = empty((rows, 2)), empty((rows, 2), np.int32)
    extremes_kernel[(rows,)](x, values, places, columns, BLOCK=512)
    v = np.asarray(x)
    return [
        (values, np.stack([v.max(1), v.min(1)], axis=1)),
        (places, np.stack([v.argmax(1), v.argmin(1)], axis=1).astype(np.int32)),
    ]


@triton.jit
def merge_moments(mean, square, weight, other_mean, other_square, other_weight):
    """Chan's algorithm for combining two sets of numbers; an empty set changes nothing."""
    total = weight + other_weight
    part = tl.where(total == 0.0, 0.0, other_weight / total)
    delta = other_mean - mean
    return mean + delta * part, square + other_square + delta * delta * weight * part, total


@triton.jit
def welford_kernel(x, means, variances, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mean = tl.zeros((BLOCK,), tl.float32)
    square = tl.zeros((BLOCK,), tl.float32)
    weight = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + c < columns
        v = tl.load(x + row * columns + start + c, mask=inside, other=0.0)
        mean, square, weight = merge_moments(mean, square, weight, v, tl.zeros_like(v), inside.to(tl.float32))
    mean, square, weight = tl.reduce((mean, square, weight), 0, merge_moments)
    tl.store(means + row, mean)
    tl.store(variances + row, square / weight)


@program(within(5e-6, because="ten levels of merging, each a few roundings of f32; the mean is 100 deviations"))
def welford():
    rows, columns = 9, 900
    x, means, variances = array(normal(rows, columns) + 100), empty(rows), empty(rows)
    welford_kernel[(rows,)](x, means, variances, columns, BLOCK=256)
    return [(means, f64(x).mean(1)), (variances, f64(x).var(1))]


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + c, mask=c < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + c, (e / tl.sum(e, axis=0)).to(out.dtype.element_ty), mask=c < columns)


@program(within(3e-6, 1e-9, because="exp is off by 2 ulp plus its argument's rounding, here up to 8 ulp"))
def softmax():
    rows, columns = 30, 781
    x, out = normal(rows, columns, scale=3), empty((rows, columns))
    softmax_kernel[(rows,)](x, out, columns, BLOCK=1024, num_warps=8)
    return out, scipy.special.softmax(f64(x), axis=1)


@program(within(5e-4, 1e-7, because="one rounding to f16 (2^-11), whose smallest steps are 6e-8"))
def softmax_f16():
    rows, columns = 13, 100
    x, out = normal(rows, columns, dtype=np.float16), empty((rows, columns), np.float16)
    softmax_kernel[(rows,)](x, out, columns, BLOCK=128)
    return out, scipy.special.softmax(f64(x), axis=1)


@triton.jit
def online_softmax_kernel(x, out, rows, columns, BLOCK: tl.constexpr):
    """Rows of any width in two passes, a persistent grid over the rows."""
    c = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        top = -float("inf")
        total = 0.0
        for start in range(0, columns, BLOCK):
            v = tl.load(x + row * columns + start + c, mask=start + c < columns, other=-float("inf"))
            new_top = tl.maximum(top, tl.max(v, axis=0))
            total = total * tl.exp(top - new_top) + tl.sum(tl.exp(v - new_top), axis=0)
            top = new_top
        for start in range(0, columns, BLOCK):
            v = tl.load(x + row * columns + start + c, mask=start + c < columns, other=-float("inf"))
            tl.store(out + row * columns + start + c, tl.exp(v - top) / total, mask=start + c < columns)


@program(within(4e-6, 1e-9, because="as softmax, plus one scaling for each of five tiles"))
def softmax_online():
    rows, columns = 10, 600
    x, out = normal(rows, columns, scale=3), empty((rows, columns))
    online_softmax_kernel[(4,)](x, out, rows, columns, BLOCK=128)
    return out, scipy.special.softmax(f64(x), axis=1)


@triton.jit
def cross_entropy_kernel(logits, labels, losses, gradients, columns, ignored, BLOCK: tl.constexpr):
    """The loss of a row and its gradient, in one pass over a row that fits a tile."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    label = tl.load(labels + row)
    if label == ignored:
        tl.store(losses + row, 0.0)
        tl.store(gradients + row * columns + c, tl.zeros((BLOCK,), tl.float32), mask=c < columns)
        return
    v = tl.load(logits + row * columns + c, mask=c < columns, other=-float("inf"))
    top = tl.max(v, axis=0)
    e = tl.exp(v - top)
    total = tl.sum(e, axis=0)
    tl.store(losses + row, tl.log(total) + top - tl.load(logits + row * columns + label))
    tl.store(gradients + row * columns + c, e / total - tl.where(c == label, 1.0, 0.0), mask=c < columns)


@program(within(3e-6, 1e-6, because="exp and log of 2 ulp; a loss is a difference of numbers up to 10"))
def cross_entropy():
    rows, columns = 40, 333
    logits, labels = normal(rows, columns, scale=2), integers(0, columns, rows)
    labels[5] = labels[17] = -100
    losses, gradients = empty(rows), empty((rows, columns))
    cross_entropy_kernel[(rows,)](logits, labels, losses, gradients, columns, -100, BLOCK=512)
    v, picked = f64(logits), np.asarray(labels)
    used = picked >= 0
    want = np.where(used, scipy.special.logsumexp(v, axis=1) - v[np.arange(rows), picked], 0)
    slope = (scipy.special.softmax(v, axis=1) - np.eye(columns)[picked]) * used[:, None]
    return [(losses, want), (gradients, slope)]


@triton.jit
def any_all_kernel(x, out, columns, BLOCK: tl.constexpr):
    """Reductions of bits and of bytes."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + c, mask=c < columns, other=1)
    tl.store(out + 3 * row, tl.max((v > 3).to(tl.int32), axis=0))
    tl.store(out + 3 * row + 1, tl.min((v != 0).to(tl.int32), axis=0))
    tl.store(out + 3 * row + 2, tl.sum(tl.where(c < columns, v, 0).to(tl.int32), axis=0))


@program(exact("whole numbers"))
def any_and_all():
    rows, columns = 25, 60
    x = integers(0, 5, rows, columns, dtype=np.uint8)
    x[::3] = 1
    out = empty((rows, 3), np.int32)
    any_all_kernel[(rows,)](x, out, columns, BLOCK=64, num_warps=1)
    v = np.asarray(x)
    return out, np.stack([(v > 3).any(1), (v != 0).all(1), v.sum(1, dtype=np.int32)], axis=1).astype(np.int32)


@triton.jit
def sum_f64_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(v * v, axis=0))


@program(within(1e-14, because="sums of 512 positive numbers of f64"))
def sum_of_squares_f64():
    n, block = 2000, 512
    x, out = normal(n, dtype=np.float64), empty(4, np.float64)
    sum_f64_kernel[(4,)](x, out, n, BLOCK=block)
    return out, (np.pad(f64(x), (0, 4 * block - n)) ** 2).reshape(4, block).sum(1)


@triton.jit
def logsumexp_pair(a_top, a_total, b_top, b_total):
    top = tl.maximum(a_top, b_top)
    return top, a_total * tl.exp(a_top - top) + b_total * tl.exp(b_top - top)


@triton.jit
def logsumexp_kernel(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r, c = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    v = tl.load(x + r[:, None] * COLUMNS + c[None, :])
    top, total = tl.reduce((v, tl.full((ROWS, COLUMNS), 1.0, tl.float32)), 1, logsumexp_pair)
    tl.store(out + r, top + tl.log(total))


@program(within(2e-6, 1e-6, because="eight levels of exp of 2 ulp each"))
def logsumexp_by_pairs():
    rows, columns = 32, 256
    x, out = normal(rows, columns, scale=5), empty(rows)
    logsumexp_kernel[(4,)](x, out, ROWS=8, COLUMNS=columns)
    return out, scipy.special.logsumexp(f64(x), axis=1)
