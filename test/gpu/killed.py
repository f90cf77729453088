"""One of several processes with a GPU each; the last one kills itself between two sums. The others print the error that they get.

    python killed.py --coordinator HOST:PORT --processes 3 --rank 0
"""

import argparse
import json
import os
import signal
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--coordinator")
parser.add_argument("--processes", type=int)
parser.add_argument("--rank", type=int)
given = parser.parse_args()
jax.distributed.initialize(given.coordinator, given.processes, given.rank)

mesh = Mesh(np.array(jax.devices()), ("d",))
sharding = NamedSharding(mesh, P("d"))
own = jax.make_array_from_callback((given.processes,), sharding, lambda index: np.arange(given.processes, dtype=np.float32)[index])
total = jax.jit(jnp.sum, out_shardings=NamedSharding(mesh, P()))
sums = [float(total(own)) for _ in range(3)]
if given.rank == given.processes - 1:
    print(json.dumps({"sums": sums}), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
began = time.monotonic()
try:
    # The first sums may be queued before the death is noticed.
    while time.monotonic() - began < 60:
        total(own).block_until_ready()
    error = None
except Exception as failure:  # noqa: BLE001: whatever a user would see
    error = str(failure)
print(json.dumps({"sums": sums, "error": error, "seconds": time.monotonic() - began}), flush=True)
os._exit(0)  # JAX's shutdown would wait for the process that is dead
