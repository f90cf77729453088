"""One rule for each operation: which operands it takes, how it is written, what is known about its result.

A rule returns None if the available values do not suit it. `rounding` below is
the distance in epsilons at the result's magnitude that one operation may add:
1 for an operation that is rounded once, 8 for a function that XLA approximates.
"""

import dataclasses
import math

import numpy as np
from random_programs import SIGNED, UNSIGNED, Spec

RULES = []
FUNCTION = 8


def rule(function):
    RULES.append(function)
    return function


def rules(*parameters):
    """Registers the decorated function as a rule, once for each parameter tuple."""

    def register(function):
        for values in parameters:
            RULES.append(lambda builder, values=values: function(builder, *values))
        return function

    return register


def floats(spec):
    return spec.kind == "float"


def exact_floats(spec):
    return spec.kind == "float" and spec.exact


def ints(spec):
    return spec.kind == "int"


def bools(spec):
    return spec.kind == "bool"


def real(spec):
    return spec.kind != "complex"


def unsigned(spec):
    return spec.dtype.startswith("u")


def anything_int(spec):
    """The same type and shape, with an interval of the whole type: integers wrap."""
    info = np.iinfo(spec.dtype)
    return Spec(spec.dtype, spec.shape, info.min, info.max)


def rounded(spec, low, high, error, rounding=1):
    """A float result with its interval; its error is the inherited error plus its own rounding."""
    return dataclasses.replace(
        spec, low=low, high=high, error=error + rounding * spec.epsilon * max(abs(low), abs(high))
    )


def products(a, b):
    corners = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]
    return min(corners), max(corners)


# --- one float in, one out: name, domain, interval of the result, Lipschitz constant ---


def monotone(f):
    return lambda s: (f(s.low), f(s.high))


def falling(f):
    return lambda s: (f(s.high), f(s.low))


def fixed(low, high):
    return lambda s: (low, high)


@rules(
    ("jnp.exp", -8, 5, monotone(math.exp), lambda s: math.exp(s.high)),
    ("jnp.expm1", -8, 5, monotone(math.expm1), lambda s: math.exp(s.high)),
    ("jnp.log", 0.1, 1e4, lambda s: (math.log(s.low), max(math.log(s.high), 1)), lambda s: 1 / s.low),
    ("jnp.log1p", -0.5, 1e4, lambda s: (math.log1p(s.low), max(math.log1p(s.high), 1)), lambda s: 1 / (1 + s.low)),
    ("jnp.sin", -20, 20, fixed(-1, 1), lambda s: 1),
    ("jnp.cos", -20, 20, fixed(-1, 1), lambda s: 1),
    ("jnp.tanh", -1e4, 1e4, fixed(-1, 1), lambda s: 1),
    ("lax.logistic", -1e4, 1e4, fixed(0, 1), lambda s: 0.25),
    ("jnp.sqrt", 0.05, 1e4, monotone(math.sqrt), lambda s: 0.5 / math.sqrt(s.low)),
    ("lax.rsqrt", 0.05, 1e4, falling(lambda x: x**-0.5), lambda s: 0.5 * s.low**-1.5),
    ("jnp.cbrt", 0.05, 1e4, monotone(math.cbrt), lambda s: s.low ** (-2 / 3)),
    ("jnp.arctan", -1e4, 1e4, fixed(-1.6, 1.6), lambda s: 1),
    ("lax.erf", -1e4, 1e4, fixed(-1, 1), lambda s: 1.13),
    ("jnp.square", -90, 90, lambda s: (0, s.magnitude**2), lambda s: 2 * s.magnitude),
    ("jax.nn.softplus", -50, 50, fixed(0, 51), lambda s: 1),
)
def function(b, name, low, high, interval, slope):
    picked = b.pick(lambda s: floats(s) and low <= s.low and s.high <= high)
    if picked:
        v, s = picked
        return f"{name}({v})", rounded(s, *interval(s), slope(s) * s.error, FUNCTION)


@rules(("jnp.floor",), ("jnp.ceil",), ("jnp.round",), ("jnp.sign",), ("jnp.trunc",))
def discrete(b, name):
    picked = b.pick(exact_floats)
    if picked:
        v, s = picked
        return f"{name}({v})", dataclasses.replace(s, low=min(s.low, -1) - 1, high=max(s.high, 1) + 1)


@rule
def negate(b):
    picked = b.pick(lambda s: floats(s) or ints(s))
    if picked:
        v, s = picked
        return f"lax.neg({v})", anything_int(s) if ints(s) else dataclasses.replace(s, low=-s.high, high=-s.low)


