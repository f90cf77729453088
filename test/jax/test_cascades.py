"""Attention as JAX users write it: one pass over the keys is enough, and blocks of keys give the same results.

`fuse-cascades` decides; with a block size it also rewrites the program as a kernel would compute it. The evaluator runs both forms.
"""
import math
import os
import pathlib
import re
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

TOOLS = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")) / "bin"
BATCH, QUERIES, KEYS, HEADS, WIDTH = 2, 16, 32, 4, 8

attention = jax.nn.dot_product_attention


def capped(q, k, v):
    scores = 5 * jnp.tanh(jnp.einsum("btnh,bsnh->bnts", q, k) / math.sqrt(WIDTH) / 5)
    return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(scores, -1), v)


def einsum(q, k, v):
    scores = jnp.einsum("btnh,bsnh->bnts", q, k) / math.sqrt(WIDTH)
    return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(scores, -1), v)


def lengths(q, k, v):
    queries, keys = jnp.array([9, 16], jnp.int32), jnp.array([5, 32], jnp.int32)
    return attention(q, k, v, query_seq_lengths=queries, key_value_seq_lengths=keys)


SPELLINGS = {
    "full": (attention, QUERIES, HEADS),
    "causal": (lambda q, k, v: attention(q, k, v, is_causal=True), KEYS, HEADS),
    "grouped": (attention, QUERIES, 2),
    "lengths": (lengths, QUERIES, HEADS),
    "capped": (capped, QUERIES, HEADS),
    "einsum": (einsum, QUERIES, HEADS),
}


def run(*arguments):
    done = subprocess.run([str(word) for word in arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", SPELLINGS)
def test_attention_needs_one_pass(name, tmp_path):
    function, queries, heads = SPELLINGS[name]
    random = np.random.default_rng(0)
    shapes = [(BATCH, queries, HEADS, WIDTH), (BATCH, KEYS, heads, WIDTH), (BATCH, KEYS, heads, WIDTH)]
    inputs = [random.standard_normal(shape).astype(np.float32) * 2 for shape in shapes]
    exported = jax.export.export(jax.jit(function), platforms=["cpu"])(*inputs)
    artifact = tmp_path / "program.mlirbc"
    artifact.write_bytes(exported.mlir_module_serialized)
    run(TOOLS / "tilewright", "compile", artifact, f"--compile.dump-dir={tmp_path}/dump")

    blocks = tmp_path / "blocks.mlir"
    (simplified,) = (tmp_path / "dump").glob("*-communicate.mlir")
    remarks = run(TOOLS / "tilewright-opt", simplified, "-o", blocks, "--remark-policy=all", "--remarks-filter=fuse",
                  "--remark-format=emitRemark",
                  "--pass-pipeline=builtin.module(func.func(fuse-cascades{block-size=12}))")  # fmt: skip
    assert "stablehlo.dot_general r2 can share the pass" in remarks, remarks
    assert "cannot share" not in remarks, remarks

    # No tensor has an element for each query and key.
    sizes = [[int(size) for size in shape.split("x")] for shape in re.findall(r"tensor<([\dx]+)x[a-z]", blocks.read_text())]
    assert not [shape for shape in sizes if math.prod(shape) >= BATCH * HEADS * queries * KEYS and KEYS in shape]

    with jax.enable_x64(True):
        exact = np.asarray(function(*[jnp.asarray(array, jnp.float64) for array in inputs]))
    errors = []
    for index, array in enumerate(inputs):
        np.save(tmp_path / f"{index}.npy", array)
    for program in (simplified, blocks):
        run(TOOLS / "tilewright", "run", program, f"--output={tmp_path}/{program.stem}-",
            *[f"--input={tmp_path}/{index}.npy" for index in range(3)])  # fmt: skip
        result = np.load(f"{tmp_path}/{program.stem}-0.npy")
        np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
        errors.append(np.nanmax(np.abs(result - exact)))
    print(f"{name}: error {errors[0]:.2e}, in blocks {errors[1]:.2e}")
    assert errors[1] <= 2 * errors[0]
