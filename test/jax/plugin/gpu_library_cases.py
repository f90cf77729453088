"""Block-scaled products whose kernels a library may replace, for test_gpu_libraries.py: a script that checks the pairs of formats that its arguments number,
a single product, or odd ones."""

import sys

import block_scaled_cases as cases
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np


def multiply(result, factor=None):
    def product(*arrays):
        sums = jax.nn.scaled_matmul(*arrays[:4], preferred_element_type=jnp.float32)
        return (sums if factor is None else sums * arrays[4]).astype(result)

    return product


def check(pair, shape, result=jnp.float32, factor=None):
    """Twice, because the first run of a library is compared with the kernel and the second is not."""
    lhs, rhs, lhs_scales, rhs_scales = cases.operands(pair, shape)
    if result == jnp.float16:
        lhs_scales, rhs_scales = ((scales.astype(np.float32) / 512).astype(scales.dtype) for scales in (lhs_scales, rhs_scales))
    arrays = lhs, rhs, lhs_scales, rhs_scales
    exact, magnitude = cases.exact(*arrays)
    compiled = jax.jit(multiply(result, factor))
    given = [*map(jnp.asarray, arrays), *([jnp.float32(factor)] if factor else [])]
    scale = factor or 1
    bound = (lhs.shape[-1] + 2) * 2.0**-24 * magnitude * abs(scale) + np.abs(exact * scale) * float(ml_dtypes.finfo(result).eps) + float(ml_dtypes.finfo(result).tiny)
    for _ in range(2):
        error = np.abs(np.asarray(compiled(*given), np.float64) - exact * scale)
        assert (error <= bound).all(), f"{pair} {shape}: off by {np.max(error / bound):.2f} of the bound"


def check_loop(pair):
    """A loop whose body has a product: the host submits its iterations."""
    arrays = [jnp.asarray(array) for array in cases.operands(pair, (1, 32, 32, 8))]
    single = lambda *a: jax.nn.scaled_matmul(*a, preferred_element_type=jnp.float32)
    looped = jax.jit(lambda *a: jax.lax.fori_loop(0, 3, lambda i, sums: sums + single(*a), jnp.zeros((1, 32, 32), jnp.float32)))
    once = np.asarray(jax.jit(single)(*arrays))
    np.testing.assert_array_equal(looped(*arrays), (once + once) + once)


def check_pair(pair):
    check(pair, (2, 48, 80, 8), factor=0.5)
    check(pair, (1, 130, 16, 8), jnp.bfloat16)
    check(pair, (1, 32, 64, 8), jnp.float16, factor=-3.0)
    check_loop(pair)


def check_odd():
    """Rows that are not aligned, and scales that have room for more blocks than a library expects."""
    check(cases.PAIRS[0], (1, 29, 37, 4))
    check(cases.PAIRS[5], (1, 130, 16, 2))


if __name__ == "__main__":
    from tilewright import jax_plugin

    jax_plugin.initialize()
    for argument in sys.argv[1:]:
        if argument == "odd":
            check_odd()
        elif argument == "single":
            check(cases.PAIRS[5], (2, 48, 80, 8), factor=0.5)
        else:
            check_pair(cases.PAIRS[int(argument)])
    print("products are right on", jax.devices()[0])
