"""Elementwise ops: arithmetic, rounding, comparison, bits."""

import jax
import jax.numpy as jnp
from catalog import booleans, integers, key_bits, normal, program, uniform, values
from jax import lax

INF, NAN = float("inf"), float("nan")
# Fifteen ordinary numbers for each special one keep most outputs finite.
EDGES = values(
    0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5, -0.5, 2.0, 3.0, -3.0, 1e-30, 1e30, 1.5, -1.5, 2.5, -2.5, 7.0, 0.1,
    0.2, 0.3, -0.7, 10.0, 100.0, -12.25, 31.0, 1024.0, 3.75, -9.5, 8.25, 0.125, 0.9, -0.8, 0.6, 1.1, -1.2, 1.3, 4.5,
    -5.25, 6.75, 12.5, -20.0, 0.01,
)


@program("arithmetic", normal(7, 9), normal(7, 9))
def polynomial_in_two_variables(x, y):
    return 3.0 * x * x - 2.0 * x * y + 0.5 * y * y + 1.0


@program("arithmetic", EDGES, normal(44))
def quotient_and_remainder(x, y):
    return x / y, lax.rem(x, y)


@program("exact", EDGES, values(*range(44)))
def largest_and_smallest_with_nan(x, y):
    return jnp.maximum(x, y), jnp.minimum(x, y)


@program("exact", EDGES)
def magnitude_and_sign(x):
    return jnp.abs(x), jnp.sign(x), -x, jnp.signbit(x), jnp.copysign(2.0, x)


@program("exact", EDGES)
def all_roundings(x):
    return jnp.floor(x), jnp.ceil(x), jnp.round(x), lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), jnp.trunc(x)


@program("exact", EDGES)
def classes_of_numbers(x):
    return jnp.isnan(x), jnp.isinf(x), jnp.isfinite(x), lax.is_finite(x)


@program("exact", EDGES, uniform(44, low=-3, high=3))
def six_comparisons(x, y):
    return x == y, x != y, x < y, x <= y, x > y, x >= y


@program("elementary", uniform(40, low=0.01, high=50))
def roots(x):
    return jnp.sqrt(x), lax.rsqrt(x), jnp.cbrt(x)


@program("elementary", uniform(64, low=-10, high=10))
def exponentials(x):
    return jnp.exp(x), jnp.expm1(x), jnp.exp2(x)


@program("elementary", uniform(64, low=1e-3, high=100))
def logarithms(x):
    return jnp.log(x), jnp.log1p(x), jnp.log2(x), jnp.log10(x)


@program("elementary", uniform(64, low=-6, high=6))
def trigonometry(x):
    return jnp.sin(x), jnp.cos(x), jnp.tan(x)


@program("elementary", uniform(64, low=-0.99, high=0.99))
def inverse_trigonometry(x):
    return jnp.arcsin(x), jnp.arccos(x), jnp.arctan(x)


@program("elementary", uniform(64, low=-4, high=4))
def hyperbolic(x):
    return jnp.sinh(x), jnp.cosh(x), jnp.tanh(x), lax.logistic(x)


@program("elementary", uniform(64, low=-0.95, high=0.95))
def inverse_hyperbolic(x):
    return jnp.arcsinh(x), jnp.arccosh(x + 2.0), jnp.arctanh(x)


@program("elementary", normal(8, 8), normal(8, 8))
def angle_and_distance(x, y):
    return jnp.arctan2(y, x), jnp.hypot(x, y)


@program("elementary", uniform(30, low=0.1, high=8), uniform(30, low=-3, high=3))
def powers(x, y):
    return lax.pow(x, y), x**3, x**-2, x**0.5


@program("elementary", normal(20), normal(20))
def sums_in_log_space(x, y):
    return jnp.logaddexp(x, y), jnp.logaddexp2(x, y)


@program("exact", integers(50), integers(50, low=1, high=9))
def integer_division(x, y):
    return x // y, x % y, lax.div(x, y), lax.rem(x, y), jnp.divmod(-x, y)


@program("exact", values(-(2**31), -1, 0, 1, 2**31 - 1, 5, dtype="int32"), values(-1, 0, 0, 2, 2, -1, dtype="int32"))
def integers_at_their_limits(x, y):
    return x + y, x - y, x * y, lax.div(x, y), lax.rem(x, y), jnp.abs(x), -x


@program("exact", key_bits(32), integers(32, low=0, high=40, dtype="uint32"))
def shifts_also_too_far(x, n):
    signed = lax.bitcast_convert_type(x, jnp.int32)
    return (
        lax.shift_left(x, n),
        lax.shift_right_logical(x, n),
        lax.shift_right_arithmetic(signed, n.astype(jnp.int32)),
    )


@program("exact", key_bits(40), key_bits(40))
def bitwise(x, y):
    return x & y, x | y, x ^ y, ~x, lax.population_count(x), lax.clz(x)


@program("exact", normal(6, 4))
def bits_of_floats(x):
    bits = lax.bitcast_convert_type(x, jnp.uint32)
    halves = lax.bitcast_convert_type(x, jnp.uint16)
    return bits >> 23, halves, lax.bitcast_convert_type(halves, jnp.float32)


@program("exact", booleans(5, 5), normal(5, 5), normal(5, 5))
def choice(mask, x, y):
    return jnp.where(mask, x, y), lax.select(mask, y, x), lax.clamp(-0.5, x, 0.5)


@program("exact", EDGES, integers(44, low=-5, high=5, dtype="float32"))
def next_representable(x, y):
    return jnp.nextafter(x, y)


@program("exact", uniform(40, low=-200, high=200))
def fractions_and_exponents(x):
    mantissa, exponent = jnp.frexp(x)
    fraction, whole = jnp.modf(x)
    return mantissa, exponent, fraction, whole


@program("arithmetic", EDGES)
def reduced_precision(x):
    return lax.reduce_precision(x, 5, 10), lax.reduce_precision(x, 8, 7), lax.reduce_precision(x, 4, 3)


@program("exact", booleans(4, 6), booleans(4, 6))
def logic(p, q):
    return p & q, p | q, p ^ q, ~p, jnp.logical_and(p, ~q).sum()


@program("elementary", normal(16, dtype="float64"), x64=True)
def elementary_in_double(x):
    return jnp.exp(x), jnp.log1p(jnp.abs(x)), jnp.sin(x), jnp.tanh(x), jnp.cbrt(x), jnp.arctan(x)


@program("elementary", normal(24))
def derivative_of_an_expression(x):
    return jax.vmap(jax.grad(lambda v: jnp.sin(v) * jnp.exp(-v * v)))(x)
