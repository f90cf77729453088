"""Python inside a program: pure_callback, io_callback, debug.print, debug.callback."""
import json

import jax
import jax.numpy as jnp
import numpy as np

seen = []
shape = jax.ShapeDtypeStruct((4,), jnp.float32)


@jax.jit
def f(x):
    y = jax.pure_callback(lambda v: np.sinh(v).astype(np.float32), shape, x * 2)
    jax.debug.callback(lambda v: seen.append(float(v)), y.sum())
    jax.debug.print("sum is {}", y.sum())
    z = jax.experimental.io_callback(lambda v: np.asarray(v)[::-1].copy(), shape, y, ordered=True)
    return z + 1


result = f(jnp.arange(4.0))
looped = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda i, v: jax.pure_callback(
    lambda v: (v * 2).astype(np.float32), shape, v), x))(jnp.ones(4))
mapped = jax.vmap(lambda v: jax.pure_callback(lambda a: np.float32(np.sum(a)), jax.ShapeDtypeStruct((), jnp.float32), v,
                                              vmap_method="sequential"))(jnp.arange(8.0).reshape(2, 4))
jax.effects_barrier()
print(json.dumps({"result": result.tolist(), "seen": seen, "looped": looped.tolist(), "mapped": mapped.tolist()}))
