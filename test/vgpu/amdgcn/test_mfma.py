"""MFMA of gfx942, bit for bit, against the arithmetic that Microsoft's MMA-Sim found on hardware; of gfx950 against exact sums.

The reference is written for this test, with arrays of f64; the machine computes with integers.
"""

import ctypes
import ctypes.util
import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from test_execute import F32, assemble, launch

F64 = np.float64

# Factors: type, smallest exponent of a normal number.
FNUZ = {"fp8": (ml_dtypes.float8_e4m3fnuz, -7), "bf8": (ml_dtypes.float8_e5m2fnuz, -15)}
OCP = {"fp8": (ml_dtypes.float8_e4m3fn, -6), "bf8": (ml_dtypes.float8_e5m2, -14)}
WIDE = {
    "f16": (np.float16, -14), "bf16": (ml_dtypes.bfloat16, -126), "xf32": (F32, -126),
    "f32": (F32, -126), "f64": (F64, -1022), "i8": (np.int8, 0),
}  # fmt: skip


def factor_types(name, chip):
    formats = WIDE | (FNUZ if chip == "gfx942" else OCP)
    words = name.split("_")
    return formats[words[0]], formats[words[-1]]


# -- Values


def random_values(generator, kind, shape):
    """Numbers of all magnitudes, numbers near 1, zeros, and any bits, which are sometimes NaN or infinite."""
    if np.issubdtype(kind, np.integer):
        limits = np.iinfo(kind)
        return generator.integers(limits.min, limits.max + 1, shape).astype(kind)
    bits = generator.integers(0, 2**63, shape, dtype=np.uint64) * 2 + generator.integers(0, 2, shape, dtype=np.uint64)
    width = np.dtype(kind).itemsize
    anything = bits.view(f"u{width}").reshape(*shape, -1)[..., 0].view(kind)
    near = generator.standard_normal(shape).astype(kind)
    choice = generator.integers(0, 64, (*shape[:-1], 1))  # a whole row is of one kind
    with np.errstate(all="ignore"):
        finite = np.where(np.isfinite(anything.astype(F64)), anything, near)
    some = generator.integers(0, 64, shape)
    mixed = np.where(some == 0, np.zeros_like(near), np.where(some < 8, finite, near))
    wild = np.where(generator.integers(0, 256, shape) == 0, anything, finite)
    return np.where(choice < 24, near, np.where(choice < 48, mixed, np.where(choice < 60, finite, wild))).astype(kind)


# -- The published arithmetic


def parts(values, least):
    """Significands with magnitudes in [1, 2), less for subnormals, and exponents; those of 0 are -126."""
    significand, exponent = np.frexp(values)
    significand, exponent = 2 * significand, exponent.astype(np.int64) - 1
    below = np.minimum(exponent - least, 0)
    significand, exponent = np.ldexp(significand, below.astype(np.int32)), np.maximum(exponent, least)
    return significand, np.where(significand == 0, -126, exponent)


def aligned_sum(significands, exponents):
    largest = exponents.max(axis=-1)
    shift = (24 + exponents - largest[..., None]).astype(np.int32)
    return np.trunc(np.ldexp(significands, shift)).sum(axis=-1) * 2.0**-24, largest


def floor_at(value, bits, below):
    return np.floor(np.ldexp(value, (bits + below).astype(np.int32))) * 2.0**-bits


def cdna3_group(a, b, c, least_a, least_b, is_byte):
    """c + a · b for a group of products in the last dimension; c is f32."""
    with np.errstate(all="ignore"):
        products = a * b
        plain = products.sum(axis=-1) + c.astype(F64)
        high, low = (products >= 2.0**128).any(axis=-1), (products <= -(2.0**128)).any(axis=-1)
        finite = np.isfinite(a) & np.isfinite(b)
        (sa, ea), (sb, eb) = parts(np.where(finite, a, 0), least_a), parts(np.where(finite, b, 0), least_b)
        s, e = sa * sb, ea + eb
        sc, ec = parts(np.where(np.isfinite(c), c, 0).astype(F64), -126)
        if is_byte:
            (s0, e0), (s1, e1) = aligned_sum(s[..., 0::2], e[..., 0::2]), aligned_sum(s[..., 1::2], e[..., 1::2])
            group_e = np.maximum(e0, e1)
            group = floor_at(s0, 24, e0 - group_e) + floor_at(s1, 24, e1 - group_e)
        else:
            group, group_e = aligned_sum(s, e)
        top = np.maximum(group_e, ec)
        addend = floor_at(sc, 24, ec - top)
        if is_byte:
            addend = np.where(ec >= top - 25, addend, 0)
        result = np.ldexp(floor_at(group, 31, group_e - top) + addend, top.astype(np.int32))
        result = np.where(high, np.where(low, np.nan, np.inf), np.where(low, -np.inf, result))
        return np.where(np.isfinite(plain), result, plain).astype(F32)


