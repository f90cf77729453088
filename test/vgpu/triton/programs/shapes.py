"""Data movement: transposes, permutations, joins and splits, convolutions and pooling over windows."""

import numpy as np
import triton
import triton.language as tl

from .harness import array, bfloat16, empty, exact, f64, integers, normal, program, within


@triton.jit
def transpose_kernel(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (r < rows)[:, None] & (c < columns)[None, :]
    v = tl.load(x + r[:, None] * columns + c[None, :], mask=inside)
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(v), mask=tl.trans(inside))


def transpose(dtype):
    rows, columns = 90, 130
    x, out = array(integers(0, 100, rows, columns), dtype), empty((columns, rows), dtype)
    grid = (triton.cdiv(rows, 32), triton.cdiv(columns, 64))
    transpose_kernel[grid](x, out, rows, columns, ROWS=32, COLUMNS=64)
    return out, np.asarray(x).T


@program(exact("copies"))
def transpose_f32():
    return transpose(np.float32)


@program(exact("copies"))
def transpose_i8():
    return transpose(np.int8)


@triton.jit
def permute_kernel(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr):
    """[a, b, c, d] to [c, a, d, b]"""
    v = tl.reshape(tl.load(x + tl.arange(0, A * B * C * D)), (A, B, C, D))
    tl.store(out + tl.arange(0, A * B * C * D), tl.reshape(tl.permute(v, (2, 0, 3, 1)), (A * B * C * D,)))


@program(exact("copies"))
def permute_4d():
    a, b, c, d = 4, 8, 2, 16
    x, out = normal(a, b, c, d, dtype=bfloat16), empty((c, a, d, b), bfloat16)
    permute_kernel[(1,)](x, out, A=a, B=b, C=c, D=d)
    return out, np.asarray(x).transpose(2, 0, 3, 1)


