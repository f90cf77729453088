"""Elementwise kernels: arithmetic, functions, conversions, random numbers, lookups."""

import numpy as np
import scipy.special
import triton
import triton.language as tl
from triton.language.extra import libdevice

from .harness import (
    ADA, array, bfloat16, empty, exact, f64, float8_e4m3, float8_e5m2, integers, normal, program, uniform, within
)  # fmt: skip


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@program(exact("one addition of f32, rounded as NumPy rounds it"))
def vector_add():
    n = 5000
    x, y, out = normal(n), normal(n), empty(n)
    add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    return out, x + y


@triton.jit
def add_strided_kernel(x, y, out, rows, columns, x_row, x_column, y_row, BLOCK: tl.constexpr):
    """A grid-stride loop over the rows; x may be transposed."""
    c = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        a = tl.load(x + row * x_row + c * x_column, mask=c < columns)
        b = tl.load(y + row * y_row + c, mask=c < columns)
        tl.store(out + row * columns + c, a - b, mask=c < columns)


@program(exact("one subtraction of bf16, computed in f32 and rounded once"))
def strided_subtract_bf16():
    rows, columns = 37, 100
    x, y = normal(columns, rows, dtype=bfloat16), normal(rows, 128, dtype=bfloat16)
    out = empty((rows, columns), bfloat16)
    add_strided_kernel[(5,)](x, y, out, rows, columns, 1, rows, 128, BLOCK=128)
    return out, (f64(x.T) - f64(y[:, :columns])).astype(bfloat16)


@triton.jit
def activations_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    gelu = 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))
    tl.store(out + i, gelu, mask=i < n)
    tl.store(out + n + i, v * tl.sigmoid(v), mask=i < n)
    tl.store(out + 2 * n + i, libdevice.tanh(v), mask=i < n)
    softplus = tl.where(v > 15.0, v, tl.log(1.0 + tl.exp(v)))
    tl.store(out + 3 * n + i, softplus, mask=i < n)
    tl.store(out + 4 * n + i, tl.maximum(v, 0.01 * v), mask=i < n)
    tl.store(out + 5 * n + i, tl.clamp(v, -1.0, 1.0), mask=i < n)


@program(within(4e-6, 4e-7, because="a few approximate operations of 2 ulp of f32; 1 + exp(v) loses small exp(v)"))
def activations():
    n = 3000
    x, out = normal(n, scale=4), empty((6, n))
    activations_kernel[(triton.cdiv(n, 512),)](x, out, n, BLOCK=512)
    v = f64(x)
    gelu, silu = 0.5 * v * scipy.special.erfc(-v / np.sqrt(2)), v * scipy.special.expit(v)
    return out, np.stack([gelu, silu, np.tanh(v), np.logaddexp(v, 0), np.maximum(v, 0.01 * v), np.clip(v, -1, 1)])


@triton.jit
def functions_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    a = tl.load(x + i, mask=inside, other=1.0)
    b = tl.load(y + i, mask=inside, other=1.0)
    tl.store(out + 0 * n + i, libdevice.sin(a), mask=inside)
    tl.store(out + 1 * n + i, libdevice.cos(a), mask=inside)
    tl.store(out + 2 * n + i, libdevice.exp(a), mask=inside)
    tl.store(out + 3 * n + i, libdevice.log(b), mask=inside)
    tl.store(out + 4 * n + i, libdevice.pow(b, a), mask=inside)
    tl.store(out + 5 * n + i, libdevice.atan2(a, b), mask=inside)
    tl.store(out + 6 * n + i, libdevice.log1p(b), mask=inside)
    tl.store(out + 7 * n + i, libdevice.expm1(a), mask=inside)
    tl.store(out + 8 * n + i, libdevice.cbrt(a), mask=inside)
    tl.store(out + 9 * n + i, libdevice.rsqrt(b), mask=inside)
    tl.store(out + 10 * n + i, libdevice.erf(a), mask=inside)
    tl.store(out + 11 * n + i, libdevice.lgamma(b), mask=inside)
    tl.store(out + 12 * n + i, libdevice.fmod(a, b), mask=inside)
    tl.store(out + 13 * n + i, libdevice.hypot(a, b), mask=inside)
    tl.store(out + 14 * n + i, tl.floor(a), mask=inside)
    tl.store(out + 15 * n + i, libdevice.rint(a), mask=inside)


