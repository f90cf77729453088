"""An MLP in bf16 learns a surface with momentum, 12 steps at the default precision: products for tensor cores, forward and backward.

    python half_precision.py [bfloat16 | float16 | float32] [STEPS]

Weights are kept in f32 and rounded in each step, as mixed-precision training does; sums, the loss and the update are f32.
"""
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

dtype = jnp.dtype(sys.argv[1] if len(sys.argv) > 1 else "bfloat16")
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 12
precision = "highest" if dtype == jnp.float32 else None
sizes = [32, 64, 128, 16]
random = np.random.default_rng(5)
x = random.uniform(-1, 1, (128, sizes[0])).astype(np.float32)
y = np.tanh(x @ random.standard_normal((sizes[0], sizes[-1])).astype(np.float32) / 3)


def loss(params, x, y):
    x = x.astype(dtype)
    for index, (w, b) in enumerate(params):
        x = jnp.dot(x, w.astype(dtype), precision=precision) + b.astype(dtype)
        if index + 1 < len(params):
            x = jax.nn.relu(x)
    return jnp.mean((x.astype(jnp.float32) - y) ** 2)


@jax.jit
def step(params, momentum, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    momentum = jax.tree.map(lambda m, g: 0.8 * m + g, momentum, gradient)
    return jax.tree.map(lambda p, m: p - 0.3 * m, params, momentum), momentum, value


params = [(random.standard_normal((a, b)).astype(np.float32) * np.sqrt(2 / a), np.zeros(b, np.float32)) for a, b in zip(sizes, sizes[1:])]
momentum = jax.tree.map(np.zeros_like, params)
losses = []
for _ in range(steps):
    params, momentum, value = step(params, momentum, x, y)
    losses.append(float(value))
# Multiply-adds of a step: each product forward, once for its weights and, but for the first, once for its input.
products = sum(x.shape[0] * a * b * (2 if index == 0 else 3) for index, (a, b) in enumerate(zip(sizes, sizes[1:])))
print(json.dumps({"loss": losses, "multiply_adds": products * steps}))
