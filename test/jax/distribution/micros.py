"""The rows of the table for single operations on a sharded array, and the wire bytes that are enough for each.

The mesh is x=4, y=2, the array f32[64, 32] with dimension 0 over x unless a row says otherwise. `enough` is derived from what
must move; S below is what a device holds, 16 x 32 x 4 bytes.
"""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

MESH = {"x": 4, "y": 2}
ROWS = P("x")
HELD = 16 * 32 * 4
ROW = 32 * 4


@dataclasses.dataclass(frozen=True)
class Micro:
    function: Callable
    inputs: list  # of (shape, dtype, sharding)
    output: P
    enough: float


MICROS: dict[str, Micro] = {}


def array(*shape, dtype=jnp.float32, on=ROWS):
    return jax.ShapeDtypeStruct(shape, dtype), on


def micro(*inputs, out=ROWS, enough):
    def declare(function):
        MICROS[function.__name__] = Micro(function, list(inputs), out, enough)
        return function

    return declare


TABLE = array(64, 32)


# --- resharding: a device keeps a quarter and sends three ---


@micro(TABLE, out=P(None, "x"), enough=HELD * 3 / 4)
def reshard_rows_to_columns(x):
    return x + 1


@micro(array(8, 16, 32, on=P(None, "x")), enough=HELD * 2 * 3 / 4)
def reshape_merges_a_sharded_minor_dimension(x):
    return x.reshape(128, 32) + 1


@micro(TABLE, out=P("y"), enough=2 * HELD)
def reshard_x_to_y(x):
    return x + 1


# --- order ---


@micro(TABLE, enough=2 * HELD * 3 / 4)
def sort(x):
    return jnp.sort(x, axis=0)


@micro(array(64), enough=64 * 4 * 3 / 4)
def sort_vector(x):
    return jnp.sort(x)


@micro(array(32, 64, on=P(None, "x")), out=P(), enough=2 * 4 * 32 * 4 * 4 * 3 / 4)
def top_k(x):
    """k = 4 of each shard, values and indices."""
    return lax.top_k(x, 4)


@micro(TABLE, out=P(), enough=2 * 4 * ROW * 3 / 4)
def argmax(x):
    """One row of values and one of indices from each shard."""
    return jnp.argmax(x, axis=0)


# --- windows: only what lies over the border of a shard ---


@micro(array(4, 64, 16, 8, on=P(None, "x")), array(3, 3, 8, 8, on=P()), out=P(None, "x"), enough=2 * 4 * 16 * 8 * 4)
def convolution(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@micro(TABLE, enough=3 * ROW)
def roll(x):
    return jnp.roll(x, 3, axis=0)


@micro(TABLE, enough=(8 + 5) * ROW)
def slice_of_a_part(x):
    """Rows 3 to 34 as four shards of 8: the third shard of the result, rows 19 to 26, and 5 rows of the fourth come from rank 1."""
    return x[3:35]


@micro(TABLE, TABLE, enough=2 * HELD)
def concatenate(x, y):
    """Ranks 0 and 1 get x, 2 and 3 get y: each receives at most two shards and sends at most two."""
    return jnp.concatenate([x, y])


@micro(TABLE, enough=HELD)
def reverse(x):
    return x[::-1]


@micro(TABLE, enough=2 * ROW)
def pad(x):
    """1 + 64 + 3 rows, in shards of 17: the second and third take 1 and 2 rows of the next rank."""
    return jnp.pad(x, ((1, 3), (0, 0)))


@micro(array(4, 64, 16, 8, on=P(None, "x")), out=P(None, "x"), enough=2 * 4 * 16 * 8 * 4)
def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 1, 1), (1, 1, 1, 1), "SAME")


# --- scans: the last row of each shard ---


@micro(TABLE, enough=4 * ROW * 3 / 4)
def cumsum(x):
    return jnp.cumsum(x, axis=0)


@micro(TABLE, enough=4 * ROW * 3 / 4)
def cummax(x):
    return lax.cummax(x, axis=0)


@micro(TABLE, enough=4 * ROW * 3 / 4)
def cumsum_reversed(x):
    return lax.cumsum(x, axis=0, reverse=True)


# --- indices ---


@micro(TABLE, array(dtype=jnp.int32, on=P()), out=P(), enough=2 * 8 * ROW * 3 / 4)
def dynamic_slice(x, start):
    return lax.dynamic_slice_in_dim(x, start, 8)


@micro(TABLE, array(8, 32, on=P()), array(dtype=jnp.int32, on=P()), enough=0)
def dynamic_update_slice(x, update, start):
    return lax.dynamic_update_slice_in_dim(x, update, start, 0)


@micro(TABLE, array(10, dtype=jnp.int32, on=P()), out=P(), enough=2 * 10 * ROW * 3 / 4)
def gather_rows(x, rows):
    return x[rows]


@micro(TABLE, array(10, dtype=jnp.int32, on=P()), array(10, 32, on=P()), enough=0)
def scatter_add(x, rows, updates):
    return x.at[rows].add(updates)


@micro(TABLE, array(10, dtype=jnp.int32, on=P()), array(10, 32, on=P()), enough=0)
def scatter_set(x, rows, updates):
    return x.at[rows].set(updates)


@micro(TABLE, array(64, 1, dtype=jnp.int32), enough=0)
def take_along_rows(x, columns):
    return jnp.take_along_axis(x, columns, axis=1)


# --- batches ---


@micro(TABLE, enough=0)
def fft(x):
    return jnp.fft.fft(x).real


@micro(array(8, 16, 16), enough=0)
def cholesky(x):
    return jnp.linalg.cholesky(x)


@micro(array(2, dtype=jnp.uint32, on=P()), enough=0)
def random_normal(key):
    return jax.random.normal(jax.random.wrap_key_data(key), (64, 32))


# --- sums ---


@micro(TABLE, out=P(), enough=2 * ROW * 3 / 4)
def sum_rows(x):
    return jnp.sum(x, axis=0)


@micro(array(32, 64, on=P(None, "x")), array(64, 32), out=ROWS, enough=32 * ROW * 3 / 4)
def product_scattered(x, y):
    """A contracted dimension is sharded and the result is wanted sharded: a reduce-scatter."""
    return x @ y


@micro(array(32, 64, on=P(None, "x")), array(64, 32), out=P(), enough=2 * 32 * ROW * 3 / 4)
def product_reduced(x, y):
    return x @ y
