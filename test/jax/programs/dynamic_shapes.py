"""Programs exported for sizes that are known only when they run."""

import jax
import jax.numpy as jnp
from catalog import integers, normal, program
from jax import lax


@program("arithmetic", normal(5, 3).of_shape("b, 3"))
def unknown_batch(x):
    return x * 2.0 + 1.0, -x


@program("reduction", normal(6, 4).of_shape("b, 4"))
def reduced_over_an_unknown_size(x):
    return x.sum(axis=0), x.mean(axis=0), x.max(axis=1)


@program("contraction", normal(3, 5).of_shape("m, k"), normal(5, 4).of_shape("k, n"))
def product_of_unknown_sizes(x, y):
    return x @ y


@program("exact", normal(4, 6).of_shape("a, b"))
def reshaped(x):
    return x.reshape(-1), x.T, jnp.broadcast_to(x[None], (2, *x.shape))


@program("exact", normal(4, 3).of_shape("a, 3"), normal(2, 3).of_shape("b, 3"))
def joined_and_padded(x, y):
    return jnp.concatenate([x, y]), jnp.pad(x, ((1, 2), (0, 0))), x[1:], jnp.flip(y, 0)


@program("exact", integers(7).of_shape("n"))
def counted(x):
    return jnp.arange(x.shape[0]) + x, jnp.sum(x > 0), jnp.sort(x)


@program("exact", normal(6, 2).of_shape("n, 2"), integers(3, low=0, high=6))
def gathered(x, at):
    return x[at], x.at[at].set(0.0)


@program("network", normal(4, 6).of_shape("b, 6"), normal(6, 5), normal(5, 3))
def network_with_any_batch(x, w1, w2):
    return jax.nn.softmax(jnp.tanh(x @ w1) @ w2)


@program("arithmetic", normal(5).of_shape("n"), normal())
def scan_of_unknown_length(xs, start):
    return lax.scan(lambda c, x: (0.5 * c + x, c), start, xs)


@program("contraction", normal(2, 8, 8, 2).of_shape("b, 8, 8, 2"), normal(3, 3, 2, 3))
def convolution_with_any_batch(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
