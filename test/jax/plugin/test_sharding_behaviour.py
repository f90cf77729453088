"""How JAX behaves with shardings on 8 devices: the same values, shardings, warnings and errors as with jaxlib's CPU backend.

Each function below runs once with either backend, in a process that runs all of them, and describes what it sees.
"""

import json
import os
import subprocess
import sys
import warnings

import pytest

BACKENDS = {"tilewright": {"JAX_PLATFORMS": "tilewright", "TILEWRIGHT_RUNTIME_DEVICES": "8"}, "jaxlib": {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "8"}}
BEHAVIOURS = {}


def behaviour(function):
    BEHAVIOURS[function.__name__] = function
    return function


class Here:
    """What the functions use: meshes of 8 devices, arrays, and their descriptions."""

    def __init__(self):
        import jax
        import numpy as np
        from jax.sharding import AxisType, NamedSharding, PartitionSpec

        self.jax, self.jnp, self.np, self.P = jax, jax.numpy, np, PartitionSpec
        self.auto = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
        self.explicit = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
        order = [jax.devices()[i] for i in (3, 1, 7, 0, 2, 6, 5, 4)]
        self.permuted = jax.sharding.Mesh(np.array(order).reshape(4, 2), ("x", "y"))
        self.NamedSharding = NamedSharding

    def on(self, *spec, mesh=None, **more):
        return self.NamedSharding(mesh or self.auto, self.P(*spec), **more)

    def iota(self, *shape):
        return self.np.arange(self.np.prod(shape), dtype=self.np.float32).reshape(shape)

    def shards(self, array):
        """The shape of each shard, by device."""
        return [list(shard.data.shape) for shard in array.addressable_shards]


