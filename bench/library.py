"""The rows of bench/library.cpp for NumPy and jaxlib: median of seven, CPU time in milliseconds.

    python bench/library.py [part of a name]

Run it beside `library-bench` on the same machine at the same time of day: compare ratios, not times.
"""

import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

RNG = np.random.default_rng(7)
F32 = np.float32


def normal(*dims):
    return RNG.standard_normal(dims, dtype=F32)


def below(limit, *dims):
    return RNG.integers(0, limit, dims, dtype=np.int32)


def rows():
    """(name, numpy function or None, JAX function, operands)"""
    matrix, line = normal(4096, 4096), normal(1 << 20)
    yield "transpose", lambda x: np.ascontiguousarray(x.T), lambda x: x.T, (matrix,)
    yield "concat_last", lambda x, y: np.concatenate([x, y], 1), lambda x, y: jnp.concatenate([x, y], 1), (
        matrix[:, :2048].copy(), matrix[:, 2048:].copy())
    yield "permute0213", lambda x: np.ascontiguousarray(x.transpose(0, 2, 1, 3)), lambda x: x.transpose(0, 2, 1, 3), (
        normal(8, 512, 16, 64),)
    yield "embed_gather", lambda t, i: t[i], lambda t, i: t[i], (normal(32000, 768), below(32000, 4096))
    yield "gather_elems_4m", lambda t, i: t[i], lambda t, i: t[i], (normal(4 << 20), below(4 << 20, 4 << 20))
    yield "sum_all", lambda x: x.sum(), lambda x: x.sum(), (matrix,)
    yield "sum_rows", lambda x: x.sum(1), lambda x: x.sum(1), (matrix,)
    yield "sum_cols", lambda x: x.sum(0), lambda x: x.sum(0), (matrix,)
    yield "max_rows", lambda x: x.max(1), lambda x: x.max(1), (matrix,)
    yield "argmax_rows", lambda x: x.argmax(1), lambda x: x.argmax(1), (matrix,)
    yield "cumsum_rows", lambda x: x.cumsum(1), lambda x: x.cumsum(1), (matrix,)
    yield "cumsum_cols", lambda x: x.cumsum(0), lambda x: x.cumsum(0), (matrix,)
    yield "cumsum_1d_4m", lambda x: x.cumsum(), lambda x: x.cumsum(), (normal(4 << 20),)
    yield "cummax_rows", None, lambda x: jax.lax.cummax(x, 1), (matrix,)
    yield "maxpool2d", None, lambda x: jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), (normal(32, 64, 64, 64),)
    yield "sort_1m", np.sort, jnp.sort, (line,)
    yield "sort_rows_1kx1k", np.sort, jnp.sort, (line.reshape(1024, 1024),)
    yield "argsort_1m", np.argsort, jnp.argsort, (line,)
    yield "topk50_64xV", None, lambda x: jax.lax.top_k(x, 50), (normal(64, 32000),)
    yield "topk8_4096x128", None, lambda x: jax.lax.top_k(x, 8), (normal(4096, 128),)
    yield "embed_scatter_add", None, lambda t, i, u: t.at[i].add(u), (
        normal(32000, 768), below(32000, 4096), normal(4096, 768))
    yield "segment_sum_1m", None, lambda t, i, u: t.at[i].add(u), (
        normal(1024), below(1024, 1 << 20), normal(1 << 20))
    yield "fft_1m", np.fft.fft, jnp.fft.fft, (normal(1 << 20).astype(np.complex64),)
    yield "fft_rows_1kx1k", np.fft.fft, jnp.fft.fft, (normal(1024, 1024).astype(np.complex64),)


def median(call):
    times = []
    for _ in range(8):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return sorted(times[1:])[3] * 1e3


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, of_numpy, of_jax, operands in rows():
        if only not in name:
            continue
        compiled = jax.jit(of_jax)
        device = [jax.device_put(each) for each in operands]
        numpy_time = median(lambda: of_numpy(*operands)) if of_numpy else float("nan")
        jax_time = median(lambda: jax.block_until_ready(compiled(*device)))
        print(f"{name:24} numpy {numpy_time:9.3f} ms  jaxlib {jax_time:9.3f} ms", flush=True)


main()
