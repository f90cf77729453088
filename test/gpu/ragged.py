"""Programs with ragged_dot, as JAX lowers it for GPUs: groups of rows, of the contraction and of the batch.

Each has the sum of its absolute terms, from which the tolerance follows (test_cases.difference).
"""

import cases
import jax
import numpy as np
from cases import BF16, F16, F32, I8, numbers
from jax import lax
from jax import numpy as jnp

ROWS = lax.RaggedDotDimensionNumbers(((((1,), (1,))), ((), ())), [0], [0])
CONTRACTION = lax.RaggedDotDimensionNumbers(((((0,), (0,))), ((), ())), [0], [])
HIGHEST = lax.Precision.HIGHEST


def ragged(name, lhs, rhs, sizes, dims=ROWS, result=None, precision=None, sizes_dtype=np.int32):
    """A ragged_dot with an accumulator of f32, or of i32 for integers."""
    result = np.dtype(result or (np.int32 if lhs.dtype.kind == "i" else lhs.dtype if lhs.dtype.itemsize > 4 else F32))

    def product(lhs, rhs, sizes):
        return lax.ragged_dot_general(lhs, rhs, sizes, dims, precision=precision, preferred_element_type=result)

    sizes = np.asarray(sizes, sizes_dtype)

    def absolute():
        with jax.enable_x64(True):
            magnitudes = [jnp.abs(jnp.asarray(x, jnp.float64)) for x in (lhs, rhs)]
            return np.asarray(lax.ragged_dot_general(*magnitudes, sizes, dims, precision=HIGHEST))

    # f32 is multiplied as tf32 by default. A narrower result is rounded to it.
    units = 2.0**15 if lhs.dtype == F32 and precision is None else 64.0
    units = {BF16: 2.0**17, F16: 2.0**14, np.dtype(np.float64): 2.0**-23}.get(result, units)
    return cases.GpuCase(name, product, (lhs, rhs, sizes), "contraction" if lhs.dtype.kind != "i" else "exact", units, absolute)


def rows():
    def simple(name, m, k, n, sizes, dtype=F32, **options):
        return ragged(f"rows_{name}", numbers((m, k), dtype), numbers((len(sizes), k, n), dtype), sizes, **options)

    yield simple("small", 8, 4, 5, [3, 0, 5], precision=HIGHEST)
    yield simple("one_group", 9, 5, 3, [9], precision=HIGHEST)
    yield simple("one_group_with_a_rest", 9, 5, 3, [4], precision=HIGHEST)
    yield simple("rest", 20, 7, 6, [3, 4, 2], precision=HIGHEST)
    yield simple("no_rows", 6, 4, 3, [0, 0], precision=HIGHEST)
    yield simple("only_the_last", 70, 6, 5, [0, 0, 0, 70], precision=HIGHEST)
    yield simple("more_than_there_are", 10, 4, 3, [6, 9, 5], precision=HIGHEST)
    yield simple("more_groups_than_rows", 3, 8, 4, [0, 1, 0, 0, 1, 0, 1], precision=HIGHEST)
    yield simple("single_row_and_column", 1, 1, 1, [1], precision=HIGHEST)
    yield simple("odd_tiles", 333, 33, 19, [100, 1, 0, 65, 64, 103], precision=HIGHEST)
    yield simple("full_tiles", 512, 64, 64, [128, 64, 256, 64], BF16)
    yield simple("many_tiles", 1500, 40, 24, [700, 500, 299], BF16)
    yield simple("tf32", 200, 64, 48, [90, 10, 100])
    for dtype in (F16, BF16):
        yield simple(f"{dtype.name}", 150, 72, 40, [70, 0, 33, 40], dtype)
        yield simple(f"{dtype.name}_narrow", 150, 72, 40, [70, 0, 33, 40], dtype, result=dtype)
    yield simple("s8", 90, 32, 24, [50, 11, 29], I8)
    yield simple("f64", 90, 12, 10, [50, 11, 29], np.float64)
    for dtype in (np.int64, np.uint8, np.uint32, np.int8):
        # JAX's own sums of the sizes are of their type, so all rows must fit.
        yield simple(f"sizes_{np.dtype(dtype).name}", 120, 12, 10, [70, 0, 37], BF16, sizes_dtype=dtype)


