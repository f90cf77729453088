"""Trains a small transformer in bf16 on all devices of a job, divided by the compiler; prints the loss of each step as JSON.

    python sharded_training.py dp                                                      the devices of one process
    python sharded_training.py moe-ep --coordinator HOST:PORT --processes 4 --rank 0   one of four processes
    python sharded_training.py tp --executable step.twx                                keeps the executable of a step

Products are of bf16, weights and norms in f32. `dp`, `fsdp` and `tp` train a GPT, `moe-ep` a mixture of experts with one expert on
each device. On one device nothing is sharded. `weights` in the output is a digest of all weights after the last step.
"""

import argparse
import hashlib
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

BATCH, SEQUENCE, WIDTH, HEADS, HIDDEN, VOCABULARY, EXPERTS = 16, 8, 32, 8, 64, 64, 8
SHAPES = {"embedding": (VOCABULARY, WIDTH), "query": (WIDTH, WIDTH), "key": (WIDTH, WIDTH), "value": (WIDTH, WIDTH), "merge": (WIDTH, WIDTH),
          "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH), "head": (WIDTH, VOCABULARY)}  # fmt: skip
EXPERT_SHAPES = SHAPES | {"router": (WIDTH, EXPERTS), "up": (EXPERTS, WIDTH, HIDDEN), "down": (EXPERTS, HIDDEN, WIDTH)}
COLUMNS, ROWS = P(None, "d"), P("d")
# The shardings of the weights; those that are not named are replicated. The batch is divided except for tensor parallelism.
SCHEMES = {
    "dp": {},
    "fsdp": {name: ROWS for name in SHAPES},
    "tp": {"query": COLUMNS, "key": COLUMNS, "value": COLUMNS, "merge": ROWS, "up": COLUMNS, "down": ROWS, "head": COLUMNS},
    "moe-ep": {"up": ROWS, "down": ROWS},
}


def low(x):
    return x.astype(jnp.bfloat16)


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def product(spec, *operands):
    return jnp.einsum(spec, *map(low, operands), preferred_element_type=jnp.float32)


def attention(w, x):
    q, k, v = (product("bsw,wv->bsv", x, w[name]).reshape(*x.shape[:2], HEADS, -1) for name in ("query", "key", "value"))
    scores = product("bshd,bthd->bhst", q, k) * q.shape[-1] ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones((SEQUENCE, SEQUENCE), bool)), scores, -1e9)
    return product("bsw,wv->bsv", product("bhst,bthd->bshd", jax.nn.softmax(scores), v).reshape(x.shape), w["merge"])


def mlp(w, x):
    if "router" not in w:
        return product("bsh,hw->bsw", jax.nn.gelu(product("bsw,wh->bsh", x, w["up"])), w["down"])
    # The two best experts of each token, without limits of capacity: all tokens meet all experts, with a weight of 0 for most.
    gates = jax.nn.softmax(product("bsw,we->bse", x, w["router"]))
    kept = gates >= jax.lax.top_k(gates, 2)[0][..., -1:]
    hidden = jax.nn.gelu(product("bsw,ewh->ebsh", x, w["up"]))
    return jnp.einsum("ebsw,bse->bsw", product("ebsh,ehw->ebsw", hidden, w["down"]), jnp.where(kept, gates, 0))


def loss_of(w, tokens, targets):
    x = w["embedding"][tokens]
    x = x + attention(w, norm(x))
    x = x + mlp(w, norm(x))
    logits = product("bsw,wv->bsv", norm(x), w["head"])
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1))


def step(w, tokens, targets):
    loss, gradient = jax.value_and_grad(loss_of)(w, tokens, targets)
    return jax.tree.map(lambda a, g: a - 0.02 * g, w, gradient), loss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scheme", choices=SCHEMES)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--coordinator")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--executable", type=pathlib.Path)
    given = parser.parse_args()
    if given.coordinator:
        jax.distributed.initialize(given.coordinator, given.processes, given.rank)
    random = np.random.default_rng(7)
    shapes = EXPERT_SHAPES if given.scheme.startswith("moe") else SHAPES
    weights = {name: (random.standard_normal(shape) * shape[-2] ** -0.5).astype(np.float32) for name, shape in shapes.items()}
    tokens = random.integers(VOCABULARY, size=(BATCH, SEQUENCE), dtype=np.int32)
    batch = (tokens, random.permutation(VOCABULARY).astype(np.int32)[tokens[:, ::-1]])

    mesh = Mesh(np.array(jax.devices()), ("d",), axis_types=(AxisType.Auto,))
    is_alone = jax.device_count() == 1

    def put(value, spec):
        sharding = NamedSharding(mesh, P() if is_alone else spec)
        return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])

    weights = {name: put(value, SCHEMES[given.scheme].get(name, P())) for name, value in weights.items()}
    batch = [put(value, P() if given.scheme == "tp" else ROWS) for value in batch]
    results = ({name: value.sharding for name, value in weights.items()}, NamedSharding(mesh, P()))
    training = jax.jit(step, donate_argnums=0, out_shardings=results)
    if given.executable:
        # JAX puts its own header before it.
        written = training.lower(weights, *batch).compile().runtime_executable().serialize()
        given.executable.write_bytes(written[written.index(b"\xf5TWX\r\n\x1a\n"):])
    losses = []
    for _ in range(given.steps):
        weights, loss = training(weights, *batch)
        losses.append(float(loss))
    digest = hashlib.sha256()
    for name in sorted(weights):
        for shard in weights[name].addressable_shards:
            digest.update(np.asarray(shard.data).tobytes())
    print(json.dumps({"name": given.scheme, "results": [{"shape": [len(losses)], "values": losses}], "weights": digest.hexdigest()}))


if __name__ == "__main__":
    main()