def cdna3(name, a, b, c):
    (_, least_a), (_, least_b) = factor_types(name, "gfx942")
    left, right = a.astype(F64), b.astype(F64)
    if name == "xf32":
        left, right = ((x.view(np.uint32) & 0xFFFFE000).view(F32).astype(F64) for x in (a, b))
    is_byte = name.endswith("8")
    size = min(16 if is_byte else 4 if name == "xf32" else 8, a.shape[-1])
    for begin in range(0, a.shape[-1], size):
        part = slice(begin, begin + size)
        c = cdna3_group(left[..., part], right[..., part], c, least_a, least_b, is_byte)
    return c


LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
for fused, number in ((LIBM.fmaf, ctypes.c_float), (LIBM.fma, ctypes.c_double)):
    fused.argtypes, fused.restype = [number] * 3, number


def chain(name, a, b, c):
    fused = np.vectorize(LIBM.fmaf if name == "f32" else LIBM.fma, otypes=[c.dtype])
    with np.errstate(all="ignore"):
        for k in range(a.shape[-1]):
            c = fused(a[..., k], b[..., k], c)
    return c


# -- The machine


def kernel_text(instruction, factor_dwords, result_dwords):
    """Workgroup g multiplies the g-th matrices of the arguments A, B, C and D, whose registers are stored lane by lane."""

    def moves(what, first, dwords, pointer):
        step = min(dwords, 4)
        name = "global_load_dword" if what == "load" else "global_store_dword"
        for at in range(0, dwords, step):
            registers = f"v[{first + at}:{first + at + step - 1}]" if step > 1 else f"v{first + at}"
            operands = f"{registers}, v2, {pointer}" if what == "load" else f"v2, {registers}, {pointer}"
            yield f"{name}{f'x{step}' if step > 1 else ''} {operands} offset:{4 * at}"

    def registers(first, dwords):
        return f"v[{first}:{first + dwords - 1}]" if dwords > 1 else f"v{first}"

    lines = ["s_load_dwordx8 s[4:11], s[0:1], 0x0", "s_lshl_b32 s3, s2, 6", "v_add_u32 v1, s3, v0", "s_waitcnt lgkmcnt(0)"]
    inputs = (8, factor_dwords, "s[4:5]"), (16, factor_dwords, "s[6:7]"), (32, result_dwords, "s[8:9]")
    for first, dwords, pointer in inputs:
        lines += [f"v_mul_u32_u24 v2, {4 * dwords}, v1", *moves("load", first, dwords, pointer)]
    d = registers(32, result_dwords)
    a, b = registers(8, factor_dwords), registers(16, factor_dwords)
    lines += ["s_waitcnt vmcnt(0)", f"{instruction} {d}, {a}, {b}, {d}"]
    lines += ["s_nop 15", "s_nop 15", f"v_mul_u32_u24 v2, {4 * result_dwords}, v1"]
    lines += [*moves("store", 32, result_dwords, "s[10:11]"), "s_endpgm"]
    return "\n".join(lines)


