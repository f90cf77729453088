"""Block-scaled products and their exact values, for tests on one target; also a script that checks all of them there."""

import dataclasses
import itertools
import os
import pathlib
import re
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np


@dataclasses.dataclass(frozen=True)
class Pair:
    """The element types of both sides, with the type and the block of their scales."""

    lhs: type
    rhs: type
    scale: type
    block: int

    def __str__(self):
        return f"{np.dtype(self.lhs).name}-{np.dtype(self.rhs).name}-{np.dtype(self.scale).name}"


E4M3, E5M2, E2M1, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu
PAIRS = [
    Pair(E4M3, E4M3, E8M0, 32),
    Pair(E4M3, E5M2, E8M0, 32),
    Pair(E5M2, E4M3, E8M0, 32),
    Pair(E2M1, E2M1, E8M0, 32),
    Pair(E4M3, E2M1, E8M0, 32),
    Pair(E2M1, E2M1, E4M3, 16),
]
# Batch, rows of lhs, rows of rhs, and how many times 32 the depth has.
SHAPES = [
    (1, 1, 1, 1), (1, 1, 37, 3), (1, 29, 1, 5), (1, 3, 5, 1), (2, 17, 33, 2), (1, 64, 64, 4),
    (3, 7, 130, 3), (1, 129, 65, 7), (1, 100, 31, 9), (5, 2, 2, 2), (1, 255, 19, 11), (2, 48, 80, 32),
]