@rule
def absolute(b):
    picked = b.pick(lambda s: floats(s) or ints(s) and not unsigned(s))
    if picked:
        v, s = picked
        return f"lax.abs({v})", anything_int(s) if ints(s) else dataclasses.replace(s, low=0.0, high=s.magnitude)


# --- two operands of the same type and shape ---


@rules(("add", 1), ("sub", -1))
def sum_or_difference(b, name, sign):
    picked = b.pick(lambda s: floats(s) or s.kind == "complex")
    if picked:
        (x, s), (y, t) = picked, b.like(picked[1])
        low, high = (s.low + t.low, s.high + t.high) if sign > 0 else (s.low - t.high, s.high - t.low)
        return f"lax.{name}({x}, {y})", rounded(s, low, high, s.error + t.error)


@rule
def multiply(b):
    picked = b.pick(lambda s: floats(s) or s.kind == "complex")
    if picked:
        (x, s), (y, t) = picked, b.like(picked[1])
        low, high = products(s, t)
        return f"lax.mul({x}, {y})", rounded(s, low, high, s.magnitude * t.error + t.magnitude * s.error, 2)


@rule
def divide(b):
    picked = b.pick(lambda s: floats(s) and s.low >= 0.1)
    if picked:
        (y, t), (x, s) = picked, b.like(picked[1])
        most = s.magnitude / t.low
        return f"lax.div({x}, {y})", rounded(s, -most, most, s.error / t.low + most / t.low * t.error, 2)


@rule
def power(b):
    picked = b.pick(lambda s: floats(s) and 0.2 <= s.low and s.high <= 4)
    exponent = picked and b.like(picked[1], lambda t: t.magnitude <= 3)
    if exponent:
        (x, s), (y, t) = picked, exponent
        most = max(s.high, 1 / s.low) ** t.magnitude
        slope = most * t.magnitude / s.low * s.error + most * max(abs(math.log(s.low)), math.log(4)) * t.error
        return f"lax.pow({x}, {y})", rounded(s, 0, most, slope, FUNCTION)


@rules(("max", max), ("min", min))
def extreme(b, name, of):
    picked = b.pick(real)
    if picked:
        (x, s), (y, t) = picked, b.like(picked[1])
        low, high, error = of(s.low, t.low), of(s.high, t.high), max(s.error, t.error)
        return f"lax.{name}({x}, {y})", dataclasses.replace(s, low=low, high=high, error=error)


@rules(("eq",), ("ne",), ("lt",), ("le",), ("gt",), ("ge",))
def compare(b, name):
    picked = b.pick(lambda s: real(s) and s.exact)
    other = picked and b.like(picked[1], lambda t: t.exact)
    if other:
        return f"lax.{name}({picked[0]}, {other[0]})", Spec("bool", picked[1].shape, 0, 1)


@rules(("add",), ("sub",), ("mul",), ("bitwise_and",), ("bitwise_or",), ("bitwise_xor",))
def integer_arithmetic(b, name):
    picked = b.pick(lambda s: ints(s) or bools(s) and name.startswith("bitwise"))
    if picked:
        (x, s), (y, _) = picked, b.like(picked[1])
        if name == "mul" and x == y:
            # jaxlib 0.10.2 simplifies abs(x * x) to x * x, although the product may wrap to a negative number;
            # test/exec/elementwise/wrapping-square.mlir has the correct result.
            y = f"({y} | 1)"
        return f"lax.{name}({x}, {y})", s if bools(s) else anything_int(s)


@rules(("div",), ("rem",))
def integer_division(b, name):
    picked = b.pick(ints)
    if picked:
        (x, s), (y, _) = picked, b.like(picked[1])
        # An odd divisor is never zero; the result of a division by zero is undefined.
        return f"lax.{name}({x}, {y} | 1)", anything_int(s)


@rules(("shift_left",), ("shift_right_logical",), ("shift_right_arithmetic",))
def shift(b, name):
    picked = b.pick(ints)
    if picked:
        (x, s), (y, _) = picked, b.like(picked[1])
        return f"lax.{name}({x}, {y})", anything_int(s)


@rules(("population_count",), ("clz",), ("bitwise_not",), ("sign",))
def integer_function(b, name):
    picked = b.pick(ints)
    if picked:
        return f"lax.{name}({picked[0]})", anything_int(picked[1])


@rule
def invert(b):
    picked = b.pick(bools)
    if picked:
        return f"lax.bitwise_not({picked[0]})", picked[1]


