"""Rules for chains of ops on a partial sum, ordered reductions, loops of several values, and forms with batches.

A partial sum stays open through linear ops, so a chain applies a few of them to a sum one after the other. Most values are integers,
whose results do not depend on the order of sums.
"""

import random_rules
import random_sharded_rules as sharded
from random_programs import Spec
from random_rules import anything_int, bools, floats, ints, real

RULES = []


def rule(function):
    RULES.append(function)
    return function


# --- chains of linear ops ---


class Following:
    """A builder whose first pick is the newest value, if that is suitable."""

    def __init__(self, builder):
        self.builder, self.is_first = builder, True
        self.choose, self.number, self.values = builder.choose, builder.number, builder.values

    def pick(self, wanted=lambda spec: True):
        newest, self.is_first = self.is_first, False
        if newest and wanted(self.values[-1]):
            return f"v{len(self.values) - 1}", self.values[-1]
        return self.builder.pick(wanted)

    def like(self, spec, wanted=lambda spec: True):
        return self.pick(lambda other: (other.dtype, other.shape) == (spec.dtype, spec.shape) and wanted(other))


def numbers(spec):
    return (ints(spec) or floats(spec)) and spec.size > 0


def sum_of_two_dimensions(b):
    picked = b.pick(lambda s: ints(s) and s.rank >= 2)
    if picked:
        v, s = picked
        axes = (0, s.rank - 1)
        return f"{v}.sum(axis={axes}, dtype=jnp.{s.dtype})", anything_int(s.with_shape(s.shape[1:-1]))


def scaled(b):
    picked = b.pick(numbers)
    if picked:
        v, s = picked
        if ints(s):
            return f"{v} * jnp.{s.dtype}({b.number(2, 7)})", anything_int(s)
        return f"{v} * jnp.{s.dtype}(0.5)", random_rules.rounded(s, 0.5 * min(s.low, 0), 0.5 * max(s.high, 0), 0.5 * s.error)


def divided(b):
    picked = b.pick(lambda s: floats(s) and s.size > 0)
    if picked:
        v, s = picked
        return f"{v} / jnp.{s.dtype}(3)", random_rules.rounded(s, min(s.low, 0), max(s.high, 0), s.error, 2)


def other_width(b):
    picked = b.pick(numbers)
    if picked:
        v, s = picked
        if ints(s):
            target = b.choose(("int8", "int16", "int32", "int64", "uint8", "uint32"))
            return f"{v}.astype(jnp.{target})", anything_int(Spec(target, s.shape))
        return random_rules.to_float(b)


def padded(b):
    picked = b.pick(lambda s: numbers(s) and s.rank >= 1)
    if picked:
        v, s = picked
        at = b.number(0, s.rank - 1)
        low, high = b.choose(((0, s.shape[at]), (s.shape[at], 0), (1, 1), (0, 8)))
        config = [(low, high, 0) if d == at else (0, 0, 0) for d in range(s.rank)]
        shape = [d + lo + hi for d, (lo, hi, _) in zip(s.shape, config)]
        spec = Spec(s.dtype, tuple(shape), min(s.low, 0), max(s.high, 0), s.error)
        return f"lax.pad({v}, jnp.{s.dtype}(0), {config})", spec


def by_one_mask(b):
    picked = b.pick(lambda s: numbers(s))
    if picked:
        (x, s), (y, t) = picked, b.like(picked[1])
        mask = b.pick(lambda m: bools(m) and m.shape in ((), s.shape))
        if mask:
            spec = Spec(s.dtype, s.shape, min(s.low, t.low), max(s.high, t.high), max(s.error, t.error))
            return f"lax.select({mask[0]}, {x}, {y})", spec


def carried(b):
    """A loop whose value may stay a partial sum."""
    picked = b.pick(lambda s: ints(s) and s.size > 0)
    if picked:
        (x, s), (y, _) = picked, b.like(picked[1])
        return f"lax.fori_loop(0, {b.number(1, 3)}, lambda i, c: c + {y}, {x})", anything_int(s)


SUMS = [
    lambda b: random_rules.sum_of(b, "sum"), lambda b: random_rules.sum_of(b, "sum"), sum_of_two_dimensions,
    random_rules.dot, random_rules.dot, random_rules.batched_dot, random_rules.convolve, sharded.histogram, sharded.add_points,
]  # fmt: skip
LINEAR = [
    lambda b: random_rules.sum_or_difference(b, "add", 1), lambda b: random_rules.sum_or_difference(b, "sub", -1),
    lambda b: random_rules.integer_arithmetic(b, "add"), lambda b: random_rules.integer_arithmetic(b, "sub"),
    lambda b: random_rules.integer_arithmetic(b, "mul"), random_rules.multiply, random_rules.negate, scaled, divided, other_width,
    random_rules.transpose, random_rules.reshape, random_rules.slice_, random_rules.reverse, random_rules.broadcast, padded,
    random_rules.concatenate, by_one_mask, sharded.slice_at, sharded.take, sharded.update_at, sharded.roll, carried,
    lambda b: random_rules.sum_of(b, "sum"), random_rules.dot,
]  # fmt: skip


