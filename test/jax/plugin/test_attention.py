"""Attention as one kernel inside of the transformations of JAX, compared with f64: loops, vmap, gradients, donation, x64."""

import functools
import math
import os

# Before the plugin makes its client: the compiler says on standard error what it fuses.
os.environ["TILEWRIGHT_COMPILE_REMARKS"] = "fuse"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

BATCH, LENGTH, HEADS, WIDTH = 2, 48, 2, 8


def attention(q, k, v, causal=True):
    scores = jnp.einsum("bqnd,bknd->bnqk", q, k) / math.sqrt(q.shape[-1])
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e30)
    return jnp.einsum("bnqk,bknd->bqnd", jax.nn.softmax(scores, -1), v)


def inputs(*shape, type=np.float32):
    random = np.random.default_rng(0)
    return [random.standard_normal(shape or (BATCH, LENGTH, HEADS, WIDTH)).astype(type) for _ in range(3)]


def exact(function, *arguments):
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        return jax.tree.map(np.asarray, function(*[np.asarray(x, np.float64) for x in arguments]))


@pytest.fixture
def check(capfd):
    """Compares a function's results with f64, and counts the attentions that became one kernel."""

    def compare(function, *arguments, bound=2e-6, calls=1):
        capfd.readouterr()
        compiled = jax.jit(function).lower(*arguments).compile()
        remarks = capfd.readouterr().err
        assert remarks.count("the softmax between them become one kernel") == calls, remarks
        for ours, right in zip(jax.tree.leaves(compiled(*arguments)), jax.tree.leaves(exact(function, *arguments))):
            np.testing.assert_allclose(ours, right, atol=bound, rtol=bound)

    return compare


def test_alone(check):
    check(attention, *inputs())


def test_in_a_scan(check):
    def layers(q, k, v):
        return jax.lax.scan(lambda x, scale: (attention(x * scale, k, v), None), q, jnp.array([1.0, 0.5, 2.0], q.dtype))[0]

    check(layers, *inputs())


def test_in_a_while_and_a_branch(check):
    def loop(q, k, v):
        step = lambda x: jax.lax.cond(x[0, 0, 0, 0] > 0, lambda y: attention(y, k, v), lambda y: attention(y, v, k), x)
        return jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, step(s[1])), (0, q))[1]

    check(loop, *inputs(), calls=2)


def test_mapped(check):
    q, k, v = inputs(3, BATCH, LENGTH, HEADS, WIDTH)
    check(jax.vmap(attention), q, k, v)
    check(jax.vmap(attention, (0, None, None)), q, k[0], v[0])
    check(jax.vmap(attention, (1, 2, 1), 3), np.moveaxis(q, 0, 1), np.moveaxis(k, 0, 2), np.moveaxis(v, 0, 1))


def test_two_layers(check):
    check(lambda q, k, v: attention(attention(q, k, v), k, attention(v, q, k, False)), *inputs(), calls=3)


@pytest.mark.parametrize("remat", [False, True])
def test_gradients(check, remat):
    # One kernel for the forward and one for the backward pass. With remat, the backward pass computes the weights again, with a forward kernel of
    # its own, although the program needs no result of that.
    function = jax.checkpoint(attention) if remat else attention
    loss = lambda q, k, v: jnp.sum(jnp.sin(function(q, k, v)))
    check(jax.value_and_grad(loss, (0, 1, 2)), *inputs(), bound=2e-5, calls=2 if remat else 1)


def test_donated():
    q, k, v = inputs()
    right = exact(attention, q, k, v)
    for donated in range(3):
        step = jax.jit(attention, donate_argnums=donated)
        np.testing.assert_allclose(step(*map(jnp.asarray, (q, k, v))), right, atol=2e-6)


def test_x64_keeps_separate_kernels(check):
    with jax.enable_x64(True):
        check(attention, *inputs(type=np.float64), bound=1e-13, calls=0)
        # f32 operands with f64 scores
        wide = lambda q, k, v: jnp.einsum("bnqk,bknd->bqnd",
                                          jax.nn.softmax(jnp.einsum("bqnd,bknd->bnqk", q, k).astype(jnp.float64), -1), v)  # fmt: skip
        check(wide, *inputs(), calls=0)


@pytest.mark.parametrize("queries, keys, width", [(1, 1, 1), (16, 1, 3), (16, 2, 1), (17, 33, 65), (40, 0, 4), (0, 5, 4), (300, 5, 2)])
def test_sizes(queries, keys, width):
    q, k = inputs(1, queries, 1, width)[0], inputs(1, keys, 1, width)[1]
    fused = functools.partial(attention, causal=False)
    np.testing.assert_allclose(jax.jit(fused)(q, k, k), exact(fused, q, k, k), atol=2e-6)


def test_head_numbers(check):
    def alibi(q, k, v):
        scores = jnp.einsum("bqnd,bknd->bnqk", q, k) - jnp.arange(HEADS, dtype=q.dtype)[:, None, None] * jnp.arange(k.shape[1])
        return jnp.einsum("bnqk,bknd->bqnd", jax.nn.softmax(scores, -1), v)

    check(alibi, *inputs(), bound=1e-5)
    check(jax.grad(lambda *x: jnp.sum(alibi(*x) ** 2), (0, 1, 2)), *inputs(), bound=1e-4)


def test_dropout(check):
    def dropped(q, k, v):
        scores = jnp.einsum("bqnd,bknd->bnqk", q, k) / math.sqrt(q.shape[-1])
        weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e30), -1)
        keep = jax.random.uniform(jax.random.key(3), weights.shape, np.float32) < 0.8  # the same in f32 and f64
        return jnp.einsum("bnqk,bknd->bqnd", jnp.where(keep, weights / 0.8, 0), v)

    check(dropped, *inputs(), bound=1e-5)
    check(jax.grad(lambda *x: jnp.sum(dropped(*x) ** 2), (0, 1, 2)), *inputs(), bound=1e-4)


def test_shared_keys_and_more_heads_than_queries(check):
    # The mask tells which of the two dimensions without keys is that of the queries.
    def shared(q, k, v):
        scores = jnp.einsum("bqnd,bkd->bnqk", q, k)
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e30)
        return jnp.einsum("bnqk,bkd->bqnd", jax.nn.softmax(scores, -1), v)

    q, k, v = inputs(1, 32, 40, 8)
    check(shared, q, k[:, :, 0], v[:, :, 0], bound=1e-5)


def test_a_mask_of_many_shared_ops(check):
    # Each op of the mask reads the one before twice: there are 2^64 paths through it.
    def masked(q, k, v):
        scores = jnp.einsum("bqnd,bknd->bnqk", q, k)
        x = jax.lax.broadcasted_iota(jnp.int32, scores.shape[-2:], 0)
        y = jax.lax.broadcasted_iota(jnp.int32, scores.shape[-2:], 1)
        for i in range(64):
            x, y = x + y * 3, x ^ (y + i)
        return jnp.einsum("bnqk,bknd->bqnd", jax.nn.softmax(jnp.where(y % 3 == 0, scores, -1e30), -1), v)

    q, k, v = inputs()
    check(masked, q, k, v, bound=1e-5)
    check(jax.grad(lambda *x: jnp.sum(masked(*x) ** 2), (0, 1, 2)), q, k, v, bound=1e-4)
