"""Factorizations as JAX writes them, calls of a vendor's library or of LAPACK by name, run on the virtual GPU with every check on.

The evaluator does not know these calls, so NumPy multiplies the factors: their product must be the matrix.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "jax"))
import artifacts  # noqa: E402
import evaluator  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
from jax import export  # noqa: E402
from jax import numpy as jnp  # noqa: E402


def run(tmp_path, chip, function, *arguments, platform="cuda"):
    """The results of a function that is lowered for a platform and run on a virtual chip. The plugin gets what is lowered for `cpu`."""
    exported = export.export(jax.jit(function), platforms=[platform], disabled_checks=[export.DisabledSafetyCheck.platform(),
        *map(export.DisabledSafetyCheck.custom_call, TARGETS)])(*arguments)  # fmt: skip
    like = [np.zeros(s.shape, s.dtype) for s in jax.tree.leaves(jax.eval_shape(function, *arguments))]
    report = tmp_path / "report.txt"
    os.environ |= {"TILEWRIGHT_VGPU_CHECK": "all", "TILEWRIGHT_VGPU_REPORT": str(report)}
    case = artifacts.Case("case", "factorisation", 1, exported.mlir_module_serialized, list(arguments), like)
    results = evaluator.evaluate([case], tmp_path, f"--target=vgpu:{chip}")["case"]
    assert not isinstance(results, str), results
    assert not report.exists() or "no findings" in report.read_text(), report.read_text()[:4000]
    return results


TARGETS = [*(f"cusolver_{name}_ffi" for name in ("potrf", "getrf", "geqrf", "orgqr", "syevd", "gesvdj")), "cu_lu_pivots_to_permutation"]


def matrices(*shape):
    return np.random.default_rng(3).uniform(-1, 1, shape).astype(np.float32)


def close(product, expected):
    """Whether a product is as exact as a backward stable factorization: n roundings of the largest element."""
    allowed = 8 * expected.shape[-1] * np.finfo(np.float32).eps * max(1, np.abs(expected).max())
    np.testing.assert_allclose(product, expected, rtol=0, atol=allowed)


@pytest.mark.parametrize("shape", [(5, 5), (2, 7, 4), (3, 6)], ids=str)
def test_lu(tmp_path, pytestconfig, shape):
    a = matrices(*shape)
    lu, pivots, permutation = run(tmp_path, pytestconfig.getoption("--chip"), jax.lax.linalg.lu, a)
    k = min(shape[-2:])
    lower = np.tril(lu, -1)[..., :k] + np.eye(shape[-2], k)
    close(lower @ np.triu(lu)[..., :k, :], np.take_along_axis(a, permutation[..., None], -2))
    assert np.abs(lower).max() <= 1 and (pivots >= np.arange(k)).all()


@pytest.mark.parametrize("shape", [(5, 5), (2, 7, 4), (3, 6)], ids=str)
def test_qr(tmp_path, pytestconfig, shape):
    a = matrices(*shape)
    q, r = run(tmp_path, pytestconfig.getoption("--chip"), lambda x: tuple(jnp.linalg.qr(x)), a)
    close(q @ r, a)
    close(np.swapaxes(q, -1, -2) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], q.shape[-1], q.shape[-1])))
    assert (np.tril(r, -1) == 0).all()


def test_cholesky_and_solve(tmp_path, pytestconfig):
    a = matrices(70, 70)
    a = a @ a.T + 70 * np.eye(70, dtype=np.float32)
    b = matrices(70, 3)

    def function(a, b):
        factor = jnp.linalg.cholesky(a)
        return factor, jax.scipy.linalg.solve_triangular(factor, b, lower=True)

    factor, x = run(tmp_path, pytestconfig.getoption("--chip"), function, a, b)
    close(factor @ factor.T, a)
    close(factor @ x, b)


def test_cholesky_of_a_matrix_that_is_not_positive_is_nan(tmp_path, pytestconfig):
    a = np.array([[[1, 0], [0, 1]], [[1, 2], [2, 1]]], np.float32)
    (factor,) = run(tmp_path, pytestconfig.getoption("--chip"), lambda x: jax.lax.linalg.cholesky(x, symmetrize_input=False), a)
    assert (factor[0] == np.eye(2)).all() and np.isnan(factor[1][np.tril_indices(2)]).all()


@pytest.mark.parametrize("platform", ["cuda", "cpu"])
def test_eigh(tmp_path, pytestconfig, platform):
    a = matrices(2, 7, 7)
    a += np.swapaxes(a, -1, -2)
    values, vectors = run(tmp_path, pytestconfig.getoption("--chip"), lambda x: tuple(jnp.linalg.eigh(x)), a, platform=platform)
    close(vectors * values[:, None] @ np.swapaxes(vectors, -1, -2), a)
    close(np.swapaxes(vectors, -1, -2) @ vectors, np.broadcast_to(np.eye(7), a.shape))
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize("shape,platform", [((2, 5, 3), "cuda"), ((4, 6), "cpu")], ids=str)
def test_svd(tmp_path, pytestconfig, shape, platform):
    a = matrices(*shape).astype(np.complex64) + 1j * matrices(*shape)
    left, values, right = run(tmp_path, pytestconfig.getoption("--chip"), lambda x: tuple(jnp.linalg.svd(x)), a, platform=platform)
    k = min(shape[-2:])
    close(left[..., :k] * values[..., None, :] @ right[..., :k, :], a)
    for vectors in (left, np.conj(np.swapaxes(right, -1, -2))):
        n = vectors.shape[-1]
        close(np.conj(np.swapaxes(vectors, -1, -2)) @ vectors, np.broadcast_to(np.eye(n), (*shape[:-2], n, n)))
    assert (np.diff(values) <= 0).all()