@rule
def chain(b):
    made = b.choose(SUMS)(b)
    for _ in range(b.number(1, 4)):
        if made:
            b.add(*made)
        made = b.choose(LINEAR)(Following(b))
    return made


RULES += [chain] * 9  # drawn ten times as often as others


# --- reductions ---


@rule
def all_dimensions(b):
    picked = b.pick(lambda s: s.rank >= 2 and s.size > 0 and ints(s))
    if picked:
        v, s = picked
        body = b.choose(("add", "max", "min", "bitwise_and", "bitwise_or", "bitwise_xor", "mul"))
        start = {"max": "-5", "min": "5", "bitwise_and": "3", "mul": "1"}.get(body, "0")
        start = start.removeprefix("-") if s.dtype.startswith("u") else start
        axes = tuple(range(b.number(0, 1), s.rank))
        shape = s.shape[: axes[0]]
        return f"lax.reduce({v}, jnp.{s.dtype}({start}), lax.{body}, {axes})", anything_int(s.with_shape(shape))


@rule
def first_that_counts(b):
    """A body that is associative and not commutative."""
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and ints(s))
    if picked:
        v, s = picked
        axis = b.number(0, s.rank - 1)
        shape = (*s.shape[:axis], *s.shape[axis + 1 :])
        body = b.choose(("jnp.where(a != 0, a, c)", "jnp.where(c != 0, c, a)"))
        return f"lax.reduce({v} & 3, jnp.{s.dtype}(0), lambda a, c: {body}, ({axis},))", anything_int(s.with_shape(shape))


@rule
def composed_maps(b):
    """Maps x -> a x + c, composed in order: two operands, two results, not commutative."""
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and ints(s))
    if picked:
        (x, s), (y, _) = picked, b.like(picked[1])
        axis = b.number(0, s.rank - 1)
        shape = (*s.shape[:axis], *s.shape[axis + 1 :])
        one, zero = f"jnp.{s.dtype}(1)", f"jnp.{s.dtype}(0)"
        body = "lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1])"
        made = f"lax.reduce(({x}, {y}), ({one}, {zero}), {body}, ({axis},))[{b.number(0, 1)}]"
        return made, anything_int(s.with_shape(shape))


@rule
def windows_in_order(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and ints(s))
    if picked:
        v, s = picked
        axis = b.number(0, s.rank - 1)
        n = s.shape[axis]
        size = b.choose((n, min(2, n), min(3, n)))
        window = [size if d == axis else 1 for d in range(s.rank)]
        padding = [(size - 1, 0) if d == axis else (0, 0) for d in range(s.rank)]
        body = "lambda a, c: jnp.where(c != 0, c, a)"
        made = f"lax.reduce_window({v} & 3, jnp.{s.dtype}(0), {body}, {window}, {[1] * s.rank}, {padding})"
        return made, anything_int(s)


# --- products ---


@rule
def product_of_threes(b):
    """Several batch or contracting dimensions, and results that are wider than operands."""
    picked = b.pick(lambda s: s.rank == 3 and s.size > 0 and ints(s))
    if picked:
        (x, s), (y, _) = picked, b.like(picked[1])
        n, m, k = s.shape
        contracted, batch, shape = b.choose((
            ((1, 2), (), (n, n)), ((0, 1), (), (k, k)), ((2,), (0, 1), (n, m)), ((1,), (0,), (n, k, k)), ((0, 2), (1,), (m,)),
            ((0, 1, 2), (), ()),
        ))  # fmt: skip
        wide = b.choose((s.dtype, "int64" if s.dtype.startswith("i") else "uint64"))
        made = f"lax.dot_general({x}, {y}, (({contracted}, {contracted}), ({batch}, {batch})), preferred_element_type=jnp.{wide})"
        return made, anything_int(Spec(wide, shape))


# --- indices with batches ---


def indices_of_each(b, spec):
    """Several indices for each row of a value."""
    return b.pick(lambda t: t.dtype in ("int32", "int64") and t.rank == 2 and t.shape[0] == spec.shape[0])


@rule
def rows_of_each(b):
    picked = b.pick(lambda s: s.rank >= 2 and s.size > 0)
    index = picked and indices_of_each(b, picked[1])
    if index and index[1].size > 0:
        (v, s), (i, t) = picked, index
        made = f"jax.vmap(lambda x, i: jnp.take(x, i, axis=0, mode='clip'))({v}, {i})"
        return made, s.with_shape((*t.shape, *s.shape[2:]))


@rule
def add_to_each(b):
    picked = b.pick(lambda s: s.rank == 2 and s.size > 0 and ints(s))
    index = picked and indices_of_each(b, picked[1])
    updates = index and b.pick(lambda u: (u.dtype, u.shape) == (picked[1].dtype, index[1].shape))
    if updates:
        (v, s), (u, _) = picked, updates
        return f"jax.vmap(lambda x, i, u: x.at[i].add(u, mode='drop'))({v}, {index[0]}, {u})", anything_int(s)


