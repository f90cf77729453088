"""Small models in plain JAX for bench/cpu.py: a GPT (forward, training, decoding), an MLP and a ResNet."""
import functools

import jax
import jax.numpy as jnp
import numpy

MODELS = {}


def model(name):
    def add(make):
        MODELS[name] = make
        return make
    return add


def weights(seed, dtype, **shapes):
    random = numpy.random.default_rng(seed)
    return {name: jnp.asarray(random.standard_normal(shape, dtype=numpy.float32) * 0.02).astype(dtype)
            for name, shape in shapes.items()}


# A GPT of six layers: width 512, 8 heads, a context of 256 tokens, a vocabulary of 8,192.
LAYERS, WIDTH, HEADS, CONTEXT, WORDS, BATCH = 6, 512, 8, 256, 8192, 4


def gpt_weights(dtype):
    layers = [weights(i, dtype, qkv=(WIDTH, 3 * WIDTH), out=(WIDTH, WIDTH), up=(WIDTH, 4 * WIDTH),
                      down=(4 * WIDTH, WIDTH), norm1=(WIDTH,), norm2=(WIDTH,)) for i in range(LAYERS)]
    return {"layers": layers, **weights(99, dtype, embed=(WORDS, WIDTH), position=(CONTEXT, WIDTH))}


def norm(x, scale):
    x32 = x.astype(jnp.float32)
    return (x32 * jax.lax.rsqrt((x32 * x32).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * (1 + scale)


def heads(x):
    return x.reshape(*x.shape[:-1], HEADS, WIDTH // HEADS)


def gpt_layer(x, p):
    q, k, v = (heads(t) for t in jnp.split(norm(x, p["norm1"]) @ p["qkv"], 3, -1))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / 8
    n = scores.shape[-1]
    scores = jnp.where(jnp.tril(jnp.ones((n, n), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1).astype(x.dtype), v)
    x = x + mixed.reshape(x.shape) @ p["out"]
    return x + jax.nn.gelu(norm(x, p["norm2"]) @ p["up"]) @ p["down"]


def gpt(p, tokens):
    x = p["embed"][tokens] + p["position"][: tokens.shape[1]]
    for layer in p["layers"]:
        x = gpt_layer(x, layer)
    return x @ p["embed"].T


def cross_entropy(logits, targets):
    logits = logits.astype(jnp.float32)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1).mean()


def tokens():
    return jnp.asarray(numpy.random.default_rng(5).integers(0, WORDS, (BATCH, CONTEXT), dtype=numpy.int32))


def adam(parameters, gradients, first, second):
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
    updated = jax.tree.map(lambda p, m, v: p - (1e-3 * m / (jnp.sqrt(v) + 1e-8)).astype(p.dtype), parameters, first, second)
    return updated, first, second


def gpt_train(p, first, second, x):
    loss, gradients = jax.value_and_grad(lambda p: cross_entropy(gpt(p, x[:, :-1]), x[:, 1:]))(p)
    return (loss, *adam(p, gradients, first, second))


def gpt_decode(p, cache, position, token):
    """Decodes one token of each sequence, with the cached keys and values of all earlier tokens."""
    x = p["embed"][token] + p["position"][position]
    kept = []
    for layer, (keys, values) in zip(p["layers"], cache):
        q, k, v = (heads(t) for t in jnp.split(norm(x, layer["norm1"]) @ layer["qkv"], 3, -1))
        keys = jax.lax.dynamic_update_index_in_dim(keys, k, position, 1)
        values = jax.lax.dynamic_update_index_in_dim(values, v, position, 1)
        kept.append((keys, values))
        scores = jnp.einsum("bhd,bkhd->bhk", q, keys) / 8
        scores = jnp.where(jnp.arange(CONTEXT) <= position, scores, -1e9)
        mixed = jnp.einsum("bhk,bkhd->bhd", jax.nn.softmax(scores, -1), values)
        x = x + mixed.reshape(x.shape) @ layer["out"]
        x = x + jax.nn.gelu(norm(x, layer["norm2"]) @ layer["up"]) @ layer["down"]
    return x @ p["embed"].T, kept


def _gpt(kind, dtype):
    MODELS[f"gpt_fwd_{kind}"] = lambda: (gpt, (gpt_weights(dtype), tokens()))

    def train():
        p = gpt_weights(dtype)
        zeros = functools.partial(jax.tree.map, jnp.zeros_like)
        return gpt_train, (p, zeros(p), zeros(p), tokens())
    MODELS[f"gpt_train_{kind}"] = train


_gpt("f32", jnp.float32)
_gpt("bf16", jnp.bfloat16)


@model("gpt_decode_f32")
def _():
    cache = [tuple(jnp.zeros((BATCH, CONTEXT, HEADS, WIDTH // HEADS)) for _ in range(2)) for _ in range(LAYERS)]
    return gpt_decode, (gpt_weights(jnp.float32), cache, jnp.int32(100), jnp.zeros(BATCH, jnp.int32))


def mlp_train(p, x, y):
    def loss(p):
        h = x
        for w in p[:-1]:
            h = jax.nn.relu(h @ w)
        return ((h @ p[-1] - y).astype(jnp.float32) ** 2).mean()
    value, gradients = jax.value_and_grad(loss)(p)
    return value, jax.tree.map(lambda w, g: w - (0.01 * g).astype(w.dtype), p, gradients)


def _mlp(kind, dtype):
    def make():
        p = list(weights(1, dtype, a=(784, 1024), b=(1024, 1024), c=(1024, 10)).values())
        data = weights(2, dtype, x=(512, 784), y=(512, 10))
        return mlp_train, (p, data["x"], data["y"])
    MODELS[f"mlp_train_{kind}"] = make


_mlp("f32", jnp.float32)
_mlp("bf16", jnp.bfloat16)


def convolve(x, w, stride=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def resnet(p, x):
    x = jax.nn.relu(convolve(x, p["stem"], 2))
    for i, (a, b) in enumerate(p["blocks"]):
        stride = 2 if i % 2 else 1
        y = convolve(jax.nn.relu(convolve(x, a, stride)), b)
        shortcut = x[:, ::stride, ::stride]
        x = jax.nn.relu(y + jnp.pad(shortcut, ((0, 0),) * 3 + ((0, y.shape[-1] - shortcut.shape[-1]),)))
    return x.mean((1, 2)) @ p["head"]


def _resnet(kind, dtype):
    def make():
        widths = [64, 64, 128, 128, 256, 256, 512, 512]
        blocks = []
        for i, (before, after) in enumerate(zip([64, *widths], widths)):
            w = weights(10 + i, dtype, a=(3, 3, before, after), b=(3, 3, after, after))
            blocks.append((w["a"], w["b"]))
        p = {"blocks": blocks, **weights(7, dtype, stem=(7, 7, 3, 64), head=(512, 1000))}
        return resnet, (p, weights(8, dtype, x=(4, 112, 112, 3))["x"])
    MODELS[f"resnet_fwd_{kind}"] = make


_resnet("f32", jnp.float32)
_resnet("bf16", jnp.bfloat16)
