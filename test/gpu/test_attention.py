"""Attention as JAX users write it is one kernel on GPUs, and its gradients are two: no tensor has an element for each query and key.

    pytest test/gpu/test_attention.py -k "sm_90a and causal" --order latest

The virtual GPU runs the kernel with every check on. The result is compared with that in f64: its error is at most twice the error of separate
kernels (of sm_80, or of the same chip of AMD, which does not round f32), or of the evaluator's f32, where a program asks for all bits of f32.
"""

import functools
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "jax"))
from attention_forms import with_gradients  # noqa: E402

TOOLS = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")) / "bin"
CHIPS = ("sm_80", "sm_90a", "sm_100a", "gfx942", "gfx950")

LOWEST = float(np.finfo(np.float32).min)

attention = jax.nn.dot_product_attention
causal = functools.partial(attention, is_causal=True)


def einsum(q, k, v, precision=None, cap=None, bias=None):
    scores = jnp.einsum("btnh,bsnh->bnts", q, k, precision=precision) / math.sqrt(q.shape[-1])
    if cap:
        scores = cap * jnp.tanh(scores / cap)
    if bias is not None:
        scores = scores + bias
    return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(scores, -1), v, precision=precision)


def lengths(q, k, v):
    queries, keys = jnp.array([q.shape[1] - 3, q.shape[1]], jnp.int32), jnp.array([5, k.shape[1]], jnp.int32)
    return attention(q, k, v, query_seq_lengths=queries, key_value_seq_lengths=keys)


def windowed(q, k, v):
    return attention(q, k, v, is_causal=True, local_window_size=(20, 0))


def minus_infinity(q, k, v):
    """The first rows see nothing, the next ones only keys of the second block."""
    t, s = q.shape[1], k.shape[1]
    seen = jnp.arange(s)[None, :] >= jnp.minimum(jnp.arange(t)[:, None] * 16, 96)
    seen = seen & (jnp.arange(t) > 2)[:, None]
    scores = jnp.where(seen, jnp.einsum("btnh,bsnh->bnts", q, k), -jnp.inf)
    return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(scores, -1), v)


def masked_rows(q, k, v):
    """Rows without a visible key are the mean of all values, those whose visible scores are as low as masked ones a mean of more."""
    t, s = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])[None, :]
    scores = jnp.einsum("btnh,bsnh->bnts", q, k) - jnp.where(t < 70, 0.0, 1e4)
    scores = jnp.where((s <= t + 3) & (s >= 10), scores, -1e4)
    return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(scores, -1), v)


def low_mask(q, k, v, low, form):
    """Of four rows, one sees the last keys only, one nothing, one every third key, and one the first keys. A row without a visible key is the mean of all values."""
    t, s = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])[None, :]
    seen = jnp.where(t % 2 == 0, jnp.where(t % 4 == 0, s >= k.shape[1] - 40, s % 3 == 0), (t % 4 == 1) & (s < 50))
    wide = jnp.promote_types(q.dtype, jnp.float32)
    scores = jnp.einsum("btnh,bsnh->bnts", q, k, preferred_element_type=wide if form in ("chosen", "after") else None)
    if form == "after":  # one block of queries has rows that see nothing, and others that see a part of the keys
        seen = (s <= t - 20) & (s > t - 60)
    if form == "added":
        scores = scores.astype(wide) + jnp.where(seen, 0.0, low)
        # The exact result is that of the scores that f32 can have.
        scores = jax.lax.reduce_precision(scores, 8, 23) if scores.dtype == jnp.float64 else scores
    else:
        scores = jnp.where(seen, scores, low)
    weights = jax.nn.softmax(scores.astype(wide), -1)
    return jnp.einsum("bnts,bsnh->btnh", weights.astype(q.dtype), v)


def huge_scores(q, k, v):
    """Two equal keys have scores of 2^28 or -2^28: their values have the same weight, or none."""
    at = jnp.arange(k.shape[1])[:, None, None]
    k = jnp.where(at == 40, k[:, 33:34], k) * jnp.where((at == 33) | (at == 40), 2.0**28, 1).astype(k.dtype)
    return attention(q, k, v)


