"""What several models share: norms, dropout, losses, optimizers, weights."""

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp


class Weights:
    """Random weights, the same in every run. They are stored in f32; the models compute in their own type."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def matrix(self, *shape, inputs=None):
        """Values of variance 1 / inputs, where inputs is the second last size unless it is given."""
        return (self.random.standard_normal(shape) / np.sqrt(inputs or shape[-2])).astype(np.float32)

    def embedding(self, *shape):
        return (self.random.standard_normal(shape) * 0.1).astype(np.float32)

    def ones(self, *shape):
        return np.ones(shape, np.float32)

    def zeros(self, *shape):
        return np.zeros(shape, np.float32)


def cast(tree, dtype):
    """The floats of a tree in the type of the computation."""
    return jax.tree.map(lambda x: x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x, tree)


def layer_norm(x, scale, bias):
    wide = x.astype(jnp.float32)
    mean = wide.mean(-1, keepdims=True)
    variance = jnp.square(wide - mean).mean(-1, keepdims=True)
    return ((wide - mean) * lax.rsqrt(variance + 1e-5)).astype(x.dtype) * scale + bias


def rms_norm(x, scale):
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt(jnp.square(wide).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * scale


def dropout(key, x, keep=0.9):
    return jnp.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0).astype(x.dtype)


def cross_entropy(logits, labels):
    """The mean negative log likelihood of the labels."""
    likelihoods = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.take_along_axis(likelihoods, labels[..., None], axis=-1).mean()


def mean_square(x):
    return jnp.mean(jnp.square(x.astype(jnp.float32)))


def split_heads(x, heads):
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)


def adamw(loss, rate=1e-3, decay=0.01):
    """A training step with AdamW and clipped gradients, as (state, *batch) -> (state, loss)."""

    def step(state, *batch):
        weights, first, second, count = state
        value, gradients = jax.value_and_grad(loss)(weights, *batch)
        size = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(gradients)))
        gradients = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / size), gradients)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)
        count = count + 1
        time = count.astype(jnp.float32)
        scale = jnp.sqrt(1 - 0.99**time) / (1 - 0.9**time)
        weights = jax.tree.map(lambda w, m, v: w - rate * (scale * m / (jnp.sqrt(v) + 1e-6) + decay * w), weights, first, second)
        return (weights, first, second, count), value

    return step


def adamw_state(weights):
    zeros = jax.tree.map(np.zeros_like, weights)
    return weights, zeros, jax.tree.map(np.copy, zeros), np.int32(0)
