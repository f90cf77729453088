"""Data-dependent control flow: loops without a known end, early returns, calls, sparse rows."""

import numpy as np
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from .harness import HOPPER, array, empty, exact, f64, full, integers, normal, program, uniform, within


@triton.jit
def collatz_kernel(x, steps, n, BLOCK: tl.constexpr):
    """Iterates until the slowest number of the tile has reached 1."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=1)
    count = tl.zeros((BLOCK,), tl.int32)
    while tl.max(v, axis=0) > 1:
        count += (v > 1).to(tl.int32)
        v = tl.where(v <= 1, v, tl.where(v % 2 == 0, v // 2, 3 * v + 1))
    tl.store(steps + i, count, mask=i < n)


@program(exact("whole numbers"))
def while_loop_collatz():
    n = 300
    x, steps = array(np.arange(1, n + 1), np.int64), empty(n, np.int32)
    collatz_kernel[(triton.cdiv(n, 64),)](x, steps, n, BLOCK=64)

    def length(value):
        count = 0
        while value > 1:
            value, count = (value // 2 if value % 2 == 0 else 3 * value + 1), count + 1
        return count

    return steps, np.array([length(k) for k in range(1, n + 1)], np.int32)


@triton.jit
def mandelbrot_kernel(out, width, height, limit, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    a = -2.0 + 2.5 * c.to(tl.float32) / width
    b = -1.25 + 2.5 * row.to(tl.float32) / height
    x = tl.zeros((COLUMNS,), tl.float32)
    y = tl.zeros((COLUMNS,), tl.float32)
    count = tl.zeros((COLUMNS,), tl.int32)
    step = 0
    inside = x * x + y * y < 4.0
    while (step < limit) & (tl.max(inside.to(tl.int32), axis=0) > 0):
        x, y = tl.where(inside, x * x - y * y + a, x), tl.where(inside, 2 * x * y + b, y)
        count += inside.to(tl.int32)
        inside = x * x + y * y < 4.0
        step += 1
    tl.store(out + row * width + c, count, mask=c < width)


@program(exact("counts; compiled without fused operations, so every rounding is NumPy's"))
def mandelbrot():
    width, height, limit = 64, 32, 40
    out = empty((height, width), np.int32)
    mandelbrot_kernel[(height, 2)](out, width, height, limit, COLUMNS=32, num_warps=1, enable_fp_fusion=False)
    f = np.float32
    a = np.broadcast_to(f(-2) + f(2.5) * np.arange(width, dtype=f) / f(width), (height, width))
    b = np.broadcast_to((f(-1.25) + f(2.5) * np.arange(height, dtype=f) / f(height))[:, None], (height, width))
    x, y, count = np.zeros_like(a), np.zeros_like(a), np.zeros(a.shape, np.int32)
    for _ in range(limit):
        inside = x * x + y * y < 4
        count += inside
        x, y = np.where(inside, x * x - y * y + a, x), np.where(inside, 2 * x * y + b, y)
    return out, count


@triton.jit
def early_return_kernel(x, valid, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    if tl.load(valid + row) == 0:
        return
    total = tl.sum(tl.load(x + row * columns + c, mask=c < columns, other=0), axis=0)
    if total < 0:
        tl.store(out + row, -1)
        return
    tl.store(out + row, total)


@program(exact("whole numbers; rows that return early keep what was there"))
def early_return():
    rows, columns = 60, 100
    x, valid, out = integers(-10, 11, rows, columns), integers(0, 2, rows), full(rows, 12345, np.int32)
    early_return_kernel[(rows,)](x, valid, out, columns, BLOCK=128)
    total = np.asarray(x).sum(1)
    return out, np.where(np.asarray(valid) == 0, 12345, np.where(total < 0, -1, total)).astype(np.int32)


@triton.jit(noinline=True)
def polynomial(x, a, b, c):
    return (a * x + b) * x + c


@triton.jit
def calls_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = 0.0
    for k in range(3):
        total += polynomial(k + 1.0, 2.0, 3.0, 4.0)
    tl.store(out + i, tl.load(x + i, mask=i < n) * total, mask=i < n)


@program(within(1.2e-7, because="one product of f32; the factor is a whole number"))
def function_calls():
    n = 200
    x, out = normal(n), empty(n)
    calls_kernel[(2,)](x, out, n, BLOCK=128)
    return out, f64(x) * sum(2.0 * k * k + 3 * k + 4 for k in (1, 2, 3))


@triton.jit
def sparse_rows_kernel(starts, columns, values, x, out, BLOCK: tl.constexpr):
    """y = A x with A in compressed rows, some empty, some long."""
    row = tl.program_id(0)
    end = tl.load(starts + row + 1)
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for at in range(tl.load(starts + row), end, BLOCK):
        inside = at + i < end
        column = tl.load(columns + at + i, mask=inside, other=0)
        total += tl.load(values + at + i, mask=inside, other=0.0) * tl.load(x + column, mask=inside, other=0.0)
    tl.store(out + row, tl.sum(total, axis=0))


@program(within(2e-6, 1e-5, because="sums of up to 150 products of f32"))
def sparse_matrix_vector():
    rows, width = 40, 200
    lengths = np.asarray(integers(0, 20, rows)).copy()
    lengths[3], lengths[11], lengths[12] = 150, 0, 97
    starts = array(np.concatenate([[0], lengths.cumsum()]), np.int32)
    total = int(lengths.sum())
    columns, values, x, out = integers(0, width, total), normal(total), normal(width), empty(rows)
    sparse_rows_kernel[(rows,)](starts, columns, values, x, out, BLOCK=32, num_warps=1)
    products = f64(values) * f64(x)[np.asarray(columns)]
    return out, np.array([products[a:b].sum() for a, b in zip(starts[:-1], starts[1:])])


@triton.jit
def bisect_kernel(sorted_values, x, places, n, count, BLOCK: tl.constexpr):
    """The first index whose value is not less: each lane does its own binary search."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    low = tl.zeros((BLOCK,), tl.int32)
    high = tl.zeros((BLOCK,), tl.int32) + count
    while tl.max(high - low, axis=0) > 0:
        middle = (low + high) // 2
        less = tl.load(sorted_values + middle, mask=low < high, other=float("inf")) < v
        open_ = low < high
        low = tl.where(open_ & less, middle + 1, low)
        high = tl.where(open_ & (less == 0), middle, high)
    tl.store(places + i, low, mask=i < n)


