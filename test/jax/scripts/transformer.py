"""A transformer learns to reverse digits: attention, layer norm, dropout from keys, Adam, 200 steps, donated state."""
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np

WIDTH, HEADS, LAYERS, LENGTH, WORDS = 64, 4, 2, 16, 12


def init(key):
    def dense(key, a, b):
        return jax.random.normal(key, (a, b)) * (a**-0.5)
    keys = iter(jax.random.split(key, 64))
    layer = lambda: {
        "qkv": dense(next(keys), WIDTH, 3 * WIDTH), "out": dense(next(keys), WIDTH, WIDTH),
        "up": dense(next(keys), WIDTH, 4 * WIDTH), "down": dense(next(keys), 4 * WIDTH, WIDTH),
        "scale": jnp.ones((2, WIDTH)), "bias": jnp.zeros((2, WIDTH))}
    return {"embed": dense(next(keys), WORDS, WIDTH), "place": dense(next(keys), LENGTH, WIDTH),
            "layers": [layer() for _ in range(LAYERS)], "head": dense(next(keys), WIDTH, WORDS)}


def norm(x, scale, bias):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + bias


def forward(params, tokens, key):
    x = params["embed"][tokens] + params["place"]
    for p, k in zip(params["layers"], jax.random.split(key, LAYERS)):
        h = norm(x, p["scale"][0], p["bias"][0])
        q, k_, v = jnp.split((h @ p["qkv"]).reshape(*h.shape[:2], HEADS, -1), 3, -1)
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k_) / jnp.sqrt(WIDTH / HEADS))
        x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ p["out"]
        h = jax.nn.gelu(norm(x, p["scale"][1], p["bias"][1]) @ p["up"])
        keep = jax.random.bernoulli(k, 0.9, h.shape)
        x = x + jnp.where(keep, h / 0.9, 0) @ p["down"]
    return x @ params["head"]


def loss(params, tokens, key):
    logits = jax.nn.log_softmax(forward(params, tokens, key))
    return -jnp.take_along_axis(logits, tokens[:, ::-1, None], -1).mean()


@functools.partial(jax.jit, donate_argnums=0)
def step(state, tokens):
    params, first, second, t, key = state
    key, use = jax.random.split(key)
    value, gradient = jax.value_and_grad(loss)(params, tokens, use)
    t = t + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.98 * v + 0.02 * g * g, second, gradient)
    rate = 1e-3 * jnp.minimum(1.0, t / 20)
    params = jax.tree.map(lambda p, m, v: p - rate * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.98**t)) + 1e-8),
                          params, first, second)
    return (params, first, second, t, key), value


params = init(jax.random.key(7))
state = (params, jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params), jnp.float32(0), jax.random.key(8))
random, losses = np.random.default_rng(5), []
for _ in range(200):
    state, value = step(state, random.integers(0, WORDS, (16, LENGTH)))
    losses.append(float(value))
print(json.dumps({"loss": losses}))
