"""Narrow floats and integers: conversions, arithmetic, scaled products."""

import jax
import jax.numpy as jnp
import ml_dtypes
from catalog import integers, key_bits, normal, program, uniform, values
from jax import lax

INF, NAN = float("inf"), float("nan")
EDGES = values(
    0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.1, 448.0, 449.0, 464.0, 480.0, 57344.0, 61440.0, 65504.0, 65520.0, 1e-8,
    2**-9, 2**-10, 3 * 2**-10, 5.0, 6.0, 7.0, 8.0, 0.25, 0.75, 1.75, 17.0, 240.0, 248.0, -3.5, -5.5, 0.9, -0.8, 0.6,
    1.1, -1.2, 1.3, 4.5, -5.25, 6.75, 12.5, -20.0, 0.01, 0.03, -0.06, 40.0, -60.0,
)
FLOATS = "float8_e3m4 float8_e4m3 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz".split()


def bits(x):
    """A narrow float as its bit pattern, so that the comparison is exact, NaN included."""
    return lax.bitcast_convert_type(x, jnp.uint8)


@program("exact", EDGES, normal(40, scale=50))
def rounded_to_eight_bits(edges, x):
    return tuple(bits(jnp.concatenate([edges, x]).astype(name)) for name in FLOATS)


@program("exact", key_bits(64, bits=8))
def eight_bits_widened(patterns):
    return tuple(lax.bitcast_convert_type(patterns, jnp.dtype(name)).astype(jnp.float32) for name in FLOATS)


@program("exact", uniform(40, low=0.001, high=1000))
def rounded_to_powers_of_two(x):
    return bits(x.astype(jnp.float8_e8m0fnu)), x.astype(jnp.float8_e8m0fnu).astype(jnp.float32)


@program("exact", values(0.0, 0.25, 0.3, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 5.1, 6.0, 7.0, -0.7, -2.6, -9.0, 1.0))
def four_bit_floats(x):
    return x.astype(jnp.float4_e2m1fn).astype(jnp.float32)


@program("arithmetic", normal(30, dtype="float8_e4m3fn"), normal(30, dtype="float8_e4m3fn"))
def arithmetic_in_e4m3(x, y):
    return x + y, x * y, x - y, jnp.maximum(x, y)


@program("arithmetic", normal(30, dtype="float8_e5m2"), normal(30, dtype="float8_e5m2"))
def arithmetic_in_e5m2(x, y):
    return x + y, x * y, -x, jnp.abs(y)


@program("exact", normal(30, dtype="float8_e4m3fn"), normal(30, dtype="float8_e4m3fn"))
def comparisons_of_narrow_floats(x, y):
    return x < y, x == y, jnp.sort(x.astype(jnp.float32)), jnp.where(x < y, x, y)


@program("contraction", normal(4, 16, dtype="float8_e4m3fn"), normal(16, 5, dtype="float8_e4m3fn"))
def dot_of_e4m3(x, y):
    return lax.dot(x, y, preferred_element_type=jnp.float32)


@program("contraction", normal(4, 16, dtype="float8_e5m2"), normal(16, 5, dtype="float8_e4m3fn"))
def dot_of_mixed_narrow_floats(x, y):
    return lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32)


@program(
    "contraction",
    normal(4, 64, dtype="float8_e4m3fn"),
    normal(64, 5, dtype="float8_e4m3fn"),
    uniform(4, 2, low=0.25, high=4, dtype="float8_e8m0fnu"),
    uniform(2, 5, low=0.25, high=4, dtype="float8_e8m0fnu"),
)
def block_scaled_dot_mxfp8(x, y, x_scale, y_scale):
    return lax.scaled_dot(x, y, lhs_scale=x_scale, rhs_scale=y_scale)


@program(
    "contraction",
    normal(4, 64, dtype="float4_e2m1fn"),
    normal(64, 6, dtype="float4_e2m1fn"),
    uniform(4, 4, low=0.25, high=4, dtype="float8_e4m3fn"),
    uniform(4, 6, low=0.25, high=4, dtype="float8_e4m3fn"),
)
def block_scaled_dot_nvfp4(x, y, x_scale, y_scale):
    return lax.scaled_dot(x, y, lhs_scale=x_scale, rhs_scale=y_scale, preferred_element_type=jnp.float32)