def lanes_of_factor(matrix, size, depth):
    """[group, row, k] as [group, lane, element]."""
    per_lane = depth * size // 64
    groups = matrix.shape[0]
    return matrix.reshape(groups, size, 64 // size, per_lane).transpose(0, 2, 1, 3).reshape(groups, 64, per_lane)


def lanes_of_result(matrix, size):
    groups = matrix.shape[0]
    if matrix.dtype == F64:  # row = 4 · register + lane / 16
        return matrix.reshape(groups, 4, 4, 16).transpose(0, 2, 3, 1).reshape(groups, 64, 4)
    # row = 8 · (register / 4) + 4 · (lane / size) + register % 4, of size 16 without the first term
    blocks = size // (4 * (64 // size))
    return matrix.reshape(groups, blocks, 64 // size, 4, size).transpose(0, 2, 4, 1, 3).reshape(groups, 64, -1)


SHAPES = {
    "f16": ((32, 8), (16, 16)), "bf16": ((32, 8), (16, 16)), "xf32": ((32, 4), (16, 8)),
    "fp8_fp8": ((32, 16), (16, 32)), "fp8_bf8": ((32, 16), (16, 32)),
    "bf8_fp8": ((32, 16), (16, 32)), "bf8_bf8": ((32, 16), (16, 32)),
    "f32": ((32, 2), (16, 4)), "f64": ((16, 4),), "i8": ((32, 16), (16, 32)),
}  # fmt: skip


def multiply(folder, chip, name, size, depth, count, seed):
    """Random factors and C, and what the machine makes of them, as [group, row, column]."""
    generator = np.random.default_rng(seed)
    (a_type, _), (b_type, _) = factor_types(name, chip)
    groups = -(-count // size**2)
    c_type = {"f64": F64, "i8": np.int32}.get(name, F32)
    a, b = (random_values(generator, kind, (groups, size, depth)) for kind in (a_type, b_type))
    c = random_values(generator, c_type, (groups, size, size))
    if c_type == F32:  # a sum that cancels, in a part of the products
        with np.errstate(all="ignore"):
            exact = np.einsum("gik,gjk->gij", a.astype(F64), b.astype(F64)).astype(F32)
        c = np.where(generator.integers(0, 8, c.shape) == 0, -exact, c)
    stored = [lanes_of_factor(x, size, depth) for x in (a, b)] + [lanes_of_result(c, size)]
    stored = [np.ascontiguousarray(x).view(np.uint8).reshape(groups, 64, -1) for x in stored]
    kind = {"f64": "f64", "i8": "i32"}.get(name, "f32")
    text = kernel_text(f"v_mfma_{kind}_{size}x{size}x{depth}_{name}", stored[0].shape[2] // 4, stored[2].shape[2] // 4)
    path = assemble(folder, chip, text, registers=48, argument_bytes=32)
    *_, d = launch(folder, path, "k", [groups], [64], *stored, np.zeros_like(stored[2]))
    inverse = lanes_of_result(np.arange(size * size).astype(c_type).reshape(1, size, size), size).astype(int).ravel()
    result = np.empty((groups, size * size), c_type)
    result[:, inverse] = d.reshape(groups, -1).view(c_type)
    return a, b, c, result.reshape(groups, size, size)


def expect_bits(result, expected):
    both = np.isnan(result) & np.isnan(expected) if result.dtype.kind == "f" else False
    unsigned = f"u{result.itemsize}"
    different = (result.view(unsigned) != np.ascontiguousarray(expected).view(unsigned)) & ~both
    places = np.argwhere(different)
    examples = [(result[tuple(place)], expected[tuple(place)]) for place in places[:4]]
    assert not len(places), f"{len(places)} of {different.size}: {examples}"


CASES = [(name, size, depth) for name, shapes in SHAPES.items() for size, depth in shapes]


@pytest.mark.parametrize("name, size, depth", CASES, ids=str)
def test_products_of_gfx942_have_the_published_bits(name, size, depth, tmp_path, pytestconfig):
    count = 100_000 if pytestconfig.getoption("--all") else 2_000
    a, b, c, result = multiply(tmp_path, "gfx942", name, size, depth, count, seed=size + depth)
    left, right = a[:, :, None, :], b[:, None, :, :]
    if name == "i8":
        sums = np.einsum("gik,gjk->gij", a.astype(np.int64), b.astype(np.int64))
        return expect_bits(result, (sums + c).astype(np.int32))
    left, right = (np.ascontiguousarray(x) for x in np.broadcast_arrays(left, right))
    expected = chain(name, left, right, c) if name in ("f32", "f64") else cdna3(name, left, right, c)
    expect_bits(result, expected)


def rounded_once(exact):
    """The f32 nearest to a fraction: by way of an f64 that is odd if it is not exact."""
    value = float(exact)
    if Fraction(value) != exact and np.array(value).view(np.uint64) % 2 == 0:
        value = np.nextafter(value, np.inf if exact > Fraction(value) else -np.inf)
    return F32(value)


@pytest.mark.parametrize("name, size, depth", [("f16", 32, 16), ("bf16", 16, 32), ("fp8_bf8", 16, 32)], ids=str)
def test_products_of_gfx950_are_exact_sums_rounded_once(name, size, depth, tmp_path):
    a, b, c, result = multiply(tmp_path, "gfx950", name, size, depth, 1, seed=1)
    for i, j in itertools.product(range(size), range(0, size, 3)):
        row, column, start = a[0, i].astype(F64), b[0, j].astype(F64), F64(c[0, i, j])
        if np.isfinite(row).all() and np.isfinite(column).all() and np.isfinite(start):
            exact = sum((Fraction(x) * Fraction(y) for x, y in zip(row, column)), Fraction(start))
            if abs(exact) < 2**127:
                assert result[0, i, j] == rounded_once(exact), (i, j)
