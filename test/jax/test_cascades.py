"""Attention as JAX users write it: one pass over the keys is enough, and blocks of keys give the same results.

`fuse-cascades` decides; with a block size it also rewrites the program as a kernel would compute it. The evaluator runs both forms. On the CPU,
attention is one kernel.
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


class Case:
    """A spelling of attention: its program, inputs, stages of compilation and exact result."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        function, self.queries, heads = SPELLINGS[name]
        random = np.random.default_rng(0)
        shapes = [(BATCH, self.queries, HEADS, WIDTH), (BATCH, KEYS, heads, WIDTH), (BATCH, KEYS, heads, WIDTH)]
        inputs = [random.standard_normal(shape).astype(np.float32) * 2 for shape in shapes]
        exported = jax.export.export(jax.jit(function), platforms=["cpu"])(*inputs)
        self.program = folder / "program.mlirbc"
        self.program.write_bytes(exported.mlir_module_serialized)
        run(TOOLS / "tilewright", "compile", self.program, f"--compile.dump-dir={folder}/dump")
        with jax.enable_x64(True):
            self.exact = np.asarray(function(*[jnp.asarray(array, jnp.float64) for array in inputs]))
        for index, array in enumerate(inputs):
            np.save(folder / f"{index}.npy", array)
        self.separate_error = self.error(self.stage("communicate"), "evaluator")

    def stage(self, name):
        (found,) = (self.folder / "dump").glob(f"*-{name}.mlir")
        return found

    def error(self, program, on):
        run(TOOLS / "tilewright", "run", program, f"--on={on}", f"--output={self.folder}/{program.stem}-{on}-",
            *[f"--input={self.folder}/{index}.npy" for index in range(3)])  # fmt: skip
        result = np.load(f"{self.folder}/{program.stem}-{on}-0.npy")
        np.testing.assert_array_equal(np.isnan(result), np.isnan(self.exact))
        return np.nanmax(np.abs(result - self.exact))

    def assert_no_scores(self, text):
        """No tensor has an element for each query and key."""
        sizes = [[int(size) for size in shape.split("x")] for shape in re.findall(r"tensor<([\dx]+)x[a-z]", text)]
        assert not [shape for shape in sizes if math.prod(shape) >= BATCH * HEADS * self.queries * KEYS and KEYS in shape]


@pytest.fixture(scope="module", params=SPELLINGS)
def case(request, tmp_path_factory):
    return Case(request.param, tmp_path_factory.mktemp(request.param))


def test_attention_needs_one_pass(case):
    blocks = case.folder / "blocks.mlir"
    simplified = case.stage("communicate")
    remarks = run(TOOLS / "tilewright-opt", simplified, "-o", blocks, "--remark-policy=all", "--remarks-filter=fuse",
                  "--remark-format=emitRemark",
                  "--pass-pipeline=builtin.module(func.func(fuse-cascades{block-size=12}))")  # fmt: skip
    assert "stablehlo.dot_general r2 can share the pass" in remarks, remarks
    assert "cannot share" not in remarks, remarks
    case.assert_no_scores(blocks.read_text())

    errors = [case.separate_error, case.error(blocks, "evaluator")]
    print(f"{case.name}: error {errors[0]:.2e}, in blocks {errors[1]:.2e}")
    assert errors[1] <= 2 * errors[0]


def test_attention_is_one_kernel(case):
    fused = case.stage("fuse").read_text()
    assert fused.count("exec.attention(") == 1, fused
    assert "stablehlo.dot_general" not in fused, fused
    case.assert_no_scores(fused)

    errors = [case.separate_error, case.error(case.program, "cpu")]
    print(f"{case.name}: error {errors[0]:.2e}, as one kernel {errors[1]:.2e}")
    assert errors[1] <= 2 * errors[0]