def seen(here, function):
    """The result of a function, or the error that it raises, and its warnings, in a form that JSON can hold."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = here.jax.tree.map(
                lambda leaf: here.np.asarray(leaf).tolist() if hasattr(leaf, "shape") else leaf, function(here)
            )
        except Exception as error:  # the kind of error is what is compared
            result = {"error": type(error).__name__, "says": str(error)[:40]}
    return {"result": result, "warnings": [str(w.message)[:45] for w in caught if w.category is UserWarning]}


@behaviour
def device_put_of_an_uneven_dimension(here):
    return here.jax.device_put(here.iota(10), here.on("x"))


@behaviour
def in_shardings_of_an_uneven_dimension(here):
    return here.jax.jit(lambda a: a + 1, in_shardings=here.on("x"))(here.iota(10))


@behaviour
def out_shardings_of_an_uneven_dimension(here):
    return here.jax.jit(lambda a: a + 1, out_shardings=here.on("x"))(here.iota(10))


@behaviour
def constraint_on_an_uneven_dimension(here):
    def f(a):
        b = here.jax.lax.with_sharding_constraint(a * 2, here.on("x"))
        return b.sum(), b.max(), here.jnp.sort(b)[::-1], here.jnp.cumsum(b), b[3:9], here.jnp.flip(b)

    return here.jax.jit(f)(here.iota(10) - 20)


@behaviour
def constraint_on_uneven_dimensions_of_a_product(here):
    def f(a, b):
        a = here.jax.lax.with_sharding_constraint(a, here.on(None, "x"))
        b = here.jax.lax.with_sharding_constraint(b, here.on("x", "y"))
        return here.jax.lax.with_sharding_constraint(a @ b, here.on("y", "x"))

    return here.jax.jit(f)(here.iota(5, 10), here.iota(10, 7))


@behaviour
def gradient_through_an_uneven_constraint(here):
    def loss(w, a):
        hidden = here.jax.lax.with_sharding_constraint(here.jnp.maximum(a @ w, 0), here.on("x", "y"))
        return (hidden * hidden).sum()

    return here.jax.jit(here.jax.grad(loss))(here.iota(3, 5) % 4 - 1, here.iota(10, 3) % 3)


@behaviour
def result_that_would_be_uneven(here):
    def f(a):
        return here.jax.lax.with_sharding_constraint(a, here.on("x")) + 1

    result = here.jax.jit(f)(here.iota(10))
    return result, here.shards(result)


@behaviour
def type_of_an_explicitly_sharded_array(here):
    return str(here.jax.typeof(here.jax.device_put(here.iota(8, 16), here.on("x", mesh=here.explicit))))


@behaviour
def product_over_sharded_dimensions_without_out_sharding(here):
    with here.jax.set_mesh(here.explicit):
        a = here.jax.device_put(here.iota(8, 16), here.on(None, "x", mesh=here.explicit))
        b = here.jax.device_put(here.iota(16, 8), here.on("x", None, mesh=here.explicit))
        return here.jax.jit(lambda a, b: a @ b)(a, b)


@behaviour
def product_over_sharded_dimensions_with_out_sharding(here):
    with here.jax.set_mesh(here.explicit):
        a = here.jax.device_put(here.iota(8, 16), here.on(None, "x", mesh=here.explicit))
        b = here.jax.device_put(here.iota(16, 8), here.on("x", None, mesh=here.explicit))
        c = here.jax.jit(lambda a, b: here.jnp.dot(a, b, out_sharding=here.P(None, None)))(a, b)
        d = here.jax.jit(lambda a, b: here.jnp.dot(a, b, out_sharding=here.P("x", "y")))(a, b)
        return c, str(c.sharding.spec), d, str(d.sharding.spec)


@behaviour
def unreduced_products_that_are_added_and_resharded(here):
    with here.jax.set_mesh(here.explicit):
        a = here.jax.device_put(here.iota(8, 16), here.on(None, "x", mesh=here.explicit))
        b = here.jax.device_put(here.iota(16, 8), here.on("x", None, mesh=here.explicit))
        spec = here.P(None, None, unreduced={"x"})

        def f(a, b):
            one = here.jnp.dot(a, b, out_sharding=spec)
            two = here.jnp.dot(a * 2, b, out_sharding=spec)
            return here.jax.sharding.reshard(one + two, here.P(None, None))

        return here.jax.jit(f)(a, b)


@behaviour
def unreduced_result(here):
    with here.jax.set_mesh(here.explicit):
        a = here.jax.device_put(here.iota(8, 16), here.on(None, "x", mesh=here.explicit))
        b = here.jax.device_put(here.iota(16, 8), here.on("x", None, mesh=here.explicit))
        spec = here.P(None, None, unreduced={"x"})
        c = here.jax.jit(lambda a, b: here.jnp.dot(a, b, out_sharding=spec))(a, b)
        closed = here.jax.jit(lambda c: here.jax.sharding.reshard(c, here.P(None, None)))(c)
        scattered = here.jax.jit(lambda c: here.jax.sharding.reshard(c, here.P("x", None)))(c)
        return str(c.sharding.spec), here.shards(c), closed, scattered, here.shards(scattered)


@behaviour
def explicit_product_that_gathers(here):
    with here.jax.set_mesh(here.explicit):
        a = here.jax.device_put(here.iota(8, 16), here.on("x", None, mesh=here.explicit))
        b = here.jax.device_put(here.iota(16, 8), here.on("x", None, mesh=here.explicit))
        c = here.jax.jit(lambda a, b: a @ b)(a, b)
        return c, str(c.sharding.spec)


@behaviour
def donation_of_another_local_shape(here):
    a = here.jax.device_put(here.iota(8, 16), here.on("x"))
    result = here.jax.jit(lambda a: a + 1, donate_argnums=0, out_shardings=here.on())(a)
    return result, a.is_deleted()


@behaviour
def donation_of_the_same_local_shape(here):
    a = here.jax.device_put(here.iota(8, 16), here.on("x"))
    result = here.jax.jit(lambda a: a + 1, donate_argnums=0, out_shardings=here.on("x"))(a)
    return result, a.is_deleted()


@behaviour
def results_without_shardings(here):
    a = here.jax.device_put(here.iota(8, 16), here.on("x", "y"))
    same, turned, constant = here.jax.jit(lambda a: (a * 2, a.T + 1, here.jnp.ones(3)))(a)
    return same, here.shards(same), here.shards(turned), constant.sharding.is_fully_replicated


@behaviour
def replicated_results_of_one_device(here):
    result = here.jax.jit(lambda a: a + 1, out_shardings=here.on())(here.jnp.asarray(here.iota(4)))
    return result, here.shards(result), result.sharding.is_fully_replicated


@behaviour
def permuted_devices(here):
    a = here.jax.device_put(here.iota(8, 16), here.on("x", "y", mesh=here.permuted))
    f = here.jax.jit(lambda a: (a @ a.T, a.sum(0)), out_shardings=here.on("y", mesh=here.permuted))
    product, total = f(a)
    return product, total, here.shards(product), [shard.device.id for shard in product.addressable_shards]


@behaviour
def from_one_mesh_to_another(here):
    a = here.jax.device_put(here.iota(8, 16), here.on("x", "y"))
    other = here.jax.make_mesh((8,), ("all",), axis_types=(here.jax.sharding.AxisType.Auto,))
    result = here.jax.jit(lambda a: a * 2, out_shardings=here.on(None, "all", mesh=other))(a)
    return result, here.shards(result)


@behaviour
def shard_map_over_some_axes(here):
    f = here.jax.shard_map(
        lambda a: here.jax.lax.psum(a, "x") * 2, mesh=here.auto, in_specs=here.P("x"), out_specs=here.P(), axis_names={"x"}
    )
    return here.jax.jit(f)(here.jax.device_put(here.iota(8, 16), here.on("x", "y")))


@behaviour
def collectives_in_shard_map(here):
    def f(a):
        lax = here.jax.lax
        scattered = lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True)
        moved = lax.ppermute(a, "x", [(0, 1), (2, 3)])  # the others receive zeros
        return scattered, moved, lax.all_to_all(a, "y", 1, 0, tiled=True)

    specs = (here.P("x", "y"), here.P("x", "y"), here.P("x", "y"))
    return here.jax.jit(here.jax.shard_map(f, mesh=here.auto, in_specs=here.P("x", "y"), out_specs=specs))(here.iota(8, 16))


@behaviour
def shard_alike(here):
    from jax.experimental.shard_alike import shard_alike

    a = here.jax.device_put(here.iota(8, 16), here.on("x", "y"))
    result = here.jax.jit(lambda a: shard_alike(a, here.jnp.ones((8, 16)) * 3)[1])(a)
    return result, here.shards(result)


@behaviour
def arrays_in_host_memory(here):
    kinds = sorted(memory.kind for memory in here.jax.devices()[0].addressable_memories())
    found = {}
    for kind in ("pinned_host", "unpinned_host"):
        if kind in kinds:
            a = here.jax.device_put(here.iota(8, 4), here.on("x", memory_kind=kind))
            found[kind] = [here.np.asarray(a).tolist(), a.sharding.memory_kind]
    return found


@behaviour
def results_in_host_memory(here):
    a = here.jax.device_put(here.iota(8, 4), here.on("x"))
    f = here.jax.jit(lambda a: a * 2, out_shardings=here.on("x", memory_kind="pinned_host"))
    result = f(a)
    return result, result.sharding.memory_kind


@behaviour
def offload_inside_of_a_program(here):
    def f(a):
        held = here.jax.device_put(here.jnp.sin(a) * 0 + a, here.on("x", memory_kind="pinned_host"))
        return here.jax.device_put(held, here.on("x", memory_kind="device")) + 1

    return here.jax.jit(f)(here.jax.device_put(here.iota(8, 4), here.on("x")))


@behaviour
def a_memory_kind_that_does_not_exist(here):
    return here.jax.device_put(here.iota(8), here.on("x", memory_kind="elsewhere"))


def main():
    here = Here()
    json.dump({name: seen(here, function) for name, function in BEHAVIOURS.items()}, sys.stdout)


@pytest.fixture(scope="module")
def outcomes():
    import conftest

    def run(backend):
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_"))}
        kept |= BACKENDS[backend] | {"PYTHONPATH": str(conftest.ROOT / "python"), "TILEWRIGHT_LIBRARY": str(conftest.LIBRARY)}
        start = "from tilewright import jax_plugin; jax_plugin.initialize(); " if backend == "tilewright" else ""
        code = f"import runpy; {start}runpy.run_path({__file__!r})['main']()"
        done = subprocess.run([sys.executable, "-c", code], env=kept, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return {backend: run(backend) for backend in BACKENDS}


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_is_that_of_jaxlib(name, outcomes):
    assert outcomes["tilewright"][name] == outcomes["jaxlib"][name]
