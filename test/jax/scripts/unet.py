"""A diffusion-style U-Net: a denoising loss and its gradient, group norm, attention in the middle, up and down sampling."""
import json

import jax
import jax.numpy as jnp
import numpy as np

keys = iter(jax.random.split(jax.random.key(21), 64))
conv_weight = lambda i, o: jax.random.normal(next(keys), (3, 3, i, o)) / jnp.sqrt(9.0 * i)


def conv(x, w, stride=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def group_norm(x, groups=4):
    n, h, w, c = x.shape
    g = x.reshape(n, h, w, groups, c // groups)
    mean, var = g.mean((1, 2, 4), keepdims=True), g.var((1, 2, 4), keepdims=True)
    return ((g - mean) / jnp.sqrt(var + 1e-5)).reshape(x.shape)


def block(x, p, time):
    h = conv(jax.nn.silu(group_norm(x)), p["a"]) + (time @ p["time"])[:, None, None]
    return conv(jax.nn.silu(group_norm(h)), p["b"]) + x @ p["skip"]


def attend(x, p):
    n, h, w, c = x.shape
    q, k, v = jnp.split(group_norm(x).reshape(n, h * w, c) @ p, 3, -1)
    return x + (jax.nn.softmax(q @ k.mT / jnp.sqrt(c)) @ v).reshape(x.shape)


def unet(p, x, t):
    frequency = 1000.0 ** (-jnp.arange(8) / 8)
    time = jnp.concatenate([jnp.sin(t[:, None] * frequency), jnp.cos(t[:, None] * frequency)], -1)
    x1 = block(conv(x, p["in"]), p["down1"], time)
    x2 = block(conv(x1, p["shrink"], 2), p["down2"], time)
    middle = attend(x2, p["attend"])
    grown = jax.image.resize(middle, (*x1.shape[:3], middle.shape[-1]), "nearest")
    return conv(block(jnp.concatenate([grown, x1], -1), p["up"], time), p["out"])


def make(i, o):
    return {"a": conv_weight(i, o), "b": conv_weight(o, o), "time": jax.random.normal(next(keys), (16, o)) * 0.1,
            "skip": jax.random.normal(next(keys), (i, o)) / jnp.sqrt(i)}


params = {"in": conv_weight(3, 16), "down1": make(16, 16), "shrink": conv_weight(16, 32), "down2": make(32, 32),
          "attend": jax.random.normal(next(keys), (32, 96)) * 0.1, "up": make(48, 16), "out": conv_weight(16, 3)}


def loss(params, image, key):
    noise_key, time_key = jax.random.split(key)
    noise = jax.random.normal(noise_key, image.shape)
    t = jax.random.uniform(time_key, (image.shape[0],))
    alpha = jnp.cos(t * jnp.pi / 2)[:, None, None, None]
    noisy = alpha * image + jnp.sqrt(1 - alpha**2) * noise
    return ((unet(params, noisy, t * 100) - noise) ** 2).mean()


@jax.jit
def step(params, image, key):
    value, gradient = jax.value_and_grad(loss)(params, image, key)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradient), value


images = np.random.default_rng(2).standard_normal((4, 16, 16, 3)).astype(np.float32)
losses = []
for i in range(10):
    params, value = step(params, images, jax.random.key(i))
    losses.append(float(value))
print(json.dumps({"loss": losses, "weights": [float(jnp.abs(leaf).mean()) for leaf in jax.tree.leaves(params)]}))
