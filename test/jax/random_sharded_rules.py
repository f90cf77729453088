"""More rules, for programs that are sharded: ops that index, scan, order or slide along a dimension, each in many forms.

Each form is one that a device computes differently if the dimension is sharded, so these are drawn more often there
(test_random_split.py). Results do not depend on the order of collisions, and most are exact.
"""

import dataclasses
import math

from random_programs import Spec
from random_rules import anything_int, floats, ints, real, rounded

RULES = []


def rule(function):
    RULES.append(function)
    return function


def indices(b, rank=1):
    """An integer value of any type, of which elements may lie outside of everything."""
    return b.pick(lambda s: ints(s) and s.rank == rank and s.size > 0)


def usual_indices(b):
    """A value of a type that JAX has for indices."""
    return b.pick(lambda s: s.dtype in ("int32", "int64") and s.rank == 1 and s.size > 0)


def scalar_index(b):
    """An expression for an integer scalar: any element of any integer value, or a constant."""
    picked = b.pick(lambda s: ints(s) and s.size > 0)
    if picked and b.choose((True, True, False)):
        v, s = picked
        return f"{v}.ravel()[{b.number(0, s.size - 1)}]"
    return f"jnp.int32({b.number(-3, 17)})"


def window(b, shape):
    """Sizes of a part of something."""
    return [b.number(1, d) if b.choose((True, False)) else d for d in shape]


# --- reading at computed positions ---


@rule
def slice_at(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0)
    if picked:
        v, s = picked
        sizes = window(b, s.shape)
        starts = ", ".join(f"({scalar_index(b)}).astype(jnp.int32)" for _ in s.shape)
        return f"lax.dynamic_slice({v}, [{starts}], {sizes})", s.with_shape(sizes)


@rule
def take(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0)
    index = picked and indices(b, b.number(1, 2))
    if index:
        (v, s), (i, t) = picked, index
        axis = b.number(0, s.rank - 1)
        shape = (*s.shape[:axis], *t.shape, *s.shape[axis + 1 :])
        return f"jnp.take({v}, {i}, axis={axis}, mode='clip')", s.with_shape(shape)


@rule
def take_along(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0)
    index = picked and b.pick(lambda t: ints(t) and t.shape == picked[1].shape)
    if index:
        (v, s), (i, _) = picked, index
        axis = b.number(0, s.rank - 1)
        return f"jnp.take_along_axis({v}, {i}, axis={axis}, mode='clip')", s


@rule
def take_points(b):
    """Index vectors of two numbers."""
    picked = b.pick(lambda s: s.rank >= 2 and s.size > 0)
    index = picked and usual_indices(b)
    if index:
        (v, s), (i, t) = picked, index
        return f"{v}.at[{i}, {i} + 1].get(mode='clip')", s.with_shape((*t.shape, *s.shape[2:]))


@rule
def rows_in_a_loop(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and (floats(s) or ints(s)))
    if picked:
        v, s = picked
        step = f"lambda i, c: lax.max(c, lax.dynamic_index_in_dim({v}, i * 3 - 2, 0, keepdims=False))"
        return f"lax.fori_loop(0, {b.number(1, 4)}, {step}, {v}[0])", s.with_shape(s.shape[1:])


# --- writing at computed positions ---


@rule
def update_at(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0)
    if picked:
        (v, s), (u, t) = picked, b.like(picked[1])
        sizes = window(b, s.shape)
        starts = ", ".join(f"({scalar_index(b)}).astype(jnp.int32)" for _ in s.shape)
        update = f"lax.slice({u}, {[0] * s.rank}, {sizes})"
        spec = dataclasses.replace(s, low=min(s.low, t.low), high=max(s.high, t.high), error=max(s.error, t.error))
        return f"lax.dynamic_update_slice({v}, {update}, [{starts}])", spec


@rule
def set_rows(b):
    """Different rows, some outside."""
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0)
    if picked:
        (v, s), (u, t) = picked, b.like(picked[1])
        n = s.shape[0]
        modulus = n + b.number(0, 3)
        step = b.choose([k for k in (1, 3, 5, 7) if math.gcd(k, modulus) == 1])
        rows = f"(jnp.arange({n}) * {step} + {b.number(0, n)}) % {modulus}"
        spec = dataclasses.replace(s, low=min(s.low, t.low), high=max(s.high, t.high), error=max(s.error, t.error))
        return f"{v}.at[{rows}].set({u}, mode='drop', unique_indices={b.choose((False, True))})", spec


@rule
def combine_rows(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and (ints(s) or floats(s)))
    index = picked and indices(b)
    updates = index and b.pick(lambda u: (u.dtype, u.shape) == (picked[1].dtype, (*index[1].shape, *picked[1].shape[1:])))
    if updates:
        (v, s), (u, t) = picked, updates
        how = b.choose(("add", "max", "min", "multiply")) if ints(s) else b.choose(("max", "min"))
        spec = anything_int(s) if ints(s) else dataclasses.replace(
            s, low=min(s.low, t.low), high=max(s.high, t.high), error=max(s.error, t.error)
        )  # fmt: skip
        return f"{v}.at[{index[0]}].{how}({u}, mode='drop')", spec


