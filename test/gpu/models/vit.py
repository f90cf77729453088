"""A vision transformer with a class token, exact gelu and dropout, trained with AdamW."""

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from layers import Weights, adamw, adamw_state, cast, cross_entropy, dropout, layer_norm, split_heads

WIDTH, HEADS, LAYERS, PATCH, IMAGE, CLASSES, BATCH = 64, 2, 2, 8, 32, 10, 2


def weights():
    make = Weights(6)

    def norm():
        return make.ones(WIDTH), make.zeros(WIDTH)

    def layer():
        return {"norm1": norm(), "qkv": make.matrix(WIDTH, 3 * WIDTH), "out": make.matrix(WIDTH, WIDTH), "norm2": norm(),
                "up": make.matrix(WIDTH, 4 * WIDTH), "down": make.matrix(4 * WIDTH, WIDTH)}  # fmt: skip

    return {
        "patches": make.matrix(PATCH, PATCH, 3, WIDTH, inputs=PATCH * PATCH * 3),
        "class": make.embedding(1, 1, WIDTH),
        "positions": make.embedding(1, (IMAGE // PATCH) ** 2 + 1, WIDTH),
        "layers": [layer() for _ in range(LAYERS)],
        "norm": norm(),
        "classes": make.matrix(WIDTH, CLASSES),
    }


def logits(weights, images, key):
    patches = lax.conv_general_dilated(images, weights["patches"], (PATCH, PATCH), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = patches.reshape(BATCH, -1, WIDTH)
    x = jnp.concatenate([jnp.broadcast_to(weights["class"], (BATCH, 1, WIDTH)), x], 1) + weights["positions"]
    for index, layer in enumerate(weights["layers"]):
        projected = layer_norm(x, *layer["norm1"]) @ layer["qkv"]
        q, k, v = (split_heads(part, HEADS) for part in jnp.split(projected, 3, -1))
        x = x + jax.nn.dot_product_attention(q, k, v).reshape(x.shape) @ layer["out"]
        hidden = jax.nn.gelu(layer_norm(x, *layer["norm2"]) @ layer["up"], approximate=False)
        x = x + dropout(jax.random.fold_in(key, index), hidden @ layer["down"])
    return layer_norm(x[:, 0], *weights["norm"]) @ weights["classes"]


def make(dtype):
    def loss(weights, images, labels, key):
        return cross_entropy(logits(cast(weights, dtype), images.astype(dtype), key), labels)

    def batch(step):
        random = np.random.default_rng(600 + step)
        labels = random.integers(0, CLASSES, BATCH)
        images = random.standard_normal((BATCH, IMAGE, IMAGE, 3)) + labels[:, None, None, None] / CLASSES
        return images.astype(np.float32), labels.astype(np.int32), np.array([23, step], np.uint32)

    return adamw(loss), adamw_state(weights()), batch
