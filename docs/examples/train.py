"""A small network, trained for a few steps. Nothing in here knows of Tilewright."""

import jax
import jax.numpy as jnp


def loss(weights, x, y):
    for w in weights[:-1]:
        x = jnp.tanh(x @ w)
    return jnp.mean((x @ weights[-1] - y) ** 2)


@jax.jit
def step(weights, x, y):
    value, gradients = jax.value_and_grad(loss)(weights, x, y)
    return [w - 0.1 * g for w, g in zip(weights, gradients)], value


keys = jax.random.split(jax.random.key(0), 4)
weights = [jax.random.normal(key, shape) / 8 for key, shape in zip(keys, [(64, 64), (64, 64), (64, 1)])]
x = jax.random.normal(keys[3], (256, 64))
y = x.sum(axis=1, keepdims=True)
for _ in range(20):
    weights, value = step(weights, x, y)
print("loss", value)
print("on", jax.devices()[0].device_kind)
