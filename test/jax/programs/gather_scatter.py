"""Reading and writing at computed indices."""

import jax
import jax.numpy as jnp
from catalog import booleans, integers, normal, permutation, program, values
from jax import lax


@program("exact", normal(10, 4), integers(6, low=0, high=10))
def rows(table, at):
    return table[at], jnp.take(table, at, axis=0)


@program("exact", normal(6, 7), integers(5, low=0, high=6), integers(5, low=0, high=7))
def points(x, i, j):
    return x[i, j], x[i][:, j]


@program("exact", normal(8), values(0, 1, 7, -1, -8, 3, 4, 5, -9, 8, 2, 6, 1, -3, dtype="int32"))
def out_of_bounds_in_every_mode(x, at):
    return tuple(jnp.take(x, at, mode=mode) for mode in ("clip", "wrap", "fill"))


@program("exact", normal(4, 6), integers(4, 3, low=0, high=6))
def along_an_axis(x, at):
    return jnp.take_along_axis(x, at, axis=1)


@program("exact", normal(5, 6, 7), integers(3, 2, low=0, high=5))
def windows(x, at):
    numbers = lax.GatherDimensionNumbers(offset_dims=(1, 2, 3), collapsed_slice_dims=(), start_index_map=(0, 1))
    return lax.gather(x, at, numbers, (2, 3, 7), mode=lax.GatherScatterMode.CLIP)


@program("exact", normal(3, 8), integers(3, 2, 1, low=0, high=8))
def batched_windows(x, at):
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(1,),
        start_index_map=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
    )
    return lax.gather(x, at, numbers, (1, 1))


@program("exact", normal(8), permutation(8))
def permuted_and_back(x, order):
    moved = x[order]
    return moved, jnp.zeros_like(x).at[order].set(moved)


@program("exact", normal(6, 3), normal(2, 3), integers(2, low=0, high=3))
def rows_set(x, new, at):
    return x.at[at * 2].set(new), x.at[1:3].set(new), x.at[:, at[0]].set(0.0)


@program("reduction", normal(8), normal(12), integers(12, low=0, high=8))
def sums_with_collisions(x, addend, at):
    return x.at[at].add(addend)


@program("exact", normal(8), normal(12), integers(12, low=0, high=8))
def extremes_with_collisions(x, new, at):
    return x.at[at].max(new), x.at[at].min(new)


@program("reduction", normal(8), normal(5), integers(5, low=0, high=8))
def products_with_collisions(x, factor, at):
    return x.at[at].multiply(1.0 + 0.1 * factor)


@program("exact", integers(8), integers(6), integers(6, low=-9, high=14))
def dropped_when_out_of_bounds(x, new, at):
    return x.at[at].add(new, mode="drop"), x.at[at].set(new, mode="drop", unique_indices=False)[:0]


@program("exact", integers(20, low=0, high=6), integers(20))
def segments(ids, x):
    return jax.ops.segment_sum(x, ids, 6), jax.ops.segment_max(x, ids, 6), jnp.bincount(ids, length=6)


@program("reduction", normal(10, 4), integers(7, low=0, high=10))
def gradient_of_a_lookup(table, at):
    return jax.grad(lambda t: jnp.sum(t[at] ** 2))(table)


@program("exact", integers(5, 6), booleans(5, 6))
def masked_compaction(x, mask):
    return jnp.nonzero(mask, size=30, fill_value=-1), jnp.extract(mask, x, size=30, fill_value=0)


@program("exact", normal(5, 5), integers(3, 2, low=0, high=4), normal(3, 2, 2))
def windows_written(x, at, patches):
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(1, 2), inserted_window_dims=(), scatter_dims_to_operand_dims=(0, 1)
    )
    return lax.scatter_max(x, at, patches, numbers, mode=lax.GatherScatterMode.CLIP)


@program("exact", integers(5, 6), values(3, 0, -1, 2, 0, 0, 2, 5, 1, 3, dtype="int32"), integers(5, 3, 2))
def windows_partly_outside_are_dropped(x, at, patches):
    """JAX promises that a scattered window of which any part is out of bounds is discarded."""
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(1, 2), inserted_window_dims=(), scatter_dims_to_operand_dims=(0, 1)
    )
    at = at.reshape(5, 2)
    return (
        lax.scatter_add(x, at, patches, numbers, mode="drop"),
        lax.scatter_max(x, at, patches, numbers, mode="drop"),
        lax.scatter_apply(x, at, lambda v: v * 3 + 1, numbers, update_shape=(5, 3, 2), mode="drop"),
    )


@program("exact", normal(6), values(-1, 0, 3, 4, 9, dtype="int32"))
def gradient_of_windows_partly_outside(x, at):
    """A window that the gather fills has no gradient, whatever arrives for it."""
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(), start_index_map=(0,))

    def taken(x):
        return lax.gather(x, at[:, None], numbers, (3,), mode="fill", fill_value=0)

    windows, back = jax.vjp(taken, x)
    infinite = jnp.where(windows == 0, jnp.inf, 2.0)
    return windows, back(infinite)[0]


@program("exact", integers(30, low=0, high=10))
def histogram(x):
    return jnp.histogram(x, bins=jnp.arange(0, 11, 2))[0].astype(jnp.int32)


@program("arithmetic", normal(6, 6), integers(4, low=0, high=6))
def applied_function(x, at):
    return x.at[at].apply(lambda v: v * 2.0 + 1.0), x.at[at[0]].divide(4.0), x.at[at, at].get(mode="fill", fill_value=0)


@program("exact", integers(4, 3, low=0, high=5), normal(5, 6))
def embedding_of_sequences(tokens, table):
    one_hot = jax.nn.one_hot(tokens, 5)
    return table[tokens], one_hot
