"""Runs steps of a model on JAX's first device and prints them as a line of JSON.

    python run_model.py MODEL [bfloat16 | float32] STEPS [SEED]

Products of f32 are computed at the highest precision. The digest is of all bits of the last state. With a seed, each weight is
first multiplied by a random number within a few roundings of 1.
"""

import hashlib
import json
import sys
import time

import catalog
import jax
import numpy as np


def perturb(state, dtype, seed):
    """The weights, each off by up to half a rounding of bf16, or four of f32: what sums in another order come to in a step."""
    random = np.random.default_rng(seed)
    size = 2**-9 if dtype != np.float32 else 2**-21

    def change(array):
        if not np.issubdtype(array.dtype, np.floating):
            return array
        return (array * (1 + size * random.uniform(-1, 1, array.shape))).astype(array.dtype)

    return jax.tree.map(change, state)


def main():
    name, dtype, steps = sys.argv[1], jax.numpy.dtype(sys.argv[2]), int(sys.argv[3])
    model = catalog.MODELS[name](dtype)
    with jax.default_matmul_precision("highest" if dtype == np.float32 else "default"):
        step = jax.jit(model.step, donate_argnums=0).lower(model.state, *model.batch(0)).compile()
    initial = perturb(model.state, dtype, int(sys.argv[4])) if len(sys.argv) > 4 else model.state
    state, values, began = jax.device_put(initial), [], time.monotonic()
    for number in range(steps):
        state, value = step(state, *jax.device_put(model.batch(number)))
        values.append(np.asarray(value, np.float64).ravel().tolist())
    seconds = (time.monotonic() - began) / steps
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(state):
        digest.update(np.asarray(leaf).tobytes())
    print(json.dumps({"values": values, "digest": digest.hexdigest(), "seconds": seconds}))


if __name__ == "__main__":
    main()
