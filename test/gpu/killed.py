"""One of several processes with a GPU each; the last one kills itself between two sums. The others print the error that they get.

    python killed.py --coordinator HOST:PORT --processes 3 --rank 0 --folder FOLDER

A survivor ends only when all of them have an error, so that the one death is the cause of each; FOLDER is where they tell each other.
"""

import argparse
import json
import os
import pathlib
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
parser.add_argument("--folder", type=pathlib.Path)
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
(given.folder / str(given.rank)).touch()
while len(list(given.folder.iterdir())) < given.processes - 1 and time.monotonic() - began < 120:
    time.sleep(0.05)
os._exit(0)  # JAX's shutdown would wait for the process that is dead