def general():
    """Batching dimensions, and several contracted ones. jaxlib cannot export other dimensions of rows besides the ragged one."""
    batched = lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (1,))), [1], [0])
    x, w = numbers((3, 50, 16), BF16), numbers((4, 3, 16, 24), BF16)
    sizes = [[10, 20, 5, 15], [50, 0, 0, 0], [0, 7, 1, 30]]
    yield ragged("rows_batched", x, w, sizes, batched)
    yield ragged("rows_batched_same_sizes", x, w, sizes[0], batched)
    two = lax.RaggedDotDimensionNumbers((((0, 2), (2, 0)), ((), ())), [1], [1])
    yield ragged("rows_of_two_contractions", numbers((4, 30, 6), BF16), numbers((6, 2, 4, 9), BF16), [13, 14], two)
    batch = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), [0], [])
    yield ragged("batch", numbers((6, 20, 16), BF16), numbers((6, 16, 12), BF16), [2, 1, 3], batch)


def contraction():
    def simple(name, k, m, n, sizes, dtype=F32, **options):
        return ragged(f"contraction_{name}", numbers((k, m), dtype), numbers((k, n), dtype), sizes, CONTRACTION, **options)

    yield simple("small", 8, 4, 5, [3, 0, 5], precision=HIGHEST)
    yield simple("one_group", 9, 5, 3, [9], precision=HIGHEST)
    yield simple("rest", 20, 7, 6, [3, 4, 2], precision=HIGHEST)
    yield simple("no_terms", 6, 4, 3, [0, 0], precision=HIGHEST)
    yield simple("more_than_there_are", 10, 4, 3, [6, 9, 5], precision=HIGHEST)
    yield simple("odd_tiles", 333, 33, 19, [100, 1, 0, 65, 64, 103], precision=HIGHEST)
    yield simple("many_tiles", 1500, 40, 24, [700, 500, 299], BF16)
    yield simple("tf32", 200, 64, 48, [90, 10, 100])
    yield simple("bf16_narrow", 150, 72, 40, [70, 0, 33, 40], BF16, result=BF16)
    yield simple("s8", 90, 32, 24, [50, 11, 29], I8)
    yield simple("f64", 90, 12, 10, [50, 11, 29], np.float64)
    batched = lax.RaggedDotDimensionNumbers((((1,), (2,)), ((0,), (0,))), [1], [])
    x, y = numbers((3, 50, 16), BF16), numbers((3, 24, 50), BF16)
    yield ragged("contraction_batched", x, y, [[10, 20, 5], [50, 0, 0], [0, 7, 1]], batched)


def gradients():
    """Both derivatives of a ragged_dot: one has ragged rows, the other a ragged contraction."""
    x, w, d = numbers((130, 24), BF16), numbers((5, 24, 40), BF16), numbers((130, 40), BF16)
    sizes = np.array([30, 0, 41, 9, 40], np.int32)

    def back(x, w, d, sizes):
        return jax.vjp(lambda x, w: lax.ragged_dot(x, w, sizes, preferred_element_type=jnp.float32), x, w)[1](d.astype(jnp.float32))

    def absolute(index):
        with jax.enable_x64(True):
            return np.asarray(back(*(jnp.abs(jnp.asarray(a, jnp.float64)) for a in (x, w, d)), sizes)[index])

    for index, name in enumerate(("rows", "weights")):
        # The results are rounded to bf16.
        function = lambda *all, index=index: back(*all)[index]  # noqa: E731
        yield cases.GpuCase(f"gradient_{name}", function, (x, w, d, sizes), "contraction", 2.0**17, lambda index=index: absolute(index))


def all_cases():
    cases._random = np.random.default_rng(11)  # the same inputs, however often a process calls this
    return [*rows(), *general(), *contraction(), *gradients()]