@rule
def add_columns(b):
    picked = b.pick(lambda s: s.rank >= 2 and s.size > 0 and ints(s))
    index = picked and sharded.usual_indices(b)
    if index:
        (v, s), (i, t) = picked, index
        return f"{v}.at[:, {i}].add(jnp.{s.dtype}({b.number(1, 5)}), mode='drop')", anything_int(s)


# --- loops and branches ---


@rule
def swapping_loop(b):
    picked = b.pick(lambda s: s.size > 0 and ints(s))
    if picked:
        (x, s), (y, _) = picked, b.like(picked[1])
        made = f"lax.fori_loop(0, {b.number(1, 5)}, lambda i, c: (c[1], c[0] * 3 + c[1]), ({x}, {y}))[{b.number(0, 1)}]"
        return made, anything_int(s)


@rule
def loop_of_products(b):
    picked = b.pick(lambda s: s.rank == 2 and s.size > 0 and ints(s))
    square = picked and b.pick(lambda t: t.dtype == picked[1].dtype and t.shape == (picked[1].shape[1],) * 2)
    if square:
        v, s = picked
        return f"lax.fori_loop(0, {b.number(1, 3)}, lambda i, c: c @ {square[0]} + c, {v})", anything_int(s)


@rule
def loop_in_a_loop(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and ints(s))
    if picked:
        (x, s), (y, _) = picked, b.like(picked[1])
        inner = f"lax.fori_loop(0, {b.number(1, 2)}, lambda j, d: d * 2 + jnp.roll({y}, 1, 0), c)"
        return f"lax.fori_loop(0, {b.number(1, 3)}, lambda i, c: {inner} + c.sum(axis=0, dtype=c.dtype), {x})", anything_int(s)


@rule
def rows_written_in_a_loop(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and ints(s))
    if picked:
        v, s = picked
        step = f"lambda i, c: lax.dynamic_update_index_in_dim(c, lax.dynamic_index_in_dim({v}, i, 0, False) * 3, i * 2 - 1, 0)"
        return f"lax.fori_loop(0, {b.number(1, s.shape[0])}, {step}, {v})", anything_int(s)


@rule
def scan_with_state(b):
    picked = b.pick(lambda s: s.rank >= 2 and s.size > 0 and ints(s))
    if picked:
        v, s = picked
        which, reverse = b.number(0, 1), b.choose((False, True))
        made = f"lax.scan(lambda c, x: (c * 3 + x, c - x), {v}[0], {v}, reverse={reverse})[{which}]"
        return made, anything_int(s if which else s.with_shape(s.shape[1:]))


@rule
def until_large(b):
    """A loop that ends when a reduction of what it carries says so."""
    picked = b.pick(lambda s: s.size > 0 and s.dtype in ("int32", "int64", "int16"))
    if picked:
        v, s = picked
        more = f"lambda c: (c[0] < {b.number(1, 6)}) & (jnp.max(c[1]) < 1000)"
        return f"lax.while_loop({more}, lambda c: (c[0] + 1, jnp.abs(c[1]) * 2 + 1), (0, {v}))[1]", anything_int(s)


@rule
def two_from_a_branch(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and ints(s))
    condition = picked and b.pick(lambda t: real(t) and t.exact and t.size > 0)
    if condition:
        (x, s), (y, _) = picked, b.like(picked[1])
        sides = "lambda a, c: (a + c, a.sum(axis=0, dtype=a.dtype)), lambda a, c: (c, a[0])"
        which = b.number(0, 1)
        made = f"lax.cond({condition[0]}.ravel()[0] > 0, {sides}, {x}, {y})[{which}]"
        return made, anything_int(s.with_shape(s.shape[1:]) if which else s)


# --- other forms ---


@rule
def narrower_bits(b):
    picked = b.pick(lambda s: s.dtype in ("int32", "uint32", "int16", "int64") and s.size > 0)
    if picked:
        v, s = picked
        target, parts = {"int32": ("int16", 2), "uint32": ("uint8", 4), "int16": ("int8", 2), "int64": ("int32", 2)}[s.dtype]
        return f"lax.bitcast_convert_type({v}, jnp.{target})", anything_int(Spec(target, (*s.shape, parts)))


@rule
def wider_bits(b):
    picked = b.pick(lambda s: s.dtype in ("int16", "int32") and s.rank >= 1 and s.shape[-1] == 2)
    if picked:
        v, s = picked
        target = {"int16": "int32", "int32": "int64"}[s.dtype]
        return f"lax.bitcast_convert_type({v}, jnp.{target})", anything_int(Spec(target, s.shape[:-1]))


@rule
def between_scalars(b):
    picked = b.pick(lambda s: ints(s) and s.size > 0)
    if picked:
        v, s = picked
        return f"lax.clamp(jnp.{s.dtype}(2), {v}, jnp.{s.dtype}(9))", Spec(s.dtype, s.shape, 2, 9)


@rule
def counted(b):
    shape = b.choose(((8, 16), (16,), (4, 8), (2, 8, 8)))
    dtype = b.choose(("int32", "int64", "uint8", "int16"))
    return f"lax.broadcasted_iota(jnp.{dtype}, {shape}, {b.number(0, len(shape) - 1)})", Spec(dtype, shape, 0, 15)