def cross(q, k, v):
    """Layouts as other libraries have them: heads first, keys transposed."""
    q, k = q.transpose(0, 2, 1, 3), k.transpose(0, 2, 3, 1)
    return jnp.einsum("bnts,bsnh->bnth", jax.nn.softmax(jnp.matmul(q, k) * 0.3, -1), v)


def dropped(q, k, v):
    scores = jnp.einsum("btnh,bsnh->bnts", q, k) / math.sqrt(q.shape[-1])
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e30), -1)
    keep = jax.random.uniform(jax.random.key(7), weights.shape, jnp.float32) < 0.8  # the same numbers in f64
    return jnp.einsum("bnts,bsnh->btnh", jnp.where(keep, weights / 0.8, 0), v)


def alibi(q, k, v):
    slopes = 2.0 ** -(1.0 + jnp.arange(q.shape[2], dtype=jnp.float32))
    return einsum(q, k, v, bias=slopes[:, None, None] * jnp.arange(k.shape[1], dtype=jnp.float32))


# Function, type, batch, queries, keys, heads, heads of keys, width.
SPELLINGS = {
    "full": (attention, "float16", 2, 24, 40, 2, 2, 16),
    "causal": (causal, "bfloat16", 1, 80, 80, 2, 2, 32),
    "grouped": (attention, "float32", 1, 24, 40, 4, 2, 16),
    "lengths": (lengths, "float16", 2, 24, 40, 2, 2, 16),
    "capped": (functools.partial(einsum, cap=5), "float32", 1, 24, 40, 2, 2, 16),
    "einsum_exact": (functools.partial(einsum, precision="highest"), "float32", 1, 24, 40, 2, 2, 16),
    "dropout": (dropped, "bfloat16", 1, 40, 40, 2, 2, 16),
}
MORE = {
    f"{name}_{dtype}": (SPELLINGS[name][0], dtype, 2, 130, 130, 4, 4 if name in ("capped", "einsum_exact", "dropout") else 2, 64)
    for name in SPELLINGS
    for dtype in ("float16", "bfloat16", "float32")
    if dtype == "float32" or name != "einsum_exact"
} | {
    f"width_{width}_{dtype}": (causal, dtype, 1, 70, 70, 1, 1, width)
    for width in (8, 24, 32, 80, 96, 128, 192, 256)
    for dtype in ("float16", "float32")
} | {
    "wider_than_a_tile": (attention, "bfloat16", 1, 33, 65, 1, 1, 320),
    "exact_wide": (functools.partial(einsum, precision="highest"), "float32", 1, 33, 65, 1, 1, 128),
    "few_keys": (attention, "float16", 1, 100, 3, 2, 2, 16),
    "windowed": (windowed, "float16", 1, 150, 150, 2, 2, 32),
    "bias": (lambda q, k, v: einsum(q, k, v, bias=jnp.arange(k.shape[1]) * -0.1), "float16", 2, 70, 90, 3, 3, 32),
    "bias_of_all": (lambda q, k, v: einsum(q, k, v, bias=jnp.sin(jnp.arange(70 * 90.0)).reshape(70, 90)), "float32", 1, 70, 90, 3, 3, 32),
    "minus_infinity": (minus_infinity, "float32", 1, 40, 130, 2, 2, 16),
    "lengths_of_blocks": (lengths, "bfloat16", 2, 70, 200, 2, 2, 32),
    "masked_rows": (masked_rows, "float32", 1, 130, 200, 2, 2, 16),
    "added": (lambda q, k, v: q + 0.5 * attention(q, k, v).astype(jnp.float32), "bfloat16", 2, 40, 72, 3, 3, 32),
    "cross": (cross, "bfloat16", 2, 40, 72, 3, 3, 32),
    "dropout_of_blocks": (dropped, "float16", 2, 130, 130, 2, 2, 64),
    "alibi": (alibi, "float32", 2, 70, 90, 4, 4, 32),
} | {
    f"{form}_{low:.3g}_{dtype}": (functools.partial(low_mask, low=low, form=form), dtype, 1, 70, 600 if form == "chosen" else 200, 2, 2, 16)
    for form, low, dtype in (
        ("chosen", -1e9, "bfloat16"), ("chosen", LOWEST, "float16"), ("chosen", -1e30, "float32"),
        ("added", -1e5, "float16"), ("added", -1e8, "float16"), ("added", -1e9, "float32"), ("added", -1e10, "bfloat16"), ("added", LOWEST, "bfloat16"),
        ("after", -1e10, "bfloat16"), ("after", LOWEST, "float32"), ("converted", -65504.0, "float16"), ("converted", -3e38, "bfloat16"),
    )
} | {
    "many_heads": (attention, "float16", 3, 16, 20, 5, 1, 16),
    "huge_scores_float32": (huge_scores, "float32", 1, 70, 200, 2, 2, 16),
    "huge_scores_bfloat16": (huge_scores, "bfloat16", 1, 70, 600, 2, 2, 32),
}  # fmt: skip