@rule
def select(b):
    mask = b.pick(bools)
    picked = mask and b.pick(lambda s: s.shape == mask[1].shape)
    if picked:
        (x, s), (y, t) = picked, b.like(picked[1])
        hull = dataclasses.replace(s, low=min(s.low, t.low), high=max(s.high, t.high), error=max(s.error, t.error))
        return f"lax.select({mask[0]}, {x}, {y})", hull


@rule
def clamp(b):
    picked = b.pick(lambda s: floats(s) or ints(s) and not unsigned(s))
    if picked:
        v, s = picked
        edge = b.number(1, 5)
        inside = lambda x: min(max(x, -edge), edge)  # noqa: E731
        return f"jnp.clip({v}, -{edge}, {edge})", dataclasses.replace(s, low=inside(s.low), high=inside(s.high))


# --- conversions ---


@rule
def to_float(b):
    picked = b.pick(lambda s: real(s) and s.magnitude <= 400)
    if picked:
        v, s = picked
        target = Spec(b.choose(("float32", "float64", "bfloat16", "float16")), s.shape)
        return f"{v}.astype(jnp.{target.dtype})", rounded(target, s.low, s.high, s.error)


@rule
def through_eight_bits(b):
    picked = b.pick(lambda s: floats(s) and s.exact and s.magnitude <= 200)
    if picked:
        v, s = picked
        narrow = b.choose(("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e3m4"))
        if narrow in ("float8_e3m4", "float8_e4m3b11fnuz") and s.magnitude > 14:
            return None
        return f"{v}.astype(jnp.{narrow}).astype(jnp.{s.dtype})", dataclasses.replace(
            s, low=s.low - 0.25 * abs(s.low), high=s.high + 0.25 * abs(s.high)
        )


@rule
def to_integer(b):
    picked = b.pick(lambda s: real(s) and s.exact and (ints(s) or s.magnitude <= 100))
    if picked:
        v, s = picked
        target = b.choose(SIGNED if s.low < 0 and not ints(s) else (*SIGNED, *UNSIGNED))
        known = s.magnitude <= 100 and (s.low >= 0 or target in SIGNED)
        spec = (
            Spec(target, s.shape, math.floor(s.low), math.ceil(s.high))
            if known
            else anything_int(Spec(target, s.shape))
        )
        return f"{v}.astype(jnp.{target})", spec


@rule
def to_bool(b):
    picked = b.pick(lambda s: real(s) and s.exact)
    if picked:
        return f"{picked[0]}.astype(jnp.bool_)", Spec("bool", picked[1].shape, 0, 1)


@rule
def bits(b):
    picked = b.pick(lambda s: s.exact and s.dtype in ("float32", "float16", "float64", "bfloat16"))
    if picked:
        v, s = picked
        target = {"float32": "uint32", "float64": "int64"}.get(s.dtype, "int16")
        return f"lax.bitcast_convert_type({v}, jnp.{target})", anything_int(Spec(target, s.shape))


# --- shape ---


@rule
def transpose(b):
    picked = b.pick(lambda s: s.rank >= 2)
    if picked:
        v, s = picked
        order = b.choose(
            [(1, 0)]
            if s.rank == 2
            else [(2, 0, 1), (1, 0, 2), (0, 2, 1), (2, 1, 0)]
            if s.rank == 3
            else [tuple(reversed(range(s.rank)))]
        )
        return f"lax.transpose({v}, {order})", s.with_shape(s.shape[i] for i in order)


@rule
def reshape(b):
    picked = b.pick(lambda s: s.rank >= 1)
    if picked:
        v, s = picked
        shape = b.choose([(s.size,), (1, s.size), (s.size, 1), tuple(reversed(s.shape))])
        return f"{v}.reshape({shape})", s.with_shape(shape)


@rule
def broadcast(b):
    picked = b.pick(lambda s: s.rank <= 2)
    if picked:
        v, s = picked
        extra = b.number(1, 4)
        if b.choose((True, False)):
            return f"lax.broadcast_in_dim({v}, {(extra, *s.shape)}, {tuple(range(1, s.rank + 1))})", s.with_shape(
                (extra, *s.shape)
            )
        return f"lax.broadcast_in_dim({v}, {(*s.shape, extra)}, {tuple(range(s.rank))})", s.with_shape(
            (*s.shape, extra)
        )


