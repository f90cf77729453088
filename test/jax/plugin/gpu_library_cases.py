"""Block-scaled products whose kernels a library may replace, for test_gpu_libraries.py: a script that checks the pairs of formats that its arguments number,
a single product, or odd ones."""

import concurrent.futures
import importlib.metadata
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
    first = np.asarray(compiled(*given))
    error = np.abs(first.astype(np.float64) - exact * scale)
    assert (error <= bound).all(), f"{pair} {shape}: off by {np.max(error / bound):.2f} of the bound"
    np.testing.assert_array_equal(first, compiled(*given))


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


def check_programs():
    """NaNs and infinities, a factor that changes, threads, two devices in another order, a loop that the host cannot count, a branch."""
    scaled = lambda *a: jax.nn.scaled_matmul(*a, preferred_element_type=jnp.float32)
    arrays = cases.operands(cases.PAIRS[0], (1, 64, 64, 4))
    lhs, rhs, lhs_scales, rhs_scales = arrays
    poisoned = lhs_scales.copy()
    poisoned[0, 7, 1] = np.nan
    wide = cases.operands(cases.PAIRS[2], (1, 64, 64, 4))
    wide[0][0, 3, 5] = np.inf
    for _ in range(2):
        is_nan = np.isnan(cases.multiply(lhs, rhs, poisoned, rhs_scales))
        assert is_nan[0, 7].all() and is_nan.sum() == 64
        is_finite = np.isfinite(cases.multiply(*wide))
        assert not is_finite[0, 3].any() and is_finite.sum() == 63 * 64
    product, magnitude = cases.exact(*arrays)
    given = [jnp.asarray(array) for array in arrays]
    times = jax.jit(lambda factor, *a: scaled(*a) * factor)

    def check_factor(factor):
        error = np.abs(np.asarray(times(jnp.float32(factor), *given), np.float64) - product * factor)
        assert (error <= 132 * 2.0**-24 * magnitude * abs(factor) + np.abs(product * factor) * 2.0**-23).all()

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        list(threads.map(check_factor, [1.0, -2.0, 0.0, 3.5] * 3))
    assert np.isnan(np.asarray(times(jnp.float32(np.nan), *given))).all()

    arrays = cases.operands(cases.PAIRS[5], (4, 32, 64, 8))
    product, magnitude = cases.exact(*arrays)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[::-1]), ("x",))
    sharded = [jax.device_put(jnp.asarray(array), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))) for array in arrays]
    for _ in range(2):
        assert (np.abs(np.asarray(jax.jit(scaled)(*sharded), np.float64) - product) <= 258 * 2.0**-24 * magnitude).all()

    once = np.asarray(jax.jit(scaled)(*given))
    zeros = jnp.zeros((1, 64, 64), jnp.float32)
    loop = jax.jit(lambda count, *a: jax.lax.while_loop(lambda state: state[0] < count, lambda state: (state[0] + 1, state[1] + scaled(*a)), (0, zeros))[1])
    np.testing.assert_array_equal(loop(3, *given), (once + once) + once)
    branch = jax.jit(lambda which, *a: jax.lax.cond(which, lambda: scaled(*a), lambda: zeros))
    np.testing.assert_array_equal(branch(True, *given), once)
    np.testing.assert_array_equal(branch(False, *given), zeros)


if __name__ == "__main__":
    if not importlib.metadata.entry_points(group="jax_plugins", name="tilewright"):  # not installed: from the tree
        from tilewright import jax_plugin

        jax_plugin.initialize()
    for argument in sys.argv[1:]:
        if argument == "odd":
            check_odd()
        elif argument == "programs":
            check_programs()
        elif argument == "single":
            check(cases.PAIRS[5], (2, 48, 80, 8), factor=0.5)
        else:
            check_pair(cases.PAIRS[int(argument)])
    print("products are right on", jax.devices()[0])
