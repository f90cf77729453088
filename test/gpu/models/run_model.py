"""Runs steps of a model on JAX's first device and prints them as a line of JSON.

    python run_model.py MODEL [bfloat16 | float32] STEPS

Products of f32 are computed at the highest precision. The digest is of all bits of the last state.
"""

import hashlib
import json
import sys
import time

import catalog
import jax
import numpy as np


def main():
    name, dtype, steps = sys.argv[1], jax.numpy.dtype(sys.argv[2]), int(sys.argv[3])
    model = catalog.MODELS[name](dtype)
    with jax.default_matmul_precision("highest" if dtype == np.float32 else "default"):
        step = jax.jit(model.step, donate_argnums=0).lower(model.state, *model.batch(0)).compile()
    state, values, began = jax.device_put(model.state), [], time.monotonic()
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
