"""Several devices in one process: sharded arrays, shard_map, pmap and collectives."""

import pytest

SETUP = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
on = lambda *spec: NamedSharding(mesh, P(*spec))
x = np.arange(32, dtype=np.float32).reshape(4, 8)
"""

PROGRAMS = {
    "sharded arguments": """
y = jax.jit(lambda a, b: a @ b)(jax.device_put(x, on("x", "y")), jax.device_put(x.T, on("y", None)))
np.testing.assert_allclose(y, x @ x.T)
""",
    "sharded results": """
y = jax.jit(lambda a: a * 2, out_shardings=on("y", "x"))(jax.device_put(x, on("x", "y")))
np.testing.assert_allclose(y, x * 2)
assert [shard.data.shape for shard in y.addressable_shards] == [(2, 4)] * 4
assert y.sharding.is_equivalent_to(on("y", "x"), 2)
""",
    "psum in shard_map": """
f = jax.jit(jax.shard_map(lambda a: jax.lax.psum(a, "x"), mesh=mesh, in_specs=P("x", "y"), out_specs=P(None, "y")))
np.testing.assert_allclose(f(jax.device_put(x, on("x", "y"))), x[:2] + x[2:])
""",
    "ppermute and axis_index in shard_map": """
f = lambda a: jax.lax.ppermute(a, "x", [(0, 1), (1, 0)]) + jax.lax.axis_index("y")
f = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y")))
np.testing.assert_allclose(f(x), np.concatenate([x[2:], x[:2]]) + np.repeat([0, 1], 4))
""",
    "pmap": """
y = jax.pmap(lambda v: jax.lax.psum(v, "i") * v, axis_name="i")(np.arange(4.0))
np.testing.assert_allclose(y, 6 * np.arange(4.0))
y = jax.pmap(lambda v: jax.lax.all_gather(v, "i"), axis_name="i")(np.arange(4.0))
np.testing.assert_allclose(y, np.tile(np.arange(4.0), (4, 1)))
""",
    "collectives in loops and branches that all of their ranks take": """
def f(a, n):
    def step(state):
        i, v, error = state
        v = jax.lax.ppermute(v, "x", [(0, 1), (1, 0)]) * 0.5
        return i + 1, v, jax.lax.pmax(jnp.max(v), ("x", "y"))
    i, v, _ = jax.lax.while_loop(lambda s: s[2] > 0.5, step, (0, a, jnp.float32(31)))
    v = jax.lax.fori_loop(0, n[0], lambda _, v: jax.lax.psum(v, "y") * 0.5, v)
    v = jax.lax.scan(lambda c, _: (jax.lax.psum(c, "x") * 0.5, None), v, None, length=3)[0]
    # Ranks of one row take one arm, and meet along the row alone.
    return jax.lax.cond(jax.lax.axis_index("x") == 0, lambda v: jax.lax.psum(v, "y"), lambda v: v * 2, v)
f = jax.shard_map(f, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=P("x", "y"), check_vma=False)
y = np.asarray(jax.jit(f)(x, jnp.array([2])))
v = x / 64
half = (v[:, :4] + v[:, 4:]) / 2
mean = (half[:2] + half[2:]) / 2
np.testing.assert_allclose(y, np.tile(mean * 2, (2, 2)), rtol=1e-5)
""",
    "a loop that ranks may leave at different times": """
def f(a):
    return jax.lax.while_loop(lambda v: jnp.max(v) > 0.5, lambda v: jax.lax.psum(v, "x") * 0.1, a)
f = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"), check_vma=False))
try:
    f(x)
    assert False, "it was compiled"
except jax.errors.JaxRuntimeError as error:
    text = str(error)
    assert "E6015" in text and "may choose differently along x" in text and "all_reduce" in text, text
""",
    "donation": """
