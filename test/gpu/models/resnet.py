"""A small ResNet with batch norm and max pooling, trained with momentum."""

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from layers import Weights, cast, cross_entropy

CHANNELS, IMAGE, CLASSES, BATCH = (16, 32), 32, 10, 2


def convolve(x, filter, stride=1):
    return lax.conv_general_dilated(x, filter, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def weights():
    make = Weights(3)

    def norm(channels):
        return make.ones(channels), make.zeros(channels)

    def filter(size, inputs, outputs):
        return make.matrix(size, size, inputs, outputs, inputs=size * size * inputs)

    blocks, inputs = [], CHANNELS[0]
    for outputs in CHANNELS:
        blocks.append({"first": filter(3, inputs, outputs), "norm1": norm(outputs), "second": filter(3, outputs, outputs),
                       "norm2": norm(outputs), "shortcut": filter(1, inputs, outputs)})  # fmt: skip
        inputs = outputs
    return {"stem": filter(7, 3, CHANNELS[0]), "norm": norm(CHANNELS[0]), "blocks": blocks, "classes": make.matrix(inputs, CLASSES)}


def running_statistics():
    """Mean and variance of every norm: of the stem, then of the blocks."""
    sizes = [CHANNELS[0], *(channels for channels in CHANNELS for _ in range(2))]
    return [(np.zeros(size, np.float32), np.ones(size, np.float32)) for size in sizes]


def batch_norm(x, weights, running):
    """The normalized batch, and the statistics of all batches so far."""
    wide = x.astype(jnp.float32)
    mean = wide.mean((0, 1, 2))
    variance = jnp.square(wide - mean).mean((0, 1, 2))
    scale, bias = weights
    y = ((wide - mean) * lax.rsqrt(variance + 1e-5) * scale + bias).astype(x.dtype)
    return y, (0.9 * running[0] + 0.1 * mean, 0.9 * running[1] + 0.1 * variance)


def logits(weights, running, images):
    running = iter(running)
    kept = []

    def norm(x, weights):
        y, statistics = batch_norm(x, weights, next(running))
        kept.append(statistics)
        return y

    x = jax.nn.relu(norm(convolve(images, weights["stem"], 2), weights["norm"]))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for index, block in enumerate(weights["blocks"]):
        stride = 1 if index == 0 else 2
        y = jax.nn.relu(norm(convolve(x, block["first"], stride), block["norm1"]))
        y = norm(convolve(y, block["second"]), block["norm2"])
        x = jax.nn.relu(y + convolve(x, block["shortcut"], stride))
    return x.mean((1, 2)) @ weights["classes"], kept


def make(dtype):
    def loss(weights, running, images, labels):
        predicted, running = logits(cast(weights, dtype), running, images.astype(dtype))
        return cross_entropy(predicted, labels), running

    def step(state, images, labels):
        weights, momentum, running = state
        (value, running), gradients = jax.value_and_grad(loss, has_aux=True)(weights, running, images, labels)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
        weights = jax.tree.map(lambda w, m: w - 0.01 * m, weights, momentum)
        return (weights, momentum, running), value

    def batch(step):
        random = np.random.default_rng(300 + step)
        labels = random.integers(0, CLASSES, BATCH)
        images = random.standard_normal((BATCH, IMAGE, IMAGE, 3)) + labels[:, None, None, None] / CLASSES
        return images.astype(np.float32), labels.astype(np.int32)

    initial = weights()
    return step, (initial, jax.tree.map(np.zeros_like, initial), running_statistics()), batch