@rule
def histogram(b):
    """Into zeros: what the gradient of an embedding is."""
    index = indices(b)
    if index:
        i, t = index
        size = b.choose((8, 16, 12))
        updates = b.pick(lambda u: ints(u) and u.shape == t.shape)
        if updates:
            u, s = updates
            return f"jnp.zeros(({size},), jnp.{s.dtype}).at[{i}].add({u}, mode='drop')", anything_int(s.with_shape((size,)))


@rule
def add_points(b):
    picked = b.pick(lambda s: s.rank == 2 and s.size > 0 and ints(s))
    index = picked and usual_indices(b)
    if index:
        (v, s), (i, _) = picked, index
        return f"{v}.at[{i}, {i} * 2 - 1].add(jnp.{s.dtype}(3), mode='drop')", anything_int(s)


# --- scans ---


@rule
def running_product(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and ints(s))
    if picked:
        v, s = picked
        return f"lax.cumprod({v}, axis={b.number(0, s.rank - 1)}, reverse={b.choose((False, True))})", anything_int(s)


@rule
def running_logsumexp(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and s.dtype in ("float32", "float64") and s.magnitude <= 50)
    if picked:
        v, s = picked
        n = max(s.shape)
        made = f"lax.cumlogsumexp({v}, axis={b.number(0, s.rank - 1)}, reverse={b.choose((False, True))})"
        return made, rounded(s, s.low, s.high + n, n * s.error, 8 * n)


# --- order ---


@rule
def places_of_largest(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.shape[-1] > 0 and (floats(s) or ints(s)) and s.exact)
    if picked:
        v, s = picked
        k = b.number(1, s.shape[-1])
        return f"lax.top_k({v}, {k})[1]", Spec("int32", (*s.shape[:-1], k), 0, 511)


@rule
def sort_pairs(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and real(s) and s.exact)
    if picked:
        (x, s), (y, t) = picked, b.like(picked[1], lambda t: t.exact)
        made = f"lax.sort(({x}, {y}), dimension={b.number(0, s.rank - 1)}, num_keys={b.number(1, 2)}, is_stable=True)[1]"
        return made, t


# --- reductions ---


def reduce_integers(b, init, body):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and ints(s))
    if picked:
        v, s = picked
        axis = b.number(0, s.rank - 1)
        shape = (*s.shape[:axis], *s.shape[axis + 1 :])
        return f"lax.reduce({v}, jnp.{s.dtype}({init}), lax.{body()}, ({axis},))", anything_int(s.with_shape(shape))


@rule
def exclusive_or(b):
    """A body that no collective has."""
    return reduce_integers(b, 0, lambda: "bitwise_xor")


@rule
def sum_from(b):
    """An initial value that is not neutral."""
    return reduce_integers(b, 5, lambda: b.choose(("add", "mul", "max", "min")))


@rule
def first_of_largest(b):
    """Two results from one reduction."""
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and s.kind in ("int", "float") and s.exact)
    if picked:
        v, s = picked
        axis = b.number(0, s.rank - 1)
        shape = (*s.shape[:axis], *s.shape[axis + 1 :])
        return f"(jnp.argmax({v}, axis={axis}) + jnp.argmin({v}, axis={axis})).astype(jnp.int32)", Spec("int32", shape, 0, 511)


# --- windows and movements ---


@rule
def window_sum(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and ints(s))
    if picked:
        v, s = picked
        sizes = [b.number(1, min(3, d)) for d in s.shape]
        strides = [b.number(1, 2) for _ in s.shape]
        padding = [(b.number(0, 2), b.number(0, 2)) for _ in s.shape]
        dilation = [b.number(1, 2) if d > 2 else 1 for d in s.shape]
        reach = [(size - 1) * k + 1 for size, k in zip(sizes, dilation)]
        shape = [(d + lo + hi - r) // k + 1 for d, (lo, hi), r, k in zip(s.shape, padding, reach, strides)]
        if min(shape) < 1:
            return None
        made = f"lax.reduce_window({v}, jnp.{s.dtype}(0), lax.add, {sizes}, {strides}, {padding}, window_dilation={dilation})"
        return made, anything_int(s.with_shape(shape))


@rule
def roll(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0)
    if picked:
        v, s = picked
        return f"jnp.roll({v}, {b.number(-5, 5)}, axis={b.number(0, s.rank - 1)})", s


@rule
def split_dimension(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0)
    if picked:
        v, s = picked
        at = b.number(0, s.rank - 1)
        d = s.shape[at]
        factor = b.choose([k for k in (1, 2, 4, 3) if d % k == 0])
        shape = (*s.shape[:at], factor, d // factor, *s.shape[at + 1 :])
        return f"{v}.reshape({shape})", s.with_shape(shape)


@rule
def merge_dimensions(b):
    picked = b.pick(lambda s: s.rank >= 2)
    if picked:
        v, s = picked
        at = b.number(0, s.rank - 2)
        shape = (*s.shape[:at], s.shape[at] * s.shape[at + 1], *s.shape[at + 2 :])
        return f"{v}.reshape({shape})", s.with_shape(shape)


@rule
def random_bits(b):
    picked = b.pick(lambda s: ints(s) and s.size > 0)
    if picked:
        shape = b.choose(((8,), (16, 4), (8, 8)))
        made = f"jax.random.bits(jax.random.key({picked[0]}.ravel()[0].astype(jnp.int32)), {shape}, jnp.uint32)"
        return made, anything_int(Spec("uint32", shape))
