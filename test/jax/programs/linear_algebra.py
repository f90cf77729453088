"""Linear algebra that needs no LAPACK.

Cholesky factors and triangular solves are exported for the TPU platform,
where they are StableHLO ops; on the CPU JAX calls LAPACK instead.
"""

import jax
import jax.numpy as jnp
from catalog import complex_normal, normal, positive_definite, program, triangular
from jax import lax


@program("factorisation", positive_definite(6, 6), platform="tpu")
def cholesky(a):
    return lax.linalg.cholesky(a), jnp.linalg.cholesky(a, upper=True)


@program("factorisation", positive_definite(3, 4, 4), platform="tpu")
def cholesky_of_a_batch(a):
    return lax.linalg.cholesky(a)


@program("factorisation", positive_definite(4, 4, dtype="float64"), x64=True, platform="tpu")
def cholesky_in_double(a):
    return lax.linalg.cholesky(a)


@program("factorisation", triangular(5), normal(5, 3), platform="tpu")
def solve_lower_on_the_left(a, b):
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=True)


@program("factorisation", triangular(5), normal(3, 5), platform="tpu")
def solve_transposed_on_the_right(a, b):
    return lax.linalg.triangular_solve(a, b, lower=True, transpose_a=True)


@program("factorisation", triangular(5, lower=False), normal(5, 2), platform="tpu")
def solve_upper_with_unit_diagonal(a, b):
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=False, unit_diagonal=True)


@program("factorisation", complex_normal(4, 4), complex_normal(4, 2), platform="tpu")
def solve_complex_conjugate(a, b):
    a = jnp.tril(a) + 3 * jnp.eye(4, dtype=a.dtype)
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True)


@program("factorisation", positive_definite(5, 5), normal(5), platform="tpu")
def solve_by_cholesky(a, b):
    return jax.scipy.linalg.cho_solve((lax.linalg.cholesky(a), True), b)


@program("factorisation", positive_definite(4, 4), platform="tpu")
def log_determinant_and_its_gradient(a):
    return jax.value_and_grad(lambda m: 2 * jnp.sum(jnp.log(jnp.diag(lax.linalg.cholesky(m)))))(a)


@program("factorisation", positive_definite(5, 5))
def conjugate_gradients(a):
    b = jnp.arange(5.0)

    def step(_, state):
        x, r, p = state
        alpha = (r @ r) / (p @ a @ p)
        rest = r - alpha * (a @ p)
        return x + alpha * p, rest, rest + (rest @ rest) / (r @ r) * p

    return lax.fori_loop(0, 3, step, (jnp.zeros(5), b, b))[0]


@program("factorisation", positive_definite(4, 4))
def inverse_by_newton(a):
    start = a.T / (jnp.abs(a).sum(0).max() * jnp.abs(a).sum(1).max())
    return lax.fori_loop(0, 12, lambda _, x: x @ (2 * jnp.eye(4) - a @ x), start)


@program("factorisation", positive_definite(5, 5))
def power_iteration(a):
    v = lax.fori_loop(0, 20, lambda _, v: (a @ v) / jnp.linalg.norm(a @ v), jnp.ones(5))
    return v @ a @ v, v


@program("factorisation", normal(6, 4))
def gram_schmidt(a):
    def step(q, column):
        index, v = column
        v = v - q @ (q.T @ v)
        return q.at[:, index].set(v / jnp.linalg.norm(v)), None

    return lax.scan(step, jnp.zeros_like(a), (jnp.arange(4), a.T))[0]


@program("factorisation", positive_definite(5, 5))
def determinant_by_elimination(a):
    def eliminate(k, m):
        factors = jnp.where(jnp.arange(5) > k, m[:, k] / m[k, k], 0.0)
        return m - factors[:, None] * m[k]

    return jnp.prod(jnp.diag(lax.fori_loop(0, 5, eliminate, a)))


@program("factorisation", normal(5, 3))
def householder_reflections(a):
    def reflect(k, m):
        x = jnp.where(jnp.arange(5) >= k, m[:, k], 0.0)
        v = x.at[k].add(jnp.where(x[k] < 0, -1.0, 1.0) * jnp.linalg.norm(x))
        return m - 2 * jnp.outer(v, v @ m) / (v @ v)

    return lax.fori_loop(0, 3, reflect, a)


@program("factorisation", positive_definite(4, 4))
def jacobi_eigenvalues(a):
    def rotate(m, pair):
        p, q = pair
        angle = 0.5 * jnp.arctan2(2 * m[p, q], m[q, q] - m[p, p])
        c, s = jnp.cos(angle), jnp.sin(angle)
        j = jnp.eye(4).at[p, p].set(c).at[q, q].set(c).at[p, q].set(s).at[q, p].set(-s)
        return j.T @ m @ j, None

    pairs = jnp.array([(p, q) for p in range(4) for q in range(p + 1, 4)] * 3)
    return jnp.sort(jnp.diag(lax.scan(rotate, a, pairs)[0]))


@program("contraction", normal(4, 4))
def powers_of_a_matrix(a):
    return jnp.linalg.matrix_power(a, 5), jnp.trace(a @ a), jnp.cross(a[:, :3], a[:, 1:])


@program("factorisation", normal(4, 4))
def exponential_by_series(a):
    def term(state, k):
        total, last = state
        last = last @ (0.3 * a) / k
        return (total + last, last), None

    return lax.scan(term, (jnp.eye(4), jnp.eye(4)), jnp.arange(1.0, 9.0))[0][0]


@program("factorisation", normal(3, 8))
def tridiagonal_by_thomas(rhs):
    def forward(carry, d):
        c, last = carry
        scale = 4.0 + c
        return (-1.0 / scale, (d + last) / scale), (-1.0 / scale, (d + last) / scale)

    def backward(x, row):
        c, d = row
        x = d - c * x
        return x, x

    def solve(b):
        rows = lax.scan(forward, (0.0, 0.0), b)[1]
        return lax.scan(backward, 0.0, rows, reverse=True)[1]

    return jax.vmap(solve)(rhs)
