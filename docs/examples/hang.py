"""A training loop on two processes, of which one does not come to its ninth step."""

import os
import time

from tilewright import jax_plugin

jax_plugin.initialize()
import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P  # noqa: E402

rank = int(os.environ["RANK"])
jax.distributed.initialize(os.environ["COORDINATOR"], num_processes=2, process_id=rank)
mesh = jax.make_mesh((2,), ("data",), axis_types=(AxisType.Auto,))


def step(weights):
    gradient = weights * (0.1 + jax.lax.axis_index("data"))
    return weights - jax.lax.pmean(gradient, "data")


everywhere = NamedSharding(mesh, P())
step = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=P(), out_specs=P()), out_shardings=everywhere)
weights = jax.make_array_from_callback((4,), everywhere, lambda index: np.ones(4, np.float32)[index])
for number in range(12):
    if number == 8 and rank == 1:
        print("astray", flush=True)
        time.sleep(300)
    weights = step(weights).block_until_ready()
    print("step", number, flush=True)
