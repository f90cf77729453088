"""Makes test/fuzz/corpus: small artifacts of many shapes, exported by JAX.

    python test/fuzz/make_corpus.py [FOLDER]

The corpus is committed, so that fuzzing needs no JAX; run this after a JAX
release that changes what artifacts look like.
"""

import os
import sys
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

# Locations name files; keep the file's name and drop the folder, which depends on the machine.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
X = jax.ShapeDtypeStruct((4, 8), jnp.float32)
MESH = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))


def sharded(body, out=P("x", "y")):
    return jax.shard_map(body, mesh=MESH, in_specs=P("x", "y"), out_specs=out, check_vma=False)


def of_type(dtype):
    return jax.ShapeDtypeStruct((4, 8), dtype)


PROGRAMS = {
    "add": (lambda x: x + 1, X),
    "softmax": (lambda x: jax.nn.softmax(jnp.tanh(x @ x.T)), X),
    "gradient": (jax.grad(lambda x: jnp.sum(jnp.sin(x) @ x.T)), X),
    "scan": (lambda x: lax.scan(lambda c, y: (c + y, c * y), jnp.zeros(8), x), X),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda: x, lambda: -x), X),
    "sort": (lambda x: (jnp.sort(x), lax.top_k(x, 2)), X),
    "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T), X),
    "f8": (lambda x: x.astype(jnp.float8_e4m3fn), X),
    "f4": (lambda x: x.astype(jnp.float4_e2m1fn), X),
    "int4": (lambda x: x.astype(jnp.int4) + np.arange(8).astype(jnp.int4), X),
    "complex": (lambda x: jnp.fft.fft(x), X),
    "convolution": (
        lambda x, w: lax.conv(x, w, (1, 1), "SAME"),
        jax.ShapeDtypeStruct((1, 3, 8, 8), jnp.float32),
        jax.ShapeDtypeStruct((4, 3, 3, 3), jnp.float32),
    ),
    "random": (lambda k: jax.random.normal(k, (4,)), jax.ShapeDtypeStruct((2,), jnp.uint32)),
    "constant": (lambda x: x + np.arange(32, dtype=np.float32).reshape(4, 8), X),
    "booleans": (lambda x: jnp.where(np.arange(32).reshape(4, 8) % 3 == 0, x, 0), X),
    "dynamic": (lambda x: jnp.sum(x, 0) + x.shape[0], jax.ShapeDtypeStruct(export.symbolic_shape("b, 8"), jnp.float32)),
    "scatter": (lambda x: x.at[1].set(3.0)[::2], X),
    "window": (lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "SAME"), X),
    "dot_algorithm": (lambda x: lax.dot(x, x.T, precision=lax.DotAlgorithmPreset.BF16_BF16_F32_X3), X),
    "constraint": (lambda x: lax.with_sharding_constraint(x * 2, NamedSharding(MESH, P("x", "y"))), X),
    "collectives": (sharded(lambda x: lax.psum(x, "x") + lax.all_gather(x, "y", axis=1, tiled=True)[:, :4], P(None, "y")), X),
    "permute_f8": (sharded(lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0)]).astype(jnp.float8_e5m2)), X),
    "sharded_f8": (sharded(lambda x: x), of_type(jnp.float8_e4m3fn)),
    "sharded_complex": (sharded(lambda x: x), of_type(jnp.complex64)),
    "sharded_ui4": (sharded(lambda x: x), of_type(jnp.uint4)),
}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (function, *arguments) in PROGRAMS.items():
        artifact = export.export(jax.jit(function))(*arguments).mlir_module_serialized
        (folder / f"{name}.mlirbc").write_bytes(artifact)
        print(f"{name}: {len(artifact)} bytes")
    both = export.export(jax.jit(jnp.sin), platforms=("cpu", "cuda"))(X).mlir_module_serialized
    (folder / "platforms.mlirbc").write_bytes(both)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "corpus")
