"""Data movement: values change their position only."""

import jax.numpy as jnp
from catalog import booleans, integers, normal, program
from jax import lax


@program("exact", normal(2, 3, 4))
def transposes_and_reshapes(x):
    return x.transpose(2, 0, 1), x.reshape(6, 4), x.ravel(), jnp.swapaxes(x, 0, 1), jnp.moveaxis(x, 0, -1)


@program("exact", normal(4, 5))
def padding_of_every_kind(x):
    return (
        lax.pad(x, 0.0, ((1, 2, 0), (0, 1, 0))),
        lax.pad(x, -1.0, ((0, 0, 2), (1, 1, 1))),
        lax.pad(x, 9.0, ((-1, 0, 0), (2, -2, 0))),
        lax.pad(x, 9.0, ((-2, 3, 1), (0, -1, 2))),
    )


@program("exact", normal(5, 4))
def padding_modes(x):
    return tuple(jnp.pad(x, 2, mode=mode) for mode in ("constant", "edge", "reflect", "symmetric", "wrap"))


@program("exact", normal(8, 9))
def slices(x):
    return x[2:6, ::2], x[::-1, 1], x[-3:, ::-3], lax.slice(x, (1, 0), (8, 9), (3, 4))


@program("exact", normal(6, 6), integers(2, low=-2, high=8))
def dynamic_slices_are_clamped(x, at):
    return lax.dynamic_slice(x, (at[0], at[1]), (3, 2)), lax.dynamic_index_in_dim(x, at[0], 1)


@program("exact", normal(6, 6), normal(2, 3), integers(2, low=-2, high=8))
def dynamic_updates_are_clamped(x, patch, at):
    return lax.dynamic_update_slice(x, patch, (at[0], at[1]))


@program("exact", normal(2, 3), normal(2, 1), normal(0, 4))
def concatenations(x, y, nothing):
    rows = jnp.concatenate([x, y, x], axis=1)
    return rows, jnp.stack([x, x], axis=1), jnp.concatenate([nothing, jnp.ones((1, 4))]), jnp.block([[x, y], [y, x]])


@program("exact", normal(3, 4))
def repetitions(x):
    return (
        jnp.tile(x, (2, 3)),
        jnp.repeat(x, 2, axis=1),
        jnp.broadcast_to(x[:, None], (3, 2, 4)),
        jnp.repeat(x, jnp.array([0, 2, 1]), axis=0, total_repeat_length=3),
    )


@program("exact", normal(4, 5))
def turns(x):
    return jnp.flip(x), jnp.rot90(x), jnp.roll(x, 2, axis=1), jnp.roll(x, (1, -1), axis=(0, 1)), lax.rev(x, (1,))


@program("exact", normal(5, 5))
def triangles_and_diagonals(x):
    return jnp.tril(x), jnp.triu(x, 1), jnp.diag(x), jnp.diag(x[0]), jnp.diagonal(x, offset=-1), jnp.trace(x[:1, :1])


@program("exact", integers(1))
def counting(start):
    rows = lax.broadcasted_iota(jnp.int32, (3, 4), 0)
    return jnp.arange(6) + start, rows * 4 + lax.broadcasted_iota(jnp.int32, (3, 4), 1), jnp.eye(3, 4, k=1)


@program("arithmetic", normal(3), normal(4))
def grids(x, y):
    return jnp.meshgrid(x, y), jnp.linspace(x[0], y[0], 7)


@program("exact", normal(2, 3, 4), normal(4))
def broadcasting(x, y):
    return jnp.broadcast_to(y, x.shape), lax.broadcast_in_dim(y, (2, 4, 3), (1,)), jnp.expand_dims(x, (0, 2)).squeeze(2)


@program("exact", booleans(5, 3), integers(5, 3))
def choices(mask, x):
    return (
        jnp.where(mask, x, 0),
        jnp.choose(mask.astype(jnp.int32), [x, -x], mode="clip"),
        jnp.select([mask, x > 0], [x, -x], 7),
    )


@program("exact", normal(6, 4))
def splits(x):
    return jnp.split(x, 3), jnp.array_split(x, 4, axis=1), jnp.unstack(x, axis=1)


@program("exact", integers(4, 6, low=0, high=255, dtype="uint8"))
def bits_of_bytes(x):
    bits = jnp.unpackbits(x, axis=1)
    return bits, jnp.packbits(bits, axis=1)


@program("exact", normal(2, 8, 8, 3))
def space_to_depth(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // 2, w // 2, 4 * c)


@program("exact", normal(3, 5), normal(3, 5))
def kept_apart_by_a_barrier(x, y):
    a, b = lax.optimization_barrier((x, y))
    return jnp.maximum(a, b)
