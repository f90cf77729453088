"""A Llama that generates tokens: grouped queries, rotary positions, SwiGLU, and a cache of keys and values."""

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from layers import Weights, rms_norm, split_heads

WIDTH, HEADS, SHARED, LENGTH, VOCABULARY, LAYERS, BATCH = 128, 4, 2, 64, 512, 2, 2
HEAD = WIDTH // HEADS


def weights(dtype):
    make = Weights(2)
    layers = {
        "norm1": make.ones(LAYERS, WIDTH),
        "q": make.matrix(LAYERS, WIDTH, WIDTH),
        "k": make.matrix(LAYERS, WIDTH, SHARED * HEAD),
        "v": make.matrix(LAYERS, WIDTH, SHARED * HEAD),
        "out": make.matrix(LAYERS, WIDTH, WIDTH),
        "norm2": make.ones(LAYERS, WIDTH),
        "gate": make.matrix(LAYERS, WIDTH, 2 * WIDTH),
        "up": make.matrix(LAYERS, WIDTH, 2 * WIDTH),
        "down": make.matrix(LAYERS, 2 * WIDTH, WIDTH),
    }
    whole = {
        "tokens": make.embedding(VOCABULARY, WIDTH),
        "layers": layers,
        "norm": make.ones(WIDTH),
        # Large entries: the most likely tokens are then far apart.
        "head": make.matrix(WIDTH, VOCABULARY, inputs=1),
    }
    return jax.tree.map(lambda w: w.astype(dtype), whole)


def rotate(x, positions):
    """Rotary positions; x is [batch, heads, HEAD] and positions is [batch]."""
    half = HEAD // 2
    angles = positions.astype(jnp.float32)[:, None, None] * 10000.0 ** (-jnp.arange(half) / half)
    left, right = x[..., :half], x[..., half:]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate([left * cos - right * sin, left * sin + right * cos], -1).astype(x.dtype)


def feed_forward(x, layer):
    hidden = rms_norm(x, layer["norm2"])
    return x + (jax.nn.silu(hidden @ layer["gate"]) * (hidden @ layer["up"])) @ layer["down"]


def project(x, layer, positions):
    hidden = rms_norm(x, layer["norm1"])
    q = rotate(split_heads(hidden @ layer["q"], HEADS), positions)
    k = rotate(split_heads(hidden @ layer["k"], SHARED), positions)
    return q, k, split_heads(hidden @ layer["v"], SHARED)


def decode(weights, cache, tokens, positions, attend):
    """The logits after one more token, and the cache with its keys and values."""
    x = weights["tokens"][tokens]

    def layer(x, each):
        weights, keys, values = each
        q, k, v = project(x, weights, positions)
        attended, keys, values = attend(q, k, v, keys, values)
        x = x + attended.reshape(x.shape) @ weights["out"]
        return feed_forward(x, weights), (keys, values)

    x, cache = lax.scan(layer, x, (weights["layers"], *cache))
    return (rms_norm(x, weights["norm"]) @ weights["head"]).astype(jnp.float32), cache


def attend_at_one_position(position):
    """All sequences are at the same position: the cache is updated by one slice."""

    def attend(q, k, v, keys, values):
        keys = lax.dynamic_update_slice_in_dim(keys, k[:, None], position, axis=1)
        values = lax.dynamic_update_slice_in_dim(values, v[:, None], position, axis=1)
        grouped = q.reshape(BATCH, SHARED, HEADS // SHARED, HEAD)
        scores = jnp.einsum("bgrd,btgd->bgrt", grouped, keys).astype(jnp.float32) / np.sqrt(HEAD)
        scores = jnp.where(jnp.arange(LENGTH) <= position, scores, -1e30)
        shares = jax.nn.softmax(scores).astype(q.dtype)
        return jnp.einsum("bgrt,btgd->bgrd", shares, values), keys, values

    return attend


def attend_at_positions(positions):
    """Each sequence has its own position."""
    update = jax.vmap(lambda cache, new, position: lax.dynamic_update_slice_in_dim(cache, new, position, axis=0))

    def attend(q, k, v, keys, values):
        keys, values = update(keys, k[:, None], positions), update(values, v[:, None], positions)
        attended = jax.nn.dot_product_attention(q[:, None], keys, values, key_value_seq_lengths=positions + 1)
        return attended, keys, values

    return attend


def sample(key, logits):
    """One of the 40 most likely tokens."""
    best, tokens = lax.top_k(logits, 40)
    choice = jax.random.categorical(key, best)
    return jnp.take_along_axis(tokens, choice[:, None], axis=1)[:, 0]


def empty_cache(dtype):
    shape = (LAYERS, BATCH, LENGTH, SHARED, HEAD)
    return np.zeros(shape, dtype), np.zeros(shape, dtype)


FIRST = np.array([3, 141], np.int32)


def make_greedy(dtype):
    def step(state):
        weights, cache, tokens, position = state
        logits, cache = decode(weights, cache, tokens, jnp.full(BATCH, position), attend_at_one_position(position))
        tokens = jnp.argmax(logits, -1).astype(jnp.int32)
        return (weights, cache, tokens, position + 1), tokens

    return step, (weights(dtype), empty_cache(dtype), FIRST, np.int32(0)), lambda step: ()


def sampled_step(weights, cache, tokens, positions, key):
    logits, cache = decode(weights, cache, tokens, positions, attend_at_positions(positions))
    return cache, sample(key, logits).astype(jnp.int32), positions + 1


def make_sampled(dtype):
    def step(state, key):
        weights, *rest = state
        cache, tokens, positions = sampled_step(weights, *rest, key)
        return (weights, cache, tokens, positions), tokens

    state = weights(dtype), empty_cache(dtype), FIRST, np.array([0, 5], np.int32)
    return step, state, lambda step: (np.array([11, step], np.uint32),)


def make_loop(dtype):
    """Up to 8 tokens in a loop on the device, which ends early when all sequences have ended."""
    end = 2

    def step(state, key):
        weights, *rest = state

        def body(carry):
            cache, tokens, positions, key, count = carry
            key, own = jax.random.split(key)
            cache, tokens, positions = sampled_step(weights, cache, tokens, positions, own)
            return cache, tokens, positions, key, count + 1

        goes_on = lambda carry: (carry[4] < 8) & jnp.any(carry[1] != end)  # noqa: E731
        cache, tokens, positions, _, _ = lax.while_loop(goes_on, body, (*rest, key, jnp.int32(0)))
        return (weights, cache, tokens, positions), tokens

    state = weights(dtype), empty_cache(dtype), FIRST, np.array([0, 5], np.int32)
    return step, state, lambda step: (np.array([13, step], np.uint32),)
