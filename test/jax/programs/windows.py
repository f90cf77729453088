"""Sliding windows, cumulative sums, and select_and_scatter for their gradients."""

import jax
import jax.numpy as jnp
from catalog import integers, normal, program, uniform
from jax import lax


def pooled(x, init, combine, window, strides, padding, **dilation):
    return lax.reduce_window(x, init, combine, window, strides, padding, **dilation)


@program("exact", normal(2, 8, 8, 3))
def max_pool(x):
    return pooled(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


@program("reduction", normal(2, 9, 9, 2))
def average_pool_same(x):
    window, strides = (1, 3, 3, 1), (1, 2, 2, 1)
    total = pooled(x, 0.0, lax.add, window, strides, "SAME")
    return total / pooled(jnp.ones_like(x), 0.0, lax.add, window, strides, "SAME")


@program("exact", integers(5, 7))
def min_pool_of_integers(x):
    return pooled(x, jnp.int32(1000), lax.min, (2, 3), (1, 2), ((1, 0), (2, 1)))


@program("reduction", normal(12))
def dilated_window_and_base(x):
    return (
        pooled(x, 0.0, lax.add, (3,), (1,), "VALID", window_dilation=(2,)),
        pooled(x, 0.0, lax.add, (3,), (2,), ((1, 1),), base_dilation=(2,)),
    )


@program("reduction", uniform(6, 6, low=0.8, high=1.2))
def window_of_products(x):
    return pooled(x, 1.0, lax.mul, (2, 2), (1, 1), "SAME")


@program("reduction", normal(4, 10))
def running_sums(x):
    return jnp.cumsum(x, axis=1), lax.cumsum(x, axis=1, reverse=True)


@program("reduction", uniform(4, 10, low=0.7, high=1.3))
def running_products(x):
    return jnp.cumprod(x, axis=0), lax.cumprod(x, axis=1, reverse=True)


@program("exact", normal(5, 9))
def running_extremes(x):
    return lax.cummax(x, axis=1), lax.cummin(x, axis=0), lax.cummax(x, axis=1, reverse=True)


@program("special", normal(3, 8))
def running_log_sum_exp(x):
    return lax.cumlogsumexp(x, axis=1)


@program("reduction", normal(1, 6, 6, 1))
def gradient_of_max_pool(x):
    def loss(v):
        return jnp.sum(pooled(v, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2)

    return jax.grad(loss)(x)


@program("reduction", normal(1, 7, 7, 2))
def gradient_of_overlapping_max_pool(x):
    def loss(v):
        return jnp.sum(jnp.sin(pooled(v, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")))

    return jax.grad(loss)(x)


@program("reduction", normal(1, 6, 6, 2))
def gradient_of_average_pool(x):
    def loss(v):
        return jnp.sum(pooled(v, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "VALID") ** 3)

    return jax.grad(loss)(x)


@program("exact", normal(9), integers(9))
def window_over_a_pair(x, i):
    def larger(a, b):
        pick = a[0] >= b[0]
        return jnp.where(pick, a[0], b[0]), jnp.where(pick, a[1], b[1])

    return lax.reduce_window((x, i), (jnp.float32(-jnp.inf), jnp.int32(-1)), larger, (3,), (1,), "SAME")


@program("reduction", normal(20))
def moving_average(x):
    return jnp.convolve(x, jnp.ones(5) / 5, mode="same"), jnp.correlate(x, x[:4])
