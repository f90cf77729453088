"""Composites: named ops whose meaning is their decomposition."""

import jax
import jax.numpy as jnp
import numpy as np
from catalog import normal, program, uniform
from jax import lax


@program("arithmetic", normal(6))
def of_our_own(x):
    return lax.composite(lambda v: v * 2.0 + 1.0, name="example.affine")(x)


@program("arithmetic", normal(6))
def with_attributes(x):
    def scale(v, *, factor):
        return v * factor

    return lax.composite(scale, name="example.scale", version=2)(x, factor=np.float32(3.0))


@program("arithmetic", normal(4), normal(4))
def within_each_other(x, y):
    inner = lax.composite(lambda a, b: (a + b, a - b), name="example.butterfly")
    return lax.composite(lambda a, b: inner(*inner(a, b)), name="example.twice")(x, y)


@program("special", uniform(12, low=-2, high=2))
def functions_that_are_composites(x):
    return jnp.arcsinh(x), jnp.arccos(x / 3), lax.erf(x), jnp.arctanh(x / 3), jnp.sinh(x), jnp.cosh(x)


@program("arithmetic", normal(5))
def in_a_loop(x):
    step = lax.composite(lambda v: v * 0.5 + 1.0, name="example.step")
    return lax.fori_loop(0, 4, lambda _, v: step(v), x)


@program("contraction", normal(2, 6, 2, 8), normal(2, 6, 2, 8), normal(2, 6, 2, 8))
def attention_of_the_library(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)
