"""A U-Net that predicts the noise of images: training with AdamW, and a sampler that starts from noise."""

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from layers import Weights, adamw, adamw_state, cast, mean_square, split_heads
from resnet import convolve

CHANNELS, GROUPS, IMAGE, BATCH, STEPS = 32, 4, 16, 2, 1000


def weights():
    make = Weights(4)

    def filter(inputs, outputs):
        return make.matrix(3, 3, inputs, outputs, inputs=9 * inputs)

    def norm():
        return make.ones(CHANNELS), make.zeros(CHANNELS)

    def block():
        return {"norm1": norm(), "first": filter(CHANNELS, CHANNELS), "norm2": norm(), "second": filter(CHANNELS, CHANNELS)}

    return {
        "time": make.matrix(32, CHANNELS),
        "in": filter(3, CHANNELS),
        "blocks": [block() for _ in range(4)],
        "down": filter(CHANNELS, CHANNELS),
        "attention": {"norm": norm(), "qkv": make.matrix(CHANNELS, 3 * CHANNELS), "out": make.matrix(CHANNELS, CHANNELS)},
        "up": filter(CHANNELS, CHANNELS),
        "join": make.matrix(2 * CHANNELS, CHANNELS),
        "norm": norm(),
        "out": filter(CHANNELS, 3),
    }


def group_norm(x, scale, bias):
    images, height, width, channels = x.shape
    grouped = x.reshape(images, height * width, GROUPS, channels // GROUPS).astype(jnp.float32)
    mean = grouped.mean((1, 3), keepdims=True)
    variance = jnp.square(grouped - mean).mean((1, 3), keepdims=True)
    y = ((grouped - mean) * lax.rsqrt(variance + 1e-5)).reshape(x.shape)
    return (y * scale + bias).astype(x.dtype)


def residual(x, weights, time):
    y = convolve(jax.nn.silu(group_norm(x, *weights["norm1"])), weights["first"])
    y = y + time[:, None, None]
    return x + convolve(jax.nn.silu(group_norm(y, *weights["norm2"])), weights["second"])


def attention(x, weights):
    images, height, width, channels = x.shape
    projected = group_norm(x, *weights["norm"]).reshape(images, height * width, channels) @ weights["qkv"]
    q, k, v = (split_heads(part, 2) for part in jnp.split(projected, 3, -1))
    attended = jax.nn.dot_product_attention(q, k, v).reshape(images, height * width, channels)
    return x + (attended @ weights["out"]).reshape(x.shape)


def noise_of(weights, images, times):
    """The noise that the model sees in the images, at these times of the diffusion."""
    angles = times[:, None] * jnp.exp(-jnp.arange(16) / 16 * np.log(10000.0))
    time = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1).astype(images.dtype) @ weights["time"]
    first, second, third, fourth = weights["blocks"]
    wide = residual(convolve(images, weights["in"]), first, time)
    x = residual(convolve(wide, weights["down"], 2), second, time)
    x = residual(attention(x, weights["attention"]), third, time)
    x = jax.image.resize(x, wide.shape, "nearest")
    x = jnp.concatenate([convolve(x, weights["up"]), wide], -1) @ weights["join"]
    x = residual(x, fourth, time)
    return convolve(jax.nn.silu(group_norm(x, *weights["norm"])), weights["out"])


def make_training(dtype):
    def loss(weights, images, key):
        for_times, for_noise = jax.random.split(key)
        times = jax.random.randint(for_times, (BATCH,), 0, STEPS)
        noise = jax.random.normal(for_noise, images.shape)
        kept = jnp.cumprod(1 - jnp.linspace(1e-4, 0.02, STEPS))[times][:, None, None, None]
        seen = (jnp.sqrt(kept) * images + jnp.sqrt(1 - kept) * noise).astype(dtype)
        return mean_square(noise_of(cast(weights, dtype), seen, times.astype(jnp.float32)) - noise)

    def batch(step):
        random = np.random.default_rng(400 + step)
        images = random.uniform(-1, 1, (BATCH, 1, 1, 3)) * np.ones((1, IMAGE, IMAGE, 1))
        return images.astype(np.float32), np.array([17, step], np.uint32)

    return adamw(loss), adamw_state(weights()), batch


def make_sampler(dtype, steps=10):
    def step(state, key):
        noise_rates = jnp.linspace(1e-4, 0.2, steps)
        kept = jnp.cumprod(1 - noise_rates)

        def denoise(images, index):
            time = steps - 1 - index
            predicted = noise_of(state, images.astype(dtype), jnp.full(BATCH, time, jnp.float32)).astype(jnp.float32)
            images = (images - noise_rates[time] / jnp.sqrt(1 - kept[time]) * predicted) / jnp.sqrt(1 - noise_rates[time])
            noise = jax.random.normal(jax.random.fold_in(key, index), images.shape)
            return jnp.where(time > 0, images + jnp.sqrt(noise_rates[time]) * noise, images), None

        start = jax.random.normal(key, (BATCH, IMAGE, IMAGE, 3))
        return state, lax.scan(denoise, start, jnp.arange(steps))[0]

    return step, jax.tree.map(lambda w: w.astype(dtype), weights()), lambda step: (np.array([19, step], np.uint32),)
