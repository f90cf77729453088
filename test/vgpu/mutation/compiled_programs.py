"""JAX programs whose kernels, as our compiler makes them, have every kind of synchronisation that it emits; small, since each
kernel runs many hundred times."""

import ml_dtypes
import numpy as np
from jax import lax
from jax import numpy as jnp

BF16 = np.dtype(ml_dtypes.bfloat16)
NHWC = ("NHWC", "HWIO", "NHWC")
_random = np.random.default_rng(11)


def whole(shape, dtype=np.int32, high=9):
    """Small whole numbers: their sums are exact in every type."""
    return _random.integers(0 if np.dtype(dtype).kind == "u" else -high, high, shape).astype(dtype)


def cumulative(x):
    """A cumulative sum as JAX writes it for CUDA."""
    n, *others = x.shape
    return lax.reduce_window(x, np.zeros((), x.dtype)[()], lax.add, (n, *[1 for _ in others]), (1,) * x.ndim, [(n - 1, 0), *[(0, 0) for _ in others]])


def convolve(x, w, stride=(1, 1)):
    return lax.conv_general_dilated(x, w, stride, ((1, 1), (1, 1)), dimension_numbers=NHWC, preferred_element_type=np.float32)


def stacked(x, w):
    """A scan that stacks its results: each iteration updates a slice of the stack in place."""
    return lax.scan(lambda c, row: (c + row, c * 2 + row), w, x)


def product(a, b):
    return lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=np.float32)


def rolled(x):
    return lax.dynamic_update_slice(x, lax.dynamic_slice(x, (3,), (900,)), (10,))


# name: (function, arguments, options of the compiler)
PROGRAMS = {
    "scan_integers": (cumulative, (whole(132_000),), ()),
    "scan_long_integers": (cumulative, (whole(132_000, np.int64),), ()),
    "scan_floats": (cumulative, (whole(132_000, np.float32),), ()),
    "scan_columns": (cumulative, (whole((5_000, 3)),), ()),
    "sort_radix": (lambda x: jnp.sort(x), (whole(40_000, np.int16, 30_000),), ()),
    "sort_merge": (lambda x: jnp.sort(x), (whole(9_000, np.int16, 30_000),), ()),
    "sort_payload": (lambda k, v: lax.sort((k, v), num_keys=1), (whole(9_000, np.uint32, 2**31), whole(9_000)), ()),
    "sort_block": (lambda x: jnp.sort(x), (whole(1_000),), ()),
    "top": (lambda x: lax.top_k(x, 40), (whole((1, 12_000), np.float32, 1000),), ()),
    "scatter_red": (lambda t, i, u: t.at[i].add(u), (whole((30, 40)), whole(60, np.int32, 30) % 30, whole((60, 40))), ()),
    "scatter_sorted": (lambda t, i, u: t.at[i].add(u), (whole((9_000, 2), np.float32), whole(400, np.int32, 9_000) % 9_000, whole((400, 2), np.float32)), ()),
    "scatter_segments": (lambda t, i, u: t.at[i].add(u, indices_are_sorted=True),
                         (whole((9_000, 3), np.float32), np.sort(whole(1_400, np.int32, 40) % 20), whole((1_400, 3), np.float32)), ()),
    "update_in_place": (stacked, (whole((4, 600), np.float32), whole(600, np.float32)), ()),
    "update_overlapping": (rolled, (whole(2_000),), ()),
    "convolution": (convolve, (whole((2, 8, 8, 64), BF16), whole((3, 3, 64, 64), BF16)), ()),
    "convolution_strided": (lambda x, w: convolve(x, w, (2, 2)), (whole((2, 8, 8, 64), BF16), whole((3, 3, 64, 64), BF16)), ()),
    "convolution_odd": (convolve, (whole((1, 7, 9, 13), np.float16), whole((3, 3, 13, 5), np.float16)), ()),
    "product": (product, (whole((128, 640), BF16), whole((640, 128), BF16)), ()),
    "product_persistent": (product, (whole((256, 128), BF16), whole((128, 512), BF16)), ("--compile.processors=2",)),
    "product_split": (product, (whole((64, 4096), BF16), whole((4096, 64), BF16)), ()),
    "softmax": (lambda x: jnp.exp(x - jnp.max(x, 1, keepdims=True)) / jnp.sum(jnp.exp(x), 1, keepdims=True), (whole((6, 3000), np.float32, 3),), ()),
    "sum_all": (lambda x: jnp.sum(x), (whole(50_000, np.float32),), ()),
    "loop": (lambda x: lax.while_loop(lambda c: jnp.sum(c) > 100, lambda c: c // 2, x), (whole(500, np.uint32, 50),), ()),
}  # fmt: skip
