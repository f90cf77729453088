"""Ops that read, write, order and scan along sharded dimensions, at values and indices where implementations differ.

Each program runs on one device and on 2, 4 and 8 with several random shardings. Results must be the same bit for bit,
except that a NaN may have other bits.
"""

import random

import artifacts  # noqa: F401  sets the flags of XLA before jax starts
import conftest
import dividing
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

NAN, INF = np.nan, np.inf
SPECIAL = np.array([-0.0, 0.0, NAN, INF, -INF, 1, -1, -0.0, 5, 5, NAN, 0.0, -0.0, 2, -3, 5], np.float32)
TABLE = np.stack([np.roll(SPECIAL, k) for k in range(8)], axis=1)  # [16, 8]
NUMBERS = np.arange(256, dtype=np.int32).reshape(256, 1) * 3
WILD = [-(2**31), -17, -1, 0, 7, 8, 15, 16, 2**31 - 1]

CASES = {}


def case(*arguments):
    def declare(function):
        CASES[function.__name__] = function, [np.array(argument, order="C") for argument in arguments]
        return function

    return declare


@case(TABLE, np.array(WILD, np.int32))
def rows_of_special_values(x, i):
    return x[i], jnp.take(x, i, axis=1, mode="clip"), x.at[i].get(mode="fill", fill_value=-0.0)


@case(NUMBERS, np.array([-128, -1, 0, 100, 127], np.int8), np.array([0, 128, 200, 255], np.uint8))
def narrow_indices(x, i, j):
    return jnp.take(x, i, axis=0, mode="clip"), lax.gather(
        x, j[:, None], lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 1), mode="clip"
    )


@case(TABLE, np.array([0, 2**63, 2**64 - 1, 5], np.uint64), np.array([-(2**63), 2**63 - 1, 3], np.int64), TABLE[:4], TABLE[:3])
def wide_indices(x, i, j, u, v):
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    return (
        lax.scatter(x, i[:, None], u, numbers, mode="drop", unique_indices=True),
        lax.scatter(x, j[:, None], v, numbers, mode="drop", indices_are_sorted=False),
    )


@case(NUMBERS, np.array([0, 128, 200, 255], np.uint8), np.array([7, 8, 9, 10], np.int32)[:, None])
def narrow_indices_of_updates(x, i, u):
    return lax.scatter_add(x, i[:, None], u, lax.ScatterDimensionNumbers((1,), (0,), (0,)), mode="drop")


@case(TABLE, TABLE[:5, :3], *(np.int32(i) for i in WILD[:4]))
def parts_at_the_borders(x, u, a, b, c, d):
    starts = [(a, d), (b, c), (jnp.int32(6), jnp.int32(6)), (jnp.int32(100), jnp.int32(3)), (jnp.int32(1), jnp.int32(2**30))]
    return [lax.dynamic_slice(x, s, (5, 3)) for s in starts] + [lax.dynamic_update_slice(x, u, s) for s in starts]


@case(TABLE, np.uint8(250), np.uint64(2**63))
def unsigned_starts(x, i, j):
    zero = jnp.uint8(0)
    return lax.dynamic_slice(x, (i, zero), (9, 8)), lax.dynamic_update_slice(x, x[:2], (j, jnp.uint64(0)))


@case(TABLE, TABLE[:0], np.int32(4))
def empty_parts(x, u, i):
    return lax.dynamic_slice(x, (i, i), (0, 3)), lax.dynamic_update_slice(x, u, (i, i)), x[jnp.zeros((0,), jnp.int32)]


@case(TABLE != 0, np.array(WILD, np.int32), np.int32(9))
def booleans(x, i, start):
    return x[i], lax.dynamic_slice(x, (start, start), (4, 4)), jnp.any(x, axis=0), lax.reduce_xor(x, (0,))


@case(lax.complex(TABLE, TABLE[::-1]), np.array(WILD, np.int32), np.int32(9))
def complex_numbers(x, i, start):
    return x[i], lax.dynamic_slice(x, (start, start), (4, 4)), x.at[i].set(1j)


@case(TABLE.astype(jnp.bfloat16), TABLE.astype(np.float16), np.array(WILD, np.int32))
def halves(x, y, i):
    return x[i], y[i], lax.cummax(x, axis=0), lax.top_k(y.T, 3)