@program(exact("whole numbers"))
def binary_search():
    n, count = 500, 123
    values, x, places = normal(count), normal(n), empty(n, np.int32)
    values.sort()
    bisect_kernel[(triton.cdiv(n, 128),)](values, x, places, n, count, BLOCK=128)
    return places, np.searchsorted(np.asarray(values), np.asarray(x)).astype(np.int32)


@triton.jit
def newton_kernel(x, out, steps, n, BLOCK: tl.constexpr):
    """Cube roots by Newton's method until changes are small."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=1.0)
    guess = tl.zeros((BLOCK,), tl.float32) + 1.0
    change = tl.full((), 1.0, tl.float32)
    count = 0
    while (change > 1e-6) & (count < 60):
        better = (2.0 * guess + v / (guess * guess)) / 3.0
        change = tl.max(tl.abs(better - guess) / guess, axis=0)
        guess = better
        count += 1
    tl.store(out + i, guess, mask=i < n)
    tl.store(steps + tl.program_id(0), count)


@program(within(1e-6, because="stops at a change of 1e-6; the rule then is off by a few ulp of f32"))
def newton_until_converged():
    n = 200
    x, out, steps = uniform(n, low=0.1, high=50), empty(n), empty(2, np.int32)
    newton_kernel[(2,)](x, out, steps, n, BLOCK=128)
    assert (np.asarray(steps) < 60).all(), f"did not converge: {steps}"
    return out, np.cbrt(f64(x))


@triton.jit
def nested_kernel(x, out, rows, BLOCK: tl.constexpr):
    """A branch in a loop in a branch; blocks take different paths."""
    block = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.int32)
    if block % 3 == 0:
        for row in range(block, rows):
            v = tl.load(x + row * BLOCK + i)
            if row % 2 == 0:
                total += v
            elif row % 5 == 0:
                total -= v
    elif block % 3 == 1:
        row = block
        while row < rows:
            total ^= tl.load(x + row * BLOCK + i)
            row += 4
    else:
        total += block
    tl.store(out + block * BLOCK + i, total)


@program(exact("whole numbers"))
def nested_control_flow():
    rows, blocks, width = 20, 9, 64
    x, out = integers(0, 1000, rows, width), empty((blocks, width), np.int32)
    nested_kernel[(blocks,)](x, out, rows, BLOCK=width, num_warps=2)
    v, want = np.asarray(x), np.zeros((blocks, width), np.int32)
    for block in range(blocks):
        if block % 3 == 0:
            for row in range(block, rows):
                want[block] += v[row] if row % 2 == 0 else (-v[row] if row % 5 == 0 else 0)
        elif block % 3 == 1:
            want[block] = np.bitwise_xor.reduce(v[block::4], axis=0)
        else:
            want[block] = block
    return out, want


@triton.jit
def tuple_kernel(arrays, scales, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(len(arrays)):
        total += tl.load(arrays[k] + i, mask=i < n, other=0.0).to(tl.float32) * scales[k]
    tl.store(out + i, total, mask=i < n)


@program(within(4e-7, 1e-6, because="three products and sums of f32 on numbers up to 10"))
def tuple_arguments():
    n = 300
    arrays, out = (normal(n), normal(n, dtype=np.float16), integers(-5, 5, n)), empty(n)
    tuple_kernel[(3,)](arrays, (0.5, 2.0, -1.0), out, n, BLOCK=128)
    return out, sum(f64(a) * s for a, s in zip(arrays, (0.5, 2.0, -1.0)))


@triton.jit
def ways(x, limit):
    """Each element takes its own path, so the lanes of a warp diverge and reconverge."""
    if x < 0:
        return -x, 0
    count = 0
    while x < limit:
        if count % 2 == 0:
            x = x * 2 + 1
        else:
            x = x + 7
        count += 1
    return x, count


@triton.jit
def ways_kernel(x, out, steps, n, limit, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value, count = tl.map_elementwise(ways, tl.load(x + i, mask=i < n, other=0), limit)
    tl.store(out + i, value, mask=i < n)
    tl.store(steps + i, count, mask=i < n)


@program(exact("whole numbers"))
def branches_by_element():
    n, limit = 500, 3000
    x, out, steps = integers(-200, 2500, n), empty(n, np.int32), empty(n, np.int32)
    ways_kernel[(triton.cdiv(n, 128),)](x, out, steps, n, limit, BLOCK=128)
    want = []
    for value in np.asarray(x).tolist():
        count = 0
        if value < 0:
            want.append((-value, 0))
            continue
        while value < limit:
            value, count = (value * 2 + 1 if count % 2 == 0 else value + 7), count + 1
        want.append((value, count))
    return [(out, np.array([v for v, _ in want], np.int32)), (steps, np.array([c for _, c in want], np.int32))]


@triton.jit
def link_kernel(x, out, n, BLOCK: tl.constexpr):
    """Starts while the previous launch still runs, does the work that does not depend on it, then waits for it."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bias = (i % 17).to(tl.float32)
    gdc_wait()
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2.0 + bias, mask=i < n)
    gdc_launch_dependents()


@program(within(5e-7, because="four products and sums of f32"), needs=HOPPER)
def programmatic_launches():
    n = 1000
    a, b = normal(n), empty(n)
    want = f64(a)
    for _ in range(2):
        link_kernel[(4,)](a, b, n, BLOCK=256, launch_pdl=True)
        link_kernel[(4,)](b, a, n, BLOCK=256, launch_pdl=True)
        want = 2 * (2 * want + np.arange(n) % 17) + np.arange(n) % 17
    return a, want
