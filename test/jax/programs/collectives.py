"""shard_map over four ranks: every collective, and sharded networks."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from catalog import integers, normal, program
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P


def sharded(axes, inputs, outputs):
    """shard_map over a mesh of four devices, {"x": 2, "y": 2} or {"x": 4}."""

    def wrap(function):
        # The mesh is made when the program is traced: importing this file needs no devices.
        @functools.wraps(function)
        def run(*arguments):
            devices = np.array(jax.devices("cpu")[:4]).reshape(tuple(axes.values()))
            mesh = jax.sharding.Mesh(devices, tuple(axes), axis_types=(AxisType.Auto,) * len(axes))
            mapped = jax.shard_map(function, mesh=mesh, in_specs=inputs, out_specs=outputs, check_vma=False)
            return mapped(*arguments)

        return run

    return wrap


RING = {"x": 4}
GRID = {"x": 2, "y": 2}


@program("reduction", normal(8, 3), ranks=4)
@sharded(RING, P("x"), P())
def sum_over_ranks(x):
    return lax.psum(x, "x")


@program("reduction", normal(8, 3), ranks=4)
@sharded(RING, P("x"), (P(), P(), P()))
def mean_and_extremes(x):
    return lax.pmean(x, "x"), lax.pmax(x, "x"), lax.pmin(x, "x")


@program("exact", normal(8, 3), ranks=4)
@sharded(RING, P("x"), P())
def gathered(x):
    return lax.all_gather(x, "x", tiled=True)


@program("exact", normal(4, 4, 2), ranks=4)
@sharded(RING, P("x"), P("x"))
def gathered_along_a_new_axis(x):
    return lax.all_gather(x[0], "x", axis=1)


@program("reduction", normal(16, 3), ranks=4)
@sharded(RING, P("x"), P("x"))
def sum_scattered(x):
    return lax.psum_scatter(x, "x", tiled=True)


@program("exact", normal(16, 4), ranks=4)
@sharded(RING, P("x"), P("x"))
def exchanged_all_to_all(x):
    return lax.all_to_all(x, "x", split_axis=0, concat_axis=1, tiled=True)


@program("exact", normal(8), ranks=4)
@sharded(RING, P("x"), P("x"))
def passed_around_a_ring(x):
    return lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)])


@program("exact", normal(8), ranks=4)
@sharded(RING, P("x"), P("x"))
def sent_by_some_only(x):
    # Ranks that receive nothing get zeros.
    return lax.ppermute(x, "x", [(0, 2), (3, 1)])


@program("exact", integers(4), ranks=4)
@sharded(RING, P("x"), P("x"))
def own_position(x):
    return x * 0 + lax.axis_index("x")


@program("reduction", normal(4, 6), ranks=4)
@sharded(GRID, P("x", "y"), (P("x"), P(None, "y"), P()))
def sums_over_rows_and_columns(x):
    return lax.psum(x, "y"), lax.psum(x, "x"), lax.psum(x, ("x", "y"))


@program("exact", normal(4, 4), ranks=4)
@sharded(GRID, P("x", "y"), P("y", "x"))
def transposed_blocks(x):
    return lax.ppermute(x, ("x", "y"), [(0, 0), (1, 2), (2, 1), (3, 3)]).T


@program("contraction", normal(6, 8), normal(8, 5), ranks=4)
@sharded(RING, (P(None, "x"), P("x", None)), P())
def product_split_along_k(a, b):
    return lax.psum(a @ b, "x")


@program("contraction", normal(8, 6), normal(6, 8), ranks=4)
@sharded(GRID, (P("x", None), P(None, "y")), P("x", "y"))
def product_in_blocks(a, b):
    return a @ b


@program("contraction", normal(4, 8), normal(8, 6), ranks=4)
@sharded(RING, (P(None, "x"), P("x", None)), P())
def product_overlapped_with_a_ring(a, b):
    def step(_, state):
        total, moving = state
        return total + moving, lax.ppermute(moving, "x", [(i, (i + 1) % 4) for i in range(4)])

    part = a @ b
    return lax.fori_loop(0, 4, step, (jnp.zeros_like(part), part))[0] / 1.0


@program("network", normal(8, 6), normal(6, 4, scale=0.5), normal(8, 4), ranks=4)
@sharded(RING, (P("x"), P(), P("x")), P())
def data_parallel_step(x, w, y):
    grads = jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w)
    return w - 0.1 * lax.pmean(grads, "x")


@program("network", normal(3, 6), normal(6, 8, scale=0.5), normal(8, 6, scale=0.5), ranks=4)
@sharded(RING, (P(), P(None, "x"), P("x", None)), P())
def tensor_parallel_mlp(x, up, down):
    return lax.psum(jax.nn.relu(x @ up) @ down, "x")


@program("network", normal(8, 4), normal(8, 4), normal(8, 4), ranks=4)
@sharded(RING, (P("x"), P("x"), P("x")), P("x"))
def attention_over_split_sequences(q, k, v):
    keys = lax.all_gather(k, "x", tiled=True)
    return jax.nn.softmax(q @ keys.T / 2.0) @ lax.all_gather(v, "x", tiled=True)


@program("exact", integers(16), ranks=4)
@sharded(RING, P("x"), P("x"))
def prefix_sum_over_ranks(x):
    totals = lax.all_gather(x.sum(), "x")
    before = jnp.where(jnp.arange(4) < lax.axis_index("x"), totals, 0).sum()
    return jnp.cumsum(x) + before


@program("reduction", normal(8), ranks=4)
@sharded(RING, P("x"), P("x"))
def loop_until_ranks_agree(x):
    def step(state):
        value, _ = state
        left = lax.ppermute(value, "x", [(i, (i + 1) % 4) for i in range(4)])
        value = 0.5 * (value + left)
        return value, lax.pmax(jnp.abs(value - left).max(), "x")

    return lax.while_loop(lambda s: s[1] > 0.5, step, (x, jnp.float32(1.0)))[0]
