"""Order: sorting, selecting, searching."""

import jax
import jax.numpy as jnp
from catalog import integers, normal, program, values
from jax import lax

INF, NAN = float("inf"), float("nan")


@program("exact", normal(5, 9))
def both_directions(x):
    return jnp.sort(x, axis=1), jnp.sort(x, axis=0, descending=True), jnp.argsort(x), jnp.argsort(x, descending=True)


@program(
    "exact",
    values(
        3.0, NAN, -0.0, 0.0, INF, -INF, -NAN, 1.0, 1.0, -2.0, 5.0, 6.0, 7.0, 8.0, 9.0, 4.0, 2.5, -7.0, 0.5, 0.25,
        -0.75, 12.0, 14.0, 11.0, -3.5, 2.25, 1.75, 6.5, 4.5, 5.5, -1.5, 3.25, ),
    )
def total_order(x):
    return jnp.sort(x), jnp.argsort(x)


@program("exact", integers(40, low=0, high=8), integers(40))
def stable_by_a_key(keys, x):
    return lax.sort((keys, x), num_keys=1, is_stable=True)


@program("exact", integers(30, low=0, high=3), integers(30, low=0, high=3), normal(30))
def by_two_keys(first, second, x):
    return lax.sort((first, second, x), num_keys=2), jnp.lexsort((second, first))


@program("exact", normal(4, 12))
def largest(x):
    return lax.top_k(x, 5)


@program("exact", integers(3, 10), values(1, 5, 3, 3, 5, 2, 2, 1, dtype="int32"))
def largest_integers_with_ties(x, ties):
    return lax.top_k(x, 3), lax.top_k(ties, 4)


@program("arithmetic", normal(5, 11))
def order_statistics(x):
    return jnp.median(x, axis=1), jnp.percentile(x, 30.0, axis=1), jnp.quantile(x, jnp.array([0.25, 0.75]))


@program("exact", normal(6, 10))
def partitions(x):
    return jnp.partition(x, 4, axis=1)[:, 4], jnp.sort(jnp.partition(x, 4, axis=1)[:, :4], axis=1)


@program("exact", normal(16), normal(9))
def searching(x, wanted):
    ordered = jnp.sort(x)
    return tuple(
        jnp.searchsorted(ordered, wanted, side=side, method=method)
        for side in ("left", "right")
        for method in ("scan", "sort", "compare_all")
    )


@program("exact", integers(24, low=0, high=7))
def distinct(x):
    return jnp.unique(x, size=8, fill_value=-1, return_index=True, return_inverse=True, return_counts=True)


@program("exact", integers(12, low=0, high=9), integers(12, low=0, high=9))
def sets(x, y):
    return jnp.isin(x, y), jnp.union1d(x, y, size=18, fill_value=-1), jnp.intersect1d(x, y, size=9, fill_value=-1)


@program(
    "exact", integers(20, dtype="uint8", low=0, high=256), normal(20, dtype="bfloat16"), normal(20, dtype="float16")
)
def small_types(a, b, c):
    return jnp.sort(a), jnp.sort(b), jnp.argsort(c)


@program("arithmetic", normal(8))
def gradient_through_a_sort(x):
    return jax.grad(lambda v: jnp.sum(jnp.sort(v) * jnp.arange(8.0)))(x)


@program("exact", normal(3, 4, 5))
def along_the_middle(x):
    return jnp.sort(x, axis=1), lax.top_k(x, 2)[1]


@program("exact", integers(20))
def odd_even_transposition(x):
    def step(i, v):
        left, right = v[:-1], v[1:]
        swap = (left > right) & (jnp.arange(19) % 2 == i % 2)
        low, high = jnp.where(swap, right, left), jnp.where(swap, left, right)
        even = jnp.arange(20) % 2 == i % 2
        return jnp.where(even, jnp.append(low, v[-1]), jnp.insert(high, 0, v[0]))

    return lax.fori_loop(0, 20, step, x)