def functions_reference(x, y):
    a, b = f64(x), f64(y)
    return np.stack([
        np.sin(a), np.cos(a), np.exp(a), np.log(b), b**a, np.arctan2(a, b), np.log1p(b), np.expm1(a), np.cbrt(a),
        b**-0.5, scipy.special.erf(a), scipy.special.gammaln(b), np.fmod(a, b), np.hypot(a, b), np.floor(a), np.rint(a),
    ])  # fmt: skip


@program(within(1e-6, 5e-7, because="libdevice promises up to 6 ulp for lgamma and 8 for pow; sin and log cross zero"))
def library_functions_f32():
    n = 1000
    x, y, out = uniform(n, low=-6, high=6), uniform(n, low=0.01, high=9), empty((16, n))
    functions_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    return out, functions_reference(x, y)


@program(within(2e-15, 4e-15, because="the same bounds in ulp of f64; lgamma crosses zero at 1 and 2"))
def library_functions_f64():
    n = 500
    x, y = uniform(n, low=-6, high=6, dtype=np.float64), uniform(n, low=0.01, high=9, dtype=np.float64)
    out = empty((16, n), np.float64)
    functions_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    return out, functions_reference(x, y)


@triton.jit
def whole_numbers_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    a = tl.load(x + i, mask=inside, other=1)
    b = tl.load(y + i, mask=inside, other=1)
    tl.store(out + 0 * n + i, a // b, mask=inside)
    tl.store(out + 1 * n + i, a % b, mask=inside)
    tl.store(out + 2 * n + i, a * b, mask=inside)
    tl.store(out + 3 * n + i, (a ^ b) & (a | 7), mask=inside)
    tl.store(out + 4 * n + i, a << (b & 15), mask=inside)
    tl.store(out + 5 * n + i, a >> (b & 15), mask=inside)
    tl.store(out + 6 * n + i, tl.abs(a), mask=inside)
    tl.store(out + 7 * n + i, tl.minimum(a, b) + tl.maximum(a, -b), mask=inside)
    tl.store(out + 8 * n + i, tl.where(a < b, ~a, -a), mask=inside)


def whole_numbers(dtype, limit):
    n = 1500
    x = integers(-limit, limit, n, dtype=dtype)
    y = integers(1, limit, n, dtype=dtype)
    y[::2] = -y[::2]
    out = empty((9, n), dtype)
    whole_numbers_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    a, b = np.asarray(x), np.asarray(y)
    # Triton divides as C does, towards zero.
    quotient = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
    remainder = a - quotient * b
    want = [quotient, remainder, a * b, (a ^ b) & (a | 7), a << (b & 15), a >> (b & 15), np.abs(a)]
    want += [np.minimum(a, b) + np.maximum(a, -b), np.where(a < b, ~a, -a)]
    return out, np.stack(want).astype(dtype)


@program(exact("whole numbers, modulo 2^32"))
def whole_numbers_i32():
    return whole_numbers(np.int32, 2**30)


@program(exact("whole numbers, modulo 2^64"))
def whole_numbers_i64():
    return whole_numbers(np.int64, 2**62)


@program(exact("whole numbers, modulo 2^16"))
def whole_numbers_i16():
    return whole_numbers(np.int16, 2**14)


@triton.jit
def bit_tricks_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    a = tl.load(x + i, mask=inside)
    b = tl.load(y + i, mask=inside)
    tl.store(out + 0 * n + i, tl.umulhi(a, b), mask=inside)
    tl.store(out + 1 * n + i, libdevice.popc(a.to(tl.int32, bitcast=True)).to(tl.uint32), mask=inside)
    tl.store(out + 2 * n + i, libdevice.clz(a.to(tl.int32, bitcast=True)).to(tl.uint32), mask=inside)
    tl.store(out + 3 * n + i, libdevice.brev(a.to(tl.int32, bitcast=True)).to(tl.uint32, bitcast=True), mask=inside)
    rotated = tl.inline_asm_elementwise("shf.l.wrap.b32 $0, $1, $1, 7;", "=r,r", [a], tl.uint32, is_pure=True, pack=1)
    tl.store(out + 4 * n + i, rotated, mask=inside)
    swapped = tl.inline_asm_elementwise("prmt.b32 $0, $1, $1, 0x0123;", "=r,r", [a], tl.uint32, is_pure=True, pack=1)
    tl.store(out + 5 * n + i, swapped, mask=inside)
    tl.store(out + 6 * n + i, a // b, mask=inside)
    tl.store(out + 7 * n + i, a >> (b & 31), mask=inside)


@program(exact("bits"))
def bit_tricks():
    n = 700
    x, y = integers(0, 2**32, n, dtype=np.uint32), integers(1, 2**32, n, dtype=np.uint32)
    out = empty((8, n), np.uint32)
    bit_tricks_kernel[(triton.cdiv(n, 128),)](x, y, out, n, BLOCK=128)
    a, b = np.asarray(x), np.asarray(y)
    bits = [f"{value:032b}" for value in a]
    want = [
        (a.astype(np.uint64) * b >> np.uint64(32)),
        [text.count("1") for text in bits],
        [32 - len(text.lstrip("0")) for text in bits],
        [int(text[::-1], 2) for text in bits],
        (a << 7) | (a >> 25),
        a.byteswap(),
        a // b,
        a >> (b & 31),
    ]
    return out, np.stack([np.asarray(row).astype(np.uint32) for row in want])


# ---- random numbers: Philox 4x32 with ten rounds (Salmon et al., SC11), counted by element


def philox(seed, counter):
    """The four 32-bit numbers for each counter."""
    low = np.uint64(0xFFFFFFFF)
    state = [np.asarray(counter, dtype=np.uint64)] + [np.zeros(len(counter), dtype=np.uint64) for _ in range(3)]
    keys = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    for _ in range(10):
        first, second = np.uint64(0xD2511F53) * state[0], np.uint64(0xCD9E8D57) * state[2]
        state = [
            (second >> np.uint64(32)) ^ state[1] ^ keys[0], second & low,
            (first >> np.uint64(32)) ^ state[3] ^ keys[1], first & low,
        ]  # fmt: skip
        keys = [(keys[0] + np.uint64(0x9E3779B9)) & low, (keys[1] + np.uint64(0xBB67AE85)) & low]
    return [part.astype(np.uint32) for part in state]


def uniform_of(bits):
    """Triton's conversion to uniform floats: folds the sign away, then multiplies by a little less than 2^-31."""
    folded = bits.view(np.int32)
    folded = np.where(folded < 0, -folded - 1, folded)
    return folded.astype(np.float32) * np.float32(4.6566127342e-10)


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    keep = tl.rand(seed, i) > p
    tl.store(out + i, tl.where(keep, v / (1 - p), 0.0), mask=i < n)


@program(within(2.5e-7, because="a division by 2 ulp of f32; which elements are kept is exact"))
def dropout():
    n, p, seed = 4000, 0.3, 123456789
    x, out = normal(n), empty(n)
    dropout_kernel[(triton.cdiv(n, 1024),)](x, out, n, p, seed, BLOCK=1024)
    keep = uniform_of(philox(seed, np.arange(n))[0]) > np.float32(p)
    assert 0.65 < keep.mean() < 0.75, "the reference does not drop 30 %"
    return out, np.where(keep, f64(x) / (1 - np.float32(p)), 0)


@triton.jit
def random_kernel(bits, numbers, n, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(bits + i, a, mask=i < n)
    tl.store(bits + n + i, b, mask=i < n)
    tl.store(bits + 2 * n + i, c, mask=i < n)
    tl.store(bits + 3 * n + i, d, mask=i < n)
    tl.store(numbers + i, tl.rand(seed, i), mask=i < n)
    tl.store(numbers + n + i, tl.randn(seed, i), mask=i < n)


@program(within(1e-5, 1e-6, because="Box-Muller by approximate log, cos and sqrt of f32; the bits are exact"))
def random_numbers():
    n, seed = 1000, 0x1234_5678_9ABC
    bits, numbers = empty((4, n), np.uint32), empty((2, n))
    random_kernel[(triton.cdiv(n, 256),)](bits, numbers, n, seed, BLOCK=256)
    parts = philox(seed, np.arange(n))
    first, second = f64(uniform_of(parts[0])), f64(uniform_of(parts[1]))
    gauss = np.sqrt(-2 * np.log(np.maximum(first, 1e-7))) * np.cos(6.283185307179586 * second)
    return [(bits, np.stack(parts)), (numbers, np.stack([first, gauss]))]


# ---- conversions


@triton.jit
def round_trip_kernel(x, out, n, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n).to(TYPE).to(tl.float32), mask=i < n)


def round_trip(dtype, name, scale):
    n = 4000
    x, out = normal(n, scale=scale), empty(n)
    x[:8] = [0.0, -0.0, 1e-9, -1e-9, 0.0019, 240.0, -239.0, 17.5]
    round_trip_kernel[(triton.cdiv(n, 1024),)](x, out, n, name, BLOCK=1024)
    return out, f64(np.asarray(x).astype(dtype))


@program(exact("one rounding to nearest even"))
def round_trip_e5m2():
    return round_trip(float8_e5m2, tl.float8e5, 50)


@program(exact("one rounding to nearest even, in range"), needs=ADA)
def round_trip_e4m3():
    return round_trip(float8_e4m3, tl.float8e4nv, 50)


@program(exact("one rounding to nearest even"))
def round_trip_bf16():
    return round_trip(bfloat16, tl.bfloat16, 50)


@program(exact("one rounding to nearest even"))
def round_trip_f16():
    return round_trip(np.float16, tl.float16, 50)


@triton.jit
def convert_kernel(x, half, brain, signed, wide, double, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(half + i, v.to(tl.float16), mask=i < n)
    tl.store(brain + i, v.to(tl.bfloat16), mask=i < n)
    tl.store(signed + i, v.to(tl.int32), mask=i < n)
    tl.store(wide + i, v.to(tl.int64), mask=i < n)
    tl.store(double + i, v.to(tl.int16).to(tl.float64), mask=i < n)


@program(exact("one rounding to nearest even, or towards zero for whole numbers"))
def conversions():
    n = 900
    x = normal(n, scale=1000)
    half, brain, signed = empty(n, np.float16), empty(n, bfloat16), empty(n, np.int32)
    wide, double = empty(n, np.int64), empty(n, np.float64)
    convert_kernel[(triton.cdiv(n, 256),)](x, half, brain, signed, wide, double, n, BLOCK=256)
    v = np.asarray(x)
    return [
        (half, v.astype(np.float16)), (brain, v.astype(bfloat16)), (signed, v.astype(np.int32)),
        (wide, v.astype(np.int64)), (double, np.trunc(v).astype(np.float64)),
    ]  # fmt: skip


@triton.jit
def e4m3_pointers_kernel(x, scale, out, n, BLOCK: tl.constexpr):
    """fp8 in memory on both sides: dequantises, scales by the block's factor, quantises."""
    block = tl.program_id(0)
    i = block * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32) * tl.load(scale + block)
    tl.store(out + i, v.to(out.dtype.element_ty), mask=i < n)


def requantize(dtype):
    n, block = 2000, 256
    x, scale, out = normal(n, dtype=dtype), uniform(8, low=0.5, high=2), empty(n, dtype)
    e4m3_pointers_kernel[(triton.cdiv(n, block),)](x, scale, out, n, BLOCK=block)
    want = (np.asarray(x).astype(np.float32) * np.repeat(np.asarray(scale), block)[:n]).astype(dtype)
    return f64(out), f64(want)


@program(exact("a product of f32, then one rounding to nearest even"), needs=ADA)
def requantize_e4m3():
    return requantize(float8_e4m3)


@program(exact("a product of f32, then one rounding to nearest even"))
def requantize_e5m2():
    return requantize(float8_e5m2)


# ---- not-a-number


@triton.jit
def nan_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    b = tl.load(y + i, mask=i < n)
    tl.store(out + i, tl.maximum(a, b), mask=i < n)
    tl.store(out + n + i, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL), mask=i < n)
    tl.store(out + 2 * n + i, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL), mask=i < n)
    tl.store(out + 3 * n + i, tl.where(a != a, 0.0, a), mask=i < n)
    tl.store(out + 4 * n + i, a / b, mask=i < n)


