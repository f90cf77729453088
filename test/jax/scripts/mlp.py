"""An MLP learns a spiral: Adam, 200 steps."""
import json

import jax
import jax.numpy as jnp
import numpy as np

random = np.random.default_rng(0)
angle = random.uniform(0, 4 * np.pi, 1024)
label = random.integers(0, 3, 1024)
points = np.stack([angle * np.cos(angle + label * 2.1), angle * np.sin(angle + label * 2.1)], 1).astype(np.float32) / 12
target = jnp.asarray(label)


def init(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (a, b)) / jnp.sqrt(a), jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]


def loss(params, x, y):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    logits = jax.nn.log_softmax(x @ w + b)
    return -jnp.take_along_axis(logits, y[:, None], 1).mean()


@jax.jit
def step(params, first, second, t, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, second, gradient)
    scale = 3e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    params = jax.tree.map(lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), params, first, second)
    return params, first, second, value


params = init(jax.random.key(1), [2, 128, 128, 3])
first = second = jax.tree.map(jnp.zeros_like, params)
losses = []
for t in range(1, 201):
    params, first, second, value = step(params, first, second, jnp.float32(t), points, target)
    losses.append(float(value))
print(json.dumps({"loss": losses}))
