"""Collectives that NCCL does not know as they are, on all devices of the process, compared with numpy.

    TILEWRIGHT_TARGET=vgpu:sm_90a TILEWRIGHT_VGPU_DEVICES=4 python forms.py

The compiler writes them in other forms (communicate-device-forms): other dimensions, small and complex types, booleans,
and maximum and minimum of floats, in which a NaN wins.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

COUNT = jax.device_count()
MESH = Mesh(np.array(jax.devices()), ("d",))
RANDOM = np.random.default_rng(3)
compared = 0


def mapped(function, outputs=P()):
    return jax.jit(jax.shard_map(function, mesh=MESH, in_specs=P("d"), out_specs=outputs, check_vma=False))


def expect(ours, theirs):
    global compared
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    np.testing.assert_array_equal(ours.astype(theirs.dtype), theirs)
    if theirs.dtype.kind == "f":
        numbers = ~np.isnan(theirs)
        np.testing.assert_array_equal(np.signbit(ours.astype(theirs.dtype))[numbers], np.signbit(theirs)[numbers])
    compared += 1


def extremes():
    x = RANDOM.standard_normal((COUNT, 6)).astype(np.float32)
    x[0, 0], x[1, 1], x[1:, 2], x[:, 3] = np.nan, np.inf, 0.0, -np.inf
    x[0, 2] = -0.0
    for dtype in (jnp.float32, jnp.bfloat16, jnp.float16):
        exact = x.astype(dtype).astype(np.float32)
        most, least = exact.max(0, keepdims=True), exact.min(0, keepdims=True)
        most[0, 2], least[0, 2] = 0.0, -0.0  # numpy leaves the sign of a zero open
        ours = mapped(lambda v: (lax.pmax(v.astype(dtype), "d"), lax.pmin(v.astype(dtype), "d")))(x)
        expect(ours[0].astype(np.float32), most)
        expect(ours[1].astype(np.float32), least)


def integers():
    x = RANDOM.integers(-30000, 30000, (COUNT, COUNT * 3)).astype(np.int32)
    for dtype in (np.int16, np.uint16, np.uint8, np.uint32):
        exact = x.astype(dtype)
        total = exact.sum(0, keepdims=True, dtype=dtype)

        def all_of(v):
            v = v.astype(dtype)
            return lax.psum(v, "d"), lax.pmax(v, "d"), lax.pmin(v, "d")

        for ours, theirs in zip(mapped(all_of)(x), (total, exact.max(0, keepdims=True), exact.min(0, keepdims=True))):
            expect(ours, theirs)
        parts = mapped(lambda v: lax.psum_scatter(v.astype(dtype), "d", scatter_dimension=1, tiled=True), P("d"))(x)
        expect(parts, total.reshape(COUNT, 3))


def complex_numbers():
    shape = (COUNT, COUNT * 2, 5)
    x = (RANDOM.integers(-9, 9, shape) + 1j * RANDOM.integers(-9, 9, shape)).astype(np.complex64)
    expect(mapped(lambda v: lax.psum(v, "d"))(x), x.sum(0, keepdims=True))
    parts = mapped(lambda v: lax.psum_scatter(v, "d", scatter_dimension=1, tiled=True), P("d"))(x)
    expect(parts, x.sum(0).reshape(COUNT, 2, 5))


def booleans():
    x = RANDOM.integers(0, 4, (COUNT, 9)) > 0
    x[:, 0], x[:, 1] = True, False
    placed = jax.device_put(x, NamedSharding(MESH, P("d")))
    some, every = jax.jit(lambda v: (v.any(0), v.all(0)))(placed)
    expect(some, x.any(0))
    expect(every, x.all(0))


def gathers():
    x = RANDOM.integers(-8, 8, (COUNT, 3, 4)).astype(np.int32)
    for dtype in (jnp.int4, jnp.float8_e4m3fn, jnp.bool_, jnp.int16):
        ours = mapped(lambda v: lax.all_gather(v.astype(dtype), "d", axis=2, tiled=True).astype(jnp.float32))(x)
        theirs = np.concatenate([x[rank : rank + 1] for rank in range(COUNT)], axis=2)
        expect(ours, (theirs != 0 if dtype == jnp.bool_ else theirs).astype(np.float32))


def exchanges():
    x = np.arange(COUNT * COUNT * 2 * COUNT * 3).reshape(COUNT, COUNT * 2, COUNT * 3).astype(np.float32)
    for split, join in ((1, 2), (2, 1), (1, 1), (2, 2), (2, 0)):
        ours = mapped(lambda v: lax.all_to_all(v, "d", split, join, tiled=True), P("d"))(x)
        pieces = [np.split(x[rank : rank + 1], COUNT, axis=split) for rank in range(COUNT)]
        expect(ours, np.concatenate([np.concatenate([own[rank] for own in pieces], axis=join) for rank in range(COUNT)]))


if __name__ == "__main__":
    for form in (extremes, integers, complex_numbers, booleans, gathers, exchanges):
        form()
    print(f"{compared} results agree with numpy")
