"""An MLP learns a surface with Adam, 20 steps: products, biases, gelu, a norm, a mean, and all their gradients.

    python adam.py [STEPS]
"""
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
random = np.random.default_rng(3)
x = random.uniform(-1, 1, (256, 8)).astype(np.float32)
y = np.stack([np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2], np.cos(2 * x[:, 3]) * x[:, 4]], 1).astype(np.float32)


def init(sizes):
    return [(random.standard_normal((a, b)).astype(np.float32) / np.sqrt(a), np.zeros(b, np.float32))
            for a, b in zip(sizes, sizes[1:])]


def loss(params, x, y):
    for w, b in params[:-1]:
        x = jax.nn.gelu(jnp.dot(x, w, precision="highest") + b)
        x = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    w, b = params[-1]
    return jnp.mean((jnp.dot(x, w, precision="highest") + b - y) ** 2)


@jax.jit
def step(params, first, second, t, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, second, gradient)
    scale = 1e-2 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    params = jax.tree.map(lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), params, first, second)
    return params, first, second, value


params = init([8, 64, 64, 2])
first = second = jax.tree.map(np.zeros_like, params)
losses = []
for t in range(1, steps + 1):
    params, first, second, value = step(params, first, second, np.float32(t), x, y)
    losses.append(float(value))
print(json.dumps({"loss": losses}))