def operands(pair, shape, seed=0):
    """lhs, rhs and their scales. Scales of e8m0 differ by up to 2^24 within a row."""
    batch, rows, columns, depth = shape
    random = np.random.default_rng(seed)

    def side(lines, element):
        values = random.normal(size=(batch, lines, 32 * depth), scale=2).astype(element)
        blocks = (batch, lines, 32 * depth // pair.block)
        scales = 2.0 ** random.integers(-12, 13, blocks) if pair.scale is E8M0 else random.uniform(0.02, 200, blocks)
        return values, scales.astype(pair.scale)

    (lhs, lhs_scales), (rhs, rhs_scales) = side(rows, pair.lhs), side(columns, pair.rhs)
    return lhs, rhs, lhs_scales, rhs_scales


def exact(lhs, rhs, lhs_scales, rhs_scales):
    """The product, and the sum of the magnitudes of its terms. A term has 16 bits, so f64 is exact to 2^-53 of that sum."""
    def whole(values, scales):
        return values.astype(np.float64) * np.repeat(scales.astype(np.float64), values.shape[-1] // scales.shape[-1], -1)

    x, y = whole(lhs, lhs_scales), whole(rhs, rhs_scales)
    return np.einsum("bmk,bnk->bmn", x, y), np.einsum("bmk,bnk->bmn", np.abs(x), np.abs(y))


def multiply(*arrays, result=jnp.float32):
    return np.asarray(jax.nn.scaled_matmul(*map(jnp.asarray, arrays), preferred_element_type=result))


def check(pair, shape):
    """Sums in f32 have an error of at most 2^-24 of the magnitudes for each of their additions, in any order."""
    arrays = operands(pair, shape)
    product, magnitude = exact(*arrays)
    result = multiply(*arrays)
    bound = (arrays[0].shape[-1] + 1) * 2.0**-24 * magnitude
    error = np.abs(result.astype(np.float64) - product)
    assert (error <= bound).all(), f"{pair} {shape}: off by {np.max(error / bound):.2f} of the bound"
    # Twice the scales of one side, exactly twice the result.
    lhs, rhs, lhs_scales, rhs_scales = arrays
    twice = (lhs_scales.astype(np.float32) * 2).astype(pair.scale)
    assert (twice.astype(np.float32) == lhs_scales.astype(np.float32) * 2).all()
    np.testing.assert_array_equal(multiply(lhs, rhs, twice, rhs_scales), 2 * result)


def check_nan_scales(pair):
    """A scale of NaN makes its row NaN, and only that one."""
    lhs, rhs, lhs_scales, rhs_scales = operands(pair, (1, 19, 40, 3))
    lhs_scales = lhs_scales.copy()
    lhs_scales[0, 7, 1] = np.nan
    is_nan = np.isnan(multiply(lhs, rhs, lhs_scales, rhs_scales))
    assert is_nan[0, 7].all() and is_nan.sum() == is_nan.shape[-1]


def check_poisoned_neighbours(pair):
    """Operands that are parts of larger arrays, whose other elements and scales are NaN (the largest number if the type has none)."""
    batch, depth = 2, 3
    parts = operands(pair, (batch, 37, 21, depth), seed=3)
    poison = lambda dtype: np.float32(6 if dtype == E2M1 else np.nan).astype(dtype)

    def larger(part):
        whole = np.full([size + 5 if i < 2 else size + 32 for i, size in enumerate(part.shape)], poison(part.dtype), part.dtype)
        whole[:batch, : part.shape[1], : part.shape[2]] = part
        return whole

    cut = jax.jit(lambda *wholes: jax.nn.scaled_matmul(*(whole[:batch, : part.shape[1], : part.shape[2]] for whole, part in zip(wholes, parts))))
    product, magnitude = exact(*parts)
    error = np.abs(np.asarray(cut(*map(larger, parts)), np.float64) - product)
    assert (error <= (32 * depth + 1) * 2.0**-24 * magnitude).all(), f"{pair}: NaN or off by {np.max(error)}"


def check_programs():
    """Products inside of programs: as an epilogue's operand, in a loop, of one array with itself, of constants, contracting the first dimension."""
    lhs, rhs, lhs_scales, rhs_scales = operands(PAIRS[5], (1, 130, 64, 2), seed=1)
    x, y, sx, sy = lhs[0], rhs[0], lhs_scales[0], rhs_scales[0]
    of = lambda values, scales: np.asarray(values, np.float64) * np.repeat(np.asarray(scales, np.float64), 16, -1)
    single = lambda *arrays: jax.nn.scaled_matmul(*(array[None] for array in arrays))[0]
    near = lambda result, left, right, more=0: np.testing.assert_array_less(
        np.abs(np.asarray(result, np.float64) - (left @ right.T + more)), 66 * 2.0**-24 * (np.abs(left) @ np.abs(right).T + np.abs(more)) + 1e-30
    )
    bias = np.linspace(-3, 3, 64, dtype=np.float32)
    near(jax.jit(lambda *a: single(*a[:4]) + a[4])(x, y, sx, sy, bias), of(x, sx), of(y, sy), bias)
    relu = jax.jit(lambda *a: jnp.maximum(single(*a[:4]) * a[4], 0).astype(jnp.bfloat16))(x, y, sx, sy, np.float32(0.5))
    np.testing.assert_allclose(np.asarray(relu, np.float64), np.maximum(of(x, sx) @ of(y, sy).T / 2, 0), rtol=2.0**-7, atol=1)
    near(jax.jit(lambda x, sx: single(x, x, sx, sx))(x, sx), of(x, sx), of(x, sx))
    ones = np.ones_like(y)
    near(jax.jit(lambda x, sx, sy: single(x, jnp.asarray(ones), sx, sy))(x, sx, sy), of(x, sx), of(ones, sy))
    near(jax.jit(lambda x, y, sx: single(x, y, sx, jnp.ones(sy.shape, E4M3)))(x, y, sx), of(x, sx), of(y, np.ones_like(sy)))
    looped = jax.jit(lambda *a: jax.lax.fori_loop(0, 3, lambda i, sums: sums + single(*a), jnp.zeros((130, 64), jnp.float32)))
    once = np.asarray(jax.jit(single)(x, y, sx, sy))
    np.testing.assert_array_equal(looped(x, y, sx, sy), (once + once) + once)
    lhs, rhs, lhs_scales, rhs_scales = operands(PAIRS[1], (1, 33, 20, 3), seed=2)
    first = jax.lax.scaled_dot(
        jnp.asarray(lhs[0]), jnp.asarray(rhs[0].T), lhs_scale=jnp.asarray(lhs_scales[0]), rhs_scale=jnp.asarray(rhs_scales[0].T), preferred_element_type=jnp.float32
    )
    wide = lambda values, scales: values.astype(np.float64) * np.repeat(scales.astype(np.float64), 32, -1)
    left, right = wide(lhs[0], lhs_scales[0]), wide(rhs[0], rhs_scales[0])
    assert (np.abs(np.asarray(first, np.float64) - left @ right.T) <= 98 * 2.0**-24 * (np.abs(left) @ np.abs(right).T)).all()


def check_random(first, count):
    """Products of random pairs and sizes, mostly odd ones: every tile of rows and columns, one line of elements and many."""
    for seed in range(first, first + count):
        random = np.random.default_rng(seed)
        size = lambda: int(random.choice([random.integers(1, 33), random.integers(1, 300), 16 * random.integers(1, 17)]))
        shape = (int(random.choice([1, 1, 2, 3])), size(), size(), int(random.integers(1, 25)))
        pair = PAIRS[random.integers(len(PAIRS))]
        print(seed, pair, shape, flush=True)
        check(pair, shape)


def is_native(dump):
    """Whether the kernel that was compiled last gives the scales to the matrix unit. `dump` is the compiler's dump directory."""
    (lowered,) = pathlib.Path(dump).glob("*-lower.mlir")
    return re.search(r"sm\.mma \w+ .* scales |tile\.dot .* scaled\(", lowered.read_text()) is not None


def is_scaled_on_the_way(dump):
    """Whether the kernel that was compiled last applies the scales of both operands while it multiplies them by wgmma, and is the only one."""
    (lowered,) = pathlib.Path(dump).glob("*-lower.mlir")
    text = lowered.read_text()
    return text.count("sm.kernel") == 1 and 'sm.role "compute"' in text and "sm.mma wgmma" in text


def main(part, parts):
    cases = list(itertools.product(PAIRS, SHAPES))[part::parts]
    dump, native, on_the_way = os.environ.get("TILEWRIGHT_COMPILE_DUMP_DIR"), 0, 0
    for pair, shape in cases:
        check(pair, shape)
        native += bool(dump) and is_native(dump)
        on_the_way += bool(dump) and is_scaled_on_the_way(dump)
    for pair in PAIRS[part::parts]:
        check_nan_scales(pair)
        check_poisoned_neighbours(pair)
    print(len(cases), "products are right on", jax.devices()[0])
    if dump:
        print(native, "of them by a matrix unit that reads scales")
        print(on_the_way, "of them by one kernel that scales both operands on the way to it")


if __name__ == "__main__":
    from tilewright import jax_plugin

    jax_plugin.initialize()
    if sys.argv[1] == "programs":
        check_programs()
        print("programs are right on", jax.devices()[0])
    elif sys.argv[1] == "random":
        check_random(0, int(sys.argv[2]))
        print(sys.argv[2], "random products are right on", jax.devices()[0])
    else:
        main(int(sys.argv[1]), int(sys.argv[2]))