@case(TABLE)
def places(x):
    return jnp.argmax(x, axis=0), jnp.argmin(x, axis=0), jnp.argmax(x), jnp.nanargmax(x, axis=0), jnp.argmax(x > 9, axis=0)


@case(np.full((16, 8), -INF, np.float32), np.full((16, 8), NAN, np.float32))
def places_among_equals(x, y):
    return jnp.argmax(x, axis=0), jnp.argmin(-x, axis=0), jnp.argmax(y, axis=0)


@case(TABLE.T)
def largest(x):
    return lax.top_k(x, 5), lax.top_k(x, 16), lax.top_k(x, 1), lax.top_k(-x, 3)


@case(np.where(np.isnan(TABLE) | np.isinf(TABLE), 2, TABLE).astype(np.float32), TABLE)
def scans(x, y):
    # Small integers, of which every order of a sum is exact.
    return (
        lax.cumsum(x, axis=0), lax.cumsum(x, axis=1, reverse=True), lax.cummax(y, axis=0), lax.cummin(y, axis=0, reverse=True),
        lax.cumsum(x.astype(jnp.int32), axis=0, reverse=True), lax.cumprod(x.astype(jnp.int32) + 1, axis=0),
    )  # fmt: skip


@case(np.arange(128, dtype=np.int32).reshape(16, 8))
def reductions(x):
    return (
        lax.reduce(x, np.int32(5), lax.add, (0,)), lax.reduce(x, np.int32(3), lax.mul, (0, 1)),
        lax.reduce(x, np.int32(0), lax.bitwise_xor, (0, 1)), lax.reduce(x, np.int32(-1), lax.bitwise_and, (1,)),
        lax.reduce((x, x[::-1]), (np.int32(-1), np.int32(0)), lambda a, b: (lax.max(a[0], b[0]), a[1] ^ b[1]), (0,)),
    )  # fmt: skip


@case(TABLE)
def a_loop_over_rows(x):
    def step(i, carry):
        total, out = carry
        row = lax.dynamic_index_in_dim(x, i, 0, keepdims=False)
        return jnp.where(row > 0, row, total), lax.dynamic_update_index_in_dim(out, row, 15 - i, 0)

    return lax.fori_loop(0, 16, step, (jnp.zeros((8,), jnp.float32), jnp.zeros((16, 8), jnp.float32)))


def same(a, b):
    if a.dtype.kind not in "fcV" and "float" not in a.dtype.name:
        return np.array_equal(a, b)
    parts = [a.real, a.imag] if a.dtype.kind == "c" else [a]
    others = [b.real, b.imag] if b.dtype.kind == "c" else [b]
    for part, other in zip(parts, others):
        part, other = part.astype(np.float64), other.astype(np.float64)
        nan = np.isnan(part) & np.isnan(other)
        if not np.all(nan | ((part == other) & (np.signbit(part) == np.signbit(other)))):
            return False
    return True


@pytest.mark.parametrize("seed", range(2))
def test_edges_in_pieces(tmp_path, pytestconfig, seed):
    cases = []
    for name, (function, arguments) in CASES.items():
        with jax.enable_x64(True):
            jitted = jax.jit(lambda *a, f=function: jax.tree.leaves(f(*a)), keep_unused=True)
            exported = export.export(jitted, platforms=["cpu"])(*arguments)
        outputs = [(aval.shape, dividing.dtype_of(aval.dtype.name)) for aval in exported.out_avals]
        rng = random.Random(f"{seed}/{name}")
        cases.append(dividing.Case(name, exported.mlir_module_serialized, arguments, outputs, tmp_path, rng))

    def judge(case, device, got, wanted):
        for index, (a, b) in enumerate(zip(got, wanted)):
            if a.shape != b.shape or not same(a, b):
                return f"output {index} of device {device} is\n{a}\none device:\n{b}"
        return None

    wrong, collectives, whole, runs = dividing.compare(cases, tmp_path, judge)
    pytestconfig.stash[conftest.SUMMARY] = pytestconfig.stash.get(conftest.SUMMARY, []) + [
        f"{len(cases)} programs, {runs} runs; {dict(collectives)}; computed whole: {dict(whole)}"
    ]
    if wrong:
        pytest.fail(f"{len(wrong)} disagree, the shortest is\n{min(wrong, key=len)}")
