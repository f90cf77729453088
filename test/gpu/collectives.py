"""Programs with collectives on all devices of the process: each prints its name and its results as JSON.

    JAX_NUM_CPU_DEVICES=8 python collectives.py                                   jaxlib's CPU devices
    TILEWRIGHT_TARGET=vgpu:sm_90a TILEWRIGHT_VGPU_DEVICES=8 python collectives.py virtual GPUs
"""

import functools
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

COUNT = jax.device_count()
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def line():
    return Mesh(np.array(jax.devices()), ("d",))


def grid():
    return Mesh(np.array(jax.devices()).reshape(2, -1), ("x", "y"))


def values(*shape, dtype=np.float32):
    return (np.arange(np.prod(shape)).reshape(shape) % 13 - 5).astype(dtype)


def mapped(mesh, inputs, outputs):
    return lambda function: jax.jit(jax.shard_map(function, mesh=mesh, in_specs=inputs, out_specs=outputs, check_vma=False))


@program
def psum():
    return mapped(line(), P("d"), P())(lambda x: lax.psum(x * 2, "d"))(values(COUNT, 5))


@program
def reductions():
    def all_of(x):
        return lax.pmax(x, "d"), lax.pmin(x, "d"), lax.pmean(x, "d"), lax.psum(x.astype(jnp.int32), "d")

    return mapped(line(), P("d"), P())(all_of)(values(COUNT, 3))


@program
def other_types():
    def all_of(x):
        some = x > 0
        return (lax.psum(x.astype(jnp.bfloat16), "d"), lax.psum(x.astype(jnp.float16), "d"), lax.psum(x.astype(jnp.int8), "d"),
                lax.all_gather(some, "d"), lax.psum(x.astype(jnp.complex64), "d"), lax.pmax(x.astype(jnp.uint16), "d"))  # fmt: skip

    return mapped(line(), P("d"), P())(all_of)(values(COUNT, 3))


@program
def gathers():
    def both(x):
        return lax.all_gather(x, "d", tiled=True), lax.all_gather(x, "d", axis=1, tiled=True), lax.all_gather(x, "d", axis=2)

    return mapped(line(), P("d"), P())(both)(values(COUNT * 2, 3))


@program
def scatters():
    def both(x):
        return lax.psum_scatter(x, "d", tiled=True), lax.psum_scatter(x, "d", scatter_dimension=1, tiled=True)

    return mapped(line(), P(None, None), P("d"))(both)(values(COUNT * 2, COUNT * 3))


@program
def all_to_alls():
    def both(x):
        return lax.all_to_all(x, "d", 0, 0, tiled=True), lax.all_to_all(x, "d", 1, 0, tiled=True), lax.all_to_all(x, "d", 0, 1, tiled=True)

    return mapped(line(), P("d"), P("d"))(both)(values(COUNT * COUNT, COUNT))


@program
def permutes():
    ring = [(i, (i + 1) % COUNT) for i in range(COUNT)]

    def all_of(x):
        return lax.ppermute(x, "d", ring), lax.ppermute(x, "d", ring[:-1]), lax.ppermute(x, "d", [(0, 0), (1, COUNT - 1)])

    return mapped(line(), P("d"), P("d"))(all_of)(values(COUNT, 4))


@program
def axis_indices():
    return mapped(grid(), P("x", "y"), P("x", "y"))(lambda x: x + 10 * lax.axis_index("x") + lax.axis_index("y"))(values(2, COUNT))


@program
def subgroups():
    def both(x):
        return lax.psum(x, "x"), lax.psum(x, "y"), lax.all_gather(x, "x"), lax.psum(x, ("x", "y"))

    return mapped(grid(), P("x", "y"), P())(both)(values(4, COUNT))


@program
def permuted_devices():
    order = np.array(jax.devices())[np.random.default_rng(3).permutation(COUNT)]
    mesh = Mesh(order, ("d",))
    return mapped(mesh, P("d"), P("d"))(lambda x: lax.psum(x, "d") + lax.axis_index("d") + lax.ppermute(x, "d", [(0, 1), (1, 0)]))(values(COUNT, 2))