@rule
def slice_(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0)
    if picked:
        v, s = picked
        starts = [b.number(0, d - 1) for d in s.shape]
        limits = [b.number(start + 1, d) for start, d in zip(starts, s.shape)]
        strides = [b.number(1, 3) for _ in s.shape]
        shape = [-(-(limit - start) // stride) for start, limit, stride in zip(starts, limits, strides)]
        return f"lax.slice({v}, {starts}, {limits}, {strides})", s.with_shape(shape)


@rule
def reverse(b):
    picked = b.pick(lambda s: s.rank >= 1)
    if picked:
        v, s = picked
        return f"lax.rev({v}, ({b.number(0, s.rank - 1)},))", s


@rule
def pad(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.kind in ("int", "float"))
    if picked:
        v, s = picked
        config = [(b.number(-1, 2), b.number(-1, 2), b.number(0, 2)) for _ in s.shape]
        shape = [lo + hi + d + (d - 1) * inner for d, (lo, hi, inner) in zip(s.shape, config)]
        if min(shape) < 0:
            return None
        padded = dataclasses.replace(s, shape=tuple(shape), low=min(s.low, 1), high=max(s.high, 1))
        return f"lax.pad({v}, jnp.{s.dtype}(1), {config})", padded


@rule
def concatenate(b):
    picked = b.pick(lambda s: s.rank >= 1)
    if picked:
        x, s = picked
        axis = b.number(0, s.rank - 1)
        rest = lambda shape: shape[:axis] + shape[axis + 1 :]  # noqa: E731
        y, t = b.pick(lambda t: t.dtype == s.dtype and t.rank == s.rank and rest(t.shape) == rest(s.shape))
        shape = (*s.shape[:axis], s.shape[axis] + t.shape[axis], *s.shape[axis + 1 :])
        spec = Spec(s.dtype, shape, min(s.low, t.low), max(s.high, t.high), max(s.error, t.error))
        return f"lax.concatenate([{x}, {y}], {axis})", spec


@rule
def dynamic_slice(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0)
    index = b.pick(lambda s: ints(s) and s.rank == 0) if picked else None
    if index:
        v, s = picked
        sizes = [b.number(1, d) for d in s.shape]
        # A start outside is clamped, so any integer will do.
        return f"lax.dynamic_slice({v}, [{index[0]}] * {s.rank}, {sizes})", s.with_shape(sizes)


@rule
def element(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0)
    if picked:
        v, s = picked
        at = ", ".join(str(b.number(0, d - 1)) for d in s.shape)
        return f"{v}[{at}]", s.with_shape(())


@rule
def gather_rows(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.shape[0] > 0)
    index = b.pick(lambda s: s.dtype in ("int32", "int64", "uint32") and s.rank == 1) if picked else None
    if index:
        (v, s), (i, t) = picked, index
        return f"jnp.take({v}, {i}, axis=0, mode='clip')", s.with_shape((*t.shape, *s.shape[1:]))


@rules(("max",), ("min",), ("add",))
def scatter(b, how):
    # Only updates whose result does not depend on the order of collisions.
    picked = b.pick(lambda s: s.rank == 1 and s.size > 0 and (ints(s) or floats(s) and how != "add"))
    index = picked and b.pick(lambda s: s.dtype in ("int32", "int64") and s.rank == 1)
    updates = index and b.pick(lambda s: (s.dtype, s.shape) == (picked[1].dtype, index[1].shape))
    if updates:
        (v, s), (u, t) = picked, updates
        if ints(s):
            spec = anything_int(s)
        else:
            spec = dataclasses.replace(s, low=min(s.low, t.low), high=max(s.high, t.high), error=max(s.error, t.error))
        return f"{v}.at[{index[0]}].{how}({u}, mode='drop')", spec


@rule
def iota(b):
    shape = tuple(b.number(1, 4) for _ in range(b.number(1, 2)))
    dtype = b.choose(("int32", "int64", "uint8", "float32"))
    return f"lax.broadcasted_iota(jnp.{dtype}, {shape}, {len(shape) - 1})", Spec(dtype, shape, 0, 3)


# --- many elements in, fewer out ---


@rules(("sum",), ("mean",))
def sum_of(b, name):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and (floats(s) or name == "sum" and ints(s)))
    if picked:
        v, s = picked
        axis = b.number(0, s.rank - 1)
        count, shape = s.shape[axis], (*s.shape[:axis], *s.shape[axis + 1 :])
        if ints(s):
            return f"{v}.sum(axis={axis}, dtype=jnp.{s.dtype})", anything_int(s.with_shape(shape))
        n = count if name == "sum" else 1
        # The terms may be added in any order, in the type itself or in a wider one.
        made = rounded(s.with_shape(shape), n * s.low, n * s.high, n * s.error, 2 * count)
        return f"{v}.{name}(axis={axis})", made


@rules(("max",), ("min",))
def extreme_of(b, name):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and real(s))
    if picked:
        v, s = picked
        axis = b.number(0, s.rank - 1)
        return f"jnp.{name}({v}, axis={axis})", s.with_shape((*s.shape[:axis], *s.shape[axis + 1 :]))


