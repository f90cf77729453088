"""Products beside collectives, which communicate.windows=always sends in pieces. `check_all(ranks)` runs them on as many devices of JAX, in pieces and
whole; test_overlap.py does so on CPUs, test/gpu/test_pieces.py on virtual GPUs."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P


def gather(x, axis=0):
    return jax.lax.all_gather(x, "i", axis=axis, tiled=True)


def scatter(x, axis=0):
    return jax.lax.psum_scatter(x, "i", scatter_dimension=axis, tiled=True)


def gathered_rows(x, w):
    return gather(x) @ w


def gathered_columns(x, w):
    return x @ gather(w, axis=1)


def gathered_sums(x, w):
    return x @ gather(w)


def gathered_batches(x, w):
    return jnp.einsum("bij,bjk->kbi", gather(x), w)


def mlp(x, up, down):
    """A gather and a scatter in pieces, with products of the whole in between."""
    g = gather(x)
    return scatter((jnp.tanh(g @ up) + g @ up) @ down)


def two_sums(x, v, w):
    return scatter((x @ v).T + (w @ x).astype(x.dtype), axis=1)


def reduced(x, w):
    return jax.lax.psum(jnp.tanh(x) @ w, "i")


def largest(x, w):
    return jax.lax.pmax(x @ w, "i")


def layers(x, weights):
    """In a loop, where pieces of an iteration are in flight; the gradient, too."""
    def loss(x, weights):
        return jnp.sum(jax.lax.scan(lambda x, w: (scatter(jnp.tanh(gather(x) @ w[0]) @ w[1]), None), x, weights)[0] ** 2)

    return jax.grad(loss)(x, weights)


def cases(n):
    """(function, global operands, specs); the first dimension of the result is sharded."""
    rng = np.random.default_rng(0)

    def f32(*shape):
        return (rng.standard_normal(shape) * 0.5).astype(np.float32)

    def bf16(*shape):
        return f32(*shape).astype(ml_dtypes.bfloat16)

    def i32(*shape):
        return rng.integers(-9, 9, shape).astype(np.int32)

    rows = P("i")
    odd = (f32(3 * n, 5), f32(n * 5, 7))
    odd[0][1, 2] = np.nan
    yield gathered_rows, odd, (rows, rows)
    yield gathered_rows, (i32(n, 5), i32(n * 5, 1)), (rows, rows)
    yield gathered_rows, (f32(4 * n, 0), f32(0, 3)), (rows, P())
    yield gathered_columns, (f32(n * 6, 8), f32(8, n * 3)), (rows, P(None, "i"))
    yield gathered_sums, (f32(n * 6, 2 * n), f32(2 * n, 3)), (rows, rows)
    yield gathered_sums, (bf16(n * 6, 16 * n), bf16(16 * n, 8)), (rows, rows)
    yield gathered_batches, (f32(n, 4, 5), f32(n, 5, n)), (rows, P())
    yield mlp, (f32(2 * n, 8), f32(n * 8, 6), f32(n * 6, 8)), (rows, rows, rows)
    yield two_sums, (f32(n * 2 * n, 2 * n), f32(n * 2 * n, 2 * n), f32(n * 2 * n, 2 * n)), (rows, rows, rows)
    yield reduced, (f32(n * 8, 16), f32(n * 16, 6)), (rows, rows)
    yield largest, (i32(n * 4, 16), i32(n * 16, 6)), (rows, rows)
    yield layers, (f32(2 * n, 8), 0.5 * f32(5 * n, 2, 8, 8)), (rows, rows)


def check_all(n):
    """Compares each case in pieces with the same function where collectives stay whole. Returns the number of cases."""
    mesh = jax.make_mesh((n,), ("i",), axis_types=(AxisType.Auto,))
    count = 0
    for f, operands, specs in cases(n):
        arrays = [jax.make_array_from_callback(x.shape, NamedSharding(mesh, spec), lambda index, x=x: x[index]) for x, spec in zip(operands, specs)]
        results = {}
        for form in ("never", "always"):
            g = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=specs, out_specs=P("i"), check_vma=False), compiler_options={"communicate.windows": form})
            results[form] = g(*arrays)
        for whole, pieces in zip(results["never"].addressable_shards, results["always"].addressable_shards):
            whole, pieces = (np.asarray(shard.data, np.float64) for shard in (whole, pieces))
            # Sums in another order; of bf16 one rounding less, in pieces.
            tolerance = 2**-6 if operands[0].dtype == ml_dtypes.bfloat16 else 1e-5 if operands[0].dtype == np.float32 else 0
            np.testing.assert_allclose(pieces, whole, rtol=tolerance, atol=tolerance, err_msg=f.__name__)
        count += 1
    return count
