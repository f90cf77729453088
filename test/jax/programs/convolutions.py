"""Convolution in all its attributes."""

import jax
import jax.numpy as jnp
from catalog import integers, normal, program
from jax import lax

NHWC = ("NHWC", "HWIO", "NHWC")


def conv(x, w, strides=(1, 1), padding="SAME", dims=NHWC, **rest):
    return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=dims, **rest)


@program("contraction", normal(2, 8, 8, 3), normal(3, 3, 3, 4))
def plain(x, w):
    return conv(x, w), conv(x, w, padding="VALID")


@program("contraction", normal(1, 9, 10, 2), normal(3, 2, 2, 3))
def strided_with_explicit_padding(x, w):
    return conv(x, w, (2, 3), ((1, 2), (0, 1)))


@program("contraction", normal(1, 8, 8, 2), normal(3, 3, 2, 2))
def negative_padding(x, w):
    return conv(x, w, padding=((-1, 0), (0, -2)))


@program("contraction", normal(1, 10, 10, 2), normal(3, 3, 2, 2))
def dilated_kernel(x, w):
    return conv(x, w, padding="VALID", rhs_dilation=(2, 3))


@program("contraction", normal(1, 4, 5, 2), normal(3, 3, 2, 3))
def dilated_input(x, w):
    return conv(x, w, padding=((2, 2), (1, 2)), lhs_dilation=(2, 2))


@program("contraction", normal(1, 4, 4, 3), normal(3, 3, 2, 3))
def transposed(x, w):
    return lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=NHWC, transpose_kernel=True)


@program("contraction", normal(1, 6, 6, 4), normal(3, 3, 2, 6))
def grouped(x, w):
    return conv(x, w, feature_group_count=2)


@program("contraction", normal(1, 6, 6, 3), normal(3, 3, 1, 6))
def depthwise(x, w):
    return conv(x, w, feature_group_count=3)


@program("contraction", normal(4, 5, 5, 2), normal(3, 3, 2, 4))
def grouped_by_batch(x, w):
    return conv(x, w, batch_group_count=2)


@program("contraction", normal(2, 3, 12), normal(4, 3, 5))
def one_dimension(x, w):
    return lax.conv(x, w, (2,), "SAME")


@program("contraction", normal(1, 2, 4, 5, 4), normal(3, 2, 2, 2, 2))
def three_dimensions(x, w):
    return lax.conv(x, w, (1, 1, 1), "SAME")


@program("contraction", normal(3, 4, 5, 2), normal(2, 2, 3, 4))
def channels_first_output_last(x, w):
    # Unusual dimension orders: batch last, features first.
    return conv(x, w, dims=("CHWN", "HWIO", "HWNC"), padding="VALID")


@program("exact", integers(1, 6, 6, 2, low=-9, high=9), integers(3, 3, 2, 2, low=-9, high=9))
def of_integers(x, w):
    return conv(x, w)


@program("exact", integers(1, 5, 5, 2, dtype="int8"), integers(2, 2, 2, 3, dtype="int8"))
def of_bytes_into_words(x, w):
    return conv(x, w, preferred_element_type=jnp.int32)


@program("contraction", normal(1, 6, 6, 2, dtype="bfloat16"), normal(3, 3, 2, 2, dtype="bfloat16"))
def of_bfloat16_into_float(x, w):
    return conv(x, w, preferred_element_type=jnp.float32)


@program("contraction", normal(2, 6, 6, 2), normal(3, 3, 2, 3))
def gradients(x, w):
    return jax.grad(lambda x, w: jnp.sum(conv(x, w, (2, 2)) ** 2), argnums=(0, 1))(x, w)


@program("contraction", normal(2, 6, 6, 4), normal(3, 3, 2, 4))
def gradients_of_grouped(x, w):
    return jax.grad(lambda x, w: jnp.sum(conv(x, w, feature_group_count=2) ** 2), argnums=(0, 1))(x, w)


@program("contraction", normal(2, 5, 5, 2), normal(3, 3, 2, 2))
def reversed_kernel(x, w):
    return conv(x, jnp.flip(w, (0, 1))), conv(jnp.flip(x, 1), w)


@program("exact", normal(1, 6, 6, 2))
def patches(x):
    return lax.conv_general_dilated_patches(x, (2, 2), (2, 2), "VALID", dimension_numbers=NHWC)
