"""Random attentions: one kernel on the CPU, compared with the evaluator's separate ops, both against f64. With a chip, one kernel on the
virtual GPU, compared with separate kernels, because both round f32 to tf32.

    pytest test/jax/test_random_attention.py --programs 1000 --seed 7
    pytest test/jax/test_random_attention.py --chip sm_90a -k Decoding

The kernel takes sums in another order and divides once at the end. Its error may be twice that of the separate ops, plus the rounding of
the weights and of the result: an ulp of the terms that are summed. A result is NaN exactly where the separate ops give NaN.

Gradients by queries, keys, values and bias are compared in the same way. Some of these programs also multiply the weights by a tensor
that is not the cotangent; these may keep separate kernels, but must not be taken for what they resemble.
"""

import math
import random
import re

import artifacts
import conftest
import evaluator
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import export

TYPES = {"f32": np.dtype(np.float32), "bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16)}
FUSED = "two products and the softmax between them become one kernel"


class Attention:
    """Attention with drawn sizes, layout, types, score function and mask."""

    rate = 0.9  # at least this part of those with `is_candidate` becomes one kernel

    def __init__(self, seed):
        draw = self.draw = random.Random(f"attention {seed}")
        self.type = TYPES[draw.choice(["f32", "f32", "bf16", "f16"])]
        self.batch, self.heads, self.groups = draw.choice([1, 1, 2]), draw.choice([1, 1, 2]), draw.choice([1, 1, 2])
        # Blocks of the kernel are about 128 queries and 256 keys; the evaluator is slow.
        self.queries = draw.choice([draw.randint(16, 40), draw.randint(16, 40), draw.randint(1, 15), draw.randint(120, 140)])
        self.keys = draw.choice([draw.randint(1, 40), draw.randint(250, 270), self.queries])
        self.depth, self.width = draw.randint(1, 20), draw.randint(1, 20)
        self.heads_last = draw.random() < 0.5  # [batch, position, head, depth], as in JAX
        self.wide_product = draw.random() < 0.6  # products are f32, as in jax.nn.dot_product_attention
        self.softmax = draw.choice(["jax", "written"])
        self.scale = draw.choice([1.0, 0.125, self.depth**-0.5])
        self.cap = draw.choice([None, None, 5.0])
        self.bias = draw.choice([None, None, "hqk", "1qk", "h1k", "hq1", "qk"])
        self.mask = draw.choice([None, "causal", "window", "lengths", "input", "segments", "random"])
        self.seed = draw.randrange(2**31)
        self.dropout = draw.random() < 0.2
        self.hidden = draw.choice([-np.inf, float(np.finfo(np.float32).min), -1e30, -1e9, -1e4])
        self.special = draw.choice([None, None, None, "nan key", "inf key", "inf bias", "nan value", "inf value"])
        self.repeated = draw.random() < 0.2  # a whole row or tensor of equal values

    def is_candidate(self):
        """Whether it has the sizes that one kernel needs. A sum of one product is not a product of matrices."""
        return self.queries >= 16 and self.keys > 1 and self.depth > 1

    def shapes(self):
        def ordered(batch, heads, length, width):
            return (batch, length, heads, width) if self.heads_last else (batch, heads, length, width)

        heads = self.heads * self.groups
        shapes = {"q": ordered(self.batch, heads, self.queries, self.depth),
                  "k": ordered(self.batch, self.heads, self.keys, self.depth),
                  "v": ordered(self.batch, self.heads, self.keys, self.width)}  # fmt: skip
        if self.bias:
            sizes = {"h": heads, "q": self.queries, "k": self.keys, "1": 1}
            shapes["bias"] = tuple(sizes[dim] for dim in self.bias)
        return shapes

    def inputs(self):
        numbers = np.random.default_rng(self.draw.randint(0, 2**32))
        arrays = {name: (numbers.standard_normal(shape) * 1.5).astype(self.type) for name, shape in self.shapes().items()}
        if self.repeated:
            arrays["k"][...] = arrays["k"].flat[0]
        special, _, where = (self.special or "").partition(" ")
        name = {"key": "k", "value": "v", "bias": "bias"}.get(where)
        # A weight of 0 hides no special value in the program, but does in a block that is skipped.
        if name in arrays and not (name == "v" and self.mask):
            flat = arrays[name].reshape(-1)
            flat[numbers.integers(flat.size)] = float(special)
        if self.mask == "lengths":
            arrays["mask"] = numbers.integers(0, self.keys + 1, self.batch).astype(np.int32)
        elif self.mask == "input":
            arrays["mask"] = numbers.random((self.batch, 1, self.queries, self.keys)) < 0.7
        elif self.mask == "segments":
            arrays["mask"] = np.sort(numbers.integers(0, 3, (self.batch, max(self.queries, self.keys)))).astype(np.int32)
        return arrays

    def visible(self, mask):
        q, k = jnp.arange(self.queries)[:, None], jnp.arange(self.keys)[None, :]
        if self.mask == "causal":
            return k <= q + max(0, self.keys - self.queries)
        if self.mask == "window":
            return (k <= q + 3) & (k > q - 20)
        if self.mask == "lengths":
            return k[None, None] < mask[:, None, None, None]
        if self.mask == "segments":
            return (mask[:, : self.queries, None] == mask[:, None, : self.keys])[:, None]
        if self.mask == "random":
            return self.drawn((self.batch, 1, self.queries, self.keys))
        return mask

    def drawn(self, shape):
        """Booleans of JAX's generator, whose body has hundreds of ops; the same in f32 and f64."""
        return jax.random.uniform(jax.random.key(self.seed), shape, jnp.float32) < 0.7

    def names(self):
        """The dimensions of queries and of keys, for einsum."""
        return ("bqnd", "bknd") if self.heads_last else ("bnqd", "bnkd")

    def repeated_heads(self, x):
        return jnp.repeat(x, self.groups, axis=2 if self.heads_last else 1) if self.groups > 1 else x

    def products(self, q, k):
        wide = jnp.promote_types(q.dtype, jnp.float32) if self.wide_product else q.dtype
        names = ",".join(self.names())
        return jnp.einsum(f"{names}->bnqk", q, self.repeated_heads(k), preferred_element_type=wide) * self.scale

    def combined(self, weights, v):
        if self.dropout:
            weights = jnp.where(self.drawn(weights.shape), weights / 0.7, 0)
        names = self.names()
        return jnp.einsum(f"bnqk,{names[1]}->{names[0]}", weights.astype(v.dtype), self.repeated_heads(v))

    def weights(self, arrays):
        scores = self.products(arrays["q"], arrays["k"])
        if self.cap:
            scores = self.cap * jnp.tanh(scores / self.cap)
        if self.bias:
            scores = scores + arrays["bias"].astype(scores.dtype)
        if self.mask:
            hidden = max(self.hidden, float(jnp.finfo(scores.dtype).min)) if np.isfinite(self.hidden) else self.hidden
            scores = jnp.where(self.visible(arrays.get("mask")), scores, hidden)
        if self.softmax == "jax":
            return jax.nn.softmax(scores, axis=-1)
        weights = jnp.exp(scores - jax.lax.stop_gradient(scores.max(-1, keepdims=True)))
        return weights / weights.sum(-1, keepdims=True)

    def __call__(self, arrays):
        return [self.combined(self.weights(arrays), arrays["v"])]

    def exactly(self, arrays):
        """The results in f64, and for each the sum of the sizes of its terms."""
        return self(arrays), self(arrays | {"v": jnp.abs(arrays["v"])})

    def __str__(self):
        return ", ".join(f"{key} {value}" for key, value in vars(self).items() if key != "draw")


class Decoding(Attention):
    """Few queries and many keys, which GPUs divide along the keys."""

    rate = 0.6

    def is_candidate(self):
        return self.depth > 1

    def __init__(self, seed):
        super().__init__(f"decoding {seed}")
        self.queries, self.keys = self.draw.choice([1, 1, 2, 5]), 64 * self.draw.randint(17, 48)
        if self.draw.random() < 0.3:  # most parts have no visible key
            self.mask, self.hidden = "window", -np.inf


class Gradients(Attention):
    """The gradients of such an attention, and some other products of its weights."""

    rate = 0.4

    def is_candidate(self):
        keeps_scores = self.of_bias and self.bias and {"q", "k"} <= set(self.bias)
        return super().is_candidate() and self.width > 1 and self.result and not self.other and not keeps_scores

    def __init__(self, seed):
        super().__init__(f"gradients {seed}")
        # Where a weight is 0, a special value gives NaN in a gradient unless the block is skipped.
        self.special = None
        # Without the result, there is no forward pass to share row values with. A gradient of a bias for each query and key is as
        # large as the scores, so both keep separate kernels.
        self.result = self.draw.random() < 0.9
        self.of_bias = self.draw.random() < 0.3
        # Sums over the queries of weights times a tensor; all but "cotangent" resemble the gradient of the values.
        self.other = self.draw.choice([None] * 5 + ["cotangent", "wider", "narrower", "of each key", "scores"])
        if self.other:
            self.mask, self.dropout = self.mask if self.mask != "random" else None, False

    def shapes(self):
        shapes = super().shapes()
        q, v = shapes["q"], shapes["v"]
        shapes["cotangent"] = (*q[:-1], v[-1])
        widths = {"wider": self.width + 3, "narrower": max(1, self.width - 1), "scores": self.width, "cotangent": self.width}
        if self.other in widths:
            shapes["other"] = (self.batch, self.heads * self.groups, self.queries, widths[self.other])
        elif self.other:
            shapes["other"] = (self.batch, self.heads * self.groups, self.queries, self.keys, 2)
        return shapes

    def wanted(self, arrays):
        names = ("q", "k", "v", "bias") if self.of_bias else ("q", "k", "v")
        return {name: arrays[name] for name in names if name in arrays}

    def others(self, weights, other):
        if not self.other:
            return []
        if self.other == "of each key":
            return [jnp.einsum("bnqk,bnqkx->bnkx", weights.astype(other.dtype), other)]
        if self.other == "scores":  # the tensor depends on the weights
            other = other * weights.max(-1, keepdims=True).astype(other.dtype)
        return [jnp.einsum("bnqk,bnqx->bnkx", weights.astype(other.dtype), other)]

    def __call__(self, arrays):
        attention = super().__call__
        result, pullback = jax.vjp(lambda some: attention(arrays | some)[0], self.wanted(arrays))
        results = jax.tree.leaves(pullback(arrays["cotangent"]))
        return results + [result] * self.result + self.others(self.weights(arrays), arrays.get("other"))

    def exactly(self, arrays):
        sizes = {name: jnp.abs(x) if x.dtype == jnp.float64 else x for name, x in arrays.items()}
        weights = self.weights(arrays)
        _, by_weights = jax.vjp(lambda w: self.combined(w, sizes["v"]), weights)
        size = by_weights(sizes["cotangent"])[0]  # at least that of the gradient of a weight
        of_scores = weights * (size + jnp.sum(weights * size, axis=-1, keepdims=True))
        q, k = jax.vjp(self.products, sizes["q"], sizes["k"])[1](of_scores)
        terms = {"q": q, "k": k, "v": jax.vjp(lambda v: self.combined(weights, v), sizes["v"])[1](sizes["cotangent"])[0]}
        if "bias" in self.wanted(arrays):
            terms["bias"] = jax.vjp(lambda bias: of_scores + bias, arrays["bias"])[1](of_scores)[0]
        results = [self.combined(weights, sizes["v"])] * self.result + self.others(weights, sizes.get("other"))
        return self(arrays), jax.tree.leaves(terms) + results


def exactly(attention, arrays):
    with jax.enable_x64(True):
        wide = {name: jnp.asarray(x, np.float64) if name != "mask" else jnp.asarray(x) for name, x in arrays.items()}
        return [[np.asarray(x) for x in results] for results in attention.exactly(wide)]


def disagreement(attention, arrays, separate, fused):
    """Words about the difference; None if there is none that matters."""
    for name, result in ("evaluated", separate), ("compiled", fused):
        if isinstance(result, str):
            return f"{name}: {result}"
    exact, terms = exactly(attention, arrays)
    assert len(exact) == len(terms) == len(separate) == len(fused)
    for i, results in enumerate(zip(exact, terms, separate, fused)):
        if words := disagreement_of_one(float(ml_dtypes.finfo(attention.type).eps), *results):
            return f"result {i}: {words}"
    return None


def disagreement_of_one(ulp, exact, terms, separate, fused):
    separate, fused = (x.astype(np.float64) for x in (separate, fused))
    if not np.array_equal(np.isnan(separate), np.isnan(fused)):
        return f"NaN: {np.isnan(separate).sum()} evaluated, {np.isnan(fused).sum()} compiled"
    known = np.isfinite(exact) & np.isfinite(separate)
    if not np.array_equal(separate[~known], fused[~known], equal_nan=True):
        return "infinities differ"
    with np.errstate(invalid="ignore"):  # infinities, compared above
        error, unfused = np.abs(fused - exact), np.abs(separate - exact)
    allowed = 2 * np.max(unfused[known], initial=0) + 2 * ulp * np.nan_to_num(terms)  # of a row of NaN: 0
    if np.all(error[known] <= allowed[known]):
        return None
    worst = np.argmax(np.where(known, error - allowed, -np.inf))
    return f"error {error.flat[worst]:.3e}, allowed {allowed.flat[worst]:.3e}"


@pytest.mark.parametrize("kind", [Attention, Gradients, Decoding])
def test_random_attentions(kind, request, tmp_path, monkeypatch):
    if kind is Decoding and not request.config.getoption("--chip"):
        pytest.skip("a CPU keeps separate kernels for few queries")
    count, seed = request.config.getoption("--programs"), request.config.getoption("--seed")
    attentions = [kind(f"{seed}/{i}") for i in range(count)]
    cases, inputs = [], []
    for i, attention in enumerate(attentions):
        arrays = attention.inputs()
        inputs.append(arrays)
        exported = export.export(jax.jit(attention), platforms=["cpu"])(arrays)
        leaves = jax.tree.leaves(arrays)
        kept = [leaves[i] for i in exported.module_kept_var_idx]
        like = [np.zeros(out.shape, out.dtype) for out in exported.out_avals]
        cases.append(artifacts.Case(f"a{i}", "attention", 1, exported.mlir_module_serialized, kept, like))
    chip, report = request.config.getoption("--chip"), tmp_path / "report.txt"
    on = [f"--target=vgpu:{chip}"] if chip else ["--on=cpu"]
    separate = evaluator.evaluate(cases, tmp_path, *(on + ["--fuse.attention=false"] if chip else []))
    for output in tmp_path.glob("*.out*"):
        output.unlink()
    log = []
    monkeypatch.setenv("TILEWRIGHT_VGPU_CHECK", "all")
    monkeypatch.setenv("TILEWRIGHT_VGPU_ORDER", f"seed:{seed}")
    monkeypatch.setenv("TILEWRIGHT_VGPU_REPORT", str(report))
    fused = evaluator.evaluate(cases, tmp_path, *on, "--compile.remarks=fuse", log=log)
    assert not report.exists() or "no findings" in report.read_text(), report.read_text()
    wrong = []
    for case, attention, arrays in zip(cases, attentions, inputs):
        words = disagreement(attention, arrays, separate[case.name], fused[case.name])
        if words:
            wrong.append(f"{case.name}: {words}\n  {attention}")
    kernels = len(re.findall(FUSED, "".join(log)))
    candidates = sum(attention.is_candidate() for attention in attentions)
    summary = f"{kernels} of {count} {kind.__name__.lower()}, {candidates} of them candidates, became one kernel for each pass"
    request.config.stash.setdefault(conftest.SUMMARY, []).append(summary)
    assert not wrong, "\n".join(wrong)
    assert kernels >= least(candidates, kind.rate), summary


def least(count, rate):
    """The largest number below which fewer than a millionth of draws fall, if each of `count` succeeds with probability `rate`."""
    below = 0.0
    for successes in range(count + 1):
        ways = math.lgamma(count + 1) - math.lgamma(successes + 1) - math.lgamma(count - successes + 1)
        below += math.exp(ways + successes * math.log(rate) + (count - successes) * math.log1p(-rate))
        if below >= 1e-6:
            return successes
    return count


def test_the_least_number_of_kernels_is_rarely_missed():
    assert [least(count, 0.9) for count in (0, 5, 6, 12, 1000)] == [0, 0, 1, 4, 852]
    assert [least(count, 0.4) for count in (0, 12, 250)] == [0, 0, 64]
