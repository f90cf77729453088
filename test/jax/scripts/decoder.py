"""A decoder with a KV cache writes 48 tokens, greedily and by sampling, one jitted step each, cache donated."""
import functools
import json

import jax
import jax.numpy as jnp

WIDTH, HEADS, LAYERS, LENGTH, WORDS = 96, 6, 3, 64, 50
keys = iter(jax.random.split(jax.random.key(11), 32))
dense = lambda a, b: jax.random.normal(next(keys), (a, b)) * a**-0.5
params = {"embed": dense(WORDS, WIDTH) * 3, "layers": [
    {"qkv": dense(WIDTH, 3 * WIDTH), "out": dense(WIDTH, WIDTH), "up": dense(WIDTH, 2 * WIDTH), "down": dense(2 * WIDTH, WIDTH)}
    for _ in range(LAYERS)]}


def rotate(x, position):
    half = x.shape[-1] // 2
    angle = position / 100 ** (jnp.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -1)


@functools.partial(jax.jit, donate_argnums=1)
def step(params, cache, position, token):
    x, kept = params["embed"][token], []
    for p, (keys, values) in zip(params["layers"], cache):
        h = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)
        q, k, v = jnp.split((h @ p["qkv"]).reshape(-1, HEADS, 3 * WIDTH // HEADS), 3, -1)
        q, k = rotate(q, position), rotate(k, position)
        keys = jax.lax.dynamic_update_slice(keys, k[:, None], (0, position, 0, 0))
        values = jax.lax.dynamic_update_slice(values, v[:, None], (0, position, 0, 0))
        scores = jnp.einsum("bhd,bkhd->bhk", q, keys) / 4
        scores = jnp.where(jnp.arange(LENGTH) <= position, scores, -jnp.inf)
        x = x + jnp.einsum("bhk,bkhd->bhd", jax.nn.softmax(scores), values).reshape(x.shape) @ p["out"]
        x = x + jax.nn.silu(x @ p["up"]) @ p["down"]
        kept.append((keys, values))
    return x @ params["embed"].T / 3, kept


def generate(choose):
    cache = [tuple(jnp.zeros((2, LENGTH, HEADS, WIDTH // HEADS)) for _ in range(2)) for _ in range(LAYERS)]
    token, written = jnp.array([1, 2]), []
    for position in range(48):
        logits, cache = step(params, cache, jnp.int32(position), token)
        token = choose(logits, position)
        written.append([int(t) for t in token])
    return written, [float(v) for v in logits[0]]


greedy, logits = generate(lambda logits, _: logits.argmax(-1))
sampled, _ = generate(lambda logits, i: jax.random.categorical(jax.random.key(i), jax.lax.top_k(logits, 10)[0]))
print(json.dumps({"greedy": sum(greedy, []), "sampled": sum(sampled, []), "logits": logits}))
