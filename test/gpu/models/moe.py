"""A mixture of experts, each token to two of four: tokens sorted by expert with ragged_dot, or one-hot einsums with a capacity."""

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from layers import Weights, adamw, adamw_state, cast, mean_square

WIDTH, HIDDEN, EXPERTS, CHOICES, TOKENS, CAPACITY = 64, 128, 4, 2, 96, 64


def weights():
    make = Weights(5)
    return {"route": make.matrix(WIDTH, EXPERTS), "up": make.matrix(EXPERTS, WIDTH, HIDDEN), "down": make.matrix(EXPERTS, HIDDEN, WIDTH)}


def routes(weights, x):
    """The chosen experts of each token, and their shares."""
    return lax.top_k(jax.nn.softmax((x @ weights["route"]).astype(jnp.float32)), CHOICES)


def sorted_experts(weights, x):
    shares, experts = routes(weights, x)
    flat = experts.reshape(-1)
    order = jnp.argsort(flat)
    token = order // CHOICES
    sizes = jnp.bincount(flat, length=EXPERTS).astype(jnp.int32)
    hidden = jax.nn.silu(lax.ragged_dot(x[token], weights["up"], sizes))
    y = lax.ragged_dot(hidden, weights["down"], sizes)
    y = y * shares.reshape(-1)[order][:, None].astype(y.dtype)
    return jnp.zeros_like(x).at[token].add(y)


def dispatched_experts(weights, x):
    shares, experts = routes(weights, x)
    chosen = jax.nn.one_hot(experts, EXPERTS)
    place = jnp.cumsum(chosen.reshape(-1, EXPERTS), axis=0).reshape(chosen.shape) * chosen - 1
    # A token beyond the capacity of its expert is dropped: its place has no one-hot entry.
    share = jnp.einsum("tc,tce,tcep->tep", shares, chosen, jax.nn.one_hot(place, CAPACITY)).astype(x.dtype)
    inputs = jnp.einsum("td,tep->epd", x, (share > 0).astype(x.dtype))
    hidden = jax.nn.silu(jnp.einsum("epd,edf->epf", inputs, weights["up"]))
    return jnp.einsum("epf,efd,tep->td", hidden, weights["down"], share)


def make(dtype, form):
    experts = sorted_experts if form == "ragged" else dispatched_experts

    def loss(weights, x, y):
        x = x.astype(dtype)
        return mean_square((x + experts(cast(weights, dtype), x)).astype(jnp.float32) - y)

    def batch(step):
        random = np.random.default_rng(500 + step)
        x = random.standard_normal((TOKENS, WIDTH)).astype(np.float32)
        return x, np.roll(x, 1, axis=1)

    return adamw(loss), adamw_state(weights()), batch