@program
def some_devices():
    mesh = Mesh(np.array(jax.devices())[1:3], ("d",))
    return mapped(mesh, P("d"), P())(lambda x: lax.psum(x, "d"))(values(2, 7))


@program
def sharded_products():
    mesh = grid()
    a = jax.device_put(values(16, 24), NamedSharding(mesh, P("x", "y")))
    b = jax.device_put(values(24, 32), NamedSharding(mesh, P("y", "x")))
    return jax.jit(lambda a, b: jnp.tanh(a @ b) @ b.T, out_shardings=NamedSharding(mesh, P("y", None)))(a, b)


@program
def uneven():
    mesh = line()
    x = jax.device_put(values(COUNT * 3, 2), NamedSharding(mesh, P("d")))
    return jax.jit(lambda x: (jnp.cumsum(x, 0), jnp.sort(x, 0), x[1:-2].sum(0), jnp.concatenate([x, x[::-1]])))(x)


@program
def scan():
    def step(carry, x):
        carry = lax.pmean(carry * x, "d") + 1
        return carry, lax.ppermute(carry + lax.axis_index("d"), "d", [(i, (i + 1) % COUNT) for i in range(COUNT)])

    return mapped(line(), (P(), P(None, "d")), (P(), P(None, "d")))(lambda c, x: lax.scan(step, c, x))(values(1, 4), values(5, COUNT, 4))


@program
def while_loop():
    def loop(x):
        return lax.while_loop(lambda s: lax.pmax(s[0], "d").sum() < 100, lambda s: (s[0] + lax.psum(s[0] * 0 + 1, "d"), s[1] + 1), (x, 0))

    return mapped(line(), P("d"), (P("d"), P()))(loop)(values(COUNT, 1))


@program
def branches():
    def choose(which, x):
        return lax.switch(which[0], [lambda x: lax.psum(x, "d"), lambda x: lax.pmax(x, "d") * 2, lambda x: x * 0], x)

    both = mapped(line(), (P(), P("d")), P("d"))(choose)
    return [both(np.array([k], np.int32), values(COUNT, 2)) for k in (0, 1, 2, 1)]


@program
def donation():
    mesh = line()
    step = jax.jit(jax.shard_map(lambda w, g: w - 0.5 * lax.pmean(g, "d"), mesh=mesh, in_specs=(P(), P("d")), out_specs=P(), check_vma=False), donate_argnums=0)
    w = jax.device_put(values(1, 6), NamedSharding(mesh, P()))
    for i in range(4):
        before, w = w, step(w, values(COUNT, 6) + i)
        assert before.is_deleted()
    return w


@program
def pmapped():
    both = jax.pmap(lambda x: (lax.psum(x, "i"), x - lax.pmean(x, "i"), lax.all_gather(x, "i")), axis_name="i")
    return both(values(COUNT, 3))


@program
def transfers():
    first, last = jax.devices()[0], jax.devices()[-1]
    x = jax.device_put(values(4, 5), first)
    y = jax.device_put(jax.jit(lambda x: x * 3)(x), last)
    spread = jax.device_put(y, NamedSharding(line(), P()))
    split = jax.device_put(jax.device_put(values(COUNT, 2), NamedSharding(line(), P("d"))), NamedSharding(grid(), P("y", "x")))
    return y, spread, split, jax.device_put(split, last)


@program
def gradients():
    mesh = line()
    x, y = (jax.device_put(values(COUNT * 4, n), NamedSharding(mesh, P("d"))) for n in (6, 3))
    w = jax.device_put(values(6, 3) / 10, NamedSharding(mesh, P()))
    return jax.jit(jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2)))(w)


def shown(result):
    def one(array):
        array = np.asarray(array)
        if np.iscomplexobj(array):
            array = np.stack([array.real, array.imag])
        return {"shape": list(array.shape), "values": np.asarray(array, np.float64).ravel().tolist()}

    return [one(leaf) for leaf in jax.tree.leaves(result)]


def main():
    for name in sys.argv[1:] or PROGRAMS:
        print(json.dumps({"name": name, "results": shown(PROGRAMS[name]())}), flush=True)


if __name__ == "__main__":
    main()
