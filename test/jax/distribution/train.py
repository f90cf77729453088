"""Trains the transformer of this directory under one of its schemes; prints the loss of each step as JSON.

    python train.py gpt-fsdp                                          one device, nothing sharded
    python train.py gpt-fsdp --coordinator HOST:PORT --rank 0 … 7     eight processes of one device

GPT has a gated MLP, MoE a mixture of eight experts. The model learns to map a sequence of tokens to its reverse, each token
through a fixed permutation of the vocabulary.
"""

import argparse
import dataclasses
import json

import jax
import numpy as np
import transformer
from anchors import ANCHORS
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

DEVICES, LAYERS, RATE = 8, 2, 0.3


def with_experts(scheme):
    """The same scheme for a mixture of experts: every device has a part of each expert, none has experts of its own."""
    parts = {name: P(None, *spec) for name, spec in scheme.parameters.items() if name in ("gate", "up", "down")}
    places = {place: spec for place, spec in scheme.activations.items() if place in ("norm", "heads", "stream", "logits")}
    return dataclasses.replace(scheme, parameters=scheme.parameters | parts, activations=places, experts=True)


COMMON = ("dp", "fsdp", "tp", "tp_sp", "fsdp_tp")
SCHEMES = {
    **{f"gpt-{name}": ANCHORS[name].scheme for name in COMMON},
    **{f"moe-{name}": with_experts(ANCHORS[name].scheme) for name in COMMON},
    "moe-ep": ANCHORS["ep"].scheme,
}


def initial(scheme):
    random = np.random.default_rng(7)

    def draw(path, shape):
        if len(shape.shape) == 1:
            return np.ones(shape.shape, np.float32)
        fan = 1 if path[-1].key == "embedding" else shape.shape[0] if len(shape.shape) == 2 else transformer.WIDTH
        return (random.standard_normal(shape.shape) * fan**-0.5).astype(np.float32)

    return jax.tree_util.tree_map_with_path(draw, transformer.parameters(scheme, LAYERS))


def examples():
    random = np.random.default_rng(8)
    tokens = random.integers(transformer.VOCABULARY, size=(transformer.BATCH, transformer.SEQUENCE), dtype=np.int32)
    return tokens, random.permutation(transformer.VOCABULARY).astype(np.int32)[tokens[:, ::-1]]


def jitted(scheme, weights):
    """(step, operands on their devices)."""
    if jax.device_count() == 1:
        return jax.jit(transformer.step_of(scheme, lambda x, _: x, RATE)), (weights, *examples())
    mesh = jax.make_mesh(tuple(scheme.mesh.values()), tuple(scheme.mesh), axis_types=(AxisType.Auto,) * len(scheme.mesh))

    def to_sharding(spec):
        return NamedSharding(mesh, spec)

    def put(value, sharding):
        return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])

    step = transformer.step_of(scheme, lambda x, spec: jax.lax.with_sharding_constraint(x, to_sharding(spec)), RATE)
    shardings, data = transformer.shardings_of(scheme, weights, to_sharding), to_sharding(scheme.data)
    operands = (jax.tree.map(put, weights, shardings), *(put(each, data) for each in examples()))
    results = (shardings, to_sharding(P()))
    return jax.jit(step, in_shardings=(shardings, data, data), out_shardings=results, donate_argnums=0), operands


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scheme", choices=SCHEMES)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--coordinator")
    parser.add_argument("--rank", type=int)
    given = parser.parse_args()
    if given.coordinator:
        jax.distributed.initialize(given.coordinator, DEVICES, given.rank)
        assert jax.device_count() == DEVICES, f"{jax.device_count()} devices: the job is not one of {DEVICES} processes"
    scheme = SCHEMES[given.scheme]
    step, (weights, tokens, targets) = jitted(scheme, initial(scheme))
    losses = []
    for _ in range(given.steps):
        weights, loss = step(weights, tokens, targets)
        losses.append(float(loss))
    print(json.dumps({"loss": losses}))


if __name__ == "__main__":
    main()
