"""An MLP learns a spiral: Adam, 200 steps.

    python mlp.py [float32|float64]
"""
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

dtype = np.dtype(sys.argv[1] if len(sys.argv) > 1 else "float32")
jax.config.update("jax_enable_x64", dtype == np.float64)

random = np.random.default_rng(0)
angle = random.uniform(0, 4 * np.pi, 1024)
label = random.integers(0, 3, 1024)
points = np.stack([angle * np.cos(angle + label * 2.1), angle * np.sin(angle + label * 2.1)], 1).astype(np.float32).astype(dtype) / 12
target = jnp.asarray(label)


def init(sizes):
    draw = lambda a, b: (random.standard_normal((a, b)) / np.sqrt(a)).astype(np.float32).astype(dtype)
    return [(jnp.asarray(draw(a, b)), jnp.zeros(b, dtype)) for a, b in zip(sizes, sizes[1:])]


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


params = init([2, 128, 128, 3])
first = second = jax.tree.map(jnp.zeros_like, params)
losses = []
for t in range(1, 201):
    params, first, second, value = step(params, first, second, dtype.type(t), points, target)
    losses.append(float(value))
print(json.dumps({"loss": losses}))