a = jax.device_put(x, on("x", "y"))
y = jax.jit(lambda a: a + 1, donate_argnums=0, out_shardings=on("x", "y"))(a)
np.testing.assert_allclose(y, x + 1)
assert a.is_deleted()
""",
    "sums that are not taken yet": """
from jax.sharding import reshard
mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
jax.set_mesh(mesh)
a, b = x[:, :4], x.T[:4]
on = lambda *spec, **more: NamedSharding(mesh, P(*spec, **more))
product = jax.shard_map(lambda a, b: a @ b, in_specs=(P("x", "y"), P("y", None)), out_specs=P("x", None, unreduced={"y"}))
y = jax.jit(product)(jax.device_put(a, on("x", "y")), jax.device_put(b, on("y", None)))
assert y.sharding == on("x", None, unreduced={"y"}), y.sharding
for i, shard in enumerate(y.addressable_shards):
    row, part = slice(i // 2 * 2, i // 2 * 2 + 2), slice(i % 2 * 2, i % 2 * 2 + 2)
    np.testing.assert_allclose(shard.data, a[row, part] @ b[part])  # a summand each, nothing was sent
np.testing.assert_allclose(reshard(y, P("x", None)), a @ b)
np.testing.assert_allclose(reshard(y, P(None, ("x", "y"))), a @ b)
# Made by jit itself, passed to a region that is written per device, and back through the gradient.
def f(a, b):
    z = jnp.einsum("ab,bc->ac", a, b, out_sharding=P("x", None, unreduced={"y"}))
    z = jax.shard_map(lambda z: jax.lax.psum(z, "y"), in_specs=P("x", None, unreduced={"y"}), out_specs=P("x", None))(z)
    return (z * z).sum()
args = jax.device_put(a, on("x", "y")), jax.device_put(b, on("y", None))
np.testing.assert_allclose(jax.jit(f)(*args), ((a @ b) ** 2).sum(), rtol=1e-6)
da, db = jax.jit(jax.grad(f, (0, 1)))(*args)
np.testing.assert_allclose(da, 2 * (a @ b) @ b.T, rtol=1e-5)
np.testing.assert_allclose(db, 2 * a.T @ (a @ b), rtol=1e-5)
""",
    "a region that is written for one axis of two": """
def f(a):
    total = jax.lax.psum(a, "y") + jax.lax.axis_index("y")
    return jnp.tanh(a * a) + jax.lax.axis_index("y"), jax.lax.fori_loop(0, 3, lambda i, v: v + jnp.sum(v, 0), total)
f = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"}))
y, z = f(jax.device_put(x, on("x", "y")))
assert y.sharding.is_equivalent_to(on("x", "y"), 2), y.sharding
np.testing.assert_allclose(y, np.tanh(x * x) + np.repeat([0, 1], 4), rtol=1e-6)
wanted = np.tile(x[:, :4] + x[:, 4:], 2) + np.repeat([0, 1], 4)
for _ in range(3):
    wanted = wanted + wanted.sum(0)
np.testing.assert_allclose(z, wanted, rtol=1e-6)
""",
    "about the largest": """
f = lambda a: jax.lax.approx_max_k(a, 2)
values, places = jax.shard_map(f, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None))(x * (-1) ** np.arange(8))
np.testing.assert_array_equal(places, np.tile([6, 4], (4, 1)))
np.testing.assert_array_equal(values, x[:, [6, 4]])
""",
    "a sharding constraint": """
y = jax.jit(lambda a: jax.lax.with_sharding_constraint(a + 1, on("y", None)) * 2)(x)
np.testing.assert_allclose(y, (x + 1) * 2)
""",
    "an executable as bytes": """
from jax.experimental import serialize_executable
a = jax.device_put(x, on("x", "y"))
compiled = jax.jit(lambda a: a * 3, out_shardings=on("x", None)).lower(a).compile()
loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
np.testing.assert_allclose(loaded(a), x * 3)
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_four_devices(script, program):
    script(SETUP + program, TILEWRIGHT_RUNTIME_DEVICES="4")
