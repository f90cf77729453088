"""Every public function of jax.numpy.linalg and jax.scipy.linalg, lowered for CPUs (as for the plugin) and for CUDA: which calls of libraries the compiler leaves.

A function that JAX adds must be added here: CALLS, or OTHERS if it does not take a matrix apart.
"""

import os
import pathlib
import re
import subprocess

import jax
import numpy as np
import pytest
from jax import numpy as jnp
from jax.scipy import linalg as scipy_linalg

ROOT = pathlib.Path(__file__).parents[2]
OPT = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev")) / "bin/tilewright-opt"
# Eigenvalues of general matrices: on the host, in JAX for CUDA too.
ON_THE_HOST = r"lapack_[sdcz]ge(ev|es)_ffi|cuhybrid_eig_(real|comp)"
# No lowering of JAX for CUDA.
ONLY_FOR_CPUS = {"scipy.funm", "scipy.hessenberg", "scipy.schur", "scipy.sqrtm", "scipy.solve_sylvester"}


def shape(*sizes):
    return jax.ShapeDtypeStruct(sizes, np.float32)


SQUARE, TALL, VECTOR = shape(2, 5, 5), shape(7, 4), shape(5)
ONE = shape(5, 5)
NUMPY = {name: (getattr(jnp.linalg, name), SQUARE) for name in (
    "cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_norm", "matrix_rank", "pinv", "qr", "slogdet", "svd", "svdvals",
)} | {
    "lstsq": (jnp.linalg.lstsq, TALL, shape(7)),
    "matrix_power": (lambda x: jnp.linalg.matrix_power(x, -3), SQUARE),
    "norm": (lambda x: jnp.linalg.norm(x, "nuc"), ONE),
    "solve": (jnp.linalg.solve, SQUARE, shape(2, 5, 3)),
    "tensorinv": (lambda x: jnp.linalg.tensorinv(x, ind=1), ONE),
    "tensorsolve": (jnp.linalg.tensorsolve, ONE, VECTOR),
}  # fmt: skip
SCIPY = {name: (getattr(scipy_linalg, name), ONE) for name in (
    "cho_factor", "cholesky", "det", "eigh", "expm", "hessenberg", "inv", "lu", "lu_factor", "polar", "schur", "sqrtm", "svd",
)} | {
    "cho_solve": (lambda c, b: scipy_linalg.cho_solve((c, True), b), ONE, VECTOR),
    "eigh_tridiagonal": (lambda d, e: scipy_linalg.eigh_tridiagonal(d, e, eigvals_only=True), VECTOR, shape(4)),
    "expm_frechet": (scipy_linalg.expm_frechet, ONE, ONE),
    "funm": (lambda x: scipy_linalg.funm(x, jnp.exp), ONE),
    "lu_solve": (lambda a, b: scipy_linalg.lu_solve(scipy_linalg.lu_factor(a), b), ONE, VECTOR),
    "qr": (lambda x: scipy_linalg.qr(x, pivoting=True), TALL),
    "qr_multiply": (scipy_linalg.qr_multiply, TALL, shape(3, 7)),
    "rsf2csf": (scipy_linalg.rsf2csf, ONE, ONE),
    "solve": (lambda a, b: scipy_linalg.solve(a, b, assume_a="pos"), ONE, VECTOR),
    "solve_sylvester": (scipy_linalg.solve_sylvester, ONE, ONE, ONE),
    "solve_triangular": (scipy_linalg.solve_triangular, ONE, VECTOR),
}  # fmt: skip
LAX = {
    "householder_product": (jax.lax.linalg.householder_product, TALL, shape(4)),
    "ormqr": (jax.lax.linalg.ormqr, TALL, shape(4), shape(7, 3)),
    "cholesky_update": (jax.lax.linalg.cholesky_update, ONE, VECTOR),
    "symmetric_product": (jax.lax.linalg.symmetric_product, TALL, shape(7, 7)),
    "tridiagonal": (jax.lax.linalg.tridiagonal, ONE),
    "tridiagonal_solve": (jax.lax.linalg.tridiagonal_solve, VECTOR, VECTOR, VECTOR, shape(5, 3)),
    "svd": (lambda x: jax.lax.linalg.svd(x, algorithm=jax.lax.linalg.SvdAlgorithm.QR), TALL),
}
CALLS = {f"{room}.{name}": call for room, calls in (("numpy", NUMPY), ("scipy", SCIPY), ("lax", LAX)) for name, call in calls.items()}
OTHERS = {
    # products and norms
    "cross", "diagonal", "matmul", "matrix_transpose", "multi_dot", "outer", "tensordot", "trace", "vecdot", "vector_norm",
    # matrices of a given form
    "block_diag", "circulant", "companion", "convolution_matrix", "dft", "fiedler", "fiedler_companion", "hadamard", "hankel", "helmert", "hilbert",
    "invhilbert", "invpascal", "leslie", "pascal", "toeplitz",
}  # fmt: skip


def test_the_list_has_every_function():
    for room, module in (("numpy", jnp.linalg), ("scipy", scipy_linalg)):
        public = {name for name in dir(module) if not name.startswith("_") and callable(getattr(module, name))}
        assert public <= OTHERS | {name.split(".")[1] for name in CALLS if name.startswith(room)}


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
@pytest.mark.parametrize("name", CALLS)
def test_only_general_eigenvalues_are_left_to_a_library(name, platform, tmp_path):
    if platform == "cuda" and name in ONLY_FOR_CPUS:
        pytest.skip("JAX does not lower it for CUDA")
    function, *arguments = CALLS[name]
    text = jax.jit(function).trace(*arguments).lower(lowering_platforms=(platform,)).as_text()
    if "stablehlo.custom_call" not in text and "stablehlo.cholesky" not in text and "stablehlo.triangular_solve" not in text:
        return
    text = re.sub(r"^(module @\S+ attributes \{)", r"\1exec.target = #exec.target<gpu = <>>, ", text)
    program = tmp_path / "program.mlir"
    program.write_text(text)
    ended = subprocess.run([OPT, program, "--simplify"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[:2000]
    left = set(re.findall(r"stablehlo.custom_call @([\w$.]+)", ended.stdout))
    assert all(re.fullmatch(ON_THE_HOST, call) for call in left), left
    assert not re.search(r"stablehlo\.(cholesky|triangular_solve)", ended.stdout)