def seen_from(q, k, v, first, low):
    """Only keys from `first` on are visible; of the second program of a batch, none."""
    scores = jnp.einsum("btnh,bsnh->bnts", q, k) / math.sqrt(q.shape[-1])
    seen = (jnp.arange(k.shape[1]) >= first) & (jnp.arange(q.shape[0])[:, None] == 0)
    weights = jax.nn.softmax(jnp.where(seen[:, None, None, :], scores, low), -1)
    return jnp.einsum("bnts,bsnh->btnh", weights, v)


def cached(q, k, v):
    """The cache has room for more keys than it has."""
    return attention(q, k, v, key_value_seq_lengths=jnp.array([700, 2000], jnp.int32))


def without_query(q, k, v):
    """The program has no dimension for its only query."""
    weights = jax.nn.softmax(jnp.einsum("bnh,bsnh->bns", q[:, 0], k) * 0.2, -1)
    return jnp.einsum("bns,bsnh->bnh", weights, v)[:, None]


# Few queries and many keys: they are divided along the keys.
DECODING = {
    "decode": (attention, "float16", 2, 1, 2048, 2, 2, 64),
    "decode_bfloat16": (attention, "bfloat16", 1, 1, 4096, 4, 1, 128),
    "decode_float32": (attention, "float32", 1, 3, 2048, 1, 1, 32),
    "decode_exact": (functools.partial(einsum, precision="highest"), "float32", 1, 1, 2048, 2, 2, 16),
    "decode_cached": (cached, "float16", 2, 1, 2048, 2, 1, 64),
    "decode_window": (lambda q, k, v: attention(q, k, v, is_causal=True, local_window_size=(900, 0)), "bfloat16", 1, 5, 2048, 2, 2, 16),
    "decode_nothing_float32": (functools.partial(seen_from, first=1500, low=-math.inf), "float32", 2, 2, 2048, 1, 1, 16),
    "decode_nothing_float16": (functools.partial(seen_from, first=1500, low=-1e9), "bfloat16", 2, 2, 2048, 1, 1, 16),
    "decode_alibi": (alibi, "float32", 1, 2, 2048, 4, 4, 16),
    "decode_dropout": (dropped, "bfloat16", 1, 2, 2048, 1, 1, 32),
    "decode_bias": (lambda q, k, v: einsum(q, k, v, bias=jnp.sin(jnp.arange(2048.0) * 0.1)), "float16", 2, 1, 2048, 1, 1, 32),
    "decode_cross": (cross, "float16", 2, 2, 2048, 3, 3, 16),
    "decode_without_query": (without_query, "float16", 2, 1, 2048, 2, 2, 32),
    "decode_added": (lambda q, k, v: q + 0.5 * attention(q, k, v).astype(jnp.float32), "bfloat16", 1, 1, 2048, 3, 3, 32),
}  # fmt: skip


# Their gradients have other kernels, too: that of the added queries is a sum, and those of scores of a wider type than the queries multiply two types.
# Gradients by equal, huge keys are differences of huge numbers.
WITHOUT_GRADIENTS = ("added", "huge_scores_float32", "huge_scores_bfloat16", "chosen_-1e+09_bfloat16", "chosen_-3.4e+38_float16", "after_-1e+10_bfloat16")


