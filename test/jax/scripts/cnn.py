"""A CNN learns to tell stripes from checks: convolutions, pooling, batch norm, Adam, 200 steps."""
import json

import jax
import jax.numpy as jnp
import numpy as np

random = np.random.default_rng(3)
kind = random.integers(0, 4, 256)
grid = np.indices((16, 16))
patterns = np.stack([grid[0] % 4 < 2, grid[1] % 4 < 2, (grid[0] + grid[1]) % 4 < 2, grid.sum(0) % 2 == 0])
images = (patterns[kind] + 0.7 * random.standard_normal((256, 16, 16))).astype(np.float32)[..., None]


def conv(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def forward(params, x):
    for w, scale, bias in params["conv"]:
        x = conv(x, w)
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        x = jax.nn.relu((x - mean) / jnp.sqrt(var + 1e-5) * scale + bias)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(x.shape[0], -1) @ params["w"] + params["b"]


def loss(params, x, y):
    return -jax.nn.log_softmax(forward(params, x))[jnp.arange(len(y)), y].mean()


@jax.jit
def step(state, t, x, y):
    params, first, second = state
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradient)
    params = jax.tree.map(
        lambda p, m, v: p - 2e-3 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.99**t)) + 1e-6), params, first, second)
    return (params, first, second), value


keys = jax.random.split(jax.random.key(0), 3)
params = {
    "conv": [(jax.random.normal(k, (3, 3, i, o)) / jnp.sqrt(9.0 * i), jnp.ones(o), jnp.zeros(o))
             for k, i, o in zip(keys, (1, 8), (8, 16))],
    "w": jax.random.normal(keys[2], (4 * 4 * 16, 4)) * 0.05,
    "b": jnp.zeros(4),
}
zeros = jax.tree.map(jnp.zeros_like, params)
state, losses = (params, zeros, zeros), []
for t in range(1, 201):
    begin = t * 32 % 256
    state, value = step(state, jnp.float32(t), images[begin:begin + 32], jnp.asarray(kind[begin:begin + 32]))
    losses.append(float(value))
print(json.dumps({"loss": losses}))
