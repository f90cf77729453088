"""A GPT with learned positions and dropout, trained with AdamW: layers unrolled, in a scan, or in a scan with checkpoints."""

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from layers import Weights, adamw, adamw_state, cast, cross_entropy, dropout, layer_norm, split_heads

WIDTH, HEADS, LENGTH, VOCABULARY, LAYERS, BATCH = 128, 4, 64, 512, 2, 2


def weights():
    make = Weights(1)
    return {
        "tokens": make.embedding(VOCABULARY, WIDTH),
        "positions": make.embedding(LENGTH, WIDTH),
        "layers": {
            "norm1": (make.ones(LAYERS, WIDTH), make.zeros(LAYERS, WIDTH)),
            "qkv": make.matrix(LAYERS, WIDTH, 3 * WIDTH),
            "out": make.matrix(LAYERS, WIDTH, WIDTH),
            "norm2": (make.ones(LAYERS, WIDTH), make.zeros(LAYERS, WIDTH)),
            "up": make.matrix(LAYERS, WIDTH, 4 * WIDTH),
            "down": make.matrix(LAYERS, 4 * WIDTH, WIDTH),
        },
    }


def layer(x, weights, key):
    q, k, v = (split_heads(part, HEADS) for part in jnp.split(layer_norm(x, *weights["norm1"]) @ weights["qkv"], 3, -1))
    attended = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + attended.reshape(x.shape) @ weights["out"]
    hidden = jax.nn.gelu(layer_norm(x, *weights["norm2"]) @ weights["up"])
    return x + dropout(key, hidden @ weights["down"])


def logits(weights, tokens, key, form):
    x = weights["tokens"][tokens] + weights["positions"][: tokens.shape[1]]
    keys = jax.random.split(key, LAYERS)
    if form == "unrolled":
        for index in range(LAYERS):
            x = layer(x, jax.tree.map(lambda w: w[index], weights["layers"]), keys[index])
    else:
        body = jax.checkpoint(layer) if form == "checkpoint" else layer
        x, _ = lax.scan(lambda x, each: (body(x, *each), None), x, (weights["layers"], keys))
    return x @ weights["tokens"].T


def make(dtype, form):
    def loss(weights, tokens, key):
        predicted = logits(cast(weights, dtype), tokens[:, :-1], key, form)
        return cross_entropy(predicted, tokens[:, 1:])

    def batch(step):
        # Runs of following tokens, so that there is something to learn.
        random = np.random.default_rng(100 + step)
        start = random.integers(0, VOCABULARY, (BATCH, 1))
        tokens = (start + np.arange(LENGTH + 1)) % VOCABULARY
        return tokens.astype(np.int32), np.array([7, step], np.uint32)

    return adamw(loss), adamw_state(weights()), batch