def run(*arguments, **environment):
    done = subprocess.run([str(word) for word in arguments], capture_output=True, text=True, env=os.environ | environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Case:
    """A program, its inputs and its exact results."""

    def __init__(self, name, folder, form=None):
        function, dtype, batch, queries, keys, heads, key_heads, width = (SPELLINGS | MORE | DECODING)[name]
        self.name, self.folder, self.type = name, folder, np.dtype(dtype)
        self.queries, self.keys, self.scores = queries, keys, batch * heads * queries * keys
        random = np.random.default_rng(0)
        shapes = [(batch, queries, heads, width), (batch, keys, key_heads, width), (batch, keys, key_heads, width)]
        if form:
            shapes.append(jax.eval_shape(function, *[jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]).shape)
            function = with_gradients(function, form)
        inputs = [random.standard_normal(shape).astype(self.type) for shape in shapes]
        # Large scores: weights below 2^-24, and maxima that change from block to block.
        inputs[0] *= self.type.type(2)
        self.program = folder / "program.mlirbc"
        self.program.write_bytes(jax.export.export(jax.jit(function, keep_unused=True), platforms=["cuda"])(*inputs).mlir_module_serialized)
        with jax.enable_x64(True):
            self.exact = jax.tree.map(np.asarray, jax.tree.leaves(jax.jit(function)(*[jnp.asarray(x, jnp.float64) for x in inputs])))
        self.inputs, self.separate = [], {}
        for index, array in enumerate(inputs):
            np.save(folder / f"{index}.npy", array)
            self.inputs.append(f"--input={folder}/{index}.npy")

    def separate_errors(self, chip):
        """Those with which the results of this chip are compared."""
        options = (f"--target=vgpu:{chip if chip.startswith('gfx') else 'sm_80'}", "--fuse.attention=false")
        if "exact" in self.name and not chip.startswith("gfx"):
            options = ()
        if options not in self.separate:
            self.separate[options] = self.errors(*options)
        return self.separate[options]

    def errors(self, *options, **environment):
        """The largest error of each result."""
        run(TOOLS / "tilewright", "run", self.program, f"--output={self.folder}/result", *self.inputs, *options, **environment)
        errors = []
        for index, exact in enumerate(self.exact):
            result = np.load(self.folder / f"result{index}.npy")
            result = result.view(self.type) if result.dtype.kind == "V" else result
            np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
            # Rows without a visible key are NaN, and so is every gradient of keys and values to which they add.
            errors.append(np.nanmax(np.abs(result.astype(np.float64) - exact), initial=0))
        return np.array(errors)

    def bits(self):
        """The results of the last run."""
        return [(self.folder / f"result{index}.npy").read_bytes() for index in range(len(self.exact))]

    def has_scores(self, text):
        """Whether a tensor has an element for each query and key of each head."""
        shapes = [[int(size) for size in shape.split("x")] for shape in re.findall(r"tensor<([\dx]+)x[a-z]", text)]
        return any(math.prod(shape) == self.scores or (math.prod(shape) > self.scores and self.keys in shape and
                   self.queries in shape and (self.queries != self.keys or shape.count(self.keys) > 1))
                   for shape in shapes)  # fmt: skip


@pytest.fixture(scope="module")
def case(request, tmp_path_factory):
    return Case(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def differentiated(request, tmp_path_factory):
    return Case(request.param, tmp_path_factory.mktemp(request.param), form="all")


def units(case, chip):
    """With fewer compute units than points, blocks of AMD's chips have 32 queries for each wave."""
    return ["--compile.processors=1"] if chip.startswith("gfx") and case.name in MORE else []


def compile_and_check(case, chip, order):
    """The errors and bits of the results, and the program and the kernels of its plan."""
    dump, report = case.folder / chip, case.folder / f"{chip}.txt"
    checks = {"TILEWRIGHT_VGPU_CHECK": "all", "TILEWRIGHT_VGPU_ORDER": order, "TILEWRIGHT_VGPU_REPORT": str(report)}
    fused = case.errors(f"--target=vgpu:{chip}", f"--compile.dump-dir={dump}", *units(case, chip), **checks)
    bits = case.bits()
    assert not report.exists() or "no findings" in report.read_text(), report.read_text()
    (tiled,) = dump.glob("*-tile.mlir")
    program, *kernels = tiled.read_text().split("tile.kernel")
    # A single query has as many scores as there are keys.
    assert case.queries < 16 or not case.has_scores(program), program
    print(f"{chip}, {case.name}: error {fused}, of separate kernels {case.separate_errors(chip)}")
    return fused, bits, program, kernels


def compare(case, chip, order):
    fused, _, program, kernels = compile_and_check(case, chip, order)
    assert sum("tile.dot" in kernel for kernel in kernels) == 1, program
    # Others have a kernel for a bias that the program computes, or for an epilogue behind a reshape.
    assert program.count("exec.launch") <= (1 if case.name in SPELLINGS else 2), program
    assert np.all(fused <= 2 * case.separate_errors(chip))


def compare_gradients(case, chip, order):
    """One kernel sums over keys, one over queries. Lengths mask the result and the cotangent, which are kernels of their own."""
    fused, bits, program, kernels = compile_and_check(case, chip, order)
    assert sum("tile.dot" in kernel for kernel in kernels) == 3, program
    if case.name in SPELLINGS:
        assert program.count("exec.launch") <= (5 if case.name == "lengths" else 3), program
    # The sum of a row of gradients is computed from the result, which is rounded to its type, or is a product of numbers rounded to tf32.
    is_strict = case.name in SPELLINGS or "exact" in case.name
    rounding = 0 if is_strict else 2**-10 if case.type == np.float32 else ml_dtypes.finfo(case.type).eps
    largest = np.array([np.nanmax(np.abs(exact), initial=0) for exact in case.exact])
    assert np.all(fused <= 2 * case.separate_errors(chip) + rounding * largest)
    # The order of the points changes no bits.
    case.errors(f"--target=vgpu:{chip}", *units(case, chip), TILEWRIGHT_VGPU_ORDER="eager")
    assert bits == case.bits()


# Masks, and the pairs of a block of 64 queries and one of 64 keys in which they show something.
MASKED = {
    "full": (attention, 16),
    "causal": (causal, 10),
    # The other bound of the window is a tensor: a constant for each query. Only the causal mask is understood.
    "windowed": (windowed, 10),
    "lengths": (lambda q, k, v: attention(q, k, v, key_value_seq_lengths=jnp.array([70], jnp.int32)), 8),
}


def multiply_adds(function, positions, folder):
    """Counts those of a function of tensors with so many positions and 32 columns, in all of its kernels."""
    tensors = [jnp.zeros((1, count, 1, 32), jnp.float16) for count in positions]
    (folder / "program.mlirbc").write_bytes(jax.export.export(jax.jit(function), platforms=["cuda"])(*tensors).mlir_module_serialized)
    run(TOOLS / "tilewright", "run", folder / "program.mlirbc", *[f"--input=1x{count}x1x32xf16=1" for count in positions], f"--output={folder}/o",
        "--target=vgpu:sm_80", TILEWRIGHT_VGPU_CHECK="count", TILEWRIGHT_VGPU_COUNTS=str(folder / "counts"))  # fmt: skip
    reports = [json.loads(file.read_text()) for file in (folder / "counts").glob("*.counts.json")]
    return sum(sum(report["total"]["multiply_adds"].values()) for report in reports)


@pytest.mark.parametrize("name", MASKED)
def test_masked_blocks_are_not_computed(name, tmp_path):
    function, pairs = MASKED[name]
    assert multiply_adds(function, [256] * 3, tmp_path) == pairs * 64 * 64 * (32 + 32)


def test_parts_without_a_visible_key_are_not_computed(tmp_path):
    """Of 32 parts of 64 keys, 9 have one. A block of queries has 16 rows."""
    function = functools.partial(seen_from, first=1500, low=-math.inf)
    assert multiply_adds(function, [1, 2048, 2048], tmp_path) == 9 * 16 * 64 * (32 + 32)


@pytest.mark.parametrize("chip", ("sm_80", "gfx942", "gfx950"))
@pytest.mark.parametrize("name, first, rows", [("causal", 192, 192), ("windowed", 192, 192), ("lengths", 128, 256), ("full", 192, 0)])
def test_masked_blocks_are_not_multiplied(name, first, rows, chip, tmp_path):
    """Values from `first` on are NaN, which even a weight of 0 would pass on: they do not reach the first `rows` rows of the result and of the gradient of the
    queries, whose blocks see none of them."""
    q, k, v, cotangent = np.random.default_rng(0).standard_normal((4, 1, 256, 1, 32)).astype(np.float16)
    v[:, first:] = np.nan
    function = with_gradients(MASKED[name][0])
    (tmp_path / "program.mlirbc").write_bytes(jax.export.export(jax.jit(function), platforms=["cuda"])(q, k, v, cotangent).mlir_module_serialized)
    for index, array in enumerate((q, k, v, cotangent)):
        np.save(tmp_path / f"{index}.npy", array)
    run(TOOLS / "tilewright", "run", tmp_path / "program.mlirbc", *[f"--input={tmp_path}/{index}.npy" for index in range(4)], f"--output={tmp_path}/result",
        f"--target=vgpu:{chip}")  # fmt: skip
    for index in range(2):
        finite = np.isfinite(np.load(tmp_path / f"result{index}.npy")).all(axis=(0, 2, 3))
        np.testing.assert_array_equal(finite, np.arange(256) < rows)


@pytest.mark.parametrize("name", MASKED)
def test_masked_blocks_have_no_gradients(name, tmp_path):
    """Two products in the forward pass, three for the gradient of the queries, four for those of keys and values."""
    function, pairs = MASKED[name]
    assert multiply_adds(with_gradients(function), [256] * 4, tmp_path) == pairs * 64 * 64 * 32 * (2 + 3 + 4)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("case", SPELLINGS, indirect=True)
def test_attention_is_one_kernel(case, chip, pytestconfig):
    compare(case, chip, pytestconfig.getoption("--order"))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("case", MORE, indirect=True)
def test_other_sizes_and_masks(case, chip, pytestconfig):
    compare(case, chip, pytestconfig.getoption("--order"))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("case", DECODING, indirect=True)
def test_decoding_is_divided_along_the_keys(case, chip, pytestconfig):
    """A kernel has the parts, at most two others combine them. The order of the points changes no bits."""
    fused, bits, program, kernels = compile_and_check(case, chip, pytestconfig.getoption("--order"))
    (attention_kernel,) = [kernel for kernel in kernels if "tile.dot" in kernel]
    points = math.prod(map(int, re.search(r"grid \[([\d, ]+)\]", attention_kernel)[1].split(",")))
    assert 16 <= points <= 2 * 148, attention_kernel
    # A reshape is not crossed yet, so some programs have an epilogue of their own; a bias that the program computes is a kernel, too.
    assert program.count("exec.launch") <= (4 if case.name in ("decode_added", "decode_bias") else 3), program
    assert np.all(fused <= 2 * case.separate_errors(chip))
    case.errors(f"--target=vgpu:{chip}", TILEWRIGHT_VGPU_ORDER="eager")
    assert bits == case.bits()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("differentiated", SPELLINGS, indirect=True)
def test_gradients_are_two_kernels(differentiated, chip, pytestconfig):
    compare_gradients(differentiated, chip, pytestconfig.getoption("--order"))


@pytest.mark.parametrize("name, form, chip", [(name, form, CHIPS[number % len(CHIPS)]) for number, (name, form) in
                         enumerate(itertools.product([name for name in SPELLINGS if name != "dropout"], ("alone", "sum", "queries", "keys")))])  # fmt: skip
def test_gradients_alone_are_as_few_kernels(name, form, chip, pytestconfig, tmp_path):
    """Where nothing reads the result of attention, the kernels of its gradients do. With dropout, that result is not added yet."""
    case = Case(name, tmp_path, form)
    fused, bits, program, kernels = compile_and_check(case, chip, pytestconfig.getoption("--order"))
    assert sum("tile.dot" in kernel for kernel in kernels) == (3 if form in ("alone", "sum") else 2), program
    assert np.all(fused <= 2 * case.separate_errors(chip) + ml_dtypes.finfo(case.type).eps * np.array([np.nanmax(np.abs(exact)) for exact in case.exact]))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("differentiated", [name for name in MORE if name not in WITHOUT_GRADIENTS], indirect=True)
def test_gradients_of_other_sizes_and_masks(differentiated, chip, pytestconfig):
    compare_gradients(differentiated, chip, pytestconfig.getoption("--order"))
