"""Products of matrices and what einsum makes of them."""

import jax
import jax.numpy as jnp
from catalog import integers, normal, program
from jax import lax


@program("contraction", normal(7, 5), normal(5, 9))
def matrix_product(x, y):
    return x @ y


@program("contraction", normal(3, 4, 5), normal(3, 5, 6))
def batched(x, y):
    return x @ y, jnp.einsum("bij,bjk->ikb", x, y)


@program("contraction", normal(6), normal(6), normal(6, 4))
def vectors(x, y, m):
    return jnp.dot(x, y), x @ m, jnp.outer(x, y)


@program("contraction", normal(2, 3, 4, 5), normal(4, 2, 5, 6))
def several_contracting_and_batching(x, y):
    return lax.dot_general(x, y, (((2, 3), (0, 2)), ((0,), (1,))))


@program("exact", integers(5, 6), integers(6, 4))
def of_integers(x, y):
    return x @ y


@program("exact", integers(5, 6, dtype="int8"), integers(6, 4, dtype="int8"))
def of_bytes_into_words(x, y):
    return lax.dot(x, y, preferred_element_type=jnp.int32)


@program("contraction", normal(5, 8, dtype="bfloat16"), normal(8, 3, dtype="bfloat16"))
def of_bfloat16(x, y):
    return x @ y, lax.dot(x, y, preferred_element_type=jnp.float32)


@program("contraction", normal(5, 8, dtype="float16"), normal(8, 3, dtype="float16"))
def of_float16(x, y):
    return x @ y, lax.dot(x, y, preferred_element_type=jnp.float32)


@program("contraction", normal(4, 6, dtype="float64"), normal(6, 4, dtype="float64"), x64=True)
def of_doubles(x, y):
    return x @ y


@program("contraction", normal(5, 6), normal(6, 5))
def at_highest_precision(x, y):
    return lax.dot(x, y, precision=lax.Precision.HIGHEST)


@program("contraction", normal(3, 4), normal(4, 5), normal(5, 2))
def chain(a, b, c):
    return jnp.linalg.multi_dot([a, b, c])


@program("contraction", normal(2, 3, 4), normal(4, 3, 5))
def einsum_with_sums_and_diagonals(x, y):
    return jnp.einsum("abc,cbd->ad", x, y), jnp.einsum("abc->b", x), jnp.einsum("aba->b", x[:, :, :2])


@program("contraction", normal(3, 4, 5), normal(4, 5, 3))
def tensor_products(x, y):
    return jnp.tensordot(x, y, axes=([1, 2], [0, 1])), jnp.inner(x[0], y[0].T), jnp.kron(x[0, :2, :2], y[0, :2, :2])


@program("contraction", normal(5, 4), normal(4, 3))
def gradients(x, y):
    return jax.grad(lambda a, b: jnp.sum(jnp.tanh(a @ b)), argnums=(0, 1))(x, y)


@program("contraction", normal(8, 4), normal(3, 4, 5), integers(3, low=1, high=3))
def ragged_groups(x, w, sizes):
    return lax.ragged_dot(x, w, sizes)


@program("exact", normal(0, 4), normal(4, 3))
def with_an_empty_dimension(x, y):
    return x @ y, y.T @ x.T, x.T @ x