@rules(("argmax",), ("argmin",))
def place_of_extreme(b, name):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and s.kind in ("int", "float") and s.exact)
    if picked:
        v, s = picked
        axis = b.number(0, s.rank - 1)
        shape = (*s.shape[:axis], *s.shape[axis + 1 :])
        return f"lax.{name}({v}, {axis}, jnp.int32)", Spec("int32", shape, 0, s.shape[axis] - 1)


@rules(("any",), ("all",))
def any_or_all(b, name):
    picked = b.pick(lambda s: bools(s) and s.rank >= 1)
    if picked:
        v, s = picked
        return f"{v}.{name}(axis=0)", s.with_shape(s.shape[1:])


@rules(("cumsum",), ("cummax",), ("cummin",))
def running(b, name):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and s.kind in ("int", "float"))
    if picked:
        v, s = picked
        axis, n = b.number(0, s.rank - 1), max(s.shape)
        made = f"lax.{name}({v}, axis={axis}, reverse={b.choose((False, True))})"
        if ints(s):
            return made, anything_int(s)
        if name != "cumsum":
            return made, s
        return made, rounded(s, min(n * s.low, s.low), max(n * s.high, s.high), n * s.error, 2 * n)


@rule
def window_maximum(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.size > 0 and floats(s))
    if picked:
        v, s = picked
        window = [b.number(1, 2) for _ in s.shape]
        strides = [b.number(1, 2) for _ in s.shape]
        shape = [-(-d // stride) for d, stride in zip(s.shape, strides)]
        return f"lax.reduce_window({v}, jnp.{s.dtype}(-jnp.inf), lax.max, {window}, {strides}, 'SAME')", s.with_shape(
            shape
        )


@rule
def sort(b):
    picked = b.pick(lambda s: s.rank >= 1 and real(s))
    if picked:
        v, s = picked
        return f"lax.sort({v}, dimension={b.number(0, s.rank - 1)})", s


@rule
def order(b):
    picked = b.pick(lambda s: s.rank >= 1 and real(s) and s.exact and not bools(s))
    if picked:
        v, s = picked
        return f"jnp.argsort({v}, axis={b.number(0, s.rank - 1)}, stable=True).astype(jnp.int32)", Spec(
            "int32", s.shape, 0, 511
        )


@rule
def largest(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.shape[-1] > 0 and (floats(s) or ints(s)))
    if picked:
        v, s = picked
        k = b.number(1, s.shape[-1])
        return f"lax.top_k({v}, {k})[0]", s.with_shape((*s.shape[:-1], k))


# --- contractions ---


@rule
def dot(b):
    picked = b.pick(lambda s: s.rank in (1, 2) and s.size > 0 and (floats(s) or ints(s)))
    if picked:
        x, s = picked
        k = s.shape[-1]
        y, t = b.pick(lambda t: t.dtype == s.dtype and t.rank in (1, 2) and t.shape[-1] == k)
        shape = (*s.shape[:-1], *t.shape[:-1])
        made = f"lax.dot_general({x}, {y}, ((({s.rank - 1},), ({t.rank - 1},)), ((), ())))"
        if ints(s):
            return made, anything_int(s.with_shape(shape))
        low, high = products(s, t)
        most = k * max(abs(low), abs(high))
        error = k * (s.magnitude * t.error + t.magnitude * s.error)
        return made, rounded(s.with_shape(shape), -most, most, error, 2 * k)


@rule
def batched_dot(b):
    picked = b.pick(lambda s: s.rank == 3 and s.size > 0 and floats(s))
    if picked:
        x, s = picked
        n, m, k = s.shape
        y, t = b.like(s)
        low, high = products(s, t)
        most = k * max(abs(low), abs(high))
        error = k * (s.magnitude * t.error + t.magnitude * s.error)
        made = f"lax.dot_general({x}, {y}, (((2,), (2,)), ((0,), (0,))))"
        return made, rounded(s.with_shape((n, m, m)), -most, most, error, 2 * k)


@rule
def convolve(b):
    picked = b.pick(lambda s: s.rank == 3 and s.size > 0 and s.dtype in ("float32", "float64"))
    if picked:
        x, s = picked
        y, t = b.pick(lambda t: t.dtype == s.dtype and t.rank == 3 and t.size > 0 and t.shape[1] == s.shape[1])
        n, c, length = s.shape
        features, _, taps = t.shape
        stride = b.number(1, 2)
        low, high = products(s, t)
        most = c * taps * max(abs(low), abs(high))
        error = c * taps * (s.magnitude * t.error + t.magnitude * s.error)
        made = f"lax.conv({x}, {y}, ({stride},), 'SAME')"
        shape = (n, features, -(-length // stride))
        return made, rounded(s.with_shape(shape), -most, most, error, 2 * c * taps)


# --- complex ---


@rule
def make_complex(b):
    picked = b.pick(lambda s: s.dtype == "float32")
    if picked:
        (x, s), (y, t) = picked, b.like(picked[1])
        most = s.magnitude + t.magnitude
        return f"lax.complex({x}, {y})", Spec("complex64", s.shape, -most, most, s.error + t.error)


@rules(("lax.real",), ("lax.imag",))
def part(b, name):
    picked = b.pick(lambda s: s.kind == "complex")
    if picked:
        v, s = picked
        return f"{name}({v})", dataclasses.replace(s, dtype="float32")


@rule
def modulus(b):
    picked = b.pick(lambda s: s.kind == "complex")
    if picked:
        v, s = picked
        return f"lax.abs({v})", rounded(dataclasses.replace(s, dtype="float32"), 0, 1.5 * s.magnitude, 1.5 * s.error, 4)


@rule
def fourier(b):
    picked = b.pick(lambda s: s.kind == "complex" and s.rank >= 1 and s.size > 0)
    if picked:
        v, s = picked
        n = s.shape[-1]
        made = f"lax.fft({v}, lax.FftType.{b.choose(('FFT', 'IFFT'))}, ({n},))"
        return made, rounded(s, -2 * n * s.magnitude, 2 * n * s.magnitude, 2 * n * s.error, 4)


# --- control ---


@rule
def loop(b):
    picked = b.pick(floats)
    if picked:
        (x, s), (y, t) = picked, b.like(picked[1])
        count = b.number(0, 4)
        most = s.magnitude + 2 * t.magnitude
        made = f"lax.fori_loop(0, {count}, lambda i, carry: carry * 0.5 + {y}, {x})"
        return made, rounded(s, -most, most, s.error + 2 * t.error, 8)


@rule
def integer_loop(b):
    picked = b.pick(lambda s: s.dtype in ("int32", "uint32", "int64"))
    if picked:
        v, s = picked
        step = "lambda s: (s[0] + 1, s[1] * 3 ^ s[1] >> 1)"
        return f"lax.while_loop(lambda s: s[0] < {b.number(0, 5)}, {step}, (0, {v}))[1]", anything_int(s)


@rule
def scan(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.shape[0] > 0 and floats(s))
    if picked:
        v, s = picked
        made = f"lax.scan(lambda carry, x: (jnp.maximum(carry, x), carry - x), {v}[0], {v})[1]"
        return made, rounded(s, s.low - s.high, s.high - s.low, 2 * s.error)


@rule
def branch(b):
    condition = b.pick(lambda s: bools(s) and s.rank == 0)
    picked = condition and b.pick(floats)
    if picked:
        (x, s), (y, t) = picked, b.like(picked[1])
        most = max(s.magnitude, t.magnitude)
        made = f"lax.cond({condition[0]}, lambda a, b: -a, lambda a, b: b, {x}, {y})"
        return made, dataclasses.replace(s, low=-most, high=most, error=max(s.error, t.error))


@rule
def switch(b):
    index = b.pick(lambda s: s.dtype in ("int32", "int64", "int8") and s.rank == 0)
    picked = index and b.pick(floats)
    if picked:
        v, s = picked
        most = s.magnitude + 1
        made = f"lax.switch({index[0]}, [lambda a: a, lambda a: -a, lambda a: a + 1], {v})"
        return made, rounded(s, -most, most, s.error)


@rule
def mapped(b):
    picked = b.pick(lambda s: s.rank >= 1 and s.shape[0] > 0 and ints(s))
    if picked:
        v, s = picked
        return f"lax.map(lambda row: row ^ (row << 1), {v})", anything_int(s)