@program("exact", normal(4, 64))
def block_quantisation(x):
    blocks = x.reshape(4, 2, 32)
    exponent = jnp.floor(jnp.log2(jnp.abs(blocks).max(axis=-1))) - 8
    scaled = blocks * jnp.exp2(-exponent)[..., None]
    return bits(jnp.clip(scaled, -448, 448).astype(jnp.float8_e4m3fn)), exponent.astype(jnp.int32)


@program("arithmetic", normal(30, dtype="bfloat16"), normal(30, dtype="bfloat16"))
def arithmetic_in_bfloat16(x, y):
    return x + y, x * y, x / y, x * y + x


@program("arithmetic", normal(30, dtype="float16"), normal(30, dtype="float16"))
def arithmetic_in_float16(x, y):
    return x + y, x * y, x / y, jnp.sqrt(jnp.abs(x))


@program("elementary", uniform(40, low=-3, high=3, dtype="bfloat16"), uniform(40, low=-3, high=3, dtype="float16"))
def elementary_in_half_precision(x, y):
    return jnp.exp(x), jnp.tanh(x), jnp.sin(x), jnp.exp(y), jnp.tanh(y), jnp.log1p(jnp.abs(y)), lax.logistic(y)


@program("exact", EDGES)
def rounded_to_half_precision(x):
    return x.astype(jnp.bfloat16), x.astype(jnp.float16), x.astype(jnp.float16).astype(jnp.bfloat16)


@program("exact", values(*range(-8, 8), dtype=ml_dtypes.int4), values(*range(16), dtype=ml_dtypes.uint4))
def four_bit_integers(x, y):
    return x + x, x.astype(jnp.int8) * 3, y.astype(jnp.int32) - 5, (x.astype(jnp.int32) * 5).astype(jnp.int4), y * y


@program("exact", values(-2, -1, 0, 1, dtype=ml_dtypes.int2), values(0, 1, 2, 3, dtype=ml_dtypes.uint2))
def two_bit_integers(x, y):
    return x.astype(jnp.int32), y.astype(jnp.int32), (x.astype(jnp.int32) + 1).astype(jnp.int2)


@program(
    "contraction", normal(4, 8), integers(8, 6, low=-8, high=8, dtype=ml_dtypes.int4), uniform(6, low=0.01, high=0.1)
)
def weights_of_four_bits(x, w, scale):
    return x @ (w.astype(jnp.float32) * scale)


@program(
    "exact",
    values(
        0.0, -0.0, 3.9, -3.9, 1e10, -1e10, NAN, INF, -INF, 255.5, 127.9, -128.9, 2.5, 100.0, 7.0, -1.0, 11.0, 12.0,
        13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, ),
    )
def floats_to_integers(x):
    return x.astype(jnp.int32), jnp.clip(x, -128, 127).astype(jnp.int8), x.astype(jnp.bool_)


@program("exact", key_bits(30), integers(30, low=-(2**31), high=2**31))
def integers_to_floats_and_each_other(x, y):
    return (
        x.astype(jnp.float32),
        y.astype(jnp.float32),
        y.astype(jnp.int8),
        x.astype(jnp.uint16),
        y.astype(jnp.bfloat16),
    )


@program("exact", key_bits(20, bits=64), x64=True)
def wide_integers(x):
    y = x.astype(jnp.int64)
    return x * 3, y >> 7, x.astype(jnp.float64), y.astype(jnp.float32), lax.population_count(x), y // 1000003


@program("contraction", normal(6, 10), normal(10, 4))
def simulated_quantised_layer(x, w):
    def quantise(v, axis):
        scale = jnp.abs(v).max(axis=axis, keepdims=True) / 127
        return jnp.round(v / scale).astype(jnp.int8), scale

    (xq, xs), (wq, ws) = quantise(x, 1), quantise(w, 0)
    return lax.dot(xq, wq, preferred_element_type=jnp.int32).astype(jnp.float32) * xs * ws


@program("contraction", normal(4, 8), normal(8, 4))
def mixed_precision_training_step(x, w):
    def loss(w):
        y = (x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32)
        return jnp.mean(y**2)

    return w - 0.1 * jax.grad(loss)(w)
