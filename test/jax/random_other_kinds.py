"""Rules for kinds of ops that no other rule draws: barriers, generated bits, precision, gradients of windows, scans by halves.

Kept apart from random_sharded_rules.py, whose programs were compiled with jaxlib once (distribution/random_jaxlib.json).
"""

import dataclasses

from random_programs import Spec
from random_rules import anything_int, exact_floats, floats, ints

RULES = []


def rule(function):
    RULES.append(function)
    return function


@rule
def barrier(b):
    picked = b.pick()
    if picked:
        v, s = picked
        return f"lax.optimization_barrier({v})", s


@rule
def barrier_of_two(b):
    """A barrier has one sharding for each value."""
    picked, other = b.pick(), b.pick()
    if picked and other:
        return f"lax.optimization_barrier(({picked[0]}, {other[0]}))[0]", picked[1]


@rule
def finite(b):
    picked = b.pick(floats)
    if picked:
        v, s = picked
        return f"lax.is_finite({v})", Spec("bool", s.shape, 0, 1)


@rule
def coarser(b):
    picked = b.pick(lambda s: exact_floats(s) and s.dtype in ("float32", "float64"))
    if picked:
        v, s = picked
        return f"lax.reduce_precision({v}, 8, 7)", dataclasses.replace(s, low=s.low * 1.01, high=s.high * 1.01)


@rule
def generated_bits(b):
    """Bits of a counter: each device makes those of its shard."""
    picked = b.pick(lambda s: ints(s) and s.size > 0)
    if picked:
        shape = b.choose(((8,), (16, 4), (8, 8), (2, 8, 4)))
        dtype = b.choose(("uint32", "uint64", "uint8"))
        key = f"jnp.full((4,), {picked[0]}.ravel()[0]).astype(jnp.uint32)"
        return f"lax.rng_bit_generator({key}, {shape}, jnp.{dtype})[1]", anything_int(Spec(dtype, shape))


@rule
def gradient_of_pooling(b):
    """select_and_scatter: one element of each window gets 1."""
    picked = b.pick(lambda s: exact_floats(s) and s.rank == 2 and s.size > 0)
    if picked:
        v, s = picked
        window = tuple(b.choose([k for k in (1, 2, 4) if d % k == 0]) for d in s.shape)
        pool = f"lax.reduce_window(x, -jnp.inf, lax.max, {window}, {window}, 'VALID')"
        return f"jax.grad(lambda x: {pool}.astype(jnp.float32).sum())({v})", dataclasses.replace(s, low=0.0, high=1.0)


@rule
def scan_by_halves(b):
    picked = b.pick(lambda s: ints(s) and s.rank >= 1 and s.size > 0)
    if picked:
        v, s = picked
        reverse = b.choose((False, True))
        return f"lax.associative_scan(jnp.add, {v}, reverse={reverse}, axis={b.number(0, s.rank - 1)})", anything_int(s)


@rule
def real_and_imaginary(b):
    """A complex value that only passes through movements."""
    picked = b.pick(lambda s: s.dtype == "float32" and s.rank >= 1 and s.size > 0)
    if picked:
        v, s = picked
        axis = b.number(0, s.rank - 1)
        made = f"jnp.flip(jnp.roll(lax.complex({v}, {v}), 1, axis={axis}), axis={axis})"
        return f"lax.{b.choose(('real', 'imag'))}({made})", s
