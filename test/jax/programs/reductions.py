"""Reductions."""

import jax
import jax.numpy as jnp
from catalog import booleans, integers, normal, program, uniform, values
from jax import lax

NAN = float("nan")


@program("reduction", uniform(6, 7, 5, low=-0.2, high=1))
def sums_along_each_axis(x):
    return x.sum(), x.sum(axis=0), x.sum(axis=(0, 2)), x.sum(axis=-1, keepdims=True)


@program("reduction", uniform(4, 6, low=0.5, high=1.5))
def products(x):
    return x.prod(), x.prod(axis=0)


@program("exact", normal(5, 8))
def extremes_and_where_they_are(x):
    return x.max(axis=1), x.min(axis=0), x.argmax(axis=1), x.argmin(), jnp.ptp(x)


@program("exact", values(1.0, NAN, 3.0, -2.0, 0.5, 4.0, 2.0, -1.0, 0.0, 9.0, 8.0, 7.0))
def extremes_with_nan(x):
    rows = x.reshape(4, 3)
    return rows.max(axis=1), rows.argmax(axis=1), jnp.nanmax(rows, axis=1), jnp.nanmin(x)


@program("reduction", normal(6, 9))
def moments(x):
    return x.mean(), x.var(axis=0), x.std(axis=1), jnp.cov(x[:3])


@program("reduction", normal(5, 7))
def norms(x):
    return jnp.linalg.norm(x), jnp.linalg.norm(x, ord=1, axis=1), jnp.linalg.norm(x, ord=jnp.inf, axis=0)


@program("exact", booleans(6, 6))
def any_and_all(p):
    return p.any(axis=0), p.all(axis=1), jnp.count_nonzero(p)


@program("exact", integers(6, 10))
def integer_sums_and_products(x):
    return x.sum(axis=0), (x % 3).prod(axis=1), jnp.bitwise_or.reduce(x, axis=0), jnp.bitwise_xor.reduce(x, axis=1)


@program("exact", integers(40, low=-100, high=100, dtype="int8"))
def sum_of_small_integers_wraps(x):
    return lax.reduce(x, jnp.int8(0), lax.add, (0,)), x.sum(dtype=jnp.int32)


@program("reduction", normal(8, 8, dtype="bfloat16"), normal(8, 8, dtype="float16"))
def sums_in_half_precision(x, y):
    return x.sum(axis=0), y.sum(axis=1), x.mean(), y.var()


@program("exact", normal(7), integers(7))
def pair_reduced_together(x, i):
    def larger(a, b):
        pick = a[0] >= b[0]
        return jnp.where(pick, a[0], b[0]), jnp.where(pick, a[1], b[1])

    return lax.reduce((x, i), (jnp.float32(-jnp.inf), jnp.int32(0)), larger, (0,))


@program("reduction", normal(10, 3), normal(10, 3))
def losses(prediction, target):
    difference = prediction - target
    huber = jnp.where(jnp.abs(difference) < 1, 0.5 * difference**2, jnp.abs(difference) - 0.5)
    return jnp.mean(difference**2), jnp.mean(jnp.abs(difference)), huber.mean(axis=0)


@program("reduction", normal(12, 5), integers(12, low=0, high=5))
def cross_entropy(logits, labels):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
    return -picked.mean()


@program("reduction", uniform(6, 4, low=0.1, high=1), uniform(6, low=0, high=1))
def weighted_average(x, w):
    return jnp.average(x, axis=0, weights=w), jnp.trapezoid(x, axis=0)


@program("reduction", normal(4, 5, dtype="float64"), x64=True)
def sums_in_double(x):
    return x.sum(), x.mean(axis=0), jnp.linalg.norm(x)


@program("exact", normal(0, 4))
def nothing_to_reduce(x):
    return x.sum(axis=0), x.prod(axis=0), x.sum(), x.all(axis=0)