@program(exact("selections; the quotients are of powers of two"))
def not_a_number():
    special = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -2.0, 0.25], dtype=np.float32)
    x, y = (array(grid.ravel()) for grid in np.meshgrid(special, special))
    n = x.size
    out = empty((5, n))
    nan_kernel[(1,)](x, y, out, n, BLOCK=64)
    a, b = np.asarray(x), np.asarray(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = a / b
    want = [np.fmax(a, b), np.maximum(a, b), np.minimum(a, b), np.where(np.isnan(a), 0, a), quotient]
    return out, np.stack(want)


# ---- lookups


@triton.jit
def rope_kernel(x, cosines, sines, out, heads, HALF: tl.constexpr):
    """Rotates pairs (i, i + HALF) of each head by the angle of its position."""
    position, head = tl.program_id(0), tl.program_id(1)
    i = tl.arange(0, HALF)
    base = (position * heads + head) * 2 * HALF
    c, s = tl.load(cosines + position * HALF + i), tl.load(sines + position * HALF + i)
    a = tl.load(x + base + i).to(tl.float32)
    b = tl.load(x + base + HALF + i).to(tl.float32)
    tl.store(out + base + i, (a * c - b * s).to(tl.float16))
    tl.store(out + base + HALF + i, (b * c + a * s).to(tl.float16))


@program(within(5e-4, 1e-6, because="one rounding to f16, 2^-11 of the value; sums of products of f32 before"))
def rope():
    positions, heads, half = 9, 4, 32
    x = normal(positions, heads, 2 * half, dtype=np.float16)
    angles = np.arange(positions)[:, None] * 10000.0 ** (-np.arange(half) / half)
    cosines, sines = array(np.cos(angles), np.float32), array(np.sin(angles), np.float32)
    out = empty(x.shape, np.float16)
    rope_kernel[(positions, heads)](x, cosines, sines, out, heads, HALF=half)
    turned = (f64(x)[..., :half] + 1j * f64(x)[..., half:]) * np.exp(1j * angles)[:, None, :]
    return out, np.concatenate([turned.real, turned.imag], axis=-1)


@triton.jit
def embedding_kernel(tokens, table, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    token = tl.load(tokens + row)
    for start in range(0, width, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(table + token * width + c, mask=(c < width) & (token >= 0), other=0.0)
        tl.store(out + row * width + c, v, mask=c < width)


@program(exact("copies"))
def embedding():
    count, vocabulary, width = 50, 300, 200
    tokens = integers(0, vocabulary, count, dtype=np.int64)
    tokens[::7] = -1  # padding
    table, out = normal(vocabulary, width, dtype=np.float16), empty((count, width), np.float16)
    embedding_kernel[(count,)](tokens, table, out, width, BLOCK=128)
    return out, np.where(np.asarray(tokens)[:, None] >= 0, np.asarray(table)[np.asarray(tokens)], 0).astype(np.float16)


@triton.jit
def interpolate_kernel(x, ys, out, n, points, BLOCK: tl.constexpr):
    """Linear interpolation: a gather at data-dependent addresses."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    low = tl.minimum(tl.floor(v).to(tl.int32), points - 2)
    a = tl.load(ys + low, mask=i < n)
    b = tl.load(ys + low + 1, mask=i < n)
    tl.store(out + i, a + (b - a) * (v - low.to(tl.float32)), mask=i < n)


@program(within(4e-7, 1e-6, because="three operations of f32 on numbers up to 4"))
def interpolate():
    n, points = 1300, 65
    x, ys, out = uniform(n, high=points - 1), normal(points), empty(n)
    interpolate_kernel[(triton.cdiv(n, 256),)](x, ys, out, n, points, BLOCK=256)
    return out, np.interp(f64(x), np.arange(points), f64(ys))
