"""A transformer trained on a grid of devices: the batch over `data`, heads, hidden units and words over `model`.

    python parallel_transformer.py                                    one device
    python parallel_transformer.py --grid 2 2 --coordinator HOST:PORT --processes 4 --rank 0 … 3

Each device computes its part of the batch with its part of the weights, and they meet where a sum over the whole is
needed: after attention, after the hidden units, in the embedding, in the cross entropy, in the gradients. It learns to
reverse a sequence. Prints the loss of each step as JSON.
"""
import argparse
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

WIDTH, HEADS, LAYERS, LENGTH, WORDS, BATCH = 64, 4, 2, 16, 32, 16

parser = argparse.ArgumentParser()
parser.add_argument("--grid", type=int, nargs=2, default=(1, 1))
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--type", default="float32")
parser.add_argument("--coordinator")
parser.add_argument("--processes", type=int, default=1)
parser.add_argument("--rank", type=int, default=0)
given = parser.parse_args()

jax.config.update("jax_enable_x64", given.type == "float64")
if given.coordinator:
    jax.distributed.initialize(given.coordinator, given.processes, given.rank)
mesh = jax.make_mesh(tuple(given.grid), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2,
                     devices=jax.devices()[: given.grid[0] * given.grid[1]])

# How each weight is sharded. Weights that are not listed are replicated.
LAYER = {"qkv": P(None, None, "model", None), "out": P("model", None, None), "up": P(None, "model"),
         "up_bias": P("model"), "down": P("model", None), "down_bias": P(), "scale": P(), "bias": P()}
SPECS = {"embed": P("model", None), "place": P(), "layers": [LAYER] * LAYERS, "scale": P(), "bias": P()}


def init():
    random = np.random.default_rng(7)
    dense = lambda *shape, fan: random.standard_normal(shape) * fan**-0.5
    layer = lambda: {
        "qkv": dense(3, WIDTH, HEADS, WIDTH // HEADS, fan=WIDTH), "out": dense(HEADS, WIDTH // HEADS, WIDTH, fan=WIDTH),
        "up": dense(WIDTH, 4 * WIDTH, fan=WIDTH), "up_bias": np.zeros(4 * WIDTH),
        "down": dense(4 * WIDTH, WIDTH, fan=4 * WIDTH), "down_bias": np.zeros(WIDTH),
        "scale": np.ones((2, WIDTH)), "bias": np.zeros((2, WIDTH))}
    return {"embed": dense(WORDS, WIDTH, fan=WIDTH), "place": dense(LENGTH, WIDTH, fan=WIDTH),
            "layers": [layer() for _ in range(LAYERS)], "scale": np.ones(WIDTH), "bias": np.zeros(WIDTH)}


def norm(x, scale, bias):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + bias


def embed(table, tokens):
    """Embeds tokens: each device has a shard of the vocabulary, and other words are zero here."""
    local = tokens - lax.axis_index("model") * table.shape[0]
    mine = (local >= 0) & (local < table.shape[0])
    return lax.psum(jnp.where(mine[..., None], table[jnp.where(mine, local, 0)], 0), "model")


def cross_entropy(logits, targets):
    """Cross entropy of logits of which each device has the shard of its words."""
    top = lax.pmax(lax.stop_gradient(logits.max(-1)), "model")
    total = lax.psum(jnp.exp(logits - top[..., None]).sum(-1), "model")
    local = targets - lax.axis_index("model") * logits.shape[-1]
    mine = (local >= 0) & (local < logits.shape[-1])
    picked = jnp.take_along_axis(logits, jnp.where(mine, local, 0)[..., None], -1)[..., 0]
    return jnp.log(total) + top - lax.psum(jnp.where(mine, picked, 0), "model")


def loss(params, tokens):
    x = embed(params["embed"], tokens) + params["place"]
    for p in params["layers"]:
        q, k, v = jnp.einsum("blw,nwhd->nblhd", norm(x, p["scale"][0], p["bias"][0]), p["qkv"])
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / (WIDTH // HEADS) ** 0.5)
        heads = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
        x = x + lax.psum(jnp.einsum("bqhd,hdw->bqw", heads, p["out"]), "model")
        hidden = jax.nn.gelu(norm(x, p["scale"][1], p["bias"][1]) @ p["up"] + p["up_bias"])
        x = x + lax.psum(hidden @ p["down"], "model") + p["down_bias"]
    logits = norm(x, params["scale"], params["bias"]) @ params["embed"].T
    return lax.pmean(cross_entropy(logits, tokens[:, ::-1]).mean(), "data")


@functools.partial(jax.jit, donate_argnums=0)
@functools.partial(jax.shard_map, mesh=mesh, in_specs=((SPECS, SPECS, SPECS, P()), P("data")),
                   out_specs=((SPECS, SPECS, SPECS, P()), P()))
def step(state, tokens):
    params, first, second, t = state
    value, gradient = jax.value_and_grad(loss)(params, tokens)
    t = t + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.98 * v + 0.02 * g * g, second, gradient)
    rate = 1e-3 * jnp.minimum(1.0, t / 20)
    params = jax.tree.map(lambda p, m, v: p - rate * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.98**t)) + 1e-8),
                          params, first, second)
    return (params, first, second, t), value


def place(value, spec):
    value = np.asarray(value)
    return jax.make_array_from_callback(value.shape, NamedSharding(mesh, spec), lambda index: value[index])


weights = jax.tree.map(lambda w: w.astype(given.type), init())
zeros = jax.tree.map(np.zeros_like, weights)
state = (*(jax.tree.map(place, tree, SPECS) for tree in (weights, zeros, zeros)), place(np.zeros((), given.type), P()))
random, losses = np.random.default_rng(5), []
for _ in range(given.steps):
    state, value = step(state, place(random.integers(0, WORDS, (BATCH, LENGTH), np.int32), P("data")))
    losses.append(float(value))
print(json.dumps({"loss": losses}))
