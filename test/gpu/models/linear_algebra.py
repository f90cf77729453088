"""Factorizations, solvers and Fourier transforms. Results do not depend on the signs of eigenvectors and singular vectors."""

import jax
import numpy as np
from jax import numpy as jnp

SIZE, LENGTH = 8, 64


def make(dtype):
    # These have no bf16 form in JAX.
    def step(state, matrix, right, signal):
        definite = matrix @ matrix.T + 4 * jnp.eye(SIZE)
        lower = jnp.linalg.cholesky(definite)
        q, r = jnp.linalg.qr(matrix)
        values, vectors = jnp.linalg.eigh(definite)
        left, singular, rows = jnp.linalg.svd(matrix)
        frequencies = jnp.fft.rfft(signal)
        results = [
            jax.scipy.linalg.solve_triangular(lower, right, lower=True), lower, q @ r, values, (vectors * values) @ vectors.T,
            singular, (left * singular) @ rows, jnp.linalg.solve(definite, right),
            frequencies.real, frequencies.imag, jnp.fft.ifft(jnp.fft.fft(signal)).real,
        ]  # fmt: skip
        return state, jnp.concatenate([jnp.ravel(result) for result in results])

    def batch(step):
        random = np.random.default_rng(700 + step)
        return tuple(random.standard_normal(shape).astype(np.float32) for shape in ((SIZE, SIZE), (SIZE, 3), (4, LENGTH)))

    return step, (), batch