@triton.jit
def braid_kernel(x, y, joined, braided, split_sum, appended, turned, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(y + i)
    both = tl.join(a, b)
    tl.store(joined + 2 * i[:, None] + tl.arange(0, 2)[None, :], both)
    tl.store(braided + tl.arange(0, 2 * BLOCK), tl.interleave(b, a))
    left, right = tl.split(tl.reshape(a, (BLOCK // 2, 2)))
    tl.store(split_sum + tl.arange(0, BLOCK // 2), left - right)
    tl.store(appended + tl.arange(0, 2 * BLOCK), tl.cat(a, b))
    tl.store(turned + i, tl.flip(a))


@program(exact("copies, and one difference of f32"))
def join_split_interleave():
    n = 256
    x, y = normal(n), normal(n)
    joined, braided, split_sum, appended, turned = empty((n, 2)), empty(2 * n), empty(n // 2), empty(2 * n), empty(n)
    braid_kernel[(1,)](x, y, joined, braided, split_sum, appended, turned, n, BLOCK=n)
    a, b = np.asarray(x), np.asarray(y)
    return [
        (joined, np.stack([a, b], 1)), (braided, np.stack([b, a], 1).ravel()), (split_sum, a[::2] - a[1::2]),
        (appended, np.concatenate([a, b])), (turned, a[::-1]),
    ]  # fmt: skip


@triton.jit
def outer_kernel(x, y, out, m, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    a = tl.load(x + r, mask=r < m)
    b = tl.load(y + c, mask=c < n)
    distance = tl.abs(tl.expand_dims(a, 1) - tl.broadcast_to(b[None, :], (ROWS, COLUMNS)))
    tl.store(out + r[:, None] * n + c[None, :], distance, mask=(r < m)[:, None] & (c < n)[None, :])


@program(exact("one difference of f32"))
def pairwise_distances():
    m, n = 50, 70
    x, y, out = normal(m), normal(n), empty((m, n))
    outer_kernel[(2, 3)](x, y, out, m, n, ROWS=32, COLUMNS=32)
    return out, np.abs(np.asarray(x)[:, None] - np.asarray(y)[None, :])


# ---- windows


@triton.jit
def causal_conv_kernel(x, weight, bias, out, length, channels, TAPS: tl.constexpr, STEPS: tl.constexpr,
                       CHANNELS: tl.constexpr):
    """A causal filter for each channel, then SiLU: the short convolution of state space models."""
    t = tl.program_id(0) * STEPS + tl.arange(0, STEPS)
    c = tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)
    total = tl.zeros((STEPS, CHANNELS), tl.float32) + tl.load(bias + c, mask=c < channels)[None, :]
    for tap in tl.static_range(TAPS):
        at = t - (TAPS - 1) + tap
        inside = ((at >= 0) & (at < length))[:, None] & (c < channels)[None, :]
        v = tl.load(x + at[:, None] * channels + c[None, :], mask=inside, other=0.0)
        total += v * tl.load(weight + c * TAPS + tap, mask=c < channels)[None, :]
    inside = (t < length)[:, None] & (c < channels)[None, :]
    tl.store(out + t[:, None] * channels + c[None, :], total * tl.sigmoid(total), mask=inside)


@program(within(4e-6, 2e-6, because="four products and sums of f32 up to 8, and a sigmoid of 2 ulp"))
def conv1d_causal():
    length, channels, taps = 75, 40, 4
    x, weight, bias, out = normal(length, channels), normal(channels, taps), normal(channels), empty((length, channels))
    causal_conv_kernel[(3, 2)](x, weight, bias, out, length, channels, TAPS=taps, STEPS=32, CHANNELS=32)
    padded = np.pad(f64(x), ((taps - 1, 0), (0, 0)))
    total = sum(padded[k : k + length] * f64(weight)[:, k] for k in range(taps)) + f64(bias)
    return out, total / (1 + np.exp(-total))


@triton.jit
def conv2d_kernel(x, weight, out, channels, height, width, filters, stride, pad, out_height, out_width,
                  TAPS: tl.constexpr, PIXELS: tl.constexpr, FILTERS: tl.constexpr, CHANNELS: tl.constexpr):
    """Direct convolution as matrix products: for every tap, pixels by channels times channels by filters."""
    image = tl.program_id(0)
    p = tl.program_id(1) * PIXELS + tl.arange(0, PIXELS)
    f = tl.program_id(2) * FILTERS + tl.arange(0, FILTERS)
    oy, ox = p // out_width, p % out_width
    total = tl.zeros((PIXELS, FILTERS), tl.float32)
    for tap in range(TAPS * TAPS):
        y = oy * stride - pad + tap // TAPS
        z = ox * stride - pad + tap % TAPS
        on_image = (y >= 0) & (y < height) & (z >= 0) & (z < width) & (oy < out_height)
        for start in range(0, channels, CHANNELS):
            c = start + tl.arange(0, CHANNELS)
            v = tl.load(x + ((image * channels + c[None, :]) * height + y[:, None]) * width + z[:, None],
                        mask=on_image[:, None] & (c < channels)[None, :], other=0.0)
            w = tl.load(weight + (f[None, :] * channels + c[:, None]) * TAPS * TAPS + tap,
                        mask=(f < filters)[None, :] & (c < channels)[:, None], other=0.0)
            total = tl.dot(v, w, total)
    inside = (p < out_height * out_width)[:, None] & (f < filters)[None, :]
    place = (image * filters + f[None, :]) * out_height * out_width + p[:, None]
    tl.store(out + place, total.to(tl.float16), mask=inside)


@program(within(6e-4, 2e-4, because="products of f16 summed in f32, one rounding to f16; sums up to 30 may cancel"))
def conv2d_direct():
    images, channels, height, width, filters, stride, pad, taps = 2, 20, 13, 11, 24, 2, 1, 3
    x = normal(images, channels, height, width, dtype=np.float16)
    weight = normal(filters, channels, taps, taps, dtype=np.float16)
    out_height, out_width = (height + 2 * pad - taps) // stride + 1, (width + 2 * pad - taps) // stride + 1
    out = empty((images, filters, out_height, out_width), np.float16)
    grid = (images, triton.cdiv(out_height * out_width, 32), triton.cdiv(filters, 16))
    conv2d_kernel[grid](
        x, weight, out, channels, height, width, filters, stride, pad, out_height, out_width,
        TAPS=taps, PIXELS=32, FILTERS=16, CHANNELS=16,
    )  # fmt: skip
    padded = np.pad(f64(x), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (taps, taps), axis=(2, 3))[:, :, ::stride, ::stride]
    return out, np.einsum("nchwyx,fcyx->nfhw", windows, f64(weight))


@triton.jit
def pool_kernel(x, out, places, height, width, out_height, out_width, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    p = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    y, z = p // out_width, p % out_width
    inside = p < out_height * out_width
    best = tl.full((BLOCK,), -float("inf"), tl.float32)
    where = tl.zeros((BLOCK,), tl.int32)
    for tap in tl.static_range(WINDOW * WINDOW):
        at = (y * WINDOW + tap // WINDOW) * width + z * WINDOW + tap % WINDOW
        v = tl.load(x + plane * height * width + at, mask=inside, other=-float("inf"))
        where = tl.where(v > best, at, where)
        best = tl.maximum(best, v)
    tl.store(out + plane * out_height * out_width + p, best, mask=inside)
    tl.store(places + plane * out_height * out_width + p, where, mask=inside)


@program(exact("selections"))
def max_pool():
    planes, height, width, window = 4, 15, 21, 3
    x, out = normal(planes, height, width), empty((planes, height // window, width // window))
    places = empty(out.shape, np.int32)
    pool_kernel[(planes, 2)](x, out, places, height, width, *out.shape[1:], WINDOW=window, BLOCK=32, num_warps=1)
    want = np.asarray(x).reshape(planes, out.shape[1], window, out.shape[2], window).max((2, 4))
    picked = np.take_along_axis(np.asarray(x).reshape(planes, -1), np.asarray(places).reshape(planes, -1), 1)
    return [(out, want), (picked.reshape(want.shape), want)]


@triton.jit
def stencil_kernel(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The five-point Laplacian, periodic."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    inside = (r < rows) & (c < columns)
    up, down = (r + rows - 1) % rows, (r + 1) % rows
    left, right = (c + columns - 1) % columns, (c + 1) % columns
    total = -4.0 * tl.load(x + r * columns + c, mask=inside)
    total += tl.load(x + up * columns + c, mask=inside)
    total += tl.load(x + down * columns + c, mask=inside)
    total += tl.load(x + r * columns + left, mask=inside)
    total += tl.load(x + r * columns + right, mask=inside)
    tl.store(out + r * columns + c, total, mask=inside)


@program(within(5e-7, 3e-6, because="five roundings of f32 on numbers up to 16"))
def stencil_2d():
    rows, columns = 33, 47
    x, out = normal(rows, columns), empty((rows, columns))
    stencil_kernel[(3, 2)](x, out, rows, columns, ROWS=16, COLUMNS=32)
    v = f64(x)
    return out, sum(np.roll(v, s, a) for s in (1, -1) for a in (0, 1)) - 4 * v
