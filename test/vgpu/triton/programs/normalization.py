"""Layer norm, RMS norm, group norm and batch norm, forward and backward."""

import numpy as np
import triton
import triton.language as tl

from .harness import bfloat16, empty, f64, normal, program, uniform, within, zeros


@triton.jit
def layer_norm_kernel(x, weight, bias, out, means, scales, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * columns
    out += row * columns
    c = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        total += tl.load(x + start + c, mask=start + c < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    spread = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        v = tl.load(x + start + c, mask=start + c < columns, other=0.0).to(tl.float32)
        d = tl.where(start + c < columns, v - mean, 0.0)
        spread += d * d
    scale = 1.0 / tl.sqrt(tl.sum(spread, axis=0) / columns + epsilon)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    for start in range(0, columns, BLOCK):
        inside = start + c < columns
        v = tl.load(x + start + c, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + start + c, mask=inside)
        b = tl.load(bias + start + c, mask=inside)
        tl.store(out + start + c, ((v - mean) * scale * w + b).to(out.dtype.element_ty), mask=inside)


def layer_norm_reference(x, weight, bias, epsilon):
    v = f64(x)
    mean, scale = v.mean(1), 1 / np.sqrt(v.var(1) + epsilon)
    return (v - mean[:, None]) * scale[:, None] * f64(weight) + f64(bias), mean, scale


@program(within(3e-6, 2e-6, because="sums of 500 numbers of f32, a root and a quotient of 2 ulp; outputs up to 8"))
def layer_norm_forward():
    rows, columns, epsilon = 17, 500, 1e-5
    x, weight, bias = normal(rows, columns), uniform(columns), normal(columns)
    out, means, scales = empty((rows, columns)), empty(rows), empty(rows)
    layer_norm_kernel[(rows,)](x, weight, bias, out, means, scales, columns, epsilon, BLOCK=256)
    return list(zip((out, means, scales), layer_norm_reference(x, weight, bias, epsilon)))


@program(within(2**-8, 1e-4, because="one rounding to bf16 (2^-8 of the value), bias and product may cancel"))
def layer_norm_forward_bf16():
    rows, columns, epsilon = 6, 256, 1e-5
    x, weight, bias = normal(rows, columns, dtype=bfloat16), uniform(columns), normal(columns)
    out, means, scales = empty((rows, columns), bfloat16), empty(rows), empty(rows)
    layer_norm_kernel[(rows,)](x, weight, bias, out, means, scales, columns, epsilon, BLOCK=128, num_warps=2)
    return out, layer_norm_reference(x, weight, bias, epsilon)[0]


@triton.jit
def layer_norm_dx_kernel(dx, dy, x, weight, means, scales, dweight, dbias, locks, columns, GROUPS: tl.constexpr,
                         BLOCK: tl.constexpr):
    """dx of a row; the row's contribution to dweight and dbias is added, under a lock, to one of GROUPS partial sums."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    inside = c < columns
    v = tl.load(x + row * columns + c, mask=inside, other=0.0)
    g = tl.load(dy + row * columns + c, mask=inside, other=0.0)
    w = tl.load(weight + c, mask=inside, other=0.0)
    scale = tl.load(scales + row)
    unit = tl.where(inside, (v - tl.load(means + row)) * scale, 0.0)
    gw = g * w
    along = tl.sum(unit * gw, axis=0) / columns
    level = tl.sum(gw, axis=0) / columns
    tl.store(dx + row * columns + c, (gw - (unit * along + level)) * scale, mask=inside)

    group = row % GROUPS
    lock, filled = locks + group, locks + GROUPS + group
    dweight += group * columns + c
    dbias += group * columns + c
    partial_weight, partial_bias = g * unit, g
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(filled) == 0:
        tl.atomic_xchg(filled, 1)
    else:
        partial_weight += tl.load(dweight, mask=inside)
        partial_bias += tl.load(dbias, mask=inside)
    tl.store(dweight, partial_weight, mask=inside)
    tl.store(dbias, partial_bias, mask=inside)
    # Every thread's stores must be complete before any thread releases the lock.
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def column_sum_kernel(parts, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    c = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, rows, ROWS):
        r = start + tl.arange(0, ROWS)
        inside = (r[:, None] < rows) & (c[None, :] < columns)
        total += tl.load(parts + r[:, None] * columns + c[None, :], mask=inside, other=0.0)
    tl.store(out + c, tl.sum(total, axis=0), mask=c < columns)


@program(within(1e-5, 2e-5, because="sums of 300 (dx) and 40 (dweight, dbias) numbers of f32 that nearly cancel"))
def layer_norm_backward():
    rows, columns, epsilon, groups = 40, 300, 1e-5, 6
    x, weight, bias, dy = normal(rows, columns), uniform(columns), normal(columns), normal(rows, columns)
    out, means, scales = empty((rows, columns)), empty(rows), empty(rows)
    layer_norm_kernel[(rows,)](x, weight, bias, out, means, scales, columns, epsilon, BLOCK=256)
    dx, locks = empty((rows, columns)), zeros(2 * groups, np.int32)
    parts_weight, parts_bias = empty((groups, columns)), empty((groups, columns))
    layer_norm_dx_kernel[(rows,)](
        dx, dy, x, weight, means, scales, parts_weight, parts_bias, locks, columns, GROUPS=groups, BLOCK=512
    )
    dweight, dbias = empty(columns), empty(columns)
    grid = (triton.cdiv(columns, 128),)
    column_sum_kernel[grid](parts_weight, dweight, groups, columns, ROWS=4, COLUMNS=128)
    column_sum_kernel[grid](parts_bias, dbias, groups, columns, ROWS=4, COLUMNS=128)

    v, g = f64(x), f64(dy)
    scale = 1 / np.sqrt(v.var(1) + epsilon)[:, None]
    unit = (v - v.mean(1, keepdims=True)) * scale
    gw = g * f64(weight)
    want = scale * (gw - unit * (unit * gw).mean(1, keepdims=True) - gw.mean(1, keepdims=True))
    return [(dx, want), (dweight, (g * unit).sum(0)), (dbias, g.sum(0))]


@triton.jit
def rms_norm_kernel(x, residual, weight, out, columns, epsilon, BLOCK: tl.constexpr):
    """The residual is added first and the sum written back, as in inference."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    inside = c < columns
    v = tl.load(x + row * columns + c, mask=inside, other=0.0).to(tl.float32)
    v += tl.load(residual + row * columns + c, mask=inside, other=0.0).to(tl.float32)
    tl.store(residual + row * columns + c, v.to(tl.float16), mask=inside)
    scale = tl.rsqrt(tl.sum(v * v, axis=0) / columns + epsilon)
    w = tl.load(weight + c, mask=inside).to(tl.float32)
    tl.store(out + row * columns + c, (v * scale * w).to(tl.float16), mask=inside)


@program(within(5.5e-4, 1e-6, because="one rounding to f16, 2^-11 of the value"))
def rms_norm():
    rows, columns, epsilon = 14, 700, 1e-6
    x, residual = normal(rows, columns, dtype=np.float16), normal(rows, columns, dtype=np.float16)
    weight, out = normal(columns, dtype=np.float16), empty((rows, columns), np.float16)
    total = f64(x) + f64(residual)
    rms_norm_kernel[(rows,)](x, residual, weight, out, columns, epsilon, BLOCK=1024)
    want = total / np.sqrt((total**2).mean(1, keepdims=True) + epsilon) * f64(weight)
    return [(out, want), (residual, total)]


@triton.jit
def rms_norm_backward_kernel(x, dy, weight, dx, dweight, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    inside = c < columns
    v = tl.load(x + row * columns + c, mask=inside, other=0.0)
    g = tl.load(dy + row * columns + c, mask=inside, other=0.0)
    w = tl.load(weight + c, mask=inside, other=0.0)
    scale = tl.rsqrt(tl.sum(v * v, axis=0) / columns + epsilon)
    unit = v * scale
    gw = g * w
    tl.store(dx + row * columns + c, scale * (gw - unit * (tl.sum(gw * unit, axis=0) / columns)), mask=inside)
    tl.atomic_add(dweight + c, g * unit, mask=inside)


@program(within(1e-5, 2e-5, because="sums of 200 (dx) and 30 (dweight, in any order) numbers of f32 that cancel"))
def rms_norm_backward():
    rows, columns, epsilon = 30, 200, 1e-6
    x, dy, weight = normal(rows, columns), normal(rows, columns), normal(columns)
    dx, dweight = empty((rows, columns)), zeros(columns)
    rms_norm_backward_kernel[(rows,)](x, dy, weight, dx, dweight, columns, epsilon, BLOCK=256)
    v, g = f64(x), f64(dy)
    scale = 1 / np.sqrt((v**2).mean(1, keepdims=True) + epsilon)
    unit, gw = v * scale, g * f64(weight)
    return [(dx, scale * (gw - unit * (gw * unit).mean(1, keepdims=True))), (dweight, (g * unit).sum(0))]


@triton.jit
def group_norm_kernel(x, weight, bias, out, channels, pixels, groups, epsilon, CHANNELS: tl.constexpr,
                      PIXELS: tl.constexpr):
    """x is [image, channel, pixel]; a block computes one group of one image as a tile of channels by pixels."""
    image, group = tl.program_id(0), tl.program_id(1)
    per_group = channels // groups
    c = group * per_group + tl.arange(0, CHANNELS)
    p = tl.arange(0, PIXELS)
    inside = ((tl.arange(0, CHANNELS) < per_group)[:, None]) & (p < pixels)[None, :]
    place = (image * channels + c[:, None]) * pixels + p[None, :]
    v = tl.load(x + place, mask=inside, other=0.0)
    count = per_group * pixels
    mean = tl.sum(v) / count
    d = tl.where(inside, v - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(d * d) / count + epsilon)
    w = tl.load(weight + c, mask=c < channels)
    b = tl.load(bias + c, mask=c < channels)
    tl.store(out + place, d * scale * w[:, None] + b[:, None], mask=inside)


@program(within(3e-6, 3e-6, because="sums of 500 numbers of f32; outputs up to 8"))
def group_norm():
    images, channels, pixels, groups, epsilon = 3, 24, 81, 4, 1e-5
    x, weight, bias = normal(images, channels, pixels), normal(channels), normal(channels)
    out = empty(x.shape)
    group_norm_kernel[(images, groups)](
        x, weight, bias, out, channels, pixels, groups, epsilon, CHANNELS=8, PIXELS=128
    )
    v = f64(x).reshape(images, groups, -1)
    unit = (v - v.mean(2, keepdims=True)) / np.sqrt(v.var(2, keepdims=True) + epsilon)
    return out, unit.reshape(x.shape) * f64(weight)[:, None] + f64(bias)[:, None]


@triton.jit
def batch_norm_kernel(x, running, updated, out, images, channels, pixels, momentum, epsilon, BLOCK: tl.constexpr):
    """A block computes one channel of all images. running and updated are the means of all channels, then the variances."""
    channel = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    count = images * pixels
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, count, BLOCK):
        k = start + i
        v = tl.load(x + ((k // pixels) * channels + channel) * pixels + k % pixels, mask=k < count, other=0.0)
        total += v
        squares += v * v
    mean = tl.sum(total, axis=0) / count
    variance = tl.sum(squares, axis=0) / count - mean * mean
    scale = tl.rsqrt(variance + epsilon)
    for start in range(0, count, BLOCK):
        k = start + i
        place = ((k // pixels) * channels + channel) * pixels + k % pixels
        v = tl.load(x + place, mask=k < count)
        tl.store(out + place, (v - mean) * scale, mask=k < count)
    old_mean, old_variance = tl.load(running + channel), tl.load(running + channels + channel)
    tl.store(updated + channel, old_mean + momentum * (mean - old_mean))
    tl.store(updated + channels + channel, old_variance + momentum * (variance - old_variance))


@program(within(5e-6, 3e-6, because="the variance is a difference of two sums of 350 numbers of f32"))
def batch_norm():
    images, channels, pixels, momentum, epsilon = 5, 7, 70, 0.1, 1e-5
    x, running = normal(images, channels, pixels), uniform(2, channels)
    updated, out = empty((2, channels)), empty(x.shape)
    batch_norm_kernel[(channels,)](x, running, updated, out, images, channels, pixels, momentum, epsilon, BLOCK=128)
    v = f64(x)
    want = (v - v.mean((0, 2), keepdims=True)) / np.sqrt(v.var((0, 2), keepdims=True) + epsilon)
    statistics = np.stack([v.mean((0, 2)), v.var((0, 2))])
    return [(out, want), (updated, (1 - momentum) * f64(running) + momentum * statistics)]
