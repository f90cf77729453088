"""JAX programs whose artifacts contain everything that artifacts can contain: each op group, constants of all kinds, sdy."""
import functools
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"  # before jax is imported

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

F32 = jax.ShapeDtypeStruct((4, 8), jnp.float32)
VECTOR = jax.ShapeDtypeStruct((16,), jnp.float32)
INTS = jax.ShapeDtypeStruct((16,), jnp.int32)
IMAGE = jax.ShapeDtypeStruct((2, 8, 8, 3), jnp.float32)

PROGRAMS = {}


def program(*arguments, **options):
    def add(function):
        PROGRAMS[function.__name__] = (function, arguments, options)
        return function
    return add


@program(F32, F32)
def elementwise(x, y):
    return jnp.tanh(x) + jnp.exp(-y) * jnp.where(x > y, x, lax.rsqrt(jnp.abs(y) + 1)), jnp.isfinite(x)


@program(F32)
def large_constants(x):
    weights = np.arange(64 * 512, dtype=np.float32).reshape(8, -1)
    mask = np.arange(10_000) % 3 == 0
    small = np.arange(2_000) % 7 == 0
    return x @ weights, jnp.asarray(mask), jnp.asarray(small), jnp.asarray(np.arange(9_000, dtype=np.int16))


@program()
def constants_of_every_type():
    kinds = [jnp.bool_, jnp.int4, jnp.uint4, jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.int32, jnp.uint32,
             jnp.float16, jnp.bfloat16, jnp.float32, jnp.complex64, jnp.float8_e4m3fn, jnp.float8_e5m2,
             jnp.float8_e4m3b11fnuz, jnp.float8_e4m3fnuz, jnp.float8_e5m2fnuz, jnp.float8_e3m4, jnp.float8_e4m3,
             jnp.float8_e8m0fnu, jnp.float4_e2m1fn]
    return tuple(jnp.asarray(np.array([0, 1, 2, 1]).astype(kind)) for kind in kinds)


@program(F32, F32)
def matmul_precisions(x, y):
    return lax.dot_general(x, y, (((1,), (1,)), ((), ())), precision=(lax.Precision.HIGHEST, lax.Precision.HIGH)), \
        lax.dot_general(x, y, (((1,), (1,)), ((), ())), precision=lax.DotAlgorithmPreset.BF16_BF16_F32_X3)


@program(IMAGE)
def convolutions(x):
    kernel = jnp.ones((3, 3, 3, 4))
    y = lax.conv_general_dilated(x, kernel, (2, 1), "SAME", (1, 1), (1, 2), ("NHWC", "HWIO", "NHWC"))
    z = lax.conv_general_dilated(x, jnp.ones((3, 3, 1, 3)), (1, 1), "VALID",
                                 dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=3)
    return y, lax.reduce_window(z, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


@program(IMAGE)
def pooling_gradient(x):
    pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME").sum()
    return jax.grad(pool)(x)


@program(F32, INTS)
def indexing(x, i):
    y = x.at[i % 4, i % 8].add(1.0, unique_indices=False, indices_are_sorted=True)
    return x[i % 4], y, lax.dynamic_slice(x, (i[0], i[1]), (2, 2)), lax.dynamic_update_slice(x, x[:2, :2], (i[0], i[1]))


@program(jax.ShapeDtypeStruct((3, 5, 7), jnp.float32), jax.ShapeDtypeStruct((3, 2), jnp.int32))
def batched_indexing(x, i):
    return jax.vmap(lambda x, i: x[i])(x, i), jax.vmap(lambda x, i: x.at[i].mul(2))(x, i)


@program(VECTOR)
def control_flow(x):
    looped = lax.fori_loop(0, 10, lambda i, v: v * 2 + i, x)
    scanned = lax.scan(lambda c, v: (c + v, c * v), 0.0, x)
    return lax.cond(x[0] > 0, lambda v: v + 1, lambda v: v - 1, looped), scanned, \
        lax.switch(x[1].astype(int), [lambda v: v, lambda v: v * 2, lambda v: v * 3], x)


@program(VECTOR, INTS)
def sorting(x, i):
    return lax.sort((x, i), num_keys=1), lax.top_k(x, 3), jnp.argsort(i)


@program(VECTOR)
def transforms(x):
    return jnp.fft.fft(x), jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x)), jnp.cumsum(x), jnp.flip(x), jnp.pad(x, 3)


@program(jax.ShapeDtypeStruct((4,), jnp.uint32))
def random_bits(state):
    key = jax.random.key(0)
    return jax.random.normal(key, (8,)), jax.random.uniform(key, (3, 3)), \
        lax.rng_bit_generator(state, (8,), dtype=jnp.uint32)


@program(jax.ShapeDtypeStruct((4, 4), jnp.float32))
def linear_algebra(x):
    spd = x @ x.T + jnp.eye(4)
    return jnp.linalg.cholesky(spd), jnp.linalg.inv(spd), jnp.linalg.eigh(spd)


@program(F32)
def special_functions(x):
    return jax.scipy.special.erf(x), jax.scipy.special.gammaln(x), lax.reduce_precision(x, 5, 10), \
        lax.bitcast_convert_type(x, jnp.int32), lax.optimization_barrier(x), lax.clamp(0.0, x, 1.0)


@program(F32)
def training_step(x):
    def loss(w):
        return jnp.mean(jax.nn.gelu(jax.nn.softmax(x @ w) @ w.T) ** 2)
    w = jnp.ones((8, 8))
    value, gradient = jax.value_and_grad(loss)(w)
    return value, w - 0.1 * gradient


@program(jax.ShapeDtypeStruct((8, 8), jnp.float32))
def collectives(x):
    mesh = jax.make_mesh((4,), ("x",), (AxisType.Auto,))

    @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
    def body(x):
        y = lax.psum(x, "x") + lax.all_gather(x, "x", tiled=True)[:2] + lax.axis_index("x")
        z = lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)])
        return y + z + lax.psum_scatter(lax.all_to_all(jnp.tile(x, (4, 1)), "x", 0, 0, tiled=True), "x", tiled=True)

    return body(x)


@program(jax.ShapeDtypeStruct((8, 8), jnp.float32))
def shardings(x):
    mesh = jax.make_mesh((2, 2), ("a", "b"), (AxisType.Auto,) * 2)
    y = lax.with_sharding_constraint(x, NamedSharding(mesh, P("a", "b")))
    return lax.with_sharding_constraint(y @ y.T, NamedSharding(mesh, P(("a", "b"), None)))


@program(jax.ShapeDtypeStruct((4, 4), jnp.float32))
def donated_and_named(x):
    with jax.named_scope("outer"):
        return {"loss": x.sum(), "rest": [x * 2, x.T]}


@program(None, symbolic="n, 4")
def any_number_of_rows(x):
    return jnp.concatenate([x, x * 2]).sum(axis=1), jnp.reshape(x, (-1,)), jnp.arange(x.shape[0])


def artifact(name: str) -> bytes:
    """The program, exported by jax.export."""
    function, arguments, options = PROGRAMS[name]
    if "symbolic" in options:
        shape = jax.export.symbolic_shape(options["symbolic"])
        arguments = (jax.ShapeDtypeStruct(shape, jnp.float32),)
    return jax.export.export(jax.jit(function))(*arguments).mlir_module_serialized
