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
import ml_dtypes
import numpy as np
import pytest
from attention_forms import with_gradients

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
    """A spelling of attention: its program, inputs, stages of compilation and exact results."""

    def __init__(self, name, folder, form=None, dtype=np.float32):
        self.name, self.folder, self.dtype = name, folder, dtype
        function, self.queries, heads = SPELLINGS[name]
        random = np.random.default_rng(0)
        shapes = [(BATCH, self.queries, HEADS, WIDTH), (BATCH, KEYS, heads, WIDTH), (BATCH, KEYS, heads, WIDTH)]
        if form:
            function = with_gradients(function, form)
            shapes.append(shapes[0])
        inputs = [(random.standard_normal(shape).astype(np.float32) * 2).astype(dtype) for shape in shapes]
        self.inputs = len(inputs)
        exported = jax.export.export(jax.jit(function, keep_unused=True), platforms=["cpu"])(*inputs)
        self.program = folder / "program.mlirbc"
        self.program.write_bytes(exported.mlir_module_serialized)
        run(TOOLS / "tilewright", "compile", self.program, f"--compile.dump-dir={folder}/dump")
        with jax.enable_x64(True):
            exact = function(*[jnp.asarray(array.astype(np.float64)) for array in inputs])
            self.exact = [np.asarray(one) for one in jax.tree.leaves(exact)]
        for index, array in enumerate(inputs):
            np.save(folder / f"{index}.npy", array)
        self.separate_errors = self.errors(self.stage("communicate"), "evaluator")

    def stage(self, name):
        (found,) = (self.folder / "dump").glob(f"*-{name}.mlir")
        return found

    def errors(self, program, on, *options):
        """The largest error of each result."""
        run(TOOLS / "tilewright", "run", program, f"--on={on}", f"--output={self.folder}/{program.stem}-{on}-", *options,
            *[f"--input={self.folder}/{index}.npy" for index in range(self.inputs)])  # fmt: skip
        errors = []
        for index, exact in enumerate(self.exact):
            result = np.load(f"{self.folder}/{program.stem}-{on}-{index}.npy")
            result = result.view(self.dtype).astype(np.float64)
            np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
            errors.append(np.nanmax(np.abs(result - exact)))
        return np.array(errors)

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

    errors = case.errors(blocks, "evaluator")
    print(f"{case.name}: error {case.separate_errors}, in blocks {errors}")
    assert np.all(errors <= 2 * case.separate_errors)


def test_attention_is_one_kernel(case):
    fused = case.stage("fuse").read_text()
    assert fused.count("exec.attention(") == 1, fused
    assert "stablehlo.dot_general" not in fused, fused
    case.assert_no_scores(fused)

    errors = case.errors(case.program, "cpu")
    print(f"{case.name}: error {case.separate_errors}, as one kernel {errors}")
    assert np.all(errors <= 2 * case.separate_errors)


@pytest.mark.parametrize("name, dtype", [(name, np.float32) for name in SPELLINGS]
                         + [(name, ml_dtypes.bfloat16) for name in ("causal", "grouped", "einsum")])  # fmt: skip
def test_gradients_are_one_more_kernel(name, dtype, tmp_path):
    """The backward pass computes weights again, so it has no tensor with an element for each query and key either."""
    case = Case(name, tmp_path, "all", dtype)
    fused = case.stage("fuse").read_text()
    assert fused.count("exec.attention(") == 1, fused
    assert fused.count("exec.attention_backward(") == 1, fused
    assert "stablehlo.dot_general" not in fused, fused
    case.assert_no_scores(fused)
    kernels = re.findall(r"exec\.(?:fusion|\w+\()", fused)
    # Lengths mask the result and the cotangent, which are three kernels more.
    assert len(kernels) <= (5 if name == "lengths" else 2), kernels

    errors = case.errors(case.program, "cpu")
    print(f"{case.name}: error {case.separate_errors}, in two kernels {errors}")
    # The sum of a row of gradients is computed from the result, which is rounded to bf16.
    rounding = 0 if dtype == np.float32 else 2**-8 * np.array([np.nanmax(np.abs(exact)) for exact in case.exact])
    assert np.all(errors <= 2 * case.separate_errors + rounding)

    results = [(case.folder / f"program-cpu-{index}.npy").read_bytes() for index in range(4)]
    case.errors(case.program, "cpu", "--runtime.threads=1")
    assert results == [(case.folder / f"program-cpu-{index}.npy").read_bytes() for index in range(4)]


@pytest.mark.parametrize("form", ["alone", "sum", "queries", "keys"])
@pytest.mark.parametrize("name", SPELLINGS)
def test_gradients_alone_are_as_few_kernels(name, form, tmp_path):
    """Where nothing reads the result of attention, the kernel of its gradients does."""
    case = Case(name, tmp_path, form)
    fused = case.stage("fuse").read_text()
    assert fused.count("exec.attention(") == fused.count("exec.attention_backward(") == 1, fused
    assert "stablehlo.dot_general" not in fused, fused
    case.assert_no_scores(fused)

    errors = case.errors(case.program, "cpu")
    print(f"{name}, {form}: error {case.separate_errors}, in two kernels {errors}")
    # With a cotangent of ones, a row's gradients of weights are differences from their mean, whose errors the program as written
    # makes in the same way on both sides (worst here: 2.55 times its error).
    assert np.all(errors <= (3 if form == "sum" else 2) * case.separate_errors)
